//! Splitting, against a plain twin.

#![cfg(test)]

use super::*;
use proptest::prelude::*;
use tracelake_core::instructions::plainly;
use tracelake_schema::{Csv, Separator};

fn fields<'a>(chunk: &'a [u8], records: &Records, record: usize) -> Vec<&'a [u8]> {
    (0..records.fields)
        .map(|field| {
            let (start, end) = records.field(record, field);
            &chunk[start..end]
        })
        .collect()
}

#[test]
fn splits_records_and_keeps_malformed_ones_apart() {
    let chunk = b"a,b\n\nc\nd,\nx,y,z\n,\ncut,";
    let mut records = Records::default();
    records.split(chunk, 2, LineEnding::Lf);
    assert_eq!(records.len(), 3);
    assert_eq!(fields(chunk, &records, 1), [&b"d"[..], b""]);
    assert_eq!(fields(chunk, &records, 2), [&b""[..], b""]);
    let malformed: Vec<_> = records
        .malformed()
        .iter()
        .map(|reject| (reject.line(), reject.fault))
        .collect();
    let count = |found| Fault::FieldCount { found, expected: 2 };
    assert_eq!(
        malformed,
        [(1, Fault::BlankLine), (2, count(1)), (4, count(3))]
    );
}

#[test]
fn lines_that_are_no_records_are_counted_apart() {
    let csv = Csv {
        header: tracelake_schema::Header::InOrder,
        separator: Separator::Byte(b';'),
        comment: Some(b'#'),
        ..Csv::PLAIN
    };
    let chunk = b"a;b\n1;2\n# no; row\n#\n3\n4;,\n";
    let mut records = Records::default();
    let form = LineForm::of(csv, LineEnding::Lf).after(4, 1);
    records.split(chunk, 2, form);
    assert_eq!((records.len(), records.skipped()), (2, 3));
    assert_eq!(fields(chunk, &records, 1), [&b"4"[..], b","]);
    let mut malformed = records.malformed().to_vec();
    assert_eq!(malformed[0].line(), 1);
    records.count_skipped(&mut malformed);
    assert_eq!(malformed[0].line(), 4);
}

#[test]
fn comments_between_malformed_rows_are_counted() {
    let csv = Csv {
        comment: Some(b'#'),
        ..Csv::PLAIN
    };
    let mut records = Records::default();
    let form = LineForm::of(csv, LineEnding::Lf);
    records.split(b"1\n#\n2,3\n#\n4\n", 2, form);
    assert_eq!((records.len(), records.skipped()), (1, 2));
    let mut malformed = records.malformed().to_vec();
    let lines = |malformed: &[Reject]| malformed.iter().map(Reject::line).collect::<Vec<_>>();
    assert_eq!(lines(&malformed), [0, 2]);
    records.count_skipped(&mut malformed);
    assert_eq!(lines(&malformed), [0, 4]);
}

#[test]
fn fields_can_have_several_bytes_between_them() {
    let form = |separator, comment| {
        let csv = Csv {
            separator,
            comment,
            ..Csv::PLAIN
        };
        LineForm::of(csv, LineEnding::Lf)
    };
    let chunk = b"; comment\n  1   -1\n2\t3 \n\n \n4\n5 6 7\n8 9\nunended 1";
    let mut records = Records::default();
    records.split(chunk, 2, form(Separator::Blanks, Some(b';')));
    assert_eq!((records.len(), records.skipped()), (3, 1));
    assert_eq!(fields(chunk, &records, 0), [&b"1"[..], b"-1"]);
    assert_eq!(fields(chunk, &records, 1), [&b"2"[..], b"3"]);
    let (start, end) = records.record(0);
    assert_eq!(&chunk[start..end], b"  1   -1");
    let second: Vec<_> = records.column(1, 1..3).iter().collect();
    assert_eq!(second.len(), 2);
    assert_eq!(&chunk[second[1].0..second[1].1], b"9");
    let count = |found| Fault::FieldCount { found, expected: 2 };
    let malformed: Vec<_> = records
        .malformed()
        .iter()
        .map(|one| (one.line(), one.fault))
        .collect();
    let blank = Fault::BlankLine;
    assert_eq!(
        malformed,
        [(2, blank), (3, count(0)), (4, count(1)), (5, count(3))]
    );
    let before = records.len();
    records.retain(|record, _| Ok(record == 2));
    assert_eq!((records.len(), records.not_selected()), (1, before - 1));
    assert_eq!(fields(chunk, &records, 0), [&b"8"[..], b"9"]);

    let chunk = b"a;\tb\n;\t\nc;d\n";
    records.split(chunk, 2, form(Separator::several(";\t"), None));
    assert_eq!(fields(chunk, &records, 0), [&b"a"[..], b"b"]);
    assert_eq!(fields(chunk, &records, 1), [&b""[..], b""]);
    assert_eq!(records.malformed()[0].fault, count(1));
    records.refuse_first(Fault::ByteOrderMark);
    assert_eq!(fields(chunk, &records, 0), [&b""[..], b""]);
}

