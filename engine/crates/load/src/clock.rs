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

/// CPU time of this process so far.
///
/// The total comes from `CLOCK_PROCESS_CPUTIME_ID`, which counts nanoseconds. `getrusage(2)` may
/// count ticks, so it only gives the shares of user and system in that total.
#[allow(clippy::cast_precision_loss)]
pub fn process_cpu() -> CpuTime {
    let total_us = since_zero_ns(clock_gettime(ClockId::ProcessCPUTime)) as f64 / 1e3;
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

/// CPU time between two readings of [`process_cpu`], its shares scaled to the exact total.
pub fn cpu_between(before: CpuTime, after: CpuTime) -> CpuTime {
    let total_us = after.total_us - before.total_us;
    let user = after.user_us - before.user_us;
    let system = after.system_us - before.system_us;
    let scale = if user + system > 0.0 {
        total_us / (user + system)
    } else {
        0.0
    };
    CpuTime {
        total_us,
        user_us: user * scale,
        system_us: system * scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_exact_total() {
        let before = CpuTime {
            total_us: 100.0,
            user_us: 10.0,
            system_us: 10.0,
        };
        let after = CpuTime {
            total_us: 180.0,
            user_us: 70.0,
            system_us: 30.0,
        };
        let used = cpu_between(before, after);
        assert_eq!(
            used,
            CpuTime {
                total_us: 80.0,
                user_us: 60.0,
                system_us: 20.0
            }
        );
    }

    #[test]
    fn a_clock_that_did_not_tick_gives_no_shares() {
        let at = CpuTime {
            total_us: 1.0,
            user_us: 0.0,
            system_us: 0.0,
        };
        let used = cpu_between(
            at,
            CpuTime {
                total_us: 2.0,
                ..at
            },
        );
        assert_eq!(
            used,
            CpuTime {
                total_us: 1.0,
                user_us: 0.0,
                system_us: 0.0
            }
        );
    }
}
