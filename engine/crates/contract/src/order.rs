//! The orders: what the laboratory writes when the client is ready, one bare word a line.

use thiserror::Error;

use crate::limits::LONGEST_S;

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// Work for a slice in which operations start for this many seconds.
    Slice(f64),
    /// There is no further slice.
    End,
}

/// A `go` whose number cannot be the length of a slice.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
#[error("go needs the slice's length in seconds behind it, more than 0 and at most a year")]
pub struct OrderError;

impl Order {
    /// The order that a line holds, if any: other lines mean nothing.
    ///
    /// # Errors
    /// A `go` without a number, or with one that is no length.
    pub fn from_line(line: &str) -> Result<Option<Self>, OrderError> {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("end"), None, None) => Ok(Some(Self::End)),
            (Some("go"), Some(number), None) => {
                let length_s: f64 = number.parse().map_err(|_| OrderError)?;
                // Neither infinite nor not a number, which is in no range.
                let holds = length_s > 0.0 && length_s <= LONGEST_S;
                holds
                    .then_some(Some(Self::Slice(length_s)))
                    .ok_or(OrderError)
            }
            (Some("go"), ..) => Err(OrderError),
            _ => Ok(None),
        }
    }
}
