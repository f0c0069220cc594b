//! The engine: reads one job from standard input, carries it out, says what happens on standard
//! output, one JSON object a line (the contract of `contract/README.md`).

#![forbid(unsafe_code)]

use std::io::{BufRead, Write};
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
    let lines = listen();
    let bad_job = |message: String| Failure::new(ErrorKind::BadJob, Fault::Job, message);
    let line = lines
        .recv()
        .map_err(|_| bad_job("there was no job on standard input".into()))?;
    let job = Job::from_json(&line).map_err(|error| bad_job(error.to_string()))?;
    let shared = tlstax_load::prepare(&job)?;
    let wait_for_go = || {
        // The listener ends the process when standard input ends, so only lines arrive here.
        while lines.recv().is_ok_and(|line| line.trim() != "go") {}
    };
    tlstax_load::run(&job, &shared, |event| say(&event), wait_for_go)
}

/// Reads standard input in a thread of its own. The laboratory keeps it open as long as it lives:
/// when it ends after the job was read, nobody wants the result any more.
fn listen() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut heard_a_job = false;
        loop {
            let mut line = String::new();
            let limited = &mut std::io::Read::take(&mut input, LONGEST_JOB_BYTES);
            match limited.read_line(&mut line) {
                Ok(count) if count > 0 => {
                    heard_a_job = true;
                    if sender.send(line).is_err() {
                        return;
                    }
                }
                _ if heard_a_job => std::process::exit(1),
                _ => return,
            }
        }
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
