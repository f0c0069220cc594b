//! Workers as tasks that stay: they are released together for one span of time after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::driver::Driver;
use crate::event;
use crate::failure::Failure;
use crate::machine::Moment;
use crate::worker::Worker;

/// Until when operations may be started; without an end, until the supply is stopped.
type Span = Option<Instant>;

/// How many are at work, and where the last one says when it had finished.
#[derive(Clone)]
struct Finish {
    working: Arc<AtomicUsize>,
    say: UnboundedSender<Moment>,
}

/// One worker's turn; it is over however the work ends.
struct Turn<'a>(&'a Finish);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.0.working.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.0.say.send(Moment::now());
        }
    }
}

/// All workers, each waiting at its gate.
pub struct Crew<D: Driver> {
    gates: Vec<UnboundedSender<Span>>,
    tasks: Vec<JoinHandle<Worker<D>>>,
    working: Arc<AtomicUsize>,
    finished: UnboundedReceiver<Moment>,
}

impl<D: Driver> Crew<D> {
    /// A task for each worker.
    pub fn muster(workers: Vec<Worker<D>>) -> Self {
        let (say, finished) = unbounded_channel();
        let working = Arc::new(AtomicUsize::new(0));
        let finish = Finish {
            working: Arc::clone(&working),
            say,
        };
        let serve = |worker| {
            let (gate, spans) = unbounded_channel();
            (gate, tokio::spawn(serve(worker, spans, finish.clone())))
        };
        let (gates, tasks) = workers.into_iter().map(serve).unzip();
        Self {
            gates,
            tasks,
            working,
            finished,
        }
    }

    /// Lets all work until then.
    pub fn release(&self, until: Span) {
        self.working.store(self.gates.len(), Ordering::Release);
        for gate in &self.gates {
            if gate.send(until).is_err() {
                event::end(&Failure::new(
                    "internal",
                    "a connection's task has broken off",
                ));
            }
        }
    }

    /// Waits until the last has finished; the clocks at that time.
    pub async fn finished(&mut self) -> Moment {
        match self.finished.recv().await {
            Some(moment) => moment,
            None => event::end(&Failure::new("internal", "all tasks have broken off")),
        }
    }

    /// The workers, when their tasks have ended.
    pub async fn dismiss(self) -> Vec<Worker<D>> {
        drop(self.gates);
        let mut workers = Vec::new();
        for task in self.tasks {
            match task.await {
                Ok(worker) => workers.push(worker),
                Err(error) => event::end(&Failure::new("internal", error.to_string())),
            }
        }
        workers
    }
}

async fn serve<D: Driver>(
    mut worker: Worker<D>,
    mut spans: UnboundedReceiver<Span>,
    finish: Finish,
) -> Worker<D> {
    while let Some(until) = spans.recv().await {
        let _turn = Turn(&finish);
        worker.work(until).await;
    }
    worker
}
