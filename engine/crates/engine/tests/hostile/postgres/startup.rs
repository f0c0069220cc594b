//! From `StartupMessage` to the first `ReadyForQuery`, but for SCRAM: versions, ways of logging in, parameters.

use std::sync::mpsc::channel;

use tlstax_contract::{AuthMethod, ErrorKind, Fault, Job};

use super::{
    ABSURD, CLEARTEXT, COLUMN, Expected, LET_IN, MD5, NO_ROWS, READY, SCRAM, error, header, heard,
    in_the_clear, message, notice, only, request, scripts,
};
use crate::engine::{hurried, job, run};
use crate::server::{Peer, Server};

/// What the client cannot do itself.
const fn lacking(words: &'static str) -> Expected {
    Expected::of(ErrorKind::AccessDenied, Fault::Client, words)
}

const OUT_OF_PLACE: Expected = Expected::broken("came where");

/// A server that answers the client's first message with these bytes.
fn met_by(said: impl Into<Vec<u8>>, expected: Expected) {
    expected.ends(&heard(said, |peer| peer.read_opening().map(drop), expected));
}

scripts! { met_by:
    a_page: b"HTTP/1.1 400 Bad Request\r\n\r\n" => Expected::stranger("HTTP");
    a_line_of_ssh: b"SSH-2.0-OpenSSH_9.2\r\n" => Expected::stranger("SSH");
    an_alert_of_tls: b"\x15\x03\x03\0\x02\x02\x28" => Expected::stranger("TLS");
    a_greeting_of_mysql: b"\x4a\0\0\0\x0a8.0.33\0" => Expected::stranger("MySQL");
    a_greeting_of_smtp: b"220 mail.example ESMTP\r\n" => Expected::stranger("SMTP");
    what_steers_a_terminal: b"\x1b[2J\x1b[1;1H" => Expected::stranger("\\x1b[2J");

    a_request_that_is_endless: header(b'R', ABSURD) => Expected::stranger("PostgreSQL");
    an_error_that_is_endless: header(b'E', ABSURD) => Expected::stranger("PostgreSQL");
    a_request_of_the_highest_length: header(b'R', u32::MAX) => Expected::stranger("PostgreSQL");
    a_request_shorter_than_its_length: header(b'R', 3) => Expected::stranger("PostgreSQL");
    a_request_of_length_0: header(b'R', 0) => Expected::stranger("PostgreSQL");
    a_request_of_nothing: header(b'R', 4) => Expected::broken("cut short");

    a_notice_first: notice() => Expected::stranger("PostgreSQL");
    a_parameter_first: message(b'S', b"a\0b\0") => Expected::stranger("PostgreSQL");
    a_key_first: message(b'K', [7; 8]) => Expected::stranger("PostgreSQL");
    readiness_first: READY => Expected::stranger("PostgreSQL");
    a_description_first: COLUMN => Expected::stranger("PostgreSQL");

    another_minor_version: message(b'v', [0, 3, 0, 2, 0, 0, 0, 0]) => Expected::broken("version 3.2");
    another_major_version: message(b'v', [0, 2, 0, 0, 0, 0, 0, 0]) => Expected::broken("version 2.0");
    a_version_of_nothing: message(b'v', b"") => Expected::broken("cut short");
    four_billion_unknown_options: message(b'v', [0, 3, 0, 0, 255, 255, 255, 255])
        => Expected::broken("cut short");
    an_option_without_an_end: message(b'v', b"\0\x03\0\0\0\0\0\x01_pq_.x") => Expected::broken("cut short");
    more_options_than_are_counted: message(b'v', b"\0\x03\0\0\0\0\0\0_pq_.x\0")
        => Expected::broken("too many");
    versions_without_end: message(b'v', [0, 3, 0, 0, 0, 0, 0, 0]).repeat(1001)
        => Expected::broken("did not end");

    a_way_that_there_is_not: request(1, b"") => Expected::broken("no meaning");
    a_way_of_the_highest_number: request(u32::MAX, b"") => Expected::broken("no meaning");
    kerberos: request(2, b"") => lacking("Kerberos");
    crypt: request(4, b"ab") => lacking("crypt");
    scm_credentials: request(6, b"") => lacking("SCM");
    gssapi: request(7, b"") => lacking("GSSAPI");
    sspi: request(9, b"") => lacking("SSPI");
    gssapi_in_the_middle: request(8, b"token") => OUT_OF_PLACE;
    scram_in_the_middle: request(11, b"r=a,s=b,i=1") => OUT_OF_PLACE;
    the_end_of_scram: request(12, b"v=AAAA") => OUT_OF_PLACE;
    a_letting_in_with_more: request(0, b"more") => Expected::broken("too many");
    a_half_letting_in: message(b'R', [0, 0]) => Expected::broken("cut short");

    a_password_in_the_clear: CLEARTEXT => Expected::denied("it was not sent");
    a_password_in_the_clear_with_more: request(3, b"more") => Expected::broken("too many");
    md5_with_a_short_salt: request(5, b"abc") => Expected::broken("cut short");
    md5_without_salt: request(5, b"") => Expected::broken("cut short");
    md5_with_a_long_salt: request(5, b"abcde") => Expected::broken("too many");
    md5_twice: MD5.repeat(2) => OUT_OF_PLACE;
    md5_and_then_scram: [MD5, SCRAM].concat() => OUT_OF_PLACE;
    md5_and_then_the_password_itself: [MD5, CLEARTEXT].concat() => OUT_OF_PLACE;
    md5_and_then_readiness: [MD5, READY].concat() => OUT_OF_PLACE;

    an_account_that_is_refused: error("FATAL", "28P01", "no")
        => Expected::of(ErrorKind::AccessDenied, Fault::Server, "FATAL 28P01: no");
    too_many_clients: error("FATAL", "53300", "too many") => Expected::refused("FATAL 53300: too many");
    an_error_that_is_none_of_the_known: error("DOOM", "53300", "too many") => Expected::refused("53300");
    an_error_of_no_fields: message(b'E', b"\0") => Expected::refused("does not say why");
    an_error_of_nothing: message(b'E', b"") => Expected::broken("cut short");
    an_error_cut_short: message(b'E', b"SFATAL\0Mno") => Expected::broken("cut short");
    an_error_with_more_behind_it: message(b'E', b"SFATAL\0Mno\0\0more") => Expected::broken("too many");
    an_error_that_steers_a_terminal: error("FATAL", "28000", "\x1b[2Jno\r\nyes\u{9b}")
        => Expected::of(ErrorKind::AccessDenied, Fault::Server, "[2Jno");
    an_error_of_no_language: message(b'E', b"SFATAL\0C53300\0M\xff\xfe\0\0") => Expected::refused("\u{fffd}");
    an_error_of_many_words: error("FATAL", "53300", &"x".repeat(60_000)) => Expected::refused("53300");
    an_error_of_more_than_any_has: error("FATAL", "53300", &"x".repeat(70_000))
        => Expected::stranger("PostgreSQL");
    // How a server says that it cannot start a process, to this day (postmaster's report_fork_failure_to_client).
    an_error_of_before_protocol_3: b"Ecould not fork new process for connection: no memory\n\0"
        => Expected::refused("could not start a process");
}

