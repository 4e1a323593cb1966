//! The kind of a column, as far as its values tell: one that keeps every value.

use tracelake_core::options::NULLS;
use tracelake_encode::value;
use tracelake_schema::Zone;

/// Words in columns of numbers that are no numbers in a lake, in lower case.
const NO_NUMBERS: [&str; 4] = ["nan", "inf", "infinity", "-inf"];

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    Empty,
    Integer,
    IntegralFloat,
    Float,
    DateTime(Zone),
    Text,
}

impl Guess {
    /// The kinds of numbers and date-times, the narrowest first.
    const TYPED: [Self; 5] = [
        Self::Integer,
        Self::IntegralFloat,
        Self::Float,
        Self::DateTime(Zone::None),
        Self::DateTime(Zone::Published),
    ];

    /// Whether a column of this kind keeps a value.
    fn keeps(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::Integer => !is_padded_number(text) && value::integer(bytes).is_ok(),
            Self::IntegralFloat => !is_padded_number(text) && value::integral(bytes).is_ok(),
            Self::Float => {
                let number = value::float(bytes);
                number.is_ok_and(|number| keeps_float(text, number))
            }
            Self::DateTime(zone) => value::date_time(bytes, zone).is_ok(),
            Self::Empty | Self::Text => false,
        }
    }

    /// Whether the values are numbers or date-times.
    pub(super) fn is_typed(self) -> bool {
        !matches!(self, Self::Empty | Self::Text)
    }
}

/// Whether digits would be lost: zeros before others, or the sign of a zero.
fn is_padded_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_digit = |at: usize| digits.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_zero = |byte: u8| matches!(byte, b'0' | b'.');
    let is_negative_zero = digits.len() < text.len() && digits.bytes().all(is_zero);
    digits.starts_with('0') && is_digit(1) || is_negative_zero
}

/// More digits than this may be rounded.
const EXACT_DIGITS: usize = 15;

/// Whether a float is the number that a text spells: no digit of an integer is lost, and what isn't zero doesn't become
/// zero.
fn keeps_float(text: &str, number: f64) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_zeros = whole.len() > 1 && whole.starts_with('0');
    let is_whole = mantissa == digits && fraction.bytes().all(|byte| byte == b'0');
    // Rust prints all digits of a float.
    let is_exact = !is_whole || whole.len() <= EXACT_DIGITS || number.abs().to_string() == whole;
    let is_long = whole == digits && value::integer(text.as_bytes()).is_err();
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    !has_zeros && is_exact && !is_long && (number != 0.0 || is_zero)
}

/// The kinds that keep all of some values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kinds {
    is_empty: bool,
    keep: [bool; Guess::TYPED.len()],
}

impl Kinds {
    /// The kinds that fit before any value was seen.
    pub(super) const ALL: Self = Self {
        is_empty: true,
        keep: [true; Guess::TYPED.len()],
    };

    /// The kinds of one value.
    pub(super) fn of(text: &str) -> Self {
        let mut kinds = Self::ALL;
        kinds.add(text);
        kinds
    }

    /// Adds a value.
    pub(super) fn add(&mut self, text: &str) {
        self.is_empty = false;
        for (keeps, kind) in self.keep.iter_mut().zip(Guess::TYPED) {
            *keeps = *keeps && kind.keeps(text);
        }
    }

    /// The narrowest kind.
    pub(super) fn guess(self) -> Guess {
        if self.is_empty {
            return Guess::Empty;
        }
        let mut kinds = Guess::TYPED.into_iter().zip(self.keep);
        let narrowest = kinds.find_map(|(kind, keeps)| keeps.then_some(kind));
        narrowest.unwrap_or(Guess::Text)
    }
}

/// Why values that look like numbers are kept as texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptAsText {
    /// A number would lose zeros in front.
    Zeros,
    /// An integer has more than 64 bits.
    Long,
    /// `nan` and `inf`.
    NoNumber,
}

impl KeptAsText {
    /// The reason for a value, if it looks like a number.
    pub(super) fn of(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && digits.len() > 1 && digits.starts_with('0') {
            Some(Self::Zeros)
        } else if is_number && value::integer(text.as_bytes()).is_err() {
            Some(Self::Long)
        } else if NO_NUMBERS.contains(&&text.to_ascii_lowercase()[..]) {
            Some(Self::NoNumber)
        } else {
            None
        }
    }
}

/// Whether a text may be the name of a column: it has a letter, and isn't a number, a date-time, a usual value or an id.
pub(super) fn is_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_value = matches!(&lower[..], "true" | "false") || NULLS.contains(&text);
    let letters = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_id = text.len() >= 16 && letters && digits >= 3;
    let is_number = text.parse::<f64>().is_ok();
    text.contains(char::is_alphabetic)
        && !is_value
        && !is_id
        && !is_number
        && !Kinds::of(text).guess().is_typed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_keeps_every_value() {
        for (values, kind) in [
            (&["0", "-5", "9223372036854775807"][..], Guess::Integer),
            (&["5.0", "-7"], Guess::IntegralFloat),
            (&["-0", "1"], Guess::Float),
            (&["1e5", "1.", ".5", "2"], Guess::Float),
            (&["0.0", "-0.0", "0.5", "0e7"], Guess::Float),
            (&["0.5", "9007199254740992"], Guess::Float),
            (&["0.5", "9007199254740993"], Guess::Text),
            (&["0.5", "9007199254740993.0"], Guess::Text),
            (&["0.5", "-9007199254740993.0"], Guess::Text),
            (&["18446744073709551615"], Guess::Text),
            (&["18446744073709551616"], Guess::Text),
            (&["00123"], Guess::Text),
            (&["-007", "1"], Guess::Text),
            (&["00.5"], Guess::Text),
            (&["1e999"], Guess::Text),
            (&["1e-999"], Guess::Text),
            (&["nan"], Guess::Text),
            (&["+5"], Guess::Text),
            (&["-"], Guess::Text),
            (&["."], Guess::Text),
            (&["true"], Guess::Text),
            (&["2024-05-01"], Guess::Text),
            (
                &["2024-05-01 08:00:00", "2024-05-01T08:00:00.25"],
                Guess::DateTime(Zone::None),
            ),
            (&["2024-05-01 08:00:00.0000001"], Guess::Text),
            (
                &["2024-05-01T08:00:00Z", "2024-05-01 08:00:00-05:30"],
                Guess::DateTime(Zone::Published),
            ),
            (
                &["2024-05-01T08:00:00Z", "2024-05-01T08:00:00"],
                Guess::Text,
            ),
            (&[], Guess::Empty),
        ] {
            let mut kinds = Kinds::ALL;
            values.iter().for_each(|value| kinds.add(value));
            assert_eq!(kinds.guess(), kind, "{values:?}");
        }
    }

    #[test]
    fn names_are_words() {
        for name in [
            "a",
            "Day of Year",
            "% cpu",
            "1st",
            "µs",
            "percentile_Average_99",
            "Δt",
        ] {
            assert!(is_name(name), "{name}");
        }
        for other in [
            "",
            "1",
            "1e5",
            "1e999",
            "-",
            "NA",
            "NaN",
            "true",
            "2024-05-01",
            "3f2a9c00de11f0aa7d",
        ] {
            assert!(!is_name(other), "{other}");
        }
    }
}
