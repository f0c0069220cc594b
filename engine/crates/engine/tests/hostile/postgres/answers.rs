//! Answers to statements as they are (`Query`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tlstax_contract::{ErrorKind, Fault, Job};

use super::{
    ABSURD, COLUMN, Expected, LET_IN, NO_ROWS, READY, ROW, error, header, heard, in_the_clear,
    message, notice, scripts,
};
use crate::engine::run;
use crate::server::{Peer, Server};

const OUT_OF_PLACE: Expected = Expected::broken("came where");
const UNDUE: Expected = Expected::broken("nothing was due");
/// The engine takes it for a statement of the job's.
const COPY: Expected = Expected::of(ErrorKind::BadJob, Fault::Job, "COPY");

/// A `RowDescription` that announces N columns, however many there are.
fn columns(count: u16, columns: impl AsRef<[u8]>) -> Vec<u8> {
    message(b'T', [&count.to_be_bytes(), columns.as_ref()].concat())
}

/// A text column as a `RowDescription` has it.
const TEXT: &[u8] = b"x\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";

/// A `DataRow` of N values.
fn row(count: u16, values: impl AsRef<[u8]>) -> Vec<u8> {
    message(b'D', [&count.to_be_bytes(), values.as_ref()].concat())
}

/// One that answers the question which proves what was negotiated like this. Its rows are looked into.
fn proved(said: impl Into<Vec<u8>>, expected: Expected) {
    let first = |peer: &mut Peer| {
        peer.let_in()?;
        peer.read_message().map(drop)
    };
    expected.ends(&heard(said, first, expected));
}

/// The same, whose answer has this row in a result of one column.
fn proved_by_a_row(row: impl AsRef<[u8]>, expected: Expected) {
    proved([COLUMN, row.as_ref(), NO_ROWS, READY].concat(), expected);
}

scripts! { proved:
    a_description_of_nothing: message(b'T', b"") => Expected::broken("cut short");
    a_description_of_more_columns_than_it_has: columns(2, TEXT) => Expected::broken("cut short");
    a_description_of_65535_columns_that_it_has_not: columns(u16::MAX, b"") => Expected::broken("cut short");
    a_description_of_fewer_columns_than_it_has: columns(1, TEXT.repeat(2)) => Expected::broken("too many");
    a_name_without_an_end: columns(1, b"xxxxxxxxxxxxxxxxxxxx") => Expected::broken("cut short");
    a_format_that_there_is_not: columns(1, [&TEXT[..18], &[0, 2]].concat()) => Expected::broken("no meaning");
    a_description_of_megabytes: header(b'T', 8 << 20) => Expected::too_much("over the limit");
    rows_without_a_description: [ROW, NO_ROWS, READY].concat() => OUT_OF_PLACE;
    a_copy_in_place_of_the_proof: message(b'H', [0, 0, 0]) => COPY;
    a_hundred_megabytes_in_one_row: [COLUMN, &header(b'D', 100 << 20)].concat()
        => Expected::too_much("over the limit");
}

scripts! { proved_by_a_row:
    a_row_of_nothing: message(b'D', b"") => Expected::broken("cut short");
    a_row_of_no_values: row(0, b"") => Expected::broken("0 values in a result of 1 columns");
    a_row_of_two_values: row(2, [255; 8]) => Expected::broken("2 values in a result of 1 columns");
    a_row_of_65535_values: row(u16::MAX, b"") => Expected::broken("65535 values");
    a_value_without_a_length: row(1, [0, 0]) => Expected::broken("cut short");
    a_value_shorter_than_its_length: row(1, b"\0\0\0\x09x") => Expected::broken("cut short");
    a_value_of_a_negative_length: row(1, b"\xff\xff\xff\xfex") => Expected::broken("cut short");
    a_value_of_the_highest_length: row(1, b"\x7f\xff\xff\xffx") => Expected::broken("cut short");
    a_value_longer_than_its_length: row(1, b"\0\0\0\x01xy") => Expected::broken("too many");
}

/// A value that is nonsense to who reads it: the server is believed to have no TLS.
#[test]
fn a_proof_of_nonsense_proves_nothing() {
    let row = row(
        4,
        b"\0\0\0\x02\xff\xfe\xff\xff\xff\xff\0\0\0\x04\x1b[2J\xff\xff\xff\xff",
    );
    let proof = [&columns(4, TEXT.repeat(4))[..], &row, NO_ROWS, READY].concat();
    let server = Server::start(move |peer| {
        peer.let_in()?;
        peer.read_message()?;
        peer.send(&proof)?;
        peer.read_message()?;
        peer.answer_each(&[NO_ROWS, READY].concat())
    });
    let ending = run(&in_the_clear(&server));
    ending.succeeded();
    let ready = ending.ready.unwrap();
    assert!(ready.negotiated.iter().all(|proof| proof.server.is_none()));
}

/// One that answers a statement of the workload like this and then waits.
fn answered(said: impl Into<Vec<u8>>, expected: Expected) {
    expected.costs_operations(&heard(said, Peer::let_into_the_window, expected));
}

