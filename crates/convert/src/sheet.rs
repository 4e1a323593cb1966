//! Batches to one Parquet file: the only place with settings of the writer.
//!
//! The settings keep to what every reader reads: pages V1, PLAIN and dictionary encodings,
//! statistics and page index, no clock and no host name.

use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use tracelake_schema::Table;

use crate::error::{Error, ErrorKind, Result};
use crate::source::open_file;

/// The most rows in a row group.
pub const ROW_GROUP_ROWS: usize = 1 << 20;

/// The most bytes of encoded values in a row group.
pub const ROW_GROUP_BYTES: usize = 128 << 20;

/// How column chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// zstd at a level from 1 to 22.
    Zstd(u8),
    /// Snappy, for readers that lack zstd.
    Snappy,
    /// Not at all.
    None,
}

impl Codec {
    /// zstd at its own default level.
    pub const DEFAULT: Self = Self::Zstd(3);
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Snappy => write!(f, "snappy"),
            Self::None => write!(f, "none"),
        }
    }
}

impl FromStr for Codec {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let level = match text {
            "zstd" => return Ok(Self::DEFAULT),
            "snappy" => return Ok(Self::Snappy),
            "none" => return Ok(Self::None),
            _ => text
                .strip_prefix("zstd:")
                .and_then(|level| level.parse().ok()),
        };
        match level {
            Some(level @ 1..=22) => Ok(Self::Zstd(level)),
            _ => Err("expected zstd, zstd:LEVEL with a level from 1 to 22, snappy or none".into()),
        }
    }
}

/// One Parquet file on its way.
///
/// # Memory
/// The encoded column chunks of one row group, at most [`ROW_GROUP_BYTES`], and a dictionary and
/// a page for each column.
pub struct Sheet<W: Write + Send> {
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> Sheet<W> {
    /// Starts a file with the rows of `table`.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn create(out: W, table: &'static Table, schema: SchemaRef, codec: Codec) -> Result<Self> {
        let properties = properties(table, codec)?;
        let writer = ArrowWriter::try_new(out, schema, Some(properties))
            .map_err(|error| wrap(error, "start"))?;
        Ok(Self { writer })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| wrap(error, "write"))
    }

    /// Writes the footer and hands the output back.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(self) -> Result<W> {
        self.writer
            .into_inner()
            .map_err(|error| wrap(error, "finish"))
    }
}

/// How many rows the footer of a Parquet file names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when it is not Parquet, [`ErrorKind::Failed`] when the disk fails.
pub fn footer_rows(path: &Path) -> Result<u64> {
    let file = open_file(path)?;
    let footer = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("is not Parquet: {error}"))
                .at(path)
                .because(error)
        })?;
    u64::try_from(footer.file_metadata().num_rows())
        .map_err(|_| Error::new(ErrorKind::Corrupt, "its footer names less than no rows").at(path))
}

fn properties(table: &'static Table, codec: Codec) -> Result<WriterProperties> {
    let compression = match codec {
        Codec::Zstd(level) => {
            let level =
                ZstdLevel::try_new(i32::from(level)).map_err(|error| wrap(error, "start"))?;
            Compression::ZSTD(level)
        }
        Codec::Snappy => Compression::SNAPPY,
        Codec::None => Compression::UNCOMPRESSED,
    };
    // Spark reads column comments from its own key and nowhere else.
    let spark = KeyValue::new(
        tracelake_schema::arrow::SPARK_KEY.to_owned(),
        tracelake_schema::arrow::spark_schema_json(table),
    );
    Ok(WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(vec![spark]))
        .build())
}

/// Parquet's errors are text; this is where they enter. What the disk said is passed on.
fn wrap(error: ParquetError, doing: &str) -> Error {
    let doing = format!("{doing} a Parquet file");
    if let ParquetError::External(source) = &error
        && let Some(disk) = source.downcast_ref::<io::Error>()
    {
        let again = match disk.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(disk.kind(), disk.to_string()),
        };
        return Error::disk(&doing, again);
    }
    Error::new(ErrorKind::Failed, format!("cannot {doing}: {error}")).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_written_as_they_are_read() {
        for text in ["zstd:1", "zstd:22", "snappy", "none"] {
            assert_eq!(text.parse::<Codec>().unwrap().to_string(), text);
        }
        for text in ["zstd:0", "zstd:23", "zstd:", "lz4", "", "ZSTD"] {
            assert!(text.parse::<Codec>().is_err(), "{text}");
        }
    }
}
