//! Servers that announce or send more than anybody can want.

use tlstax_contract::{ErrorKind, Fault};
use tlstax_wire::DEFAULT_MAX_PAYLOAD;

use crate::engine::{hurried, job, run, run_within};
use crate::messages::{COLUMN, END, FULL, ONE_COLUMN, error, packet, packets};
use crate::server::Server;

const FULL_HEADER: [u8; 4] = [0xff, 0xff, 0xff, 1];
#[test]
fn a_long_packet_is_announced_and_never_comes() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&FULL_HEADER)?;
        peer.fall_silent()
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
    let server = Server::start(|peer| {
        peer.send(&[0xff, 0xff, 0xff, 0])?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::NotMysql, Fault::Job);
}

/// Of what is too long for what it is nothing is kept.
#[test]
fn a_packet_does_not_end() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.read()?;
        let payload = vec![1; FULL];
        for number in 1.. {
            peer.send(&[0xff, 0xff, 0xff, number])?;
            peer.send(&payload)?;
        }
        Ok(())
    });
    let ending = run(&job(&server));
    let message = ending.fatal(ErrorKind::Limits, Fault::Job);
    let limit = DEFAULT_MAX_PAYLOAD.to_string();
    assert!(message.contains(&limit), "{message}");
}

/// A row that was wanted has to be kept until it is whole, by one connection at a time here.
#[test]
fn a_row_that_is_wanted_does_not_end() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.read()?;
        peer.send(&packets(1, &[ONE_COLUMN, COLUMN]))?;
        let payload = vec![1; FULL];
        for number in 3.. {
            peer.send(&[0xff, 0xff, 0xff, number])?;
            peer.send(&payload)?;
        }
        Ok(())
    });
    let mut job = job(&server);
    job.connections = 1;
    run_within(&job, DEFAULT_MAX_PAYLOAD as u64).fatal(ErrorKind::Limits, Fault::Job);
}

#[test]
fn a_packet_of_the_login_is_longer_than_any_is() {
    let server = Server::start(|peer| {
        let number = peer.hear_login()?;
        peer.send(&packet(number, &vec![1; 70_000]))?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::Limits, Fault::Job);
}

#[test]
fn four_billion_columns() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packet(1, b"\xfe\0\0\0\0\x01\0\0\0"))?;
        peer.fall_silent()
    });
    run(&job(&server)).counted(ErrorKind::Protocol);
}

#[test]
fn an_error_of_many_megabytes() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.read()?;
        peer.send(&packet(1, &error(1105, &"x".repeat(8 << 20))))?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::Limits, Fault::Job);
}

/// The message is told in one line, so it is no longer than a server's own can be.
#[test]
fn an_error_of_many_words() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.read()?;
        peer.send(&packet(1, &error(1105, &"x".repeat(60_000))))?;
        peer.fall_silent()
    });
    let ending = run(&job(&server));
    let message = ending.fatal(ErrorKind::ServerError, Fault::Server);
    assert!(message.contains("1105"), "{message}");
}

/// Rows that nobody wants are passed over while they arrive, whatever their length.
#[test]
fn long_rows_that_nobody_wants() {
    let row = [&b"\xfd\0\0\x40"[..], &vec![b'x'; 4 << 20]].concat();
    let answer = packets(1, &[ONE_COLUMN, COLUMN, &row, &row, END]);
    let server = Server::start(move |peer| {
        peer.log_in()?;
        peer.answer(1)?;
        loop {
            peer.read()?;
            peer.send(&answer)?;
        }
    });
    run(&job(&server)).succeeded();
}
