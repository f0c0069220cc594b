//! The job: all that a load client is told, refused with the field's name when it is wrong.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::compression::Compression;
use crate::full_load::FullLoad;
use crate::limits::{HIGHEST_RATE_PER_S, LONGEST_S, MOST_CONNECTIONS};
use crate::server::Server;
use crate::workload::Workload;

/// The version of the protocol that this crate speaks.
const SCHEMA: u32 = 2;

/// Why a job was refused. The sentence names the field.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum JobError {
    /// Not JSON, or a field that is missing, unknown or of the wrong type.
    #[error("job field {field}: {reason}")]
    Shape {
        /// Dotted path of the field.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that cannot be.
    #[error("job field {field} must be {expected}")]
    Value {
        /// Dotted path of the field.
        field: String,
        /// What it has to be.
        expected: &'static str,
    },
}

impl JobError {
    /// The value of `field` is not what is `expected` of it, unless it `holds`.
    pub(crate) fn unless(
        holds: bool,
        field: impl Into<String>,
        expected: &'static str,
    ) -> Result<(), Self> {
        if holds {
            return Ok(());
        }
        let field = field.into();
        Err(Self::Value { field, expected })
    }
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Endpoint {
    /// Over TCP.
    Tcp {
        /// Host name or address.
        host: String,
        /// Port number.
        port: u16,
    },
    /// Over a Unix socket.
    Unix {
        /// Path of the socket.
        path: PathBuf,
    },
}

/// Whom to log in as.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: String,
    /// Schema to use; of `PostgreSQL` the database.
    #[serde(default)]
    pub database: Option<String>,
}

impl std::fmt::Debug for Account {
    /// Leaves the password out, so that no log can show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("user", &self.user)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// A TLS protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.0 (RFC 2246).
    #[serde(rename = "1.0")]
    V1_0,
    /// TLS 1.1 (RFC 4346).
    #[serde(rename = "1.1")]
    V1_1,
    /// TLS 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    V1_3,
}

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// Nothing.
    #[default]
    None,
    /// That a trusted authority signed it and that it is in date.
    Ca,
    /// That, and that it names the server.
    Identity,
}

/// Encryption of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tls {
    /// None.
    Off {
        /// Whether the server's RSA key may be asked for, and taken as it comes, where
        /// `caching_sha2_password` wants the whole password; left out where it may.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        get_server_public_key: bool,
    },
    /// Required.
    On(Box<TlsSettings>),
    /// Nothing is said of it: for drivers, whose default is to be seen.
    Unset {
        /// What the driver's runtime is to trust, as if it were installed on the machine; PEM.
        #[serde(default)]
        trusted_ca_file: Option<PathBuf>,
    },
    /// Required, and nothing else is said of it: for drivers, whose default of all the rest is to be seen.
    Required {
        /// What the driver's runtime is to trust, as if it were installed on the machine; PEM.
        #[serde(default)]
        trusted_ca_file: Option<PathBuf>,
    },
}

/// What only a driver is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverTerms {
    /// Its own options, word by word.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// How long it may warm up until it is steady; 0 leaves the warm-up as long as the job says.
    #[serde(default)]
    pub steady_within_s: f64,
    /// How many operations it is handed at once.
    #[serde(default = "one")]
    pub batch: u32,
}

/// How a connection is encrypted; lists and groups are in OpenSSL's syntax, absent ones are the
/// library's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// Lowest version offered.
    #[serde(default)]
    pub min_version: Option<TlsVersion>,
    /// Highest version offered.
    #[serde(default)]
    pub max_version: Option<TlsVersion>,
    /// Cipher suites of TLS 1.2 and before.
    #[serde(default)]
    pub cipher_list: Option<String>,
    /// Cipher suites of TLS 1.3.
    #[serde(default)]
    pub ciphersuites: Option<String>,
    /// Key exchange groups in order of preference.
    #[serde(default)]
    pub groups: Option<String>,
    /// What is checked of the server's certificate.
    #[serde(default)]
    pub verify: Verify,
    /// Trusted certificates, PEM.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Name to send (SNI) and to check, instead of the endpoint's host.
    #[serde(default)]
    pub server_name: Option<String>,
    /// The client's own certificate, PEM.
    #[serde(default)]
    pub certificate_file: Option<PathBuf>,
    /// The client's own key, PEM.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Offer the last session on every new connection.
    #[serde(default)]
    pub resumption: bool,
    /// Take Diffie-Hellman groups of any size, which OpenSSL's lowest security level does not.
    #[serde(default)]
    pub weak_dh: bool,
    /// Whether every connection makes a context of its own and reads its files for it, in place of one context
    /// for all connections.
    #[serde(default, skip_serializing_if = "is_no")]
    pub own_context: bool,
    /// Path of the libssl to load; absent: the machine's.
    #[serde(default)]
    pub library: Option<PathBuf>,
    /// Append the secrets of every session here (NSS key log format).
    #[serde(default)]
    pub keylog_file: Option<PathBuf>,
}

/// How scheduled operations arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly spaced.
    Uniform,
    /// With exponentially distributed gaps.
    #[default]
    Poisson,
}

/// When operations start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// When the one before has been answered.
    Closed {},
    /// At scheduled times; latency counts from them. What is late is started after the window's end
    /// for as long again, then skipped.
    Open {
        /// Operations per second over all connections.
        rate_per_s: f64,
        /// How the times are spaced.
        #[serde(default)]
        arrivals: Arrivals,
    },
}

