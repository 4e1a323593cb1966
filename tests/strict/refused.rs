//! Each kind of check fails on a file that is wrong in one thing.

use std::ops::Range;

use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{
    FileMetaData, KeyValue, PageIndexPolicy, RowGroupMetaData, RowGroupMetaDataBuilder,
    SortingColumn,
};
use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_testkit::Score;

use super::edit::{
    CPUS, Edit, MACHINE, PLATFORM, TIME, file, findings, finds, footer_start, integer, with_bytes,
    with_chunk, with_chunks, with_footer, with_header,
};
use super::metadata;
use super::page::{CRC, ENCODING, THIRD, TYPE, UNCOMPRESSED, VALUES, check_checksum};
use tracelake_testkit::nested::{JSON, convert_text, row};

/// The finding where only the Parquet crate sees a difference: it writes the metadata otherwise than the file does.
const OTHERWISE: &str = "the metadata is written otherwise";

/// The start of the finding where the Parquet crate refuses the metadata.
const UNREADABLE: &str = "the metadata: ";

/// The largest time of the file.
const LAST: i64 = 69_999 * 37;

/// Statistics of its times, which are right with the defaults.
fn times(min: i64, distinct: Option<u64>) -> ValueStatistics<i64> {
    ValueStatistics::new(Some(min), Some(LAST), distinct, Some(0), false)
}

/// Statistics of its platforms, of which only the NULLs are wrong.
fn platforms(max: &str) -> ValueStatistics<parquet::data_type::ByteArray> {
    ValueStatistics::new(Some("a".into()), Some(max.into()), None, Some(5), false)
}

/// Changes of a column chunk, each with what is found.
const OF_CHUNK: &[(usize, &str, Edit)] = &[
    (TIME, UNREADABLE, |old, new| {
        new.set_offset_index_offset(old.offset_index_offset().map(|at| at + 1))
    }),
    (TIME, UNREADABLE, |old, new| {
        new.set_offset_index_length(old.offset_index_length().map(|of| of - 1))
    }),
    (TIME, UNREADABLE, |old, new| {
        new.set_column_index_offset(old.column_index_offset().map(|at| at + 1))
    }),
    (TIME, "a missing column index", |_, new| {
        new.set_column_index_offset(None)
            .set_column_index_length(None)
    }),
    (TIME, "codec LZ4_RAW", |_, new| {
        new.set_compression(Compression::LZ4_RAW)
    }),
    (TIME, "num_values is", |old, new| {
        new.set_num_values(old.num_values() + 1)
    }),
    (TIME, "total_uncompressed_size is", |old, new| {
        new.set_total_uncompressed_size(old.uncompressed_size() + 1)
    }),
    (TIME, "longer than its column chunk", |old, new| {
        new.set_total_compressed_size(old.compressed_size() - 1)
    }),
    (TIME, "not in the file", |_, new| {
        new.set_total_compressed_size(1 << 40)
    }),
    (MACHINE, "data_page_offset is", |old, new| {
        new.set_data_page_offset(old.data_page_offset() + 1)
    }),
    (TIME, "dictionary_page_offset is", |_, new| {
        new.set_dictionary_page_offset(Some(4))
    }),
    (TIME, "encodings is", |_, new| {
        new.set_encodings(vec![Encoding::RLE])
    }),
    (TIME, "encoding_stats is", |old, new| {
        let mut stats = old.page_encoding_stats().unwrap().clone();
        stats[0].count += 1;
        new.set_page_encoding_stats(stats)
    }),
    (PLATFORM, "null_count is", |_, new| {
        new.set_statistics(Statistics::ByteArray(platforms("b")))
    }),
    (PLATFORM, "is no upper bound", |_, new| {
        new.set_statistics(Statistics::ByteArray(platforms("c")))
    }),
    (PLATFORM, "min_value is Exact", |_, new| {
        new.set_statistics(Statistics::ByteArray(
            platforms("b").with_min_is_exact(false),
        ))
    }),
    (TIME, "is no lower bound", |_, new| {
        new.set_statistics(Statistics::Int64(times(1, None)))
    }),
    (TIME, OTHERWISE, |_, new| {
        new.set_statistics(Statistics::Int64(times(0, None).with_min_is_exact(false)))
    }),
    (TIME, OTHERWISE, |_, new| {
        new.set_statistics(Statistics::Int64(
            times(0, None).with_backwards_compatible_min_max(true),
        ))
    }),
    (TIME, "which are deprecated", |_, new| {
        new.set_statistics(Statistics::int64(Some(0), Some(LAST), None, Some(0), true))
    }),
    (TIME, "distinct_count is", |_, new| {
        new.set_statistics(Statistics::Int64(times(0, Some(1))))
    }),
    (TIME, OTHERWISE, |_, new| {
        new.set_statistics(Statistics::Int64(times(0, None).with_nan_count(Some(1))))
    }),
    (CPUS, "nan_count is", |_, new| {
        let right = ValueStatistics::new(Some(-0.0), Some(0.6), None, Some(0), false);
        new.set_statistics(Statistics::Double(right.with_nan_count(Some(1))))
    }),
    (MACHINE, "bloom filter", |old, new| {
        new.set_bloom_filter_length(old.bloom_filter_length().map(|of| of - 1))
    }),
];

