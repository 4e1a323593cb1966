use std::sync::Arc;

use tracelake_schema::{TRACES, Table};

use super::*;

/// The line of a rejects file about a first row of one field.
fn reject(order: &FieldOrder, raw: &str) -> String {
    let reason = format!(
        "1 field where the table has {}: '{raw}'",
        order.fields.len()
    );
    let line =
        serde_json::json!({"line": 1, "byte": 0, "column": null, "reason": reason, "raw": raw});
    format!("{line}\n")
}

/// A table of CSV without a header.
fn plain() -> &'static Arc<Table> {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let is_plain =
        |table: &&Arc<Table>| table.syntax == Syntax::Csv && table.csv.header == Header::None;
    tables.find(is_plain).unwrap()
}

#[test]
fn a_byte_order_mark_after_a_reject_belongs_to_the_value() {
    let directory = tempfile::tempdir().unwrap();
    let [path, rejects] = ["a.csv", "a.ndjson"].map(|name| directory.path().join(name));
    std::fs::write(&path, "x\n\u{feff}v,1\n").unwrap();
    let order = FieldOrder::built_in(plain(), "here");
    std::fs::write(&rejects, reject(&order, "x")).unwrap();
    let mut text = SourceText::open(&Context::new(), &path.as_path().into(), &order).unwrap();
    let mut rows = PartRows::new(&mut text, &order, 0..u64::MAX, Some(&rejects.into())).unwrap();
    assert!(rows.advance().unwrap());
    assert_eq!(rows.record, ByteRecord::from(vec!["\u{feff}v", "1"]));
    assert_eq!((rows.line(), rows.rejected()), (2, 1));
    assert!(!rows.advance().unwrap());
}

/// Quoted CSV after its header.
fn source(text: &str) -> SourceText {
    SourceText {
        path: std::path::PathBuf::new().into(),
        member: None,
        text: BufReader::new(Box::new(io::Cursor::new(text.to_owned()))),
        is_quoted: true,
        csv: Csv::PLAIN,
        pending: None,
        headers_accepted: 0,
        boms_accepted: 0,
        order: None,
        has_index: false,
        is_crlf: false,
        array: None,
        may_end_blank: false,
        row_start: 0,
        row_line: 0,
        row_groups: None,
        bytes: 0,
        lines: 0,
        rows: 0,
    }
}

/// The rows of quoted CSV, each between angle brackets.
fn rows(text: &str) -> String {
    let mut lines = source(text);
    let (mut row, mut all) = (Vec::new(), String::new());
    while lines.next(&mut row).unwrap() {
        all += &format!("<{}>", String::from_utf8_lossy(&row).escape_default());
    }
    all
}

#[test]
fn records_end_at_line_ends_outside_of_quotes() {
    for (text, expected) in [
        ("a,b\nc\n", "<a,b\\n><c\\n>"),
        ("\n\n\n", "<\\n><\\n><\\n>"),
        ("\"a\n\nb\",1\n\nc", "<\\\"a\\n\\nb\\\",1\\n><\\n><c>"),
        ("a\"b\nc\n", "<a\\\"b\\n><c\\n>"),
        ("\"a\"b\"\nc\n", "<\\\"a\\\"b\\\"\\n><c\\n>"),
        ("\"a\"\"\n\"\nb\n", "<\\\"a\\\"\\\"\\n\\\"\\n><b\\n>"),
        ("a\n\"open\nb\n", "<a\\n><\\\"open\\nb\\n>"),
        ("", ""),
    ] {
        assert_eq!(rows(text), expected, "{text:?}");
    }
}

/// A converter that miscounts records would write such rejects.
#[test]
fn a_reject_is_exactly_one_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ndjson");
    let order = FieldOrder::built_in(plain(), "here");
    for (text, raw, says) in [
        ("\n\n\na\n", "\n\n", "not as in the rejects file"),
        ("\"open\na\n", "\"open", "not as in the rejects file"),
        ("b\n\na\n", "b", "a blank line that"),
    ] {
        std::fs::write(&path, reject(&order, raw)).unwrap();
        let mut lines = source(text);
        let mut rows = PartRows::new(
            &mut lines,
            &order,
            0..u64::MAX,
            Some(&path.as_path().into()),
        )
        .unwrap();
        let error = rows.advance().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_row_that_never_ends_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    let order = FieldOrder::built_in(plain(), "here");
    let mut row = Vec::new();
    for (text, ends) in [
        ("x".repeat(LONGEST) + "\r\ny", true),
        ("x".repeat(LONGEST + 1) + "\n", false),
        ("x".repeat(LONGEST * 4), false),
    ] {
        std::fs::write(&path, text).unwrap();
        let mut text = SourceText::open(&Context::new(), &path.as_path().into(), &order).unwrap();
        assert_eq!(text.next(&mut row).is_ok(), ends);
    }
}
