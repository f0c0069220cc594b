//! The engine in conversation: ordered through slices one by one, as the laboratory does it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use tlstax_contract::{Done, ErrorEvent, Event, Job, Slice};

/// Many times what any answer takes.
const PATIENCE: Duration = Duration::from_secs(15);

/// An engine whose connections are up, or that has refused its job.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Event>,
}

impl Client {
    /// Starts an engine and waits until it is ready.
    pub fn start(job: &Job) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tlstax-engine"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, events) = channel();
        spawn(move || {
            for line in output.lines() {
                let event: Event = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            input: child.stdin.take(),
            child,
            events,
        };
        client.say(&serde_json::to_string(job).unwrap());
        assert!(matches!(client.next(), Some(Event::Ready(_))));
        client
    }

    /// Writes a line.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
    }

    /// What it says next, but for its progress; none when it says no more.
    fn next(&mut self) -> Option<Event> {
        let started = Instant::now();
        loop {
            let patience = PATIENCE.saturating_sub(started.elapsed());
            match self.events.recv_timeout(patience) {
                Ok(Event::Interval(_)) => {}
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("the engine hangs"),
            }
            assert!(started.elapsed() < PATIENCE, "the engine does not end");
        }
    }

    /// Has it work for a slice; why it ended, if it did.
    pub fn try_go(&mut self, length_s: f64) -> Result<Slice, ErrorEvent> {
        self.say(&format!("go {length_s}"));
        match self.next() {
            Some(Event::Slice(slice)) => Ok(slice),
            Some(Event::Error(error)) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    /// Has it work for a slice.
    pub fn go(&mut self, length_s: f64) -> Slice {
        self.try_go(length_s).unwrap()
    }

    /// Has it work for slices of these lengths.
    pub fn go_on(&mut self, lengths_s: &[f64]) -> Vec<Slice> {
        lengths_s
            .iter()
            .map(|length_s| self.go(*length_s))
            .collect()
    }

    /// Has it end: its result.
    pub fn end(mut self) -> Done {
        self.say("end");
        let done = loop {
            match self.next() {
                Some(Event::Done(done)) => break done,
                // What the server said of operations that failed.
                Some(Event::Error(told)) if !told.fatal => {}
                other => panic!("no result: {other:?}"),
            }
        };
        self.input = None;
        assert!(self.child.wait().unwrap().success());
        *done
    }

    /// It has refused what was said, for this reason, and ended.
    pub fn refused(mut self) -> ErrorEvent {
        let Some(Event::Error(error)) = self.next() else {
            panic!("nothing was refused");
        };
        assert_eq!(self.child.wait().unwrap().code(), Some(1));
        error
    }

    /// Hangs up: the engine ends at once, without a result.
    pub fn hang_up(mut self) {
        self.input = None;
        assert_eq!(self.next(), None);
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "the engine lives on");
            sleep(Duration::from_millis(1));
        }
    }

    /// CPU time that all its threads used so far (proc(5), `schedstat`).
    pub fn cpu_ns(&self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let used_ns = |thread: std::io::Result<fs::DirEntry>| {
            let text = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        threads.map(used_ns).sum()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Gone already, unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
