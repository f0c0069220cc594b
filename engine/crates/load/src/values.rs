//! Values for placeholders, drawn into memory that is used again and again.

use std::ops::Range;

use fastrand::Rng;

/// How a value is made.
#[derive(Debug, PartialEq, Eq)]
pub enum Generator {
    /// Drawn evenly between two bounds, both included.
    UniformInt {
        /// Lowest value.
        low: i64,
        /// Highest value.
        high: i64,
    },
    /// The next of the numbers that were reserved for the operation, by the reservation's place.
    Reserved(usize),
    /// The number in another slot, which is made before, and this much more.
    Offset {
        /// The other's slot.
        slot: usize,
        /// How much more.
        by: i64,
    },
    /// Digits with something between them.
    Digits(DigitText),
    /// One of these.
    OneOf(Vec<String>),
}

/// Text with gaps for random digits.
#[derive(Debug, PartialEq, Eq)]
pub struct DigitText {
    /// A text, and how many digits follow it.
    runs: Vec<(String, u32)>,
}

impl Generator {
    /// How long the longest of its values is as a literal (see [`append_literal`]).
    pub fn longest_literal_bytes(&self) -> usize {
        /// Of the longest number, which is negative.
        const NUMBER: usize = 20;
        match self {
            Self::UniformInt { .. } | Self::Reserved(_) | Self::Offset { .. } => NUMBER,
            Self::Digits(text) => longest_text(text.bytes()),
            Self::OneOf(several) => {
                longest_text(several.iter().map(String::len).max().unwrap_or_default())
            }
        }
    }
}

/// A text of N bytes as a literal: in hexadecimal, or with every character a quote.
fn longest_text(bytes: usize) -> usize {
    2 * bytes + 3
}

impl DigitText {
    /// How long every text of it is.
    fn bytes(&self) -> usize {
        let runs = self.runs.iter();
        runs.map(|(text, digits)| text.len() + *digits as usize)
            .sum()
    }

    /// From a template in which `#` stands for a digit.
    pub fn new(template: &str) -> Self {
        let mut runs = Vec::new();
        let mut rest = template;
        while !rest.is_empty() {
            let literal = rest.find('#').unwrap_or(rest.len());
            let gap = &rest[literal..];
            let after = gap.trim_start_matches('#');
            let digits = u32::try_from(gap.len() - after.len()).unwrap_or(u32::MAX);
            runs.push((rest[..literal].to_owned(), digits));
            rest = after;
        }
        Self { runs }
    }

    fn draw(&self, rng: &mut Rng, text: &mut String) {
        /// As many digits as fit a draw of 64 bits.
        const DIGITS: u32 = 19;
        let (mut drawn, mut left) = (0, 0);
        for (literal, digits) in &self.runs {
            text.push_str(literal);
            for _ in 0..*digits {
                if left == 0 {
                    (drawn, left) = (rng.u64(..10_u64.pow(DIGITS)), DIGITS);
                }
                text.push(char::from(b'0' + (drawn % 10) as u8));
                (drawn, left) = (drawn / 10, left - 1);
            }
        }
    }
}

/// A value, to be bound to a prepared statement or written into a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound<'v> {
    /// A number.
    Int(i64),
    /// A text.
    Text(&'v str),
}

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL's and MariaDB's.
    MySql,
    /// `PostgreSQL`'s.
    Postgres,
}

/// A value, as it is kept.
#[derive(Debug)]
enum Value {
    Int(i64),
    Text(Range<usize>),
}

/// The values of one operation: first those that its statements share, then those of the statement
/// that is run. Each has a slot, in the order in which they are made.
#[derive(Debug, Default)]
pub struct Values {
    slots: Vec<Value>,
    texts: String,
    shared_slots: usize,
    shared_texts: usize,
    reserved: Vec<i64>,
}

impl Values {
    /// Forgets the last operation's; where the first numbers reserved for this one are to be put.
    #[inline]
    pub fn start_afresh(&mut self) -> &mut Vec<i64> {
        self.reserved.clear();
        (self.shared_slots, self.shared_texts) = (0, 0);
        &mut self.reserved
    }

    /// Draws what all statements of the operation share.
    #[inline]
    pub fn draw_shared(&mut self, generators: &[Generator], rng: &mut Rng) {
        self.draw(generators, rng);
        (self.shared_slots, self.shared_texts) = (self.slots.len(), self.texts.len());
    }

    /// Draws a statement's own, in place of those of the statement before it.
    #[inline]
    pub fn draw(&mut self, generators: &[Generator], rng: &mut Rng) {
        self.slots.truncate(self.shared_slots);
        self.texts.truncate(self.shared_texts);
        for generator in generators {
            let value = self.make(generator, rng);
            self.slots.push(value);
        }
    }

