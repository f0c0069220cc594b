//! The threads of a job: each sets its connections up, warms them, and then works slice by slice, as it
//! is ordered.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use fastrand::Rng;
use tlstax_client::clock::{nanoseconds, now_ns, process_cpu, thread_cpu_ns};
use tlstax_client::{Failure, pin};
use tlstax_contract::{Counts, CpuTime, Job, Schedule};

use crate::dispatch::Stage;
use crate::lingering;
use crate::recorder::Recorder;
use crate::schedule::OpenSchedule;
use crate::shared::{Shared, share};
use crate::slice::SliceRecord;
use crate::worker::{Gauge, SetUp, Worker};

/// From one thread to the coordinator.
pub enum Report {
    /// Its connections are up, and warm.
    Ready(SetUp),
    /// What it did in a slice.
    Slice(Box<Share>),
    /// All that it wrote down.
    Done(Box<Record>),
    /// The job cannot go on.
    Failed(Failure),
}

/// One thread's part of a slice.
pub struct Share {
    /// What was done.
    pub slice: SliceRecord,
    /// The whole process's CPU time when the thread was done with it.
    pub process_cpu: CpuTime,
}

/// What one thread brings home.
pub struct Record {
    /// Which it is.
    pub number: usize,
    /// What it wrote down.
    pub recorder: Recorder,
    /// What it counted since its start.
    pub lifetime: Counts,
    /// CPU time of the thread in its slices.
    pub cpu_ns: u64,
}

/// What all threads are to do next.
#[derive(Debug, Clone, Copy)]
pub enum Task {
    /// To work for a slice.
    Slice(Span),
    /// To hand over what it wrote down, since there is no further slice.
    End,
}

/// When operations may start.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// From here on.
    pub start_ns: u64,
    /// Not from here on.
    pub end_ns: u64,
}

impl Span {
    /// `length_s` seconds from `start_ns` on.
    pub fn new(start_ns: u64, length_s: f64) -> Self {
        let end_ns = start_ns + nanoseconds(length_s);
        Self { start_ns, end_ns }
    }

    /// How long it is.
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// A thread, and where its tasks are sent; it hangs up when that end is dropped.
pub struct Thread {
    tasks: Sender<Task>,
    handle: JoinHandle<()>,
}

impl Thread {
    /// Starts a thread; it reports when it is ready, and then waits for its tasks.
    ///
    /// # Errors
    /// The machine allows no other.
    pub fn spawn(
        job: &Job,
        shared: &Arc<Shared>,
        gauge: Arc<Gauge>,
        number: usize,
        reports: Sender<Report>,
    ) -> Result<Self, Failure> {
        let (tasks, inbox) = channel();
        let (job, shared) = (job.clone(), Arc::clone(shared));
        let handle = thread::Builder::new()
            .name(format!("load-{number}"))
            .spawn(move || {
                if let Err(failure) = serve(&job, shared, gauge, number, &inbox, &reports) {
                    // Nobody listens any more when the job was ended meanwhile.
                    let _ = reports.send(Report::Failed(failure));
                }
            })
            .map_err(Failure::NoThread)?;
        Ok(Self { tasks, handle })
    }

    /// Sends it its next task.
    ///
    /// # Errors
    /// The thread died.
    pub fn tell(&self, task: Task) -> Result<(), Failure> {
        self.tasks.send(task).map_err(|_| Failure::ThreadDied)
    }

