//! When a warm-up may end: the CPU time of an operation has stopped to fall.

use crate::event::WarmupSlice;

const COMPARED: usize = 5;
const STEADY_AT_LEAST: f64 = 0.95;

/// Whether the median CPU time per operation of the last five slices is at least 0.95 of the median of the
/// five before them. A slice without operations has no CPU time per operation; it counts as endless.
pub fn is_steady(slices: &[WarmupSlice]) -> bool {
    let Some(begin) = slices.len().checked_sub(2 * COMPARED) else {
        return false;
    };
    let (before, last) = slices[begin..].split_at(COMPARED);
    let (before, last) = (median(before), median(last));
    last.is_finite() && last >= STEADY_AT_LEAST * before
}

fn median(slices: &[WarmupSlice]) -> f64 {
    let mut costs: Vec<f64> = slices
        .iter()
        .map(WarmupSlice::cpu_us_per_operation)
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(costs: &[f64]) -> bool {
        let slices: Vec<WarmupSlice> = costs
            .iter()
            .map(|cost| WarmupSlice {
                elapsed_s: 0.1,
                operations: u64::from(*cost > 0.0),
                cpu_us: *cost,
            })
            .collect();
        is_steady(&slices)
    }

    #[test]
    fn it_is_steady_when_the_cost_has_stopped_to_fall() {
        assert!(!steady(&[10.0; 9]));
        assert!(steady(&[10.0; 10]));
        assert!(!steady(&[
            10.0, 10.0, 10.0, 10.0, 10.0, 9.0, 9.0, 9.0, 10.0, 10.0
        ]));
        assert!(steady(&[
            99.0, 10.0, 10.0, 10.0, 10.0, 10.0, 9.6, 9.6, 9.6, 1.0, 20.0
        ]));
        assert!(!steady(&[0.0; 10]));
    }
}
