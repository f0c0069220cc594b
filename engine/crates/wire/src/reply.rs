//! The small packets a server answers with: OK, EOF and ERR.

use crate::capability::Status;
use crate::error::{ServerError, Violation};
use crate::payload::PayloadReader;

pub(crate) const OK_HEADER: u8 = 0x00;
pub(crate) const EOF_HEADER: u8 = 0xfe;
pub(crate) const ERR_HEADER: u8 = 0xff;

/// An EOF packet is shorter than this; a row that begins with the same byte never is.
const EOF_MAX_LEN: usize = 9;

/// No server's message is longer (`MYSQL_ERRMSG_SIZE` in MySQL's sources).
const MAX_MESSAGE_LEN: usize = 512;

/// What an OK packet, or the end of a result set, says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) status: Status,
    pub(crate) warnings: u16,
}

/// Reads an OK packet; its header byte may be 0x00 or, at the end of a result set, 0xfe. The
/// message and session state behind the counters are not read.
pub(crate) fn read_ok(payload: &[u8]) -> Result<Outcome, Violation> {
    let mut reader = PayloadReader::new(payload, "an OK packet");
    reader.u8()?;
    Ok(Outcome {
        affected_rows: reader.lenenc_int()?,
        last_insert_id: reader.lenenc_int()?,
        status: Status::from_bits(reader.u16()?),
        warnings: reader.u16()?,
    })
}

/// Whether a payload is an EOF packet, going by its first byte and length.
pub(crate) fn is_eof(first: u8, length: usize) -> bool {
    first == EOF_HEADER && length < EOF_MAX_LEN
}

/// Reads an EOF packet.
pub(crate) fn read_eof(payload: &[u8]) -> Result<Outcome, Violation> {
    let mut reader = PayloadReader::new(payload, "an EOF packet");
    reader.u8()?;
    let warnings = reader.u16()?;
    let status = Status::from_bits(reader.u16()?);
    Ok(Outcome {
        status,
        warnings,
        ..Outcome::default()
    })
}

/// Reads an ERR packet. Before login a server leaves out the SQLSTATE. Of a message that is longer
/// than any server's the rest is left out.
pub(crate) fn read_err(payload: &[u8]) -> Result<ServerError, Violation> {
    let mut reader = PayloadReader::new(payload, "an ERR packet");
    reader.u8()?;
    let code = reader.u16()?;
    let sqlstate = match reader.rest() {
        [b'#', state @ ..] if state.len() >= 5 => {
            reader.bytes(6)?;
            Some(String::from_utf8_lossy(&state[..5]).into_owned())
        }
        _ => None,
    };
    let message = reader.rest();
    let message = &message[..message.len().min(MAX_MESSAGE_LEN)];
    let message = String::from_utf8_lossy(message).into_owned();
    Ok(ServerError {
        code,
        sqlstate,
        message,
        unasked: false,
    })
}
