//! What can go wrong, and whose fault it is.

use thiserror::Error;

/// Every way in which talking to a server fails. Each displays as one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// The server answered with an ERR packet.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server sent what the protocol does not allow; the connection cannot be used any more.
    #[error("the server broke the MySQL protocol: {0}")]
    Protocol(#[from] Violation),
    /// What answered speaks something else; `banner` shows its first bytes, printable, shortened.
    #[error("this is not a MySQL server: it opened with {banner}{}", hint(*.looks_like))]
    NotMySql {
        /// The first bytes received, quoted and escaped.
        banner: String,
        /// The name of the protocol that begins like this, where it is known.
        looks_like: Option<&'static str>,
    },
    /// A packet is longer than the parser was allowed to take.
    #[error(
        "the server sent a packet of at least {length_bytes} bytes, over the limit of {limit_bytes}"
    )]
    PacketTooLarge {
        /// What the headers seen so far add up to.
        length_bytes: usize,
        /// The configured maximum.
        limit_bytes: usize,
    },
    /// The account authenticates in a way that this client cannot.
    #[error(
        "the account uses the authentication plugin '{plugin}', which this client does not have; \
         it has mysql_native_password, caching_sha2_password and, over TLS to a verified server or over a \
         Unix socket, mysql_clear_password"
    )]
    UnsupportedPlugin {
        /// The plugin's name as the server gave it.
        plugin: String,
    },
    /// TLS was asked for and the greeting lacks `CLIENT_SSL`.
    #[error("TLS was asked for, but the server does not offer it (no CLIENT_SSL in its greeting)")]
    TlsNotOffered,
    /// Compression was asked for and the greeting lacks its flag.
    #[error(
        "compression with {algorithm} was asked for, but the server does not offer it (no {missing} in its \
         greeting)"
    )]
    CompressionNotOffered {
        /// The algorithm's name.
        algorithm: &'static str,
        /// The capability's name.
        missing: &'static str,
    },
    /// This machine has no memory for compression.
    #[error("this machine has no memory for the compression of a connection")]
    Compressor,
    /// The server asked for the password in clear text over a channel that can be read, or may be anybody.
    #[error(
        "the server asked for the password in clear text (mysql_clear_password) over {}; it was not sent: \
         have the server's certificate verified (--ssl-mode=VERIFY_IDENTITY with --ssl-ca), or use a Unix \
         socket",
        readable(*.encrypted)
    )]
    CleartextRefused {
        /// Whether TLS was up, to a server that nothing vouched for.
        encrypted: bool,
    },
    /// The server asked for the whole password over a channel that can be read, and its RSA key may
    /// not be asked for.
    #[error(
        "the server asked for the whole password over an unencrypted TCP connection \
         (caching_sha2_password, full authentication), and its RSA key cannot be verified there; \
         nothing was sent: log in over TLS first, so that the server has this account in its cache, \
         or use TLS alone"
    )]
    PublicKeyNotAskedFor,
    /// The server lacks a capability that this client cannot do without.
    #[error("the server is too old for this client: it does not have {missing}")]
    ServerTooOld {
        /// The capability's name.
        missing: &'static str,
    },
    /// The account or an attribute cannot be put on the wire.
    #[error("the {what} contains a NUL byte, which the MySQL protocol cannot carry")]
    NulByte {
        /// Which part of the configuration.
        what: &'static str,
    },
    /// The calling program used the crate out of order.
    #[error("out of order use of the MySQL protocol code: {what}")]
    Misuse {
        /// What was called, and when it may be.
        what: &'static str,
    },
}

/// Who has to change something for the error to go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server said no, or broke the protocol.
    Server,
    /// What the caller was asked to do cannot be done: the endpoint, the account, the limits.
    Job,
    /// This client: it lacks something, or was used wrongly.
    Client,
}

