//! Values of the binary format as the text format would write them.
//!
//! Of the types that have no length of their own only those are here whose text is not much longer than what came; a
//! numeric of twelve bytes can have a hundred thousand digits.
//!
//! Encodings: the types' `*send` functions in PostgreSQL's sources (`src/backend/utils/adt`); what a double is
//! written like follows "Floating-Point Types" of its documentation, `extra_float_digits` being 1.

use std::fmt::Write as _;

use crate::error::{Violation, WireError};

/// OIDs of built-in types (`pg_type.dat` in PostgreSQL's sources), which never change.
pub(crate) mod oid {
    /// Of a placeholder: the server infers its type.
    pub(crate) const UNKNOWN: u32 = 0;
    pub(crate) const BOOL: u32 = 16;
    pub(crate) const BYTEA: u32 = 17;
    pub(crate) const CHAR: u32 = 18;
    pub(crate) const NAME: u32 = 19;
    pub(crate) const INT8: u32 = 20;
    pub(crate) const INT2: u32 = 21;
    pub(crate) const INT4: u32 = 23;
    pub(crate) const TEXT: u32 = 25;
    pub(crate) const OID: u32 = 26;
    pub(crate) const JSON: u32 = 114;
    pub(crate) const FLOAT4: u32 = 700;
    pub(crate) const FLOAT8: u32 = 701;
    pub(crate) const UNKNOWN_TEXT: u32 = 705;
    pub(crate) const BPCHAR: u32 = 1042;
    pub(crate) const VARCHAR: u32 = 1043;
    pub(crate) const UUID: u32 = 2950;
}

/// Reads one value that is not NULL.
pub(crate) fn text_of_binary(kind: u32, value: &[u8]) -> Result<String, WireError> {
    let text = match kind {
        oid::BOOL => match array(value, "a boolean")? {
            [0] => "f".into(),
            [_] => "t".into(),
        },
        oid::INT2 => i16::from_be_bytes(array(value, "a smallint")?).to_string(),
        oid::INT4 => i32::from_be_bytes(array(value, "an integer")?).to_string(),
        oid::INT8 => i64::from_be_bytes(array(value, "a bigint")?).to_string(),
        oid::OID => u32::from_be_bytes(array(value, "an oid")?).to_string(),
        oid::FLOAT4 => float(
            f32::from_be_bytes(array(value, "a real")?),
            SINGLE_PRECISION,
        ),
        oid::FLOAT8 => float(
            f64::from_be_bytes(array(value, "a double")?),
            DOUBLE_PRECISION,
        ),
        oid::UUID => uuid(array(value, "a uuid")?),
        oid::BYTEA => value
            .iter()
            .copied()
            .fold("\\x".to_owned(), append_hexadecimal),
        oid::CHAR
        | oid::NAME
        | oid::TEXT
        | oid::UNKNOWN_TEXT
        | oid::BPCHAR
        | oid::VARCHAR
        | oid::JSON => String::from_utf8_lossy(value).into_owned(),
        other => return Err(WireError::ColumnType(other)),
    };
    Ok(text)
}

fn array<const N: usize>(value: &[u8], what: &'static str) -> Result<[u8; N], Violation> {
    value.try_into().map_err(|_| Violation::ValueLength(what))
}

fn append_hexadecimal(mut text: String, byte: u8) -> String {
    // Writing to a string cannot fail.
    let _ = write!(text, "{byte:02x}");
    text
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (place, byte) in bytes.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text = append_hexadecimal(text, byte);
    }
    text
}

/// From this decimal exponent on a number is written with one (`float8out`, `float4out`).
const DOUBLE_PRECISION: i32 = 15;
const SINGLE_PRECISION: i32 = 6;

/// The shortest text that reads back as the same number; with an exponent of two digits or more where it is below
/// -4 or not below `precision`.
fn float(number: impl std::fmt::LowerExp, precision: i32) -> String {
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return match scientific.as_str() {
            "inf" => "Infinity".into(),
            "-inf" => "-Infinity".into(),
            _ => "NaN".into(),
        };
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < -4 || exponent >= precision {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let digits = digits.replace('.', "");
    let Ok(whole_digits) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    if whole_digits == 0 {
        return format!("{sign}0.{digits}");
    }
    if digits.len() <= whole_digits {
        return format!("{sign}{digits:0<whole_digits$}");
    }
    let (whole, fraction) = digits.split_at(whole_digits);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `SELECT` shows them in PostgreSQL 15.
    #[test]
    fn floating_point_numbers_are_written_as_the_server_does() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (123_456.789, "123456.789"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            let binary = number.to_be_bytes();
            assert_eq!(text_of_binary(oid::FLOAT8, &binary).as_deref(), Ok(text));
        }
        for (number, text) in [(0.1_f32, "0.1"), (123_456.0, "123456"), (1e6, "1e+06")] {
            let binary = number.to_be_bytes();
            assert_eq!(text_of_binary(oid::FLOAT4, &binary).as_deref(), Ok(text));
        }
    }

    #[test]
    fn other_values_are_written_as_the_server_does() {
        for (kind, binary, text) in [
            (oid::BOOL, &[1][..], "t"),
            (oid::BOOL, &[0], "f"),
            (oid::INT2, &[0xff, 0xfe], "-2"),
            (oid::INT4, &[0, 0, 1, 0], "256"),
            (oid::INT8, &[0xff; 8], "-1"),
            (oid::OID, &[0xff; 4], "4294967295"),
            (oid::BYTEA, &[0, 0xab], "\\x00ab"),
            (oid::VARCHAR, "gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
            (oid::TEXT, &[b'a', 0xff], "a\u{fffd}"),
            (
                oid::UUID,
                &[0x12; 16],
                "12121212-1212-1212-1212-121212121212",
            ),
        ] {
            assert_eq!(text_of_binary(kind, binary).as_deref(), Ok(text));
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        let short = text_of_binary(oid::INT4, &[0; 3]);
        assert_eq!(short, Err(Violation::ValueLength("an integer").into()));
        let strange = text_of_binary(1700, &[0; 8]);
        assert_eq!(strange, Err(WireError::ColumnType(1700)));
    }
}
