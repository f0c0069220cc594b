//! What a driver must do to be measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;

use crate::failure::Failure;

/// A value that is bound to a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Bound as BIGINT.
    Int(i64),
    /// Bound as a string.
    Text(String),
}

/// Rows as texts; `None` is NULL.
pub type Rows = Vec<Vec<Option<String>>>;

/// A driver that was told what the job says.
pub trait Driver: Send + Sync + 'static {
    /// Its connection.
    type Connection: Send + 'static;

    /// Whether its server is PostgreSQL: it prepares with `$1`, `$2`, …, and a backslash in a text is one.
    const POSTGRESQL: bool = false;

    /// Whether it can be told which versions of TLS it may speak.
    const VERSIONS: bool = false;

    /// Opens a connection, all that the driver does to that end.
    fn open(&self) -> impl Future<Output = Result<Self::Connection, Failure>> + Send;

    /// Runs a statement as text and reads all its rows, as a program does that uses them.
    fn text(
        &self,
        connection: &mut Self::Connection,
        sql: &str,
        asks: bool,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Prepares a statement, unless the driver has it at hand, runs it and reads all its rows.
    fn prepared(
        &self,
        connection: &mut Self::Connection,
        sql: &str,
        values: Vec<Value>,
        asks: bool,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Runs a statement as text, for its rows.
    fn rows(
        &self,
        connection: &mut Self::Connection,
        sql: &str,
    ) -> impl Future<Output = Result<Rows, Failure>> + Send;

    /// Hangs up as a program does that is done.
    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;
}

/// A driver's options as the parameters of its URL, with a question mark before them, if there are any.
#[must_use]
pub fn query(options: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in options {
        let mark = if text.is_empty() { '?' } else { '&' };
        let _ = write!(text, "{mark}{}={}", escaped(name), escaped(value));
    }
    text
}

fn escaped(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    word.bytes().fold(String::new(), |mut text, byte| {
        if plain(byte) {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// The version of a package as the lock file has it, with which it was built.
#[must_use]
pub fn locked_version(package: &str) -> String {
    let head = format!("name = \"{package}\"\nversion = \"");
    include_str!("../../../Cargo.lock")
        .split_once(&head)
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or_else(|| "unknown".into(), |(version, _)| version.into())
}
