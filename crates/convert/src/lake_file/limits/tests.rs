use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::ParquetMetaDataReader;
use tempfile::NamedTempFile;

use super::*;

fn open(bytes: &[u8]) -> (NamedTempFile, RandomAccess) {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let opened = RandomAccess::open(&file.path().into()).unwrap();
    (file, opened)
}

/// A file of one column of four values, which are in a dictionary.
fn parquet() -> Vec<u8> {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![7, 7, 8, 7]));
    let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number.to_le_bytes()[0] | 128);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// The header of a page: fields 1 to 3, then field 5, a struct.
fn header(kind: u64, bytes: u64, compressed: u64, values: u64, encoding: u64) -> Vec<u8> {
    let number = |number: u64| [vec![0x15], varint(number << 1)].concat();
    let head = [kind, bytes, compressed].map(number).concat();
    let data = [values, encoding].map(number).concat();
    [head, vec![0x2c], data, vec![0, 0]].concat()
}

/// A file that ends in a footer of these bytes.
fn with_footer(footer: &[u8], length: usize) -> Vec<u8> {
    let length = u32::try_from(length).unwrap().to_le_bytes();
    [b"PAR1", footer, &length, b"PAR1"].concat()
}

#[test]
fn a_footer_that_asks_for_too_much_is_refused() {
    check_footer(&open(&parquet()).1).unwrap();
    // Field 2 or 4, a list of structs, each of them empty or with a list of empty structs.
    let list = |id: u8, count: usize, one: &[u8]| {
        let head = [vec![id << 4 | 9, 0xfc], varint(count as u64)].concat();
        [head, one.repeat(count), vec![0]].concat()
    };
    let column_chunks = [&[0x19, 0xfc][..], &varint(1 << 17), &vec![0; 1 << 17], &[0]].concat();
    for (footer, length, says) in [
        (list(2, 1_001, &[0]), None, "of more than 1000 columns"),
        (
            list(4, 3, &column_chunks),
            None,
            "of more than 262144 column chunks",
        ),
        (list(2, 1_000, &[0])[..500].to_vec(), None, "can't be read"),
        (
            vec![0],
            Some((16 << 20) + 1),
            "has a footer of 16777217 bytes",
        ),
        (vec![0], Some(1_000), "longer than the file"),
    ] {
        let file = with_footer(&footer, length.unwrap_or(footer.len()));
        let error = check_footer(&open(&file).1).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    check_footer(&open(&with_footer(&list(2, 1_000, &[0]), 1_005)).1).unwrap();
}

#[test]
fn a_page_has_no_more_than_its_column_chunk() {
    let bytes = parquet();
    let footer = ParquetMetaDataReader::new()
        .parse_and_finish(&Bytes::from(bytes.clone()))
        .unwrap();
    let column = footer.row_group(0).column(0);
    let (start, length) = column.byte_range();
    let most = u64::try_from(column.uncompressed_size()).unwrap();
    let (path, _) = open(&bytes);
    let reopened = || {
        let file = RandomAccess::open(&path.path().into()).unwrap();
        CheckedFile::new(file, &footer, Writer::Convert).unwrap()
    };
    let file = reopened();
    file.check_page(start, &header(0, most, length, 4, 8))
        .unwrap();
    let huge = i32::MAX as u64;
    for (at, header, says) in [
        (
            start,
            header(0, huge, 1, 4, 8),
            "has 2147483647 bytes, its column chunk",
        ),
        (
            start,
            header(0, most + 1, 1, 4, 8),
            "bytes, its column chunk",
        ),
        (
            start,
            header(0, 1, huge, 4, 8),
            "has 2147483647 bytes, its column chunk",
        ),
        (
            start,
            header(0, 1, 1, 5, 8),
            "have 5 values, their column chunk 4",
        ),
        // DELTA_BYTE_ARRAY, and version 2.
        (start, header(0, 1, 1, 4, 7), "that convert doesn't write"),
        (start, header(3, 1, 1, 4, 8), "that convert doesn't write"),
        (start, vec![0x15; 40], "can't be read"),
        (start, header(0, 1, 1, 4, 8)[..6].to_vec(), "can't be read"),
        (
            start + length,
            header(0, 1, 1, 4, 8),
            "outside of its column chunk",
        ),
    ] {
        let error = reopened().check_page(at, &header).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // Values add up over pages, but not over readings.
    let file = reopened();
    let page = header(0, 1, 1, 3, 8);
    for _ in 0..2 {
        file.check_page(start, &page).unwrap();
        file.check_page(start, &page).unwrap();
        file.check_page(start + 2, &header(0, 1, 1, 1, 8)).unwrap();
    }
    let error = file.check_page(start + 3, &page).unwrap_err().to_string();
    assert!(error.contains("have 7 values"), "{error}");
    for (at, length) in [(0, 1 << 40), (u64::MAX, 1), (bytes.len() as u64, 1)] {
        let error = file.get_bytes(at, length).unwrap_err().to_string();
        assert!(error.contains("outside of the file"), "{error}");
    }
}

#[test]
fn a_read_has_a_limit_in_a_file_of_any_size() {
    let (file, opened) = open(b"");
    file.as_file().set_len(1 << 30).unwrap();
    let error = read_within(&opened, 0, LARGEST_ROW_GROUP + 1).unwrap_err();
    assert!(
        error.to_string().contains("at most 134217728 are"),
        "{error}"
    );
}
