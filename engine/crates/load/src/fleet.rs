//! All threads of a job: set up, warmed, held until told to go, measured, put together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fastrand::Rng;
use rustix::thread::{CpuSet, sched_setaffinity};
use tlstax_contract::{
    Arrivals, Counts, CpuTime, Done, ErrorKind, Event, Fault, Interval, Job, Negotiated, Overhead,
    Ready, Schedule,
};

use crate::clock::{cpu_between, nanoseconds, now_ns, process_cpu, seconds, thread_cpu_ns};
use crate::dispatch::Stage;
use crate::failure::Failure;
use crate::overhead;
use crate::proof;
use crate::recorder::{Recorder, merge_counts};
use crate::schedule::OpenSchedule;
use crate::shared::Shared;
use crate::worker::{Gauge, SetUp, Worker};

const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// From one thread to the coordinator.
enum Report {
    Ready(SetUp),
    Done(Box<Share>),
    Failed(Failure),
}

/// What one thread brings home.
struct Share {
    record: Recorder,
    lifetime: Counts,
    cpu_ns: u64,
}

/// The window, told to every thread at once.
#[derive(Debug, Clone, Copy)]
struct Go {
    start_ns: u64,
    end_ns: u64,
}

/// A thread, and how it is told to begin; it hangs up when the starter is dropped.
struct Thread {
    starter: Sender<Go>,
    handle: JoinHandle<()>,
}

/// What all threads brought home.
struct Total {
    record: Recorder,
    lifetime: Counts,
    threads_cpu_us: Vec<f64>,
}

