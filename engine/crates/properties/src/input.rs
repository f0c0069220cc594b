//! How an input is read: options, cuts, and then the payloads that the server sends.

use arbitrary::Unstructured;
use tlstax_wire::append_packet;
use tlstax_wire_pg::append_message;

/// The option that all targets have: the server's payloads get headers with the right lengths and
/// numbers, instead of being sent as they are.
pub(crate) const FRAMED: u8 = 1;
/// The bit of a payload's length that says that the server goes on without waiting for an answer.
pub(crate) const MORE_FOLLOWS: u16 = 0x8000;
/// How many lengths of pieces an input names; they are used over and over.
pub(crate) const CUTS: usize = 6;

/// One input, read from the front.
pub(crate) struct Input<'a> {
    pub(crate) options: u8,
    pub(crate) cuts: [u8; CUTS],
    rest: Unstructured<'a>,
}

impl<'a> Input<'a> {
    /// None where there is not even a beginning.
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let mut rest = Unstructured::new(data);
        let options = rest.bytes(1).ok()?[0];
        let cuts = rest.bytes(CUTS).ok()?.try_into().ok()?;
        Some(Self {
            options,
            cuts,
            rest,
        })
    }

    /// Whether an option is on.
    pub(crate) fn has(&self, option: u8) -> bool {
        self.options & option != 0
    }

    /// The bytes up to the next length's end; fewer where the input ends before.
    pub(crate) fn short_bytes(&mut self) -> &'a [u8] {
        let length = self
            .rest
            .arbitrary()
            .map_or(0, |length: u8| usize::from(length));
        self.take(length)
    }

    /// A text of up to 255 bytes; bytes that are not UTF-8 are replaced.
    pub(crate) fn short_text(&mut self) -> String {
        String::from_utf8_lossy(self.short_bytes()).into_owned()
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        self.rest
            .bytes(length.min(self.rest.len()))
            .unwrap_or_default()
    }

    /// What is left, to be drawn from freely.
    pub(crate) fn into_rest(self) -> Unstructured<'a> {
        self.rest
    }

    /// The next payload, and whether more follows without an answer; none at the end.
    pub(crate) fn payload(&mut self) -> Option<(&'a [u8], bool)> {
        let header = self.rest.bytes(2).ok()?;
        let header = u16::from_le_bytes([header[0], header[1]]);
        let payload = self.take(usize::from(header & !MORE_FOLLOWS));
        Some((payload, header & MORE_FOLLOWS != 0))
    }

    /// What the server sends in one go, its first packet numbered `sequence`; and the number that
    /// its next packet would have. None at the end.
    pub(crate) fn turn(&mut self, mut sequence: u8) -> Option<(Vec<u8>, u8)> {
        let framed = self.has(FRAMED);
        let mut bytes = Vec::new();
        let (mut payload, mut more) = self.payload()?;
        loop {
            if framed {
                sequence = append_packet(&mut bytes, sequence, payload);
            } else {
                bytes.extend_from_slice(payload);
            }
            if !more {
                return Some((bytes, sequence));
            }
            let Some(next) = self.payload() else {
                return Some((bytes, sequence));
            };
            (payload, more) = next;
        }
    }

    /// What a PostgreSQL server sends in one go: messages, whose types are the payloads' first bytes, or, with
    /// `is_raw`, the payloads as they are. None at the end.
    pub(crate) fn pg_turn(&mut self, is_raw: bool) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let (mut payload, mut more) = self.payload()?;
        loop {
            match payload.split_first() {
                Some((&kind, body)) if self.has(FRAMED) && !is_raw => {
                    let append = |out: &mut Vec<u8>| {
                        out.extend_from_slice(body);
                        Ok(())
                    };
                    append_message(&mut bytes, kind, append).expect("a short message");
                }
                _ => bytes.extend_from_slice(payload),
            }
            if !more {
                return Some(bytes);
            }
            let Some(next) = self.payload() else {
                return Some(bytes);
            };
            (payload, more) = next;
        }
    }

    /// All payloads as one answer.
    pub(crate) fn answer(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sequence = 1;
        while let Some((payload, _)) = self.payload() {
            if self.has(FRAMED) {
                sequence = append_packet(&mut bytes, sequence, payload);
            } else {
                bytes.extend_from_slice(payload);
            }
        }
        bytes
    }
}

/// The pieces in which `bytes` arrive: each as long as the next of `cuts` says, over and over, 0
/// being a piece of nothing. Cuts that are all 0 leave the bytes whole.
pub(crate) fn pieces(bytes: &[u8], cuts: [u8; CUTS]) -> impl Iterator<Item = &[u8]> {
    let is_whole = cuts == [0; CUTS];
    let mut lengths = cuts.into_iter().map(usize::from).cycle();
    let mut rest = Some(bytes).filter(|bytes| !bytes.is_empty());
    std::iter::from_fn(move || {
        let left = rest?;
        let length = if is_whole {
            left.len()
        } else {
            lengths.next()?
        };
        let (piece, after) = left.split_at(length.min(left.len()));
        rest = Some(after).filter(|after| !after.is_empty());
        Some(piece)
    })
}

/// Bytes that arrive at once.
pub(crate) const WHOLE: [u8; CUTS] = [0; CUTS];
