//! All connections of a job: opened and proved, warmed up, and set to work for the window.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::driver::Driver;
use crate::event::{self, Counts, Done, Event, Negotiated, RowSample, TlsView, WarmupSlice};
use crate::failure::Failure;
use crate::job::Job;
use crate::machine::cpu_time;
use crate::recorder::Recorder;
use crate::steady::is_steady;
use crate::supply::Supply;
use crate::template::{Program, compile};
use crate::worker::{Counters, Worker};

const SLICE: Duration = Duration::from_millis(100);
const FAILURES_IN_A_ROW: u64 = 100;

/// What all workers share.
pub struct Shared<D: Driver> {
    pub job: Job,
    pub driver: D,
    pub name: String,
    pub program: Program,
    pub supply: Supply,
    pub counters: Vec<Arc<Counters>>,
    /// Whether the server ought to answer something.
    pub busy: AtomicBool,
    in_a_row: AtomicU64,
    told: Mutex<BTreeSet<(&'static str, Option<i32>)>>,
}

impl<D: Driver> Shared<D> {
    /// After an operation that was well.
    pub fn succeeded(&self) {
        if self.in_a_row.load(Relaxed) != 0 {
            self.in_a_row.store(0, Relaxed);
        }
    }

    /// Tells a failure the first time that it is met; a hundred in a row end the job.
    pub fn failed(&self, failure: &Failure) {
        if self.in_a_row.fetch_add(1, Relaxed) + 1 >= FAILURES_IN_A_ROW {
            event::end(failure);
        }
        let key = (failure.kind, failure.code);
        if self.told.lock().expect("no holder panics").insert(key) {
            event::tell(failure, false);
        }
    }

    fn sum(&self, of: impl Fn(&Counters) -> &AtomicU64) -> u64 {
        let each = self.counters.iter();
        each.map(|counters| of(counters).load(Relaxed)).sum()
    }

    fn opened(&self) -> u64 {
        self.sum(|counters| &counters.opened)
    }

    fn operations(&self) -> u64 {
        self.sum(|counters| &counters.operations)
    }

    fn failures(&self) -> u64 {
        self.sum(|counters| &counters.failures)
    }

    /// Ends the job when nothing was answered for `timeout_s` while something should have been. The driver is
    /// told no time limit: what it has of its own is its default.
    pub async fn watch(self: Arc<Self>) {
        let patience = Duration::from_secs_f64(self.job.timeout_s);
        let (mut last, mut since) = (None, Instant::now());
        loop {
            sleep((patience / 8).max(Duration::from_millis(1))).await;
            let answers = self.sum(|counters| &counters.answers);
            let now = Some(answers + self.opened() + self.failures());
            if now != last || !self.busy.load(Relaxed) {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                let words = format!("the server said nothing for {} s", self.job.timeout_s);
                event::end(&Failure::new("timeout", words));
            }
        }
    }

    /// Says once a second what was finished since it last did.
    async fn tell(self: Arc<Self>, began: Instant) {
        let (mut operations, mut failures) = (self.operations(), self.failures());
        loop {
            sleep(Duration::from_secs(1)).await;
            let now = (self.operations(), self.failures());
            event::say(&Event::Interval {
                elapsed_s: began.elapsed().as_secs_f64(),
                operations: now.0 - operations,
                errors: now.1 - failures,
            });
            (operations, failures) = now;
        }
    }
}

/// The workers, at rest.
pub struct Fleet<D: Driver> {
    pub shared: Arc<Shared<D>>,
    workers: Vec<Worker<D>>,
    samples: Vec<RowSample>,
    pub version: String,
}

impl<D: Driver> Fleet<D> {
    /// Workers without connections. A mistake in a statement is a `bad_job`.
    pub fn new(job: Job, driver: D, name: String) -> Result<Self, Failure> {
        let (program, sequences) = compile(&job.workload)?;
        let counters = (0..job.connections).map(|_| Arc::default()).collect();
        let shared = Arc::new(Shared {
            job,
            driver,
            name,
            program,
            supply: Supply::new(sequences),
            counters,
            busy: AtomicBool::new(true),
            in_a_row: AtomicU64::new(0),
            told: Mutex::default(),
        });
        let workers = (0..shared.job.connections)
            .map(|place| Worker::new(Arc::clone(&shared), place))
            .collect();
        Ok(Self {
            shared,
            workers,
            samples: Vec::new(),
            version: String::new(),
        })
    }

