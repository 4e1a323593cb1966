//! How numbers are written for people.

use std::fmt;

/// A number with commas between its thousands.
///
/// ```
/// assert_eq!(tracelake_convert::words::count(1_234_567), "1,234,567");
/// ```
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun, which takes an s unless the number is one.
///
/// ```
/// use tracelake_convert::words::several;
/// assert_eq!(several(1, "part"), "1 part");
/// assert_eq!(several(2_000, "row"), "2,000 rows");
/// ```
#[must_use]
pub fn several(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(number))
}

/// Ascending numbers, runs of them written short.
///
/// ```
/// use tracelake_convert::words::Runs;
/// assert_eq!(Runs(&[0, 1, 2, 5, 7, 8]).to_string(), "0-2, 5, 7-8");
/// ```
pub struct Runs<'a>(pub &'a [u32]);

impl fmt::Display for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        for (index, run) in runs.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match run {
                [] => {}
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_count() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(count(1_232_799_308), "1,232,799,308");
    }
}
