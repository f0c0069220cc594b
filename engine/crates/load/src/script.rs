//! The job compiled: what a connection does, step by step, shared by all threads.

use fastrand::Rng;
use tlstax_client::Failure;
use tlstax_contract::{Protocol, Transaction, Workload};

use crate::statement::{Sequences, Slots, Template};
use crate::supply::{Reservation, Span, Supply};
use crate::values::{Dialect, Generator, Values};

/// More steps than all operations that make sense have together; each is kept in memory.
const MOST_STEPS: usize = 100_000;

/// One thing done on an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Asks the server what it thinks was negotiated on this very connection.
    Prove,
    /// Says the opening statement of this number.
    Open(usize),
    /// Prepares the statement of this number.
    Prepare(usize),
    /// Runs the statement of this number.
    Run(usize),
    /// Begins a transaction.
    Begin,
    /// Ends a transaction.
    Commit,
    /// Takes back what an operation did that could not be finished; in no round.
    RollBack,
}

/// What one round on a connection is: an operation, or a part of setting up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// In this order.
    pub steps: Vec<Step>,
    /// Whether the connection is closed afterwards.
    pub close: bool,
}

/// A kind of operation.
#[derive(Debug)]
pub struct Operation {
    /// Drawn numbers below this, and not below that of the operation before, mean this one.
    below: u64,
    /// The values that its statements share.
    pub shared: Vec<Generator>,
    /// What it takes of the job's sequences.
    pub reservations: Vec<Reservation>,
    /// What is done.
    pub round: Round,
}

/// The compiled job.
#[derive(Debug)]
pub struct Script {
    /// Whether all connections are opened at once, in rounds, instead of each by itself.
    pub storm: bool,
    /// What is said on every connection before anything else.
    pub opening: Vec<String>,
    /// The statements.
    pub templates: Vec<Template>,
    /// The job's sequences.
    pub spans: Vec<Span>,
    /// Whether the rows of its statements can be asked for again.
    pub only_reads: bool,
    /// Rounds that each connection makes, in order, before it is warm.
    pub set_up: Vec<Round>,
    /// Whether a connection stays open from one operation to the next.
    pub keeps_connections: bool,
    /// What makes a connection that is kept fit again after an error.
    pub recover: Round,
    /// What is measured: of these, one at a time, drawn by weight.
    pub operations: Vec<Operation>,
    /// How many steps they have together, without those that prepare.
    steps: usize,
}

/// Whether the workload is of TLS sessions that are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// Every handshake is full.
    Off,
    /// Every handshake but a connection's very first is resumed.
    On,
}

/// Compiles a workload and fills in each of its statements as often as it is run, without a server; how
/// long the longest is, in bytes.
///
/// # Errors
/// As for a job that is carried out.
pub fn rehearse(workload: &Workload, seed: u64) -> Result<usize, Failure> {
    let script = Script::compile(workload, Resumption::Off)?;
    let supply = Supply::new(None, &script.spans);
    let (mut rng, mut values) = (Rng::with_seed(seed), Values::default());
    let (mut sql, mut longest) = (Vec::new(), 0);
    let _ = script.choose(&mut rng);
    for operation in &script.operations {
        if !supply.take(true, &operation.reservations, values.start_afresh()) {
            break;
        }
        values.draw_shared(&operation.shared, &mut rng);
        for step in &operation.round.steps {
            let Step::Run(number) = *step else { continue };
            let template = &script.templates[number];
            values.draw(&template.generators, &mut rng);
            sql.clear();
            template.render(&values, Dialect::MySql, &mut sql);
            longest = longest.max(sql.len());
        }
    }
    Ok(longest)
}

impl Script {
    /// Compiles a workload.
    ///
    /// # Errors
    /// A statement that cannot be compiled.
    pub fn compile(workload: &Workload, resumption: Resumption) -> Result<Self, Failure> {
        let mut script = Self {
            storm: workload.storm,
            opening: workload.on_connect.clone(),
            templates: Vec::new(),
            spans: Vec::new(),
            only_reads: workload.only_reads(),
            set_up: Vec::new(),
            keeps_connections: !(workload.reconnect || workload.storm),
            recover: Round::default(),
            operations: Vec::new(),
            steps: 0,
        };
        let mixed = !workload.mix.is_empty();
        for (number, transaction) in workload.transactions().iter().enumerate() {
            script.add(transaction, workload).map_err(|reason| {
                let place = if mixed {
                    format!("mix[{number}].statements")
                } else {
                    "statements".to_owned()
                };
                Failure::Workload { place, reason }
            })?;
        }
        let prove = |close, more: Vec<Step>| Round {
            steps: [vec![Step::Prove], more].concat(),
            close,
        };
        if resumption == Resumption::On {
            // A full handshake, whose session all later ones take up.
            script.set_up.push(prove(true, Vec::new()));
        }
        if workload.storm {
            script.operations.push(script.opened());
        }
        if script.keeps_connections {
            let furnish = script.furnish(0..script.templates.len());
            script.set_up.push(prove(false, furnish.clone()));
            script.recover.steps = furnish;
        } else {
            script.set_up.push(prove(true, Vec::new()));
        }
        Ok(script)
    }