/// A server that lets the client in and goes on like this.
fn let_in_and_said(said: impl Into<Vec<u8>>, expected: Expected) {
    met_by([LET_IN, &said.into()].concat(), expected);
}

scripts! { let_in_and_said:
    a_second_letting_in: LET_IN => OUT_OF_PLACE;
    scram_after_the_letting_in: SCRAM => OUT_OF_PLACE;
    a_password_after_the_letting_in: CLEARTEXT => OUT_OF_PLACE;
    a_version_after_the_letting_in: message(b'v', [0, 3, 0, 0, 0, 0, 0, 0]) => OUT_OF_PLACE;
    a_row_after_the_letting_in: message(b'D', [0, 0]) => OUT_OF_PLACE;
    a_copy_after_the_letting_in: message(b'W', [0, 0, 0]) => OUT_OF_PLACE;
    a_notification_after_the_letting_in: message(b'A', b"\0\0\0\x01a\0b\0") => OUT_OF_PLACE;
    a_type_that_there_is_not: message(0, b"") => OUT_OF_PLACE;

    a_parameter_of_nothing: message(b'S', b"") => Expected::broken("cut short");
    a_parameter_without_a_value: message(b'S', b"server_version\0") => Expected::broken("cut short");
    a_parameter_without_an_end: message(b'S', b"server_version\x0018") => Expected::broken("cut short");
    a_parameter_with_two_values: message(b'S', b"a\0b\0c\0") => Expected::broken("too many");
    a_parameter_of_length_0: header(b'S', 0) => Expected::broken("has 0 bytes");
    a_parameter_of_many_megabytes: header(b'S', 8 << 20) => Expected::too_much("over the limit");
    a_thousand_parameters: message(b'S', b"a\0b\0").repeat(1001) => Expected::broken("did not end");
    a_thousand_notices: notice().repeat(1001) => Expected::broken("did not end");
    a_thousand_keys: message(b'K', [7; 8]).repeat(1001) => Expected::broken("did not end");

    a_key_cut_short: message(b'K', [7; 3]) => Expected::broken("cut short");
    readiness_of_no_kind: message(b'Z', b"X") => Expected::broken("no meaning");
    readiness_of_nothing: message(b'Z', b"") => Expected::broken("cut short");
    readiness_of_two_kinds: message(b'Z', b"II") => Expected::broken("too many");
    an_error_after_the_letting_in: error("FATAL", "3D000", "no such database")
        => Expected::refused("no such database");

    // Before the question that it would answer.
    an_answer_behind_readiness: [READY, NO_ROWS, READY].concat() => Expected::broken("nothing was due");
    readiness_twice: [READY, READY].concat() => Expected::broken("nothing was due");
    a_fatal_error_behind_readiness: [READY, &error("FATAL", "57P01", "ending")[..]].concat()
        => Expected::refused("57P01");
}

