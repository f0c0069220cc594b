//! What an adapter is told on starting (`drivers/ADAPTERS.md` has the fields).

use std::collections::BTreeMap;

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
#[derive(Debug, Deserialize)]
pub struct TlsTerms {
    min_version: Option<String>,
    max_version: Option<String>,
    pub verify: Verify,
    pub ca_file: Option<String>,
    pub server_name: Option<String>,
    pub certificate_file: Option<String>,
    pub key_file: Option<String>,
}

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    None,
    Ca,
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
    /// It is not as agreed on, or names versions of TLS: no driver has a word for them.
    pub fn read(line: &str) -> Result<Self, Failure> {
        let setup: Self = serde_json::from_str(line)
            .map_err(|error| Failure::refusal(format!("the setup cannot be read: {error}")))?;
        match &setup.tls {
            Tls::On(terms) if terms.min_version.is_some() || terms.max_version.is_some() => Err(
                Failure::refusal("this driver cannot be told tls.min_version or max_version"),
            ),
            _ => Ok(setup),
        }
    }
}

impl Call {
    /// The text to prepare.
    #[must_use]
    pub fn preparable(&self) -> String {
        self.pieces.join("?")
    }

    /// Its values; `fields` gives the texts of them.
    pub fn values<'f>(&self, fields: &mut impl Iterator<Item = &'f str>) -> Vec<Value> {
        let value = |(letter, text): (char, &str)| match letter {
            'i' => Value::Int(text.parse().unwrap_or_default()),
            _ => Value::Text(text.into()),
        };
        self.types.chars().zip(fields).map(value).collect()
    }

    /// Its text with these values put in as literals. What a backslash means depends on the session's `sql_mode`,
    /// so a text with one is written in hexadecimal.
    #[must_use]
    pub fn filled(&self, values: &[Value]) -> String {
        let literals = values.iter().map(|value| match value {
            Value::Int(number) => number.to_string(),
            Value::Text(text) if text.contains('\\') => {
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
        assert_eq!(call.preparable(), "SELECT ?, ?, ?");
        assert_eq!(call.filled(&values), "SELECT -5, 'it''s', X'615c62'");
    }
}
