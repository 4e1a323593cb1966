//! The rows of some files to runs, in order.

use std::path::Path;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_encode::packed_rows::RowPacker;
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::Table;

use crate::lake_files::LakeFiles;
use crate::sorting::{Row, Run, Sorter};

/// Sorts rows into runs.
pub(super) struct TableSorter<'a> {
    context: &'a Context,
    table: &'a Arc<Table>,
    packer: RowPacker,
    classes: u32,
    /// Whether the rows of a class are to be written.
    is_wanted: &'a [bool],
    /// The rows of each class.
    counts: Vec<u64>,
    rows: Sorter,
}

impl<'a> TableSorter<'a> {
    /// Sorts rows of a table by these columns, in this many bytes of memory and in files in `scratch`.
    pub(super) fn new(
        context: &'a Context,
        table: &'a Arc<Table>,
        order: &[usize],
        is_wanted: &'a [bool],
        (bytes, scratch): (usize, &Path),
    ) -> Result<Self> {
        let classes = u32::try_from(is_wanted.len()).unwrap_or(u32::MAX).max(1);
        Ok(Self {
            context,
            table,
            packer: RowPacker::new(table, order),
            classes,
            is_wanted,
            counts: vec![0; is_wanted.len()],
            rows: Sorter::new(scratch, bytes, classes)?,
        })
    }

    /// Adds the rows of a file, the `number`th of the table.
    pub(super) fn add(
        &mut self,
        files: &LakeFiles<'_>,
        part: &PartFacts,
        number: usize,
    ) -> Result<()> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut before = 0_u64;
        let (mut place, mut values) = (Vec::new(), Vec::new());
        for batch in files.rows(self.table, part, 0)? {
            self.context.check()?;
            let batch = files.batch(part, batch)?;
            let Self {
                packer,
                counts,
                rows: sorter,
                ..
            } = self;
            let mut rows = packer
                .batch(&batch)
                .ok_or_else(|| files.other_columns(part))?;
            for row in 0..batch.num_rows() {
                let class = rows.hash(row) % self.classes;
                let index = usize::try_from(class).unwrap_or(usize::MAX);
                if self.is_wanted.get(index) != Some(&true) {
                    continue;
                }
                counts[index] += 1;
                place.clear();
                values.clear();
                place.extend_from_slice(&class.to_be_bytes());
                rows.push_place(row, &mut place);
                // So that no two rows have the same place, whatever was sorted together.
                place.extend_from_slice(&number.to_be_bytes());
                place.extend_from_slice(&(before + row as u64).to_be_bytes());
                rows.push_values(row, &mut values);
                sorter.push(Row {
                    place: &place,
                    values: &values,
                })?;
            }
            before += batch.num_rows() as u64;
        }
        Ok(())
    }

    /// The runs, and how many rows of each class are in them.
    pub(super) fn finish(self) -> Result<(Vec<Run>, Vec<u64>)> {
        Ok((self.rows.finish()?, self.counts))
    }
}
