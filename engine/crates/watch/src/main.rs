//! Reads what a server's process uses, on the server's machine, for whoever measures from another one.
//!
//! It is started over ssh, speaks lines on its standard input and output, and ends with its input. Its arguments
//! are the two ends of a connection that the measuring side has to the server: which process holds the
//! server's end is the server, whatever it is called.
//!
//! First it says `watching PID PROCESSORS NAME`, or `error: …` and ends with 1. Where the server starts processes
//! that execute its program, it is the first of them that is named, all of them are what is read, and it says
//! `watching group PID PROCESSORS NAME`, or `ticks` in place of `group`: what tells their CPU time (see `tree`).
//! Then it answers each `clock` with
//! the nanoseconds of CPU time that all threads of the process have used, each `memory` with its resident bytes,
//! each `use` with the words below, and anything else, like a process that is gone, with `error: …`.
//!
//! `use` is everything so far on one line: `clock=NANOSECONDS user=TICKS system=TICKS faults=N`, for each thread
//! `switches.ID=N`, and for each event that the kernel lets it count `NAME=TIMES/ENABLED/RUNNING`, counted from the
//! first such question on. Of several processes it is their sum, with `processes=N`: how many there are.

mod counters;
mod process;
mod sockets;
mod tree;

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::counters::Counters;
use crate::process::Watched;
use crate::sockets::Connection;

const USAGE: &str =
    "usage: tlstax-watch CLIENT:PORT SERVER_PORT, the ends of a connection to the server";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match found(&arguments, Path::new("/proc")) {
        Ok(watched) => {
            // Whoever asks may be gone at any time; then there is nobody left to tell.
            let _ = answer(&watched);
            ExitCode::SUCCESS
        }
        Err(why) => {
            let _ = said(&format!("error: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// The process at the server's end of the connection.
fn found(arguments: &[String], proc: &Path) -> Result<Watched, String> {
    let [client, port] = arguments else {
        return Err(USAGE.to_owned());
    };
    let connection = Connection::parsed(client, port).ok_or_else(|| USAGE.to_owned())?;
    Watched::holding(connection.inode(proc)?, &connection.listening(proc), proc)
}

/// Answers questions until there are no more.
fn answer(watched: &Watched) -> std::io::Result<()> {
    said(&watched.words())?;
    let mut counters = None;
    for line in std::io::stdin().lock().lines() {
        let found = match line?.as_str() {
            "clock" => watched.cpu_ns().map(|ns| ns.to_string()),
            "memory" => watched.resident_bytes().map(|bytes| bytes.to_string()),
            "use" => used(watched, &mut counters),
            other => Err(format!("there is no question {other:?}")),
        };
        match found {
            Ok(words) => said(&words)?,
            Err(why) => said(&format!("error: {why}"))?,
        }
    }
    Ok(())
}

/// All that it has used so far; what the processor counts is counted from the first time on.
fn used(watched: &Watched, counters: &mut Option<Counters>) -> Result<String, String> {
    let mut words = watched.used()?;
    let counters = counters.get_or_insert_with(|| Counters::of(&watched.threads()));
    words.extend(counters.words());
    Ok(words.join(" "))
}

fn said(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
