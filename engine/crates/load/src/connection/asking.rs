//! A connection at work: a round's steps, one command and one answer each.

use tlstax_client::Failure;
use tlstax_client::clock::now_ns;
use tlstax_contract::{Negotiated, RowSample};

use super::line::Line;
use super::{Advance, READS_AT_ONCE, RoundId, Work};
use crate::proof;
use crate::recorder::Phase;
use crate::script::Step;
use crate::session::{Answer, Rows};
use crate::shared::ThreadState;

/// More rows than a checked statement has; an answer with more is not kept.
const MOST_SAMPLE_ROWS: usize = 20_000;

/// What an open connection does.
#[derive(Debug, Clone, Copy)]
enum Activity {
    /// Nothing is due.
    Idle,
    /// The answer to this step is due.
    Answering(Step),
}

/// An open connection.
pub(super) struct Open {
    pub(super) line: Line,
    activity: Activity,
    first_query: bool,
}

impl Open {
    /// A line whose server takes statements.
    pub(super) fn new(line: Line) -> Self {
        Self {
            line,
            activity: Activity::Idle,
            first_query: true,
        }
    }

    /// Goes on after the socket became ready.
    pub(super) fn proceed(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        match self.activity {
            Activity::Answering(step) => self.read_answer(step, work, thread),
            Activity::Idle => self.notice_hang_up(work, thread),
        }
    }

    /// An idle connection became ready: the server hung up, or said something unasked.
    fn notice_hang_up(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        if let Some(count) = self.line.read(thread, "while it was idle")? {
            work.session.unasked(&thread.buffer[..count])?;
        }
        Ok(Advance::Waiting)
    }

    /// Sends the next step's command, or ends the round.
    pub(super) fn next_step(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        let round = work.round(&thread.shared.script);
        let Some(&step) = round.steps.get(work.step) else {
            self.activity = Activity::Idle;
            let at_ns = self.line.phase_ns;
            return Ok(Advance::Finished { at_ns });
        };
        self.ask(step, work, thread)?;
        Ok(Advance::Waiting)
    }

    /// Sends a step's command.
    fn ask(
        &mut self,
        step: Step,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<(), Failure> {
        let script = &thread.shared.script;
        let (session, out) = (&mut work.session, &mut work.out);
        match step {
            Step::Prove => session.ask_proof(out)?,
            Step::Open(number) => session.say(script.opening[number].as_bytes(), out)?,
            Step::Begin => session.say(b"BEGIN", out)?,
            Step::Commit => session.say(b"COMMIT", out)?,
            Step::RollBack => session.say(b"ROLLBACK", out)?,
            Step::Prepare(number) => session.prepare(number, &script.templates[number], out)?,
            Step::Run(number) => {
                let measured = work.round == RoundId::Operation;
                if measured && script.only_reads && thread.take_sample() {
                    session.keep_rows(MOST_SAMPLE_ROWS);
                }
                let template = &thread.shared.script.templates[number];
                work.values.draw(&template.generators, &mut thread.rng);
                session.run(number, template, &work.values, out)?;
            }
        }
        self.activity = Activity::Answering(step);
        self.line.flush(&mut work.out)?;
        self.line.report_end_again(thread)
    }

    fn read_answer(
        &mut self,
        step: Step,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.line.flush(&mut work.out)? {
                return Ok(Advance::Waiting);
            }
            let Some(count) = self.line.read(thread, "while an answer was due")? else {
                return Ok(Advance::Waiting);
            };
            match work.session.answer(&thread.buffer[..count]) {
                Ok(None) => {}
                Ok(Some(answer)) => return self.answered(step, answer, work, thread),
                Err(failure) => return self.refused(step, failure, work, thread),
            }
        }
        self.line.report_again(thread)?;
        Ok(Advance::Waiting)
    }

    /// Goes on after an answer.
    fn answered(
        &mut self,
        step: Step,
        answer: Answer,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        self.write_down(step, answer, work, thread);
        if step == Step::RollBack {
            self.activity = Activity::Idle;
            return Ok(Advance::Refused);
        }
        work.step += 1;
        self.next_step(work, thread)
    }

    /// Goes on after a failure, if it is the server's answer to a statement of an operation: that has
    /// failed then and what it did is taken back, but the connection stays, because a new one would
    /// put a login and a handshake into the window that the workload has not.
    fn refused(
        &mut self,
        step: Step,
        failure: Failure,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        let of_operation = matches!(step, Step::Run(_) | Step::Begin | Step::Commit)
            && work.round == RoundId::Operation;
        if !of_operation || !failure.is_refusal() {
            return Err(failure);
        }
        self.line.begin_phase(now_ns());
        self.first_query = false;
        drop(work.session.take_rows());
        work.refusal = Some(failure);
        if work.session.in_transaction() {
            self.ask(Step::RollBack, work, thread)?;
            return Ok(Advance::Waiting);
        }
        self.activity = Activity::Idle;
        Ok(Advance::Refused)
    }

    /// Writes down an answer that is whole.
    fn write_down(
        &mut self,
        step: Step,
        answer: Answer,
        work: &mut Work,
        thread: &mut ThreadState,
    ) {
        match step {
            Step::Prepare(_) | Step::Open(_) | Step::RollBack => self.line.begin_phase(now_ns()),
            Step::Prove => {
                self.line.begin_phase(now_ns());
                self.write_proof(work, thread);
            }
            Step::Begin | Step::Commit => self.end_query(thread),
            Step::Run(number) => {
                self.end_query(thread);
                if let Some(rows) = work.session.take_rows() {
                    keep(number, answer, rows, work, thread);
                }
            }
        }
    }

    fn end_query(&mut self, thread: &mut ThreadState) {
        let phase = if self.first_query {
            Phase::FirstQuery
        } else {
            Phase::Query
        };
        self.first_query = false;
        self.line.end_phase(phase, self.line.phase_ns, thread);
    }

    /// Puts both sides' views side by side. Only the last round of setting up is like the
    /// operations that follow; the ones before it may have made a full handshake.
    fn write_proof(&mut self, work: &mut Work, thread: &mut ThreadState) {
        let server = work.session.take_proof();
        if work.round != RoundId::SetUp(thread.shared.script.set_up.len() - 1) {
            return;
        }
        let client = self.line.transport.tls().and_then(|tls| {
            let certificate = tls.peer_certificate();
            let own = proof::ClientProof {
                authorities: tls.authorities(),
                has_certificate: tls.client_certificate(),
            };
            tls.negotiated()
                .map(|seen| proof::client_view(&seen, certificate.as_ref(), own))
        });
        let proof = Negotiated {
            connections: 1,
            client,
            server: server.tls,
            client_tells: true,
            compression: server.compression,
        };
        proof::add(&mut thread.proofs, proof);
    }
}

/// Keeps a statement and its rows for checking, if all of them were kept.
fn keep(number: usize, answer: Answer, rows: Rows, work: &Work, thread: &mut ThreadState) {
    if answer.result_sets != 1 || answer.rows != rows.values.len() as u64 {
        return;
    }
    let mut sql = Vec::new();
    let template = &thread.shared.script.templates[number];
    work.session.render(template, &work.values, &mut sql);
    thread.sample_bytes += rows.bytes;
    thread.recorder.row_samples.push(RowSample {
        sql: String::from_utf8_lossy(&sql).into_owned(),
        rows: rows.values,
    });
}
