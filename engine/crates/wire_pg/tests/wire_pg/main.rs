//! The crate from outside: recorded conversations with a real server, hostile peers, commands, a server that is there.

mod commands;
mod hostile;
mod live;
mod login;
mod recordings;
mod responses;
mod splits;
