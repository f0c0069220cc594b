//! One TLS client connection over a non-blocking socket, and the session it can leave behind.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::config::Verify;
use crate::context::{Context, c_string};
use crate::error::TlsError;
use crate::ffi::{ConnectionHandle, ErrorQueue, KeyLog, SessionHandle, Stop};
use crate::negotiated::{EndPointHash, Negotiated, PeerCertificate};

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeStatus {
    /// It is complete.
    Done,
    /// Call again when the socket can be read.
    WantRead,
    /// Call again when the socket can be written.
    WantWrite,
    /// The server says more than is listened to in one go: call again when others have had their turn,
    /// whether or not the socket becomes readable anew.
    Paused,
}

/// What came of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStatus {
    /// N bytes of the buffer were filled; not 0 unless the buffer has length 0.
    Data(usize),
    /// Call again when the socket can be read.
    WantRead,
    /// Call again when the socket can be written.
    WantWrite,
    /// The server says much without data, such as new keys: call again when others have had their turn,
    /// whether or not the socket becomes readable anew.
    Paused,
    /// The server has closed the connection, with a `close_notify` or without.
    Closed,
}

/// What came of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStatus {
    /// N bytes from the start of the buffer were taken; not 0 unless the buffer has length 0.
    Written(usize),
    /// Call again with the same bytes when the socket can be read.
    WantRead,
    /// Call again with the same bytes when the socket can be written.
    WantWrite,
}

/// A session that a later connection of the same context can offer, to the same server.
///
/// Belongs to the thread of its connection. A clone is another reference to the same session. Where
/// the server renews a ticket of TLS 1.2, OpenSSL withdraws the session that had the old one.
#[derive(Clone)]
pub struct SavedSession {
    session: SessionHandle,
    context_number: u64,
}

impl SavedSession {
    /// Whether OpenSSL would still offer it. Not once it was withdrawn, nor after a failure of TLS
    /// on a connection that used it: offering it then leads to a full handshake.
    pub fn is_resumable(&self) -> bool {
        self.session.is_resumable()
    }
}

impl fmt::Debug for SavedSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SavedSession")
            .finish_non_exhaustive()
    }
}

/// A TLS client connection, owner of its socket. Belongs to one thread.
///
/// OpenSSL writes with `write(2)`: the process must ignore SIGPIPE, as every Rust program does
/// unless told otherwise.
pub struct Connection {
    handle: ConnectionHandle,
    resumption: bool,
    observe_messages: bool,
    context_number: u64,
}

impl Connection {
    /// A connection over `socket`, which must be connected and non-blocking; nothing is sent yet.
    /// On failure the socket is closed.
    ///
    /// `server_name` is the host name or IP address that the user meant. A host name is sent to the
    /// server (SNI); either is checked if the context verifies the identity. `session` is offered
    /// if it is given; it must be of the same context, or the certificate could escape the check.
    pub fn new(
        context: &Context,
        socket: impl Into<OwnedFd>,
        server_name: Option<&str>,
        session: Option<&SavedSession>,
    ) -> Result<Self, TlsError> {
        let handle = ConnectionHandle::new(Arc::clone(&context.handle), socket.into())
            .map_err(|queue| library_failure("SSL_new", &queue))?;
        let mut this = Self {
            handle,
            resumption: context.resumption,
            observe_messages: context.observe_messages,
            context_number: context.number,
        };
        this.set_server(server_name, context.verify == Verify::Identity)?;
        if let Some(session) = session {
            this.offer(session)?;
        }
        if this.observe_messages {
            this.handle.watch_messages();
        }
        Ok(this)
    }

    fn set_server(&mut self, name: Option<&str>, identify: bool) -> Result<(), TlsError> {
        let refused = |queue: ErrorQueue| setting("server_name", &queue.reason());
        let Some(name) = name else {
            let missing = Err(setting("server_name", "verifying the identity needs one"));
            return if identify { missing } else { Ok(()) };
        };
        let is_address = name.parse::<IpAddr>().is_ok();
        let name = c_string("server_name", name.as_bytes())?;
        match (is_address, identify) {
            (true, true) => self.handle.expect_address(&name).map_err(refused),
            (true, false) => Ok(()),
            (false, _) => {
                self.handle.send_server_name(&name).map_err(refused)?;
                if identify {
                    self.handle.expect_host(&name).map_err(refused)
                } else {
                    Ok(())
                }
            }
        }
    }

