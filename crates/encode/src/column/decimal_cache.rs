//! The short decimals of one column, such as `0.01562`, `7.534e-05` and `1`, each with the index of its
//! value in the dictionary, in a table in which its own digits give its slot.
//!
//! Nearly all numbers that C prints with four significant digits have this form. Unlike in the
//! [`TextCache`], no text is compared, and a value takes two bytes instead of sixteen, so that the
//! tables of all columns stay in the second-level cache.
//!
//! [`TextCache`]: super::text_cache::TextCache

#[cfg(target_arch = "x86_64")]
mod wide;

use super::found::{Found, Span};
use crate::split::FieldOffsets;
use crate::value::{ZEROS, eight_digits};

/// The most digits after the point of a field.
const DIGITS: usize = 8;

/// The most places after the point of a value: the digits, and the exponent.
const PLACES: usize = 12;

/// Numbers below this one have a slot.
const NUMBERS: usize = 10_000;

/// The slots of a table: of no decimal, and of each number by the places after the point.
const SLOTS: usize = 1 + PLACES * NUMBERS;

/// The bytes of a word that are `e-0` where it ends in an exponent.
const EXPONENT_BYTES: u64 = 0x00ff_ffff_0000_0000;
/// These bytes of such a word, XORed with [`ZEROS`].
const EXPONENT: u64 = u64::from_le_bytes(*b"0000e-00") ^ ZEROS;

/// The decimals of one column.
///
/// # Memory
/// 235 KiB, once it has begun.
#[derive(Default)]
pub(super) struct DecimalCache {
    /// By [`slot`] the index plus one; zero if it isn't known. The last one is of no slot, so that two
    /// can be read at each.
    indices: Vec<u16>,
}

