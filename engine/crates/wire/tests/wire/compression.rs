//! Compressed packets: what goes in comes out, however it is cut and however little room there is; what is
//! not as it says is refused.

use std::sync::Arc;

use proptest::prelude::*;
use tlstax_wire::{
    Algorithm, Capabilities, DiscardRows, Login, LoginConfig, Packer, Progress, ResponseParser,
    Unpacked, Unpacker, Violation, WireError,
};

use crate::login::config;
use crate::recordings::{Turn, conversation, packet};
use crate::splits::{every_cut, pieces, random};

const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];
const HEADER_LEN: usize = 7;
const MOST_BYTES: usize = 0xff_ffff;

fn packed(algorithm: Algorithm, packets: &[u8]) -> (Vec<u8>, u8) {
    let mut out = Vec::new();
    let next = Packer::new(algorithm)
        .unwrap()
        .pack(packets, &mut out)
        .unwrap();
    (out, next)
}

/// All that an unpacker gives of these pieces, N bytes of room at a time.
fn unpacked(
    algorithm: Algorithm,
    pieces: &[&[u8]],
    room_bytes: usize,
) -> Result<Vec<u8>, WireError> {
    let mut unpacker = Unpacker::new(algorithm)?;
    let (mut all, mut room) = (Vec::new(), vec![0; room_bytes]);
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let Unpacked { taken, given } = unpacker.unpack(rest, &mut room)?;
            all.extend_from_slice(&room[..given]);
            rest = &rest[taken..];
            if given == 0 {
                assert_eq!(rest, b"", "bytes were left and nothing was given");
                break;
            }
        }
    }
    Ok(all)
}

/// Bytes that look random and are the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state.to_be_bytes()[0]
    })
    .take(length)
    .collect()
}

fn three_bytes(length: &[u8]) -> usize {
    usize::from(length[0]) | usize::from(length[1]) << 8 | usize::from(length[2]) << 16
}

#[test]
fn what_is_short_or_would_grow_travels_as_it_is() {
    for algorithm in BOTH {
        for content in [b"x".repeat(49), noise(1000)] {
            let (bytes, next) = packed(algorithm, &content);
            let length = u32::try_from(content.len()).unwrap().to_le_bytes();
            assert_eq!(bytes[..3], length[..3]);
            assert_eq!(bytes[3..HEADER_LEN], [0; 4], "number 0, and not compressed");
            assert_eq!(bytes[HEADER_LEN..], content);
            assert_eq!(next, 1);
        }
    }
}

#[test]
fn what_repeats_becomes_shorter_and_says_how_long_it_was() {
    for algorithm in BOTH {
        let (bytes, next) = packed(algorithm, &b"x".repeat(50_000));
        assert!(bytes.len() < 500, "{algorithm:?}: {}", bytes.len());
        assert_eq!(three_bytes(&bytes), bytes.len() - HEADER_LEN);
        assert_eq!((bytes[3], three_bytes(&bytes[4..]), next), (0, 50_000, 1));
    }
}

#[test]
fn what_is_long_is_split_where_the_lengths_end() {
    for algorithm in BOTH {
        let content = b"0123456789".repeat(MOST_BYTES / 10 + 2);
        let (bytes, next) = packed(algorithm, &content);
        assert_eq!(three_bytes(&bytes[4..]), MOST_BYTES);
        let second = &bytes[HEADER_LEN + three_bytes(&bytes)..];
        assert_eq!(second[3], 1);
        assert_eq!(next, 2);
        assert_eq!(unpacked(algorithm, &[&bytes], 60_000).unwrap(), content);
    }
}

#[test]
fn a_packer_can_be_used_again_and_again() {
    for algorithm in BOTH {
        let mut packer = Packer::new(algorithm).unwrap();
        for content in [b"select 1".repeat(9), noise(90), b"select 2".repeat(900)] {
            let mut bytes = Vec::new();
            assert_eq!(packer.pack(&content, &mut bytes), Ok(1));
            assert_eq!(unpacked(algorithm, &[&bytes], 33).unwrap(), content);
        }
    }
}

#[test]
fn any_cut_gives_the_same() {
    for algorithm in BOTH {
        let content = b"one row and another row; ".repeat(8);
        let (bytes, _) = packed(algorithm, &content);
        for lengths in every_cut(bytes.len()) {
            let found = unpacked(algorithm, &pieces(&bytes, &lengths), 7);
            assert_eq!(found.unwrap(), content);
        }
    }
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        words in prop::collection::vec(prop_oneof!["[a-c]{0,3}", "[ -~]{0,90}"], 0..60),
        lengths in random(),
        room_bytes in 1..300_usize,
    ) {
        let content = words.concat().into_bytes();
        for algorithm in BOTH {
            let (bytes, _) = packed(algorithm, &content);
            let found = unpacked(algorithm, &pieces(&bytes, &lengths), room_bytes);
            prop_assert_eq!(found.unwrap(), content.clone());
        }
    }

    #[test]
    fn bytes_that_are_changed_are_refused_or_read_and_never_more_than_announced(
        at in any::<prop::sample::Index>(),
        by in 1..=255_u8,
    ) {
        for algorithm in BOTH {
            let (mut bytes, _) = packed(algorithm, &b"some rows of a table; ".repeat(20));
            *at.get_mut(&mut bytes) ^= by;
            let announced = three_bytes(&bytes[4..]).max(three_bytes(&bytes));
            if let Ok(found) = unpacked(algorithm, &[&bytes], 64) {
                prop_assert!(found.len() <= announced);
            }
        }
    }
}

