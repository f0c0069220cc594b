//! What was negotiated, asked of each connection before it works; and samples of rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tlstax_contract::{ErrorKind, Job, Negotiated, RowSample, Server, Tls, TlsLibrary, TlsView};
use tlstax_load::proof;

use crate::adapter::Answer;
use crate::crew::Crew;
use crate::trouble::Trouble;

/// What all connections said.
#[derive(Debug, Default)]
pub struct Proof {
    /// The driver's word for its version.
    pub client_version: String,
    /// The server's for its own.
    pub server_version: String,
    /// By kind.
    pub negotiated: Vec<Negotiated>,
}

/// Opens the connections, one after the other, and asks each what was negotiated.
///
/// In turn, since a driver may resume the session of one that is open and has read its tickets (RFC 8446, section
/// 4.6.1), as it would in a program.
///
/// # Errors
/// One cannot be opened, or is not encrypted as the job wants it.
pub fn open(crew: &mut Crew, job: &Job) -> Result<Proof, Trouble> {
    let mut proof = Proof::default();
    for number in 0..crew.connections() {
        let opened = crew.one(number, "open\n", &[], true)?;
        let asked = asked(crew, number, &job.server)?;
        if number == 0 {
            text(&opened.told["version"]).clone_into(&mut proof.client_version);
            proof.server_version.clone_from(&asked.version);
        }
        let server = asked.tls;
        check(crew, job, server.as_ref())?;
        let own = Negotiated {
            connections: 1,
            client: client_view(&opened),
            server,
            client_tells: opened.told.get("view").is_some(),
            compression: None,
        };
        proof::add(&mut proof.negotiated, own);
    }
    Ok(proof)
}

/// What a server says on a connection.
struct Asked {
    version: String,
    tls: Option<TlsView>,
}

/// Asks the server, by the driver, which it is and what it has negotiated on this connection.
fn asked(crew: &mut Crew, number: usize, server: &Server) -> Result<Asked, Trouble> {
    let (version, tls) = match server {
        Server::Mysql {} => {
            let version = crew.rows(number, "SELECT VERSION()")?;
            let status = crew.rows(number, "SHOW SESSION STATUS LIKE 'Ssl%'")?;
            let tells_resumption = !text(&version.told["rows"][0][0]).contains("MariaDB");
            let tls = tlstax_load::server_view(&rows(&status)?, tells_resumption);
            (version, tls)
        }
        Server::Postgresql(_) => {
            let version = crew.rows(number, "SHOW server_version")?;
            let tls = crew.rows(number, tlstax_load::POSTGRES_QUESTION)?;
            let tls = tlstax_load::postgres_view(&rows(&tls)?);
            (version, tls)
        }
    };
    Ok(Asked {
        version: text(&version.told["rows"][0][0]).to_owned(),
        tls,
    })
}

/// Whether an operation has to end with the driver's `commit()`, where its connections begin without autocommit.
///
/// MySQL's autocommit belongs to the session, which is asked; what only reads needs no end there. At `PostgreSQL` such
/// a driver begins each transaction itself ("Frontend/Backend Protocol" knows no autocommit): one that is never ended
/// would hold all that it reads, so every operation ends its own.
///
/// # Errors
/// The server cannot be asked.
pub fn needs_commit(crew: &mut Crew, job: &Job) -> Result<bool, Trouble> {
    match job.server {
        Server::Mysql {} => Ok(!job.workload.only_reads() && !commits_by_itself(crew)?),
        Server::Postgresql(_) => Ok(true),
    }
}

fn commits_by_itself(crew: &mut Crew) -> Result<bool, Trouble> {
    let answer = crew.rows(0, "SELECT @@session.autocommit")?;
    Ok(text(&answer.told["rows"][0][0]) == "1")
}

/// A connection that is not what the job asks for.
fn check(crew: &Crew, job: &Job, server: Option<&TlsView>) -> Result<(), Trouble> {
    let name = &crew.adapter.name;
    let Some(view) = server else {
        return match job.tls {
            Tls::On(_) | Tls::Required { .. } => Err(Trouble::new(
                ErrorKind::NoTls,
                format!("{name} logged in in the clear, though TLS was asked for"),
            )),
            _ => Ok(()),
        };
    };
    let Tls::On(settings) = &job.tls else {
        return Ok(());
    };
    let version = view.version.trim_start_matches("TLSv");
    // TLSv1 is 1.0 in a job.
    let version = if version == "1" { "1.0" } else { version };
    let bound = |version: Option<tlstax_contract::TlsVersion>| {
        version.map(|version| {
            serde_json::to_value(version).map_or(String::new(), |v| text(&v).to_owned())
        })
    };
    let too_low = bound(settings.min_version).is_some_and(|lowest| version < lowest.as_str());
    let too_high = bound(settings.max_version).is_some_and(|highest| version > highest.as_str());
    if too_low || too_high {
        return Err(Trouble::bad_job(format!(
            "tls: {name} takes no word on versions of TLS, and this connection has {}",
            view.version
        )));
    }
    Ok(())
}