/// All that the client is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the protocol.
    pub schema: u32,
    /// Where the server is.
    pub endpoint: Endpoint,
    /// What kind of server it is; left out where it is MySQL's.
    #[serde(default, skip_serializing_if = "Server::is_mysql")]
    pub server: Server,
    /// Whom to log in as.
    pub account: Account,
    /// Encryption.
    pub tls: Tls,
    /// Compression, within TLS where there is TLS; left out where there is none.
    #[serde(default, skip_serializing_if = "Compression::is_off")]
    pub compression: Compression,
    /// What one operation is.
    pub workload: Workload,
    /// When operations start.
    #[serde(default = "closed")]
    pub schedule: Schedule,
    /// How many connections there are at once.
    pub connections: u32,
    /// How many threads share them.
    #[serde(default = "one")]
    pub threads: u32,
    /// Cores that the threads are pinned to, in turn; empty for none.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Seconds of unmeasured work before `ready`.
    #[serde(default = "default_warmup_s")]
    pub warmup_s: f64,
    /// Seconds in which measured operations start, over all slices; with `operations`, the most of them.
    pub duration_s: f64,
    /// How many measured operations are started, over all connections; absent: as many as there is time for.
    #[serde(default)]
    pub operations: Option<u64>,
    /// Rounds of a storm, 1 in an open loop; else into how many equal parts a client that works in rounds divides the
    /// operations, while this one works in one go.
    #[serde(default = "one")]
    pub rounds: u32,
    /// What a client that works in rounds says before each of them; refused by this one.
    #[serde(default)]
    pub reset: Vec<String>,
    /// Seconds after which a silent server is given up.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
    /// Local addresses to connect from, in turn; empty leaves it to the kernel.
    #[serde(default)]
    pub source_addresses: Vec<IpAddr>,
    /// Seed of every random choice.
    pub seed: u64,
    /// How many results are kept for checking.
    #[serde(default = "default_row_samples")]
    pub row_samples: u32,
    /// Connection attributes sent at login; of `PostgreSQL` parameters of `StartupMessage`.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// What a driver is told; the engine is none and refuses it.
    #[serde(default)]
    pub driver: Option<DriverTerms>,
    /// Has slices tell what was done under full load; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_load: Option<FullLoad>,
    /// How many connections the client may have closed and the server not yet when another is opened; absent:
    /// any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lingering: Option<u32>,
    /// Whether to measure what the client's own loop costs; left out where it is.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub measure_overhead: bool,
}

fn closed() -> Schedule {
    Schedule::Closed {}
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // what serde hands over
fn is_yes(said: &bool) -> bool {
    *said
}

#[allow(clippy::trivially_copy_pass_by_ref)] // what serde hands over
fn is_no(said: &bool) -> bool {
    !*said
}

fn one() -> u32 {
    1
}

fn default_warmup_s() -> f64 {
    0.1
}

fn default_timeout_s() -> f64 {
    10.0
}

fn default_row_samples() -> u32 {
    16
}

impl Job {
    /// Reads one job and checks it.
    ///
    /// # Errors
    /// The first field that is missing, unknown, of the wrong type or out of range, by name.
    pub fn from_json(text: &str) -> Result<Self, JobError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let job: Self = serde_path_to_error::deserialize(&mut reader).map_err(|e| {
            let path = e.path().to_string();
            JobError::Shape {
                field: if path == "." { "(whole)".into() } else { path },
                reason: e.into_inner().to_string(),
            }
        })?;
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), JobError> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let a_time = |seconds: f64| positive(seconds) && seconds <= LONGEST_S;
        let rules: [(&'static str, bool, &'static str); 9] = [
            (
                "schema",
                self.schema == SCHEMA,
                "2, the version that this engine speaks",
            ),
            (
                "connections",
                self.connections > 0 && self.connections <= MOST_CONNECTIONS,
                "at least 1 and at most a million",
            ),
            (
                "threads",
                self.threads > 0 && self.threads <= self.connections,
                "at least 1 and at most the number of connections",
            ),
            (
                "warmup_s",
                self.warmup_s == 0.0 || a_time(self.warmup_s),
                "0 or more and at most a year",
            ),
            (
                "duration_s",
                a_time(self.duration_s),
                "more than 0 and at most a year",
            ),
            (
                "timeout_s",
                a_time(self.timeout_s),
                "more than 0 and at most a year",
            ),
            ("operations", self.operations != Some(0), "at least 1"),
            ("rounds", self.rounds > 0, "at least 1"),
            (
                "schedule.rate_per_s",
                !matches!(self.schedule, Schedule::Open { rate_per_s, .. }
                    if !positive(rate_per_s) || rate_per_s > HIGHEST_RATE_PER_S),
                "more than 0 and at most 10 million",
            ),
        ];
        for (field, holds, expected) in rules {
            JobError::unless(holds, field, expected)?;
        }
        self.workload.check()?;
        if let Some(full_load) = &self.full_load {
            full_load.check(self.is_a_closed_loop_of_operations())?;
        }
        if self.workload.storm {
            self.check_storm()?;
        }
        Ok(())
    }

    fn is_a_closed_loop_of_operations(&self) -> bool {
        matches!(self.schedule, Schedule::Closed {}) && !self.workload.storm
    }

    /// A storm is made of rounds in which all connections are opened, as fast as it goes; in an open loop
    /// they are opened one by one.
    fn check_storm(&self) -> Result<(), JobError> {
        if let Schedule::Open { .. } = self.schedule {
            return JobError::unless(self.rounds == 1, "rounds", "1 in a storm in an open loop");
        }
        let whole = u64::from(self.rounds) * u64::from(self.connections);
        JobError::unless(
            self.operations.is_none_or(|operations| operations == whole),
            "operations",
            "rounds times connections in a storm, or absent",
        )
    }
}
