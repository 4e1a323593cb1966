//! Each kind of check fails on a file that is wrong in one thing.

use super::edit::{
    CPUS, Edit, MACHINE, PLATFORM, TIME, add, change_bytes, fields, file, findings, finds, flip,
    less, more, pop, with_chunks, with_footer, with_struct,
};
use super::footer;
use super::format::{COLUMN_INDEX, OFFSET_INDEX, PAGE_HEADER, SORTING_COLUMN};
use super::page::check_checksum;
use super::thrift::{Struct, Value};
use crate::nested::made_up::{JSON, convert_text, row};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tracelake_testkit::Score;

#[test]
fn a_footer_that_is_wrong_is_refused() {
    let file = file();
    assert_eq!(findings(&file), Vec::<String>::new());
    let mut score = Score::new("wrong footers");
    let of_footer: [(&str, &str, Edit); 15] = [
        ("version is", "version", more),
        ("num_rows is", "num_rows", more),
        ("created_by is empty", "created_by", |value| {
            *value = Value::Bytes(Vec::new())
        }),
        ("column_orders is", "column_orders", pop),
        ("IEEE_754_TOTAL_ORDER", "column_orders.0", |value| {
            let fields = &mut fields(value).fields;
            let order = fields.remove(&1).unwrap();
            fields.insert(2, order);
        }),
        ("a second key", "key_value_metadata", |value| match value {
            Value::List(pairs) => pairs.push(pairs[0].clone()),
            other => panic!("{other:?}"),
        }),
        ("path_in_schema", "schema.1.name", change_bytes),
        ("without a parent", "schema.0.num_children", less),
        ("a child is missing", "schema.0.num_children", more),
        ("has the repetition", "schema.1.repetition_type", |value| {
            add(value, 5)
        }),
        ("ordinal is", "row_groups.0.ordinal", more),
        ("num_rows is", "row_groups.0.num_rows", more),
        ("total_byte_size is", "row_groups.0.total_byte_size", more),
        (
            "total_compressed_size is",
            "row_groups.0.total_compressed_size",
            more,
        ),
        ("file_offset is", "row_groups.0.file_offset", more),
    ];
    for (expected, path, edit) in of_footer {
        score.count(path, finds(&with_footer(&file, path, edit), expected));
    }
    let of_chunk: [(usize, &str, &str, Edit); 24] = [
        (TIME, "file_offset is", "file_offset", more),
        (TIME, "OffsetIndex", "offset_index_offset", more),
        (TIME, "OffsetIndex", "offset_index_length", less),
        (TIME, "ColumnIndex", "column_index_offset", more),
        (TIME, "a missing column index", "", |value| {
            // Offset and length.
            fields(value).fields.retain(|id, _| ![6, 7].contains(id));
        }),
        (TIME, "type is", "meta_data.type", more),
        (TIME, "codec 7", "meta_data.codec", more),
        (TIME, "num_values is", "meta_data.num_values", more),
        (
            TIME,
            "total_uncompressed_size is",
            "meta_data.total_uncompressed_size",
            more,
        ),
        (
            TIME,
            "longer than its column chunk",
            "meta_data.total_compressed_size",
            less,
        ),
        (
            TIME,
            "not in the file",
            "meta_data.total_compressed_size",
            |value| add(value, 1 << 40),
        ),
        (
            MACHINE,
            "data_page_offset is",
            "meta_data.data_page_offset",
            more,
        ),
        (
            TIME,
            "dictionary_page_offset is",
            "meta_data.dictionary_page_offset",
            |value| add(value, 4),
        ),
        (TIME, "encodings is", "meta_data.encodings", pop),
        (
            TIME,
            "encoding_stats is",
            "meta_data.encoding_stats.0.count",
            more,
        ),
        (
            PLATFORM,
            "null_count is",
            "meta_data.statistics.null_count",
            more,
        ),
        (
            TIME,
            "is no lower bound",
            "meta_data.statistics.min_value",
            change_bytes,
        ),
        (
            PLATFORM,
            "is no upper bound",
            "meta_data.statistics.max_value",
            change_bytes,
        ),
        (
            TIME,
            "min_value is Exact",
            "meta_data.statistics.is_min_value_exact",
            flip,
        ),
        (
            TIME,
            "min, which is deprecated",
            "meta_data.statistics.min",
            |value| *value = Value::Bytes(vec![0; 8]),
        ),
        (
            TIME,
            "distinct_count is",
            "meta_data.statistics.distinct_count",
            more,
        ),
        (CPUS, "nan_count is", "meta_data.statistics.nan_count", more),
        (
            TIME,
            "values that are no floats",
            "meta_data.statistics.nan_count",
            more,
        ),
        (
            MACHINE,
            "bloom filter",
            "meta_data.bloom_filter_length",
            less,
        ),
    ];
    for (column, expected, path, edit) in of_chunk {
        let path = format!("row_groups.0.columns.{column}.{path}");
        let path = path.trim_end_matches('.');
        score.count(path, finds(&with_footer(&file, path, edit), expected));
    }
    score.close();
}

