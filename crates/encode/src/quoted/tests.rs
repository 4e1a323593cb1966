//! Rows written by hand and at random, and every fault.

#![cfg(test)]

use std::sync::Arc;

use proptest::prelude::*;
use tracelake_schema::Table;
use tracelake_testkit::every_kind::{SPELLED, TABLE, quoted_line, respelled_row};

use super::*;
use crate::samples::{described, object};

fn order() -> FieldOrder {
    FieldOrder::built_in(&TABLE, "here")
}

const COMMA: Separator = Separator::Byte(b',');

/// All records of a text, and their fields.
fn fields_of(text: &str, separator: Separator) -> Vec<Result<Vec<String>, Fault>> {
    let mut records = QuotedRecords::new(separator);
    assert_eq!(records.split(text.as_bytes(), true, u64::MAX), text.len());
    let raw = |range: &Range<usize>| text[range.clone()].strip_suffix('\n').unwrap().as_bytes();
    let fields = |(index, range)| {
        let fields = records.fields(index, raw(range));
        let fields = fields.map_err(|reject| reject.fault)?.into_iter();
        Ok(fields
            .map(|(_, value)| String::from_utf8(value.into_owned()).unwrap())
            .collect())
    };
    records.ranges().iter().enumerate().map(fields).collect()
}

