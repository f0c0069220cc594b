//! Servers that speak PostgreSQL's protocol, or something like it, and mean harm.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use tlstax_contract::{
    AuthMethod, ErrorKind, Fault, Job, PostgresTerms, Server as Kind, SslNegotiation,
};

use crate::engine::{Ending, hurried, job, run, tls_job};
use crate::server::{Peer, Server, tls_config};

/// More than any one message of a server's is taken for, but for rows.
const ABSURD: u32 = 0x7fff_ffff;

/// `AuthenticationOk`, which lets the account in.
const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0";
/// `AuthenticationSASL` with SCRAM-SHA-256 alone.
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
/// `AuthenticationSASL` with the channel bound, too.
const SCRAM_PLUS: &[u8] = b"R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
/// `AuthenticationCleartextPassword`.
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
/// `AuthenticationGSS`.
const GSS: &[u8] = b"R\0\0\0\x08\0\0\0\x07";
/// `ReadyForQuery` outside a transaction.
const READY: &[u8] = b"Z\0\0\0\x05I";
/// `CommandComplete` of a SELECT without rows.
const NO_ROWS: &[u8] = b"C\0\0\0\x0dSELECT 0\0";
/// `RowDescription` of one text column.
const COLUMN: &[u8] = b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
/// `DataRow` of one short value.
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";

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

    /// The same, and answers the question that proves what was negotiated; reads the first statement.
    fn let_into_the_window(&mut self) -> io::Result<()> {
        self.let_in()?;
        self.read_message()?;
        self.send(&[NO_ROWS, READY].concat())?;
        self.read_message().map(drop)
    }
}

/// A message around a body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

/// The header of a message that says that it has so many bytes.
fn header(kind: u8, length: u32) -> Vec<u8> {
    [&[kind], &length.to_be_bytes()[..]].concat()
}

/// An `ErrorResponse`.
fn error(severity: &str, state: &str, words: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{state}\0M{words}\0\0");
    message(b'E', fields.as_bytes())
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

/// What comes of a job, encrypted or not, whose server answers each opening with these bytes and then
/// waits.
fn answered(said: impl Into<Vec<u8>>, make: fn(&Server) -> Job) -> Ending {
    let said = said.into();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    run(&make(&server))
}

#[test]
fn a_server_that_means_no_harm_is_served() {
    let server = Server::start(|peer| {
        peer.let_into_the_window()?;
        loop {
            peer.send(&[COLUMN, ROW, NO_ROWS, READY].concat())?;
            if peer.read_message()?.0 == b'X' {
                return Ok(());
            }
        }
    });
    run(&in_the_clear(&server)).succeeded();
}

#[test]
fn an_answer_to_the_request_for_tls_that_is_none() {
    for (said, kind) in [
        (&b"N"[..], ErrorKind::NoTls),
        (b"G", ErrorKind::NotMysql),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ErrorKind::NotMysql),
        (b"\x4a\0\0\0\x0a8.0.33\0", ErrorKind::NotMysql),
        (b"\0", ErrorKind::NotMysql),
        (&error("FATAL", "53300", "too many"), ErrorKind::NoTls),
    ] {
        let ending = answered(said, encrypted);
        let error = ending
            .error
            .as_ref()
            .unwrap_or_else(|| panic!("{ending:?}"));
        assert_eq!(error.kind, kind, "{error:?}");
        assert!(!error.message.contains("too many"), "{error:?}");
    }
}

/// What comes before TLS could pass for what came inside it (CVE-2021-23222).
#[test]
fn more_bytes_than_the_answer_to_the_request_for_tls() {
    for more in [LET_IN, &[0x16, 3, 3], b"S"] {
        let ending = answered([b"S", more].concat(), encrypted);
        let why = ending.fatal(ErrorKind::Protocol, Fault::Server);
        assert!(why.contains("CVE-2021-23222"), "{why}");
    }
}

#[test]
fn an_opening_of_something_else() {
    for said in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x03\0\x02\x02\x28",
    ] {
        let ending = answered(said, in_the_clear);
        let error = ending
            .error
            .as_ref()
            .unwrap_or_else(|| panic!("{ending:?}"));
        // What begins like a message is first of all one that is far too long.
        let expected = [ErrorKind::NotMysql, ErrorKind::Limits];
        assert!(expected.contains(&error.kind), "{error:?}");
        assert_eq!(error.fault, Fault::Job, "{error:?}");
    }
}

