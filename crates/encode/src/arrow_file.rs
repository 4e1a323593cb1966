//! Record batches to one Arrow IPC file, also known as Feather version 2.
//!
//! Columns are plain: the file format forbids replacing a dictionary between batches, and not every
//! reader takes the parts of one. Comments and units are in the metadata of the schema's fields.

use std::io::{BufWriter, Write};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, SchemaRef};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Codec;

/// How many bytes are written to the disk at once.
const WRITE_BYTES: usize = 32 << 10;

/// An Arrow file that is being written.
pub struct ArrowFile<W: Write> {
    writer: FileWriter<BufWriter<W>>,
}

impl<W: Write> ArrowFile<W> {
    /// Starts a file with a schema. Snappy is not a codec of the format, see
    /// [`crate::output::Encoding`].
    ///
    /// # Errors
    /// When `out` fails.
    pub fn create(out: W, schema: &SchemaRef, codec: Codec) -> Result<Self> {
        let failed = |error| wrap(error, "start");
        let options = IpcWriteOptions::default();
        let options = match codec {
            Codec::Zstd(level) => options
                .try_with_compression(Some(CompressionType::ZSTD))
                .and_then(|options| options.try_with_compression_level(Some(level.into())))
                .map_err(failed)?,
            Codec::Snappy | Codec::None => options,
        };
        let out = BufWriter::with_capacity(WRITE_BYTES, out);
        let writer = FileWriter::try_new_with_options(out, schema, options).map_err(failed)?;
        Ok(Self { writer })
    }

    /// Appends a batch.
    ///
    /// # Errors
    /// When the output fails.
    ///
    /// # Memory
    /// The compressed batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| wrap(error, "write"))
    }

    /// Writes the footer and returns the output.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(self) -> Result<W> {
        let buffered = self
            .writer
            .into_inner()
            .map_err(|error| wrap(error, "finish"))?;
        buffered
            .into_inner()
            .map_err(|error| Error::disk("finish an Arrow file", error.into_error()))
    }
}

/// Turns an error of the Arrow crates into ours. An error of the disk keeps its code.
pub(crate) fn wrap(error: ArrowError, doing: &str) -> Error {
    let doing = format!("{doing} an Arrow file");
    match error {
        ArrowError::IoError(_, disk) => Error::disk(&doing, disk),
        error => Error::new(ErrorKind::Failed, format!("cannot {doing}: {error}")).because(error),
    }
}
