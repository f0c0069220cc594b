//! A job from its first connection to its result: all threads set up, held, sent through slices as they
//! are ordered, and what they did put together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tlstax_client::clock::{CpuSpans, now_ns, process_cpu, seconds};
use tlstax_client::{Failure, pin};
use tlstax_contract::{
    Counts, Done, ErrorEvent, Event, Interval, Job, Negotiated, Order, Overhead, Ready, Slice,
};

use crate::fleet::{Report, Span, Task, Thread};
use crate::overhead;
use crate::proof;
use crate::recorder::{Recorder, merge_counts};
use crate::shared::Shared;
use crate::slice::SliceRecord;
use crate::worker::Gauge;

const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The threads of a job, which are ready, and what all slices so far came to.
struct Sitting {
    shared: Arc<Shared>,
    threads: Vec<Thread>,
    inbox: Receiver<Report>,
    gauges: Vec<Arc<Gauge>>,
    elapsed_ns: u64,
    cpu: CpuSpans,
    rounds_s: Vec<f64>,
}

/// Runs a job to its end.
///
/// `say` gets every event. `next_order` is asked when everything is ready and nothing is in flight,
/// and again after each slice; `wait_for_release` is called once, when the result has been reported. Until
/// then connections that are kept stay open, so that whoever reads the server's clocks at the result does
/// not count its work of closing them.
///
/// # Errors
/// What ended the job early.
pub fn run(
    job: &Job,
    shared: &Arc<Shared>,
    mut say: impl FnMut(Event),
    mut next_order: impl FnMut() -> Result<Order, Failure>,
    wait_for_release: impl FnOnce(),
) -> Result<(), Failure> {
    let overhead = own_cost(job);
    let mut sitting = Sitting::assemble(job, shared)?;
    say(Event::Ready(ready(job, shared, &sitting.inbox)?));
    while let Order::Slice(length_s) = next_order()? {
        let slice = sitting.slice(length_s, &mut say)?;
        say(Event::Slice(slice));
    }
    let (done, errors) = sitting.done(overhead)?;
    errors.into_iter().map(Event::Error).for_each(&mut say);
    say(Event::Done(Box::new(done)));
    wait_for_release();
    sitting.threads.into_iter().try_for_each(Thread::hang_up)
}

/// What the loop itself costs, measured where the first thread will run, before there is another.
fn own_cost(job: &Job) -> Option<Overhead> {
    if !job.measure_overhead {
        return None;
    }
    let job = job.clone();
    let measuring = thread::Builder::new()
        .name("overhead".into())
        .spawn(move || {
            pin(&job, 0).ok()?;
            overhead::measure(&job)
        });
    measuring.ok()?.join().ok().flatten()
}

/// Waits until every thread is ready; what they found.
fn ready(job: &Job, shared: &Shared, inbox: &Receiver<Report>) -> Result<Ready, Failure> {
    let mut negotiated: Vec<Negotiated> = Vec::new();
    let mut server_version = String::new();
    for _ in 0..job.threads {
        match inbox.recv().map_err(|_| Failure::ThreadDied)? {
            Report::Ready(set_up) => {
                server_version = set_up.server_version;
                for proof in set_up.proofs {
                    proof::add(&mut negotiated, proof);
                }
            }
            Report::Failed(failure) => return Err(failure),
            Report::Slice(..) | Report::Done(..) => return Err(Failure::ThreadDied),
        }
    }
    Ok(Ready {
        client: "tlstax-engine".into(),
        client_version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        server_version,
        tls_library: shared.access.tls_library(),
        negotiated,
        warmup: Vec::new(),
        steady: None,
    })
}

impl Sitting {
    /// Starts the threads.
    fn assemble(job: &Job, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let (reports, inbox) = channel();
        let gauges: Vec<Arc<Gauge>> = (0..job.threads).map(|_| Arc::default()).collect();
        let threads = gauges
            .iter()
            .enumerate()
            .map(|(number, gauge)| {
                Thread::spawn(job, shared, Arc::clone(gauge), number, reports.clone())
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            shared: Arc::clone(shared),
            threads,
            inbox,
            gauges,
            elapsed_ns: 0,
            cpu: CpuSpans::default(),
            rounds_s: Vec::new(),
        })
    }

