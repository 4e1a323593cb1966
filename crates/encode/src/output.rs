//! Rows to one output file, in the format that was asked for.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tracelake_core::error::{Error, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Codec, Format};
use tracelake_core::settings::{ROW_GROUP_ROWS, Settings};
use tracelake_schema::Table;

use crate::arrow_file::{self, ArrowFile};
use crate::batch::{BATCH_ROWS, BatchBuilder};
use crate::column_values::RowValues;
use crate::parquet_file::{self, ColumnChunks, ParquetFile, RowGroup};
use crate::reject::Reject;
use crate::split::Records;
use crate::{nested, rows};

/// How outputs are encoded: what [`Settings`] say of it, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    format: Format,
    codec: Codec,
    row_group_rows: usize,
}

impl Encoding {
    /// Parquet with zstd.
    pub const DEFAULT: Self = Self {
        format: Format::Parquet,
        codec: Codec::DEFAULT,
        row_group_rows: ROW_GROUP_ROWS,
    };

    /// The encoding that the settings ask for.
    ///
    /// ```
    /// use tracelake_core::options::{Codec, Format};
    /// use tracelake_core::settings::Settings;
    /// use tracelake_encode::output::Encoding;
    ///
    /// let mut settings = Settings::default();
    /// settings.compression = Codec::Snappy;
    /// assert!(Encoding::of(&settings).is_ok());
    /// settings.format = Format::Arrow;
    /// assert!(Encoding::of(&settings).is_err());
    /// ```
    ///
    /// # Errors
    /// Those of [`Settings::check`].
    pub fn of(settings: &Settings) -> Result<Self> {
        settings.check()?;
        let rows = settings.row_group_rows;
        let rows = rows.and_then(|rows| usize::try_from(rows).ok());
        Ok(Self {
            format: settings.format,
            codec: settings.compression,
            row_group_rows: rows.unwrap_or(ROW_GROUP_ROWS),
        })
    }

    /// The most rows in a row group, if it isn't the default.
    #[must_use]
    pub fn row_group_rows(self) -> Option<u64> {
        (self.row_group_rows != ROW_GROUP_ROWS).then_some(self.row_group_rows as u64)
    }

    /// The format.
    #[must_use]
    pub const fn format(self) -> Format {
        self.format
    }

    /// The codec.
    #[must_use]
    pub const fn codec(self) -> Codec {
        self.codec
    }
}

/// A piece that is written to an output file at once.
pub enum Block {
    /// A row group of a Parquet file, encoded.
    RowGroup(RowGroup),
    /// A record batch of an Arrow file.
    Batch(RecordBatch),
}

impl Block {
    /// The batch that [`BlockBuilder::batches`] made.
    ///
    /// # Panics
    /// When it is a row group.
    pub fn into_batch(self) -> RecordBatch {
        match self {
            Self::Batch(batch) => batch,
            Self::RowGroup(_) => unreachable!("a builder of batches makes no row groups"),
        }
    }
}

/// One output file that is being written.
pub enum OutputFile<W: Write + Send> {
    /// A Parquet file.
    Parquet(ParquetFile<W>),
    /// An Arrow file.
    Arrow(ArrowFile<W>),
}

impl<W: Write + Send> OutputFile<W> {
    /// Starts a file of a table.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn create(
        out: W,
        table: &'static Table,
        schema: &SchemaRef,
        Encoding { format, codec, .. }: Encoding,
    ) -> Result<Self> {
        Ok(match format {
            Format::Parquet => Self::Parquet(ParquetFile::create(out, table, schema, codec)?),
            Format::Arrow => Self::Arrow(ArrowFile::create(out, schema, codec)?),
        })
    }

    /// Appends a block.
    ///
    /// # Errors
    /// When the output fails.
    ///
    /// # Panics
    /// When the block is of another format.
    pub fn write(&mut self, block: Block) -> Result<()> {
        match (self, block) {
            (Self::Parquet(file), Block::RowGroup(row_group)) => file.write(row_group),
            (Self::Arrow(file), Block::Batch(batch)) => file.write(&batch),
            _ => unreachable!("BlockBuilder makes the blocks of the file that it was made for"),
        }
    }

    /// Writes the footer and returns the output.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(self) -> Result<W> {
        match self {
            Self::Parquet(file) => file.finish(),
            Self::Arrow(file) => file.finish(),
        }
    }
}

