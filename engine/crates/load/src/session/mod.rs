//! What a connection says to its server, and what it makes of the answers: all that one protocol has of its own.
//!
//! A session belongs to a connection and outlives its sockets, so that opening it again allocates nothing. It
//! does no I/O: what is to be sent is appended to a buffer of the caller's, who brings what arrives. One
//! protocol is one variant; connections, workers and recorders know none.

mod mysql;
mod postgres;

use tlstax_client::{Access, Failure, LoginTerms};
use tlstax_contract::{CompressionAgreed, TlsView};
use tlstax_tls::Connection as TlsConnection;
pub use tlstax_wire_pg::ScramKeys;

use crate::script::Script;
use crate::statement::Template;
use crate::values::{Dialect, Values};
use mysql::MySql;
pub use mysql::{Compressed, server_view};
use postgres::Postgres;
pub use postgres::{QUESTION as POSTGRES_QUESTION, server_view as postgres_view};

/// How far the way to a server that takes statements has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// What is outgoing is to be sent, and then the server's next word is due.
    Waiting,
    /// What is outgoing is to be sent, and then the TLS handshake begins.
    StartTls,
    /// The server takes statements.
    Done {
        /// How much of the input belonged to the opening.
        consumed: usize,
    },
}

/// What a login may need beside what the server says.
pub struct Channel<'a> {
    /// How all connections come to the server.
    pub access: &'a Access,
    /// The connection's TLS, where there is TLS.
    pub tls: Option<&'a mut TlsConnection>,
    /// What SCRAM has hashed of the account's password for the thread.
    pub scram_keys: &'a mut ScramKeys,
}

/// What a whole answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows of all result sets together.
    pub rows: u64,
    /// How many result sets there were.
    pub result_sets: u64,
}

/// Rows that were kept of an answer.
#[derive(Debug, Default)]
pub struct Rows {
    /// Each row's values as text; none is NULL.
    pub values: Vec<Vec<Option<String>>>,
    /// How much memory they take, about.
    pub bytes: usize,
}

/// What the server says of the connection that it was asked on.
#[derive(Debug, Default)]
pub struct ServerProof {
    /// Of TLS; none where it says that there is none.
    pub tls: Option<TlsView>,
    /// What both sides say of compression; none where the protocol knows none.
    pub compression: Option<CompressionAgreed>,
}

/// The conversation of one connection, in the protocol that its server speaks.
// A box around either would be one more step to every operation's parser.
#[allow(clippy::large_enum_variant)]
pub enum Session {
    /// MySQL's or MariaDB's.
    MySql(MySql),
    /// `PostgreSQL`'s.
    Postgres(Postgres),
}

impl Session {
    /// A conversation that has not begun.
    ///
    /// # Errors
    /// An account that the protocol cannot carry.
    pub fn new(access: &Access, script: &Script) -> Result<Self, Failure> {
        Ok(match &access.login {
            LoginTerms::MySql(config) => Self::MySql(MySql::new(config, script)?),
            LoginTerms::Postgres(config) => Self::Postgres(Postgres::new(config, script)?),
        })
    }

