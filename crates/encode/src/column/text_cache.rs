//! The short texts of one column, each with the index of its value in the dictionary: a field that
//! was seen before is neither parsed nor hashed as a value.
//!
//! All but some hundred thousand of the 48 million fields of a part of task_usage were seen before,
//! so this is what a field costs. A text is compared as two words. Fields that equal the one above
//! them are looked up once.

mod block;

use super::found::{Found, Span};
use super::key::{INDEX_SHIFT, INDICES, Key};
use crate::split::FieldOffsets;
use block::{BLOCK, FieldBlock};

/// The most buckets; with more texts than fit, the later ones push others out.
const MOST_BUCKETS: usize = 1 << 15;

/// Slots of a bucket; together they are one cache line.
const WAYS: usize = 4;

/// Four texts in a cache line. A free slot has no index and no length.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    /// The upper and the lower halves of `mixed` of each key.
    upper: [u32; WAYS],
    lower: [u32; WAYS],
    /// `rest` of each key, with the index of its value above.
    rest: [u64; WAYS],
}

/// The texts of one column.
///
/// # Memory
/// 24 to 48 bytes a text, from the first one on at least 4 KiB, at most 2 MiB.
#[derive(Default)]
pub(super) struct TextCache {
    /// A power of two of them. The upper bits of a key choose its home; if that one is full, the text
    /// goes into its neighbour, which the processor fetches with it.
    buckets: Vec<Bucket>,
    /// The shift that makes the number of a bucket of `mixed`.
    shift: u32,
    filled: usize,
}