#[test]
fn one_who_lets_in_without_proving_that_it_knows_the_password() {
    let server = Server::start(|peer| {
        peer.let_in()?;
        peer.fall_silent()
    });
    let ending = run(&only(job(&server), AuthMethod::ScramSha256));
    Expected::denied("the job allows only scram-sha-256").ends(&ending);
}

#[test]
fn one_who_wants_a_weaker_hash_than_the_job_allows_does_not_get_it() {
    let (sender, receiver) = channel();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(MD5)?;
        let _ = sender.send(peer.read_message().ok());
        Ok(())
    });
    let job = Job {
        connections: 1,
        ..only(job(&server), AuthMethod::ScramSha256)
    };
    Expected::denied("asks for md5").ends(&run(&job));
    drop(server);
    assert_eq!(receiver.recv().unwrap(), None);
}

/// Keys again, parameters that steer a terminal, a transaction that is open, notices: none is a reason to go.
#[test]
fn an_odd_welcome_is_a_welcome() {
    let version = message(b'S', b"server_version\x0018\x1b[2J\0");
    let odd = [
        LET_IN,
        &version,
        &notice(),
        &message(b'K', [7; 8]),
        &version,
    ]
    .concat();
    let odd = [&odd[..], &message(b'K', [9; 40]), b"Z\0\0\0\x05T"].concat();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(&odd)?;
        peer.read_message()?;
        peer.answer_each(&[NO_ROWS, READY].concat())
    });
    let ending = run(&in_the_clear(&server));
    ending.succeeded();
    assert_eq!(ending.ready.unwrap().server_version, "18 [2J");
}

#[test]
fn a_welcome_of_one_byte_at_a_time_is_one() {
    let server = Server::start(|peer| {
        peer.read_opening()?;
        for byte in [
            LET_IN,
            &message(b'S', b"a\0b\0"),
            &message(b'K', [7; 8]),
            READY,
        ]
        .concat()
        {
            peer.send(&[byte])?;
        }
        peer.read_message()?;
        peer.answer_each(&[NO_ROWS, READY].concat())
    });
    run(&in_the_clear(&server)).succeeded();
}

#[test]
fn a_welcome_that_drips() {
    let server = Server::start(|peer| {
        peer.read_opening()?;
        peer.drip(&[LET_IN, &header(b'S', 1000)].concat())
    });
    Expected::silent().ends(&run(&hurried(in_the_clear(&server))));
}

/// A server that hangs up after these bytes.
fn closed_after(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer: &mut Peer| {
        peer.read_opening()?;
        peer.send(&said)?;
        peer.hang_up()
    });
    expected.ends(&run(&in_the_clear(&server)));
}

scripts! { closed_after:
    a_hang_up_at_once: b"" => Expected::closed();
    a_hang_up_within_a_request: b"R\0\0" => Expected::closed();
    a_hang_up_before_the_password: SCRAM => Expected::closed();
    a_hang_up_after_the_letting_in: LET_IN => Expected::closed();
    a_hang_up_within_an_error: header(b'E', 100) => Expected::closed();
    a_hang_up_instead_of_the_proof: [LET_IN, READY].concat() => Expected::closed();
}

#[test]
fn a_hang_up_before_the_client_says_a_word() {
    let server = Server::start(Peer::hang_up);
    Expected::closed().ends(&run(&in_the_clear(&server)));
}

#[test]
fn silence_from_the_first_byte_on() {
    let server = Server::start(Peer::fall_silent);
    Expected::silent().ends(&run(&hurried(in_the_clear(&server))));
}

#[test]
fn silence_after_the_letting_in() {
    let_in_and_said(b"", Expected::silent());
}
