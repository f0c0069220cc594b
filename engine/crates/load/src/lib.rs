//! The load: connections as a table of states, driven by epoll, one thread a core; schedules; and
//! what is written down about them.
//!
//! [`prepare`] turns a job into what all threads share, [`run`] carries it out.

#![forbid(unsafe_code)]

mod alarm;
mod barrier;
mod byte_rate;
pub mod clock;
mod compressed;
mod connection;
mod dispatch;
mod failure;
mod fleet;
mod full_load;
mod limits;
mod lingering;
mod null_server;
mod overhead;
mod pace;
mod ports;
mod prepare;
mod proof;
mod recorder;
mod round_trips;
mod schedule;
mod script;
mod shared;
mod sitting;
mod slice;
mod socket;
mod statement;
mod supply;
mod transport;
mod values;
mod worker;

pub use byte_rate::{ByteRate, ByteSlice};
pub use failure::Failure;
pub use fleet::{pin, pin_to};
pub use null_server::Filling;
pub use prepare::prepare;
pub use script::rehearse;
pub use shared::Shared;
pub use sitting::run;
