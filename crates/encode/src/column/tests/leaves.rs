//! The leaves of structs and lists: the Parquet crate reads back the values that went in, and its writer makes the same
//! statistics of them.

#![cfg(test)]

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Codec;
use tracelake_schema::arrow::arrow_schema;
use tracelake_testkit::every_kind::TABLE as ROWS;

use super::metadata;
use crate::column_values::{self, ReadRows};
use crate::json::JsonRecords;
use crate::nodes::{MaxLevels, Node, leaves};
use crate::output::{
    BlockBuilder, OutputFile, OutputSettings, ROW_GROUP_BYTES, RowOrder, RowSource,
};
use crate::parquet_file::ParquetFile;
use crate::row_fields::RowTexts;
use crate::rows::RowGroupBuilder;
use crate::samples::{WHOLE, object};

/// The rows of some chunks, by the encoders and read without them.
struct Encoded {
    found: RecordBatch,
    expected: RecordBatch,
    metadata: Arc<ParquetMetaData>,
    rows: RowGroupBuilder,
}

fn create() -> ParquetFile<Vec<u8>> {
    ParquetFile::create(
        Vec::new(),
        &ROWS,
        OutputSettings::DEFAULT,
        RowOrder::Published,
    )
    .unwrap()
}

fn builder(file: &ParquetFile<Vec<u8>>, most_rows: usize) -> RowGroupBuilder {
    RowGroupBuilder::new(
        RowSource::Rows(&ROWS),
        file.schema(),
        Codec::DEFAULT,
        (most_rows, ROW_GROUP_BYTES),
    )
}

/// Encodes chunks of lines; each that is a multiple of `per_row_group` ends a row group.
fn encode(chunks: &[String], per_row_group: usize, most_rows: usize) -> Encoded {
    let schema = arrow_schema(&ROWS);
    let order = FieldOrder::built_in(&ROWS, "");
    let mut file = create();
    let mut rows = builder(&file, most_rows);
    let mut expected = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        let mut records = JsonRecords::new(&order);
        records.split(chunk.as_bytes(), &order, false, WHOLE);
        let (direct, _) = records.direct().unwrap();
        let nodes = Node::of(&ROWS.columns);
        match column_values::read(&nodes, &schema, chunk.as_bytes(), direct).unwrap() {
            ReadRows::Batch(batch, _) => expected.push(batch),
            ReadRows::Faulty(_) => panic!("no value has a fault"),
        }
        assert!(rows.push_rows(chunk.as_bytes(), direct).unwrap().is_empty());
        let is_last = (number + 1).is_multiple_of(per_row_group) || number + 1 == chunks.len();
        if is_last && let Some(group) = rows.finish().unwrap() {
            file.write(group).unwrap();
        }
    }
    let file = Bytes::from(file.finish().unwrap());
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let found: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    Encoded {
        found: concat_batches(&schema, &found).unwrap(),
        expected: concat_batches(&schema, &expected).unwrap(),
        metadata: metadata(file),
        rows,
    }
}

/// The statistics that the crate's own writer has.
fn by_the_crate(batch: &RecordBatch) -> ParquetMetaData {
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap()
}

#[test]
fn levels_are_those_of_the_file() {
    let file = create();
    let columns = file.schema().columns().iter();
    let of_file: Vec<MaxLevels> = columns.map(|column| MaxLevels::of(column)).collect();
    let leaves = leaves(&Node::of(&ROWS.columns)).into_iter();
    assert_eq!(leaves.map(|leaf| leaf.most).collect::<Vec<_>>(), of_file);
}

