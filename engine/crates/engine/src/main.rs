//! The engine: reads one job from standard input, carries it out, says what happens on standard
//! output, one JSON object a line (the contract of `contract/README.md`).

#![forbid(unsafe_code)]

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tlstax_contract::{ErrorKind, Event, Fault, Job};
use tlstax_load::Failure;

/// The longest line that may be a job.
const LONGEST_JOB_BYTES: u64 = 16 << 20;

fn main() -> ExitCode {
    if std::env::args().len() > 1 {
        println!(
            "tlstax-engine {}: reads a job from standard input",
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&Event::Error(failure.event(true)));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Failure> {
    let bad_job = |message: String| Failure::new(ErrorKind::BadJob, Fault::Job, message);
    let line = read_line().ok_or_else(|| bad_job("there was no job on standard input".into()))?;
    let job = Job::from_json(&line).map_err(|error| bad_job(error.to_string()))?;
    let orders = listen();
    let shared = tlstax_load::prepare(&job)?;
    let wait_for_go = || {
        // The listener ends the process when standard input ends, so only lines arrive here.
        while orders.recv().is_ok_and(|line| line.trim() != "go") {}
    };
    tlstax_load::run(&job, &shared, |event| say(&event), wait_for_go)
}

/// One line of standard input; none at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock();
    let count = input
        .by_ref()
        .take(LONGEST_JOB_BYTES)
        .read_line(&mut line)
        .ok()?;
    (count > 0).then_some(line)
}

/// Reads the lines after the job in a thread of its own. The laboratory keeps standard input open as
/// long as it lives: when it ends, nobody wants the result any more.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        while let Some(line) = read_line() {
            if sender.send(line).is_err() {
                return;
            }
        }
        std::process::exit(1);
    });
    receiver
}

fn say(event: &Event) {
    let mut output = std::io::stdout().lock();
    let written = serde_json::to_writer(&mut output, event)
        .map_err(std::io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .and_then(|()| output.flush());
    if written.is_err() {
        // Nobody reads any more.
        std::process::exit(1);
    }
}