    /// The socket is connected: what the client says first, if it is the one to speak.
    ///
    /// # Errors
    /// It cannot be said.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> Result<Opening, Failure> {
        match self {
            Self::MySql(session) => Ok(session.begin()),
            Self::Postgres(session) => session.begin(out),
        }
    }

    /// Takes what arrived on the way to the first statement.
    ///
    /// # Errors
    /// The connection's end.
    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        channel: &mut Channel<'_>,
    ) -> Result<Opening, Failure> {
        match self {
            Self::MySql(session) => session.feed(input, out, channel.access),
            Self::Postgres(session) => session.feed(input, out, channel),
        }
    }

    /// Whether the server's first word, on which what follows depends, is there, or none is due: its greeting,
    /// or its answer to a question about TLS.
    pub fn is_greeted(&self) -> bool {
        match self {
            Self::MySql(session) => session.greeting().is_some(),
            Self::Postgres(session) => session.is_greeted(),
        }
    }

    /// TLS is up, and what comes next is said under it.
    ///
    /// # Errors
    /// A handshake that nobody asked for, or that did not agree on what it must.
    pub fn tls_is_up(&mut self, out: &mut Vec<u8>, channel: &Channel<'_>) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => session.tls_is_up(out),
            Self::Postgres(session) => session.tls_is_up(out, channel),
        }
    }

    /// The name of the way in which the login went.
    pub fn login_name(&self) -> &'static str {
        match self {
            Self::MySql(session) => session.login_name(),
            Self::Postgres(session) => session.login_name(),
        }
    }

    /// What the server says that it is.
    pub fn server_version(&self) -> &str {
        match self {
            Self::MySql(session) => session.server_version(),
            Self::Postgres(session) => session.server_version(),
        }
    }

    /// What everything after the login is packed in; none where nothing is.
    ///
    /// # Errors
    /// No memory for it.
    pub fn compressed(&self) -> Result<Option<Compressed>, Failure> {
        match self {
            Self::MySql(session) => session.compressed(),
            Self::Postgres(_) => Ok(None),
        }
    }

    /// Asks the server what was negotiated on this very connection; the rows of the answer are kept.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn ask_proof(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => {
                session.ask_proof(out);
                Ok(())
            }
            Self::Postgres(session) => session.ask_proof(out),
        }
    }

    /// What the server answered to that.
    pub fn take_proof(&mut self) -> ServerProof {
        match self {
            Self::MySql(session) => session.take_proof(),
            Self::Postgres(session) => session.take_proof(),
        }
    }

    /// Asks a statement as it is.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn say(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => {
                session.say(sql, out);
                Ok(())
            }
            Self::Postgres(session) => session.say(sql, out),
        }
    }

    /// Prepares the statement of this number.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn prepare(
        &mut self,
        number: usize,
        template: &Template,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => {
                session.prepare(number, template, out);
                Ok(())
            }
            Self::Postgres(session) => session.prepare(number, template, out),
        }
    }

    /// Runs the statement of this number with these values.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    #[inline]
    pub fn run(
        &mut self,
        number: usize,
        template: &Template,
        values: &Values,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => {
                session.run(number, template, values, out);
                Ok(())
            }
            Self::Postgres(session) => session.run(number, template, values, out),
        }
    }

    /// The statement's text with these values, as [`Session::run`] says it where it is not prepared.
    pub fn render(&self, template: &Template, values: &Values, sql: &mut Vec<u8>) {
        match self {
            Self::MySql(_) => template.render(values, Dialect::MySql, sql),
            Self::Postgres(_) => template.render(values, Dialect::Postgres, sql),
        }
    }

    /// Has up to N rows of the next answer kept.
    pub fn keep_rows(&mut self, most: usize) {
        match self {
            Self::MySql(session) => session.keep_rows(most),
            Self::Postgres(session) => session.keep_rows(most),
        }
    }

    /// The rows that were kept; none where nobody asked for them.
    #[inline]
    pub fn take_rows(&mut self) -> Option<Rows> {
        match self {
            Self::MySql(session) => session.take_rows(),
            Self::Postgres(session) => session.take_rows(),
        }
    }

    /// Takes what arrived of the answer that is due; the answer, when it is whole.
    ///
    /// # Errors
    /// A refusal ([`Failure::is_refusal`]) where the connection is fit for the next statement; else its end.
    #[inline]
    pub fn answer(&mut self, input: &[u8]) -> Result<Option<Answer>, Failure> {
        match self {
            Self::MySql(session) => session.answer(input),
            Self::Postgres(session) => session.answer(input),
        }
    }

    /// Whether a transaction is open, as far as the server has said.
    pub fn in_transaction(&self) -> bool {
        match self {
            Self::MySql(session) => session.in_transaction(),
            Self::Postgres(session) => session.in_transaction(),
        }
    }

    /// Takes what the server said while nothing was due.
    ///
    /// # Errors
    /// It may not say that.
    #[inline]
    pub fn unasked(&mut self, input: &[u8]) -> Result<(), Failure> {
        if input.is_empty() {
            return Ok(());
        }
        match self {
            Self::MySql(_) => mysql::unasked(input),
            Self::Postgres(session) => session.unasked(input),
        }
    }

    /// Says goodbye.
    pub fn goodbye(&self, out: &mut Vec<u8>) {
        match self {
            Self::MySql(_) => tlstax_wire::command::quit(out),
            Self::Postgres(_) => tlstax_wire_pg::command::terminate(out),
        }
    }
}
