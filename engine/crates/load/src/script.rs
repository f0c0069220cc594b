//! The job compiled: what a connection does, step by step, shared by all threads.

use tlstax_contract::{ErrorKind, Fault, Protocol, Workload};

use crate::failure::Failure;
use crate::statement::Template;

/// One thing done on an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Asks the server what it thinks was negotiated on this very connection.
    Prove,
    /// Prepares the statement of this number.
    Prepare(usize),
    /// Runs the statement of this number.
    Run(usize),
}

/// What one round on a connection is: an operation, or a part of setting up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// In this order.
    pub steps: Vec<Step>,
    /// Whether the connection is closed afterwards.
    pub close: bool,
}

/// The compiled job.
#[derive(Debug)]
pub struct Script {
    /// The statements.
    pub templates: Vec<Template>,
    /// Whether statements are prepared.
    pub protocol: Protocol,
    /// Rounds that each connection makes, in order, before it is warm.
    pub set_up: Vec<Round>,
    /// What makes a connection fit again after an error.
    pub recover: Option<Round>,
    /// What is measured.
    pub operation: Round,
}

/// Whether the workload is of TLS sessions that are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// Every handshake is full.
    Off,
    /// Every handshake but a connection's very first is resumed.
    On,
}

impl Script {
    /// Compiles a workload.
    ///
    /// # Errors
    /// A statement that cannot be compiled.
    pub fn compile(workload: &Workload, resumption: Resumption) -> Result<Self, Failure> {
        let templates = workload
            .statements
            .iter()
            .map(Template::compile)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|reason| {
                let message = format!("job field workload.statements: {reason}");
                Failure::new(ErrorKind::BadJob, Fault::Job, message)
            })?;
        let all = 0..templates.len();
        let prepares: Vec<Step> = match workload.protocol {
            Protocol::Text => Vec::new(),
            Protocol::Prepared => all.clone().map(Step::Prepare).collect(),
        };
        let runs: Vec<Step> = all.map(Step::Run).collect();
        let prove = || Round {
            steps: vec![Step::Prove],
            close: true,
        };
        let mut set_up = Vec::new();
        if resumption == Resumption::On {
            // A full handshake, whose session all later ones take up.
            set_up.push(prove());
        }
        let (recover, operation) = if workload.reconnect {
            set_up.push(prove());
            (
                None,
                Round {
                    steps: [prepares, runs].concat(),
                    close: true,
                },
            )
        } else {
            set_up.push(Round {
                steps: [vec![Step::Prove], prepares.clone()].concat(),
                close: false,
            });
            let recover = Round {
                steps: prepares,
                close: false,
            };
            (
                Some(recover),
                Round {
                    steps: runs,
                    close: false,
                },
            )
        };
        Ok(Self {
            templates,
            protocol: workload.protocol,
            set_up,
            recover,
            operation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlstax_contract::Statement;

    fn workload(reconnect: bool, protocol: Protocol) -> Workload {
        let statement = Statement {
            sql: "SELECT 1".into(),
            parameters: std::collections::BTreeMap::default(),
        };
        Workload {
            reconnect,
            protocol,
            statements: vec![statement.clone(), statement],
        }
    }

    fn script(reconnect: bool, protocol: Protocol, resumption: Resumption) -> Script {
        Script::compile(&workload(reconnect, protocol), resumption).unwrap()
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
            script.operation,
            Round {
                steps: vec![Step::Run(0), Step::Run(1)],
                close: false
            }
        );
    }

    #[test]
    fn reconnecting_prepares_every_time_and_hangs_up() {
        let script = script(true, Protocol::Prepared, Resumption::Off);
        assert_eq!(script.operation.steps.len(), 4);
        assert!(script.operation.close && script.set_up.iter().all(|round| round.close));
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
}
