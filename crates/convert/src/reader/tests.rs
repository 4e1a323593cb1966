//! Batches compared with Parquet files; errors; readers that are dropped early.

#![cfg(test)]

use std::borrow::Cow;
use std::iter;
use std::path::Path;

use std::sync::Mutex;

use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::output::OutputSettings;
use tracelake_schema::{Column, Header, Kind, Syntax, TRACES, Table};

use super::*;
use crate::part::convert_part;

/// Fields of a column in every spelling, and faulty ones.
fn field(column: &'static Column) -> BoxedStrategy<String> {
    let also = column
        .sentinels
        .iter()
        .filter_map(|sentinel| sentinel.also.as_deref());
    let mut texts: Vec<&str> = also.collect();
    texts.extend(match column.kind {
        Kind::DateTime(_) => &["2023-02-29 00:00:00", "2023-01-01T00:00:00"],
        Kind::Integer => &["0", "-0", "007", "-9223372036854775808", "600000000", "2e3"][..],
        Kind::Code => &["0", "8", "-2147483648", "2147483648", "1.0"],
        Kind::Float => &["-0", "0.5", "1e-300", "0.06873", "7e308", "1e999", "nan"],
        Kind::Boolean => &["0", "1", "2"],
        Kind::Text | Kind::Struct | Kind::List => &["ä", "x y", "fS+/=", "a\"b", "\u{1b}"],
    });
    let texts = prop::sample::select(texts).prop_map(str::to_owned);
    let number = match column.kind {
        Kind::DateTime(_) => "2023-0[1-9]-[01][1-9] 00:00:00".boxed(),
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
    // One faulty field in a few rows; otherwise nearly every row would have one.
    let fine: Vec<_> = columns
        .clone()
        .map(|column| match column.kind {
            Kind::DateTime(_) => "2023-0[1-9]-[01][1-9] 00:00:00".boxed(),
            Kind::Integer | Kind::Code => "[0-9]{1,9}".boxed(),
            Kind::Float => "0\\.[0-9]{1,9}".boxed(),
            Kind::Boolean => "[01]".boxed(),
            Kind::Text | Kind::Struct | Kind::List => "[a-z]{1,50}".boxed(),
        })
        .collect();
    let other: Vec<_> = columns.map(|column| field(column)).collect();
    let fields_and_mask = (fine, other, any_mask(table.fields.len()));
    let row = fields_and_mask.prop_map(|(mut row, other, mask)| {
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
            let rows: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut text = rows.repeat(times).into_bytes();
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

fn tables() -> Vec<(&'static Arc<Trace>, &'static Arc<Table>)> {
    let tables = TRACES.iter().flat_map(|trace| {
        let plain = |table: &&'static Arc<Table>| {
            table.syntax == Syntax::Csv && table.csv.header == Header::None
        };
        let tables = trace.tables.iter().filter(plain);
        tables.map(move |table| (trace, table))
    });
    tables.collect()
}

/// A file converted to Parquet and read back by the Parquet crate.
fn by_parquet(
    path: &Path,
    trace: &Trace,
    table: &Arc<Table>,
) -> (RecordBatch, Vec<String>, Converted) {
    let order = FieldOrder::built_in(table, &trace.name);
    let mut source = Source::open(&Context::new(), path).unwrap();
    let beginning = Beginning::of(&mut source, Cow::Borrowed(&order)).unwrap();
    let mut text = TableText::new(&mut source, &beginning, None);
    text.next_part().unwrap();
    let mut rejects = Vec::new();
    let (converted, parquet) = convert_part(
        PartRows::Text(&mut text),
        &order,
        OutputSettings::DEFAULT,
        Vec::new(),
        &mut |bad_row| {
            rejects.push(format!("{bad_row:?}"));
            Ok(())
        },
        &mut ReadProgress::new(&Context::new()),
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

fn reporting(rejects: &Rejects) -> BadRowCallback {
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
            trace: Some(Arc::clone(trace)),
            table: Some(table.name.to_owned()),
            on_bad_row: Some(reporting(&rejects)),
            batch_rows,
            ..ReadOptions::default()
        };
        let context = Context::new().with_threads(threads);
        let mut reader = read_part(&context, &path, options).unwrap();
        let batches: Vec<RecordBatch> = reader.by_ref().map(|batch| batch.unwrap()).collect();
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
        let ours = Arc::new(());
        let listeners = Arc::clone(&ours);
        let context =
            Context::new().with_events(move |_| assert!(Arc::strong_count(&listeners) > 1));
        let reader = read_part(&context, sample(USAGE), options).unwrap();
        drop(context);
        assert_eq!(
            reader.take(taken).filter(|batch| batch.is_ok()).count(),
            taken
        );
        // The producer held the last clone of the context, so its thread is gone.
        assert_eq!(Arc::strong_count(&ours), 1);
    }
}

#[test]
fn a_cancelled_context_ends_the_rows_with_its_error() {
    let options = ReadOptions {
        batch_rows: 1,
        ..ReadOptions::default()
    };
    let context = Context::new();
    let mut reader = read_part(&context, sample(USAGE), options).unwrap();
    reader.next().unwrap().unwrap();
    context.cancel();
    let mut batches = iter::from_fn(|| reader.next_batch());
    let error = batches.find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Stopped(2));
    assert!(reader.next().is_none());
}

#[test]
fn a_reader_can_be_sent() {
    fn assert_send<T: Send + 'static>(_: &T) {}
    let reader = read_part(&Context::new(), sample(USAGE), ReadOptions::default()).unwrap();
    assert_send(&reader);
    let rows = std::thread::spawn(|| reader.map(|batch| batch.unwrap().num_rows()).sum());
    assert!(rows.join().is_ok_and(|rows: usize| rows > 0));
}

/// The items of a file with one bad row in the middle.
fn with_a_bad_row(on_bad_row: Option<BadRowCallback>) -> (Vec<usize>, Option<Error>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("machine_events.csv");
    let good = "0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493\n";
    std::fs::write(&path, [good, good, "0,5,x,,,\n", good].concat()).unwrap();
    let options = ReadOptions {
        trace: tables()
            .into_iter()
            .find_map(|(trace, table)| (table.name == "machine_events").then_some(trace))
            .cloned(),
        table: Some("machine_events".to_owned()),
        on_bad_row,
        batch_rows: 2,
        ..ReadOptions::default()
    };
    let (mut rows, mut error) = (Vec::new(), None);
    let mut reader = read_part(&Context::new(), &path, options).unwrap();
    while let Some(item) = reader.next_batch() {
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
    let error = with_a_bad_row(None).1.unwrap();
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

    let refuse: BadRowCallback = Box::new(|_| Err(Error::new(ErrorKind::Usage, "enough")));
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
    let last = |options| {
        let mut reader = read_part(&Context::new(), &path, options).unwrap();
        iter::from_fn(|| reader.next_batch()).last().unwrap()
    };
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
            .find(|trace| trace.table("container_meta").is_some())
            .cloned(),
        table: table.map(str::to_owned),
        ..ReadOptions::default()
    };
    let reader = read_part(&Context::new(), &path, options(Some("container_meta"))).unwrap();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    assert_eq!(batches[0].num_rows(), 1);
    let error = read_part(&Context::new(), &path, options(None))
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let mut reader = read_part(&Context::new(), &path, options(Some("batch_task"))).unwrap();
    let error = iter::from_fn(|| reader.next_batch()).last();
    assert_eq!(error.unwrap().unwrap_err().kind(), ErrorKind::Misfit);
}
