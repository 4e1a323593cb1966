//! The encoders against the plain twin and the Parquet crate's own writer and reader: the same values,
//! NULLs, rejects and statistics; and every limit.

#![cfg(test)]

mod figures;
mod leaves;
mod limits;
mod plain;

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cmp::make_comparator;
use arrow_schema::SortOptions;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_core::options::Codec;
use tracelake_core::settings::ROW_GROUP_ROWS;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Kind, Sentinel, Table};
use tracelake_testkit::every_kind;

use crate::batch::{BATCH_ROWS, BatchBuilder};
use crate::output::{
    BlockBuilder, OutputFile, OutputSettings, ROW_GROUP_BYTES, RowOrder, RowSource,
};
use crate::parquet_file::ParquetFile;
use crate::reject::Reject;
use crate::rows::RowGroupBuilder;
use crate::split::Records;
use crate::thrift::{DEEPEST, Thrift};

fn column(name: &str, kind: Kind, mandatory: bool) -> Column {
    every_kind::column(name, kind, mandatory, [])
}

/// A table with each physical kind, mandatory and optional, and a column that the file lacks.
static TABLE: LazyLock<Arc<Table>> = LazyLock::new(|| {
    let columns = [
        Column {
            unit: Some("microseconds".to_owned()),
            sentinels: [Sentinel {
                value: i64::MAX,
                name: "AFTER".to_owned(),
                also: Some("18446744073709551615".to_owned()),
                doc: String::new(),
            }]
            .into(),
            ..column("time", Kind::Integer, true)
        },
        column("id", Kind::Integer, false),
        column("code", Kind::Code, false),
        column("measure", Kind::Float, false),
        column("flag", Kind::Boolean, false),
        column("text", Kind::Text, false),
        column("lacking", Kind::Text, false),
    ];
    Arc::new(Table {
        fields: vec![0, 1, 2, 3, 4, 5],
        time: Some(0),
        ..Table::plain("made_up", columns)
    })
});

const TIME: usize = 0;
const ID: usize = 1;
const CODE: usize = 2;
const MEASURE: usize = 3;
const FLAG: usize = 4;
const TEXT: usize = 5;
const LACKING: usize = 6;

/// The output of the encoders, or of their twin, for some chunks of text.
struct Made {
    batch: RecordBatch,
    rejects: Vec<Reject>,
    sentinels_mapped: u64,
}

/// Splits a chunk and passes it on with its records.
fn split(chunk: &str) -> Records {
    let mut records = Records::default();
    records.split(chunk.as_bytes(), TABLE.fields.len(), LineEnding::Lf);
    records
}

/// Converts chunks by the encoders; `begins_row_group` says of each chunk whether a row group begins there
/// even if the one before isn't full. Returns the metadata of the file as well.
fn encode(
    chunks: &[String],
    codec: Codec,
    begins_row_group: impl Fn(usize) -> bool,
) -> (Made, Arc<ParquetMetaData>) {
    let schema = arrow_schema(&TABLE);
    let order = FieldOrder::built_in(&TABLE, "");
    let mut file = ParquetFile::create(
        Vec::new(),
        &TABLE,
        OutputSettings::DEFAULT,
        RowOrder::Published,
    )
    .unwrap();
    let mut rows = RowGroupBuilder::new(
        RowSource::of(&order),
        file.schema(),
        codec,
        (ROW_GROUP_ROWS, ROW_GROUP_BYTES),
    );
    let mut rejects = Vec::new();
    let mut write = |rows: &mut RowGroupBuilder| {
        if let Some(group) = rows.finish().unwrap() {
            file.write(group).unwrap();
        }
    };
    for (number, chunk) in chunks.iter().enumerate() {
        let records = split(chunk);
        if rows.is_full(records.len()) || begins_row_group(number) {
            write(&mut rows);
        }
        rejects.extend(
            rows.push_fields(&order, chunk.as_bytes(), &records)
                .unwrap(),
        );
    }
    write(&mut rows);
    let file = Bytes::from(file.finish().unwrap());
    assert!(!has_old_bounds(&file));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let made = Made {
        batch: concat_batches(&schema, &batches).unwrap(),
        rejects,
        sentinels_mapped: rows.others().sentinels,
    };
    (made, metadata(file))
}

/// Whether the statistics of a column chunk have the deprecated fields `min` and `max`.
fn has_old_bounds(file: &[u8]) -> bool {
    let (before, length) = file[..file.len() - 4].split_last_chunk().unwrap();
    let start = before.len() - u32::from_le_bytes(*length) as usize;
    let mut found = false;
    let read = Thrift(&before[start..]).each_struct(&[4, 1, 3, 12], &mut |statistics| {
        statistics.each_field(|reader, id, kind| {
            found |= id < 3;
            reader.skip(kind, DEEPEST)
        })
    });
    read.unwrap();
    found
}

