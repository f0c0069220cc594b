//! Commands, appended to a buffer of the caller's. Each function returns what is then due, for
//! [`crate::ResponseParser::begin`].
//!
//! Those of the extended protocol end with `Sync`, so that each command has one answer, which ends with
//! `ReadyForQuery` whether it went well or not. What the protocol cannot carry is refused, and the buffer is then as
//! it was.

use std::io::Write as _;

use crate::error::WireError;
use crate::message::{append_message, append_text, length_field};
use crate::response::Asked;
use crate::row::Format;
use crate::value::oid;

/// A value for a placeholder, `$1` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A whole number: in binary where the placeholder's type is known to be one that holds it, else as text.
    Int(i64),
    /// Text in UTF-8.
    Text(&'a str),
    /// Bytes, as they are.
    Bytes(&'a [u8]),
}

/// How a prepared statement is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement's name.
    pub statement: &'a str,
    /// The types of its placeholders (OIDs), as the answer to the prepare has them; where they are not known, numbers
    /// go as text.
    pub types: &'a [u32],
    /// How values of rows are to come.
    pub results: Format,
    /// Whether the server describes the rows each time, as libpq asks it to; else it sends rows alone.
    pub describe: bool,
    /// The most rows to send; 0 for all.
    pub max_rows: u32,
}

/// `Query`: run `sql`, one statement or several, by the simple protocol.
///
/// # Errors
/// [`WireError::NulByte`], [`WireError::CommandTooLong`].
pub fn query(out: &mut Vec<u8>, sql: &[u8]) -> Result<Asked, WireError> {
    query_with(out, |out| out.extend_from_slice(sql))
}

/// [`query`], with the statement written in place: `write` may only append.
///
/// # Errors
/// As [`query`].
#[inline]
pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<Asked, WireError> {
    append_message(out, b'Q', |out| {
        let start = out.len();
        write(out);
        if out[start..].contains(&0) {
            return Err(WireError::NulByte { what: "statement" });
        }
        out.push(0);
        Ok(())
    })?;
    Ok(Asked::Query)
}

/// `Parse`, `Describe` and `Sync`: prepare `sql` under a name. `types` are those of the first placeholders (OIDs, 0
/// for one that the server infers); empty if it infers all.
///
/// # Errors
/// As [`query`].
pub fn prepare(
    out: &mut Vec<u8>,
    name: &str,
    sql: &[u8],
    types: &[u32],
) -> Result<Asked, WireError> {
    all_or_nothing(out, |out| {
        append_parse(out, name, sql, types)?;
        append_target(out, b'D', b'S', name)?;
        append_sync(out)
    })?;
    Ok(Asked::Prepare)
}

/// `Bind`, `Describe` where that is wanted, `Execute` and `Sync`: run a prepared statement. `params` must be as many
/// as its placeholders.
///
/// # Errors
/// As [`query`].
#[inline]
pub fn execute<'p>(
    out: &mut Vec<u8>,
    execute: &Execute<'_>,
    params: impl ExactSizeIterator<Item = Param<'p>>,
) -> Result<Asked, WireError> {
    let &Execute {
        statement,
        types,
        results,
        describe: described,
        max_rows,
    } = execute;
    all_or_nothing(out, |out| {
        append_bind(out, statement, types, results, params)?;
        append_run(out, described, max_rows);
        Ok(())
    })?;
    Ok(Asked::Execute { described, results })
}

/// `Parse` without a name, `Bind`, `Describe`, `Execute` and `Sync` in one: run `sql` once with parameters, as
/// libpq's `PQexecParams` does.
///
/// # Errors
/// As [`query`].
pub fn run<'p>(
    out: &mut Vec<u8>,
    sql: &[u8],
    types: &[u32],
    results: Format,
    params: impl ExactSizeIterator<Item = Param<'p>>,
) -> Result<Asked, WireError> {
    const ALL: u32 = 0;
    all_or_nothing(out, |out| {
        append_parse(out, "", sql, types)?;
        append_bind(out, "", types, results, params)?;
        append_run(out, true, ALL);
        Ok(())
    })?;
    Ok(Asked::Run)
}

/// `Close` and `Sync`: forget a prepared statement. One that does not exist is no error.
///
/// # Errors
/// As [`query`].
pub fn close(out: &mut Vec<u8>, name: &str) -> Result<Asked, WireError> {
    all_or_nothing(out, |out| {
        append_target(out, b'C', b'S', name)?;
        append_sync(out)
    })?;
    Ok(Asked::Close)
}

/// `Terminate`: the server closes the connection without an answer.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'X', 0, 0, 0, 4]);
}

/// A format's code takes two bytes.
const FORMAT_LEN: usize = 2;

/// Appends several messages, or none of them.
#[inline]
fn all_or_nothing(
    out: &mut Vec<u8>,
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    append(out).inspect_err(|_| out.truncate(start))
}

