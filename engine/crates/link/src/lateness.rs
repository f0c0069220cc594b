//! How late packets were handed over, against the time at which they were due: the link's own accuracy.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Later than this is counted as this.
const LONGEST_NS: u64 = 10_000_000_000;

/// Lateness since it was asked last.
#[derive(Debug)]
pub struct Lateness {
    histogram_ns: Histogram<u64>,
}

/// The same in figures, in microseconds; zero where no packet was carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessUs {
    /// Half of the packets were later.
    pub p50: f64,
    /// One in a hundred was later.
    pub p99: f64,
    /// The latest.
    pub max: f64,
}

impl Lateness {
    /// Nothing seen yet.
    pub fn new() -> Result<Self, String> {
        Histogram::new_with_bounds(1, LONGEST_NS, 3)
            .map(|histogram_ns| Self { histogram_ns })
            .map_err(|error| error.to_string())
    }

    /// A packet that was due at `due_ns` was handed over at `now_ns`.
    pub fn note(&mut self, due_ns: u64, now_ns: u64) {
        self.histogram_ns
            .saturating_record(now_ns.saturating_sub(due_ns));
    }

    /// What was seen since this was asked last.
    #[allow(clippy::cast_precision_loss)]
    pub fn take(&mut self) -> LatenessUs {
        let us = |ns: u64| ns as f64 / 1e3;
        let seen = LatenessUs {
            p50: us(self.histogram_ns.value_at_quantile(0.5)),
            p99: us(self.histogram_ns.value_at_quantile(0.99)),
            max: us(self.histogram_ns.max()),
        };
        self.histogram_ns.reset();
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_came_since() {
        let mut lateness = Lateness::new().unwrap();
        (1..=100_u64).for_each(|us| lateness.note(5_000, 5_000 + us * 1_000));
        let seen = lateness.take();
        assert!((seen.p50 - 50.0).abs() < 0.1, "{seen:?}");
        assert!((seen.p99 - 99.0).abs() < 0.1, "{seen:?}");
        assert!((seen.max - 100.0).abs() < 0.1, "{seen:?}");
        assert!(lateness.take().max.abs() < f64::EPSILON);
    }
}