    /// Has all threads work for a slice that begins now.
    fn slice(&mut self, length_s: f64, say: &mut impl FnMut(Event)) -> Result<Slice, Failure> {
        let cpu_before = process_cpu();
        let span = Span::new(now_ns(), length_s);
        if let Some(meter) = &self.shared.full_load {
            meter.begin(span.start_ns, span.end_ns);
        }
        for thread in &self.threads {
            thread.tell(Task::Slice(span))?;
        }
        let mut all = SliceRecord::default();
        let mut cpu_after = cpu_before;
        let mut reported = self.finished();
        let mut working = self.threads.len();
        while working > 0 {
            match self.inbox.recv_timeout(PROGRESS_EVERY) {
                Ok(Report::Slice(share)) => {
                    working -= 1;
                    all.merge(share.slice);
                    // The last one's reading, which leaves out what it takes to put them together.
                    if share.process_cpu.total_us > cpu_after.total_us {
                        cpu_after = share.process_cpu;
                    }
                }
                Ok(Report::Failed(failure)) => return Err(failure),
                Ok(Report::Ready(_) | Report::Done(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::ThreadDied);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let finished = self.finished();
                    say(Event::Interval(Interval {
                        elapsed_s: seconds(now_ns() - span.start_ns),
                        operations: finished.0 - reported.0,
                        errors: finished.1 - reported.1,
                    }));
                    reported = finished;
                }
            }
        }
        let elapsed_ns = all.elapsed_ns(span.start_ns, span.length_ns());
        self.elapsed_ns += elapsed_ns;
        let rounds_s = all.rounds_s();
        self.rounds_s.extend(&rounds_s);
        Ok(Slice {
            elapsed_s: seconds(elapsed_ns),
            operations: all.operations,
            latency_sum_s: seconds(all.latency_sum_ns),
            cpu_us: self.cpu.add(cpu_before, cpu_after),
            full_load: self
                .shared
                .full_load
                .as_ref()
                .and_then(|meter| meter.span(&all)),
            counts: all.counts,
            rounds_s,
        })
    }

    /// Operations finished and errors met so far, over all threads.
    fn finished(&self) -> (u64, u64) {
        let sum = |read: fn(&Gauge) -> u64| self.gauges.iter().map(|gauge| read(gauge)).sum();
        (
            sum(|gauge| gauge.operations.load(Ordering::Relaxed)),
            sum(|gauge| gauge.errors.load(Ordering::Relaxed)),
        )
    }

    /// Ends the slices: the result of all of them, and what went wrong in them, in words.
    fn done(&mut self, overhead: Option<Overhead>) -> Result<(Done, Vec<ErrorEvent>), Failure> {
        if self.elapsed_ns == 0 {
            return Err(Failure::NoSlice);
        }
        for thread in &self.threads {
            thread.tell(Task::End)?;
        }
        let mut record = Recorder::new();
        let mut lifetime = Counts::default();
        let mut threads_cpu_us = vec![0.0; self.threads.len()];
        for _ in &self.threads {
            match self.inbox.recv().map_err(|_| Failure::ThreadDied)? {
                Report::Done(one) => {
                    record.merge(one.recorder);
                    merge_counts(&mut lifetime, &one.lifetime);
                    threads_cpu_us[one.number] = seconds(one.cpu_ns) * 1e6;
                }
                Report::Failed(failure) => return Err(failure),
                Report::Ready(_) | Report::Slice(_) => return Err(Failure::ThreadDied),
            }
        }
        let phase_wire = record.phase_wire();
        let errors = record.error_events();
        let done = Done {
            elapsed_s: seconds(self.elapsed_ns),
            operations: record.operations,
            scheduled: record.scheduled,
            skipped: record.skipped,
            histograms_ns: record.encoded_histograms(),
            errors: record.error_counts(),
            window: record.counts,
            lifetime,
            cpu: self.cpu.sum(),
            threads_cpu_us,
            wire: Some(record.wire),
            compression: record.compression,
            row_samples: record.row_samples,
            overhead,
            reported_s: BTreeMap::new(),
            rounds_s: std::mem::take(&mut self.rounds_s),
            phase_wire,
        };
        Ok((done, errors))
    }
}
