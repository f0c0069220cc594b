//! Peers that are not MySQL, break the protocol, or mean harm: each gets its own error.

use std::sync::Arc;

use tlstax_wire::{
    Capabilities, DiscardRows, Fault, Login, LoginConfig, LoginStep, PrepareParser, Progress,
    ResponseParser, RowCollector, ServerIdentity, Violation, WireError,
};

use crate::greetings::login_error;
use crate::login::config;
use crate::recordings::{bytes_of, packet, server_bytes, servers_with};
use crate::splits::pieces;

const MODERN: Capabilities = Capabilities::DEPRECATE_EOF;

#[test]
fn a_clear_text_password_is_sent_only_where_the_other_end_is_known() {
    let greeting = |tls: bool| {
        let mut bytes = server_bytes("mysql-9.7.4", if tls { "fast_tls" } else { "fast" });
        bytes.truncate(4 + usize::from(bytes[0]));
        bytes
    };
    let channels = [
        // TLS, to whom, local socket; what is said to be wrong with it.
        (false, ServerIdentity::Unknown, false, Some(false)),
        (false, ServerIdentity::Verified, false, Some(false)),
        (true, ServerIdentity::Unknown, false, Some(true)),
        (true, ServerIdentity::Verified, false, None),
        (false, ServerIdentity::Unknown, true, None),
    ];
    for (tls, server, local_socket, refusal) in channels {
        let account = LoginConfig {
            tls,
            server,
            local_socket,
            ..config("fast")
        };
        let mut login = Login::new(Arc::new(account)).unwrap();
        let mut out = Vec::new();
        login.feed(&greeting(tls), &mut out).unwrap();
        if tls {
            login.tls_established(&mut out).unwrap();
        }
        out.clear();
        let number = if tls { 3 } else { 2 };
        let switch = packet(number, b"\xfemysql_clear_password\0");
        let step = login.feed(&switch, &mut out);
        if let Some(encrypted) = refusal {
            assert_eq!(step, Err(WireError::CleartextRefused { encrypted }));
            assert!(out.is_empty());
        } else {
            assert_eq!(step, Ok(LoginStep::Send));
            assert_eq!(out, packet(number + 1, b"correct horse\0"));
        }
    }
}

/// Plain bytes behind the greeting would otherwise pass for the first ones inside TLS.
#[test]
fn nothing_may_follow_the_greeting_before_tls() {
    let mut bytes = server_bytes("mysql-9.7.4", "fast");
    bytes.truncate(4 + usize::from(bytes[0]) + 1);
    let error = login_error(&bytes, config("fast_tls"), &[usize::MAX]);
    assert!(
        matches!(error, WireError::Protocol(Violation::OutOfTurn(_))),
        "{error}"
    );
}

#[test]
fn a_login_cannot_go_on_for_ever() {
    let mut login = Login::new(Arc::new(config("native"))).unwrap();
    let mut out = Vec::new();
    login
        .feed(&server_bytes("mysql-5.6.24", "no_tls"), &mut out)
        .unwrap();
    let switch = b"\xfemysql_native_password\0abcdefghijklmnopqrst\0";
    let error = (1_u8..).find_map(|turn| {
        login
            .feed(&packet(turn.wrapping_mul(2), switch), &mut out)
            .err()
    });
    assert!(matches!(
        error,
        Some(WireError::Protocol(Violation::EndlessLogin(_)))
    ));
}

/// It needs no answer, so a server could go on saying it.
#[test]
fn a_password_is_found_in_the_cache_only_once() {
    let greeting = &server_bytes("mysql-9.7.4", "fast")[..79];
    let mut login = Login::new(Arc::new(config("fast"))).unwrap();
    let mut out = Vec::new();
    assert_eq!(login.feed(greeting, &mut out), Ok(LoginStep::Send));
    let found = b"\x01\x03";
    assert_eq!(
        login.feed(&packet(2, found), &mut out),
        Ok(LoginStep::NeedMore)
    );
    let error = login.feed(&packet(3, found), &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            WireError::Protocol(Violation::UnexpectedByte { byte: 3, .. })
        ),
        "{error}"
    );
}

