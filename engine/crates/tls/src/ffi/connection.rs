//! An `SSL` over a socket: the calls that move a connection forward.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use super::agreement::Agreement;
use super::key_log::{APPLICATION_DATA, KeyLog};
use super::notes::{Notes, on_bio, on_message};
use super::symbols::{BIO, SSL};
use super::{Api, ContextHandle, ErrorQueue, SessionHandle};

const CTRL_SET_MSG_CALLBACK_ARG: c_int = 16;
const CTRL_SET_TLSEXT_HOSTNAME: c_int = 55;
const TLSEXT_NAMETYPE_HOST_NAME: c_long = 0;
const NO_PARTIAL_WILDCARDS: u32 = 0x4;
const SHUTDOWN_BOTH_WAYS: c_int = 0x1 | 0x2;

const ERROR_SSL: c_int = 1;
const ERROR_WANT_READ: c_int = 2;
const ERROR_WANT_WRITE: c_int = 3;
const ERROR_SYSCALL: c_int = 5;
const ERROR_ZERO_RETURN: c_int = 6;

/// Why a call did not succeed, or not yet.
pub(crate) enum Stop {
    /// The socket has nothing to read.
    WantRead,
    /// The socket takes no more.
    WantWrite,
    /// The peer has closed the connection, with a `close_notify` or without.
    Closed,
    /// A system call failed.
    Io(io::Error),
    /// OpenSSL failed, for these reasons.
    Failed(ErrorQueue),
    /// The handshake is not complete, or something failed before.
    NotUp,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Handshaking,
    Complete,
    /// A system call failed, which says nothing against the session.
    SocketFailed,
    /// TLS failed, so the session must not be resumed (RFC 5246 section 7.2.2).
    TlsFailed,
}

/// The owner of an `SSL` and of the socket under it. Not `Send`, because of its sessions.
pub(crate) struct ConnectionHandle {
    pub(super) api: &'static Api,
    ssl: NonNull<SSL>,
    notes: NonNull<Notes>,
    /// What carries the bytes both ways; the `SSL` holds it for as long as it lives. None until the
    /// socket is set.
    bio: Option<NonNull<BIO>>,
    progress: Progress,
    context: Arc<ContextHandle>,
    socket: OwnedFd,
}

impl ConnectionHandle {
    /// A client connection that has not begun its handshake.
    pub(crate) fn new(context: Arc<ContextHandle>, socket: OwnedFd) -> Result<Self, ErrorQueue> {
        let api = context.api;
        let symbols = &api.symbols;
        // SAFETY: the context is live; a null answer is refused.
        let ssl = unsafe { (symbols.SSL_new)(context.as_ptr()) };
        let ssl = NonNull::new(ssl).ok_or_else(|| ErrorQueue::drain(api))?;
        let notes = Box::new(Notes::new(api));
        let notes = NonNull::from(Box::leak(notes));
        let mut handle = Self {
            api,
            ssl,
            notes,
            bio: None,
            progress: Progress::Handshaking,
            context,
            socket,
        };
        // SAFETY: live. The notes are released after the `SSL`, in `Drop`, and only borrowed shared
        // until then. The descriptor is open for as long as `handle` owns it; OpenSSL does not
        // close the descriptors it is given by SSL_set_fd.
        let answer = unsafe {
            let notes = notes.as_ptr().cast::<c_void>();
            (symbols.SSL_set_connect_state)(ssl.as_ptr());
            (symbols.SSL_set_ex_data)(ssl.as_ptr(), APPLICATION_DATA, notes) == 1
                && (symbols.SSL_set_fd)(ssl.as_ptr(), handle.socket.as_raw_fd()) == 1
        };
        handle.checked(answer)?;
        // SAFETY: live. SSL_set_fd has just set one BIO for both ways, which nothing here replaces.
        handle.bio = NonNull::new(unsafe { (symbols.SSL_get_rbio)(ssl.as_ptr()) });
        if let Some(bio) = handle.bio {
            // SAFETY: live, as is the argument, which is what the callback takes it for, until the `SSL`
            // that holds the BIO is freed.
            unsafe {
                (symbols.BIO_set_callback_arg)(bio.as_ptr(), notes.as_ptr().cast());
                (symbols.BIO_set_callback_ex)(bio.as_ptr(), Some(on_bio));
            }
        }
        Ok(handle)
    }

    /// The key log of the context, if it has one.
    pub(crate) fn key_log(&self) -> Option<&KeyLog> {
        self.context.key_log()
    }

