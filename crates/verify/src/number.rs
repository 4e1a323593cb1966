//! Numbers by the rules of `docs/limits.md`, implemented again: the converter's code isn't used.

/// Reads an integer: decimal digits after an optional minus, within 64 bits. Leading zeros and `-0`
/// are allowed.
pub(super) fn integer(text: &str) -> Option<i64> {
    digits(text.strip_prefix('-').unwrap_or(text)).then_some(())?;
    text.parse().ok()
}

/// Reads an integer within 32 bits.
pub(super) fn code(text: &str) -> Option<i32> {
    i32::try_from(integer(text)?).ok()
}

/// Reads a float: digits with an optional minus, an optional point and an optional exponent; the
/// value is finite.
pub(super) fn float(text: &str) -> Option<f64> {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match plain.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (plain, None),
    };
    let mantissa = match mantissa.split_once('.') {
        Some((whole, "")) => digits(whole),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(mantissa),
    };
    let exponent =
        exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    let value: f64 = text.parse().ok().filter(|_| mantissa && exponent)?;
    value.is_finite().then_some(value)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use tracelake_encode::value;

    use super::*;

    /// The two implementations of the documented rule agree, verdict and bits.
    #[test]
    fn the_rule_is_the_converters() {
        let signs = ["", "-", "+", " ", "--"];
        let bodies = [
            "",
            "0",
            "00",
            "007",
            "7",
            "1.0",
            "0.",
            ".5",
            ".",
            "5.e3",
            "1e3",
            "1E+3",
            "1e-3",
            "1e",
            "e3",
            "1e999",
            "1e-999",
            "2.861e-06",
            "0x1F",
            "1_000",
            "nan",
            "inf",
            "infinity",
            "1.5.2",
            "1 ",
            "2147483647",
            "2147483648",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "000000000000000000000000000001",
            "0.1000000000000000055511151231257827",
            "1,5",
            "٣",
            "1e1e1",
            "1-",
            "",
        ];
        for text in signs
            .iter()
            .flat_map(|sign| bodies.map(|body| format!("{sign}{body}")))
        {
            let bytes = text.as_bytes();
            assert_eq!(integer(&text), value::integer(bytes).ok(), "{text}");
            assert_eq!(code(&text), value::code(bytes).ok(), "{text}");
            let ours = float(&text).map(f64::to_bits);
            assert_eq!(ours, value::float(bytes).ok().map(f64::to_bits), "{text}");
        }
    }
}
