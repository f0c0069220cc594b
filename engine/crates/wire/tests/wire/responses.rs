//! Answers to statements, from servers with both EOF styles, cut in every way.

use proptest::prelude::*;
use tlstax_wire::{
    Capabilities, DiscardRows, PrepareParser, PrepareProgress, Prepared, Progress, Response,
    ResponseParser, RowCollector, RowSink, Status, WireError,
};

use crate::recordings::{Turn, conversation, server_bytes, servers_with};
use crate::splits::{every_cut, pieces, random};

type Rows = Vec<Vec<Option<String>>>;

fn capabilities(server: &str) -> Capabilities {
    match server {
        "mysql-9.7.4" | "mysql-8.0.33" | "mariadb-11.8.6" => Capabilities::DEPRECATE_EOF,
        _ => Capabilities::default(),
    }
}

fn parser(server: &str, name: &str) -> ResponseParser {
    let new = if name == "prepared" {
        ResponseParser::binary
    } else {
        ResponseParser::text
    };
    new(capabilities(server))
}

/// What the server answered to the last command of a conversation.
fn answer(server: &str, name: &str) -> Vec<u8> {
    match conversation(server, name).pop() {
        Some(Turn::Server(bytes)) => bytes,
        _ => panic!("{server} {name} does not end with an answer"),
    }
}

fn feed(
    parser: &mut ResponseParser,
    bytes: &[u8],
    lengths: &[usize],
    sink: &mut impl RowSink,
) -> Result<Response, WireError> {
    for piece in pieces(bytes, lengths) {
        if let Progress::Complete { consumed, response } = parser.feed(piece, sink)? {
            assert_eq!(consumed, piece.len());
            return Ok(response);
        }
    }
    panic!("the answer is not complete")
}

fn read(server: &str, name: &str, lengths: &[usize]) -> (Result<Response, WireError>, Rows) {
    let mut rows = RowCollector::new(100);
    let mut parser = parser(server, name);
    let result = feed(&mut parser, &answer(server, name), lengths, &mut rows);
    (result, rows.take())
}

fn row(values: &[&str]) -> Vec<Option<String>> {
    values
        .iter()
        .map(|value| Some((*value).to_owned()))
        .collect()
}

#[test]
fn text_and_prepared_rows_say_the_same_on_every_server() {
    let bolt = [
        "1",
        "bolt",
        "12.50",
        "0.0000001",
        "0.1",
        "2024-02-29 23:59:58",
        "-01:02:03",
        "2024-02-29",
        "255",
        "ab",
    ];
    let mut nulls = vec![None; bolt.len()];
    nulls[0] = Some("2".to_owned());
    let expected = vec![row(&bolt), nulls];
    for name in ["text", "prepared"] {
        for server in servers_with(name) {
            let (result, rows) = read(server, name, &[usize::MAX]);
            let response = result.unwrap();
            assert_eq!((response.result_sets, response.rows), (1, 2), "{server}");
            assert_eq!(rows, expected, "{server} {name}");
        }
    }
}

#[test]
fn counters_of_statements_without_rows() {
    for server in servers_with("insert") {
        let response = read(server, "insert", &[usize::MAX]).0.unwrap();
        assert_eq!(
            (response.affected_rows, response.last_insert_id),
            (2, 1),
            "{server}"
        );
        assert_eq!((response.rows, response.result_sets), (0, 0), "{server}");
        assert!(response.status.contains(Status::AUTOCOMMIT), "{server}");
        let ping = read(server, "ping", &[usize::MAX]).0.unwrap();
        assert_eq!(ping.affected_rows, 0, "{server}");
        let empty = read(server, "empty_set", &[usize::MAX]).0.unwrap();
        assert_eq!((empty.rows, empty.result_sets), (0, 1), "{server}");
    }
}

#[test]
fn a_call_returns_all_its_results() {
    for server in servers_with("call") {
        let (result, rows) = read(server, "call", &[usize::MAX]);
        let response = result.unwrap();
        assert_eq!((response.result_sets, response.rows), (2, 3), "{server}");
        assert_eq!(
            rows,
            vec![row(&["1"]), row(&["1"]), row(&["2"])],
            "{server}"
        );
        assert!(!response.status.contains(Status::MORE_RESULTS), "{server}");
    }
}

