//! Lines that are rows, lines that are not, and the two readers of one line.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use proptest::prelude::*;
use tracelake_core::field_order::{SampleRule, TimeRule};
use tracelake_core::selection::Sample;
use tracelake_schema::arrow::arrow_schema;

use super::*;
use crate::cell::tests::{TABLE, described};
use crate::column_values::{self, ReadRows};
use crate::row_fields::{RowFields, RowTexts};

fn read(line: &str) -> Result<Row, Reject> {
    row(line.as_bytes(), &TABLE.columns.into())
}

#[track_caller]
fn bad(line: &str) -> (String, String, Fault) {
    described(read(line).unwrap_err(), line.as_bytes())
}

#[test]
fn values_may_be_strings_or_numbers() {
    let line = r#" {"user":"a\u00e9\n","time":"18446744073709551615","event":"-3","share":"1e-5",
        "usage":{"memory":0.1},"done":false,"after":["1",2],
        "rules":[{"relation":null,"name":""}]} "#;
    let row = read(line).unwrap();
    assert_eq!(row.mapped, 1);
    let rule = Cell::Struct(vec![Cell::Text(String::new()), Cell::Null]);
    assert_eq!(
        row.cells,
        [
            Cell::Integer(i64::MAX),
            Cell::Code(-3),
            Cell::Float(1e-5),
            Cell::Boolean(false),
            Cell::Text("aé\n".to_owned()),
            Cell::Struct(vec![Cell::Null, Cell::Float(0.1)]),
            Cell::List(vec![rule]),
            Cell::List(vec![Cell::Integer(1), Cell::Integer(2)]),
        ]
    );
    let row = read(r#"{"time":0,"usage":null}"#).unwrap();
    assert_eq!(row.cells[0], Cell::Integer(0));
    assert!(row.cells[1..].iter().all(|cell| *cell == Cell::Null));
}

