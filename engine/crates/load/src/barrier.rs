//! Where the threads of a storm wait for each other, so that its rounds begin and end together.

use std::sync::atomic::{AtomicU64, Ordering};

/// A place that nobody leaves before all have come.
#[derive(Debug)]
pub struct Barrier {
    inner: std::sync::Barrier,
    last_over: AtomicU64,
}

impl Barrier {
    /// For N threads.
    pub fn of(threads: u32) -> Self {
        Self {
            inner: std::sync::Barrier::new(threads as usize),
            last_over: AtomicU64::new(0),
        }
    }

    /// Waits until all threads have come.
    pub fn wait(&self) {
        self.inner.wait();
    }

    /// Says that there is to be no further round in this stage, before coming to where the next would
    /// begin. Stages are numbered from 1 on, alike in all threads.
    pub fn end(&self, stage: u64) {
        self.last_over.store(stage, Ordering::Relaxed);
    }

    /// Whether anybody has said so; the same for all who ask after the same [`Barrier::wait`], since
    /// nobody says so again before the next, nor begins the next stage before all have ended this one.
    pub fn is_over(&self, stage: u64) -> bool {
        self.last_over.load(Ordering::Relaxed) == stage
    }
}
