//! Packets into payloads, however the bytes arrive.

use super::{FULL_PACKET_LEN, HEADER_LEN};
use crate::error::{Violation, WireError};

/// The longest payload a decoder takes unless told otherwise.
pub const DEFAULT_MAX_PAYLOAD: usize = 64 << 20;

const ERR_HEADER: u8 = 0xff;

/// One whole payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// The payload, in the input itself where it was there in one piece.
    Whole(&'a [u8]),
    /// The payload was passed over without keeping it, as the caller allowed.
    Skipped {
        /// Its first byte.
        first: u8,
        /// Its length in bytes.
        length: usize,
    },
}

/// What becomes of the payload that is arriving in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its first byte is not here yet.
    Open,
    Keep,
    Skip {
        first: u8,
    },
}

/// Joins bytes to payloads and checks the packets' numbers and lengths.
///
/// A payload that lies whole in the input is handed out from there; only one that arrives in
/// pieces, and is wanted, is copied. The copy grows with what arrived, never with what a header
/// announces, up to the maximum.
#[derive(Debug)]
pub struct PacketDecoder {
    max_payload: usize,
    sequence: u8,
    header: [u8; HEADER_LEN],
    header_filled: usize,
    chunk_len: usize,
    chunk_left: usize,
    payload_len: usize,
    fate: Fate,
    out_of_turn: bool,
    loose: bool,
    begun: bool,
    buffer: Vec<u8>,
}

impl Default for PacketDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_PAYLOAD)
    }
}

impl PacketDecoder {
    /// A decoder that takes payloads of up to `max_payload` bytes; the first packet is numbered 0.
    pub fn new(max_payload: usize) -> Self {
        Self {
            max_payload,
            sequence: 0,
            header: [0; HEADER_LEN],
            header_filled: 0,
            chunk_len: 0,
            chunk_left: 0,
            payload_len: 0,
            fate: Fate::Open,
            out_of_turn: false,
            loose: false,
            begun: false,
            buffer: Vec::new(),
        }
    }

    /// The same for packets that come in compressed ones, whose numbers count for them: a server takes over
    /// the number of the compressed packet whenever it sends what it has (`net_flush` in MySQL's and
    /// MariaDB's sources), so the packets' own may leap.
    #[must_use]
    pub(crate) fn within_compressed(self, compressed: bool) -> Self {
        Self {
            loose: compressed,
            ..self
        }
    }

    /// Forgets what arrived so far; the next packet is numbered `sequence`. Memory is kept.
    pub fn reset(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.header_filled = 0;
        self.payload_len = 0;
        self.fate = Fate::Open;
        self.out_of_turn = false;
        self.begun = false;
    }

    /// The number that the next packet must have.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Whether the last packet was an ERR numbered 0 out of turn, as servers send it when they
    /// close a connection that was idle for too long, was killed, or at shutdown.
    pub fn was_out_of_turn(&self) -> bool {
        self.out_of_turn
    }

