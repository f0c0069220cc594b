//! A distance on one machine: packets between two TUN devices arrive late on purpose.
//!
//! `carry --socket PATH` connects to a Unix socket, is given the two devices there and told how far they
//! are apart, and carries packets until that socket ends. `rtt --to ADDRESS --port PORT --samples N` measures
//! round trips by TCP connects to a port on which nobody listens: the kernel over there answers them
//! (RFC 9293, section 3.10.7.1). What goes wrong is told in one sentence on standard error, with status 3,
//! or 2 where what was asked for cannot be.

#![forbid(unsafe_code)]

mod carry;
mod clock;
mod control;
mod lane;
mod lateness;
mod options;
mod round_trip;
mod settings;

use std::io::Write;
use std::process::ExitCode;

use crate::options::Task;

/// Does what the arguments ask for.
pub fn run(arguments: lexopt::Parser) -> ExitCode {
    let task = match options::task(arguments) {
        Ok(task) => task,
        Err(why) => return say(&why, 2),
    };
    let done = match task {
        Task::Carry { socket } => carry::carry(&socket),
        Task::RoundTrips(asked) => {
            round_trip::measure(&asked).map(|found| println!("{}", serde_json::json!(found)))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => say(&why, 3),
    }
}

fn say(sentence: &str, status: u8) -> ExitCode {
    // Nobody to tell where standard error is closed; the status says it too.
    let _ = writeln!(std::io::stderr(), "tlstax-tools link: {sentence}");
    ExitCode::from(status)
}
