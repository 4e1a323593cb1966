//! The short numbers of one column, such as `0.01562`, `7.534e-05`, `42.5` and `17`, each with the index of its
//! value in the dictionary, in a table in which its own digits give its slot.
//!
//! Nearly all numbers that C prints with four significant digits have this form, and so have percentages, priorities
//! and codes. Unlike in the [`TextCache`], no text is compared, and a value takes two bytes instead of sixteen, so that
//! the tables of all columns stay in the second-level cache.
//!
//! [`TextCache`]: super::text_cache::TextCache

mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

use super::found::{Found, Span};
use crate::split::FieldOffsets;
use crate::value::{EXPONENT, EXPONENT_BYTES, ZEROS, eight_digits};

/// The most digits after the point of a field.
const DIGITS: usize = 8;

/// The most places after the point of a value: the digits, and the exponent.
const PLACES: usize = 12;

/// Numbers below this one have a slot.
const NUMBERS: usize = 10_000;

/// The most digits of an integer that has a slot.
const INTEGER_DIGITS: usize = 4;

/// The form of the fields that have a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A float of few digits, which may have an exponent.
    Decimal,
    /// An integer of few digits.
    Integer,
}

/// The numbers of one column.
///
/// # Memory
/// Once it has begun, 235 KiB for decimals, and 20 KiB for integers.
pub(super) struct DigitCache {
    form: Form,
    /// By [`Form::slot`] the index plus one; zero if it isn't known. The last one is of no slot, so that two
    /// can be read at each.
    indices: Vec<u16>,
}

impl Form {
    /// The slots of a table: of no number, and of each number, for decimals by the places after the point.
    const fn slots(self) -> usize {
        match self {
            Self::Decimal => 1 + PLACES * NUMBERS,
            Self::Integer => 1 + NUMBERS,
        }
    }

    /// The slot of a field; zero if it isn't a number of few digits.
    ///
    /// Fields have the same slot only if they have the same value: of an integer, that value; of a decimal, its digits
    /// as one number, by its places after the point.
    #[inline(always)]
    pub(super) fn slot(self, text: &[u8], start: usize, end: usize) -> usize {
        match self {
            Self::Decimal => match long_decimal(text, start, end) {
                0 => short_decimal(text, start, end),
                slot => slot,
            },
            Self::Integer => match text.get(start..end) {
                Some(digits @ ([_] | [_, _] | [_, _, _] | [_, _, _, _])) => small_integer(digits),
                _ => 0,
            },
        }
    }
}

/// The slot of a few digits.
#[inline(always)]
fn small_integer(digits: &[u8]) -> usize {
    let (mut number, mut are_digits) = (0, true);
    for byte in digits {
        let digit = byte ^ b'0';
        are_digits &= digit <= 9;
        number = number * 10 + usize::from(digit);
    }
    if are_digits { number + 1 } else { 0 }
}

/// The slot of a number of `places`, if it has one.
#[inline(always)]
fn slot_of(number: u64, places: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below ten thousand where it counts"
    )]
    let slot = places
        .wrapping_sub(1)
        .wrapping_mul(NUMBERS)
        .wrapping_add(number as usize + 1);
    let has_slot = number < NUMBERS as u64 && places.wrapping_sub(1) < PLACES;
    if has_slot { slot } else { 0 }
}

/// The slot of a decimal of at most seven digits and a point anywhere, or of at most eight digits, as if `.0`
/// followed.
#[inline(always)]
fn short_decimal(text: &[u8], start: usize, end: usize) -> usize {
    const POINT: u64 = u64::from_le_bytes([b'.' ^ b'0'; 8]);
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let length = end - start;
    let Some(bytes) = text.get(start..).and_then(<[u8]>::first_chunk) else {
        return 0;
    };
    if length.wrapping_sub(1) >= 8 {
        return 0;
    }
    let word = (u64::from_le_bytes(*bytes) ^ ZEROS) << (64 - 8 * length);
    // The top bit of the first byte that is a point, and perhaps of some after it.
    let differences = word ^ POINT;
    let points = differences.wrapping_sub(ONES) & !differences & (ONES << 7);
    let point = (points & points.wrapping_neg()) >> 7;
    if point == 0 {
        let (number, are_digits) = eight_digits(word);
        return if are_digits {
            slot_of(number * 10, 1)
        } else {
            0
        };
    }
    let (before, up_to) = (point - 1, (point << 8).wrapping_sub(1));
    let (number, are_digits) = eight_digits((word & before) << 8 | word & !up_to);
    let places = 7 - point.trailing_zeros() as usize / 8;
    match places {
        _ if !are_digits || length == 1 => 0,
        0 => slot_of(number * 10, 1),
        _ => slot_of(number, places),
    }
}

