//! What a login is told: the account and the channel.

use std::fmt;

use crate::compression::Algorithm;
use crate::error::WireError;

/// Whether it is known who is at the other end of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerIdentity {
    /// Anybody: the certificate is not looked at.
    #[default]
    Unknown,
    /// The handshake fails unless the certificate passes a check.
    Verified,
}

/// The account to log in as, and over what.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LoginConfig {
    /// The account's name.
    pub user: String,
    /// The account's password; empty for none.
    pub password: String,
    /// The schema to begin in.
    pub database: Option<String>,
    /// Whether to start TLS; a server that does not offer it is then an error.
    pub tls: bool,
    /// Who that TLS leads to.
    pub server: ServerIdentity,
    /// How both sides compress after the login; a server that does not offer it is then an error.
    pub compression: Option<Algorithm>,
    /// Whether the channel cannot be read by others even without TLS: a Unix socket.
    pub local_socket: bool,
    /// Whether the server's RSA key may be asked for, and taken as it comes, where the whole password
    /// is wanted and the channel can be read. Whoever sits between can answer with a key of their own.
    pub get_server_public_key: bool,
    /// Connection attributes (`performance_schema.session_connect_attrs`), names and values.
    pub attributes: Vec<(String, String)>,
}

impl LoginConfig {
    /// Whether `mysql_clear_password` may be answered: the client does not choose it, so whoever ends an
    /// unverified connection could ask for it. (`caching_sha2_password` in full wants any TLS, as in every
    /// client: MySQL's manual, "Caching SHA-2 Pluggable Authentication".)
    pub(super) fn takes_the_password_itself(&self) -> bool {
        self.local_socket || (self.tls && self.server == ServerIdentity::Verified)
    }

    /// Refuses what the protocol, which ends these fields with a NUL, cannot carry.
    pub(super) fn check(&self) -> Result<(), WireError> {
        let database = self.database.as_deref().unwrap_or("");
        let fields = [
            ("user name", &*self.user),
            ("password", &*self.password),
            ("database name", database),
        ];
        match fields.into_iter().find(|(_, text)| text.contains('\0')) {
            Some((what, _)) => Err(WireError::NulByte { what }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for LoginConfig {
    /// Everything but the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoginConfig")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .field("server", &self.server)
            .field("compression", &self.compression)
            .field("local_socket", &self.local_socket)
            .field("get_server_public_key", &self.get_server_public_key)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}
