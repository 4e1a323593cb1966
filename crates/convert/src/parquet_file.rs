//! Row groups to one Parquet file: schema, footer and its key-values.
//!
//! The file has only what every reader reads: pages V1, PLAIN and dictionary encodings, statistics
//! and page index. It has no clock and no host name.

use std::io::{self, BufWriter, Write};

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use tracelake_schema::Table;

use crate::column::{EncodedChunk, ID_PAGE_ROWS, PAGE_ROWS, compression, is_id};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Codec;

/// How many bytes are written to the disk at once.
const WRITE_BYTES: usize = 32 << 10;

/// The column chunks of a row group, from one of the two encoders.
pub(crate) enum RowGroup {
    Plain(Vec<EncodedChunk>),
    Nested(Vec<ArrowColumnChunk>),
}

/// A Parquet file that is being written.
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
        let out = BufWriter::with_capacity(WRITE_BYTES, out);
        let writer = SerializedFileWriter::new(out, root, properties.into()).map_err(failed)?;
        let schema = schema.clone();
        Ok(Self { writer, schema })
    }

    /// The Parquet schema.
    pub(crate) fn schema(&self) -> &SchemaDescriptor {
        self.writer.schema_descr()
    }

    /// Makes writers that turn Arrow arrays into column chunks, with the settings of this file.
    pub(crate) fn factory(&self) -> ArrowRowGroupWriterFactory {
        ArrowRowGroupWriterFactory::new(&self.writer, self.schema.clone())
    }

    /// Appends a row group.
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

    /// Writes the footer and returns the output.
    ///
    /// # Errors
    /// When the output fails.
    pub(crate) fn finish(self) -> Result<W> {
        let out = self.writer.into_inner();
        let out = out.map_err(|error| wrap(error, "finish"))?.into_inner();
        out.map_err(|error| Error::disk("finish a Parquet file", error.into_error()))
    }
}

fn properties(table: &'static Table, codec: Codec) -> WriterProperties {
    // Spark reads column comments from its own key and nowhere else.
    let spark = KeyValue::new(
        tracelake_schema::arrow::SPARK_KEY.to_owned(),
        tracelake_schema::arrow::spark_schema_json(table),
    );
    // Plain columns come encoded; they need only the first two of these.
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_key_value_metadata(Some(vec![spark]))
        .set_compression(compression(codec))
        .set_data_page_row_count_limit(PAGE_ROWS);
    for column in table.columns.iter().filter(|column| is_id(column)) {
        let path = ColumnPath::from(column.name);
        builder = builder.set_column_data_page_row_count_limit(path, ID_PAGE_ROWS);
    }
    builder.build()
}

/// Turns an error of the Parquet crate into ours. An error of the disk keeps its code, and one of a bucket
/// stays what it is.
pub(crate) fn wrap(error: ParquetError, doing: &str) -> Error {
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