#[test]
fn messages_and_names_are_no_longer_than_a_servers() {
    let message = [&b"\xff\x51\x04#HY000"[..], &vec![b'x'; 60_000]].concat();
    let mut parser = ResponseParser::text(MODERN);
    let error = parser.feed(&packet(1, &message), &mut DiscardRows);
    assert!(matches!(error, Err(WireError::Server(error)) if error.message.len() == 512));

    let mut login = Login::new(Arc::new(config("native"))).unwrap();
    let mut out = Vec::new();
    login
        .feed(&server_bytes("mysql-5.6.24", "no_tls"), &mut out)
        .unwrap();
    let switch = [&b"\xfe"[..], &vec![b'x'; 60_000], &b"\0abc"[..]].concat();
    let error = login.feed(&packet(2, &switch), &mut out).unwrap_err();
    assert!(error.to_string().len() < 500, "{error}");
}

/// Only rows can be long; anything else is refused, and takes no memory until then.
#[test]
fn a_long_packet_that_is_no_row_is_refused() {
    const LIMIT: usize = 64 << 10;
    let column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
    let padded = |start: &[u8], length: usize| {
        let mut payload = start.to_vec();
        payload.resize(length, 0);
        payload
    };
    let error_of = |payloads: &[&[u8]], lengths: &[usize]| {
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |sequence, payload| {
            tlstax_wire::append_packet(&mut bytes, sequence, payload)
        });
        let mut parser = ResponseParser::text(MODERN);
        let mut pieces = pieces(&bytes, lengths).into_iter();
        pieces.find_map(|piece| parser.feed(piece, &mut DiscardRows).err())
    };
    for start in [&[0][..], &[0xff, 0x51, 0x04], &column] {
        let (allowed, refused) = (padded(start, LIMIT), padded(start, LIMIT + 1));
        for before in [&[][..], &[&[1][..]], &[&[1][..], &column]] {
            // A row is whatever is neither an error nor the end.
            if before.len() == 2 && start[0] != 0xff {
                continue;
            }
            for lengths in [[usize::MAX], [1000]] {
                let end = |last| error_of(&[before, &[last]].concat(), &lengths);
                let too_large = Some(WireError::PacketTooLarge {
                    length_bytes: LIMIT + 1,
                    limit_bytes: LIMIT,
                });
                assert_eq!(end(&refused), too_large);
                assert_ne!(end(&allowed), too_large);
            }
        }
    }
    let mut parser = PrepareParser::new(MODERN);
    let long = packet(1, &padded(&[0], LIMIT + 1));
    let error = parser.feed(&long).unwrap_err();
    assert!(matches!(error, WireError::PacketTooLarge { .. }));
}

/// However many rows are asked for, they may not fill the memory.
#[test]
fn rows_that_are_kept_have_a_limit_in_bytes() {
    let column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
    let mut bytes = packet(1, &[1]);
    let mut sequence = tlstax_wire::append_packet(&mut bytes, 2, &column);
    let row = [&bytes_of("fd 000010")[..], &vec![b'x'; 1 << 20]].concat();
    for _ in 0..10 {
        sequence = tlstax_wire::append_packet(&mut bytes, sequence, &row);
    }
    tlstax_wire::append_packet(&mut bytes, sequence, &bytes_of("fe 00 00 0200 0000"));
    let mut rows = RowCollector::new(1000);
    let progress = ResponseParser::text(MODERN).feed(&bytes, &mut rows);
    assert!(matches!(progress, Ok(Progress::Complete { response, .. }) if response.rows == 10));
    assert_eq!(rows.take().len(), 4);
    let mut rows = RowCollector::new(1000).with_max_bytes(1);
    let _ = ResponseParser::text(MODERN).feed(&bytes, &mut rows);
    assert_eq!(rows.rows().len(), 1);
}

fn text_error(payloads: &[&[u8]]) -> WireError {
    let mut bytes = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = tlstax_wire::append_packet(&mut bytes, sequence, payload);
    }
    let whole = ResponseParser::text(MODERN)
        .feed(&bytes, &mut RowCollector::new(9))
        .unwrap_err();
    let mut parser = ResponseParser::text(MODERN);
    let mut rows = RowCollector::new(9);
    let by_bytes = bytes
        .chunks(1)
        .find_map(|byte| parser.feed(byte, &mut rows).err());
    assert_eq!(by_bytes.as_ref(), Some(&whole));
    whole
}

