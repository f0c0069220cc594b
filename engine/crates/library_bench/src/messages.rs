//! What is read and said, a JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tlstax_tls::Negotiated;

/// The library, None for the machine's, and what is to be measured of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub library: Option<PathBuf>,
    pub subjects: Vec<Asked>,
    /// The page of who counts locks, which is to be told for which side this works.
    #[serde(default)]
    pub lock_page: Option<PathBuf>,
}

/// One thing to measure.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Asked {
    /// A connection from nothing to nothing: made, shaken hands on, and freed.
    Handshake {
        ends: Ends,
        resumed: bool,
        /// Whether the client makes its context anew for each, as some programs do.
        fresh_context: bool,
    },
    /// Bytes that the client seals and the server opens, N at a time.
    Record { ends: Ends, size_bytes: usize },
    /// A signature that the server makes and the client checks, with the key in this file.
    Signature { key_file: PathBuf },
    /// A secret that both sides derive from keys that they have.
    Exchange { group: String },
}

/// How the two ends are set up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    pub version: WireVersion,
    pub cipher: Option<String>,
    pub group: String,
    pub ca_file: PathBuf,
    pub certificate_file: PathBuf,
    pub key_file: PathBuf,
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum WireVersion {
    #[serde(rename = "1.2")]
    Tls12,
    #[serde(rename = "1.3")]
    Tls13,
}

/// Work on a subject, by its place in the job: for so long, or exactly N operations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub subject: usize,
    #[serde(default)]
    pub length_s: f64,
    #[serde(default)]
    pub operations: Option<u64>,
}

/// What is said.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    /// All that can be measured is ready.
    Ready {
        pid: u32,
        version: String,
        libssl: PathBuf,
        libcrypto: PathBuf,
        subjects: Vec<Prepared>,
    },
    /// An order was carried out.
    Slice(Slice),
    /// Why it goes no further.
    Error { message: String },
}

/// Whether a subject is ready, with what its connection agreed on, or why not.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    Ready {
        version: Option<String>,
        cipher: Option<String>,
        group: Option<String>,
        resumed: Option<bool>,
    },
    Refused(String),
}

impl Prepared {
    /// Of what has a connection, or has none.
    pub fn of(negotiated: Option<&Negotiated>) -> Self {
        Self::Ready {
            version: negotiated.map(|seen| seen.version.to_owned()),
            cipher: negotiated.map(|seen| seen.cipher.to_owned()),
            group: negotiated.and_then(|seen| seen.group.as_deref().map(str::to_owned)),
            resumed: negotiated.map(|seen| seen.resumed),
        }
    }
}

/// What was done, and what it cost either side.
#[derive(Debug, Serialize)]
pub struct Slice {
    pub operations: u64,
    pub elapsed_s: f64,
    pub client_cpu_us: f64,
    pub server_cpu_us: f64,
}
