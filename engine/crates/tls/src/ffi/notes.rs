//! What OpenSSL's callbacks note about a connection, and the callbacks.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::NonNull;

use super::key_log::APPLICATION_DATA;
use super::symbols::{BIO, SSL, SSL_SESSION};
use super::{Api, SessionHandle, process_api};

const CONTENT_HANDSHAKE: c_int = 22;
const MESSAGE_CLIENT_HELLO: u8 = 1;

/// What a BIO's callback is called for (`man BIO_set_callback_ex`): before a read, and after it.
const BEFORE_READ: c_int = 0x02;
const AFTER_READ: c_int = BEFORE_READ | 0x80;
/// `BIO_FLAGS_READ` and `BIO_FLAGS_SHOULD_RETRY`.
const READ_AGAIN: c_int = 0x01 | 0x08;

/// What one call may take from the socket: several of the longest records (RFC 8446, section 5.2), of which
/// any with data ends a read. Without it a read would go on for as long as there are records that have none,
/// such as new keys (section 4.6.3), and nobody else would have a turn.
const BYTES_OF_A_CALL: usize = 64 << 10;

/// What the callbacks of one connection leave for its owner.
pub(super) struct Notes {
    api: &'static Api,
    newest_session: Cell<Option<SessionHandle>>,
    client_hellos: Cell<u32>,
    round_trips: Cell<u32>,
    was_sent: Cell<bool>,
    /// How many bytes the call that is made may still take from the socket.
    allowance: Cell<usize>,
    was_refused: Cell<bool>,
}

impl Notes {
    pub(super) fn new(api: &'static Api) -> Self {
        Self {
            api,
            newest_session: Cell::new(None),
            client_hellos: Cell::new(0),
            round_trips: Cell::new(0),
            was_sent: Cell::new(false),
            allowance: Cell::new(0),
            was_refused: Cell::new(false),
        }
    }

    /// A call begins that may take from the socket what one may.
    #[inline]
    pub(super) fn begin_call(&self) {
        self.allowance.set(BYTES_OF_A_CALL);
        self.was_refused.set(false);
    }

    /// Whether the last call wanted more from the socket than one may.
    pub(super) fn wanted_too_much(&self) -> bool {
        self.was_refused.get()
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

/// OpenSSL's callback for what is done with a connection's BIO: lets no call take too much at once. Tells of
/// a refused read as of one for which the socket has nothing.
///
/// # Safety
/// Called by OpenSSL only, with a live BIO whose callback's argument is the notes of a live connection, and
/// after a read with the place of its length.
pub(super) unsafe extern "C" fn on_bio(
    bio: *mut BIO,
    operation: c_int,
    _buffer: *const c_char,
    _length: usize,
    _argi: c_int,
    _argl: c_long,
    answer: c_int,
    processed: *mut usize,
) -> c_long {
    if operation != BEFORE_READ && operation != AFTER_READ {
        return answer.into();
    }
    let Some(api) = process_api() else {
        return answer.into();
    };
    // SAFETY: as the function's own.
    unsafe {
        let notes = (api.symbols.BIO_get_callback_arg)(bio).cast::<Notes>();
        let Some(notes) = notes.as_ref() else {
            return answer.into();
        };
        if operation == AFTER_READ {
            if let Some(count) = processed.as_ref().filter(|_| answer > 0) {
                let left = notes.allowance.get().saturating_sub(*count);
                notes.allowance.set(left);
            }
        } else if notes.allowance.get() == 0 {
            notes.was_refused.set(true);
            (api.symbols.BIO_set_flags)(bio, READ_AGAIN);
            return -1;
        }
    }
    answer.into()
}
