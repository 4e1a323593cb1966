//! A short text as two words, for comparing many of them.

/// The longest text that is kept, in bytes.
pub(super) const LONGEST: usize = 13;

/// Where the second word has what is above the text: the length, then the index.
pub(super) const LENGTH_SHIFT: u32 = 40;
pub(super) const INDEX_SHIFT: u32 = 44;

/// Indices below this one fit.
pub(super) const INDICES: u32 = 1 << (64 - INDEX_SHIFT);

/// The factors for the two words of a text: odd, of the golden ratio and the square root of two,
/// so the upper bits of a product depend on all of its bits.
pub(super) const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909];

/// A short text as two words; different for different texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// The first eight bytes, mixed with the rest: given the rest, each text has another one.
    pub(super) mixed: u64,
    /// The other five bytes and the length.
    pub(super) rest: u64,
}

/// The first bytes of a word that belong to a text, by its length.
const MASKS: [(u64, u64); 16] = {
    let mut masks = [(0, 0); 16];
    let (mut length, mut bits) = (0, 0);
    while length < 15 {
        length += 1;
        bits += 8;
        masks[length] = if length < 8 {
            ((1 << bits) - 1, 0)
        } else if length == 8 {
            (u64::MAX, 0)
        } else {
            (u64::MAX, (1 << (bits - 64)) - 1)
        };
    }
    masks
};

impl Key {
    /// Marks a text longer than [`LONGEST`]: no text has this length.
    pub(super) const LONG: Self = Self {
        mixed: 0,
        rest: u64::MAX,
    };

    /// The key of the field `text[start..end]`; `None` if it is longer than [`LONGEST`].
    #[inline(always)]
    pub(super) fn new(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > LONGEST {
            return None;
        }
        let word = match text.get(start..start + 16).and_then(<[u8]>::first_chunk) {
            Some(word) => u128::from_le_bytes(*word),
            None => Self::at_the_end(text, start),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
        let (low, high) = (word as u64, (word >> 64) as u64);
        let masks = MASKS[length & 15];
        let rest = high & masks.1 | (length as u64) << LENGTH_SHIFT;
        let mixed = (low & masks.0).wrapping_mul(FACTORS[0]) ^ rest.wrapping_mul(FACTORS[1]);
        Some(Self { mixed, rest })
    }

    /// The last bytes of the text, where there are no sixteen to read.
    #[cold]
    fn at_the_end(text: &[u8], start: usize) -> u128 {
        let rest = &text[start..];
        let mut word = [0; 16];
        let length = rest.len().min(16);
        word[..length].copy_from_slice(&rest[..length]);
        u128::from_le_bytes(word)
    }

    pub(super) fn halves(self) -> (u32, u32) {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
        ((self.mixed >> 32) as u32, self.mixed as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> Option<Key> {
        Key::new(text.as_bytes(), 0, text.len())
    }

    #[test]
    fn texts_that_differ_only_in_nul_bytes_or_length_differ() {
        let texts = [
            "",
            "\0",
            "\0\0",
            "0",
            "00",
            "0\0",
            "1234567",
            "12345678",
            "123456789",
        ];
        for a in texts {
            for b in texts {
                assert_eq!(key(a) == key(b), a == b, "{a:?} {b:?}");
            }
        }
        assert!(key("1234567890123").is_some());
        assert!(key("12345678901234").is_none());
    }

    proptest! {
        /// A key is the same wherever in a chunk its text is.
        #[test]
        fn a_key_depends_on_its_text_alone(text in "[ -~]{0,13}", before in "[ -~]{0,20}", after in "[ -~]{0,20}") {
            let chunk = format!("{before}{text}{after}");
            let found = Key::new(chunk.as_bytes(), before.len(), before.len() + text.len());
            prop_assert!(found == key(&text));
        }
    }
}