/// A change of the metadata of a row group.
type GroupEdit = fn(RowGroupMetaDataBuilder) -> RowGroupMetaDataBuilder;

#[test]
fn a_footer_that_is_wrong_is_refused() {
    let file = file();
    assert_eq!(findings(&file), Vec::<String>::new());
    let mut score = Score::new("wrong footers");
    let of_file = |version, by: &str, times: usize| {
        let edit = |of: &FileMetaData| {
            let keys = of.key_value_metadata().unwrap();
            let keys: Vec<KeyValue> = (0..times).flat_map(|_| keys.clone()).collect();
            let (by, keys) = (Some(by.to_owned()), Some(keys));
            let orders = of.column_orders().cloned();
            FileMetaData::new(
                version,
                of.num_rows(),
                by,
                keys,
                of.schema_descr_ptr(),
                orders,
            )
        };
        with_footer(&file, edit, |group| group)
    };
    for (expected, wrong) in [
        ("version is", of_file(2, "somebody", 1)),
        ("created_by is empty", of_file(1, "", 1)),
        ("a second key", of_file(1, "somebody", 2)),
    ] {
        score.count(expected, finds(&wrong, expected));
    }
    let of_group: [(&str, GroupEdit); 4] = [
        ("ordinal is", |group| group.set_ordinal(1)),
        ("num_rows is", |group| group.set_num_rows(70_001)),
        ("total_byte_size is", |group| group.set_total_byte_size(1)),
        ("file_offset is", |group| group.set_file_offset(5)),
    ];
    for (expected, edit) in of_group {
        let change = |group: RowGroupMetaData| edit(group.into_builder()).build().unwrap();
        let wrong = with_footer(&file, FileMetaData::clone, change);
        score.count(expected, finds(&wrong, expected));
    }
    for (at, (column, expected, edit)) in OF_CHUNK.iter().enumerate() {
        let what = format!("change {at} of column {column}");
        score.count(&what, finds(&with_chunk(&file, *column, *edit), expected));
    }
    let found = metadata(&file, PageIndexPolicy::Skip).unwrap();
    let compressed = found.row_group(0).compressed_size();
    let orders = [0x6c, 0x1c];
    for (what, expected, old, new) in [
        (
            "num_rows",
            "num_rows is",
            &integer(0x16, 70_000)[..],
            &integer(0x16, 70_001)[..],
        ),
        ("a missing order", UNREADABLE, &[0x6c, 0x1c, 0, 0], &[0x5c]),
        ("an order", "IEEE_754_TOTAL_ORDER", &orders, &[0x6c, 0x2c]),
        ("a name in the schema", OTHERWISE, b"\x04time", b"\x04uime"),
        (
            "a child too few",
            UNREADABLE,
            &[0x15, 12, 0],
            &[0x15, 10, 0],
        ),
        (
            "a child too many",
            UNREADABLE,
            &[0x15, 12, 0],
            &[0x15, 14, 0],
        ),
        ("a repetition", UNREADABLE, &[0x25, 0], &[0x25, 10]),
        (
            "total_compressed_size",
            OTHERWISE,
            &integer(0x16, compressed),
            &integer(0x16, compressed + 1),
        ),
        (
            "file_offset of a chunk",
            "file_offset is",
            &[0x26, 0, 0x1c],
            &[0x26, 2, 0x1c],
        ),
        (
            "the type of a chunk",
            "the metadata",
            &[0x1c, 0x15, 4],
            &[0x1c, 0x15, 2],
        ),
    ] {
        let wrong = with_bytes(&file, footer_start(&file), old, new);
        score.count(what, finds(&wrong, expected));
    }
    // Before the end of the footer.
    let unknown = with_bytes(&file, file.len() - 9, &[0], &[0x15, 0, 0]);
    score.count("an unknown field", finds(&unknown, OTHERWISE));
    score.close();
}

#[test]
fn an_order_that_the_rows_do_not_have_is_refused() {
    let file = file();
    let sorted_by = |column| {
        let key = SortingColumn {
            column_idx: column,
            descending: false,
            nulls_first: true,
        };
        with_footer(&file, FileMetaData::clone, |group| {
            let group = group.into_builder().set_sorting_columns(Some(vec![key]));
            group.build().unwrap()
        })
    };
    assert_eq!(findings(&sorted_by(0)), Vec::<String>::new());
    for (column, expected) in [
        (1, "is not sorted"),
        (3, "is not sorted"),
        (6, "a column that doesn't exist"),
    ] {
        finds(&sorted_by(column), expected).unwrap();
    }
}

/// The start of a range of the page index.
fn start(range: Option<Range<u64>>) -> usize {
    usize::try_from(range.unwrap().start).unwrap()
}

