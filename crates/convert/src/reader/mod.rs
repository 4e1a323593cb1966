//! A published file as Arrow record batches, without a lake.

mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::settings::Settings;
use tracelake_location::Location;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Table, Trace};
use tracelake_source::Source;

use crate::bad_row::BadRow;
use crate::part::{
    Beginning, Converted, ParquetPart, PartRows, ReadProgress, TableText, enter_member,
    leave_member, read_batches,
};
use crate::plan::{ChecksumSource, Plan, Request, StreamPlan, check_sha256, plan};

pub use tracelake_encode::batch::BATCH_ROWS;

/// Batches that are read ahead, besides the one that is being made.
const READ_AHEAD: usize = 2;

/// A callback for each bad row.
pub type BadRowCallback = Box<dyn FnMut(&BadRow<'_>) -> Result<()> + Send>;

/// How a file is read.
#[non_exhaustive]
pub struct ReadOptions {
    /// The trace; `None` to recognise it.
    pub trace: Option<Arc<Trace>>,
    /// The table; `None` to recognise it. An archive of several tables needs it.
    pub table: Option<String>,
    /// The callback for each bad row, in the order of the file and before the batch of the rows
    /// around it; `None` to end with the first one. An error that it returns ends the reading.
    ///
    /// It's called in [`PartReader::next_batch`], by the thread that iterates. Called by the thread that reads, it could
    /// deadlock with a thread that drops the reader, for example on Python's interpreter lock.
    pub on_bad_row: Option<BadRowCallback>,
    /// Rows in a batch, at least 1; fewer if they would take more than 32 MiB.
    pub batch_rows: usize,
    /// The rows and columns to read: `sample`, `sample_by`, `columns` and `time`. The other options are ignored.
    pub selection: Settings,
    /// The checksums that the file is compared with at its end. `Auto` compares nothing, because only
    /// the named file is read.
    pub checksums: ChecksumSource,
}

impl Default for ReadOptions {
    /// Recognises trace and table, ends with the first bad row, and checks no checksum.
    fn default() -> Self {
        Self {
            trace: None,
            table: None,
            on_bad_row: None,
            batch_rows: BATCH_ROWS,
            selection: Settings::default(),
            checksums: ChecksumSource::Auto,
        }
    }
}

/// Reads one published file: CSV, JSON lines or quoted CSV, plain, compressed with gzip or in a tar
/// archive. It yields the same rows, values and rejects as [`crate::run::convert`], in batches of the
/// table's Arrow schema.
///
/// The threads of the context read at most two batches ahead; the batches don't depend on how many they are. Dropping
/// the reader stops them and waits for them.
///
/// Don't trust the rows before the iterator has ended without an error: a broken gzip stream or a wrong
/// checksum is only noticed at the end of the file.
///
/// # Errors
/// When the file doesn't exist, or its trace or table isn't named and can't be recognised. An error in
/// the file is the last item of the iterator.
///
/// # Memory
/// Four batches, about 10 MB each for task_usage and at most 32 MiB, and a few MiB per thread; not the
/// size of the file.
///
/// # Example
/// ```
/// use arrow_array::RecordBatchReader;
/// use tracelake_convert::reader::{ReadOptions, read_part};
/// use tracelake_core::Context;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample/job_events/part-00000-of-00002.csv.gz");
/// let path = std::path::Path::new(path);
/// let reader = read_part(&Context::new(), path, ReadOptions::default())?;
/// assert_eq!(reader.schema().field(0).name(), "time");
/// assert_eq!(reader.table().name, "job_events");
/// let mut rows = 0;
/// for batch in reader {
///     rows += batch?.num_rows();
/// }
/// assert!(rows > 0);
///
/// // Bad rows go to a callback.
/// let mut options = ReadOptions::default();
/// options.table = Some("job_events".into());
/// options.on_bad_row = Some(Box::new(|bad_row| {
///     eprintln!("{:?}: {}", bad_row.place, bad_row.fault);
///     Ok(())
/// }));
/// assert!(read_part(&Context::new(), path, options)?.all(|batch| batch.is_ok()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_part(
    context: &Context,
    path: impl Into<Location>,
    options: ReadOptions,
) -> Result<PartReader> {
    let path = path.into();
    let ReadOptions {
        trace,
        table,
        on_bad_row,
        batch_rows,
        selection,
        checksums,
    } = options;
    if path.as_path().is_some_and(|path| path.is_dir()) {
        return Err(Error::new(ErrorKind::Failed, "is a directory")
            .at(&path)
            .hint("name one of its files"));
    }
    let (plan, file, sha256) = plan_file(
        context,
        &Request {
            trace,
            tables: table.into_iter().collect(),
            settings: selection.selection(),
            checksums,
            ..Request::new(&path)
        },
    )?;
    let threads = context.threads();
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder
        .build()
        .map_err(|error| no_threads(threads, error))?;
    let trace = Arc::clone(&plan.trace);
    let table = Arc::clone(&plan.tables[0].order.table);
    let (messages, received) = sync_channel(READ_AHEAD);
    let context = context.for_parts();
    let producer = Producer {
        plan,
        path: file,
        sha256,
        batch_rows,
        reports_bad_rows: on_bad_row.is_some(),
        messages,
        context: context.clone(),
    };
    let builder = std::thread::Builder::new().name("read_part".to_owned());
    let thread = builder.spawn(move || {
        let end = pool.install(|| producer.read());
        // The receiver may be gone.
        let _ = producer.messages.send(Message::End(end));
    });
    Ok(PartReader {
        path: path.into(),
        schema: arrow_schema(&table),
        trace,
        table,
        on_bad_row,
        running: Some(Running {
            received,
            context,
            thread: thread.map_err(|error| no_threads(threads, error))?,
        }),
        counts: None,
    })
}

