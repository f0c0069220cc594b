//! The engine: reads one job from standard input, carries it out slice by slice as it is ordered, reports
//! what happens on standard output, one JSON object a line (the contract of `contract/README.md`).

#![forbid(unsafe_code)]

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tlstax_client::Failure;
use tlstax_contract::{Event, Job, Order};

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
    let line = read_line().ok_or(Failure::Refused("there was no job on standard input"))?;
    let job = Job::from_json(&line)?;
    let reported = Arc::new(AtomicBool::new(false));
    let hung_up = watch(Arc::clone(&reported));
    let shared = tlstax_load::prepare(&job)?;
    let wait_for_release = || {
        // Nobody has to say anything more: the end of standard input releases, and so does time.
        let _ = hung_up.recv_timeout(LONGEST_HOLD);
    };
    let say_and_note = |event| {
        if matches!(event, Event::Done(_)) {
            reported.store(true, Ordering::Release);
        }
        say(&event);
    };
    tlstax_load::run(&job, &shared, say_and_note, next_order, wait_for_release)
}

/// The next order, when it comes. It is read by the thread that carries it out, since each thread more
/// on the way would have to be woken before the slice begins.
fn next_order() -> Result<Order, Failure> {
    loop {
        let Some(line) = read_line() else { leave() };
        if let Some(order) = Order::from_line(&line)? {
            return Ok(order);
        }
    }
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

/// Ends the process at once when whoever writes to standard input hangs up before the result was reported,
/// whatever it is doing: the laboratory keeps it open as long as it lives. After that the receiver's other
/// end is dropped.
///
/// The thread sleeps until then: what is written does not wake it.
fn watch(reported: Arc<AtomicBool>) -> Receiver<()> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let input = std::io::stdin();
        // A pipe always reports that it was hung up, a socket when it is asked for (poll(2)).
        let mut watched = [PollFd::new(&input, PollFlags::RDHUP)];
        while poll(&mut watched, None) == Err(Errno::INTR) {}
        if !reported.load(Ordering::Acquire) {
            leave();
        }
        drop(sender);
    });
    receiver
}

/// Nobody wants the result any more.
fn leave() -> ! {
    std::process::exit(1)
}

fn say(event: &Event) {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    let written = output.write_all(&line).and_then(|()| output.flush());
    if written.is_err() {
        // Nobody reads any more.
        leave();
    }
}
