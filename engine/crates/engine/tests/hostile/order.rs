//! Servers that say things at the wrong time or under the wrong number.

use std::thread::sleep;
use std::time::Duration;

use tlstax_contract::{ErrorKind, Fault};

use crate::engine::{job, run};
use crate::messages::{COLUMN, OK, ONE_COLUMN, ROW, error, greeting, packet, packets};
use crate::server::Server;

/// Keeps two answers apart.
const A_MOMENT: Duration = Duration::from_millis(1);

#[test]
fn a_wrong_number_on_the_greeting() {
    let server = Server::start(|peer| {
        peer.send(&packet(5, &greeting()))?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::NotMysql, Fault::Job);
}

#[test]
fn a_wrong_number_on_the_verdict() {
    let server = Server::start(|peer| {
        let number = peer.hear_login()?;
        peer.send(&packet(number + 1, OK))?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::Protocol, Fault::Server);
}

#[test]
fn a_wrong_number_on_an_answer() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packet(0, OK))?;
        peer.fall_silent()
    });
    run(&job(&server)).counted(ErrorKind::Protocol);
}

#[test]
fn a_wrong_number_among_the_rows() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packets(1, &[ONE_COLUMN, COLUMN, ROW]))?;
        peer.send(&packet(9, ROW))?;
        peer.fall_silent()
    });
    run(&job(&server)).counted(ErrorKind::Protocol);
}

#[test]
fn an_error_instead_of_the_greeting() {
    let server = Server::start(|peer| peer.send(&packet(0, &error(1040, "Too many connections"))));
    let ending = run(&job(&server));
    let message = ending.fatal(ErrorKind::ServerError, Fault::Server);
    assert!(message.contains("Too many connections"), "{message}");
}

#[test]
fn an_error_among_columns_and_rows() {
    for before in [&[ONE_COLUMN][..], &[ONE_COLUMN, COLUMN, ROW]] {
        let mut answer: Vec<_> = before.to_vec();
        let error = error(1317, "Query execution was interrupted");
        answer.push(&error);
        let answer = packets(1, &answer);
        let server = Server::start(move |peer| {
            peer.come_to_the_window()?;
            peer.send(&answer)?;
            peer.answer(usize::MAX)
        });
        run(&job(&server)).counted(ErrorKind::ServerError);
    }
}

/// As servers say goodbye, numbered 0, when they are shut down.
#[test]
fn an_error_that_answers_nothing() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.answer(3)?;
        peer.send(&packet(0, &error(1053, "Server shutdown in progress")))?;
        peer.fall_silent()
    });
    run(&job(&server)).counted(ErrorKind::ServerError);
}

#[test]
fn an_error_cut_short() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        peer.send(&packet(1, &[0xff]))?;
        peer.fall_silent()
    });
    run(&job(&server)).counted(ErrorKind::Protocol);
}

#[test]
fn more_after_the_verdict() {
    let server = Server::start(|peer| {
        let number = peer.hear_login()?;
        peer.send(&[packet(number, OK), packet(1, OK)].concat())?;
        peer.fall_silent()
    });
    run(&job(&server)).fatal(ErrorKind::Protocol, Fault::Server);
}

#[test]
fn more_after_an_answer() {
    let server = Server::start(|peer| {
        peer.come_to_the_window()?;
        loop {
            peer.send(&[packet(1, OK), packet(1, OK)].concat())?;
            peer.read()?;
        }
    });
    run(&job(&server)).counted(ErrorKind::Protocol);
}

/// Whether it comes before the question cannot be seen; it is taken for the answer, or found to be
/// one too many. Where the machine is so busy that it comes before the window has begun, the job cannot begin.
#[test]
fn an_answer_before_the_question() {
    let server = Server::start(|peer| {
        peer.log_in()?;
        peer.answer(1)?;
        sleep(A_MOMENT);
        peer.send(&packet(1, OK))?;
        peer.answer(usize::MAX)
    });
    let ending = run(&job(&server));
    if ending.is_done() {
        ending.counted_at_most(ErrorKind::Protocol);
    } else {
        ending.fatal(ErrorKind::Protocol, Fault::Server);
    }
}
