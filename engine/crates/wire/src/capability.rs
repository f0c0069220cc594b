//! The capability and status bits of the protocol, as types.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// What a client and a server can do: the capability flags of the greeting and of the answer to it.
///
/// The meaning of each bit: MySQL source documentation, "Capabilities Flags" (`CLIENT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u32);

impl Capabilities {
    /// `CLIENT_LONG_PASSWORD`; MariaDB servers leave it out, a MySQL client always sets it.
    pub const LONG_PASSWORD: Self = Self(1);
    /// `CLIENT_LONG_FLAG`: column flags of two bytes.
    pub const LONG_FLAG: Self = Self(1 << 2);
    /// `CLIENT_CONNECT_WITH_DB`: the login names a database.
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    /// `CLIENT_COMPRESS`: packets are compressed with zlib after the login.
    pub const COMPRESS: Self = Self(1 << 5);
    /// `CLIENT_PROTOCOL_41`: the protocol since MySQL 4.1, the only one spoken here.
    pub const PROTOCOL_41: Self = Self(1 << 9);
    /// `CLIENT_SSL`: TLS can be started after the greeting.
    pub const SSL: Self = Self(1 << 11);
    /// `CLIENT_TRANSACTIONS`: status flags in OK packets.
    pub const TRANSACTIONS: Self = Self(1 << 13);
    /// `CLIENT_SECURE_CONNECTION`: authentication by a scramble of 20 bytes.
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    /// `CLIENT_MULTI_RESULTS`: one statement may return several results (CALL).
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    /// `CLIENT_PS_MULTI_RESULTS`: the same for prepared statements.
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    /// `CLIENT_PLUGIN_AUTH`: authentication plugins are named.
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    /// `CLIENT_CONNECT_ATTRS`: the login carries connection attributes.
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    /// `CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA`: authentication data has a length-encoded length.
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    /// `CLIENT_DEPRECATE_EOF`: result sets end with an OK packet, and no EOF follows the columns.
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    /// `CLIENT_ZSTD_COMPRESSION_ALGORITHM`: the same with Zstandard, at a level that the client says.
    pub const ZSTD_COMPRESSION: Self = Self(1 << 26);

    /// The flags from their bits as they stand on the wire.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The bits as they stand on the wire.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether every flag of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Capabilities {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Capabilities {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Capabilities {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The server's status flags (`SERVER_STATUS_*`), as OK, EOF and the greeting carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status(u16);

impl Status {
    /// `SERVER_STATUS_IN_TRANS`: a transaction is open.
    pub const IN_TRANSACTION: Self = Self(1);
    /// `SERVER_STATUS_AUTOCOMMIT`: autocommit is on.
    pub const AUTOCOMMIT: Self = Self(1 << 1);
    /// `SERVER_MORE_RESULTS_EXISTS`: another result of the same statement follows.
    pub const MORE_RESULTS: Self = Self(1 << 3);

    /// The flags from their bits as they stand on the wire.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits as they stand on the wire.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether every flag of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
