//! What is written down of the window: latencies and failures.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use crate::event::ErrorCount;
use crate::failure::Failure;

const LONGEST_NS: u64 = 600_000_000_000;
const SIGNIFICANT_FIGURES: u8 = 3;

/// One worker's notes: a histogram for each of the contract's phases that occurred, and failures.
#[derive(Debug, Default)]
pub struct Recorder {
    histograms: BTreeMap<&'static str, Histogram<u64>>,
    failures: BTreeMap<(&'static str, Option<i32>), u64>,
}

impl Recorder {
    /// Notes how long a phase took; in nanoseconds, as it is noted.
    pub fn record(&mut self, phase: &'static str, took: Duration) -> u64 {
        let ns = u64::try_from(took.as_nanos()).map_or(LONGEST_NS, |ns| ns.clamp(1, LONGEST_NS));
        self.histogram(phase).saturating_record(ns);
        ns
    }

    fn histogram(&mut self, phase: &'static str) -> &mut Histogram<u64> {
        self.histograms.entry(phase).or_insert_with(|| {
            Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_FIGURES)
                .expect("the bounds are in order")
        })
    }

    /// Notes a failure.
    pub fn fail(&mut self, failure: &Failure) {
        *self
            .failures
            .entry((failure.kind, failure.code))
            .or_default() += 1;
    }

    /// Takes another's notes in.
    pub fn add(&mut self, other: &Self) {
        for (phase, theirs) in &other.histograms {
            self.histogram(phase)
                .add(theirs)
                .expect("both have the same bounds");
        }
        for (key, count) in &other.failures {
            *self.failures.entry(*key).or_default() += count;
        }
    }

    /// In `HdrHistogram`'s V2 encoding, deflated, in base64.
    pub fn encoded(&self) -> BTreeMap<&'static str, String> {
        let mut serializer = V2DeflateSerializer::new();
        let mut encode = |histogram: &Histogram<u64>| {
            let mut bytes = Vec::new();
            serializer
                .serialize(histogram, &mut bytes)
                .expect("memory takes all that is written");
            STANDARD.encode(bytes)
        };
        self.histograms
            .iter()
            .map(|(phase, histogram)| (*phase, encode(histogram)))
            .collect()
    }

    /// Failures as the contract has them.
    pub fn counted(&self) -> Vec<ErrorCount> {
        self.failures
            .iter()
            .map(|(&(kind, code), &count)| ErrorCount { kind, code, count })
            .collect()
    }
}
