//! What all threads draw from and what can be used up: operations that may be started, and numbers
//! in sequence.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// The numbers of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: i64,
    /// The last.
    pub last: i64,
}

/// What one operation takes of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Of the sequence with this number.
    pub sequence: usize,
    /// N numbers in a row.
    pub count: u32,
}

#[derive(Debug)]
struct Sequence {
    next: AtomicI64,
    last: i64,
}

/// Operations and numbers that are left.
#[derive(Debug)]
pub struct Supply {
    operations: Option<AtomicU64>,
    sequences: Vec<Sequence>,
    is_used_up: AtomicBool,
}

impl Supply {
    /// N measured operations, where there is a limit, and these sequences.
    pub fn new(operations: Option<u64>, spans: &[Span]) -> Self {
        let sequences = spans.iter().map(|span| Sequence {
            next: AtomicI64::new(span.first),
            last: span.last,
        });
        Self {
            operations: operations.map(AtomicU64::new),
            sequences: sequences.collect(),
            is_used_up: AtomicBool::new(false),
        }
    }

    /// As much as is asked for, of as many sequences.
    pub fn endless(spans: &[Span]) -> Self {
        let endless = |span: &Span| Span {
            last: i64::MAX,
            ..*span
        };
        Self::new(None, &spans.iter().map(endless).collect::<Vec<_>>())
    }

    /// From now on there are N measured operations.
    pub fn limit(&mut self, operations: u64) {
        self.operations = Some(AtomicU64::new(operations));
        self.is_used_up = AtomicBool::new(false);
    }

    /// Takes what one operation needs: the operation itself, if it is `measured`, and its numbers,
    /// the first of each reservation being put into `firsts`. False when something is used up.
    #[inline]
    pub fn take(&self, measured: bool, wanted: &[Reservation], firsts: &mut Vec<i64>) -> bool {
        let enough = !self.is_used_up()
            && (!measured || self.take_operation())
            && wanted.iter().all(|wanted| {
                let first = self.sequences[wanted.sequence].take(wanted.count);
                firsts.extend(first);
                first.is_some()
            });
        if !enough {
            self.is_used_up.store(true, Ordering::Relaxed);
        }
        enough
    }

    /// Whether an operation could not be started because something is used up: then none is any more.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.is_used_up.load(Ordering::Relaxed)
    }

    #[inline]
    fn take_operation(&self) -> bool {
        let one_less = |left: u64| left.checked_sub(1);
        self.operations.as_ref().is_none_or(|left| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                .is_ok()
        })
    }
}

impl Sequence {
    /// The first of N numbers in a row, unless they reach beyond the last.
    fn take(&self, count: u32) -> Option<i64> {
        let after = |next: i64| {
            let last = next.checked_add(i64::from(count))?;
            (last - 1 <= self.last).then_some(last)
        };
        let relaxed = Ordering::Relaxed;
        self.next.fetch_update(relaxed, relaxed, after).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { first: 5, last: 14 };

    #[test]
    fn every_number_is_given_once_and_none_beyond_the_last() {
        let supply = Supply::new(None, &[SPAN]);
        let wanted = [Reservation {
            sequence: 0,
            count: 3,
        }];
        let mut firsts = Vec::new();
        std::thread::scope(|threads| {
            let taking = || {
                let mut mine = Vec::new();
                while supply.take(true, &wanted, &mut mine) {}
                mine
            };
            let both = [threads.spawn(taking), threads.spawn(taking)];
            firsts.extend(both.into_iter().flat_map(|thread| thread.join().unwrap()));
        });
        firsts.sort_unstable();
        assert_eq!(firsts, [5, 8, 11]);
        assert!(supply.is_used_up());
    }

    #[test]
    fn only_measured_operations_count() {
        let supply = Supply::new(Some(2), &[]);
        let take = |measured| supply.take(measured, &[], &mut Vec::new());
        assert!(take(false) && take(true) && take(false) && take(true));
        assert!(!supply.is_used_up());
        assert!(!take(true));
        assert!(!take(false), "nothing is started after the end");
    }

    #[test]
    fn an_endless_supply_has_no_last_number() {
        let supply = Supply::endless(&[SPAN]);
        let wanted = [Reservation {
            sequence: 0,
            count: u32::MAX,
        }];
        let mut firsts = Vec::new();
        assert!((0..100).all(|_| supply.take(true, &wanted, &mut firsts)));
    }
}
