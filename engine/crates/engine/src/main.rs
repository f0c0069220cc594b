//! The engine: reads one job from standard input, carries it out, says what happens on standard
//! output, one JSON object a line (the contract of `contract/README.md`).

#![forbid(unsafe_code)]

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use tlstax_contract::{ErrorKind, Event, Fault, Job};
use tlstax_load::Failure;

/// The longest line that may be a job.
const LONGEST_JOB_BYTES: u64 = 16 << 20;
/// For how long connections are kept after the result when nobody releases them.
const LONGEST_HOLD: Duration = Duration::from_secs(1);

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
    let told = Arc::new(AtomicBool::new(false));
    let orders = listen(Arc::clone(&told));
    let shared = tlstax_load::prepare(&job)?;
    let wait_for_go = || {
        // The listener ends the process when standard input ends, so only lines arrive here.
        while orders.recv().is_ok_and(|line| line.trim() != "go") {}
    };
    let wait_for_release = || {
        // Nobody has to say anything more: the end of standard input releases, and so does time.
        while orders.recv_timeout(LONGEST_HOLD).is_ok() {}
    };
    let say_and_note = |event| {
        told.store(matches!(event, Event::Done(_)), Ordering::Release);
        say(&event);
    };
    tlstax_load::run(&job, &shared, say_and_note, wait_for_go, wait_for_release)
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
/// long as it lives: when it ends before the result was told, nobody wants it any more.
fn listen(told: Arc<AtomicBool>) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        while let Some(line) = read_line() {
            if sender.send(line).is_err() {
                return;
            }
        }
        if !told.load(Ordering::Acquire) {
            std::process::exit(1);
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
