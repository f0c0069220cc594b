//! One connection's life as a table of states, from the first SYN to its last answer.
//!
//! A connection makes *rounds* (see [`crate::script`]): it connects if it is closed, takes the
//! round's steps one after another, and hangs up if the round says so. It never waits: every call
//! goes as far as the socket lets it. `opening` holds the states up to the login's end, `asking`
//! those of statements and answers; `settling` writes down what crossed the wire.

mod asking;
mod opening;
mod settling;

use std::sync::Arc;

use asking::READS_AT_ONCE;
use rustix::event::epoll::{self, EventData, EventFlags};
use tlstax_tls::SavedSession;
use tlstax_wire::{
    Algorithm, Capabilities, DiscardRows, Login, LoginReport, PrepareParser, ResponseParser,
    RowCollector, Violation, WireError, command,
};

use crate::clock::now_ns;
use crate::failure::Failure;
use crate::recorder::Phase;
use crate::round_trips::{Bytes, RoundTrips};
use crate::script::Step;
use crate::shared::{Shared, ThreadState};
use crate::transport::{IoResult, Transport};
use crate::values::Values;
use settling::Settled;

/// What epoll is asked to report of a socket.
const INTEREST: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no socket. Leaves by `begin`.
    Closed,
    /// The SYN is out. Leaves when the socket becomes writable.
    Connecting,
    /// The greeting is due, or the answer to a login packet. Leaves when the login says so.
    LoggingIn,
    /// TLS handshake messages go back and forth. Leaves when the library says that it is done.
    Handshaking,
    /// A statement's answer is due. Leaves when the answer is whole.
    Answering,
    /// Open, nothing is due. Leaves by `begin`.
    Idle,
    /// Goodbye was said, and it is left to the server to hang up. Leaves when it has.
    Parting,
}

/// Which round a connection makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundId {
    /// Part of setting up, by number.
    SetUp(usize),
    /// Open again after an error.
    Recover,
    /// What is measured.
    Operation,
}

/// How far a call got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// The socket has to become ready first.
    Waiting,
    /// The round's last answer was there at this time.
    Finished {
        /// When.
        at_ns: u64,
    },
    /// The server refused a statement, and with it the operation; the connection is fit for the next.
    Refused,
}

/// The parsers of an open connection; they depend on what the login agreed on, compression among it.
struct Parsers {
    text: ResponseParser,
    binary: ResponseParser,
    prepare: PrepareParser,
    compression: Option<Algorithm>,
}

impl Parsers {
    fn new(report: &LoginReport) -> Self {
        Self {
            text: ResponseParser::text(report.capabilities),
            binary: ResponseParser::binary(report.capabilities),
            prepare: PrepareParser::new(report.capabilities),
            compression: Algorithm::agreed(report.capabilities),
        }
    }
}

/// One connection.
pub struct Connection {
    number: u64,
    state: State,
    transport: Option<Transport>,
    readable: bool,
    login: Login,
    parsers: Option<Parsers>,
    out: Vec<u8>,
    written: usize,
    round: RoundId,
    operation: usize,
    step: usize,
    doing: Step,
    in_transaction: bool,
    refusal: Option<Failure>,
    connect_ns: u64,
    phase_ns: u64,
    first_query: bool,
    statement_ids: Vec<u32>,
    values: Values,
    collector: Option<RowCollector>,
    session: Option<SavedSession>,
    settled: Settled,
    round_trips: RoundTrips,
}

impl Connection {
    /// A closed connection; `number` is what epoll calls it.
    ///
    /// # Errors
    /// An account that the protocol cannot carry.
    pub fn new(number: u64, shared: &Shared) -> Result<Self, Failure> {
        Ok(Self {
            number,
            state: State::Closed,
            transport: None,
            readable: false,
            login: Login::new(Arc::clone(&shared.login))?,
            parsers: None,
            out: Vec::new(),
            written: 0,
            round: RoundId::SetUp(0),
            operation: 0,
            step: 0,
            doing: Step::Prove,
            in_transaction: false,
            refusal: None,
            connect_ns: 0,
            phase_ns: 0,
            first_query: true,
            statement_ids: vec![0; shared.script.templates.len()],
            values: Values::default(),
            collector: None,
            session: None,
            settled: Settled::default(),
            round_trips: RoundTrips::default(),
        })
    }

