//! The MySQL client/server protocol, client side, without sockets, clocks or threads.
//!
//! The caller moves bytes; this crate says what they mean and what to answer. Nothing here panics
//! on what a server may send, and once its buffers have grown nothing here allocates per operation.
//!
//! - [`Login`] takes a connection from the first byte to the server's OK.
//! - [`Packer`] and [`Unpacker`] are between it and the wire where both sides agreed to compress.
//! - [`command`] appends commands to a buffer.
//! - [`ResponseParser`] reads the answer to a statement, [`PrepareParser`] that to a prepare.
//!
//! Protocol rules follow the page "Client/Server Protocol" of the MySQL source documentation
//! ("MySQL Internals") and, where MariaDB differs, "Clients & Utilities / Server Client Protocol"
//! of the MariaDB Knowledge Base. Servers: MySQL 5.5 to 9.x, MariaDB 10.1 to 11.8.
#![forbid(unsafe_code)]

mod authentication;
mod capability;
pub mod command;
mod compression;
mod error;
mod greeting;
mod login;
mod packet;
mod payload;
mod prepare;
mod reply;
mod response;
mod row;
mod value;

pub use capability::{Capabilities, Status};
pub use compression::{Algorithm, Packer, Unpacked, Unpacker};
pub use error::{Fault, ServerError, Violation, WireError};
pub use greeting::Greeting;
pub use login::{
    AuthPath, AuthPlugin, Encryption, Login, LoginConfig, LoginReport, LoginStep, ServerIdentity,
};
pub use packet::{DEFAULT_MAX_PAYLOAD, Packet, PacketDecoder, append_packet};
pub use prepare::{PrepareParser, PrepareProgress, Prepared};
pub use response::{Progress, Response, ResponseParser};
pub use row::{Column, DiscardRows, Row, RowCollector, RowFormat, RowSink};
