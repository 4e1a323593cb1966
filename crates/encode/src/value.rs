//! The bytes of one field to a value, or to the fault that it has. Pure.

use tracelake_core::fault::Fault;
use tracelake_schema::{Column, Sentinel, Zone};

/// The sentinel that a field means although it does not fit its column, if there is one.
pub(crate) fn sentinel(
    column: &'static Column,
    field: &[u8],
    fault: Fault,
) -> Option<&'static Sentinel> {
    if !matches!(fault, Fault::OutOfRange { .. }) {
        return None;
    }
    column
        .sentinels
        .iter()
        .find(|sentinel| sentinel.also.is_some_and(|also| also.as_bytes() == field))
}

/// Reads decimal digits with an optional minus, as C prints `%d`.
///
/// ```
/// use tracelake_core::fault::Fault;
/// use tracelake_encode::value::integer;
/// assert_eq!(integer(b"-42"), Ok(-42));
/// assert_eq!(integer(b"+5"), Err(Fault::NotInteger));
/// assert_eq!(integer(b"9223372036854775808"), Err(Fault::OutOfRange { bits: 64 }));
/// ```
///
/// # Errors
/// [`Fault::NotInteger`] or [`Fault::OutOfRange`]. An empty field is not an integer.
pub fn integer(field: &[u8]) -> Result<i64, Fault> {
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(Fault::NotInteger);
    }
    // Eighteen digits stay below 10^18, so neither step can overflow.
    if digits.len() <= 18 {
        let (eights, rest) = digits.as_chunks();
        let mut value = 0_i64;
        for eight in eights {
            let (number, is_number) = eight_digits(u64::from_le_bytes(*eight) ^ ZEROS);
            if !is_number {
                return Err(Fault::NotInteger);
            }
            value = value * 100_000_000 + number.cast_signed();
        }
        for &byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Err(Fault::NotInteger);
            }
            value = value * 10 + i64::from(digit);
        }
        return Ok(if negative { -value } else { value });
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::NotInteger);
    }
    let mut value = 0_i64;
    for &byte in digits {
        // Built below zero, where there is one value more than above.
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_sub(i64::from(byte - b'0')))
            .ok_or(Fault::OutOfRange { bits: 64 })?;
    }
    if negative {
        Ok(value)
    } else {
        value.checked_neg().ok_or(Fault::OutOfRange { bits: 64 })
    }
}

/// Eight zeros.
pub(crate) const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The number that eight digits make, and whether all of them are digits. Each byte is a digit, the first
/// one the lowest.
#[inline(always)]
pub(crate) fn eight_digits(digits: u64) -> (u64, bool) {
    // Adding 0x76 sets the top bit of a byte above 9; `| digits` finds those that have it already.
    let no_digit = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    // Each even byte becomes a pair of digits. One multiplication weighs pairs 1 and 3 (by 1,000,000 and
    // 100), the other pairs 2 and 4 (by 10,000 and 1); the sums are in the upper 32 bits.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let even = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    (odd.wrapping_add(even) >> 32, no_digit == 0)
}

/// Reads an integer that fits in 32 bits.
///
/// # Errors
/// [`Fault::NotInteger`] or [`Fault::OutOfRange`].
pub fn code(field: &[u8]) -> Result<i32, Fault> {
    match integer(field) {
        Ok(value) => i32::try_from(value).map_err(|_| Fault::OutOfRange { bits: 32 }),
        Err(Fault::OutOfRange { .. }) => Err(Fault::OutOfRange { bits: 32 }),
        Err(fault) => Err(fault),
    }
}

