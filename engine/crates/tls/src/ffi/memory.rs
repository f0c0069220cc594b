//! Both ends of a connection within one process: an `SSL` over two buffers in memory.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;

use super::agreement::Agreement;
use super::symbols::{BIO, SSL};
use super::{Api, ContextHandle, ErrorQueue, SessionHandle};
use crate::config::Role;

const ERROR_WANT_READ: c_int = 2;
const SHUTDOWN_BOTH_WAYS: c_int = 0x1 | 0x2;

/// One reference to a memory `BIO`: what one end writes and the other reads.
pub(crate) struct MemoryBufferHandle {
    api: &'static Api,
    bio: NonNull<BIO>,
}

impl MemoryBufferHandle {
    /// An empty buffer, which asks to be read again later once it is read empty.
    pub(crate) fn new(api: &'static Api) -> Result<Self, ErrorQueue> {
        // SAFETY: the method is static; a null answer is refused.
        let bio = unsafe { (api.symbols.BIO_new)((api.symbols.BIO_s_mem)()) };
        let bio = NonNull::new(bio).ok_or_else(|| ErrorQueue::drain(api))?;
        Ok(Self { api, bio })
    }

    /// Another reference, for an `SSL` to own.
    fn shared(&self) -> *mut BIO {
        // SAFETY: live, by the reference held.
        unsafe { (self.api.symbols.BIO_up_ref)(self.bio.as_ptr()) };
        self.bio.as_ptr()
    }
}

impl Drop for MemoryBufferHandle {
    fn drop(&mut self) {
        // SAFETY: gives back the reference held.
        unsafe { (self.api.symbols.BIO_free)(self.bio.as_ptr()) };
    }
}

/// The owner of an `SSL` over two buffers in memory. Not `Send`, because of its sessions.
pub(crate) struct MemoryEndHandle {
    api: &'static Api,
    ssl: NonNull<SSL>,
    is_complete: bool,
    _context: Arc<ContextHandle>,
}

impl MemoryEndHandle {
    /// An end that has not begun its handshake.
    pub(crate) fn new(
        context: &Arc<ContextHandle>,
        role: Role,
        incoming: &MemoryBufferHandle,
        outgoing: &MemoryBufferHandle,
    ) -> Result<Self, ErrorQueue> {
        let api = context.api;
        let symbols = &api.symbols;
        // SAFETY: the context is live; a null answer is refused.
        let ssl = unsafe { (symbols.SSL_new)(context.as_ptr()) };
        let ssl = NonNull::new(ssl).ok_or_else(|| ErrorQueue::drain(api))?;
        // SAFETY: live; the two buffers are different ones, and the `SSL` takes over a reference to each.
        unsafe {
            (symbols.SSL_set_bio)(ssl.as_ptr(), incoming.shared(), outgoing.shared());
            match role {
                Role::Client => (symbols.SSL_set_connect_state)(ssl.as_ptr()),
                Role::Server => (symbols.SSL_set_accept_state)(ssl.as_ptr()),
            }
        }
        Ok(Self {
            api,
            ssl,
            is_complete: false,
            _context: Arc::clone(context),
        })
    }

    /// Offers this session for resumption.
    pub(crate) fn offer(&mut self, session: &SessionHandle) -> Result<(), ErrorQueue> {
        let set = self.api.symbols.SSL_set_session;
        // SAFETY: both are live, and of the same library since a process has only one; OpenSSL takes a
        // reference of its own.
        if unsafe { set(self.ssl.as_ptr(), session.as_ptr()) } == 1 {
            Ok(())
        } else {
            Err(ErrorQueue::drain(self.api))
        }
    }

    /// Takes the handshake as far as what has come in allows; whether it is complete.
    pub(crate) fn handshake(&mut self) -> Result<bool, ErrorQueue> {
        // SAFETY: live, and so are its buffers.
        let answer = unsafe { (self.api.symbols.SSL_do_handshake)(self.ssl.as_ptr()) };
        self.is_complete = answer == 1;
        if self.is_complete {
            return Ok(true);
        }
        self.later(answer).map(|()| false)
    }

    /// Reads application data, and what else has come in; `None` where there is no data yet.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ErrorQueue> {
        let mut count = 0;
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        let read = self.api.symbols.SSL_read_ex;
        // SAFETY: live, and so are its buffers; this buffer is valid for writes of its length.
        let answer = unsafe { read(self.ssl.as_ptr(), start, length, &raw mut count) };
        if answer == 1 {
            return Ok(Some(count));
        }
        self.later(answer).map(|()| None)
    }

    /// Writes all of these bytes.
    pub(crate) fn write(&mut self, buffer: &[u8]) -> Result<(), ErrorQueue> {
        let mut count = 0;
        let (start, length) = (buffer.as_ptr().cast(), buffer.len());
        let write = self.api.symbols.SSL_write_ex;
        // SAFETY: live, and so are its buffers; this buffer is valid for reads of its length. A buffer in
        // memory takes all of it.
        let answer = unsafe { write(self.ssl.as_ptr(), start, length, &raw mut count) };
        if answer == 1 {
            return Ok(());
        }
        Err(ErrorQueue::drain(self.api))
    }

    /// The session that this end uses.
    pub(crate) fn session(&self) -> Option<SessionHandle> {
        // SAFETY: live; the answer is null or a reference that is ours.
        unsafe {
            let session = (self.api.symbols.SSL_get1_session)(self.ssl.as_ptr());
            NonNull::new(session).map(|session| SessionHandle::from_owned(self.api, session))
        }
    }

    /// What was agreed on with the other end.
    pub(crate) fn agreement(&self) -> Agreement<'_> {
        // SAFETY: live for as long as `self`, which the answer borrows.
        unsafe { Agreement::of(self.api, self.ssl.as_ptr(), self.is_complete) }
    }

    /// Nothing, if the call that gave this answer only has to be made again once more has come in.
    fn later(&self, answer: c_int) -> Result<(), ErrorQueue> {
        // SAFETY: live; asked right after the call, on the same thread.
        match unsafe { (self.api.symbols.SSL_get_error)(self.ssl.as_ptr(), answer) } {
            ERROR_WANT_READ => Ok(()),
            _ => Err(ErrorQueue::drain(self.api)),
        }
    }
}

impl Drop for MemoryEndHandle {
    fn drop(&mut self) {
        // SAFETY: live until it is freed. An end that was not shut down would withdraw its session.
        unsafe {
            (self.api.symbols.SSL_set_shutdown)(self.ssl.as_ptr(), SHUTDOWN_BOTH_WAYS);
            (self.api.symbols.SSL_free)(self.ssl.as_ptr());
        }
    }
}
