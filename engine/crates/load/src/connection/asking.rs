//! A connection at work: a round's steps, one command and one answer each.

use tlstax_contract::{Negotiated, Protocol, RowSample};
use tlstax_wire::{
    DiscardRows, PrepareProgress, Progress, Response, RowCollector, Status, WireError, command,
};

use super::{Advance, Connection, Parsers, RoundId, State, internal, nothing_more, socket};
use crate::clock::now_ns;
use crate::failure::Failure;
use crate::proof;
use crate::recorder::Phase;
use crate::script::{Round, Step};
use crate::shared::{Shared, ThreadState};
use crate::statement::Template;

/// More rows than a checked statement has; an answer with more is not kept.
const MOST_SAMPLE_ROWS: usize = 20_000;

/// So many reads for one connection, and the others and the clock have their turn: a server that never
/// pauses would otherwise keep them waiting for ever.
pub(super) const READS_AT_ONCE: usize = 64;

impl Connection {
    fn round_of<'s>(&self, shared: &'s Shared) -> Result<&'s Round, Failure> {
        match self.round {
            RoundId::SetUp(number) => shared.script.set_up.get(number),
            RoundId::Recover => shared.script.recover.as_ref(),
            RoundId::Operation => {
                let operation = shared.script.operations.get(self.operation);
                operation.map(|operation| &operation.round)
            }
        }
        .ok_or_else(|| internal("a round that the script does not have"))
    }

    /// Sends the next step's command, or ends the round.
    pub(super) fn next_step(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        let round = self.round_of(&thread.shared)?;
        let Some(&step) = round.steps.get(self.step) else {
            let (at_ns, close) = (self.phase_ns, round.close);
            self.end_round(close, thread);
            return Ok(Advance::Finished { at_ns });
        };
        self.ask(step, thread)?;
        Ok(Advance::Waiting)
    }

    fn end_round(&mut self, close: bool, thread: &mut ThreadState) {
        if close {
            self.close(thread);
        } else {
            self.state = State::Idle;
        }
    }

    /// Sends a step's command.
    fn ask(&mut self, step: Step, thread: &mut ThreadState) -> Result<(), Failure> {
        let script = &thread.shared.script;
        match step {
            Step::Prove => {
                self.collector =
                    Some(RowCollector::new(proof::MOST_ROWS).with_max_bytes(proof::MOST_BYTES));
                self.say(proof::QUESTION)?;
            }
            Step::Open(number) => self.say(script.opening[number].as_bytes())?,
            Step::Begin => self.say(b"BEGIN")?,
            Step::Commit => self.say(b"COMMIT")?,
            Step::RollBack => self.say(b"ROLLBACK")?,
            Step::Prepare(number) => {
                let sql = script.templates[number].prepared_sql();
                let answer = command::stmt_prepare(&mut self.out, sql.as_bytes());
                parsers(&mut self.parsers)?.prepare.reset_at(answer);
            }
            Step::Run(number) => {
                let measured = self.round == RoundId::Operation;
                if measured && script.only_reads && thread.take_sample() {
                    self.collector = Some(RowCollector::new(MOST_SAMPLE_ROWS));
                }
                let template = &thread.shared.script.templates[number];
                self.values.draw(&template.generators, &mut thread.rng);
                self.run(template, self.statement_ids[number])?;
            }
        }
        self.doing = step;
        self.state = State::Answering;
        self.flush().map(drop)
    }

    /// Writes a query as it is.
    fn say(&mut self, sql: &[u8]) -> Result<(), Failure> {
        let answer = command::query(&mut self.out, sql);
        parsers(&mut self.parsers)?.text.reset_at(answer);
        Ok(())
    }

    /// Writes a statement's command with the values drawn for it.
    fn run(&mut self, template: &Template, id: u32) -> Result<(), Failure> {
        let parsers = parsers(&mut self.parsers)?;
        let (out, values) = (&mut self.out, &self.values);
        match template.protocol {
            Protocol::Text => {
                let answer = command::query_with(out, |sql| template.render(values, sql));
                parsers.text.reset_at(answer);
            }
            Protocol::Prepared => {
                let answer = command::stmt_execute_with(out, id, template.params(values));
                parsers.binary.reset_at(answer);
            }
        }
        Ok(())
    }

    pub(super) fn read_answer(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.flush()? {
                return Ok(Advance::Waiting);
            }
            let Some(count) = self.read(thread, "while an answer was due")? else {
                return Ok(Advance::Waiting);
            };
            match self.parse(&thread.buffer[..count], &thread.shared) {
                Ok(None) => {}
                Ok(Some(response)) => return self.answered(&response, thread),
                Err(failure) => return self.refused(failure, thread),
            }
        }
        self.report_again(thread)?;
        Ok(Advance::Waiting)
    }

    /// Feeds what was read to the step's parser; the answer, when it is whole.
    fn parse(&mut self, input: &[u8], shared: &Shared) -> Result<Option<Response>, Failure> {
        let parsers = parsers(&mut self.parsers)?;
        let parser = match self.doing {
            Step::Prepare(number) => {
                return Ok(match parsers.prepare.feed(input)? {
                    PrepareProgress::NeedMore => None,
                    PrepareProgress::Complete {
                        consumed,
                        statement,
                    } => {
                        self.statement_ids[number] = statement.statement_id;
                        nothing_more(&input[consumed..])?;
                        Some(Response::default())
                    }
                });
            }
            Step::Run(number) if shared.script.templates[number].protocol == Protocol::Prepared => {
                &mut parsers.binary
            }
            _ => &mut parsers.text,
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
        response: &Response,
        thread: &mut ThreadState,
    ) -> Result<Advance, Failure> {
        self.in_transaction = response.status.contains(Status::IN_TRANSACTION);
        self.write_down(response, thread)?;
        if self.doing == Step::RollBack {
            self.end_round(self.round_of(&thread.shared)?.close, thread);
            return Ok(Advance::Refused);
        }
        self.step += 1;
        self.next_step(thread)
    }

    /// Goes on after a failure, if it is the server's answer to a statement of an operation: that has
    /// failed then and what it did is taken back, but the connection stays, because a new one would
    /// put a login and a handshake into the window that the workload has not.
    fn refused(&mut self, failure: Failure, thread: &mut ThreadState) -> Result<Advance, Failure> {
        let of_operation = matches!(self.doing, Step::Run(_) | Step::Begin | Step::Commit);
        if !matches!(failure, Failure::Statement(_))
            || !of_operation
            || self.round != RoundId::Operation
        {
            return Err(failure);
        }
        self.begin_phase(now_ns());
        (self.first_query, self.collector) = (false, None);
        self.refusal = Some(failure);
        if self.in_transaction {
            self.ask(Step::RollBack, thread)?;
            return Ok(Advance::Waiting);
        }
        self.end_round(self.round_of(&thread.shared)?.close, thread);
        Ok(Advance::Refused)
    }

    /// Writes down an answer that is whole.
    fn write_down(&mut self, response: &Response, thread: &mut ThreadState) -> Result<(), Failure> {
        match self.doing {
            Step::Prepare(_) | Step::Open(_) | Step::RollBack => self.begin_phase(now_ns()),
            Step::Prove => {
                self.begin_phase(now_ns());
                self.write_proof(thread)?;
            }
            Step::Begin | Step::Commit => self.end_query(thread),
            Step::Run(number) => {
                self.end_query(thread);
                if let Some(collector) = self.collector.take() {
                    self.keep(number, response, collector, thread);
                }
            }
        }
        Ok(())
    }

    fn end_query(&mut self, thread: &mut ThreadState) {
        let phase = if self.first_query {
            Phase::FirstQuery
        } else {
            Phase::Query
        };
        self.first_query = false;
        self.end_phase(phase, self.phase_ns, thread);
    }

    /// Keeps a statement and its rows for checking, if all of them were collected.
    fn keep(
        &self,
        number: usize,
        response: &Response,
        mut collector: RowCollector,
        thread: &mut ThreadState,
    ) {
        if response.result_sets != 1 || response.rows != collector.rows().len() as u64 {
            return;
        }
        let mut sql = Vec::new();
        thread.shared.script.templates[number].render(&self.values, &mut sql);
        thread.sample_bytes += collector.kept_bytes();
        thread.recorder.row_samples.push(RowSample {
            sql: String::from_utf8_lossy(&sql).into_owned(),
            rows: collector.take(),
        });
    }

    /// Puts both sides' views side by side. Only the last round of setting up is like the
    /// operations that follow; the ones before it may have made a full handshake.
    fn write_proof(&mut self, thread: &mut ThreadState) -> Result<(), Failure> {
        let rows = self
            .collector
            .take()
            .map(|mut all| all.take())
            .unwrap_or_default();
        if self.round != RoundId::SetUp(thread.shared.script.set_up.len() - 1) {
            return Ok(());
        }
        let is_mariadb = self
            .login
            .greeting()
            .is_some_and(tlstax_wire::Greeting::is_mariadb);
        let server = proof::server_view(&rows, !is_mariadb);
        let agreed = parsers(&mut self.parsers)?.compression;
        let client = match socket(&mut self.transport)?.tls() {
            None => None,
            Some(tls) => {
                let certificate = tls.peer_certificate();
                let own = proof::ClientProof {
                    authorities: tls.authorities(),
                    has_certificate: tls.client_certificate(),
                };
                tls.negotiated()
                    .map(|seen| proof::client_view(&seen, certificate.as_ref(), own))
            }
        };
        let proof = Negotiated {
            connections: 1,
            client,
            server,
            client_tells: true,
            compression: Some(proof::compression(agreed, &rows)),
        };
        proof::add(&mut thread.proofs, proof);
        Ok(())
    }
}

fn parsers(parsers: &mut Option<Parsers>) -> Result<&mut Parsers, Failure> {
    parsers.as_mut().ok_or_else(|| internal("not logged in"))
}
