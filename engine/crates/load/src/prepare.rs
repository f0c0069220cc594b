//! From a job to what its connections share: the way to the server, statements compiled.

use std::sync::Arc;

use tlstax_client::clock::nanoseconds;
use tlstax_client::{Access, Failure};
use tlstax_contract::{Job, Schedule, Tls};

use crate::barrier::Barrier;
use crate::full_load::Meter;
use crate::script::{Resumption, Script};
use crate::shared::Shared;
use crate::supply::Supply;

/// Makes ready what can be made ready without connecting.
///
/// # Errors
/// What [`Access::prepare`] refuses, a statement that cannot be compiled, a process whose CPU time cannot be
/// read.
pub fn prepare(job: &Job) -> Result<Arc<Shared>, Failure> {
    let access = Access::prepare(job)?;
    let resumption = match &job.tls {
        Tls::On(settings) if settings.resumption => Resumption::On,
        _ => Resumption::Off,
    };
    let mut script = Script::compile(&job.workload, resumption)?;
    if let Schedule::Open { .. } = job.schedule {
        script = script.scheduled();
    }
    Ok(Arc::new(Shared {
        supply: Supply::new(job.operations, &script.spans),
        script,
        access,
        full_load: Meter::of(job.full_load.as_ref())?,
        barrier: Barrier::of(job.threads),
        lingering: job.lingering,
        threads: job.threads,
        timeout_ns: nanoseconds(job.timeout_s),
    }))
}