#[test]
fn broken_answers_say_what_is_broken() {
    let column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
    let cases: [(&[&[u8]], Violation); 9] = [
        (&[b"\xfb/etc/passwd"], Violation::LocalInfile),
        (
            &[&[0xfc, 0xff]],
            Violation::Truncated {
                packet: "a column count",
            },
        ),
        (
            &[&[1, 2]],
            Violation::Overlong {
                packet: "a column count",
                left_bytes: 1,
            },
        ),
        (&[&[0xfd, 0, 0, 1]], Violation::ColumnCount(0x1_0000)),
        (
            &[&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]],
            Violation::ColumnCount(u64::MAX),
        ),
        (
            &[&[0, 0]],
            Violation::Truncated {
                packet: "an OK packet",
            },
        ),
        (
            &[&[1], &[3]],
            Violation::Truncated {
                packet: "a column definition",
            },
        ),
        (
            &[&[1], &column, &[2, b'x']],
            Violation::Truncated {
                packet: "a text row",
            },
        ),
        (
            &[&[1], &column, b"\x01xy"],
            Violation::Overlong {
                packet: "a text row",
                left_bytes: 1,
            },
        ),
    ];
    for (payloads, violation) in cases {
        let error = text_error(payloads);
        assert_eq!(error, WireError::Protocol(violation));
        assert_eq!(error.fault(), Fault::Server);
        assert!(!error.leaves_connection_usable());
    }
    assert_eq!(text_error(&[&[]]).fault(), Fault::Server);
}

#[test]
fn lengths_beyond_the_packet_are_not_believed() {
    let column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
    // As a row this begins with the terminator's byte, so it is read as an OK packet.
    let huge = bytes_of("fe ffffffffffffff7f 78");
    let error = text_error(&[&[1], &column, &huge]);
    assert!(
        matches!(error, WireError::Protocol(Violation::UnexpectedByte { .. })),
        "{error}"
    );
    let long = bytes_of("fd ffff7f 78");
    let error = text_error(&[&[1], &column, &long]);
    assert_eq!(
        error,
        WireError::Protocol(Violation::Truncated {
            packet: "a text row"
        })
    );
}

#[test]
fn packets_lost_repeated_or_out_of_turn_are_noticed() {
    for server in servers_with("text") {
        let bytes = server_bytes(server, "text");
        for lengths in [[usize::MAX], [1]] {
            let mut broken = bytes.clone();
            broken[8] ^= 1;
            let mut parser = ResponseParser::text(MODERN);
            let error = pieces(&broken, &lengths)
                .into_iter()
                .find_map(|piece| parser.feed(piece, &mut DiscardRows).err());
            let violation = Violation::OutOfSequence {
                expected: 2,
                got: 3,
            };
            assert_eq!(error, Some(violation.into()), "{server}");
        }
    }
}

/// Only an ERR may come out of turn, numbered 0, and only as a packet of its own.
#[test]
fn what_is_numbered_zero_out_of_turn_is_an_error_or_the_end() {
    for lengths in [[usize::MAX], [1]] {
        let first_error = |bytes: &[u8]| {
            let mut parser = ResponseParser::text(MODERN);
            let mut feed = |piece: &&[u8]| parser.feed(piece, &mut DiscardRows).err();
            pieces(bytes, &lengths).iter().find_map(&mut feed)
        };
        let out_of_sequence = |expected| {
            Some(WireError::from(Violation::OutOfSequence {
                expected,
                got: 0,
            }))
        };
        let ok = packet(0, &bytes_of("00 00 00 0200 0000"));
        assert_eq!(first_error(&ok), out_of_sequence(1));
        assert_eq!(first_error(&[0, 0, 0, 0]), out_of_sequence(1));
        let goodbye = first_error(&packet(0, b"\xff\x51\x04unknown")).unwrap();
        assert!(matches!(&goodbye, WireError::Server(error) if error.code == 1105));
        assert!(!goodbye.leaves_connection_usable());
        let refusal = first_error(&packet(1, b"\xff\x51\x04unknown")).unwrap();
        assert!(refusal.leaves_connection_usable());
    }
    let mut long = packet(1, &vec![0; 0xff_ffff + 5]);
    long[4 + 0xff_ffff + 3] = 0;
    long[4 + 0xff_ffff + 4] = 0xff;
    let error = ResponseParser::text(MODERN)
        .feed(&long, &mut DiscardRows)
        .unwrap_err();
    assert_eq!(
        error,
        Violation::OutOfSequence {
            expected: 2,
            got: 0
        }
        .into()
    );
}

