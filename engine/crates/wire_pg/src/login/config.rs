//! What a login is told: the account, the channel, and which proofs of the account are good enough.

use std::fmt;

use crate::error::WireError;

/// As many iterations of SCRAM's hash as a server may demand unless told otherwise: PostgreSQL's default is 4096, and
/// this many take about as long as a slow connect.
const DEFAULT_MAX_ITERATIONS: u32 = 1_000_000;

/// How TLS begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TlsStart {
    /// It does not.
    #[default]
    Off,
    /// The client asks for it by `SSLRequest`; a server that does not offer it is then an error.
    Request,
    /// From the first byte, without asking (PostgreSQL 17 on): the handshake must name the protocol `postgresql`
    /// by ALPN.
    Direct,
}

/// Whether it is known who is at the other end of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerIdentity {
    /// Anybody: the certificate is not looked at.
    #[default]
    Unknown,
    /// The handshake fails unless the certificate passes a check.
    Verified,
}

/// How an account proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// Not by a message: the server said OK at once (`trust`, `peer`, or `cert`, which TLS has proven).
    Trust,
    /// By the password as it is, in TLS to a verified server only.
    Password,
    /// By MD5 hashes of the password.
    Md5,
    /// By SCRAM-SHA-256.
    ScramSha256,
    /// By SCRAM-SHA-256 with the TLS channel bound to it (`tls-server-end-point`).
    ScramSha256Plus,
}

impl AuthMethod {
    const ALL: [Self; 5] = [
        Self::Trust,
        Self::Password,
        Self::Md5,
        Self::ScramSha256,
        Self::ScramSha256Plus,
    ];

    /// Its name, as in libpq's `require_auth`, which has no word for the last.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trust => "none",
            Self::Password => "password",
            Self::Md5 => "md5",
            Self::ScramSha256 => "scram-sha-256",
            Self::ScramSha256Plus => "scram-sha-256-plus",
        }
    }
}

/// Several methods.
///
/// With SCRAM-SHA-256-PLUS among them the channel is bound where the server offers it (libpq's
/// `channel_binding=prefer`); as the only one it is demanded (`require`); without it nothing is bound (`disable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthMethods(u8);

impl AuthMethods {
    /// All of them: the server decides.
    pub const ANY: Self = Self(0b1_1111);
    /// None, to add to.
    pub const NONE: Self = Self(0);

    /// One alone.
    pub const fn only(method: AuthMethod) -> Self {
        Self::NONE.with(method)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, method: AuthMethod) -> Self {
        Self(self.0 | 1 << method as u8)
    }

    /// Whether a method is among them.
    pub const fn contains(self, method: AuthMethod) -> bool {
        self.0 & 1 << method as u8 != 0
    }
}

impl Default for AuthMethods {
    fn default() -> Self {
        Self::ANY
    }
}

impl fmt::Display for AuthMethods {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = AuthMethod::ALL
            .into_iter()
            .filter(|method| self.contains(*method));
        for (place, method) in methods.enumerate() {
            let before = if place > 0 { ", " } else { "" };
            write!(formatter, "{before}{}", method.name())?;
        }
        Ok(())
    }
}

/// The account to log in as, and over what.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginConfig {
    /// The role's name.
    pub user: String,
    /// Its password; empty for none.
    pub password: String,
    /// The database; without one the server takes that of the role's name.
    pub database: Option<String>,
    /// What the server shows of the client in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Further parameters of `StartupMessage`, names and values: `options` with `-c …`, or settings of the session.
    pub parameters: Vec<(String, String)>,
    /// Whether and how TLS begins.
    pub tls: TlsStart,
    /// Who that TLS leads to.
    pub server: ServerIdentity,
    /// Which proofs of the account are accepted; whatever else the server asks for, or takes as enough, is an error.
    pub methods: AuthMethods,
    /// The most iterations of SCRAM's hash that a server may demand.
    pub max_iterations: u32,
}

impl Default for LoginConfig {
    fn default() -> Self {
        Self {
            user: String::new(),
            password: String::new(),
            database: None,
            application_name: None,
            parameters: Vec::new(),
            tls: TlsStart::Off,
            server: ServerIdentity::Unknown,
            methods: AuthMethods::ANY,
            max_iterations: DEFAULT_MAX_ITERATIONS,
        }
    }
}

impl LoginConfig {
    /// Whether the password may go out as it is: who asks for it must be known, since whoever ends a connection
    /// could ask.
    pub(super) fn takes_the_password_itself(&self) -> bool {
        self.tls != TlsStart::Off && self.server == ServerIdentity::Verified
    }

    /// The names and values of `StartupMessage`, in the order in which libpq sends them.
    pub(super) fn startup_parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = [
            ("user", Some(&*self.user)),
            ("database", self.database.as_deref()),
            ("application_name", self.application_name.as_deref()),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value)));
        let further = self.parameters.iter();
        named.chain(further.map(|(name, value)| (&**name, &**value)))
    }

    /// Refuses what the protocol, which ends these fields with a NUL, cannot carry. A parameter without a name would
    /// end the message.
    pub(super) fn check(&self) -> Result<(), WireError> {
        if self.password.contains('\0') {
            return Err(WireError::NulByte { what: "password" });
        }
        for (name, value) in self.startup_parameters() {
            if name.contains('\0') || value.contains('\0') {
                let what = match name {
                    "user" => "user name",
                    "database" => "database name",
                    "application_name" => "application name",
                    _ => "startup parameters",
                };
                return Err(WireError::NulByte { what });
            }
            if name.is_empty() {
                let what = "a startup parameter has no name";
                return Err(WireError::Misuse { what });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for LoginConfig {
    /// Everything but the password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoginConfig")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("application_name", &self.application_name)
            .field("parameters", &self.parameters)
            .field("tls", &self.tls)
            .field("server", &self.server)
            .field("methods", &self.methods)
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}
