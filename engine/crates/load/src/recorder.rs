//! What one thread writes down while it works: histograms by phase and counts, merged at the end.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use tlstax_client::Failure;
use tlstax_contract::{
    CompressedBytes, Counts, ErrorCount, ErrorEvent, ErrorKind, Handshakes, PhaseWire, RowSample,
    Wire,
};
use tlstax_tls::Negotiated;

use crate::proof;
use crate::slice::SliceRecord;

/// Of how many kinds and codes of errors the first is kept in words: a hostile server has 65,536 codes.
const MOST_TOLD: usize = 16;

/// The phases of a connection's life, in their order, and what contains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Phase {
    /// From the first SYN to a connected socket.
    TcpConnect,
    /// From there to the server's greeting.
    Greeting,
    /// From the SSLRequest to the end of the handshake.
    TlsHandshake,
    /// From the login packet to the server's OK.
    Authentication,
    /// All of these together.
    Connect,
    /// The first statement on a connection.
    FirstQuery,
    /// Every later statement.
    Query,
    /// Saying goodbye and closing the socket.
    Close,
    /// What the workload counts as one operation; open loop: from when it was due.
    Operation,
    /// Open loop: from when an operation was due to when it was begun.
    StartDelay,
}

const PHASES: [(Phase, &str); 10] = [
    (Phase::TcpConnect, "tcp_connect"),
    (Phase::Greeting, "greeting"),
    (Phase::TlsHandshake, "tls_handshake"),
    (Phase::Authentication, "authentication"),
    (Phase::Connect, "connect"),
    (Phase::FirstQuery, "first_query"),
    (Phase::Query, "query"),
    (Phase::Close, "close"),
    (Phase::Operation, "operation"),
    (Phase::StartDelay, "start_delay"),
];

/// One hour: longer than any timeout that a job may sensibly set.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three digits keep every value within 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// What crossed the wire in one phase of one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crossed {
    /// How often something had been sent and then the server had to be waited for.
    pub round_trips: u32,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

/// Everything one thread wrote down.
#[derive(Debug)]
pub struct Recorder {
    histograms: Vec<Histogram<u64>>,
    phase_wire: [PhaseWire; PHASES.len()],
    /// What was done since the last slice was taken.
    pub slice: SliceRecord,
    /// Finished operations of the slices that were taken.
    pub operations: u64,
    /// Operations that were due; closed loop: started.
    pub scheduled: u64,
    /// Due, but never started.
    pub skipped: u64,
    /// Connections and handshakes of the slices that were taken.
    pub counts: Counts,
    /// What crossed the wire.
    pub wire: Wire,
    /// Bytes before and after compression; none where nothing is compressed.
    pub compression: Option<CompressedBytes>,
    /// Errors by kind and code.
    pub errors: BTreeMap<(ErrorKind, Option<i32>), u64>,
    /// The first of each kind and code, of the first few of these.
    first_errors: BTreeMap<(ErrorKind, Option<i32>), ErrorEvent>,
    /// Results kept for checking.
    pub row_samples: Vec<RowSample>,
}

impl Recorder {
    /// An empty one.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts.
    pub fn new() -> Self {
        let histogram = || {
            Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
                .expect("constant bounds are accepted")
        };
        Self {
            histograms: PHASES.iter().map(|_| histogram()).collect(),
            phase_wire: [PhaseWire::default(); PHASES.len()],
            slice: SliceRecord::default(),
            operations: 0,
            scheduled: 0,
            skipped: 0,
            counts: Counts::default(),
            wire: Wire::default(),
            compression: None,
            errors: BTreeMap::new(),
            first_errors: BTreeMap::new(),
            row_samples: Vec::new(),
        }
    }

    /// Notes how long a phase took. Longer than an hour counts as an hour.
    pub fn phase(&mut self, phase: Phase, took_ns: u64) {
        self.histograms[phase as usize].saturating_record(took_ns.max(1));
    }

