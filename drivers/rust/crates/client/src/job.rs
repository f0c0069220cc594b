//! The job: all that a load client is told, read strictly and refused where it cannot be done.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::failure::Failure;

/// Where the server is.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Endpoint {
    /// Over TCP.
    Tcp { host: String, port: u16 },
    /// Over a Unix socket.
    Unix { path: String },
}

/// Whom to log in as. It cannot be printed, so that no log has the password.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    pub user: String,
    pub password: String,
    #[serde(default)]
    pub database: Option<String>,
}

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    #[default]
    None,
    Ca,
    Identity,
}

/// Encryption. Fields that no Rust driver can be told are read to be refused by name.
#[derive(Debug, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Tls {
    Off {},
    Unset {
        #[serde(default)]
        trusted_ca_file: Option<String>,
    },
    Required {
        #[serde(default)]
        trusted_ca_file: Option<String>,
    },
    On(Box<TlsTerms>),
}

/// How a connection is encrypted.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsTerms {
    pub min_version: Option<String>,
    pub max_version: Option<String>,
    pub cipher_list: Option<String>,
    pub ciphersuites: Option<String>,
    pub groups: Option<String>,
    pub verify: Verify,
    pub ca_file: Option<String>,
    pub server_name: Option<String>,
    pub certificate_file: Option<String>,
    pub key_file: Option<String>,
    pub resumption: bool,
    pub weak_dh: bool,
    pub library: Option<String>,
    pub keylog_file: Option<String>,
}

/// A value that is put into a statement; contract/README.md has the kinds.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Parameter {
    UniformInt { low: i64, high: i64 },
    Sequence { first: i64, last: i64 },
    Offset { of: String, by: i64 },
    Digits { template: String },
    OneOf { values: Vec<String> },
}

/// How a statement travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    #[default]
    Text,
    Prepared,
}

/// One SQL statement with `{name}` for its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub sql: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    #[serde(default = "one")]
    pub repeat: u32,
    #[serde(default)]
    pub protocol: Option<Protocol>,
}

/// What one operation is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    #[serde(default)]
    pub reconnect: bool,
    #[serde(default)]
    pub protocol: Protocol,
    #[serde(default)]
    pub statements: Vec<Statement>,
    #[serde(default)]
    pub mix: Vec<Json>,
    #[serde(default)]
    pub storm: bool,
    #[serde(default)]
    pub on_connect: Vec<String>,
}

/// What only a driver is told.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriverTerms {
    pub options: BTreeMap<String, String>,
    pub steady_within_s: f64,
    pub batch: Option<u32>,
}

/// One line of JSON. What is of no meaning to a driver (`threads`, `rounds`, `source_addresses`,
/// `attributes`) is read and passed over.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub schema: u32,
    pub endpoint: Endpoint,
    pub account: Account,
    pub tls: Tls,
    pub workload: Workload,
    #[serde(default)]
    schedule: Json,
    pub connections: usize,
    #[serde(default, rename = "threads")]
    _threads: Json,
    #[serde(default)]
    pub cpus: Vec<usize>,
    #[serde(default = "default_warmup_s")]
    pub warmup_s: f64,
    pub duration_s: f64,
    #[serde(default)]
    pub operations: Option<u64>,
    #[serde(default, rename = "rounds")]
    _rounds: Json,
    #[serde(default)]
    reset: Vec<String>,
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
    #[serde(default, rename = "source_addresses")]
    _source_addresses: Json,
    pub seed: u64,
    #[serde(default = "default_row_samples")]
    pub row_samples: usize,
    #[serde(default, rename = "attributes")]
    _attributes: Json,
    #[serde(default)]
    driver: Option<DriverTerms>,
    #[serde(skip)]
    pub terms: DriverTerms,
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

fn default_row_samples() -> usize {
    16
}

