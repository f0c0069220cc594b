//! Commands: the bytes that were recorded, and what cannot be said.

use tlstax_wire_pg::command::{self, Execute, Param};
use tlstax_wire_pg::{Asked, Format, WireError};

use crate::recordings::client_bytes;

#[test]
fn commands_are_those_that_a_server_understood() {
    let mut out = Vec::new();
    let said = |name: &str, asked: Result<Asked, WireError>, out: &mut Vec<u8>| {
        assert!(asked.is_ok());
        assert_eq!(*out, client_bytes(name), "{name}");
        out.clear();
    };
    let asked = command::query(&mut out, b"select 1, null, 'x'");
    said("query_one", asked, &mut out);
    let select = b"select id, name, amount, flag, small, big from numbers where id between $1 and $2 order by id";
    let asked = command::prepare(&mut out, "s1", select, &[]);
    said("prepare", asked, &mut out);
    let execute = Execute {
        statement: "s1",
        types: &[23, 23],
        ..Execute::default()
    };
    let between = [Param::Int(2), Param::Int(6)];
    let asked = command::execute(&mut out, &execute, between.into_iter());
    said("execute", asked, &mut out);
    let binary = Execute {
        describe: true,
        results: Format::Binary,
        ..execute
    };
    let asked = command::execute(&mut out, &binary, between.into_iter());
    said("execute_binary", asked, &mut out);
    let params = [Param::Text("2"), Param::Null];
    let asked = command::execute(&mut out, &execute, params.into_iter());
    said("execute_none", asked, &mut out);
    let asked = command::close(&mut out, "s1");
    said("close", asked, &mut out);
}

/// The parameters of a Bind that has one: its format and its bytes.
fn bound(param: Param<'_>, types: &[u32]) -> (u8, Vec<u8>) {
    let mut out = Vec::new();
    let execute = Execute {
        types,
        ..Execute::default()
    };
    let _ = command::execute(&mut out, &execute, [param].into_iter()).unwrap();
    // Type, length, portal, statement, formats, values.
    let length = u32::from_be_bytes(out[13..17].try_into().unwrap());
    let value = &out[17..17 + length as usize];
    (out[10], value.to_vec())
}

#[test]
fn numbers_go_in_the_width_of_their_placeholder() {
    let number = |value, kind| bound(Param::Int(value), &[kind]);
    assert_eq!(number(-2, 21), (1, vec![255, 254]));
    assert_eq!(number(-2, 23), (1, vec![255, 255, 255, 254]));
    assert_eq!(number(7, 20), (1, vec![0, 0, 0, 0, 0, 0, 0, 7]));
    assert_eq!(number(4_294_967_295, 26), (1, vec![255; 4]));
    for (value, kind) in [(40_000, 21), (1 << 31, 23), (-1, 26), (5, 1700), (5, 0)] {
        assert_eq!(number(value, kind), (0, value.to_string().into_bytes()));
    }
    let lowest = bound(Param::Int(i64::MIN), &[]);
    assert_eq!(lowest, (0, i64::MIN.to_string().into_bytes()));
    assert_eq!(bound(Param::Bytes(b"\0x"), &[]), (1, b"\0x".to_vec()));
}

#[test]
fn what_cannot_be_said_leaves_nothing_behind() {
    let mut out = b"before".to_vec();
    let nul = |what| Err(WireError::NulByte { what });
    assert_eq!(command::query(&mut out, b"select '\0'"), nul("statement"));
    assert_eq!(
        command::prepare(&mut out, "s", b"\0", &[]),
        nul("statement")
    );
    assert_eq!(
        command::prepare(&mut out, "\0", b"", &[]),
        nul("statement's name")
    );
    assert_eq!(command::close(&mut out, "\0"), nul("statement's name"));
    let many = vec![Param::Null; 1 << 16];
    let execute = Execute::default();
    let refused = command::execute(&mut out, &execute, many.iter().copied()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a command with a number of parameters of 65536 is more than the PostgreSQL protocol can carry"
    );
    let refused = command::run(&mut out, b"\0", &[], Format::Text, many.iter().copied());
    assert_eq!(refused, nul("statement"));
    assert_eq!(out, b"before");
    command::terminate(&mut out);
    assert_eq!(out, b"beforeX\0\0\0\x04");
}
