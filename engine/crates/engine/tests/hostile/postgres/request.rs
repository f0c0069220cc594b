//! The way to TLS: the answer to `SSLRequest`, the handshake, TLS from the first byte on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::ServerConfig;
use tlstax_contract::{
    AuthMethod, ErrorKind, Fault, Job, PostgresTerms, SslNegotiation, Tls, TlsSettings, Verify,
};

use super::{
    CLEARTEXT, Expected, LET_IN, NO_ROWS, READY, SCRAM, asking, encrypted, error, only, scripts,
};
use crate::engine::{Ending, run, tls_job};
use crate::server::{Peer, Server, tls_config};

const NOT_OFFERED: Expected = Expected::of(ErrorKind::NoTls, Fault::Server, "does not offer it");
const NOT_SHOWN: Expected = Expected::of(ErrorKind::NoTls, Fault::Server, "is not shown");
const NO_HANDSHAKE: Expected = Expected::of(ErrorKind::TlsHandshake, Fault::Server, "");
const BEFORE_TLS: Expected = Expected::broken("CVE-2021-23222");

/// A server that answers the request for TLS with these bytes and then waits.
fn answered(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.ends(&expected.run(encrypted(&server)));
}

scripts! { answered:
    one_that_has_no_tls: b"N" => NOT_OFFERED;
    one_that_would_have_gssapi: b"G" => Expected::stranger("\"G\"");
    a_small_letter: b"s" => Expected::stranger("\"s\"");
    a_nul: b"\0" => Expected::stranger("\\x00");
    a_request_to_authenticate: LET_IN => Expected::stranger("PostgreSQL");
    a_page: b"HTTP/1.1 400 Bad Request\r\n\r\n" => Expected::stranger("HTTP");
    a_greeting_of_mysql: b"\x4a\0\0\0\x0a8.0.33\0" => Expected::stranger("MySQL");
    a_line_of_ssh: b"SSH-2.0-OpenSSH_9.2\r\n" => Expected::stranger("SSH");
    an_alert_of_tls: b"\x15\x03\x03\0\x02\x02\x28" => Expected::stranger("TLS");
    // Anybody may have sent it (CVE-2024-10977).
    an_error: error("FATAL", "53300", "too many") => NOT_SHOWN;
    an_error_of_before_protocol_3: b"Ecould not fork\n\0" => NOT_SHOWN;
    a_yes_and_a_message: [b"S", LET_IN].concat() => BEFORE_TLS;
    a_yes_and_a_record_of_tls: b"S\x16\x03\x03" => BEFORE_TLS;
    a_yes_twice: b"SS" => BEFORE_TLS;
    a_no_and_a_message: [b"N", LET_IN].concat() => BEFORE_TLS;
    a_no_twice: b"NN" => BEFORE_TLS;
    nothing: b"" => Expected::silent();
    a_yes_and_nothing: b"S" => Expected::silent();
}

/// A server that agrees to TLS, reads the client's hello, and says this in place of its own.
fn agreed_and_said(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(b"S")?;
        peer.read_exact(&mut [0; 5])?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.ends(&expected.run(encrypted(&server)));
}

scripts! { agreed_and_said:
    a_handshake_answered_by_a_message: LET_IN => NO_HANDSHAKE;
    a_handshake_answered_by_an_error: error("FATAL", "08P01", "no") => NO_HANDSHAKE;
    a_handshake_answered_by_another_yes: b"SSSSSS" => NO_HANDSHAKE;
    a_handshake_answered_by_an_alert: b"\x15\x03\x03\0\x02\x02\x28" => NO_HANDSHAKE;
    half_a_record: b"\x16\x03\x03\x40\0\x02" => Expected::silent();
}

/// A server that makes the handshake, reads who the client is, and does this.
fn inside_tls(
    expected: Expected,
    job: impl Fn(&Server) -> Job,
    script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
) -> Ending {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.agree_to_tls(&config)?;
        peer.read_opening()?;
        script(peer)
    });
    expected.run(job(&server))
}

#[test]
fn plain_bytes_after_the_handshake() {
    let ending = inside_tls(NO_HANDSHAKE, encrypted, |peer| {
        peer.send_bare(&[LET_IN, READY].concat())?;
        peer.fall_silent()
    });
    NO_HANDSHAKE.ends(&ending);
}

#[test]
fn plain_bytes_among_the_answers() {
    let ending = inside_tls(NO_HANDSHAKE, encrypted, |peer| {
        peer.send(&[LET_IN, READY].concat())?;
        for _ in 0..3 {
            peer.read_message()?;
            peer.send(&[NO_ROWS, READY].concat())?;
        }
        peer.read_message()?;
        peer.send_bare(&[NO_ROWS, READY].concat())?;
        peer.fall_silent()
    });
    NO_HANDSHAKE.costs_operations(&ending);
}

