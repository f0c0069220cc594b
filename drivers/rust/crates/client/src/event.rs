//! The events: what this client says on standard output, one JSON object a line.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::Serialize;

use crate::failure::Failure;
use crate::machine::CpuTime;

/// What the server says was negotiated; no Rust driver here tells its own view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsView {
    pub version: String,
    pub cipher: String,
    pub resumed: Option<bool>,
    pub group: Option<String>,
    pub hello_retry: Option<bool>,
    pub certificate_key: Option<String>,
    pub certificate_sha256: Option<String>,
}

/// How many connections were negotiated alike.
#[derive(Debug, Serialize)]
pub struct Negotiated {
    pub connections: usize,
    pub client: Option<TlsView>,
    pub server: Option<TlsView>,
    pub client_tells: bool,
}

/// A part of the warm-up.
#[derive(Debug, Serialize)]
pub struct WarmupSlice {
    pub elapsed_s: f64,
    pub operations: u64,
    pub cpu_us: f64,
}

impl WarmupSlice {
    /// Endless where there was no operation.
    #[expect(clippy::cast_precision_loss, reason = "a count of a tenth of a second")]
    pub fn cpu_us_per_operation(&self) -> f64 {
        if self.operations == 0 {
            return f64::INFINITY;
        }
        self.cpu_us / self.operations as f64
    }
}

/// Connections opened over a span of time; a driver does not tell the rest.
#[derive(Debug, Serialize)]
pub struct Counts {
    pub connections: u64,
    pub handshakes: [(); 0],
    pub authentications: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub fn of(connections: u64) -> Self {
        Self {
            connections,
            handshakes: [],
            authentications: BTreeMap::new(),
        }
    }
}

/// How often an error of one kind and code was met in the window.
#[derive(Debug, Serialize)]
pub struct ErrorCount {
    pub kind: &'static str,
    pub code: Option<i32>,
    pub count: u64,
}

/// A statement as it was run, and its rows.
#[derive(Debug, Clone, Serialize)]
pub struct RowSample {
    pub sql: String,
    pub rows: Vec<Vec<Option<String>>>,
}

/// All that is said.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready(Box<Ready>),
    Interval {
        elapsed_s: f64,
        operations: u64,
        errors: u64,
    },
    Slice(Slice),
    Error {
        kind: &'static str,
        fault: &'static str,
        fatal: bool,
        message: String,
        code: Option<i32>,
        count: u32,
    },
    Done(Box<Done>),
}

/// All connections are up and warm and nothing is in flight.
#[derive(Debug, Serialize)]
pub struct Ready {
    pub client: String,
    pub client_version: String,
    pub pid: u32,
    pub server_version: String,
    pub tls_library: Option<()>,
    pub negotiated: Vec<Negotiated>,
    pub warmup: Vec<WarmupSlice>,
    pub steady: Option<bool>,
}

/// What was done in one slice.
#[derive(Debug, Serialize)]
pub struct Slice {
    pub elapsed_s: f64,
    pub operations: u64,
    pub latency_sum_s: f64,
    pub cpu_us: f64,
    pub counts: Counts,
}

/// The result of all slices.
#[derive(Debug, Serialize)]
pub struct Done {
    pub elapsed_s: f64,
    pub operations: u64,
    pub scheduled: u64,
    pub skipped: u64,
    pub window: Counts,
    pub lifetime: Counts,
    pub histograms_ns: BTreeMap<&'static str, String>,
    pub cpu: CpuTime,
    pub wire: Option<()>,
    pub errors: Vec<ErrorCount>,
    pub row_samples: Vec<RowSample>,
}

/// Writes one event.
pub fn say(event: &Event) {
    let mut line = serde_json::to_string(event).expect("an event is JSON");
    line.push('\n');
    let mut output = std::io::stdout().lock();
    // Where nobody listens any more, standard input will have ended too.
    let _ = output
        .write_all(line.as_bytes())
        .and_then(|()| output.flush());
}

/// Tells a failure.
pub fn tell(failure: &Failure, fatal: bool) {
    say(&Event::Error {
        kind: failure.kind,
        fault: failure.fault(),
        fatal,
        message: failure.message.clone(),
        code: failure.code,
        count: 1,
    });
}

/// Tells a fatal failure and ends the process.
pub fn end(failure: &Failure) -> ! {
    tell(failure, true);
    std::process::exit(1)
}
