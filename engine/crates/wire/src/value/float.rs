//! Floating-point numbers as a MySQL-family server writes them.
//!
//! The rule is that of the server's `my_gcvt` and `my_fcvt` (strings/dtoa.cc): a column of fixed
//! decimals is written with them; any other number with the fewest digits that say it (FLOAT: at
//! most six), in plain notation while the decimal point is near, else as `1.5e20`.

/// The value of `decimals` that says "not fixed"; higher ones say the same.
const NOT_FIXED: u8 = 31;
/// How far from the first digit the decimal point may be in plain notation (`DBL_DIG`).
const MAX_POINT: i32 = 15;

/// A FLOAT.
pub(super) fn single(value: f32, decimals: u8) -> String {
    if decimals < NOT_FIXED {
        return fixed(value.into(), decimals);
    }
    general(&format!("{:.5e}", f64::from(value)))
}

/// A DOUBLE.
pub(super) fn double(value: f64, decimals: u8) -> String {
    if decimals < NOT_FIXED {
        return fixed(value, decimals);
    }
    // The server breaks a tie between two shortest forms to the even digit; `{:e}` does not, but
    // rounding to that many digits does.
    let shortest = format!("{value:e}");
    let digits = shortest
        .bytes()
        .take_while(|&byte| byte != b'e')
        .filter(u8::is_ascii_digit);
    general(&format!(
        "{value:.precision$e}",
        precision = digits.count().saturating_sub(1)
    ))
}

fn fixed(value: f64, decimals: u8) -> String {
    format!("{value:.precision$}", precision = usize::from(decimals))
}

/// Lays out what stands as `-d.ddde-x`; anything else (infinity) as it is.
fn general(scientific: &str) -> String {
    let (sign, unsigned) = match scientific.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", scientific),
    };
    let Some((mantissa, exponent)) = unsigned.split_once('e') else {
        return scientific.to_owned();
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return scientific.to_owned();
    };
    let digits = mantissa.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    format!("{sign}{}", lay_out(digits, exponent))
}

fn lay_out(digits: &str, exponent: i32) -> String {
    let point = exponent + 1;
    let point_is_inside = usize::try_from(point).is_ok_and(|point| digits.len() > point);
    if point < 1 - MAX_POINT || (point > MAX_POINT && !point_is_inside) {
        let (first, others) = digits.split_at(1);
        let dot = if others.is_empty() { "" } else { "." };
        return format!("{first}{dot}{others}e{exponent}");
    }
    match usize::try_from(point) {
        Ok(0) | Err(_) => {
            let zeros = usize::try_from(-point).unwrap_or(0);
            format!("0.{}{digits}", "0".repeat(zeros))
        }
        Ok(point) if digits.len() > point => {
            let (whole, fraction) = digits.split_at(point);
            format!("{whole}.{fraction}")
        }
        Ok(point) => format!("{digits:0<point$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MySQL 9.7, 8.0, 5.6 and MariaDB 10.1 to 11.8 answered, alike, in the text protocol.
    #[test]
    fn doubles_are_written_as_servers_write_them() {
        for (value, text) in [
            (0.0, "0"),
            (1e-5, "0.00001"),
            (1e-14, "0.00000000000001"),
            (1e-15, "0.000000000000001"),
            (1.5e-16, "1.5e-16"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123_456_789_012_345_678.0, "1.2345678901234568e17"),
            (-2.25e300, "-2.25e300"),
            (123_456_789.123, "123456789.123"),
            (1_234_567_890_123_456.5, "1234567890123456.5"),
            (-1_218_069.0 / 65_536.0, "-18.586257934570312"),
            (4.9e-324, "5e-324"),
        ] {
            assert_eq!(double(value, 31), text);
        }
        assert_eq!(double(2.345_67, 3), "2.346");
    }

    #[test]
    fn floats_have_at_most_six_digits() {
        for (value, text) in [
            (16_777_217.0, "16777200"),
            (1_234_567.0, "1234570"),
            (0.1, "0.1"),
            (3.4e38, "3.4e38"),
            (1e-40, "9.99995e-41"),
            (999_999.5, "1000000"),
        ] {
            assert_eq!(single(value, 31), text);
        }
        assert_eq!(single(2.5, 2), "2.50");
    }
}
