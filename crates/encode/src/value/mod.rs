//! The bytes of one field to a value, or to the fault that it has. Pure.

mod float;
mod tests;

use std::ops::AddAssign;

use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Sentinel, Zone};

pub use float::float;
pub use tracelake_core::date_time::date_time;

/// Microseconds in a minute.
const MINUTE: i64 = 60_000_000;

/// The sentinel that a field means although it does not fit its column, if there is one.
fn sentinel<'a>(column: &'a Column, field: &[u8]) -> Option<&'a Sentinel> {
    column.sentinels.iter().find(|sentinel| {
        sentinel
            .also
            .as_deref()
            .is_some_and(|also| also.as_bytes() == field)
    })
}

/// The spelling of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelled {
    /// The described spelling.
    Plainly,
    /// Another spelling of a sentinel.
    AsSentinel,
    /// A float, which was accepted on request.
    AsFloat,
    /// A text for NULL, which was accepted on request.
    AsNull,
}

/// How many values of good rows are spelled differently than described.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherSpellings {
    /// Values that were mapped to a sentinel.
    pub sentinels: u64,
    /// Integers that were accepted although they are spelled `5.0`.
    pub integral_floats: u64,
    /// Fields that were accepted as NULL although they aren't empty.
    pub nulls: u64,
}

impl OtherSpellings {
    pub(crate) fn count(&mut self, spelled: Spelled) {
        match spelled {
            Spelled::Plainly => {}
            Spelled::AsSentinel => self.sentinels += 1,
            Spelled::AsFloat => self.integral_floats += 1,
            Spelled::AsNull => self.nulls += 1,
        }
    }
}

impl AddAssign for OtherSpellings {
    fn add_assign(&mut self, other: Self) {
        self.sentinels += other.sentinels;
        self.integral_floats += other.integral_floats;
        self.nulls += other.nulls;
    }
}

/// Reads a field that has this fault as a value of its kind, if another spelling means one: a sentinel, a float without a
/// fraction, a word for true or false, which are 1 and 0, or a date-time with the name of a zone.
///
/// # Errors
/// The fault.
pub(crate) fn other_spelling(
    column: &Column,
    field: &[u8],
    fault: Fault,
    accept: &Accept,
) -> Result<(i64, Spelled), Fault> {
    let spelling = &column.spelling;
    match fault {
        Fault::OutOfRange { .. } => {
            let sentinel = sentinel(column, field).ok_or(fault)?;
            Ok((sentinel.value, Spelled::AsSentinel))
        }
        Fault::NotInteger if spelling.integral_floats => {
            let value = integral(field).map_err(|_| fault)?;
            Ok((value, Spelled::Plainly))
        }
        Fault::NotInteger if accept.integral_floats => {
            let value = integral(field).map_err(|_| fault)?;
            Ok((value, Spelled::AsFloat))
        }
        Fault::NotBoolean | Fault::NotTruth | Fault::NotPythonTruth
            if !spelling.words.is_empty() =>
        {
            let value = spelling.truth(field).ok_or(Fault::NotWord)?;
            Ok((value.into(), Spelled::Plainly))
        }
        Fault::NotDateTime if !spelling.zones.is_empty() => {
            let micros = named_zone(column, field).ok_or(fault)?;
            Ok((micros, Spelled::Plainly))
        }
        _ => Err(fault),
    }
}

/// Reads a date-time that ends with the name of a zone of its column.
fn named_zone(column: &Column, field: &[u8]) -> Option<i64> {
    let letters = field
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphabetic());
    let (local, name) = field.split_at(field.len() - letters.count());
    let mut zones = column.spelling.zones.iter();
    let (_, minutes) = zones.find(|(zone, _)| zone.as_bytes() == name)?;
    let local = local.strip_suffix(b" ").unwrap_or(local);
    let micros = date_time(local, Zone::None).ok()?;
    Some(micros - minutes * MINUTE)
}

/// Reads a date-time of a column, as [`date_time`] does, or with the name of a zone that its description has.
///
/// # Errors
/// The errors of [`date_time`].
pub fn date_time_of(column: &Column, field: &[u8], zone: Zone) -> Result<i64, Fault> {
    date_time(field, zone).or_else(|fault| {
        let other = other_spelling(column, field, fault, &Accept::default());
        other.map(|(micros, _)| micros)
    })
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

/// The bytes of a word that are `e-0` where it ends in an exponent.
pub(crate) const EXPONENT_BYTES: u64 = 0x00ff_ffff_0000_0000;
/// These bytes of such a word, XORed with [`ZEROS`].
pub(crate) const EXPONENT: u64 = u64::from_le_bytes(*b"0000e-00") ^ ZEROS;

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
/// See [`integer`]; [`Fault::NotInteger`] for a fraction other than zeros.
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

/// Reads `true` or `false`, as JSON has them.
///
/// # Errors
/// [`Fault::NotTruth`].
pub fn json_boolean(word: &[u8]) -> Result<bool, Fault> {
    match word {
        b"false" => Ok(false),
        b"true" => Ok(true),
        _ => Err(Fault::NotTruth),
    }
}

/// Whether a text consists of printable ASCII characters, none of them a quote: [`text`] accepts all of these.
pub(crate) fn is_plain_text(field: &[u8]) -> bool {
    // Without stopping at the first one, so that the compiler compares many bytes at once.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') & (byte != b'"');
    field.iter().fold(true, |all, &byte| all & is_plain(byte))
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
