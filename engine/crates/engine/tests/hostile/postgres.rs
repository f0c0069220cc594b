//! Servers that speak PostgreSQL's protocol, or something like it, and mean harm.
//!
//! Most scripts differ only in what is said at one point: each is a line of a table and a test of its own.
//! `cargo test -p tlstax-engine --test hostile -- --list | grep -c '^postgres::.*: test$'` counts them.

mod answers;
mod prepared;
mod request;
mod scram;
mod startup;
mod unending;

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use tlstax_contract::{
    AuthMethod, ErrorEvent, ErrorKind, Fault, Job, PostgresTerms, Server as Kind,
};

use crate::engine::{Ending, hurried, job, run, tls_job};
use crate::server::{Peer, Server};

/// More than any one message of a server's is taken for.
const ABSURD: u32 = 0x7fff_ffff;

/// `AuthenticationOk`, which lets the account in.
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0";
/// `AuthenticationSASL` with SCRAM-SHA-256 alone.
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
/// `AuthenticationCleartextPassword`.
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
/// `AuthenticationMD5Password`.
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
/// `ReadyForQuery` outside a transaction.
const READY: &[u8] = b"Z\0\0\0\x05I";
/// `CommandComplete` of a SELECT without rows.
const NO_ROWS: &[u8] = b"C\0\0\0\x0dSELECT 0\0";
/// `RowDescription` of one text column.
const COLUMN: &[u8] = b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
/// `DataRow` of one short value.
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";

/// What comes of a script: whose error of which kind, and words of the sentence that tells of it.
#[derive(Clone, Copy)]
struct Expected {
    kind: ErrorKind,
    fault: Fault,
    words: &'static str,
}

impl Expected {
    /// The server broke the protocol.
    const fn broken(words: &'static str) -> Self {
        Self::of(ErrorKind::Protocol, Fault::Server, words)
    }

    /// The server sent more than is taken.
    const fn too_much(words: &'static str) -> Self {
        Self::of(ErrorKind::Limits, Fault::Job, words)
    }

    /// The account is not let in by what the job allows.
    const fn denied(words: &'static str) -> Self {
        Self::of(ErrorKind::AccessDenied, Fault::Job, words)
    }

    /// It is no PostgreSQL server.
    const fn stranger(words: &'static str) -> Self {
        Self::of(ErrorKind::NotMysql, Fault::Job, words)
    }

    /// It said in its own words that it will not.
    const fn refused(words: &'static str) -> Self {
        Self::of(ErrorKind::ServerError, Fault::Server, words)
    }

    const fn closed() -> Self {
        Self::of(
            ErrorKind::ServerClosed,
            Fault::Server,
            "closed the connection",
        )
    }

    const fn silent() -> Self {
        Self::of(ErrorKind::Timeout, Fault::Server, "has not answered")
    }

    const fn of(kind: ErrorKind, fault: Fault, words: &'static str) -> Self {
        Self { kind, fault, words }
    }

    /// Runs a job that is to end like this. Who is never to answer is given up soon, and nobody else: a machine may be
    /// busy.
    fn run(self, job: Job) -> Ending {
        run(&if self.kind == ErrorKind::Timeout {
            hurried(job)
        } else {
            job
        })
    }

    /// It ended the job.
    fn ends(self, ending: &Ending) {
        ending.fatal(self.kind, self.fault);
        self.is(ending.error.as_ref().unwrap());
    }

    /// It cost operations, and the job went on to its end.
    fn costs_operations(self, ending: &Ending) {
        ending.counted(self.kind);
        assert!(!ending.told.is_empty(), "{ending:?}");
        ending.told.iter().for_each(|error| self.is(error));
    }

    /// It is told in one line in which there is nothing that steers a terminal.
    fn is(self, error: &ErrorEvent) {
        let told = &error.message;
        assert_eq!((error.kind, error.fault), (self.kind, self.fault), "{told}");
        assert!(told.contains(self.words), "{told}");
        assert!(!told.chars().any(char::is_control), "{told:?}");
        assert!(
            !told.ends_with(char::is_whitespace) && told.len() < 1000,
            "{told:?}"
        );
    }
}

