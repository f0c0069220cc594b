//! Servers that say nothing, or hardly anything: the job's timeout ends it.

use tlstax_contract::{ErrorKind, Fault};

use crate::engine::{hurried, job, run, tls_job};
use crate::messages::{COLUMN, ONE_COLUMN, ROW, greeting, packet, packets};
use crate::server::{Peer, Server, tls_config};

#[test]
fn silence_instead_of_a_greeting() {
    let server = Server::start(Peer::fall_silent);
    run(&hurried(job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn silence_in_the_handshake() {
    let server = Server::start(|peer| {
        peer.greet()?;
        peer.fall_silent()
    });
    run(&hurried(tls_job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn silence_after_the_login() {
    let server = Server::start(|peer| {
        peer.greet()?;
        peer.fall_silent()
    });
    run(&hurried(job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.start_tls(&config)?;
        peer.fall_silent()
    });
    run(&hurried(tls_job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn silence_instead_of_the_proof() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.fall_silent()
    });
    run(&hurried(job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn silence_instead_of_an_answer() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.fall_silent()
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
}

#[test]
fn silence_in_the_middle_of_an_answer() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packets(1, &[ONE_COLUMN, COLUMN, ROW]))?;
        peer.fall_silent()
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
}

/// The time is that of the whole operation: a byte now and then does not lengthen it.
#[test]
fn drops_of_a_greeting() {
    let server = Server::start(|peer| peer.drip(&packet(0, &greeting())));
    run(&hurried(job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn drops_of_a_handshake() {
    let server = Server::start(|peer| {
        peer.greet()?;
        peer.read()?;
        // The header of a handshake record of the greatest length (RFC 8446, section 5.1).
        peer.drip(&[22, 3, 3, 0x40, 0, 2])
    });
    run(&hurried(tls_job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn drops_of_an_answer() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.drip(&packet(1, &[0; 1000]))
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
    let config = tls_config(0);
    let server = Server::start(move |peer| {
        peer.log_in_by_tls(&config)?;
        peer.answer(1)?;
        peer.read()?;
        peer.drip(&packet(1, &[0; 1000]))
    });
    run(&hurried(tls_job(&server))).counted(ErrorKind::Timeout);
}
