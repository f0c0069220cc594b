//! One connection's life as a table of states, from the first SYN to its last answer.
//!
//! A connection makes *rounds* (see [`crate::script`]): it connects if it is closed, takes the
//! round's steps one after another, and hangs up if the round says so. It never waits: every call
//! goes as far as the socket lets it. Each state has what there is in it and no more: `line` is the
//! socket and what crosses it, `opening` the line's way up to the login's end, `asking` statements
//! and answers.

mod asking;
mod line;
mod opening;

use rustix::event::epoll::EventFlags;
use tlstax_client::Failure;
use tlstax_client::clock::now_ns;
use tlstax_tls::{Connection as TlsConnection, SavedSession};

use crate::recorder::Phase;
use crate::script::{Round, Script};
use crate::session::Session;
use crate::shared::{Shared, ThreadState};
use crate::values::Values;
use asking::Open;
use line::Line;

/// This many reads for one connection, and the others and the clock have their turn: a server that never
/// pauses would otherwise keep them waiting for ever.
const READS_AT_ONCE: usize = 64;

/// Where a connection stands, and what it has there.
// A box around the open one would be an allocation for each connection, which may be each operation.
#[allow(clippy::large_enum_variant)]
#[derive(Default)]
enum State {
    /// There is no socket. Leaves by `begin`.
    #[default]
    Closed,
    /// The SYN is out. Leaves when the socket becomes writable.
    Connecting(Line),
    /// A word of the server's on the way to the first statement is due. Leaves when the session says so.
    LoggingIn(Line),
    /// TLS handshake messages go back and forth. Leaves when the library says that it is done.
    Handshaking(Line),
    /// The server takes statements. Leaves when the round ends with it, or something fails.
    Open(Open),
    /// Goodbye was said, and it is left to the server to hang up. Leaves when it has.
    Parting(Line),
}

impl State {
    /// The line, where there is one.
    #[inline]
    fn line(&mut self) -> Option<&mut Line> {
        match self {
            Self::Closed => None,
            Self::Connecting(line)
            | Self::LoggingIn(line)
            | Self::Handshaking(line)
            | Self::Parting(line)
            | Self::Open(Open { line, .. }) => Some(line),
        }
    }

    /// The line alone, where there is one.
    fn into_line(self) -> Option<Line> {
        match self {
            Self::Closed => None,
            Self::Connecting(line)
            | Self::LoggingIn(line)
            | Self::Handshaking(line)
            | Self::Parting(line)
            | Self::Open(Open { line, .. }) => Some(line),
        }
    }
}

/// What takes a line from one state of its opening to the next.
#[derive(Clone, Copy)]
enum Milestone {
    /// The socket is connected.
    Connected,
    /// The TLS handshake may begin.
    StartTls,
    /// The handshake is done.
    Encrypted,
    /// The server takes statements.
    LoggedIn,
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

/// Where a connection is in the script, and what it keeps when it is closed, so that opening it again
/// allocates nothing.
struct Work {
    round: RoundId,
    operation: usize,
    step: usize,
    refusal: Option<Failure>,
    session: Session,
    out: Vec<u8>,
    values: Values,
    tls_session: Option<SavedSession>,
}

impl Work {
    /// The round that is being made, or was made last.
    #[inline]
    fn round<'s>(&self, script: &'s Script) -> &'s Round {
        match self.round {
            RoundId::SetUp(number) => &script.set_up[number],
            RoundId::Recover => &script.recover,
            RoundId::Operation => &script.operations[self.operation].round,
        }
    }
}

