//! What is said between laboratory and client: the job in file 3, all else by standard input and output.

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::oneshot;

use crate::driver::Driver;
use crate::event::{self, Done, Event, Ready};
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::machine::pin;

/// Where `run` hands the job on, when it has seen what the process is to trust.
const JOB: &str = "/proc/self/fd/3";

/// The laboratory's end: `begun` when it says go, `over` when it is gone. Before all is `done`, that ends the
/// process at once.
struct Laboratory {
    begun: oneshot::Receiver<()>,
    over: oneshot::Receiver<()>,
    done: Arc<AtomicBool>,
}

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
        Ok(runtime) => runtime.block_on(work(fleet, listen(), version)),
        Err(error) => event::end(&Failure::new("limits", error.to_string())),
    }
}

/// Hears what the laboratory says, in a thread of its own.
fn listen() -> Laboratory {
    let (go, begun) = oneshot::channel();
    let (leave, over) = oneshot::channel();
    let done = Arc::new(AtomicBool::new(false));
    let all_done = Arc::clone(&done);
    std::thread::spawn(move || {
        let mut go = Some(go);
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.trim() == "go"
                && let Some(go) = go.take()
            {
                let _ = go.send(());
            }
        }
        if !all_done.load(Relaxed) {
            std::process::exit(0);
        }
        let _ = leave.send(());
    });
    Laboratory { begun, over, done }
}

/// Open, warm up, ready, go, done, and keep the connections until the end.
async fn work<D: Driver>(mut fleet: Fleet<D>, laboratory: Laboratory, version: String) {
    let shared = Arc::clone(&fleet.shared);
    tokio::spawn(Arc::clone(&shared).watch());
    let negotiated = match fleet.open().await {
        Ok(negotiated) => negotiated,
        Err(failure) => event::end(&failure.said_by(&shared.name)),
    };
    let (warmup, steady) = fleet.warm_up().await;
    shared.busy.store(false, Relaxed);
    event::say(&Event::Ready(Box::new(Ready {
        client: shared.name.clone(),
        client_version: version,
        pid: std::process::id(),
        server_version: fleet.version.clone(),
        tls_library: None,
        negotiated,
        warmup,
        steady,
    })));
    // The laboratory's end cannot be lost: the thread that has it ends the process itself.
    let _ = laboratory.begun.await;
    shared.busy.store(true, Relaxed);
    let result: Done = fleet.measure().await;
    shared.busy.store(false, Relaxed);
    laboratory.done.store(true, Relaxed);
    event::say(&Event::Done(Box::new(result)));
    let _ = laboratory.over.await;
    fleet.close().await;
}
