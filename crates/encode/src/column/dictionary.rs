//! The distinct values of one column in a row group, in the order in which they first appear.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::min_max::MinMax;

/// The distinct values of a dictionary, by index.
pub(super) trait ValueList: Default + Send {
    /// A number, or the bytes of a text.
    type Value: ?Sized + ToOwned<Owned: Clone> + Ord + Hash;

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

    /// The smallest and the largest of the values at some indices.
    fn min_max(&self, indices: &[u32]) -> Option<MinMax<Self::Value>> {
        let mut is_used = vec![false; self.len()];
        for &index in indices {
            is_used[index as usize] = true;
        }
        let mut min_max = None;
        for index in (0..self.len()).filter(|&index| is_used[index]) {
            MinMax::add(&mut min_max, self.get(index));
        }
        min_max
    }
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

    /// Compares all numbers, which takes less time than to find those that are used.
    fn min_max(&self, indices: &[u32]) -> Option<MinMax<i64>> {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for &index in indices {
            let number = self[index as usize];
            (min, max) = (min.min(number), max.max(number));
        }
        (!indices.is_empty()).then_some(MinMax { min, max })
    }
}

/// The distinct values of a column.
///
/// # Memory
/// About 16 bytes a value, and the bytes of a text.
pub(super) struct Dictionary<V: ValueList> {
    values: V,
    /// The indices of the smallest and of the largest value.
    bounds: Option<(u32, u32)>,
    /// The index of each value, by the value's hash. Its order is never looked at.
    indices: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<V: ValueList> Dictionary<V> {
    pub(super) fn new() -> Self {
        Self {
            values: V::default(),
            bounds: None,
            indices: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Forgets all values and keeps their room.
    pub(super) fn clear(&mut self) {
        self.indices.clear();
        self.values.clear();
        self.bounds = None;
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

    /// The indices of the smallest and of the largest value; `None` without values.
    pub(super) fn bounds(&self) -> Option<(u32, u32)> {
        self.bounds
    }

    /// The size of a page of these values, in bytes; of codes, twice that.
    pub(super) fn plain_bytes(&self) -> usize {
        self.values.plain_bytes()
    }

    /// The index of a value that is known.
    pub(super) fn find(&self, value: &V::Value) -> Option<u32> {
        let hash = self.hasher.hash_one(value);
        let is_value = |&index: &u32| self.values.get(index as usize) == value;
        self.indices.find(hash, is_value).copied()
    }

    /// The index of a value, which is added if it is new.
    pub(super) fn intern(&mut self, value: &V::Value) -> u32 {
        let Self {
            values,
            indices,
            hasher,
            ..
        } = self;
        let entry = indices.entry(
            hasher.hash_one(value),
            |&index| values.get(index as usize) == value,
            |&index| hasher.hash_one(values.get(index as usize)),
        );
        let next = u32::try_from(values.len()).expect("a row group has at most 2^20 rows");
        let index = *entry.or_insert(next).get();
        if index == next {
            let (low, high) = self.bounds.unwrap_or((index, index));
            let is_low = index > 0 && value < values.get(low as usize);
            let is_high = index > 0 && value > values.get(high as usize);
            self.bounds = Some((
                if is_low { index } else { low },
                if is_high { index } else { high },
            ));
            values.push(value);
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::super::text::Texts;
    use super::*;

    #[test]
    fn values_are_numbered_as_they_appear() {
        let mut numbers = Dictionary::<Vec<i64>>::new();
        assert_eq!(
            [7, -1, 7, 0].map(|number| numbers.intern(&number)),
            [0, 1, 0, 2]
        );
        assert_eq!((numbers.len(), numbers.plain_bytes()), (3, 24));
        assert_eq!(numbers.bounds(), Some((1, 0)));
        let mut texts = Dictionary::<Texts>::new();
        assert_eq!(
            ["b", "", "b", "a"].map(|text| texts.intern(text.as_bytes())),
            [0, 1, 0, 2]
        );
        assert_eq!((texts.find(b"a"), texts.find(b"c")), (Some(2), None));
        assert_eq!(
            (texts.values().get(0), texts.values().get(1)),
            (&b"b"[..], &b""[..])
        );
        texts.clear();
        assert_eq!((texts.len(), texts.find(b"a")), (0, None));
        assert!(texts.bounds().is_none());
    }

    proptest! {
        #[test]
        fn bounds_are_those_of_the_values_at_the_indices(
            numbers in prop::collection::vec(any::<i64>(), 1..40),
            places in prop::collection::vec(any::<Index>(), 0..40),
        ) {
            let spelled: Vec<Vec<u8>> = numbers.iter().map(|n| n.to_string().into()).collect();
            let mut texts = Texts::default();
            spelled.iter().for_each(|text| texts.push(text));
            let places: Vec<usize> = places.iter().map(|place| place.index(numbers.len())).collect();
            let indices: Vec<u32> = places.iter().map(|&at| u32::try_from(at).unwrap()).collect();
            let used = || places.iter().map(|&at| numbers[at]);
            let found = numbers.min_max(&indices).map(|found| (found.min, found.max));
            prop_assert_eq!(found, used().min().zip(used().max()));
            let used = || places.iter().map(|&at| spelled[at].clone());
            let found = texts.min_max(&indices).map(|found| (found.min, found.max));
            prop_assert_eq!(found, used().min().zip(used().max()));
        }
    }
}