#[test]
fn blanks_around_fields_are_cut_off() {
    for (separator, chunk) in [
        (Separator::Byte(b','), &b"# c\n 1 ,\tb c\n2,  \n 3\n"[..]),
        (Separator::Byte(b'\t'), b"# c\n 1 \tb c \n2\t  \n 3\n"),
        (Separator::several(",\t"), b"# c\n 1 ,\t b c\n2,\t\n 3\n"),
    ] {
        let csv = Csv {
            separator,
            comment: Some(b'#'),
            trim: true,
            ..Csv::PLAIN
        };
        let mut records = Records::default();
        records.split(chunk, 2, LineForm::of(csv, LineEnding::Lf));
        assert_eq!((records.len(), records.skipped()), (2, 1));
        assert_eq!(fields(chunk, &records, 0), [&b"1"[..], b"b c"]);
        assert_eq!(fields(chunk, &records, 1), [&b"2"[..], b""]);
        let (start, end) = records.record(0);
        assert_eq!(chunk[start..end].first_chunk(), Some(b" 1 "));
        let malformed = &records.malformed()[0];
        assert_eq!((malformed.line(), &chunk[malformed.row()]), (2, &b" 3"[..]));
    }
}

#[test]
fn a_column_is_read_from_any_record() {
    let chunk = b"a,b\nc,dd\ne,\ng,h\n";
    let csv = Csv {
        separator: Separator::several(","),
        ..Csv::PLAIN
    };
    let text = LineForm::of(csv, LineEnding::Lf);
    for form in [LineForm::from(LineEnding::Lf), text] {
        let mut records = Records::default();
        records.split(chunk, 2, form);
        let column = records.column(1, 0..4);
        let field = |(start, end): (usize, usize)| &chunk[start..end];
        let all: Vec<&[u8]> = column.iter().map(field).collect();
        assert_eq!(all, [&b"b"[..], b"dd", b"", b"h"]);
        for record in 0..4 {
            assert_eq!(field(column.get(record)), all[record]);
            let after: Vec<&[u8]> = column.after(record).iter().map(field).collect();
            assert_eq!(after, all[record..]);
        }
    }
}

#[test]
fn the_first_record_can_be_refused() {
    let chunk = b"a,b\nc,d\n\n";
    let mut records = Records::default();
    records.split(chunk, 2, LineEnding::Lf);
    for _ in 0..2 {
        records.refuse_first(Fault::ByteOrderMark);
        assert_eq!(records.len(), 1);
        assert_eq!(records.offsets.all().len(), records.arrangement.step);
        assert_eq!(fields(chunk, &records, 0), [&b"c"[..], b"d"]);
        let malformed: Vec<_> = records.malformed().iter().map(Reject::line).collect();
        assert_eq!(malformed, [0, 2]);
    }
}

#[test]
fn nothing_can_be_refused_in_a_chunk_without_records() {
    let mut records = Records::default();
    for chunk in [&b""[..], b"cut,"] {
        records.split(chunk, 2, LineEnding::Lf);
        records.refuse_first(Fault::ByteOrderMark);
        assert!(records.is_empty() && records.malformed().is_empty());
    }
}

#[test]
#[should_panic(expected = "a record has a field")]
fn records_have_fields() {
    Records::default().split(b"a\n", 0, LineEnding::Lf);
}

#[test]
fn kept_records_know_their_lines() {
    let chunk = b"bad\na,b\nc,d\nbad\nbad\ne,f\ng,h\n";
    let mut records = Records::default();
    records.split(chunk, 2, LineEnding::Lf);
    assert_eq!((records.line(0), records.not_selected()), (None, 0));
    records.retain(|record, _| match record {
        0 => Ok(false),
        2 => Err((1, Fault::NotInteger)),
        _ => Ok(true),
    });
    assert_eq!((records.len(), records.not_selected()), (3, 1));
    assert_eq!(records.faults(), [(1, 1, Fault::NotInteger)]);
    let lines = [0, 1, 2, 3].map(|record| records.line(record));
    assert_eq!(lines, [Some(2), Some(5), Some(6), None]);
    assert_eq!(fields(chunk, &records, 0), [&b"c"[..], b"d"]);
    assert_eq!(fields(chunk, &records, 2), [&b"g"[..], b"h"]);
    // Another chunk starts over.
    records.split(chunk, 2, LineEnding::Lf);
    assert_eq!((records.line(0), records.not_selected()), (None, 0));
    assert!(records.faults().is_empty());
}

