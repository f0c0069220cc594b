//! An open socket: reading and writing as far as it lets, what crossed it in each phase, and what of that was
//! written down.

use rustix::event::epoll::{self, EventData, EventFlags};
use tlstax_client::Failure;
use tlstax_client::clock::now_ns;
use tlstax_contract::CompressedBytes;

use super::READS_AT_ONCE;
use crate::recorder::{Crossed, Phase};
use crate::round_trips::RoundTrips;
use crate::session::Session;
use crate::shared::ThreadState;
use crate::transport::{IoResult, Transport};

/// What epoll is asked to report of a socket.
const INTEREST: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// Counters of the wire that have already been written down.
#[derive(Debug, Clone, Copy, Default)]
struct Settled {
    bytes: (u64, u64),
    segments: (u64, u64),
    records: (u64, u64),
    compressed: CompressedBytes,
}

/// A socket, and what belongs to it alone.
pub(super) struct Line {
    number: u64,
    pub(super) transport: Transport,
    /// Whether there may be something to read.
    pub(super) readable: bool,
    /// Whether the server has closed its end: nothing new will happen there that could be reported.
    has_ended: bool,
    /// How much of what is outgoing was written.
    written: usize,
    pub(super) begun_ns: u64,
    pub(super) phase_ns: u64,
    pub(super) round_trips: RoundTrips,
    settled: Settled,
}

impl Line {
    /// Sends the SYN and asks epoll for everything that will ever happen on the socket: one system
    /// call for its whole life, since edge triggering needs no re-arming.
    pub(super) fn connect(
        number: u64,
        now_ns: u64,
        thread: &mut ThreadState,
    ) -> Result<Self, Failure> {
        let source = thread.take_source();
        let socket = thread
            .shared
            .access
            .target
            .begin_connect(source)
            .map_err(Failure::connecting)?;
        epoll::add(&thread.epoll, &socket, EventData::new_u64(number), INTEREST)
            .map_err(Failure::connecting)?;
        Ok(Self {
            number,
            transport: Transport::new(socket),
            readable: false,
            has_ended: false,
            written: 0,
            begun_ns: now_ns,
            phase_ns: now_ns,
            round_trips: RoundTrips::default(),
            settled: Settled::default(),
        })
    }

    /// The socket became ready in this way.
    #[inline]
    pub(super) fn became_ready(&mut self, flags: EventFlags) {
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        self.has_ended |= flags.intersects(ended);
        self.readable |= self.has_ended || flags.contains(EventFlags::IN);
    }

    /// Writes what is outgoing; false when the socket does not take all of it yet.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) -> Result<bool, Failure> {
        if out.is_empty() {
            return Ok(true);
        }
        while self.written < out.len() {
            match self.transport.write(&out[self.written..])? {
                IoResult::Bytes(count) => self.written += count,
                IoResult::Blocked | IoResult::Paused => return Ok(false),
                IoResult::Closed => {
                    let when = "while it was written to";
                    return Err(Failure::Closed { when });
                }
            }
        }
        out.clear();
        self.written = 0;
        self.round_trips.sent();
        // The answer to what has just been sent will make the socket ready anew (epoll(7), edge
        // triggered), so there is no need to try and read before.
        self.readable = self.has_ended;
        Ok(true)
    }

    /// Reads into the thread's buffer; none when nothing is there.
    pub(super) fn read(
        &mut self,
        thread: &mut ThreadState,
        when: &'static str,
    ) -> Result<Option<usize>, Failure> {
        if !self.readable {
            return Ok(None);
        }
        match self.transport.read(&mut thread.buffer)? {
            IoResult::Bytes(count) => {
                self.round_trips.received();
                Ok(Some(count))
            }
            IoResult::Closed => Err(Failure::Closed { when }),
            IoResult::Blocked => {
                self.readable = false;
                Ok(None)
            }
            IoResult::Paused => {
                self.report_again(thread)?;
                Ok(None)
            }
        }
    }

    /// Has epoll report the socket although nothing new happened on it: changing the registration
    /// of an edge-triggered socket tells of what is ready already (epoll(7), questions 8 and 9).
    pub(super) fn report_again(&mut self, thread: &ThreadState) -> Result<(), Failure> {
        epoll::modify(
            &thread.epoll,
            self.transport.socket(),
            EventData::new_u64(self.number),
            INTEREST,
        )
        .map_err(Failure::connecting)
    }

    /// Has epoll report that the server has closed its end, where it told of that before something was sent: the
    /// answer to it will make nothing ready anew.
    #[inline]
    pub(super) fn report_end_again(&mut self, thread: &ThreadState) -> Result<(), Failure> {
        if self.has_ended {
            return self.report_again(thread);
        }
        Ok(())
    }

    pub(super) fn say_goodbye(&mut self, now_ns: u64, session: &Session, out: &mut Vec<u8>) {
        self.begin_phase(now_ns);
        out.clear();
        session.goodbye(out);
        // A server that is gone already needs no goodbye.
        let _ = self.transport.write(out);
    }

    /// Whether the server has hung up after the goodbye; what it may say before is of no interest any more.
    pub(super) fn await_end(&mut self, thread: &mut ThreadState) -> bool {
        for _ in 0..READS_AT_ONCE {
            match self.read(thread, "after the goodbye") {
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => break,
            }
        }
        true
    }

    /// A phase begins now; what was before it belongs to none.
    pub(super) fn begin_phase(&mut self, now_ns: u64) {
        self.phase_ns = now_ns;
        self.round_trips.begin_phase(self.transport.bytes());
    }

    /// Notes that a phase that began at `since_ns` has ended now, when the next begins.
    pub(super) fn end_phase(&mut self, ended: Phase, since_ns: u64, thread: &mut ThreadState) {
        self.phase_ns = now_ns();
        thread.recorder.phase(ended, self.phase_ns - since_ns);
        let crossed = self.crossed();
        thread.recorder.crossed(ended, crossed);
    }

    /// What crossed the wire in the phase that ends here.
    pub(super) fn crossed(&mut self) -> Crossed {
        self.round_trips.end_phase(self.transport.bytes())
    }

    /// Writes down what crossed the wire since the last time.
    pub(super) fn settle(&mut self, thread: &mut ThreadState) {
        let (transport, recorder) = (&self.transport, &mut thread.recorder);
        let bytes = transport.bytes();
        recorder.wire.bytes_sent += bytes.0 - self.settled.bytes.0;
        recorder.wire.bytes_received += bytes.1 - self.settled.bytes.1;
        self.settled.bytes = bytes;
        if let Some(bytes) = transport.compressed_bytes() {
            recorder.compressed(bytes.since(self.settled.compressed));
            self.settled.compressed = bytes;
        }
        if let Some(records) = transport.records() {
            let before = self.settled.records;
            recorder.records(records.0 - before.0, records.1 - before.1);
            self.settled.records = records;
        }
        if let Some(info) = transport.tcp_info() {
            let segments = (
                u64::from(info.segments_sent),
                u64::from(info.segments_received),
            );
            let before = self.settled.segments;
            recorder.segments(segments.0 - before.0, segments.1 - before.1);
            self.settled.segments = segments;
        }
    }
}
