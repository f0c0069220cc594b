//! The engine as a child process: given a job, watched, and ended if it does not end by itself.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tlstax_contract::{
    Account, Done, Endpoint, ErrorEvent, ErrorKind, Event, Fault, Job, Ready, Tls, TlsSettings,
};

use crate::server::Server;

/// Longer than any answer takes on a busy machine.
const TIMEOUT_S: f64 = 5.0;
/// For servers that never answer, whatever is waited.
const SHORT_TIMEOUT_S: f64 = 0.3;
/// Several times what any of these jobs takes; one that gets there hangs.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the child's memory is looked at; the kernel keeps the highest.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const MEBIBYTE: u64 = 1 << 20;
/// The program, its libraries and threads, and buffers of the length that answers have.
const ORDINARY_BYTES: u64 = 32 * MEBIBYTE;

/// How a job ended.
#[derive(Debug)]
pub struct Ending {
    /// What it said before the first slice.
    pub ready: Option<Ready>,
    done: Option<Done>,
    /// What ended it early.
    pub error: Option<ErrorEvent>,
    /// Errors that ended nothing.
    pub told: Vec<ErrorEvent>,
    status: ExitStatus,
    log: String,
    peak_bytes: u64,
}

/// Three connections that ask something again and again.
pub fn job(server: &Server) -> Job {
    let text = format!(
        r#"{{"schema": 2,
            "endpoint": {{"kind": "tcp", "host": "127.0.0.1", "port": {}}},
            "account": {{"user": "app", "password": "correct horse"}},
            "tls": {{"mode": "off"}},
            "workload": {{"statements": [{{"sql": "SELECT 1"}}]}},
            "connections": 3, "warmup_s": 0, "duration_s": 0.2, "timeout_s": {TIMEOUT_S},
            "row_samples": 0, "seed": 1}}"#,
        server.address.port()
    );
    let job = Job::from_json(&text).unwrap();
    assert!(matches!(job.endpoint, Endpoint::Tcp { .. }));
    job
}

/// A job that gives a silent server up soon.
pub fn hurried(job: Job) -> Job {
    Job {
        timeout_s: SHORT_TIMEOUT_S,
        ..job
    }
}

/// The same, encrypted.
pub fn tls_job(server: &Server) -> Job {
    Job {
        tls: Tls::On(Box::new(TlsSettings {
            server_name: Some("localhost".into()),
            ..TlsSettings::default()
        })),
        ..job(server)
    }
}

/// Runs a job to its end.
///
/// # Panics
/// When the engine hangs, panics, shows the password, or takes more memory than `most_bytes` over
/// the ordinary.
pub fn run_within(job: &Job, most_bytes: u64) -> Ending {
    let ending = offer(job);
    let (peak, most) = (ending.peak_bytes, ORDINARY_BYTES + most_bytes);
    assert!(peak > 0, "the engine's memory was not seen");
    assert!(peak <= most, "{} MiB were used", peak / MEBIBYTE);
    ending
}

/// Gives the engine a job that it may refuse so soon that its memory is not seen.
///
/// # Panics
/// When the engine hangs, panics or shows the password.
pub fn offer(job: &Job) -> Ending {
    let account: &Account = &job.account;
    let ending = watch(job);
    let told = format!("{ending:?}");
    assert!(!told.contains(&account.password), "{told}");
    assert!(!ending.log.contains("panicked"), "{}", ending.log);
    ending
}

/// [`run_within`] ordinary memory.
pub fn run(job: &Job) -> Ending {
    run_within(job, 0)
}

fn engine() -> PathBuf {
    fs::canonicalize(env!("CARGO_BIN_EXE_tlstax-engine")).unwrap()
}

fn watch(job: &Job) -> Ending {
    let mut child = Command::new(engine())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = child.stdin.take();
    writeln!(
        orders.as_ref().unwrap(),
        "{}",
        serde_json::to_string(job).unwrap()
    )
    .unwrap();
    let events = events_of(&mut child);
    let (mut ready, mut done, mut error) = (None, None, None);
    let (mut told, mut peak_bytes) = (Vec::new(), 0);
    let started = Instant::now();
    loop {
        peak_bytes = peak_bytes.max(peak_memory_bytes(&child));
        match events.recv_timeout(LOOK_EVERY) {
            Ok(Event::Ready(said)) => {
                ready = Some(said);
                writeln!(orders.as_ref().unwrap(), "go {}", job.duration_s).unwrap();
            }
            Ok(Event::Interval(_)) => {}
            Ok(Event::Slice(_)) => writeln!(orders.as_ref().unwrap(), "end").unwrap(),
            Ok(Event::Error(event)) if event.fatal => error = Some(event),
            Ok(Event::Error(event)) => told.push(event),
            Ok(Event::Done(result)) => {
                done = Some(*result);
                // It keeps its connections until then.
                orders = None;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if started.elapsed() < PATIENCE => {}
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("the engine hangs; it used {} MiB", peak_bytes / MEBIBYTE);
            }
        }
    }
    let mut log = String::new();
    let mut errors = child.stderr.take().unwrap();
    errors.read_to_string(&mut log).unwrap();
    Ending {
        ready,
        done,
        error,
        told,
        status: child.wait().unwrap(),
        log,
        peak_bytes,
    }
}

/// What it says, as it says it.
fn events_of(child: &mut Child) -> Receiver<Event> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, events) = channel();
    std::thread::spawn(move || {
        for line in output.lines() {
            let event: Event = serde_json::from_str(&line.unwrap()).unwrap();
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    events
}

/// The most memory that the child had in use so far (proc(5), `VmHWM`); 0 before it is the engine and
/// when it has ended.
///
/// The kernel lets this process go on a moment before the child has memory of its own (vfork(2)); until
/// then, what is shown is the memory of the tests.
fn peak_memory_bytes(child: &Child) -> u64 {
    let folder = format!("/proc/{}", child.id());
    if !fs::read_link(format!("{folder}/exe")).is_ok_and(|running| running == engine()) {
        return 0;
    }
    let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
}

impl Ending {
    /// Whether the job came to its end, whatever errors it met.
    pub fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// The job ended early, for this reason; what was said of it.
    pub fn fatal(&self, kind: ErrorKind, fault: Fault) -> &str {
        let error = self.error.as_ref().unwrap_or_else(|| panic!("{self:?}"));
        assert_eq!((error.kind, error.fault), (kind, fault), "{error:?}");
        assert!(error.fatal && self.done.is_none() && self.status.code() == Some(1));
        assert!(error.message.len() < 1000 && !error.message.is_empty());
        &error.message
    }

    /// The job ended in time, and met errors, all of this kind.
    pub fn counted(&self, kind: ErrorKind) {
        let errors = self.counted_at_most(kind);
        assert!(errors > 0, "no error was counted");
    }

    /// The job ended in time, and every error it met was of this kind; how many there were.
    pub fn counted_at_most(&self, kind: ErrorKind) -> u64 {
        let done = self.done.as_ref().unwrap_or_else(|| panic!("{self:?}"));
        assert!(self.error.is_none() && self.status.success(), "{self:?}");
        let errors = &done.errors;
        assert!(errors.iter().all(|error| error.kind == kind), "{errors:?}");
        errors.iter().map(|error| error.count).sum()
    }

    /// The result of a job that came to its end.
    pub fn result(&self) -> &Done {
        self.done.as_ref().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The job ended as with any server.
    pub fn succeeded(&self) {
        let done = self.done.as_ref().unwrap_or_else(|| panic!("{self:?}"));
        assert!(done.errors.is_empty() && done.operations > 0, "{self:?}");
    }
}
