//! Servers that hang up, at every stage.

use tlstax_contract::{ErrorKind, Fault};

use crate::engine::{job, run, tls_job};
use crate::messages::{COLUMN, OK, ONE_COLUMN, packet, packets};
use crate::server::{Peer, Server, tls_config};

#[test]
fn before_the_greeting_and_within_it() {
    let server = Server::start(Peer::hang_up);
    run(&job(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    let server = Server::start(|peer| {
        peer.send(&[70, 0, 0])?;
        peer.hang_up()
    });
    run(&job(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
}

#[test]
fn before_the_handshake_and_within_it() {
    for said in [&[][..], &[22, 3, 3, 0x40, 0, 2]] {
        let server = Server::start(move |peer| {
            peer.greet()?;
            peer.read()?;
            peer.send(said)?;
            peer.hang_up()
        });
        run(&tls_job(&server)).fatal(ErrorKind::TlsHandshake, Fault::Server);
    }
}

#[test]
fn instead_of_a_verdict_on_the_login() {
    let server = Server::start(|peer| {
        peer.hear_login()?;
        peer.hang_up()
    });
    run(&job(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.start_tls(&config)?;
        peer.read()?;
        peer.hang_up()
    });
    run(&tls_job(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
}

#[test]
fn instead_of_the_proof() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.read()?;
        peer.hang_up()
    });
    run(&job(&server)).fatal(ErrorKind::ServerClosed, Fault::Server);
}

#[test]
fn instead_of_an_answer_and_within_it() {
    for payloads in [&[][..], &[ONE_COLUMN, COLUMN]] {
        let said = packets(1, payloads);
        let server = Server::start(move |peer| {
            peer.come_to_the_window()?;
            peer.send(&said)?;
            peer.hang_up()
        });
        run(&job(&server)).counted(ErrorKind::ServerClosed);
    }
}

/// It closes its end with the answer and hears the next question, which makes nothing ready anew.
#[test]
fn with_an_answer_while_it_listens_on() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packet(1, OK))?;
        peer.hang_up()
    });
    run(&job(&server)).counted(ErrorKind::ServerClosed);
}

#[test]
fn by_a_reset() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.answer(1)?;
        peer.reset()
    });
    run(&job(&server)).counted(ErrorKind::ServerClosed);
}
