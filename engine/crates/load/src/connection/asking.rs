//! A connection at work: a round's steps, one command and one answer each.

use tlstax_contract::{Negotiated, Protocol, RowSample};
use tlstax_wire::command::{self, Param};
use tlstax_wire::{DiscardRows, PrepareProgress, Progress, RowCollector};

use super::{Advance, Connection, RoundId, State, internal, nothing_more, socket};
use crate::clock::now_ns;
use crate::failure::Failure;
use crate::proof;
use crate::recorder::Phase;
use crate::script::{Round, Step};
use crate::shared::{Desk, Shared};
use crate::statement::Template;

/// More rows than a checked statement has; what is over is not compared.
const MOST_SAMPLE_ROWS: usize = 1000;

/// So many reads for one connection, and the others and the clock have their turn: a server that never
/// pauses would otherwise keep them waiting for ever.
pub(super) const READS_AT_ONCE: usize = 64;

impl Connection {
    fn round_of<'s>(&self, shared: &'s Shared) -> Result<&'s Round, Failure> {
        match self.round {
            RoundId::SetUp(number) => shared.script.set_up.get(number),
            RoundId::Recover => shared.script.recover.as_ref(),
            RoundId::Operation => Some(&shared.script.operation),
        }
        .ok_or_else(|| internal("a round that the script does not have"))
    }

    /// Sends the next step's command, or ends the round.
    pub(super) fn next_step(
        &mut self,
        shared: &Shared,
        desk: &mut Desk,
    ) -> Result<Advance, Failure> {
        let round = self.round_of(shared)?;
        let Some(&step) = round.steps.get(self.step) else {
            let at_ns = self.phase_ns;
            if round.close {
                self.close(desk);
            } else {
                self.state = State::Idle;
            }
            return Ok(Advance::Finished { at_ns });
        };
        self.ask(step, shared, desk)?;
        self.state = State::Answering;
        self.flush()?;
        Ok(Advance::Waiting)
    }

    /// Writes a step's command to the outgoing buffer.
    fn ask(&mut self, step: Step, shared: &Shared, desk: &mut Desk) -> Result<(), Failure> {
        let parsers = self
            .parsers
            .as_mut()
            .ok_or_else(|| internal("not logged in"))?;
        match step {
            Step::Prove => {
                self.collector =
                    Some(RowCollector::new(proof::MOST_ROWS).with_max_bytes(proof::MOST_BYTES));
                parsers
                    .text
                    .reset_at(command::query(&mut self.out, proof::QUESTION));
            }
            Step::Prepare(number) => {
                let sql = shared.script.templates[number].prepared_sql();
                parsers
                    .prepare
                    .reset_at(command::stmt_prepare(&mut self.out, sql.as_bytes()));
            }
            Step::Run(number) => {
                let template = &shared.script.templates[number];
                template.draw(&mut desk.rng, &mut self.values);
                if self.round == RoundId::Operation && desk.take_sample() {
                    self.collector = Some(RowCollector::new(MOST_SAMPLE_ROWS));
                }
                self.run(template, self.statement_ids[number], shared.script.protocol)?;
            }
        }
        Ok(())
    }

    /// Writes a statement's command with the values drawn for it.
    fn run(&mut self, template: &Template, id: u32, protocol: Protocol) -> Result<(), Failure> {
        let parsers = self
            .parsers
            .as_mut()
            .ok_or_else(|| internal("not logged in"))?;
        let (out, values) = (&mut self.out, &self.values);
        match protocol {
            Protocol::Text => {
                let answer = command::query_with(out, |sql| template.render(values, sql));
                parsers.text.reset_at(answer);
            }
            Protocol::Prepared => parsers.binary.reset_at(execute(out, id, values)),
        }
        Ok(())
    }

    pub(super) fn read_answer(
        &mut self,
        shared: &Shared,
        desk: &mut Desk,
    ) -> Result<Advance, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.flush()? {
                return Ok(Advance::Waiting);
            }
            let Some(count) = self.read(desk, "while an answer was due")? else {
                return Ok(Advance::Waiting);
            };
            let step = self.round_of(shared)?.steps[self.step];
            if self.parse(step, &desk.buffer[..count], shared.script.protocol)? {
                self.write_down(step, shared, desk)?;
                self.step += 1;
                return self.next_step(shared, desk);
            }
        }
        self.report_again(desk)?;
        Ok(Advance::Waiting)
    }

    /// Feeds what was read to the step's parser; true when the answer is whole.
    fn parse(&mut self, step: Step, input: &[u8], protocol: Protocol) -> Result<bool, Failure> {
        let parsers = self
            .parsers
            .as_mut()
            .ok_or_else(|| internal("not logged in"))?;
        let parser = match (step, protocol) {
            (Step::Prepare(number), _) => {
                return Ok(match parsers.prepare.feed(input)? {
                    PrepareProgress::NeedMore => false,
                    PrepareProgress::Complete {
                        consumed,
                        statement,
                    } => {
                        self.statement_ids[number] = statement.statement_id;
                        nothing_more(&input[consumed..])?;
                        true
                    }
                });
            }
            (Step::Run(_), Protocol::Prepared) => &mut parsers.binary,
            (Step::Run(_), Protocol::Text) | (Step::Prove, _) => &mut parsers.text,
        };
        let progress = match &mut self.collector {
            Some(collector) => parser.feed(input, collector)?,
            None => parser.feed(input, &mut DiscardRows)?,
        };
        match progress {
            Progress::NeedMore => Ok(false),
            Progress::Complete { consumed, .. } => nothing_more(&input[consumed..]).map(|()| true),
        }
    }

    /// Writes down an answer that is whole.
    fn write_down(&mut self, step: Step, shared: &Shared, desk: &mut Desk) -> Result<(), Failure> {
        match step {
            Step::Prepare(_) => self.phase_ns = now_ns(),
            Step::Prove => {
                self.phase_ns = now_ns();
                self.write_proof(shared, desk)?;
            }
            Step::Run(number) => {
                let phase = if self.first_query {
                    Phase::FirstQuery
                } else {
                    Phase::Query
                };
                self.first_query = false;
                self.end_phase(phase, self.phase_ns, desk);
                if let Some(mut collector) = self.collector.take() {
                    let mut sql = Vec::new();
                    shared.script.templates[number].render(&self.values, &mut sql);
                    let sql = String::from_utf8_lossy(&sql).into_owned();
                    desk.recorder.row_samples.push(RowSample {
                        sql,
                        rows: collector.take(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Puts both sides' views side by side. Only the last round of setting up is like the
    /// operations that follow; the ones before it may have made a full handshake.
    fn write_proof(&mut self, shared: &Shared, desk: &mut Desk) -> Result<(), Failure> {
        let rows = self
            .collector
            .take()
            .map(|mut all| all.take())
            .unwrap_or_default();
        if self.round != RoundId::SetUp(shared.script.set_up.len() - 1) {
            return Ok(());
        }
        let is_mariadb = self
            .login
            .greeting()
            .is_some_and(tlstax_wire::Greeting::is_mariadb);
        let server = proof::server_view(&rows, !is_mariadb);
        let client = match socket(&mut self.transport)?.tls() {
            None => None,
            Some(tls) => {
                let certificate = tls.peer_certificate();
                tls.negotiated()
                    .map(|seen| proof::client_view(&seen, certificate.as_ref()))
            }
        };
        let proof = Negotiated {
            connections: 1,
            client,
            server,
        };
        proof::add(&mut desk.proofs, proof);
        Ok(())
    }
}

fn execute(out: &mut Vec<u8>, statement_id: u32, values: &[i64]) -> u8 {
    // Nearly every statement has one parameter or none; those are kept free of allocation.
    match values {
        [] => command::stmt_execute(out, statement_id, &[]),
        [value] => command::stmt_execute(out, statement_id, &[Param::Int(*value)]),
        several => {
            let params: Vec<Param<'_>> = several.iter().map(|value| Param::Int(*value)).collect();
            command::stmt_execute(out, statement_id, &params)
        }
    }
}