/// Reads an integer that may be spelled as a float without a fraction, such as `5.0`.
///
/// ```
/// use tracelake_core::fault::Fault;
/// use tracelake_encode::value::integral;
/// assert_eq!(integral(b"4550879.0"), Ok(4_550_879));
/// assert_eq!(integral(b"5.5"), Err(Fault::NotInteger));
/// ```
///
/// # Errors
/// As [`integer`]; [`Fault::NotInteger`] for a fraction other than zeros.
pub fn integral(field: &[u8]) -> Result<i64, Fault> {
    let point = field.iter().position(|&byte| byte == b'.');
    let Some((whole, fraction)) = point.map(|point| field.split_at(point)) else {
        return integer(field);
    };
    match fraction {
        [b'.', zeros @ ..] if !zeros.is_empty() && zeros.iter().all(|&zero| zero == b'0') => {
            integer(whole)
        }
        _ => Err(Fault::NotInteger),
    }
}

/// Microseconds in a second, a minute, an hour and a day.
const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Reads a date-time, `YYYY-MM-DD hh:mm:ss` with `T` or a blank between, and digits after a point; with
/// [`Zone::Published`], `Z` or an offset such as `+08:00` must follow. The result is in microseconds since
/// 1970-01-01 00:00:00, UTC if there is a zone.
///
/// ```
/// use tracelake_core::fault::Fault;
/// use tracelake_encode::value::date_time;
/// use tracelake_schema::{Column, Sentinel, Zone};
/// assert_eq!(date_time(b"1970-01-02 00:00:00.5000000", Zone::None), Ok(86_400_500_000));
/// assert_eq!(date_time(b"1970-01-01T08:00:00+08:00", Zone::Published), Ok(0));
/// assert_eq!(date_time(b"1970-01-01 00:00:00", Zone::Published), Err(Fault::NoZone));
/// ```
///
/// # Errors
/// [`Fault::NotDateTime`], [`Fault::NoZone`], [`Fault::Zone`] or [`Fault::BeyondMicroseconds`].
pub fn date_time(field: &[u8], zone: Zone) -> Result<i64, Fault> {
    let (date, rest) = field.split_at_checked(10).ok_or(Fault::NotDateTime)?;
    let ([b'T' | b' ', time @ ..], [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]) = (rest, date)
    else {
        return Err(Fault::NotDateTime);
    };
    let (year, month, day) = (
        number(&[*y1, *y2, *y3, *y4])?,
        number(&[*m1, *m2])?,
        number(&[*d1, *d2])?,
    );
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return Err(Fault::NotDateTime),
    };
    if !(1..=days).contains(&day) {
        return Err(Fault::NotDateTime);
    }
    let (time, rest) = time.split_at_checked(8).ok_or(Fault::NotDateTime)?;
    let [h1, h2, b':', n1, n2, b':', s1, s2] = time else {
        return Err(Fault::NotDateTime);
    };
    let (hour, minute, second) = (
        number(&[*h1, *h2])?,
        number(&[*n1, *n2])?,
        number(&[*s1, *s2])?,
    );
    if hour > 23 || minute > 59 || second > 59 {
        return Err(Fault::NotDateTime);
    }
    let (micros, rest) = match rest {
        [b'.', rest @ ..] => fraction(rest)?,
        rest => (0, rest),
    };
    let offset = match (zone, rest) {
        (Zone::None, []) | (Zone::Published, b"Z") => 0,
        (Zone::None, [b'Z' | b'+' | b'-', ..]) => return Err(Fault::Zone),
        (Zone::Published, []) => return Err(Fault::NoZone),
        (Zone::Published, [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2]) => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return Err(Fault::NotDateTime);
            }
            let offset = hours * HOUR + minutes * MINUTE;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return Err(Fault::NotDateTime),
    };
    let of_day = hour * HOUR + minute * MINUTE + second * SECOND + micros;
    Ok(days_since_1970(year, month, day) * DAY + of_day - offset)
}

/// A number of a few digits.
fn number(digits: &[u8]) -> Result<i64, Fault> {
    digits.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + i64::from(byte - b'0')),
        _ => Err(Fault::NotDateTime),
    })
}

