//! What must hold whatever comes in, as functions of any input: of the wire crates, whatever bytes a server
//! sends; of the reader of jobs; of what draws folded stacks.
//!
//! Each target of the wire crates reads its input as a peer, some settings and the places at which the
//! bytes are cut; the others read it as text. They panic where a property does not hold. libFuzzer searches for such inputs (`engine/fuzz`);
//! this crate's tests replay those that it found worth keeping.
#![forbid(unsafe_code)]

pub(crate) mod auth;
mod client_packets;
mod commands;
pub(crate) mod compressed;
pub mod corpus;
mod folded;
mod greeting;
mod input;
mod job;
mod pg_answers;
mod pg_commands;
pub(crate) mod pg_login;
mod prepare;
pub(crate) mod result_sets;
pub mod seeds;

pub use auth::auth;
pub use commands::commands;
pub use compressed::compressed;
pub use folded::folded;
pub use greeting::greeting;
pub use job::job;
pub use pg_answers::pg_answers;
pub use pg_commands::pg_commands;
pub use pg_login::pg_login;
pub use prepare::prepare;
pub use result_sets::result_sets;

/// A property and what libFuzzer calls it.
pub type Target = (&'static str, fn(&[u8]));

/// Every property.
pub const TARGETS: [Target; 11] = [
    ("auth", auth),
    ("commands", commands),
    ("compressed", compressed),
    ("folded", folded),
    ("greeting", greeting),
    ("job", job),
    ("pg_answers", pg_answers),
    ("pg_commands", pg_commands),
    ("pg_login", pg_login),
    ("prepare", prepare),
    ("result_sets", result_sets),
];