#[test]
fn errors_at_once_and_after_rows_leave_the_connection_usable() {
    for (name, code) in [("error", 1146), ("late_error", 1690)] {
        for server in servers_with(name) {
            let error = read(server, name, &[usize::MAX]).0.unwrap_err();
            assert!(error.leaves_connection_usable(), "{server} {name}: {error}");
            let WireError::Server(error) = error else {
                panic!("{server} {name}: {error}")
            };
            assert_eq!(error.code, code, "{server}");
        }
    }
}

#[test]
fn what_stands_behind_an_error_is_counted() {
    let refusal = answer("mysql-9.7.4", "error");
    for (behind, expected) in [(&b""[..], 0), (b"1234567", 7)] {
        let mut parser = parser("mysql-9.7.4", "error");
        let bytes = [&refusal, behind].concat();
        assert!(parser.feed(&bytes, &mut DiscardRows).is_err());
        assert_eq!(parser.unread_bytes(), expected);
    }
}

#[test]
fn a_server_that_hangs_up_is_told_from_one_that_refuses() {
    for server in servers_with("idle") {
        let bytes = server_bytes(server, "idle");
        for lengths in every_cut(bytes.len()) {
            let mut parser = ResponseParser::text(capabilities(server));
            let error = feed(&mut parser, &bytes, &lengths, &mut DiscardRows).unwrap_err();
            assert!(!error.leaves_connection_usable());
            let WireError::Server(error) = error else {
                panic!("{server}: {error}")
            };
            assert_eq!((error.code, error.unasked), (4031, true), "{server}");
        }
    }
}

/// The conversations that end with the answer to a statement.
pub const ANSWERS: [&str; 8] = [
    "insert",
    "text",
    "prepared",
    "error",
    "call",
    "empty_set",
    "late_error",
    "ping",
];

#[test]
fn answers_do_not_depend_on_how_the_bytes_arrive() {
    for name in ANSWERS {
        for server in servers_with(name) {
            let whole = read(server, name, &[usize::MAX]);
            let bytes = answer(server, name);
            let mut parser = parser(server, name);
            for lengths in every_cut(bytes.len()) {
                assert_eq!(
                    read(server, name, &lengths),
                    whole,
                    "{server} {name} {lengths:?}"
                );
                parser.reset();
                let counted = feed(&mut parser, &bytes, &lengths, &mut DiscardRows);
                assert_eq!(
                    counted, whole.0,
                    "{server} {name} {lengths:?}, not collected"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn answers_do_not_depend_on_random_pieces(
        lengths in random(),
        name in prop::sample::select(&ANSWERS[..]),
        max_rows in 0..3_usize,
    ) {
        for server in servers_with(name) {
            let (whole, rows) = read(server, name, &[usize::MAX]);
            let mut collector = RowCollector::new(max_rows);
            let bytes = answer(server, name);
            let result = feed(&mut parser(server, name), &bytes, &lengths, &mut collector);
            prop_assert_eq!(&result, &whole);
            prop_assert_eq!(collector.rows(), &rows[..max_rows.min(rows.len())]);
        }
    }
}

fn prepare(server: &str, name: &str, lengths: &[usize]) -> Result<Prepared, WireError> {
    let mut parser = PrepareParser::new(capabilities(server));
    let Some(Turn::Server(bytes)) = conversation(server, name).into_iter().nth(1) else {
        panic!("{server} {name} does not begin with a question and an answer");
    };
    for piece in pieces(&bytes, lengths) {
        if let PrepareProgress::Complete {
            consumed,
            statement,
        } = parser.feed(piece)?
        {
            assert_eq!(consumed, piece.len());
            return Ok(statement);
        }
    }
    panic!("the answer is not complete")
}

#[test]
fn prepares_do_not_depend_on_how_the_bytes_arrive() {
    for (name, columns, params) in [
        ("prepared", 10, 1),
        ("prepare_no_columns", 0, 2),
        ("prepare_nothing", 0, 0),
    ] {
        for server in servers_with(name) {
            let whole = prepare(server, name, &[usize::MAX]).unwrap();
            assert_eq!(
                (whole.columns, whole.params),
                (columns, params),
                "{server} {name}"
            );
            assert!(whole.statement_id > 0);
            for lengths in every_cut(answer(server, name).len()) {
                assert_eq!(
                    prepare(server, name, &lengths),
                    Ok(whole),
                    "{server} {lengths:?}"
                );
            }
        }
    }
    for server in servers_with("prepare_error") {
        let error = prepare(server, "prepare_error", &[usize::MAX]).unwrap_err();
        assert!(error.leaves_connection_usable());
        assert!(error.to_string().contains("1146"), "{error}");
    }
}
