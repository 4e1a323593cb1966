//! A Parquet file of a table that was changed: `convert` refuses it, or makes the rows that another reader finds in it.
//!
//! Input: a byte for how the file is written, then changes of four bytes each, as for [`super::lakes`].

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::error::ErrorKind;
use tracelake_core::options::OnBadRow;
use tracelake_schema::Trace;
use tracelake_schema::description::read;
use tracelake_verify::verify;

use super::lakes::change;
use super::setting::{context, directory, options};

/// Rows of the file.
const ROWS: i64 = 200;

const DESCRIPTION: &str = r#"
family = "forged"
licence = "CC0-1.0"
citation = "A test."

[[trace]]
name = "forged"
title = "A forged file"
document = "None"

[[table]]
name = "rows"
summary = "Rows."
files = "named"
names = ["rows.parquet"]
syntax = "parquet"
column = [
    { name = "id", kind = "integer" },
    { name = "small", kind = "integer" },
    { name = "name", kind = "text" },
    { name = "ok", kind = "boolean" },
    { name = "load", kind = "float" },
    { name = "time", kind = "date-time", zone = "published" },
    { name = "items", kind = "list", field = [{ name = "item", kind = "integer" }] },
    { name = "nested", kind = "struct", field = [{ name = "cpu", kind = "float" }] },
]
"#;

fn trace() -> &'static Arc<Trace> {
    static TRACE: OnceLock<Arc<Trace>> = OnceLock::new();
    TRACE.get_or_init(|| Arc::clone(&read(DESCRIPTION).expect("a description")[0]))
}

/// Tries one input.
///
/// # Panics
/// If a changed file is read otherwise than by another reader.
pub fn run(data: &[u8]) {
    outcome(data);
}

/// The outcome of a changed file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Exit 5.
    Damaged,
    /// Exit 4: it lacks a column, or has one of another type.
    Misfit,
    /// Exit 3: its bad rows are named, and the others have the values that the other reader finds.
    Rejected,
    /// All its rows have the values that the other reader finds.
    Converted,
}

fn outcome(data: &[u8]) -> Outcome {
    let ([form], changes) = options(data);
    let mut bytes = written(form);
    change(&mut bytes, changes);
    let directory = directory();
    let (source, out) = (
        directory.path().join("source"),
        directory.path().join("lake"),
    );
    fs::create_dir(&source).unwrap();
    fs::write(source.join("rows.parquet"), bytes).unwrap();
    let mut request = Request::new(source.clone());
    request.trace = Some(Arc::clone(trace()));
    request.settings.on_bad_row = OnBadRow::Reject;
    let plan = plan(&context(), &request).unwrap();
    match convert(&context(), &plan, &(&out).into(), RunOptions::default()) {
        Ok(run) => {
            compare(&source, &out);
            match run.manifest.rows_rejected() {
                0 => Outcome::Converted,
                _ => Outcome::Rejected,
            }
        }
        Err(error) => match error.kind() {
            ErrorKind::Corrupt => Outcome::Damaged,
            ErrorKind::Misfit => Outcome::Misfit,
            _ => panic!("{error:?}"),
        },
    }
}

