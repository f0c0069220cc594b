//! Messages: a type byte, four bytes of length that count themselves, and a body ("Message Formats").

mod decode;

pub(crate) use decode::check_length;
pub use decode::{DEFAULT_MAX_MESSAGE, Message, MessageDecoder};

use crate::error::{Violation, WireError};

/// The longest length that a message can have.
const MAX_LENGTH: usize = i32::MAX as usize;
const LENGTH_LEN: usize = 4;

/// Appends a message with its header; `write` appends the body.
///
/// # Errors
/// What `write` refuses, or a body longer than a header can say; `out` is then as it was.
pub fn append_message(
    out: &mut Vec<u8>,
    kind: u8,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.push(kind);
    append_counted(out, write).inspect_err(|_| out.truncate(start))
}

/// The same without a type, as a connection's first messages are.
pub(crate) fn append_counted(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_LEN]);
    let written = write(out).and_then(|()| length_field(out.len() - start, "a message"));
    match written {
        Ok(length) => {
            out[start..start + LENGTH_LEN].copy_from_slice(&length);
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// A length as the protocol writes it.
pub(crate) fn length_field(length: usize, what: &'static str) -> Result<[u8; 4], WireError> {
    match u32::try_from(length) {
        Ok(field) if length <= MAX_LENGTH => Ok(field.to_be_bytes()),
        _ => Err(WireError::CommandTooLong {
            what,
            count: length,
        }),
    }
}

/// Appends a text and the NUL that ends it.
pub(crate) fn append_text(
    out: &mut Vec<u8>,
    text: &[u8],
    what: &'static str,
) -> Result<(), WireError> {
    if text.contains(&0) {
        return Err(WireError::NulByte { what });
    }
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}

/// A body being read from front to back. `message` names it in errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    message: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8], message: &'static str) -> Self {
        Self {
            rest: body,
            message,
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error unless everything was read.
    pub(crate) fn finish(self) -> Result<(), Violation> {
        match self.rest.len() {
            0 => Ok(()),
            left_bytes => Err(Violation::Overlong {
                message: self.message,
                left_bytes,
            }),
        }
    }

    fn truncated(&self) -> Violation {
        Violation::Truncated {
            message: self.message,
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Violation> {
        let (&array, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Violation> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Violation> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Violation> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Violation> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Up to and without the next NUL, which must be there.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Violation> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| self.truncated())?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A value behind its length; None for NULL, whose length is -1.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Violation> {
        const NULL: u32 = u32::MAX;
        match self.u32()? {
            NULL => Ok(None),
            length => self.bytes(length as usize).map(Some),
        }
    }
}
