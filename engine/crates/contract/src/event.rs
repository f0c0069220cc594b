//! The events: what a load client says back, one JSON object a line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::compression::{CompressedBytes, CompressionAgreed};
use crate::full_load::FullLoadSpan;

/// One line from the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Everything is up and warm; waiting for `go`.
    Ready(Ready),
    /// Progress.
    Interval(Interval),
    /// What was done in one slice.
    Slice(Slice),
    /// Something went wrong.
    Error(ErrorEvent),
    /// The result.
    Done(Box<Done>),
}

/// What one side says was negotiated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TlsView {
    /// As OpenSSL prints it: `TLSv1.3`.
    pub version: String,
    /// Cipher suite by OpenSSL's name.
    pub cipher: String,
    /// Whether an earlier session was taken up again; none where that side cannot tell.
    pub resumed: Option<bool>,
    /// Key exchange group by its registered name.
    pub group: Option<String>,
    /// Whether the server answered the first hello with a `HelloRetryRequest`.
    pub hello_retry: Option<bool>,
    /// Kind and size of the server's key.
    pub certificate_key: Option<String>,
    /// Fingerprint of the server's certificate.
    pub certificate_sha256: Option<String>,
    /// How many certificates the server sent; none where a session was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificates_sent: Option<u32>,
    /// How many authorities the client has loaded to verify it with; none where it cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<u32>,
    /// Whether the client proved itself by a certificate; none where it cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<bool>,
    /// How many bits the cipher's key has, as that side says; none where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cipher_bits: Option<u32>,
    /// Whose certificate the client has shown, as a distinguished name; none where none was, or that side does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
}

/// What both sides said of one and the same connection, and for how many it was so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Negotiated {
    /// How many connections.
    pub connections: u64,
    /// The client's TLS library; none in the clear.
    pub client: Option<TlsView>,
    /// The server's status variables of that session; none in the clear.
    pub server: Option<TlsView>,
    /// Whether the client can tell at all; else `client` is none whatever there is.
    #[serde(default = "tells")]
    pub client_tells: bool,
    /// What both say of compression; none of a client that knows nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionAgreed>,
}

const fn tells() -> bool {
    true
}

/// A part of a warm-up that lasts until the client is steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmupSlice {
    /// From the warm-up's begin to the slice's end.
    pub elapsed_s: f64,
    /// Finished in it.
    pub operations: u64,
    /// CPU time of the client in it.
    pub cpu_us: f64,
}

/// The TLS library that was really loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsLibrary {
    /// What it says of itself.
    pub version: String,
    /// File mapped as libssl.
    pub libssl_path: PathBuf,
    /// File mapped as libcrypto.
    pub libcrypto_path: PathBuf,
}

/// What the client's own loop costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Client CPU per operation against a server that does nothing, in the clear.
    pub cpu_us_per_op: f64,
    /// Over N operations.
    pub operations: u64,
}

/// Everything is up and warm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Name of the client.
    pub client: String,
    /// Its version.
    pub client_version: String,
    /// Its process.
    pub pid: u32,
    /// The server's greeting.
    pub server_version: String,
    /// The library in use; none in the clear.
    pub tls_library: Option<TlsLibrary>,
    /// Proof, by kind.
    pub negotiated: Vec<Negotiated>,
    /// The slices of a warm-up that lasted until the client was steady; the engine has none.
    #[serde(default)]
    pub warmup: Vec<WarmupSlice>,
    /// Whether it was steady at the end; none where that was not looked for.
    #[serde(default)]
    pub steady: Option<bool>,
}

/// Progress within a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Since the slice's `go`.
    pub elapsed_s: f64,
    /// Finished since the last one.
    pub operations: u64,
    /// Met since the last one.
    pub errors: u64,
}

/// Where to look for the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The job asked for what cannot be.
    Job,
    /// This client or its machine.
    Client,
    /// What lies between.
    Network,
    /// The server.
    Server,
}

/// The fixed list of what can go wrong (contract/README.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The job was refused.
    BadJob,
    /// The TLS library or a setting of it was refused.
    TlsLibrary,
    /// The host name is unknown.
    Resolve,
    /// The TCP connection failed.
    Connect,
    /// Nothing came in time.
    Timeout,
    /// What answers is not MySQL.
    NotMysql,
    /// The server hung up.
    ServerClosed,
    /// The server answered with an error packet.
    ServerError,
    /// The server refused the login.
    AccessDenied,
    /// The server has no TLS.
    NoTls,
    /// The server does not offer the compression.
    NoCompression,
    /// The handshake failed.
    TlsHandshake,
    /// The certificate did not pass.
    Certificate,
    /// The server broke the protocol.
    Protocol,
    /// A limit of this machine: descriptors, ports, memory.
    Limits,
    /// Two answers that must be equal were not.
    RowsDiffer,
    /// The client's own mistake.
    Internal,
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEvent {
    /// What.
    pub kind: ErrorKind,
    /// Where to look.
    pub fault: Fault,
    /// Whether the job ends with it.
    pub fatal: bool,
    /// One sentence.
    pub message: String,
    /// MySQL error number, SQLSTATE of `PostgreSQL` in base 36, or errno.
    pub code: Option<i32>,
    /// How often.
    pub count: u64,
}