/// One connection.
pub struct Connection {
    number: u64,
    state: State,
    work: Work,
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
            work: Work {
                round: RoundId::SetUp(0),
                operation: 0,
                step: 0,
                refusal: None,
                session: Session::new(&shared.access, &shared.script)?,
                out: Vec::new(),
                values: Values::default(),
                tls_session: None,
            },
        })
    }

    /// Which round it makes, or made last.
    pub fn round(&self) -> RoundId {
        self.work.round
    }

    /// Whether there is a socket.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// Takes up the next operation, which [`Connection::begin`] is to begin: which it is, and the
    /// values that its statements share. False when something that it needs is used up.
    #[inline]
    pub fn take_up(&mut self, measured: bool, thread: &mut ThreadState) -> bool {
        let (work, shared) = (&mut self.work, &thread.shared);
        work.operation = shared.script.choose(&mut thread.rng);
        let operation = &shared.script.operations[work.operation];
        let firsts = work.values.start_afresh();
        if !shared
            .supply
            .take(measured, &operation.reservations, firsts)
        {
            return false;
        }
        work.values.draw_shared(&operation.shared, &mut thread.rng);
        true
    }

    /// Why the last operation was refused.
    pub fn take_refusal(&mut self) -> Option<Failure> {
        self.work.refusal.take()
    }

    /// Begins a round, on a connection that is closed or idle.
    ///
    /// # Errors
    /// The connection's end.
    pub fn begin(
        &mut self,
        round: RoundId,
        now_ns: u64,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        (self.work.round, self.work.step) = (round, 0);
        if let State::Open(open) = &mut self.state {
            open.line.begin_phase(now_ns);
            return self.next_step(thread);
        }
        self.work.out.clear();
        self.state = State::Connecting(Line::connect(self.number, now_ns, thread)?);
        Ok(Advance::Waiting)
    }

    /// Goes on after the socket became ready.
    ///
    /// # Errors
    /// The connection's end.
    pub fn proceed(
        &mut self,
        flags: EventFlags,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        if let Some(line) = self.state.line() {
            line.became_ready(flags);
        }
        loop {
            let milestone = match &mut self.state {
                State::Closed => None,
                State::Connecting(line) => Some(line.finish_connect(&mut self.work, thread)?),
                State::LoggingIn(line) => line.log_in(&mut self.work, thread)?,
                State::Handshaking(line) => line.shake_hands(&mut self.work, thread)?,
                State::Open(open) => {
                    let advance = open.proceed(&mut self.work, thread)?;
                    return Ok(self.end_round(advance, thread));
                }
                State::Parting(line) => {
                    let has_ended = line.await_end(thread);
                    return Ok(self.see_off(has_ended, thread));
                }
            };
            match milestone {
                None => return Ok(Advance::Waiting),
                Some(Milestone::LoggedIn) => {
                    self.pass(Milestone::LoggedIn, thread)?;
                    return self.next_step(thread);
                }
                Some(milestone) => self.pass(milestone, thread)?,
            }
        }
    }

    /// Takes the line into the state that follows a milestone.
    fn pass(&mut self, milestone: Milestone, thread: &ThreadState) -> Result<(), Failure> {
        if let Some(line) = std::mem::take(&mut self.state).into_line() {
            self.state = match milestone {
                Milestone::Connected | Milestone::Encrypted => State::LoggingIn(line),
                Milestone::StartTls => State::Handshaking(line.over_tls(&self.work, thread)?),
                Milestone::LoggedIn => State::Open(Open::new(line)),
            };
        }
        Ok(())
    }

    /// Has an open connection take the round's next step.
    fn next_step(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        let State::Open(open) = &mut self.state else {
            return Ok(Advance::Waiting);
        };
        let advance = open.next_step(&mut self.work, thread)?;
        Ok(self.end_round(advance, thread))
    }

    /// Hangs up where a round has ended and says so.
    #[inline]
    fn end_round(&mut self, advance: Advance, thread: &mut ThreadState) -> Advance {
        if advance != Advance::Waiting && self.work.round(&thread.shared.script).close {
            self.close(thread);
        }
        advance
    }

    /// Hangs up as MySQL's own client does: its goodbye, no TLS close alert, close(2).
    pub fn close(&mut self, thread: &mut ThreadState) {
        let started_ns = now_ns();
        if let Some(mut line) = std::mem::take(&mut self.state).into_line() {
            line.say_goodbye(started_ns, &self.work.session, &mut self.work.out);
            self.leave(line, thread);
        }
        thread.recorder.phase(Phase::Close, now_ns() - started_ns);
    }

    /// Says goodbye as [`Connection::close`] does, but leaves it to the server to hang up first, for
    /// which [`Connection::proceed`] waits. That is not timed.
    pub fn part(&mut self) {
        if let Some(mut line) = std::mem::take(&mut self.state).into_line() {
            line.say_goodbye(now_ns(), &self.work.session, &mut self.work.out);
            self.state = State::Parting(line);
        }
    }

    /// Closes the socket after the goodbye, once the server has hung up.
    fn see_off(&mut self, has_ended: bool, thread: &mut ThreadState) -> Advance {
        if !has_ended {
            return Advance::Waiting;
        }
        self.give_up_parting(thread);
        let at_ns = now_ns();
        Advance::Finished { at_ns }
    }

    /// Closes the socket after the goodbye, whether or not the server has hung up.
    pub fn give_up_parting(&mut self, thread: &mut ThreadState) {
        if let Some(line) = std::mem::take(&mut self.state).into_line() {
            self.leave(line, thread);
        }
    }

    fn leave(&mut self, mut line: Line, thread: &mut ThreadState) {
        let crossed = line.crossed();
        thread.recorder.crossed(Phase::Close, crossed);
        self.drop_line(line, thread);
    }

    /// Drops the connection without a word, as after an error.
    pub fn abandon(&mut self, thread: &mut ThreadState) {
        if let Some(line) = std::mem::take(&mut self.state).into_line() {
            self.drop_line(line, thread);
        }
    }

    fn drop_line(&mut self, mut line: Line, thread: &mut ThreadState) {
        line.settle(thread);
        if let Some(session) = line.transport.tls().and_then(TlsConnection::take_session) {
            self.work.tls_session = Some(session);
        }
        if let Some(lingering) = &mut thread.lingering {
            lingering.keep(line.transport, &thread.epoll, now_ns());
        }
    }

    /// Writes down what crossed the wire since the last time.
    pub fn settle_wire(&mut self, thread: &mut ThreadState) {
        if let Some(line) = self.state.line() {
            line.settle(thread);
        }
    }
}
