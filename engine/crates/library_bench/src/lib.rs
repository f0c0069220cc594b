//! A TLS library alone: what it costs either side to shake hands, to seal and open records, to sign and to
//! agree on a key, with both sides in one process and nothing between them but memory.
//!
//! Reads one [`Job`] from the first line of standard input and says [`Said::Ready`]. Every further line is an
//! [`Order`], answered by [`Said::Slice`]; the end of standard input ends it. One JSON object a line, as with
//! the load clients (`contract/README.md`), but there is no server and no connection. What fails is said as
//! [`Said::Error`], and ends it with status 1.

#![forbid(unsafe_code)]

mod clock;
mod exchange;
mod handshake;
mod messages;
mod record;
mod sides;
mod signature;
mod subject;

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tlstax_tls::Library;

use crate::messages::{Job, Order, Prepared, Said, Slice};
use crate::sides::Sides;
use crate::subject::Subject;

/// How long each subject is worked on before it is measured: caches, branch predictors, lazily made tables.
const WARMUP: Duration = Duration::from_millis(5);

/// Carries out the job on standard input.
pub fn run() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&Said::Error { message });
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), String> {
    // As in a server there is another thread: the C library spares a process that has one alone the atomic
    // operations of its locks and of its memory.
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
    let mut lines = std::io::stdin().lock().lines();
    let first = lines.next().ok_or("there was no job")?;
    let job: Job = parsed(&first.map_err(|error| error.to_string())?)?;
    let library = Library::load(job.library.as_deref()).map_err(|error| error.to_string())?;
    let mut subjects = Vec::new();
    let mut prepared = Vec::new();
    for asked in &job.subjects {
        match subject::prepare(library, asked) {
            Ok(ready) => {
                prepared.push(Prepared::of(ready.negotiated()));
                subjects.push(Some(ready));
            }
            Err(refused) => {
                prepared.push(Prepared::Refused(refused));
                subjects.push(None);
            }
        }
    }
    say(&Said::Ready {
        pid: std::process::id(),
        version: library.version_text().to_owned(),
        libssl: library.libssl_path().to_owned(),
        libcrypto: library.libcrypto_path().to_owned(),
        subjects: prepared,
    });
    for line in lines {
        let order: Order = parsed(&line.map_err(|error| error.to_string())?)?;
        let subject = subjects
            .get_mut(order.subject)
            .and_then(Option::as_mut)
            .ok_or_else(|| format!("there is no subject {}", order.subject))?;
        say(&Said::Slice(slice(
            subject.as_mut(),
            &order,
            sides_of(&job)?,
        )?));
    }
    Ok(())
}

/// Nobody's time yet; tells the page of who counts locks, where there is one.
fn sides_of(job: &Job) -> Result<Sides, String> {
    match &job.lock_page {
        None => Ok(Sides::default()),
        Some(page) => Sides::told_to(page)
            .map_err(|error| format!("{} cannot be written: {error}", page.display())),
    }
}

/// Works on a subject for as long, or as often, as was ordered. Callgrind counts within this function alone.
#[inline(never)]
fn slice(subject: &mut dyn Subject, order: &Order, mut sides: Sides) -> Result<Slice, String> {
    let began = Instant::now();
    let length = Duration::try_from_secs_f64(order.length_s).map_err(|error| error.to_string())?;
    let mut operations = 0;
    loop {
        let is_over = match order.operations {
            Some(wanted) => operations >= wanted,
            None => operations > 0 && began.elapsed() >= length,
        };
        if is_over {
            break;
        }
        operations += subject
            .work(&mut sides)
            .map_err(|error| error.to_string())?;
    }
    Ok(Slice {
        operations,
        elapsed_s: began.elapsed().as_secs_f64(),
        client_cpu_us: sides.client_us(),
        server_cpu_us: sides.server_us(),
    })
}

fn parsed<'a, T: serde::Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("a line was not understood: {error}"))
}

fn say(said: &Said) {
    let mut line = serde_json::to_vec(said).unwrap_or_default();
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    // Nobody to tell when the laboratory is gone: the end of standard input says the same.
    let _ = output.write_all(&line).and_then(|()| output.flush());
}
