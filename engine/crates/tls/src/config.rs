//! What a user may ask of TLS: the settings that every connection of a process shares.

use std::fmt;
use std::path::PathBuf;

/// A version of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// TLS 1.0, RFC 2246.
    Tls10,
    /// TLS 1.1, RFC 4346.
    Tls11,
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

impl fmt::Display for Version {
    /// The number alone, as in `1.3`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tls10 => "1.0",
            Self::Tls11 => "1.1",
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

/// Which side of a connection is spoken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that says hello first.
    Client,
    /// The side that answers.
    Server,
}

/// How the server's certificate is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verify {
    /// Its chain is looked at, as OpenSSL always does, and the outcome ignored.
    #[default]
    None,
    /// It must chain to a trusted authority.
    Ca,
    /// It must chain to a trusted authority and carry the server's name or address.
    Identity,
}

/// The settings of a [`crate::Context`]. The default is what OpenSSL does when nothing is asked.
///
/// `cipher_list` (TLS 1.2 and before), `ciphersuites` (TLS 1.3) and `groups` are in OpenSSL's own
/// syntax (`man openssl-ciphers`, `man SSL_CTX_set1_groups_list`); `None` leaves the library's
/// default. OpenSSL passes over ciphers that it does not know as long as it knows one of the list,
/// so what was negotiated should be read back.
///
/// With a `max_version` below 1.2 the context also sets security level 0 and allows servers without
/// secure renegotiation: OpenSSL 3 signs TLS 1.0 and 1.1 handshakes with SHA-1, which level 1 and
/// above refuse, and servers of that age do not know RFC 5746. From OpenSSL 3.2 on it also leaves
/// out the empty record before data of TLS 1.0, which is written by itself there and which old
/// servers take for the end. A `@SECLEVEL` in `cipher_list` comes after and wins. Even at level 0
/// OpenSSL refuses Diffie-Hellman below 1024 bits, unless `weak_dh` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Oldest version offered.
    pub min_version: Option<Version>,
    /// Newest version offered.
    pub max_version: Option<Version>,
    /// Ciphers of TLS 1.2 and before, in order of preference.
    pub cipher_list: Option<String>,
    /// Cipher suites of TLS 1.3, in order of preference.
    pub ciphersuites: Option<String>,
    /// Key exchange groups, in order of preference; a key share is sent for the first.
    pub groups: Option<String>,
    /// How the server's certificate is checked.
    pub verify: Verify,
    /// PEM file of trusted authorities; `None` with verification means those that the library was
    /// built to trust.
    pub ca_file: Option<PathBuf>,
    /// PEM file of the client's certificate chain. Either file may hold both, as with MySQL's
    /// client.
    pub certificate_file: Option<PathBuf>,
    /// PEM file of the client's private key, not encrypted.
    pub key_file: Option<PathBuf>,
    /// Whether sessions are kept and offered. The `ClientHello` carries an empty session ticket
    /// extension either way, because that is what ordinary clients send when they have no session.
    pub resumption: bool,
    /// Whether Diffie-Hellman groups of any size are taken, down to the 512 bits below which OpenSSL
    /// itself cannot go.
    pub weak_dh: bool,
    /// Names of application protocols, in order of preference (ALPN, RFC 7301); a server that knows none
    /// of them may go on without or end the handshake. Empty: nothing is offered.
    pub alpn: Vec<String>,
    /// File that secrets are appended to in the format of `SSLKEYLOGFILE`, created with mode 0600.
    pub keylog_file: Option<PathBuf>,
    /// Whether hello retry requests are noticed and round trips counted. Costs an indirect call for
    /// each handshake message and record header, during the handshake only.
    pub observe_messages: bool,
}
