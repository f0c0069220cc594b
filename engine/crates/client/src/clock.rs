//! The clocks: monotonic time for latencies, CPU time for costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tlstax_contract::CpuTime;

fn since_zero_ns(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A span in whole nanoseconds; one that does not fit is the longest that does.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// A span in seconds.
#[allow(clippy::cast_precision_loss)]
pub fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Nanoseconds on the monotonic clock (`clock_gettime(2)`, `CLOCK_MONOTONIC`).
pub fn now_ns() -> u64 {
    since_zero_ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread so far (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu_ns() -> u64 {
    since_zero_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of this process so far, in nanoseconds (`CLOCK_PROCESS_CPUTIME_ID`).
pub fn process_cpu_ns() -> u64 {
    since_zero_ns(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time of this process so far.
///
/// The total comes from `CLOCK_PROCESS_CPUTIME_ID`, which counts nanoseconds. `getrusage(2)` may
/// count ticks, so it only gives the shares of user and system in that total.
#[allow(clippy::cast_precision_loss)]
pub fn process_cpu() -> CpuTime {
    let total_us = process_cpu_ns() as f64 / 1e3;
    let (user, system) = getrusage(UsageWho::RUSAGE_SELF).map_or((0.0, 0.0), |usage| {
        (
            usage.user_time().num_microseconds() as f64,
            usage.system_time().num_microseconds() as f64,
        )
    });
    CpuTime {
        total_us,
        user_us: user,
        system_us: system,
    }
}

/// CPU time over several spans of time, each between two readings of [`process_cpu`].
#[derive(Debug, Default)]
pub struct CpuSpans {
    read: CpuTime,
}

impl CpuSpans {
    /// Adds one span; its total in microseconds.
    pub fn add(&mut self, before: CpuTime, after: CpuTime) -> f64 {
        let span_us = after.total_us - before.total_us;
        self.read.total_us += span_us;
        self.read.user_us += after.user_us - before.user_us;
        self.read.system_us += after.system_us - before.system_us;
        span_us
    }

    /// All of them together, the shares scaled to the exact total.
    pub fn sum(&self) -> CpuTime {
        let CpuTime {
            total_us,
            user_us,
            system_us,
        } = self.read;
        let scale = if user_us + system_us > 0.0 {
            total_us / (user_us + system_us)
        } else {
            0.0
        };
        CpuTime {
            total_us,
            user_us: user_us * scale,
            system_us: system_us * scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(total_us: f64, user_us: f64, system_us: f64) -> CpuTime {
        CpuTime {
            total_us,
            user_us,
            system_us,
        }
    }

    #[test]
    fn shares_add_up_to_the_exact_total() {
        let mut spans = CpuSpans::default();
        let first_us = spans.add(read(100.0, 10.0, 10.0), read(180.0, 70.0, 30.0));
        assert_eq!(spans.sum(), read(80.0, 60.0, 20.0));
        // What lies between two spans belongs to none.
        let second_us = spans.add(read(500.0, 90.0, 40.0), read(520.0, 90.0, 60.0));
        assert_eq!(spans.sum(), read(100.0, 60.0, 40.0));
        let sum_us = first_us + second_us;
        assert_eq!(spans.sum(), read(sum_us, 60.0, 40.0));
    }

    #[test]
    fn a_clock_that_did_not_tick_gives_no_shares() {
        let mut spans = CpuSpans::default();
        spans.add(read(1.0, 0.0, 0.0), read(2.0, 0.0, 0.0));
        assert_eq!(spans.sum(), read(1.0, 0.0, 0.0));
    }
}
