//! The compressed protocol over a connection's bytes, and how many bytes there are before it and after.

use tlstax_client::Failure;
use tlstax_contract::CompressedBytes;
use tlstax_wire::{Algorithm, Packer, Unpacked, Unpacker};

/// As much as is read from the carrier at once, which is as much as a TLS record holds; each connection has its own, since a compressed packet may
/// arrive in pieces.
const READ_BYTES: usize = 16 << 10;

/// What stands between a connection's packets and what carries them.
#[derive(Debug)]
pub struct Compressed {
    packer: Packer,
    unpacker: Unpacker,
    outgoing: Vec<u8>,
    written: usize,
    incoming: Vec<u8>,
    unread: (usize, usize),
    bytes: CompressedBytes,
}

impl Compressed {
    /// Both directions of a connection that agreed on `algorithm`.
    ///
    /// # Errors
    /// No memory for it.
    pub fn new(algorithm: Algorithm) -> Result<Self, Failure> {
        Ok(Self {
            packer: Packer::new(algorithm)?,
            unpacker: Unpacker::new(algorithm)?,
            outgoing: Vec::new(),
            written: 0,
            incoming: vec![0; READ_BYTES],
            unread: (0, 0),
            bytes: CompressedBytes::default(),
        })
    }

    /// What is to be written for a command; it is compressed when it is first asked for.
    ///
    /// # Errors
    /// No memory for it.
    pub fn outgoing(&mut self, command: &[u8]) -> Result<&[u8], Failure> {
        if self.outgoing.is_empty() {
            let answer = self.packer.pack(command, &mut self.outgoing)?;
            self.unpacker.expect(answer);
            self.bytes.plain_sent += command.len() as u64;
            self.bytes.packed_sent += self.outgoing.len() as u64;
        }
        Ok(&self.outgoing[self.written..])
    }

    /// N bytes of it were written; whether that was all.
    pub fn wrote(&mut self, count: usize) -> bool {
        self.written += count;
        if self.written < self.outgoing.len() {
            return false;
        }
        self.outgoing.clear();
        self.written = 0;
        true
    }

    /// Fills `buffer` from what has arrived; 0 where more has to be read first.
    ///
    /// # Errors
    /// What the server sent is not compressed as it says.
    pub fn take(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let (begin, end) = self.unread;
        let Unpacked { taken, given } = self.unpacker.unpack(&self.incoming[begin..end], buffer)?;
        self.unread.0 += taken;
        self.bytes.packed_received += taken as u64;
        self.bytes.plain_received += given as u64;
        Ok(given)
    }

    /// Where to read to, once all that arrived was taken.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.incoming
    }

    /// N bytes were read there.
    pub fn arrived(&mut self, count: usize) {
        self.unread = (0, count);
    }

    /// Bytes before and after compression, so far.
    pub fn bytes(&self) -> CompressedBytes {
        self.bytes
    }
}
