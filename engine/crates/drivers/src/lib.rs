//! The host of drivers: `tlstax-tools driver NAME PROGRAM…` serves one job of the contract (contract/README.md) by the
//! adapter that PROGRAM is (drivers/ADAPTERS.md).

#![forbid(unsafe_code)]

mod adapter;
mod clock;
mod crew;
mod laboratory;
mod own_cost;
mod proof;
mod stock;
mod terms;
mod trouble;
mod warm_up;
mod window;

use std::path::Path;
use std::process::ExitCode;

use tlstax_client::{Failure, pin_to};
use tlstax_contract::{Event, Job, Order, Ready};

use crate::adapter::Adapter;
use crate::clock::ProcessClock;
use crate::crew::Crew;
use crate::laboratory::{Laboratory, say};
use crate::stock::Drawing;
use crate::trouble::Trouble;
use crate::window::{Shape, Window};

/// Serves one job; these are the driver's name and the command that starts its adapter.
pub fn run(arguments: &[String]) -> ExitCode {
    exit(with_adapter(arguments, false, |crew, clock, job, takes| {
        converse(crew, clock, job, takes, own_folder(arguments))
    }))
}

/// Measures what an adapter costs beside its driver, for the job on standard input; prints a JSON object.
pub fn measure_own_cost(arguments: &[String]) -> ExitCode {
    exit(with_adapter(arguments, true, |crew, clock, _, _| {
        let cost = own_cost::measure(crew, clock)?;
        println!("{}", serde_json::to_string(&cost).unwrap_or_default());
        Ok(())
    }))
}

fn exit(result: Result<(), Trouble>) -> ExitCode {
    let Err(trouble) = result else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{}", trouble.message);
    say(&Event::Error(trouble.event(true)));
    ExitCode::FAILURE
}

/// Where the driver is built.
fn own_folder(arguments: &[String]) -> &Path {
    let run = arguments.get(1).map(Path::new);
    run.and_then(Path::parent).unwrap_or_else(|| Path::new("/"))
}

/// Reads a job, starts the adapter on it (whose operations call nothing, where it `is_idle`), and ends it after `work`.
fn with_adapter(
    arguments: &[String],
    is_idle: bool,
    work: impl FnOnce(&mut Crew, &ProcessClock, &Job, &[String]) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let [name, command @ ..] = arguments else {
        return Err(Trouble::bad_job(
            "the driver's name and its program are to be told",
        ));
    };
    let mut laboratory = Laboratory::default();
    let line = laboratory
        .line()
        .ok_or_else(|| Trouble::bad_job("there was no job on standard input"))?;
    let job = Job::from_json(&line).map_err(Failure::from)?;
    pin_to(&job.cpus)?;
    let takes_all = ["batch", "direct", "server_name"].map(str::to_owned);
    terms::check(&job, &takes_all)?;
    let mut drawing = Drawing::of(&job)?;
    let calls = if is_idle { &[][..] } else { &drawing.calls };
    let (adapter, takes) = Adapter::start(name, command, &job, calls, &mut laboratory)?;
    terms::check(&job, &takes)?;
    if terms::batch_of(&job) > 1 && takes.iter().any(|taken| taken == "batch_values") {
        drawing.hand_over_values();
    }
    let clock = ProcessClock::of(adapter.pid())?;
    let mut crew = Crew::new(adapter, laboratory, drawing, &job);
    let result = work(&mut crew, &clock, &job, &takes);
    match result {
        Ok(()) => crew.adapter.end(),
        Err(_) => crew.adapter.kill(),
    }
    result
}

/// From the first connection to the last.
fn converse(
    crew: &mut Crew,
    clock: &ProcessClock,
    job: &Job,
    takes: &[String],
    own: &Path,
) -> Result<(), Trouble> {
    let has = |word: &str| takes.iter().any(|taken| taken == word);
    let proof = proof::open(crew, job)?;
    let commits = has("commit") && proof::needs_commit(crew, job)?;
    let samples = proof::sample(crew, job)?;
    let tls_library = proof::tls_library(crew.adapter.pid(), own);
    if commits {
        crew.all("commit\n", false)?;
    }
    if job.workload.reconnect {
        crew.all("close\n", true)?;
    }
    let warm_up = warm_up::warm_up(crew, clock, job, has("compiles"))?;
    if let Some(operations) = job.operations {
        crew.limit(operations)?;
    }
    crew.fill_up(job.duration_s, warm_up.last_s)?;
    let opened = crew
        .reports()?
        .iter()
        .map(|report| report.answer.number("opened"))
        .sum();
    warm_up::rest(clock);
    let shape = Shape {
        calls: crew.drawing.calls.len() + usize::from(commits),
        batch: terms::batch_of(job).into(),
        reconnect: job.workload.reconnect,
    };
    let mut window = Window::new(shape, opened);
    say(&Event::Ready(Ready {
        client: crew.adapter.name.clone(),
        client_version: proof.client_version,
        pid: crew.adapter.pid(),
        server_version: proof.server_version,
        tls_library,
        negotiated: proof.negotiated,
        warmup: warm_up.slices,
        steady: warm_up.steady,
    }));
    take_turns(crew, clock, &mut window)?;
    say(&Event::Done(Box::new(window.result(samples))));
    crew.laboratory.await_end();
    let _ = crew.all("close\n", true);
    Ok(())
}

/// A slice for each `go`, until `end`.
fn take_turns(crew: &mut Crew, clock: &ProcessClock, window: &mut Window) -> Result<(), Trouble> {
    while let Order::Slice(length_s) = crew.laboratory.order()? {
        let slice = window.slice(crew, clock, length_s)?;
        crew.fill_up(length_s, length_s)?;
        say(&Event::Slice(slice));
    }
    if !window.has_slices() {
        return Err(Failure::NoSlice.into());
    }
    if window.refills() > 0 {
        eprintln!(
            "operations were handed over within slices {} times",
            window.refills()
        );
    }
    Ok(())
}
