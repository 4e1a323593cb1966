//! Rows with structs and lists to column chunks, by the Parquet crate's own writers. Memory only.
//!
//! A struct or a list becomes one column chunk for each of its leaves. The crate knows their definition
//! and repetition levels, so it gets the rows as Arrow arrays.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use rayon::prelude::*;
use tracelake_schema::Table;

use crate::column_values::{ColumnValues, RowValues, Values};
use crate::rows::{CHUNK_BYTES, ROW_GROUP_BYTES};

type Result<T> = std::result::Result<T, ParquetError>;

/// Builds row groups from the rows of one table.
///
/// # Memory
/// The encoded row group, at most 64 MiB, and the arrays of the current chunk.
pub struct NestedRowGroupBuilder {
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<ColumnWriters>,
    /// The index of the column that orders rows in time, and the range of its values.
    time: Option<usize>,
    /// The most rows in a row group.
    most_rows: usize,
    range: Option<(i64, i64)>,
    /// The time of the last row of this row group, as long as its rows are in the order of time.
    last: Option<i64>,
    /// Good rows since the last row group, and before.
    rows: usize,
    before: u64,
    sentinels_mapped: u64,
}

/// One column of the table, and the writers of its column chunks.
struct ColumnWriters {
    field: FieldRef,
    /// One for each column chunk; none between row groups.
    writers: Vec<ArrowColumnWriter>,
    /// The bytes of its values in this row group as Arrow arrays, which is more than they take encoded.
    bytes: usize,
}

impl NestedRowGroupBuilder {
    /// Prepares for a file of `schema` with at most this many rows in a row group; `factory` has the settings of
    /// its writer.
    pub(crate) fn new(
        table: &'static Table,
        schema: &SchemaRef,
        factory: ArrowRowGroupWriterFactory,
        most_rows: usize,
    ) -> Self {
        let columns = schema.fields().iter().map(|field| ColumnWriters {
            field: Arc::clone(field),
            writers: Vec::new(),
            bytes: 0,
        });
        Self {
            factory,
            columns: columns.collect(),
            time: table.time,
            most_rows,
            range: None,
            last: None,
            rows: 0,
            before: 0,
            sentinels_mapped: 0,
        }
    }

    /// Whether a row group should end before `rows` more rows are pushed.
    pub(crate) fn is_full(&self, rows: usize) -> bool {
        let bytes: usize = self.columns.iter().map(|column| column.bytes).sum();
        self.rows > 0
            && (self.rows + rows > self.most_rows || bytes + CHUNK_BYTES > ROW_GROUP_BYTES)
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub(crate) fn push(&mut self, rows: RowValues) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.rows == 0 {
            self.begin()?;
            self.last = self.time.map(|_| i64::MIN);
        }
        self.rows += rows.len();
        self.sentinels_mapped += rows.mapped;
        self.add_times(&rows);
        let columns = self.columns.par_iter_mut().zip(rows.columns);
        columns.try_for_each(|(column, values)| {
            let array = values.into_array(column.field.data_type())?;
            column.bytes += array.to_data().get_slice_memory_size()?;
            let leaves = compute_leaves(&column.field, &array)?;
            let mut leaves = leaves.iter().zip(&mut column.writers);
            leaves.try_for_each(|(leaf, writer)| writer.write(leaf))
        })
    }

    /// Widens the range of times, and notes whether they still ascend.
    fn add_times(&mut self, rows: &RowValues) {
        let column = self.time.map(|time| &rows.columns[time]);
        let Some(ColumnValues {
            values: Values::Integers(times),
            is_valid,
        }) = column
        else {
            return;
        };
        for (&time, &is_valid) in times.iter().zip(is_valid) {
            if !is_valid {
                self.last = None;
                continue;
            }
            let (low, high) = self.range.unwrap_or((time, time));
            self.range = Some((low.min(time), high.max(time)));
            self.last = self.last.filter(|last| *last <= time).map(|_| time);
        }
    }

