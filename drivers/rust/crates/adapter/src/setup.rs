//! What an adapter is told on starting (`drivers/ADAPTERS.md` has the fields).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::driver::Value;
use crate::failure::Failure;

/// Where the server is.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Endpoint {
    Tcp { host: String, port: u16 },
    Unix { path: String },
}

/// Whom to log in as. It cannot be printed, so that no log has the password.
#[derive(Deserialize)]
pub struct Account {
    pub user: String,
    pub password: String,
    pub database: Option<String>,
}

/// What the driver is told of encryption.
#[derive(Debug, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Tls {
    Off {},
    Unset {},
    Required {},
    On(TlsTerms),
}

/// What is said of TLS where it is on.
#[derive(Debug, Default, Deserialize)]
pub struct TlsTerms {
    min_version: Option<String>,
    max_version: Option<String>,
    /// All from the lowest to the highest version that may be spoken; none where nothing is said of them.
    #[serde(default)]
    pub versions: Vec<String>,
    /// Whether TLS begins at once.
    #[serde(default)]
    pub direct: bool,
    pub verify: Verify,
    pub ca_file: Option<String>,
    pub server_name: Option<String>,
    pub certificate_file: Option<String>,
    pub key_file: Option<String>,
}

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    None,
    Ca,
    #[default]
    Identity,
}

/// One statement, run once: the texts around its values, and a letter for each value's type.
#[derive(Debug, Deserialize)]
pub struct Call {
    pub pieces: Vec<String>,
    pub types: String,
    pub prepared: bool,
    pub reads: bool,
}

/// The line on standard input.
#[derive(Deserialize)]
pub struct Setup {
    pub name: String,
    pub channels: Vec<(u32, u32)>,
    pub endpoint: Endpoint,
    pub account: Account,
    pub tls: Tls,
    pub options: BTreeMap<String, String>,
    pub on_connect: Vec<String>,
    pub reconnect: bool,
    pub calls: Vec<Call>,
}

impl Setup {
    /// Reads it.
    ///
    /// # Errors
    /// It is not as agreed on.
    pub fn read(line: &str) -> Result<Self, Failure> {
        serde_json::from_str(line)
            .map_err(|error| Failure::refusal(format!("the setup cannot be read: {error}")))
    }
}

impl Tls {
    /// For a driver that has no word for versions of TLS.
    ///
    /// # Errors
    /// Some are asked for.
    pub fn refuse_versions(&self) -> Result<(), Failure> {
        match self {
            Self::On(terms) if terms.min_version.is_some() || terms.max_version.is_some() => Err(
                Failure::refusal("this driver cannot be told tls.min_version or max_version"),
            ),
            _ => Ok(()),
        }
    }
}

impl Account {
    /// The database that is named, or the account's own, as PostgreSQL has it.
    #[must_use]
    pub fn database(&self) -> &str {
        self.database.as_ref().unwrap_or(&self.user)
    }
}

impl Endpoint {
    /// What PostgreSQL's drivers take for a host, and the port: of a Unix socket its folder, and the port in its name.
    #[must_use]
    pub fn host_and_port(&self) -> (&str, u16) {
        match self {
            Self::Tcp { host, port } => (host, *port),
            Self::Unix { path } => {
                let (folder, port) = path.split_once("/.s.PGSQL.").unwrap_or((path, ""));
                (folder, port.parse().unwrap_or(5432))
            }
        }
    }
}

impl Call {
    /// The text to prepare, with `?` or, for PostgreSQL, `$1`, `$2`, … in place of its values.
    #[must_use]
    pub fn preparable(&self, postgresql: bool) -> String {
        if !postgresql {
            return self.pieces.join("?");
        }
        let mut text = String::new();
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0 {
                let _ = write!(text, "${place}");
            }
            text.push_str(piece);
        }
        text
    }

    /// Its values; `fields` gives the texts of them.
    pub fn values<'f>(&self, fields: &mut impl Iterator<Item = &'f str>) -> Vec<Value> {
        let value = |(letter, text): (char, &str)| match letter {
            'i' => Value::Int(text.parse().unwrap_or_default()),
            _ => Value::Text(text.into()),
        };
        self.types.chars().zip(fields).map(value).collect()
    }

    /// Its text with these values put in as literals. At MySQL it depends on the session's `sql_mode` what a backslash
    /// means, so a text with one is written in hexadecimal; at PostgreSQL it means itself (`standard_conforming_strings`).
    #[must_use]
    pub fn filled(&self, values: &[Value], postgresql: bool) -> String {
        let literals = values.iter().map(|value| match value {
            Value::Int(number) => number.to_string(),
            Value::Text(text) if !postgresql && text.contains('\\') => {
                let bytes: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                format!("X'{}'", bytes.concat())
            }
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        });
        let behind = literals.chain(std::iter::once(String::new()));
        let pieces = self.pieces.iter().zip(behind);
        pieces.fold(String::new(), |text, (piece, literal)| {
            text + piece + &literal
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_by_their_types_and_written_as_literals() {
        let pieces = ["SELECT ", ", ", ", ", ""].map(String::from).to_vec();
        let call = Call {
            pieces,
            types: "iss".into(),
            prepared: true,
            reads: true,
        };
        let mut fields = "-5\x1fit's\x1fa\\b\x1fnext".split('\x1f');
        let values = call.values(&mut fields);
        assert_eq!(fields.next(), Some("next"));
        assert_eq!(values[0], Value::Int(-5));
        assert_eq!(call.preparable(false), "SELECT ?, ?, ?");
        assert_eq!(call.preparable(true), "SELECT $1, $2, $3");
        let told = |postgresql| call.filled(&values, postgresql);
        assert_eq!(told(false), "SELECT -5, 'it''s', X'615c62'");
        assert_eq!(told(true), r"SELECT -5, 'it''s', 'a\b'");
    }

    #[test]
    fn a_socket_of_postgresql_is_a_folder_and_a_port() {
        let path = "/run/here/.s.PGSQL.6543".into();
        let socket = Endpoint::Unix { path };
        assert_eq!(socket.host_and_port(), ("/run/here", 6543));
    }

    #[test]
    fn versions_are_refused_where_a_driver_has_no_word_for_them() {
        let tls = |words: &str| serde_json::from_str::<Tls>(words).unwrap();
        let one = tls(r#"{"mode": "on", "verify": "none", "max_version": "1.2"}"#);
        let none = tls(r#"{"mode": "on", "verify": "none", "max_version": null}"#);
        assert_eq!(one.refuse_versions().unwrap_err().kind, "bad_job");
        assert!(none.refuse_versions().is_ok());
    }
}
