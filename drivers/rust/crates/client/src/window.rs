//! The window: what was done in each slice, and in all of them together.

use std::time::Duration;

use crate::event::{Counts, Slice};
use crate::machine::{CpuTime, Moment};

/// What a fleet has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub started: u64,
    pub operations: u64,
    pub opened: u64,
    pub latency_ns: u64,
}

impl Tally {
    fn since(self, before: Self) -> Self {
        Self {
            started: self.started - before.started,
            operations: self.operations - before.operations,
            opened: self.opened - before.opened,
            latency_ns: self.latency_ns - before.latency_ns,
        }
    }
}

/// The sums over all slices; what lies between two of them counts nowhere.
#[derive(Debug, Default)]
pub struct Window {
    pub elapsed: Duration,
    pub cpu: CpuTime,
    pub done: Tally,
    pub slices: usize,
}

impl Window {
    /// Adds a slice of this length, from what the clocks said and what had been done at its begin and its end.
    pub fn add(&mut self, length: Duration, begin: (Moment, Tally), end: (Moment, Tally)) -> Slice {
        let done = end.1.since(begin.1);
        let elapsed = if done.started > 0 {
            end.0.at - begin.0.at
        } else {
            length
        };
        let cpu = end.0.cpu.since(begin.0.cpu);
        self.elapsed += elapsed;
        self.cpu = self.cpu.and(cpu);
        self.done = Tally {
            started: self.done.started + done.started,
            operations: self.done.operations + done.operations,
            opened: self.done.opened + done.opened,
            latency_ns: self.done.latency_ns + done.latency_ns,
        };
        self.slices += 1;
        Slice {
            elapsed_s: elapsed.as_secs_f64(),
            operations: done.operations,
            latency_sum_s: Duration::from_nanos(done.latency_ns).as_secs_f64(),
            cpu_us: cpu.total_us,
            counts: Counts::of(done.opened),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: std::time::Instant, total_us: f64) -> Moment {
        let cpu = CpuTime {
            total_us,
            user_us: total_us,
            system_us: 0.0,
        };
        Moment { at, cpu }
    }

    fn tally(operations: u64) -> Tally {
        Tally {
            started: operations,
            operations,
            opened: 2 * operations,
            latency_ns: operations * 1_000_000_000,
        }
    }

    #[test]
    fn a_window_is_the_sum_of_its_slices_and_of_nothing_between_them() {
        let (length, zero) = (Duration::from_millis(20), std::time::Instant::now());
        let at = |ms| zero + Duration::from_millis(ms);
        let mut window = Window::default();
        let first = window.add(
            length,
            (moment(at(0), 100.0), tally(5)),
            (moment(at(21), 150.0), tally(8)),
        );
        let second = window.add(
            length,
            (moment(at(900), 500.0), tally(8)),
            (moment(at(930), 530.0), tally(9)),
        );
        assert_eq!((first.operations, second.operations), (3, 1));
        assert_eq!((first.counts.connections, window.done.opened), (6, 8));
        assert!((first.latency_sum_s - 3.0).abs() < 1e-9);
        assert!((first.cpu_us + second.cpu_us - 80.0).abs() < 1e-9);
        assert!((window.cpu.total_us - 80.0).abs() < 1e-9);
        assert_eq!(window.elapsed, Duration::from_millis(51));
        assert_eq!(window.slices, 2);
    }

    #[test]
    fn a_slice_in_which_nothing_was_started_lasts_its_length() {
        let (length, now) = (Duration::from_millis(20), std::time::Instant::now());
        let idle = (moment(now, 1.0), tally(3));
        let slice = Window::default().add(length, idle, idle);
        assert!((slice.elapsed_s - 0.02).abs() < 1e-9);
        assert_eq!(slice.operations, 0);
    }
}
