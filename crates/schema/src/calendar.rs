//! Days of the Gregorian calendar.

/// The days from 1970-01-01 to a day; `None` if there is no such day.
///
/// ```
/// use tracelake_schema::calendar::days_since_1970;
///
/// assert_eq!(days_since_1970(1970, 1, 2), Some(1));
/// assert_eq!(days_since_1970(2023, 2, 29), None);
/// ```
#[must_use]
pub fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    // Years begin in March here, so that a leap day is the last of its year.
    let year = if month > 2 { year } else { year - 1 };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Whether a text is a day of the calendar, such as `2014-11-17`.
///
/// ```
/// use tracelake_schema::calendar::is_day;
///
/// assert!(is_day("2024-02-29") && !is_day("2023-02-29") && !is_day("2024-2-29"));
/// ```
#[must_use]
pub fn is_day(text: &str) -> bool {
    let has_form = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 10 || !text.bytes().enumerate().all(has_form) {
        return false;
    }
    let mut numbers = text.split('-').map(str::parse);
    let mut next = || numbers.next()?.ok();
    let (year, month, day) = (next(), next(), next());
    let days = year.zip(month.zip(day));
    days.is_some_and(|(year, (month, day))| days_since_1970(year, month, day).is_some())
}

/// The year, month and day that are this many days after 1970-01-01.
///
/// ```
/// use tracelake_schema::calendar::day_since_1970;
///
/// assert_eq!(day_since_1970(19_677), (2023, 11, 16));
/// ```
#[must_use]
pub fn day_since_1970(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_found_again() {
        for days in (-800_000..3_000_000).step_by(97) {
            let (year, month, day) = day_since_1970(days);
            assert_eq!(days_since_1970(year, month, day), Some(days));
        }
        for (year, month, day) in [
            (1900, 2, 29),
            (2023, 13, 1),
            (2023, 0, 1),
            (2023, 4, 31),
            (2023, 4, 0),
        ] {
            assert_eq!(days_since_1970(year, month, day), None);
        }
    }
}