impl Job {
    /// Reads a job from its line.
    ///
    /// # Errors
    /// A `bad_job` for a field that is unknown or of the wrong type, and for what is not done here.
    pub fn read(line: &str) -> Result<Self, Failure> {
        let mut job: Self = serde_json::from_str(line)
            .map_err(|error| Failure::bad_job(format!("the job cannot be read: {error}")))?;
        job.terms = job.driver.take().unwrap_or_default();
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), Failure> {
        let workload = &self.workload;
        let mode = self.schedule.get("mode").and_then(Json::as_str);
        let rules = [
            (self.schema == 2, "this driver's program speaks schema 2"),
            (self.connections > 0, "connections must be at least 1"),
            (self.duration_s > 0.0, "duration_s must be more than 0"),
            (self.timeout_s > 0.0, "timeout_s must be more than 0"),
            (self.warmup_s >= 0.0, "warmup_s must be 0 or more"),
            (self.operations != Some(0), "operations must be at least 1"),
            (!workload.storm, "this driver's program does no storm"),
            (
                workload.mix.is_empty(),
                "this driver's program does no mix of transactions",
            ),
            (
                !workload.statements.is_empty(),
                "a workload needs statements",
            ),
            (
                mode.is_none_or(|mode| mode == "closed"),
                "this driver's program does a closed loop alone",
            ),
            (
                self.reset.is_empty(),
                "this driver's program works in one go and says no reset",
            ),
            (
                self.terms.batch.is_none_or(|batch| batch == 1),
                "this driver has no batches: batch must be 1",
            ),
        ];
        if let Some((_, reason)) = rules.iter().find(|(holds, _)| !holds) {
            return Err(Failure::bad_job(*reason));
        }
        match &self.tls {
            Tls::On(terms) => terms.check(),
            Tls::Off {} | Tls::Unset { .. } | Tls::Required { .. } => Ok(()),
        }
    }
}

impl TlsTerms {
    /// Neither driver has a word for the versions of TLS: rustls offers 1.2 and 1.3.
    fn check(&self) -> Result<(), Failure> {
        let versions = [&self.min_version, &self.max_version];
        let untold = [
            ("min_version or max_version", versions != [&None, &None]),
            ("cipher_list", self.cipher_list.is_some()),
            ("ciphersuites", self.ciphersuites.is_some()),
            ("groups", self.groups.is_some()),
            ("resumption", self.resumption),
            ("weak_dh", self.weak_dh),
            ("library", self.library.is_some()),
            ("keylog_file", self.keylog_file.is_some()),
        ];
        match untold.iter().find(|(_, asked)| *asked) {
            Some((name, _)) => Err(Failure::bad_job(format!(
                "this driver cannot be told tls.{name}"
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"schema":2,"endpoint":{"kind":"tcp","host":"h","port":1},"seed":1,
        "account":{"user":"u","password":"p"},"tls":{"mode":"off"},"connections":1,"duration_s":1,
        "workload":{"statements":[{"sql":"SELECT 1"}]}}"#;

    #[test]
    fn a_plain_job_is_read() {
        let job = Job::read(PLAIN).map_err(|failure| failure.message).unwrap();
        assert!((job.timeout_s - 10.0).abs() < f64::EPSILON);
        assert_eq!(job.workload.statements[0].repeat, 1);
    }

    #[test]
    fn tls_is_required_and_nothing_else_is_said() {
        let required = r#""mode":"required","trusted_ca_file":"ca.pem""#;
        let read = |tls: &str| Job::read(&PLAIN.replacen(r#""mode":"off""#, tls, 1));
        let job = read(required).map_err(|failure| failure.message).unwrap();
        let trusted =
            matches!(job.tls, Tls::Required { trusted_ca_file: Some(file) } if file == "ca.pem");
        assert!(trusted);
        let failure = read(r#""mode":"required","verify":"none""#).err().unwrap();
        assert_eq!(failure.kind, "bad_job");
        assert!(failure.message.contains("verify"), "{}", failure.message);
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        for (from, to, words) in [
            (r#""schema":2"#, r#""schema":1"#, "schema 2"),
            (r#""seed":1"#, r#""seed":1,"more":1"#, "more"),
            (
                r#""mode":"off""#,
                r#""mode":"on","max_version":"1.2""#,
                "max_version",
            ),
            (
                r#""mode":"off""#,
                r#""mode":"on","groups":"x25519""#,
                "tls.groups",
            ),
            (r#""mode":"off""#, r#""mode":"on","colour":1"#, "colour"),
            (r#""seed":1"#, r#""seed":1,"driver":{"batch":2}"#, "batches"),
            (
                r#""seed":1"#,
                r#""seed":1,"schedule":{"mode":"open"}"#,
                "closed",
            ),
        ] {
            let failure = Job::read(&PLAIN.replacen(from, to, 1)).err().unwrap();
            assert_eq!(failure.kind, "bad_job");
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
}
