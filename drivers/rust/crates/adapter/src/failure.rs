//! What went wrong, by the contract's kinds, in the driver's own words.

use std::error::Error;
use std::io;

use serde::Serialize;

/// The server's errors to a login: 1044 no right to the schema, 1045 wrong password, 1130 host not allowed,
/// 1251 and 2059 a way of logging in that the client has not, 1698 no password, 1820 and 1862 expired
/// password, 3118 account locked (MySQL reference manual, "Server Error Message Reference").
const LOGIN_REFUSED: [u16; 9] = [1044, 1045, 1130, 1251, 1698, 1820, 1862, 2059, 3118];

/// errno of a process that has too many files open, of a system that has, of ports that ran out, of memory.
const LIMITS: [i32; 4] = [24, 23, 99, 12];

/// The code of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Code {
    /// MySQL's error number, or errno.
    Number(i32),
    /// PostgreSQL's SQLSTATE.
    State(String),
}

/// One thing that went wrong, as an answer has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The contract's word for it.
    pub kind: &'static str,
    /// What was said.
    pub words: String,
    /// What the server or the system calls it.
    pub code: Option<Code>,
    /// Whose words they are.
    by: &'static str,
}

impl Failure {
    /// A failure without a number, in the driver's words.
    pub fn new(kind: &'static str, words: impl Into<String>) -> Self {
        let (code, words, by) = (None, words.into(), "driver");
        Self {
            kind,
            words,
            code,
            by,
        }
    }

    /// What is asked for and cannot be done, in one sentence of this program's own.
    pub fn refusal(words: impl Into<String>) -> Self {
        Self {
            by: "adapter",
            ..Self::new("bad_job", words)
        }
    }

    /// What the host should not have ordered.
    pub fn internal(words: impl Into<String>) -> Self {
        Self {
            by: "adapter",
            ..Self::new("internal", words)
        }
    }

    /// The server's answer with an error packet; the connection is as good as before.
    #[must_use]
    pub fn server(number: u16, opening: bool, words: &str) -> Self {
        let refused = opening && LOGIN_REFUSED.contains(&number);
        let kind = if refused {
            "access_denied"
        } else {
            "server_error"
        };
        Self {
            code: Some(Code::Number(number.into())),
            ..Self::new(kind, words)
        }
    }

    /// PostgreSQL's answer with an error, by its class or itself (its documentation, "Error Codes"). The connection is
    /// as good as before, unless the server says that it ends it.
    #[must_use]
    pub fn of_state(state: &str, words: &str) -> Self {
        let kind = match state {
            _ if state.starts_with("28") => "access_denied",
            "53300" => "limits",
            "57P01" | "57P02" | "57P03" => "server_closed",
            _ => "server_error",
        };
        Self {
            code: Some(Code::State(state.into())),
            ..Self::new(kind, words)
        }
    }

    /// Any other error of a driver, by what lies beneath it: the network, or TLS. `otherwise` is what it is
    /// where nothing does.
    #[must_use]
    pub fn beneath(error: &(dyn Error + 'static), otherwise: &'static str) -> Self {
        let mut found = Self::new(otherwise, error.to_string());
        let words = whole(error);
        if words.contains("certificate") {
            found.kind = "certificate";
        } else if words.contains("lookup address") {
            found.kind = "resolve";
        } else if let Some(system) = chain(error).find_map(<dyn Error>::downcast_ref::<io::Error>) {
            found.kind = io_kind(system).unwrap_or(otherwise);
            found.code = system.raw_os_error().map(Code::Number);
        }
        found
    }

    /// Whether the connection that it was met on has to be given up.
    #[must_use]
    pub fn loses_connection(&self) -> bool {
        self.kind != "server_error"
    }
}

/// An error and all that caused it.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |one| (*one).source())
}

/// An error's words, and those of what caused it, each once.
#[must_use]
pub fn whole(error: &(dyn Error + 'static)) -> String {
    let add = |said: String, one: String| match said {
        _ if said.is_empty() => one,
        _ if said.contains(&one) => said,
        _ => format!("{said}: {one}"),
    };
    chain(error)
        .map(ToString::to_string)
        .fold(String::new(), add)
}

/// What the network says; `None` where the error is the driver's own, put into the network's words.
fn io_kind(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    let number = error.raw_os_error();
    match error.kind() {
        _ if number.is_some_and(|number| LIMITS.contains(&number)) => Some("limits"),
        Kind::UnexpectedEof
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::NotConnected => Some("server_closed"),
        Kind::TimedOut => Some("timeout"),
        Kind::InvalidData => Some("tls_handshake"),
        _ => number.map(|_| "connect"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_login_is_told_from_a_refused_statement() {
        assert_eq!(Failure::server(1045, true, "no").kind, "access_denied");
        assert_eq!(Failure::server(1045, false, "no").kind, "server_error");
        assert_eq!(
            Failure::server(1146, true, "no").code,
            Some(Code::Number(1146))
        );
    }

    #[test]
    fn a_state_says_what_an_error_is_and_whether_the_connection_is_lost() {
        let kind = |state| Failure::of_state(state, "no").kind;
        assert_eq!(kind("28P01"), "access_denied");
        assert_eq!(kind("42P01"), "server_error");
        assert_eq!(kind("53300"), "limits");
        assert!(Failure::of_state("57P01", "no").loses_connection());
        let answer = serde_json::to_string(&Failure::of_state("42P01", "no")).unwrap();
        assert!(answer.contains(r#""code":"42P01""#));
    }

    #[test]
    fn an_error_is_told_with_its_causes_and_none_twice() {
        let cause = io::Error::new(io::ErrorKind::InvalidData, "too short");
        let error = io::Error::other(cause);
        assert_eq!(whole(&error), "too short");
        let number: Box<dyn Error> = "7x".parse::<i32>().unwrap_err().into();
        assert_eq!(whole(number.as_ref()), "invalid digit found in string");
    }

    #[test]
    fn what_lies_beneath_is_found() {
        let kind = |error: io::Error| Failure::beneath(&error, "internal").kind;
        assert_eq!(kind(io::Error::from_raw_os_error(111)), "connect");
        assert_eq!(kind(io::Error::from_raw_os_error(24)), "limits");
        assert_eq!(kind(io::ErrorKind::UnexpectedEof.into()), "server_closed");
        let untrusted = "invalid peer certificate: UnknownIssuer";
        assert_eq!(
            kind(io::Error::new(io::ErrorKind::InvalidData, untrusted)),
            "certificate"
        );
        assert_eq!(kind(io::Error::other("packet too large")), "internal");
        let plain: Box<dyn Error> = "something".into();
        assert_eq!(
            Failure::beneath(plain.as_ref(), "internal").kind,
            "internal"
        );
    }
}
