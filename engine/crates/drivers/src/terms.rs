//! What a driver is told: the job without what no driver can do, as the one line that its adapter reads.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tlstax_contract::{AuthMethod, Endpoint, Job, Schedule, Server, SslNegotiation, Tls};

use crate::stock::Call;
use crate::trouble::Trouble;

/// Fields of TLS that adapters are told.
const TOLD_OF_TLS: [&str; 8] = [
    "mode",
    "min_version",
    "max_version",
    "verify",
    "ca_file",
    "server_name",
    "certificate_file",
    "key_file",
];

/// What an adapter is told before all else.
#[derive(Debug, Serialize)]
pub struct Terms<'j> {
    /// The driver's name.
    pub name: &'j str,
    /// File descriptors of the pipes from and to the host, for each connection.
    pub channels: Vec<(i32, i32)>,
    /// Where the server is.
    pub endpoint: &'j Endpoint,
    /// Whom to log in as.
    pub account: Value,
    /// Encryption.
    pub tls: Value,
    /// The driver's own options.
    pub options: Value,
    /// Said on every connection.
    pub on_connect: &'j [String],
    /// Whether each operation has a connection of its own.
    pub reconnect: bool,
    /// What an operation consists of.
    pub calls: &'j [Call],
    /// How many operations are handed over at once.
    pub batch: u32,
}

impl<'j> Terms<'j> {
    /// Of a job that was checked.
    pub fn of(name: &'j str, job: &'j Job, channels: Vec<(i32, i32)>, calls: &'j [Call]) -> Self {
        let account = &job.account;
        let terms = job.driver.as_ref();
        Self {
            name,
            channels,
            endpoint: &job.endpoint,
            account: json!({"user": account.user, "password": account.password, "database": account.database}),
            tls: tls_of(job),
            options: terms.map_or_else(|| json!({}), |terms| json!(terms.options)),
            on_connect: &job.workload.on_connect,
            reconnect: job.workload.reconnect,
            calls,
            batch: batch_of(job),
        }
    }
}

/// How many operations are handed over at once.
pub fn batch_of(job: &Job) -> u32 {
    job.driver.as_ref().map_or(1, |terms| terms.batch.max(1))
}

/// The mode with all that may be said of TLS, null where nothing is.
fn tls_of(job: &Job) -> Value {
    let said = serde_json::to_value(&job.tls).unwrap_or_default();
    let mut told: Map<String, Value> = TOLD_OF_TLS
        .into_iter()
        .map(|field| (field.to_owned(), said[field].clone()))
        .collect();
    told.insert(
        "trusted_ca_file".to_owned(),
        said["trusted_ca_file"].clone(),
    );
    told.insert("versions".to_owned(), json!(versions(&said)));
    if let Server::Postgresql(terms) = &job.server {
        let direct = terms.ssl_negotiation == SslNegotiation::Direct;
        told.insert("direct".to_owned(), json!(direct));
    }
    Value::Object(told)
}

/// All versions that are allowed, lowest first; none where the job leaves it to the driver.
fn versions(said: &Value) -> Vec<&'static str> {
    let (lowest, highest) = (said["min_version"].as_str(), said["max_version"].as_str());
    if lowest.is_none() && highest.is_none() {
        return Vec::new();
    }
    // As texts they are in order.
    let within = |version: &&str| {
        lowest.is_none_or(|lowest| *version >= lowest)
            && highest.is_none_or(|highest| *version <= highest)
    };
    ["1.0", "1.1", "1.2", "1.3"]
        .into_iter()
        .filter(within)
        .collect()
}

/// Refuses a job that no driver can do, or that this one cannot: `takes` are its adapter's words.
///
/// # Errors
/// The first thing that cannot be done.
pub fn check(job: &Job, takes: &[String]) -> Result<(), Trouble> {
    let has = |word: &str| takes.iter().any(|taken| taken == word);
    let batch = batch_of(job);
    let statements = &job.workload.statements;
    let one_call = statements.len() == 1 && statements[0].repeat == 1;
    let rules = [
        (
            job.workload.mix.is_empty(),
            "a driver runs statements, not a mix of transactions",
        ),
        (!job.workload.storm, "a driver runs statements, not a storm"),
        (
            matches!(job.schedule, Schedule::Closed {}),
            "a driver works in a closed loop only",
        ),
        (
            job.reset.is_empty(),
            "a driver does all operations in one go and puts no data back (reset)",
        ),
        (
            job.compression.is_off()
                && job.full_load.is_none()
                && job.lingering.is_none()
                && job.measure_overhead,
            "compression, full_load, lingering and measure_overhead are not for drivers",
        ),
        (
            batch == 1 || has("batch") || has("batch_values"),
            "batch: this driver is handed one operation at a time",
        ),
        (
            batch == 1 || one_call && !job.workload.reconnect,
            "batch: only one statement, on kept connections, can be handed over several times at once",
        ),
    ];
    for (holds, words) in rules {
        if !holds {
            return Err(Trouble::bad_job(words));
        }
    }
    check_postgres(job, has("direct"))?;
    check_tls(job, has("server_name"))
}