#[test]
fn an_order_that_the_rows_do_not_have_is_refused() {
    fn sorted_by(value: &mut Value, column: usize) {
        let mut sorting = Struct::new(&SORTING_COLUMN);
        let column = Value::Integer(i64::try_from(column).unwrap());
        sorting.entry("column_idx").insert_entry(column);
        sorting.entry("descending").insert_entry(Value::Bool(false));
        sorting.entry("nulls_first").insert_entry(Value::Bool(true));
        *value = Value::List(vec![Value::Struct(sorting)]);
    }
    let file = file();
    let path = "row_groups.0.sorting_columns";
    let by_time = with_footer(&file, path, |value| sorted_by(value, TIME));
    assert_eq!(findings(&by_time), Vec::<String>::new());
    for edit in [
        |value: &mut Value| sorted_by(value, MACHINE),
        |value: &mut Value| sorted_by(value, PLATFORM),
    ] {
        finds(&with_footer(&file, path, edit), "is not sorted").unwrap();
    }
    let by_nothing = with_footer(&file, path, |value| sorted_by(value, 6));
    finds(&by_nothing, "a column that doesn't exist").unwrap();
}

#[test]
fn pages_and_indexes_that_are_wrong_are_refused() {
    let file = file();
    let mut score = Score::new("wrong pages and indexes");
    let page = |column: usize, page: usize| {
        with_chunks(&file, |chunks| {
            chunks[column].stored().unwrap()[page].range.start
        })
    };
    let data = "data_page_header";
    let of_page: [(usize, &str, &str, Edit); 6] = [
        (
            page(MACHINE, 1),
            "encodings is",
            &format!("{data}.encoding"),
            |value| add(value, -6),
        ),
        (
            page(MACHINE, 1),
            "data page 0:",
            &format!("{data}.num_values"),
            less,
        ),
        (
            page(MACHINE, 1),
            "definition_level_encoding is",
            &format!("{data}.definition_level_encoding"),
            more,
        ),
        (page(MACHINE, 1), "page 1:", "uncompressed_page_size", less),
        (page(MACHINE, 1), "another's header", "type", |value| {
            add(value, 2)
        }),
        (
            page(MACHINE, 0),
            "bytes after the last value",
            "dictionary_page_header.num_values",
            less,
        ),
    ];
    for (start, expected, path, edit) in of_page {
        let wrong = with_struct(&file, start, &PAGE_HEADER, path, edit);
        score.count(path, finds(&wrong, expected));
    }
    let of_bounds: [(usize, &str, &str, Edit); 5] = [
        (TIME, "null_pages is", "null_pages.0", flip),
        (TIME, "is no lower bound", "min_values.1", change_bytes),
        (TIME, "is no upper bound", "max_values.0", change_bytes),
        (TIME, "boundary_order is", "boundary_order", more),
        (PLATFORM, "null_counts is", "null_counts.0", more),
    ];
    for (column, expected, path, edit) in of_bounds {
        let index = with_chunks(&file, |chunks| chunks[column].ranges.column_index.clone());
        let wrong = with_struct(&file, index.unwrap().start, &COLUMN_INDEX, path, edit);
        score.count(path, finds(&wrong, expected));
    }
    for field in ["offset", "compressed_page_size", "first_row_index"] {
        let index = with_chunks(&file, |chunks| chunks[TIME].ranges.offset_index.start);
        let path = format!("page_locations.1.{field}");
        let wrong = with_struct(&file, index, &OFFSET_INDEX, &path, more);
        score.count(&path, finds(&wrong, "location of page 1 is"));
    }
    let filter = with_chunks(&file, |chunks| chunks[MACHINE].ranges.bloom_filter.clone());
    // The last block, behind the header.
    let block = filter.clone().unwrap().end - 32..filter.unwrap().end;
    for (what, is_set, expected) in [
        ("a bit too many", 0, "a bit of no value"),
        ("a bit too few", 1, "a value is not in the filter"),
    ] {
        let is_wanted = |bit: &usize| file[block.start + bit / 8] >> (bit % 8) & 1 == is_set;
        let bit = (0..256).find(is_wanted).unwrap();
        let mut wrong = file.clone();
        wrong[block.start + bit / 8] ^= 1 << (bit % 8);
        score.count(what, finds(&wrong, expected));
    }
    score.close();
}

