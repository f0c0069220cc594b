//! The clock of CPU time, by the C library: the engine's own way to it is one that valgrind's processor does not have.

use nix::time::{ClockId, clock_gettime};

/// CPU time of this thread so far, in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu_ns() -> u64 {
    // Every Linux has it (`clock_gettime(2)`). Without it nothing could be measured, and 0 shows.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| {
        time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs()
    })
}

/// A span in seconds.
#[allow(clippy::cast_precision_loss)]
pub fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
