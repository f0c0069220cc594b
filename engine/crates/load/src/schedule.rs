//! When operations are due. Pure: it is told the time and never asks for it.

use fastrand::Rng;
use tlstax_contract::Arrivals;

/// Arrivals at a fixed rate, independent of how fast they are served (an open loop).
///
/// An operation that is due while every connection is busy keeps its due time, so that its latency
/// counts the wait; this is what avoids coordinated omission (Schroeder, Wierman, Harchol-Balter,
/// "Open Versus Closed: A Cautionary Tale", NSDI 2006).
#[derive(Debug)]
pub struct OpenSchedule {
    mean_gap_ns: f64,
    arrivals: Arrivals,
    next_due_ns: f64,
    end_ns: f64,
    rng: Rng,
}

impl OpenSchedule {
    /// Arrivals at `rate_per_s` from `start_ns` on, none at or after `end_ns`. Even ones begin after
    /// `phase` of a gap.
    #[allow(clippy::cast_precision_loss)]
    pub fn new(
        rate_per_s: f64,
        arrivals: Arrivals,
        phase: f64,
        (start_ns, end_ns): (u64, u64),
        rng: Rng,
    ) -> Self {
        let mut schedule = Self {
            mean_gap_ns: 1e9 / rate_per_s,
            arrivals,
            next_due_ns: start_ns as f64,
            end_ns: end_ns as f64,
            rng,
        };
        schedule.next_due_ns += match arrivals {
            Arrivals::Uniform => phase * schedule.mean_gap_ns,
            Arrivals::Poisson => schedule.gap_ns(),
        };
        schedule
    }

    fn gap_ns(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Uniform => self.mean_gap_ns,
            // Inverse transform of the exponential distribution; 1 - u is never 0.
            Arrivals::Poisson => -self.mean_gap_ns * (1.0 - self.rng.f64()).ln(),
        }
    }

    /// Nothing is due any more.
    pub fn end(&mut self) {
        self.end_ns = 0.0;
    }

    /// When the next operation is due; none when the schedule has ended.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn next_due_ns(&self) -> Option<u64> {
        (self.next_due_ns < self.end_ns).then_some(self.next_due_ns as u64)
    }

    /// Takes the next operation if it is due at `now_ns`, and says when it was due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_due_ns().filter(|due| *due <= now_ns)?;
        self.next_due_ns += self.gap_ns();
        Some(due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn uniform_arrivals_are_due_at_exact_times() {
        let mut schedule =
            OpenSchedule::new(4.0, Arrivals::Uniform, 1.0, (0, SECOND), Rng::with_seed(1));
        let due: Vec<_> = std::iter::from_fn(|| schedule.take_due(SECOND)).collect();
        assert_eq!(due, [250_000_000, 500_000_000, 750_000_000]);
    }

    #[test]
    fn nothing_is_taken_before_it_is_due_and_lateness_does_not_move_the_next() {
        let mut schedule =
            OpenSchedule::new(10.0, Arrivals::Uniform, 1.0, (0, SECOND), Rng::with_seed(1));
        assert_eq!(schedule.take_due(99_999_999), None);
        assert_eq!(schedule.take_due(350_000_000), Some(100_000_000));
        assert_eq!(schedule.take_due(350_000_000), Some(200_000_000));
        assert_eq!(schedule.take_due(350_000_000), Some(300_000_000));
        assert_eq!(schedule.take_due(350_000_000), None);
        assert_eq!(schedule.next_due_ns(), Some(400_000_000));
    }

    #[test]
    fn poisson_arrivals_keep_the_rate_and_the_spread_of_the_exponential() {
        let end = 200 * SECOND;
        let mut schedule =
            OpenSchedule::new(100.0, Arrivals::Poisson, 1.0, (0, end), Rng::with_seed(7));
        let due: Vec<f64> = std::iter::from_fn(|| schedule.take_due(end))
            .map(|t| f64::from(u32::try_from(t / 1000).unwrap()))
            .collect();
        let gaps: Vec<f64> = due.windows(2).map(|w| w[1] - w[0]).collect();
        let count = f64::from(u32::try_from(gaps.len()).unwrap());
        let mean = gaps.iter().sum::<f64>() / count;
        let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - 10_000.0).abs() < 300.0, "mean gap {mean} us");
        assert!(
            (sd / mean - 1.0).abs() < 0.05,
            "coefficient of variation {}",
            sd / mean
        );
    }
}
