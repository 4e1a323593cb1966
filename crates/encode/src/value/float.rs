//! Floats.

use tracelake_core::fault::Fault;

/// Powers of ten that an `f64` holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Reads a decimal number as C prints `%g`, rounded correctly.
///
/// Accepts what [`str::parse`] accepts, without a leading `+`, `inf`, `nan`, and what overflows.
///
/// ```
/// use tracelake_core::fault::Fault;
/// use tracelake_encode::value::float;
/// assert_eq!(float(b"2.861e-06"), Ok(2.861e-6));
/// assert_eq!(float(b"inf"), Err(Fault::NotNumber));
/// assert_eq!(float(b"1e999"), Err(Fault::Overflow));
/// ```
///
/// # Errors
/// [`Fault::NotNumber`] or [`Fault::Overflow`]. An empty field is not a number.
pub fn float(field: &[u8]) -> Result<f64, Fault> {
    match short_float(field) {
        Some(value) => Ok(value),
        None => any_float(field),
    }
}

/// Up to here, an `f64` holds every integer exactly.
const EXACT_INTEGERS: u64 = 1 << 53;

/// More digits than a number of the common case has.
const MOST_DIGITS: i32 = 40;

/// The common case: digits that make an exact integer and a small exponent, where one multiplication or
/// division of two exact numbers is correctly rounded (Clinger, 1990). `None` says nothing.
fn short_float(field: &[u8]) -> Option<f64> {
    let (negative, rest) = match field {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut mantissa, mut digits, mut point) = (0_u64, 0, None);
    let mut at = 0;
    while at < rest.len() {
        let digit = rest[at].wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + u64::from(digit);
            digits += 1;
            // Zeros at the start are digits, but don't make the number longer.
            if mantissa > EXACT_INTEGERS || digits > MOST_DIGITS {
                return None;
            }
        } else if rest[at] == b'.' && point.is_none() {
            point = Some(digits);
        } else {
            break;
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    let mut exponent = match point {
        Some(point) => point - digits,
        None => 0,
    };
    match rest[at..] {
        [] => {}
        [b'e', sign @ (b'+' | b'-'), tens, ones] => {
            let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
            if tens > 9 || ones > 9 {
                return None;
            }
            let written = i32::from(tens) * 10 + i32::from(ones);
            exponent += if sign == b'-' { -written } else { written };
        }
        _ => return None,
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
    let mantissa = mantissa as f64;
    let power = *EXACT_POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
    let value = if exponent < 0 {
        mantissa / power
    } else {
        mantissa * power
    };
    Some(if negative { -value } else { value })
}

/// The plain twin, for every form.
fn any_float(field: &[u8]) -> Result<f64, Fault> {
    let numeric = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    if field.first() == Some(&b'+') || !field.iter().all(numeric) {
        return Err(Fault::NotNumber);
    }
    let text = str::from_utf8(field).map_err(|_| Fault::NotNumber)?;
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(Fault::Overflow),
        Err(_) => Err(Fault::NotNumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the traces take the short way; those that it can't round correctly don't.
    #[test]
    fn common_numbers_are_short() {
        for (text, value) in [
            ("0", 0.0),
            ("-0.02861", -0.02861),
            ("2.861e-06", 2.861e-6),
            ("9007199254740992", 9_007_199_254_740_992.0),
            ("1e+22", 1e22),
            ("5e-22", 5e-22),
            ("1.e+09", 1e9),
        ] {
            assert_eq!(short_float(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "9007199254740993",
            "1e+23",
            "5e-23",
            "1.5.5",
            "1e+a0",
            "1e+0a",
            "1e+:0",
            "1e+0:",
            "1e5",
            ".",
            "e+05",
            "-",
        ] {
            assert_eq!(short_float(text.as_bytes()), None, "{text}");
        }
        let zeros =
            |digits: usize| short_float(format!("0.{:0<1$}e+18", "", digits - 1).as_bytes());
        assert_eq!((zeros(40), zeros(41)), (Some(0.0), None));
    }
}
