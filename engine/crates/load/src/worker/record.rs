//! What a worker hands over: of each slice, and in the end.

use std::sync::atomic::Ordering;

use tlstax_contract::Counts;

use super::Worker;
use crate::recorder::{Recorder, merge_counts};
use crate::slice::SliceRecord;

impl Worker {
    /// Forgets what was written down so far, but for the counts of the whole life.
    pub fn start_afresh(&mut self, samples: usize) {
        let past = self.take_all();
        merge_counts(&mut self.before, &past.counts);
        (self.thread.samples_wanted, self.thread.next_sample_at) = (samples, 0);
        self.thread.sample_bytes = 0;
        self.measures = true;
        self.gauge.operations.store(0, Ordering::Relaxed);
        self.gauge.errors.store(0, Ordering::Relaxed);
    }

    /// What was done since the last slice.
    pub fn take_slice(&mut self) -> SliceRecord {
        self.thread.recorder.take_slice()
    }

    /// What was written down since the last fresh start, and the counts of the whole life.
    pub fn take_record(&mut self) -> (Recorder, Counts) {
        let record = self.take_all();
        let mut lifetime = std::mem::take(&mut self.before);
        merge_counts(&mut lifetime, &record.counts);
        (record, lifetime)
    }

    fn take_all(&mut self) -> Recorder {
        for connection in &mut self.connections {
            connection.settle_wire(&mut self.thread);
        }
        self.thread.recorder.take_slice();
        std::mem::take(&mut self.thread.recorder)
    }
}