/// A text, or nothing.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn client_view(answer: &Answer) -> Option<TlsView> {
    let told = answer.told.get("view").filter(|told| told.is_object())?;
    Some(TlsView {
        version: text(&told["version"]).to_owned(),
        cipher: text(&told["cipher"]).to_owned(),
        resumed: told["resumed"].as_bool(),
        group: told["group"].as_str().map(str::to_owned),
        hello_retry: None,
        certificate_key: None,
        certificate_sha256: None,
        certificates_sent: None,
        authorities: None,
        client_certificate: None,
        cipher_bits: None,
        client_name: None,
    })
}

/// The rows of an answer.
fn rows(answer: &Answer) -> Result<Vec<Vec<Option<String>>>, Trouble> {
    Vec::deserialize(&answer.told["rows"]).map_err(|error| {
        Trouble::new(
            ErrorKind::Internal,
            format!("the adapter's rows are none ({error})"),
        )
    })
}

/// Operations run for their rows, shared over the connections; none where the workload changes what it reads.
///
/// # Errors
/// One cannot be run.
pub fn sample(crew: &mut Crew, job: &Job) -> Result<Vec<RowSample>, Trouble> {
    let mut samples = Vec::new();
    let wanted = if job.workload.only_reads() {
        job.row_samples as usize
    } else {
        0
    };
    for number in (0..crew.connections()).cycle() {
        if samples.len() >= wanted {
            break;
        }
        let Some(calls) = crew.drawing.draw_calls()? else {
            break;
        };
        for (place, call) in calls.into_iter().enumerate().take(wanted - samples.len()) {
            let order = format!("rows {place} {}\n", call.fields.len());
            let answer = crew.one(number, &order, &call.fields, true)?;
            samples.push(RowSample {
                sql: call.sql,
                rows: rows(&answer)?,
            });
        }
    }
    Ok(samples)
}

/// The OpenSSL that a process has mapped: the one below `own` before any other; none where it is not just one.
pub fn tls_library(pid: u32, own: &Path) -> Option<TlsLibrary> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let mapped: BTreeSet<PathBuf> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|start| PathBuf::from(&line[start..])))
        .collect();
    let (own, other): (Vec<PathBuf>, Vec<PathBuf>) =
        mapped.into_iter().partition(|path| path.starts_with(own));
    [own, other].into_iter().find_map(|paths| {
        let only = |name: &str| {
            let is_it = |path: &&PathBuf| {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                file.starts_with(name) && file.contains(".so")
            };
            let mut found = paths.iter().filter(is_it);
            let first = found.next().cloned();
            if found.next().is_some() { None } else { first }
        };
        let (libssl_path, libcrypto_path) = (only("libssl")?, only("libcrypto")?);
        Some(TlsLibrary {
            version: openssl_version(&libcrypto_path)?,
            libssl_path,
            libcrypto_path,
        })
    })
}

/// What the library says of itself (`OpenSSL_version(3)`): the text stands in the file.
fn openssl_version(libcrypto: &Path) -> Option<String> {
    const NAME: &[u8] = b"OpenSSL ";
    let bytes = fs::read(libcrypto).ok()?;
    let texts = bytes.windows(NAME.len()).enumerate();
    let mut starts = texts
        .filter(|(_, window)| *window == NAME)
        .map(|(at, _)| at);
    starts.find_map(|start| {
        let end = start + bytes[start..].iter().take(60).position(|byte| *byte == 0)?;
        let said = std::str::from_utf8(&bytes[start..end]).ok()?;
        let number = said.split(' ').nth(1)?;
        // "OpenSSL 3.0.17 1 Jul 2025": a number with dots and the year of its release.
        let has_dots =
            number.split('.').count() == 3 && number.starts_with(|c: char| c.is_ascii_digit());
        (has_dots && said.split(' ').count() >= 5).then(|| said.to_owned())
    })
}