/// A line that is blank but for a carriage return is blank, and that of another ending is part of the row.
#[test]
fn malformed_rows_are_those_of_the_lines() {
    let chunk = b"\n\r\na\na,b\r\na\r\n";
    let lines: Vec<&[u8]> = chunk.split_inclusive(|&byte| byte == b'\n').collect();
    let malformed = |ending: LineEnding| {
        let mut records = Records::default();
        records.split(chunk, 2, ending);
        let mut rejects = Vec::new();
        for reject in records.malformed() {
            let (row, fault) = (&chunk[reject.row()], reject.fault);
            if !matches!(fault, Fault::FieldCount { .. }) {
                assert_eq!(ending.body(lines[reject.line()]), (row, Some(fault)));
            }
            rejects.push((row, fault));
        }
        rejects
    };
    let count = Fault::FieldCount {
        found: 1,
        expected: 2,
    };
    let (blank, other) = (Fault::BlankLine, Fault::LineEnding);
    assert_eq!(
        malformed(LineEnding::Lf),
        [
            (&b""[..], blank),
            (b"\r", blank),
            (b"a", count),
            (b"a,b\r", other),
            (b"a\r", other)
        ]
    );
    assert_eq!(
        malformed(LineEnding::CrLf),
        [
            (&b""[..], blank),
            (b"", blank),
            (b"a", other),
            (b"a", count)
        ]
    );
}

fn chunks() -> impl Strategy<Value = Vec<u8>> {
    let line = "[a,]{0,9}|[a-z]{0,40}(,[0-9]{0,30}){2}\r?|,{30,70}";
    let lines = prop::collection::vec(line, 0..40);
    lines.prop_map(|lines| lines.join("\n").into_bytes())
}

fn endings() -> impl Strategy<Value = LineEnding> {
    prop_oneof![Just(LineEnding::Lf), Just(LineEnding::CrLf)]
}

fn equals_the_plain_twin(chunk: &[u8], ending: LineEnding) -> Result<(), TestCaseError> {
    let (mut split, mut plain) = (Records::default(), Records::default());
    plain.begin(3, Arrangement::neighbours(3), ending.into());
    plain.split_blocks(
        chunk,
        ending.into(),
        |block| masks::plain(block, b','),
        masks::positions,
    );
    split.split(chunk, 3, ending);
    prop_assert_eq!(split.count, plain.count);
    prop_assert_eq!(split.offsets.all(), plain.offsets.all());
    prop_assert_eq!(&split.malformed, &plain.malformed);
    Ok(())
}

proptest! {
    #[test]
    #[cfg_attr(not(avx512_vbmi2), ignore = "needs a processor with AVX-512 and VBMI2")]
    fn splitting_with_avx_512_equals_the_plain_twin(chunk in chunks(), ending in endings()) {
        equals_the_plain_twin(&chunk, ending)?;
    }

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "needs SSE2; this would be the plain twin twice")]
    fn splitting_with_sse2_equals_the_plain_twin(chunk in chunks(), ending in endings()) {
        plainly(|| equals_the_plain_twin(&chunk, ending))?;
    }

    /// A mark and a header before the first record change nothing but the places of the records.
    #[test]
    fn records_may_begin_after_something_else(
        chunk in chunks(),
        ending in endings(),
        first in "(\u{feff})?([a,]{0,40}\n){0,3}",
        is_text in any::<bool>(),
    ) {
        let separator = if is_text { Separator::several(",") } else { Separator::Byte(b',') };
        let form = LineForm::of(Csv { separator, ..Csv::PLAIN }, ending);
        let (mut alone, mut after) = (Records::default(), Records::default());
        alone.split(&chunk, 3, form);
        let both = [first.as_bytes(), &chunk].concat();
        let lines = first.matches('\n').count();
        after.split(&both, 3, form.after(first.len(), lines));
        prop_assert_eq!((alone.len(), lines), (after.len(), after.skipped()));
        for record in 0..alone.len() {
            prop_assert_eq!(fields(&chunk, &alone, record), fields(&both, &after, record));
        }
        let rows = |records: &Records, chunk: &[u8]| -> Vec<_> {
            let mut rejects = records.malformed().to_vec();
            records.count_skipped(&mut rejects);
            let row = |reject: &Reject| (reject.line(), chunk[reject.row()].to_vec());
            rejects.iter().map(row).collect()
        };
        let mut expected = rows(&alone, &chunk);
        expected.iter_mut().for_each(|(line, _)| *line += lines);
        prop_assert_eq!(expected, rows(&after, &both));
    }

    /// A separator of one byte is also one of a text.
    #[test]
    fn texts_of_one_byte_split_as_the_byte_does(chunk in chunks(), ending in endings()) {
        let (mut byte, mut text) = (Records::default(), Records::default());
        byte.split(&chunk, 3, ending);
        let csv = Csv { separator: Separator::several(","), ..Csv::PLAIN };
        text.split(&chunk, 3, LineForm::of(csv, ending));
        prop_assert_eq!(byte.count, text.count);
        prop_assert_eq!(&byte.malformed, &text.malformed);
        for record in 0..byte.count {
            prop_assert_eq!(byte.record(record), text.record(record));
            for field in 0..3 {
                prop_assert_eq!(byte.field(record, field), text.field(record, field));
            }
        }
    }
}
