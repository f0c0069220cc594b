//! The adapter's CPU clock and its threads, seen from outside.

use std::fs;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use tlstax_contract::{CpuTime, ErrorKind};

use crate::trouble::Trouble;

/// Microseconds of a tick in which the kernel tells user and system time (proc(5); 100 a second everywhere).
const TICK_US: f64 = 10_000.0;

/// The clock of another process.
#[derive(Debug)]
pub struct ProcessClock {
    pid: u32,
    clock: ClockId,
}

impl ProcessClock {
    /// Of this process.
    ///
    /// # Errors
    /// There is none.
    pub fn of(pid: u32) -> Result<Self, Trouble> {
        let number = i32::try_from(pid).unwrap_or_default();
        clock_getcpuclockid(Pid::from_raw(number))
            .map(|clock| Self { pid, clock })
            .map_err(|error| {
                let message = format!("the adapter's CPU clock cannot be read ({error})");
                Trouble::new(ErrorKind::Internal, message)
            })
    }

    /// CPU time so far, in microseconds, by a clock that counts nanoseconds.
    #[allow(clippy::cast_precision_loss)]
    pub fn total_us(&self) -> f64 {
        clock_gettime(self.clock).map_or(0.0, |time| {
            time.tv_sec() as f64 * 1e6 + time.tv_nsec() as f64 / 1e3
        })
    }

    /// CPU time so far, with how the kernel shares it out.
    pub fn read(&self) -> CpuTime {
        let total_us = self.total_us();
        let fields = stat_fields(&format!("/proc/{}/stat", self.pid));
        // Fields 14 and 15 of proc(5), counted from the state, which is the third.
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        CpuTime {
            total_us,
            user_us: ticks(11).unwrap_or_default() * TICK_US,
            system_us: ticks(12).unwrap_or_default() * TICK_US,
        }
    }

    /// Whether one of its threads has something to do. A thread that waits for a processor uses no time.
    pub fn has_work(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid));
        threads.into_iter().flatten().flatten().any(|thread| {
            let stat = thread.path().join("stat");
            stat_fields(&stat.to_string_lossy())
                .first()
                .is_some_and(|state| state == "R")
        })
    }
}

/// What stands behind the name in parentheses (proc(5)); nothing of a thread that has ended.
fn stat_fields(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let behind = text.rfind(')').map_or("", |end| &text[end + 1..]);
    behind.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_uses_time_and_is_seen_to() {
        let clock = ProcessClock::of(std::process::id()).unwrap();
        let before = clock.read();
        while clock.total_us() - before.total_us < 30_000.0 {
            std::hint::spin_loop();
        }
        let after = clock.read();
        assert!(after.user_us + after.system_us > before.user_us + before.system_us);
        assert!(clock.has_work());
    }
}
