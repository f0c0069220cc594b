//! Storms: in each round all connections are opened at once, kept until the last is open, and closed.

use std::sync::Arc;

use tlstax_client::Failure;
use tlstax_client::clock::now_ns;

use super::Worker;
use crate::connection::{Advance, RoundId};
use crate::dispatch::Stage;
use crate::slice::RoundTimes;

/// How soon a connection is tried again for which a Unix socket had no place in its queue: a client
/// that blocks in `connect(2)` is woken when there is one, one that does not is told nothing.
const TRY_AGAIN_NS: u64 = 100_000;
/// For how long a server may take to hang up after the goodbye: many times the longest way to it.
const LONGEST_PARTING_NS: u64 = 2_000_000_000;

impl Worker {
    /// Goes through rounds together with the other threads, until there were N or the stage is
    /// over; one that is measured has a round however short it is. The next round begins when the server
    /// has let go of the last one's connections, so that it finds the server as the first one did. The
    /// closing is in no round's time, but the stage lasts until it is over.
    pub(super) fn storm(&mut self, stage: Stage, rounds: u32) -> Result<(), Failure> {
        let shared = Arc::clone(&self.thread.shared);
        self.storms += 1;
        self.dispatch.begin(stage, None);
        for round in 0..rounds {
            let is_owed = self.measures && round == 0;
            if !is_owed && now_ns() >= stage.end_ns {
                shared.barrier.end(self.storms);
            }
            shared.barrier.wait();
            if shared.barrier.is_over(self.storms) {
                break;
            }
            let round = self.open_all()?;
            self.thread.recorder.slice.rounds.push(round);
            shared.barrier.wait();
            self.close_all()?;
            self.thread.recorder.slice.last_answer_ns = now_ns();
        }
        Ok(())
    }

    fn open_all(&mut self) -> Result<RoundTimes, Failure> {
        let begun_ns = now_ns();
        let mut round = RoundTimes {
            begun_ns,
            open_ns: 0,
        };
        let (mut next, mut due_ns) = (0, begun_ns);
        while next < self.connections.len() || self.dispatch.working() > 0 {
            while next < self.connections.len() && self.open(next, due_ns)? {
                next += 1;
                due_ns = now_ns();
            }
            let ready = if next < self.connections.len() {
                self.wait_for(TRY_AGAIN_NS)?
            } else {
                self.wait(now_ns())?
            };
            for place in 0..ready {
                if let Some((index, advance)) = self.proceed(place) {
                    self.note_opening(index, advance, &mut round)?;
                }
            }
            while let Some(index) = self.dispatch.overdue(now_ns()) {
                self.drop_out(index, self.silent())?;
            }
        }
        Ok(round)
    }

    /// Begins a connection that was due at `due_ns`; false when it has to be tried again.
    fn open(&mut self, index: usize, due_ns: u64) -> Result<bool, Failure> {
        let connection = &mut self.connections[index];
        let begun = connection.begin(RoundId::Operation, due_ns, &mut self.thread);
        let patient = now_ns() - due_ns < self.thread.shared.timeout_ns;
        if let Err(failure) = &begun {
            if failure.is_full_queue() && patient {
                connection.abandon(&mut self.thread);
                return Ok(false);
            }
        }
        self.thread.recorder.scheduled += 1;
        self.dispatch.engage(index, due_ns, due_ns);
        if let Err(failure) = begun {
            self.drop_out(index, failure)?;
        }
        Ok(true)
    }

    /// Deals with what came of a connection's readiness: of one that is being opened, or of one that is
    /// open already and that the server did not let wait for the others.
    fn note_opening(
        &mut self,
        index: usize,
        advance: Result<Advance, Failure>,
        round: &mut RoundTimes,
    ) -> Result<(), Failure> {
        match advance {
            Ok(Advance::Finished { at_ns }) => {
                self.write_answered(index, at_ns);
                round.open_ns = round.open_ns.max(at_ns);
                Ok(())
            }
            Ok(Advance::Waiting | Advance::Refused) => Ok(()),
            Err(failure) => self.drop_out(index, failure),
        }
    }

    /// Writes a failure down; the round goes on without this connection.
    fn drop_out(&mut self, index: usize, failure: Failure) -> Result<(), Failure> {
        self.connections[index].abandon(&mut self.thread);
        self.write_failure(&failure, now_ns());
        if self.dispatch.drop_out(index) {
            Ok(())
        } else {
            Err(failure)
        }
    }

    fn close_all(&mut self) -> Result<(), Failure> {
        let mut open = 0;
        for connection in self.connections.iter_mut().filter(|one| one.is_open()) {
            connection.part();
            open += 1;
        }
        let give_up_ns = now_ns() + LONGEST_PARTING_NS.min(self.thread.shared.timeout_ns);
        while open > 0 && now_ns() < give_up_ns {
            let ready = self.wait(now_ns())?;
            for place in 0..ready {
                if let Some((_, Ok(Advance::Finished { .. }))) = self.proceed(place) {
                    open -= 1;
                }
            }
        }
        for connection in self.connections.iter_mut().filter(|one| one.is_open()) {
            connection.give_up_parting(&mut self.thread);
        }
        self.see_off(LONGEST_PARTING_NS)
    }
}
