//! What one operation is: statements, how their placeholders are filled, and how they are mixed; or a
//! connection opened in a storm of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::job::JobError;
use crate::limits::{LONGEST_CHAIN, MOST_PARAMETERS};

/// How a placeholder's values are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Parameter {
    /// An integer drawn evenly between two bounds, both included.
    UniformInt {
        /// Lowest value.
        low: i64,
        /// Highest value.
        high: i64,
    },
    /// The next integer, over all connections; when it is used up, the window ends.
    Sequence {
        /// The first value.
        first: i64,
        /// The last one.
        last: i64,
    },
    /// The value of another parameter of the same statement or transaction, and this much more.
    Offset {
        /// The other's name.
        of: String,
        /// How much more.
        by: i64,
    },
    /// Text in which each `#` is a random digit.
    Digits {
        /// The text.
        template: String,
    },
    /// One of some texts, drawn evenly.
    OneOf {
        /// The texts.
        values: Vec<String>,
    },
}

/// Parameters by their names.
pub type Parameters = BTreeMap<String, Parameter>;

/// One SQL statement with `{name}` placeholders; `{{` stands for a brace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// How each placeholder is filled.
    #[serde(default)]
    pub parameters: Parameters,
    /// How often it is run, with values drawn anew each time.
    #[serde(default = "one")]
    pub repeat: u32,
    /// How it travels; absent: as the workload says.
    #[serde(default)]
    pub protocol: Option<Protocol>,
}

/// Statements that are one operation, drawn among others by its weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// How often it is drawn, beside the others' weights.
    #[serde(default = "one")]
    pub weight: u32,
    /// Whether it begins with BEGIN and ends with COMMIT.
    #[serde(default)]
    pub bracketed: bool,
    /// Drawn once for all its statements, which may use them beside their own.
    #[serde(default)]
    pub parameters: Parameters,
    /// Run in this order.
    pub statements: Vec<Statement>,
}

/// Which protocol carries the statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// `COM_QUERY`; of `PostgreSQL` the simple query.
    #[default]
    Text,
    /// `COM_STMT_PREPARE` once a connection, `COM_STMT_EXECUTE` each time; of `PostgreSQL` the extended query.
    Prepared,
}

/// What one operation is: all `statements`, or one transaction of the `mix`, or one connection of a
/// `storm` opened and logged in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Whether each operation has a connection of its own.
    #[serde(default)]
    pub reconnect: bool,
    /// How statements travel.
    #[serde(default)]
    pub protocol: Protocol,
    /// Run in this order, all of them, for one operation.
    #[serde(default)]
    pub statements: Vec<Statement>,
    /// Instead of `statements`: transactions, of which each operation is one.
    #[serde(default)]
    pub mix: Vec<Transaction>,
    /// Instead of either: all connections are opened at once, kept until the last is open, and closed; in an
    /// open loop each is opened when it is due, and closed when it is open.
    #[serde(default)]
    pub storm: bool,
    /// Said once on every connection, as text, before its first operation.
    #[serde(default)]
    pub on_connect: Vec<String>,
}

fn one() -> u32 {
    1
}

impl Workload {
    /// The mix; statements alone are one transaction without brackets, and a storm has none.
    pub fn transactions(&self) -> Vec<Transaction> {
        if self.storm || !self.mix.is_empty() {
            return self.mix.clone();
        }
        vec![Transaction {
            weight: 1,
            bracketed: false,
            parameters: Parameters::new(),
            statements: self.statements.clone(),
        }]
    }

    /// Whether it does nothing but ask: every statement is a SELECT, going by its first word.
    pub fn only_reads(&self) -> bool {
        let mixed = self
            .mix
            .iter()
            .flat_map(|transaction| &transaction.statements);
        self.statements
            .iter()
            .chain(mixed)
            .all(Statement::is_select)
    }

    pub(crate) fn check(&self) -> Result<(), JobError> {
        let forms = [
            !self.statements.is_empty(),
            !self.mix.is_empty(),
            self.storm,
        ];
        JobError::unless(
            forms.iter().filter(|form| **form).count() == 1,
            "workload",
            "either statements or a mix of transactions, one or more of them, or a storm",
        )?;
        check_statements(&self.statements, &Parameters::new(), "workload.statements")?;
        for (number, transaction) in self.mix.iter().enumerate() {
            transaction.check(&format!("workload.mix[{number}]"))?;
        }
        Ok(())
    }
}

impl Statement {
    /// Whether its first word is SELECT.
    pub fn is_select(&self) -> bool {
        let word = self.sql.trim_start().get(..6);
        word.is_some_and(|word| word.eq_ignore_ascii_case("select"))
    }
}

impl Transaction {
    fn check(&self, field: &str) -> Result<(), JobError> {
        JobError::unless(self.weight > 0, format!("{field}.weight"), "at least 1")?;
        let statements = format!("{field}.statements");
        JobError::unless(
            !self.statements.is_empty(),
            &statements,
            "one or more statements",
        )?;
        check_parameters(
            &self.parameters,
            &Parameters::new(),
            &format!("{field}.parameters"),
        )?;
        check_statements(&self.statements, &self.parameters, &statements)
    }
}

fn check_statements(all: &[Statement], shared: &Parameters, field: &str) -> Result<(), JobError> {
    for (number, statement) in all.iter().enumerate() {
        let field = format!("{field}[{number}]");
        JobError::unless(
            statement.repeat > 0,
            format!("{field}.repeat"),
            "at least 1",
        )?;
        check_parameters(
            &statement.parameters,
            shared,
            &format!("{field}.parameters"),
        )?;
    }
    Ok(())
}

fn check_parameters(own: &Parameters, shared: &Parameters, field: &str) -> Result<(), JobError> {
    JobError::unless(own.len() <= MOST_PARAMETERS, field, "at most 1,000")?;
    for (name, parameter) in own {
        let field = format!("{field}.{name}");
        let (holds, expected) = match parameter {
            Parameter::UniformInt { low, high } => (low <= high, "bounds with low not above high"),
            Parameter::Sequence { first, last } => {
                (first <= last, "a sequence with first not above last")
            }
            Parameter::Digits { template } => (
                !template.is_empty(),
                "digits with a template that is not empty",
            ),
            Parameter::OneOf { values } => (!values.is_empty(), "one of one or more values"),
            Parameter::Offset { .. } => (
                ends_in_a_number(name, own, shared),
                "an offset of another parameter of the same statement or transaction that is a number, \
                 at most a hundred offsets away",
            ),
        };
        JobError::unless(holds, field, expected)?;
    }
    Ok(())
}

/// Whether following offsets from one to the next leads to a number, soon, and not round in a circle.
fn ends_in_a_number(name: &str, own: &Parameters, shared: &Parameters) -> bool {
    let mut next = name;
    for _ in 0..=LONGEST_CHAIN {
        match own.get(next).or_else(|| shared.get(next)) {
            Some(Parameter::Offset { of, .. }) => next = of,
            Some(Parameter::UniformInt { .. } | Parameter::Sequence { .. }) => return true,
            _ => return false,
        }
    }
    false
}