/// Builds the blocks of a file from the rows of one table.
pub enum BlockBuilder {
    /// Fields that have one value each, to row groups.
    Fields(rows::RowGroupBuilder),
    /// Rows with structs and lists, to row groups.
    Nested(nested::NestedRowGroupBuilder),
    /// Either, to record batches.
    Batches(BatchBuilder),
}

impl BlockBuilder {
    /// Prepares for records of plain fields.
    pub fn of_fields<W: Write + Send>(
        order: &FieldOrder,
        schema: &SchemaRef,
        file: &OutputFile<W>,
        encoding: Encoding,
    ) -> Self {
        match file {
            OutputFile::Parquet(file) => Self::Fields(rows::RowGroupBuilder::new(
                order,
                file.schema(),
                encoding.codec,
                encoding.row_group_rows,
            )),
            OutputFile::Arrow(_) => Self::batches(order.table, schema, BATCH_ROWS),
        }
    }

    /// Prepares for rows with structs and lists.
    pub fn of_rows<W: Write + Send>(
        table: &'static Table,
        schema: &SchemaRef,
        file: &OutputFile<W>,
        encoding: Encoding,
    ) -> Self {
        match file {
            OutputFile::Parquet(file) => Self::Nested(nested::NestedRowGroupBuilder::new(
                table,
                schema,
                file.factory(),
                encoding.row_group_rows,
            )),
            OutputFile::Arrow(_) => Self::batches(table, schema, BATCH_ROWS),
        }
    }

    /// Prepares for either, to become batches of `batch_rows` rows.
    pub fn batches(table: &'static Table, schema: &SchemaRef, batch_rows: usize) -> Self {
        Self::Batches(BatchBuilder::new(table.time, schema, batch_rows))
    }

    /// Whether a block should be taken with [`BlockBuilder::finish`] before `rows` more rows are pushed.
    pub fn is_full(&self, rows: usize) -> bool {
        match self {
            Self::Fields(fields) => fields.is_full(rows),
            Self::Nested(nested) => nested.is_full(rows),
            Self::Batches(batches) => batches.is_full(),
        }
    }

    /// Adds the good records of a chunk; returns the others, in the order of the file.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    ///
    /// # Panics
    /// When it was made for rows with structs and lists.
    pub fn push_fields(
        &mut self,
        order: &FieldOrder,
        chunk: &[u8],
        records: &Records,
    ) -> Result<Vec<Reject>> {
        match self {
            Self::Fields(fields) => fields.push(chunk, records).map_err(encode_parquet),
            Self::Batches(batches) => batches.push(order, chunk, records).map_err(encode_arrow),
            Self::Nested(_) => unreachable!("a table has fields or nested values, not both"),
        }
    }

    /// Adds rows with structs and lists.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    ///
    /// # Panics
    /// When it was made for fields.
    pub fn push_rows(&mut self, rows: RowValues) -> Result<()> {
        match self {
            Self::Nested(nested) => nested.push(rows).map_err(encode_parquet),
            Self::Batches(batches) => batches.push_rows(rows).map_err(encode_arrow),
            Self::Fields(_) => unreachable!("a table has fields or nested values, not both"),
        }
    }

