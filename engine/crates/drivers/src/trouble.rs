//! What ends a job or an operation: a failure that an adapter tells of, or one of the host's own.

use serde::Deserialize;
use tlstax_client::Failure;
use tlstax_contract::{ErrorEvent, ErrorKind, Fault};

/// A driver's words are cut after this many characters: one that prints a page has said enough.
const LONGEST_WORDS: usize = 500;

/// A failure in the contract's words, with one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What.
    pub kind: ErrorKind,
    /// One sentence, without the password.
    pub message: String,
    /// MySQL's error number, SQLSTATE of `PostgreSQL` in base 36, or errno.
    pub code: Option<i32>,
    fault: Fault,
    by: Speaker,
}

/// A failure as an adapter tells it.
#[derive(Debug, Deserialize)]
pub struct Told {
    kind: ErrorKind,
    words: String,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    by: Speaker,
}

/// What a server numbers its error by.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Code {
    /// MySQL's number.
    Number(i32),
    /// SQLSTATE, five letters and digits.
    State(String),
}

impl Code {
    fn number(&self) -> Option<i32> {
        match self {
            Self::Number(number) => Some(*number),
            Self::State(state) => i32::from_str_radix(state, 36).ok(),
        }
    }
}

/// Whose words they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    #[default]
    Driver,
    Adapter,
}

impl Trouble {
    /// A failure with this sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            code: None,
            fault: fault_of(kind),
            by: Speaker::Adapter,
        }
    }

    /// Whether more operations cannot help: the job, an adapter or the host is wrong. What a driver fails with for a
    /// reason that its adapter does not know is counted as any failure.
    pub fn is_ours(&self) -> bool {
        self.kind == ErrorKind::BadJob
            || (self.kind == ErrorKind::Internal && self.by == Speaker::Adapter)
    }

    /// The job asks for what cannot be done.
    pub fn bad_job(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadJob, message)
    }

    /// What an adapter tells of the driver with this name; `secret` is cut out of it.
    pub fn told(told: &Told, name: &str, secret: &str) -> Self {
        let mut words = told.words.split_whitespace().collect::<Vec<_>>().join(" ");
        if !secret.is_empty() {
            words = words.replace(secret, "(the password)");
        }
        if let Some((end, _)) = words.char_indices().nth(LONGEST_WORDS) {
            words.truncate(end);
            words.push('…');
        }
        let message = match told.by {
            Speaker::Driver => format!("{name} says: {words}"),
            Speaker::Adapter => words,
        };
        Self {
            code: told.code.as_ref().and_then(Code::number),
            by: told.by,
            ..Self::new(told.kind, message)
        }
    }

    /// Whether both are counted together.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.kind, self.code) == (other.kind, other.code)
    }

    /// As the event that tells of it.
    pub fn event(&self, fatal: bool) -> ErrorEvent {
        ErrorEvent {
            kind: self.kind,
            fault: self.fault,
            fatal,
            message: self.message.clone(),
            code: self.code,
            count: 1,
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self {
            kind: failure.kind(),
            message: failure.to_string(),
            code: failure.code(),
            fault: failure.fault(),
            by: Speaker::Adapter,
        }
    }
}

const fn fault_of(kind: ErrorKind) -> Fault {
    match kind {
        ErrorKind::BadJob | ErrorKind::AccessDenied | ErrorKind::Resolve => Fault::Job,
        ErrorKind::Connect | ErrorKind::Timeout => Fault::Network,
        ErrorKind::Limits | ErrorKind::Internal => Fault::Client,
        _ => Fault::Server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: &str) -> Told {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_drivers_words_are_one_sentence_without_the_password() {
        let said =
            told(r#"{"kind": "access_denied", "words": "no\n for 'x' (horse)", "code": 1045}"#);
        let trouble = Trouble::told(&said, "pymysql-1.1", "horse");
        assert_eq!(
            trouble.message,
            "pymysql-1.1 says: no for 'x' ((the password))"
        );
        let event = trouble.event(true);
        assert_eq!(
            (event.code, event.fault, event.fatal),
            (Some(1045), Fault::Job, true)
        );
    }

    #[test]
    fn what_a_driver_fails_with_is_counted_and_what_an_adapter_fails_with_ends() {
        for (json, ours) in [
            (r#"{"kind": "internal", "words": "x"}"#, false),
            (
                r#"{"kind": "internal", "words": "x", "by": "adapter"}"#,
                true,
            ),
            (r#"{"kind": "bad_job", "words": "x"}"#, true),
            (r#"{"kind": "server_closed", "words": "x"}"#, false),
        ] {
            assert_eq!(
                Trouble::told(&told(json), "n", "").is_ours(),
                ours,
                "{json}"
            );
        }
    }

    #[test]
    fn a_sqlstate_is_told_as_a_number() {
        let said = told(r#"{"kind": "server_error", "words": "x", "code": "23505"}"#);
        let expected = i32::from_str_radix("23505", 36).unwrap();
        assert_eq!(Trouble::told(&said, "n", "").code, Some(expected));
    }

    #[test]
    fn an_adapters_own_words_are_not_the_drivers() {
        let said = told(r#"{"kind": "bad_job", "words": "no such option", "by": "adapter"}"#);
        assert_eq!(Trouble::told(&said, "x", "").message, "no such option");
    }
}