    fn offer(&mut self, session: &SavedSession) -> Result<(), TlsError> {
        if session.context_number != self.context_number {
            return Err(TlsError::ForeignSession);
        }
        let failure = |queue| library_failure("SSL_set_session", &queue);
        self.handle.offer(&session.session).map_err(failure)
    }

    /// Takes the handshake as far as it goes without waiting.
    pub fn handshake(&mut self) -> Result<HandshakeStatus, TlsError> {
        match self.handle.handshake() {
            Ok(()) => self.finish_handshake().map(|()| HandshakeStatus::Done),
            Err(Stop::WantRead) if self.handle.is_paused() => Ok(HandshakeStatus::Paused),
            Err(Stop::WantRead) => Ok(HandshakeStatus::WantRead),
            Err(Stop::WantWrite) => Ok(HandshakeStatus::WantWrite),
            Err(Stop::Closed) => Err(TlsError::ClosedDuringHandshake),
            Err(Stop::Io(error)) => Err(TlsError::Io(error)),
            Err(Stop::Failed(queue)) => Err(self.explain(&queue)),
            Err(Stop::NotUp) => Err(TlsError::NotUp),
        }
    }

    fn finish_handshake(&mut self) -> Result<(), TlsError> {
        if self.observe_messages {
            self.handle.stop_watching();
        }
        let failure = self.handle.key_log().and_then(KeyLog::take_failure);
        failure.map_or(Ok(()), |error| Err(TlsError::KeyLog(error)))
    }

