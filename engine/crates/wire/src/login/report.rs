//! How a login went: which plugin, which way through it, what both sides agreed on.

use crate::capability::{Capabilities, Status};

/// The authentication plugins that are spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthPlugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `mysql_clear_password`, over TLS to a verified server or a Unix socket only.
    Clear,
}

impl AuthPlugin {
    /// The plugin's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// The plugin of that name, if it is one of these.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2, Self::Clear]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// The way that a login took through its plugin; they differ in round trips and in cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthPath {
    /// The account was given no password, so none was sent in any form.
    Empty,
    /// `mysql_native_password`'s one exchange.
    Native,
    /// `caching_sha2_password` found the password in the server's cache.
    Fast,
    /// `caching_sha2_password` in full: the password itself, inside TLS.
    FullTls,
    /// `caching_sha2_password` in full: the password itself, over a Unix socket.
    FullSocket,
    /// `caching_sha2_password` in full: the password encrypted with the server's RSA key.
    FullRsa,
    /// `mysql_clear_password`: the password itself, over TLS to a verified server or a Unix socket.
    Clear,
    /// The server said OK at once, without saying that it looked at the password (`auth_socket`).
    Direct,
}

impl AuthPath {
    /// A short name for reports: `fast`, `full_tls`, `native` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Native => "native",
            Self::Fast => "fast",
            Self::FullTls => "full_tls",
            Self::FullSocket => "full_socket",
            Self::FullRsa => "full_rsa",
            Self::Clear => "clear",
            Self::Direct => "direct",
        }
    }
}

/// What is known when a login is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginReport {
    /// The plugin that the server settled on.
    pub plugin: AuthPlugin,
    /// The way it took.
    pub path: AuthPath,
    /// What both sides agreed on; the parsers of answers need it.
    pub capabilities: Capabilities,
    /// The status flags of the server's OK.
    pub status: Status,
    /// How often the server was waited for after its greeting, TLS's own round trips not counted.
    pub round_trips: u32,
}
