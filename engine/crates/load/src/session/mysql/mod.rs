//! MySQL's and MariaDB's conversation: login, statements by text and by number, proof from status variables.

mod compressed;
mod proof;

use std::sync::Arc;

use tlstax_client::{Access, Failure};
use tlstax_contract::Protocol;
use tlstax_wire::command::{self, Param};
use tlstax_wire::{
    Algorithm, AuthPath, Capabilities, DiscardRows, Greeting, Login, LoginConfig, LoginStep,
    PrepareParser, PrepareProgress, Progress, Response, ResponseParser, RowCollector, Status,
    Violation, WireError,
};

use super::{Answer, Opening, Rows, ServerProof};
use crate::script::Script;
use crate::statement::Template;
use crate::values::{Bound, Dialect, Values};
pub use compressed::Compressed;
pub use proof::server_view;

/// Which answer is due.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Text,
    Prepare(usize),
    Execute,
}

/// What the login agreed on, compression among it, and the parsers that follow from that.
struct Agreed {
    path: AuthPath,
    compression: Option<Algorithm>,
    text: ResponseParser,
    binary: ResponseParser,
    prepare: PrepareParser,
}

impl Agreed {
    fn new(path: AuthPath, capabilities: Capabilities) -> Self {
        Self {
            path,
            compression: Algorithm::agreed(capabilities),
            text: ResponseParser::text(capabilities),
            binary: ResponseParser::binary(capabilities),
            prepare: PrepareParser::new(capabilities),
        }
    }
}

/// The conversation of one connection.
pub struct MySql {
    login: Login,
    agreed: Agreed,
    asked: Asked,
    in_transaction: bool,
    statement_ids: Vec<u32>,
    collector: Option<RowCollector>,
}

impl MySql {
    pub fn new(config: &Arc<LoginConfig>, script: &Script) -> Result<Self, Failure> {
        Ok(Self {
            login: Login::new(Arc::clone(config))?,
            agreed: Agreed::new(AuthPath::Empty, Capabilities::default()),
            asked: Asked::Text,
            in_transaction: false,
            statement_ids: vec![0; script.templates.len()],
            collector: None,
        })
    }