#[test]
fn a_fault_names_its_column_and_its_place() {
    let cases = [
        ("time", r#"{"time":%}"#, "1.0", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "1e3", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\"+5\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\" 5\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\"\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "true", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "[1]", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "null", Fault::Absent),
        (
            "time",
            r#"{"time":%}"#,
            "9223372036854775808",
            Fault::OutOfRange { bits: 64 },
        ),
        (
            "event",
            r#"{"time":1,"event":%}"#,
            "2147483648",
            Fault::OutOfRange { bits: 32 },
        ),
        (
            "share",
            r#"{"share":%,"time":1}"#,
            "\"NaN\"",
            Fault::NotNumber,
        ),
        (
            "share",
            r#"{"share":%,"time":1}"#,
            "\"-Infinity\"",
            Fault::NotNumber,
        ),
        ("share", r#"{"share":%,"time":1}"#, "1e999", Fault::Overflow),
        ("share", r#"{"share":%,"time":1}"#, "{}", Fault::NotNumber),
        ("done", r#"{"done":%,"time":1}"#, "1", Fault::NotTruth),
        (
            "done",
            r#"{"done":%,"time":1}"#,
            "\"true\"",
            Fault::NotTruth,
        ),
        ("user", r#"{"user":%,"time":1}"#, "1", Fault::NotText),
        (
            "user",
            r#"{"user":%,"time":1}"#,
            "\"\\ud800\"",
            Fault::NotText,
        ),
        ("usage", r#"{"usage":%,"time":1}"#, "[]", Fault::NotStruct),
        (
            "usage",
            r#"{"usage":%,"time":1}"#,
            "\"{}\"",
            Fault::NotStruct,
        ),
        (
            "usage",
            r#"{"usage":{%:1},"time":1}"#,
            "\"gpus\"",
            Fault::UnknownKey,
        ),
        (
            "usage.cpus",
            r#"{"usage":{"cpus":%}}"#,
            "\"x\"",
            Fault::NotNumber,
        ),
        (
            "usage",
            r#"{"usage":{"cpus":1,%:2}}"#,
            "\"cpus\"",
            Fault::DoubleKey,
        ),
        ("rules", r#"{"rules":%,"time":1}"#, "{}", Fault::NotList),
        (
            "rules[1].name",
            r#"{"rules":[{"name":""},%],"time":1}"#,
            "{}",
            Fault::Absent,
        ),
        (
            "rules[0]",
            r#"{"rules":[%],"time":1}"#,
            "null",
            Fault::Absent,
        ),
        (
            "after[2]",
            r#"{"after":[1,2,%],"time":1}"#,
            "\"x\"",
            Fault::NotInteger,
        ),
        ("", r#"{"time":1,%:2}"#, "\"x\"", Fault::UnknownKey),
        ("", r#"{"time":1,%:2}"#, "\"\\u0074ime\"", Fault::DoubleKey),
        ("time", "%", "{}", Fault::Absent),
        ("", "%", "[]", Fault::NotStruct),
        ("", "%", "5", Fault::NotStruct),
        ("", r#"{"time":1}%"#, "x", Fault::NotJson),
        ("", r#"{"time":%}"#, "01}", Fault::NotJson),
    ];
    for (path, line, field, fault) in cases {
        let line = line.replace('%', field);
        let (found, shown, why) = bad(&line);
        assert_eq!((found.as_str(), why), (path, fault), "{line}");
        if fault != Fault::NotJson {
            assert_eq!(shown, field, "{line}");
        }
    }
    let broken = row(b"{\"time\":1,\"user\":\"\xff\"}", &TABLE.columns.into()).unwrap_err();
    assert_eq!(broken.fault, Fault::NotUtf8 { byte: 0xff });
    assert_eq!(broken.field().start, 18);
}

#[test]
fn no_depth_takes_the_stack() {
    for (open, close) in [("[", "]"), ("{\"usage\":", "}")] {
        let deep = open.repeat(100_000) + "1" + &close.repeat(100_000);
        for line in [
            deep.clone(),
            format!("{{\"time\":{deep}}}"),
            open.repeat(100_000),
        ] {
            assert!(read(&line).is_err());
        }
    }
}

#[test]
fn every_cut_of_a_line_is_a_fault() {
    let line = r#"{"time":"1","usage":{"cpus":1.5},"rules":[{"name":"é"}],"user":"\u00e9"}"#;
    assert!(read(line).is_ok());
    for end in 0..line.len() {
        assert!(
            row(&line.as_bytes()[..end], &TABLE.columns.into()).is_err(),
            "{end}"
        );
    }
}

/// A cell of a column with the text of its JSON, written by serde_json.
fn cell(column: &'static Column) -> BoxedStrategy<(Cell, serde_json::Value)> {
    let filled = match column.kind {
        Kind::DateTime(_) => unreachable!("JSON has no date-times"),
        Kind::Integer => (any::<i64>(), any::<bool>())
            .prop_map(|(value, text)| {
                let json = if text {
                    value.to_string().into()
                } else {
                    value.into()
                };
                (Cell::Integer(value), json)
            })
            .boxed(),
        Kind::Code => any::<i32>()
            .prop_map(|value| (Cell::Code(value), value.to_string().into()))
            .boxed(),
        Kind::Float => any::<f64>()
            .prop_filter("no number of JSON", |value| value.is_finite())
            .prop_map(|value| (Cell::Float(value), value.into()))
            .boxed(),
        Kind::Boolean => any::<bool>()
            .prop_map(|value| (Cell::Boolean(value), value.into()))
            .boxed(),
        Kind::Text => any::<String>()
            .prop_map(|value| (Cell::Text(value.clone()), value.into()))
            .boxed(),
        Kind::Struct => object(column.fields)
            .prop_map(|(cells, json)| (Cell::Struct(cells), json))
            .boxed(),
        Kind::List => prop::collection::vec(cell(&column.fields[0]), 0..4)
            .prop_map(|items| {
                let (cells, json): (Vec<Cell>, Vec<_>) = items.into_iter().unzip();
                (Cell::List(cells), json.into())
            })
            .boxed(),
    };
    if column.mandatory {
        filled
    } else {
        prop_oneof![4 => filled, 1 => Just((Cell::Null, serde_json::Value::Null))].boxed()
    }
}

/// The cells of some columns, and an object of them in which some nulls are left out.
pub(crate) fn object(columns: &'static [Column]) -> BoxedStrategy<(Vec<Cell>, serde_json::Value)> {
    let cells: Vec<_> = columns.iter().map(cell).collect();
    (cells, any::<bool>(), any::<bool>())
        .prop_map(|(cells, leave_out, reverse)| {
            let (cells, values): (Vec<Cell>, Vec<_>) = cells.into_iter().unzip();
            let names = columns.iter().map(|column| column.content.to_owned());
            let mut named: Vec<(String, serde_json::Value)> = names.zip(values).collect();
            named.retain(|(_, value)| !(leave_out && value.is_null()));
            if reverse {
                named.reverse();
            }
            (cells, named.into_iter().collect())
        })
        .boxed()
}

proptest! {
    #[test]
    fn any_row_comes_back((cells, json) in object(TABLE.columns)) {
        let row = read(&json.to_string()).unwrap();
        prop_assert_eq!(&row.cells, &cells);
        // NaN is not among them, but there are two zeros.
        prop_assert_eq!(format!("{:?}", row.cells), format!("{cells:?}"));
    }

    #[test]
    fn any_text_is_a_row_or_a_fault(line in any::<Vec<u8>>()) {
        if let Err(reject) = row(&line, &TABLE.columns.into()) {
            prop_assert!(line.get(reject.field()).is_some());
        }
    }
}

/// The last columns, and not the mandatory first one.
fn some_columns() -> JsonColumns {
    let first = TABLE.columns.len() - 3;
    let kept = (0..TABLE.columns.len()).map(|index| index.checked_sub(first));
    JsonColumns {
        nodes: Node::of(&TABLE.columns[first..]),
        kept: Some(kept.collect()),
        ..TABLE.columns.into()
    }
}

/// The rows as a batch, and how many values were mapped; `None` if a value is faulty.
fn batch(json: &JsonColumns, text: &[u8], rows: &RowFields) -> Option<(RecordBatch, u64)> {
    let fields = arrow_schema(&TABLE);
    let kept = fields
        .fields()
        .iter()
        .skip(fields.fields().len() - json.nodes.len());
    let schema = Arc::new(Schema::new(kept.cloned().collect::<Vec<_>>()));
    match column_values::read(&json.nodes, &schema, text, rows).unwrap() {
        ReadRows::Batch(batch, mapped) => Some((batch, mapped)),
        ReadRows::Faulty(rows) => {
            assert_eq!(rows, [1], "the first row has no fault");
            None
        }
    }
}

/// Reads a line with both readers. The direct one may refuse a row, but not add another one or a part of one.
/// Returns whether it added the row with all columns.
#[track_caller]
fn read_directly(line: &[u8]) -> bool {
    select(line);
    read_columns(line, &some_columns());
    read_columns(line, &TABLE.columns.into())
}

#[track_caller]
fn read_columns(line: &[u8], json: &JsonColumns) -> bool {
    let before = br#"{"time":7,"user":"x","rules":[{"name":"y"}],"after":[1]}"#;
    let text = [before, &b"\n"[..], line, b"\n"].concat();
    let start = before.len() + 1;
    let mut found = RowFields::new(&json.nodes);
    assert!(direct::append(&text, 0..before.len(), json, &mut found));
    let alone = found.clone();
    let is_text = str::from_utf8(line).is_ok();
    if !is_text || !direct::append(&text, start..start + line.len(), json, &mut found) {
        assert!(found == alone, "a part is left: {}", line.escape_ascii());
        return false;
    }
    let plain = row(line, json);
    let Some(found) = batch(json, &text, &found) else {
        assert!(plain.is_err(), "{}", line.escape_ascii());
        return false;
    };
    let plain = plain.expect("the direct reader accepts rows alone");
    let mut texts = RowTexts::of(json.nodes.clone());
    texts.push(&row(before, json).unwrap());
    texts.push(&plain);
    let plain = batch(json, &texts.text, &texts.rows).unwrap();
    // Their text, because the two zeros are equal.
    assert_eq!(format!("{found:?}"), format!("{plain:?}"));
    true
}

/// A line is selected by the values that the plain reader finds; a faulty key is a fault, and so is a faulty time of a
/// row whose key is sampled.
#[track_caller]
fn select(line: &[u8]) {
    let order = FieldOrder::built_in(&TABLE, "the test");
    let field = |name| order.rule_field(name).unwrap();
    let rules = RowRules {
        sample: Some(SampleRule {
            sample: Sample { class: 0, of: 2 },
            field: field("user"),
        }),
        time: Some(TimeRule {
            from: 2,
            to: 1 << 62,
            field: field("time"),
        }),
    };
    let (mut key, mut both) = (
        vec![None; TABLE.columns.len()],
        vec![None; TABLE.columns.len()],
    );
    let (user, time) = (field("user").index, field("time").index);
    (key[user], both[user], both[time]) = (Some(0), Some(1), Some(0));
    let read = |kept| {
        let columns = JsonColumns {
            kept: Some(kept),
            ..TABLE.columns.into()
        };
        row(line, &columns).ok().map(|row| row.cells)
    };
    let sampled = read(key).map(|cells| {
        let rule = &rules.sample.unwrap();
        selection::samples_cell(rule, &cells[0])
    });
    let expected = match (sampled, read(both)) {
        (Some(false), _) => Some(false),
        (Some(true), Some(cells)) => {
            Some(selection::is_cell_in_time(&rules.time.unwrap(), &cells[0]))
        }
        _ => None,
    };
    let found = is_selected(line, &TABLE.columns.into(), &rules).ok();
    assert_eq!(found, expected, "{}", line.escape_ascii());
}

#[test]
fn lines_of_traces_are_read_directly() {
    let lines = [
        r#"{"time":"5","event":"-3","share":0.5,"done":true,"user":"é","usage":{"cpus":1e-5,"memory":-0},  "rules":[{"name":"","relation":1},{"name":"x"}],"after":["1",2]}"#,
        r#"{"time":"18446744073709551615"}"#,
        r#"{"after":[],"rules":null,"usage":null,"time":0}"#,
        r#" { "time" : 1 , "usage" : { } , "rules" : [ ] } "#,
    ];
    for line in lines {
        assert!(read_directly(line.as_bytes()), "{line}");
    }
}

#[test]
fn other_lines_are_left_to_the_plain_reader() {
    let lines = [
        r#"{"time":1,"time":1}"#,
        r#"{"time":1,"x":1}"#,
        r#"{"\u0074ime":1}"#,
        r#"{"time":01}"#,
        r#"{"time":-}"#,
        r#"{"time":1.0}"#,
        r#"{"time":1e0}"#,
        r#"{"time":9223372036854775808}"#,
        r#"{"time":1,"share":1.}"#,
        r#"{"time":1,"share":.5}"#,
        r#"{"time":1,"share":1e}"#,
        r#"{"time":1,"share":00.5}"#,
        r#"{"time":1,"share":1e400}"#,
        r#"{"time":1,"share":+1}"#,
        r#"{"time":1,"share":NaN}"#,
        r#"{"time":1,"user":"\ud800"}"#,
        r#"{"time":1,"user":"\n"}"#,
        r#"{"time":1,"user":5}"#,
        r#"{"time":1,"done":truefalse}"#,
        r#"{"time":1,"done":"true"}"#,
        r#"{"time":1,"rules":[{"name":"x"},{"relation":1}]}"#,
        r#"{"time":1,"rules":[{"name":"x"},null]}"#,
        r#"{"time":1,"after":[1,]}"#,
        r#"{"time":1,}"#,
        r#"{"time":null}"#,
        r#"{"time":1}}"#,
        "{\"time\":1}\0",
        "\u{feff}{\"time\":1}",
        "{\"time\":1,\"user\":\"a\tb\"}",
        r#"{"user":"x"}"#,
        r"{}",
        "[]",
        "",
    ];
    for line in lines {
        assert!(!read_directly(line.as_bytes()), "{line}");
    }
    assert!(!read_directly(b"{\"time\":1,\"user\":\"\xff\"}"));
}

#[test]
fn numbers_end_where_those_of_json_do() {
    let parts = ["", "-", "+", "0", "1", "00", "10", ".", "e", "E", "-0", "x"];
    for first in parts {
        for second in parts {
            for third in parts {
                for last in parts {
                    let number = [first, second, third, last].concat();
                    read_directly(format!(r#"{{"time":1,"share":{number}}}"#).as_bytes());
                    read_directly(format!(r#"{{"time":{number}}}"#).as_bytes());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn both_readers_agree(
        (_, json) in object(TABLE.columns),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..3),
    ) {
        let mut line = json.to_string().into_bytes();
        let is_plain = !line.contains(&b'\\');
        prop_assert_eq!(read_directly(&line), is_plain);
        let bytes = b"{}[]\",:\\0-.e 1nt";
        for (at, byte, change) in changes {
            let at = at.index(line.len());
            match change {
                0 => line[at] = byte,
                1 => line[at] = bytes[usize::from(byte) % bytes.len()],
                2 => line.insert(at, bytes[usize::from(byte) % bytes.len()]),
                _ => { line.remove(at); }
            }
            read_directly(&line);
        }
    }
}
