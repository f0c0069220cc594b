//! How a login goes, and what is known when it is done.

use super::config::AuthMethod;
use crate::response::TransactionStatus;
use crate::scram::KeyUse;
use crate::server_error::append_printable;

/// What a login waits for; to be asked between two steps, to tell the phases of a connect apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoginStage {
    /// Its begin.
    Idle,
    /// The server's answer to `SSLRequest`.
    TlsAnswer,
    /// The TLS handshake, which is the caller's.
    TlsHandshake,
    /// The server's answer to `StartupMessage`.
    Startup,
    /// The digest of the server's certificate, which is the caller's.
    EndPoint,
    /// The verdict on the password, bare or hashed by MD5.
    Password,
    /// The server's first message of SCRAM.
    ScramFirst,
    /// The server's final message of SCRAM.
    ScramFinal,
    /// The verdict after SCRAM, in which the server has proven itself.
    ScramVerdict,
    /// The account is accepted; the server makes itself ready.
    Authenticated,
    /// Nothing more: the connection takes commands.
    Done,
    /// Nothing more: the connection is of no use.
    Failed,
}

/// What is known when a login is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginReport {
    /// How the account proved itself.
    pub method: AuthMethod,
    /// How often SCRAM hashed the password.
    pub iterations: Option<u32>,
    /// Whether SCRAM's hash was computed for this login.
    pub key: Option<KeyUse>,
    /// How often the server was waited for, from `SSLRequest` on; TLS's own round trips not counted.
    pub round_trips: u32,
    /// The id of the server's process (`pg_stat_activity`, `pg_stat_ssl`), or what a pooler gives for it.
    pub process_id: Option<u32>,
    /// The state of the transaction that the connection begins in.
    pub transaction: TransactionStatus,
    /// Notices that came with the login.
    pub notices: u32,
}

/// The parameters that are kept of those that a server reports (`ParameterStatus`).
const KEPT: [&str; 5] = [
    "server_version",
    "in_hot_standby",
    "default_transaction_read_only",
    "is_superuser",
    "session_authorization",
];
const MAX_VALUE_LEN: usize = 128;

/// What a server reported of itself, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    values: [Option<String>; KEPT.len()],
}

impl Parameters {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let place = KEPT.iter().position(|kept| *kept == name)?;
        self.values[place].as_deref()
    }

    /// Takes a report down, if it is to be kept.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) {
        if let Some(place) = KEPT.iter().position(|kept| kept.as_bytes() == name) {
            let kept = self.values[place].get_or_insert_default();
            kept.clear();
            append_printable(kept, value, MAX_VALUE_LEN);
        }
    }
}
