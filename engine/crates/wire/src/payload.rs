//! Reading the fields of a payload, never past its end.

use crate::error::Violation;

/// A payload being read from front to back. `packet` names it in errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadReader<'a> {
    rest: &'a [u8],
    packet: &'static str,
}

/// A length-encoded integer where a value may stand, or NULL.
const LENENC_NULL: u8 = 0xfb;

impl<'a> PayloadReader<'a> {
    pub(crate) fn new(payload: &'a [u8], packet: &'static str) -> Self {
        Self {
            rest: payload,
            packet,
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error unless everything was read.
    pub(crate) fn finish(self) -> Result<(), Violation> {
        match self.rest.len() {
            0 => Ok(()),
            left_bytes => Err(Violation::Overlong {
                packet: self.packet,
                left_bytes,
            }),
        }
    }

    fn truncated(&self) -> Violation {
        Violation::Truncated {
            packet: self.packet,
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
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Violation> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Violation> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Violation> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Up to and without the next NUL, or, where none follows, all that is left.
    pub(crate) fn until_nul_or_end(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let text = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        text
    }

    /// A length-encoded integer (`Protocol::LengthEncodedInteger`).
    pub(crate) fn lenenc_int(&mut self) -> Result<u64, Violation> {
        match self.u8()? {
            byte @ 0..=0xfa => Ok(u64::from(byte)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([low, middle, high, 0])))
            }
            0xfe => self.u64(),
            byte => Err(Violation::UnexpectedByte {
                packet: "a length-encoded integer",
                byte,
            }),
        }
    }

    /// A length-encoded string.
    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8], Violation> {
        let len = self.lenenc_int()?;
        let len = usize::try_from(len).map_err(|_| self.truncated())?;
        self.bytes(len)
    }

    /// A length-encoded string or, as a single byte, NULL.
    pub(crate) fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, Violation> {
        if self.rest.first() == Some(&LENENC_NULL) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }
}

/// Appends a length-encoded integer.
pub(crate) fn append_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    let [low, second, third, ..] = bytes;
    match value {
        0..=0xfa => out.push(low),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, low, second]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, low, second, third]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub(crate) fn append_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    append_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The values at which the encoding changes its length, and that length.
    const EDGES: [(u64, usize); 8] = [
        (0, 1),
        (0xfa, 1),
        (0xfb, 3),
        (0xffff, 3),
        (0x1_0000, 4),
        (0xff_ffff, 4),
        (0x100_0000, 9),
        (u64::MAX, 9),
    ];

    #[test]
    fn length_encoded_integers_are_as_short_as_they_can_be() {
        for (value, length) in EDGES {
            let mut bytes = Vec::new();
            append_lenenc_int(&mut bytes, value);
            assert_eq!(bytes.len(), length, "{value}");
        }
    }

    proptest! {
        #[test]
        fn length_encoded_integers_survive_and_cannot_be_cut(
            value in prop_oneof![any::<u64>(), (0..EDGES.len()).prop_map(|edge| EDGES[edge].0)],
        ) {
            let mut bytes = Vec::new();
            append_lenenc_int(&mut bytes, value);
            let mut reader = PayloadReader::new(&bytes, "a test");
            prop_assert_eq!(reader.lenenc_int(), Ok(value));
            prop_assert_eq!(reader.finish(), Ok(()));
            for cut in 0..bytes.len() {
                let error = PayloadReader::new(&bytes[..cut], "a test").lenenc_int();
                prop_assert_eq!(error, Err(Violation::Truncated { packet: "a test" }));
            }
        }
    }

    #[test]
    fn bytes_that_begin_no_integer_are_refused() {
        for byte in [0xfb, 0xff] {
            let error = PayloadReader::new(&[byte], "a test").lenenc_int();
            let packet = "a length-encoded integer";
            assert_eq!(error, Err(Violation::UnexpectedByte { packet, byte }));
        }
    }

    #[test]
    fn a_length_beyond_the_payload_is_refused() {
        for length in [2_u64, 1 << 20, u64::MAX] {
            let mut bytes = Vec::new();
            append_lenenc_int(&mut bytes, length);
            bytes.push(b'x');
            let error = PayloadReader::new(&bytes, "a test").lenenc_bytes();
            assert_eq!(error, Err(Violation::Truncated { packet: "a test" }));
        }
    }
}
