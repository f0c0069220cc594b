//! Servers that never come to an end: the job's timeout or the protocol's limits end it.

use tlstax_contract::{ErrorKind, Fault, Job};

use crate::engine::{hurried, job, run};
use crate::messages::{COLUMN, OK_AND_MORE, ONE_COLUMN, ROW, many, packet, packets};
use crate::server::{Peer, Server};

const MOST_COLUMNS: &[u8] = b"\xfd\xff\xff\0";

fn begin_rows(peer: &mut Peer) -> std::io::Result<()> {
    peer.send(&packets(1, &[ONE_COLUMN, COLUMN]))
}

#[test]
fn columns_without_end() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packet(1, MOST_COLUMNS))?;
        peer.send_for_ever(&many(2, COLUMN))
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
}

#[test]
fn rows_without_end_that_nobody_wants() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        begin_rows(peer)?;
        peer.send_for_ever(&many(3, ROW))
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
}

#[test]
fn rows_without_end_that_are_wanted() {
    let row = [&b"\xfd\0\0\x01"[..], &vec![b'x'; 1 << 16]].concat();
    let server = Server::start(move |peer| {
        peer.come_to_the_window()?;
        begin_rows(peer)?;
        peer.send_for_ever(&many(3, &row))
    });
    let job = Job {
        row_samples: 16,
        ..job(&server)
    };
    run(&hurried(job)).counted(ErrorKind::Timeout);
}

#[test]
fn a_proof_without_end() {
    let row = [&b"\xfd\0\0\x10"[..], &vec![b'x'; 1 << 20]].concat();
    let server = Server::start(move |peer| {
        peer.log_in()?;
        peer.read()?;
        begin_rows(peer)?;
        peer.send_for_ever(&many(3, &row))
    });
    run(&hurried(job(&server))).fatal(ErrorKind::Timeout, Fault::Server);
}

#[test]
fn results_without_end() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send_for_ever(&many(1, OK_AND_MORE))
    });
    run(&hurried(job(&server))).counted(ErrorKind::Timeout);
}

#[test]
fn a_login_that_goes_round_in_circles() {
    let server = Server::start(|peer| {
        let mut number = peer.hear_login()?;
        loop {
            peer.send(&packet(
                number,
                b"\xfemysql_native_password\0abcdefghijklmnopqrst\0",
            ))?;
            number = peer.read()?.0.wrapping_add(1);
        }
    });
    let ending = run(&job(&server));
    let message = ending.fatal(ErrorKind::Protocol, Fault::Server);
    assert!(message.contains("did not end"), "{message}");
}

/// That the password was found in the cache needs no answer, and can be said only once.
#[test]
fn more_authentication_data_without_end() {
    let server = Server::start(|peer| {
        let number = peer.hear_login()?;
        peer.send_for_ever(&many(number, b"\x01\x03"))
    });
    run(&job(&server)).fatal(ErrorKind::Protocol, Fault::Server);
}