#[test]
fn an_answer_to_a_prepare_can_fail_among_its_definitions() {
    let mut answer = packet(1, &bytes_of("00 01000000 0100 0200 00 0000"));
    let next = tlstax_wire::append_packet(&mut answer, 2, b"\x03def");
    let failed = [&answer[..], &packet(next, b"\xff\x51\x04unknown")].concat();
    let early = [&answer[..], &packet(next, &bytes_of("fe 0000 0200"))].concat();
    for lengths in [[usize::MAX], [1]] {
        let first_error = |bytes: &[u8]| {
            let mut parser = PrepareParser::new(MODERN);
            pieces(bytes, &lengths)
                .iter()
                .find_map(|piece| parser.feed(piece).err())
                .unwrap()
        };
        assert!(matches!(first_error(&failed), WireError::Server(error) if error.code == 1105));
        assert_eq!(first_error(&early).fault(), Fault::Server);
    }
}

#[test]
fn a_login_used_again_remembers_nothing() {
    let mut login = Login::new(Arc::new(LoginConfig::default())).unwrap();
    let mut out = Vec::new();
    login
        .feed(&server_bytes("mysql-5.6.24", "no_tls"), &mut out)
        .unwrap();
    assert!(login.greeting().is_some());
    login.reset();
    assert!(login.greeting().is_none());
    let error = login.feed(b"SSH-2.0-x\r\n", &mut out).unwrap_err();
    assert_eq!(
        error,
        login_error(b"SSH-2.0-x\r\n", LoginConfig::default(), &[usize::MAX])
    );
}

/// A server that announces more columns than it defines, or sends rows without end, costs the
/// parser no memory; the caller's clock ends it.
#[test]
fn endless_answers_are_only_counted() {
    let mut bytes = packet(1, &[0xfd, 0xff, 0xff, 0]);
    let mut sequence = 2;
    for _ in 0..0xffff {
        sequence = tlstax_wire::append_packet(&mut bytes, sequence, b"\x03def");
    }
    for _ in 0..10_000 {
        sequence = tlstax_wire::append_packet(&mut bytes, sequence, b"\x01x");
    }
    let mut parser = ResponseParser::text(MODERN);
    for piece in pieces(&bytes, &[1000]) {
        assert_eq!(parser.feed(piece, &mut DiscardRows), Ok(Progress::NeedMore));
    }
}

#[test]
fn use_out_of_order_is_the_callers_fault() {
    let mut login = Login::new(Arc::new(LoginConfig::default())).unwrap();
    let mut out = Vec::new();
    assert_eq!(
        login.tls_established(&mut out).unwrap_err().fault(),
        Fault::Client
    );
    assert_eq!(
        login.password_encrypted(&[], &mut out).unwrap_err().fault(),
        Fault::Client
    );
    assert!(login.feed(b"SSH-", &mut out).is_err());
    assert_eq!(
        login.feed(b"", &mut out).unwrap_err().fault(),
        Fault::Client
    );
    let mut parser = ResponseParser::text(MODERN);
    assert!(parser.feed(&packet(9, &[0]), &mut DiscardRows).is_err());
    assert_eq!(
        parser.feed(b"", &mut DiscardRows).unwrap_err().fault(),
        Fault::Client
    );
    let nul = LoginConfig {
        user: "a\0b".into(),
        ..LoginConfig::default()
    };
    assert_eq!(
        Login::new(Arc::new(nul)).err(),
        Some(WireError::NulByte { what: "user name" })
    );
}
