//! What can go wrong, and whose fault it is.

use thiserror::Error;

use crate::login::{AuthMethod, AuthMethods};
use crate::server_error::ServerError;

/// Every way in which talking to a server fails. Each displays as one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// The server answered with an `ErrorResponse`.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server sent what the protocol does not allow; the connection cannot be used any more.
    #[error("the server broke the PostgreSQL protocol: {0}")]
    Protocol(#[from] Violation),
    /// What answered speaks something else; `banner` shows its first bytes, printable, shortened.
    #[error("this is not a PostgreSQL server: it answered with {banner}{}", hint(*.looks_like))]
    NotPostgres {
        /// The first bytes received, quoted and escaped.
        banner: String,
        /// The name of the protocol that begins like this, where it is known.
        looks_like: Option<&'static str>,
    },
    /// A message is longer than the parser was allowed to take.
    #[error(
        "the server sent a message of {length_bytes} bytes (type {}), over the limit of {limit_bytes}",
        shown(*.kind)
    )]
    MessageTooLarge {
        /// The message's type byte.
        kind: u8,
        /// What its header says.
        length_bytes: usize,
        /// The maximum for such a message.
        limit_bytes: usize,
    },
    /// TLS was asked for and the server answered `N`.
    #[error("TLS was asked for, but the server does not offer it (it answered N to SSLRequest)")]
    TlsNotOffered,
    /// More than one byte answered `SSLRequest`, or some came before the handshake (CVE-2021-23222).
    #[error(
        "the server sent more than the one byte that answers SSLRequest: what comes unencrypted before TLS could \
         pass for what came inside it (CVE-2021-23222), so the connection was given up"
    )]
    BytesBeforeTls,
    /// An `ErrorResponse` answered `SSLRequest`. It is not read: anybody may have sent it (CVE-2024-10977).
    #[error(
        "the server answered SSLRequest with an error, which is not shown since it came unprotected: the server \
         is older than TLS in PostgreSQL, or it could not start a process for the connection (its log has why)"
    )]
    ErrorInsteadOfTls,
    /// An error without a length, as before protocol 3, answered the client's first message.
    #[error(
        "the server answered with an error of a form older than PostgreSQL 7.4: it could not start a process for \
         the connection (its log has why), or it is that old"
    )]
    ErrorWithoutLength,
    /// The server asked for the password in clear text over a channel that can be read, or may be anybody.
    #[error(
        "the server asked for the password in clear text over {}; it was not sent: have the server's \
         certificate verified (sslmode=verify-full with sslrootcert), or let the account use scram-sha-256",
        readable(*.encrypted)
    )]
    CleartextRefused {
        /// Whether TLS was up, to a server that nothing vouched for.
        encrypted: bool,
    },
    /// The server wants another way of logging in than the job allows, or none at all.
    #[error("the server {}, but the job allows only {allowed}", asked_for(*.asked))]
    MethodNotAllowed {
        /// What the server asked for, or took as enough.
        asked: AuthMethod,
        /// What the job allows.
        allowed: AuthMethods,
    },
    /// The account authenticates in a way that this client cannot.
    #[error(
        "the server asks for {method} to log in, which this client does not have; it has password, md5, \
         scram-sha-256, scram-sha-256-plus, and certificates in TLS"
    )]
    UnsupportedMethod {
        /// The method's name, or the mechanisms that the server offered.
        method: String,
    },
    /// The server wants a password and the job has none.
    #[error("the server asks for a password ({}), and none was given", .method.name())]
    NoPassword {
        /// How it wants it.
        method: AuthMethod,
    },
    /// SCRAM with the channel bound was demanded and cannot be had.
    #[error("binding the login to the TLS channel (scram-sha-256-plus) was asked for, but {0}")]
    ChannelNotBound(&'static str),
    /// The server demands so many rounds of hashing that the client would be busy with nothing else.
    #[error(
        "the server demands {asked} iterations of SCRAM's password hash, over the limit of {limit}: it is \
         hostile, or its scram_iterations is set so high that logins would measure the client"
    )]
    TooManyIterations {
        /// What the server demands.
        asked: u64,
        /// The limit.
        limit: u32,
    },
    /// The server knows the password no better than anybody: its signature is not the one that the password gives.
    #[error(
        "the server did not prove that it knows the account's password (SCRAM's server signature is wrong): it \
         may not be the server that was meant"
    )]
    ServerNotProven,
    /// The server ended SCRAM with an error of its own.
    #[error("the server ended SCRAM with the error {0}")]
    ScramRefused(String),
    /// A statement copies from or to the client.
    #[error(
        "the statement is a COPY from or to the client (FROM STDIN, TO STDOUT), which this client does not do: \
         use INSERT and SELECT"
    )]
    Copy,
    /// A value in a row has a type whose binary encoding is not known here.
    #[error(
        "a binary row has a column of the type with OID {0}, whose encoding this client does not know"
    )]
    ColumnType(u32),
    /// What is to be sent cannot be put on the wire.
    #[error("the {what} contains a NUL byte, which the PostgreSQL protocol cannot carry")]
    NulByte {
        /// Which part of the configuration, or of a command.
        what: &'static str,
    },
    /// A command has more parameters, or is longer, than its length fields can say.
    #[error("a command with {what} of {count} is more than the PostgreSQL protocol can carry")]
    CommandTooLong {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        count: usize,
    },
    /// The calling program used the crate out of order.
    #[error("out of order use of the PostgreSQL protocol code: {what}")]
    Misuse {
        /// What was called, and when it may be.
        what: &'static str,
    },
}

