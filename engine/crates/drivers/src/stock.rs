//! Operations drawn before they are needed, as an adapter is handed them.

use fastrand::Rng;
use serde::Serialize;
use tlstax_contract::{Job, Protocol};
use tlstax_load::{Bound, Dialect, Sequences, Slots, Supply, Template, Values};

use crate::trouble::Trouble;

/// Stands between two operations (U+001E, "record separator").
pub const BETWEEN_OPERATIONS: u8 = 0x1e;
/// Stands between two fields of an operation (U+001F, "unit separator").
const BETWEEN_FIELDS: u8 = 0x1f;

/// A statement run once, as an adapter is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The texts around its values.
    pub pieces: Vec<String>,
    /// A letter for each value: `i` for a number, `s` for a text.
    pub types: String,
    /// Whether it is prepared, and handed over as values.
    pub prepared: bool,
    /// Whether it is a SELECT.
    pub reads: bool,
}

/// Draws the job's operations.
#[derive(Debug)]
pub struct Drawing {
    dialect: Dialect,
    templates: Vec<Template>,
    sequences: Sequences,
    /// Places of templates, in the order of the calls.
    order: Vec<usize>,
    /// The calls of an operation.
    pub calls: Vec<Call>,
    /// Whether a call that is text travels as values all the same.
    as_values: bool,
    supply: Supply,
    rng: Rng,
    values: Values,
}

/// One call of one operation: its fields, and the statement as text.
#[derive(Debug, PartialEq, Eq)]
pub struct DrawnCall {
    /// As an adapter is handed them.
    pub fields: Vec<u8>,
    /// With the values filled in.
    pub sql: String,
}

impl Drawing {
    /// Of a job that was checked.
    ///
    /// # Errors
    /// A statement that cannot be compiled.
    pub fn of(job: &Job) -> Result<Self, Trouble> {
        let workload = &job.workload;
        let dialect = if job.server.is_mysql() {
            Dialect::MySql
        } else {
            Dialect::Postgres
        };
        let mut sequences = Sequences::default();
        let (mut templates, mut order, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for (place, statement) in workload.statements.iter().enumerate() {
            let template = Template::compile(
                statement,
                workload.protocol,
                &Slots::default(),
                &mut sequences,
            )
            .map_err(|reason| {
                Trouble::bad_job(format!("job field workload.statements: {reason}"))
            })?;
            let call = Call {
                pieces: template.texts(),
                types: template.types(),
                prepared: template.protocol == Protocol::Prepared,
                reads: statement.is_select(),
            };
            for _ in 0..statement.repeat {
                order.push(place);
                calls.push(call.clone());
            }
            templates.push(template);
        }
        Ok(Self {
            dialect,
            supply: Supply::new(None, &sequences.spans),
            templates,
            sequences,
            order,
            calls,
            as_values: false,
            rng: Rng::with_seed(job.seed),
            values: Values::default(),
        })
    }

    /// From now on text calls are handed over as values, for a driver that makes a batch's text itself.
    pub fn hand_over_values(&mut self) {
        self.as_values = true;
    }

    /// From now on there are no more operations than these.
    pub fn limit(&mut self, operations: u64) {
        self.supply.limit(operations);
    }

    /// Whether no operation can be drawn any more.
    pub fn is_used_up(&self) -> bool {
        self.supply.is_used_up()
    }

    /// N operations, or as many as there are; how many.
    ///
    /// # Errors
    /// A field with a character that separates fields.
    pub fn draw(&mut self, count: u64, body: &mut Vec<u8>) -> Result<u64, Trouble> {
        for drawn in 0..count {
            if !self.supply.take(
                true,
                &self.sequences.reservations,
                self.values.start_afresh(),
            ) {
                return Ok(drawn);
            }
            if drawn > 0 {
                body.push(BETWEEN_OPERATIONS);
            }
            let mut is_first = true;
            for at in 0..self.order.len() {
                let template = &self.templates[self.order[at]];
                self.values.draw(&template.generators, &mut self.rng);
                let as_values = self.as_values || self.calls[at].prepared;
                append(
                    template,
                    self.dialect,
                    &self.values,
                    as_values,
                    &mut is_first,
                    body,
                )?;
            }
        }
        Ok(count)
    }

    /// One operation, call by call; none where there is none left.
    ///
    /// # Errors
    /// As of [`Self::draw`].
    pub fn draw_calls(&mut self) -> Result<Option<Vec<DrawnCall>>, Trouble> {
        if !self.supply.take(
            true,
            &self.sequences.reservations,
            self.values.start_afresh(),
        ) {
            return Ok(None);
        }
        let mut drawn = Vec::new();
        for (at, place) in self.order.iter().enumerate() {
            let template = &self.templates[*place];
            self.values.draw(&template.generators, &mut self.rng);
            let (mut fields, mut sql) = (Vec::new(), Vec::new());
            append(
                template,
                self.dialect,
                &self.values,
                self.calls[at].prepared,
                &mut true,
                &mut fields,
            )?;
            template.render(&self.values, self.dialect, &mut sql);
            drawn.push(DrawnCall {
                fields,
                sql: String::from_utf8_lossy(&sql).into_owned(),
            });
        }
        Ok(Some(drawn))
    }
}

/// Appends a call's fields.
fn append(
    template: &Template,
    dialect: Dialect,
    values: &Values,
    as_values: bool,
    is_first: &mut bool,
    body: &mut Vec<u8>,
) -> Result<(), Trouble> {
    let mut separate = |body: &mut Vec<u8>| {
        if !std::mem::take(is_first) {
            body.push(BETWEEN_FIELDS);
        }
        body.len()
    };
    if !as_values {
        let start = separate(body);
        template.render(values, dialect, body);
        return check(&body[start..]);
    }
    for value in template.params(values) {
        let start = separate(body);
        match value {
            Bound::Int(number) => body.extend_from_slice(number.to_string().as_bytes()),
            Bound::Text(text) => body.extend_from_slice(text.as_bytes()),
        }
        check(&body[start..])?;
    }
    Ok(())
}

fn check(field: &[u8]) -> Result<(), Trouble> {
    if field
        .iter()
        .any(|byte| matches!(*byte, BETWEEN_OPERATIONS | BETWEEN_FIELDS))
    {
        return Err(Trouble::bad_job(
            "a driver is handed no statement with the characters U+001E or U+001F",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(workload: &str) -> Drawing {
        let text = format!(
            r#"{{"schema": 2, "endpoint": {{"kind": "tcp", "host": "h", "port": 1}}, "account": {{"user": "u",
            "password": "p"}}, "tls": {{"mode": "off"}}, "connections": 1, "duration_s": 1, "seed": 1,
            "workload": {workload}}}"#
        );
        Drawing::of(&Job::from_json(&text).unwrap()).unwrap()
    }

