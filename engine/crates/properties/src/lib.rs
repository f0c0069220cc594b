//! What must hold of the wire crate whatever bytes a server sends, as functions of any input.
//!
//! Each target reads its input as a peer, some settings and the places at which the bytes are cut,
//! and panics where a property does not hold. libFuzzer searches for such inputs (`engine/fuzz`);
//! this crate's tests replay those that it found worth keeping.
#![forbid(unsafe_code)]

pub(crate) mod auth;
mod client_packets;
mod commands;
pub mod corpus;
mod greeting;
mod input;
mod prepare;
pub(crate) mod result_sets;
pub mod seeds;

pub use auth::auth;
pub use commands::commands;
pub use greeting::greeting;
pub use prepare::prepare;
pub use result_sets::result_sets;

/// A property and what libFuzzer calls it.
pub type Target = (&'static str, fn(&[u8]));

/// Every property.
pub const TARGETS: [Target; 5] = [
    ("auth", auth),
    ("commands", commands),
    ("greeting", greeting),
    ("prepare", prepare),
    ("result_sets", result_sets),
];
