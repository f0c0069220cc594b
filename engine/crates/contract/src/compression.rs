//! Compression: what a job asks for, what both sides say of it, and the bytes before and after.

use serde::{Deserialize, Serialize};

/// How packets are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Not at all.
    #[default]
    Off,
    /// With zlib.
    Zlib,
    /// With Zstandard.
    Zstd,
}

impl Compression {
    #[allow(clippy::trivially_copy_pass_by_ref)] // what serde hands over
    /// Whether nothing is compressed.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// What both sides say of compression on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressionAgreed {
    /// What the client agreed on at login.
    pub client: Compression,
    /// The server's status variables of that session; none where it has no such variables.
    pub server: Option<ServerCompression>,
}

/// Compression as a server's status variables tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerCompression {
    /// There is none.
    Off,
    /// There is some; a server that knows only zlib does not name it.
    On,
    /// With zlib.
    Zlib,
    /// With Zstandard.
    Zstd,
}

/// Bytes of MySQL's packets before compression, and of the compressed packets that they became.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedBytes {
    /// Sent, before compression.
    pub plain_sent: u64,
    /// Sent, compressed, with the headers of compressed packets and before TLS.
    pub packed_sent: u64,
    /// Received, after decompression.
    pub plain_received: u64,
    /// Received, compressed, likewise.
    pub packed_received: u64,
}

impl CompressedBytes {
    /// What was added since an `earlier` count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            plain_sent: self.plain_sent - earlier.plain_sent,
            packed_sent: self.packed_sent - earlier.packed_sent,
            plain_received: self.plain_received - earlier.plain_received,
            packed_received: self.packed_received - earlier.packed_received,
        }
    }

    /// Adds others.
    pub fn add(&mut self, more: Self) {
        self.plain_sent += more.plain_sent;
        self.packed_sent += more.packed_sent;
        self.plain_received += more.plain_received;
        self.packed_received += more.packed_received;
    }
}