    const PAIR: &str = r#"[
        {"sql": "SELECT {n}", "repeat": 2, "parameters": {"n": {"kind": "sequence", "first": 1, "last": 5}}},
        {"sql": "INSERT INTO t VALUES ({a}, {b})", "protocol": "prepared", "parameters": {
            "a": {"kind": "uniform_int", "low": 7, "high": 7}, "b": {"kind": "one_of", "values": ["it's"]}}}]"#;

    #[test]
    fn operations_are_handed_over_field_by_field_until_a_sequence_ends() {
        let mut drawing = drawing(&format!(r#"{{"statements": {PAIR}}}"#));
        let mut body = Vec::new();
        assert_eq!(drawing.draw(9, &mut body).unwrap(), 2);
        assert!(drawing.is_used_up());
        let expected = "SELECT 1\x1fSELECT 2\x1f7\x1fit's\x1eSELECT 3\x1fSELECT 4\x1f7\x1fit's";
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn an_adapter_is_told_of_each_time_that_a_statement_is_run() {
        let calls = drawing(&format!(r#"{{"statements": {PAIR}}}"#)).calls;
        assert_eq!(calls.len(), 3);
        assert_eq!(calls[0], calls[1]);
        assert_eq!((calls[0].types.as_str(), calls[0].reads), ("i", true));
        assert_eq!((calls[2].types.as_str(), calls[2].prepared), ("is", true));
        assert_eq!(calls[2].pieces, ["INSERT INTO t VALUES (", ", ", ")"]);
    }

    #[test]
    fn a_character_that_separates_is_refused() {
        let workload = r#"{"statements": [{"sql": "SELECT 'a\u001eb'"}]}"#;
        assert!(drawing(workload).draw(1, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_limit_holds_from_when_it_is_set() {
        let mut drawing = drawing(r#"{"statements": [{"sql": "SELECT 1"}]}"#);
        assert_eq!(drawing.draw(3, &mut Vec::new()).unwrap(), 3);
        drawing.limit(2);
        assert_eq!(drawing.draw(3, &mut Vec::new()).unwrap(), 2);
    }
}