    /// The script of an open loop: connections of a storm that are due one by one do not wait for each
    /// other, so each is closed when it is open.
    #[must_use]
    pub fn scheduled(mut self) -> Self {
        if std::mem::take(&mut self.storm) {
            for operation in &mut self.operations {
                operation.round.close = true;
            }
        }
        self
    }

    /// Draws an operation, by number.
    #[inline]
    pub fn choose(&self, rng: &mut Rng) -> usize {
        if let [_] = self.operations[..] {
            return 0;
        }
        let all = self.operations.last().map_or(0, |last| last.below);
        let drawn = rng.u64(..all);
        self.operations
            .iter()
            .position(|operation| drawn < operation.below)
            .unwrap_or_default()
    }

    fn add(&mut self, transaction: &Transaction, workload: &Workload) -> Result<(), String> {
        let mut sequences = Sequences {
            spans: std::mem::take(&mut self.spans),
            reservations: Vec::new(),
        };
        let none = Slots::default();
        let shared = Slots::assign(&none, &transaction.parameters, 1, &mut sequences);
        let first = self.templates.len();
        self.take_room_for(transaction, workload.reconnect)?;
        let mut runs = Vec::new();
        for (number, statement) in (first..).zip(&transaction.statements) {
            let template =
                Template::compile(statement, workload.protocol, &shared, &mut sequences)?;
            self.templates.push(template);
            runs.extend(std::iter::repeat_n(
                Step::Run(number),
                statement.repeat as usize,
            ));
        }
        if transaction.bracketed {
            runs = [vec![Step::Begin], runs, vec![Step::Commit]].concat();
        }
        if workload.reconnect {
            runs = [self.furnish(first..self.templates.len()), runs].concat();
        }
        let below = self.operations.last().map_or(0, |last| last.below);
        self.operations.push(Operation {
            below: below + u64::from(transaction.weight),
            shared: shared.into_generators(),
            reservations: sequences.reservations,
            round: Round {
                steps: runs,
                close: workload.reconnect,
            },
        });
        self.spans = sequences.spans;
        Ok(())
    }

    /// Counts a transaction's steps; refuses one with which all operations together have too many.
    fn take_room_for(&mut self, transaction: &Transaction, reconnect: bool) -> Result<(), String> {
        let runs = transaction.statements.iter();
        let runs = runs.map(|statement| statement.repeat as usize);
        let opening = if reconnect { self.opening.len() } else { 0 };
        self.steps = runs.fold(self.steps.saturating_add(opening), usize::saturating_add);
        if self.steps > MOST_STEPS {
            return Err(format!(
                "there are more than {MOST_STEPS} statements, with those said on connecting"
            ));
        }
        Ok(())
    }

    /// The operation of a storm: a connection opened, and kept until the round is over.
    fn opened(&self) -> Operation {
        Operation {
            below: 1,
            shared: Vec::new(),
            reservations: Vec::new(),
            round: Round {
                steps: self.furnish(0..0),
                close: false,
            },
        }
    }