impl WireError {
    /// Who has to change something for the error to go away.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Server(_)
            | Self::Protocol(_)
            | Self::TlsNotOffered
            | Self::CompressionNotOffered { .. }
            | Self::ServerTooOld { .. } => Fault::Server,
            Self::NotMySql { .. }
            | Self::PacketTooLarge { .. }
            | Self::CleartextRefused { .. }
            | Self::PublicKeyNotAskedFor
            | Self::NulByte { .. } => Fault::Job,
            Self::UnsupportedPlugin { .. } | Self::Compressor | Self::Misuse { .. } => {
                Fault::Client
            }
        }
    }

    /// Marks a server's error as one that came out of turn.
    pub(crate) fn out_of_turn(mut self, unasked: bool) -> Self {
        if let Self::Server(error) = &mut self {
            error.unasked = unasked;
        }
        self
    }

    /// Whether the connection can take another command: only after an ordinary ERR packet that
    /// answered a command.
    pub fn leaves_connection_usable(&self) -> bool {
        matches!(self, Self::Server(error) if !error.closes_connection())
    }
}

fn readable(encrypted: bool) -> &'static str {
    if encrypted {
        "TLS to a server whose certificate was not verified"
    } else {
        "an unencrypted TCP connection"
    }
}

fn hint(looks_like: Option<&'static str>) -> String {
    looks_like.map_or_else(String::new, |name| format!(", which looks like {name}"))
}

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the server answered with error {code}{}: {message}", parenthesised(.sqlstate.as_deref()))]
pub struct ServerError {
    /// The MySQL error number, such as 1045.
    pub code: u16,
    /// The five characters of the SQLSTATE; None where the server sent none (before login).
    pub sqlstate: Option<String>,
    /// The message; bytes that are not UTF-8 are replaced.
    pub message: String,
    /// The packet came out of turn, numbered 0: the server is closing the connection.
    pub unasked: bool,
}

fn parenthesised(sqlstate: Option<&str>) -> String {
    sqlstate.map_or_else(String::new, |state| format!(" ({state})"))
}

/// Errors after which a server closes the connection: 1053 shutdown, 1152 aborted, 1153 packet too
/// large, 1158 to 1161 network, 1927 and 3169 killed, 4031 idle for too long.
const CLOSING_CODES: [u16; 10] = [1053, 1152, 1153, 1158, 1159, 1160, 1161, 1927, 3169, 4031];

impl ServerError {
    /// Whether the server closes the connection after this error.
    pub fn closes_connection(&self) -> bool {
        self.unasked || CLOSING_CODES.contains(&self.code)
    }
}

/// How the server broke the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Violation {
    /// A packet was lost, repeated or sent out of turn.
    #[error("packet number {got} came where {expected} was due")]
    OutOfSequence {
        /// The number that was due.
        expected: u8,
        /// The number in the header.
        got: u8,
    },
    /// A packet ended before what it must contain.
    #[error("{packet} is cut short")]
    Truncated {
        /// Which packet.
        packet: &'static str,
    },
    /// A packet has bytes after what it can contain.
    #[error("{packet} has {left_bytes} bytes too many")]
    Overlong {
        /// Which packet.
        packet: &'static str,
        /// How many bytes were left.
        left_bytes: usize,
    },
    /// A packet begins with a byte that has no meaning here.
    #[error("{packet} begins with the byte {byte:#04x}, which has no meaning there")]
    UnexpectedByte {
        /// What was due.
        packet: &'static str,
        /// The byte found.
        byte: u8,
    },
    /// A result set with no columns at all, or more than any server has.
    #[error("a result set of {0} columns")]
    ColumnCount(u64),
    /// A column of a binary row has a type whose encoding is not known.
    #[error("a binary row has a column of the unknown type {0:#04x}")]
    ColumnType(u8),
    /// A date, a time or a number that no server can mean.
    #[error("{0} has an impossible length")]
    ValueLength(&'static str),
    /// The server asked for a file of the client's, which was not offered.
    #[error("it asked for a local file (LOCAL INFILE), which the client did not offer")]
    LocalInfile,
    /// The server sent something before the client had answered.
    #[error("it sent {0}")]
    OutOfTurn(&'static str),
    /// A compressed packet is not what its header says.
    #[error("a compressed packet {0}")]
    Compressed(&'static str),
    /// The login went round in circles.
    #[error("the login did not end after {0} answers")]
    EndlessLogin(u8),
}
