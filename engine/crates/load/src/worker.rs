//! One thread's event loop: its connections, their rounds, and when the next ones are due.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;
use tlstax_client::Failure;
use tlstax_client::clock::now_ns;
use tlstax_contract::{Counts, Negotiated};

use crate::alarm::{ALARM, Alarm};
use crate::connection::{Advance, Connection, RoundId};
use crate::dispatch::{Dispatch, Stage, Start};
use crate::lingering::{self, Lingering};
use crate::pace::Pace;
use crate::recorder::{Phase, Recorder};
use crate::schedule::OpenSchedule;
use crate::session::ScramKeys;
use crate::shared::{Shared, ThreadState};

/// Connections of one thread that are set up at the same time; more would only queue at the server.
const SETTING_UP_AT_ONCE: usize = 64;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Room for the longest TLS record (16 KiB, RFC 8446 section 5.1) several times over.
const BUFFER_BYTES: usize = 64 << 10;

mod record;
mod storm;

/// What other threads may see of a worker while it works.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Gauge {
    /// Operations finished since the warm-up.
    pub operations: AtomicU64,
    /// Errors met since then.
    pub errors: AtomicU64,
}

/// What a worker knows when all its connections are up.
#[derive(Debug)]
pub struct SetUp {
    /// What both sides said.
    pub proofs: Vec<Negotiated>,
    /// What the server's greeting said.
    pub server_version: String,
}

/// One thread's share of the connections.
pub struct Worker {
    gauge: Arc<Gauge>,
    connections: Vec<Connection>,
    thread: ThreadState,
    events: Vec<Event>,
    dispatch: Dispatch,
    alarm: Option<Alarm>,
    pace: Option<Pace>,
    storms: u64,
    /// Closed, and not opened again before the server has closed others.
    held: VecDeque<usize>,
    measures: bool,
    before: Counts,
    /// How long an operation took in the last stage.
    usual_ns: u64,
}

impl Worker {
    /// A worker for `count` connections; `seed` and `number` make its choices its own.
    ///
    /// # Errors
    /// No epoll, or an account that the protocol cannot carry.
    pub fn new(
        shared: Arc<Shared>,
        gauge: Arc<Gauge>,
        count: usize,
        number: usize,
        seed: u64,
        samples: usize,
    ) -> Result<Self, Failure> {
        let lingering = shared.lingering_of(number).map(Lingering::new);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(Failure::connecting)?;
        let connections = (0..count)
            .map(|index| Connection::new(index as u64, &shared))
            .collect::<Result<Vec<_>, _>>()?;
        let dispatch = Dispatch::new(count, shared.timeout_ns);
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        Ok(Self {
            gauge,
            connections,
            thread: ThreadState {
                shared,
                epoll,
                buffer: vec![0; BUFFER_BYTES],
                recorder: Recorder::new(),
                rng: Rng::with_seed(seed.wrapping_add(number as u64)),
                proofs: Vec::new(),
                server_version: String::new(),
                next_source: number,
                samples_wanted: samples,
                next_sample_at: 0,
                sample_bytes: 0,
                scram_keys: ScramKeys::kept(),
                lingering,
            },
            events: vec![none; EVENTS],
            dispatch,
            alarm: None,
            pace: Pace::of(count),
            storms: 0,
            held: VecDeque::new(),
            measures: false,
            before: Counts::default(),
            usual_ns: 0,
        })
    }

    /// Takes every connection through the rounds of setting up.
    ///
    /// # Errors
    /// The first failure of any of them.
    pub fn set_up(&mut self) -> Result<SetUp, Failure> {
        let rounds = self.thread.shared.script.set_up.len();
        let at_once = self.setting_up_at_once();
        let (mut begun, mut done) = (0, 0);
        let mut held = VecDeque::new();
        while done < self.connections.len() {
            while begun < self.connections.len() && begun - done < at_once && self.thread.has_room()
            {
                self.begin(begun, RoundId::SetUp(0))?;
                begun += 1;
            }
            while self.thread.has_room() {
                let Some((index, round)) = held.pop_front() else {
                    break;
                };
                self.begin(index, round)?;
            }
            let ready = self.wait(now_ns())?;
            for place in 0..ready {
                let Some((index, advance)) = self.proceed(place) else {
                    continue;
                };
                if let Advance::Waiting = advance? {
                    continue;
                }
                self.dispatch.release(index);
                match self.connections[index].round() {
                    RoundId::SetUp(number) if number + 1 < rounds => {
                        let round = RoundId::SetUp(number + 1);
                        if self.may_begin(index) {
                            self.begin(index, round)?;
                        } else {
                            held.push_back((index, round));
                        }
                    }
                    _ => {
                        self.dispatch.park(index);
                        done += 1;
                    }
                }
            }
            if self.dispatch.overdue(now_ns()).is_some() {
                return Err(self.silent());
            }
            self.give_up_lingering(held.is_empty());
        }
        self.see_off(lingering::LONGEST_NS)?;
        Ok(SetUp {
            proofs: std::mem::take(&mut self.thread.proofs),
            server_version: std::mem::take(&mut self.thread.server_version),
        })
    }

