//! The direct reader of a line against the plain one.

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};
use tracelake_core::field_order::{FieldOrder, RowRules, SampleRule, TimeRule};
use tracelake_core::selection::Sample;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Extra, Kind};
use tracelake_testkit::every_kind::{SPELLED, TABLE, column, respelled_row};

use super::super::cells::{is_selected, row};
use super::super::columns::JsonColumns;
use super::super::direct;
use crate::cell::Cell;
use crate::column_values::{self, ReadRows};
use crate::nodes::Node;
use crate::row_fields::{RowFields, RowTexts};
use crate::samples::object;
use crate::selection;

/// The last columns, and not the mandatory first one.
fn some_columns() -> JsonColumns {
    let first = TABLE.columns.len() - 3;
    let kept = (0..TABLE.columns.len()).map(|index| index.checked_sub(first));
    JsonColumns {
        nodes: Node::of(&TABLE.columns[first..]),
        kept: Some(kept.collect()),
        ..(&TABLE.columns).into()
    }
}

/// All columns, where other names are ignored.
fn ignoring() -> JsonColumns {
    JsonColumns {
        extra: Extra::Ignore,
        ..(&TABLE.columns).into()
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
        ReadRows::Batch(batch, others) => Some((batch, others.sentinels)),
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
    read_columns(line, &(&SPELLED.columns).into());
    read_columns(line, &ignoring());
    read_columns(line, &(&TABLE.columns).into())
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
    let plain_row = row(line, json);
    let Some(found) = batch(json, &text, &found) else {
        assert!(plain_row.is_err(), "{}", line.escape_ascii());
        return false;
    };
    let mut texts = RowTexts::of(json.nodes.clone());
    texts.push(&row(before, json).unwrap());
    texts.push(&plain_row.expect("the direct reader accepts rows alone"));
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
            to: Some(1 << 62),
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
            ..(&TABLE.columns).into()
        };
        row(line, &columns).ok().map(|row| row.cells)
    };
    let selects = |rules: RowRules, cells: Vec<Cell>| {
        selection::selects(&rules, |_| Ok::<_, ()>(cells[0].clone())).ok()
    };
    let (by_key, by_time) = (
        RowRules {
            time: None,
            ..rules.clone()
        },
        RowRules {
            sample: None,
            ..rules.clone()
        },
    );
    let sampled = read(key).and_then(|cells| selects(by_key, cells));
    let expected = match (sampled, read(both)) {
        (Some(false), _) => Some(false),
        (Some(true), Some(cells)) => selects(by_time, cells),
        _ => None,
    };
    let order = FieldOrder {
        rules,
        ..order.clone()
    };
    let found = is_selected(line, &(&TABLE.columns).into(), &order).ok();
    assert_eq!(found, expected, "{}", line.escape_ascii());
}

#[test]
fn lines_of_traces_are_read_directly() {
    let lines = [
        r#"{"time":"5","event":"-3","share":0.5,"done":true,"user":"é","usage":{"cpus":1e-5,"memory":-0},  "rules":[{"name":"","relation":1},{"name":"x"}],"after":["1",2],"since":"2024-02-29 12:00:00+08:00"}"#,
        r#"{"time":"18446744073709551615"}"#,
        r#"{"after":[],"rules":null,"usage":null,"time":0}"#,
        r#" { "time" : 1 , "usage" : { } , "rules" : [ ] } "#,
    ];
    for line in lines {
        assert!(read_directly(line.as_bytes()), "{line}");
    }
}