impl TextCache {
    /// Forgets all texts and keeps their room.
    pub(super) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
        self.filled = 0;
    }

    /// The index of a text. The empty text is never known.
    #[inline(always)]
    pub(super) fn find_key(&self, key: Key) -> Found {
        if self.buckets.is_empty() || key.rest == 0 {
            return Found::UNKNOWN;
        }
        let home = self.home(key);
        let found = Self::find_in(&self.buckets[home], key);
        if found != Found::UNKNOWN {
            return found;
        }
        Self::find_in(&self.buckets[home ^ 1], key)
    }

    /// The number of the bucket where a text belongs.
    #[inline(always)]
    fn home(&self, key: Key) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "below the number of buckets"
        )]
        let home = (key.mixed >> self.shift) as usize;
        home
    }

    #[inline(always)]
    fn find_in(bucket: &Bucket, key: Key) -> Found {
        let (upper, lower) = key.halves();
        let mut way = 0;
        for other in 1..WAYS {
            // A select, not a branch: nothing predicts which slot it is.
            way = if bucket.upper[other] == upper {
                other
            } else {
                way
            };
        }
        let apart = (bucket.rest[way] ^ key.rest) << (64 - INDEX_SHIFT);
        if apart == 0 && bucket.upper[way] == upper && bucket.lower[way] == lower {
            return Found::at((bucket.rest[way] >> INDEX_SHIFT) as u32);
        }
        Found::UNKNOWN
    }

    /// Looks up the fields of a column; `long` looks up a text that is too long to be kept here.
    ///
    /// Fields are taken in blocks. Of equal neighbours only the first is looked up. All buckets of a
    /// block are touched before the first one is searched, so that the processor fetches them at the
    /// same time.
    pub(super) fn find_column(
        &self,
        text: &[u8],
        mut fields: FieldOffsets<'_>,
        found: &mut [Found],
        long: impl Fn(&[u8]) -> Found,
    ) {
        let mut block = FieldBlock::default();
        for found in found.chunks_mut(BLOCK) {
            block.read(text, fields, found.len());
            self.touch(block.distinct().map(|row| block.key(row)));
            let mut known: Option<(&[u8], Found)> = None;
            for row in block.distinct() {
                let key = block.key(row);
                let index = if key == Key::LONG {
                    let (start, end) = fields.get(row);
                    let field = &text[start..end];
                    let index = match known {
                        Some((above, index)) if above == field => index,
                        _ => long(field),
                    };
                    known = Some((field, index));
                    index
                } else {
                    self.find_key(key)
                };
                let end = block.next_distinct(row, found.len());
                found[row..end].fill(index);
            }
            fields = fields.after(found.len());
        }
    }

    /// Looks up single fields, each with its row in `found`; long ones stay unknown.
    pub(super) fn find_each(&self, text: &[u8], fields: &[(usize, Span)], found: &mut [Found]) {
        for fields in fields.chunks(BLOCK) {
            let mut keys = [Key::LONG; BLOCK];
            for (key, &(_, (start, end))) in keys.iter_mut().zip(fields) {
                *key = Key::new(text, start, end).unwrap_or(Key::LONG);
            }
            self.touch(keys[..fields.len()].iter().copied());
            for (key, &(row, _)) in keys.iter().zip(fields) {
                if *key != Key::LONG {
                    found[row] = self.find_key(*key);
                }
            }
        }
    }

    /// Makes the processor fetch the buckets of some texts.
    #[inline(always)]
    fn touch(&self, keys: impl Iterator<Item = Key>) {
        let touched = keys.fold(0, |touched, key| {
            let bucket = self.buckets.get(self.home(key));
            touched ^ bucket.map_or(0, |bucket| bucket.upper[0])
        });
        std::hint::black_box(touched);
    }

    /// Remembers the index of a text that is not known.
    pub(super) fn insert_key(&mut self, key: Key, index: u32) {
        if index >= INDICES {
            return;
        }
        // Seven tenths of the slots.
        if self.filled * 5 >= self.buckets.len() * 14 && self.buckets.len() < MOST_BUCKETS {
            self.grow();
        }
        self.put(key, index);
    }

    fn put(&mut self, key: Key, index: u32) {
        let home = self.home(key);
        let slots = [home, home ^ 1]
            .into_iter()
            .flat_map(|bucket| (0..WAYS).map(move |way| (bucket, way)));
        let mut free = slots.filter(|&(bucket, way)| self.buckets[bucket].rest[way] == 0);
        // If all are taken, the new text replaces an old one.
        let (bucket, way) = match free.next() {
            Some(free) => {
                self.filled += 1;
                free
            }
            None => (home, (key.mixed & 3) as usize),
        };
        let bucket = &mut self.buckets[bucket];
        (bucket.upper[way], bucket.lower[way]) = key.halves();
        bucket.rest[way] = key.rest | u64::from(index) << INDEX_SHIFT;
    }

    fn grow(&mut self) {
        let buckets = (self.buckets.len() * 2).max(1 << 6);
        let before = std::mem::replace(&mut self.buckets, vec![Bucket::default(); buckets]);
        self.shift = 64 - buckets.trailing_zeros();
        self.filled = 0;
        for bucket in &before {
            for way in (0..WAYS).filter(|&way| bucket.rest[way] != 0) {
                let mixed = u64::from(bucket.upper[way]) << 32 | u64::from(bucket.lower[way]);
                let rest = bucket.rest[way] & ((1 << INDEX_SHIFT) - 1);
                self.put(
                    Key { mixed, rest },
                    (bucket.rest[way] >> INDEX_SHIFT) as u32,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn key(text: &str) -> Option<Key> {
        Key::new(text.as_bytes(), 0, text.len())
    }

    #[test]
    fn nothing_is_known_at_first_and_the_empty_text_never() {
        let mut texts = TextCache::default();
        for _ in 0..2 {
            assert_eq!(texts.find_key(key("b").unwrap()), Found::UNKNOWN);
            texts.insert_key(key("a").unwrap(), 7);
        }
    }

    /// Texts whose keys differ in the lower half of `mixed` alone, or in `rest` alone: no word of a key may be
    /// left out of a comparison.
    #[test]
    fn keys_that_differ_in_one_word_differ() {
        let factor = crate::column::key::FACTORS[0];
        // Its inverse, by Newton's method: each step doubles the bits that are right, at first three.
        let inverse = (0..5).fold(factor, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)))
        });
        assert_eq!(factor.wrapping_mul(inverse), 1);
        let unmixed = |mixed: u64, rest: u64| {
            (mixed ^ rest.wrapping_mul(crate::column::key::FACTORS[1])).wrapping_mul(inverse)
        };
        let word = u64::from_le_bytes(*b"someword");
        let [one, other] = [word, word.wrapping_add(inverse)]
            .map(|word| Key::new(&word.to_le_bytes(), 0, 8).unwrap());
        assert!(one.rest == other.rest && one.halves().0 == other.halves().0);
        let mut texts = TextCache::default();
        texts.insert_key(one, 3);
        assert_eq!(texts.find_key(one), Found::at(3));
        assert_eq!(texts.find_key(other), Found::UNKNOWN);
        // A longer text, whose first eight bytes are chosen so that the words are mixed to the same.
        let longer = key("somewordx").unwrap();
        let start = unmixed(one.mixed, longer.rest).to_le_bytes();
        let longer = Key::new(&[&start[..], b"x"].concat(), 0, 9).unwrap();
        assert!(longer.mixed == one.mixed && longer.rest != one.rest);
        assert_eq!(texts.find_key(longer), Found::UNKNOWN);
    }

    #[test]
    fn an_index_that_does_not_fit_is_not_kept() {
        let mut texts = TextCache::default();
        texts.insert_key(key("a").unwrap(), INDICES);
        texts.insert_key(key("b").unwrap(), INDICES - 1);
        assert_eq!(texts.find_key(key("a").unwrap()), Found::UNKNOWN);
        assert_eq!(texts.find_key(key("b").unwrap()), Found::at(INDICES - 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// A found index is right; an index that isn't found was at most pushed out by others.
        #[test]
        fn what_is_found_was_put_there(fields in prop::collection::vec("[0-9.]{1,13}", 0..3000)) {
            let mut texts = TextCache::default();
            let mut plain: HashMap<String, u32> = HashMap::new();
            let mut forgotten = 0;
            for field in &fields {
                let key = key(field).unwrap();
                let next = u32::try_from(plain.len()).unwrap();
                let index = *plain.entry(field.clone()).or_insert(next);
                match texts.find_key(key) {
                    Found::UNKNOWN => {
                        forgotten += usize::from(index != next);
                        texts.insert_key(key, index);
                    }
                    found => prop_assert_eq!(found, Found::at(index)),
                }
            }
            prop_assert!(forgotten * 20 <= fields.len());
        }
    }
}
