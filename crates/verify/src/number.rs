//! Numbers by the rules of `docs/limits.md`, implemented again: the converter's code isn't used.

use tracelake_core::options::Accept;
use tracelake_schema::{Column, Zone};

/// Reads an integer: decimal digits after an optional minus, within 64 bits. Leading zeros and `-0`
/// are allowed.
pub(super) fn integer(text: &str) -> Option<i64> {
    digits(text.strip_prefix('-').unwrap_or(text)).then_some(())?;
    text.parse().ok()
}

/// Reads an integer that may have a point and zeros after it.
pub(super) fn integral(text: &str) -> Option<i64> {
    match text.split_once('.') {
        None => integer(text),
        Some((whole, zeros)) => {
            let plain = !zeros.is_empty() && zeros.chars().all(|zero| zero == '0');
            integer(whole).filter(|_| plain)
        }
    }
}

/// Reads an integer of a column: another spelling of a sentinel, or a number, which may have a point if that is described
/// or accepted.
pub(super) fn integer_of(column: &Column, accept: &Accept, text: &str) -> Option<i64> {
    let mut sentinels = column.sentinels.iter();
    let sentinel = sentinels.find(|sentinel| sentinel.also.as_deref() == Some(text));
    match sentinel {
        Some(sentinel) => Some(sentinel.value),
        None if accept.integral_floats || column.spelling.integral_floats => integral(text),
        None => integer(text),
    }
}

/// Reads a date-time of the proleptic Gregorian calendar as microseconds since 1970: its days are counted year by year
/// and month by month.
pub(super) fn date_time(text: &str, zone: Zone) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let [year, month, day] = exact(date, '-', [4, 2, 2])?;
    let zone_at = time.find(['Z', '+', '-']);
    let (time, offset) = match (zone, zone_at) {
        (Zone::None, None) => (time, 0),
        (Zone::Published, Some(at)) => (&time[..at], offset(&time[at..])?),
        _ => return None,
    };
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    let [hour, minute, second] = exact(clock, ':', [2, 2, 2])?;
    let micros = match fraction {
        None => 0,
        Some(fraction) => {
            let padded = format!("{fraction:0<6}");
            let (micros, beyond) = padded.split_at(6);
            (digits(fraction) && beyond.chars().all(|digit| digit == '0')).then_some(())?;
            micros.parse::<i64>().ok()?
        }
    };
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = months.get(usize::try_from(month - 1).ok()?)?;
    ((1..=*length).contains(&day) && hour < 24 && minute < 60 && second < 60).then_some(())?;
    let years: i64 = match year >= 1970 {
        true => (1970..year)
            .map(|year| 365 + i64::from(is_leap(year)))
            .sum(),
        false => -(year..1970)
            .map(|year| 365 + i64::from(is_leap(year)))
            .sum::<i64>(),
    };
    let before: i64 = months.iter().take(usize::try_from(month - 1).ok()?).sum();
    let seconds = ((years + before + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    Some((seconds - offset) * 1_000_000 + micros)
}

/// Reads a date-time of a column, which may end with the name of one of its zones.
pub(super) fn date_time_of(column: &Column, text: &str, zone: Zone) -> Option<i64> {
    let named = |(name, minutes): &(String, i64)| {
        let local = text.strip_suffix(&name[..])?;
        let local = date_time(local.strip_suffix(' ').unwrap_or(local), Zone::None)?;
        Some(local - minutes * 60_000_000)
    };
    date_time(text, zone).or_else(|| column.spelling.zones.iter().find_map(named))
}

/// The seconds of `Z` or `+08:00`.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let [hours, minutes] = exact(text.get(1..)?, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60)
}

/// The numbers of a text, each with exactly as many digits as `lengths` says.
fn exact<const N: usize>(text: &str, separator: char, lengths: [usize; N]) -> Option<[i64; N]> {
    let mut pieces = text.split(separator);
    let mut numbers = [0; N];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let piece = pieces.next()?;
        (piece.len() == length && digits(piece)).then_some(())?;
        *number = piece.parse().ok()?;
    }
    pieces.next().is_none().then_some(numbers)
}

/// Reads a float that is finite.
pub(super) fn float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok().filter(|_| is_float(text))?;
    value.is_finite().then_some(value)
}

/// Whether a text has the form of a float: digits with an optional minus, an optional point and an optional exponent.
pub(super) fn is_float(text: &str) -> bool {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match plain.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (plain, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some((whole, "")) => digits(whole),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(mantissa),
    };
    let is_exponent =
        exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    is_mantissa && is_exponent
}

pub(super) fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use tracelake_encode::value;
    use tracelake_testkit::every_kind::SPELLED;

    use super::*;

    /// Two implementations that share no code agree on integers with a point, and on date-times.
    #[test]
    fn date_times_and_integral_floats_are_the_converters() {
        for text in [
            "5.0", "5", "5.", ".0", "-7.00", "-0.0", "5.01", "5.0e0", "5.0.0", "",
        ] {
            assert_eq!(
                integral(text),
                value::integral(text.as_bytes()).ok(),
                "{text}"
            );
        }
        let dates = [
            "1970-01-01",
            "1969-12-31",
            "2000-02-29",
            "1900-02-29",
            "2023-02-29",
            "2023-12-31",
            "0000-01-01",
            "9999-12-31",
            "2023-00-10",
            "2023-13-10",
            "2023-4-10",
            "2023-04-31",
        ];
        let times = [
            "00:00:00",
            "23:59:59.999999",
            "12:30:15.5",
            "12:30:15.1234567",
            "12:30:15.1234560",
            "12:30",
            "24:00:00",
            "12:60:00",
            "12:30:60",
            "12:30:15.",
            "1:30:15",
        ];
        let zones = [
            "", "Z", "+00:00", "+08:00", "-03:30", "+24:00", "+0800", "z", " Z", " PDT", "PDT",
            "  PDT", " DT", "PPDT", "ZPDT", " PDT ", " XST",
        ];
        for zone in [Zone::None, Zone::Published] {
            for (date, time) in dates.iter().flat_map(|date| times.map(|time| (date, time))) {
                for (between, ending) in [" ", "T", "_", ""]
                    .into_iter()
                    .flat_map(|one| zones.map(|zone| (one, zone)))
                {
                    let text = format!("{date}{between}{time}{ending}");
                    let other = value::date_time(text.as_bytes(), zone).ok();
                    assert_eq!(date_time(&text, zone), other, "{text}");
                    let (_, column) = SPELLED.column("since").unwrap();
                    let other = value::date_time_of(column, text.as_bytes(), zone).ok();
                    assert_eq!(date_time_of(column, &text, zone), other, "{text}");
                }
            }
        }
    }

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
            let code = integer(&text).and_then(|code| i32::try_from(code).ok());
            assert_eq!(code, value::code(bytes).ok(), "{text}");
            let ours = float(&text).map(f64::to_bits);
            assert_eq!(ours, value::float(bytes).ok().map(f64::to_bits), "{text}");
        }
    }
}
