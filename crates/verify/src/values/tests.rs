use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tracelake_convert::part::{Beginning, PartRows, ReadProgress, TableText, convert_part};
use tracelake_core::digest::Digest;
use tracelake_core::options::Format;
use tracelake_core::part_key::PartKey;
use tracelake_encode::output::OutputSettings;
use tracelake_lake::manifest::FileFacts;
use tracelake_source::Source;
use tracelake_testkit::every_kind::{TABLE as JSON, exported, mutations, quoted_line};
use tracelake_testkit::nested::as_quoted;

use super::*;

static QUOTED: LazyLock<Arc<Table>> = LazyLock::new(|| as_quoted(&JSON));

fn rows() -> Vec<Value> {
    let full = json!({
        "time": 9_007_199_254_740_993_i64,
        "event": -1,
        "share": 0.1 + 0.2,
        "done": true,
        "user": "a \"b\",\nc",
        "usage": { "cpus": 1e-5, "memory": null },
        "rules": [{ "name": "it's \"\\é", "relation": 3 }, { "name": "", "relation": null }],
        "after": [1, 2, 2],
        "since": "2024-02-29T23:59:58.000001+08:00",
    });
    let hollow = json!({ "time": 1, "usage": {}, "rules": [] });
    vec![full, json!({ "time": 1 }), hollow]
}

fn text(table: &Table, rows: &[Value]) -> String {
    if table.syntax == Syntax::Json {
        let lines = rows.iter().map(exported);
        return lines.map(|line| format!("{line}\n")).collect();
    }
    let header = table.columns.iter().map(|column| &*column.content);
    let mut text = header.collect::<Vec<_>>().join(",") + "\n";
    for (index, row) in rows.iter().enumerate() {
        text += &(quoted_line(row, index % 2 == 0, false) + "\n");
    }
    text
}

/// A source and the lake made from it, in one directory.
struct Pair {
    directory: tempfile::TempDir,
    order: FieldOrder,
    part: PartFacts,
}

impl Pair {
    fn new(table: &Arc<Table>, text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let order = FieldOrder::built_in(table, "here");
        let path = directory.path().join("source");
        std::fs::write(&path, text).unwrap();
        let mut source = Source::open(&Context::new(), &path).unwrap();
        let mut rejects = Vec::new();
        let beginning = Beginning::of(&mut source, Cow::Borrowed(&order)).unwrap();
        let mut reading = TableText::new(&mut source, &beginning, None);
        assert!(reading.next_part().unwrap());
        let (converted, parquet) = convert_part(
            PartRows::Text(&mut reading),
            &order,
            OutputSettings::DEFAULT,
            Vec::new(),
            &mut |bad| {
                rejects.extend(bad.to_json()?);
                Ok(())
            },
            &mut ReadProgress::new(&Context::new()),
        )
        .unwrap();
        std::fs::write(directory.path().join("lake"), parquet).unwrap();
        std::fs::write(directory.path().join("rejects"), rejects).unwrap();
        let none = || FileFacts {
            path: String::new(),
            bytes: 0,
            sha256: Digest::of(b""),
        };
        let key = PartKey {
            cell: None,
            file_number: 0,
        };
        let mut part = PartFacts::new(key, none(), none());
        part.rows_in = converted.rows_in;
        part.rows_out = converted.rows_out;
        part.rows_rejected = converted.rows_rejected;
        part.sentinels_mapped = converted.sentinels_mapped;
        Self {
            directory,
            order,
            part,
        }
    }

    /// Compares the lake with another text than the one that it was made from.
    fn verify(&mut self, text: &str) -> Result<u64> {
        let path = |name: &str| self.directory.path().join(name);
        std::fs::write(path("source"), text).unwrap();
        let fingerprint = tracelake_source::fingerprint(&Context::new(), path("source")).unwrap();
        self.part.source.sha256 = fingerprint.sha256;
        self.part.source.bytes = fingerprint.bytes;
        let mut file = SourceFile {
            context: Context::new(),
            is_cut: false,
            is_parquet: false,
            holds_parts: false,
            order: self.order.clone(),
            path: path("source").into(),
            fingerprints: [(u64::MAX, fingerprint)].into(),
            part_rows: None,
            text: None,
            archive: None,
        };
        let output = Output::open(&path("lake").into(), Format::Parquet).unwrap();
        output.check_statistics(&Context::new()).unwrap();
        let rejects = path("rejects");
        verify_values(
            &mut file,
            &self.order.table,
            &self.part,
            output,
            Some(&rejects.clone().into()),
        )
    }
}