#[test]
fn other_names_are_ignored_directly() {
    for line in [
        r#"{"x":1,"time":5,"y":{"a":["b",null,true]},"usage":{"cpus":1,"gpus":[2]}}"#,
        r#"{"time":5,"rules":[{"more":"","name":"a"}],"x":[],"x":{}}"#,
        "{\n  \"time\": 5,\n  \"x\": [\n    1\n  ]\n}",
    ] {
        assert!(read_columns(line.as_bytes(), &ignoring()), "{line}");
        assert!(!read_directly(line.as_bytes()), "{line}");
    }
    for line in [
        r#"{"x":01,"time":5}"#,
        r#"{"x":nul,"time":5}"#,
        r#"{"x":[1,],"time":5}"#,
        r#"{"x","time":5}"#,
        r#"{"x":{"a"},"time":5}"#,
    ] {
        assert!(!read_columns(line.as_bytes(), &ignoring()), "{line}");
        assert!(row(line.as_bytes(), &ignoring()).is_err(), "{line}");
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
        r#"{"time":1,"since":20240229}"#,
        r#"{"time":1,"since":"2024-02-29 12:00:00"}"#,
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

/// A list of numbers that may be NULL.
static SHARES: LazyLock<Arc<[Arc<Column>]>> = LazyLock::new(|| {
    let item = column("item", Kind::Float, false, []);
    [Arc::new(column("shares", Kind::List, false, [item]))].into()
});

#[test]
fn numbers_in_lists_are_those_of_the_plain_reader() {
    let json = JsonColumns::from(&*SHARES);
    let read = |items: &str| {
        let line = format!("{{\"shares\":[{items}]}}");
        let mut rows = RowFields::new(&json.nodes);
        let is_read = direct::append(line.as_bytes(), 0..line.len(), &json, &mut rows);
        let fields = rows.leaves[0].fields();
        let fields = fields.iter().map(|(from, to)| line[from..to].to_owned());
        let fields: Vec<String> = fields.collect();
        let plain = row(line.as_bytes(), &json);
        (is_read, fields, rows, plain)
    };
    let many = vec!["2.384e-05"; 40].join(",");
    for items in [
        "0.5",
        "1",
        "-0.25,1e3",
        " 0.5 , 1 ",
        "null",
        "0.5,null,2",
        "\"0.5\",2",
        &many,
        &format!("{many},null,{many}"),
        &format!("{many}, 0.5,{many}"),
    ] {
        let (is_read, fields, rows, plain) = read(items);
        assert!(is_read, "{items}");
        let expected = items.split(',').map(|item| item.trim().trim_matches('"'));
        let expected: Vec<&str> = expected.filter(|item| *item != "null").collect();
        assert_eq!(fields, expected, "{items}");
        let mut texts = RowTexts::of(json.nodes.clone());
        texts.push(&plain.expect("a row"));
        let (found, plain) = (&rows.leaves[0], &texts.rows.leaves[0]);
        assert_eq!(found.levels.definition(), plain.levels.definition());
        assert_eq!(found.levels.repetition(), plain.levels.repetition());
    }
    for items in [
        "0.5,",
        ",0.5",
        "0.5 1",
        "0.5}",
        "0.5x",
        "0.5]",
        "0.5,\"]\"",
        "0.5,[1]",
        "01",
        "+1",
    ] {
        let (is_read, fields, _, plain) = read(items);
        assert!(plain.is_err(), "{items}");
        let mut fields = fields
            .iter()
            .map(|field| crate::value::float(field.as_bytes()));
        assert!(!is_read || fields.any(|field| field.is_err()), "{items}");
    }
}

/// Adds a name that no column has to every object.
fn add_other(value: &mut Value, other: &Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|it| add_other(it, other));
            fields.insert("other".to_owned(), other.clone());
        }
        Value::Array(items) => items.iter_mut().for_each(|it| add_other(it, other)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn both_readers_agree(
        (cells, object) in object(&TABLE.columns, None),
        choices in prop::collection::vec(any::<u8>(), 1..20),
other in prop::sample::select(vec![json!(null), json!(-1.5e3), json!("}"), json!([]), json!([1, { "a": ["b"] }])]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..3),
    ) {
        let line = object.to_string().into_bytes();
        let is_plain = !line.contains(&b'\\');
        prop_assert_eq!(read_directly(&line), is_plain);
        let respelled = respelled_row(&object, &choices).to_string().into_bytes();
        let spelled = JsonColumns::from(&SPELLED.columns);
        let found = row(&respelled, &spelled).unwrap().cells;
        prop_assert_eq!(format!("{found:?}"), format!("{cells:?}"));
        read_columns(&respelled, &spelled);
        let mut more = object.clone();
        add_other(&mut more, &other);
        let more = more.to_string().into_bytes();
        let found = row(&more, &ignoring()).unwrap().cells;
        prop_assert_eq!(format!("{found:?}"), format!("{cells:?}"));
        prop_assert_eq!(read_columns(&more, &ignoring()), is_plain);
        prop_assert!(!read_directly(&more));
        let mut line = if choices[0] % 2 > 0 { respelled } else { line };
        let bytes = b"{}[]\",:\\0-.e 1nt";
        for (index, byte, change) in changes {
            let at = index.index(line.len());
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