fn no_threads(threads: usize, error: impl std::fmt::Display) -> Error {
    let reason = format!("cannot start {threads} threads: {error}");
    Error::new(ErrorKind::Failed, reason).hint("read with fewer threads")
}

/// The record batches of a file, see [`read_part`].
///
/// It's `Send` and borrows nothing, so it can be handed to another thread or language.
pub struct PartReader {
    path: PathBuf,
    schema: SchemaRef,
    trace: Arc<Trace>,
    table: Arc<Table>,
    on_bad_row: Option<BadRowCallback>,
    /// `None` after the last item.
    running: Option<Running>,
    counts: Option<Converted>,
}

struct Running {
    received: Receiver<Message>,
    context: Context,
    thread: JoinHandle<()>,
}

impl PartReader {
    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// The error in the file; it's the last item.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let error = match self.running.as_ref()?.received.recv() {
                Ok(Message::Batch(batch)) => return Some(Ok(batch)),
                Ok(Message::BadRow(bad_row)) => match self.on_bad_row.as_mut()?(&bad_row) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(Message::End(Ok(counts))) => {
                    self.stop();
                    self.counts = Some(counts);
                    return None;
                }
                Ok(Message::End(Err(error))) => error,
                Err(_) => Error::new(ErrorKind::Failed, "a thread that read ahead has panicked")
                    .at(&self.path)
                    .hint("this is a bug: please report it"),
            };
            self.stop();
            return Some(Err(error));
        }
    }

    /// The trace that was given or recognised.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// The table that was given or recognised, with the columns that are read.
    #[must_use]
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The counts of the whole file; `None` before the iterator has ended without an error.
    #[must_use]
    pub fn counts(&self) -> Option<&Converted> {
        self.counts.as_ref()
    }

    /// Ends the threads.
    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.context.fail();
            // A thread that waits for room in the channel wakes up, because the receiver is gone.
            drop(running.received);
            // If it has panicked, the last item said so.
            let _ = running.thread.join();
        }
    }
}