scripts! { answered:
    a_description_that_is_endless: header(b'T', ABSURD) => Expected::too_much("over the limit");
    a_completion_that_is_endless: header(b'C', ABSURD) => Expected::too_much("over the limit");
    a_row_that_is_endless: [COLUMN, &header(b'D', ABSURD)].concat() => Expected::too_much("over the limit");
    a_notice_that_is_endless: header(b'N', ABSURD) => Expected::too_much("over the limit");
    an_error_that_is_endless: header(b'E', ABSURD) => Expected::too_much("over the limit");
    a_completion_of_the_highest_length: header(b'C', u32::MAX) => Expected::too_much("over the limit");
    a_completion_of_length_0: header(b'C', 0) => Expected::broken("has 0 bytes");
    a_row_shorter_than_its_length: [COLUMN, &header(b'D', 3)].concat() => Expected::broken("has 3 bytes");
    a_notice_shorter_than_its_length: header(b'N', 2) => Expected::broken("has 2 bytes");

    a_row_without_a_description: ROW => OUT_OF_PLACE;
    a_row_after_the_end_of_rows: [COLUMN, NO_ROWS, ROW].concat() => OUT_OF_PLACE;
    a_description_in_a_description: [COLUMN, COLUMN].concat() => OUT_OF_PLACE;
    an_empty_query_in_a_result: [COLUMN, &message(b'I', b"")].concat() => OUT_OF_PLACE;
    readiness_instead_of_an_answer: READY => OUT_OF_PLACE;
    readiness_among_the_rows: [COLUMN, ROW, READY].concat() => OUT_OF_PLACE;
    a_suspended_portal: [COLUMN, ROW, &message(b's', b"")].concat() => OUT_OF_PLACE;
    a_statement_that_was_parsed: message(b'1', b"") => OUT_OF_PLACE;
    a_portal_that_was_bound: message(b'2', b"") => OUT_OF_PLACE;
    a_statement_that_was_closed: message(b'3', b"") => OUT_OF_PLACE;
    no_data: message(b'n', b"") => OUT_OF_PLACE;
    parameters_of_a_statement: message(b't', [0, 0]) => OUT_OF_PLACE;
    an_answer_of_a_function: message(b'V', [255; 4]) => OUT_OF_PLACE;
    a_letting_in: LET_IN => OUT_OF_PLACE;
    a_key: message(b'K', [7; 8]) => OUT_OF_PLACE;
    a_version: message(b'v', [0, 3, 0, 0, 0, 0, 0, 0]) => OUT_OF_PLACE;
    copied_data: message(b'd', b"x") => OUT_OF_PLACE;
    the_end_of_copied_data: message(b'c', b"") => OUT_OF_PLACE;
    a_type_that_there_is_not: message(0xff, b"") => OUT_OF_PLACE;

    a_copy_from_the_client: message(b'G', [0, 0, 0]) => COPY;
    a_copy_to_the_client: message(b'H', [0, 0, 0]) => COPY;
    a_copy_both_ways: message(b'W', [0, 0, 0]) => COPY;
    a_copy_among_the_rows: [COLUMN, ROW, &message(b'G', [0, 0, 0])].concat() => COPY;

    a_completion_of_nothing: message(b'C', b"") => Expected::broken("cut short");
    a_completion_without_an_end: message(b'C', b"SELECT 1") => Expected::broken("cut short");
    a_completion_of_two_texts: message(b'C', b"SELECT 1\0SELECT 1\0") => Expected::broken("too many");
    an_empty_query_with_a_body: message(b'I', b"x") => Expected::broken("too many");
    readiness_of_no_kind: [NO_ROWS, &message(b'Z', b"X")].concat() => Expected::broken("no meaning");
    readiness_of_nothing: [NO_ROWS, &message(b'Z', b"")].concat() => Expected::broken("cut short");
    readiness_of_two_kinds: [NO_ROWS, &message(b'Z', b"II")].concat() => Expected::broken("too many");

    an_error_of_nothing: message(b'E', b"") => Expected::broken("cut short");
    an_error_without_an_end: message(b'E', b"SERROR\0Mno") => Expected::broken("cut short");
    an_error_and_then_a_result: [&error("ERROR", "42601", "no")[..], NO_ROWS].concat() => OUT_OF_PLACE;
    a_panic: error("PANIC", "XX000", "going down") => Expected::refused("going down");
    an_error_and_no_readiness: error("ERROR", "42601", "no") => Expected::silent();
    a_completion_and_no_readiness: NO_ROWS => Expected::silent();
    notices_alone: notice().repeat(3) => Expected::silent();
    half_a_header: b"C\0\0" => Expected::silent();

    readiness_twice: [NO_ROWS, READY, READY].concat() => UNDUE;
    a_second_answer_in_advance: [NO_ROWS, READY, NO_ROWS, READY].concat() => UNDUE;
    a_row_behind_the_answer: [NO_ROWS, READY, ROW].concat() => UNDUE;
    a_letting_in_behind_the_answer: [NO_ROWS, READY, LET_IN].concat() => UNDUE;
    a_copy_behind_the_answer: [NO_ROWS, READY, &message(b'G', [0, 0, 0])].concat() => UNDUE;
    a_farewell_behind_the_answer: [NO_ROWS, READY, &error("FATAL", "57P01", "ending")].concat()
        => Expected::refused("57P01");
}

