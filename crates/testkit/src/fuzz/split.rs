//! `Records::split` against the csv crate: the same good records, the same malformed ones, for any
//! bytes, any number of fields and both line endings; and the same again for any cut into chunks.
//! `Records::refuse_first` is called as a part calls it, for a text after a byte order mark.
//!
//! Input: a byte for the number of fields, a byte for the cuts, the text.

use std::ops::Range;

use super::setting::options;
use csv::{ByteRecord, ReaderBuilder, Terminator};
use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;
use tracelake_encode::split::Records;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One record: its bytes without the line ending, and its fields or its fault.
#[derive(Debug, PartialEq)]
struct Row {
    start: usize,
    end: usize,
    shape: Result<Vec<(usize, usize)>, Fault>,
}

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([fields, cuts], text) = options(data);
    let fields = usize::from(fields % 24) + 1;
    let first = text.split_inclusive(|&byte| byte == b'\n').next();
    let crlf = first.is_some_and(|line| line.ends_with(b"\r\n"));
    assert_eq!(LineEnding::of(text) == LineEnding::CrLf, crlf);
    let mut records = Records::default();
    // An earlier chunk must leave nothing that matters.
    records.split(b"left,behind\n,\n\n,,\nunfinished,", fields, LineEnding::Lf);
    for ending in [LineEnding::Lf, LineEnding::CrLf] {
        let plain = plain(text, fields, ending);
        assert_eq!(ours(&mut records, text, fields, ending, true), plain);
        let (mut start, mut line, mut joined) = (0, 0, Vec::new());
        for (at, _) in text.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            line += 1;
            if cuts >> (line % 8) & 1 == 1 {
                join(
                    &mut joined,
                    ours(&mut records, &text[start..=at], fields, ending, start == 0),
                    start,
                );
                start = at + 1;
            }
        }
        join(
            &mut joined,
            ours(&mut records, &text[start..], fields, ending, start == 0),
            start,
        );
        assert_eq!(joined, plain);
    }
}

/// Every record of a chunk in order, as `split` has it; `first` is the first chunk of a file.
fn ours(
    records: &mut Records,
    chunk: &[u8],
    fields: usize,
    ending: LineEnding,
    first: bool,
) -> Vec<Row> {
    records.split(chunk, fields, ending);
    if first && chunk.starts_with(BYTE_ORDER_MARK) {
        records.refuse_first(Fault::ByteOrderMark);
    }
    let mut rows: Vec<(Option<usize>, Row)> = Vec::new();
    for index in 0..records.len() {
        let (start, end) = records.record(index);
        let shape = (0..fields)
            .map(|field| records.field(index, field))
            .collect();
        rows.push((
            None,
            Row {
                start,
                end,
                shape: Ok(shape),
            },
        ));
    }
    for field in 0..fields {
        // Two ranges that meet, as a column is looked up some records at a time.
        let middle = records.len() * field / fields;
        let first = records.column(field, 0..middle).iter();
        let column: Vec<_> = first
            .chain(records.column(field, middle..records.len()).iter())
            .collect();
        let each: Vec<_> = (0..records.len())
            .map(|index| records.field(index, field))
            .collect();
        assert_eq!(column, each);
    }
    assert_eq!(records.is_empty(), rows.is_empty());
    for malformed in records.malformed() {
        let Range { start, end } = malformed.row();
        rows.push((
            Some(malformed.line()),
            Row {
                start,
                end,
                shape: Err(malformed.fault),
            },
        ));
    }
    rows.sort_by_key(|(_, row)| row.start);
    for (index, (ordinal, _)) in rows.iter().enumerate() {
        assert!(ordinal.is_none_or(|ordinal| ordinal == index));
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Like [`ours`], by the csv crate, which knows commas and newlines; the rules for blank lines, for line
/// endings and for a byte order mark are ours, so they are here once more.
fn plain(text: &[u8], fields: usize, ending: LineEnding) -> Vec<Row> {
    // The crate takes a byte order mark off the very first record, so that is not one of ours.
    let mut input = b"-\n".to_vec();
    let whole = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    input.extend_from_slice(&text[..whole]);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(false)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(&input[..]);
    let mut record = ByteRecord::new();
    assert!(reader.read_byte_record(&mut record).unwrap());
    let (mut rows, mut start) = (Vec::new(), 0);
    for line in text[..whole].split_inclusive(|&byte| byte == b'\n') {
        let line = &line[..line.len() - 1];
        // The crate passes over empty lines.
        if !line.is_empty() {
            assert!(reader.read_byte_record(&mut record).unwrap());
            assert_eq!(record.iter().collect::<Vec<_>>().join(&b','), line);
        }
        let bare = line.strip_suffix(b"\r");
        let end = start + bare.unwrap_or(line).len();
        let shape = if bare.unwrap_or(line).is_empty() {
            Err(Fault::BlankLine)
        } else if bare.is_some() != (ending == LineEnding::CrLf) {
            Err(Fault::LineEnding)
        } else if record.len() != fields {
            let (found, expected) = (record.len() as u32, fields as u32);
            Err(Fault::FieldCount { found, expected })
        } else if start == 0 && line.starts_with(BYTE_ORDER_MARK) {
            Err(Fault::ByteOrderMark)
        } else {
            let mut from = start;
            let field = |field: &[u8]| {
                let place = (from, (from + field.len()).min(end));
                from += field.len() + 1;
                place
            };
            Ok(record.iter().map(field).collect())
        };
        // A carriage return ends no line of such a file, so a row keeps it that is set aside.
        let end = if shape.is_err() && ending == LineEnding::Lf {
            start + line.len()
        } else {
            end
        };
        rows.push(Row { start, end, shape });
        start += line.len() + 1;
    }
    assert!(!reader.read_byte_record(&mut record).unwrap());
    rows
}

/// Appends the rows of a chunk that starts at `offset`.
fn join(rows: &mut Vec<Row>, chunk: Vec<Row>, offset: usize) {
    let moved = chunk.into_iter().map(|row| Row {
        start: row.start + offset,
        end: row.end + offset,
        shape: row.shape.map(|fields| {
            fields
                .into_iter()
                .map(|(start, end)| (start + offset, end + offset))
                .collect()
        }),
    });
    rows.extend(moved);
}
