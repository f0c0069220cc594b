//! Who works when: what each connection starts, who rests, who is overdue, when a stage is over.
//!
//! Pure: it is told the time and never asks for it, and it touches no socket. The worker drives it
//! with epoll and the real clock, the tests with a clock and a server of their own.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::schedule::OpenSchedule;

/// How often overdue answers are looked for.
const TICK_NS: u64 = 100_000_000;
/// How long a connection rests after an error, so that a dead server is not hammered.
const REST_NS: u64 = 20_000_000;
/// After this many errors in a row and not one success, the server is given up.
const HOPELESS: u32 = 100;

/// When operations may start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stage {
    /// From here on nothing is due any more.
    pub end_ns: u64,
    /// What was due before the end and has not been started by now never will be. A closed loop
    /// has no such work.
    pub give_up_ns: u64,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing; it may start an operation.
    Idle,
    /// A round.
    Working,
    /// Waiting after an error.
    Resting,
}

/// A connection's place. All of them are looked through once a tick, so they are small.
#[derive(Debug, Clone, Copy)]
struct Seat {
    standing: Standing,
    due_ns: u64,
    deadline_ns: u64,
}

/// An operation that is to be started now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// On this connection.
    pub index: usize,
    /// When it was due; in a closed loop that is now.
    pub due_ns: u64,
}

/// The connections of one thread and what each of them does.
#[derive(Debug)]
pub struct Dispatch {
    seats: Vec<Seat>,
    /// In the order in which they became idle. One that failed while it was idle stays in here and
    /// is passed over when its turn comes, so that nothing is searched for.
    idle: VecDeque<usize>,
    resting: VecDeque<(u64, usize)>,
    working: usize,
    timeout_ns: u64,
    next_tick_ns: u64,
    failures_in_a_row: u32,
    stage: Stage,
    schedule: Option<OpenSchedule>,
}

impl Dispatch {
    /// N connections, none of which is to be idle before it was released. A round that takes
    /// longer than `timeout_ns` is overdue.
    pub fn new(count: usize, timeout_ns: u64) -> Self {
        let seat = Seat {
            standing: Standing::Resting,
            due_ns: 0,
            deadline_ns: u64::MAX,
        };
        Self {
            seats: vec![seat; count],
            idle: VecDeque::with_capacity(count),
            resting: VecDeque::with_capacity(count),
            working: 0,
            timeout_ns,
            next_tick_ns: 0,
            failures_in_a_row: 0,
            stage: Stage::default(),
            schedule: None,
        }
    }

    /// Begins a stage. Without a schedule the loop is closed: each connection starts anew when it
    /// has been answered.
    pub fn begin(&mut self, stage: Stage, schedule: Option<OpenSchedule>) {
        self.stage = stage;
        self.schedule = schedule;
    }

    /// Has the connections that are idle begin one after the other, evenly over `over_ns` from `now_ns` on, as
    /// if they had been at work before: all at once they would go on in step. Only where those that have
    /// rested just start anew.
    pub fn stagger(&mut self, now_ns: u64, over_ns: u64) {
        if !self.resting.is_empty() {
            return;
        }
        let count = self.idle.len() as u64;
        for place in 1..count {
            if let Some(index) = self.idle.pop_back() {
                self.seats[index].standing = Standing::Resting;
                let begins_ns = now_ns + over_ns / count * place;
                self.resting.push_back((begins_ns, index));
            }
        }
    }

    /// Operations are started until `end_ns`, if that is later, unless the stage has been ended.
    #[inline]
    pub fn prolong(&mut self, end_ns: u64) {
        if self.stage.end_ns > 0 {
            self.stage.end_ns = self.stage.end_ns.max(end_ns);
        }
    }

    /// Whether operations are due at scheduled times.
    pub fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// How many connections are in the middle of a round.
    pub fn working(&self) -> usize {
        self.working
    }

    /// The next operation to start on a connection that has been idle.
    pub fn next(&mut self, now_ns: u64) -> Option<Start> {
        let index = self.first_idle()?;
        let due_ns = self.take_due(now_ns)?;
        self.idle.pop_front();
        self.engage(index, due_ns, now_ns);
        Some(Start { index, due_ns })
    }

    /// What a connection that was just released starts; if nothing, it is idle.
    #[inline]
    pub fn next_on(&mut self, index: usize, now_ns: u64) -> Option<Start> {
        let Some(due_ns) = self.take_due(now_ns) else {
            self.park(index);
            return None;
        };
        self.engage(index, due_ns, now_ns);
        Some(Start { index, due_ns })
    }

    /// A connection begins a round that was due at `due_ns`.
    #[inline]
    pub fn engage(&mut self, index: usize, due_ns: u64, now_ns: u64) {
        self.working += 1;
        self.seats[index] = Seat {
            standing: Standing::Working,
            due_ns,
            deadline_ns: now_ns + self.timeout_ns,
        };
    }

    /// A connection's operation was answered at `at_ns`: how long after it was due.
    #[inline]
    pub fn answered(&mut self, index: usize, at_ns: u64) -> u64 {
        self.release(index);
        self.failures_in_a_row = 0;
        at_ns.saturating_sub(self.seats[index].due_ns)
    }

