//! The short decimals of one column that were seen, such as `0.01562`, each with the index of its
//! value in the dictionary, in a table that its own digits are the place in.
//!
//! What C prints with four significant digits is of this form nine times of ten. Against [`Texts`]
//! no text is compared, and a value takes two bytes instead of sixteen, so that the tables of all
//! columns stay in the second-level cache.
//!
//! [`Texts`]: super::texts::Texts

use super::texts::MISS;

/// The largest number of digits behind the point.
const DIGITS: usize = 8;

/// Numbers below this one have a place.
const NUMBERS: usize = 10_000;

/// The decimals of one column. Like the texts it is a cache: what is not in it is found otherwise.
///
/// # Memory
/// 157 KiB, once it has begun.
pub(super) struct Decimals {
    /// By [`place`] the index and one more; zero where it is not known.
    indices: Vec<u16>,
}

/// The place of a decimal: of one digit, a point and up to eight digits, which read without the
/// point are a number below ten thousand. Zero for anything else.
///
/// Different decimals have different places: the digits behind the point are counted.
#[inline(always)]
pub(super) fn place(chunk: &[u8], start: usize, end: usize) -> usize {
    let Some(bytes) = chunk.get(start..start + 2 + DIGITS) else {
        return 0;
    };
    let Some(word) = bytes.last_chunk().map(|word| u64::from_le_bytes(*word)) else {
        return 0;
    };
    let digits = (end - start).wrapping_sub(2);
    let lead = u64::from(bytes[0] ^ b'0');
    // Eight digits, filled up with leading zeros; the first one is the lowest byte.
    let shift = 64_usize.wrapping_sub(digits.wrapping_mul(8)) & 63;
    let word = (word ^ 0x3030_3030_3030_3030) << shift;
    let no_digit = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    // Pairs, then fours, then all.
    let word = word.wrapping_mul(10).wrapping_add(word >> 8);
    let odd = (word & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let even = (word >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    let behind = odd.wrapping_add(even) >> 32;
    let number = behind + lead * POWERS[digits & 15];
    let is_decimal = digits.wrapping_sub(1) < DIGITS
        && (bytes[1] == b'.') & (no_digit == 0) & (lead <= 9) & (number < NUMBERS as u64);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below ten thousand where it counts"
    )]
    let place = (digits.wrapping_sub(1) & 7) * NUMBERS + number as usize + 1;
    if is_decimal { place } else { 0 }
}

/// Powers of ten; what no decimal asks for is too large for any.
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

impl Decimals {
    pub(super) fn new() -> Self {
        Self {
            indices: Vec::new(),
        }
    }

    /// Forgets all decimals, and keeps the room for them.
    pub(super) fn clear(&mut self) {
        self.indices.fill(0);
    }

    /// The index at a place, or [`MISS`] where it is not known or the place is zero.
    #[inline(always)]
    pub(super) fn find(&self, place: usize) -> u32 {
        match self.indices.get(place) {
            None | Some(0) => MISS,
            Some(&index) => u32::from(index) - 1,
        }
    }

    /// Makes room for decimals; false where it is there already.
    pub(super) fn begin(&mut self) -> bool {
        let first = self.indices.is_empty();
        if first {
            self.indices = vec![0; DIGITS * NUMBERS + 1];
        }
        first
    }

    /// Remembers the index at a place; false where that cannot be.
    pub(super) fn insert(&mut self, place: usize, index: u32) -> bool {
        let Ok(index) = u16::try_from(index + 1) else {
            return false;
        };
        match self.indices.get_mut(place) {
            Some(found) if place > 0 => {
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
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn place_of(text: &str, behind: &str) -> usize {
        let chunk = format!("{text}{behind}");
        place(chunk.as_bytes(), 0, text.len())
    }

    /// The plain twin.
    fn plain(text: &str) -> usize {
        let Some((lead, behind)) = text.split_once('.') else {
            return 0;
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if lead.len() != 1 || !(1..=8).contains(&behind.len()) || !digits(lead) || !digits(behind) {
            return 0;
        }
        match format!("{lead}{behind}").parse::<usize>() {
            Ok(number) if number < 10_000 => (behind.len() - 1) * 10_000 + number + 1,
            _ => 0,
        }
    }

    #[test]
    fn places_at_the_edges() {
        let behind = ",0123456789";
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
            "0.\u{ff}",
            "0.12345678",
            "0.0:00",
            "0.0/00",
            "1.000",
        ] {
            assert_eq!(place_of(text, behind), plain(text), "{text:?}");
        }
        // Too near the end of a chunk to be read at once.
        assert_eq!(place_of("0.1", ",1\n"), 0);
    }

    proptest! {
        #[test]
        fn places_are_those_of_the_plain_twin(text in "[0-9]\\.[0-9]{1,9}|[0-9.e,:/-]{0,12}|[ -~]{0,12}") {
            prop_assert_eq!(place_of(&text, ",0.5,0.25,\n"), plain(&text));
        }

        #[test]
        fn what_is_found_was_put_there(numbers in prop::collection::vec((0..10_000_u32, 1..9_usize), 0..300)) {
            let mut decimals = Decimals::new();
            prop_assert!(!decimals.insert(1, 0));
            prop_assert!(decimals.begin() && !decimals.begin());
            let mut known = HashMap::new();
            for (index, &(number, digits)) in (0_u32..).zip(&numbers) {
                let text = format!("{number:0width$}", width = digits + 1);
                let (lead, behind) = text.split_at(text.len() - digits);
                let text = format!("{lead}.{behind}");
                let place = place_of(&text, ",0123456789");
                if place > 0 {
                    let before = decimals.find(place);
                    prop_assert_eq!(known.get(&text).copied().unwrap_or(MISS), before);
                    prop_assert!(decimals.insert(place, index));
                    known.insert(text, index);
                }
            }
            prop_assert!(!decimals.insert(1, 65_535));
            prop_assert!(!decimals.insert(0, 1));
        }
    }
}
