//! The crate against an independent TLS implementation (rustls), over loopback sockets.
//!
//! Runs on the machine's own libssl; `TLSTAX_TEST_LIBSSL` names another to be tested in its place.

mod certificates;
mod client;
mod server;

mod data;
mod failures;
mod handshake;
mod library;
mod resumption;
mod settings;
mod verification;
mod weak_groups;
