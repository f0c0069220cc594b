//! Packets around payloads of every length, and back.

use proptest::prelude::*;
use tlstax_wire::command::query;
use tlstax_wire::{
    Capabilities, DiscardRows, Packet, PacketDecoder, Progress, ResponseParser, RowCollector,
    WireError, append_packet,
};

use crate::recordings::{bytes_of, packet};
use crate::splits::{pieces, random};

const FULL: usize = 0xff_ffff;

/// The payload read back from packets, and how many packets there were.
fn decode(bytes: &[u8], lengths: &[usize], skip: bool) -> (Vec<u8>, usize) {
    let mut decoder = PacketDecoder::new(usize::MAX);
    for piece in pieces(bytes, lengths) {
        let mut rest = piece;
        match decoder.next(&mut rest, |_, _| skip).unwrap() {
            None => assert!(rest.is_empty()),
            Some(Packet::Whole(payload)) => {
                let payload = payload.to_vec();
                return (payload, decoder.sequence().into());
            }
            Some(Packet::Skipped { first, length }) => {
                return (vec![first; length], decoder.sequence().into());
            }
        }
    }
    panic!("no payload came out")
}

/// Zeros, but for different bytes around every place where a packet can end.
fn marked(length: usize) -> Vec<u8> {
    let mut payload = vec![0; length];
    for end in [0, FULL, 2 * FULL, length] {
        let around = end.saturating_sub(5)..(end + 5).min(length);
        for (byte, mark) in payload
            .get_mut(around)
            .unwrap_or_default()
            .iter_mut()
            .zip(1..)
        {
            *byte = mark;
        }
    }
    payload
}

#[test]
fn payloads_around_the_packet_size_travel_in_as_many_packets_as_needed() {
    for (length, packets) in [
        (0, 1),
        (1, 1),
        (FULL - 1, 1),
        (FULL, 2),
        (FULL + 1, 2),
        (2 * FULL, 3),
    ] {
        let payload = marked(length);
        let mut bytes = Vec::new();
        let next = append_packet(&mut bytes, 0, &payload);
        assert_eq!(usize::from(next), packets);
        assert_eq!(bytes.len(), length + 4 * packets);
        assert_eq!(bytes[3..4], [0]);
        for lengths in [[usize::MAX], [65_536], [1_000_003]] {
            assert_eq!(decode(&bytes, &lengths, false), (payload.clone(), packets));
        }
        if length > 0 {
            let skipped = decode(&bytes, &[65_536], true);
            assert_eq!(skipped, (vec![payload[0]; length], packets));
        }
    }
}

#[test]
fn a_long_command_tells_the_number_of_its_answer() {
    let mut out = Vec::new();
    assert_eq!(query(&mut out, &vec![b' '; FULL]), 2);
    let mut parser = ResponseParser::text(Capabilities::DEPRECATE_EOF);
    parser.reset_at(2);
    let ok = packet(2, &bytes_of("00 00 00 0200 0000"));
    assert!(matches!(
        parser.feed(&ok, &mut DiscardRows),
        Ok(Progress::Complete { .. })
    ));
}

/// A text row whose first value has 2^24 bytes begins like the end of the rows.
#[test]
fn rows_of_several_packets_are_rows() {
    for deprecate_eof in [true, false] {
        let (capabilities, end) = if deprecate_eof {
            (Capabilities::DEPRECATE_EOF, bytes_of("fe 00 00 0200 0000"))
        } else {
            (Capabilities::default(), bytes_of("fe 0000 0200"))
        };
        let mut answer = packet(1, &[1]);
        let column = bytes_of("03646566 00 00 00 0178 00 0c 2d00 ffffffff fd 0000 1f 0000");
        let mut next = append_packet(&mut answer, 2, &column);
        if !deprecate_eof {
            next = append_packet(&mut answer, next, &end);
        }
        let mut row = bytes_of("fe 0000000100000000 ");
        row.resize(9 + (1 << 24), b'x');
        row[1..9].copy_from_slice(&(1_u64 << 24).to_le_bytes());
        next = append_packet(&mut answer, next, &row);
        append_packet(&mut answer, next, &end);
        for lengths in [[usize::MAX], [65_536]] {
            let mut rows = RowCollector::new(1);
            let mut collecting = ResponseParser::text(capabilities);
            let mut counting = ResponseParser::text(capabilities);
            for piece in pieces(&answer, &lengths) {
                let collected = collecting.feed(piece, &mut rows).unwrap();
                assert_eq!(counting.feed(piece, &mut DiscardRows).unwrap(), collected);
            }
            let value = rows.rows()[0][0].as_ref().unwrap();
            assert_eq!(value.len(), 1 << 24);
        }
    }
}

#[test]
fn the_limit_is_on_the_whole_payload_and_known_from_the_header() {
    let two_packets = packet(0, &vec![7; FULL + 10]);
    let mut decoder = PacketDecoder::new(FULL + 9);
    let mut rest = &two_packets[..];
    let error = decoder.next(&mut rest, |_, _| true).unwrap_err();
    let expected = WireError::PacketTooLarge {
        length_bytes: FULL + 10,
        limit_bytes: FULL + 9,
    };
    assert_eq!(error, expected);
    let mut decoder = PacketDecoder::new(100);
    let header_alone = &mut &[101, 0, 0, 0][..];
    assert!(decoder.next(header_alone, |_, _| false).is_err());
}

proptest! {
    #[test]
    fn payloads_survive_any_cut(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..20),
        lengths in random(),
        skip in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        let mut sequence = 0;
        for payload in &payloads {
            sequence = append_packet(&mut bytes, sequence, payload);
        }
        let mut decoder = PacketDecoder::default();
        let mut found = 0;
        for mut piece in pieces(&bytes, &lengths) {
            while let Some(packet) = decoder.next(&mut piece, |_, _| skip).unwrap() {
                let expected = &payloads[found];
                match packet {
                    Packet::Whole(payload) => prop_assert_eq!(payload, &expected[..]),
                    Packet::Skipped { first, length } => {
                        prop_assert!(skip);
                        prop_assert_eq!((first, length), (expected[0], expected.len()));
                    }
                }
                found += 1;
            }
        }
        prop_assert_eq!(found, payloads.len());
        prop_assert_eq!(decoder.sequence(), sequence);
    }
}
