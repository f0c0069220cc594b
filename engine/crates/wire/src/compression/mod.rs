//! The compressed protocol: what both sides send from the server's OK on, where they agreed to compress.
//!
//! Packets are put into compressed packets: seven bytes of header (the length that follows, a number, the
//! length before compression), then one complete zlib stream or zstd frame. A length of 0 before compression
//! means that the packets follow as they are. The numbers begin at 0 with each command. (MySQL source
//! documentation, "Compression", and "Compressed Packet".)

mod pack;
mod unpack;

pub use pack::Packer;
pub use unpack::{Unpacked, Unpacker};

use crate::capability::Capabilities;

const HEADER_LEN: usize = 7;
/// No compressed packet holds more bytes, before or after compression: the lengths have three bytes.
const MOST_BYTES: usize = 0xff_ffff;
/// Less than this is sent as it is (`MIN_COMPRESS_LENGTH` in MySQL's and MariaDB's sources).
const LEAST_BYTES: usize = 50;

/// How packets are compressed, at the levels that MySQL's own client uses unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// zlib (RFC 1950), level 6; every server since MySQL 3.22.
    Zlib,
    /// Zstandard (RFC 8878), level 3; MySQL 8.0.18 and later.
    Zstd,
}

/// zlib's default, which both servers use as well.
const ZLIB_LEVEL: u32 = 6;
/// MySQL's default; the client says it to the server, which compresses by it.
pub(crate) const ZSTD_LEVEL: u8 = 3;

impl Algorithm {
    /// The name that MySQL's own options have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    /// The capability by which a server offers it, and a client takes it.
    pub(crate) fn capability(self) -> Capabilities {
        match self {
            Self::Zlib => Capabilities::COMPRESS,
            Self::Zstd => Capabilities::ZSTD_COMPRESSION,
        }
    }

    /// The one that was agreed on; none where packets are sent as they are.
    pub fn agreed(capabilities: Capabilities) -> Option<Self> {
        [Self::Zstd, Self::Zlib]
            .into_iter()
            .find(|algorithm| capabilities.contains(algorithm.capability()))
    }
}
