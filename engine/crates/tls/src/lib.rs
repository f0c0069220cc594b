//! Any OpenSSL libssl, from 1.1.1 to 4.0, loaded at run time by path, behind a small safe interface.
//!
//! [`Library`] is the pair of files that was really loaded, [`Context`] what all connections of a
//! process share, [`Connection`] one TLS client connection over a non-blocking socket,
//! [`SavedSession`] what a later connection can resume. OpenSSL does its own I/O on the socket, as
//! it does under every C client; this crate adds no allocation and no lock to a read or a write.
//!
//! All `unsafe` code lives in the private module `ffi`; the compiler refuses it elsewhere.

#![deny(unsafe_code)]

mod config;
mod connection;
mod context;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod group;
mod library;
mod library_files;
mod mapped_files;
mod negotiated;

pub use config::{Config, Verify, Version};
pub use connection::{Connection, HandshakeStatus, ReadStatus, SavedSession, WriteStatus};
pub use context::Context;
pub use error::TlsError;
pub use library::{Library, VersionNumber};
pub use negotiated::{Negotiated, PeerCertificate};
