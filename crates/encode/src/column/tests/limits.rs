//! The limits of the encoders: what is full, what is given up, and what is chosen.

#![cfg(test)]

use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use tracelake_core::options::Codec;
use tracelake_core::settings::ROW_GROUP_ROWS;

use super::super::encoder::{
    CHOOSING_PAGE_ROWS, DICTIONARY_BYTES, PAGE_ROWS, PLAIN_PAGE_BYTES, UNREPEATED_ROWS,
};
use super::{CODE, FLAG, ID, LACKING, MEASURE, TABLE, TEXT, TIME, check, check_row_groups, encode};
use crate::output::ROW_GROUP_BYTES;
use crate::rows::{CHUNK_BYTES, ROW_GROUP_TIME_BYTES};

/// A chunk of text with `rows` rows, in which `value` says what is in the fields of a column; the others
/// are empty, but for the mandatory time.
fn chunk_of(
    column: usize,
    rows: std::ops::Range<usize>,
    value: impl Fn(usize) -> String,
) -> String {
    let row = |row| {
        let mut fields = vec![String::new(); TABLE.fields.len()];
        fields[TIME] = "7".to_owned();
        fields[column] = value(row);
        fields.join(",") + "\n"
    };
    rows.map(row).collect()
}

/// Chunks of 1,000 rows, see [`chunk_of`].
fn chunks_of(column: usize, rows: usize, value: impl Fn(usize) -> String) -> Vec<String> {
    let starts = (0..rows).step_by(1000);
    starts
        .map(|start| chunk_of(column, start..rows.min(start + 1000), &value))
        .collect()
}

fn chunk(footer: &ParquetMetaData, column: usize) -> &ColumnChunkMetaData {
    footer.row_group(0).column(column)
}

fn pages(footer: &ParquetMetaData, column: usize) -> usize {
    footer
        .page_index()
        .unwrap()
        .offset_index(0, column)
        .unwrap()
        .page_locations()
        .len()
}

fn has_dictionary(footer: &ParquetMetaData, column: usize) -> bool {
    chunk(footer, column).dictionary_page_offset().is_some()
}