    /// Makes a block of the rows since the last one; `None` if there are none.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub fn finish(&mut self) -> Result<Option<Block>> {
        let row_group = |chunks, is_sorted| Block::RowGroup(RowGroup { chunks, is_sorted });
        Ok(match self {
            Self::Fields(fields) => {
                let chunks = fields.finish().map_err(encode_parquet)?;
                chunks.map(|chunks| {
                    let is_sorted = fields.are_sorted(&chunks);
                    row_group(ColumnChunks::Plain(chunks), is_sorted)
                })
            }
            Self::Nested(nested) => {
                let is_sorted = nested.are_sorted();
                let chunks = nested.finish().map_err(encode_parquet)?;
                chunks.map(|chunks| row_group(ColumnChunks::Nested(chunks), is_sorted))
            }
            Self::Batches(batches) => batches.finish().map_err(encode_arrow)?.map(Block::Batch),
        })
    }

    /// Good rows that were pushed.
    pub fn pushed(&self) -> u64 {
        match self {
            Self::Fields(fields) => fields.pushed(),
            Self::Nested(nested) => nested.pushed(),
            Self::Batches(batches) => batches.rows(),
        }
    }

    /// Values of good rows that were spelled differently and mapped to a sentinel.
    pub fn sentinels_mapped(&self) -> u64 {
        match self {
            Self::Fields(fields) => fields.sentinels_mapped(),
            Self::Nested(nested) => nested.sentinels_mapped(),
            Self::Batches(batches) => batches.sentinels_mapped(),
        }
    }

    /// Integers of good rows that were accepted although they are spelled `5.0`.
    pub fn integral_floats(&self) -> u64 {
        match self {
            Self::Fields(fields) => fields.integral_floats(),
            Self::Nested(_) => 0,
            Self::Batches(batches) => batches.integral_floats(),
        }
    }

    /// The smallest and the largest value of the column that orders the rows of `table` in time.
    pub fn time(&self, table: &Table) -> Option<(i64, i64)> {
        match self {
            Self::Fields(fields) => fields.integers(table.time?),
            Self::Nested(nested) => nested.time(),
            Self::Batches(batches) => batches.time(),
        }
    }
}

fn encode_parquet(error: parquet::errors::ParquetError) -> Error {
    parquet_file::wrap(error, "encode")
}

fn encode_arrow(error: arrow_schema::ArrowError) -> Error {
    arrow_file::wrap(error, "encode")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at, machines, order, schema, split};

    /// Writes rows at these times; returns the file, and the rows and the times that the builder counted.
    fn written(settings: &Settings, times: &[i64]) -> (Vec<u8>, u64, Option<(i64, i64)>) {
        let encoding = Encoding::of(settings).unwrap();
        let (table, order, schema) = (machines(), order(), schema());
        let mut file = OutputFile::create(Vec::new(), table, &schema, encoding).unwrap();
        let mut builder = BlockBuilder::of_fields(&order, &schema, &file, encoding);
        let text = at(times);
        let rejects = builder.push_fields(&order, text.as_bytes(), &split(&text));
        assert!(rejects.unwrap().is_empty());
        while let Some(block) = builder.finish().unwrap() {
            file.write(block).unwrap();
        }
        let (rows, range) = (builder.pushed(), builder.time(table));
        (file.finish().unwrap(), rows, range)
    }

    #[test]
    fn both_formats_have_the_rows() {
        for (format, magic) in [(Format::Parquet, &b"PAR1"[..]), (Format::Arrow, b"ARROW1")] {
            let mut settings = Settings::default();
            settings.format = format;
            let (file, rows, range) = written(&settings, &[3, 9, 4]);
            assert!(file.starts_with(magic) && file.ends_with(magic), "{format}");
            assert_eq!((rows, range), (3, Some((3, 9))), "{format}");
        }
    }

    #[test]
    fn only_other_row_groups_than_usual_are_noted() {
        let rows_of = |rows: Option<u64>| {
            let mut settings = Settings::default();
            settings.row_group_rows = rows;
            Encoding::of(&settings).map(Encoding::row_group_rows)
        };
        assert_eq!(rows_of(None).unwrap(), None);
        assert_eq!(rows_of(Some(ROW_GROUP_ROWS as u64)).unwrap(), None);
        for rows in [1 << 16, 1 << 20] {
            assert_eq!(rows_of(Some(rows)).unwrap(), Some(rows));
        }
        assert!(rows_of(Some(1)).is_err());
    }
}
