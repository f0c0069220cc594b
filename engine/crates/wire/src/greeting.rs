//! The server's first packet (`Protocol::HandshakeV10`).

use crate::capability::{Capabilities, Status};
use crate::error::{Violation, WireError};
use crate::payload::PayloadReader;

/// The length of the scramble that passwords are hashed with.
pub(crate) const SCRAMBLE_LEN: usize = 20;
const SCRAMBLE_HEAD_LEN: usize = 8;
const PROTOCOL_VERSION: u8 = 10;

/// What MariaDB 10 and later put before their version, for replicas that cannot read two digits.
const MARIADB_PREFIX: &str = "5.5.5-";

/// What a server says of itself before anything else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Greeting {
    /// The version as sent, such as `8.0.33` or `5.5.5-10.11.5-MariaDB`.
    pub version: String,
    /// The connection's id in the server's process list.
    pub thread_id: u32,
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The number of the server's default collation (its low byte).
    pub charset: u8,
    /// The status flags.
    pub status: Status,
    /// The 20 random bytes to hash the password with.
    pub scramble: [u8; SCRAMBLE_LEN],
    /// The server's default authentication plugin; empty where it names none.
    pub plugin: String,
}

impl Greeting {
    /// Reads a greeting's payload.
    ///
    /// # Errors
    /// [`WireError::NotMySql`] if it does not begin with protocol version 10, [`Violation`] if it
    /// is cut short.
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut greeting = Self::default();
        greeting.read(payload)?;
        Ok(greeting)
    }

    /// The version without the `5.5.5-` that MariaDB 10 and later put before it.
    pub fn server_version(&self) -> &str {
        self.version
            .strip_prefix(MARIADB_PREFIX)
            .unwrap_or(&self.version)
    }

    /// Whether the version says MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// As [`Greeting::parse`], into the memory that is there.
    pub(crate) fn read(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let mut reader = PayloadReader::new(payload, "the greeting");
        if payload.first() != Some(&PROTOCOL_VERSION) {
            return Err(stranger(payload));
        }
        reader.u8()?;
        replace_lossy(&mut self.version, reader.until_nul_or_end());
        self.thread_id = reader.u32()?;
        let head: [u8; SCRAMBLE_HEAD_LEN] = reader.array()?;
        reader.u8()?;
        let low = reader.u16()?;
        self.capabilities = Capabilities::from_bits(u32::from(low));
        self.charset = 0;
        self.status = Status::default();
        self.plugin.clear();
        let tail = if reader.is_empty() {
            &[]
        } else {
            self.read_second_half(&mut reader, low)?
        };
        self.read_scramble(head, tail)
    }

    /// What follows the lower capability bits; returns the scramble's second part.
    fn read_second_half<'a>(
        &mut self,
        reader: &mut PayloadReader<'a>,
        low: u16,
    ) -> Result<&'a [u8], Violation> {
        self.charset = reader.u8()?;
        self.status = Status::from_bits(reader.u16()?);
        let high = reader.u16()?;
        self.capabilities = Capabilities::from_bits(u32::from(high) << 16 | u32::from(low));
        let announced_len = usize::from(reader.u8()?);
        reader.bytes(10)?;
        if !self.capabilities.contains(Capabilities::SECURE_CONNECTION) {
            return Ok(&[]);
        }
        let tail_len = announced_len.saturating_sub(SCRAMBLE_HEAD_LEN).max(13);
        let tail = reader.bytes(tail_len.min(reader.rest().len()))?;
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            replace_lossy(&mut self.plugin, reader.until_nul_or_end());
        }
        Ok(tail)
    }

    fn read_scramble(&mut self, head: [u8; 8], tail: &[u8]) -> Result<(), WireError> {
        self.scramble = [0; SCRAMBLE_LEN];
        let (start, end) = self.scramble.split_at_mut(SCRAMBLE_HEAD_LEN);
        start.copy_from_slice(&head);
        if self.capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let tail = tail.get(..end.len()).ok_or(Violation::Truncated {
                packet: "the greeting",
            })?;
            end.copy_from_slice(tail);
        }
        Ok(())
    }
}

fn replace_lossy(text: &mut String, bytes: &[u8]) {
    text.clear();
    text.push_str(&String::from_utf8_lossy(bytes));
}

/// The error for a peer that opened with `bytes`.
pub(crate) fn stranger(bytes: &[u8]) -> WireError {
    const SHOWN_BYTES: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let looks_like = BANNERS
        .iter()
        .find(|(start, _)| bytes.starts_with(start))
        .map(|&(_, name)| name);
    WireError::NotMySql {
        banner: format!("\"{}\"", shown.escape_ascii()),
        looks_like,
    }
}

/// How other protocols open. MySQL's X Protocol (port 33060) opens with a notice, type 11.
const BANNERS: [(&[u8], &str); 7] = [
    (b"SSH-", "SSH"),
    (b"HTTP", "HTTP"),
    (b"220", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (
        b"\x0b\x08\x05",
        "MySQL's X Protocol; the classic protocol is on another port",
    ),
    (
        b"\x15\x03",
        "a TLS alert; it expects TLS from the first byte",
    ),
];