/// The slot of a decimal of one digit, a point and up to eight digits, which without the point are a number
/// below ten thousand, or up to four digits and an exponent down to `e-09`; or of one digit alone.
#[inline(always)]
fn long_decimal(text: &[u8], start: usize, end: usize) -> usize {
    let Some(bytes) = text.get(start..start + 2 + DIGITS) else {
        return 0;
    };
    let Some(word) = bytes.last_chunk().map(|word| u64::from_le_bytes(*word)) else {
        return 0;
    };
    let lead = u64::from(bytes[0] ^ b'0');
    let length = end - start;
    let after = length.wrapping_sub(2);
    // Eight digits, filled up with leading zeros; the first one is the lowest byte.
    // `& 63` keeps the shift in range if `after` isn't 1 to 8; apart from a single digit, `is_decimal` is
    // false then.
    let word = (word ^ ZEROS) << (64_usize.wrapping_sub(after.wrapping_mul(8)) & 63);
    let (word, digits, exponent) = if length == 1 {
        // As with `.0`.
        (0, 1, 0)
    } else if word & EXPONENT_BYTES == EXPONENT {
        (word << 32, after.wrapping_sub(4), word >> 56)
    } else {
        (word, after, 0)
    };
    let (after_point, are_digits) = eight_digits(word);
    let number = after_point + lead * POWERS[digits & 15];
    #[expect(clippy::cast_possible_truncation, reason = "a byte")]
    let places = digits.wrapping_add(exponent as usize);
    let is_decimal = (length == 1 || after.wrapping_sub(1) < DIGITS && bytes[1] == b'.')
        && digits.wrapping_sub(1) < DIGITS
        && are_digits & (lead <= 9) & (exponent <= 9);
    if is_decimal {
        slot_of(number, places)
    } else {
        0
    }
}

/// Powers of ten by the digits after the point; the entries that no decimal uses are too large.
const POWERS: [u64; 16] = {
    let mut powers = [NUMBERS as u64; 16];
    let (mut digits, mut power) = (0, 1);
    while digits <= DIGITS {
        powers[digits] = power;
        power *= 10;
        digits += 1;
    }
    powers
};

/// Decodes an entry of the table.
#[inline(always)]
fn known(entry: u32) -> Found {
    match entry {
        0 => Found::UNKNOWN,
        _ => Found::at(entry - 1),
    }
}

impl DigitCache {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            indices: Vec::new(),
        }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Whether there is room for numbers.
    pub(super) fn has_begun(&self) -> bool {
        !self.indices.is_empty()
    }

    /// Makes room for numbers; false if there was some already.
    pub(super) fn begin(&mut self) -> bool {
        let first = self.indices.is_empty();
        if first {
            // Written now, not zeroed by the allocator: a fresh page that is read and then written faults twice, and the
            // second fault flushes it from the TLBs of all threads.
            self.indices.resize(self.form.slots() + 1, 0);
        }
        first
    }

    /// Forgets all numbers and keeps their room.
    pub(super) fn clear(&mut self) {
        self.indices.fill(0);
    }

    /// Forgets all numbers and gives the room back.
    pub(super) fn release(&mut self) {
        self.indices = Vec::new();
    }

    /// The slot of a field.
    #[inline(always)]
    pub(super) fn slot(&self, text: &[u8], (start, end): Span) -> usize {
        self.form.slot(text, start, end)
    }

    /// The index in a slot; slot 0 is never known.
    #[inline(always)]
    pub(super) fn find(&self, slot: usize) -> Found {
        known(self.indices.get(slot).copied().unwrap_or_default().into())
    }

    /// Looks up fields of a chunk; `others` gets those that weren't found and aren't empty, with their rows in `found`.
    pub(super) fn find_all(
        &self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        found: &mut [Found],
        others: &mut Vec<(usize, Span)>,
    ) {
        others.clear();
        #[cfg(target_arch = "x86_64")]
        let done = self.find_eights(text, fields, found, others);
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let mut unknown = others.len();
        others.resize(unknown + found.len() - done, (0, (0, 0)));
        let left = fields.after(done).iter();
        for ((row, found), field) in found.iter_mut().enumerate().skip(done).zip(left) {
            *found = self.find(self.slot(text, field));
            // Without a branch, because nothing predicts which fields these are.
            others[unknown] = (row, field);
            unknown += usize::from(*found == Found::UNKNOWN && field.0 < field.1);
        }
        others.truncate(unknown);
    }

    /// Remembers an index; false if the slot is 0 or the index too large.
    pub(super) fn insert(&mut self, slot: usize, index: u32) -> bool {
        let Ok(index) = u16::try_from(index + 1) else {
            return false;
        };
        match self.indices.get_mut(slot) {
            Some(found) if (1..self.form.slots()).contains(&slot) => {
                *found = index;
                true
            }
            _ => false,
        }
    }
}
