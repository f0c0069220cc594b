//! Payloads into packets, in the caller's buffer.

use super::{FULL_PACKET_LEN, HEADER_LEN};

/// Appends `payload` to `out` as one packet or, from 2^24-1 bytes on, several, the first numbered
/// `sequence`. Returns the number of the packet that comes next, which is the first of the answer.
pub fn append_packet(out: &mut Vec<u8>, sequence: u8, payload: &[u8]) -> u8 {
    append_with(out, sequence, |out| out.extend_from_slice(payload))
}

/// As [`append_packet`], with the payload written in place by `write`, which may only append.
pub(crate) fn append_with(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_LEN]);
    write(out);
    let payload_len = out.len().saturating_sub(start + HEADER_LEN);
    if payload_len < FULL_PACKET_LEN {
        write_header(out, start, payload_len, sequence);
        return sequence.wrapping_add(1);
    }
    split(out, start, payload_len, sequence)
}

/// Makes room for the further headers, last chunk first, so that each byte moves once.
fn split(out: &mut Vec<u8>, start: usize, payload_len: usize, sequence: u8) -> u8 {
    let full_packets = payload_len / FULL_PACKET_LEN;
    out.resize(out.len() + full_packets * HEADER_LEN, 0);
    let mut end = start + HEADER_LEN + payload_len;
    for packet in (0..=full_packets).rev() {
        let from = start + HEADER_LEN + packet * FULL_PACKET_LEN;
        let to = from + packet * HEADER_LEN;
        out.copy_within(from..end, to);
        let number = sequence.wrapping_add(packet.to_le_bytes()[0]);
        write_header(out, to - HEADER_LEN, end - from, number);
        end = from;
    }
    sequence
        .wrapping_add(full_packets.to_le_bytes()[0])
        .wrapping_add(1)
}

fn write_header(out: &mut [u8], at: usize, chunk_len: usize, sequence: u8) {
    let [low, middle, high, ..] = chunk_len.to_le_bytes();
    if let Some(header) = out.get_mut(at..at + HEADER_LEN) {
        header.copy_from_slice(&[low, middle, high, sequence]);
    }
}
