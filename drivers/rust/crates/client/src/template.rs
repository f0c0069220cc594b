//! Statements with placeholders, compiled once, and the values that are put into them.

use fastrand::Rng;

use crate::driver::Value;
use crate::failure::Failure;
use crate::job::{Parameter, Protocol, Statement, Workload};
use crate::supply::Sequence;

/// How a value is made.
#[derive(Debug)]
enum Maker {
    Between(i64, i64),
    /// The next of the numbers that the operation has taken of this sequence.
    Taken(usize),
    /// So much more than the number in this slot.
    More(usize, i64),
    Digits(String),
    OneOf(Vec<String>),
}

/// A compiled statement: texts, and between each two of them the slot of a value.
#[derive(Debug)]
pub struct Template {
    texts: Vec<String>,
    slots: Vec<usize>,
    makers: Vec<Maker>,
    /// The text to prepare.
    pub preparable: String,
    /// How it travels.
    pub protocol: Protocol,
    /// How often it is run in an operation.
    pub repeat: u32,
    /// Whether it answers with rows.
    pub asks: bool,
}

/// A workload, compiled.
#[derive(Debug)]
pub struct Program {
    pub templates: Vec<Template>,
    /// Whether all statements are questions, so that their answers can be checked.
    pub selects: bool,
}

/// Compiles a workload; the sequences that its operations take numbers of go beside it.
///
/// # Errors
/// A `bad_job` for a mistake in a statement.
pub fn compile(workload: &Workload) -> Result<(Program, Vec<Sequence>), Failure> {
    let mut sequences = Vec::new();
    let templates = workload
        .statements
        .iter()
        .map(|statement| Template::compile(statement, workload.protocol, &mut sequences))
        .collect::<Result<Vec<_>, _>>()?;
    let selects = templates.iter().all(|template| template.asks);
    Ok((Program { templates, selects }, sequences))
}

impl Template {
    fn compile(
        statement: &Statement,
        protocol: Protocol,
        sequences: &mut Vec<Sequence>,
    ) -> Result<Self, Failure> {
        let (offsets, plain): (Vec<_>, Vec<_>) = statement
            .parameters
            .iter()
            .partition(|(_, parameter)| matches!(parameter, Parameter::Offset { .. }));
        let ordered: Vec<_> = plain.into_iter().chain(offsets).collect();
        let names: Vec<&str> = ordered.iter().map(|(name, _)| name.as_str()).collect();
        let makers = ordered
            .iter()
            .map(|(name, parameter)| maker(name, parameter, &names, statement.repeat, sequences))
            .collect::<Result<_, _>>()?;
        let (texts, slots) = pieces(&statement.sql, &names)?;
        let preparable = texts.join("?");
        let asks = preparable
            .split_whitespace()
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("select"));
        Ok(Self {
            texts,
            slots,
            makers,
            preparable,
            protocol: statement.protocol.unwrap_or(protocol),
            repeat: statement.repeat,
            asks,
        })
    }

    /// The values of one run; `numbers` are those that the operation has taken of the sequences.
    pub fn draw(&self, random: &mut Rng, numbers: &mut [i64]) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::with_capacity(self.makers.len());
        for maker in &self.makers {
            let value = match maker {
                Maker::Between(low, high) => Value::Int(random.i64(*low..=*high)),
                Maker::Taken(place) => {
                    numbers[*place] += 1;
                    Value::Int(numbers[*place] - 1)
                }
                Maker::More(slot, by) => match &values[*slot] {
                    Value::Int(number) => Value::Int(number.saturating_add(*by)),
                    Value::Text(_) => Value::Int(*by),
                },
                Maker::Digits(pattern) => Value::Text(digits(pattern, random)),
                Maker::OneOf(texts) => Value::Text(texts[random.usize(..texts.len())].clone()),
            };
            values.push(value);
        }
        values
    }

    /// The text with values put in as literals.
    pub fn render(&self, values: &[Value]) -> String {
        let mut sql = self.texts[0].clone();
        for (slot, text) in self.slots.iter().zip(&self.texts[1..]) {
            sql.push_str(&literal(&values[*slot]));
            sql.push_str(text);
        }
        sql
    }

    /// The values in the order of the question marks.
    pub fn bound(&self, values: &[Value]) -> Vec<Value> {
        self.slots
            .iter()
            .map(|slot| values[*slot].clone())
            .collect()
    }
}

