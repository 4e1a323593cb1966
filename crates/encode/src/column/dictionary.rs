//! The distinct values of one column in a row group, in the order in which they first appear.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::found::Found;

/// The distinct values of a dictionary, by index.
pub(super) trait ValueList: Default + Send {
    /// A number, or the bytes of a text.
    type Value: ?Sized + Ord + Hash;

    /// The number of values.
    fn len(&self) -> usize;
    /// The value at an index below [`Self::len`].
    fn get(&self, index: usize) -> &Self::Value;
    /// Adds a value.
    fn push(&mut self, value: &Self::Value);
    /// Removes all values and keeps their room.
    fn clear(&mut self);
    /// The size of all values in PLAIN encoding, in bytes; of codes, twice that.
    fn plain_bytes(&self) -> usize;
}

impl ValueList for Vec<i64> {
    type Value = i64;

    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> &i64 {
        &self[index]
    }

    fn push(&mut self, value: &i64) {
        self.push(*value);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn plain_bytes(&self) -> usize {
        self.len() * size_of::<i64>()
    }
}

/// The most values that are kept from one row group to the next: a dictionary of 1 MiB has as many numbers.
const MOST_KNOWN: usize = 1 << 17;

/// The most bytes of texts that are kept from one row group to the next.
const MOST_KNOWN_BYTES: usize = 1 << 20;

/// Values are kept unless they repeat more often than this in a row group: then it costs less to read them again than to
/// look up the index of each row's value.
const KEEP_BELOW_REPEATS: u64 = 64;

/// No index in the dictionary.
const NONE: u32 = u32::MAX;

/// The distinct values of a column in the row group, and perhaps those of the row groups before it.
///
/// A known value has a number, by which it is found. Its index in the dictionary of the row group is the same number as
/// long as nothing is known of row groups before.
///
/// # Memory
/// About 16 bytes a value, and the bytes of a text; twice that if it occurs in several row groups.
pub(super) struct Dictionary<V: ValueList> {
    /// By index.
    values: V,
    /// The indices of the smallest and of the largest value.
    bounds: Option<(u32, u32)>,
    /// The values of this row group and of those before it; `None` if there are only those of this one.
    kept: Option<Kept<V>>,
    /// The number of each known value, by the value's hash. Its order is never looked at.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The values of several row groups, by number.
struct Kept<V> {
    values: V,
    /// The index of each in the row group; [`NONE`] if it hasn't occurred there.
    indices: Vec<u32>,
}

impl<V: ValueList> Dictionary<V> {
    pub(super) fn new() -> Self {
        Self {
            values: V::default(),
            bounds: None,
            kept: None,
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Begins a row group without values, after one of `rows` rows. Returns whether the numbers of known values are still
    /// theirs.
    pub(super) fn begin(&mut self, rows: u64) -> bool {
        let known = self.known();
        let keeps = known.len() as u64 * KEEP_BELOW_REPEATS > rows
            && known.len() <= MOST_KNOWN
            && known.plain_bytes() <= MOST_KNOWN_BYTES;
        self.bounds = None;
        if !keeps {
            self.numbers.clear();
            self.kept = None;
        } else if let Some(kept) = &mut self.kept {
            kept.indices.fill(NONE);
        } else {
            let values = std::mem::take(&mut self.values);
            let indices = vec![NONE; values.len()];
            self.kept = Some(Kept { values, indices });
        }
        self.values.clear();
        keeps
    }

    /// Forgets all values and gives their room back.
    pub(super) fn release(&mut self) {
        *self = Self::new();
    }

    pub(super) fn values(&self) -> &V {
        &self.values
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values that have a number.
    pub(super) fn known(&self) -> &V {
        self.kept.as_ref().map_or(&self.values, |kept| &kept.values)
    }

    /// The indices of the smallest and of the largest value; `None` without values.
    pub(super) fn bounds(&self) -> Option<(u32, u32)> {
        self.bounds
    }

    /// The size of a page of these values, in bytes; of codes, twice that.
    pub(super) fn plain_bytes(&self) -> usize {
        self.values.plain_bytes()
    }

    /// The number of a value that is known.
    pub(super) fn find(&self, value: &V::Value) -> Option<u32> {
        let hash = self.hasher.hash_one(value);
        let known = self.known();
        let is_value = |&number: &u32| known.get(number as usize) == value;
        self.numbers.find(hash, is_value).copied()
    }

    /// The number of a value, which is known from now on.
    pub(super) fn intern(&mut self, value: &V::Value) -> u32 {
        let known = self.kept.as_ref().map_or(&self.values, |kept| &kept.values);
        let entry = self.numbers.entry(
            self.hasher.hash_one(value),
            |&number| known.get(number as usize) == value,
            |&number| self.hasher.hash_one(known.get(number as usize)),
        );
        let next = u32::try_from(known.len()).expect("two row groups have at most 2^21 rows");
        let number = *entry.or_insert(next).get();
        if number == next {
            match &mut self.kept {
                None => _ = Self::add(&mut self.values, &mut self.bounds, value),
                Some(kept) => {
                    kept.values.push(value);
                    kept.indices.push(NONE);
                }
            }
        }
        number
    }

    /// Turns the numbers of values into their indices. A value that is new in the row group gets the next one.
    pub(super) fn index(&mut self, found: &mut [Found]) {
        let Some(Kept { values, indices }) = &mut self.kept else {
            return;
        };
        for found in found {
            let number = found.raw() as usize;
            let Some(index) = indices.get_mut(number) else {
                continue;
            };
            if *index == NONE {
                *index = Self::add(&mut self.values, &mut self.bounds, values.get(number));
            }
            *found = Found::at(*index);
        }
    }

    /// Adds a value to those of the row group, and returns its index.
    #[inline(never)]
    fn add(values: &mut V, bounds: &mut Option<(u32, u32)>, value: &V::Value) -> u32 {
        let index = u32::try_from(values.len()).expect("a row group has at most 2^20 rows");
        let (low, high) = bounds.unwrap_or((index, index));
        let is_low = index > 0 && value < values.get(low as usize);
        let is_high = index > 0 && value > values.get(high as usize);
        *bounds = Some((
            if is_low { index } else { low },
            if is_high { index } else { high },
        ));
        values.push(value);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Texts;
    use super::*;

    /// The indices of some values.
    fn indices<V: ValueList>(dictionary: &mut Dictionary<V>, values: &[&V::Value]) -> Vec<u32> {
        let numbers = values.iter().map(|value| dictionary.intern(value));
        let mut found: Vec<Found> = numbers.map(Found::at).collect();
        dictionary.index(&mut found);
        found.iter().map(|found| found.raw()).collect()
    }

    #[test]
    fn values_have_indices_as_they_appear() {
        let mut numbers = Dictionary::<Vec<i64>>::new();
        assert_eq!(indices(&mut numbers, &[&7, &-1, &7, &0]), [0, 1, 0, 2]);
        assert_eq!((numbers.len(), numbers.plain_bytes()), (3, 24));
        assert_eq!(numbers.bounds(), Some((1, 0)));
        let mut texts = Dictionary::<Texts>::new();
        assert_eq!(indices(&mut texts, &[b"b", b"", b"b", b"a"]), [0, 1, 0, 2]);
        assert_eq!((texts.find(b"a"), texts.find(b"c")), (Some(2), None));
        assert_eq!(
            (texts.values().get(0), texts.values().get(1)),
            (&b"b"[..], &b""[..])
        );
    }

    /// A row group doesn't depend on those before it, though their values are known.
    #[test]
    fn a_row_group_has_indices_of_its_own() {
        let mut numbers = Dictionary::<Vec<i64>>::new();
        indices(&mut numbers, &[&7, &-1, &0]);
        for _ in 0..2 {
            assert!(numbers.begin(100));
            assert_eq!((numbers.len(), numbers.bounds()), (0, None));
            assert_eq!(numbers.find(&0), Some(2));
            assert_eq!(indices(&mut numbers, &[&0, &5, &7, &0]), [0, 1, 2, 0]);
            assert_eq!(numbers.values(), &[0, 5, 7]);
            assert_eq!(numbers.bounds(), Some((0, 2)));
            let mut nulls = [Found::NULL, Found::UNKNOWN];
            numbers.index(&mut nulls);
            assert_eq!(nulls, [Found::NULL, Found::UNKNOWN]);
        }
    }

    #[test]
    fn values_that_repeat_or_are_too_many_are_forgotten() {
        let mut numbers = Dictionary::<Vec<i64>>::new();
        indices(&mut numbers, &[&7]);
        assert!(!numbers.begin(KEEP_BELOW_REPEATS));
        assert_eq!((numbers.len(), numbers.find(&7)), (0, None));
        for number in 0..=i64::try_from(MOST_KNOWN).unwrap() {
            numbers.intern(&number);
        }
        assert!(!numbers.begin(0));
        assert_eq!((numbers.len(), numbers.find(&1)), (0, None));
        let mut texts = Dictionary::<Texts>::new();
        texts.intern(&vec![b'x'; MOST_KNOWN_BYTES]);
        assert!(!texts.begin(0));
        assert_eq!(texts.len(), 0);
    }
}