    /// Notes what crossed the wire in a phase that occurred once.
    #[inline]
    pub fn crossed(&mut self, phase: Phase, crossed: Crossed) {
        let sum = &mut self.phase_wire[phase as usize];
        sum.times += 1;
        sum.round_trips += u64::from(crossed.round_trips);
        sum.bytes_sent += crossed.bytes_sent;
        sum.bytes_received += crossed.bytes_received;
    }

    /// Notes an error.
    pub fn error(&mut self, failure: &Failure) {
        let sort = (failure.kind(), failure.code());
        *self.errors.entry(sort).or_default() += 1;
        self.keep_first(sort, || failure.event(false));
    }

    fn keep_first(&mut self, sort: (ErrorKind, Option<i32>), event: impl FnOnce() -> ErrorEvent) {
        if self.first_errors.len() < MOST_TOLD {
            self.first_errors.entry(sort).or_insert_with(event);
        }
    }

    /// Notes how a login went.
    pub fn authentication(&mut self, way: &str) {
        let ways = &mut self.slice.counts.authentications;
        if let Some(count) = ways.get_mut(way) {
            *count += 1;
        } else {
            ways.insert(way.to_owned(), 1);
        }
    }

    /// Notes one handshake. Only the first of its kind is copied.
    pub fn handshake(&mut self, seen: &Negotiated) {
        let kinds = &mut self.slice.counts.handshakes;
        let alike = kinds.iter_mut().find(|known| {
            known.resumed == seen.resumed
                && known.hello_retry == seen.hello_retry
                && known.cipher == seen.cipher
                && known.version == seen.version
                && known.group.as_deref() == seen.group.as_deref()
        });
        match alike {
            Some(known) => known.count += 1,
            None => kinds.push(proof::handshake(seen)),
        }
    }

    /// Notes segments that the kernel counted on one connection.
    pub fn segments(&mut self, sent: u64, received: u64) {
        *self.wire.segments_sent.get_or_insert_default() += sent;
        *self.wire.segments_received.get_or_insert_default() += received;
    }

    /// Notes TLS records with data.
    pub fn records(&mut self, sent: u64, received: u64) {
        *self.wire.records_sent.get_or_insert_default() += sent;
        *self.wire.records_received.get_or_insert_default() += received;
    }

    /// Notes bytes before and after compression.
    pub fn compressed(&mut self, bytes: CompressedBytes) {
        self.compression.get_or_insert_default().add(bytes);
    }

    /// What was done since the last time, which is part of the whole from now on.
    pub fn take_slice(&mut self) -> SliceRecord {
        let slice = std::mem::take(&mut self.slice);
        self.operations += slice.operations;
        merge_counts(&mut self.counts, &slice.counts);
        slice
    }

