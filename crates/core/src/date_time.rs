//! Date-times.

use tracelake_schema::calendar::{day_since_1970, days_since_1970};
use tracelake_schema::render::group_digits;
use tracelake_schema::{Column, Kind, Zone};

use crate::fault::Fault;

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
/// use tracelake_core::date_time::date_time;
/// use tracelake_schema::Zone;
///
/// assert_eq!(date_time(b"1970-01-02 00:00:00.5000000", Zone::None), Ok(86_400_500_000));
/// assert_eq!(date_time(b"1970-01-01T08:00:00+08:00", Zone::Published), Ok(0));
/// assert_eq!(date_time(b"1970-01-01 00:00:00", Zone::Published), Err(Fault::NoZone));
/// ```
///
/// # Errors
/// [`Fault::NotDateTime`], [`Fault::NoZone`], [`Fault::Zone`] or [`Fault::BeyondMicroseconds`].
#[inline]
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
    let days = days_since_1970(year, month, day).ok_or(Fault::NotDateTime)?;
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
    Ok(days * DAY + of_day - offset)
}

/// A date-time as people write it: with as many digits of a second as it needs, and without a zone.
///
/// ```
/// use tracelake_core::date_time::written;
///
/// assert_eq!(written(1_700_158_623_979_960), "2023-11-16 18:17:03.97996");
/// assert_eq!(written(-1_000_000), "1969-12-31 23:59:59");
/// ```
#[must_use]
pub fn written(micros: i64) -> String {
    let (year, month, day) = day_since_1970(micros.div_euclid(DAY));
    let of_day = micros.rem_euclid(DAY);
    let (hour, minute) = (of_day / HOUR, of_day % HOUR / MINUTE);
    let (second, fraction) = (of_day % MINUTE / SECOND, of_day % SECOND);
    let text =
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time of a column as people read it: a date-time, or its number with its unit and what that is, and what it means
/// if it is a special one.
///
/// ```
/// use tracelake_core::date_time::shown;
/// use tracelake_schema::TRACES;
///
/// let tables = TRACES.iter().flat_map(|trace| &trace.tables);
/// let mut times = tables.filter_map(|table| Some(&table.columns[table.time?]));
/// let column = times.find(|column| column.time_units() == Some(1_000_000)).unwrap();
/// assert_eq!(shown(column, 5_612_000_000), "5,612,000,000 µs = 1 h 33 min 32 s");
/// ```
#[must_use]
pub fn shown(column: &Column, time: i64) -> String {
    if let Kind::DateTime(zone) = column.kind {
        let zone = match zone {
            Zone::None => "",
            Zone::Published => " UTC",
        };
        return written(time) + zone;
    }
    let mut special = column.sentinels.iter();
    let meaning = special.find(|known| known.value == time);
    let meaning = meaning.map(|known| known.name.replace('_', " ").to_lowercase());
    if let (i64::MIN | i64::MAX, Some(meaning)) = (time, &meaning) {
        return meaning.clone();
    }
    let sign = if time < 0 { "-" } else { "" };
    let digits = group_digits(time.unsigned_abs());
    let unit = match column.time_units() {
        Some(1_000_000) => " µs",
        Some(1_000) => " ms",
        Some(_) => " s",
        None => "",
    };
    let number = format!("{sign}{digits}{unit}");
    let readable = column.time_units().map(|units| {
        let micros = i128::from(time) * i128::from(1_000_000 / units.max(1));
        duration(micros)
    });
    match (meaning, readable) {
        (Some(meaning), _) => format!("{number} ({meaning})"),
        (None, Some(readable)) if time != 0 && readable != number => {
            format!("{number} = {readable}")
        }
        _ => number,
    }
}

/// A duration in days, hours, minutes and seconds.
///
/// ```
/// use tracelake_core::date_time::duration;
///
/// assert_eq!(duration(5_612_000_000), "1 h 33 min 32 s");
/// assert_eq!(duration(-86_400_500_000), "-1 d 0.5 s");
/// ```
#[must_use]
pub fn duration(micros: i128) -> String {
    let [second, minute, hour, day] = [SECOND, MINUTE, HOUR, DAY].map(i128::from);
    let (sign, micros) = match micros < 0 {
        true => ("-", -micros),
        false => ("", micros),
    };
    let whole = [
        (micros / day, "d"),
        (micros % day / hour, "h"),
        (micros % hour / minute, "min"),
    ];
    let mut parts: Vec<String> = whole
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    let (seconds, fraction) = (micros % minute / second, micros % second);
    if seconds > 0 || fraction > 0 || parts.is_empty() {
        let seconds = format!("{seconds}.{fraction:06}");
        parts.push(
            seconds
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
                + " s",
        );
    }
    format!("{sign}{}", parts.join(" "))
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn offsets_are_taken_away() {
        let noon = "2023-01-01T12:00:00";
        let of = |offset: &str| date_time(format!("{noon}{offset}").as_bytes(), Zone::Published);
        let utc = of("Z").unwrap();
        let minute = 60_000_000;
        for (offset, minutes) in [
            ("+00:00", 0),
            ("+08:00", 8 * 60),
            ("-03:30", -(3 * 60 + 30)),
            ("+05:45", 5 * 60 + 45),
            ("-23:59", -(23 * 60 + 59)),
        ] {
            assert_eq!(of(offset), Ok(utc - minutes * minute), "{offset}");
        }
        for bad in ["+24:00", "-00:60", "+8:00", "+0a:00", "*08:00", "Z "] {
            assert_eq!(of(bad), Err(Fault::NotDateTime), "{bad}");
        }
    }

    /// Each day of the calendar is a day later than the one before, and no other day is accepted.
    #[test]
    fn days_follow_each_other() {
        let mut next = None;
        for year in 1896..=2404 {
            for month in 1..=12 {
                let mut days = 0;
                for day in 0..=32 {
                    let text = format!("{year:04}-{month:02}-{day:02} 00:00:00");
                    let Ok(micros) = date_time(text.as_bytes(), Zone::None) else {
                        continue;
                    };
                    assert_eq!(next.unwrap_or(micros), micros, "{text}");
                    next = Some(micros + 86_400_000_000);
                    days += 1;
                    assert_eq!(day, days, "{text}");
                }
                assert!((28..=31).contains(&days), "{year}-{month}");
            }
        }
        // 509 years, of which 1900, 2100, 2200 and 2300 are common ones although 4 divides them.
        let first = date_time(b"1896-01-01 00:00:00", Zone::None).unwrap();
        let days = 509 * 365 + 128 - 4;
        assert_eq!(next, Some(first + days * 86_400_000_000));
    }

    #[test]
    fn a_written_date_time_is_read_back() {
        for micros in (-62_000_000_000_000_000..=250_000_000_000_000_000)
            .step_by(7_777_777_777_777)
            .chain([0, -1, 1, 999_999])
        {
            let text = written(micros);
            assert_eq!(date_time(text.as_bytes(), Zone::None), Ok(micros), "{text}");
        }
        assert_eq!(written(i64::MAX), "294247-01-10 04:00:54.775807");
        assert_eq!(written(i64::MIN), "-290308-12-21 19:59:05.224192");
    }
}
