//! What the engine and the floor both need before they can work: where the server is, as whom they log in and how they
//! encrypt, what the machine must allow; and the clocks and the failures that both tell of.

#![forbid(unsafe_code)]

mod access;
pub mod clock;
mod cpus;
mod failure;
mod open_files;
mod ports;
mod socket;

pub use access::{Access, LoginTerms, POSTGRES_ALPN, TlsTerms};
pub use cpus::{pin, pin_to};
pub use failure::Failure;
pub use socket::{Target, TcpInfo, connect_result, tcp_info};