    /// Has it hang up its connections, and waits until it has.
    ///
    /// # Errors
    /// The thread died.
    pub fn hang_up(self) -> Result<(), Failure> {
        drop(self.tasks);
        self.handle.join().map_err(|_| Failure::ThreadDied)
    }
}

/// One thread's work, reported on the way; it ends early when the job was ended before it.
fn serve(
    job: &Job,
    shared: Arc<Shared>,
    gauge: Arc<Gauge>,
    number: usize,
    tasks: &Receiver<Task>,
    reports: &Sender<Report>,
) -> Result<(), Failure> {
    pin(job, number)?;
    // Sleeps end when they should, not up to 50 µs later (prctl(2), PR_SET_TIMERSLACK); a kernel that
    // refuses still sleeps.
    let _ = nix::sys::prctl::set_timerslack(1);
    let (mut worker, set_up) = warmed_up(job, shared, gauge, number)?;
    if reports.send(Report::Ready(set_up)).is_err() {
        return Ok(());
    }
    let (mut slices, mut rounds_left, mut cpu_ns) = (0, job.rounds, 0);
    while let Ok(Task::Slice(span)) = tasks.recv() {
        slices += 1;
        // Work that is late gets as long again as the slice: left out, it would be missing where the
        // latencies are highest.
        let stage = Stage {
            end_ns: span.end_ns,
            give_up_ns: span.end_ns + span.length_ns(),
        };
        let cpu_before_ns = thread_cpu_ns();
        worker.work(stage, schedule(job, span, number, slices), rounds_left)?;
        let slice = worker.take_slice();
        let rounds = u32::try_from(slice.rounds.len()).unwrap_or(u32::MAX);
        rounds_left = rounds_left.saturating_sub(rounds);
        cpu_ns += thread_cpu_ns() - cpu_before_ns;
        let process_cpu = process_cpu();
        worker.see_off(lingering::LONGEST_NS)?;
        let share = Box::new(Share { slice, process_cpu });
        if reports.send(Report::Slice(share)).is_err() {
            return Ok(());
        }
    }
    let (recorder, lifetime) = worker.take_record();
    let record = Record {
        number,
        recorder,
        lifetime,
        cpu_ns,
    };
    if reports.send(Report::Done(Box::new(record))).is_ok() {
        // There is no further task; they end when it is time to hang up.
        let _ = tasks.recv();
    }
    worker.hang_up();
    Ok(())
}

/// A worker for this thread's share of the connections, which are up and warm, and what it found.
fn warmed_up(
    job: &Job,
    shared: Arc<Shared>,
    gauge: Arc<Gauge>,
    number: usize,
) -> Result<(Worker, SetUp), Failure> {
    let samples = (job.row_samples as usize).div_ceil(job.threads as usize);
    let count = share(job.connections, job.threads, number);
    let mut worker = Worker::new(shared, gauge, count, number, job.seed, samples)?;
    let set_up = worker.set_up()?;
    let span = Span::new(now_ns(), job.warmup_s);
    let stage = Stage {
        end_ns: span.end_ns,
        give_up_ns: span.end_ns,
    };
    worker.work(stage, schedule(job, span, number, 0), u32::MAX)?;
    worker.see_off(lingering::LONGEST_NS)?;
    worker.start_afresh(samples);
    Ok((worker, set_up))
}

/// This thread's part of a stage's arrivals, other ones in each stage; none in a closed loop.
fn schedule(job: &Job, span: Span, number: usize, stage: u64) -> Option<OpenSchedule> {
    let Schedule::Open {
        rate_per_s,
        arrivals,
    } = job.schedule
    else {
        return None;
    };
    // An odd factor, so that no two stages have the same seed.
    let seed = job.seed ^ stage.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let threads = f64::from(job.threads);
    // Threads take turns, so that arrivals are even over all of them. Where in a gap a stage begins is
    // drawn, alike in all of them: many short stages then have as many arrivals as one long one.
    let turn = f64::from(u32::try_from(number).unwrap_or(0));
    let phase = (turn + Rng::with_seed(seed).f64()) / threads;
    Some(OpenSchedule::new(
        rate_per_s / threads,
        arrivals,
        phase,
        (span.start_ns, span.end_ns),
        Rng::with_seed(seed ^ ((number as u64) << 32)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Due times of all threads in a slice of 5 ms.
    fn due(arrivals: &str, threads: usize, stage: u64) -> Vec<u64> {
        let text = format!(
            r#"{{"schema": 2, "endpoint": {{"kind": "unix", "path": "/nowhere"}},
                "account": {{"user": "u", "password": "p"}}, "tls": {{"mode": "off"}},
                "workload": {{"statements": [{{"sql": "SELECT 1"}}]}},
                "schedule": {{"mode": "open", "rate_per_s": 900, "arrivals": "{arrivals}"}},
                "connections": 40, "threads": {threads}, "duration_s": 1, "seed": 1}}"#
        );
        let job = Job::from_json(&text).unwrap();
        let span = Span {
            start_ns: 1000 * MS,
            end_ns: 1005 * MS,
        };
        let mut all = Vec::new();
        for number in 0..threads {
            let mut schedule = schedule(&job, span, number, stage).unwrap();
            all.extend(std::iter::from_fn(|| schedule.take_due(u64::MAX)));
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn each_slice_has_arrivals_of_its_own_and_all_together_keep_the_rate() {
        for (arrivals, deviation) in [("uniform", 0.01), ("poisson", 0.05)] {
            for threads in [1, 3] {
                let slices: Vec<_> = (1..=1000)
                    .map(|stage| due(arrivals, threads, stage))
                    .collect();
                let mut different = slices.clone();
                different.sort_unstable();
                different.dedup();
                assert!(different.len() > 950, "{} of 1000", different.len());
                let count: usize = slices.iter().map(Vec::len).sum();
                let share = f64::from(u32::try_from(count).unwrap()) / (900.0 * 5.0);
                assert!((share - 1.0).abs() < deviation, "{arrivals}: {share}");
            }
        }
    }

    #[test]
    fn even_arrivals_are_even_over_all_threads() {
        for stage in 1..100 {
            let due = due("uniform", 3, stage);
            for pair in due.windows(2) {
                assert!((pair[1] - pair[0]).abs_diff(1_111_111) < 100, "{due:?}");
            }
        }
    }
}
