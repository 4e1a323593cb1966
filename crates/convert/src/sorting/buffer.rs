//! Rows in memory, sorted by their class and their place.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut;

/// The bytes of a place that are compared first, without a look at the row.
const PREFIX: usize = 16;

/// The part of the memory that says where rows are, as a fraction: a row of 72 bytes fills both parts alike.
const ENTRIES: usize = 4;

/// Rows that are sorted together.
///
/// # Memory
/// The size it was made for, or one row if that takes more.
pub(super) struct SortBuffer {
    /// The rows as [`Row::read`] reads them.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A row in the buffer.
struct Entry {
    prefix: [u64; PREFIX / 8],
    start: usize,
}

/// A row, as bytes.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The sort key: its class, a number in [`CLASS_BYTES`] bytes with the highest first, and then its place in the
    /// class.
    pub place: &'a [u8],
    /// Its values.
    pub values: &'a [u8],
}

/// The bytes of the class at the start of a place.
pub const CLASS_BYTES: usize = size_of::<u32>();

/// The bytes before a place: its length and that of the values.
const HEAD: usize = 2 * size_of::<u32>();

impl<'a> Row<'a> {
    /// Reads the row at the start of some bytes; `None` if there is none.
    #[inline]
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[a, b, c, d, e, f, g, h], rest) = bytes.split_first_chunk::<HEAD>()?;
        let place = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
        let values = usize::try_from(u32::from_le_bytes([e, f, g, h])).ok()?;
        let (place, rest) = rest.split_at_checked(place)?;
        let values = rest.get(..values)?;
        (place.len() >= CLASS_BYTES).then_some(Self { place, values })
    }

    /// The bytes that [`Row::write`] writes.
    pub(super) fn bytes(self) -> usize {
        HEAD + self.place.len() + self.values.len()
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        // A row is of less than 4 GiB, as its texts are.
        for length in [self.place.len(), self.values.len()] {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(self.place);
        out.extend_from_slice(self.values);
    }

    /// Its class.
    pub(super) fn class(self) -> u32 {
        self.place
            .first_chunk()
            .map_or(0, |class| u32::from_be_bytes(*class))
    }
}

impl SortBuffer {
    /// Makes room for rows of this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let of_entries = bytes / ENTRIES;
        Self {
            bytes: Vec::with_capacity(bytes - of_entries),
            entries: Vec::with_capacity(of_entries / size_of::<Entry>()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a row; false if there is no room beside the others.
    pub(super) fn push(&mut self, row: Row<'_>) -> bool {
        let is_full = self.entries.len() == self.entries.capacity()
            || self.bytes.len() + row.bytes() > self.bytes.capacity();
        if is_full && !self.is_empty() {
            return false;
        }
        let start = self.bytes.len();
        row.write(&mut self.bytes);
        let word = |at| {
            let mut word = [0; 8];
            let rest = row.place.get(at..).unwrap_or_default();
            let length = rest.len().min(word.len());
            word[..length].copy_from_slice(&rest[..length]);
            u64::from_be_bytes(word)
        };
        let prefix = [word(0), word(8)];
        self.entries.push(Entry { prefix, start });
        true
    }

    /// Sorts the rows. No two have the same place.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        let rest = |entry: &Entry| {
            let row = Row::read(&bytes[entry.start..]);
            row.and_then(|row| row.place.get(PREFIX..))
                .unwrap_or_default()
        };
        let order = |one: &Entry, other: &Entry| match one.prefix.cmp(&other.prefix) {
            Ordering::Equal => rest(one).cmp(rest(other)),
            order => order,
        };
        self.entries.par_sort_unstable_by(order);
    }

    /// The rows, in order once they are sorted.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.entries
            .iter()
            .filter_map(|entry| Row::read(&self.bytes[entry.start..]))
    }

    /// Removes the rows and keeps their room.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_their_place() {
        let mut buffer = SortBuffer::new(10_000);
        let places: Vec<Vec<u8>> = (0..100_u32)
            .map(|number| {
                let mut place = (number % 3).to_be_bytes().to_vec();
                // Equal in what is compared first.
                place.extend([7; 14]);
                place.extend((number * 37 % 100).to_be_bytes());
                place
            })
            .collect();
        for place in &places {
            assert!(buffer.push(Row {
                place,
                values: &place[2..]
            }));
        }
        buffer.sort();
        let sorted: Vec<Vec<u8>> = buffer.rows().map(|row| row.place.to_vec()).collect();
        let mut expected = places.clone();
        expected.sort();
        assert_eq!(sorted, expected);
        assert!(
            buffer
                .rows()
                .all(|row| row.values == &row.place[2..] && row.class() < 3)
        );
    }

    #[test]
    fn a_full_buffer_takes_one_row_of_any_size() {
        let mut buffer = SortBuffer::new(1000);
        let (place, values) = ([0; 20], [0; 5000]);
        let large = Row {
            place: &place,
            values: &values,
        };
        assert!(buffer.push(large));
        assert!(!buffer.push(large));
        buffer.clear();
        let small = Row {
            place: &place,
            values: &values[..10],
        };
        let before = buffer.entries.capacity();
        let count = (0..1000).take_while(|_| buffer.push(small)).count();
        assert_eq!((count, buffer.entries.capacity()), (before, before));
    }

    #[test]
    fn damaged_bytes_are_no_row() {
        let mut bytes = Vec::new();
        Row {
            place: &[1, 2, 3, 4, 5],
            values: &[6],
        }
        .write(&mut bytes);
        assert!(Row::read(&bytes).is_some());
        for end in 0..bytes.len() {
            assert!(Row::read(&bytes[..end]).is_none());
        }
        bytes[0] = 3;
        assert!(Row::read(&bytes).is_none());
        bytes[0] = 0xff;
        bytes[3] = 0xff;
        assert!(Row::read(&bytes).is_none());
    }
}