    /// Opens each worker's connection and asks on it what was negotiated; with reconnect, closes them again.
    pub async fn open(&mut self) -> Result<Vec<Negotiated>, Failure> {
        let shared = Arc::clone(&self.shared);
        let mut groups: Vec<Negotiated> = Vec::new();
        for worker in &mut self.workers {
            worker.open().await?;
            let connection = worker.connection.as_mut().expect("it was opened");
            if self.version.is_empty() {
                let rows = shared.driver.rows(connection, "SELECT VERSION()").await?;
                self.version = rows.into_iter().flatten().flatten().collect();
            }
            let status = "SHOW SESSION STATUS LIKE 'Ssl%'";
            let rows = shared.driver.rows(connection, status).await?;
            let server = view(rows, self.version.contains("MariaDB"));
            match groups.iter_mut().find(|group| group.server == server) {
                Some(group) => group.connections += 1,
                None => groups.push(Negotiated {
                    connections: 1,
                    client: None,
                    server,
                    client_tells: false,
                }),
            }
        }
        if shared.program.selects {
            self.samples = self.workers[0].samples(shared.job.row_samples).await?;
        }
        if shared.job.workload.reconnect {
            self.close().await;
        }
        Ok(groups)
    }

    /// Works for `warmup_s`, or in slices until steady, `steady_within_s` at most. Then nothing is in flight.
    pub async fn warm_up(&mut self) -> (Vec<WarmupSlice>, Option<bool>) {
        let shared = Arc::clone(&self.shared);
        let within = Duration::from_secs_f64(shared.job.terms.steady_within_s.max(0.0));
        let alone = Duration::from_secs_f64(shared.job.warmup_s);
        if within.is_zero() && alone.is_zero() {
            return (Vec::new(), None);
        }
        let working = self.start(None);
        let mut slices = Vec::new();
        if within.is_zero() {
            sleep(alone).await;
        }
        let began = Instant::now();
        let (mut operations, mut cpu) = (shared.operations(), cpu_time());
        while began.elapsed() < within && !is_steady(&slices) && !shared.supply.is_stopped() {
            sleep(SLICE).await;
            let now = (shared.operations(), cpu_time());
            slices.push(WarmupSlice {
                elapsed_s: began.elapsed().as_secs_f64(),
                operations: now.0 - operations,
                cpu_us: now.1.since(cpu).total_us,
            });
            (operations, cpu) = now;
        }
        shared.supply.stop();
        self.gather(working).await;
        let steady = (!within.is_zero()).then(|| is_steady(&slices));
        (slices, steady)
    }

    /// The window's work, and its result.
    pub async fn measure(&mut self) -> Done {
        let shared = Arc::clone(&self.shared);
        let (opened, operations) = (shared.opened(), shared.operations());
        let (cpu, began) = (cpu_time(), Instant::now());
        let working = self.start(shared.job.operations);
        let telling = tokio::spawn(Arc::clone(&shared).tell(began));
        let ending = Arc::clone(&shared);
        let alarm = tokio::spawn(async move {
            sleep(Duration::from_secs_f64(ending.job.duration_s)).await;
            ending.supply.stop();
        });
        let recorder = self.gather(working).await;
        let (elapsed, used) = (began.elapsed(), cpu_time().since(cpu));
        alarm.abort();
        telling.abort();
        Done {
            elapsed_s: elapsed.as_secs_f64(),
            operations: shared.operations() - operations,
            scheduled: recorder.started,
            skipped: 0,
            window: Counts::of(shared.opened() - opened),
            lifetime: Counts::of(shared.opened()),
            histograms_ns: recorder.encoded(),
            cpu: used,
            wire: None,
            errors: recorder.counted(),
            row_samples: self.samples.clone(),
        }
    }

    /// Sets all workers to work, each a task.
    fn start(&mut self, operations: Option<u64>) -> Vec<JoinHandle<Worker<D>>> {
        self.shared.supply.start(operations);
        let workers = self.workers.drain(..);
        workers.map(|worker| tokio::spawn(worker.work())).collect()
    }

    /// Waits until all have come back, and takes their notes.
    async fn gather(&mut self, working: Vec<JoinHandle<Worker<D>>>) -> Recorder {
        let mut notes = Recorder::default();
        for task in working {
            let mut worker = match task.await {
                Ok(worker) => worker,
                Err(error) => event::end(&Failure::new("internal", error.to_string())),
            };
            notes.add(&std::mem::take(&mut worker.recorder));
            self.workers.push(worker);
        }
        notes
    }

    /// Closes all connections.
    pub async fn close(&mut self) {
        for worker in &mut self.workers {
            worker.close().await;
        }
    }
}

/// What the server's status says of TLS; `None` in the clear. MariaDB does not tell what was resumed.
fn view(rows: Vec<Vec<Option<String>>>, mariadb: bool) -> Option<TlsView> {
    let status: BTreeMap<String, String> = rows
        .into_iter()
        .filter_map(|row| <[Option<String>; 2]>::try_from(row).ok())
        .filter_map(|[name, value]| name.zip(value))
        .collect();
    let word = |name: &str| status.get(name).cloned().unwrap_or_default();
    (!word("Ssl_cipher").is_empty()).then(|| TlsView {
        version: word("Ssl_version"),
        cipher: word("Ssl_cipher"),
        resumed: (!mariadb).then(|| !matches!(word("Ssl_sessions_reused").as_str(), "" | "0")),
        group: None,
        hello_retry: None,
        certificate_key: None,
        certificate_sha256: None,
    })
}