impl Iterator for PartReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    /// [`PartReader::next_batch`] with the error as [`ArrowError::ExternalError`].
    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for PartReader {
    /// The schema of all batches: that of the table, with descriptions and units in its fields.
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl std::iter::FusedIterator for PartReader {}

impl Drop for PartReader {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A message from the thread that reads ahead.
enum Message {
    Batch(RecordBatch),
    BadRow(BadRow<'static>),
    /// The last one.
    End(Result<Converted>),
}

/// Plans to read the only table of a file. Returns where the file is, and its published SHA-256, too.
fn plan_file(context: &Context, request: &Request) -> Result<(Plan, Location, Option<Digest>)> {
    let plan = plan(context, request)?;
    if plan.tables.len() != 1 {
        let tables = plan.tables.iter();
        let names: Vec<&str> = tables.map(|table| &*table.order.table.name).collect();
        let reason = format!("may hold several tables: {}", names.join(", "));
        return Err(Error::new(ErrorKind::Usage, reason)
            .at(&request.source)
            .hint("name one of them"));
    }
    let parts = plan.parts().map(|(_, part)| (&part.source, part.sha256));
    let streams = plan.streams.iter();
    let (source, sha256) = parts
        .chain(streams.map(|stream| (&stream.source, stream.sha256)))
        .next()
        .expect("a table of a plan is in a part or a stream");
    let path = plan.source.join(source);
    Ok((plan, path, sha256))
}

/// Reads ahead.
struct Producer {
    /// It has one table, in one file.
    plan: Plan,
    path: Location,
    /// The published SHA-256 of the file.
    sha256: Option<Digest>,
    batch_rows: usize,
    /// Otherwise the first one ends the reading.
    reports_bad_rows: bool,
    messages: SyncSender<Message>,
    context: Context,
}

impl Producer {
    fn read(&self) -> Result<Converted> {
        let path = &self.path;
        if self.plan.tables[0].is_parquet {
            return self.read_parquet(path);
        }
        let mut source = Source::open(&self.context, path)?;
        let counts = match self.plan.streams.first() {
            Some(stream) if source.is_archive()? => self.read_members(stream, &mut source)?,
            _ => {
                let table = &self.plan.tables[0].order.table;
                enter_member(&mut source, table)?;
                let counts = self.read_text(path, &mut source)?;
                leave_member(&mut source, table)?;
                counts
            }
        };
        if let Some(expected) = self.sha256 {
            check_sha256(path, expected, source.fingerprint().sha256)?;
        }
        Ok(counts)
    }

    /// Reads the table's member of an archive, and then to the end of the archive.
    fn read_members(&self, stream: &StreamPlan, source: &mut Source) -> Result<Converted> {
        let table = &self.plan.tables[0].order.table.name;
        let mut counts = None;
        while let Some(member) = source.next_member()? {
            if self.plan.table_of(stream, &member).is_none() {
                continue;
            }
            let path = self.path.join(&member.path);
            if counts.is_some() {
                return Err(
                    Error::new(ErrorKind::Misfit, "a second member of one table")
                        .at(path)
                        .field(table)
                        .hint("unpack it, and read its files one by one"),
                );
            }
            counts = Some(self.read_text(&path, source)?);
        }
        counts.ok_or_else(|| {
            Error::new(
                ErrorKind::Misfit,
                format!("holds no {}", escape(table.as_bytes(), 80)),
            )
            .at(&self.path)
            .hint("if it holds archives, unpack it and name one of them")
        })
    }

    /// Reads the text of the table; the last name of `path` has the captures.
    fn read_text(&self, path: &Location, source: &mut Source) -> Result<Converted> {
        let table = &self.plan.tables[0];
        let order = table.order.of_file(&path.to_string())?;
        let beginning = Beginning::of(source, order)?;
        let order = &beginning.order;
        let text_location = PathBuf::from(source.text_location());
        let mut text = TableText::new(source, &beginning, None);
        text.next_part()?;
        self.read_rows(PartRows::Text(&mut text), order, &text_location)
    }

    /// Reads a Parquet file, which has no name once it is unpacked.
    fn read_parquet(&self, path: &Location) -> Result<Converted> {
        let table = &self.plan.tables[0];
        let order = table.order.of_file(&path.to_string())?;
        let mut part = ParquetPart::open(&self.context, path, &order, &std::env::temp_dir())?;
        if let Some(expected) = self.sha256 {
            check_sha256(path, expected, part.fingerprint().sha256)?;
        }
        let rows = PartRows::Parquet(&mut part);
        self.read_rows(rows, &order, &PathBuf::from(path))
    }

    fn read_rows(
        &self,
        rows: PartRows<'_, '_>,
        order: &FieldOrder,
        path: &Path,
    ) -> Result<Converted> {
        read_batches(
            rows,
            order,
            self.batch_rows,
            &mut |batch| self.send(Message::Batch(batch)),
            &mut |bad_row| {
                if self.reports_bad_rows {
                    self.send(Message::BadRow(bad_row.clone().into_owned()))
                } else {
                    Err(bad_row.to_error(path, order))
                }
            },
            &mut ReadProgress::new(&self.context),
        )
    }

    fn send(&self, message: Message) -> Result<()> {
        let sent = self.messages.send(message);
        // The receiver is gone.
        sent.map_err(|_| Error::new(ErrorKind::Stopped(0), "stopped"))
    }
}
