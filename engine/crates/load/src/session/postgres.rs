//! `PostgreSQL`'s conversation: login, simple queries, prepared statements by name, proof from `pg_stat_ssl`.

use std::sync::Arc;

use tlstax_client::{Failure, POSTGRES_ALPN};
use tlstax_contract::{Protocol, TlsView};
use tlstax_wire_pg::command::{self, Execute, Param};
use tlstax_wire_pg::{
    AuthMethod, DiscardRows, Format, Login, LoginConfig, LoginStage, LoginStep, Progress,
    ResponseParser, RowCollector, TlsStart, TransactionStatus, Violation, WireError,
};

use super::{Answer, Channel, Opening, Rows, ServerProof};
use crate::script::Script;
use crate::statement::Template;
use crate::values::{Bound, Dialect, Values};

/// Asks the server what it negotiated on this very connection, nulls where it is not encrypted (PostgreSQL's
/// documentation, "The Statistics Collector", the view `pg_stat_ssl`, from 9.5 on). Before 12 `client_dn` had another
/// name, and each driver has types of its own for what is no text.
pub const QUESTION: &str = "SELECT version, cipher, bits::text, coalesce(to_json(s)->>'client_dn', \
                            to_json(s)->>'clientdn') FROM pg_stat_ssl s WHERE pid = pg_backend_pid()";
/// The answer has one row, of four short values.
const MOST_ROWS: usize = 1;

/// A portal that is suspended where all of its rows were asked for ("Execute", no limit): the rest is missing.
const NOT_ALL_ROWS: Violation = Violation::UnexpectedMessage {
    kind: b's',
    due: "a row or the end of the rows",
};

/// A statement of the job on one connection: how it is called there, and what its answer said of its placeholders.
struct Prepared {
    name: String,
    types: Vec<u32>,
}

/// The conversation of one connection.
pub struct Postgres {
    login: Login,
    /// Whether the handshake has to name the protocol.
    names_protocol: bool,
    method: AuthMethod,
    parser: ResponseParser,
    prepared: Vec<Prepared>,
    preparing: Option<usize>,
    collector: Option<RowCollector>,
}

impl Postgres {
    pub fn new(config: &Arc<LoginConfig>, script: &Script) -> Result<Self, Failure> {
        let prepared = (0..script.templates.len()).map(|number| Prepared {
            name: format!("s{number}"),
            types: Vec::new(),
        });
        Ok(Self {
            login: Login::new(Arc::clone(config))?,
            names_protocol: config.tls == TlsStart::Direct,
            method: AuthMethod::Trust,
            parser: ResponseParser::new(),
            prepared: prepared.collect(),
            preparing: None,
            collector: None,
        })
    }

