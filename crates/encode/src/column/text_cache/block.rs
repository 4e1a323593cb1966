//! The keys of some neighbouring fields of a column.

#[cfg(target_arch = "x86_64")]
mod wide;

use crate::column::key::Key;
use crate::split::FieldOffsets;

/// Fields that are looked up together: one for each bit of a mask.
pub(super) const BLOCK: usize = 64;

/// The keys of up to 64 fields.
pub(super) struct FieldBlock {
    /// The words of each key, as in [`Key`].
    mixed: [u64; BLOCK],
    rest: [u64; BLOCK],
    /// A bit for each field whose key isn't that of the field above, or that is long.
    distinct: u64,
}

impl Default for FieldBlock {
    fn default() -> Self {
        Self {
            mixed: [0; BLOCK],
            rest: [0; BLOCK],
            distinct: 0,
        }
    }
}

impl FieldBlock {
    /// Reads the first fields, at most 64.
    pub(super) fn read(&mut self, text: &[u8], fields: FieldOffsets<'_>, count: usize) {
        self.distinct = 0;
        #[cfg(target_arch = "x86_64")]
        let done = self.read_eights(text, fields, count);
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        let rest = fields.after(done).iter().take(count - done);
        for (row, (start, end)) in (done..).zip(rest) {
            let key = Key::new(text, start, end).unwrap_or(Key::LONG);
            (self.mixed[row], self.rest[row]) = (key.mixed, key.rest);
            let is_same = row > 0 && key == self.key(row - 1) && key != Key::LONG;
            self.distinct |= u64::from(!is_same) << row;
        }
    }

    /// The key of a field; [`Key::LONG`] if it is long.
    #[inline(always)]
    pub(super) fn key(&self, row: usize) -> Key {
        Key {
            mixed: self.mixed[row],
            rest: self.rest[row],
        }
    }

    /// The fields that aren't known to equal the one above.
    #[inline(always)]
    pub(super) fn distinct(&self) -> impl Iterator<Item = usize> {
        let mut left = self.distinct;
        std::iter::from_fn(move || {
            let row = left.trailing_zeros() as usize;
            left &= left.checked_sub(1)?;
            Some(row)
        })
    }

    /// The first of [`Self::distinct`] after a field; `count` if it is the last one.
    #[inline(always)]
    pub(super) fn next_distinct(&self, row: usize, count: usize) -> usize {
        let after = self.distinct >> row >> 1;
        count.min(row + 1 + after.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Records;
    use proptest::prelude::*;
    use tracelake_core::instructions::plainly;
    use tracelake_core::line_ending::LineEnding;

    /// Up to 64 rows of two fields.
    fn texts() -> impl Strategy<Value = String> {
        let row = ("[0-9a-z]{0,20}", 1..4_usize, "[0-9]{0,9}");
        prop::collection::vec(row, 1..40).prop_map(|rows| {
            let rows = rows
                .iter()
                .flat_map(|(field, times, other)| vec![format!("{field},{other}\n"); *times]);
            rows.take(BLOCK).collect()
        })
    }

    fn fields_are_read_as_one_is(text: &str, column: usize) -> Result<(), TestCaseError> {
        let mut records = Records::default();
        records.split(text.as_bytes(), 2, LineEnding::Lf);
        let fields = records.column(column, 0..records.len());
        let mut block = FieldBlock::default();
        block.read(text.as_bytes(), fields, records.len());
        let mut distinct = Vec::new();
        for (row, (start, end)) in fields.iter().enumerate() {
            let key = Key::new(text.as_bytes(), start, end).unwrap_or(Key::LONG);
            prop_assert!(block.key(row) == key);
            if row == 0 || key == Key::LONG || key != block.key(row - 1) {
                distinct.push(row);
            }
        }
        prop_assert_eq!(block.distinct().collect::<Vec<_>>(), &*distinct);
        distinct.push(records.len());
        for two in distinct.windows(2) {
            prop_assert_eq!(block.next_distinct(two[0], records.len()), two[1]);
        }
        Ok(())
    }

    proptest! {
        /// Eight at a time, and the last ones of a chunk one by one.
        #[test]
        #[cfg_attr(not(avx512), ignore = "needs a processor with AVX-512")]
        fn fields_are_read_with_avx_512_as_one_is(text in texts(), column in 0..2_usize) {
            fields_are_read_as_one_is(&text, column)?;
        }

        #[test]
        fn fields_are_read_plainly_as_one_is(text in texts(), column in 0..2_usize) {
            plainly(|| fields_are_read_as_one_is(&text, column))?;
        }
    }
}