/// Runs a job to its end.
///
/// `say` is told every event. `wait_for_go` is called once, when everything is ready and nothing
/// is in flight; `wait_for_release` once, when the result has been told. Until then connections that
/// are kept stay open, so that whoever reads the server's clocks at the result does not count its
/// work of closing them.
///
/// # Errors
/// What ended the job early.
pub fn run(
    job: &Job,
    shared: &Arc<Shared>,
    mut say: impl FnMut(Event),
    wait_for_go: impl FnOnce(),
    wait_for_release: impl FnOnce(),
) -> Result<(), Failure> {
    let overhead = own_cost(job);
    let (reports, inbox) = channel();
    let gauges: Vec<Arc<Gauge>> = (0..job.threads).map(|_| Arc::default()).collect();
    let threads = gauges
        .iter()
        .enumerate()
        .map(|(number, gauge)| spawn(job, shared, Arc::clone(gauge), number, reports.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    drop(reports);
    say(Event::Ready(ready(job, shared, &inbox)?));
    wait_for_go();
    let start_ns = now_ns();
    let cpu_before = process_cpu();
    let go = Go {
        start_ns,
        end_ns: start_ns + nanoseconds(job.duration_s),
    };
    for thread in &threads {
        thread.starter.send(go).map_err(|_| died())?;
    }
    let total = collect(&inbox, &gauges, start_ns, &mut say)?;
    let cpu = cpu_between(cpu_before, process_cpu());
    say(Event::Done(Box::new(done(total, start_ns, cpu, overhead))));
    wait_for_release();
    for Thread { starter, handle } in threads {
        drop(starter);
        handle.join().map_err(|_| died())?;
    }
    Ok(())
}

/// What the loop itself costs, measured where the first thread will run, before there is another.
fn own_cost(job: &Job) -> Option<Overhead> {
    let job = job.clone();
    let measuring = thread::Builder::new()
        .name("overhead".into())
        .spawn(move || {
            pin(&job, 0).ok()?;
            overhead::measure(&job)
        });
    measuring.ok()?.join().ok().flatten()
}

fn died() -> Failure {
    Failure::new(
        ErrorKind::Internal,
        Fault::Client,
        "a thread of the load engine died",
    )
}

/// Starts one thread; it says when it is ready and then waits for the window.
fn spawn(
    job: &Job,
    shared: &Arc<Shared>,
    gauge: Arc<Gauge>,
    number: usize,
    reports: Sender<Report>,
) -> Result<Thread, Failure> {
    let (starter, orders) = channel();
    let (job, shared) = (job.clone(), Arc::clone(shared));
    let handle = thread::Builder::new()
        .name(format!("load-{number}"))
        .spawn(move || {
            if let Err(failure) = serve(&job, shared, gauge, number, &orders, &reports) {
                // Nobody listens any more when the job was ended meanwhile.
                let _ = reports.send(Report::Failed(failure));
            }
        })
        .map_err(|error| {
            let message = format!("this machine does not allow another thread ({error})");
            Failure::new(ErrorKind::Limits, Fault::Client, message)
        })?;
    Ok(Thread { starter, handle })
}

/// One thread's work, reported on the way; it ends early when the job was ended before it began.
fn serve(
    job: &Job,
    shared: Arc<Shared>,
    gauge: Arc<Gauge>,
    number: usize,
    orders: &Receiver<Go>,
    reports: &Sender<Report>,
) -> Result<(), Failure> {
    pin(job, number)?;
    // Sleeps end when they should, not up to 50 µs later (prctl(2), PR_SET_TIMERSLACK); a kernel that
    // refuses still sleeps.
    let _ = nix::sys::prctl::set_timerslack(1);
    let threads = job.threads as usize;
    let share = |all: usize| all / threads + usize::from(number < all % threads);
    let samples = (job.row_samples as usize).div_ceil(threads);
    let count = share(job.connections as usize);
    let mut worker = Worker::new(shared, gauge, count, number, job.seed, samples)?;
    let set_up = worker.set_up()?;
    let now = now_ns();
    let warm = Go {
        start_ns: now,
        end_ns: now + nanoseconds(job.warmup_s),
    };
    let stage = Stage {
        end_ns: warm.end_ns,
        give_up_ns: warm.end_ns,
    };
    worker.work(stage, schedule(job, warm, number, 0), u32::MAX)?;
    worker.start_afresh(samples);
    if reports.send(Report::Ready(set_up)).is_err() {
        return Ok(());
    }
    let Ok(go) = orders.recv() else {
        return Ok(());
    };
    // Work that is late gets as long again as the window: left out, it would be missing where the
    // latencies are highest.
    let stage = Stage {
        end_ns: go.end_ns,
        give_up_ns: go.end_ns + (go.end_ns - go.start_ns),
    };
    let cpu_before_ns = thread_cpu_ns();
    worker.work(stage, schedule(job, go, number, 1), job.rounds)?;
    let cpu_ns = thread_cpu_ns() - cpu_before_ns;
    let (record, lifetime) = worker.take_record();
    let share = Share {
        record,
        lifetime,
        cpu_ns,
    };
    if reports.send(Report::Done(Box::new(share))).is_ok() {
        // Nothing more is ordered; the orders end when it is time to hang up.
        let _ = orders.recv();
    }
    worker.hang_up();
    Ok(())
}

/// Pins this thread to its core.
fn pin(job: &Job, number: usize) -> Result<(), Failure> {
    if job.cpus.is_empty() {
        return Ok(());
    }
    let cpu = job.cpus[number % job.cpus.len()];
    let refused = |why: &str| {
        let message = format!("job field cpus: this process may not use core {cpu} ({why})");
        Failure::new(ErrorKind::BadJob, Fault::Job, message)
    };
    if cpu as usize >= CpuSet::MAX_CPU {
        return Err(refused("no core has that number"));
    }
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|error| refused(&error.to_string()))
}

/// This thread's part of the arrivals; none in a closed loop.
fn schedule(job: &Job, window: Go, number: usize, stage: u64) -> Option<OpenSchedule> {
    let Schedule::Open {
        rate_per_s,
        arrivals,
    } = job.schedule
    else {
        return None;
    };
    let threads = f64::from(job.threads);
    let mut start_ns = window.start_ns;
    if arrivals == Arrivals::Uniform {
        // Threads take turns, so that arrivals are even over all of them.
        let turn_ns = nanoseconds(f64::from(u32::try_from(number).unwrap_or(0)) / rate_per_s);
        start_ns = start_ns.saturating_add(turn_ns);
    }
    let rng = Rng::with_seed(job.seed ^ ((number as u64) << 32) ^ (stage << 63));
    Some(OpenSchedule::new(
        rate_per_s / threads,
        arrivals,
        start_ns,
        window.end_ns,
        rng,
    ))
}

/// Waits until every thread is ready, and says what they found.
fn ready(job: &Job, shared: &Shared, inbox: &Receiver<Report>) -> Result<Ready, Failure> {
    let mut negotiated: Vec<Negotiated> = Vec::new();
    let mut server_version = String::new();
    for _ in 0..job.threads {
        match inbox.recv().map_err(|_| died())? {
            Report::Ready(set_up) => {
                server_version = set_up.server_version;
                for proof in set_up.proofs {
                    proof::add(&mut negotiated, proof);
                }
            }
            Report::Failed(failure) => return Err(failure),
            Report::Done(..) => return Err(died()),
        }
    }
    Ok(Ready {
        client: "tlstax-engine".into(),
        client_version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        server_version,
        tls_library: shared.tls_library(),
        negotiated,
        warmup: Vec::new(),
        steady: None,
    })
}

/// Waits for every thread's record, telling of progress meanwhile.
fn collect(
    inbox: &Receiver<Report>,
    gauges: &[Arc<Gauge>],
    start_ns: u64,
    say: &mut impl FnMut(Event),
) -> Result<Total, Failure> {
    let mut total = Total {
        record: Recorder::new(),
        lifetime: Counts::default(),
        threads_cpu_us: Vec::with_capacity(gauges.len()),
    };
    let mut told = (0, 0);
    while total.threads_cpu_us.len() < gauges.len() {
        match inbox.recv_timeout(PROGRESS_EVERY) {
            Ok(Report::Done(share)) => {
                total.record.merge(share.record);
                merge_counts(&mut total.lifetime, &share.lifetime);
                total.threads_cpu_us.push(seconds(share.cpu_ns) * 1e6);
            }
            Ok(Report::Failed(failure)) => return Err(failure),
            Ok(Report::Ready(_)) | Err(RecvTimeoutError::Disconnected) => return Err(died()),
            Err(RecvTimeoutError::Timeout) => {
                let sum = |read: fn(&Gauge) -> u64| gauges.iter().map(|gauge| read(gauge)).sum();
                let operations: u64 = sum(|gauge| gauge.operations.load(Ordering::Relaxed));
                let errors: u64 = sum(|gauge| gauge.errors.load(Ordering::Relaxed));
                say(Event::Interval(Interval {
                    elapsed_s: seconds(now_ns() - start_ns),
                    operations: operations - told.0,
                    errors: errors - told.1,
                }));
                told = (operations, errors);
            }
        }
    }
    Ok(total)
}

fn done(total: Total, start_ns: u64, cpu: CpuTime, overhead: Option<Overhead>) -> Done {
    let record = total.record;
    let (rounds_s, phase_wire) = (record.rounds_s(), record.phase_wire());
    Done {
        elapsed_s: seconds(record.last_answer_ns.saturating_sub(start_ns).max(1)),
        operations: record.operations,
        scheduled: record.scheduled,
        skipped: record.skipped,
        histograms_ns: record.encoded_histograms(),
        errors: record.error_counts(),
        window: record.counts,
        lifetime: total.lifetime,
        cpu,
        threads_cpu_us: total.threads_cpu_us,
        wire: Some(record.wire),
        row_samples: record.row_samples,
        overhead,
        reported_s: BTreeMap::new(),
        rounds_s,
        phase_wire,
    }
}
