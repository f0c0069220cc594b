//! Random and damaged bytes: no panic, and the same end however they arrive.

use std::sync::Arc;

use proptest::prelude::*;
use tlstax_wire::{
    Capabilities, DiscardRows, Login, LoginConfig, LoginStep, PrepareParser, Progress,
    ResponseParser, RowCollector,
};

use crate::login::config;
use crate::recordings::{bytes_of, server_bytes, servers_with};
use crate::splits::{pieces, random};

const MODERN: Capabilities = Capabilities::DEPRECATE_EOF;

/// Packets of random payloads with correct headers, which get further than random bytes.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![1]),
        Just(bytes_of(
            "03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000"
        )),
        Just(bytes_of("fe 0000 0a00")),
        Just(bytes_of("fe 00 00 0200 0000")),
        (any::<u8>(), any::<u8>()).prop_map(|(kind, flags)| {
            let mut column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
            column[17] = kind;
            column[18] = flags;
            column
        }),
    ];
    (0..3_u8, prop::collection::vec(payload, 0..12)).prop_map(|(first, payloads)| {
        let mut bytes = Vec::new();
        payloads.iter().fold(first, |sequence, payload| {
            tlstax_wire::append_packet(&mut bytes, sequence, payload)
        });
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_that_a_server_sends_makes_a_panic(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), framed()],
        lengths in random(),
        capabilities in prop_oneof![Just(MODERN), Just(Capabilities::default())],
    ) {
        let mut out = Vec::new();
        for tls in [false, true] {
            let account = LoginConfig { tls, ..config("native") };
            let mut login = Login::new(Arc::new(account)).unwrap();
            let greeted = server_bytes("mysql-9.7.4", "fast");
            for start in [&greeted[..0], &greeted[..4 + usize::from(greeted[0])]] {
                login.reset();
                let _ = login.feed(start, &mut out);
                let _ = login.tls_established(&mut out);
                for piece in pieces(&bytes, &lengths) {
                    let _ = login.feed(piece, &mut out);
                }
            }
        }
        let mut prepare = PrepareParser::new(capabilities);
        for new in [ResponseParser::text, ResponseParser::binary] {
            let mut parser = new(capabilities);
            let mut rows = RowCollector::new(3);
            let mut counting = parser.feed(b"", &mut DiscardRows);
            for piece in pieces(&bytes, &lengths) {
                counting = parser.feed(piece, &mut rows);
                let _ = prepare.feed(piece);
            }
            if let Ok(Progress::Complete { consumed, .. }) = counting {
                prop_assert!(consumed <= bytes.len());
            }
        }
    }

    /// What real servers sent, with one byte changed.
    #[test]
    fn damaged_recordings_make_no_panic(
        name in prop::sample::select(&["full_rsa", "native", "text", "prepared", "call"][..]),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
        lengths in random(),
    ) {
        for server in servers_with(name) {
            let mut bytes = server_bytes(server, name);
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            let mut out = Vec::new();
            let mut login = Login::new(Arc::new(config(name))).unwrap();
            let mut prepare = PrepareParser::new(MODERN);
            let mut text = ResponseParser::text(MODERN);
            let mut binary = ResponseParser::binary(Capabilities::default());
            let mut rows = RowCollector::new(9);
            for piece in pieces(&bytes, &lengths) {
                if login.feed(piece, &mut out) == Ok(LoginStep::EncryptPassword) {
                    login.password_encrypted(&[0; 256], &mut out).unwrap();
                }
                let _ = prepare.feed(piece);
                let _ = text.feed(piece, &mut rows);
                let _ = binary.feed(piece, &mut rows);
            }
        }
    }

    /// Whatever is sent, it is taken alike in one piece and in many.
    #[test]
    fn random_answers_do_not_depend_on_how_they_arrive(bytes in framed(), lengths in random()) {
        let end = |lengths: &[usize]| {
            let mut parser = ResponseParser::binary(MODERN);
            let mut rows = RowCollector::new(5);
            let mut taken = 0;
            for piece in pieces(&bytes, lengths) {
                match parser.feed(piece, &mut rows) {
                    Ok(Progress::NeedMore) => taken += piece.len(),
                    Ok(Progress::Complete { consumed, response }) => {
                        return (Some(Ok((taken + consumed, response))), rows.take());
                    }
                    Err(error) => return (Some(Err(error)), rows.take()),
                }
            }
            (None, rows.take())
        };
        prop_assert_eq!(end(&lengths), end(&[usize::MAX]));
    }
}