#[test]
fn absurd_lengths() {
    for (kind, length) in [(b'R', ABSURD), (b'E', ABSURD), (b'S', 0), (b'R', 3)] {
        let ending = answered(header(kind, length), in_the_clear);
        assert!(ending.error.is_some() && !ending.is_done(), "{ending:?}");
    }
    for (kind, length) in [(b'T', ABSURD), (b'C', ABSURD), (b'Z', 4), (b'D', 2)] {
        let server = Server::start(move |peer| {
            peer.let_into_the_window()?;
            peer.send(&header(kind, length))?;
            peer.fall_silent()
        });
        let ending = run(&hurried(in_the_clear(&server)));
        assert!(ending.is_done(), "{ending:?}");
        let errors = &ending.result().errors;
        let expected = [ErrorKind::Protocol, ErrorKind::Limits];
        assert!(
            !errors.is_empty() && errors.iter().all(|error| expected.contains(&error.kind)),
            "{errors:?}"
        );
    }
}

#[test]
fn one_who_lets_in_without_proving_that_it_knows_the_password() {
    let server = Server::start(|peer| {
        peer.let_in()?;
        peer.fall_silent()
    });
    let ending = run(&only(job(&server), AuthMethod::ScramSha256));
    let why = ending.fatal(ErrorKind::AccessDenied, Fault::Job);
    assert!(why.contains("the job allows only scram-sha-256"), "{why}");
    // In the middle of SCRAM it is a break of the protocol, whatever is allowed.
    let server = Server::start(|peer| {
        peer.read_opening()?;
        peer.send(SCRAM)?;
        peer.read_message()?;
        peer.send(&[LET_IN, READY].concat())?;
        peer.fall_silent()
    });
    run(&in_the_clear(&server)).fatal(ErrorKind::Protocol, Fault::Server);
}

/// The client's first message of SCRAM, of which the nonce is what follows `r=`.
fn nonce_of(first: &[u8]) -> String {
    let text = String::from_utf8_lossy(first);
    let (_, nonce) = text.split_once(",r=").unwrap();
    nonce.to_owned()
}

/// Goes through SCRAM as a server that does not know the password: its signature is of something else.
fn guess(peer: &mut Peer, iterations: &str, final_message: &str) -> io::Result<()> {
    peer.send(SCRAM)?;
    let nonce = nonce_of(&peer.read_message()?.1);
    let first = format!("r={nonce}hostile,s=c2FsdHNhbHRzYWx0,i={iterations}");
    peer.send(&message(b'R', &[&[0, 0, 0, 11], first.as_bytes()].concat()))?;
    peer.read_message()?;
    let last = [&[0, 0, 0, 12], final_message.as_bytes()].concat();
    peer.send(&[&message(b'R', &last), LET_IN, READY].concat())?;
    peer.fall_silent()
}

#[test]
fn one_whose_signature_is_wrong() {
    let server = Server::start(|peer| {
        peer.read_opening()?;
        let signature = "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        guess(peer, "4096", signature)
    });
    let ending = run(&in_the_clear(&server));
    let why = ending.fatal(ErrorKind::Protocol, Fault::Server);
    assert!(why.contains("did not prove"), "{why}");
}

#[test]
fn one_who_would_have_the_password_hashed_for_ever() {
    for iterations in ["4294967295", "100000000", "99999999999999999999"] {
        let server = Server::start(move |peer| {
            peer.read_opening()?;
            guess(peer, iterations, "v=")
        });
        let ending = run(&in_the_clear(&server));
        assert!(ending.error.is_some(), "{ending:?}");
    }
}

#[test]
fn one_who_takes_the_binding_of_the_channel_away() {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.agree_to_tls(&config)?;
        peer.read_opening()?;
        peer.send(SCRAM)?;
        peer.fall_silent()
    });
    let ending = run(&only(tls_job(&server), AuthMethod::ScramSha256Plus));
    ending.fatal(ErrorKind::AccessDenied, Fault::Job);
}

#[test]
fn one_who_binds_a_channel_that_there_is_not() {
    answered(SCRAM_PLUS, in_the_clear).fatal(ErrorKind::Protocol, Fault::Server);
}