    /// Which round it makes, or made last.
    pub fn round(&self) -> RoundId {
        self.round
    }

    /// Whether there is a socket.
    pub fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    /// Takes up the next operation, which [`Connection::begin`] is to begin: which it is, and the
    /// values that its statements share. False when something that it needs is used up.
    #[inline]
    pub fn take_up(&mut self, measured: bool, thread: &mut ThreadState) -> bool {
        let shared = &thread.shared;
        self.operation = shared.script.choose(&mut thread.rng);
        let operation = &shared.script.operations[self.operation];
        let firsts = self.values.start_afresh();
        if !shared
            .supply
            .take(measured, &operation.reservations, firsts)
        {
            return false;
        }
        self.values.draw_shared(&operation.shared, &mut thread.rng);
        true
    }

    /// Why the last operation was refused.
    pub fn take_refusal(&mut self) -> Option<Failure> {
        self.refusal.take()
    }

    /// Begins a round.
    ///
    /// # Errors
    /// The connection's end.
    pub fn begin(
        &mut self,
        round: RoundId,
        now_ns: u64,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        self.round = round;
        self.step = 0;
        if self.state == State::Closed {
            self.connect(now_ns, thread)?;
            return Ok(Advance::Waiting);
        }
        self.begin_phase(now_ns);
        self.next_step(thread)
    }

    /// Goes on after the socket became ready.
    ///
    /// # Errors
    /// The connection's end.
    pub fn proceed(
        &mut self,
        readable: bool,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        self.readable |= readable;
        loop {
            let before = self.state;
            let advance = match self.state {
                State::Connecting => self.finish_connect(thread)?,
                State::LoggingIn => self.log_in(thread)?,
                State::Handshaking => self.shake_hands(thread)?,
                State::Answering => self.read_answer(thread)?,
                State::Idle => self.notice_hang_up(thread)?,
                State::Parting => self.see_off(thread),
                State::Closed => Advance::Waiting,
            };
            if advance != Advance::Waiting || self.state == before {
                return Ok(advance);
            }
        }
    }

    /// Hangs up as MySQL's own client does: `COM_QUIT`, no TLS close alert, close(2).
    pub fn close(&mut self, thread: &mut ThreadState) {
        let started_ns = now_ns();
        self.say_goodbye(started_ns);
        self.leave(thread);
        thread.recorder.phase(Phase::Close, now_ns() - started_ns);
    }

    /// Says goodbye as [`Connection::close`] does, but leaves it to the server to hang up first, for
    /// which [`Connection::proceed`] waits. That is not timed.
    pub fn part(&mut self) {
        self.say_goodbye(now_ns());
        self.state = State::Parting;
    }

    fn say_goodbye(&mut self, now_ns: u64) {
        self.begin_phase(now_ns);
        self.out.clear();
        command::quit(&mut self.out);
        if let Some(transport) = &mut self.transport {
            // A server that is gone already needs no goodbye.
            let _ = transport.write(&self.out);
        }
    }

    /// Closes the socket after the goodbye.
    pub fn leave(&mut self, thread: &mut ThreadState) {
        let crossed = self.round_trips.end_phase(self.bytes());
        thread.recorder.crossed(Phase::Close, crossed);
        self.abandon(thread);
    }

    /// Waits for the server to hang up; what it may say before is of no interest any more.
    fn see_off(&mut self, thread: &mut ThreadState) -> Advance {
        for _ in 0..READS_AT_ONCE {
            match self.read(thread, "after the goodbye") {
                Ok(Some(_)) => {}
                Ok(None) => return Advance::Waiting,
                Err(_) => break,
            }
        }
        self.leave(thread);
        let at_ns = now_ns();
        Advance::Finished { at_ns }
    }

