//! What an adapter costs beside its driver: its loop with operations that call nothing, and its orders.

use serde::Serialize;
use tlstax_client::clock::now_ns;

use crate::clock::ProcessClock;
use crate::crew::Crew;
use crate::trouble::Trouble;

/// For how long the loop runs, several times: a runtime compiles meanwhile.
const SPAN_NS: u64 = 300_000_000;
const SPANS: usize = 8;
const ORDERS: u32 = 2_000;

/// CPU time of the adapter's process; of the last spans, when what can be compiled is.
#[derive(Debug, Serialize)]
pub struct OwnCost {
    /// Operations of one connection, each handed over as the job has it, taken of the stock, timed and kept.
    operations: u64,
    /// For each of them.
    cpu_us_per_operation: f64,
    /// Orders to work for no time.
    orders: u32,
    /// For each: read, answered, and two switches between processes.
    cpu_us_per_order: f64,
    /// The least of its kind among the spans, and the greatest of the last half.
    least_us_per_operation: f64,
    greatest_us_per_operation: f64,
}

/// Measures it on the first connection, which is opened and stays idle.
///
/// # Errors
/// As of a job.
#[allow(clippy::cast_precision_loss)]
pub fn measure(crew: &mut Crew, clock: &ProcessClock) -> Result<OwnCost, Trouble> {
    crew.all("open\n", true)?;
    let (mut costs, mut operations) = (Vec::new(), 0);
    for _ in 0..SPANS {
        crew.fill_to_the_brim()?;
        let before_us = clock.total_us();
        let done = crew.work_without_more(now_ns() + SPAN_NS)?;
        costs.push((clock.total_us() - before_us) / done.operations.max(1) as f64);
        operations += done.operations;
        crew.reports()?;
    }
    for _ in 0..ORDERS {
        crew.one(0, "work 0\n", &[], false)?;
    }
    let before_us = clock.total_us();
    for _ in 0..ORDERS {
        crew.one(0, "work 0\n", &[], false)?;
    }
    let cpu_us_per_order = (clock.total_us() - before_us) / f64::from(ORDERS);
    let late = &costs[SPANS / 2..];
    Ok(OwnCost {
        operations,
        cpu_us_per_operation: late.iter().sum::<f64>() / late.len() as f64,
        orders: ORDERS,
        cpu_us_per_order,
        least_us_per_operation: costs.iter().copied().fold(f64::INFINITY, f64::min),
        greatest_us_per_operation: late.iter().copied().fold(0.0, f64::max),
    })
}