    /// Whether the handshake is complete and no call has failed since.
    pub(crate) fn is_complete(&self) -> bool {
        self.progress == Progress::Complete
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends this host name in the ClientHello (RFC 6066 section 3).
    pub(crate) fn send_server_name(&mut self, name: &CStr) -> Result<(), ErrorQueue> {
        let name = name.as_ptr().cast_mut().cast();
        // SAFETY: live; this command reads a C string, does not change it, and copies it.
        let answer = unsafe {
            let control = self.api.symbols.SSL_ctrl;
            control(
                self.as_ptr(),
                CTRL_SET_TLSEXT_HOSTNAME,
                TLSEXT_NAMETYPE_HOST_NAME,
                name,
            )
        };
        self.checked(answer == 1)
    }

    /// Refuses a certificate that is not for this host name. Like MySQL's own client, takes no
    /// wildcard that stands for a part of a label.
    pub(crate) fn expect_host(&mut self, name: &CStr) -> Result<(), ErrorQueue> {
        let symbols = &self.api.symbols;
        // SAFETY: live; a C string that is copied.
        let answer = unsafe {
            (symbols.SSL_set_hostflags)(self.as_ptr(), NO_PARTIAL_WILDCARDS);
            (symbols.SSL_set1_host)(self.as_ptr(), name.as_ptr())
        };
        self.checked(answer == 1)
    }

    /// Refuses a certificate that is not for this IP address.
    pub(crate) fn expect_address(&mut self, address: &CStr) -> Result<(), ErrorQueue> {
        let symbols = &self.api.symbols;
        // SAFETY: live, and so is its parameter object; a C string that is copied.
        let answer = unsafe {
            let parameters = (symbols.SSL_get0_param)(self.as_ptr());
            (symbols.X509_VERIFY_PARAM_set1_ip_asc)(parameters, address.as_ptr())
        };
        self.checked(answer == 1)
    }

    /// Offers this session for resumption.
    pub(crate) fn offer(&mut self, session: &SessionHandle) -> Result<(), ErrorQueue> {
        // SAFETY: both are live, and of the same library since a process has only one; OpenSSL
        // takes a reference of its own.
        let answer = unsafe { (self.api.symbols.SSL_set_session)(self.as_ptr(), session.as_ptr()) };
        self.checked(answer == 1)
    }

    /// Notes the handshake's messages from now until `stop_watching`.
    pub(crate) fn watch_messages(&mut self) {
        let symbols = &self.api.symbols;
        let notes = self.notes.as_ptr().cast::<c_void>();
        // SAFETY: live; the argument is what the callback takes it for, and outlives the `SSL`.
        unsafe {
            (symbols.SSL_ctrl)(self.as_ptr(), CTRL_SET_MSG_CALLBACK_ARG, 0, notes);
            (symbols.SSL_set_msg_callback)(self.as_ptr(), Some(on_message));
        }
    }

    pub(crate) fn stop_watching(&mut self) {
        // SAFETY: live; no callback is a valid one.
        unsafe { (self.api.symbols.SSL_set_msg_callback)(self.as_ptr(), None) };
    }

    pub(crate) fn client_hellos(&self) -> u32 {
        self.notes().client_hellos()
    }

    pub(crate) fn round_trips(&self) -> u32 {
        self.notes().round_trips()
    }

    /// Takes the handshake forward; `Ok` when it is complete.
    pub(crate) fn handshake(&mut self) -> Result<(), Stop> {
        match self.progress {
            Progress::Handshaking => {}
            Progress::Complete => return Ok(()),
            Progress::SocketFailed | Progress::TlsFailed => return Err(Stop::NotUp),
        }
        self.notes().begin_call();
        // SAFETY: live, and its socket is open.
        let answer = unsafe {
            (self.api.symbols.ERR_clear_error)();
            (self.api.symbols.SSL_do_handshake)(self.as_ptr())
        };
        if answer != 1 {
            return Err(self.stop(answer));
        }
        self.progress = Progress::Complete;
        // SAFETY: leaves the queue empty for reads and writes, which do not clear it.
        unsafe { (self.api.symbols.ERR_clear_error)() };
        Ok(())
    }

    /// Reads at least one byte of application data.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stop> {
        self.check_up()?;
        self.notes().begin_call();
        let mut count = 0;
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: live, and its socket is open; the buffer is valid for writes of its length.
        let answer =
            unsafe { (self.api.symbols.SSL_read_ex)(self.as_ptr(), start, length, &raw mut count) };
        if answer == 1 {
            Ok(count)
        } else {
            Err(self.stop(answer))
        }
    }

    /// Writes at least one byte of application data.
    #[inline]
    pub(crate) fn write(&mut self, buffer: &[u8]) -> Result<usize, Stop> {
        self.check_up()?;
        self.notes().begin_call();
        let mut count = 0;
        let (start, length) = (buffer.as_ptr().cast(), buffer.len());
        // SAFETY: live, and its socket is open; the buffer is valid for reads of its length. It may
        // be another one when a write is tried again (ACCEPT_MOVING_WRITE_BUFFER).
        let answer = unsafe {
            (self.api.symbols.SSL_write_ex)(self.as_ptr(), start, length, &raw mut count)
        };
        if answer == 1 {
            Ok(count)
        } else {
            Err(self.stop(answer))
        }
    }

    /// Whether the last call stopped although the socket may have more for it.
    pub(crate) fn is_paused(&self) -> bool {
        self.notes().wanted_too_much()
    }

    /// Bytes of application data that a read would give without the socket.
    pub(crate) fn pending(&self) -> usize {
        // SAFETY: live.
        let pending = unsafe { (self.api.symbols.SSL_pending)(self.as_ptr()) };
        usize::try_from(pending).unwrap_or(0)
    }