/// A test for each line: its name, what is said there, and what comes of it.
macro_rules! scripts {
    ($run:path: $($name:ident: $said:expr => $expected:expr;)+) => {$(
        #[test]
        fn $name() {
            $run($said, $expected);
        }
    )+};
}
pub(crate) use scripts;

impl Peer {
    /// The client's next message without a type, which is how each connection begins.
    fn read_opening(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.read_exact(&mut length)?;
        let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
        self.read_exact(&mut body)?;
        Ok(body)
    }

    /// The type and the body of the client's next message.
    fn read_message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut kind = [0];
        self.read_exact(&mut kind)?;
        Ok((kind[0], self.read_opening()?))
    }

    /// Reads the client's messages up to one of that type.
    fn read_up_to(&mut self, wanted: u8) -> io::Result<()> {
        while self.read_message()?.0 != wanted {}
        Ok(())
    }

    /// Reads the request for TLS, agrees and makes the handshake.
    fn agree_to_tls(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        self.read_opening()?;
        self.send(b"S")?;
        self.shake_hands(config)
    }

    /// Lets the client in, who says who it is.
    fn let_in(&mut self) -> io::Result<()> {
        self.read_opening()?;
        self.send(LET_IN)?;
        self.send(READY)
    }

    /// The same, and answers the question that proves what was negotiated.
    fn let_in_and_prove(&mut self) -> io::Result<()> {
        self.let_in()?;
        self.read_message()?;
        self.send(&[NO_ROWS, READY].concat())
    }

    /// The same, and reads the first statement.
    fn let_into_the_window(&mut self) -> io::Result<()> {
        self.let_in_and_prove()?;
        self.read_message().map(drop)
    }

    /// Answers each statement alike until the client says goodbye.
    fn answer_each(&mut self, answer: &[u8]) -> io::Result<()> {
        loop {
            self.send(answer)?;
            if self.read_message()?.0 == b'X' {
                return Ok(());
            }
        }
    }
}

/// A message around a body.
fn message(kind: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// The header of a message that says that it has N bytes.
fn header(kind: u8, length: u32) -> Vec<u8> {
    [&[kind], &length.to_be_bytes()[..]].concat()
}

/// An `AuthenticationRequest` of that number, and what follows it.
fn request(number: u32, more: impl AsRef<[u8]>) -> Vec<u8> {
    message(b'R', [&number.to_be_bytes(), more.as_ref()].concat())
}

/// An `ErrorResponse`.
fn error(severity: &str, state: &str, words: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{state}\0M{words}\0\0");
    message(b'E', fields)
}

/// A `NoticeResponse`.
fn notice() -> Vec<u8> {
    message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhear\0\0")
}

fn asking(job: Job, terms: PostgresTerms) -> Job {
    Job {
        server: Kind::Postgresql(terms),
        ..job
    }
}

/// In the clear, whatever way of logging in is asked for.
fn in_the_clear(server: &Server) -> Job {
    asking(job(server), PostgresTerms::default())
}

fn encrypted(server: &Server) -> Job {
    asking(tls_job(server), PostgresTerms::default())
}

fn only(job: Job, method: AuthMethod) -> Job {
    let terms = PostgresTerms {
        require_auth: vec![method],
        ..PostgresTerms::default()
    };
    asking(job, terms)
}

/// What comes of a job in the clear whose server comes as far as `first`, says this and then waits.
fn heard(
    said: impl Into<Vec<u8>>,
    first: fn(&mut Peer) -> io::Result<()>,
    expected: Expected,
) -> Ending {
    let said = said.into();
    let server = Server::start(move |peer| {
        first(peer)?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.run(in_the_clear(&server))
}

#[test]
fn a_server_that_means_no_harm_is_served() {
    let server = Server::start(|peer| {
        peer.let_into_the_window()?;
        peer.answer_each(&[COLUMN, ROW, NO_ROWS, READY].concat())
    });
    run(&in_the_clear(&server)).succeeded();
}
