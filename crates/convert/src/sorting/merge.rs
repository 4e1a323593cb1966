//! Runs of sorted rows as one stream of sorted rows.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::error::Result;

use super::buffer::Row;
use super::spill::{Run, RunReader, SpillFile};

/// The rows of a class in several runs.
///
/// # Memory
/// A block of each run.
pub struct Merge {
    heap: BinaryHeap<Head>,
    is_begun: bool,
}

/// A run, at its next row. The one whose row comes first is the greatest.
struct Head(RunReader);

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.row().place.cmp(self.0.row().place)
    }
}

impl Merge {
    /// Opens the rows of a class.
    ///
    /// # Errors
    /// When a run can't be read, or comes back with other bytes.
    pub fn open(runs: &[Run], class: u32) -> Result<Self> {
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for run in runs {
            heap.extend(run.open(class)?.map(Head));
        }
        Ok(Self {
            heap,
            is_begun: false,
        })
    }

    /// Goes to the next row; false after the last one.
    ///
    /// # Errors
    /// When a run can't be read, or comes back with other bytes.
    pub fn advance(&mut self) -> Result<bool> {
        if std::mem::replace(&mut self.is_begun, true)
            && let Some(mut first) = self.heap.peek_mut()
            && !first.0.advance()?
        {
            PeekMut::pop(first);
        }
        Ok(!self.heap.is_empty())
    }

    /// The row at hand; `None` before the first call of [`Merge::advance`] and after the last row.
    #[must_use]
    pub fn row(&self) -> Option<Row<'_>> {
        let first = self.heap.peek().filter(|_| self.is_begun);
        first.map(|head| head.0.row())
    }
}

/// Merges runs until there are at most `most`, at least 2, into files in `directory`.
///
/// # Errors
/// When a run can't be read or written; once the context is cancelled.
pub fn reduce(
    context: &Context,
    mut runs: Vec<Run>,
    most: usize,
    classes: u32,
    directory: &Path,
) -> Result<Vec<Run>> {
    let most = most.max(2);
    while runs.len() > most {
        let mut spill = SpillFile::new(directory)?;
        for merged in runs.chunks(most) {
            let mut writer = spill.begin(classes);
            for class in 0..classes {
                context.check()?;
                let mut merge = Merge::open(merged, class)?;
                while merge.advance()? {
                    if let Some(row) = merge.row() {
                        writer.push(row)?;
                    }
                }
            }
            writer.finish()?;
        }
        // The files of the runs before are gone with them.
        runs = spill.finish();
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorting::buffer::SortBuffer;

    const CLASSES: u32 = 5;

    fn place(class: u32, number: u32) -> Vec<u8> {
        [class.to_be_bytes(), number.to_be_bytes()].concat()
    }

    /// Runs of 1,000 rows, whose values are larger than a block now and then; class 3 has none.
    fn runs(directory: &Path, count: u32) -> Vec<Run> {
        let mut spill = SpillFile::new(directory).unwrap();
        for run in 0..count {
            let mut buffer = SortBuffer::new(10 << 20);
            for row in 0..1000 {
                let number = (row * count + run).wrapping_mul(7919) % (1000 * count);
                let class = [0, 1, 2, 4][number as usize % 4];
                let values = vec![
                    7;
                    if number.is_multiple_of(500) {
                        100_000
                    } else {
                        10
                    }
                ];
                let place = place(class, number);
                assert!(buffer.push(Row {
                    place: &place,
                    values: &values
                }));
            }
            buffer.sort();
            let mut writer = spill.begin(CLASSES);
            buffer.rows().for_each(|row| writer.push(row).unwrap());
            writer.finish().unwrap();
        }
        spill.finish()
    }

    fn merged(runs: &[Run]) -> Vec<(Vec<u8>, usize)> {
        let mut rows = Vec::new();
        for class in 0..CLASSES {
            let mut merge = Merge::open(runs, class).unwrap();
            assert!(merge.row().is_none());
            while merge.advance().unwrap() {
                let row = merge.row().unwrap();
                assert_eq!(row.class(), class);
                rows.push((row.place.to_vec(), row.values.len()));
            }
            assert!(merge.row().is_none());
        }
        rows
    }

    #[test]
    fn merged_runs_are_all_rows_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let runs = runs(directory.path(), 7);
        let rows = merged(&runs);
        assert_eq!(rows.len(), 7000);
        assert!(rows.is_sorted() && rows.windows(2).all(|pair| pair[0] != pair[1]));
        // Whatever was merged with what before.
        for most in [2, 3, 6, 7, 100] {
            let reduced = reduce(
                &Context::new(),
                runs.clone(),
                most,
                CLASSES,
                directory.path(),
            );
            let reduced = reduced.unwrap();
            assert!(reduced.len() <= most);
            assert_eq!(merged(&reduced), rows);
        }
        // Nothing in the directory has a name.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_stopped_context_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let runs = runs(directory.path(), 3);
        let context = Context::new();
        context.cancel();
        reduce(&context, runs, 2, CLASSES, directory.path()).unwrap_err();
    }
}
