//! The page that is being filled.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::encode;
use super::found::Found;
use super::kind::PhysicalKind;
use super::min_max::MinMax;
use crate::nodes::MaxLevels;
use crate::row_fields::LeafFields;

/// The indices that spare buffers have room for: 16 MiB.
pub const SPARE_INDICES: usize = 4 << 20;

/// The spare buffers of all parts: one that ends leaves its buffers to the next one.
static SPARE: SpareBuffers = SpareBuffers(Mutex::new(Vec::new()));

/// The rows of a page, until it is encoded.
///
/// # Memory
/// 5 bytes a row with a dictionary, or 6 an item; else the values in PLAIN encoding.
pub(super) struct PageBuffer<K: PhysicalKind> {
    rows: usize,
    /// Values and NULLs: as many as rows, unless a row has a list of them.
    entries: usize,
    nulls: usize,
    /// The levels of values.
    most: MaxLevels,
    /// From the first NULL on, the level of each entry. Empty as long as there is no NULL.
    definition_levels: Vec<u8>,
    /// The level of each entry, if the column is in a list.
    repetition_levels: Vec<u8>,
    /// The index of each value, unless values are written PLAIN.
    indices: Vec<u32>,
    /// The values as [`PhysicalKind::encode_plain`] writes them, if they are written PLAIN.
    plain: Vec<u8>,
    plain_min_max: Option<MinMax<K::Value>>,
    /// Whether each value that was added PLAIN is at least as large as those before it.
    plain_is_ascending: bool,
}

impl<K: PhysicalKind> PageBuffer<K> {
    pub(super) fn new(most: MaxLevels) -> Self {
        Self {
            rows: 0,
            entries: 0,
            nulls: 0,
            most,
            definition_levels: Vec::new(),
            repetition_levels: Vec::new(),
            indices: Vec::new(),
            plain: Vec::new(),
            plain_min_max: None,
            plain_is_ascending: true,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn nulls(&self) -> usize {
        self.nulls
    }

    /// Values and NULLs.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn values(&self) -> usize {
        self.entries - self.nulls
    }

    pub(super) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The size of the values in PLAIN encoding; of booleans, eight times that.
    pub(super) fn plain_bytes(&self) -> usize {
        self.plain.len()
    }

    /// The smallest and the largest value that was added PLAIN.
    pub(super) fn plain_min_max(&self) -> Option<&MinMax<K::Value>> {
        self.plain_min_max.as_ref()
    }

    /// Adds a value in PLAIN encoding; its row is added by [`Self::add_rows`].
    pub(super) fn add_plain(&mut self, value: &K::Value) {
        K::encode_plain(value, &mut self.plain);
        self.plain_is_ascending &= MinMax::add(&mut self.plain_min_max, value);
    }

    /// Whether each value that was added PLAIN is at least as large as those before it.
    pub(super) fn plain_is_ascending(&self) -> bool {
        self.plain_is_ascending
    }

    /// Adds rows and the indices of their values. Of rows whose value is added PLAIN nothing is found.
    pub(super) fn add_rows(&mut self, found: &[Found]) {
        // Usually every value has an index once the new ones are in the dictionary.
        if found
            .iter()
            .fold(true, |all, found| all & found.index().is_some())
        {
            return self.add_indices(found);
        }
        let nulls = found.iter().filter(|&&found| found == Found::NULL).count();
        if nulls + self.nulls > 0 {
            self.fill_levels();
            let levels = found.iter().map(|&found| u8::from(found != Found::NULL));
            self.definition_levels.extend(levels);
        }
        self.rows += found.len();
        self.entries += found.len();
        self.nulls += nulls;
        // As in a column chunk whose values are PLAIN.
        if found.iter().all(|found| found.index().is_none()) {
            return;
        }
        let indices = self.begun_indices();
        // Without a branch, because nothing predicts which rows are NULL.
        let mut end = indices.len();
        indices.resize(end + found.len(), 0);
        for &found in found {
            indices[end] = found.raw();
            end += usize::from(found.index().is_some());
        }
        indices.truncate(end);
    }

    /// Adds rows that all have an index.
    pub(super) fn add_indices(&mut self, found: &[Found]) {
        self.extend_indices(found);
        self.rows += found.len();
        self.entries += found.len();
        if self.nulls > 0 {
            self.fill_levels();
        }
    }

    /// Adds rows with levels of their own. The values have an index each, or were added PLAIN and nothing is found.
    pub(super) fn add_leaf(&mut self, found: &[Found], leaf: &LeafFields) {
        if found.first().is_some_and(|first| first.index().is_some()) {
            self.extend_indices(found);
        }
        let entries = leaf.entries();
        let nulls = entries - found.len();
        if nulls + self.nulls > 0 {
            self.fill_levels();
            self.definition_levels
                .extend_from_slice(leaf.definition_levels());
        }
        self.repetition_levels
            .extend_from_slice(leaf.repetition_levels());
        self.rows += leaf.rows();
        self.entries += entries;
        self.nulls += nulls;
    }

    fn extend_indices(&mut self, found: &[Found]) {
        let indices = found.iter().map(|found| found.raw());
        self.begun_indices().extend(indices);
    }

    /// Notes that all entries so far, whose levels weren't needed, have values.
    fn fill_levels(&mut self) {
        self.definition_levels
            .resize(self.entries, self.most.definition);
    }

    /// The indices so far; the first ones go into a spare buffer.
    fn begun_indices(&mut self) -> &mut Vec<u32> {
        if self.indices.capacity() == 0 {
            self.indices = SPARE.take();
        }
        &mut self.indices
    }

    /// Turns the indices into values in PLAIN encoding.
    pub(super) fn make_plain<'v>(&mut self, value: impl Fn(u32) -> &'v K::Value)
    where
        K::Value: 'v,
    {
        let indices = std::mem::take(&mut self.indices);
        for &index in &indices {
            self.add_plain(value(index));
        }
        SPARE.give(indices);
    }

