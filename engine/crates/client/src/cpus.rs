//! Which processors a thread runs on.

use rustix::thread::{CpuSet, sched_setaffinity};
use tlstax_contract::Job;

use crate::failure::Failure;

/// Pins the calling thread to the core of the thread with this number.
///
/// # Errors
/// This process may not use that core.
pub fn pin(job: &Job, number: usize) -> Result<(), Failure> {
    if job.cpus.is_empty() {
        return Ok(());
    }
    pin_to(&[job.cpus[number % job.cpus.len()]])
}

/// Pins the calling thread to these cores, and with it threads that it starts later; none leaves it as it is.
///
/// # Errors
/// This process may not use one of them.
pub fn pin_to(cpus: &[u32]) -> Result<(), Failure> {
    let Some(&cpu) = cpus.first() else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(Failure::NoSuchCore { cpu });
        }
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|error| Failure::CoreRefused {
        cpu,
        source: error.into(),
    })
}
