//! What can end the floor: what ends the engine too, and what only a bare loop cannot bear.

use thiserror::Error;
use tlstax_contract::{ErrorEvent, ErrorKind, Fault, JobError, OrderError};
use tlstax_tls::TlsError;
use tlstax_wire::WireError;

/// A failure of the floor. A floor with errors is none, so each ends it.
#[derive(Debug, Error)]
pub enum Failure {
    /// What can go wrong with any client.
    #[error(transparent)]
    Client(#[from] tlstax_client::Failure),
    /// The job asks for what a bare loop cannot do.
    #[error("{0}")]
    Refused(String),
    /// The server wants the password encrypted with its RSA key.
    #[error("the server does not have this account's password in its cache")]
    PasswordNotCached,
    /// TLS records without data, one after another.
    #[error("the server says much without an answer, which no server of ours does")]
    SaysNothing,
    /// The socket took a part of a request.
    #[error("a request did not fit the socket")]
    RequestCut,
    /// What was due did not come, or something else did.
    #[error("the floor cannot go on: {0}")]
    Stuck(&'static str),
    /// A step was made out of order.
    #[error("a mistake in the floor: a connection without its socket")]
    NoSocket,
}

impl Failure {
    /// As the event that tells of it.
    pub fn event(&self) -> ErrorEvent {
        let (kind, fault) = match self {
            Self::Client(failure) => return failure.event(true),
            Self::Refused(_) => (ErrorKind::BadJob, Fault::Job),
            Self::PasswordNotCached => (ErrorKind::AccessDenied, Fault::Server),
            Self::SaysNothing => (ErrorKind::Protocol, Fault::Server),
            Self::RequestCut | Self::Stuck(_) | Self::NoSocket => {
                (ErrorKind::Internal, Fault::Client)
            }
        };
        ErrorEvent {
            kind,
            fault,
            fatal: true,
            message: self.to_string(),
            code: None,
            count: 1,
        }
    }
}

/// Whatever any client's failure is made of.
macro_rules! of_any_client {
    ($($source:ty),*) => {$(
        impl From<$source> for Failure {
            fn from(error: $source) -> Self {
                Self::Client(error.into())
            }
        }
    )*};
}

of_any_client!(
    JobError,
    OrderError,
    TlsError,
    WireError,
    tlstax_wire_pg::WireError,
    std::io::Error
);