    /// Whether anything was read from the socket and not yet handed out, be it part of a record.
    pub(crate) fn has_pending(&self) -> bool {
        // SAFETY: live.
        unsafe { (self.api.symbols.SSL_has_pending)(self.as_ptr()) == 1 }
    }

    /// Sends a `close_notify` if the connection is up; does not wait for the peer's.
    pub(crate) fn shutdown(&mut self) {
        if self.is_complete() {
            // SAFETY: live, and its socket is open.
            unsafe {
                (self.api.symbols.SSL_shutdown)(self.as_ptr());
                (self.api.symbols.ERR_clear_error)();
            }
        }
    }

    /// Bytes taken from the socket, and bytes given to it.
    #[inline]
    pub(crate) fn wire_bytes(&self) -> (u64, u64) {
        let Some(bio) = self.bio else {
            return (0, 0);
        };
        let symbols = &self.api.symbols;
        // SAFETY: live, since the `SSL` that holds it is.
        unsafe {
            let read = (symbols.BIO_number_read)(bio.as_ptr());
            let written = (symbols.BIO_number_written)(bio.as_ptr());
            (read, written)
        }
    }

    /// The newest session that the peer has given on this connection, if it came since last asked.
    pub(crate) fn take_new_session(&mut self) -> Option<SessionHandle> {
        self.notes().take_session()
    }

    /// The session that this connection uses.
    pub(crate) fn current_session(&self) -> Option<SessionHandle> {
        // SAFETY: live; the answer is null or a reference that is ours.
        unsafe {
            let session = (self.api.symbols.SSL_get1_session)(self.as_ptr());
            NonNull::new(session).map(|session| SessionHandle::from_owned(self.api, session))
        }
    }

    /// How many authorities its context trusts.
    pub(crate) fn authorities(&self) -> Option<u32> {
        self.context.authorities()
    }

    /// What was agreed on with the peer.
    pub(crate) fn agreement(&self) -> Agreement<'_> {
        // SAFETY: live for as long as `self`, which the answer borrows.
        unsafe { Agreement::of(self.api, self.as_ptr(), self.is_complete()) }
    }

    pub(super) fn as_ptr(&self) -> *mut SSL {
        self.ssl.as_ptr()
    }

    fn notes(&self) -> &Notes {
        // SAFETY: live until `Drop`, and never borrowed but shared.
        unsafe { self.notes.as_ref() }
    }

    /// Whether application data can flow. OpenSSL would go on with the handshake by itself, and
    /// what it does after a failure differs between versions.
    #[inline]
    fn check_up(&self) -> Result<(), Stop> {
        // A left-over error would be taken for the next call's. Each failure empties the queue, so
        // that the calls that succeed need not.
        // SAFETY: takes nothing.
        debug_assert_eq!(unsafe { (self.api.symbols.ERR_peek_error)() }, 0);
        if self.is_complete() {
            Ok(())
        } else {
            Err(Stop::NotUp)
        }
    }

    fn checked(&self, accepted: bool) -> Result<(), ErrorQueue> {
        if accepted {
            Ok(())
        } else {
            Err(ErrorQueue::drain(self.api))
        }
    }

    /// What the answer of the call just made means. Leaves the error queue empty.
    fn stop(&mut self, answer: c_int) -> Stop {
        // SAFETY: live; asked right after the call, on the same thread.
        match unsafe { (self.api.symbols.SSL_get_error)(self.as_ptr(), answer) } {
            ERROR_WANT_READ => Stop::WantRead,
            ERROR_WANT_WRITE => Stop::WantWrite,
            ERROR_ZERO_RETURN => Stop::Closed,
            code => self.failure(code, io::Error::last_os_error()),
        }
    }

    #[cold]
    fn failure(&mut self, code: c_int, error: io::Error) -> Stop {
        self.progress = match code {
            ERROR_SYSCALL => Progress::SocketFailed,
            _ => Progress::TlsFailed,
        };
        let queue = ErrorQueue::drain(self.api);
        match code {
            ERROR_SSL if queue.is_unexpected_eof() => Stop::Closed,
            ERROR_SYSCALL if error.raw_os_error() == Some(0) => Stop::Closed,
            ERROR_SYSCALL => Stop::Io(error),
            _ => Stop::Failed(queue),
        }
    }
}

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        let symbols = &self.api.symbols;
        // SAFETY: live until SSL_free, after which no callback can see the notes; they came from a
        // leaked box. The socket, a field, is closed after this.
        unsafe {
            if self.progress != Progress::TlsFailed {
                // SSL_free marks the session of a connection that was not shut down as one that
                // must not be resumed; TCP's end is how MySQL clients and servers close.
                (symbols.SSL_set_shutdown)(self.as_ptr(), SHUTDOWN_BOTH_WAYS);
            }
            (symbols.SSL_free)(self.as_ptr());
            drop(Box::from_raw(self.notes.as_ptr()));
        }
    }
}
