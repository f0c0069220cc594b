//! Packets into compressed packets.

use std::fmt;

use flate2::{Compress, Compression, FlushCompress, Status};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use super::{Algorithm, HEADER_LEN, LEAST_BYTES, MOST_BYTES, ZLIB_LEVEL, ZSTD_LEVEL};
use crate::error::WireError;

enum Codec {
    Zlib(Box<Compress>),
    Zstd(Compressor<'static>),
}

/// Compresses one connection's commands; once its memory has grown it allocates none for the next.
pub struct Packer {
    codec: Codec,
    packed: Vec<u8>,
}

impl Packer {
    /// One for a connection that agreed on `algorithm`.
    ///
    /// # Errors
    /// [`WireError::Compressor`] where there is no memory for it.
    pub fn new(algorithm: Algorithm) -> Result<Self, WireError> {
        let codec = match algorithm {
            Algorithm::Zlib => {
                Codec::Zlib(Box::new(Compress::new(Compression::new(ZLIB_LEVEL), true)))
            }
            Algorithm::Zstd => Codec::Zstd(
                Compressor::new(i32::from(ZSTD_LEVEL)).map_err(|_| WireError::Compressor)?,
            ),
        };
        Ok(Self {
            codec,
            packed: Vec::new(),
        })
    }

    /// Appends a whole command's packets to `out` as compressed packets, numbered from 0. Returns the
    /// number of the one that comes next, which is the first of the answer's.
    ///
    /// What is short, or would not become shorter, is put in as it is.
    ///
    /// # Errors
    /// [`WireError::Compressor`] where there is no memory for it.
    pub fn pack(&mut self, packets: &[u8], out: &mut Vec<u8>) -> Result<u8, WireError> {
        let mut sequence = 0_u8;
        for chunk in packets.chunks(MOST_BYTES) {
            self.packed.clear();
            if chunk.len() >= LEAST_BYTES {
                self.compress(chunk)?;
            }
            if self.packed.is_empty() || self.packed.len() >= chunk.len() {
                append(out, sequence, 0, chunk);
            } else {
                append(out, sequence, chunk.len(), &self.packed);
            }
            sequence = sequence.wrapping_add(1);
        }
        Ok(sequence)
    }

    /// Compresses `chunk` to `packed`, which stays empty where it would not become shorter.
    fn compress(&mut self, chunk: &[u8]) -> Result<(), WireError> {
        match &mut self.codec {
            Codec::Zlib(zlib) => {
                zlib.reset();
                self.packed.reserve(chunk.len());
                let ended = zlib
                    .compress_vec(chunk, &mut self.packed, FlushCompress::Finish)
                    .map_err(|_| WireError::Compressor)?;
                if ended != Status::StreamEnd {
                    self.packed.clear();
                }
            }
            Codec::Zstd(zstd) => {
                self.packed.reserve(compress_bound(chunk.len()));
                zstd.compress_to_buffer(chunk, &mut self.packed)
                    .map_err(|_| WireError::Compressor)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Packer").finish_non_exhaustive()
    }
}

/// Appends one compressed packet; `plain_len` is 0 where `content` is not compressed.
fn append(out: &mut Vec<u8>, sequence: u8, plain_len: usize, content: &[u8]) {
    let [low, middle, high, ..] = content.len().to_le_bytes();
    out.extend_from_slice(&[low, middle, high, sequence]);
    out.extend_from_slice(&plain_len.to_le_bytes()[..HEADER_LEN - 4]);
    out.extend_from_slice(content);
}