    /// How many connections are set up at the same time: fewer where the server has been promised how many there
    /// are, since some of them are closed and opened anew.
    fn setting_up_at_once(&self) -> usize {
        if self.thread.lingering.is_some() {
            SETTING_UP_AT_ONCE.min(self.connections.len().div_ceil(2))
        } else {
            SETTING_UP_AT_ONCE
        }
    }

    /// Works through a stage and finishes what is in flight when it is over. Without a schedule the
    /// loop is closed: each connection starts anew when it has been answered. With one, what was due
    /// before the stage's end is still started after it, until the stage gives up. A storm makes at most
    /// `rounds` rounds. Stages may follow each other at any distance; between them nothing is done.
    ///
    /// # Errors
    /// The server is given up.
    pub fn work(
        &mut self,
        stage: Stage,
        schedule: Option<OpenSchedule>,
        rounds: u32,
    ) -> Result<(), Failure> {
        if self.thread.shared.script.storm {
            return self.storm(stage, rounds);
        }
        if schedule.is_some() && self.alarm.is_none() {
            self.alarm = Some(Alarm::new(&self.thread.epoll)?);
        }
        self.dispatch.begin(stage, schedule);
        if self.thread.shared.full_load.is_some() && !self.thread.shared.script.keeps_connections {
            self.dispatch.stagger(now_ns(), self.usual_ns);
        }
        let mut now = self.look_after()?;
        // What was learned in one stage holds in the next. An open loop never naps: its latencies are
        // true one by one.
        let mut pace = self.pace.take_if(|_| !self.dispatch.is_open_loop());
        if let Some(pace) = &mut pace {
            pace.passed(now);
        }
        while !self.is_over(now) {
            if let (Some(alarm), Some(due_ns)) = (&mut self.alarm, self.dispatch.next_due_ns()) {
                alarm.set(due_ns)?;
            }
            let working = self.dispatch.working();
            if let Some(nap_ns) = pace.as_ref().and_then(|pace| pace.nap_ns(working, now)) {
                thread::sleep(Duration::from_nanos(nap_ns));
            }
            let ready = self.wait(now)?;
            if let Some(pace) = &mut pace {
                let looked = now_ns();
                if looked < stage.end_ns {
                    pace.looked(ready, working, looked);
                } else {
                    pace.passed(looked);
                }
            }
            for place in 0..ready {
                if let Some((index, advance)) = self.proceed(place) {
                    self.handle(index, advance)?;
                }
            }
            now = self.look_after()?;
        }
        if pace.is_some() {
            self.pace = pace;
        }
        self.rest(now);
        Ok(())
    }

    /// A stage is over: those that may not start are parked, and what an operation took is kept for the next.
    fn rest(&mut self, now: u64) {
        if !self.thread.shared.script.keeps_connections {
            while let Some(index) = self.held.pop_front() {
                self.dispatch.park(index);
            }
        }
        self.write_skipped(now);
        let done = &self.thread.recorder.slice;
        self.usual_ns = done
            .latency_sum_ns
            .checked_div(done.operations)
            .unwrap_or(self.usual_ns);
    }

    /// Waits until the server has closed all that was closed here, `longest_ns` at the most, where that is of
    /// interest.
    ///
    /// # Errors
    /// None that `epoll_wait(2)` has for a valid epoll.
    pub fn see_off(&mut self, longest_ns: u64) -> Result<(), Failure> {
        let give_up_ns = now_ns() + longest_ns;
        let count = |thread: &ThreadState| thread.lingering.as_ref().map_or(0, Lingering::count);
        while count(&self.thread) > 0 && now_ns() < give_up_ns {
            let ready = self.wait(now_ns())?;
            for place in 0..ready {
                // Of connections that are kept, which are idle.
                if let Some((index, Err(failure))) = self.proceed(place) {
                    self.fail(index, failure)?;
                }
            }
        }
        self.give_up_lingering(false);
        Ok(())
    }

