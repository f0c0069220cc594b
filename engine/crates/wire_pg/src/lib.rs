//! The PostgreSQL frontend/backend protocol, version 3.0, client side, without sockets, clocks, threads or
//! random numbers.
//!
//! The caller moves bytes; this crate says what they mean and what to answer. Nothing here panics on what a
//! server may send, and once its buffers have grown nothing here allocates per operation.
//!
//! - [`Login`] takes a connection from the client's first byte to the server's first `ReadyForQuery`: the
//!   request for TLS, `StartupMessage`, and whatever proof of the account the server asks for. [`ScramKeys`]
//!   keeps what SCRAM's password hash costs between logins.
//! - [`command`] appends commands to a buffer, each with its `Sync` where it needs one, so that each has one answer.
//! - [`ResponseParser`] reads the answers, one a command, told by [`Asked`] which one is due. It belongs to its
//!   connection, since a server may also speak unasked ([`ResponseParser::idle`]).
//!
//! Protocol rules follow the chapter "Frontend/Backend Protocol" of PostgreSQL's documentation, SCRAM RFC 5802 and
//! RFC 7677, the channel's binding RFC 5929, and what a client does where these leave it open is libpq's.
//! Servers: PostgreSQL 10 to 18, and what speaks as they do, such as PgBouncer.
#![forbid(unsafe_code)]

pub mod command;
mod error;
mod login;
mod message;
mod response;
mod row;
mod scram;
mod server_error;
mod value;

pub use error::{Fault, Violation, WireError};
pub use login::{
    AuthMethod, AuthMethods, Login, LoginConfig, LoginReport, LoginStage, LoginStep,
    ServerIdentity, TlsStart,
};
pub use message::{DEFAULT_MAX_MESSAGE, Message, MessageDecoder, append_message};
pub use response::{Asked, Progress, Response, ResponseParser, TransactionStatus};
pub use row::{Column, DiscardRows, Format, Row, RowCollector, RowSink};
pub use scram::{KeyUse, ScramKeys};
pub use server_error::{ServerError, Severity, SqlState};
