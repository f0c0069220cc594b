//! The process as the kernel sees it: its CPU time, and the processors that it may run on.

use std::time::Instant;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use serde::Serialize;

use crate::failure::Failure;

/// What the process has used.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "units stand last in a name")]
pub struct CpuTime {
    pub total_us: f64,
    pub user_us: f64,
    pub system_us: f64,
}

/// All clocks at one time.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub at: Instant,
    pub cpu: CpuTime,
}

impl Moment {
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            cpu: cpu_time(),
        }
    }
}

/// What the process has used so far: the total by a nanosecond clock, the split as the kernel has it.
#[expect(
    clippy::cast_precision_loss,
    reason = "years of CPU time fit 53 bits of microseconds"
)]
pub fn cpu_time() -> CpuTime {
    let total = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .expect("every Linux has the clock of a process");
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
    CpuTime {
        total_us: total.num_nanoseconds() as f64 / 1000.0,
        user_us: usage.user_time().num_microseconds() as f64,
        system_us: usage.system_time().num_microseconds() as f64,
    }
}

impl CpuTime {
    /// What was used since.
    pub fn since(self, before: Self) -> Self {
        Self {
            total_us: self.total_us - before.total_us,
            user_us: self.user_us - before.user_us,
            system_us: self.system_us - before.system_us,
        }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            total_us: self.total_us + other.total_us,
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
        }
    }
}

/// Keeps this thread, and all that come of it, on these processors; tokio then takes a thread for each.
pub fn pin(cpus: &[usize]) -> Result<(), Failure> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter()
        .try_for_each(|cpu| set.set(*cpu))
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| {
            Failure::new(
                "limits",
                format!("the process cannot be kept on the job's cpus: {error}"),
            )
        })
}
