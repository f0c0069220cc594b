//! What one slice came to: in one thread, or in all of them together.

use tlstax_client::clock::seconds;
use tlstax_contract::Counts;

use crate::recorder::merge_counts;

/// One round of a storm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundTimes {
    /// When its first connection was begun.
    pub begun_ns: u64,
    /// When its last one was open; 0 when none was.
    pub open_ns: u64,
}

/// What was done in one slice.
#[derive(Debug, Default)]
pub struct SliceRecord {
    /// Finished operations.
    pub operations: u64,
    /// Their latencies, added up.
    pub latency_sum_ns: u64,
    /// Of their latencies what lies under full load.
    pub counted_ns: u64,
    /// The operations that this time makes, of each the part that it is of its latency.
    pub counted: f64,
    /// Connections and handshakes.
    pub counts: Counts,
    /// Of each round of a storm, when it began and when its last connection was open.
    pub rounds: Vec<RoundTimes>,
    /// When the last operation was answered, or the last error met.
    pub last_answer_ns: u64,
}

impl SliceRecord {
    /// Notes a finished operation, of whose time `counted_ns` lies under full load.
    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub fn answered(&mut self, took_ns: u64, at_ns: u64, counted_ns: u64) {
        self.operations += 1;
        self.latency_sum_ns += took_ns;
        self.counted_ns += counted_ns;
        self.counted += counted_ns as f64 / took_ns.max(1) as f64;
        self.last_answer_ns = at_ns;
    }

    /// Adds what another thread did in the same slice. A round is as long as from its first thread's
    /// beginning to its last thread's end.
    pub fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.latency_sum_ns += other.latency_sum_ns;
        self.counted += other.counted;
        self.counted_ns += other.counted_ns;
        merge_counts(&mut self.counts, &other.counts);
        self.last_answer_ns = self.last_answer_ns.max(other.last_answer_ns);
        if self.rounds.is_empty() {
            self.rounds = other.rounds;
            return;
        }
        for (mine, theirs) in self.rounds.iter_mut().zip(other.rounds) {
            mine.begun_ns = mine.begun_ns.min(theirs.begun_ns);
            mine.open_ns = mine.open_ns.max(theirs.open_ns);
        }
    }

    /// How long a slice lasted that began at `start_ns` and was to last for `length_ns`: until its last
    /// answer, but no shorter than it was to be where nothing was done.
    pub fn elapsed_ns(&self, start_ns: u64, length_ns: u64) -> u64 {
        let answered_ns = self.last_answer_ns.saturating_sub(start_ns);
        let least_ns = if self.operations > 0 { 1 } else { length_ns };
        answered_ns.max(least_ns).max(1)
    }

    /// How long each round of a storm took; one in which no connection was opened took no time.
    pub fn rounds_s(&self) -> Vec<f64> {
        let took_ns = |round: &RoundTimes| round.open_ns.checked_sub(round.begun_ns);
        let all = self.rounds.iter().filter_map(took_ns);
        all.filter(|took_ns| *took_ns > 0).map(seconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_lasts_from_the_first_thread_that_begins_to_the_last_that_is_done() {
        let thread = |rounds: &[(u64, u64)]| {
            let times = |&(begun_ns, open_ns): &(u64, u64)| RoundTimes { begun_ns, open_ns };
            SliceRecord {
                rounds: rounds.iter().map(times).collect(),
                ..SliceRecord::default()
            }
        };
        let mut all = SliceRecord::default();
        all.merge(thread(&[(1_000, 4_000), (10_000, 0), (20_000, 0)]));
        all.merge(thread(&[(2_000, 3_000), (9_000, 14_000), (21_000, 0)]));
        assert_eq!(all.rounds_s(), [3e-6, 5e-6]);
    }

    #[test]
    fn a_slice_lasts_until_its_last_answer_or_as_long_as_it_was_to_where_nothing_was_done() {
        let mut slice = SliceRecord::default();
        assert_eq!(slice.elapsed_ns(1_000, 500), 500);
        // An error at once is no reason to have ended at once, a long silence is one to have lasted.
        slice.last_answer_ns = 1_010;
        assert_eq!(slice.elapsed_ns(1_000, 500), 500);
        slice.last_answer_ns = 9_000;
        assert_eq!(slice.elapsed_ns(1_000, 500), 8_000);
        slice.answered(40, 1_050, 10);
        assert_eq!(slice.elapsed_ns(1_000, 500), 50);
        let mut other = SliceRecord::default();
        other.answered(30, 1_700, 30);
        slice.merge(other);
        assert_eq!((slice.operations, slice.latency_sum_ns), (2, 70));
        assert_eq!(slice.counted_ns, 40);
        assert!((slice.counted - 1.25).abs() < 1e-9);
        assert_eq!(slice.elapsed_ns(1_000, 500), 700);
    }
}
