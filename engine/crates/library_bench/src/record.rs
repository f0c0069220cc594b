//! Application data that the client seals and the server opens.

use tlstax_tls::{Library, Negotiated, TlsError};

use crate::handshake::{Connected, connect};
use crate::sides::Sides;
use crate::subject::{Contexts, Subject};

/// How many records, and how many bytes at the most, are sealed before they are opened: reading the clock takes
/// as long as a small record does.
const MOST_RECORDS: usize = 64;
const MOST_BYTES: usize = 128 << 10;

/// Records of one size on one connection.
pub struct Record {
    ends: Connected,
    negotiated: Negotiated,
    data: Vec<u8>,
    opened: Vec<u8>,
    in_a_row: u64,
}

impl Record {
    /// Connects, and makes the data.
    pub fn new(library: Library, contexts: &Contexts, size_bytes: usize) -> Result<Self, TlsError> {
        let ends = connect(library, contexts, None, &mut Sides::default())?;
        let in_a_row = (MOST_BYTES / size_bytes.max(1)).clamp(1, MOST_RECORDS);
        Ok(Self {
            negotiated: ends.client.negotiated(),
            ends,
            data: (0..251).cycle().take(size_bytes).collect(),
            opened: vec![0; size_bytes],
            in_a_row: in_a_row as u64,
        })
    }
}

impl Subject for Record {
    fn work(&mut self, sides: &mut Sides) -> Result<u64, TlsError> {
        let Connected { client, server } = &mut self.ends;
        let (data, opened, in_a_row) = (&self.data, &mut self.opened, self.in_a_row);
        sides.client(|| (0..in_a_row).try_for_each(|_| client.write(data)))?;
        let got = sides.server(|| {
            (0..in_a_row).try_fold(0, |sum, _| {
                server.read(opened).map(|count| sum + count.unwrap_or(0))
            })
        })?;
        if got as u64 == in_a_row * self.data.len() as u64 && self.opened == self.data {
            return Ok(in_a_row);
        }
        Err(TlsError::Library {
            operation: "reading a record",
            reason: format!("{got} bytes came, which are not those that were written"),
        })
    }

    fn negotiated(&self) -> Option<&Negotiated> {
        Some(&self.negotiated)
    }
}