    /// Gives each column its writers for a new row group.
    fn begin(&mut self) -> Result<()> {
        let mut writers = self.factory.create_column_writers(0)?.into_iter();
        for column in &mut self.columns {
            let count = leaves(column.field.data_type());
            column.writers = writers.by_ref().take(count).collect();
        }
        Ok(())
    }

    /// Makes a row group of the rows since the last one, and starts over; `None` if there are none.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub(crate) fn finish(&mut self) -> Result<Option<Vec<ArrowColumnChunk>>> {
        if self.rows == 0 {
            return Ok(None);
        }
        self.before += std::mem::take(&mut self.rows) as u64;
        let close = |column: &mut ColumnWriters| {
            column.bytes = 0;
            let writers = std::mem::take(&mut column.writers).into_iter();
            writers
                .map(ArrowColumnWriter::close)
                .collect::<Result<Vec<_>>>()
        };
        let columns = self.columns.par_iter_mut().map(close);
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Some(columns.into_iter().flatten().collect()))
    }

    /// Whether the rows of this row group so far are in the order of the table's time.
    pub(crate) fn are_sorted(&self) -> bool {
        self.last.is_some()
    }

    /// Rows since the beginning.
    pub(crate) fn pushed(&self) -> u64 {
        self.before + self.rows as u64
    }

    /// Values that were spelled differently and mapped to a sentinel, since the beginning.
    pub(crate) fn sentinels_mapped(&self) -> u64 {
        self.sentinels_mapped
    }

    /// The smallest and the largest value of the time column.
    pub(crate) fn time(&self) -> Option<(i64, i64)> {
        self.range
    }
}

/// The number of column chunks of a type: one for each leaf.
fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item) => leaves(item.data_type()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use tracelake_core::options::Codec;
    use tracelake_schema::arrow::arrow_schema;

    use super::*;
    use crate::cell::tests::TABLE;
    use crate::json;
    use crate::parquet_file::ParquetFile;

    static ROWS: Table = TABLE;

    fn rows(lines: &[&str]) -> RowValues {
        let mut values = RowValues::new(ROWS.columns);
        for line in lines {
            json::append(line.as_bytes(), &ROWS.columns.into(), &mut values).unwrap();
        }
        values
    }

    fn builder(most_rows: usize) -> NestedRowGroupBuilder {
        let schema = arrow_schema(&ROWS);
        let file = ParquetFile::create(Vec::new(), &ROWS, &schema, Codec::DEFAULT).unwrap();
        NestedRowGroupBuilder::new(&ROWS, &schema, file.factory(), most_rows)
    }

    #[test]
    fn a_row_group_ends_before_its_limit_and_starts_over() {
        let mut built = builder(3);
        built.push(rows(&[])).unwrap();
        assert!(built.finish().unwrap().is_none());
        built
            .push(rows(&[
                r#"{"time":4}"#,
                r#"{"time":"2","usage":{"cpus":0.5}}"#,
            ]))
            .unwrap();
        assert!(!built.is_full(1));
        assert!(built.is_full(2));
        assert!(!built.are_sorted(), "4 is before 2");
        let chunks = built.finish().unwrap().unwrap();
        let leaves = ROWS.columns.iter();
        assert!(chunks.len() > leaves.len(), "structs have several leaves");

        built
            .push(rows(&[r#"{"time":5}"#, r#"{"time":18446744073709551615}"#]))
            .unwrap();
        assert!(built.are_sorted());
        assert_eq!(built.finish().unwrap().unwrap().len(), chunks.len());
        assert_eq!(built.pushed(), 4);
        assert_eq!(built.time(), Some((2, i64::MAX)));
        assert_eq!(built.sentinels_mapped(), 1);
    }

    #[test]
    fn rows_are_sorted_over_several_pushes() {
        let mut built = builder(10);
        built.push(rows(&[r#"{"time":3}"#])).unwrap();
        built
            .push(rows(&[r#"{"time":3}"#, r#"{"time":7}"#]))
            .unwrap();
        assert!(built.are_sorted());
        built.push(rows(&[r#"{"time":6}"#])).unwrap();
        assert!(!built.are_sorted());
    }
}
