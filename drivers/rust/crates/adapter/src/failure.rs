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

/// One thing that went wrong, as an answer has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The contract's word for it.
    pub kind: &'static str,
    /// What was said.
    pub words: String,
    /// The server's error number, or errno.
    pub code: Option<i32>,
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
            code: Some(number.into()),
            ..Self::new(kind, words)
        }
    }

    /// Any other error of a driver, by what lies beneath it: the network, or TLS. `otherwise` is what it is
    /// where nothing does.
    #[must_use]
    pub fn beneath(error: &(dyn Error + 'static), otherwise: &'static str) -> Self {
        let mut found = Self::new(otherwise, error.to_string());
        let words = chain(error).map(ToString::to_string).collect::<String>();
        if words.contains("certificate") {
            found.kind = "certificate";
        } else if words.contains("lookup address") {
            found.kind = "resolve";
        } else if let Some(system) = chain(error).find_map(<dyn Error>::downcast_ref::<io::Error>) {
            found.kind = io_kind(system).unwrap_or(otherwise);
            found.code = system.raw_os_error();
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
        assert_eq!(Failure::server(1146, true, "no").code, Some(1146));
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