    /// Reads application data. Up to a record's worth may be buffered beyond what is returned, so
    /// call again until it wants the socket before waiting for the socket.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<ReadStatus, TlsError> {
        if buffer.is_empty() {
            return Ok(ReadStatus::Data(0));
        }
        match self.handle.read(buffer) {
            Ok(count) => Ok(ReadStatus::Data(count)),
            Err(Stop::WantRead) if self.handle.is_paused() => Ok(ReadStatus::Paused),
            Err(Stop::WantRead) => Ok(ReadStatus::WantRead),
            Err(Stop::WantWrite) => Ok(ReadStatus::WantWrite),
            Err(Stop::Closed) => Ok(ReadStatus::Closed),
            Err(Stop::Io(error)) => Err(TlsError::Io(error)),
            Err(Stop::Failed(queue)) => Err(self.explain(&queue)),
            Err(Stop::NotUp) => Err(TlsError::NotUp),
        }
    }

    /// Writes application data, at most a record's worth at a time. After `WantRead` or `WantWrite`
    /// the next write must begin with the same bytes and be at least as long; the buffer may be
    /// another one.
    #[inline]
    pub fn write(&mut self, buffer: &[u8]) -> Result<WriteStatus, TlsError> {
        if buffer.is_empty() {
            return Ok(WriteStatus::Written(0));
        }
        match self.handle.write(buffer) {
            Ok(count) => Ok(WriteStatus::Written(count)),
            Err(Stop::WantRead) => Ok(WriteStatus::WantRead),
            Err(Stop::WantWrite) => Ok(WriteStatus::WantWrite),
            Err(Stop::Closed) => Err(TlsError::Io(io::ErrorKind::BrokenPipe.into())),
            Err(Stop::Io(error)) => Err(TlsError::Io(error)),
            Err(Stop::Failed(queue)) => Err(self.explain(&queue)),
            Err(Stop::NotUp) => Err(TlsError::NotUp),
        }
    }

    /// Bytes of application data that can be read without the socket, from the record in hand.
    pub fn pending(&self) -> usize {
        self.handle.pending()
    }

    /// Whether anything was taken from the socket and not handed out yet, be it part of a record: a
    /// read may give data then, or want more.
    pub fn has_pending(&self) -> bool {
        self.handle.has_pending()
    }

    /// Sends a `close_notify` if it can be sent at once; does not wait for the server's. Does
    /// nothing before the handshake is complete or after a failure.
    pub fn shutdown(&mut self) {
        self.handle.shutdown();
    }

    /// What was agreed on; `None` before the handshake is complete and after a failure.
    pub fn negotiated(&self) -> Option<Negotiated> {
        let agreement = self.handle.agreement();
        self.handle.is_complete().then(|| Negotiated {
            version: agreement.version(),
            cipher: agreement.cipher(),
            group: agreement.group(),
            resumed: agreement.is_resumed(),
            hello_retry: self.hello_retry(),
        })
    }

    /// Two `ClientHello` messages in a handshake mean that the server asked for the second (RFC
    /// 8446 section 4.1.4).
    fn hello_retry(&self) -> Option<bool> {
        self.observe_messages
            .then(|| self.handle.client_hellos() > 1)
    }

    /// How often the client had sent a part of the handshake and then had to wait for the server:
    /// changes from messages sent to messages received (RFC 8446 section 2; RFC 5246 section 7.3).
    /// What was sent last, such as the `Finished` of TLS 1.3, is not waited for. `None` when that was
    /// not observed.
    pub fn handshake_round_trips(&self) -> Option<u32> {
        self.observe_messages.then(|| self.handle.round_trips())
    }

    /// The server's certificate, or that of the resumed session. Computes a digest, so it is for
    /// connections that are asked, not for each.
    pub fn peer_certificate(&self) -> Option<PeerCertificate> {
        self.handle.peer_certificate()
    }

    /// The hash of the server's certificate that binds a channel to it (`tls-server-end-point`, RFC 5929,
    /// section 4.1): by the hash of the certificate's signature, SHA-256 in place of MD5 and SHA-1.
    /// `None` where that signature has none, and before the handshake is complete.
    pub fn end_point_hash(&self) -> Option<EndPointHash> {
        self.handle.end_point_hash()
    }

    /// The application protocol that the server chose of those offered (ALPN); `None` where it chose
    /// none.
    pub fn alpn(&self) -> Option<String> {
        self.handle.agreement().alpn()
    }

    /// Whether the client proved itself by a certificate of its own; `None` where the library does not
    /// say.
    pub fn client_certificate(&self) -> Option<bool> {
        self.handle.has_signed()
    }

    /// How many authorities the client trusts, as far as they are loaded.
    pub fn authorities(&self) -> Option<u32> {
        self.handle.authorities()
    }

    /// Takes the session that is best offered next time, if there is one that is new.
    ///
    /// A TLS 1.3 server sends its tickets after the handshake, so they come with the first read; a
    /// ticket is given once, the newest first. In TLS 1.2 a resumed connection gives the session it
    /// resumed, or the one that the server put in its place. Always `None` without resumption.
    pub fn take_session(&mut self) -> Option<SavedSession> {
        if !self.resumption || !self.handle.is_complete() {
            return None;
        }
        let session = self
            .handle
            .take_new_session()
            .or_else(|| self.resumed_session())?;
        Some(SavedSession {
            session,
            context_number: self.context_number,
        })
    }

    /// OpenSSL does not announce the new ticket of a TLS 1.2 session that was resumed.
    fn resumed_session(&self) -> Option<SessionHandle> {
        let agreement = self.handle.agreement();
        let reuse = agreement.is_resumed() && agreement.version() != "TLSv1.3";
        reuse.then(|| self.handle.current_session()).flatten()
    }

    /// Bytes read from the socket so far, TLS's own included.
    pub fn bytes_read(&self) -> u64 {
        self.handle.wire_bytes().0
    }

    /// Bytes written to the socket so far, TLS's own included.
    pub fn bytes_written(&self) -> u64 {
        self.handle.wire_bytes().1
    }

    /// Whose fault a failure is, from what OpenSSL left in its queue.
    #[cold]
    fn explain(&self, queue: &ErrorQueue) -> TlsError {
        if queue.is_certificate_refused() {
            let (code, reason) = self.handle.certificate_refusal();
            return TlsError::Certificate { code, reason };
        }
        if let Some(code) = queue.peer_alert() {
            let description = self.handle.alert_name(code).to_owned();
            return TlsError::Alert { code, description };
        }
        TlsError::Protocol {
            reason: queue.reason(),
        }
    }
}

impl AsFd for Connection {
    /// The socket, to wait for; reading or writing it would break TLS.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.socket()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("socket", &self.handle.socket())
            .field("negotiated", &self.negotiated())
            .finish_non_exhaustive()
    }
}

fn setting(field: &'static str, reason: &str) -> TlsError {
    TlsError::Setting {
        field,
        reason: reason.to_owned(),
    }
}

fn library_failure(operation: &'static str, queue: &ErrorQueue) -> TlsError {
    TlsError::Library {
        operation,
        reason: queue.reason(),
    }
}