fn refusal(algorithm: Algorithm, bytes: &[u8]) -> Violation {
    match unpacked(algorithm, &[bytes], 64) {
        Err(WireError::Protocol(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_length_that_is_not_the_streams_is_refused() {
    for algorithm in BOTH {
        let (bytes, _) = packed(algorithm, &b"x".repeat(200));
        for announced in [199, 201] {
            let mut changed = bytes.clone();
            changed[4] = announced;
            assert!(matches!(
                refusal(algorithm, &changed),
                Violation::Compressed(_)
            ));
        }
        let mut longer = bytes.clone();
        longer[0] += 1;
        longer.push(0);
        assert!(matches!(
            refusal(algorithm, &longer),
            Violation::Compressed(_)
        ));
    }
}

#[test]
fn a_packet_that_is_empty_or_no_stream_is_refused() {
    for algorithm in BOTH {
        let empty = [0; HEADER_LEN];
        assert!(matches!(
            refusal(algorithm, &empty),
            Violation::Compressed(_)
        ));
        let no_stream = [4, 0, 0, 0, 90, 0, 0, 1, 2, 3, 4];
        assert!(matches!(
            refusal(algorithm, &no_stream),
            Violation::Compressed(_)
        ));
    }
}

#[test]
fn numbers_are_those_that_are_due_or_begin_anew() {
    for algorithm in BOTH {
        let first = [1, 0, 0, 1, 0, 0, 0, b'a'];
        let mut unpacker = Unpacker::new(algorithm).unwrap();
        unpacker.expect(1);
        assert_eq!(
            unpacker.unpack(&first, &mut [0; 9]),
            Ok(Unpacked { taken: 8, given: 1 })
        );
        let unasked = [1, 0, 0, 0, 0, 0, 0, b'b'];
        assert_eq!(
            unpacker.unpack(&unasked, &mut [0; 9]),
            Ok(Unpacked { taken: 8, given: 1 })
        );
        let lost = [1, 0, 0, 3, 0, 0, 0, b'c'];
        let violation = Violation::OutOfSequence {
            expected: 1,
            got: 3,
        };
        assert_eq!(unpacker.unpack(&lost, &mut [0; 9]), Err(violation.into()));
    }
}

/// What a client that wants `algorithm` answers to the greeting of `server`: the payload.
fn answer(server: &str, algorithm: Option<Algorithm>) -> Result<Vec<u8>, WireError> {
    let config = LoginConfig {
        compression: algorithm,
        ..config("native")
    };
    let mut out = Vec::new();
    let turns = conversation(server, "native");
    let Some(Turn::Server(greeting)) = turns.first() else {
        panic!("the server speaks first")
    };
    Login::new(Arc::new(config))?.feed(greeting, &mut out)?;
    Ok(out.split_off(4))
}

fn flags(answer: &[u8]) -> Capabilities {
    Capabilities::from_bits(u32::from_le_bytes(answer[..4].try_into().unwrap()))
}

#[test]
fn what_is_wanted_is_asked_for_and_nothing_else() {
    let plain = answer("mysql-8.0.33", None).unwrap();
    let zlib = answer("mysql-8.0.33", Some(Algorithm::Zlib)).unwrap();
    let zstd = answer("mysql-8.0.33", Some(Algorithm::Zstd)).unwrap();
    let agreed = |answer: &[u8]| Algorithm::agreed(flags(answer));
    assert_eq!(agreed(&plain), None);
    assert_eq!(agreed(&zlib), Some(Algorithm::Zlib));
    assert_eq!(agreed(&zstd), Some(Algorithm::Zstd));
    assert!(!flags(&zstd).contains(Capabilities::COMPRESS));
    assert_eq!(zlib.len(), plain.len());
    assert_eq!(zstd.len(), plain.len() + 1);
    assert_eq!(zstd.last(), Some(&3), "the level that the server is to use");
}

#[test]
fn what_the_greeting_does_not_offer_is_refused_before_a_word_is_said() {
    for server in ["mariadb-11.8.6", "mysql-5.6.24"] {
        assert!(answer(server, Some(Algorithm::Zlib)).is_ok());
        let error = answer(server, Some(Algorithm::Zstd)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "compression with zstd was asked for, but the server does not offer it (no \
             CLIENT_ZSTD_COMPRESSION_ALGORITHM in its greeting)"
        );
    }
}

/// An OK packet's payload, of no rows changed.
const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
/// An ERR packet's payload.
const ERR: &[u8] = b"\xff\x28\x04#HY000no";

fn answered(capabilities: Capabilities, answer: &[u8]) -> Result<Progress, WireError> {
    ResponseParser::text(capabilities).feed(answer, &mut DiscardRows)
}

#[test]
fn numbers_may_leap_within_compressed_packets_alone() {
    let leaping = packet(5, &OK);
    assert!(answered(Capabilities::COMPRESS, &leaping).is_ok());
    assert!(answered(Capabilities::ZSTD_COMPRESSION, &leaping).is_ok());
    assert!(answered(Capabilities::default(), &leaping).is_err());
    assert!(answered(Capabilities::COMPRESS, &packet(0, &OK)).is_err());
}

#[test]
fn a_goodbye_within_compressed_packets_is_known_as_one() {
    let unasked = |number| match answered(Capabilities::COMPRESS, &packet(number, ERR)) {
        Err(WireError::Server(error)) => error.unasked,
        other => panic!("{other:?}"),
    };
    assert!(unasked(0));
    assert!(!unasked(1));
}
