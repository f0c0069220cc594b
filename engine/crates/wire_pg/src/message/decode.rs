//! Bytes into messages, however they arrive.

use super::LENGTH_LEN;
use crate::error::{Violation, WireError};

/// The longest message that a decoder takes unless told otherwise.
pub const DEFAULT_MAX_MESSAGE: usize = 64 << 20;

const HEADER_LEN: usize = 1 + LENGTH_LEN;

/// One whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A message that was wanted; its body is in the input itself where it was there in one piece.
    Whole {
        /// Its type byte.
        kind: u8,
        /// What follows the length.
        body: &'a [u8],
    },
    /// A message that was passed over.
    Skipped {
        /// Its type byte.
        kind: u8,
    },
}

/// Joins bytes to messages and checks their lengths.
///
/// A message that lies whole in the input is handed out from there; only one that arrives in pieces, and is wanted,
/// is copied. The copy grows with what arrived, never with what a header announces.
#[derive(Debug)]
pub struct MessageDecoder {
    max_message: usize,
    header: [u8; HEADER_LEN],
    header_filled: usize,
    /// How much of the body is still to come.
    left: usize,
    is_wanted: bool,
    buffer: Vec<u8>,
}

impl Default for MessageDecoder {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_MESSAGE)
    }
}

impl MessageDecoder {
    /// A decoder that takes bodies of up to `max_message` bytes.
    pub fn new(max_message: usize) -> Self {
        Self {
            max_message,
            header: [0; HEADER_LEN],
            header_filled: 0,
            left: 0,
            is_wanted: false,
            buffer: Vec::new(),
        }
    }

    /// Forgets what arrived so far. Memory is kept.
    pub fn reset(&mut self) {
        self.header_filled = 0;
    }

    /// Takes bytes from the front of `input` until one message is complete; None when `input` is used up before.
    ///
    /// `admit` is asked once a message, with its type and the length of its body, when its header is there: whether
    /// its body is wanted, or what is wrong with it.
    ///
    /// # Errors
    /// [`Violation::Length`], [`WireError::MessageTooLarge`], and what `admit` says.
    #[inline]
    pub fn next<'p, 'i: 'p>(
        &'p mut self,
        input: &mut &'i [u8],
        admit: impl FnOnce(u8, usize) -> Result<bool, WireError>,
    ) -> Result<Option<Message<'p>>, WireError> {
        if self.header_filled == 0 {
            if let Some((&header, rest)) = input.split_first_chunk() {
                let (kind, length) = self.check_header(header)?;
                if let Some((body, rest)) = rest.split_at_checked(length) {
                    let is_wanted = admit(kind, length)?;
                    *input = rest;
                    return Ok(Some(message(kind, body, is_wanted)));
                }
            }
        }
        self.take_piecewise(input, admit)
    }

    fn take_piecewise(
        &mut self,
        input: &mut &[u8],
        admit: impl FnOnce(u8, usize) -> Result<bool, WireError>,
    ) -> Result<Option<Message<'_>>, WireError> {
        if self.header_filled < HEADER_LEN {
            let now = take(input, HEADER_LEN - self.header_filled);
            self.header[self.header_filled..][..now.len()].copy_from_slice(now);
            self.header_filled += now.len();
            if self.header_filled < HEADER_LEN {
                return Ok(None);
            }
            let (kind, length) = self.check_header(self.header)?;
            self.is_wanted = admit(kind, length)?;
            self.left = length;
            self.buffer.clear();
        }
        let now = take(input, self.left);
        self.left -= now.len();
        if self.is_wanted {
            self.buffer.extend_from_slice(now);
        }
        if self.left > 0 {
            return Ok(None);
        }
        self.header_filled = 0;
        Ok(Some(message(self.header[0], &self.buffer, self.is_wanted)))
    }

    /// A message's type and the length of its body.
    fn check_header(&self, header: [u8; HEADER_LEN]) -> Result<(u8, usize), WireError> {
        let [kind, length @ ..] = header;
        let length = u32::from_be_bytes(length);
        let Some(length_bytes) = (length as usize).checked_sub(LENGTH_LEN) else {
            return Err(Violation::Length { kind, length }.into());
        };
        check_length(kind, length_bytes, self.max_message)?;
        Ok((kind, length_bytes))
    }
}

/// Refuses a body that is longer than such a message's can be.
pub(crate) fn check_length(
    kind: u8,
    length_bytes: usize,
    limit_bytes: usize,
) -> Result<(), WireError> {
    if length_bytes > limit_bytes {
        return Err(WireError::MessageTooLarge {
            kind,
            length_bytes,
            limit_bytes,
        });
    }
    Ok(())
}

fn message(kind: u8, body: &[u8], is_wanted: bool) -> Message<'_> {
    if is_wanted {
        Message::Whole { kind, body }
    } else {
        Message::Skipped { kind }
    }
}

/// As much of the front of `input` as there is, up to `len` bytes.
fn take<'i>(input: &mut &'i [u8], len: usize) -> &'i [u8] {
    let (now, rest) = input.split_at(len.min(input.len()));
    *input = rest;
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1_000_000;

    fn announce(length: usize) -> [u8; HEADER_LEN] {
        let [a, b, c, d] = u32::try_from(length + LENGTH_LEN).unwrap().to_be_bytes();
        [b'D', a, b, c, d]
    }

    #[test]
    fn memory_grows_with_what_came_and_not_with_what_was_announced() {
        let mut decoder = MessageDecoder::new(LIMIT);
        let header = announce(LIMIT);
        assert_eq!(decoder.next(&mut &header[..], |_, _| Ok(true)), Ok(None));
        assert_eq!(decoder.buffer.capacity(), 0);
        for arrived in 1..LIMIT {
            assert_eq!(decoder.next(&mut &[7][..], |_, _| Ok(true)), Ok(None));
            assert!(decoder.buffer.capacity() <= (2 * arrived).max(8));
        }
        let last = decoder.next(&mut &[7][..], |_, _| Ok(true)).unwrap();
        assert!(matches!(last, Some(Message::Whole { kind: b'D', body }) if body.len() == LIMIT));
    }

    #[test]
    fn what_is_skipped_takes_no_memory() {
        let mut decoder = MessageDecoder::new(LIMIT);
        let header = announce(LIMIT);
        assert_eq!(decoder.next(&mut &header[..], |_, _| Ok(false)), Ok(None));
        let body = vec![7; LIMIT];
        let skipped = decoder.next(&mut &body[..], |_, _| Ok(false));
        assert_eq!(skipped, Ok(Some(Message::Skipped { kind: b'D' })));
        assert_eq!(decoder.buffer.capacity(), 0);
    }

    #[test]
    fn impossible_and_excessive_lengths_are_refused_at_the_header() {
        let mut decoder = MessageDecoder::new(LIMIT);
        let too_long = announce(LIMIT + 1);
        let refusal = decoder.next(&mut &too_long[..], |_, _| Ok(true));
        let expected = WireError::MessageTooLarge {
            kind: b'D',
            length_bytes: LIMIT + 1,
            limit_bytes: LIMIT,
        };
        assert_eq!(refusal, Err(expected));
        for length in 0..4 {
            let header = [b'D', 0, 0, 0, length];
            let refusal = decoder.next(&mut &header[..], |_, _| Ok(true));
            let length = u32::from(length);
            let violation = Violation::Length { kind: b'D', length };
            assert_eq!(refusal, Err(violation.into()));
        }
    }
}