    /// Takes bytes from the front of `input` until one payload is complete; None when `input` is
    /// used up before.
    ///
    /// `may_skip` is asked, with the first byte and the length of the first chunk, about a payload
    /// that is not whole in `input`; where it says true the payload is passed over.
    ///
    /// # Errors
    /// [`Violation::OutOfSequence`] and [`WireError::PacketTooLarge`].
    pub fn next<'p, 'i: 'p>(
        &'p mut self,
        input: &mut &'i [u8],
        may_skip: impl FnOnce(u8, usize) -> bool,
    ) -> Result<Option<Packet<'p>>, WireError> {
        if self.header_filled == 0 && self.payload_len == 0 {
            if let Some(payload) = self.take_whole(input)? {
                return Ok(Some(Packet::Whole(payload)));
            }
        }
        self.take_piecewise(input, may_skip)
    }

    /// The common case: one packet, all of it there.
    #[inline]
    fn take_whole<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<&'i [u8]>, WireError> {
        let Some((&[low, middle, high, sequence], rest)) = input.split_first_chunk() else {
            return Ok(None);
        };
        let length = chunk_len([low, middle, high]);
        if length == FULL_PACKET_LEN || rest.len() < length {
            return Ok(None);
        }
        self.check_length(length)?;
        let (payload, rest) = rest.split_at(length);
        self.check_number(sequence, payload.first().copied())?;
        self.sequence = sequence.wrapping_add(1);
        *input = rest;
        Ok(Some(payload))
    }

    /// Anything else: pieces, and payloads of several packets.
    fn take_piecewise(
        &mut self,
        input: &mut &[u8],
        may_skip: impl FnOnce(u8, usize) -> bool,
    ) -> Result<Option<Packet<'_>>, WireError> {
        let mut may_skip = Some(may_skip);
        loop {
            if self.header_filled < HEADER_LEN && !self.take_header(input)? {
                return Ok(None);
            }
            if self.fate == Fate::Open {
                let first = input.first().copied();
                if self.chunk_left > 0 && first.is_none() {
                    return Ok(None);
                }
                let first = first.filter(|_| self.chunk_left > 0);
                self.check_number(self.header[HEADER_LEN - 1], first)?;
                if let Some(first) = first {
                    let skip = may_skip
                        .take()
                        .is_some_and(|ask| ask(first, self.chunk_len));
                    self.fate = if skip {
                        Fate::Skip { first }
                    } else {
                        Fate::Keep
                    };
                }
            }
            self.take_chunk(input);
            if self.chunk_left > 0 {
                return Ok(None);
            }
            self.header_filled = 0;
            self.sequence = self.header[HEADER_LEN - 1].wrapping_add(1);
            if self.chunk_len < FULL_PACKET_LEN {
                return Ok(Some(self.finish()));
            }
        }
    }

    /// Takes header bytes; true when all four are there and have been looked at.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, WireError> {
        let wanted = HEADER_LEN - self.header_filled;
        let (now, rest) = input.split_at(wanted.min(input.len()));
        *input = rest;
        self.header[self.header_filled..self.header_filled + now.len()].copy_from_slice(now);
        self.header_filled += now.len();
        if self.header_filled < HEADER_LEN {
            return Ok(false);
        }
        let [low, middle, high, number] = self.header;
        self.chunk_len = chunk_len([low, middle, high]);
        self.chunk_left = self.chunk_len;
        self.check_length(self.payload_len.saturating_add(self.chunk_len))?;
        if self.payload_len == 0 {
            self.fate = Fate::Open;
            self.buffer.clear();
        } else {
            self.check_number(number, None)?;
        }
        self.payload_len += self.chunk_len;
        Ok(true)
    }

    fn take_chunk(&mut self, input: &mut &[u8]) {
        let (now, rest) = input.split_at(self.chunk_left.min(input.len()));
        *input = rest;
        self.chunk_left -= now.len();
        if self.fate == Fate::Keep {
            grow(&mut self.buffer, now.len(), self.max_payload);
            self.buffer.extend_from_slice(now);
        }
    }

    fn finish(&mut self) -> Packet<'_> {
        let length = std::mem::take(&mut self.payload_len);
        match self.fate {
            Fate::Skip { first } => Packet::Skipped { first, length },
            Fate::Open | Fate::Keep => Packet::Whole(&self.buffer),
        }
    }

    fn check_length(&self, length_bytes: usize) -> Result<(), WireError> {
        let limit_bytes = self.max_payload;
        if length_bytes > limit_bytes {
            return Err(WireError::PacketTooLarge {
                length_bytes,
                limit_bytes,
            });
        }
        Ok(())
    }

    /// A number other than the one due is an error, but for an ERR numbered 0 at a payload's start. Within
    /// compressed packets any will do, but 0 at an answer's start.
    fn check_number(&mut self, got: u8, first: Option<u8>) -> Result<(), WireError> {
        if got == self.sequence {
            self.begun = true;
            return Ok(());
        }
        self.out_of_turn = got == 0 && first == Some(ERR_HEADER);
        if self.out_of_turn {
            return Ok(());
        }
        if self.loose && (got != 0 || self.begun) {
            self.begun = true;
            return Ok(());
        }
        let expected = self.sequence;
        Err(Violation::OutOfSequence { expected, got }.into())
    }
}

fn chunk_len([low, middle, high]: [u8; 3]) -> usize {
    usize::from(low) | (usize::from(middle) << 8) | (usize::from(high) << 16)
}

/// Makes room for `additional` bytes: by doubling, and never beyond `max_len`.
fn grow(buffer: &mut Vec<u8>, additional: usize, max_len: usize) {
    let needed = buffer.len() + additional;
    if needed > buffer.capacity() {
        let doubled = buffer.capacity().saturating_mul(2);
        let target = doubled.min(max_len).max(needed);
        buffer.reserve_exact(target - buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1_000_000;

    #[test]
    fn memory_grows_with_what_came_and_never_beyond_the_limit() {
        let mut decoder = PacketDecoder::new(LIMIT);
        let [low, middle, high, ..] = LIMIT.to_le_bytes();
        let mut announced = &[low, middle, high, 0][..];
        assert_eq!(decoder.next(&mut announced, |_, _| false), Ok(None));
        assert_eq!(decoder.buffer.capacity(), 0);
        for arrived in 1..LIMIT {
            assert_eq!(decoder.next(&mut &[7][..], |_, _| false), Ok(None));
            assert!(decoder.buffer.capacity() <= (2 * arrived).clamp(8, LIMIT));
        }
        let last = decoder.next(&mut &[7][..], |_, _| false).unwrap();
        assert!(matches!(last, Some(Packet::Whole(payload)) if payload.len() == LIMIT));
        assert!(decoder.buffer.capacity() <= LIMIT);
    }

    #[test]
    fn what_is_skipped_takes_no_memory() {
        let mut decoder = PacketDecoder::new(LIMIT);
        let [low, middle, high, ..] = LIMIT.to_le_bytes();
        let mut input = &[low, middle, high, 0][..];
        assert_eq!(decoder.next(&mut input, |_, _| true), Ok(None));
        let payload = vec![7; LIMIT];
        let skipped = decoder.next(&mut &payload[..], |_, _| true);
        assert_eq!(
            skipped,
            Ok(Some(Packet::Skipped {
                first: 7,
                length: LIMIT
            }))
        );
        assert_eq!(decoder.buffer.capacity(), 0);
    }
}
