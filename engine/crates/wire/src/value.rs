//! Values of the binary protocol as the text protocol would write them.
//!
//! Encodings: MySQL source documentation, "Binary Protocol Resultset".

mod float;

use crate::error::Violation;
use crate::payload::PayloadReader;
use crate::row::Column;

const UNSIGNED_FLAG: u16 = 1 << 5;
const ZEROFILL_FLAG: u16 = 1 << 6;

/// `MYSQL_TYPE_*`, those of a length of their own.
mod kind {
    pub(super) const DECIMAL: u8 = 0;
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const BIT: u8 = 16;
    /// The first of those that are sent as strings: vector, JSON, decimal, enum, set, blobs, text.
    pub(super) const VECTOR: u8 = 242;
}

/// Reads one value that is not NULL.
pub(crate) fn text_of_binary(
    column: &Column,
    reader: &mut PayloadReader<'_>,
) -> Result<String, Violation> {
    match column.kind {
        kind::TINY => {
            let raw = reader.array()?;
            Ok(integer(
                column,
                u8::from_le_bytes(raw).into(),
                i8::from_le_bytes(raw).into(),
            ))
        }
        kind::SHORT | kind::YEAR => {
            let raw = reader.array()?;
            Ok(integer(
                column,
                u16::from_le_bytes(raw).into(),
                i16::from_le_bytes(raw).into(),
            ))
        }
        kind::LONG | kind::INT24 => {
            let raw = reader.array()?;
            Ok(integer(
                column,
                u32::from_le_bytes(raw).into(),
                i32::from_le_bytes(raw).into(),
            ))
        }
        kind::LONGLONG => {
            let raw = reader.array()?;
            Ok(integer(
                column,
                u64::from_le_bytes(raw),
                i64::from_le_bytes(raw),
            ))
        }
        kind::FLOAT => {
            let value = f32::from_le_bytes(reader.array()?);
            Ok(zero_filled(column, float::single(value, column.decimals)))
        }
        kind::DOUBLE => {
            let value = f64::from_le_bytes(reader.array()?);
            Ok(zero_filled(column, float::double(value, column.decimals)))
        }
        kind::DATE => read_date(reader).map(|(date, _)| date),
        kind::DATETIME | kind::TIMESTAMP => {
            let (date, time) = read_date(reader)?;
            Ok(format!("{date} {}", time.text(column.decimals)))
        }
        kind::TIME => read_time(reader, column.decimals),
        kind::DECIMAL | kind::VARCHAR | kind::BIT | kind::VECTOR.. => {
            let bytes = reader.lenenc_bytes()?;
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
        other => Err(Violation::ColumnType(other)),
    }
}

fn integer(column: &Column, unsigned: u64, signed: i64) -> String {
    let is_unsigned = column.flags & UNSIGNED_FLAG != 0;
    zero_filled(
        column,
        if is_unsigned {
            unsigned.to_string()
        } else {
            signed.to_string()
        },
    )
}

/// ZEROFILL columns are padded to their width, of which no number has more than 255.
fn zero_filled(column: &Column, text: String) -> String {
    if column.flags & ZEROFILL_FLAG == 0 {
        return text;
    }
    let width = column.length_bytes.min(255) as usize;
    format!("{text:0>width$}")
}

#[derive(Debug, Clone, Copy, Default)]
struct TimeOfDay {
    hours: u32,
    minutes: u8,
    seconds: u8,
    micros: u32,
}

impl TimeOfDay {
    /// `hh:mm:ss` with as many decimals as the column has, or, where it does not say, as needed.
    /// MySQL 5.5 alone says six decimals of expressions that it writes without when they are zero.
    fn text(self, decimals: u8) -> String {
        const MAX_DECIMALS: u8 = 6;
        let Self {
            hours,
            minutes,
            seconds,
            micros,
        } = self;
        let whole = format!("{hours:02}:{minutes:02}:{seconds:02}");
        let shown = if decimals > MAX_DECIMALS && micros == 0 {
            0
        } else {
            decimals.min(MAX_DECIMALS)
        };
        if shown == 0 {
            return whole;
        }
        let fraction = micros / 10_u32.pow(u32::from(MAX_DECIMALS - shown));
        format!("{whole}.{fraction:0width$}", width = usize::from(shown))
    }

    fn read(
        hours: u32,
        reader: &mut PayloadReader<'_>,
        with_micros: bool,
    ) -> Result<Self, Violation> {
        Ok(Self {
            hours,
            minutes: reader.u8()?,
            seconds: reader.u8()?,
            micros: if with_micros { reader.u32()? } else { 0 },
        })
    }
}

/// A date and, as far as it was sent, the time of day.
fn read_date(reader: &mut PayloadReader<'_>) -> Result<(String, TimeOfDay), Violation> {
    let length = reader.u8()?;
    if ![0, 4, 7, 11].contains(&length) {
        return Err(Violation::ValueLength("a date"));
    }
    if length == 0 {
        return Ok(("0000-00-00".to_owned(), TimeOfDay::default()));
    }
    let (year, month, day) = (reader.u16()?, reader.u8()?, reader.u8()?);
    let time = if length == 4 {
        TimeOfDay::default()
    } else {
        let hours = reader.u8()?;
        TimeOfDay::read(hours.into(), reader, length == 11)?
    };
    Ok((format!("{year:04}-{month:02}-{day:02}"), time))
}

/// A TIME: a span of up to 34 days, counted in hours where it is text.
fn read_time(reader: &mut PayloadReader<'_>, decimals: u8) -> Result<String, Violation> {
    let length = reader.u8()?;
    if ![0, 8, 12].contains(&length) {
        return Err(Violation::ValueLength("a time"));
    }
    if length == 0 {
        return Ok(TimeOfDay::default().text(decimals));
    }
    let sign = if reader.u8()? == 0 { "" } else { "-" };
    let days = reader.u32()?;
    let hours = days.saturating_mul(24).saturating_add(reader.u8()?.into());
    let time = TimeOfDay::read(hours, reader, length == 12)?;
    Ok(format!("{sign}{}", time.text(decimals)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: u8, decimals: u8, flags: u16, bytes: &[u8]) -> Result<String, Violation> {
        let column = Column {
            kind,
            flags,
            length_bytes: 4,
            decimals,
            charset: 63,
        };
        text_of_binary(&column, &mut PayloadReader::new(bytes, "a test"))
    }

    /// Encodings from "Binary Protocol Resultset" in the MySQL source documentation.
    #[test]
    fn dates_and_times_have_the_decimals_of_their_column() {
        let noon = [11, 0xe8, 7, 2, 29, 12, 0, 1, 0x47, 0x94, 0x03, 0];
        for (decimals, expected) in [
            (0, ""),
            (3, ".234"),
            (6, ".234567"),
            (31, ".234567"),
            (39, ".234567"),
        ] {
            let found = text(kind::DATETIME, decimals, 0, &noon);
            assert_eq!(found, Ok(format!("2024-02-29 12:00:01{expected}")));
        }
        let zero = text(kind::TIMESTAMP, 2, 0, &[0]);
        assert_eq!(zero, Ok("0000-00-00 00:00:00.00".to_owned()));
        assert_eq!(
            text(kind::DATETIME, 31, 0, &[4, 1, 0, 2, 3]),
            Ok("0001-02-03 00:00:00".into())
        );
        assert_eq!(
            text(kind::DATE, 0, 0, &[4, 1, 0, 2, 3]),
            Ok("0001-02-03".into())
        );
        let long_ago = [8, 1, 34, 0, 0, 0, 22, 59, 59];
        assert_eq!(text(kind::TIME, 0, 0, &long_ago), Ok("-838:59:59".into()));
        assert_eq!(text(kind::TIME, 1, 0, &[0]), Ok("00:00:00.0".into()));
    }

    #[test]
    fn numbers_obey_their_flags() {
        assert_eq!(text(kind::TINY, 0, 0, &[255]), Ok("-1".into()));
        assert_eq!(text(kind::TINY, 0, UNSIGNED_FLAG, &[255]), Ok("255".into()));
        assert_eq!(text(kind::SHORT, 0, 0, &[0, 128]), Ok("-32768".into()));
        assert_eq!(text(kind::LONG, 0, 0, &[255; 4]), Ok("-1".into()));
        assert_eq!(
            text(kind::LONGLONG, 0, UNSIGNED_FLAG, &[255; 8]),
            Ok(u64::MAX.to_string())
        );
        let year = text(kind::YEAR, 0, UNSIGNED_FLAG | ZEROFILL_FLAG, &[0, 0]);
        assert_eq!(year, Ok("0000".into()));
    }

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!(
            text(kind::DATE, 0, 0, &[5]),
            Err(Violation::ValueLength("a date"))
        );
        assert_eq!(
            text(kind::TIME, 0, 0, &[1]),
            Err(Violation::ValueLength("a time"))
        );
        assert_eq!(text(200, 0, 0, &[0; 9]), Err(Violation::ColumnType(200)));
        let cut = text(kind::TIME, 0, 0, &[12, 0, 1]);
        assert_eq!(cut, Err(Violation::Truncated { packet: "a test" }));
    }
}