/// The records that the csv crate finds; it accepts any text.
fn by_the_crate(text: &str, separator: u8) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    reader
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .terminator(csv::Terminator::Any(b'\n'));
    let records = reader.from_reader(text.as_bytes()).into_records();
    records
        .map(|record| record.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

const HEADER: &str = "time,event,share,done,user,usage,rules,after,since\n";

/// All rows of a text, read as one chunk.
fn rows(text: &str, ending: LineEnding) -> Vec<Result<Row, (String, String, Fault)>> {
    rows_of(&TABLE, text, ending)
}

fn rows_of(
    table: &Arc<Table>,
    text: &str,
    ending: LineEnding,
) -> Vec<Result<Row, (String, String, Fault)>> {
    let mut records = QuotedRecords::new(COMMA);
    let order = FieldOrder::built_in(table, "here");
    let text = [
        HEADER.replace(
            '\n',
            if ending == LineEnding::Lf {
                "\n"
            } else {
                "\r\n"
            },
        ),
        text.to_owned(),
    ]
    .concat();
    assert_eq!(records.split(text.as_bytes(), true, u64::MAX), text.len());
    records
        .take_header(text.as_bytes(), &order, ending)
        .unwrap();
    let ranges = records.ranges().iter().enumerate();
    ranges
        .map(|(index, range)| {
            let (raw, fault) = ending.body(&text.as_bytes()[range.clone()]);
            match fault {
                Some(fault) => Err(described(Reject::new(0..raw.len(), fault), raw)),
                None => records
                    .row(index, raw, &order)
                    .map_err(|reject| described(reject, raw)),
            }
        })
        .collect()
}

#[track_caller]
fn one(text: &str) -> Result<Row, (String, String, Fault)> {
    let mut rows = rows(&format!("{text}\n"), LineEnding::Lf);
    assert_eq!(rows.len(), 1, "{text}");
    rows.remove(0)
}

#[test]
fn cells_are_what_python_and_numpy_print() {
    let text = "7,3,1e-05,True,\"a \"\"b\"\",\nc\",\"{'cpus': 0.5, 'memory': None}\",\
                    \"[{'name': 'it\\'s', 'relation': 1}\n {'name': \"\"\\x41\"\", 'relation': None}]\",\
                    \"[1 -2\n  3]\",2024-02-29 23:59:58Z";
    let row = one(text).unwrap();
    let rule = |name: &str, relation| Cell::Struct(vec![Cell::Text(name.to_owned()), relation]);
    assert_eq!(
        row.cells,
        [
            Cell::Integer(7),
            Cell::Code(3),
            Cell::Float(1e-5),
            Cell::Boolean(true),
            Cell::Text("a \"b\",\nc".to_owned()),
            Cell::Struct(vec![Cell::Float(0.5), Cell::Null]),
            Cell::List(vec![rule("it's", Cell::Code(1)), rule("A", Cell::Null)]),
            Cell::List([1, -2, 3].map(Cell::Integer).to_vec()),
            Cell::Text("2024-02-29 23:59:58Z".to_owned()),
        ]
    );
    let row = one("18446744073709551615,,,,,{},[],\"[1, 2]\",").unwrap();
    assert_eq!(row.others.sentinels, 1);
    assert_eq!(row.cells[5], Cell::Struct(vec![Cell::Null, Cell::Null]));
    assert_eq!(row.cells[6], Cell::List(vec![]));
    assert_eq!(row.cells[7], Cell::List([1, 2].map(Cell::Integer).to_vec()));
    assert_eq!(row.cells[4], Cell::Null);
}

#[test]
fn a_text_may_be_a_number_as_it_is_spelled() {
    let text = "1,,,,,,\"[{'name': 18446744073709551615}, {'name': 1.}]\",,\n\
                2,,,,,,[{'name': x1}],,\n";
    let rows = rows_of(&SPELLED, text, LineEnding::Lf);
    let name = |text: &str| Cell::Struct(vec![Cell::Text(text.to_owned()), Cell::Null]);
    let names = [name("18446744073709551615"), name("1.")];
    assert_eq!(
        rows[0].as_ref().unwrap().cells[6],
        Cell::List(names.to_vec())
    );
    assert_eq!(rows[1].as_ref().unwrap_err().2, Fault::NotText);
}

#[test]
fn a_fault_names_its_column_and_its_place() {
    let row = |column: usize, cell: &str| {
        let mut cells = ["1", "", "", "", "", "", "", "", ""];
        cells[column] = cell;
        cells.join(",")
    };
    let cases = [
        (0, "", "time", "", Fault::Empty),
        (0, "x", "time", "x", Fault::NotInteger),
        (0, "1.5", "time", "1.5", Fault::NotInteger),
        (
            0,
            "1000000000000000.0",
            "time",
            "1000000000000000.0",
            Fault::NotInteger,
        ),
        (0, "1e3", "time", "1e3", Fault::NotInteger),
        (
            1,
            "2147483648",
            "event",
            "2147483648",
            Fault::OutOfRange { bits: 32 },
        ),
        (2, "nan", "share", "nan", Fault::NotNumber),
        (2, "inf", "share", "inf", Fault::NotNumber),
        (3, "yes", "done", "yes", Fault::NotPythonTruth),
        (4, "a\0", "user", "a\0", Fault::Control { byte: 0 }),
        (5, "1", "usage", "1", Fault::NotStruct),
        (
            5,
            "\"{'cpus': nan}\"",
            "usage.cpus",
            "nan",
            Fault::NotNumber,
        ),
        (
            5,
            "\"{'cpus': 1, 'cpus': 1}\"",
            "usage",
            "'cpus'",
            Fault::DoubleKey,
        ),
        (5, "\"{'gpus': 1}\"", "usage", "'gpus'", Fault::UnknownKey),
        (5, "\"{'cpus': 1,}\"", "usage", "}", Fault::NotPython),
        (5, "\"{'cpus' 1}\"", "usage", "1}", Fault::NotPython),
        (5, "{cpus: 1}", "usage", "cpus: 1}", Fault::NotPython),
        (5, "{'cpus': 1} x", "usage", "x", Fault::NotPython),
        (
            6,
            "[{'name': 'a'}{'name': 'b'}]",
            "rules",
            "{'name': 'b'}]",
            Fault::NotPython,
        ),
        (
            6,
            "[{'name': 'a}]",
            "rules[0].name",
            "'a}]",
            Fault::NotPython,
        ),
        (
            6,
            "[{'name': '\\q'}]",
            "rules[0].name",
            "\\q'}]",
            Fault::NotPython,
        ),
        (
            6,
            "[{'name': '\\ud800'}]",
            "rules[0].name",
            "\\ud800'}]",
            Fault::NotPython,
        ),
        (6, "[{}]", "rules[0].name", "{}", Fault::Absent),
        (
            6,
            "\"[{\"\"name\"\": 1}]\"",
            "rules[0].name",
            "1",
            Fault::NotText,
        ),
        (6, "[None]", "rules[0]", "None", Fault::Absent),
        (7, "[1 2 ... 8 9]", "after[2]", "...", Fault::Elided),
        (7, "\"[1, 2, ..., 9]\"", "after[2]", "...", Fault::Elided),
        (7, "[1. 2.]", "after[0]", "1.", Fault::NotInteger),
        (7, "\"[1, 2 3]\"", "after", "3]", Fault::NotPython),
        (7, "[1", "after", "", Fault::NotPython),
        (7, "['1']", "after[0]", "'1']", Fault::NotInteger),
        (7, "5", "after", "5", Fault::NotList),
        (8, "2024-02-29", "since", "2024-02-29", Fault::NotDateTime),
        (
            8,
            "2024-02-29 00:00:00",
            "since",
            "2024-02-29 00:00:00",
            Fault::NoZone,
        ),
    ];
    for (column, cell, path, field, fault) in cases {
        let (found, shown, why) = one(&row(column, cell)).unwrap_err();
        assert_eq!(
            (found.as_str(), shown.as_str(), why),
            (path, field, fault),
            "{cell}"
        );
    }
}

#[test]
fn what_is_no_quoted_csv_is_a_fault() {
    let faults = |text: &str, ending| -> Vec<Option<Fault>> {
        let rows = rows(text, ending).into_iter();
        rows.map(|row| row.err().map(|(_, _, fault)| fault))
            .collect()
    };
    let good = "1,,,,,,,,";
    let lf = |text: &str| faults(text, LineEnding::Lf);
    assert_eq!(
        lf(&format!("{good}\n\n\n{good}\n\n")),
        [
            None,
            Some(Fault::BlankLine),
            Some(Fault::BlankLine),
            None,
            Some(Fault::BlankLine)
        ]
    );
    for stray in [
        "1,,,,a\"b,,,,\n",
        "1,,,,\"a\"b,,,,\n",
        "1,,,,\"a\" ,,,,\n",
        "1,,,,a\rb,,,,\n",
    ] {
        assert_eq!(
            lf(&format!("{stray}{good}\n")),
            [Some(Fault::StrayQuote), None],
            "{stray}"
        );
    }
    assert_eq!(
        lf("1,,,,,,,\n"),
        [Some(Fault::FieldCount {
            found: 8,
            expected: 9
        })]
    );
    assert_eq!(
        lf(&format!("{good}\r\n{good}\n")),
        [Some(Fault::LineEnding), None]
    );
    assert_eq!(
        lf(&format!("{good}\n1,\"\n{good}\n")),
        [None, Some(Fault::OpenQuote)]
    );
    let crlf = |text: &str| faults(text, LineEnding::CrLf);
    assert_eq!(
        crlf(&format!(
            "{good}\r\n{good}\n1,,,,\"a\r\nb\",,,\"[]\",\r\n\r\n"
        )),
        [None, Some(Fault::LineEnding), None, Some(Fault::BlankLine)]
    );
}

#[test]
fn another_header_is_refused() {
    for (header, says) in [
        ("", "there is no header"),
        (
            "time,event,share,done,user,usage,rules,after\n",
            "field 9 of the header is nothing",
        ),
        (
            "time,event,share,done,user,usage,after,rules,since\n",
            "field 7 of the header is 'after', not 'rules'",
        ),
        (
            "time,event,share,done,user,usage,rules,after,since,\n",
            "10 fields where the table has 9",
        ),
        ("\n", "a blank line"),
        ("time,event,\"share\n", "does not end"),
    ] {
        let mut records = QuotedRecords::new(COMMA);
        records.split(header.as_bytes(), true, u64::MAX);
        let refused = records.take_header(header.as_bytes(), &order(), LineEnding::Lf);
        assert!(refused.clone().unwrap_err().1.contains(says), "{refused:?}");
    }
}

#[test]
fn what_is_not_whole_is_left() {
    let text = "a,b\n\"c\nd\",e\nf,\"g\n";
    let mut records = QuotedRecords::new(COMMA);
    assert_eq!(records.split(text.as_bytes(), false, u64::MAX), 12);
    assert_eq!(records.ranges(), [0..4, 4..12]);
    assert_eq!(records.split(text.as_bytes(), true, u64::MAX), text.len());
    assert_eq!(records.ranges().len(), 3);
    assert_eq!(records.split(text.as_bytes(), false, 1), 4);
    assert_eq!(records.split(b"\"a\n", false, u64::MAX), 0);
}

proptest! {
    #[test]
    fn any_row_comes_back(
        // An empty field is NULL.
        expected in prop::collection::vec(object(&TABLE.columns, Some("[ -~é\n]{1,12}")), 0..5),
        numpy in any::<bool>(),
        crlf in any::<bool>(),
        always in any::<bool>(),
        choices in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        let lines = expected.iter().map(|(_, row)| quoted_line(row, numpy, always));
        let text: String = lines.map(|line| line + if crlf { "\r\n" } else { "\n" }).collect();
        let ending = if crlf { LineEnding::CrLf } else { LineEnding::Lf };
        let found: Vec<_> = rows(&text, ending).into_iter().map(|row| row.unwrap().cells).collect();
        let cells: Vec<_> = expected.iter().map(|(cells, _)| cells.clone()).collect();
        prop_assert_eq!(format!("{found:?}"), format!("{cells:?}"));
        let respelled = expected.iter().map(|(_, row)| respelled_row(row, &choices));
        let lines = respelled.map(|row| quoted_line(&row, numpy, always));
        let text: String = lines.map(|line| line + if crlf { "\r\n" } else { "\n" }).collect();
        let found = rows_of(&SPELLED, &text, ending).into_iter();
        let found: Vec<_> = found.map(|row| row.unwrap().cells).collect();
        prop_assert_eq!(format!("{found:?}"), format!("{cells:?}"));
    }

    #[test]
    fn any_fields_come_back(
        records in prop::collection::vec(prop::collection::vec("[ab;:\t,\"\n]{0,5}", 2..5), 0..5),
        separator in prop::sample::select(vec![",", ";", "\t", ";\t", "::", ";;;"]),
        always in any::<bool>(),
    ) {
        let quoted = |field: &String| match always || field.contains(['"', '\n', ';', ':', '\t', ',']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        };
        let line = |record: &Vec<String>| record.iter().map(quoted).collect::<Vec<_>>().join(separator) + "\n";
        let text: String = records.iter().map(line).collect();
        let kind = match *separator.as_bytes() {
            [byte] => Separator::Byte(byte),
            _ => Separator::several(separator),
        };
        let found: Result<Vec<_>, _> = fields_of(&text, kind).into_iter().collect();
        prop_assert_eq!(found, Ok(records));
    }

    #[test]
    fn fields_without_faults_are_those_of_the_csv_crate(text in "[a;,\"\n]{0,30}", separator in prop::sample::select(vec![b',', b';'])) {
        let found = fields_of(&(text.clone() + "\n"), Separator::Byte(separator));
        let found: Result<Vec<_>, _> = found.into_iter().collect();
        if let Ok(mut found) = found {
            // The crate passes over blank lines.
            let is_blank = |fields: &Vec<String>| *fields == [""];
            let mut by_the_crate = by_the_crate(&text, separator);
            found.retain(|fields| !is_blank(fields));
            by_the_crate.retain(|fields| !is_blank(fields));
            prop_assert_eq!(found, by_the_crate);
        }
    }

    #[test]
    fn any_text_is_rows_and_faults(text in "[ -~\n\"\",']{0,60}", bytes in any::<Vec<u8>>()) {
        rows(&(text + "\n"), LineEnding::Lf);
        let mut records = QuotedRecords::new(COMMA);
        let chunk = [&bytes[..], b"\n"].concat();
        prop_assert_eq!(records.split(&chunk, true, u64::MAX), chunk.len());
        let ranges = records.ranges().iter().enumerate();
        for (index, range) in ranges {
            let raw = &chunk[range.start..range.end - 1];
            if let Err(reject) = records.row(index, raw, &order()) {
                prop_assert!(raw.get(reject.field()).is_some());
            }
        }
    }
}
