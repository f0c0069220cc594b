//! An `ErrorResponse`: severity, SQLSTATE and message (PostgreSQL's documentation, "Error and Notice Message Fields").

use std::fmt;

use thiserror::Error;

use crate::error::Violation;
use crate::message::Reader;

/// As much of a message as is kept; the rest is left out.
const MAX_TEXT_LEN: usize = 512;

/// How bad an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The statement, or the transaction, has failed.
    Error,
    /// The server closes the connection.
    Fatal,
    /// The server restarts.
    Panic,
}

impl Severity {
    fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"ERROR" => Some(Self::Error),
            b"FATAL" => Some(Self::Fatal),
            b"PANIC" => Some(Self::Panic),
            _ => None,
        }
    }

    /// As the server writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Panic => "PANIC",
        }
    }
}

/// Five digits and upper-case letters, the first two of which are the class ("PostgreSQL Error Codes").
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The state of that text, if it is one.
    pub fn new(text: &[u8]) -> Option<Self> {
        let state: [u8; 5] = text.try_into().ok()?;
        let is_state = state
            .iter()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        is_state.then_some(Self(state))
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The first two characters, such as `28` where the account may not log in.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// An `ErrorResponse`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the server answered with {}{}{}", .severity.name(), state(*.sqlstate), said(.message))]
pub struct ServerError {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of error it is; None where the server sent none, or none that is one.
    pub sqlstate: Option<SqlState>,
    /// The message, in one line; what is not UTF-8 is replaced, and what is too long left out. Empty where the server
    /// sent none.
    pub message: String,
    /// It came when nothing was asked: the server is closing the connection.
    pub unasked: bool,
}

fn state(sqlstate: Option<SqlState>) -> String {
    sqlstate.map_or_else(String::new, |state| format!(" {state}"))
}

fn said(message: &str) -> String {
    if message.is_empty() {
        " and does not say why".into()
    } else {
        format!(": {message}")
    }
}

impl ServerError {
    /// Whether the server closes the connection after this error.
    pub fn closes_connection(&self) -> bool {
        self.unasked || self.severity != Severity::Error
    }

    /// Whether it says that the account may not log in: class 28, invalid authorization.
    pub fn refuses_account(&self) -> bool {
        self.sqlstate.is_some_and(|state| state.class() == "28")
    }

    /// Reads an `ErrorResponse`. Servers before 9.6 give the severity in their own language alone; what is none
    /// of the known ones is taken for an ordinary error.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Violation> {
        let mut reader = Reader::new(body, "an ErrorResponse");
        let (mut severity, mut local_severity) = (None, None);
        let (mut sqlstate, mut message) = (None, String::new());
        loop {
            match reader.u8()? {
                0 => break,
                b'V' => severity = Severity::from_name(reader.text()?),
                b'S' => local_severity = Severity::from_name(reader.text()?),
                b'C' => sqlstate = SqlState::new(reader.text()?),
                b'M' => printable(reader.text()?, MAX_TEXT_LEN)
                    .trim()
                    .clone_into(&mut message),
                _ => drop(reader.text()?),
            }
        }
        reader.finish()?;
        Ok(Self {
            severity: severity.or(local_severity).unwrap_or(Severity::Error),
            sqlstate,
            message,
            unasked: false,
        })
    }
}

/// The beginning of a text of the server's as one line: what is not UTF-8 is replaced, control characters by
/// spaces.
pub(crate) fn printable(text: &[u8], max_len: usize) -> String {
    let mut line = String::new();
    append_printable(&mut line, text, max_len);
    line
}

/// The same, into memory that is there.
pub(crate) fn append_printable(line: &mut String, text: &[u8], max_len: usize) {
    for chunk in text[..text.len().min(max_len)].utf8_chunks() {
        let valid = chunk.valid().chars();
        line.extend(valid.map(|c| if c.is_control() { ' ' } else { c }));
        if !chunk.invalid().is_empty() {
            line.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG_PASSWORD: &[u8] =
        b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user \"x\"\0Fauth.c\0L326\0\0";

    #[test]
    fn an_error_is_told_in_one_line() {
        let error = ServerError::read(WRONG_PASSWORD).unwrap();
        assert_eq!(
            error.to_string(),
            "the server answered with FATAL 28P01: password authentication failed for user \"x\""
        );
        assert!(error.closes_connection() && error.refuses_account());
        let odd = ServerError::read(b"SFEHLER\0Cxx\0Mtwo\nlines\x1b[2J\xff\0\0").unwrap();
        assert_eq!(
            odd.to_string(),
            "the server answered with ERROR: two lines [2J\u{fffd}"
        );
        assert!(!odd.closes_connection());
        let mute = ServerError::read(b"SFATAL\0M\n\0\0").unwrap();
        assert_eq!(
            mute.to_string(),
            "the server answered with FATAL and does not say why"
        );
        let long = [b"M".as_slice(), &[b'x'; 9000], b"\0\0"].concat();
        assert_eq!(
            ServerError::read(&long).unwrap().message.len(),
            MAX_TEXT_LEN
        );
    }

    #[test]
    fn an_error_that_ends_early_is_no_error_response() {
        for length in 0..WRONG_PASSWORD.len() {
            let cut = ServerError::read(&WRONG_PASSWORD[..length]);
            assert!(matches!(cut, Err(Violation::Truncated { .. })), "{length}");
        }
        let more = [WRONG_PASSWORD, b"x"].concat();
        let overlong = ServerError::read(&more);
        assert!(matches!(
            overlong,
            Err(Violation::Overlong { left_bytes: 1, .. })
        ));
    }
}
