use std::fs;
use std::path::PathBuf;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use tempfile::TempDir;
use tracelake_encode::batch::BatchBuilder;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Kind, TRACES, Table};

use super::*;
use crate::reader::{ReadOptions, read_part};

/// The table with lists that is published as Parquet.
fn table() -> &'static Arc<Table> {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let has_numbers = |table: &Table| {
        let mut columns = table.columns.iter();
        let is_list = |kind, of| kind == Kind::List && of == Kind::Float;
        columns.any(|column| {
            column
                .fields
                .first()
                .is_some_and(|of| is_list(column.kind, of.kind))
        })
    };
    tables
        .find(|table| table.parquet && has_numbers(table))
        .unwrap()
}

/// Rows of it.
fn rows(directory: &TempDir, count: usize) -> RecordBatch {
    let lines = (0..count).map(|row| {
        let list = (0..row % 4).map(|item| format!("0.{item}{}", row % 7));
        format!(
            "{{\"start_time\":\"{row}\",\"end_time\":\"{}\",\"collection_id\":\"{}\",\"average_usage\":{{\"cpus\":0.{}}},\
             \"collection_type\":\"{}\",\"cpu_usage_distribution\":[{}]}}\n",
            row + 300,
            row % 5,
            row % 11,
            row % 2,
            list.collect::<Vec<_>>().join(",")
        )
    });
    let path = directory
        .path()
        .join(format!("{}-000000000000.json", table().name));
    fs::write(&path, lines.collect::<String>()).unwrap();
    let reader = read_part(&Context::new(), path.as_path(), ReadOptions::default()).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn written(rows: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let mut out = Vec::new();
    let properties = properties
        .set_data_page_row_count_limit(50)
        .set_write_batch_size(10);
    let properties = properties.set_max_row_group_row_count(Some(200)).build();
    let mut writer = ArrowWriter::try_new(&mut out, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    out
}

/// Reads a file of these bytes.
fn read(path: &PathBuf, bytes: &[u8]) -> Result<(RecordBatch, Converted)> {
    fs::write(path, bytes).unwrap();
    let (context, location) = (Context::new(), Location::from(path.as_path()));
    let order = FieldOrder::built_in(table(), "here");
    let mut part = ParquetPart::open(&context, &location, &order, &std::env::temp_dir())?;
    let mut on_bad_row = |row: &BadRow<'_>| -> Result<()> { row.to_json().map(drop) };
    let mut progress = ReadProgress::new(&context);
    let builder = BatchBuilder::new(table(), 1 << 16);
    let mut blocks = part.blocks(&order, builder, &mut on_bad_row, &mut progress);
    let mut batches = Vec::new();
    while let Some(batch) = blocks.fill()? {
        batches.push(batch);
    }
    let counts = blocks.converted();
    Ok((
        concat_batches(&arrow_schema(table()), &batches).unwrap(),
        counts,
    ))
}

#[test]
fn a_file_that_is_cut_or_changed_is_refused_or_read() {
    let directory = tempfile::tempdir().unwrap();
    let rows = rows(&directory, 500);
    let path = directory.path().join("forged.parquet");
    let (mut refused, mut read_well) = (0, 0);
    for (number, properties) in [
        WriterProperties::builder(),
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())),
        WriterProperties::builder().set_compression(Compression::GZIP(Default::default())),
        WriterProperties::builder().set_dictionary_enabled(false),
        WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false),
        WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::SNAPPY),
    ]
    .into_iter()
    .enumerate()
    {
        let whole = written(&rows, properties);
        let (found, counts) = read(&path, &whole).unwrap();
        assert_eq!((&found, counts.rows_in), (&rows, 500));
        // A multiplier that is odd reaches every byte in time; the end, where the footer is, more often.
        let mut state = 0x9e37_79b9_u64 + number as u64;
        for step in 0..400 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let [.., change, a, b, c] = state.to_be_bytes();
            let at = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            let mut forged = whole.clone();
            let at = match step % 4 {
                0 => forged.len() - 1 - at % forged.len().min(4_000),
                _ => at % forged.len(),
            };
            match step % 5 {
                0 => forged.truncate(at),
                1 => forged[at] ^= 1 << (change % 8),
                2 => forged[at] = 0xff,
                3 => drop(forged.drain(at..(at + 9).min(whole.len()))),
                _ => forged[at] = change,
            }
            match read(&path, &forged) {
                Ok((found, counts)) => {
                    let good = found.num_rows() as u64 + counts.rows_rejected;
                    assert_eq!(good, counts.rows_in);
                    read_well += 1;
                }
                Err(error) => {
                    let kind = error.kind();
                    let is_of_file = matches!(kind, ErrorKind::Corrupt | ErrorKind::Misfit);
                    assert!(is_of_file, "{step}: {error:?}");
                    assert!(error.to_string().contains("forged.parquet"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(
        refused > 800 && read_well > 100,
        "{refused} refused, {read_well} read"
    );
}
