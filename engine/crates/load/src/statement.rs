//! Statements with placeholders, compiled once and filled in without allocating.

use tlstax_contract::{Parameter, Parameters, Protocol, Statement};

use crate::supply::{Reservation, Span};
use crate::values::{Bound, Dialect, DigitText, Generator, Values, append_literal};

/// A statement that can become longer than this, with the longest of its values filled in, is refused: a
/// server takes less unless it is told otherwise (`max_allowed_packet`).
const LONGEST_BYTES: usize = 64 << 20;

/// A piece of a statement's text.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    /// The value in this slot.
    Value(usize),
}

/// A compiled statement.
#[derive(Debug)]
pub struct Template {
    pieces: Vec<Piece>,
    /// The slots of the values that are bound, in the order of the question marks.
    bound: Vec<usize>,
    /// How its own values are made.
    pub generators: Vec<Generator>,
    /// How it travels.
    pub protocol: Protocol,
}

/// Where a transaction's numbers in sequence come from.
#[derive(Debug, Default)]
pub struct Sequences {
    /// All of the job's.
    pub spans: Vec<Span>,
    /// What one operation of this transaction takes of them.
    pub reservations: Vec<Reservation>,
}

/// Parameters and the slots that their values are put in.
#[derive(Debug, Default)]
pub struct Slots<'j> {
    names: Vec<&'j str>,
    /// How long each one's value can become in a statement, in bytes.
    longest: Vec<usize>,
    generators: Vec<Generator>,
}

impl<'j> Slots<'j> {
    /// Slots for `own` behind those that are `shared`; numbers in sequence are wanted N times
    /// for one operation.
    pub fn assign(
        shared: &Slots<'j>,
        own: &'j Parameters,
        times: u32,
        sequences: &mut Sequences,
    ) -> Self {
        let mut slots = Self {
            names: shared.names.clone(),
            longest: shared.longest.clone(),
            generators: Vec::new(),
        };
        let first = slots.names.len();
        for name in own.keys() {
            slots.place(name, own, first, times, sequences);
        }
        slots
    }

    /// How the values are made, in the order of their slots.
    pub fn into_generators(self) -> Vec<Generator> {
        self.generators
    }

    /// The slot of a parameter, assigned now unless it has one. What it is an offset of comes before.
    fn place(
        &mut self,
        name: &'j str,
        own: &'j Parameters,
        first: usize,
        times: u32,
        sequences: &mut Sequences,
    ) -> usize {
        let mine = self.names[first..].iter().position(|known| *known == name);
        if let Some(place) = mine {
            return first + place;
        }
        let generator = match own.get(name) {
            Some(Parameter::UniformInt { low, high }) => Generator::UniformInt {
                low: *low,
                high: *high,
            },
            Some(Parameter::Sequence { first, last }) => {
                let (first, last) = (*first, *last);
                sequences.spans.push(Span { first, last });
                sequences.reservations.push(Reservation {
                    sequence: sequences.spans.len() - 1,
                    count: times,
                });
                Generator::Reserved(sequences.reservations.len() - 1)
            }
            Some(Parameter::Offset { of, by }) => Generator::Offset {
                slot: self.place(of, own, first, times, sequences),
                by: *by,
            },
            Some(Parameter::Digits { template }) => Generator::Digits(DigitText::new(template)),
            Some(Parameter::OneOf { values }) => Generator::OneOf(values.clone()),
            // The job was checked: an offset of what is not its own is of what is shared.
            None => return self.slot(name).unwrap_or_default(),
        };
        self.names.push(name);
        self.longest.push(generator.longest_literal_bytes());
        self.generators.push(generator);
        self.names.len() - 1
    }

    /// The slot of the parameter that this name means: a statement's own hides a shared one.
    fn slot(&self, name: &str) -> Option<usize> {
        self.names.iter().rposition(|known| *known == name)
    }
}

impl Template {
    /// Compiles a statement, which travels by `protocol` unless it says otherwise.
    ///
    /// # Errors
    /// A sentence when a placeholder is not closed, or names no parameter, or values can be too long.
    pub fn compile<'j>(
        statement: &'j Statement,
        protocol: Protocol,
        shared: &Slots<'j>,
        sequences: &mut Sequences,
    ) -> Result<Self, String> {
        let slots = Slots::assign(shared, &statement.parameters, statement.repeat, sequences);
        let pieces = pieces(&statement.sql, &slots)?;
        if longest_bytes(&pieces, &slots) > LONGEST_BYTES {
            return Err(format!(
                "a statement can become longer than {} MiB",
                LONGEST_BYTES >> 20
            ));
        }
        let bound = pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(slot) => Some(*slot),
        });
        Ok(Self {
            bound: bound.collect(),
            pieces,
            generators: slots.into_generators(),
            protocol: statement.protocol.unwrap_or(protocol),
        })
    }

    /// The text to prepare, with a placeholder for each parameter.
    pub fn prepared_sql(&self, dialect: Dialect) -> String {
        let (mut sql, mut place) = (String::new(), 0);
        for piece in &self.pieces {
            match (piece, dialect) {
                (Piece::Literal(text), _) => sql.push_str(text),
                (Piece::Value(_), Dialect::MySql) => sql.push('?'),
                (Piece::Value(_), Dialect::Postgres) => {
                    place += 1;
                    sql.push('$');
                    sql.push_str(itoa::Buffer::new().format(place));
                }
            }
        }
        sql
    }

    /// The texts around the values: before the first, between two, behind the last.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = vec![String::new()];
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => texts.last_mut().map(|last| last.push_str(text)),
                Piece::Value(_) => {
                    texts.push(String::new());
                    None
                }
            };
        }
        texts
    }

    /// A letter for each value to bind, all of which are its own: `i` for a number, `s` for a text.
    pub fn types(&self) -> String {
        let letter = |slot: &usize| match self.generators[*slot] {
            Generator::Digits(_) | Generator::OneOf(_) => 's',
            _ => 'i',
        };
        self.bound.iter().map(letter).collect()
    }

    /// The values to bind, in the order of the question marks.
    #[inline]
    pub fn params<'v>(
        &'v self,
        values: &'v Values,
    ) -> impl ExactSizeIterator<Item = Bound<'v>> + Clone {
        self.bound.iter().map(|slot| values.bound(*slot))
    }

    /// Appends the text with `values` filled in.
    pub fn render(&self, values: &Values, dialect: Dialect, sql: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => sql.extend_from_slice(text.as_bytes()),
                Piece::Value(slot) => append_literal(sql, values.bound(*slot), dialect),
            }
        }
    }
}