    /// Adds what another thread wrote down, all of whose slices were taken.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            // Cannot fail: both have the same bounds.
            let _ = mine.add(theirs);
        }
        for (mine, theirs) in self.phase_wire.iter_mut().zip(&other.phase_wire) {
            mine.times += theirs.times;
            mine.round_trips += theirs.round_trips;
            mine.bytes_sent += theirs.bytes_sent;
            mine.bytes_received += theirs.bytes_received;
        }
        self.operations += other.operations;
        self.scheduled += other.scheduled;
        self.skipped += other.skipped;
        merge_counts(&mut self.counts, &other.counts);
        self.wire.bytes_sent += other.wire.bytes_sent;
        self.wire.bytes_received += other.wire.bytes_received;
        if let (Some(sent), Some(received)) =
            (other.wire.segments_sent, other.wire.segments_received)
        {
            self.segments(sent, received);
        }
        if let (Some(sent), Some(received)) = (other.wire.records_sent, other.wire.records_received)
        {
            self.records(sent, received);
        }
        if let Some(bytes) = other.compression {
            self.compressed(bytes);
        }
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
        for (sort, event) in other.first_errors {
            self.keep_first(sort, || event);
        }
        self.row_samples.extend(other.row_samples);
    }

    /// The histograms that hold anything, by phase, in HdrHistogram's V2 DEFLATE encoding as base64.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn encoded_histograms(&self) -> BTreeMap<String, String> {
        let mut serializer = V2DeflateSerializer::new();
        PHASES
            .iter()
            .filter(|(phase, _)| !self.histograms[*phase as usize].is_empty())
            .map(|(phase, name)| {
                let mut bytes = Vec::new();
                serializer
                    .serialize(&self.histograms[*phase as usize], &mut bytes)
                    .expect("writing to memory does not fail");
                ((*name).to_owned(), BASE64_STANDARD.encode(bytes))
            })
            .collect()
    }

    /// What crossed the wire in the phases that occurred, by phase.
    pub fn phase_wire(&self) -> BTreeMap<String, PhaseWire> {
        PHASES
            .iter()
            .map(|(phase, name)| ((*name).to_owned(), self.phase_wire[*phase as usize]))
            .filter(|(_, sum)| sum.times > 0)
            .collect()
    }

    /// The errors in words, with how often each was met.
    pub fn error_events(&self) -> Vec<ErrorEvent> {
        self.first_errors
            .iter()
            .map(|(sort, event)| ErrorEvent {
                count: self.errors.get(sort).copied().unwrap_or(1),
                ..event.clone()
            })
            .collect()
    }

    /// The errors as the contract lists them.
    pub fn error_counts(&self) -> Vec<ErrorCount> {
        self.errors
            .iter()
            .map(|(&(kind, code), &count)| ErrorCount { kind, code, count })
            .collect()
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

fn add_handshakes(all: &mut Vec<Handshakes>, seen: &Handshakes) {
    let alike = all.iter_mut().find(|known| {
        known.resumed == seen.resumed
            && known.hello_retry == seen.hello_retry
            && known.cipher == seen.cipher
            && known.version == seen.version
            && known.group == seen.group
    });
    match alike {
        Some(known) => known.count += seen.count,
        None => all.push(seen.clone()),
    }
}

/// Adds the counts of one span of time to those of another.
pub fn merge_counts(all: &mut Counts, more: &Counts) {
    all.connections += more.connections;
    for seen in &more.handshakes {
        add_handshakes(&mut all.handshakes, seen);
    }
    for (way, count) in &more.authentications {
        *all.authentications.entry(way.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use std::time::Duration;

    fn handshake(resumed: bool) -> Negotiated {
        Negotiated {
            version: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256",
            group: None,
            resumed,
            hello_retry: None,
        }
    }

    #[test]
    fn what_two_threads_wrote_down_adds_up() {
        let (mut one, mut two) = (Recorder::new(), Recorder::new());
        one.phase(Phase::Query, 1_000);
        two.phase(Phase::Query, 3_000);
        one.handshake(&handshake(false));
        two.handshake(&handshake(false));
        two.handshake(&handshake(true));
        let silent = Failure::Silent(Duration::from_secs(2));
        one.error(&silent);
        two.error(&silent);
        two.segments(5, 7);
        for slice in [one.take_slice(), two.take_slice()] {
            assert_eq!(slice.counts.handshakes[0].count, 1);
        }
        one.merge(two);
        let counts: Vec<_> = one
            .counts
            .handshakes
            .iter()
            .map(|h| (h.resumed, h.count))
            .collect();
        assert_eq!(counts, [(false, 2), (true, 1)]);
        assert_eq!(one.error_counts()[0].count, 2);
        let told = one.error_events();
        assert_eq!((told.len(), told[0].count, told[0].fatal), (1, 2, false));
        assert_eq!(told[0].message, "the server has not answered for 2s");
        assert_eq!(
            (one.wire.segments_sent, one.wire.segments_received),
            (Some(5), Some(7))
        );
        assert_eq!(one.histograms[Phase::Query as usize].len(), 2);
    }

    #[test]
    fn only_phases_that_occurred_travel_and_they_travel_whole() {
        let mut recorder = Recorder::new();
        recorder.phase(Phase::Operation, 81_234);
        let encoded = recorder.encoded_histograms();
        assert_eq!(encoded.keys().collect::<Vec<_>>(), ["operation"]);
        let bytes = BASE64_STANDARD.decode(&encoded["operation"]).unwrap();
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap();
        assert_eq!(read.len(), 1);
        assert!(read.equivalent(read.max(), 81_234));
    }
}