#[test]
fn pages_and_indexes_that_are_wrong_are_refused() {
    let file = file();
    let mut score = Score::new("wrong pages and indexes");
    for (page, field, more, expected) in [
        (1, ENCODING, -6, "encodings is"),
        (1, VALUES, -1, "data page 0:"),
        (1, THIRD, 1, "definition_level_encoding is"),
        (1, UNCOMPRESSED, -1, "page 1:"),
        (1, TYPE, 2, "another's header"),
        (0, VALUES, -1, "bytes after the last value"),
    ] {
        let wrong = with_header(&file, (MACHINE, page), field, more);
        score.count(expected, finds(&wrong, expected));
    }
    let found = metadata(&file, PageIndexPolicy::Optional).unwrap();
    let index = found.page_index().unwrap();
    let second = index.page_locations(0, TIME).unwrap()[1].clone();
    let nulls = index
        .column_index(0, PLATFORM)
        .unwrap()
        .null_counts()
        .unwrap();
    let list = u8::try_from(nulls.len()).unwrap() << 4 | 6;
    // The rows before the second page.
    let rows = second.first_row_index;
    let number = |number: i64| number.to_le_bytes().to_vec();
    for (column, expected, old, new) in [
        (TIME, "null_pages is", vec![2], vec![1]),
        (
            TIME,
            "is no lower bound",
            number(rows * 37),
            number(rows * 37 + 1),
        ),
        (
            TIME,
            "is no upper bound",
            number((rows - 1) * 37),
            number(rows * 37 - 38),
        ),
        (
            TIME,
            "boundary_order is",
            vec![0x15, 2, 0x19],
            vec![0x15, 4, 0x19],
        ),
        (
            PLATFORM,
            "null_counts is",
            integer(list, nulls[0]),
            integer(list, nulls[0] + 1),
        ),
    ] {
        let start = start(found.row_group(0).column(column).column_index_range());
        let wrong = with_bytes(&file, start, &old, &new);
        score.count(expected, finds(&wrong, expected));
    }
    for (field, head, number) in [
        ("offset", 0x16, second.offset),
        (
            "compressed_page_size",
            0x15,
            second.compressed_page_size.into(),
        ),
        ("first_row_index", 0x16, rows),
    ] {
        let start = start(found.row_group(0).column(TIME).offset_index_range());
        let (old, new) = (integer(head, number), integer(head, number + 1));
        let wrong = with_bytes(&file, start, &old, &new);
        score.count(field, finds(&wrong, "location of page 1 is"));
    }
    let filter = with_chunks(&file, |chunks| chunks[MACHINE].bloom_filter.clone());
    // The last block.
    let block = filter.unwrap().end - 32;
    for (what, is_set, expected) in [
        ("a bit too many", 0, "a bit of no value"),
        ("a bit too few", 1, "a value is not in the filter"),
    ] {
        let is_wanted = |bit: &usize| file[block + bit / 8] >> (bit % 8) & 1 == is_set;
        let bit = (0..256).find(is_wanted).unwrap();
        let mut wrong = file.clone();
        wrong[block + bit / 8] ^= 1 << (bit % 8);
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
    let of_chunk: [(usize, &str, Edit); 3] = [
        (TEXT, "unencoded bytes is", |_, new| {
            new.set_unencoded_byte_array_data_bytes(Some(1))
        }),
        (LIST, "repetition_level_histogram is", |_, new| {
            new.set_repetition_level_histogram(Some(vec![1, 2].into()))
        }),
        (LIST, "definition_level_histogram is", |old, new| {
            let mut levels = old
                .definition_level_histogram()
                .unwrap()
                .clone()
                .into_inner();
            levels[1] += 1;
            new.set_definition_level_histogram(Some(levels.into()))
        }),
    ];
    for (column, expected, edit) in of_chunk {
        score.count(expected, finds(&with_chunk(&file, column, edit), expected));
    }
    let found = metadata(&file, PageIndexPolicy::Skip).unwrap();
    let text = found.row_group(0).column(TEXT);
    let bytes = text.unencoded_byte_array_data_bytes().unwrap();
    // All of them are in one page, and each of its 100 texts is there.
    for (start, expected, old, new) in [
        (
            start(text.offset_index_range()),
            "unencoded bytes of pages is",
            integer(0x16, bytes),
            integer(0x16, bytes + 1),
        ),
        (
            start(text.column_index_range()),
            "level_histograms is",
            [vec![0x26], integer(0, 100)].concat(),
            [vec![0x26], integer(0, 101)].concat(),
        ),
    ] {
        score.count(
            expected,
            finds(&with_bytes(&file, start, &old, &new), expected),
        );
    }
    score.close();
}

#[test]
fn bytes_without_a_purpose_are_refused() {
    let file = file();
    let start = footer_start(&file);
    let gap = [&file[..start], &[0], &file[start..]].concat();
    finds(&gap, OTHERWISE).unwrap();
    finds(&[&file[..], b"1"].concat(), UNREADABLE).unwrap();
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
    let page = with_chunks(&file, |chunks| chunks[TIME].stored().unwrap().remove(0));
    let mut header = page.header;
    header.0.insert(CRC, right);
    assert_eq!(check_checksum(&header, bytes), Ok(()));
    header.0.insert(CRC, right + 1);
    assert!(check_checksum(&header, bytes).is_err());
}
