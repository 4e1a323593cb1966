//! Files that are longer than a chunk of text, cut into parts, on any number of threads.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use tracelake_core::error::ErrorKind;
use tracelake_schema::Table;
use tracelake_source::LINE_LIMIT;

use tracelake_testkit::nested::{HEADER, JSON, Part, QUOTED, convert, convert_text, header, row};

/// Rows, with a bad one now and then.
fn text(table: &Arc<Table>, rows: usize) -> String {
    let line = |number: usize| match number % 1000 {
        999 => {
            "\"bad\nrow\"\n".replace('\n', if table == &*JSON { "" } else { "\n" })
                + if table == &*JSON { "\n" } else { "" }
        }
        _ => row(table, number),
    };
    let rows: String = (0..rows).map(line).collect();
    [header(table), &rows].concat()
}

fn in_pool(
    threads: usize,
    table: &'static Arc<Table>,
    text: &str,
    part_rows: Option<u64>,
) -> Vec<Part> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text.gz");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    std::fs::write(&path, gzip.finish().unwrap()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap()
        .install(|| convert(&path, table, part_rows).unwrap())
}

#[test]
fn threads_and_chunks_change_no_byte() {
    for table in [&JSON, &QUOTED] {
        let text = text(table, 20_000);
        assert!(text.len() > 3 * (256 << 10));
        let one = &in_pool(1, table, &text, None)[0];
        assert_eq!((one.converted.rows_in, one.rejects.len()), (20_000, 20));
        let four = &in_pool(4, table, &text, None)[0];
        assert!(one.parquet == four.parquet && one.rejects == four.rejects);
        for reject in &one.rejects {
            let byte = usize::try_from(reject["byte"].as_u64().unwrap()).unwrap();
            assert!(text[byte..].starts_with(reject["raw"].as_str().unwrap()));
            let line = text[..byte].matches('\n').count() as u64 + 1;
            assert_eq!(reject["line"], line);
        }
    }
}

#[test]
fn parts_are_the_rows_of_the_whole_one_after_the_other() {
    for table in [&JSON, &QUOTED] {
        let text = text(table, 5_500);
        let whole = &in_pool(2, table, &text, None)[0];
        for part_rows in [1000, 1, 5_500, 100_000] {
            // Parts of one row are tried on fewer of them.
            let (text, whole) = if part_rows == 1 {
                let text: String = (0..5).map(|number| row(table, number)).collect();
                let text = [header(table), &text].concat();
                let whole = in_pool(1, table, &text, None).remove(0);
                (text, &{ whole })
            } else {
                (text.clone(), whole)
            };
            let parts = in_pool(2, table, &text, Some(part_rows));
            let rows = whole.converted.rows_in;
            assert_eq!(parts.len() as u64, rows.div_ceil(part_rows));
            let mut before = 0;
            let all = whole.rows();
            for (number, part) in parts.iter().enumerate() {
                let left = rows - number as u64 * part_rows;
                assert_eq!(part.converted.rows_in, left.min(part_rows));
                let found = part.rows();
                assert!(found == all.slice(before, found.num_rows()));
                before += found.num_rows();
            }
            assert_eq!(before, all.num_rows());
            let rejects = parts.iter().flat_map(|part| &part.rejects);
            assert!(rejects.eq(&whole.rejects));
        }
    }
}

#[test]
fn a_record_may_be_longer_than_a_chunk_but_not_than_a_line() {
    let long = |length: usize| {
        let start = "{},7,\"";
        let user = "some text,\n".repeat(length / 11 + 1);
        let user = &user[..length - start.len() - "\",[]".len()];
        format!("{start}{user}\",[]\n")
    };
    let record = long(LINE_LIMIT - 1);
    let text = [HEADER, &row(&QUOTED, 1), &record, &row(&QUOTED, 2)].concat();
    let part = convert_text(text.as_bytes(), &QUOTED).unwrap();
    assert_eq!((part.converted.rows_out, part.rejects.len()), (3, 0));
    let before = HEADER.len() + row(&QUOTED, 1).len();
    let endless = format!("{{}},7,\"{}", "some text,\n".repeat(LINE_LIMIT));
    for record in [long(LINE_LIMIT + 1), endless] {
        let text = [HEADER, &row(&QUOTED, 1), &record, &row(&QUOTED, 2)].concat();
        let error = convert_text(text.as_bytes(), &QUOTED).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Misfit);
        let says = format!("a record longer than {LINE_LIMIT} bytes, {before} bytes into the text");
        assert!(error.to_string().contains(&says), "{error}");
    }
}

#[test]
fn row_groups_are_bounded_and_the_pages_are_those_that_every_reader_reads() {
    // Values that do not repeat, so that the bytes and not the rows end a row group.
    let line = |number: usize| {
        let digits = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let user = format!("{digits:016x}").repeat(12);
        format!(
            "{{\"time\":{number},\"user\":\"{user}\",\"after\":[{},{}]}}\n",
            digits >> 2,
            digits >> 3
        )
    };
    let text: String = (0..300_000).map(line).collect();
    let part = convert_text(text.as_bytes(), &JSON).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(part.parquet)).unwrap();
    let groups = reader.metadata().row_groups();
    assert!(groups.len() > 1);
    for group in groups {
        assert!(group.total_byte_size() < 64 << 20);
        assert_eq!(group.columns().len(), 5);
        for column in group.columns() {
            assert!(column.statistics().is_some(), "{}", column.column_path());
            // The crate's page index of lists may be wrong.
            let is_list = column.column_descr().max_rep_level() > 0;
            assert_eq!(column.column_index_length().is_none(), is_list);
            assert!(column.offset_index_length().is_some());
            for encoding in column.encodings() {
                let name = encoding.to_string();
                assert!(
                    ["PLAIN", "RLE", "RLE_DICTIONARY"].contains(&name.as_str()),
                    "{name}"
                );
            }
        }
    }
}