#[test]
fn one_who_wants_the_password_as_it_is_does_not_get_it() {
    let why = answered(CLEARTEXT, in_the_clear);
    let why = why.fatal(ErrorKind::AccessDenied, Fault::Job);
    assert!(why.contains("it was not sent"), "{why}");
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.agree_to_tls(&config)?;
        peer.read_opening()?;
        peer.send(CLEARTEXT)?;
        peer.fall_silent()
    });
    run(&encrypted(&server)).fatal(ErrorKind::AccessDenied, Fault::Job);
    answered(GSS, in_the_clear).fatal(ErrorKind::AccessDenied, Fault::Client);
}

#[test]
fn one_who_takes_direct_tls_without_naming_the_protocol() {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.shake_hands(&config)?;
        peer.fall_silent()
    });
    let terms = PostgresTerms {
        ssl_negotiation: SslNegotiation::Direct,
        ..PostgresTerms::default()
    };
    let ending = run(&asking(tls_job(&server), terms));
    let why = ending.fatal(ErrorKind::TlsHandshake, Fault::Server);
    assert!(why.contains("ALPN"), "{why}");
}

#[test]
fn closing_in_each_phase() {
    let server = Server::start(Peer::hang_up);
    run(&in_the_clear(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    run(&encrypted(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    let server = Server::start(|peer| {
        peer.read_opening()?;
        peer.send(b"S")?;
        peer.hang_up()
    });
    run(&encrypted(&server)).fatal(ErrorKind::TlsHandshake, Fault::Server);
    let server = Server::start(|peer| {
        peer.read_opening()?;
        peer.send(SCRAM)?;
        peer.read_message()?;
        peer.hang_up()
    });
    run(&in_the_clear(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    for said in [&b""[..], b"R\0\0", LET_IN] {
        let server = Server::start(move |peer| {
            peer.read_opening()?;
            peer.send(said)?;
            peer.hang_up()
        });
        run(&in_the_clear(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    }
    let server = Server::start(|peer| {
        peer.let_in()?;
        peer.read_message()?;
        peer.hang_up()
    });
    run(&in_the_clear(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    for said in [&b""[..], COLUMN, ROW] {
        let said = if said == ROW {
            [COLUMN, ROW].concat()
        } else {
            said.to_vec()
        };
        let server = Server::start(move |peer| {
            peer.let_into_the_window()?;
            peer.send(&said)?;
            peer.hang_up()
        });
        run(&in_the_clear(&server)).counted(ErrorKind::ServerClosed);
    }
}

#[test]
fn silence_in_each_phase() {
    let server = Server::start(Peer::fall_silent);
    run(&hurried(in_the_clear(&server))).fatal(ErrorKind::Timeout, Fault::Server);
    run(&hurried(encrypted(&server))).fatal(ErrorKind::Timeout, Fault::Server);
    let server = Server::start(|peer| {
        peer.let_into_the_window()?;
        peer.send(COLUMN)?;
        peer.fall_silent()
    });
    run(&hurried(in_the_clear(&server))).counted(ErrorKind::Timeout);
}

/// A server may say so much unasked as it likes, in notices, and nothing else.
#[test]
fn what_is_said_unasked() {
    let notice = message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhear\0\0");
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        loop {
            peer.send(&[&notice, COLUMN, NO_ROWS, READY, &notice].concat())?;
            if peer.read_message()?.0 == b'X' {
                return Ok(());
            }
        }
    });
    run(&in_the_clear(&server)).succeeded();
    for more in [READY, ROW, LET_IN] {
        let server = Server::start(move |peer| {
            peer.let_into_the_window()?;
            peer.send(&[NO_ROWS, READY, more].concat())?;
            peer.fall_silent()
        });
        run(&hurried(in_the_clear(&server))).counted(ErrorKind::Protocol);
    }
}

#[test]
fn a_statement_that_is_refused_leaves_the_connection_and_a_fatal_error_does_not() {
    let refusal = [&error("ERROR", "40001", "again"), READY].concat();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        for turn in 0_u64.. {
            let answer = [NO_ROWS, READY].concat();
            peer.send(if turn % 2 == 0 { &refusal } else { &answer })?;
            if peer.read_message()?.0 == b'X' {
                return Ok(());
            }
        }
        Ok(())
    });
    let ending = run(&in_the_clear(&server));
    ending.counted(ErrorKind::ServerError);
    assert_eq!(ending.result().lifetime.connections, 3);
    let fatal = error("FATAL", "57P01", "terminating connection");
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.send(&fatal)?;
        peer.hang_up()
    });
    run(&in_the_clear(&server)).counted(ErrorKind::ServerError);
}