    /// The client speaks first.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> Result<Opening, Failure> {
        self.parser.reset();
        (self.preparing, self.collector) = (None, None);
        let mut nonce = [0; 18];
        rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).map_err(
            |error| Failure::OutOf {
                what: "random numbers",
                source: error.into(),
            },
        )?;
        Ok(match self.login.begin(nonce, out)? {
            LoginStep::StartTls => Opening::StartTls,
            _ => Opening::Waiting,
        })
    }

    pub fn feed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        channel: &mut Channel<'_>,
    ) -> Result<Opening, Failure> {
        match self.login.feed(input, channel.scram_keys, out)? {
            LoginStep::NeedMore | LoginStep::Send => Ok(Opening::Waiting),
            LoginStep::StartTls => Ok(Opening::StartTls),
            LoginStep::BindChannel => {
                let tls = channel.tls.as_ref();
                let end_point = tls.and_then(|tls| tls.end_point_hash());
                self.login
                    .bind_channel(end_point.as_ref().map(AsRef::as_ref), out)?;
                Ok(Opening::Waiting)
            }
            LoginStep::Done { consumed, report } => {
                self.method = report.method;
                Ok(Opening::Done { consumed })
            }
        }
    }

    /// Whether the answer to SSLRequest is there, or none is due.
    pub fn is_greeted(&self) -> bool {
        self.login.stage() != LoginStage::TlsAnswer
    }

    pub fn tls_is_up(&mut self, out: &mut Vec<u8>, channel: &Channel<'_>) -> Result<(), Failure> {
        let tls = channel.tls.as_ref();
        if self.names_protocol && tls.and_then(|tls| tls.alpn()).as_deref() != Some(POSTGRES_ALPN) {
            return Err(Failure::ProtocolNotNamed);
        }
        Ok(self.login.tls_established(out)?)
    }

    pub fn login_name(&self) -> &'static str {
        self.method.name()
    }

    pub fn server_version(&self) -> &str {
        self.login.server_version()
    }

    pub fn ask_proof(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        self.keep_rows(MOST_ROWS);
        self.say(QUESTION.as_bytes(), out)
    }

    pub fn take_proof(&mut self) -> ServerProof {
        let rows = self.take_rows().unwrap_or_default().values;
        ServerProof {
            tls: server_view(&rows),
            compression: None,
        }
    }

    pub fn say(&mut self, sql: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        self.parser.begin(command::query(out, sql)?);
        Ok(())
    }

    pub fn prepare(
        &mut self,
        number: usize,
        template: &Template,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let sql = template.prepared_sql(Dialect::Postgres);
        let name = &self.prepared[number].name;
        self.parser
            .begin(command::prepare(out, name, sql.as_bytes(), &[])?);
        self.preparing = Some(number);
        Ok(())
    }

    #[inline]
    pub fn run(
        &mut self,
        number: usize,
        template: &Template,
        values: &Values,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let asked = match template.protocol {
            Protocol::Text => {
                command::query_with(out, |sql| template.render(values, Dialect::Postgres, sql))?
            }
            Protocol::Prepared => {
                let Prepared { name, types } = &self.prepared[number];
                // As libpq runs one that is prepared: described anew, and rows as text.
                let execute = Execute {
                    statement: name,
                    types,
                    results: Format::Text,
                    describe: true,
                    max_rows: 0,
                };
                command::execute(out, &execute, template.params(values).map(param))?
            }
        };
        self.parser.begin(asked);
        Ok(())
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
        let fed = match &mut self.collector {
            Some(collector) => self.parser.feed(input, collector),
            None => self.parser.feed(input, &mut DiscardRows),
        };
        match fed {
            Ok(Progress::NeedMore) => Ok(None),
            Ok(Progress::Complete { consumed, response }) => {
                if response.is_suspended {
                    return Err(WireError::from(NOT_ALL_ROWS).into());
                }
                if consumed < input.len() {
                    self.unasked(&input[consumed..])?;
                }
                if let Some(number) = self.preparing.take() {
                    let types = &mut self.prepared[number].types;
                    types.clear();
                    types.extend_from_slice(self.parser.parameter_types());
                }
                Ok(Some(Answer {
                    rows: response.rows,
                    result_sets: response.result_sets,
                }))
            }
            Err(error) => {
                let usable = error.leaves_connection_usable() && self.parser.unread_bytes() == 0;
                Err(match error {
                    WireError::Server(refusal) if usable => Failure::PostgresStatement(refusal),
                    error => error.into(),
                })
            }
        }
    }

    pub fn in_transaction(&self) -> bool {
        self.parser.transaction() != TransactionStatus::Idle
    }

    pub fn unasked(&mut self, input: &[u8]) -> Result<(), Failure> {
        Ok(self.parser.idle(input)?)
    }
}

/// The server's view from its answer to [`QUESTION`]; none when it says that the connection is not encrypted.
pub fn server_view(rows: &[Vec<Option<String>>]) -> Option<TlsView> {
    let [version, Some(cipher), bits, name] = rows.first()?.as_slice() else {
        return None;
    };
    Some(TlsView {
        version: version.clone().unwrap_or_default(),
        cipher: cipher.clone(),
        resumed: None,
        group: None,
        hello_retry: None,
        certificate_key: None,
        certificate_sha256: None,
        certificates_sent: None,
        authorities: None,
        client_certificate: None,
        cipher_bits: bits.as_ref().and_then(|bits| bits.parse().ok()),
        // Some versions have an empty name where there is no certificate.
        client_name: name.clone().filter(|name| !name.is_empty()),
    })
}

#[inline]
fn param(value: Bound<'_>) -> Param<'_> {
    match value {
        Bound::Int(number) => Param::Int(number),
        Bound::Text(text) => Param::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::server_view;

    fn row(values: [Option<&str>; 4]) -> Vec<Vec<Option<String>>> {
        vec![values.map(|value| value.map(str::to_owned)).to_vec()]
    }

    #[test]
    fn the_servers_view_has_its_bits_and_whose_certificate_it_was_shown() {
        let shown = [
            Some("TLSv1.3"),
            Some("TLS_AES_256_GCM_SHA384"),
            Some("256"),
            Some("/CN=somebody"),
        ];
        let view = server_view(&row(shown)).unwrap();
        assert_eq!(
            (view.version.as_str(), view.cipher_bits),
            ("TLSv1.3", Some(256))
        );
        assert_eq!(view.client_name.as_deref(), Some("/CN=somebody"));
        for none in [None, Some("")] {
            let view = server_view(&row([shown[0], shown[1], Some("?"), none])).unwrap();
            assert_eq!((view.cipher_bits, view.client_name), (None, None));
        }
    }

    #[test]
    fn a_connection_without_a_cipher_is_not_encrypted() {
        assert_eq!(server_view(&row([None; 4])), None);
        assert_eq!(server_view(&[]), None);
        assert_eq!(server_view(&[vec![Some("TLSv1.3".to_owned())]]), None);
    }
}
