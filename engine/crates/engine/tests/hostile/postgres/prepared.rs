//! Answers to statements that are prepared (`Parse`, `Bind`, `Describe`, `Execute`, `Sync`).

use tlstax_contract::{ErrorKind, Fault, Job, Protocol};

use super::{
    COLUMN, Expected, LET_IN, NO_ROWS, READY, ROW, error, header, in_the_clear, message, scripts,
};
use crate::engine::run;
use crate::server::{Peer, Server};

const PARSED: &[u8] = b"1\0\0\0\x04";
const BOUND: &[u8] = b"2\0\0\0\x04";
const NO_DATA: &[u8] = b"n\0\0\0\x04";
const SUSPENDED: &[u8] = b"s\0\0\0\x04";
/// `ParameterDescription` of none.
const NO_PARAMETERS: &[u8] = b"t\0\0\0\x06\0\0";

const OUT_OF_PLACE: Expected = Expected::broken("came where");
const COPY: Expected = Expected::of(ErrorKind::BadJob, Fault::Job, "COPY");

fn prepared(server: &Server) -> Job {
    let mut job = in_the_clear(server);
    job.workload.protocol = Protocol::Prepared;
    job
}

fn come_to_the_prepare(peer: &mut Peer) -> std::io::Result<()> {
    peer.let_in()?;
    loop {
        match peer.read_message()?.0 {
            // Asked once for all; a connection that is opened anew proves nothing.
            b'Q' => peer.send(&[NO_ROWS, READY].concat())?,
            b'S' => return Ok(()),
            _ => {}
        }
    }
}

fn come_to_the_run(peer: &mut Peer) -> std::io::Result<()> {
    come_to_the_prepare(peer)?;
    peer.send(&[PARSED, NO_PARAMETERS, COLUMN, READY].concat())?;
    peer.read_up_to(b'S')
}

#[test]
fn a_server_that_means_no_harm_is_served() {
    let server = Server::start(|peer| {
        come_to_the_run(peer)?;
        loop {
            peer.send(&[BOUND, COLUMN, ROW, NO_ROWS, READY].concat())?;
            peer.read_up_to(b'S')?;
        }
    });
    run(&prepared(&server)).succeeded();
}

/// One that answers a prepare like this.
fn asked_to_prepare(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        come_to_the_prepare(peer)?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.ends(&expected.run(prepared(&server)));
}

/// The same, once it has said that the statement is parsed.
fn parsed_and_said(said: impl Into<Vec<u8>>, expected: Expected) {
    asked_to_prepare([PARSED, &said.into()].concat(), expected);
}

scripts! { asked_to_prepare:
    readiness_instead_of_a_prepare: READY => OUT_OF_PLACE;
    a_bound_portal_instead_of_a_prepare: BOUND => OUT_OF_PLACE;
    a_row_instead_of_a_prepare: ROW => OUT_OF_PLACE;
    a_result_instead_of_a_prepare: [NO_ROWS, READY].concat() => OUT_OF_PLACE;
    a_letting_in_instead_of_a_prepare: LET_IN => OUT_OF_PLACE;
    a_copy_instead_of_a_prepare: message(b'G', [0, 0, 0]) => COPY;
    a_parse_with_a_body: message(b'1', b"x") => Expected::broken("too many");
    a_refused_prepare: [&error("ERROR", "42P01", "no such table")[..], READY].concat()
        => Expected::refused("no such table");
    silence_instead_of_a_prepare: b"" => Expected::silent();
}

