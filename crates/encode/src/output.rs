//! Rows to one output file, in the format that was asked for.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Codec, Format};
use tracelake_core::settings::{ROW_GROUP_ROWS, Settings};
use tracelake_schema::{Syntax, Table};

use crate::reject::Reject;
use crate::row_fields::RowFields;
use crate::split::Records;
use crate::typed_rows::TypedRows;
use crate::value::OtherSpellings;

/// The most bytes of encoded values in a row group; those of the traces have 20 to 30 MiB.
pub(crate) const ROW_GROUP_BYTES: usize = 64 << 20;

/// The format of outputs, their codec and the size of their row groups, from [`Settings`], checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSettings {
    format: Format,
    codec: Codec,
    pub(crate) row_group_rows: usize,
    /// The most bytes of encoded values in a row group.
    pub(crate) row_group_bytes: usize,
}

impl OutputSettings {
    /// Parquet with zstd.
    pub const DEFAULT: Self = Self {
        format: Format::Parquet,
        codec: Codec::DEFAULT,
        row_group_rows: ROW_GROUP_ROWS,
        row_group_bytes: ROW_GROUP_BYTES,
    };

    /// The output settings among the settings of a run.
    ///
    /// ```
    /// use tracelake_core::options::{Codec, Format};
    /// use tracelake_core::settings::Settings;
    /// use tracelake_encode::output::OutputSettings;
    ///
    /// let mut settings = Settings::default();
    /// settings.compression = Codec::Snappy;
    /// assert!(OutputSettings::of(&settings).is_ok());
    /// settings.format = Format::Arrow;
    /// assert!(OutputSettings::of(&settings).is_err());
    /// ```
    ///
    /// # Errors
    /// See [`Settings::check`].
    pub fn of(settings: &Settings) -> Result<Self> {
        settings.check()?;
        let row_group_rows = settings
            .row_group_rows
            .and_then(|rows| usize::try_from(rows).ok())
            .unwrap_or(ROW_GROUP_ROWS);
        Ok(Self {
            format: settings.format,
            codec: settings.compression,
            row_group_rows,
            row_group_bytes: ROW_GROUP_BYTES,
        })
    }

    /// The most rows in a row group, if it isn't the default.
    #[must_use]
    pub fn row_group_rows(self) -> Option<u64> {
        (self.row_group_rows != ROW_GROUP_ROWS).then_some(self.row_group_rows as u64)
    }

    /// The most rows in a row group.
    #[must_use]
    pub const fn most_rows(self) -> usize {
        self.row_group_rows
    }

