//! Servers that are wrong about TLS.

use std::io::Write;

use tlstax_contract::{ErrorKind, Fault};

use crate::engine::{hurried, job, run, tls_job};
use crate::messages::{OK, error, greeting, packet};
use crate::server::{Server, tls_config};

#[test]
fn a_handshake_answered_in_the_clear() {
    for answer in [
        packet(2, &error(1043, "Bad handshake")),
        b"HTTP/1.1 400 no\r\n\r\n".to_vec(),
    ] {
        let server = Server::start(move |peer| {
            peer.greet()?;
            peer.read()?;
            peer.send(&answer)?;
            peer.fall_silent()
        });
        run(&tls_job(&server)).fatal(ErrorKind::TlsHandshake, Fault::Server);
    }
}

/// What comes with the greeting must not pass for what comes from inside TLS.
#[test]
fn bytes_put_before_the_handshake() {
    let server = Server::start(|peer| {
        peer.send(&[packet(0, &greeting()), packet(3, OK)].concat())?;
        peer.fall_silent()
    });
    run(&tls_job(&server)).fatal(ErrorKind::Protocol, Fault::Server);
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.greet()?;
        peer.read()?;
        peer.send(&packet(3, OK))?;
        peer.start_tls(&config)
    });
    run(&tls_job(&server)).fatal(ErrorKind::TlsHandshake, Fault::Server);
}

#[test]
fn plain_bytes_after_the_handshake() {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.start_tls(&config)?;
        peer.read()?;
        peer.send_bare(&packet(3, OK))?;
        peer.fall_silent()
    });
    run(&tls_job(&server)).fatal(ErrorKind::TlsHandshake, Fault::Server);
}

#[test]
fn plain_bytes_among_the_answers() {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.log_in_by_tls(&config)?;
        peer.answer(3)?;
        peer.read()?;
        peer.send_bare(&packet(1, OK))?;
        peer.fall_silent()
    });
    run(&tls_job(&server)).counted(ErrorKind::TlsHandshake);
}

#[test]
fn tls_where_none_was_asked_for() {
    let server = Server::start(|peer| {
        peer.greet()?;
        peer.read()?;
        peer.send(&[22, 3, 3, 0, 4, 2, 0, 0, 0])?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::Limits, Fault::Job);
}

/// A server may send as many tickets as it likes; they are not kept.
#[test]
fn thousands_of_tickets() {
    let config = tls_config(5000);
    let server = Server::start(move |peer| {
        peer.log_in_by_tls(&config)?;
        peer.answer(usize::MAX)
    });
    let mut job = tls_job(&server);
    job.connections = 1;
    run(&job).succeeded();
}

/// New keys without end (RFC 8446, section 4.6.3), and never an answer.
#[test]
fn new_keys_without_end() {
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.log_in_by_tls(&config)?;
        peer.answer(1)?;
        peer.read()?;
        let tls = peer.tls();
        loop {
            tls.conn
                .refresh_traffic_keys()
                .map_err(std::io::Error::other)?;
            tls.flush()?;
        }
    });
    run(&hurried(tls_job(&server))).counted(ErrorKind::Timeout);
}
