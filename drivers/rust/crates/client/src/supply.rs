//! What the connections of a job share: numbers in sequence, and how many operations may still be started.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Numbers that are each given once.
#[derive(Debug)]
pub struct Sequence {
    next: i64,
    last: i64,
    per_operation: i64,
}

impl Sequence {
    /// From `first` to `last`; an operation takes `per_operation` of them.
    pub fn new(first: i64, last: i64, per_operation: u32) -> Self {
        Self {
            next: first,
            last,
            per_operation: per_operation.into(),
        }
    }
}

#[derive(Debug)]
struct Stock {
    sequences: Vec<Sequence>,
    left: Option<u64>,
}

/// Says whether one more operation may be started.
#[derive(Debug)]
pub struct Supply {
    stock: Mutex<Stock>,
    stopped: AtomicBool,
    limited: AtomicBool,
    sequential: bool,
}

impl Supply {
    /// None may be started yet.
    pub fn new(sequences: Vec<Sequence>) -> Self {
        Self {
            sequential: !sequences.is_empty(),
            stock: Mutex::new(Stock {
                sequences,
                left: None,
            }),
            stopped: AtomicBool::new(true),
            limited: AtomicBool::new(false),
        }
    }

    /// Lets no more than N operations be started from now on; `None` sets no limit.
    pub fn limit(&self, operations: Option<u64>) {
        self.stock.lock().expect("no holder panics").left = operations;
        self.limited.store(operations.is_some(), Relaxed);
    }

    /// Lets operations be started.
    pub fn start(&self) {
        self.stopped.store(false, Relaxed);
    }

    /// Lets no more operations be started.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether none may be started any more.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Starts one: puts the first of its numbers of each sequence into `numbers`. False where none may be.
    pub fn reserve(&self, numbers: &mut Vec<i64>) -> bool {
        if self.is_stopped() {
            return false;
        }
        if !self.sequential && !self.limited.load(Relaxed) {
            return true;
        }
        let stock = &mut *self.stock.lock().expect("no holder panics");
        let has_enough = |one: &Sequence| one.next + one.per_operation - 1 <= one.last;
        if stock.left == Some(0) || !stock.sequences.iter().all(has_enough) {
            self.stop();
            return false;
        }
        stock.left = stock.left.map(|left| left - 1);
        numbers.clear();
        for one in &mut stock.sequences {
            numbers.push(one.next);
            one.next += one.per_operation;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once_and_run_out() {
        let (supply, mut numbers) = (Supply::new(vec![Sequence::new(1, 5, 2)]), Vec::new());
        assert!(!supply.reserve(&mut numbers));
        supply.start();
        for first in [1, 3] {
            assert!(supply.reserve(&mut numbers));
            assert_eq!(numbers, [first]);
        }
        assert!(!supply.reserve(&mut numbers));
        assert!(supply.is_stopped());
    }

    #[test]
    fn no_more_operations_than_asked_for() {
        let supply = Supply::new(Vec::new());
        supply.limit(Some(2));
        let started = || {
            supply.start();
            (0..5).filter(|_| supply.reserve(&mut Vec::new())).count()
        };
        assert_eq!((started(), started()), (2, 0));
    }
}
