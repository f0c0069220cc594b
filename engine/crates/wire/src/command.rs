//! Commands, appended to a buffer of the caller's as complete packets numbered from 0.
//!
//! Each function returns the number of the answer's first packet. It is 1 unless the command had
//! 2^24-1 bytes or more; parsers expect 1 after `reset`, any other number after `reset_at`.

use crate::packet::append_with;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
const COM_RESET_CONNECTION: u8 = 0x1f;

const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_BLOB: u8 = 252;
const TYPE_VAR_STRING: u8 = 253;

/// A value for a placeholder of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A signed integer, sent as BIGINT.
    Int(i64),
    /// Text in the connection's character set, utf8mb4.
    Text(&'a str),
    /// Bytes, sent as BLOB.
    Bytes(&'a [u8]),
}

/// `COM_QUERY`: run `sql` with the text protocol.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    query_with(out, |out| out.extend_from_slice(sql))
}

/// [`query`], with the statement written in place: `write` may only append.
pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    append_with(out, 0, |out| {
        out.push(COM_QUERY);
        write(out);
    })
}

/// `COM_PING`: answered with OK; read it with [`crate::ResponseParser::text`].
pub fn ping(out: &mut Vec<u8>) -> u8 {
    bare(out, COM_PING)
}

/// `COM_RESET_CONNECTION`: answered with OK. MySQL 5.7 and MariaDB 10.2 on; before, with ERR 1047.
pub fn reset_connection(out: &mut Vec<u8>) -> u8 {
    bare(out, COM_RESET_CONNECTION)
}

/// `COM_QUIT`: the server closes the connection without an answer.
pub fn quit(out: &mut Vec<u8>) {
    bare(out, COM_QUIT);
}

/// `COM_STMT_PREPARE`: read the answer with [`crate::PrepareParser`].
pub fn stmt_prepare(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    append_with(out, 0, |out| {
        out.push(COM_STMT_PREPARE);
        out.extend_from_slice(sql);
    })
}

/// `COM_STMT_EXECUTE` without a cursor, the types sent along: read the answer with
/// [`crate::ResponseParser::binary`]. `params` must be as many as the statement's placeholders.
pub fn stmt_execute(out: &mut Vec<u8>, statement_id: u32, params: &[Param<'_>]) -> u8 {
    stmt_execute_with(out, statement_id, params.iter().copied())
}

/// [`stmt_execute`], with the values gone through where they are.
pub fn stmt_execute_with<'p>(
    out: &mut Vec<u8>,
    statement_id: u32,
    params: impl ExactSizeIterator<Item = Param<'p>> + Clone,
) -> u8 {
    const NO_CURSOR: u8 = 0;
    const ITERATIONS: u32 = 1;
    const TYPES_FOLLOW: u8 = 1;
    append_with(out, 0, |out| {
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&statement_id.to_le_bytes());
        out.push(NO_CURSOR);
        out.extend_from_slice(&ITERATIONS.to_le_bytes());
        if params.len() > 0 {
            append_null_bitmap(out, params.clone());
            out.push(TYPES_FOLLOW);
            append_types(out, params.clone());
            append_values(out, params);
        }
    })
}

/// `COM_STMT_CLOSE`: not answered.
pub fn stmt_close(out: &mut Vec<u8>, statement_id: u32) {
    append_with(out, 0, |out| {
        out.push(COM_STMT_CLOSE);
        out.extend_from_slice(&statement_id.to_le_bytes());
    });
}

fn bare(out: &mut Vec<u8>, command: u8) -> u8 {
    append_with(out, 0, |out| out.push(command))
}

fn append_null_bitmap<'p>(out: &mut Vec<u8>, params: impl ExactSizeIterator<Item = Param<'p>>) {
    let (mut bits, last) = (0, params.len() - 1);
    for (index, param) in params.enumerate() {
        bits |= u8::from(matches!(param, Param::Null)) << (index % 8);
        if index % 8 == 7 || index == last {
            out.push(std::mem::take(&mut bits));
        }
    }
}

fn append_types<'p>(out: &mut Vec<u8>, params: impl Iterator<Item = Param<'p>>) {
    const SIGNED: u8 = 0;
    for param in params {
        let kind = match param {
            Param::Null => TYPE_NULL,
            Param::Int(_) => TYPE_LONGLONG,
            Param::Text(_) => TYPE_VAR_STRING,
            Param::Bytes(_) => TYPE_BLOB,
        };
        out.extend_from_slice(&[kind, SIGNED]);
    }
}

fn append_values<'p>(out: &mut Vec<u8>, params: impl Iterator<Item = Param<'p>>) {
    use crate::payload::append_lenenc_bytes;
    for param in params {
        match param {
            Param::Null => {}
            Param::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
            Param::Text(text) => append_lenenc_bytes(out, text.as_bytes()),
            Param::Bytes(bytes) => append_lenenc_bytes(out, bytes),
        }
    }
}