fn metadata(file: Bytes) -> Arc<ParquetMetaData> {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    Arc::new(reader.parse_and_finish(&file).unwrap())
}

/// Converts chunks by the plain twin.
fn twin(chunks: &[String]) -> Made {
    let schema = arrow_schema(&TABLE);
    let order = FieldOrder::built_in(&TABLE, "");
    let mut batches = BatchBuilder::new(&TABLE, BATCH_ROWS);
    let (mut rejects, mut made) = (Vec::new(), Vec::new());
    for chunk in chunks {
        rejects.extend(
            batches
                .push_fields(&order, chunk.as_bytes(), &split(chunk))
                .unwrap(),
        );
        while batches.is_full(0) {
            made.extend(batches.finish().unwrap());
        }
    }
    while let Some(batch) = batches.finish().unwrap() {
        made.push(batch);
    }
    Made {
        batch: concat_batches(&schema, &made).unwrap(),
        rejects,
        sentinels_mapped: batches.others().sentinels,
    }
}

/// Asserts that the encoders agree with the twin, and their statistics with those of the crate's own
/// writer; returns the metadata of their file.
fn check(chunks: &[String], codec: Codec) -> Arc<ParquetMetaData> {
    check_row_groups(chunks, codec, |_| false)
}

/// Like [`check`], with row groups that begin where [`encode`] is told to.
fn check_row_groups(
    chunks: &[String],
    codec: Codec,
    begins_row_group: impl Fn(usize) -> bool,
) -> Arc<ParquetMetaData> {
    let (made, footer) = encode(chunks, codec, begins_row_group);
    let twin = twin(chunks);
    assert_eq!(made.batch, twin.batch);
    assert_eq!(made.rejects, twin.rejects);
    assert_eq!(made.sentinels_mapped, twin.sentinels_mapped);
    let mut row = 0;
    for row_group in footer.row_groups() {
        let rows = usize::try_from(row_group.num_rows()).unwrap();
        let own = twin.batch.slice(row, rows);
        let times = own.column(TIME).as_primitive::<Int64Type>();
        let is_sorted = times.null_count() == 0 && times.values().is_sorted();
        assert_eq!(row_group.sorting_columns().is_some(), is_sorted);
        let own = written_by_the_crate(&own);
        for (ours, own) in row_group.columns().iter().zip(own.row_group(0).columns()) {
            let name = ours.column_path().string();
            let (ours, own) = (ours.statistics().unwrap(), own.statistics().unwrap());
            assert_eq!(ours.null_count_opt(), own.null_count_opt(), "{name}");
            let is_short = |bound: Option<&[u8]>| bound.is_none_or(|bound| bound.len() <= 64);
            // Of the two zeros either may be a bound.
            let bound = |bytes: Option<&[u8]>| match bytes {
                Some(bytes) if name == "measure" && bytes == (-0.0_f64).to_le_bytes() => {
                    Some(0.0_f64.to_le_bytes().to_vec())
                }
                bytes => bytes.map(<[u8]>::to_vec),
            };
            if is_short(own.min_bytes_opt()) {
                assert_eq!(
                    bound(ours.min_bytes_opt()),
                    bound(own.min_bytes_opt()),
                    "{name}"
                );
            } else {
                assert!(ours.min_bytes_opt() < own.min_bytes_opt() && !ours.min_is_exact());
            }
            if is_short(own.max_bytes_opt()) {
                assert_eq!(
                    bound(ours.max_bytes_opt()),
                    bound(own.max_bytes_opt()),
                    "{name}"
                );
            } else {
                assert!(ours.max_bytes_opt() > own.max_bytes_opt() && !ours.max_is_exact());
            }
        }
        row += rows;
    }
    assert_eq!(row, twin.batch.num_rows());
    pages_hold(&footer, &twin.batch);
    footer
}

fn written_by_the_crate(batch: &RecordBatch) -> ParquetMetaData {
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(None)
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap()
}

