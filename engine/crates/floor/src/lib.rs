//! The bare floor: the least that a client can do on the same sockets with the same bytes.
//!
//! It speaks the contract (`contract/README.md`) so that it can be measured like the engine, and
//! leaves out all that makes a load generator: it takes no time, keeps no histogram, parses no
//! answer (it counts bytes) and makes its requests beforehand. It shares with the engine how a
//! socket is opened, the login's bytes and the binding of libssl.

#![forbid(unsafe_code)]

mod failure;
mod line;
mod opening;
mod requests;
mod round;
mod talk;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;

use tlstax_client::clock::{self, CpuSpans};
use tlstax_client::{Access, pin};
use tlstax_contract::{Compression, Counts, Done, Event, Job, Order, Ready, Schedule, Slice};

pub use failure::Failure;
use round::Floor;

/// What becomes of the process after `outcome`; a failure is told on standard output, as the contract has it.
pub fn exit(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&Event::Error(failure.event()));
            ExitCode::FAILURE
        }
    }
}

/// Carries out the job on standard input.
///
/// # Errors
/// What ended it early.
pub fn serve() -> Result<(), Failure> {
    let mut input = std::io::stdin().lock();
    let mut text = String::new();
    input.read_line(&mut text)?;
    let job = Job::from_json(&text)?;
    check(&job)?;
    pin(&job, 0)?;
    let mut floor = Floor::set_up(&job, Access::prepare(&job)?)?;
    floor.run(clock::now_ns() + clock::nanoseconds(job.warmup_s))?;
    say(&Event::Ready(ready(&floor)));
    let mut window = Window::default();
    let opened_before = floor.connections;
    loop {
        text.clear();
        if input.read_line(&mut text)? == 0 {
            return Ok(());
        }
        match Order::from_line(&text)? {
            None => {}
            Some(Order::End) => break,
            Some(Order::Slice(length_s)) => {
                let slice = window.slice(&mut floor, length_s)?;
                say(&Event::Slice(slice));
            }
        }
    }
    if window.elapsed_ns == 0 {
        return Err(tlstax_client::Failure::NoSlice.into());
    }
    let opened = floor.connections - opened_before;
    say(&Event::Done(Box::new(
        window.done(opened, floor.connections),
    )));
    // Connections stay open until whoever reads the server's clocks has done so.
    text.clear();
    input.read_line(&mut text)?;
    Ok(())
}

/// What all slices so far came to.
#[derive(Default)]
struct Window {
    elapsed_ns: u64,
    operations: u64,
    cpu: CpuSpans,
}

impl Window {
    /// Works for a slice that begins now.
    fn slice(&mut self, floor: &mut Floor, length_s: f64) -> Result<Slice, Failure> {
        let opened_before = floor.connections;
        let (cpu_before, start_ns) = (clock::process_cpu(), clock::now_ns());
        let operations = floor.run(start_ns + clock::nanoseconds(length_s))?;
        let elapsed_ns = clock::now_ns() - start_ns;
        let cpu_us = self.cpu.add(cpu_before, clock::process_cpu());
        self.elapsed_ns += elapsed_ns;
        self.operations += operations;
        Ok(Slice {
            elapsed_s: clock::seconds(elapsed_ns),
            operations,
            // It takes no operation's time.
            latency_sum_s: 0.0,
            cpu_us,
            counts: counts(floor.connections - opened_before),
            rounds_s: Vec::new(),
            full_load: None,
        })
    }

    /// The result; `opened` connections were opened in the slices, `opened_ever` since the start.
    fn done(self, opened: u64, opened_ever: u64) -> Done {
        let cpu = self.cpu.sum();
        Done {
            elapsed_s: clock::seconds(self.elapsed_ns),
            operations: self.operations,
            scheduled: self.operations,
            skipped: 0,
            window: counts(opened),
            lifetime: counts(opened_ever),
            histograms_ns: BTreeMap::new(),
            cpu,
            threads_cpu_us: vec![cpu.total_us],
            wire: None,
            compression: None,
            errors: Vec::new(),
            row_samples: Vec::new(),
            overhead: None,
            reported_s: BTreeMap::new(),
            rounds_s: Vec::new(),
            phase_wire: BTreeMap::new(),
        }
    }
}

/// What a bare loop cannot do.
fn check(job: &Job) -> Result<(), Failure> {
    let workload = &job.workload;
    let one_statement = matches!(&workload.statements[..], [statement]
        if statement.repeat == 1 && statement.protocol.is_none());
    let more = !workload.on_connect.is_empty() || job.operations.is_some();
    let resumes = matches!(&job.tls, tlstax_contract::Tls::On(settings) if settings.resumption);
    let packs = job.compression != Compression::Off;
    let shared_out = job.threads > 1 || job.schedule != (Schedule::Closed {});
    if shared_out || !one_statement || more || resumes || packs {
        return Err(refused(
            "the floor is one thread, one statement again and again for a time, a closed loop, full handshakes and no compression",
        ));
    }
    Ok(())
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::Refused(why.into())
}

fn ready(floor: &Floor) -> Ready {
    Ready {
        client: "tlstax-floor".into(),
        client_version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        server_version: floor.server_version.clone(),
        tls_library: floor.access.tls_library(),
        negotiated: Vec::new(),
        warmup: Vec::new(),
        steady: None,
    }
}

fn counts(connections: u64) -> Counts {
    Counts {
        connections,
        ..Counts::default()
    }
}

fn say(event: &Event) {
    let mut output = std::io::stdout().lock();
    // Nobody to tell when the laboratory is gone: the end of standard input says the same.
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    let _ = output.write_all(&line);
}
