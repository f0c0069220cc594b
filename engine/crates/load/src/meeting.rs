//! Where the threads of a storm wait for each other, so that its rounds begin and end together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

/// A place that nobody leaves before all have come.
#[derive(Debug)]
pub struct Meeting {
    barrier: Barrier,
    warm_up_is_over: AtomicBool,
    is_over: AtomicBool,
}

impl Meeting {
    /// For so many threads.
    pub fn of(threads: u32) -> Self {
        Self {
            barrier: Barrier::new(threads as usize),
            warm_up_is_over: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have come.
    pub fn wait(&self) {
        self.barrier.wait();
    }

    /// Says that there is to be no further round, before coming to where the next would begin.
    pub fn end(&self, measured: bool) {
        self.flag(measured).store(true, Ordering::Relaxed);
    }

    /// Whether anybody has said so; the same for all who ask after the same [`Meeting::wait`], since
    /// nobody says so again before the next.
    pub fn is_over(&self, measured: bool) -> bool {
        self.flag(measured).load(Ordering::Relaxed)
    }

    fn flag(&self, measured: bool) -> &AtomicBool {
        if measured {
            &self.is_over
        } else {
            &self.warm_up_is_over
        }
    }
}
