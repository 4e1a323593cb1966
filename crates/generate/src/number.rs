//! Fields as text: what C prints for `%d` and `%.4g`, and hashes in base64.

use base64::Engine;
use base64::alphabet::STANDARD as STANDARD_ALPHABET;
use base64::engine::general_purpose::STANDARD;

use crate::random::mix;

/// The fractional bits of an [`Amount`].
const FRACTION: u32 = 20;

/// A measured amount in units of 2^-20 of the largest one, the granularity of published values.
///
/// Amounts are integers so that no rounding depends on a platform; they stay below 2^36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Amount(pub(crate) u64);

impl Amount {
    /// Keeps ten significant bits, as the publisher did.
    pub(crate) fn rounded(self) -> Self {
        let extra = (u64::BITS - self.0.leading_zeros()).saturating_sub(10);
        let half = if extra == 0 { 0 } else { 1 << (extra - 1) };
        Self((self.0 + half) >> extra << extra)
    }
}

/// Appends a decimal integer.
pub(crate) fn decimal(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = value;
    loop {
        start -= 1;
        digits[start] = digit(left % 10);
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number of hundredths without zeros at the end.
pub(crate) fn hundredths(out: &mut Vec<u8>, value: u64) {
    decimal(out, value / 100);
    let digits = [digit(value / 10), digit(value)];
    let kept = digits.iter().rposition(|&digit| digit != b'0');
    fraction(out, digits.get(..=kept.unwrap_or(2)).unwrap_or(&[]));
}

fn digit(value: u64) -> u8 {
    b'0' + u8::try_from(value % 10).unwrap_or(0)
}

/// Appends an amount as C's `%.4g` does: four significant digits, the exact value rounded half to
/// even, no zeros at the end, and an exponent below 10^-4 and from 10^4 on.
pub(crate) fn general(out: &mut Vec<u8>, amount: Amount) {
    if amount.0 == 0 {
        out.push(b'0');
        return;
    }
    let mut exponent = magnitude(amount);
    let mut digits = significand(amount, exponent);
    if digits == 10_000 {
        digits = 1000;
        exponent += 1;
    }
    let text = [
        digit(digits / 1000),
        digit(digits / 100),
        digit(digits / 10),
        digit(digits),
    ];
    let kept = text
        .iter()
        .rposition(|&digit| digit != b'0')
        .map_or(1, |last| last + 1);
    match exponent {
        0..4 => {
            let whole = usize::try_from(exponent + 1).unwrap_or(1);
            out.extend_from_slice(&text[..whole]);
            fraction(out, text.get(whole..kept).unwrap_or(&[]));
        }
        -4..0 => {
            out.extend_from_slice(&b"0.000"[..usize::try_from(1 - exponent).unwrap_or(2)]);
            out.extend_from_slice(&text[..kept]);
        }
        _ => {
            out.push(text[0]);
            fraction(out, &text[1..kept]);
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            let size = u64::from(exponent.unsigned_abs());
            out.extend_from_slice(&[digit(size / 10), digit(size)]);
        }
    }
}

fn fraction(out: &mut Vec<u8>, digits: &[u8]) {
    if !digits.is_empty() {
        out.push(b'.');
        out.extend_from_slice(digits);
    }
}

/// The largest `e` with `10^e <= amount`.
fn magnitude(amount: Amount) -> i32 {
    let mut exponent = -7;
    // 2^-20 is 9.5e-07; at each step `amount >= 10^(exponent + 1)` is decided in integers.
    while at_least(amount, exponent + 1) {
        exponent += 1;
    }
    exponent
}

fn at_least(amount: Amount, exponent: i32) -> bool {
    let power = 10_u128.pow(exponent.unsigned_abs());
    if exponent < 0 {
        u128::from(amount.0) * power >= 1 << FRACTION
    } else {
        u128::from(amount.0) >= power << FRACTION
    }
}

/// `amount * 10^(3 - exponent)`, rounded half to even: 1000 to 10000.
fn significand(amount: Amount, exponent: i32) -> u64 {
    let power = 10_u128.pow((3 - exponent).unsigned_abs());
    let (numerator, denominator) = if exponent <= 3 {
        (u128::from(amount.0) * power, 1 << FRACTION)
    } else {
        (u128::from(amount.0), power << FRACTION)
    };
    let (quotient, rest) = (numerator / denominator, numerator % denominator);
    let up = 2 * rest > denominator || (2 * rest == denominator && quotient % 2 == 1);
    u64::try_from(quotient + u128::from(up)).unwrap_or(0)
}

/// Appends what a SHA-256 in base64 looks like: 43 characters and one `=`. The same key gives the
/// same text; the text is random, not a digest, as there is nothing to hide.
pub(crate) fn hash(out: &mut Vec<u8>, key: u64) {
    let digits = STANDARD_ALPHABET.as_str().as_bytes();
    for part in 0..4 {
        let mut word = mix(key, part + 1);
        for _ in 0..if part == 3 { 9 } else { 11 } {
            out.push(digits[usize::try_from(word & 63).expect("below 64")]);
            word >>= 6;
        }
    }
    // 32 bytes leave four bits to the 43rd character; its two low bits are zero.
    let last = mix(key, 5) & 60;
    out.push(digits[usize::try_from(last).expect("below 64")]);
    out.push(b'=');
}

/// Appends bytes in base64.
pub(crate) fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
}

/// The share of item `index` when `total` is split among `count` items as evenly as integers allow.
pub(crate) fn split(total: u64, count: u64, index: u64) -> u64 {
    let up_to = |index: u64| u128::from(total) * u128::from(index) / u128::from(count);
    u64::try_from(up_to(index + 1) - up_to(index)).expect("a share of a u64 is a u64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn hundredths_end_in_no_zero() {
        for (value, text) in [
            (0, "0"),
            (5, "0.05"),
            (20, "0.2"),
            (3400, "34"),
            (4304, "43.04"),
        ] {
            let mut out = Vec::new();
            hundredths(&mut out, value);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn base64_is_padded() {
        // printf 7878004831005765473 | base64
        for (text, coded) in [
            ("7878004831005765473", "Nzg3ODAwNDgzMTAwNTc2NTQ3Mw=="),
            ("a", "YQ=="),
            ("ab", "YWI="),
            ("abc", "YWJj"),
        ] {
            let mut out = Vec::new();
            base64(&mut out, text.as_bytes());
            assert_eq!(out, coded.as_bytes());
        }
    }

    fn printed(units: u64) -> String {
        let mut out = Vec::new();
        general(&mut out, Amount(units));
        String::from_utf8(out).expect("ASCII")
    }

    /// Each right-hand side is what C prints with `printf("%.4g", units / 1048576.0)`.
    #[test]
    fn prints_what_c_prints() {
        for (units, text) in [
            (0, "0"),
            (1, "9.537e-07"),
            (2, "1.907e-06"),
            (3, "2.861e-06"),
            (105, "0.0001001"),
            (104, "9.918e-05"),
            (1 << 16, "0.0625"),
            (1 << 14, "0.01562"),
            (3 << 14, "0.04688"),
            (1 << 20, "1"),
            (1 << 19, "0.5"),
            (10 << 20, "10"),
            (100 << 20, "100"),
            ((100 << 20) + (1 << 19), "100.5"),
            (1234 << 20, "1234"),
            ((1234 << 20) + (1 << 19), "1234"),
            ((1235 << 20) + (1 << 19), "1236"),
            ((9999 << 20) + (1 << 19), "1e+04"),
            (12345 << 20, "1.234e+04"),
            (2_563_768, "2.445"),
            (1_048_575, "1"),
            (104_858, "0.1"),
        ] {
            assert_eq!(printed(units), text, "{units}");
        }
    }

    #[test]
    fn four_digits_survive() {
        let mut random = Random::new(3);
        for _ in 0..200_000 {
            let units = random.word() >> random.between(28, 64);
            let text = printed(units);
            let exact = f64::from(u32::try_from(units >> 20).expect("36 bits"))
                + f64::from(u32::try_from(units & 0xf_ffff).expect("20 bits")) / 1_048_576.0;
            let read: f64 = text.parse().expect("a number");
            assert!(
                (read - exact).abs() <= exact * 0.000_500_1,
                "{units} {text}"
            );
            let digits = text.split('e').next().unwrap_or("").replace('.', "");
            assert!(digits.trim_start_matches('0').len() <= 4, "{text}");
            // The shortest text of the four digits: reading and printing again changes nothing.
            if exact > 0.0 {
                assert_eq!(
                    format!("{exact:.3e}").parse::<f64>(),
                    Ok(read),
                    "{units} {text}"
                );
            }
        }
    }

    #[test]
    fn ten_bits_are_kept() {
        assert_eq!(Amount(1023).rounded(), Amount(1023));
        assert_eq!(Amount(1025).rounded(), Amount(1026));
        assert_eq!(Amount(4095).rounded(), Amount(4096));
    }

    #[test]
    fn hashes_look_like_hashes() {
        let mut text = Vec::new();
        hash(&mut text, 1);
        assert_eq!((text.len(), text[43]), (44, b'='));
        let mut other = Vec::new();
        hash(&mut other, 2);
        assert_ne!(text, other);
    }

    #[test]
    fn integers_are_plain() {
        let mut text = Vec::new();
        decimal(&mut text, 0);
        text.push(b' ');
        decimal(&mut text, u64::MAX);
        assert_eq!(text, b"0 18446744073709551615");
    }
}
