//! One connection's work: operations one after the other, timed, on a connection that is kept or opened anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::driver::Driver;
use crate::event::RowSample;
use crate::failure::Failure;
use crate::fleet::Shared;
use crate::job::Protocol;
use crate::recorder::Recorder;
use crate::template::Template;

/// What others may read of a worker while it works.
#[derive(Debug, Default)]
pub struct Counters {
    pub opened: AtomicU64,
    pub started: AtomicU64,
    pub latency_ns: AtomicU64,
    pub answers: AtomicU64,
    pub operations: AtomicU64,
    pub failures: AtomicU64,
}

/// Has one connection.
pub struct Worker<D: Driver> {
    shared: Arc<Shared<D>>,
    counters: Arc<Counters>,
    random: Rng,
    numbers: Vec<i64>,
    pub connection: Option<D::Connection>,
    fresh: bool,
    pub recorder: Recorder,
}

impl<D: Driver> Worker<D> {
    /// The worker at a place among all; it has no connection yet.
    pub fn new(shared: Arc<Shared<D>>, place: usize) -> Self {
        let seed = shared.job.seed.wrapping_add((place as u64) << 32);
        Self {
            counters: Arc::clone(&shared.counters[place]),
            shared,
            random: Rng::with_seed(seed),
            numbers: Vec::new(),
            connection: None,
            fresh: false,
            recorder: Recorder::default(),
        }
    }

    /// Opens the connection and says what is said on connecting; gives back how long the driver's part took.
    pub async fn open(&mut self) -> Result<Duration, Failure> {
        let shared = Arc::clone(&self.shared);
        let began = Instant::now();
        let mut connection = shared.driver.open().await?;
        let took = began.elapsed();
        self.counters.opened.fetch_add(1, Relaxed);
        for sql in &shared.job.workload.on_connect {
            shared.driver.text(&mut connection, sql, false).await?;
        }
        (self.connection, self.fresh) = (Some(connection), true);
        Ok(took)
    }

    /// Hangs up.
    pub async fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shared.driver.close(connection).await;
        }
    }

    /// Does operations until then, or until no more may be started.
    pub async fn work(&mut self, until: Option<Instant>) {
        let shared = Arc::clone(&self.shared);
        while until.is_none_or(|until| Instant::now() < until)
            && shared.supply.reserve(&mut self.numbers)
        {
            self.counters.started.fetch_add(1, Relaxed);
            let began = Instant::now();
            match self.operation().await {
                Ok(()) => {
                    let ns = self.recorder.record("operation", began.elapsed());
                    self.counters.latency_ns.fetch_add(ns, Relaxed);
                    self.counters.operations.fetch_add(1, Relaxed);
                    shared.succeeded();
                }
                Err(failure) => {
                    let failure = failure.said_by(&shared.name);
                    if failure.loses_connection() || shared.job.workload.reconnect {
                        self.connection = None;
                    }
                    self.recorder.fail(&failure);
                    self.counters.failures.fetch_add(1, Relaxed);
                    shared.failed(&failure);
                }
            }
        }
    }

    /// All statements once. With reconnect, on a connection that is opened and closed for them.
    async fn operation(&mut self) -> Result<(), Failure> {
        let shared = Arc::clone(&self.shared);
        let reconnect = shared.job.workload.reconnect;
        if self.connection.is_none() {
            let took = self.open().await?;
            if reconnect {
                self.recorder.record("connect", took);
            }
        }
        for template in &shared.program.templates {
            for _ in 0..template.repeat {
                self.statement(template).await?;
            }
        }
        if reconnect {
            let began = Instant::now();
            self.close().await;
            self.recorder.record("close", began.elapsed());
        }
        Ok(())
    }

    /// Draws values, runs one statement, and times it until all that it answers is there.
    async fn statement(&mut self, template: &Template) -> Result<(), Failure> {
        let values = template.draw(&mut self.random, &mut self.numbers);
        let driver = &self.shared.driver;
        let connection = self
            .connection
            .as_mut()
            .expect("an operation has a connection");
        let began = Instant::now();
        match template.protocol {
            Protocol::Text => {
                let sql = template.render(&values);
                driver.text(connection, &sql, template.asks).await?;
            }
            Protocol::Prepared => {
                let (sql, bound) = (&template.preparable, template.bound(&values));
                driver
                    .prepared(connection, sql, bound, template.asks)
                    .await?;
            }
        }
        let took = began.elapsed();
        self.counters.answers.fetch_add(1, Relaxed);
        let phase = if self.fresh { "first_query" } else { "query" };
        self.recorder.record(phase, took);
        self.fresh = false;
        Ok(())
    }

    /// Statements as they are run, as text, and their rows, for the laboratory to check.
    pub async fn samples(&mut self, wanted: usize) -> Result<Vec<RowSample>, Failure> {
        let shared = Arc::clone(&self.shared);
        let mut samples = Vec::new();
        shared.supply.start();
        while samples.len() < wanted && shared.supply.reserve(&mut self.numbers) {
            for template in &shared.program.templates {
                if let Some(connection) =
                    self.connection.as_mut().filter(|_| samples.len() < wanted)
                {
                    let sql = template.render(&template.draw(&mut self.random, &mut self.numbers));
                    let rows = shared.driver.rows(connection, &sql).await?;
                    samples.push(RowSample { sql, rows });
                }
            }
        }
        shared.supply.stop();
        Ok(samples)
    }
}
