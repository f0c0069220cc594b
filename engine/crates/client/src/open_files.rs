//! What this machine must allow for a job, checked before the first connection is made.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tlstax_contract::Job;

use crate::failure::Failure;

/// Descriptors of a thread: its epoll and its alarm.
const A_THREAD: u64 = 2;
/// Descriptors beside those: standard streams, libraries, and the null server's, whose connections
/// are few and have both ends here.
const BESIDE: u64 = 32;

/// Raises the limit of open files as far as the job needs, which the hard limit must allow
/// (getrlimit(2)).
///
/// # Errors
/// The hard limit is too low.
pub fn allow_open_files(job: &Job) -> Result<(), Failure> {
    let lingering = u64::from(job.lingering.unwrap_or_default());
    let needed =
        u64::from(job.connections) + lingering + u64::from(job.threads) * A_THREAD + BESIDE;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(Failure::FileLimitUnread)?;
    if needed > hard {
        return Err(Failure::TooFewFiles {
            connections: job.connections,
            needed,
            hard,
        });
    }
    if needed <= soft {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(Failure::FileLimitKept)
}
