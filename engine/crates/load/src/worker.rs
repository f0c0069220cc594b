//! One thread's event loop: its connections, their rounds, and when the next ones are due.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;
use tlstax_contract::{Counts, ErrorKind, Fault, Negotiated};

use crate::clock::now_ns;
use crate::connection::{Advance, Connection, RoundId};
use crate::failure::Failure;
use crate::pace::Pace;
use crate::recorder::{Phase, Recorder, merge_counts};
use crate::schedule::OpenSchedule;
use crate::shared::{Desk, Shared};

/// Connections of one thread that are set up at the same time; more would only queue at the server.
const SETTING_UP_AT_ONCE: usize = 64;
/// How often overdue answers are looked for.
const TICK_NS: u64 = 100_000_000;
/// How long a connection rests after an error, so that a dead server is not hammered.
const REST_NS: u64 = 20_000_000;
/// After so many errors in a row and not one success, the server is given up.
const HOPELESS: u32 = 100;
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Room for the longest TLS record (16 KiB, RFC 8446 section 5.1) several times over.
const BUFFER_BYTES: usize = 64 << 10;

/// What other threads may see of a worker while it works.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Gauge {
    /// Operations finished in this stage.
    pub operations: AtomicU64,
    /// Errors met in this stage.
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
    shared: Arc<Shared>,
    gauge: Arc<Gauge>,
    connections: Vec<Connection>,
    desk: Desk,
    events: Vec<Event>,
    idle: VecDeque<usize>,
    resting: VecDeque<(u64, usize)>,
    busy: usize,
    failures_in_a_row: u32,
    next_tick_ns: u64,
    before: Counts,
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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Failure::connecting(&error.into()))?;
        let connections = (0..count)
            .map(|index| Connection::new(index as u64, &shared))
            .collect::<Result<Vec<_>, _>>()?;
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        Ok(Self {
            shared,
            gauge,
            connections,
            desk: Desk {
                epoll,
                buffer: vec![0; BUFFER_BYTES],
                recorder: Recorder::new(),
                rng: Rng::with_seed(seed.wrapping_add(number as u64)),
                proofs: Vec::new(),
                server_version: String::new(),
                next_source: number,
                samples_wanted: samples,
                next_sample_at: 0,
            },
            events: vec![none; EVENTS],
            idle: VecDeque::with_capacity(count),
            resting: VecDeque::with_capacity(count),
            busy: 0,
            failures_in_a_row: 0,
            next_tick_ns: 0,
            before: Counts::default(),
        })
    }

    /// Takes every connection through the rounds of setting up.
    ///
    /// # Errors
    /// The first failure of any of them.
    pub fn set_up(&mut self) -> Result<SetUp, Failure> {
        let rounds = self.shared.script.set_up.len();
        let (mut begun, mut done) = (0, 0);
        while done < self.connections.len() {
            while begun < self.connections.len() && begun - done < SETTING_UP_AT_ONCE {
                self.begin(begun, RoundId::SetUp(0), now_ns())?;
                begun += 1;
            }
            let ready = self.wait(TICK_NS)?;
            for place in 0..ready {
                let (index, advance) = self.proceed(place);
                if let Advance::Waiting = advance? {
                    continue;
                }
                match self.connections[index].round() {
                    RoundId::SetUp(number) if number + 1 < rounds => {
                        self.begin(index, RoundId::SetUp(number + 1), now_ns())?;
                    }
                    _ => {
                        self.idle.push_back(index);
                        done += 1;
                    }
                }
            }
            if let Some((_, failure)) = self.overdue(now_ns()) {
                return Err(failure);
            }
        }
        Ok(SetUp {
            proofs: std::mem::take(&mut self.desk.proofs),
            server_version: std::mem::take(&mut self.desk.server_version),
        })
    }

    /// Forgets what was written down so far, but for the counts of the whole life.
    pub fn start_afresh(&mut self, samples: usize) {
        for connection in &mut self.connections {
            connection.settle_wire(&mut self.desk);
        }
        let past = std::mem::take(&mut self.desk.recorder);
        merge_counts(&mut self.before, &past.counts);
        (self.desk.samples_wanted, self.desk.next_sample_at) = (samples, 0);
        self.gauge.operations.store(0, Ordering::Relaxed);
        self.gauge.errors.store(0, Ordering::Relaxed);
    }

    /// Works until `end_ns` and finishes what is in flight then. Without a schedule the loop is
    /// closed: each connection starts anew when it has been answered.
    ///
    /// # Errors
    /// The server is given up.
    pub fn work(&mut self, end_ns: u64, mut schedule: Option<OpenSchedule>) -> Result<(), Failure> {
        self.failures_in_a_row = 0;
        let mut pace = Pace::default();
        self.start_due(end_ns, &mut schedule)?;
        while self.busy > 0 || self.has_more(end_ns, schedule.as_ref()) {
            if let Some(rest_ns) = pace.rest_ns(self.busy).filter(|_| schedule.is_none()) {
                rest(rest_ns);
            }
            let now = now_ns();
            let ready = self.wait(self.patience_ns(now, schedule.as_ref()))?;
            pace.looked(ready, now_ns());
            for place in 0..ready {
                let (index, advance) = self.proceed(place);
                self.handle(index, advance, end_ns, schedule.is_none())?;
            }
            self.look_after(end_ns, schedule.is_none())?;
            if schedule.is_some() || !self.idle.is_empty() {
                self.start_due(end_ns, &mut schedule)?;
            }
        }
        if let Some(schedule) = &mut schedule {
            self.desk.recorder.skipped = schedule.skip_rest();
            self.desk.recorder.scheduled += self.desk.recorder.skipped;
        }
        Ok(())
    }

    /// What was written down since the last fresh start, and the counts of the whole life.
    pub fn into_record(mut self) -> (Recorder, Counts) {
        for connection in &mut self.connections {
            connection.settle_wire(&mut self.desk);
        }
        let record = std::mem::take(&mut self.desk.recorder);
        let mut lifetime = std::mem::take(&mut self.before);
        merge_counts(&mut lifetime, &record.counts);
        for connection in self
            .connections
            .iter_mut()
            .filter(|connection| connection.is_open())
        {
            connection.close(&mut self.desk);
        }
        (record, lifetime)
    }

    fn has_more(&self, end_ns: u64, schedule: Option<&OpenSchedule>) -> bool {
        match schedule {
            Some(schedule) => schedule.next_due_ns().is_some() && now_ns() < end_ns,
            None => !self.resting.is_empty() && now_ns() < end_ns,
        }
    }

    /// How long the kernel may be asked to wait.
    fn patience_ns(&self, now_ns: u64, schedule: Option<&OpenSchedule>) -> u64 {
        let due = schedule
            .filter(|_| !self.idle.is_empty())
            .and_then(OpenSchedule::next_due_ns)
            .map_or(TICK_NS, |due| due.saturating_sub(now_ns));
        let rested = self
            .resting
            .front()
            .map_or(TICK_NS, |(until, _)| until.saturating_sub(now_ns));
        due.min(rested).min(TICK_NS)
    }

    /// Starts operations on idle connections: all of them in a closed loop, as many as are due in
    /// an open one.
    fn start_due(
        &mut self,
        end_ns: u64,
        schedule: &mut Option<OpenSchedule>,
    ) -> Result<(), Failure> {
        while !self.idle.is_empty() {
            let now = now_ns();
            let due = match schedule {
                Some(schedule) if now < end_ns => schedule.take_due(now),
                None if now < end_ns => Some(now),
                _ => None,
            };
            let (Some(due), Some(index)) = (due, due.and_then(|_| self.idle.pop_front())) else {
                break;
            };
            self.start(index, due, now)?;
        }
        Ok(())
    }

    fn start(&mut self, index: usize, due_ns: u64, now_ns: u64) -> Result<(), Failure> {
        self.desk.recorder.scheduled += 1;
        self.busy += 1;
        let begun = self.connections[index].begin(
            RoundId::Operation,
            due_ns,
            now_ns,
            &self.shared,
            &mut self.desk,
        );
        begun.map(drop).or_else(|failure| self.fail(index, failure))
    }

    /// Deals with what came of a connection's readiness.
    fn handle(
        &mut self,
        index: usize,
        advance: Result<Advance, Failure>,
        end_ns: u64,
        closed_loop: bool,
    ) -> Result<(), Failure> {
        let at_ns = match advance {
            Ok(Advance::Waiting) => return Ok(()),
            Ok(Advance::Finished { at_ns }) => at_ns,
            Err(failure) => return self.fail(index, failure),
        };
        self.busy -= 1;
        let connection = &self.connections[index];
        if connection.round() == RoundId::Operation {
            self.failures_in_a_row = 0;
            let recorder = &mut self.desk.recorder;
            recorder.phase(Phase::Operation, at_ns.saturating_sub(connection.due_ns()));
            recorder.operations += 1;
            recorder.last_answer_ns = at_ns;
            self.gauge
                .operations
                .store(recorder.operations, Ordering::Relaxed);
        }
        if closed_loop && at_ns < end_ns {
            // A kept connection goes on from the moment of its answer; hanging up takes time.
            let now = if self.connections[index].is_open() {
                at_ns
            } else {
                now_ns()
            };
            return self.start(index, now, now);
        }
        self.idle.push_back(index);
        Ok(())
    }

    /// Writes a failure down and lets the connection rest.
    fn fail(&mut self, index: usize, failure: Failure) -> Result<(), Failure> {
        if self.connections[index].is_working() {
            self.busy -= 1;
        } else {
            // It hung up while nothing was due on it.
            self.idle.retain(|other| *other != index);
        }
        self.connections[index].abandon(&mut self.desk);
        let recorder = &mut self.desk.recorder;
        recorder.error(failure.kind, failure.code);
        recorder.last_answer_ns = now_ns();
        self.gauge.errors.fetch_add(1, Ordering::Relaxed);
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= HOPELESS {
            return Err(failure);
        }
        self.resting.push_back((now_ns() + REST_NS, index));
        Ok(())
    }

    /// Ends what is overdue and wakes what has rested.
    fn look_after(&mut self, end_ns: u64, closed_loop: bool) -> Result<(), Failure> {
        let now = now_ns();
        while let Some((index, failure)) = self.overdue(now) {
            self.fail(index, failure)?;
        }
        // What has not rested enough when the stage ends goes on resting into the next.
        while now < end_ns && self.resting.front().is_some_and(|(until, _)| *until <= now) {
            let Some((_, index)) = self.resting.pop_front() else {
                break;
            };
            self.wake(index, now, closed_loop)?;
        }
        Ok(())
    }

    fn wake(&mut self, index: usize, now_ns: u64, closed_loop: bool) -> Result<(), Failure> {
        if self.shared.script.recover.is_none() {
            if closed_loop {
                return self.start(index, now_ns, now_ns);
            }
            self.idle.push_back(index);
            return Ok(());
        }
        self.busy += 1;
        match self.begin(index, RoundId::Recover, now_ns) {
            Ok(()) => Ok(()),
            Err(failure) => self.fail(index, failure),
        }
    }

    fn begin(&mut self, index: usize, round: RoundId, now_ns: u64) -> Result<(), Failure> {
        self.connections[index]
            .begin(round, now_ns, now_ns, &self.shared, &mut self.desk)
            .map(drop)
    }

    /// A connection whose answer is overdue, looked for once a tick.
    fn overdue(&mut self, now_ns: u64) -> Option<(usize, Failure)> {
        if now_ns < self.next_tick_ns {
            return None;
        }
        let late = self
            .connections
            .iter()
            .position(|connection| connection.is_late(now_ns));
        if late.is_none() {
            self.next_tick_ns = now_ns + TICK_NS;
        }
        late.map(|index| {
            let waited_s = self.shared.timeout_ns / 1_000_000_000;
            let message = format!("the server has not answered for {waited_s} s");
            (
                index,
                Failure::new(ErrorKind::Timeout, Fault::Server, message),
            )
        })
    }

    /// Waits for sockets to become ready; how many are.
    fn wait(&mut self, patience_ns: u64) -> Result<usize, Failure> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(patience_ns.min(TICK_NS)).unwrap_or_default(),
        };
        match epoll::wait(&self.desk.epoll, &mut self.events[..], Some(&timeout)) {
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(Failure::connecting(&error.into())),
        }
    }

    /// Lets the connection of an event go on.
    fn proceed(&mut self, place: usize) -> (usize, Result<Advance, Failure>) {
        let Event { flags, data } = self.events[place];
        let readable = flags
            .intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        // The data is the index that this worker gave when it registered the socket.
        let index = usize::try_from(data.u64()).unwrap_or_default();
        let advance = self.connections[index].proceed(readable, &self.shared, &mut self.desk);
        (index, advance)
    }
}

/// Sleeps by the clock.
fn rest(rest_ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(rest_ns));
}