    /// These settings with at most this many rows, and this many bytes of encoded values, in a row group.
    #[must_use]
    pub fn with_row_groups_below(mut self, rows: usize, bytes: usize) -> Self {
        self.row_group_rows = self.row_group_rows.min(rows);
        self.row_group_bytes = self.row_group_bytes.min(bytes);
        self
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

/// One output file that is being written, of one format.
pub trait OutputFile<W: Write + Send>: Sized + Send {
    /// Builds the pieces that are written at once.
    type Builder: BlockBuilder;

    /// Starts a file of a table.
    ///
    /// # Errors
    /// When `out` fails.
    fn create(
        out: W,
        table: &Arc<Table>,
        output: OutputSettings,
        order: RowOrder<'_>,
    ) -> Result<Self>;

    /// Makes the builder for rows of the file.
    fn builder(&self, rows: RowSource<'_>, output: OutputSettings) -> Self::Builder;

    /// Appends a block.
    ///
    /// # Errors
    /// When the output fails.
    fn write(&mut self, block: <Self::Builder as BlockBuilder>::Block) -> Result<()>;

    /// Writes the footer and returns the output.
    ///
    /// # Errors
    /// When the output fails.
    fn finish(self) -> Result<W>;
}

/// The order of the rows of a file, which the file declares.
#[derive(Debug, Clone, Copy)]
pub enum RowOrder<'a> {
    /// The order of the source. Row groups whose rows turn out to be in the order of the table's time say so.
    Published,
    /// By these columns of the table, none of which is a struct or a list; NULL comes first.
    By(&'a [usize]),
}

/// Where the rows of a file come from.
#[derive(Clone, Copy)]
pub enum RowSource<'a> {
    /// The fields of records, one for each column.
    Fields(&'a FieldOrder),
    /// Rows of a table that may have structs and lists.
    Rows(&'a Table),
}

impl<'a> RowSource<'a> {
    /// The source of a table that is read in this order.
    #[must_use]
    pub fn of(order: &'a FieldOrder) -> Self {
        match order.table.syntax {
            Syntax::Csv => Self::Fields(order),
            Syntax::Json | Syntax::QuotedCsv | Syntax::Parquet => Self::Rows(&order.table),
        }
    }

    pub(crate) fn table(self) -> &'a Table {
        match self {
            Self::Fields(order) => &order.table,
            Self::Rows(table) => table,
        }
    }
}

/// Builds the blocks of a file from the rows of one table.
pub trait BlockBuilder: Send {
    /// A piece that is written to an output file at once.
    type Block: Send;

    /// Whether a block should be taken with [`BlockBuilder::finish`] before `rows` more rows are pushed.
    fn is_full(&self, rows: usize) -> bool;

    /// Adds the good records of a chunk; returns the others, in the order of the file.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn push_fields(
        &mut self,
        order: &FieldOrder,
        chunk: &[u8],
        records: &Records,
    ) -> Result<Vec<Reject>>;

    /// Adds rows that may have structs and lists, and whose texts are in `text`. Returns those with a value that can't
    /// be read, in order; if there are any, nothing was added.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn push_rows(&mut self, text: &[u8], rows: &RowFields) -> Result<Vec<usize>>;

    /// Adds rows whose values are typed.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn push_typed(&mut self, rows: &TypedRows) -> Result<()>;

    /// Makes a block of the rows since the last one; `None` if there are none.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn finish(&mut self) -> Result<Option<Self::Block>>;

    /// Good rows that were pushed.
    fn pushed(&self) -> u64;

    /// Values of good rows that are spelled differently.
    fn others(&self) -> OtherSpellings;

    /// The smallest and the largest value of the column that orders the rows of the table in time.
    fn time(&self) -> Option<(i64, i64)>;
}

/// Turns an error of the Parquet crate into ours. An error of the disk keeps its code, and one of a bucket
/// stays what it is.
pub(crate) fn parquet_error(error: ParquetError, doing: &str) -> Error {
    let doing = format!("{doing} a Parquet file");
    let error = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(disk) => return Error::disk(&doing, *disk),
            Err(source) => ParquetError::External(source),
        },
        error => error,
    };
    Error::new(ErrorKind::Failed, format!("cannot {doing}: {error}")).because(error)
}

/// Turns an error of the Arrow crates into ours. An error of the disk keeps its code.
pub(crate) fn arrow_error(error: ArrowError, doing: &str) -> Error {
    let doing = format!("{doing} an Arrow file");
    match error {
        ArrowError::IoError(_, disk) => Error::disk(&doing, disk),
        error => Error::new(ErrorKind::Failed, format!("cannot {doing}: {error}")).because(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_row_groups_than_usual_are_noted() {
        let rows_of = |rows: Option<u64>| {
            let mut settings = Settings::default();
            settings.row_group_rows = rows;
            OutputSettings::of(&settings).map(OutputSettings::row_group_rows)
        };
        assert_eq!(rows_of(None).unwrap(), None);
        assert_eq!(rows_of(Some(ROW_GROUP_ROWS as u64)).unwrap(), None);
        for rows in [1 << 16, 1 << 20] {
            assert_eq!(rows_of(Some(rows)).unwrap(), Some(rows));
        }
        assert!(rows_of(Some(1)).is_err());
    }
}
