//! What is said between laboratory and client: the job in file 3, all else by standard input and output.

use std::sync::Arc;

use crate::driver::Driver;
use crate::event::{self, Done, Event, Ready};
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::laboratory::{Laboratory, Order};
use crate::machine::pin;

/// Where `run` hands the job on, when it has seen what the process is to trust.
const JOB: &str = "/proc/self/fd/3";

/// Does a job with the driver that `make` makes of it. The process's first argument is the driver's name, and
/// `version` is what it says of itself.
pub fn converse<D: Driver>(version: String, make: impl FnOnce(&Job, &str) -> Result<D, Failure>) {
    let name = std::env::args().nth(1).unwrap_or_default();
    let line = std::fs::read_to_string(JOB).unwrap_or_default();
    if line.trim().is_empty() {
        return;
    }
    let ready = Job::read(&line).and_then(|job| {
        pin(&job.cpus)?;
        let driver = make(&job, &name)?;
        Fleet::new(job, driver, name.clone())
    });
    let fleet = ready.unwrap_or_else(|failure| event::end(&failure));
    match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(async {
            // A task of its own, so that an order need not wake this thread before it wakes those that work.
            let worked = tokio::spawn(work(fleet, version)).await;
            if let Err(error) = worked {
                event::end(&Failure::new("internal", error.to_string()));
            }
        }),
        Err(error) => event::end(&Failure::new("limits", error.to_string())),
    }
}

/// Open, warm up, ready, a slice for each go, done, and keep the connections until the end.
async fn work<D: Driver>(mut fleet: Fleet<D>, version: String) {
    let name = fleet.shared.name.clone();
    let mut laboratory = Laboratory::listen().unwrap_or_else(|failure| event::end(&failure));
    match prepare(&mut fleet, version).await {
        Ok(ready) => event::say(&Event::Ready(Box::new(ready))),
        Err(failure) => event::end(&failure.said_by(&name)),
    }
    match take_turns(&mut fleet, &mut laboratory).await {
        Ok(done) => {
            laboratory.may_leave();
            event::say(&Event::Done(Box::new(done)));
        }
        Err(failure) => event::end(&failure),
    }
    laboratory.over().await;
    fleet.close().await;
}

async fn prepare<D: Driver>(fleet: &mut Fleet<D>, version: String) -> Result<Ready, Failure> {
    let shared = Arc::clone(&fleet.shared);
    let opened_and_warm = async {
        let negotiated = fleet.open().await?;
        Ok((negotiated, fleet.warm_up().await))
    };
    let (negotiated, (warmup, steady)) = tokio::select! {
        biased;
        done = opened_and_warm => done?,
        never = shared.watch() => match never {},
    };
    Ok(Ready {
        client: shared.name.clone(),
        client_version: version,
        pid: std::process::id(),
        server_version: fleet.version.clone(),
        tls_library: None,
        negotiated,
        warmup,
        steady,
    })
}

/// A slice for each `go`, until `end`; then the result of all.
async fn take_turns<D: Driver>(
    fleet: &mut Fleet<D>,
    laboratory: &mut Laboratory,
) -> Result<Done, Failure> {
    let mut crew = fleet.muster();
    loop {
        match laboratory.order().await? {
            Order::Go(length) => {
                let slice = fleet.slice(&mut crew, length).await;
                event::say(&Event::Slice(slice));
            }
            Order::End if fleet.has_worked() => return Ok(fleet.result(crew).await),
            Order::End => return Err(Failure::bad_job("end came before the first slice")),
        }
    }
}
