//! Commands are the bytes that real servers understood.

use tlstax_wire::command::{
    Param, ping, query, query_with, quit, reset_connection, stmt_close, stmt_execute, stmt_prepare,
};

use crate::recordings::{Turn, bytes_of, conversation, servers_with};

fn client_turns(server: &str, name: &str) -> Vec<Vec<u8>> {
    let turns = conversation(server, name).into_iter();
    turns
        .filter_map(|turn| {
            if let Turn::Client(bytes) = turn {
                Some(bytes)
            } else {
                None
            }
        })
        .collect()
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> u8) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(write(&mut out), 1, "the answer begins with packet 1");
    out
}

#[test]
fn commands_equal_those_recorded() {
    const SELECT: &[u8] = b"SELECT * FROM item WHERE id <> ? ORDER BY id";
    for server in servers_with("prepared") {
        let [prepare, execute] = &client_turns(server, "prepared")[..] else {
            panic!("{server}")
        };
        assert_eq!(prepare, &written(|out| stmt_prepare(out, SELECT)));
        let statement_id = u32::from_le_bytes(execute[5..9].try_into().unwrap());
        let expected = written(|out| stmt_execute(out, statement_id, &[Param::Int(-1)]));
        assert_eq!(execute, &expected);
        let text = b"SELECT * FROM item ORDER BY id";
        assert_eq!(
            client_turns(server, "text"),
            [written(|out| query(out, text))]
        );
        assert_eq!(client_turns(server, "ping"), [written(ping)]);
    }
}

/// The layout is that of `COM_STMT_EXECUTE` in the MySQL source documentation.
#[test]
fn parameters_of_every_kind() {
    let params = [
        Param::Null,
        Param::Int(-2),
        Param::Text("é"),
        Param::Bytes(&[0, 255]),
    ];
    let expected = bytes_of(
        "22000000 17 07000000 00 01000000 01 01 0600 0800 fd00 fc00
         feffffffffffffff 02c3a9 0200ff",
    );
    assert_eq!(written(|out| stmt_execute(out, 7, &params)), expected);
    let nine = [Param::Null; 9];
    let bitmap = &written(|out| stmt_execute(out, 7, &nine))[14..16];
    assert_eq!(bitmap, [0xff, 0x01]);
    let bare = written(|out| stmt_execute(out, 7, &[]));
    assert_eq!(bare, bytes_of("0a000000 17 07000000 00 01000000"));
}

#[test]
fn commands_append_to_what_is_there() {
    let mut out = b"before".to_vec();
    query_with(&mut out, |sql| sql.extend_from_slice(b"DO 1"));
    stmt_close(&mut out, 3);
    reset_connection(&mut out);
    quit(&mut out);
    let expected = bytes_of("05000000 03 444f2031 05000000 19 03000000 01000000 1f 01000000 01");
    assert_eq!(out, [b"before", &expected[..]].concat());
}
