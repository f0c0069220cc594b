//! The crate from outside: recorded conversations with real servers, hostile peers, framing.

mod commands;
mod compression;
mod framing;
mod fuzz;
mod greetings;
mod hostile;
mod login;
mod recordings;
mod responses;
mod splits;