/// The slot of a decimal: one digit, a point and up to eight digits, which without the point are a number
/// below ten thousand, or up to four digits and an exponent down to `e-09`; or one digit alone. Zero for
/// anything else.
///
/// Decimals have the same slot only if they have the same value: that number by its places after the point.
#[inline(always)]
pub(super) fn slot(text: &[u8], start: usize, end: usize) -> usize {
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
        && are_digits & (lead <= 9) & (exponent <= 9)
        && number < NUMBERS as u64
        && places <= PLACES;
    #[expect(clippy::cast_possible_truncation, reason = "small where it counts")]
    let slot = places
        .wrapping_sub(1)
        .wrapping_mul(NUMBERS)
        .wrapping_add(number as usize + 1);
    if is_decimal { slot } else { 0 }
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

impl DecimalCache {
    /// Whether there is room for decimals.
    pub(super) fn has_begun(&self) -> bool {
        !self.indices.is_empty()
    }

    /// Makes room for decimals; false if there was some already.
    pub(super) fn begin(&mut self) -> bool {
        let first = self.indices.is_empty();
        if first {
            self.indices = vec![0; SLOTS + 1];
        }
        first
    }

    /// Forgets all decimals and keeps their room.
    pub(super) fn clear(&mut self) {
        self.indices.fill(0);
    }

    /// The index in a slot; slot 0 is never known.
    #[inline(always)]
    pub(super) fn find(&self, slot: usize) -> Found {
        known(self.indices.get(slot).copied().unwrap_or_default().into())
    }

    /// Looks up fields of a chunk; `others` gets those that weren't found, with their rows in `found`.
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
        let fields = fields.after(done).iter();
        for ((row, found), field) in found.iter_mut().enumerate().skip(done).zip(fields) {
            *found = self.find(slot(text, field.0, field.1));
            // Without a branch, because nothing predicts which fields these are.
            others[unknown] = (row, field);
            unknown += usize::from(*found == Found::UNKNOWN);
        }
        others.truncate(unknown);
    }

    /// Remembers an index; false if the slot is 0 or the index too large.
    pub(super) fn insert(&mut self, slot: usize, index: u32) -> bool {
        let Ok(index) = u16::try_from(index + 1) else {
            return false;
        };
        match self.indices.get_mut(slot) {
            Some(found) if (1..SLOTS).contains(&slot) => {
                *found = index;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Records;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::fmt::Write;
    use tracelake_core::instructions::plainly;
    use tracelake_core::line_ending::LineEnding;

    fn slot_of(text: &str, after: &str) -> usize {
        let chunk = format!("{text}{after}");
        slot(chunk.as_bytes(), 0, text.len())
    }

    /// The plain twin.
    fn plain(text: &str) -> usize {
        let (mantissa, exponent) = match text.split_once("e-0") {
            Some((mantissa, exponent)) if exponent.len() == 1 => (mantissa, exponent),
            Some(_) => return 0,
            None => (text, "0"),
        };
        let (lead, after) = match mantissa.split_once('.') {
            Some(parts) => parts,
            None if text.len() == 1 => (text, "0"),
            None => return 0,
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_short = lead.len() == 1 && !after.is_empty() && text.len() <= 10;
        if !is_short || ![lead, after, exponent].into_iter().all(digits) {
            return 0;
        }
        let number = format!("{lead}{after}").parse::<usize>().unwrap();
        let places = after.len() + exponent.parse::<usize>().unwrap();
        if number < 10_000 && places <= 12 {
            (places - 1) * 10_000 + number + 1
        } else {
            0
        }
    }

    #[test]
    fn nothing_is_known_before_there_is_room() {
        let text = "0.5,\n".repeat(20);
        let mut records = Records::default();
        records.split(text.as_bytes(), 2, LineEnding::Lf);
        let mut found = vec![Found::UNKNOWN; 20];
        let mut others = Vec::new();
        let fields = records.column(0, 0..20);
        DecimalCache::default().find_all(text.as_bytes(), fields, &mut found, &mut others);
        assert_eq!((found, others.len()), (vec![Found::UNKNOWN; 20], 20));
    }

    #[test]
    fn slots_at_the_edges() {
        let after = ",0123456789";
        for text in [
            "",
            ".",
            "0",
            "0.",
            "0.0",
            "9.999",
            "9.9999",
            "0.00009999",
            "0.000000001",
            "00.1",
            "1.e5",
            "0,01",
            "-0.1",
            "0.1e-05",
            "7.534e-05",
            "1.5e-00",
            "9.999e-09",
            "9.99e-09",
            "0.0001e-09",
            "1.e-05",
            "1e-05",
            "1.5e-10",
            "1.5e-055",
            "1.5e-0x",
            "1.5e-0:",
            "1.5f-05",
            "12345.5e-05",
            "5",
            "-",
            "0.\u{ff}",
            "0.12345678",
            "0.0:00",
            "0.0/00",
            "1.000",
        ] {
            assert_eq!(slot_of(text, after), plain(text), "{text:?}");
        }
        // Too close to the end of a chunk to be read at once.
        assert_eq!(slot_of("0.1", ",1\n"), 0);
    }

    /// A decimal or something like it, another field, and whether the decimal is known.
    type TestRow = (String, String, bool);

    fn rows() -> impl Strategy<Value = Vec<TestRow>> {
        let decimal =
            "[0-9]\\.[0-9]{1,9}|[0-9]\\.[0-9]{0,5}e-0[0-9.]|[0-9.e:/-]{0,12}|[ -+--~]{0,12}";
        prop::collection::vec((decimal, "[0-9a-z]{0,9}", any::<bool>()), 0..70)
    }

    fn many_are_found_as_one_is(rows: &[TestRow], column: usize) -> Result<(), TestCaseError> {
        let mut decimals = DecimalCache::default();
        decimals.begin();
        let mut text = String::new();
        for (index, (decimal, other, is_known)) in (0..).zip(rows) {
            writeln!(text, "{decimal},{other}").unwrap();
            if *is_known {
                decimals.insert(slot_of(decimal, ",0123456789"), index);
            }
        }
        let mut records = Records::default();
        records.split(text.as_bytes(), 2, LineEnding::Lf);
        let fields = records.column(column, 0..records.len());
        let mut found = vec![Found::UNKNOWN; records.len()];
        let mut others = vec![(1, (2, 3))];
        decimals.find_all(text.as_bytes(), fields, &mut found, &mut others);
        let mut unknown = Vec::new();
        for (row, (found, field)) in found.iter().zip(fields.iter()).enumerate() {
            prop_assert_eq!(
                *found,
                decimals.find(slot(text.as_bytes(), field.0, field.1))
            );
            prop_assert_eq!(fields.get(row), field);
            if *found == Found::UNKNOWN {
                unknown.push((row, field));
            }
        }
        prop_assert_eq!(others, unknown);
        Ok(())
    }

    proptest! {
        #[test]
        fn slots_are_those_of_the_plain_twin(text in "[0-9]\\.[0-9]{1,9}|[0-9]\\.[0-9]{0,5}e-0[0-9.]|[0-9.e,:/-]{0,12}|[ -~]{0,12}") {
            prop_assert_eq!(slot_of(&text, ",0.5,0.25,\n"), plain(&text));
        }

        /// Eight at a time, and the last ones of a chunk one by one.
        #[test]
        #[cfg_attr(not(avx512), ignore = "needs a processor with AVX-512")]
        fn many_are_found_with_avx_512_as_one_is(rows in rows(), column in 0..2_usize) {
            many_are_found_as_one_is(&rows, column)?;
        }

        #[test]
        fn many_are_found_plainly_as_one_is(rows in rows(), column in 0..2_usize) {
            plainly(|| many_are_found_as_one_is(&rows, column))?;
        }

        #[test]
        fn what_is_found_was_put_there(numbers in prop::collection::vec((0..10_000_u32, 1..9_usize), 0..300)) {
            let mut decimals = DecimalCache::default();
            prop_assert!(!decimals.insert(1, 0));
            prop_assert!(decimals.begin() && !decimals.begin());
            let mut known = HashMap::new();
            for (index, &(number, digits)) in (0_u32..).zip(&numbers) {
                let text = format!("{number:0width$}", width = digits + 1);
                let (lead, after) = text.split_at(text.len() - digits);
                let text = format!("{lead}.{after}");
                let slot = slot_of(&text, ",0123456789");
                if slot > 0 {
                    let before = decimals.find(slot);
                    prop_assert_eq!(known.get(&text).copied().map_or(Found::UNKNOWN, Found::at), before);
                    prop_assert!(decimals.insert(slot, index));
                    known.insert(text, index);
                }
            }
            prop_assert!(decimals.insert(1, 65_534) && !decimals.insert(1, 65_535));
            prop_assert!(!decimals.insert(0, 1));
        }
    }
}