    /// A slot's value.
    #[inline]
    pub fn bound(&self, slot: usize) -> Bound<'_> {
        match &self.slots[slot] {
            Value::Int(value) => Bound::Int(*value),
            Value::Text(range) => Bound::Text(&self.texts[range.clone()]),
        }
    }

    #[inline]
    fn make(&mut self, generator: &Generator, rng: &mut Rng) -> Value {
        match generator {
            Generator::UniformInt { low, high } => Value::Int(rng.i64(*low..=*high)),
            Generator::Reserved(place) => {
                let next = &mut self.reserved[*place];
                *next += 1;
                Value::Int(*next - 1)
            }
            Generator::Offset { slot, by } => match self.slots[*slot] {
                Value::Int(value) => Value::Int(value.saturating_add(*by)),
                // The job was checked: an offset is of a number.
                Value::Text(_) => Value::Int(*by),
            },
            Generator::Digits(text) => self.text(|texts| text.draw(rng, texts)),
            Generator::OneOf(several) => {
                let chosen = &several[rng.usize(..several.len())];
                self.text(|texts| texts.push_str(chosen))
            }
        }
    }

    fn text(&mut self, write: impl FnOnce(&mut String)) -> Value {
        let start = self.texts.len();
        write(&mut self.texts);
        Value::Text(start..self.texts.len())
    }
}

/// Appends a value as SQL has it. A backslash in a quoted literal means one thing or another, by a setting of the
/// session: MySQL's `sql_mode` (`NO_BACKSLASH_ESCAPES`), so that a text that has one is written in hexadecimal;
/// PostgreSQL's `standard_conforming_strings`, so that it is written as `E'…'`, where two are one.
pub fn append_literal(sql: &mut Vec<u8>, value: Bound<'_>, dialect: Dialect) {
    let text = match value {
        Bound::Int(number) => {
            return sql.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        Bound::Text(text) => text,
    };
    if text.contains('\\') {
        if dialect == Dialect::Postgres {
            return append_escaped(sql, text);
        }
        sql.extend_from_slice(b"_utf8mb4 0x");
        for byte in text.bytes() {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            sql.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        return;
    }
    sql.push(b'\'');
    for (number, part) in text.split('\'').enumerate() {
        if number > 0 {
            sql.extend_from_slice(b"''");
        }
        sql.extend_from_slice(part.as_bytes());
    }
    sql.push(b'\'');
}

fn append_escaped(sql: &mut Vec<u8>, text: &str) {
    sql.extend_from_slice(b"E'");
    for byte in text.bytes() {
        if matches!(byte, b'\'' | b'\\') {
            sql.push(byte);
        }
        sql.push(byte);
    }
    sql.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(value: Bound<'_>, dialect: Dialect) -> String {
        let mut sql = Vec::new();
        append_literal(&mut sql, value, dialect);
        String::from_utf8(sql).unwrap()
    }

    #[test]
    fn a_literal_means_its_text_whatever_the_sql_mode() {
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            assert_eq!(literal(Bound::Int(-7), dialect), "-7");
            assert_eq!(literal(Bound::Text(""), dialect), "''");
            assert_eq!(literal(Bound::Text("it's 'so'"), dialect), "'it''s ''so'''");
        }
        let text = Bound::Text("a\\'");
        assert_eq!(literal(text, Dialect::MySql), "_utf8mb4 0x615c27");
        assert_eq!(literal(text, Dialect::Postgres), "E'a\\\\'''");
    }

    #[test]
    fn digits_fill_their_gaps_and_nothing_else() {
        let (text, mut rng) = (DigitText::new("a##-###########-b#"), Rng::with_seed(3));
        let mut seen = [0_u32; 10];
        for _ in 0..1000 {
            let mut drawn = String::new();
            text.draw(&mut rng, &mut drawn);
            let digits = |range: Range<usize>| {
                let digits = drawn[range].bytes();
                digits
                    .map(|byte| usize::from(byte - b'0'))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                (&drawn[..1], &drawn[3..4], &drawn[15..17]),
                ("a", "-", "-b")
            );
            for digit in [digits(1..3), digits(4..15), digits(17..18)].concat() {
                seen[digit] += 1;
            }
        }
        // 14,000 digits, 1400 of each: five standard deviations are 178.
        assert!(
            seen.iter().all(|count| count.abs_diff(1400) < 178),
            "{seen:?}"
        );
    }

    #[test]
    fn what_statements_share_stays_while_their_own_changes() {
        let (mut values, mut rng) = (Values::default(), Rng::with_seed(1));
        values.start_afresh().extend([41, 7]);
        let one_of = || Generator::OneOf(vec!["x".into()]);
        values.draw_shared(&[Generator::Reserved(0), one_of()], &mut rng);
        for expected in [7, 8] {
            let own = [
                Generator::Reserved(1),
                Generator::Offset { slot: 0, by: 2 },
                one_of(),
            ];
            values.draw(&own, &mut rng);
            let found: Vec<_> = (0..5).map(|slot| values.bound(slot)).collect();
            let (int, text) = (Bound::Int, Bound::Text("x"));
            assert_eq!(found, [int(41), text, int(expected), int(43), text]);
        }
    }
}
