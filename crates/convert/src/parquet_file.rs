//! Row groups to one Parquet file: schema, footer, and what stands in it.
//!
//! The file keeps to what every reader reads: pages V1, PLAIN and dictionary encodings, statistics
//! and page index, no clock and no host name.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use tracelake_schema::Table;

use crate::column::{Codec, ID_PAGE_ROWS, PAGE_ROWS, is_id};
use crate::error::{Error, ErrorKind, Result};
use crate::source::open_file;
use crate::{nested, rows};

/// How much is written to the disk at once, in bytes.
const WRITE: usize = 32 << 10;

/// The column chunks of a row group, as the two ways of making them leave them.
pub(crate) enum RowGroup {
    Plain(rows::RowGroup),
    Nested(nested::RowGroup),
}

/// One Parquet file on its way.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<BufWriter<W>>,
    schema: SchemaRef,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Starts a file of a table.
    ///
    /// # Errors
    /// When `out` fails.
    pub(crate) fn create(
        out: W,
        table: &'static Table,
        schema: &SchemaRef,
        codec: Codec,
    ) -> Result<Self> {
        let failed = |error| wrap(error, "start");
        let descriptor = ArrowSchemaConverter::new()
            .convert(schema)
            .map_err(failed)?;
        let mut properties = properties(table, codec);
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let root = descriptor.root_schema_ptr();
        // The Parquet crate writes 8 KiB at a time.
        let out = BufWriter::with_capacity(WRITE, out);
        let writer = SerializedFileWriter::new(out, root, properties.into()).map_err(failed)?;
        let schema = schema.clone();
        Ok(Self { writer, schema })
    }

    /// The columns as Parquet has them.
    pub(crate) fn schema(&self) -> &SchemaDescriptor {
        self.writer.schema_descr()
    }

    /// What makes column chunks of Arrow arrays with the settings of this file.
    pub(crate) fn factory(&self) -> ArrowRowGroupWriterFactory {
        ArrowRowGroupWriterFactory::new(&self.writer, self.schema.clone())
    }

    /// Adds a row group.
    ///
    /// # Errors
    /// When the output fails.
    pub(crate) fn write(&mut self, row_group: RowGroup) -> Result<()> {
        let write = || {
            let mut group = self.writer.next_row_group()?;
            match row_group {
                RowGroup::Plain(chunks) => {
                    for chunk in chunks {
                        group.append_column(&chunk, chunk.close.clone())?;
                    }
                }
                RowGroup::Nested(chunks) => {
                    for chunk in chunks {
                        chunk.append_to_row_group(&mut group)?;
                    }
                }
            }
            group.close()
        };
        write().map(|_| ()).map_err(|error| wrap(error, "write"))
    }

    /// Writes the footer and hands back the output.
    ///
    /// # Errors
    /// When the output fails.
    pub(crate) fn finish(self) -> Result<W> {
        let out = self.writer.into_inner();
        let out = out.map_err(|error| wrap(error, "finish"))?.into_inner();
        out.map_err(|error| Error::disk("finish a Parquet file", error.into_error()))
    }
}

/// How many rows the footer of a Parquet file names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when it is not Parquet, [`ErrorKind::Failed`] when the disk fails.
pub(crate) fn footer_rows(path: &Path) -> Result<u64> {
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

fn properties(table: &'static Table, codec: Codec) -> WriterProperties {
    // Spark reads column comments from its own key and nowhere else.
    let spark = KeyValue::new(
        tracelake_schema::arrow::SPARK_KEY.to_owned(),
        tracelake_schema::arrow::spark_schema_json(table),
    );
    // Of these the chunks of plain columns, which come encoded, need but the first two.
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_key_value_metadata(Some(vec![spark]))
        .set_compression(codec.compression())
        .set_data_page_row_count_limit(PAGE_ROWS);
    for column in table.columns.iter().filter(|column| is_id(column)) {
        let path = ColumnPath::from(column.name);
        builder = builder.set_column_data_page_row_count_limit(path, ID_PAGE_ROWS);
    }
    builder.build()
}

/// Parquet's errors are text; this is where they enter. What the disk said is passed on.
pub(crate) fn wrap(error: ParquetError, doing: &str) -> Error {
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