/// Who has to change something for the error to go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server said no, or broke the protocol.
    Server,
    /// What the caller was asked to do cannot be done: the endpoint, the account, the limits.
    Job,
    /// This client: it lacks something, or was used wrongly.
    Client,
}

impl WireError {
    /// Who has to change something for the error to go away.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Server(_)
            | Self::Protocol(_)
            | Self::TlsNotOffered
            | Self::BytesBeforeTls
            | Self::ErrorInsteadOfTls
            | Self::ErrorWithoutLength
            | Self::ServerNotProven
            | Self::ScramRefused(_) => Fault::Server,
            Self::NotPostgres { .. }
            | Self::MessageTooLarge { .. }
            | Self::CleartextRefused { .. }
            | Self::MethodNotAllowed { .. }
            | Self::NoPassword { .. }
            | Self::ChannelNotBound(_)
            | Self::TooManyIterations { .. }
            | Self::Copy
            | Self::NulByte { .. }
            | Self::CommandTooLong { .. } => Fault::Job,
            Self::UnsupportedMethod { .. } | Self::ColumnType(_) | Self::Misuse { .. } => {
                Fault::Client
            }
        }
    }

    /// Whether the connection can take another command: only after an ordinary error that answered one.
    pub fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Server(error) if !error.closes_connection())
    }
}

fn readable(encrypted: bool) -> &'static str {
    if encrypted {
        "TLS to a server whose certificate was not verified"
    } else {
        "a connection without TLS"
    }
}

fn hint(looks_like: Option<&'static str>) -> String {
    looks_like.map_or_else(String::new, |name| format!(", which looks like {name}"))
}

fn asked_for(method: AuthMethod) -> String {
    match method {
        AuthMethod::Trust => {
            "let the account in without asking for a password (trust, cert, peer)".into()
        }
        method => format!("asks for {} to log in", method.name()),
    }
}

/// A type byte as people write it: `'D'`, or in hexadecimal.
fn shown(kind: u8) -> String {
    if kind.is_ascii_graphic() {
        format!("'{}'", char::from(kind))
    } else {
        format!("{kind:#04x}")
    }
}

/// How the server broke the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Violation {
    /// A message's length does not even count itself.
    #[error("a message of type {} says that it has {length} bytes", shown(*.kind))]
    Length {
        /// The message's type byte.
        kind: u8,
        /// The length in its header.
        length: u32,
    },
    /// A message came that has no place there.
    #[error("a message of type {} came where {due} was due", shown(*.kind))]
    UnexpectedMessage {
        /// The message's type byte.
        kind: u8,
        /// What was due.
        due: &'static str,
    },
    /// A message ended before what it must contain.
    #[error("{message} is cut short")]
    Truncated {
        /// Which message.
        message: &'static str,
    },
    /// A message has bytes after what it can contain.
    #[error("{message} has {left_bytes} bytes too many")]
    Overlong {
        /// Which message.
        message: &'static str,
        /// How many bytes were left.
        left_bytes: usize,
    },
    /// A number or a byte in a message has no meaning.
    #[error("{message} has the value {value}, which has no meaning there")]
    UnknownValue {
        /// Which message.
        message: &'static str,
        /// The value.
        value: u32,
    },
    /// A row has another number of values than its description has columns.
    #[error("a row of {values} values in a result of {columns} columns")]
    FieldCount {
        /// The row's.
        values: usize,
        /// The description's.
        columns: usize,
    },
    /// A value of a binary row is longer or shorter than its type.
    #[error("{0} has an impossible length")]
    ValueLength(&'static str),
    /// The server sent something before the client had answered.
    #[error("it sent more before the client had answered")]
    OutOfTurn,
    /// A server cannot bind a channel that there is not.
    #[error("it offered SCRAM-SHA-256-PLUS on a connection without TLS")]
    PlusWithoutTls,
    /// A message of SCRAM is not what RFC 5802 says.
    #[error("SCRAM's {0}")]
    Scram(&'static str),
    /// The server said OK in the middle of an exchange that proves that it knows the password.
    #[error(
        "it let the account in before SCRAM had ended, so nothing proves that it knows the password"
    )]
    ScramNotFinished,
    /// The server speaks another version than it was asked for.
    #[error("it wants protocol version {major}.{minor}")]
    ProtocolVersion {
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// The login went on and on.
    #[error("the login did not end after {0} messages")]
    EndlessLogin(u32),
}