/// The microseconds that digits after a point are, and what follows the digits.
fn fraction(text: &[u8]) -> Result<(i64, &[u8]), Fault> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    if digits.is_empty() {
        return Err(Fault::NotDateTime);
    }
    let (micros, beyond) = digits.split_at(digits.len().min(6));
    if beyond.iter().any(|&digit| digit != b'0') {
        return Err(Fault::BeyondMicroseconds);
    }
    let missing = (micros.len()..6).fold(1, |factor, _| factor * 10);
    Ok((number(micros)? * missing, rest))
}

/// The days from 1970-01-01 to a day of the Gregorian calendar. Years begin in March here, so that a leap day is the
/// last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

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

/// Reads `0` or `1`.
///
/// # Errors
/// [`Fault::NotBoolean`].
pub fn boolean(field: &[u8]) -> Result<bool, Fault> {
    match field {
        b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(Fault::NotBoolean),
    }
}

/// Reads text: UTF-8 without control characters and quotes, which the format does not have.
///
/// # Errors
/// [`Fault::NotUtf8`]; of UTF-8, [`Fault::Control`] or [`Fault::Quote`], whichever byte comes first.
pub fn text(field: &[u8]) -> Result<&str, Fault> {
    let text = str::from_utf8(field).map_err(|error| {
        let byte = field[error.valid_up_to()];
        Fault::NotUtf8 { byte }
    })?;
    let is_refused = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == 0x7f);
    // Without stopping at the first one, so that the compiler compares many bytes at once.
    if !field
        .iter()
        .fold(false, |any, &byte| any | is_refused(byte))
    {
        return Ok(text);
    }
    match field.iter().find(|&&byte| is_refused(byte)) {
        None => Ok(text),
        Some(b'"') => Err(Fault::Quote),
        Some(&byte) => Err(Fault::Control { byte }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_at_the_edges() {
        assert_eq!(integer(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(integer(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(integer(b"000000000000000000000000012"), Ok(12));
        assert_eq!(
            integer(b"18446744073709551615"),
            Err(Fault::OutOfRange { bits: 64 })
        );
        for bad in [
            "", "-", "+5", " 5", "5 ", "0x1F", "5.0", "1e3", "1_000", "--1",
        ] {
            assert_eq!(integer(bad.as_bytes()), Err(Fault::NotInteger), "{bad:?}");
        }
        assert_eq!(code(b"2147483648"), Err(Fault::OutOfRange { bits: 32 }));
        assert_eq!(code(b"-2147483648"), Ok(i32::MIN));
        assert_eq!(
            code(b"9223372036854775808"),
            Err(Fault::OutOfRange { bits: 32 })
        );
    }

    /// Eight digits are read at once, and no other byte may look like one of them.
    #[test]
    fn integers_have_digits_alone() {
        for at in 0..18 {
            for byte in 0..=u8::MAX {
                let mut field = *b"123456789012345678";
                field[at] = byte;
                let plain = str::from_utf8(&field)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let plain = plain.filter(|_| field[0] != b'+');
                assert_eq!(integer(&field).ok(), plain, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn integers_may_be_spelled_as_floats() {
        for (text, value) in [("5.0", 5), ("-7.000", -7), ("12", 12), ("-0.0", 0)] {
            assert_eq!(integral(text.as_bytes()), Ok(value), "{text}");
        }
        for bad in ["5.", ".0", "5.01", "5.0.0", "5e0", "", "+5.0", "5.0 "] {
            assert_eq!(integral(bad.as_bytes()), Err(Fault::NotInteger), "{bad:?}");
        }
    }

    #[test]
    fn date_times_are_exact_to_the_microsecond() {
        for (text, zone, micros) in [
            ("1970-01-01 00:00:00", Zone::None, 0),
            (
                "2023-11-16 18:17:03.9799600",
                Zone::None,
                1_700_158_623_979_960,
            ),
            (
                "2024-05-10 00:00:00.009930+00:00",
                Zone::Published,
                1_715_299_200_009_930,
            ),
            (
                "2023-03-01T08:00:00+08:00",
                Zone::Published,
                1_677_628_800_000_000,
            ),
            (
                "2000-02-29T23:59:59.999999Z",
                Zone::Published,
                951_868_799_999_999,
            ),
            ("1969-12-31 23:59:59.5", Zone::None, -500_000),
            ("0000-03-01 00:00:00", Zone::None, -62_162_035_200_000_000),
        ] {
            assert_eq!(date_time(text.as_bytes(), zone), Ok(micros), "{text}");
        }
        for (bad, zone, fault) in [
            ("2023-02-29 00:00:00", Zone::None, Fault::NotDateTime),
            ("1900-02-29 00:00:00", Zone::None, Fault::NotDateTime),
            ("2023-13-01 00:00:00", Zone::None, Fault::NotDateTime),
            ("2023-01-01 24:00:00", Zone::None, Fault::NotDateTime),
            ("2023-01-01 00:00:60", Zone::None, Fault::NotDateTime),
            ("2023-01-01 00:00", Zone::None, Fault::NotDateTime),
            ("2023-01-01 00:00:00.", Zone::None, Fault::NotDateTime),
            ("2023-01-01_00:00:00", Zone::None, Fault::NotDateTime),
            ("2023-01-01 00:00:00 ", Zone::None, Fault::NotDateTime),
            ("2023-01-01 00:00:00Z", Zone::None, Fault::Zone),
            ("2023-01-01 00:00:00", Zone::Published, Fault::NoZone),
            (
                "2023-01-01 00:00:00+0800",
                Zone::Published,
                Fault::NotDateTime,
            ),
            (
                "2023-01-01 00:00:00.1234567",
                Zone::None,
                Fault::BeyondMicroseconds,
            ),
            ("", Zone::None, Fault::NotDateTime),
        ] {
            assert_eq!(date_time(bad.as_bytes(), zone), Err(fault), "{bad:?}");
        }
    }

    #[test]
    fn floats_of_other_forms_are_faults() {
        for bad in [
            "", "-", ".", "+1", "nan", "inf", "-inf", "infinity", "1e", "1e+", "0x1p2", "1,2",
            " 1", "1_0",
        ] {
            assert_eq!(float(bad.as_bytes()), Err(Fault::NotNumber), "{bad:?}");
        }
        assert_eq!(float(b"-1.8e308"), Err(Fault::Overflow));
        assert_eq!(float(b"1e-400").map(f64::to_bits), Ok(0));
        assert_eq!(float(b"-0").map(f64::to_bits), Ok((-0.0_f64).to_bits()));
    }

    #[test]
    fn text_keeps_to_the_format() {
        assert_eq!(text("Ωx=".as_bytes()), Ok("Ωx="));
        assert_eq!(text(b"a\xffb"), Err(Fault::NotUtf8 { byte: 0xff }));
        assert_eq!(text(b"a\0"), Err(Fault::Control { byte: 0 }));
        assert_eq!(text(b" a\x1f"), Err(Fault::Control { byte: 0x1f }));
        assert_eq!(text(b" \x7fa"), Err(Fault::Control { byte: 0x7f }));
        assert_eq!(text(b"a b"), Ok("a b"));
        assert_eq!(text(b"\"a\""), Err(Fault::Quote));
    }

    /// Sixteen digits may not fit in 53 bits: rounded to them, and then divided or multiplied, they would be
    /// rounded twice.
    #[test]
    fn numbers_of_more_digits_than_are_exact_are_rounded_once() {
        let mut twice = 0;
        for step in 0..5000_u64 {
            let digits = (9_007_199_254_740_993 + step * 198_559_703_131).to_string();
            for text in [
                format!("0.{digits}"),
                format!("{}.{}", &digits[..8], &digits[8..]),
                format!("{digits}e-22"),
                format!("-{digits}e+22"),
            ] {
                let right: f64 = text.parse().unwrap();
                assert_eq!(
                    float(text.as_bytes()).map(f64::to_bits),
                    Ok(right.to_bits()),
                    "{text}"
                );
            }
            let rounded: f64 = digits.parse().unwrap();
            let right: f64 = format!("0.{digits}").parse().unwrap();
            twice += u32::from(rounded / 1e16 != right);
        }
        assert!(twice > 0, "no number that two roundings get wrong");
    }

    /// The lines of a suite in ../shared/suites.
    fn suite(name: &str) -> Vec<String> {
        let path = format!(
            "{}/../../../shared/suites/float/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Whether this format accepts a number that other parsers accept.
    fn is_of_the_format(text: &str) -> bool {
        let digits = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        !text.starts_with('+') && text.bytes().all(digits)
    }

    #[test]
    #[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
    fn floats_of_the_suites_are_right_to_the_bit() {
        let mut tried = 0_u32;
        for name in [
            "freetype-2-7.txt",
            "lemire-fast-float.txt",
            "more-test-cases.txt",
        ] {
            for line in suite(name) {
                let [_, _, bits, text] = *line.split_whitespace().collect::<Vec<_>>() else {
                    panic!("{name}: {line}");
                };
                let expected = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
                let right = match float(text.as_bytes()) {
                    Ok(value) => value.to_bits() == expected.to_bits(),
                    Err(Fault::Overflow) => expected.is_infinite(),
                    Err(_) => !is_of_the_format(text),
                };
                assert!(right, "{name}: {text}");
                tried += 1;
            }
        }
        assert!(tried > 0);
    }

    #[test]
    #[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
    fn numbers_of_another_languages_tables_are_right_or_refused() {
        let mut tried = 0_u32;
        for line in suite("atof_cases.tsv")
            .iter()
            .chain(&suite("atoi_cases.tsv"))
        {
            let [kind, input, value, error] = *line.split('\t').collect::<Vec<_>>() else {
                continue;
            };
            let Ok(input) = serde_json::from_str::<String>(input) else {
                continue;
            };
            let fits = is_of_the_format(&input);
            let right = match (kind, error) {
                ("f64", "nil") if fits => float(input.as_bytes()) == Ok(value.parse().unwrap()),
                ("f64", "ErrRange") if fits => float(input.as_bytes()) == Err(Fault::Overflow),
                ("f64", _) => float(input.as_bytes()) == Err(Fault::NotNumber),
                ("Int64", "nil") if fits => Ok(input.parse().unwrap()) == integer(input.as_bytes()),
                ("Int64", "ErrRange") if fits => {
                    integer(input.as_bytes()) == Err(Fault::OutOfRange { bits: 64 })
                }
                ("Int64", _) => integer(input.as_bytes()) == Err(Fault::NotInteger),
                _ => true,
            };
            assert!(right, "{line}");
            tried += 1;
        }
        assert!(tried > 0);
    }

    proptest! {
        #[test]
        fn integer_equals_the_standard_library(field in "[-+0-9]{0,22}|[ -~]{0,6}") {
            let plain = field.parse::<i64>().ok().filter(|_| !field.starts_with('+'));
            prop_assert_eq!(integer(field.as_bytes()).ok(), plain);
        }

        #[test]
        fn float_equals_the_standard_library(field in "-?[0-9]{0,17}(\\.[0-9]{0,17})?(e[-+]?[0-9]{0,3})?|[-+.0-9einfaE]{0,9}") {
            let plain = field.parse::<f64>().ok()
                .filter(|value| value.is_finite() && !field.starts_with('+'));
            prop_assert_eq!(float(field.as_bytes()).ok().map(f64::to_bits), plain.map(f64::to_bits));
        }

        #[test]
        fn what_c_prints_reads_back(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            prop_assert_eq!(float(format!("{value:e}").as_bytes()), Ok(value));
        }
    }
}