#[test]
fn every_mutation_of_a_nested_value_is_found() {
    for table in [&JSON, &QUOTED] {
        let rows = rows();
        let mut pair = Pair::new(table, &text(table, &rows));
        assert_eq!(pair.part.rows_out, 3);
        assert_eq!(pair.verify(&text(table, &rows)).unwrap(), 27);
        let mut tried = 0;
        for (row, values) in rows.iter().enumerate() {
            for column in &*table.columns {
                for other in mutations(&values[&*column.content], column) {
                    let mut mutated = rows.clone();
                    mutated[row][&*column.content] = other;
                    let error = pair.verify(&text(table, &mutated)).unwrap_err();
                    let expected = format!("{}.{}", table.name, column.name);
                    assert_eq!(error.place().field, Some(expected), "{error}");
                    // The first row takes two lines.
                    let quoted = table.syntax == Syntax::QuotedCsv;
                    let lines = text(table, &mutated[..row]).lines().count();
                    assert_eq!(
                        error.place().line,
                        Some(lines as u64 + 1),
                        "{error} {quoted}"
                    );
                    tried += 1;
                }
            }
            let mut dropped = rows.clone();
            dropped.remove(row);
            pair.verify(&text(table, &dropped)).unwrap_err();
        }
        assert!(tried > 40, "{tried}");
    }
}

/// Spellings that the documented rule allows and that libraries read in another way or not at all.
#[test]
fn honest_spellings_are_no_findings() {
    let (numbers, [first, second]) = (|text: &str| text.to_owned(), [0, 7]);
    let contents = |column: usize| &*JSON.columns[column].content;
    let json = format!(
        "{{\"{}\":-0,\"{}\":[\"007\",-0,\"00\"]}}\n",
        contents(first),
        contents(second)
    );
    let mut header = JSON
        .columns
        .iter()
        .map(|column| &*column.content)
        .collect::<Vec<_>>()
        .join(",");
    let inner = &JSON.columns[5].fields[0].content;
    header.push('\n');
    let quoted = format!("{header}-0,007,007,,,\"{{'{inner}': 007}}\",,\"[007, 00, -0]\",\n");
    for (table, text) in [(&JSON, numbers(&json)), (&QUOTED, numbers(&quoted))] {
        let mut pair = Pair::new(table, &text);
        assert_eq!(
            (pair.part.rows_out, pair.part.rows_rejected),
            (1, 0),
            "{text}"
        );
        assert_eq!(pair.verify(&text).unwrap(), 9, "{text}");
        let other = text.replace("007", "008");
        pair.verify(&other).unwrap_err();
    }
}

#[test]
fn rejected_rows_are_left_out_whole() {
    let good = text(&QUOTED, &rows());
    let bad = "x,,,,\"two\nlines\",,,,\n\n1,,,,a\"b,,,,\n";
    let text = good.clone() + bad + good.split_once('\n').unwrap().1;
    let mut pair = Pair::new(&QUOTED, &text);
    assert_eq!((pair.part.rows_in, pair.part.rows_rejected), (9, 3));
    assert_eq!(pair.verify(&text).unwrap(), 54);
    let error = pair
        .verify(&text.replace("two\nlines", "two\nlinez"))
        .unwrap_err();
    assert!(
        error.to_string().contains("not as in the rejects file"),
        "{error}"
    );
}

/// A table of plain fields, in another order than its columns.
static PLAIN: LazyLock<Arc<Table>> = LazyLock::new(|| {
    Arc::new(Table {
        syntax: Syntax::Csv,
        columns: JSON.columns[..5].into(),
        fields: vec![4, 3, 2, 1, 0],
        ..(**JSON).clone()
    })
});

#[test]
fn every_field_is_compared_with_its_own_column() {
    let text = "abc,1,0.5,7,3\nd,0,1e-5,-1,18446744073709551615\n,,,,1\n";
    let mut pair = Pair::new(&PLAIN, text);
    assert_eq!((pair.part.rows_out, pair.part.sentinels_mapped), (3, 1));
    assert_eq!(pair.verify(text).unwrap(), 15);
    for (from, to, field) in [
        ("abc", "abd", "user"),
        ("d,0", "d,1", "done"),
        ("0.5", "0.50000001", "share"),
        (",7,", ",,", "event"),
        (",7,3", ",7,4", "time"),
        (",,,,1", ",,,0,1", "event"),
        ("18446744073709551615", "18446744073709551614", "time"),
    ] {
        let changed = text.replacen(from, to, 1);
        let error = pair.verify(&changed).unwrap_err();
        assert_eq!(
            error.place().field,
            Some(format!("jobs.{field}")),
            "{error}"
        );
    }
}