/// A number without a pattern.
fn scattered(row: usize) -> usize {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[test]
fn all_null_and_no_rows() {
    let footer = check(&chunks_of(ID, 200_000, |_| String::new()), Codec::DEFAULT);
    for column in [ID, CODE, MEASURE, FLAG, TEXT, LACKING] {
        assert_eq!(
            chunk(&footer, column)
                .statistics()
                .unwrap()
                .null_count_opt(),
            Some(200_000)
        );
        // NULLs alone never fill a page.
        assert_eq!(
            (pages(&footer, column), has_dictionary(&footer, column)),
            (1, false)
        );
    }
    assert_eq!(
        check(&["a,b\n".to_owned()], Codec::DEFAULT).num_row_groups(),
        0
    );
}

#[test]
fn one_value_takes_next_to_nothing() {
    for (column, value) in [
        (ID, "5"),
        (CODE, "-3"),
        (MEASURE, "0.25"),
        (FLAG, "1"),
        (TEXT, "same"),
    ] {
        let footer = check(
            &chunks_of(column, 100_000, |_| value.to_owned()),
            Codec::DEFAULT,
        );
        let bytes = chunk(&footer, column).compressed_size();
        assert!(bytes < 500, "{column}: {bytes}");
    }
}

#[test]
fn a_measured_integer_that_never_repeats_has_no_dictionary() {
    for rows in [UNREPEATED_ROWS - 1, UNREPEATED_ROWS, 5 * UNREPEATED_ROWS] {
        let time = |row: usize| (row * 1000).to_string();
        let footer = check(&chunks_of(TIME, rows, time), Codec::DEFAULT);
        assert!(!has_dictionary(&footer, TIME), "{rows}");
    }
    // One repetition in the first rows, and the whole first page is looked at.
    let time = |row: usize| (row.max(1) * 1000).to_string();
    let footer = check(
        &chunks_of(TIME, 3 * CHOOSING_PAGE_ROWS, time),
        Codec::DEFAULT,
    );
    assert!(!has_dictionary(&footer, TIME));
}

#[test]
fn the_smaller_encoding_is_taken() {
    // Each id twice: the codec finds the second one in PLAIN, too, and no index is needed.
    let twice = |row: usize| (scattered(row / 2) % 1_000_000).to_string();
    let footer = check(&chunks_of(ID, 4000, twice), Codec::DEFAULT);
    assert!(!has_dictionary(&footer, ID));
    // Four times: PLAIN is smaller here, too, but ids keep the dictionary.
    let four_times = |row: usize| (scattered(row / 4) % 1_000_000).to_string();
    for (column, expected) in [(ID, true), (CODE, false)] {
        let footer = check(&chunks_of(column, 4000, four_times), Codec::DEFAULT);
        assert_eq!(has_dictionary(&footer, column), expected, "{column}");
    }
    // A few values over and over, in no order.
    let few = |row: usize| (scattered(row) % 100).to_string();
    let footer = check(&chunks_of(ID, 4000, few), Codec::DEFAULT);
    assert!(has_dictionary(&footer, ID));
    for column in [MEASURE, TEXT, CODE] {
        let footer = check(&chunks_of(column, 4000, few), Codec::Snappy);
        assert!(has_dictionary(&footer, column), "{column}");
    }
}

#[test]
fn a_first_page_of_one_value_decides_nothing() {
    let later = |row: usize| (row.saturating_sub(2 * CHOOSING_PAGE_ROWS) * 1000).to_string();
    let footer = check(
        &chunks_of(TIME, 4 * CHOOSING_PAGE_ROWS, later),
        Codec::DEFAULT,
    );
    let time = chunk(&footer, TIME);
    let encodings: Vec<Encoding> = time.encodings().collect();
    assert!(encodings.contains(&Encoding::RLE_DICTIONARY) && encodings.contains(&Encoding::PLAIN));
    assert!(matches!(time.compression(), Compression::ZSTD(_)));
    // The dictionary has the values of the first two pages: the times after them are PLAIN.
    assert!(time.data_page_offset() - time.dictionary_page_offset().unwrap() < 10_000);
}

#[test]
fn what_does_not_shrink_is_stored() {
    let noise = |row: usize| {
        (row as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .cast_signed()
            .to_string()
    };
    for codec in [Codec::DEFAULT, Codec::Snappy, Codec::None] {
        let footer = check(&chunks_of(ID, 4000, noise), codec);
        assert_eq!(
            chunk(&footer, ID).compression(),
            Compression::UNCOMPRESSED,
            "{codec}"
        );
        let footer = check(
            &chunks_of(TEXT, 4000, |row| format!("{:0>20}", row % 7)),
            codec,
        );
        assert!(chunk(&footer, TEXT).compressed_size() < 4000, "{codec}");
    }
    let hash = |row: usize| format!("{:0>44}", scattered(row));
    let footer = check(&chunks_of(TEXT, 4000, hash), Codec::DEFAULT);
    assert!(matches!(
        chunk(&footer, TEXT).compression(),
        Compression::ZSTD(_)
    ));
}

#[test]
fn a_page_ends_after_the_chunk_that_fills_it() {
    let few = |row: usize| (scattered(row) % 100).to_string();
    for (column, expected) in [(CODE, 2), (ID, 1)] {
        // The last row of the page is in the middle of a chunk of 1,000.
        let footer = check(
            &chunks_of(column, CHOOSING_PAGE_ROWS + 2000, few),
            Codec::DEFAULT,
        );
        assert_eq!(pages(&footer, column), expected);
        let index = footer.page_index().unwrap();
        let last = index.offset_index(0, column).unwrap().page_locations();
        let first_row = last.last().unwrap().first_row_index;
        assert_eq!(first_row, if expected == 2 { 66_000 } else { 0 });
    }
    // The pages after the one that chose the encoding are smaller.
    let footer = check(&chunks_of(CODE, 66_000 + 2 * 33_000, few), Codec::DEFAULT);
    let index = footer.page_index().unwrap();
    let pages_of_code = index.offset_index(0, CODE).unwrap().page_locations();
    let first_rows: Vec<i64> = pages_of_code
        .iter()
        .map(|page| page.first_row_index)
        .collect();
    assert_eq!(first_rows, [0, 66_000, 99_000]);
    assert_eq!(PAGE_ROWS.next_multiple_of(1000), 33_000);
    // One row short, and no row more.
    for (rows, expected) in [(CHOOSING_PAGE_ROWS - 1, 1), (CHOOSING_PAGE_ROWS, 1)] {
        let footer = check(&chunks_of(MEASURE, rows, few), Codec::DEFAULT);
        assert_eq!(pages(&footer, MEASURE), expected);
    }
    let rows = UNREPEATED_ROWS.next_multiple_of(1000) + PLAIN_PAGE_BYTES / 8;
    let footer = check(
        &chunks_of(TIME, rows, |row| row.to_string()),
        Codec::DEFAULT,
    );
    assert_eq!(pages(&footer, TIME), 2);
    let flag = |row: usize| (scattered(row) % 2).to_string();
    for (rows, expected) in [(262_000, 1), (264_000, 2)] {
        let footer = check(&chunks_of(FLAG, rows, flag), Codec::DEFAULT);
        assert_eq!(pages(&footer, FLAG), expected);
    }
}

#[test]
fn decimals_are_found_in_later_pages_and_row_groups() {
    let decimal = |row: usize| format!("0.{:04}", scattered(row) % 10_000);
    let chunks = chunks_of(MEASURE, 3 * CHOOSING_PAGE_ROWS, decimal);
    let footer = check_row_groups(&chunks, Codec::DEFAULT, |number| number == 100);
    assert_eq!(footer.num_row_groups(), 2);
    assert!(has_dictionary(&footer, MEASURE) && pages(&footer, MEASURE) == 3);
}

#[test]
fn floats_that_all_differ_have_bounds_that_hold() {
    let float = |row: usize| format!("{}.5", scattered(row) % 1_000_000 * 1_000_000 + row);
    let footer = check(
        &chunks_of(MEASURE, 2 * CHOOSING_PAGE_ROWS, float),
        Codec::DEFAULT,
    );
    assert!(pages(&footer, MEASURE) > 1);
}

#[test]
fn values_may_begin_after_pages_of_null() {
    for column in [ID, CODE, MEASURE, FLAG, TEXT] {
        let late = |row: usize| match row.checked_sub(2 * CHOOSING_PAGE_ROWS) {
            Some(row) => (row % 2).to_string(),
            None => String::new(),
        };
        let footer = check(
            &chunks_of(column, 3 * CHOOSING_PAGE_ROWS, late),
            Codec::DEFAULT,
        );
        let nulls = chunk(&footer, column)
            .statistics()
            .unwrap()
            .null_count_opt();
        assert_eq!(nulls, Some(2 * CHOOSING_PAGE_ROWS as u64));
    }
}

#[test]
fn a_page_of_new_values_chooses_again() {
    // The first page, and the rest of its last chunk.
    let repeats = CHOOSING_PAGE_ROWS.next_multiple_of(1000);
    let code = |row: usize| if row < repeats { row % 100 } else { row }.to_string();
    let footer = check(
        &chunks_of(CODE, 3 * CHOOSING_PAGE_ROWS, code),
        Codec::DEFAULT,
    );
    let codes = chunk(&footer, CODE);
    let encodings: Vec<Encoding> = codes.encodings().collect();
    assert!(encodings.contains(&Encoding::RLE_DICTIONARY) && encodings.contains(&Encoding::PLAIN));
    // The dictionary has the hundred values of the first page.
    assert!(codes.data_page_offset() - codes.dictionary_page_offset().unwrap() < 500);
}

#[test]
fn a_dictionary_that_grows_too_large_is_given_up() {
    // Each value three times in a row, so that the first page keeps its dictionary.
    let values = DICTIONARY_BYTES / 104 + 500;
    let text = |row: usize| format!("{:0>100}", scattered(row));
    let footer = check(
        &chunks_of(TEXT, 3 * values, |row| text(row / 3)),
        Codec::None,
    );
    let encodings: Vec<Encoding> = chunk(&footer, TEXT).encodings().collect();
    assert!(encodings.contains(&Encoding::RLE_DICTIONARY) && encodings.contains(&Encoding::PLAIN));
    assert!(has_dictionary(&footer, TEXT) && pages(&footer, TEXT) > 1);
    // Each of them once: PLAIN is smaller.
    let footer = check(&chunks_of(TEXT, values, text), Codec::None);
    assert!(!has_dictionary(&footer, TEXT));
}

#[test]
fn a_row_group_ends_before_it_is_too_large() {
    let few = |row: usize| (row % 100).to_string();
    let rows = ROW_GROUP_ROWS + 3000;
    let footer = check(&chunks_of(CODE, rows, few), Codec::DEFAULT);
    let groups: Vec<i64> = footer
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    let first = i64::try_from(ROW_GROUP_ROWS / 1000 * 1000).unwrap();
    assert_eq!(groups, [first, i64::try_from(rows).unwrap() - first]);
    // The second row group has a separate dictionary.
    let values = footer
        .row_group(1)
        .column(CODE)
        .statistics()
        .unwrap()
        .min_bytes_opt()
        .is_some();
    assert!(
        values
            && footer
                .row_group(1)
                .column(CODE)
                .dictionary_page_offset()
                .is_some()
    );
}

#[test]
fn a_row_group_ends_when_its_times_take_too_many_bytes() {
    let groups_of = |time: &dyn Fn(usize) -> usize| {
        let chunks = chunks_of(TIME, 300_000, |row| time(row).to_string());
        let footer = check(&chunks, Codec::DEFAULT);
        let groups = footer.row_groups().iter();
        groups.map(|group| group.num_rows()).collect::<Vec<_>>()
    };
    let full = ROW_GROUP_TIME_BYTES.div_ceil(8).next_multiple_of(1000);
    assert_eq!(full, 132_000);
    assert_eq!(groups_of(&|row| row), [132_000, 132_000, 36_000]);
    // Times that come again and again take few bytes.
    assert_eq!(groups_of(&|row| row / 1000), [300_000]);
}

/// Texts so long that bytes end a row group, long before its rows do.
#[test]
fn a_row_group_ends_before_it_has_too_many_bytes() {
    const CHUNK: usize = 4 << 20;
    const ROWS: usize = 4;
    let zeros = "0".repeat(CHUNK / ROWS);
    let row = |row: usize| format!("7,,,,,{zeros}{row}\n");
    let chunk = |chunk: usize| (0..ROWS).map(|at| row(chunk * ROWS + at)).collect();
    let chunks: Vec<String> = (0..20).map(chunk).collect();
    let (_, footer) = encode(&chunks, Codec::None, |_| false);
    let bytes = footer
        .row_groups()
        .iter()
        .map(|group| usize::try_from(group.total_byte_size()).unwrap());
    let bytes: Vec<usize> = bytes.collect();
    let [first, _] = bytes[..] else {
        panic!("{bytes:?}");
    };
    // One chunk more might be too much.
    assert!(
        first <= ROW_GROUP_BYTES && first + CHUNK + CHUNK_BYTES > ROW_GROUP_BYTES,
        "{first}"
    );
}

#[test]
fn rejected_rows_leave_no_value_behind() {
    let mut chunks = chunks_of(ID, 2000, |row| (row % 10).to_string());
    chunks[1].push_str("7,99,x,,,rejected\n8,11,,,,kept\n");
    let footer = check(&chunks, Codec::DEFAULT);
    let statistics = chunk(&footer, ID).statistics().unwrap();
    assert_eq!(statistics.max_bytes_opt(), Some(&11_i64.to_le_bytes()[..]));
}