    /// A connection's round has ended.
    #[inline]
    pub fn release(&mut self, index: usize) {
        self.working -= 1;
        self.seats[index].standing = Standing::Idle;
    }

    /// What a connection has just been given to start is not started after all, and nothing is any
    /// more in this stage, whatever is due.
    pub fn end_with(&mut self, index: usize) {
        self.release(index);
        self.park(index);
        self.end();
    }

    /// Nothing more is started in this stage, whatever is due.
    pub fn end(&mut self) {
        self.stage = Stage::default();
        if let Some(schedule) = &mut self.schedule {
            schedule.end();
        }
    }

    /// A connection's operation was refused, and the connection is fit for the next. False when the
    /// server is to be given up.
    pub fn refused(&mut self, index: usize) -> bool {
        self.release(index);
        self.failures_in_a_row += 1;
        self.failures_in_a_row < HOPELESS
    }

    /// A released connection waits for what will be due.
    pub fn park(&mut self, index: usize) {
        self.idle.push_back(index);
    }

    /// A connection has failed and rests, whatever it was doing. False when the server is to be
    /// given up.
    pub fn rest(&mut self, index: usize, now_ns: u64) -> bool {
        self.drop_out(index);
        self.resting.push_back((now_ns + REST_NS, index));
        self.failures_in_a_row < HOPELESS
    }

    /// A connection has failed, whatever it was doing, and does nothing until it is engaged again.
    /// False when the server is to be given up: when all that the thread has have failed in a row.
    pub fn drop_out(&mut self, index: usize) -> bool {
        let seat = &mut self.seats[index];
        if seat.standing == Standing::Working {
            self.working -= 1;
        }
        seat.standing = Standing::Resting;
        self.failures_in_a_row += 1;
        (self.failures_in_a_row as usize) < self.seats.len().max(HOPELESS as usize)
    }

    /// A connection that has rested enough. What has not when the stage is over goes on resting
    /// into the next.
    pub fn rested(&mut self, now_ns: u64) -> Option<usize> {
        let &(until_ns, index) = self.resting.front()?;
        if until_ns > now_ns || now_ns >= self.last_start_ns() {
            return None;
        }
        self.resting.pop_front();
        // Not in the queue of the idle; that is for the caller to say.
        self.seats[index].standing = Standing::Idle;
        Some(index)
    }

    /// A connection whose answer is overdue; looked for once a tick, until there is none.
    pub fn overdue(&mut self, now_ns: u64) -> Option<usize> {
        if now_ns < self.next_tick_ns {
            return None;
        }
        let late = |seat: &Seat| seat.standing == Standing::Working && seat.deadline_ns < now_ns;
        let found = self.seats.iter().position(late);
        if found.is_none() {
            self.next_tick_ns = now_ns + TICK_NS;
        }
        found
    }

    /// Whether nothing is under way and nothing more will be started in this stage.
    pub fn is_over(&self, now_ns: u64) -> bool {
        let more = match &self.schedule {
            Some(schedule) => schedule.next_due_ns().is_some(),
            None => !self.resting.is_empty(),
        };
        self.working == 0 && !(more && now_ns < self.last_start_ns())
    }

    /// Whether operations may still be started in this stage.
    pub fn may_start(&self, now_ns: u64) -> bool {
        now_ns < self.last_start_ns()
    }

    /// When the next scheduled operation is due, if a connection is there for it.
    pub fn next_due_ns(&mut self) -> Option<u64> {
        self.first_idle()?;
        self.schedule.as_ref()?.next_due_ns()
    }

    /// When there is something to look after, other than operations that are due: at the latest a
    /// tick from now.
    pub fn next_look_ns(&self, now_ns: u64) -> u64 {
        let tick_ns = now_ns + TICK_NS;
        let end_ns = self.last_start_ns();
        // When the stage is over nobody is woken any more, and to look for it would be to spin. That it
        // is over is not seen by itself where all that is left are connections that rest.
        let first = self.resting.front().filter(|_| now_ns < end_ns);
        first.map_or(tick_ns, |&(until_ns, _)| until_ns.min(end_ns).min(tick_ns))
    }

    /// Takes an operation that was due and never started; how long it has waited until now. To be
    /// asked when the stage is over, until there is none.
    pub fn skip(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.schedule.as_mut()?.take_due(u64::MAX)?;
        Some(now_ns.saturating_sub(due_ns))
    }

    /// When the last operation may start.
    fn last_start_ns(&self) -> u64 {
        match self.schedule {
            Some(_) => self.stage.give_up_ns,
            None => self.stage.end_ns,
        }
    }

    #[inline]
    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.schedule {
            None => (now_ns < self.stage.end_ns).then_some(now_ns),
            Some(_) if now_ns >= self.stage.give_up_ns => None,
            Some(schedule) => schedule.take_due(now_ns),
        }
    }

    fn first_idle(&mut self) -> Option<usize> {
        while let Some(&index) = self.idle.front() {
            if self.seats[index].standing == Standing::Idle {
                return Some(index);
            }
            self.idle.pop_front();
        }
        None
    }
}
