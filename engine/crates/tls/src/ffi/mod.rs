//! The binding to libssl and libcrypto: the only module where `unsafe` is allowed.
//!
//! Each file wraps one kind of OpenSSL object in an owner whose methods are safe whatever safe code
//! does with them. Three facts carry most of the `SAFETY` reasons:
//!
//! 1. [`Api`] is made once a process, by [`process_api`], and never unloaded, so its function
//!    pointers and the library's static strings are valid for good.
//! 2. Every owner holds one reference to a live object, taken when it was made and given back in
//!    `Drop`.
//! 3. OpenSSL 1.1 and later lock for themselves: distinct objects may be used from distinct
//!    threads, and an `SSL_CTX` that is not changed any more may be shared (`man 7
//!    openssl-threads`).

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("the binding assumes Linux and that C's unsigned long has 64 bits");

mod agreement;
mod api;
mod certificate;
mod connection;
mod context;
mod error_queue;
mod exchange;
mod key_log;
mod memory;
mod notes;
mod public_key;
mod security;
mod session;
mod signing;
mod symbols;

use api::process_api;
pub(crate) use api::{Api, OpenFailure, OpenedLibrary, install};
pub(crate) use connection::{ConnectionHandle, Stop};
pub(crate) use context::ContextHandle;
pub(crate) use error_queue::ErrorQueue;
pub(crate) use exchange::ExchangeHandle;
pub(crate) use key_log::KeyLog;
pub(crate) use memory::{MemoryBufferHandle, MemoryEndHandle};
pub(crate) use public_key::encrypt_rsa_oaep;
pub(crate) use session::SessionHandle;
pub(crate) use signing::SigningHandle;