/// What only `PostgreSQL` is told.
fn check_postgres(job: &Job, takes_direct: bool) -> Result<(), Trouble> {
    let Server::Postgresql(terms) = &job.server else {
        return Ok(());
    };
    if terms.ssl_negotiation == SslNegotiation::Direct && !takes_direct {
        return Err(Trouble::bad_job(
            "server.ssl_negotiation: this driver asks for TLS before it begins it",
        ));
    }
    if terms.require_auth.contains(&AuthMethod::ScramSha256Plus) {
        return Err(Trouble::bad_job(
            "server.require_auth: a driver is not told to bind SCRAM to its TLS channel",
        ));
    }
    Ok(())
}

fn check_tls(job: &Job, takes_server_name: bool) -> Result<(), Trouble> {
    let settings = match &job.tls {
        Tls::Off {
            get_server_public_key: false,
        } => {
            return Err(Trouble::bad_job(
                "tls.get_server_public_key: drivers are not told of it",
            ));
        }
        Tls::On(settings) => settings,
        _ => return Ok(()),
    };
    let untold = [
        ("cipher_list", settings.cipher_list.is_some()),
        ("ciphersuites", settings.ciphersuites.is_some()),
        ("groups", settings.groups.is_some()),
        ("resumption", settings.resumption),
        ("library", settings.library.is_some()),
        ("weak_dh", settings.weak_dh),
        ("keylog_file", settings.keylog_file.is_some()),
        ("own_context", settings.own_context),
    ];
    if let Some((field, _)) = untold.iter().find(|(_, said)| *said) {
        return Err(Trouble::bad_job(format!(
            "tls.{field}: drivers are not told of it"
        )));
    }
    let host = match &job.endpoint {
        Endpoint::Tcp { host, .. } => Some(host),
        Endpoint::Unix { .. } => None,
    };
    if settings.server_name.is_some() && settings.server_name.as_ref() != host && !takes_server_name
    {
        return Err(Trouble::bad_job(
            "tls.server_name: this driver verifies the host that it connects to, and no other",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(more: &str) -> Job {
        let text = format!(
            r#"{{"schema": 2, "endpoint": {{"kind": "tcp", "host": "h", "port": 1}}, "account": {{"user": "u",
            "password": "p"}}, "connections": 1, "duration_s": 1, "seed": 1, {more}}}"#
        );
        Job::from_json(&text).unwrap()
    }

    fn refused(more: &str, takes: &[&str]) -> String {
        let takes: Vec<_> = takes.iter().map(|word| (*word).to_owned()).collect();
        check(&job(more), &takes).map_or_else(|trouble| trouble.message, |()| String::new())
    }

    const ASK: &str = r#""workload": {"statements": [{"sql": "SELECT 1"}]}"#;

    #[test]
    fn what_no_driver_is_told_is_refused_by_name() {
        let on = |field: &str| format!(r#"{ASK}, "tls": {{"mode": "on", {field}}}"#);
        assert!(refused(&on(r#""groups": "X25519""#), &[]).contains("tls.groups"));
        assert!(refused(&on(r#""resumption": true"#), &[]).contains("tls.resumption"));
        assert_eq!(refused(&on(r#""min_version": "1.2""#), &[]), "");
    }

    #[test]
    fn what_an_adapter_says_that_it_takes_is_not_refused() {
        let batch = format!(r#"{ASK}, "tls": {{"mode": "off"}}, "driver": {{"batch": 5}}"#);
        assert!(refused(&batch, &[]).contains("batch"));
        assert_eq!(refused(&batch, &["batch"]), "");
        let named = format!(r#"{ASK}, "tls": {{"mode": "on", "server_name": "other"}}"#);
        assert!(refused(&named, &[]).contains("server_name"));
        assert_eq!(refused(&named, &["server_name"]), "");
    }

    #[test]
    fn tls_is_told_with_a_null_for_what_is_not_said() {
        let told = tls_of(&job(&format!(
            r#"{ASK}, "tls": {{"mode": "unset", "trusted_ca_file": "/ca"}}"#
        )));
        assert_eq!(told["mode"], "unset");
        assert_eq!(told["trusted_ca_file"], "/ca");
        assert_eq!(told["verify"], Value::Null);
        assert_eq!(told["versions"], json!([]));
        let told = tls_of(&job(&format!(
            r#"{ASK}, "tls": {{"mode": "on", "max_version": "1.1"}}"#
        )));
        assert_eq!(told["versions"], json!(["1.0", "1.1"]));
        assert_eq!(told.get("direct"), None);
    }

    #[test]
    fn how_tls_begins_is_told_for_postgresql_and_refused_where_a_driver_cannot() {
        let asked = format!(
            r#"{ASK}, "tls": {{"mode": "on"}}, "server": {{"kind": "postgresql", "ssl_negotiation": "direct"}}"#
        );
        assert_eq!(tls_of(&job(&asked))["direct"], true);
        assert!(refused(&asked, &[]).contains("ssl_negotiation"));
        assert_eq!(refused(&asked, &["direct"]), "");
    }
}