    /// What makes a new connection fit for statements.
    fn furnish(&self, statements: std::ops::Range<usize>) -> Vec<Step> {
        let by_number = |number: &usize| self.templates[*number].protocol == Protocol::Prepared;
        let opening = (0..self.opening.len()).map(Step::Open);
        let prepares = statements.filter(by_number).map(Step::Prepare);
        opening.chain(prepares).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlstax_contract::{Parameters, Statement};

    fn statement(protocol: Option<Protocol>) -> Statement {
        Statement {
            sql: "SELECT 1".into(),
            parameters: Parameters::new(),
            repeat: 1,
            protocol,
        }
    }

    fn workload(reconnect: bool, protocol: Protocol) -> Workload {
        Workload {
            reconnect,
            protocol,
            statements: vec![statement(None), statement(None)],
            ..Workload::default()
        }
    }

    fn script(reconnect: bool, protocol: Protocol, resumption: Resumption) -> Script {
        Script::compile(&workload(reconnect, protocol), resumption).unwrap()
    }

    fn mix(reconnect: bool) -> Script {
        let transaction = |weight, bracketed, statements| Transaction {
            weight,
            bracketed,
            parameters: Parameters::new(),
            statements,
        };
        let thrice = Statement {
            repeat: 3,
            ..statement(None)
        };
        let in_text = statement(Some(Protocol::Text));
        let workload = Workload {
            reconnect,
            protocol: Protocol::Prepared,
            mix: vec![
                transaction(1, false, vec![in_text]),
                transaction(3, true, vec![statement(None), thrice]),
            ],
            on_connect: vec!["SET @x = 1".into()],
            ..Workload::default()
        };
        Script::compile(&workload, Resumption::Off).unwrap()
    }

    #[test]
    fn kept_connections_prepare_once_and_stay_open() {
        let script = script(false, Protocol::Prepared, Resumption::Off);
        let steps = vec![Step::Prove, Step::Prepare(0), Step::Prepare(1)];
        assert_eq!(
            script.set_up,
            [Round {
                steps,
                close: false
            }]
        );
        assert_eq!(
            script.operations[0].round,
            Round {
                steps: vec![Step::Run(0), Step::Run(1)],
                close: false
            }
        );
    }

    #[test]
    fn reconnecting_prepares_every_time_and_hangs_up() {
        let script = script(true, Protocol::Prepared, Resumption::Off);
        let round = &script.operations[0].round;
        assert_eq!(round.steps.len(), 4);
        assert!(round.close && script.set_up.iter().all(|round| round.close));
    }

    #[test]
    fn resumption_needs_a_session_to_resume() {
        for reconnect in [false, true] {
            let without = script(reconnect, Protocol::Text, Resumption::Off)
                .set_up
                .len();
            let with = script(reconnect, Protocol::Text, Resumption::On)
                .set_up
                .len();
            assert_eq!((without, with), (1, 2));
        }
    }

    #[test]
    fn an_operation_of_a_mix_is_one_transaction_with_its_brackets_and_repeats() {
        use Step::{Begin, Commit, Open, Prepare, Prove, Run};
        let script = mix(false);
        let steps = |number: usize| &script.operations[number].round.steps;
        assert_eq!(*steps(0), [Run(0)]);
        assert_eq!(*steps(1), [Begin, Run(1), Run(2), Run(2), Run(2), Commit]);
        let furnish = [Open(0), Prepare(1), Prepare(2)];
        assert_eq!(script.set_up[0].steps, [&[Prove], &furnish[..]].concat());
        assert_eq!(script.recover.steps, furnish);
    }

    #[test]
    fn who_reconnects_opens_each_connection_and_prepares_what_it_runs() {
        use Step::{Open, Prepare, Prove, Run};
        let script = mix(true);
        assert_eq!(script.set_up[0].steps, [Prove]);
        assert_eq!(script.operations[0].round.steps, [Open(0), Run(0)]);
        let second = &script.operations[1].round.steps;
        assert_eq!(second[..3], [Open(0), Prepare(1), Prepare(2)]);
    }

    #[test]
    fn a_storm_opens_its_connections_and_keeps_them_for_its_own_end() {
        let workload = Workload {
            storm: true,
            on_connect: vec!["SET @x = 1".into()],
            ..Workload::default()
        };
        let script = Script::compile(&workload, Resumption::On).unwrap();
        let [operation] = &script.operations[..] else {
            panic!("{:?}", script.operations);
        };
        assert_eq!(operation.round.steps, [Step::Open(0)]);
        assert!(!operation.round.close && !script.keeps_connections);
        assert_eq!(script.set_up.len(), 2);
        assert!(script.set_up.iter().all(|round| round.close));
        let one_by_one = script.scheduled();
        assert!(one_by_one.operations[0].round.close && !one_by_one.storm);
    }

    #[test]
    fn transactions_are_drawn_by_their_weights() {
        let (script, mut rng, mut drawn) = (mix(false), Rng::with_seed(1), [0_u32; 2]);
        for _ in 0..4000 {
            drawn[script.choose(&mut rng)] += 1;
        }
        // Three of four: five standard deviations are 137.
        assert!(drawn[1].abs_diff(3000) < 137, "{drawn:?}");
    }
}