/// The rows of a file as the Parquet crate writes them.
fn by_the_crate(file: Vec<u8>) -> Vec<u8> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
    let schema = reader.schema().clone();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    for batch in reader.build().unwrap() {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn sizes_and_levels_that_are_wrong_are_refused() {
    const TEXT: usize = 3;
    const LIST: usize = 4;
    let rows: String = (0..100).map(|at| row(&JSON, at)).collect();
    let ours = convert_text(rows.as_bytes(), &JSON).unwrap().parquet;
    assert_eq!(findings(&ours), Vec::<String>::new());
    // Our files don't have them.
    let file = by_the_crate(ours);
    let are_named =
        |finding: &String| finding.contains("unencoded") || finding.contains("histogram");
    assert!(!findings(&file).iter().any(are_named));
    let mut score = Score::new("wrong sizes and levels");
    for (column, expected, field) in [
        (
            TEXT,
            "unencoded bytes is",
            "unencoded_byte_array_data_bytes",
        ),
        (
            LIST,
            "repetition_level_histogram is",
            "repetition_level_histogram.0",
        ),
        (
            LIST,
            "definition_level_histogram is",
            "definition_level_histogram.1",
        ),
    ] {
        let path = format!("row_groups.0.columns.{column}.meta_data.size_statistics.{field}");
        score.count(&path, finds(&with_footer(&file, &path, more), expected));
    }
    let text = with_chunks(&file, |chunks| chunks[TEXT].ranges.offset_index.start);
    let bounds = with_chunks(&file, |chunks| chunks[TEXT].ranges.column_index.clone());
    let bounds = bounds.unwrap().start;
    for (start, layout, expected, path) in [
        (
            text,
            &OFFSET_INDEX,
            "unencoded bytes of pages is",
            "unencoded_byte_array_data_bytes.0",
        ),
        (
            bounds,
            &COLUMN_INDEX,
            "definition_level_histograms is",
            "definition_level_histograms.1",
        ),
    ] {
        let wrong = with_struct(&file, start, layout, path, more);
        score.count(path, finds(&wrong, expected));
    }
    score.close();
}

#[test]
fn bytes_without_a_purpose_are_refused() {
    let file = file();
    let (_, start) = footer(&file).unwrap();
    let gap = [&file[..start], &[0], &file[start..]].concat();
    finds(&gap, "comes before").unwrap();
    finds(&[&file[..], b"1"].concat(), "no magic at the end").unwrap();
    finds(&[&b"1"[..], &file].concat(), "no magic at the start").unwrap();
    for length in [0, 4, 8, 11, start, file.len() - 1] {
        assert!(!findings(&file[..length]).is_empty(), "{length} bytes");
    }
}

#[test]
fn a_wrong_checksum_is_refused() {
    let bytes = b"123456789";
    // The check value that catalogues of CRCs give for CRC-32.
    let right = i64::from(0xcbf4_3926_u32.cast_signed());
    let file = file();
    let mut header = with_chunks(&file, |chunks| {
        chunks[TIME].stored().unwrap().remove(0).header
    });
    header.entry("crc").insert_entry(Value::Integer(right));
    assert_eq!(check_checksum(&header, bytes), Ok(()));
    header.entry("crc").insert_entry(Value::Integer(right + 1));
    assert!(check_checksum(&header, bytes).is_err());
}