/// How many handshakes ended in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshakes {
    /// As OpenSSL prints it.
    pub version: String,
    /// Cipher suite by OpenSSL's name.
    pub cipher: String,
    /// Key exchange group.
    pub group: Option<String>,
    /// Whether a session was taken up again.
    pub resumed: bool,
    /// Whether there was a `HelloRetryRequest`.
    pub hello_retry: Option<bool>,
    /// How many.
    pub count: u64,
}

/// What was counted over one span of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// TCP or Unix connections that reached the server.
    pub connections: u64,
    /// Completed TLS handshakes by kind.
    pub handshakes: Vec<Handshakes>,
    /// Completed logins by how they went.
    pub authentications: BTreeMap<String, u64>,
}

/// CPU time of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuTime {
    /// By the nanosecond clock.
    pub total_us: f64,
    /// Share spent in user space.
    pub user_us: f64,
    /// Share spent in the kernel.
    pub system_us: f64,
}

/// What crossed the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// TCP payload sent.
    pub bytes_sent: u64,
    /// TCP payload received.
    pub bytes_received: u64,
    /// TCP segments sent.
    pub segments_sent: Option<u64>,
    /// TCP segments received.
    pub segments_received: Option<u64>,
    /// TLS records with data sent; none in the clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_sent: Option<u64>,
    /// TLS records with data received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_received: Option<u64>,
}

/// What crossed the wire in one phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWire {
    /// How often the phase occurred; the rest is summed over them.
    pub times: u64,
    /// How often the client had sent something and then had to wait for the server.
    pub round_trips: u64,
    /// TCP payload sent.
    pub bytes_sent: u64,
    /// TCP payload received.
    pub bytes_received: u64,
}

/// How often one error was met in the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// What.
    pub kind: ErrorKind,
    /// MySQL error number or errno.
    pub code: Option<i32>,
    /// How often.
    pub count: u64,
}

/// A statement and the rows that came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSample {
    /// As it was run, values filled in.
    pub sql: String,
    /// Each row, NULL as none.
    pub rows: Vec<Vec<Option<String>>>,
}

/// What was done in one slice: from one `go` to the answer of the last operation that was started in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Until that answer; as long as the slice was to last where nothing was done.
    pub elapsed_s: f64,
    /// Finished operations.
    pub operations: u64,
    /// The latencies of these, added up.
    pub latency_sum_s: f64,
    /// CPU time of this process, less what it takes to report this.
    pub cpu_us: f64,
    /// What was opened in the slice.
    pub counts: Counts,
    /// Of each round of a storm, from its first SYN to its last connection's OK.
    #[serde(default)]
    pub rounds_s: Vec<f64>,
    /// What of it was done under full load; absent where the job does not ask, or the slice was too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_load: Option<FullLoadSpan>,
}

/// The result of all slices together, which are the window: what lies between two of them counts nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// From each `go` to the last answer of its slice, added up.
    pub elapsed_s: f64,
    /// Finished operations.
    pub operations: u64,
    /// Operations that were due (closed loop: started).
    pub scheduled: u64,
    /// Due, but never started.
    pub skipped: u64,
    /// Within the slices.
    pub window: Counts,
    /// From the start of the process.
    pub lifetime: Counts,
    /// By phase: HdrHistogram V2 DEFLATE, base64, nanoseconds.
    pub histograms_ns: BTreeMap<String, String>,
    /// Of this process, over the window.
    pub cpu: CpuTime,
    /// Of each load thread, over the window.
    pub threads_cpu_us: Vec<f64>,
    /// Over the window; none where the client cannot tell.
    pub wire: Option<Wire>,
    /// Before and after compression, over the window; none where nothing is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressedBytes>,
    /// Over the window.
    pub errors: Vec<ErrorCount>,
    /// For checking at the server.
    pub row_samples: Vec<RowSample>,
    /// Where it was measured.
    pub overhead: Option<Overhead>,
    /// Times that the client prints of itself, by name; this engine prints none.
    #[serde(default)]
    pub reported_s: BTreeMap<String, f64>,
    /// Of each round of a storm, from its first SYN to its last connection's OK.
    #[serde(default)]
    pub rounds_s: Vec<f64>,
    /// By phase, over the window.
    #[serde(default)]
    pub phase_wire: BTreeMap<String, PhaseWire>,
}
