//! What kind of server a job is for, and what of it only that kind has.

use serde::{Deserialize, Serialize};

/// What kind of server it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// MySQL, or MariaDB, which speaks as it does.
    Mysql {},
    /// `PostgreSQL`.
    Postgresql(PostgresTerms),
}

impl Default for Server {
    fn default() -> Self {
        Self::Mysql {}
    }
}

impl Server {
    /// Whether it is what a job without the field means.
    pub fn is_mysql(&self) -> bool {
        *self == Self::default()
    }
}

/// What only `PostgreSQL` is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresTerms {
    /// How TLS begins, where there is TLS.
    #[serde(default)]
    pub ssl_negotiation: SslNegotiation,
    /// Ways of logging in that are good enough; empty: whichever the server asks for.
    #[serde(default)]
    pub require_auth: Vec<AuthMethod>,
}

/// How TLS begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SslNegotiation {
    /// After a question of the client's (`SSLRequest`) and the server's answer.
    #[default]
    Request,
    /// At once, with the protocol named by ALPN.
    Direct,
}

/// A way of logging in to `PostgreSQL`, by its name in libpq's `require_auth`; the last has none there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthMethod {
    /// The server asks for nothing: trust, peer, or a certificate of the client's.
    None,
    /// The password as it is.
    Password,
    /// MD5 of the password.
    Md5,
    /// SCRAM-SHA-256.
    #[serde(rename = "scram-sha-256")]
    ScramSha256,
    /// SCRAM-SHA-256 bound to the TLS channel.
    #[serde(rename = "scram-sha-256-plus")]
    ScramSha256Plus,
}
