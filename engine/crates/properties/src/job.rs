//! Jobs and orders, whatever their text: read or refused in a sentence, and what is read can be carried out.

use tlstax_contract::{Job, Order, Schedule};

/// A statement is at most so long, as `contract/README.md` has it.
const LONGEST_STATEMENT: usize = 64 << 20;
const YEAR_S: f64 = 365.0 * 24.0 * 3600.0;

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn job(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(Some(Order::Slice(length_s))) = Order::from_line(&text) {
        assert!(length_s > 0.0 && length_s <= YEAR_S);
    }
    let job = match Job::from_json(&text) {
        Ok(job) => job,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    check_bounds(&job);
    let written = serde_json::to_string(&job).expect("a job can be written");
    let again = Job::from_json(&written).expect("what was written is a job");
    assert_eq!(again, job, "it means something else when written again");
    match tlstax_load::rehearse(&job.workload, job.seed) {
        Ok(longest) => assert!(longest <= LONGEST_STATEMENT),
        Err(failure) => assert!(failure.to_string().starts_with("job field workload.")),
    }
}

/// No sum of its times overflows a clock in nanoseconds, and there is something to do.
fn check_bounds(job: &Job) {
    for time_s in [job.warmup_s, job.duration_s, job.timeout_s] {
        assert!((0.0..=YEAR_S).contains(&time_s));
    }
    assert!(job.duration_s > 0.0 && job.timeout_s > 0.0);
    assert!((1..=job.connections).contains(&job.threads));
    if let Schedule::Open { rate_per_s, .. } = job.schedule {
        assert!(rate_per_s > 0.0 && rate_per_s.is_finite());
    }
}