    /// The server speaks first.
    pub fn begin(&mut self) -> Opening {
        self.login.reset();
        self.in_transaction = false;
        self.collector = None;
        Opening::Waiting
    }

    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        access: &Access,
    ) -> Result<Opening, Failure> {
        match self.login.feed(input, out)? {
            LoginStep::NeedMore | LoginStep::Send => Ok(Opening::Waiting),
            LoginStep::StartTls => Ok(Opening::StartTls),
            LoginStep::EncryptPassword => {
                self.encrypt_password(out, access)?;
                Ok(Opening::Waiting)
            }
            LoginStep::Done { consumed, report } => {
                self.agreed = Agreed::new(report.path, report.capabilities);
                Ok(Opening::Done { consumed })
            }
        }
    }

    fn encrypt_password(&mut self, out: &mut Vec<u8>, access: &Access) -> Result<(), Failure> {
        let wanted = self.login.encryption();
        let wanted = wanted.ok_or(Failure::Mistake("nothing to encrypt"))?;
        let ciphertext = access
            .library()?
            .encrypt_rsa_oaep(wanted.public_key_pem, wanted.message)?;
        self.login.password_encrypted(&ciphertext, out)?;
        Ok(())
    }

    pub fn greeting(&self) -> Option<&Greeting> {
        self.login.greeting()
    }

    pub fn tls_is_up(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        Ok(self.login.tls_established(out)?)
    }

    pub fn login_name(&self) -> &'static str {
        self.agreed.path.name()
    }

    pub fn server_version(&self) -> &str {
        self.login.greeting().map_or("", Greeting::server_version)
    }

    pub fn compressed(&self) -> Result<Option<Compressed>, Failure> {
        self.agreed.compression.map(Compressed::new).transpose()
    }

    pub fn ask_proof(&mut self, out: &mut Vec<u8>) {
        let collector = RowCollector::new(proof::MOST_ROWS).with_max_bytes(proof::MOST_BYTES);
        self.collector = Some(collector);
        self.say(proof::QUESTION, out);
    }

    pub fn take_proof(&mut self) -> ServerProof {
        let rows = self.take_rows().unwrap_or_default().values;
        let is_mariadb = self.login.greeting().is_some_and(Greeting::is_mariadb);
        ServerProof {
            tls: proof::server_view(&rows, !is_mariadb),
            compression: Some(proof::compression(self.agreed.compression, &rows)),
        }
    }

    pub fn say(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.agreed.text.reset_at(command::query(out, sql));
        self.asked = Asked::Text;
    }

    pub fn prepare(&mut self, number: usize, template: &Template, out: &mut Vec<u8>) {
        let sql = template.prepared_sql(Dialect::MySql);
        let answer = command::stmt_prepare(out, sql.as_bytes());
        self.agreed.prepare.reset_at(answer);
        self.asked = Asked::Prepare(number);
    }

    #[inline]
    pub fn run(&mut self, number: usize, template: &Template, values: &Values, out: &mut Vec<u8>) {
        match template.protocol {
            Protocol::Text => {
                let answer =
                    command::query_with(out, |sql| template.render(values, Dialect::MySql, sql));
                self.agreed.text.reset_at(answer);
                self.asked = Asked::Text;
            }
            Protocol::Prepared => {
                let id = self.statement_ids[number];
                let params = template.params(values).map(param);
                let answer = command::stmt_execute_with(out, id, params);
                self.agreed.binary.reset_at(answer);
                self.asked = Asked::Execute;
            }
        }
    }

    pub fn keep_rows(&mut self, most: usize) {
        self.collector = Some(RowCollector::new(most));
    }

    #[inline]
    pub fn take_rows(&mut self) -> Option<Rows> {
        self.collector.take().map(|mut collector| Rows {
            bytes: collector.kept_bytes(),
            values: collector.take(),
        })
    }

    #[inline]
    pub fn answer(&mut self, input: &[u8]) -> Result<Option<Answer>, Failure> {
        let parser = match self.asked {
            Asked::Prepare(number) => return self.prepared(number, input),
            Asked::Execute => &mut self.agreed.binary,
            Asked::Text => &mut self.agreed.text,
        };
        let fed = match &mut self.collector {
            Some(collector) => parser.feed(input, collector),
            None => parser.feed(input, &mut DiscardRows),
        };
        match fed {
            Ok(Progress::NeedMore) => Ok(None),
            Ok(Progress::Complete { consumed, response }) => {
                if consumed < input.len() {
                    unasked(&input[consumed..])?;
                }
                self.in_transaction = response.status.contains(Status::IN_TRANSACTION);
                let Response {
                    rows, result_sets, ..
                } = response;
                Ok(Some(Answer { rows, result_sets }))
            }
            Err(error) => {
                let usable = error.leaves_connection_usable() && parser.unread_bytes() == 0;
                Err(match error {
                    WireError::Server(refusal) if usable => Failure::Statement(refusal),
                    error => error.into(),
                })
            }
        }
    }

    /// The answer to a prepare, which says nothing of transactions.
    fn prepared(&mut self, number: usize, input: &[u8]) -> Result<Option<Answer>, Failure> {
        match self.agreed.prepare.feed(input)? {
            PrepareProgress::NeedMore => Ok(None),
            PrepareProgress::Complete {
                consumed,
                statement,
            } => {
                self.statement_ids[number] = statement.statement_id;
                if consumed < input.len() {
                    unasked(&input[consumed..])?;
                }
                self.in_transaction = false;
                Ok(Some(Answer::default()))
            }
        }
    }

    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }
}

/// The error that the server's unasked word is: its goodbye, which is an ERR packet, or anything else.
pub fn unasked(input: &[u8]) -> Result<(), Failure> {
    let mut parser = ResponseParser::text(Capabilities::default());
    let error = match parser.feed(input, &mut DiscardRows) {
        Err(goodbye @ WireError::Server(_)) => goodbye,
        _ => Violation::OutOfTurn("more than it was asked for").into(),
    };
    Err(error.into())
}

#[inline]
fn param(value: Bound<'_>) -> Param<'_> {
    match value {
        Bound::Int(number) => Param::Int(number),
        Bound::Text(text) => Param::Text(text),
    }
}