    /// Drops the connection without a word, as after an error.
    pub fn abandon(&mut self, thread: &mut ThreadState) {
        self.settle_wire(thread);
        if let Some(tls) = self.transport.as_mut().and_then(Transport::tls) {
            if let Some(session) = tls.take_session() {
                self.session = Some(session);
            }
        }
        let left = self.transport.take();
        if let (Some(lingering), Some(transport)) = (&mut thread.lingering, left) {
            lingering.keep(transport, &thread.epoll, now_ns());
        }
        self.parsers = None;
        self.collector = None;
        self.in_transaction = false;
        self.state = State::Closed;
        self.settled = Settled::default();
    }

    /// An idle connection became ready: the server hung up, or said something unasked.
    fn notice_hang_up(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        if let Some(count) = self.read(thread, "while it was idle")? {
            nothing_more(&thread.buffer[..count])?;
        }
        Ok(Advance::Waiting)
    }

    /// Notes that a phase that began at `since_ns` has ended now, when the next begins.
    fn end_phase(&mut self, ended: Phase, since_ns: u64, thread: &mut ThreadState) {
        self.phase_ns = now_ns();
        thread.recorder.phase(ended, self.phase_ns - since_ns);
        let crossed = self.round_trips.end_phase(self.bytes());
        thread.recorder.crossed(ended, crossed);
    }

    /// A phase begins now; what was before it belongs to none.
    fn begin_phase(&mut self, now_ns: u64) {
        self.phase_ns = now_ns;
        self.round_trips.begin_phase(self.bytes());
    }

    /// Bytes on the wire since the connection was opened.
    fn bytes(&self) -> Bytes {
        self.transport.as_ref().map_or((0, 0), Transport::bytes)
    }

    /// Has epoll report the socket although nothing new happened on it: changing the registration
    /// of an edge-triggered socket tells of what is ready already (epoll(7), questions 8 and 9).
    fn report_again(&mut self, thread: &ThreadState) -> Result<(), Failure> {
        let socket = socket(&mut self.transport)?.socket();
        epoll::modify(
            &thread.epoll,
            socket,
            EventData::new_u64(self.number),
            INTEREST,
        )
        .map_err(Failure::connecting)
    }

    /// Writes what is outgoing; false when the socket does not take all of it yet.
    fn flush(&mut self) -> Result<bool, Failure> {
        if self.out.is_empty() {
            return Ok(true);
        }
        while self.written < self.out.len() {
            match socket(&mut self.transport)?.write(&self.out[self.written..])? {
                IoResult::Bytes(count) => self.written += count,
                IoResult::Blocked | IoResult::Paused => return Ok(false),
                IoResult::Closed => {
                    return Err(Failure::Closed {
                        when: "while it was written to",
                    });
                }
            }
        }
        self.out.clear();
        self.written = 0;
        self.round_trips.sent();
        // The answer to what has just been sent will make the socket ready anew (epoll(7), edge
        // triggered), so there is no need to try and read before.
        self.readable = false;
        Ok(true)
    }

    /// Reads into the thread's buffer; none when nothing is there.
    fn read(
        &mut self,
        thread: &mut ThreadState,
        when: &'static str,
    ) -> Result<Option<usize>, Failure> {
        if !self.readable {
            return Ok(None);
        }
        match socket(&mut self.transport)?.read(&mut thread.buffer)? {
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
}

/// An error where the server said what it was not asked: its goodbye, which is an ERR packet, or
/// anything else.
fn nothing_more(rest: &[u8]) -> Result<(), Failure> {
    if rest.is_empty() {
        return Ok(());
    }
    let mut parser = ResponseParser::text(Capabilities::default());
    let error = match parser.feed(rest, &mut DiscardRows) {
        Err(goodbye @ WireError::Server(_)) => goodbye,
        _ => Violation::OutOfTurn("more than it was asked for").into(),
    };
    Err(error.into())
}

fn socket(transport: &mut Option<Transport>) -> Result<&mut Transport, Failure> {
    transport.as_mut().ok_or_else(|| internal("no socket"))
}

fn internal(what: &'static str) -> Failure {
    Failure::Mistake(what)
}
