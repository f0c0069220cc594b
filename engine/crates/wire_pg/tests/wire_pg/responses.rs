//! Answers as they were recorded: the same however they arrive, wanted or not.

use tlstax_wire_pg::{
    Asked, DiscardRows, Format, Progress, Response, ResponseParser, RowCollector, RowSink,
    TransactionStatus, WireError,
};

use crate::recordings::{message, server_bytes};
use crate::splits::{every_cut, pieces};

const EXECUTE: Asked = Asked::Execute {
    described: false,
    results: Format::Text,
};
const DESCRIBED: Asked = Asked::Execute {
    described: true,
    results: Format::Text,
};

fn read(
    parser: &mut ResponseParser,
    asked: Asked,
    bytes: &[u8],
    cuts: &[usize],
    sink: &mut impl RowSink,
) -> Result<Response, WireError> {
    parser.begin(asked);
    let mut taken = 0;
    for piece in pieces(bytes, cuts) {
        if let Progress::Complete { consumed, response } = parser.feed(piece, sink)? {
            assert_eq!(taken + consumed, bytes.len());
            assert_eq!(response.bytes, bytes.len() as u64);
            return Ok(response);
        }
        taken += piece.len();
    }
    panic!("the answer did not end");
}

type Rows = Vec<Vec<Option<String>>>;

/// A recorded answer, in one piece and cut in every way, its rows kept and not kept.
fn answer(name: &str, asked: Asked) -> (Result<Response, WireError>, Rows) {
    let bytes = server_bytes(name);
    let mut kept = RowCollector::new(usize::MAX);
    let mut parser = ResponseParser::new();
    let whole = read(&mut parser, asked, &bytes, &[usize::MAX], &mut kept);
    for cuts in every_cut(bytes.len()) {
        let mut rows = RowCollector::new(usize::MAX);
        let mut parser = ResponseParser::new();
        let cut = read(&mut parser, asked, &bytes, &cuts, &mut rows);
        assert_eq!(
            (&cut, rows.rows()),
            (&whole, kept.rows()),
            "{name}, {cuts:?}"
        );
        let mut parser = ResponseParser::new();
        let counted = read(&mut parser, asked, &bytes, &cuts, &mut DiscardRows);
        assert_eq!(counted, whole, "{name}, {cuts:?}, counted");
    }
    (whole, kept.take())
}

fn texts(row: &[Option<String>]) -> Vec<&str> {
    row.iter()
        .map(|value| value.as_deref().unwrap_or("NULL"))
        .collect()
}

#[test]
fn rows_are_counted_and_read() {
    let (response, rows) = answer("query_one", Asked::Query);
    assert_eq!(texts(&rows[0]), ["1", "NULL", "x"]);
    let expected = Response {
        rows: 1,
        result_sets: 1,
        bytes: 129,
        ..Response::default()
    };
    assert_eq!(response, Ok(expected));
    let (response, rows) = answer("query_several", Asked::Query);
    let response = response.unwrap();
    assert_eq!(
        (response.rows, response.result_sets, response.affected_rows),
        (2, 2, 1)
    );
    assert_eq!(rows.len(), 2);
    for (name, asked) in [("execute", EXECUTE), ("execute_binary", DESCRIBED)] {
        let (response, rows) = answer(name, asked);
        let response = response.unwrap();
        assert_eq!((response.rows, response.result_sets), (5, 1), "{name}");
        assert_eq!(
            texts(&rows[0]),
            ["2", "number 2", "3", "t", "2", "20000000000"]
        );
        assert_eq!(
            texts(&rows[4]),
            ["6", "NULL", "NULL", "NULL", "NULL", "NULL"]
        );
    }
    let (response, rows) = answer("run", Asked::Run);
    assert_eq!(response.unwrap().rows, 1);
    let expected = [
        "42",
        "x",
        "\\x00ff",
        "12345678-1234-1234-1234-123456789abc",
        "Infinity",
        "1e-07",
    ];
    assert_eq!(texts(&rows[0]), expected);
    let (_, rows) = answer("query_ssl_on", Asked::Query);
    assert_eq!(
        texts(&rows[0])[..3],
        ["TLSv1.3", "TLS_AES_256_GCM_SHA384", "256"]
    );
}

#[test]
fn what_changed_is_counted_by_the_tag() {
    for (name, asked, affected, result_sets) in [
        ("query_insert", Asked::Query, 3, 0),
        ("query_delete", Asked::Query, 3, 0),
        ("query_empty", Asked::Query, 0, 0),
        ("query_no_rows", Asked::Query, 0, 1),
        ("execute_insert", EXECUTE, 1, 0),
        ("execute_none", EXECUTE, 0, 1),
        ("run_delete", Asked::Run, 1, 0),
        ("run_empty", Asked::Run, 0, 0),
        ("close", Asked::Close, 0, 0),
        ("close_nothing", Asked::Close, 0, 0),
    ] {
        let response = answer(name, asked).0.unwrap();
        assert_eq!(
            (response.affected_rows, response.result_sets),
            (affected, result_sets),
            "{name}"
        );
    }
    for (tag, affected) in [
        ("MERGE 7", 7),
        ("UPDATE 18446744073709551616", u64::MAX),
        ("INSERT 0 x", 0),
        ("SELECT 5", 0),
        ("UPDATE", 0),
    ] {
        let tag = format!("{tag}\0");
        let bytes = [message(b'C', tag.as_bytes()), message(b'Z', b"I")].concat();
        let mut parser = ResponseParser::new();
        let response = read(&mut parser, Asked::Query, &bytes, &[99], &mut DiscardRows);
        assert_eq!(response.unwrap().affected_rows, affected, "{tag}");
    }
}

