//! What OpenSSL's callbacks note about a connection, and the callbacks.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use super::key_log::APPLICATION_DATA;
use super::symbols::{SSL, SSL_SESSION};
use super::{Api, SessionHandle, process_api};

const CONTENT_HANDSHAKE: c_int = 22;
const MESSAGE_CLIENT_HELLO: u8 = 1;

/// What the callbacks of one connection leave for its owner.
pub(super) struct Notes {
    api: &'static Api,
    newest_session: Cell<Option<SessionHandle>>,
    client_hellos: Cell<u32>,
    round_trips: Cell<u32>,
    was_sent: Cell<bool>,
}

impl Notes {
    pub(super) fn new(api: &'static Api) -> Self {
        Self {
            api,
            newest_session: Cell::new(None),
            client_hellos: Cell::new(0),
            round_trips: Cell::new(0),
            was_sent: Cell::new(false),
        }
    }

    /// The newest session since last asked.
    pub(super) fn take_session(&self) -> Option<SessionHandle> {
        self.newest_session.take()
    }

    /// The `ClientHello` messages sent while `on_message` was set.
    pub(super) fn client_hellos(&self) -> u32 {
        self.client_hellos.get()
    }

    /// How often a message was received after one had been sent, while `on_message` was set.
    pub(super) fn round_trips(&self) -> u32 {
        self.round_trips.get()
    }

    fn note(&self, was_sent: bool, message: u8) {
        if was_sent && message == MESSAGE_CLIENT_HELLO {
            self.client_hellos.set(self.client_hellos.get() + 1);
        }
        if self.was_sent.replace(was_sent) && !was_sent {
            self.round_trips.set(self.round_trips.get() + 1);
        }
    }
}

/// OpenSSL's callback for a session that can be resumed; 1 takes over its reference.
///
/// # Safety
/// Called by OpenSSL only, on a connection made by `ConnectionHandle::new`.
pub(super) unsafe extern "C" fn on_new_session(ssl: *mut SSL, session: *mut SSL_SESSION) -> c_int {
    let (Some(api), Some(session)) = (process_api(), NonNull::new(session)) else {
        return 0;
    };
    // SAFETY: `ssl` is live and its application data null or its notes; with 1 the reference to
    // `session` becomes ours.
    unsafe {
        let notes = (api.symbols.SSL_get_ex_data)(ssl, APPLICATION_DATA).cast::<Notes>();
        let Some(notes) = notes.as_ref() else {
            return 0;
        };
        notes
            .newest_session
            .set(Some(SessionHandle::from_owned(notes.api, session)));
    }
    1
}

/// OpenSSL's message callback: notes the handshake's messages. What is not one, such as the change of
/// the cipher, asks for no answer.
///
/// # Safety
/// Called by OpenSSL only, with the notes of a live connection as its argument.
pub(super) unsafe extern "C" fn on_message(
    sent: c_int,
    _version: c_int,
    content: c_int,
    message: *const c_void,
    length: usize,
    _ssl: *mut SSL,
    argument: *mut c_void,
) {
    if content != CONTENT_HANDSHAKE || length == 0 {
        return;
    }
    // SAFETY: the message is valid for reads of its length, which is not 0; the argument is the
    // connection's notes.
    unsafe {
        if let Some(notes) = argument.cast::<Notes>().as_ref() {
            notes.note(sent == 1, *message.cast::<u8>());
        }
    }
}
