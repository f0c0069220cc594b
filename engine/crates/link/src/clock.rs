//! The monotonic clock, in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds on the monotonic clock (`clock_gettime(2)`, `CLOCK_MONOTONIC`).
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * SECOND_NS + time.tv_nsec.unsigned_abs()
}

/// A time or a span as the kernel takes it.
pub fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / SECOND_NS).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % SECOND_NS).unwrap_or_default(),
    }
}

/// Milliseconds in whole nanoseconds; none below zero.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn from_ms(ms: f64) -> u64 {
    (ms.max(0.0) * 1e6).round() as u64
}

/// Nanoseconds in milliseconds.
#[allow(clippy::cast_precision_loss)]
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