scripts! { parsed_and_said:
    a_statement_parsed_twice: PARSED => OUT_OF_PLACE;
    a_description_without_parameters: COLUMN => OUT_OF_PLACE;
    parameters_of_nothing: message(b't', b"") => Expected::broken("cut short");
    more_parameters_than_are_there: message(b't', [0, 2, 0, 0, 0, 23]) => Expected::broken("cut short");
    parameters_of_65535_that_are_not_there: message(b't', [255, 255]) => Expected::broken("cut short");
    fewer_parameters_than_are_there: message(b't', [0, 0, 0, 0, 0, 23]) => Expected::broken("too many");
    parameters_of_megabytes: header(b't', 8 << 20) => Expected::too_much("over the limit");
    readiness_without_a_description: [NO_PARAMETERS, READY].concat() => OUT_OF_PLACE;
    rows_of_a_prepare: [NO_PARAMETERS, COLUMN, ROW].concat() => OUT_OF_PLACE;
    two_descriptions: [NO_PARAMETERS, COLUMN, COLUMN].concat() => OUT_OF_PLACE;
    a_description_and_no_data: [NO_PARAMETERS, COLUMN, NO_DATA].concat() => OUT_OF_PLACE;
    a_description_cut_short: [NO_PARAMETERS, &message(b'T', [0, 9])].concat() => Expected::broken("cut short");
    a_description_and_silence: [NO_PARAMETERS, COLUMN].concat() => Expected::silent();
}

/// One that answers a run of a prepared statement like this and then waits.
fn asked_to_run(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        come_to_the_run(peer)?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.costs_operations(&expected.run(prepared(&server)));
}

scripts! { asked_to_run:
    a_run_that_was_not_bound: [COLUMN, ROW, NO_ROWS, READY].concat() => OUT_OF_PLACE;
    readiness_instead_of_a_run: READY => OUT_OF_PLACE;
    a_parse_instead_of_a_run: PARSED => OUT_OF_PLACE;
    a_portal_bound_twice: [BOUND, BOUND].concat() => OUT_OF_PLACE;
    a_run_without_a_description: [BOUND, ROW].concat() => OUT_OF_PLACE;
    a_completion_without_a_description: [BOUND, NO_ROWS].concat() => OUT_OF_PLACE;
    rows_of_no_data: [BOUND, NO_DATA, ROW].concat() => OUT_OF_PLACE;
    a_suspension_of_no_data: [BOUND, NO_DATA, SUSPENDED].concat() => OUT_OF_PLACE;
    a_description_among_rows: [BOUND, COLUMN, ROW, COLUMN].concat() => OUT_OF_PLACE;
    two_completions: [BOUND, COLUMN, NO_ROWS, NO_ROWS].concat() => OUT_OF_PLACE;
    a_row_after_the_completion: [BOUND, COLUMN, NO_ROWS, ROW].concat() => OUT_OF_PLACE;
    // All rows were asked for, so that the rest is missing.
    a_portal_that_is_suspended: [BOUND, COLUMN, ROW, SUSPENDED, READY].concat() => OUT_OF_PLACE;
    a_suspension_with_a_body: [BOUND, COLUMN, &message(b's', b"x")].concat() => Expected::broken("too many");
    a_copy_instead_of_rows: [BOUND, NO_DATA, &message(b'H', [0, 0, 0])].concat() => COPY;
    a_completion_and_silence: [BOUND, COLUMN, NO_ROWS].concat() => Expected::silent();
    a_bound_portal_and_silence: BOUND => Expected::silent();
    a_second_run_in_advance: [BOUND, COLUMN, NO_ROWS, READY, BOUND].concat() => Expected::broken("nothing was due");
    an_error_and_the_rest_all_the_same:
        [&error("ERROR", "22012", "no")[..], COLUMN, NO_ROWS, READY].concat() => OUT_OF_PLACE;
}

/// One that answers each run of a prepared statement like this, and is given up in the end.
fn asked_to_run_again_and_again(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        come_to_the_run(peer)?;
        loop {
            peer.send(&said)?;
            peer.read_up_to(b'S')?;
        }
    });
    expected.ends(&expected.run(prepared(&server)));
}

scripts! { asked_to_run_again_and_again:
    a_statement_that_is_gone: [&error("ERROR", "26000", "no such statement")[..], READY].concat()
        => Expected::refused("26000");
    an_error_after_the_binding: [BOUND, &error("ERROR", "22012", "division by zero"), READY].concat()
        => Expected::refused("22012");
    an_error_among_the_rows: [BOUND, COLUMN, ROW, &error("ERROR", "57014", "cancelled"), READY].concat()
        => Expected::refused("57014");
}
