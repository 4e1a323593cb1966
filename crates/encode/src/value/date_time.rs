//! Date-times.

use tracelake_core::fault::Fault;
use tracelake_schema::Zone;

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
