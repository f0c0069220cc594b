//! What the floor says in its server's protocol, and how it knows that an answer is whole: the crates of the protocols
//! do the saying, as they do for the engine.

use std::sync::Arc;

use tlstax_client::{Access, LoginTerms, POSTGRES_ALPN};
use tlstax_contract::Protocol;
use tlstax_tls::Connection;
use tlstax_wire::{Capabilities, PrepareParser, PrepareProgress, command};
use tlstax_wire_pg as pg;

use crate::failure::Failure;

/// What the prepared statement is called at MySQL, whose server numbers those of a connection.
const FIRST_STATEMENT: u32 = 1;
/// What the engine calls it at PostgreSQL, where the client chooses the name.
const STATEMENT: &str = "s0";

/// How far the way to a server that takes statements has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// What is outgoing is to be sent, and then the server's next word is due.
    Waiting,
    /// What is outgoing is to be sent, and then the TLS handshake begins.
    StartTls,
    /// The server takes statements.
    Done,
}

/// One connection's conversation, in the protocol that its server speaks.
#[allow(clippy::large_enum_variant)]
pub enum Talk {
    /// MySQL's or MariaDB's.
    MySql {
        /// How it logs in.
        login: tlstax_wire::Login,
        /// What both sides agreed on, which says how an answer is to be read.
        capabilities: Capabilities,
    },
    /// `PostgreSQL`'s.
    Postgres {
        /// How it logs in.
        login: pg::Login,
        /// Whether the handshake has to name the protocol.
        names_protocol: bool,
    },
}

impl Talk {
    /// One that has not begun.
    ///
    /// # Errors
    /// An account that the protocol cannot carry.
    pub fn new(access: &Access) -> Result<Self, Failure> {
        Ok(match &access.login {
            LoginTerms::MySql(config) => Self::MySql {
                login: tlstax_wire::Login::new(config.clone())?,
                capabilities: Capabilities::default(),
            },
            LoginTerms::Postgres(config) => Self::Postgres {
                login: pg::Login::new(Arc::clone(config))?,
                names_protocol: config.tls == pg::TlsStart::Direct,
            },
        })
    }

    /// The socket is connected: what the client says first, if it is the one to speak.
    ///
    /// # Errors
    /// It cannot be said.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> Result<Step, Failure> {
        let begun = match self {
            Self::MySql { login, .. } => {
                login.reset();
                return Ok(Step::Waiting);
            }
            Self::Postgres { login, .. } => {
                let mut nonce = [0; 18];
                rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty())
                    .map_err(std::io::Error::from)?;
                login.begin(nonce, out)?
            }
        };
        Ok(match begun {
            pg::LoginStep::StartTls => Step::StartTls,
            _ => Step::Waiting,
        })
    }

    /// Takes what arrived on the way to the first statement; `tls` is what it arrived through.
    ///
    /// # Errors
    /// The connection's end.
    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        tls: Option<&Connection>,
        keys: &mut pg::ScramKeys,
    ) -> Result<Step, Failure> {
        use tlstax_wire::LoginStep;
        match self {
            Self::MySql {
                login,
                capabilities,
            } => match login.feed(input, out)? {
                LoginStep::NeedMore | LoginStep::Send => Ok(Step::Waiting),
                LoginStep::StartTls => Ok(Step::StartTls),
                LoginStep::EncryptPassword => Err(Failure::PasswordNotCached),
                LoginStep::Done { report, .. } => {
                    *capabilities = report.capabilities;
                    Ok(Step::Done)
                }
            },
            Self::Postgres { login, .. } => match login.feed(input, keys, out)? {
                pg::LoginStep::NeedMore | pg::LoginStep::Send => Ok(Step::Waiting),
                pg::LoginStep::StartTls => Ok(Step::StartTls),
                pg::LoginStep::BindChannel => {
                    let end_point = tls.and_then(Connection::end_point_hash);
                    login.bind_channel(end_point.as_ref().map(AsRef::as_ref), out)?;
                    Ok(Step::Waiting)
                }
                pg::LoginStep::Done { .. } => Ok(Step::Done),
            },
        }
    }

    /// TLS is up, and what comes next is said under it.
    ///
    /// # Errors
    /// A handshake that nobody asked for, or that did not name the protocol where it must.
    pub fn tls_is_up(&mut self, out: &mut Vec<u8>, tls: &Connection) -> Result<(), Failure> {
        match self {
            Self::MySql { login, .. } => Ok(login.tls_established(out)?),
            Self::Postgres {
                login,
                names_protocol,
            } => {
                if *names_protocol && tls.alpn().as_deref() != Some(POSTGRES_ALPN) {
                    return Err(tlstax_client::Failure::ProtocolNotNamed.into());
                }
                Ok(login.tls_established(out)?)
            }
        }
    }

    /// What the server said that it is.
    pub fn server_version(&self) -> String {
        match self {
            Self::MySql { login, .. } => login
                .greeting()
                .map(|greeting| greeting.server_version().to_owned())
                .unwrap_or_default(),
            Self::Postgres { login, .. } => login.server_version().to_owned(),
        }
    }

    /// A placeholder for the only value of a statement that is prepared.
    pub fn placeholder(&self) -> &'static str {
        match self {
            Self::MySql { .. } => "?",
            Self::Postgres { .. } => "$1",
        }
    }

    /// What a client says before it hangs up.
    pub fn goodbye(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::MySql { .. } => command::quit(&mut out),
            Self::Postgres { .. } => pg::command::terminate(&mut out),
        }
        out
    }

    /// How requests are said, with values of these types ([`Answer::types`]).
    pub fn speech(&self, types: Vec<u32>) -> Speech {
        match self {
            Self::MySql { .. } => Speech::MySql,
            Self::Postgres { .. } => Speech::Postgres { types },
        }
    }

    /// Prepares a statement; the answer that is due then.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn prepare(&self, sql: &str, out: &mut Vec<u8>) -> Result<Answer, Failure> {
        match self {
            Self::MySql { capabilities, .. } => {
                command::stmt_prepare(out, sql.as_bytes());
                Ok(Answer::MySqlPrepared(PrepareParser::new(*capabilities)))
            }
            Self::Postgres { .. } => {
                let asked = pg::command::prepare(out, STATEMENT, sql.as_bytes(), &[])?;
                Ok(Answer::postgres(asked))
            }
        }
    }

    /// The answer that is due after a request.
    pub fn answer(&self, protocol: Protocol) -> Answer {
        match self {
            Self::MySql { capabilities, .. } => Answer::MySql(match protocol {
                Protocol::Text => tlstax_wire::ResponseParser::text(*capabilities),
                Protocol::Prepared => tlstax_wire::ResponseParser::binary(*capabilities),
            }),
            Self::Postgres { .. } => Answer::postgres(match protocol {
                Protocol::Text => pg::Asked::Query,
                Protocol::Prepared => EXECUTED,
            }),
        }
    }
}

