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
