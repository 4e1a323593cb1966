//! More rows in order than there is memory for: sorted in memory in runs, which are kept in files without a name (`spill`),
//! and merged as a stream (`merge`).

mod buffer;
mod merge;
mod spill;

use std::path::Path;

use tracelake_core::error::Result;

use buffer::SortBuffer;
use spill::SpillFile;

pub use buffer::{CLASS_BYTES, Row};
pub use merge::{Merge, reduce};
pub use spill::{BLOCK, Run};

/// Rows that come in any order, in classes.
///
/// # Memory
/// The bytes that it was made for, or one row if that takes more.
pub struct Sorter {
    buffer: SortBuffer,
    spill: SpillFile,
    classes: u32,
}

impl Sorter {
    /// Sorts rows of this many classes in this many bytes; runs are in a file without a name in `directory`.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn new(directory: &Path, bytes: usize, classes: u32) -> Result<Self> {
        Ok(Self {
            buffer: SortBuffer::new(bytes),
            spill: SpillFile::new(directory)?,
            classes,
        })
    }

    /// Adds a row. No two rows have the same place.
    ///
    /// # Errors
    /// When a run can't be written.
    pub fn push(&mut self, row: Row<'_>) -> Result<()> {
        if !self.buffer.push(row) {
            self.end_run()?;
            self.buffer.push(row);
        }
        Ok(())
    }

    /// The runs of all rows.
    ///
    /// # Errors
    /// When the last run can't be written.
    pub fn finish(mut self) -> Result<Vec<Run>> {
        if !self.buffer.is_empty() {
            self.end_run()?;
        }
        Ok(self.spill.finish())
    }

    /// Sorts the rows in memory, and writes them as a run.
    fn end_run(&mut self) -> Result<()> {
        self.buffer.sort();
        let mut run = self.spill.begin(self.classes);
        for row in self.buffer.rows() {
            run.push(row)?;
        }
        run.finish()?;
        self.buffer.clear();
        Ok(())
    }
}