/// How a prepared statement is run: as the engine does and libpq, described anew, with rows as text.
const EXECUTED: pg::Asked = pg::Asked::Execute {
    described: true,
    results: pg::Format::Text,
};

/// An answer on its way, read for the only time that it is: to learn how long it is.
#[allow(clippy::large_enum_variant)]
pub enum Answer {
    /// To a prepare of MySQL's.
    MySqlPrepared(PrepareParser),
    /// To a statement of MySQL's.
    MySql(tlstax_wire::ResponseParser),
    /// Any of `PostgreSQL`'s.
    Postgres(pg::ResponseParser),
}

impl Answer {
    fn postgres(asked: pg::Asked) -> Self {
        let mut parser = pg::ResponseParser::new();
        parser.begin(asked);
        Self::Postgres(parser)
    }

    /// Takes what arrived of it; whether it is whole.
    ///
    /// # Errors
    /// A refusal, a statement that is not called as the requests call it, or what is no answer.
    pub fn feed(&mut self, input: &[u8]) -> Result<bool, Failure> {
        match self {
            Self::MySqlPrepared(parser) => match parser.feed(input)? {
                PrepareProgress::NeedMore => Ok(false),
                PrepareProgress::Complete { statement, .. }
                    if statement.statement_id == FIRST_STATEMENT =>
                {
                    Ok(true)
                }
                PrepareProgress::Complete { .. } => Err(Failure::Stuck(
                    "the server numbers a first statement other than 1",
                )),
            },
            Self::MySql(parser) => {
                let progress = parser.feed(input, &mut tlstax_wire::DiscardRows)?;
                Ok(matches!(progress, tlstax_wire::Progress::Complete { .. }))
            }
            Self::Postgres(parser) => {
                let progress = parser.feed(input, &mut pg::DiscardRows)?;
                Ok(matches!(progress, pg::Progress::Complete { .. }))
            }
        }
    }

    /// The types of the values that a statement takes which was prepared (OIDs); none where the protocol tells none.
    pub fn types(&self) -> Vec<u32> {
        match self {
            Self::MySqlPrepared(_) | Self::MySql(_) => Vec::new(),
            Self::Postgres(parser) => parser.parameter_types().to_vec(),
        }
    }
}

/// How requests are said.
pub enum Speech {
    /// In MySQL's protocol.
    MySql,
    /// In `PostgreSQL`'s.
    Postgres {
        /// The types of the prepared statement's values (OIDs); of a statement in text there are none.
        types: Vec<u32>,
    },
}

impl Speech {
    /// Appends a statement.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn query(&self, out: &mut Vec<u8>, sql: &str) -> Result<(), Failure> {
        match self {
            Self::MySql => {
                command::query(out, sql.as_bytes());
            }
            Self::Postgres { .. } => {
                let _ = pg::command::query(out, sql.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Appends a run of the prepared statement with this value.
    ///
    /// # Errors
    /// The protocol cannot carry it.
    pub fn execute(&self, out: &mut Vec<u8>, value: i64) -> Result<(), Failure> {
        match self {
            Self::MySql => {
                command::stmt_execute(out, FIRST_STATEMENT, &[command::Param::Int(value)]);
            }
            Self::Postgres { types } => {
                let execute = pg::command::Execute {
                    statement: STATEMENT,
                    types,
                    results: pg::Format::Text,
                    describe: true,
                    max_rows: 0,
                };
                let params = [pg::command::Param::Int(value)];
                let _ = pg::command::execute(out, &execute, params.into_iter())?;
            }
        }
        Ok(())
    }
}
