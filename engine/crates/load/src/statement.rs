//! Statements with placeholders, compiled once and filled in without allocating.

use std::collections::BTreeMap;

use fastrand::Rng;
use tlstax_contract::{Parameter, Statement};

/// A piece of a statement's text.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Parameter { low: i64, high: i64 },
}

/// A compiled statement.
#[derive(Debug)]
pub struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// Compiles a statement.
    ///
    /// # Errors
    /// A sentence when a placeholder is not closed, or names no parameter.
    pub fn compile(statement: &Statement) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = statement.sql.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            if let Some(doubled) = after.strip_prefix(brace) {
                literal.push_str(brace);
                rest = doubled;
            } else if brace == "{" {
                let end = after
                    .find('}')
                    .ok_or_else(|| format!("a placeholder is not closed in: {}", statement.sql))?;
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(parameter(&statement.parameters, &after[..end])?);
                rest = &after[end + 1..];
            } else {
                return Err(format!(
                    "a brace stands alone (write it twice) in: {}",
                    statement.sql
                ));
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces })
    }

    /// The text to prepare, with a question mark for each parameter.
    pub fn prepared_sql(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Parameter { .. } => "?",
            })
            .collect()
    }

    /// Draws this operation's values into `values`, replacing what was there.
    pub fn draw(&self, rng: &mut Rng, values: &mut Vec<i64>) {
        values.clear();
        values.extend(self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Parameter { low, high } => Some(rng.i64(*low..=*high)),
        }));
    }

    /// Appends the text with `values` filled in.
    pub fn render(&self, values: &[i64], sql: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let mut next = values.iter();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => sql.extend_from_slice(text.as_bytes()),
                Piece::Parameter { .. } => {
                    let value = next.next().copied().unwrap_or_default();
                    sql.extend_from_slice(digits.format(value).as_bytes());
                }
            }
        }
    }
}

fn parameter(known: &BTreeMap<String, Parameter>, name: &str) -> Result<Piece, String> {
    match known.get(name) {
        Some(Parameter::UniformInt { low, high }) => Ok(Piece::Parameter {
            low: *low,
            high: *high,
        }),
        None => Err(format!(
            "placeholder {{{name}}} has no parameter of that name"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(sql: &str) -> Statement {
        let id = Parameter::UniformInt { low: 3, high: 5 };
        Statement {
            sql: sql.into(),
            parameters: BTreeMap::from([("id".into(), id)]),
        }
    }

    #[test]
    fn values_are_filled_in_where_they_belong() {
        let template = Template::compile(&statement("SELECT {id}, '{{x}}' + {id}")).unwrap();
        let mut sql = Vec::new();
        template.render(&[-7, 12], &mut sql);
        assert_eq!(String::from_utf8(sql).unwrap(), "SELECT -7, '{x}' + 12");
        assert_eq!(template.prepared_sql(), "SELECT ?, '{x}' + ?");
    }

    #[test]
    fn drawn_values_reach_both_bounds_and_never_pass_them() {
        let template = Template::compile(&statement("{id}")).unwrap();
        let (mut rng, mut values, mut seen) = (Rng::with_seed(1), Vec::new(), [0; 3]);
        for _ in 0..300 {
            template.draw(&mut rng, &mut values);
            seen[usize::try_from(values[0] - 3).unwrap()] += 1;
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |sql| Template::compile(&statement(sql)).unwrap_err();
        assert!(refused("SELECT {key}").contains("{key}"));
        assert!(refused("SELECT {id").contains("not closed"));
        assert!(refused("SELECT id}").contains("brace stands alone"));
    }
}
