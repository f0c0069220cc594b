//! Any OpenSSL libssl, from 1.1.1 to 4.0, loaded at run time by path, behind a safe interface.
//!
//! [`Library`] is the pair of files that was really loaded, [`Context`] what all connections of a
//! process share, [`Connection`] one TLS client connection over a non-blocking socket,
//! [`SavedSession`] what a later connection can resume. OpenSSL does its own I/O on the socket, as
//! it does under every C client; this crate adds no allocation and no lock to a read or a write.
//!
//! The library alone is there too: [`MemoryEnd`] is one side of a connection that never leaves the process,
//! [`SigningKey`] and [`KeyExchange`] what a handshake computes with.
//!
//! ```no_run
//! use std::net::TcpStream;
//! use tlstax_tls::{Config, Connection, Context, HandshakeStatus, Library};
//!
//! let context = Context::new(Library::load(None)?, &Config::default())?;
//! let socket = TcpStream::connect("127.0.0.1:4433")?;
//! socket.set_nonblocking(true)?;
//! let mut connection = Connection::new(&context, socket, Some("localhost"), None)?;
//! while connection.handshake()? != HandshakeStatus::Done {
//!     // Wait for the socket here, to be read or written as the status says.
//! }
//! println!("{:?}", connection.negotiated());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All `unsafe` code lives in the private module `ffi`; the compiler refuses it elsewhere.

#![deny(unsafe_code)]

mod config;
mod connection;
mod context;
mod error;
mod exchange;
#[allow(unsafe_code)]
mod ffi;
mod group;
mod library;
mod library_files;
mod mapped_files;
mod memory;
mod negotiated;
mod signing;

pub use config::{Config, Role, Verify, Version};
pub use connection::{Connection, HandshakeStatus, ReadStatus, SavedSession, WriteStatus};
pub use context::Context;
pub use error::TlsError;
pub use exchange::KeyExchange;
pub use library::{Library, VersionNumber};
pub use memory::{MemoryBuffer, MemoryContext, MemoryEnd, MemorySession};
pub use negotiated::{EndPointHash, Negotiated, PeerCertificate};
pub use signing::SigningKey;
