//! All connections of a job: opened and proved, warmed up, and set to work for one slice after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::crew::Crew;
use crate::driver::Driver;
use crate::event::{self, Counts, Done, Event, Negotiated, RowSample, Slice, TlsView, WarmupSlice};
use crate::failure::Failure;
use crate::job::Job;
use crate::machine::{Moment, cpu_time};
use crate::recorder::Recorder;
use crate::steady::is_steady;
use crate::supply::Supply;
use crate::template::{Program, compile};
use crate::window::{Tally, Window};
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

    fn tally(&self) -> Tally {
        Tally {
            started: self.sum(|counters| &counters.started),
            operations: self.operations(),
            opened: self.opened(),
            latency_ns: self.sum(|counters| &counters.latency_ns),
        }
    }

    /// Ends the job when nothing is answered for `timeout_s`. The driver is told no time limit: what it has of
    /// its own is its default.
    pub async fn watch(&self) -> Infallible {
        let patience = Duration::from_secs_f64(self.job.timeout_s);
        let (mut last, mut since) = (None, Instant::now());
        loop {
            sleep((patience / 8).max(Duration::from_millis(1))).await;
            let answers = self.sum(|counters| &counters.answers);
            let now = Some(answers + self.opened() + self.failures());
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                let words = format!("the server said nothing for {} s", self.job.timeout_s);
                event::end(&Failure::new("timeout", words));
            }
        }
    }

    /// Says once a second what was finished since it last did; `before` is what all earlier slices took.
    async fn report(&self, before: Duration) -> Infallible {
        let began = Instant::now();
        let (mut operations, mut failures) = (self.operations(), self.failures());
        loop {
            sleep(Duration::from_secs(1)).await;
            let now = (self.operations(), self.failures());
            event::say(&Event::Interval {
                elapsed_s: (before + began.elapsed()).as_secs_f64(),
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
    window: Window,
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
            window: Window::default(),
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
        let mut crew = Crew::muster(self.workers.drain(..).collect());
        shared.supply.start();
        crew.release(None);
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
        crew.finished().await;
        self.workers = crew.dismiss().await;
        for worker in &mut self.workers {
            worker.recorder = Recorder::default();
        }
        let steady = (!within.is_zero()).then(|| is_steady(&slices));
        (slices, steady)
    }

    /// Sets all workers before the gate. From now on nothing of this program runs but in a slice.
    pub fn muster(&mut self) -> Crew<D> {
        self.shared.supply.limit(self.shared.job.operations);
        Crew::muster(self.workers.drain(..).collect())
    }

    /// What is started within this length is finished, and what was done is counted.
    pub async fn slice(&mut self, crew: &mut Crew<D>, length: Duration) -> Slice {
        let (shared, passed) = (Arc::clone(&self.shared), self.window.elapsed);
        let begin = (Moment::now(), shared.tally());
        shared.supply.start();
        crew.release(Some(begin.0.at + length));
        let ended = tokio::select! {
            biased;
            ended = crew.finished() => ended,
            never = shared.watch() => match never {},
            never = shared.report(passed) => match never {},
        };
        self.window.add(length, begin, (ended, shared.tally()))
    }

    /// Whether there was a slice.
    pub fn has_worked(&self) -> bool {
        self.window.slices > 0
    }

    /// The result of all slices.
    pub async fn result(&mut self, crew: Crew<D>) -> Done {
        self.workers = crew.dismiss().await;
        let mut recorder = Recorder::default();
        for worker in &self.workers {
            recorder.add(&worker.recorder);
        }
        let Window {
            elapsed, cpu, done, ..
        } = self.window;
        Done {
            elapsed_s: elapsed.as_secs_f64(),
            operations: done.operations,
            scheduled: done.started,
            skipped: 0,
            window: Counts::of(done.opened),
            lifetime: Counts::of(self.shared.opened()),
            histograms_ns: recorder.encoded(),
            cpu,
            wire: None,
            errors: recorder.counted(),
            row_samples: self.samples.clone(),
        }
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