/// How long the text can become.
fn longest_bytes(pieces: &[Piece], slots: &Slots<'_>) -> usize {
    let lengths = pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => text.len(),
        Piece::Value(slot) => slots.longest[*slot],
    });
    lengths.fold(0, usize::saturating_add)
}

fn pieces(sql: &str, slots: &Slots<'_>) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = sql;
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
                .ok_or_else(|| format!("a placeholder is not closed in: {sql}"))?;
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            let name = &after[..end];
            let slot = slots.slot(name);
            pieces.push(Piece::Value(slot.ok_or_else(|| {
                format!("placeholder {{{name}}} has no parameter of that name")
            })?));
            rest = &after[end + 1..];
        } else {
            return Err(format!("a brace stands alone (write it twice) in: {sql}"));
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fastrand::Rng;

    use super::*;

    fn statement(sql: &str) -> Statement {
        let id = Parameter::UniformInt { low: 3, high: 5 };
        let high = Parameter::Offset {
            of: "id".into(),
            by: 99,
        };
        Statement {
            sql: sql.into(),
            parameters: BTreeMap::from([("id".into(), id), ("high".into(), high)]),
            repeat: 1,
            protocol: None,
        }
    }

    fn compiled(statement: &Statement) -> Result<Template, String> {
        Template::compile(
            statement,
            Protocol::Text,
            &Slots::default(),
            &mut Sequences::default(),
        )
    }

    fn rendered(template: &Template, rng: &mut Rng) -> String {
        let (mut values, mut sql) = (Values::default(), Vec::new());
        values.draw(&template.generators, rng);
        template.render(&values, Dialect::MySql, &mut sql);
        String::from_utf8(sql).unwrap()
    }

    #[test]
    fn values_are_filled_in_where_they_belong() {
        let template = compiled(&statement("{high}, '{{x}}' + {id} + {id}")).unwrap();
        for seed in 0..20 {
            let text = rendered(&template, &mut Rng::with_seed(seed));
            let expected = |id: i64| format!("{}, '{{x}}' + {id} + {id}", id + 99);
            assert!(
                (3..=5).map(expected).any(|text_of| text_of == text),
                "{text}"
            );
        }
        for (dialect, expected) in [
            (Dialect::MySql, "?, '{x}' + ? + ?"),
            (Dialect::Postgres, "$1, '{x}' + $2 + $3"),
        ] {
            assert_eq!(template.prepared_sql(dialect), expected);
        }
    }

    #[test]
    fn drawn_values_reach_both_bounds_and_never_pass_them() {
        let template = compiled(&statement("{id}")).unwrap();
        let (mut rng, mut seen) = (Rng::with_seed(1), [0; 3]);
        for _ in 0..300 {
            let value: usize = rendered(&template, &mut rng).parse().unwrap();
            seen[value - 3] += 1;
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
    }

    #[test]
    fn a_statements_own_parameter_hides_a_shared_one_of_its_name() {
        let constant = |value| Parameter::UniformInt {
            low: value,
            high: value,
        };
        let shared = BTreeMap::from([("id".into(), constant(1)), ("k".into(), constant(2))]);
        let offset = Parameter::Offset {
            of: "k".into(),
            by: 10,
        };
        let own = Statement {
            parameters: BTreeMap::from([("id".into(), constant(3)), ("far".into(), offset)]),
            ..statement("{id} {k} {far}")
        };
        let mut sequences = Sequences::default();
        let slots = Slots::assign(&Slots::default(), &shared, 1, &mut sequences);
        let template = Template::compile(&own, Protocol::Text, &slots, &mut sequences).unwrap();
        let (mut values, mut rng, mut sql) = (Values::default(), Rng::with_seed(1), Vec::new());
        values.draw_shared(&slots.into_generators(), &mut rng);
        values.draw(&template.generators, &mut rng);
        template.render(&values, Dialect::MySql, &mut sql);
        assert_eq!(String::from_utf8(sql).unwrap(), "3 2 12");
    }

    #[test]
    fn a_statement_that_is_repeated_reserves_a_number_for_each_time() {
        let sequence = Parameter::Sequence { first: 1, last: 9 };
        let repeated = Statement {
            parameters: BTreeMap::from([("id".into(), sequence)]),
            repeat: 3,
            ..statement("{id}")
        };
        let mut sequences = Sequences::default();
        Template::compile(&repeated, Protocol::Text, &Slots::default(), &mut sequences).unwrap();
        assert_eq!(sequences.spans, [Span { first: 1, last: 9 }]);
        let reservation = Reservation {
            sequence: 0,
            count: 3,
        };
        assert_eq!(sequences.reservations, [reservation]);
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |sql| compiled(&statement(sql)).unwrap_err();
        assert!(refused("SELECT {key}").contains("{key}"));
        assert!(refused("SELECT {id").contains("not closed"));
        assert!(refused("SELECT id}").contains("brace stands alone"));
    }
}
