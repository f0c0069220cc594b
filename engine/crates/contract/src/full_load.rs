//! What a slice tells of the time in which all connections are at work: as it is asked, and as it is told.

use serde::{Deserialize, Serialize};

use crate::job::JobError;

/// Has each slice tell what was done while all connections were at work, which leaves out how it begins
/// and how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullLoad {
    /// How many operations of a slice are answered before it counts.
    pub after_operations: u32,
    /// Other processes whose CPU time is read at both ends, by their ids.
    #[serde(default)]
    pub cpu_of: Vec<u32>,
}

impl FullLoad {
    /// `can_be_full` says whether the job's load is full by itself.
    pub(crate) fn check(&self, can_be_full: bool) -> Result<(), JobError> {
        JobError::unless(
            can_be_full,
            "full_load",
            "absent in an open loop and in a storm, whose load is not full by itself",
        )?;
        JobError::unless(
            self.after_operations > 0,
            "full_load.after_operations",
            "at least 1",
        )?;
        JobError::unless(
            !self.cpu_of.contains(&0),
            "full_load.cpu_of",
            "ids of processes",
        )
    }
}

/// What was done in a slice while all connections were at work: from the answer of the last operation of its
/// lead-in to the first answer after its length, when every connection has an operation in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullLoadSpan {
    /// Between these two answers.
    pub elapsed_s: f64,
    /// Operations that were under way meanwhile, each by the part of its latency that lies between them.
    pub operations: f64,
    /// These parts of their latencies, added up.
    pub latency_sum_s: f64,
    /// CPU time of this process.
    pub cpu_us: f64,
    /// CPU time of each of the job's `full_load.cpu_of`, in its order.
    pub cpu_of_us: Vec<f64>,
}