/// Expects that the other reader finds the same rows, or can't read the file.
fn compare(source: &Path, out: &Path) {
    let verdict = verify(&context(), &out.into(), Some(&source.into())).unwrap();
    let differs = |finding: &String| {
        // A text that isn't UTF-8 is a bad row for the converter, and an error for the other reader.
        let is_of_values = ["in row ", "but its source", "the rejects file"]
            .iter()
            .any(|words| finding.contains(words));
        is_of_values && !finding.to_lowercase().contains("utf")
    };
    let found = verdict.findings.iter().map(ToString::to_string);
    let found: Vec<String> = found.filter(differs).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The file as a writer makes it that this byte chooses.
fn written(form: u8) -> Vec<u8> {
    let inner = |row: i64| (row % 3 > 0).then_some(row);
    let mut lists = ListBuilder::new(Int64Builder::new());
    for row in 0..ROWS {
        match row % 4 {
            0 => lists.append_null(),
            items => lists.append_value((1..items).map(Some)),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let floats = || (0..ROWS).map(|row| inner(row).map(|row| row as f64 / 8.0));
    let cpus: ArrayRef = Arc::new(Float64Array::from_iter(floats()));
    let cpu = Field::new("cpu", DataType::Float64, true);
    let texts = (0..ROWS).map(|row| inner(row % 60).map(|row| format!("name {row}")));
    let times = TimestampMillisecondArray::from_iter((0..ROWS).map(inner));
    let small = (0..ROWS).map(|row| i32::try_from(row % 7).ok());
    let columns: [(&str, ArrayRef); 8] = [
        ("id", Arc::new(Int64Array::from_iter((0..ROWS).map(inner)))),
        ("small", Arc::new(Int32Array::from_iter(small))),
        ("name", Arc::new(StringArray::from_iter(texts))),
        (
            "ok",
            Arc::new(BooleanArray::from_iter(
                (0..ROWS).map(|row| inner(row).map(|row| row % 2 > 0)),
            )),
        ),
        ("load", Arc::new(Float64Array::from_iter(floats()))),
        ("time", Arc::new(times.with_timezone("UTC"))),
        ("items", Arc::new(lists.finish())),
        (
            "nested",
            Arc::new(StructArray::new(vec![cpu].into(), vec![cpus], None)),
        ),
    ];
    let columns = columns.map(|(name, array)| (name, array, true));
    let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut properties = WriterProperties::builder()
        .set_data_page_row_count_limit(30)
        .set_write_batch_size(10)
        .set_max_row_group_row_count(Some(120))
        .set_dictionary_enabled(form & 1 == 0)
        .set_compression(match form >> 1 & 3 {
            0 => Compression::UNCOMPRESSED,
            1 => Compression::SNAPPY,
            2 => Compression::GZIP(parquet::basic::GzipLevel::default()),
            _ => Compression::ZSTD(parquet::basic::ZstdLevel::default()),
        });
    if form & 8 > 0 {
        properties = properties.set_writer_version(WriterVersion::PARQUET_2_0);
    }
    if form & 16 > 0 {
        properties = properties
            .set_column_encoding("load".into(), Encoding::BYTE_STREAM_SPLIT)
            .set_column_encoding("name".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED);
    }
    let mut out = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut out, rows.schema(), Some(properties.build())).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Outcome, outcome};

    /// More than the seeds: `TRACELAKE_FORGED=100000 cargo test -p tracelake-testkit --release forged` prints how many
    /// files of each outcome there were.
    #[test]
    fn forged_files_are_refused_or_read_as_by_another_reader() {
        let asked = std::env::var("TRACELAKE_FORGED").ok();
        let asked: Option<u64> = asked.and_then(|count| count.parse().ok());
        let mut fates = BTreeMap::new();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..asked.unwrap_or(300) {
            let mut input = Vec::new();
            for _ in 0..3 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                input.extend_from_slice(&state.to_be_bytes()[..4]);
            }
            // One or two changes.
            input.truncate(if state >> 63 == 0 { 5 } else { 9 });
            *fates.entry(outcome(&input)).or_insert(0_u64) += 1;
        }
        for (outcome, files) in fates.iter().filter(|_| asked.is_some()) {
            let words = match outcome {
                Outcome::Damaged => "refused as damaged, exit 5",
                Outcome::Misfit => "refused as of other columns or types, exit 4",
                Outcome::Rejected => {
                    "read as by another reader, with bad rows that are named, exit 3"
                }
                Outcome::Converted => "read as by another reader",
            };
            println!("{files:>6}  {words}");
        }
        assert!(fates.contains_key(&Outcome::Damaged));
        assert!(fates.contains_key(&Outcome::Converted));
    }
}