/// One that answers each statement like this, and is given up in the end.
fn answered_each_time(said: impl AsRef<[u8]>, expected: Expected) {
    let said = said.as_ref().to_vec();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.answer_each(&said)
    });
    expected.ends(&expected.run(in_the_clear(&server)));
}

scripts! { answered_each_time:
    an_error_without_fields: [&message(b'E', b"\0")[..], READY].concat()
        => Expected::refused("does not say why");
    an_error_among_the_rows: [COLUMN, ROW, &error("ERROR", "57014", "cancelled"), READY].concat()
        => Expected::refused("57014");
    two_errors: [&error("ERROR", "42601", "first")[..], &error("ERROR", "42601", "second"), READY].concat()
        => Expected::refused("first");
}

/// A server may say as much unasked as it likes in notices, parameters and notifications.
#[test]
fn what_may_be_said_at_any_time_is_passed_over() {
    let parameter = message(b'S', b"server_version\x0018\0");
    let any = [
        &notice()[..],
        &parameter,
        &message(b'A', b"\0\0\0\x01channel\0payload\0"),
    ]
    .concat();
    let answer = [
        &any[..],
        COLUMN,
        &any,
        ROW,
        &any,
        NO_ROWS,
        &any,
        READY,
        &any,
    ]
    .concat();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.answer_each(&answer)
    });
    run(&in_the_clear(&server)).succeeded();
}

#[test]
fn an_answer_of_one_byte_at_a_time_is_one() {
    let server = Server::start(|peer| {
        peer.let_into_the_window()?;
        loop {
            for byte in [COLUMN, ROW, &notice(), NO_ROWS, READY].concat() {
                peer.send(&[byte])?;
            }
            if peer.read_message()?.0 == b'X' {
                return Ok(());
            }
        }
    });
    run(&in_the_clear(&server)).succeeded();
}

/// Results one after another, and none of a statement that is empty.
#[test]
fn more_results_than_statements_are_one_answer() {
    let answer = [
        COLUMN,
        ROW,
        NO_ROWS,
        NO_ROWS,
        &message(b'I', b""),
        COLUMN,
        NO_ROWS,
        READY,
    ]
    .concat();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.answer_each(&answer)
    });
    run(&in_the_clear(&server)).succeeded();
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

/// It says of every error that a transaction is open, of the rollback too: each is asked for once an error.
#[test]
fn a_transaction_that_never_ends_is_rolled_back_once_for_each_error() {
    let rollbacks = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&rollbacks);
    let failed = [&error("ERROR", "25P02", "aborted")[..], b"Z\0\0\0\x05E"].concat();
    let still_open = [b"C\0\0\0\x0dROLLBACK\0", &b"Z\0\0\0\x05T"[..]].concat();
    let server = Server::start(move |peer| {
        peer.let_in_and_prove()?;
        loop {
            let (kind, sql) = peer.read_message()?;
            match &sql[..] {
                b"ROLLBACK\0" => {
                    heard.fetch_add(1, Ordering::SeqCst);
                    peer.send(&still_open)?;
                }
                _ if kind == b'X' => return Ok(()),
                _ => peer.send(&failed)?,
            }
        }
    });
    let job = Job {
        operations: Some(10),
        ..in_the_clear(&server)
    };
    let ending = run(&job);
    let errors = ending.counted_at_most(ErrorKind::ServerError);
    assert_eq!(errors, rollbacks.load(Ordering::SeqCst));
    assert_eq!(ending.result().lifetime.connections, 3);
}

/// The last of its messages is cut off by a hang-up after N bytes of an answer.
fn cut_off(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        peer.let_into_the_window()?;
        peer.send(&said)?;
        peer.hang_up()
    });
    expected.costs_operations(&expected.run(in_the_clear(&server)));
}

scripts! { cut_off:
    a_hang_up_instead_of_an_answer: b"" => Expected::closed();
    a_hang_up_within_a_header: b"T\0" => Expected::closed();
    a_hang_up_after_a_description: COLUMN => Expected::closed();
    a_hang_up_within_a_row: [COLUMN, &ROW[..7]].concat() => Expected::closed();
    a_hang_up_among_rows: [COLUMN, ROW].concat() => Expected::closed();
    a_hang_up_after_a_completion: NO_ROWS => Expected::closed();
    a_hang_up_after_an_error: error("ERROR", "42601", "no") => Expected::closed();
    a_hang_up_between_statements: [NO_ROWS, READY].concat() => Expected::closed();
}

#[test]
fn a_reset_instead_of_an_answer() {
    let server = Server::start(|peer| {
        peer.let_in_and_prove()?;
        peer.reset()
    });
    run(&in_the_clear(&server)).counted(ErrorKind::ServerClosed);
}
