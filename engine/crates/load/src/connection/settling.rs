//! What crossed the wire on a connection, written down from time to time.

use tlstax_contract::CompressedBytes;

use super::Connection;
use crate::shared::ThreadState;

/// Counters of the wire that have already been written down.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    bytes: (u64, u64),
    segments: (u64, u64),
    records: (u64, u64),
    compressed: CompressedBytes,
}

impl Connection {
    /// Writes down what crossed the wire since the last time.
    pub fn settle_wire(&mut self, thread: &mut ThreadState) {
        let Some(transport) = &self.transport else {
            return;
        };
        let bytes = transport.bytes();
        thread.recorder.wire.bytes_sent += bytes.0 - self.settled.bytes.0;
        thread.recorder.wire.bytes_received += bytes.1 - self.settled.bytes.1;
        self.settled.bytes = bytes;
        if let Some(bytes) = transport.compressed_bytes() {
            thread
                .recorder
                .compressed(bytes.since(self.settled.compressed));
            self.settled.compressed = bytes;
        }
        if let Some(records) = transport.records() {
            let before = self.settled.records;
            thread
                .recorder
                .records(records.0 - before.0, records.1 - before.1);
            self.settled.records = records;
        }
        if let Some(info) = transport.tcp_info() {
            let segments = (
                u64::from(info.segments_sent),
                u64::from(info.segments_received),
            );
            thread.recorder.segments(
                segments.0 - self.settled.segments.0,
                segments.1 - self.settled.segments.1,
            );
            self.settled.segments = segments;
        }
    }
}