#[test]
fn a_hang_up_inside_tls_without_a_word() {
    let expected = Expected::closed();
    expected.ends(&inside_tls(expected, encrypted, Peer::hang_up));
}

#[test]
fn silence_inside_tls() {
    let expected = Expected::silent();
    expected.ends(&inside_tls(expected, encrypted, Peer::fall_silent));
}

#[test]
fn thousands_of_tickets() {
    let config = tls_config(5000);
    let server = Server::start(move |peer| {
        peer.agree_to_tls(&config)?;
        peer.let_into_the_window()?;
        peer.answer_each(&[NO_ROWS, READY].concat())
    });
    let job = Job {
        connections: 1,
        ..encrypted(&server)
    };
    run(&job).succeeded();
}

#[test]
fn one_who_takes_the_binding_of_the_channel_away() {
    let job = |server: &Server| only(tls_job(server), AuthMethod::ScramSha256Plus);
    let expected = Expected::denied("the server does not offer it");
    let ending = inside_tls(expected, job, |peer| {
        peer.send(SCRAM)?;
        peer.fall_silent()
    });
    expected.ends(&ending);
}

/// TLS with anybody's certificate keeps out those who listen, and not the one who made it.
#[test]
fn one_with_a_certificate_of_their_own_does_not_get_the_password_as_it_is() {
    let expected = Expected::denied("it was not sent");
    let ending = inside_tls(expected, encrypted, |peer| {
        peer.send(CLEARTEXT)?;
        peer.fall_silent()
    });
    expected.ends(&ending);
}

#[test]
fn one_with_a_certificate_that_nobody_vouches_for_hears_no_name() {
    let verified = |server: &Server| Job {
        tls: Tls::On(Box::new(TlsSettings {
            server_name: Some("localhost".into()),
            verify: Verify::Ca,
            ..TlsSettings::default()
        })),
        ..encrypted(server)
    };
    let expected = Expected::of(ErrorKind::Certificate, Fault::Server, "");
    let heard = Arc::new(AtomicBool::new(false));
    let hearing = Arc::clone(&heard);
    let ending = inside_tls(expected, verified, move |_| {
        hearing.store(true, Ordering::SeqCst);
        Ok(())
    });
    expected.ends(&ending);
    assert!(!heard.load(Ordering::SeqCst), "the client said who it is");
}

/// A server that the client meets by TLS from the first byte on.
fn met_directly(
    script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    expected: Expected,
) {
    let server = Server::start(script);
    let terms = PostgresTerms {
        ssl_negotiation: SslNegotiation::Direct,
        ..PostgresTerms::default()
    };
    expected.ends(&expected.run(asking(tls_job(&server), terms)));
}

/// The same, of which these bytes are the answer to the client's hello.
fn met_directly_by(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let script = move |peer: &mut Peer| {
        peer.read_exact(&mut [0; 5])?;
        peer.send(&said)?;
        peer.fall_silent()
    };
    met_directly(script, expected);
}

scripts! { met_directly_by:
    direct_tls_answered_as_if_it_had_been_asked_for: b"SSSSSS" => NO_HANDSHAKE;
    direct_tls_answered_by_a_no: b"NNNNNN" => NO_HANDSHAKE;
    direct_tls_answered_by_an_error: error("FATAL", "08P01", "what is this") => NO_HANDSHAKE;
    direct_tls_answered_by_a_message: LET_IN => NO_HANDSHAKE;
    direct_tls_answered_by_nothing: b"" => Expected::silent();
}

#[test]
fn direct_tls_answered_by_a_hang_up() {
    met_directly(Peer::hang_up, NO_HANDSHAKE);
}

#[test]
fn one_who_takes_direct_tls_without_naming_the_protocol() {
    let config = tls_config(0);
    let expected = Expected::of(ErrorKind::TlsHandshake, Fault::Server, "ALPN");
    let script = move |peer: &mut Peer| {
        peer.shake_hands(&config)?;
        peer.fall_silent()
    };
    met_directly(script, expected);
}

#[test]
fn one_who_takes_direct_tls_for_another_protocol() {
    let mut config = ServerConfig::clone(&tls_config(0));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let script = move |peer: &mut Peer| {
        peer.shake_hands(&config)?;
        peer.fall_silent()
    };
    met_directly(script, NO_HANDSHAKE);
}
