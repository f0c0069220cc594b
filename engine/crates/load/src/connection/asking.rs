//! A connection at work: a round's steps, one command and one answer each.

use tlstax_client::Failure;
use tlstax_client::clock::now_ns;
use tlstax_contract::{Negotiated, Protocol, RowSample};
use tlstax_wire::{
    Algorithm, DiscardRows, LoginReport, PrepareParser, PrepareProgress, Progress, Response,
    ResponseParser, RowCollector, Status, WireError, command,
};

use super::line::Line;
use super::{Advance, READS_AT_ONCE, RoundId, Work, nothing_more};
use crate::proof;
use crate::recorder::Phase;
use crate::script::Step;
use crate::shared::{Shared, ThreadState};

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

/// The parsers of an open connection; they depend on what the login agreed on, compression among it.
struct Parsers {
    text: ResponseParser,
    binary: ResponseParser,
    prepare: PrepareParser,
}

/// An open connection.
pub(super) struct Open {
    pub(super) line: Line,
    activity: Activity,
    parsers: Parsers,
    compression: Option<Algorithm>,
    collector: Option<RowCollector>,
    first_query: bool,
    in_transaction: bool,
}

impl Open {
    /// A line on which the server has said OK.
    pub(super) fn new(line: Line, report: &LoginReport) -> Self {
        Self {
            line,
            activity: Activity::Idle,
            parsers: Parsers {
                text: ResponseParser::text(report.capabilities),
                binary: ResponseParser::binary(report.capabilities),
                prepare: PrepareParser::new(report.capabilities),
            },
            compression: Algorithm::agreed(report.capabilities),
            collector: None,
            first_query: true,
            in_transaction: false,
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
            Activity::Idle => self.notice_hang_up(thread),
        }
    }

    /// An idle connection became ready: the server hung up, or said something unasked.
    fn notice_hang_up(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        if let Some(count) = self.line.read(thread, "while it was idle")? {
            nothing_more(&thread.buffer[..count])?;
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
        match step {
            Step::Prove => {
                self.collector =
                    Some(RowCollector::new(proof::MOST_ROWS).with_max_bytes(proof::MOST_BYTES));
                self.say(proof::QUESTION, work);
            }
            Step::Open(number) => self.say(script.opening[number].as_bytes(), work),
            Step::Begin => self.say(b"BEGIN", work),
            Step::Commit => self.say(b"COMMIT", work),
            Step::RollBack => self.say(b"ROLLBACK", work),
            Step::Prepare(number) => {
                let sql = script.templates[number].prepared_sql();
                let answer = command::stmt_prepare(&mut work.out, sql.as_bytes());
                self.parsers.prepare.reset_at(answer);
            }
            Step::Run(number) => {
                let measured = work.round == RoundId::Operation;
                if measured && script.only_reads && thread.take_sample() {
                    self.collector = Some(RowCollector::new(MOST_SAMPLE_ROWS));
                }
                self.run(number, work, thread);
            }
        }
        self.activity = Activity::Answering(step);
        self.line.flush(&mut work.out).map(drop)
    }

    /// Writes a query as it is.
    fn say(&mut self, sql: &[u8], work: &mut Work) {
        let answer = command::query(&mut work.out, sql);
        self.parsers.text.reset_at(answer);
    }

    /// Writes a statement's command with values drawn for it.
    #[inline]
    fn run(&mut self, number: usize, work: &mut Work, thread: &mut ThreadState) {
        let template = &thread.shared.script.templates[number];
        work.values.draw(&template.generators, &mut thread.rng);
        let (out, values) = (&mut work.out, &work.values);
        match template.protocol {
            Protocol::Text => {
                let answer = command::query_with(out, |sql| template.render(values, sql));
                self.parsers.text.reset_at(answer);
            }
            Protocol::Prepared => {
                let id = work.statement_ids[number];
                let answer = command::stmt_execute_with(out, id, template.params(values));
                self.parsers.binary.reset_at(answer);
            }
        }
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
            match self.parse(step, &thread.buffer[..count], work, &thread.shared) {
                Ok(None) => {}
                Ok(Some(response)) => return self.answered(step, &response, work, thread),
                Err(failure) => return self.refused(step, failure, work, thread),
            }
        }
        self.line.report_again(thread)?;
        Ok(Advance::Waiting)
    }

    /// Feeds what was read to the step's parser; the answer, when it is whole.
    fn parse(
        &mut self,
        step: Step,
        input: &[u8],
        work: &mut Work,
        shared: &Shared,
    ) -> Result<Option<Response>, Failure> {
        let parser = match step {
            Step::Prepare(number) => {
                return Ok(match self.parsers.prepare.feed(input)? {
                    PrepareProgress::NeedMore => None,
                    PrepareProgress::Complete {
                        consumed,
                        statement,
                    } => {
                        work.statement_ids[number] = statement.statement_id;
                        nothing_more(&input[consumed..])?;
                        Some(Response::default())
                    }
                });
            }
            Step::Run(number) if shared.script.templates[number].protocol == Protocol::Prepared => {
                &mut self.parsers.binary
            }
            _ => &mut self.parsers.text,
        };
        let fed = match &mut self.collector {
            Some(collector) => parser.feed(input, collector),
            None => parser.feed(input, &mut DiscardRows),
        };
        match fed {
            Ok(Progress::NeedMore) => Ok(None),
            Ok(Progress::Complete { consumed, response }) => {
                nothing_more(&input[consumed..])?;
                Ok(Some(response))
            }
            Err(error) => {
                let usable = error.leaves_connection_usable() && parser.unread_bytes() == 0;
                Err(match error {
                    WireError::Server(refusal) if usable => Failure::Statement(refusal),
                    error => error.into(),
                })
            }
        }
    }

    /// Goes on after an answer.
    fn answered(
        &mut self,
        step: Step,
        response: &Response,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        self.in_transaction = response.status.contains(Status::IN_TRANSACTION);
        self.write_down(step, response, work, thread);
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
        if !of_operation || !matches!(failure, Failure::Statement(_)) {
            return Err(failure);
        }
        self.line.begin_phase(now_ns());
        (self.first_query, self.collector) = (false, None);
        work.refusal = Some(failure);
        if self.in_transaction {
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
        response: &Response,
        work: &Work,
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
                if let Some(collector) = self.collector.take() {
                    keep(number, response, collector, work, thread);
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
    fn write_proof(&mut self, work: &Work, thread: &mut ThreadState) {
        let rows = self
            .collector
            .take()
            .map(|mut all| all.take())
            .unwrap_or_default();
        if work.round != RoundId::SetUp(thread.shared.script.set_up.len() - 1) {
            return;
        }
        let is_mariadb = work
            .login
            .greeting()
            .is_some_and(tlstax_wire::Greeting::is_mariadb);
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
            server: proof::server_view(&rows, !is_mariadb),
            client_tells: true,
            compression: Some(proof::compression(self.compression, &rows)),
        };
        proof::add(&mut thread.proofs, proof);
    }
}

/// Keeps a statement and its rows for checking, if all of them were collected.
fn keep(
    number: usize,
    response: &Response,
    mut collector: RowCollector,
    work: &Work,
    thread: &mut ThreadState,
) {
    if response.result_sets != 1 || response.rows != collector.rows().len() as u64 {
        return;
    }
    let mut sql = Vec::new();
    thread.shared.script.templates[number].render(&work.values, &mut sql);
    thread.sample_bytes += collector.kept_bytes();
    thread.recorder.row_samples.push(RowSample {
        sql: String::from_utf8_lossy(&sql).into_owned(),
        rows: collector.take(),
    });
}
