//! What a connection says to its server, and what it makes of the answers: all that one protocol has of its own.
//!
//! A session belongs to a connection and outlives its sockets, so that opening it again allocates nothing. It
//! does no I/O: what is to be sent is appended to a buffer of the caller's, who brings what arrives. One
//! protocol is one variant; connections, workers and recorders know none.

mod mysql;

use tlstax_client::{Access, Failure};
use tlstax_contract::{CompressionAgreed, TlsView};

use crate::script::Script;
use crate::statement::Template;
use crate::values::Values;
use mysql::MySql;
pub use mysql::{Compressed, server_view};

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
pub enum Session {
    /// MySQL's or MariaDB's.
    MySql(MySql),
}

impl Session {
    /// A conversation that has not begun.
    ///
    /// # Errors
    /// An account that the protocol cannot carry.
    pub fn new(access: &Access, script: &Script) -> Result<Self, Failure> {
        MySql::new(access, script).map(Self::MySql)
    }

    /// The socket is connected: what is to be said first, and who speaks.
    pub fn begin(&mut self) -> Opening {
        match self {
            Self::MySql(session) => session.begin(),
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
        access: &Access,
    ) -> Result<Opening, Failure> {
        match self {
            Self::MySql(session) => session.feed(input, out, access),
        }
    }

    /// Whether the server has spoken since the socket was connected.
    pub fn is_greeted(&self) -> bool {
        match self {
            Self::MySql(session) => session.greeting().is_some(),
        }
    }

    /// TLS is up, and what comes next is said under it.
    ///
    /// # Errors
    /// A handshake that nobody asked for.
    pub fn tls_is_up(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        match self {
            Self::MySql(session) => session.tls_is_up(out),
        }
    }

    /// The name of the way in which the login went.
    pub fn login_name(&self) -> &'static str {
        match self {
            Self::MySql(session) => session.login_name(),
        }
    }

    /// What the server says that it is.
    pub fn server_version(&self) -> &str {
        match self {
            Self::MySql(session) => session.server_version(),
        }
    }

    /// What everything after the login is packed in; none where nothing is.
    ///
    /// # Errors
    /// No memory for it.
    pub fn compressed(&self) -> Result<Option<Compressed>, Failure> {
        match self {
            Self::MySql(session) => session.compressed(),
        }
    }

    /// Asks the server what was negotiated on this very connection; the rows of the answer are kept.
    pub fn ask_proof(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::MySql(session) => session.ask_proof(out),
        }
    }

    /// What the server answered to that.
    pub fn take_proof(&mut self) -> ServerProof {
        match self {
            Self::MySql(session) => session.take_proof(),
        }
    }

    /// Asks a statement as it is.
    pub fn say(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::MySql(session) => session.say(sql, out),
        }
    }

    /// Prepares the statement of this number.
    pub fn prepare(&mut self, number: usize, template: &Template, out: &mut Vec<u8>) {
        match self {
            Self::MySql(session) => session.prepare(number, template, out),
        }
    }

    /// Runs the statement of this number with these values.
    #[inline]
    pub fn run(&mut self, number: usize, template: &Template, values: &Values, out: &mut Vec<u8>) {
        match self {
            Self::MySql(session) => session.run(number, template, values, out),
        }
    }

    /// The statement's text with these values, as [`Session::run`] says it where it is not prepared.
    pub fn render(&self, template: &Template, values: &Values, sql: &mut Vec<u8>) {
        match self {
            Self::MySql(_) => template.render(values, sql),
        }
    }

    /// Has up to so many rows of the next answer kept.
    pub fn keep_rows(&mut self, most: usize) {
        match self {
            Self::MySql(session) => session.keep_rows(most),
        }
    }

    /// The rows that were kept; none where nobody asked for them.
    #[inline]
    pub fn take_rows(&mut self) -> Option<Rows> {
        match self {
            Self::MySql(session) => session.take_rows(),
        }
    }

    /// Takes what arrived of the answer that is due; the answer, when it is whole.
    ///
    /// # Errors
    /// [`Failure::Statement`] where the server refused the statement and the connection is fit for the next;
    /// else the connection's end.
    #[inline]
    pub fn answer(&mut self, input: &[u8]) -> Result<Option<Answer>, Failure> {
        match self {
            Self::MySql(session) => session.answer(input),
        }
    }

    /// Whether a transaction is open, as far as the server has said.
    pub fn in_transaction(&self) -> bool {
        match self {
            Self::MySql(session) => session.in_transaction(),
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
        }
    }

    /// Says goodbye.
    pub fn goodbye(&self, out: &mut Vec<u8>) {
        match self {
            Self::MySql(_) => mysql::goodbye(out),
        }
    }
}
