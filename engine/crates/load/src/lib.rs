//! The load: connections as a table of states, driven by epoll, one thread a core; schedules; and
//! what is written down about them.
//!
//! [`prepare`] turns a job into what all threads share, [`run`] carries it out.

#![forbid(unsafe_code)]

mod alarm;
mod barrier;
mod byte_rate;
mod connection;
mod dispatch;
mod fleet;
mod full_load;
mod lingering;
mod null_server;
mod overhead;
mod pace;
mod prepare;
pub mod proof;
mod recorder;
mod round_trips;
mod schedule;
mod script;
mod session;
mod shared;
mod sitting;
mod slice;
mod statement;
mod supply;
mod transport;
mod values;
mod worker;

pub use byte_rate::{ByteRate, ByteSlice};
pub use null_server::Filling;
pub use prepare::prepare;
pub use recorder::{Phase, Recorder};
pub use script::rehearse;
pub use session::{POSTGRES_QUESTION, postgres_view, server_view};
pub use shared::Shared;
pub use sitting::run;
pub use statement::{Sequences, Slots, Template};
pub use supply::{Reservation, Span, Supply};
pub use values::{Bound, Dialect, DigitText, Generator, Values};
