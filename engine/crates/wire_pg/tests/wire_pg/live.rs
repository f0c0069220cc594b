//! A server that is there: `TLSTAX_PG=HOST:PORT cargo test -p tlstax-wire-pg --test wire_pg -- --ignored`, with roles
//! `wire_trust`, `wire_md5`, `wire_scram` and `wire_password` that log in without TLS by these methods, each with the
//! password `correct horse`, and a database `wire`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use tlstax_wire_pg::command::{self, Execute, Param};
use tlstax_wire_pg::{
    Asked, AuthMethod, KeyUse, Login, LoginReport, LoginStep, Progress, Response, ResponseParser,
    RowCollector, ScramKeys, TransactionStatus, WireError,
};

use crate::login::config;

type Rows = Vec<Vec<Option<String>>>;

struct Session {
    stream: TcpStream,
    buffer: Vec<u8>,
    parser: ResponseParser,
    out: Vec<u8>,
}

impl Session {
    fn open(name: &str, keys: &mut ScramKeys) -> Result<(Self, LoginReport), WireError> {
        let address = std::env::var("TLSTAX_PG").expect("TLSTAX_PG=HOST:PORT");
        let mut session = Self {
            stream: TcpStream::connect(address).expect("a server"),
            buffer: vec![0; 64 << 10],
            parser: ResponseParser::new(),
            out: Vec::new(),
        };
        let mut login = Login::new(Arc::new(config(name)))?;
        let (mut step, mut count) = (login.begin([9; 18], &mut session.out)?, 0);
        loop {
            match step {
                LoginStep::Done { consumed, report } => {
                    session.parser.idle(&session.buffer[consumed..count])?;
                    return Ok((session, report));
                }
                LoginStep::Send | LoginStep::NeedMore => {
                    count = session.exchange();
                    let input = &session.buffer[..count];
                    step = login.feed(input, keys, &mut session.out)?;
                }
                other => panic!("{other:?} without TLS"),
            }
        }
    }

    /// Sends what there is to send, and reads once.
    fn exchange(&mut self) -> usize {
        self.stream
            .write_all(&self.out)
            .expect("a server that listens");
        self.out.clear();
        let count = self.stream.read(&mut self.buffer).expect("an answer");
        assert!(count > 0, "the server closed the connection");
        count
    }

    fn ask(&mut self, asked: Asked, rows: &mut RowCollector) -> Result<Response, WireError> {
        self.parser.begin(asked);
        loop {
            let count = self.exchange();
            let fed = self.parser.feed(&self.buffer[..count], rows)?;
            if let Progress::Complete { consumed, response } = fed {
                self.parser.idle(&self.buffer[consumed..count])?;
                return Ok(response);
            }
        }
    }

    fn query(&mut self, sql: &str) -> Result<(Response, Rows), WireError> {
        let asked = command::query(&mut self.out, sql.as_bytes())?;
        let mut rows = RowCollector::new(10);
        let response = self.ask(asked, &mut rows)?;
        Ok((response, rows.take()))
    }
}

#[test]
#[ignore = "needs a server"]
fn a_real_server_lets_each_account_in_by_its_method() {
    let mut keys = ScramKeys::kept();
    for (name, method) in [
        ("trust", AuthMethod::Trust),
        ("md5", AuthMethod::Md5),
        ("scram", AuthMethod::ScramSha256),
    ] {
        let (mut session, report) = Session::open(name, &mut keys).unwrap();
        assert_eq!(report.method, method);
        let (_, rows) = session
            .query("select current_user, pg_backend_pid()")
            .unwrap();
        let expected = [
            Some(format!("wire_{name}")),
            report.process_id.map(|id| id.to_string()),
        ];
        assert_eq!(rows[0], expected);
    }
    let (_, report) = Session::open("scram", &mut keys).unwrap();
    assert_eq!(report.key, Some(KeyUse::Kept));
    let refused = Session::open("password_bare", &mut keys).err();
    assert_eq!(
        refused,
        Some(WireError::CleartextRefused { encrypted: false })
    );
}

#[test]
#[ignore = "needs a server"]
fn a_real_server_answers_what_it_is_asked() {
    let (mut session, _) = Session::open("trust", &mut ScramKeys::kept()).unwrap();
    let (response, rows) = session.query("select 1; select null, 'x'").unwrap();
    assert_eq!((response.rows, response.result_sets), (2, 2));
    assert_eq!(rows[1], [None, Some("x".into())]);

    let _ = session
        .query("create temporary table kept (id int, name text)")
        .unwrap();
    let sql = b"insert into kept values ($1, $2)";
    let asked = command::prepare(&mut session.out, "add", sql, &[]).unwrap();
    session.ask(asked, &mut RowCollector::new(0)).unwrap();
    let types = session.parser.parameter_types().to_vec();
    assert_eq!(types, [23, 25]);
    let execute = Execute {
        statement: "add",
        types: &types,
        ..Execute::default()
    };
    for id in 0..3 {
        let params = [Param::Int(id), Param::Text("gr\u{fc}n")];
        let asked = command::execute(&mut session.out, &execute, params.into_iter()).unwrap();
        let response = session.ask(asked, &mut RowCollector::new(0)).unwrap();
        assert_eq!(response.affected_rows, 1);
    }
    let (_, rows) = session
        .query("select sum(id), min(name) from kept")
        .unwrap();
    assert_eq!(rows[0], [Some("3".into()), Some("gr\u{fc}n".into())]);

    let _ = session.query("begin").unwrap();
    let error = session.query("select 1 / 0").unwrap_err();
    assert!(error.leaves_connection_usable());
    assert_eq!(session.parser.transaction(), TransactionStatus::Failed);
    let (response, _) = session.query("rollback").unwrap();
    assert_eq!(response.transaction, TransactionStatus::Idle);
}
