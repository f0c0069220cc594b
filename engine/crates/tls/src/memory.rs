//! A TLS connection whose two ends are in one process, over buffers in memory: the library and nothing else.

use std::fmt;
use std::sync::Arc;

use crate::config::{Config, Role};
use crate::context::set_common;
use crate::error::TlsError;
use crate::ffi::{ContextHandle, ErrorQueue, MemoryBufferHandle, MemoryEndHandle, SessionHandle};
use crate::library::Library;
use crate::negotiated::Negotiated;

/// What all connections of one end share, with the library's defaults where nothing else is asked.
#[derive(Clone)]
pub struct MemoryContext {
    handle: Arc<ContextHandle>,
    role: Role,
}

impl MemoryContext {
    /// Builds a context of `library`. Of `config` versions, algorithms, trust and its own certificate count;
    /// a refused setting is named in the error.
    pub fn new(library: Library, role: Role, config: &Config) -> Result<Self, TlsError> {
        let mut handle =
            ContextHandle::bare(library.api(), role).map_err(|reason| TlsError::Library {
                operation: "SSL_CTX_new",
                reason,
            })?;
        set_common(&mut handle, config)?;
        Ok(Self {
            handle: Arc::new(handle),
            role,
        })
    }
}

impl fmt::Debug for MemoryContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryContext")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// What one end writes and the other reads.
pub struct MemoryBuffer {
    handle: MemoryBufferHandle,
}

impl MemoryBuffer {
    /// An empty one.
    pub fn new(library: Library) -> Result<Self, TlsError> {
        let handle = MemoryBufferHandle::new(library.api()).map_err(failed("BIO_new"))?;
        Ok(Self { handle })
    }
}

/// A session that a later connection can resume.
pub struct MemorySession {
    handle: SessionHandle,
}

/// One end of a connection. Belongs to one thread.
pub struct MemoryEnd {
    handle: MemoryEndHandle,
}

impl MemoryEnd {
    /// An end that has not begun its handshake; a client can offer a `session`.
    pub fn new(
        context: &MemoryContext,
        incoming: &MemoryBuffer,
        outgoing: &MemoryBuffer,
        session: Option<&MemorySession>,
    ) -> Result<Self, TlsError> {
        let (incoming, outgoing) = (&incoming.handle, &outgoing.handle);
        let mut handle = MemoryEndHandle::new(&context.handle, context.role, incoming, outgoing)
            .map_err(failed("SSL_new"))?;
        if let Some(session) = session {
            handle
                .offer(&session.handle)
                .map_err(failed("SSL_set_session"))?;
        }
        Ok(Self { handle })
    }

    /// Takes the handshake as far as what has come in allows; whether it is complete.
    pub fn handshake(&mut self) -> Result<bool, TlsError> {
        self.handle.handshake().map_err(failed("SSL_do_handshake"))
    }

    /// Reads application data and takes in what else has come, such as session tickets; `None` where there
    /// is no data.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, TlsError> {
        self.handle.read(buffer).map_err(failed("SSL_read_ex"))
    }

    /// Writes all of these bytes.
    pub fn write(&mut self, buffer: &[u8]) -> Result<(), TlsError> {
        self.handle.write(buffer).map_err(failed("SSL_write_ex"))
    }

    /// The session that this end uses, if another connection could resume it.
    pub fn session(&self) -> Option<MemorySession> {
        let handle = self.handle.session()?;
        handle.is_resumable().then_some(MemorySession { handle })
    }

    /// Whether a session was resumed.
    pub fn is_resumed(&self) -> bool {
        self.handle.agreement().is_resumed()
    }

    /// What was agreed on with the other end.
    pub fn negotiated(&self) -> Negotiated {
        let agreement = self.handle.agreement();
        Negotiated {
            version: agreement.version(),
            cipher: agreement.cipher(),
            group: agreement.group(),
            resumed: agreement.is_resumed(),
            hello_retry: None,
        }
    }
}

/// Names the function before OpenSSL's reason.
fn failed(operation: &'static str) -> impl FnOnce(ErrorQueue) -> TlsError {
    move |queue| TlsError::Library {
        operation,
        reason: queue.reason(),
    }
}
