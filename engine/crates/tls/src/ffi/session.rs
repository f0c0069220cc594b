//! A reference to a session that a connection can resume.

use std::ptr::NonNull;

use super::Api;
use super::symbols::SSL_SESSION;

/// One counted reference to an `SSL_SESSION`. Not `Send`: OpenSSL changes a session that is in use
/// by a connection, and takes no lock for it.
pub(crate) struct SessionHandle {
    api: &'static Api,
    session: NonNull<SSL_SESSION>,
}

impl SessionHandle {
    /// Takes over a reference.
    ///
    /// # Safety
    /// `session` must be live and the caller must own a reference, which it gives away.
    pub(super) unsafe fn from_owned(api: &'static Api, session: NonNull<SSL_SESSION>) -> Self {
        Self { api, session }
    }

    /// The session itself, live for as long as `self` is.
    pub(super) fn as_ptr(&self) -> *mut SSL_SESSION {
        self.session.as_ptr()
    }

    /// Whether a server could still resume it.
    pub(crate) fn is_resumable(&self) -> bool {
        // SAFETY: live, by the reference held.
        unsafe { (self.api.symbols.SSL_SESSION_is_resumable)(self.as_ptr()) == 1 }
    }
}

impl Clone for SessionHandle {
    fn clone(&self) -> Self {
        // SAFETY: live, by the reference held; the new reference belongs to the clone.
        unsafe { (self.api.symbols.SSL_SESSION_up_ref)(self.as_ptr()) };
        Self {
            api: self.api,
            session: self.session,
        }
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // SAFETY: gives back the reference held.
        unsafe { (self.api.symbols.SSL_SESSION_free)(self.as_ptr()) };
    }
}