fn maker(
    name: &str,
    parameter: &Parameter,
    names: &[&str],
    repeat: u32,
    sequences: &mut Vec<Sequence>,
) -> Result<Maker, Failure> {
    let refused = |why: &str| Err(Failure::bad_job(format!("parameter {name}: {why}")));
    match parameter {
        Parameter::UniformInt { low, high } if low > high => {
            refused("high must not be less than low")
        }
        Parameter::UniformInt { low, high } => Ok(Maker::Between(*low, *high)),
        Parameter::Sequence { first, last } => {
            sequences.push(Sequence::new(*first, *last, repeat));
            Ok(Maker::Taken(sequences.len() - 1))
        }
        Parameter::Offset { of, by } => match names.iter().position(|known| known == of) {
            Some(slot) => Ok(Maker::More(slot, *by)),
            None => refused("what it is an offset of is none of this statement's parameters"),
        },
        Parameter::Digits { template } => Ok(Maker::Digits(template.clone())),
        Parameter::OneOf { values } if values.is_empty() => refused("values must not be empty"),
        Parameter::OneOf { values } => Ok(Maker::OneOf(values.clone())),
    }
}

fn digits(pattern: &str, random: &mut Rng) -> String {
    pattern
        .chars()
        .map(|char| if char == '#' { random.digit(10) } else { char })
        .collect()
}

/// A statement taken apart at its placeholders.
fn pieces(sql: &str, names: &[&str]) -> Result<(Vec<String>, Vec<usize>), Failure> {
    let (mut texts, mut slots, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut rest = sql;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
        if let Some(doubled) = after.strip_prefix(brace) {
            text.push_str(brace);
            rest = doubled;
            continue;
        }
        let Some(ends) = after.find('}').filter(|_| brace == "{") else {
            let alone = format!("a brace stands alone (write it twice) in: {sql}");
            return Err(Failure::bad_job(alone));
        };
        let Some(slot) = names.iter().position(|name| *name == &after[..ends]) else {
            let unknown = format!(
                "placeholder {{{}}} has no parameter of that name",
                &after[..ends]
            );
            return Err(Failure::bad_job(unknown));
        };
        slots.push(slot);
        texts.push(std::mem::take(&mut text));
        rest = &after[ends + 1..];
    }
    text.push_str(rest);
    texts.push(text);
    Ok((texts, slots))
}

/// A value as it stands in a statement. What a backslash means depends on the session's `sql_mode`, so a text
/// with one is written in hexadecimal.
fn literal(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Text(text) if text.contains('\\') => {
            let bytes: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("X'{}'", bytes.concat())
        }
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(json: &str) -> Result<Template, Failure> {
        let statement: Statement = serde_json::from_str(json).unwrap();
        Template::compile(&statement, Protocol::Text, &mut Vec::new())
    }

    #[test]
    fn values_are_written_as_literals() {
        let text = |text: &str| literal(&Value::Text(text.into()));
        assert_eq!(literal(&Value::Int(-5)), "-5");
        assert_eq!(text("it's"), "'it''s'");
        assert_eq!(text("a\\b"), "X'615c62'");
    }

    #[test]
    fn values_are_filled_in_where_they_belong() {
        let template = compiled(
            r#"{"sql":"SELECT '{{x}}', {high}, {id}","parameters":{
            "high":{"kind":"offset","of":"id","by":100},"id":{"kind":"uniform_int","low":3,"high":3}}}"#,
        )
        .unwrap();
        assert_eq!(template.preparable, "SELECT '{x}', ?, ?");
        let values = template.draw(&mut Rng::with_seed(1), &mut []);
        assert_eq!(template.render(&values), "SELECT '{x}', 103, 3");
        assert_eq!(template.bound(&values), [Value::Int(103), Value::Int(3)]);
    }

    #[test]
    fn mistakes_are_named() {
        for (sql, words) in [
            ("SELECT {key}", "{key}"),
            ("SELECT {", "brace"),
            ("}", "brace"),
        ] {
            let failure = compiled(&format!(r#"{{"sql":"{sql}"}}"#)).unwrap_err();
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
}