    /// Says goodbye on every connection that is open.
    pub fn hang_up(mut self) {
        for connection in self
            .connections
            .iter_mut()
            .filter(|connection| connection.is_open())
        {
            connection.close(&mut self.thread);
        }
        // Whoever ends the process waits a little longer (contract/README.md, "The conversation").
        let _ = self.see_off(lingering::LONGEST_NS / 2);
    }

    /// Starts what is due on connections that have been idle, and says what time it is then.
    fn start_due(&mut self, mut now_ns: u64) -> Result<u64, Failure> {
        while self.may_begin_next() {
            let Some(start) = self.dispatch.next(now_ns) else {
                break;
            };
            self.start(start, now_ns)?;
            now_ns = tlstax_client::clock::now_ns();
        }
        Ok(now_ns)
    }

    /// Whether nothing is under way, and nothing more will be started in this stage.
    fn is_over(&self, now_ns: u64) -> bool {
        self.dispatch.is_over(now_ns) && (self.held.is_empty() || !self.dispatch.may_start(now_ns))
    }

    /// Whether this connection is open, or may be opened.
    fn may_begin(&self, index: usize) -> bool {
        self.thread.has_room() || self.connections[index].is_open()
    }

    /// The same of one that has been idle: kept connections are open then.
    fn may_begin_next(&self) -> bool {
        self.thread.has_room() || self.thread.shared.script.keeps_connections
    }

    /// Closes what the server has not closed in time, unless nobody waits for that.
    fn give_up_lingering(&mut self, nobody_waits: bool) {
        if let (false, Some(lingering)) = (nobody_waits, &mut self.thread.lingering) {
            lingering.give_up(now_ns());
        }
    }

    fn start(&mut self, start: Start, now_ns: u64) -> Result<(), Failure> {
        let connection = &mut self.connections[start.index];
        if !connection.take_up(self.measures, &mut self.thread) {
            self.dispatch.end_with(start.index);
            return Ok(());
        }
        let recorder = &mut self.thread.recorder;
        recorder.scheduled += 1;
        if self.dispatch.is_open_loop() {
            recorder.phase(Phase::StartDelay, now_ns.saturating_sub(start.due_ns));
        }
        let begun =
            self.connections[start.index].begin(RoundId::Operation, now_ns, &mut self.thread);
        begun
            .map(drop)
            .or_else(|failure| self.fail(start.index, failure))
    }

    /// Deals with what came of a connection's readiness.
    fn handle(&mut self, index: usize, advance: Result<Advance, Failure>) -> Result<(), Failure> {
        let at_ns = match advance {
            Ok(Advance::Waiting) => return Ok(()),
            Ok(Advance::Finished { at_ns }) => at_ns,
            Ok(Advance::Refused) => return self.write_refused(index),
            Err(failure) => return self.fail(index, failure),
        };
        if self.connections[index].round() == RoundId::Operation {
            self.write_answered(index, at_ns);
        } else {
            self.dispatch.release(index);
        }
        // A kept connection goes on from the moment of its answer; hanging up takes time.
        let now = if self.connections[index].is_open() {
            at_ns
        } else {
            now_ns()
        };
        self.go_on(index, now)?;
        if self.dispatch.is_open_loop() {
            // What has become due meanwhile does not wait for the rest of the events.
            self.start_due(now)?;
        }
        Ok(())
    }

    /// A released connection starts what is due, or waits for it.
    fn go_on(&mut self, index: usize, now_ns: u64) -> Result<(), Failure> {
        if !self.may_begin(index) {
            self.held.push_back(index);
            return Ok(());
        }
        match self.dispatch.next_on(index, now_ns) {
            Some(start) => self.start(start, now_ns),
            None => Ok(()),
        }
    }

    fn write_answered(&mut self, index: usize, at_ns: u64) {
        let took_ns = self.dispatch.answered(index, at_ns);
        let recorder = &mut self.thread.recorder;
        recorder.phase(Phase::Operation, took_ns);
        let mut counted_ns = 0;
        if let Some(meter) = &self.thread.shared.full_load {
            counted_ns = meter.answered(took_ns, at_ns);
            self.dispatch.prolong(meter.until_ns());
        }
        recorder.slice.answered(took_ns, at_ns, counted_ns);
        let operations = recorder.operations + recorder.slice.operations;
        self.gauge.operations.store(operations, Ordering::Relaxed);
    }

