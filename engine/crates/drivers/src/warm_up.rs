//! The warm-up: the job's work in short slices, until it costs no less than before.

use std::thread::sleep;
use std::time::Duration;

use tlstax_client::clock::{nanoseconds, now_ns, seconds};
use tlstax_contract::{Job, WarmupSlice};

use crate::clock::ProcessClock;
use crate::crew::{Crew, Report};
use crate::trouble::Trouble;

/// How long a slice of the warm-up is.
const SLICE_S: f64 = 0.1;
/// Slices of which the median is taken, twice.
const HALF: usize = 5;
/// How much cheaper the later half may be than the earlier.
const LEAST_RATIO: f64 = 0.95;
/// The part of the judged time for which a runtime may have compiled.
const MOST_COMPILING: f64 = 0.1;
/// The JVM compiles what was called some hundred times, and again after some thousands (`Tier4InvocationThreshold`).
const REHEARSALS: u32 = 3000;

/// What was done while warming up.
#[derive(Debug, Default)]
pub struct WarmUp {
    /// Its slices, where it was to last until the work is steady.
    pub slices: Vec<WarmupSlice>,
    /// Whether it is; none where that was not asked.
    pub steady: Option<bool>,
    /// How long the last slice was.
    pub last_s: f64,
}

/// One slice, with what its runtime compiled meanwhile.
struct Judged {
    cost_us: f64,
    length_s: f64,
    compiled_s: f64,
}

/// Works until it is steady, or for as long as the job says. An adapter that `compiles` rehearses its orders before.
///
/// # Errors
/// What ends the job.
pub fn warm_up(
    crew: &mut Crew,
    clock: &ProcessClock,
    job: &Job,
    compiles: bool,
) -> Result<WarmUp, Trouble> {
    let within_s = job
        .driver
        .as_ref()
        .map_or(0.0, |terms| terms.steady_within_s);
    let asked = within_s > 0.0;
    let longest_s = if asked { within_s } else { job.warmup_s };
    for _ in 0..if compiles { REHEARSALS } else { 0 } {
        crew.one(0, "work 0\n", &[], false)?;
        crew.one(0, "report\n", &[], false)?;
    }
    let mut warm_up = WarmUp {
        last_s: SLICE_S,
        ..WarmUp::default()
    };
    let mut judged: Vec<Judged> = Vec::new();
    let (begun_ns, mut elapsed_s, mut compiled_ms) = (now_ns(), 0.0, 0.0);
    while elapsed_s < longest_s && !(asked && is_steady(&judged)) && !crew.drawing.is_used_up() {
        let length_s = SLICE_S.min(longest_s - elapsed_s);
        crew.fill_up(length_s, warm_up.last_s)?;
        let (cpu_us, slice_ns) = (clock.total_us(), now_ns());
        let done = crew.work(slice_ns + nanoseconds(length_s), |_| ())?;
        let cpu_us = clock.total_us() - cpu_us;
        let now_ms = compiled_until_now(&crew.reports()?);
        let length = seconds(now_ns() - slice_ns);
        judged.push(Judged {
            cost_us: cost_us(cpu_us, done.operations),
            length_s: length,
            compiled_s: (now_ms - compiled_ms) / 1e3,
        });
        compiled_ms = now_ms;
        warm_up.last_s = length_s;
        elapsed_s = seconds(now_ns() - begun_ns);
        if asked {
            let operations = done.operations;
            warm_up.slices.push(WarmupSlice {
                elapsed_s,
                operations,
                cpu_us,
            });
        }
    }
    warm_up.steady = asked.then(|| is_steady(&judged));
    Ok(warm_up)
}

/// Milliseconds for which the runtime has compiled; the same is told on each channel, if at all.
fn compiled_until_now(reports: &[Report]) -> f64 {
    let told = reports
        .first()
        .and_then(|report| report.answer.told["compiled_ms"].as_f64());
    told.unwrap_or_default()
}

#[allow(clippy::cast_precision_loss)]
fn cost_us(cpu_us: f64, operations: u64) -> f64 {
    if operations == 0 {
        f64::INFINITY
    } else {
        cpu_us / operations as f64
    }
}

/// The contract's rule, and that the compiler has rested: its own CPU time would hold the median up.
fn is_steady(slices: &[Judged]) -> bool {
    let Some(start) = slices.len().checked_sub(2 * HALF) else {
        return false;
    };
    let judged = &slices[start..];
    let (before, last) = (median(&judged[..HALF]), median(&judged[HALF..]));
    let sum = |of: fn(&Judged) -> f64| judged.iter().map(of).sum::<f64>();
    let rested = sum(|slice| slice.compiled_s) < MOST_COMPILING * sum(|slice| slice.length_s);
    last.is_finite() && last >= LEAST_RATIO * before && rested
}

fn median(odd: &[Judged]) -> f64 {
    let mut costs: Vec<f64> = odd.iter().map(|slice| slice.cost_us).collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

/// Returns when no thread of the adapter had anything to do in three looks, or after three seconds: a runtime may
/// compile when the work has stopped, and would use a processor while another client is measured on it.
pub fn rest(clock: &ProcessClock) {
    let mut at_rest = 0;
    for _ in 0..150 {
        sleep(Duration::from_millis(20));
        at_rest = if clock.has_work() { 0 } else { at_rest + 1 };
        if at_rest == 3 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(costs_us: &[f64], compiled_s: f64) -> Vec<Judged> {
        let slice = |cost_us: &f64| Judged {
            cost_us: *cost_us,
            length_s: 0.1,
            compiled_s,
        };
        costs_us.iter().map(slice).collect()
    }

    #[test]
    fn what_still_gets_cheaper_is_not_steady() {
        assert!(!is_steady(&slices(&[9.0; 9], 0.0)));
        assert!(is_steady(&slices(&[9.0; 10], 0.0)));
        let falling = [20.0, 19.0, 18.0, 17.0, 16.0, 15.0, 14.0, 13.0, 12.0, 11.0];
        assert!(!is_steady(&slices(&falling, 0.0)));
        let rising: Vec<f64> = falling.iter().rev().copied().collect();
        assert!(is_steady(&slices(&rising, 0.0)));
    }

    #[test]
    fn a_compiler_at_work_is_not_steady_whatever_it_costs() {
        assert!(!is_steady(&slices(&[9.0; 10], 0.02)));
        assert!(is_steady(&slices(&[9.0; 10], 0.005)));
    }

    #[test]
    fn slices_in_which_nothing_was_done_are_not_steady() {
        assert!(!is_steady(&slices(&[f64::INFINITY; 10], 0.0)));
    }
}
