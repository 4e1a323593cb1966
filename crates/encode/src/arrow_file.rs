//! Record batches to one Arrow IPC file, also known as Feather version 2.
//!
//! Columns are plain: the file format forbids replacing a dictionary between batches, and not every
//! reader takes the parts of one. Comments and units are in the metadata of the schema's fields.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use tracelake_core::error::{Error, Result};
use tracelake_core::options::Codec;
use tracelake_schema::Table;
use tracelake_schema::arrow::arrow_schema;

use crate::batch::{BATCH_ROWS, BatchBuilder};
use crate::output::{OutputFile, OutputSettings, RowOrder, RowSource, arrow_error};

/// How many bytes are written to the disk at once.
const WRITE_BYTES: usize = 32 << 10;

/// An Arrow file that is being written.
pub struct ArrowFile<W: Write> {
    writer: FileWriter<BufWriter<W>>,
}

impl<W: Write + Send> OutputFile<W> for ArrowFile<W> {
    type Builder = BatchBuilder;

    /// Starts a file. Snappy is not a codec of the format, see [`OutputSettings`].
    fn create(out: W, table: &Arc<Table>, output: OutputSettings, _: RowOrder<'_>) -> Result<Self> {
        let failed = |error| arrow_error(error, "start");
        let options = IpcWriteOptions::default();
        let options = match output.codec() {
            Codec::Zstd(level) => options
                .try_with_compression(Some(CompressionType::ZSTD))
                .and_then(|options| options.try_with_compression_level(Some(level.into())))
                .map_err(failed)?,
            Codec::Snappy | Codec::None => options,
        };
        let out = BufWriter::with_capacity(WRITE_BYTES, out);
        let writer = FileWriter::try_new_with_options(out, &arrow_schema(table), options);
        let writer = writer.map_err(failed)?;
        Ok(Self { writer })
    }

    fn builder(&self, rows: RowSource<'_>, _: OutputSettings) -> BatchBuilder {
        BatchBuilder::new(rows.table(), BATCH_ROWS)
    }

    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let written = self.writer.write(&batch);
        written.map_err(|error| arrow_error(error, "write"))
    }

    fn finish(self) -> Result<W> {
        let buffered = self.writer.into_inner();
        let buffered = buffered.map_err(|error| arrow_error(error, "finish"))?;
        let out = buffered.into_inner();
        out.map_err(|error| Error::disk("finish an Arrow file", error.into_error()))
    }
}