    /// Writes down what was due and never started: it has taken at least until now, and left out it
    /// would be missing where the latencies are highest.
    fn write_skipped(&mut self, now_ns: u64) {
        let recorder = &mut self.thread.recorder;
        while let Some(waited_ns) = self.dispatch.skip(now_ns) {
            recorder.scheduled += 1;
            recorder.skipped += 1;
            recorder.phase(Phase::StartDelay, waited_ns);
            recorder.phase(Phase::Operation, waited_ns);
        }
    }

    /// Writes down an operation that the server refused, and has its connection go on.
    fn write_refused(&mut self, index: usize) -> Result<(), Failure> {
        let now = now_ns();
        let hopeless = !self.dispatch.refused(index);
        if let Some(failure) = self.connections[index].take_refusal() {
            self.write_failure(&failure, now);
            if hopeless {
                return Err(failure);
            }
        }
        self.go_on(index, now)
    }

    /// Writes a failure down and lets the connection rest.
    fn fail(&mut self, index: usize, failure: Failure) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        connection.abandon(&mut self.thread);
        // Of an operation that failed twice, the first failure counts.
        let failure = connection.take_refusal().unwrap_or(failure);
        let now = now_ns();
        self.write_failure(&failure, now);
        if self.dispatch.rest(index, now) {
            Ok(())
        } else {
            Err(failure)
        }
    }

    fn write_failure(&mut self, failure: &Failure, now_ns: u64) {
        let recorder = &mut self.thread.recorder;
        recorder.error(failure);
        recorder.slice.last_answer_ns = now_ns;
        self.gauge.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends what is overdue, wakes what has rested, starts what is due; what time it is then.
    fn look_after(&mut self) -> Result<u64, Failure> {
        let now = now_ns();
        if self.thread.shared.supply.is_used_up() {
            self.dispatch.end();
        }
        while let Some(index) = self.dispatch.overdue(now) {
            self.fail(index, self.silent())?;
        }
        self.give_up_lingering(self.held.is_empty());
        while let Some(index) = self.dispatch.rested(now) {
            self.open_again(index, now)?;
        }
        while self.thread.has_room() {
            let Some(index) = self.held.pop_front() else {
                break;
            };
            self.open_again(index, now)?;
        }
        self.start_due(now)
    }

    /// Has a closed connection go on: with an operation, or with what it is to be told first.
    fn open_again(&mut self, index: usize, now_ns: u64) -> Result<(), Failure> {
        if !self.thread.shared.script.keeps_connections || !self.may_begin(index) {
            self.go_on(index, now_ns)
        } else if let Err(failure) = self.begin(index, RoundId::Recover) {
            self.fail(index, failure)
        } else {
            Ok(())
        }
    }

    /// Begins a round that is not an operation.
    fn begin(&mut self, index: usize, round: RoundId) -> Result<(), Failure> {
        let now = now_ns();
        self.dispatch.engage(index, now, now);
        self.connections[index]
            .begin(round, now, &mut self.thread)
            .map(drop)
    }

    fn silent(&self) -> Failure {
        let waited = Duration::from_nanos(self.thread.shared.timeout_ns);
        Failure::Silent(waited)
    }

    /// Waits for sockets or the alarm to become ready; how many are.
    fn wait(&mut self, now_ns: u64) -> Result<usize, Failure> {
        self.wait_for(self.dispatch.next_look_ns(now_ns).saturating_sub(now_ns))
    }

    /// Waits no longer than so long.
    fn wait_for(&mut self, patience_ns: u64) -> Result<usize, Failure> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(patience_ns).unwrap_or_default(),
        };
        match epoll::wait(&self.thread.epoll, &mut self.events[..], Some(&timeout)) {
            Ok(count) => Ok(match &mut self.thread.lingering {
                Some(lingering) => lingering.sift(&mut self.events[..count]),
                None => count,
            }),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(Failure::connecting(error)),
        }
    }

    /// Lets the connection of an event go on; none when the event was the alarm.
    fn proceed(&mut self, place: usize) -> Option<(usize, Result<Advance, Failure>)> {
        let Event { flags, data } = self.events[place];
        if data.u64() == ALARM {
            return None;
        }
        // The data is the index that this worker gave when it registered the socket.
        let index = usize::try_from(data.u64()).unwrap_or_default();
        let advance = self.connections[index].proceed(flags, &mut self.thread);
        Some((index, advance))
    }
}
