//! What went wrong on a connection, in the contract's words: kind, fault, code, one sentence.

use std::io;

use thiserror::Error;
use tlstax_contract::{ErrorEvent, ErrorKind, Fault};
use tlstax_tls::TlsError;
use tlstax_wire::WireError;

/// A failure of one connection, or of the whole job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Failure {
    /// Which of the contract's kinds.
    pub kind: ErrorKind,
    /// Where to look.
    pub fault: Fault,
    /// MySQL error number or errno.
    pub code: Option<i32>,
    /// One sentence.
    pub message: String,
    /// Whether it is the server's answer to a statement, after which the connection can go on.
    pub is_of_a_statement: bool,
}

impl Failure {
    /// A failure without a number.
    pub fn new(kind: ErrorKind, fault: Fault, message: impl Into<String>) -> Self {
        Self {
            kind,
            fault,
            code: None,
            message: message.into(),
            is_of_a_statement: false,
        }
    }

    /// The same as the server's answer to a statement, after which the connection can go on.
    #[must_use]
    pub fn of_a_statement(self) -> Self {
        Self {
            is_of_a_statement: true,
            ..self
        }
    }

    /// The server hung up while `doing` something.
    pub fn closed(doing: &str) -> Self {
        let message = format!("the server closed the connection {doing}");
        Self::new(ErrorKind::ServerClosed, Fault::Server, message)
    }

    /// Whether a Unix socket had no place in its queue for a connection, which may change (connect(2)).
    pub fn is_full_queue(&self) -> bool {
        self.kind == ErrorKind::Connect && self.code == Some(libc::EAGAIN)
    }

    /// A socket failed to open or to connect.
    pub fn connecting(error: &io::Error) -> Self {
        let code = error.raw_os_error();
        let out_of = match code {
            Some(libc::EMFILE | libc::ENFILE) => Some("file descriptors: raise `ulimit -n`"),
            Some(libc::EADDRNOTAVAIL) => Some(
                "local ports, which closed connections keep for a minute (TIME_WAIT): widen \
                 net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=1",
            ),
            Some(libc::ENOBUFS | libc::ENOMEM) => Some("memory for sockets"),
            _ => None,
        };
        match out_of {
            Some(what) => Self {
                kind: ErrorKind::Limits,
                fault: Fault::Client,
                code,
                message: format!("this machine has run out of {what}"),
                is_of_a_statement: false,
            },
            None => Self {
                kind: ErrorKind::Connect,
                fault: Fault::Network,
                code,
                message: format!("the server could not be reached ({error})"),
                is_of_a_statement: false,
            },
        }
    }

    /// As the event that tells of it.
    pub fn event(&self, fatal: bool) -> ErrorEvent {
        ErrorEvent {
            kind: self.kind,
            fault: self.fault,
            fatal,
            message: self.message.clone(),
            code: self.code,
            count: 1,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self {
            kind: ErrorKind::ServerClosed,
            fault: Fault::Network,
            code: error.raw_os_error(),
            message: format!("the connection broke ({error})"),
            is_of_a_statement: false,
        }
    }
}

/// MySQL error numbers that say that the account may not log in: 1044 and 1045 access denied,
/// 1698 no password, 3118 and 4151 account locked, 3955 blocked for wrong passwords, 1130 host not allowed,
/// 1820 and 1862 expired password.
const LOGIN_REFUSED: [u16; 9] = [1044, 1045, 1130, 1698, 1820, 1862, 3118, 3955, 4151];

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        let (kind, code) = match &error {
            WireError::Server(refusal) if LOGIN_REFUSED.contains(&refusal.code) => {
                (ErrorKind::AccessDenied, Some(i32::from(refusal.code)))
            }
            WireError::Server(refusal) => (ErrorKind::ServerError, Some(i32::from(refusal.code))),
            WireError::CleartextRefused { .. }
            | WireError::PublicKeyNotAskedFor
            | WireError::UnsupportedPlugin { .. } => (ErrorKind::AccessDenied, None),
            WireError::NotMySql { .. } => (ErrorKind::NotMysql, None),
            WireError::TlsNotOffered => (ErrorKind::NoTls, None),
            WireError::CompressionNotOffered { .. } => (ErrorKind::NoCompression, None),
            WireError::PacketTooLarge { .. } | WireError::Compressor => (ErrorKind::Limits, None),
            WireError::Misuse { .. } => (ErrorKind::Internal, None),
            WireError::NulByte { .. } => (ErrorKind::BadJob, None),
            _ => (ErrorKind::Protocol, None),
        };
        let fault = match error.fault() {
            tlstax_wire::Fault::Server => Fault::Server,
            tlstax_wire::Fault::Job => Fault::Job,
            tlstax_wire::Fault::Client => Fault::Client,
        };
        Self {
            kind,
            fault,
            code,
            message: error.to_string(),
            is_of_a_statement: false,
        }
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        let (kind, fault) = match &error {
            TlsError::Certificate { .. } => (ErrorKind::Certificate, Fault::Server),
            TlsError::Alert { .. }
            | TlsError::Protocol { .. }
            | TlsError::ClosedDuringHandshake => (ErrorKind::TlsHandshake, Fault::Server),
            TlsError::Io(_) => (ErrorKind::ServerClosed, Fault::Network),
            TlsError::Setting { .. } => (ErrorKind::TlsLibrary, Fault::Job),
            TlsError::ForeignSession | TlsError::Library { .. } => {
                (ErrorKind::Internal, Fault::Client)
            }
            _ => (ErrorKind::TlsLibrary, Fault::Client),
        };
        Self {
            kind,
            fault,
            code: None,
            message: error.to_string(),
            is_of_a_statement: false,
        }
    }
}