/// Asserts that the page index has the NULLs of each page, and bounds around its values.
fn pages_hold(footer: &ParquetMetaData, batch: &RecordBatch) {
    let Some(index) = footer.page_index() else {
        assert_eq!(batch.num_rows(), 0);
        return;
    };
    let schema = batch.schema();
    let parquet_schema = footer.file_metadata().schema_descr();
    let mut start = 0;
    for (group, row_group) in footer.row_groups().iter().enumerate() {
        let end = start + usize::try_from(row_group.num_rows()).unwrap();
        for (number, field) in schema.fields().iter().enumerate() {
            let offsets = index.offset_index(group, number).unwrap();
            let pages = offsets.page_locations();
            let first =
                |page: &PageLocation| start + usize::try_from(page.first_row_index).unwrap();
            let ends = pages.iter().skip(1).map(first).chain([end]);
            let converter =
                StatisticsConverter::try_new(field.name(), &schema, parquet_schema).unwrap();
            let mins = converter.data_page_mins(&**index, [&group]).unwrap();
            let maxes = converter.data_page_maxes(&**index, [&group]).unwrap();
            let nulls = converter.data_page_null_counts(&**index, [&group]).unwrap();
            let column = batch.column(number);
            let order = SortOptions::default();
            let below = make_comparator(&mins, column, order).unwrap();
            let above = make_comparator(&maxes, column, order).unwrap();
            assert_eq!(first(&pages[0]), start);
            for (page, (first, end)) in pages.iter().map(first).zip(ends).enumerate() {
                let values = column.slice(first, end - first);
                if nulls.is_valid(page) {
                    assert_eq!(nulls.value(page), values.null_count() as u64);
                }
                let is_bounded = mins.is_valid(page) && maxes.is_valid(page);
                let has_values = values.null_count() < values.len();
                assert!(is_bounded || !has_values);
                if is_bounded {
                    let rows = || (first..end).filter(|&row| column.is_valid(row));
                    assert!(rows().all(|row| below(page, row).is_le() && above(page, row).is_ge()));
                    // Those of long texts are shortened, and of the two zeros either may be a bound.
                    let is_wide = |bounds: &ArrayRef| {
                        let texts = bounds.as_string_opt::<i32>();
                        let floats = bounds.as_primitive_opt::<Float64Type>();
                        texts.is_some_and(|texts| texts.value(page).len() > 60)
                            || floats.is_some_and(|floats| floats.value(page) == 0.0)
                    };
                    assert!(is_wide(&mins) || rows().any(|row| below(page, row).is_eq()));
                    assert!(is_wide(&maxes) || rows().any(|row| above(page, row).is_eq()));
                }
            }
        }
        start = end;
    }
}

/// A field of a kind; small domains, so that values repeat, and faulty ones now and then.
fn field(column: usize) -> BoxedStrategy<String> {
    let empty = Just(String::new());
    match column {
        TIME => prop_oneof![
            8 => (0..50_i64).prop_map(|value| value.to_string()),
            4 => any::<i64>().prop_map(|value| value.to_string()),
            1 => Just("18446744073709551615".to_owned()),
            1 => prop_oneof![empty, Just("+1".to_owned())],
        ]
        .boxed(),
        ID => prop_oneof![
            6 => (0..9_i64).prop_map(|value| value.to_string()),
            6 => any::<i64>().prop_map(|value| value.to_string()),
            3 => empty,
            1 => Just("0x1".to_owned()),
        ]
        .boxed(),
        CODE => prop_oneof![
            6 => (-2..9_i32).prop_map(|value| value.to_string()),
            1 => any::<i32>().prop_map(|value| value.to_string()),
            3 => empty,
            1 => any::<u32>().prop_map(|value| value.to_string()),
        ]
        .boxed(),
        MEASURE => prop_oneof![
            6 => "0\\.[0-9]{1,4}|-?0|-0\\.0",
            3 => "[0-9]{1,3}\\.[0-9]{5,7}",
            3 => any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(|value| format!("{value:e}")),
            3 => empty,
            1 => Just("nan".to_owned()),
        ]
        .boxed(),
        FLAG => prop_oneof![6 => "[01]", 3 => empty, 1 => Just("true".to_owned())].boxed(),
        _ => prop_oneof![
            4 => "[ab]{1,2}",
            4 => "[a-c]{12,15}",
            4 => "[ab]{40}",
            1 => "[a-z]{60,70}",
            1 => "[ü-ÿ]{1,20}",
            3 => empty,
            1 => Just("\"".to_owned()),
        ]
        .boxed(),
    }
}

/// Some rows, of which each may come several times in a row.
fn chunk_text() -> impl Strategy<Value = String> {
    let row = [TIME, ID, CODE, MEASURE, FLAG, TEXT].map(field);
    let row =
        prop_oneof![20 => row.prop_map(|fields| fields.join(",")), 1 => Just("1,2".to_owned())];
    let rows = prop::collection::vec((row, 1..4_usize), 0..60);
    rows.prop_map(|rows| {
        rows.iter()
            .map(|(row, times)| format!("{row}\n").repeat(*times))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn encoders_equal_the_plain_twin(
        chunks in prop::collection::vec((chunk_text(), any::<bool>()), 1..5),
        codec in prop_oneof![Just(Codec::DEFAULT), Just(Codec::Snappy), Just(Codec::None)],
    ) {
        let (chunks, begins): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
        check_row_groups(&chunks, codec, |number| begins[number]);
    }
}