    /// Appends the levels to the body of the page, if it has any.
    pub(super) fn encode_levels(&mut self, out: &mut Vec<u8>) {
        let MaxLevels {
            definition,
            repetition,
        } = self.most;
        if repetition > 0 {
            encode::levels(&self.repetition_levels, repetition, out);
        }
        if definition == 0 {
            return;
        }
        if self.nulls == 0 {
            return encode::no_nulls(self.entries, definition, out);
        }
        self.fill_levels();
        encode::levels(&self.definition_levels, definition, out);
    }

    /// Appends the values in PLAIN encoding to the body of the page.
    pub(super) fn encode_plain(&self, out: &mut Vec<u8>) {
        K::finish_plain(&self.plain, out);
    }

    /// Empties the page and keeps its room.
    pub(super) fn clear(&mut self) {
        (self.rows, self.entries, self.nulls) = (0, 0, 0);
        self.definition_levels.clear();
        self.repetition_levels.clear();
        self.indices.clear();
        self.plain.clear();
        self.plain_min_max = None;
        self.plain_is_ascending = true;
    }
}

impl<K: PhysicalKind> Drop for PageBuffer<K> {
    fn drop(&mut self) {
        SPARE.give(std::mem::take(&mut self.indices));
    }
}

/// Empty buffers of indices. When each part grew its own, parts of 200,000 rows took 3 % more time.
struct SpareBuffers(Mutex<Vec<Vec<u32>>>);

impl SpareBuffers {
    fn take(&self) -> Vec<u32> {
        self.lock().pop().unwrap_or_default()
    }

    /// Keeps a buffer, unless there are enough.
    fn give(&self, mut buffer: Vec<u32>) {
        buffer.clear();
        let mut buffers = self.lock();
        let room: usize = buffers.iter().map(Vec::capacity).sum();
        if buffer.capacity() > 0 && room + buffer.capacity() <= SPARE_INDICES {
            buffers.push(buffer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_buffer_is_empty_and_has_room() {
        let spare = SpareBuffers(Mutex::default());
        spare.give(vec![7; 1000]);
        let buffer = spare.take();
        assert!(buffer.is_empty() && buffer.capacity() >= 1000);
        assert_eq!(spare.take().capacity(), 0);
    }

    #[test]
    fn spare_buffers_have_a_limit() {
        let spare = SpareBuffers(Mutex::default());
        for _ in 0..3 {
            spare.give(Vec::with_capacity(SPARE_INDICES / 2));
        }
        assert_eq!(spare.lock().len(), 2);
    }
}