#[test]
fn a_row_group_starts_over_and_knows_its_times() {
    let lines = [
        "{\"time\":4}\n",
        "{\"time\":\"2\",\"usage\":{\"cpus\":0.5}}\n",
    ]
    .concat();
    let encoded = encode(
        &[
            lines,
            "{\"time\":5}\n{\"time\":18446744073709551615}\n".into(),
        ],
        1,
        3,
    );
    assert_eq!(encoded.found, encoded.expected);
    let sorted = encoded.metadata.row_groups().iter();
    let sorted: Vec<bool> = sorted
        .map(|group| group.sorting_columns().is_some())
        .collect();
    assert_eq!(sorted, [false, true], "4 is before 2");
    assert_eq!(encoded.rows.pushed(), 4);
    assert_eq!(encoded.rows.time(), Some((2, i64::MAX)));
    assert_eq!(encoded.rows.others().sentinels, 1);
}

#[test]
fn faulty_values_leave_nothing() {
    let order = FieldOrder::built_in(&ROWS, "");
    let file = create();
    let mut rows = builder(&file, 100);
    let text = concat!(
        "{\"time\":1,\"after\":[1,2,3]}\n",
        "{\"time\":2,\"after\":[4,\"x\"],\"share\":\"y\"}\n",
        "{\"time\":3}\n",
        "{\"time\":4,\"after\":[],\"rules\":[{\"name\":\"a\"},{\"name\":\"b\",\"relation\":1e1}]}\n",
    );
    let mut records = JsonRecords::new(&order);
    records.split(text.as_bytes(), &order, false, WHOLE);
    let (direct, _) = records.direct().unwrap();
    assert_eq!(rows.push_rows(text.as_bytes(), direct).unwrap(), [1, 3]);
    assert!(rows.finish().unwrap().is_none());
}

#[test]
fn texts_of_cells_are_rows_too() {
    let mut file = create();
    let mut rows = builder(&file, 100);
    let line = br#"{"time":1,"share":1e-300,"done":false,"user":"\n","rules":[{"name":"\""},{"name":""}]}"#;
    let mut texts = RowTexts::new(&ROWS.columns);
    texts.push(&crate::json::row(line, &(&ROWS.columns).into()).unwrap());
    assert!(rows.push_rows(&texts.text, &texts.rows).unwrap().is_empty());
    file.write(rows.finish().unwrap().unwrap()).unwrap();
    let file = Bytes::from(file.finish().unwrap());
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let found = format!("{:?}", reader.next().unwrap().unwrap());
    for part in ["1e-300", "false", "\"\\n\"", "\"\\\"\""] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn leaves_are_read_back(
        rows in prop::collection::vec(object(&ROWS.columns, None), 1..40),
        repeat in 1..40_usize,
        per_chunk in 1..50_usize,
        per_row_group in 1..4_usize,
    ) {
        let lines: Vec<String> = rows.iter().map(|(_, json)| json.to_string() + "\n").collect();
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.contains('\\')).collect();
        prop_assume!(!lines.is_empty());
        let lines: Vec<&str> = (0..repeat).flat_map(|_| lines.iter().map(String::as_str)).collect();
        let chunks: Vec<String> = lines.chunks(per_chunk).map(|lines| lines.concat()).collect();
        let encoded = encode(&chunks, per_row_group, usize::MAX);
        prop_assert_eq!(&encoded.found, &encoded.expected);
        if encoded.metadata.num_row_groups() == 1 {
            let crates = by_the_crate(&encoded.expected);
            let pairs = encoded.metadata.row_group(0).columns().iter().zip(crates.row_group(0).columns());
            for (ours, of_crate) in pairs {
                prop_assert_eq!(ours.num_values(), of_crate.num_values());
                let (ours, of_crate) = (ours.statistics().unwrap(), of_crate.statistics().unwrap());
                prop_assert_eq!(ours.null_count_opt(), of_crate.null_count_opt());
                let is_exact = ours.max_is_exact() && ours.min_is_exact();
                if is_exact && of_crate.max_is_exact() && !matches!(ours, parquet::file::statistics::Statistics::Double(_)) {
                    prop_assert_eq!(ours.min_bytes_opt(), of_crate.min_bytes_opt());
                    prop_assert_eq!(ours.max_bytes_opt(), of_crate.max_bytes_opt());
                }
            }
        }
    }
}