#[test]
fn notices_and_changed_parameters_are_passed_over() {
    for name in ["query_notice", "query_set"] {
        assert_eq!(answer(name, Asked::Query).0.unwrap().notices, 1, "{name}");
    }
}

#[test]
fn a_portal_with_more_rows_says_so() {
    let response = answer("execute_suspended", DESCRIBED).0.unwrap();
    assert!(response.is_suspended);
    assert_eq!((response.rows, response.result_sets), (2, 1));
}

#[test]
fn an_error_ends_the_answer_and_leaves_the_connection() {
    for (name, asked, sqlstate, rows) in [
        ("query_error", Asked::Query, "42P01", 0),
        ("query_error_in_rows", Asked::Query, "22012", 2),
        ("prepare_error", Asked::Prepare, "42P01", 0),
        ("execute_error", EXECUTE, "22003", 0),
        ("execute_miscounted", EXECUTE, "08P01", 0),
        ("execute_duplicate", DESCRIBED, "23505", 0),
    ] {
        let (end, kept) = answer(name, asked);
        let error = end.unwrap_err();
        assert!(error.leaves_connection_usable(), "{name}");
        let WireError::Server(error) = error else {
            panic!("{name}: {error}");
        };
        assert_eq!(error.sqlstate.unwrap().as_str(), sqlstate, "{name}");
        assert_eq!(kept.len(), rows, "{name}");
    }
    let (ended, _) = answer("terminated", Asked::Query);
    assert!(!ended.unwrap_err().leaves_connection_usable());
}

#[test]
fn a_transaction_is_followed_through_its_failure() {
    let mut parser = ResponseParser::new();
    let statuses = ["begin", "failed", "in_failed", "rollback"].map(|name| {
        let bytes = server_bytes(name);
        let end = read(&mut parser, Asked::Query, &bytes, &[7], &mut DiscardRows);
        assert_eq!(parser.unread_bytes(), 0);
        (end.is_ok(), parser.transaction())
    });
    let expected = [
        (true, TransactionStatus::InTransaction),
        (false, TransactionStatus::Failed),
        (false, TransactionStatus::Failed),
        (true, TransactionStatus::Idle),
    ];
    assert_eq!(statuses, expected);
}

#[test]
fn a_prepare_tells_types_and_columns() {
    let mut parser = ResponseParser::new();
    for (name, types, columns) in [
        ("prepare", &[23, 23][..], 6),
        ("prepare_insert", &[23, 25, 20], 0),
        ("prepare_error", &[], 0),
    ] {
        let bytes = server_bytes(name);
        let prepared = read(&mut parser, Asked::Prepare, &bytes, &[11], &mut DiscardRows);
        assert_eq!(prepared.is_ok(), name != "prepare_error");
        assert_eq!(parser.parameter_types(), types);
        assert_eq!(parser.columns().len(), columns);
    }
}

#[test]
fn a_copy_is_refused_in_a_sentence() {
    for name in ["copy_out", "copy_in"] {
        let refused = answer(name, Asked::Query).0.unwrap_err();
        assert_eq!(refused, WireError::Copy);
        assert!(!refused.leaves_connection_usable());
    }
}

#[test]
fn rows_that_do_not_hold_what_they_say_are_refused_where_they_are_wanted() {
    let column = b"x\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
    let described = message(b'T', &[b"\0\x01", &column[..]].concat());
    let rows: [&[u8]; 4] = [
        b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\0\x01\0\0\0\x05x",
        b"\0\x01\0\0\0\x01xx",
        b"\0",
    ];
    for row in rows {
        let end = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
        let bytes = [&described[..], &message(b'D', row), &end].concat();
        let mut parser = ResponseParser::new();
        let counted = read(&mut parser, Asked::Query, &bytes, &[999], &mut DiscardRows);
        assert_eq!(counted.unwrap().rows, 1);
        let mut kept = RowCollector::new(1);
        let mut parser = ResponseParser::new();
        let refused = read(&mut parser, Asked::Query, &bytes, &[999], &mut kept);
        assert!(
            matches!(refused, Err(WireError::Protocol(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn no_more_rows_are_kept_than_wanted() {
    let bytes = server_bytes("query_rows");
    for (mut rows, kept) in [
        (RowCollector::new(2), 2),
        (RowCollector::new(99).with_max_bytes(1), 1),
        (RowCollector::new(0), 0),
    ] {
        let mut parser = ResponseParser::new();
        let response = read(&mut parser, Asked::Query, &bytes, &[5], &mut rows);
        assert_eq!((response.unwrap().rows, rows.rows().len()), (6, kept));
    }
}