fn append_parse(out: &mut Vec<u8>, name: &str, sql: &[u8], types: &[u32]) -> Result<(), WireError> {
    append_message(out, b'P', |out| {
        append_text(out, name.as_bytes(), "statement's name")?;
        append_text(out, sql, "statement")?;
        out.extend_from_slice(&count_field(types.len())?);
        for kind in types {
            out.extend_from_slice(&kind.to_be_bytes());
        }
        Ok(())
    })
}

/// `Bind` to the portal without a name. Each value is looked at once: its format is written where room was left for it.
#[inline]
fn append_bind<'p>(
    out: &mut Vec<u8>,
    statement: &str,
    types: &[u32],
    results: Format,
    params: impl ExactSizeIterator<Item = Param<'p>>,
) -> Result<(), WireError> {
    append_message(out, b'B', |out| {
        out.push(0);
        append_text(out, statement.as_bytes(), "statement's name")?;
        let count = count_field(params.len())?;
        out.extend_from_slice(&count);
        let formats = out.len();
        out.resize(formats + FORMAT_LEN * params.len(), 0);
        out.extend_from_slice(&count);
        for (place, param) in params.enumerate() {
            let kind = types.get(place).copied().unwrap_or(oid::UNKNOWN);
            let [_, low] = append_value(out, param, kind)?.code();
            out[formats + FORMAT_LEN * place + 1] = low;
        }
        match results {
            Format::Text => out.extend_from_slice(&[0, 0]),
            Format::Binary => out.extend_from_slice(&[0, 1, 0, 1]),
        }
        Ok(())
    })
}

/// What follows a `Bind` of the portal without a name: `Describe` where that is wanted, `Execute` and `Sync`.
#[inline]
fn append_run(out: &mut Vec<u8>, described: bool, max_rows: u32) {
    if described {
        out.extend_from_slice(&[b'D', 0, 0, 0, 6, b'P', 0]);
    }
    let [a, b, c, d] = max_rows.to_be_bytes();
    out.extend_from_slice(&[b'E', 0, 0, 0, 9, 0, a, b, c, d, b'S', 0, 0, 0, 4]);
}

/// A `Describe` or a `Close`, of a statement (`S`) or a portal (`P`).
fn append_target(out: &mut Vec<u8>, kind: u8, of: u8, name: &str) -> Result<(), WireError> {
    append_message(out, kind, |out| {
        out.push(of);
        append_text(out, name.as_bytes(), "statement's name")
    })
}

fn append_sync(out: &mut Vec<u8>) -> Result<(), WireError> {
    append_message(out, b'S', |_| Ok(()))
}

fn count_field(count: usize) -> Result<[u8; 2], WireError> {
    let what = "a number of parameters";
    let field = u16::try_from(count).map_err(|_| WireError::CommandTooLong { what, count })?;
    Ok(field.to_be_bytes())
}

/// Appends a value behind its length; how it is encoded. A number goes in binary if it fits the placeholder's type;
/// one that does not goes as text, and it is the server that refuses it.
#[inline]
fn append_value(out: &mut Vec<u8>, param: Param<'_>, kind: u32) -> Result<Format, WireError> {
    let (bytes, format) = match param {
        Param::Null => {
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            return Ok(Format::Text);
        }
        Param::Int(value) => return Ok(append_number(out, value, kind)),
        Param::Text(text) => (text.as_bytes(), Format::Text),
        Param::Bytes(bytes) => (bytes, Format::Binary),
    };
    out.extend_from_slice(&length_field(bytes.len(), "a parameter")?);
    out.extend_from_slice(bytes);
    Ok(format)
}

/// The same of a number.
#[inline]
fn append_number(out: &mut Vec<u8>, value: i64, kind: u32) -> Format {
    let fits = match kind {
        oid::INT2 => i16::try_from(value).is_ok(),
        oid::INT4 => i32::try_from(value).is_ok(),
        oid::OID => u32::try_from(value).is_ok(),
        _ => kind == oid::INT8,
    };
    if !fits {
        append_digits(out, value);
        return Format::Text;
    }
    // The lower bytes of a number that fits are those of the shorter type.
    match (kind, value.to_be_bytes()) {
        (oid::INT2, [.., a, b]) => out.extend_from_slice(&[0, 0, 0, 2, a, b]),
        (oid::INT8, all) => {
            out.extend_from_slice(&[0, 0, 0, 8]);
            out.extend_from_slice(&all);
        }
        (_, [.., a, b, c, d]) => out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]),
    }
    Format::Binary
}

/// A number's digits behind their length.
fn append_digits(out: &mut Vec<u8>, value: i64) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    // Writing to memory cannot fail.
    let _ = write!(out, "{value}");
    // The longest number has twenty characters.
    out[start + 3] = u8::try_from(out.len() - start - 4).unwrap_or_default();
}
