//! A published file as Arrow record batches, without a lake.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tracelake_schema::Trace;

use crate::bad_row::BadRow;
use crate::error::{Error, ErrorKind, Result, escape};
use crate::location::Location;
use crate::part::{Converted, Text, read_batches};
use crate::plan::{ChecksumSource, Plan, Request, StreamPlan, check_sha256, plan};
use crate::source::Source;

pub use crate::batch::BATCH_ROWS;

/// Batches that are read ahead, besides the one that is being made.
const READ_AHEAD: usize = 2;

/// What is called for each bad row.
pub type OnBadRow = Box<dyn FnMut(&BadRow<'_>) -> Result<()> + Send>;

/// How a file is read.
pub struct ReadOptions {
    /// The trace; `None` to recognise it.
    pub trace: Option<&'static Trace>,
    /// The table; `None` to recognise it. An archive of several tables needs it.
    pub table: Option<String>,
    /// What is called for each bad row, in the order of the file and before the batch of the rows
    /// around it; `None` to end with the first one. An error that it returns ends the reading.
    ///
    /// It's called in [`PartReader::next`], by the thread that iterates.
    pub on_bad_row: Option<OnBadRow>,
    /// Rows in a batch, at least 1. Fewer where they would take more than 32 MiB.
    pub batch_rows: usize,
    /// Threads that read ahead, at least 1. The batches don't depend on it.
    pub threads: usize,
    /// The checksums that the file is checked against at its end. `Auto` checks nothing, because
    /// nothing beside a named file is read.
    pub checksums: ChecksumSource,
}

impl Default for ReadOptions {
    /// Recognises trace and table, ends with the first bad row, uses all processors, and checks no
    /// checksum.
    fn default() -> Self {
        Self {
            trace: None,
            table: None,
            on_bad_row: None,
            batch_rows: BATCH_ROWS,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            checksums: ChecksumSource::Auto,
        }
    }
}

/// Reads one published file: CSV, JSON lines or quoted CSV, plain or in gzip, or the member of a tar
/// archive. It has the rows, values and rejects that [`crate::run::convert`] has, as batches of the
/// table's Arrow schema.
///
/// Other threads read ahead, at most two batches. They stop when the reader is dropped, and before
/// that returns.
///
/// Don't trust the rows before the iterator has ended without an error: a broken gzip stream and a
/// wrong checksum are known at the end of the file only.
///
/// # Errors
/// When the file isn't there, or its trace or table can't be recognised and isn't named. Everything
/// that is wrong within the file is an item of the iterator, the last one.
///
/// # Memory
/// Four batches, about 10 MB each for task_usage and at most 32 MiB, and a few MiB per thread; not the
/// size of the file.
///
/// # Example
/// ```
/// use tracelake_convert::reader::{ReadOptions, read_part};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample/job_events/part-00000-of-00002.csv.gz");
/// let path = std::path::Path::new(path);
/// let reader = read_part(path, ReadOptions::default())?;
/// assert_eq!(reader.schema().field(0).name(), "time");
/// let mut rows = 0;
/// for batch in reader {
///     rows += batch?.num_rows();
/// }
/// assert!(rows > 0);
///
/// // Bad rows go to a callback.
/// let options = ReadOptions {
///     table: Some("job_events".into()),
///     on_bad_row: Some(Box::new(|bad_row| {
///         eprintln!("line {}: {}", bad_row.line, bad_row.fault);
///         Ok(())
///     })),
///     ..ReadOptions::default()
/// };
/// assert!(read_part(path, options)?.all(|batch| batch.is_ok()));
/// # Ok::<(), tracelake_convert::error::Error>(())
/// ```
pub fn read_part(path: impl Into<Location>, options: ReadOptions) -> Result<PartReader> {
    let path = path.into();
    let ReadOptions {
        trace,
        table,
        on_bad_row,
        batch_rows,
        threads,
        checksums,
    } = options;
    if path.as_path().is_some_and(|path| path.is_dir()) {
        return Err(Error::new(ErrorKind::Failed, "is a directory")
            .at(&path)
            .hint("name one of its files"));
    }
    let input = Input::find(&Request {
        trace,
        tables: table.into_iter().collect(),
        checksums,
        ..Request::new(&path)
    })?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
    let pool = pool.build().map_err(|error| no_threads(threads, error))?;
    let schema = input.schema();
    let (messages, received) = sync_channel(READ_AHEAD);
    let stop = Arc::new(AtomicBool::new(false));
    let producer = Producer {
        input,
        batch_rows,
        reports_bad_rows: on_bad_row.is_some(),
        messages,
        stop: Arc::clone(&stop),
    };
    let thread = std::thread::Builder::new().name("read_part".to_owned());
    let thread = thread.spawn(move || pool.install(|| producer.run()));
    Ok(PartReader {
        path: path.into(),
        schema,
        on_bad_row,
        running: Some(Running {
            received,
            stop,
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
    on_bad_row: Option<OnBadRow>,
    /// `None` after the last item.
    running: Option<Running>,
    counts: Option<Converted>,
}

struct Running {
    received: Receiver<Message>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl PartReader {
    /// The schema of all batches: that of the table, with descriptions and units in its fields.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The counts of the whole file; `None` before the iterator has ended without an error.
    #[must_use]
    pub fn counts(&self) -> Option<&Converted> {
        self.counts.as_ref()
    }

    /// Ends the threads; true if they ended on their own account, without a panic.
    fn stop(&mut self) -> bool {
        let Some(running) = self.running.take() else {
            return true;
        };
        running.stop.store(true, Ordering::Relaxed);
        // A thread that waits for room in the channel wakes up and finds that nobody listens.
        drop(running.received);
        running.thread.join().is_ok()
    }
}

impl Iterator for PartReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
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
}

impl std::iter::FusedIterator for PartReader {}

impl Drop for PartReader {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the thread that reads ahead sends.
enum Message {
    Batch(RecordBatch),
    BadRow(BadRow<'static>),
    /// The last one.
    End(Result<Converted>),
}

/// One table in one file.
struct Input {
    plan: Plan,
    path: Location,
    /// The SHA-256 that the publisher names for the file.
    sha256: Option<String>,
}

impl Input {
    /// Finds the only table of a file.
    fn find(request: &Request) -> Result<Self> {
        let plan = plan(request)?;
        if plan.tables.len() != 1 {
            let names = plan.tables.iter().map(|table| table.order.table.name);
            let names: Vec<&str> = names.collect();
            let reason = format!("may hold several tables: {}", names.join(", "));
            return Err(Error::new(ErrorKind::Usage, reason)
                .at(&request.source)
                .hint("name one of them"));
        }
        let parts = plan.parts().map(|(_, part)| (&part.source, &part.sha256));
        let streams = plan.streams.iter();
        let streams = streams.map(|stream| (&stream.source, &stream.sha256));
        let (source, sha256) = parts
            .chain(streams)
            .next()
            .expect("a table of a plan is in a part or a stream");
        Ok(Self {
            path: plan.source.join(source),
            sha256: sha256.clone(),
            plan,
        })
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.tables[0].schema)
    }
}

/// Reads ahead.
struct Producer {
    input: Input,
    batch_rows: usize,
    /// Else the first one ends the reading.
    reports_bad_rows: bool,
    messages: SyncSender<Message>,
    stop: Arc<AtomicBool>,
}

impl Producer {
    fn run(&self) {
        let end = self.read();
        // Nobody may be listening any more.
        let _ = self.messages.send(Message::End(end));
    }

    fn read(&self) -> Result<Converted> {
        let path = &self.input.path;
        let mut source = Source::open(path)?;
        let stop = Arc::clone(&self.stop);
        source.interrupt_with(Arc::new(move || match stop.load(Ordering::Relaxed) {
            true => Err(stopped()),
            false => Ok(()),
        }));
        let counts = match self.input.plan.streams.first() {
            Some(stream) if source.is_archive() => self.read_members(stream, &mut source)?,
            _ => self.read_text(path, &mut source)?,
        };
        if let Some(expected) = &self.input.sha256 {
            check_sha256(path, expected, &source.fingerprint().sha256)?;
        }
        Ok(counts)
    }

    /// Reads the member of an archive that is the table's, and then to the end of the archive.
    fn read_members(&self, stream: &StreamPlan, source: &mut Source) -> Result<Converted> {
        let table = self.input.plan.tables[0].order.table.name;
        let mut counts = None;
        while let Some(member) = source.next_member()? {
            if self.input.plan.table_of(stream, &member).is_none() {
                continue;
            }
            let path = self.input.path.join(&member.path);
            if counts.is_some() {
                return Err(
                    Error::new(ErrorKind::Misfit, "a second member of one table")
                        .at(path)
                        .field(table)
                        .hint("make an archive of what belongs together"),
                );
            }
            counts = Some(self.read_text(&path, source)?);
        }
        counts.ok_or_else(|| {
            Error::new(
                ErrorKind::Misfit,
                format!("holds no {}", escape(table.as_bytes(), 80)),
            )
            .at(&self.input.path)
            .hint("if it holds archives, unpack it and name one of them")
        })
    }

    /// Reads the text of the table; `path` is for people.
    fn read_text(&self, path: &Location, source: &mut Source) -> Result<Converted> {
        let table = &self.input.plan.tables[0];
        let mut text = Text::new(source, &table.order, None);
        text.next_part()?;
        read_batches(
            &mut text,
            &table.order,
            &table.schema,
            self.batch_rows,
            &mut |batch| self.send(Message::Batch(batch)),
            &mut |bad_row| {
                if self.reports_bad_rows {
                    self.send(Message::BadRow(bad_row.clone().into_owned()))
                } else {
                    Err(bad_row.to_error(&PathBuf::from(path), &table.order))
                }
            },
            &mut |_| Ok(()),
        )
    }

    fn send(&self, message: Message) -> Result<()> {
        self.messages.send(message).map_err(|_| stopped())
    }
}

/// The end of a reading that nobody waits for.
fn stopped() -> Error {
    Error::new(ErrorKind::Stopped(0), "stopped")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use std::sync::Mutex;

    use arrow_select::concat::concat_batches;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use proptest::prelude::*;
    use tracelake_schema::{Column, Kind, Syntax, TRACES, Table};

    use super::*;
    use crate::field_order::FieldOrder;
    use crate::output::Encoding;
    use crate::part::convert_part;

    /// A field of a column in every way to write one, and some that are faulty.
    fn field(column: &'static Column) -> BoxedStrategy<String> {
        let also = column.sentinels.iter().filter_map(|sentinel| sentinel.also);
        let mut texts: Vec<&str> = also.collect();
        texts.extend(match column.kind {
            Kind::Integer => &["0", "-0", "007", "-9223372036854775808", "600000000", "2e3"][..],
            Kind::Code => &["0", "8", "-2147483648", "2147483648", "1.0"],
            Kind::Float => &["-0", "0.5", "1e-300", "0.06873", "7e308", "1e999", "nan"],
            Kind::Boolean => &["0", "1", "2"],
            Kind::Text | Kind::Struct | Kind::List => &["ä", "x y", "fS+/=", "a\"b", "\u{1b}"],
        });
        let texts = prop::sample::select(texts).prop_map(str::to_owned);
        let number = match column.kind {
            Kind::Integer => any::<i64>().prop_map(|value| value.to_string()).boxed(),
            Kind::Code => any::<i32>().prop_map(|value| value.to_string()).boxed(),
            Kind::Float => any::<f32>().prop_map(|value| format!("{value:e}")).boxed(),
            Kind::Boolean => "[01]".boxed(),
            Kind::Text | Kind::Struct | Kind::List => "[!-~]{1,50}".boxed(),
        };
        prop_oneof![1 => texts, 6 => number, 2 => Just(String::new())].boxed()
    }

    /// Text of a table: rows, and lines of the wrong shape.
    fn text(table: &'static Table) -> BoxedStrategy<Vec<u8>> {
        let columns = table.fields.iter().map(|&index| &table.columns[index]);
        // One faulty field in a few rows, else nearly every row would have one.
        let fine = columns.clone().map(|column| match column.kind {
            Kind::Integer | Kind::Code => "[0-9]{1,9}".boxed(),
            Kind::Float => "0\\.[0-9]{1,9}".boxed(),
            Kind::Boolean => "[01]".boxed(),
            Kind::Text | Kind::Struct | Kind::List => "[a-z]{1,50}".boxed(),
        });
        let fine = fine.collect::<Vec<_>>();
        let other: Vec<_> = columns.map(field).collect();
        let row = (fine, other, any_mask(table.fields.len()));
        let row = row.prop_map(|(mut row, other, mask)| {
            for (index, field) in other.into_iter().enumerate() {
                if mask >> index & 1 == 1 {
                    row[index] = field;
                }
            }
            row.join(",")
        });
        let line = prop_oneof![
            20 => row,
            1 => Just(String::new()),
            1 => Just("a,b".to_owned()),
            1 => Just("1\r".to_owned()),
        ];
        let lines = prop::collection::vec(line, 0..40);
        (
            lines,
            prop::sample::select(vec![1, 1, 1, 200]),
            any::<bool>(),
        )
            .prop_map(|(lines, times, cut)| {
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                let mut text = text.repeat(times).into_bytes();
                if cut {
                    text.pop();
                }
                text
            })
            .boxed()
    }

    /// A few values of `bits` bits.
    fn any_mask(bits: usize) -> BoxedStrategy<u64> {
        let mask = (0..64_u64, 0..64_u64).prop_map(|(a, b)| 1 << a | 1 << b);
        mask.prop_map(move |mask| mask & ((1 << bits) - 1)).boxed()
    }

    fn tables() -> Vec<(&'static Trace, &'static Table)> {
        let tables = TRACES.iter().flat_map(|trace| {
            let plain = |table: &&Table| table.syntax == Syntax::Csv;
            let tables = trace.tables.iter().filter(plain);
            tables.map(move |table| (trace, table))
        });
        tables.collect()
    }

    /// What the Parquet path makes of a file, read back by the Parquet crate.
    fn by_parquet(
        path: &Path,
        trace: &Trace,
        table: &'static Table,
    ) -> (RecordBatch, Vec<String>, Converted) {
        let order = FieldOrder::built_in(table, trace.name);
        let schema = tracelake_schema::arrow::arrow_schema(table);
        let mut source = Source::open(path).unwrap();
        let mut text = Text::new(&mut source, &order, None);
        text.next_part().unwrap();
        let mut rejects = Vec::new();
        let (converted, parquet) = convert_part(
            &mut text,
            &order,
            &schema,
            Encoding::DEFAULT,
            Vec::new(),
            &mut |bad_row| {
                rejects.push(format!("{bad_row:?}"));
                Ok(())
            },
            &mut |_| Ok(()),
        )
        .unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(parquet)).unwrap();
        let schema = Arc::clone(reader.schema());
        let batches: Vec<RecordBatch> = reader
            .build()
            .unwrap()
            .map(|batch| batch.unwrap())
            .collect();
        let rows = concat_batches(&schema, &batches).unwrap();
        (rows, rejects, converted)
    }

    type Rejects = Arc<Mutex<Vec<String>>>;

    fn reporting(rejects: &Rejects) -> OnBadRow {
        let rejects = Arc::clone(rejects);
        Box::new(move |bad_row| {
            rejects.lock().unwrap().push(format!("{bad_row:?}"));
            Ok(())
        })
    }

    #[test]
    fn batches_equal_what_parquet_files_hold() {
        let config = ProptestConfig {
            cases: 96,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let rejected = std::cell::Cell::new(0);
        let table = prop::sample::select(tables());
        let case = table.prop_flat_map(|(trace, table)| {
            (Just((trace, table)), text(table), 1_usize..3, 1_usize..50)
        });
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let all_equal = runner.run(&case, |((trace, table), text, threads, batch_rows)| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(format!("{}.csv", table.name));
            std::fs::write(&path, &text).unwrap();
            let (expected, expected_rejects, converted) = by_parquet(&path, trace, table);
            let rejects = Rejects::default();
            let options = ReadOptions {
                trace: Some(trace),
                table: Some(table.name.to_owned()),
                on_bad_row: Some(reporting(&rejects)),
                batch_rows,
                threads,
                ..ReadOptions::default()
            };
            let mut reader = read_part(&path, options).unwrap();
            let batches: Vec<RecordBatch> = reader.by_ref().map(Result::unwrap).collect();
            let full = batches.iter().rev().skip(1);
            prop_assert!(full.clone().all(|batch| batch.num_rows() == batch_rows));
            let rows = concat_batches(&reader.schema(), &batches).unwrap();
            let (schema, parquet) = (rows.schema(), expected.schema());
            prop_assert_eq!(schema.fields(), parquet.fields());
            prop_assert_eq!(rows.columns(), expected.columns());
            prop_assert_eq!(&*rejects.lock().unwrap(), &expected_rejects);
            prop_assert_eq!(reader.counts(), Some(&converted));
            rejected.set(rejected.get() + expected_rejects.len());
            Ok(())
        });
        all_equal.unwrap();
        assert!(rejected.get() > 100);
    }

    /// The sample in the repository, and one of its parts.
    fn sample(part: &str) -> PathBuf {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample");
        sample.join(part)
    }

    const USAGE: &str = "task_usage/part-00000-of-00002.csv.gz";

    #[test]
    fn a_reader_can_be_dropped_at_any_time() {
        for taken in 0..4 {
            let options = ReadOptions {
                batch_rows: 1,
                ..ReadOptions::default()
            };
            let reader = read_part(sample(USAGE), options).unwrap();
            let stop = Arc::clone(&reader.running.as_ref().unwrap().stop);
            assert_eq!(reader.take(taken).map(Result::unwrap).count(), taken);
            // The producer held the other one, so its thread is gone.
            assert_eq!(Arc::strong_count(&stop), 1);
        }
    }

    #[test]
    fn a_reader_can_be_sent() {
        fn assert_send<T: Send + 'static>(_: &T) {}
        let reader = read_part(sample(USAGE), ReadOptions::default()).unwrap();
        assert_send(&reader);
        let rows = std::thread::spawn(|| reader.map(|batch| batch.unwrap().num_rows()).sum());
        assert!(rows.join().is_ok_and(|rows: usize| rows > 0));
    }

    /// The items of a file with one bad row in the middle.
    fn with_a_bad_row(on_bad_row: Option<OnBadRow>) -> (Vec<usize>, Option<Error>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("machine_events.csv");
        let good = "0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493\n";
        std::fs::write(&path, [good, good, "0,5,x,,,\n", good].concat()).unwrap();
        let options = ReadOptions {
            trace: tables()
                .into_iter()
                .find_map(|(trace, table)| (table.name == "machine_events").then_some(trace)),
            table: Some("machine_events".to_owned()),
            on_bad_row,
            batch_rows: 2,
            ..ReadOptions::default()
        };
        let (mut rows, mut error) = (Vec::new(), None);
        let mut reader = read_part(&path, options).unwrap();
        for item in reader.by_ref() {
            assert!(error.is_none(), "an error is the last item");
            match item {
                Ok(batch) => rows.push(batch.num_rows()),
                Err(last) => error = Some(last),
            }
        }
        assert_eq!(reader.counts().is_some(), error.is_none());
        (rows, error)
    }

    #[test]
    fn a_bad_row_ends_the_reading_or_is_reported() {
        let (_, error) = with_a_bad_row(None);
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), error.place().line),
            (ErrorKind::Misfit, Some(3))
        );
        assert!(
            error.to_string().contains("machine_events.event_type"),
            "{error}"
        );

        let rejects = Rejects::default();
        let (rows, error) = with_a_bad_row(Some(reporting(&rejects)));
        assert_eq!((rows, rejects.lock().unwrap().len()), (vec![2, 1], 1));
        assert!(error.is_none(), "{error:?}");

        let refuse: OnBadRow = Box::new(|_| Err(Error::new(ErrorKind::Usage, "enough")));
        let (_, error) = with_a_bad_row(Some(refuse));
        assert_eq!(error.unwrap().kind(), ErrorKind::Usage);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_the_last_item() {
        let directory = tempfile::tempdir().unwrap();
        let whole = std::fs::read(sample(USAGE)).unwrap();
        let name = "part-00000-of-00002.csv.gz";
        let table = directory.path().join("task_usage");
        std::fs::create_dir(&table).unwrap();
        let path = table.join(name);
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let last = |options| read_part(&path, options).unwrap().last().unwrap();
        let error = last(ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");

        std::fs::write(&path, &whole).unwrap();
        assert!(last(ReadOptions::default()).is_ok());
        let sums = directory.path().join("sums");
        std::fs::write(&sums, format!("{}  task_usage/{name}\n", "0".repeat(64))).unwrap();
        let error = last(ReadOptions {
            checksums: ChecksumSource::File(sums.into()),
            ..ReadOptions::default()
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_member_of_an_archive_is_read_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("alibaba.tar.gz");
        let file = std::fs::File::create(&path).unwrap();
        let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        for (name, text) in [
            ("./machine_meta.csv", "m_1932,0,1,1,96,100,USING\n"),
            (
                "./container_meta.csv",
                "c_1,m_1932,0,app_5052,started,400,400,1.56\n",
            ),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap();
        let options = |table: Option<&str>| ReadOptions {
            trace: TRACES
                .iter()
                .find(|trace| trace.table("container_meta").is_some()),
            table: table.map(str::to_owned),
            ..ReadOptions::default()
        };
        let reader = read_part(&path, options(Some("container_meta"))).unwrap();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        assert_eq!(batches[0].num_rows(), 1);
        let error = read_part(&path, options(None)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        let error = read_part(&path, options(Some("batch_task")))
            .unwrap()
            .last();
        assert_eq!(error.unwrap().unwrap_err().kind(), ErrorKind::Misfit);
    }
}
