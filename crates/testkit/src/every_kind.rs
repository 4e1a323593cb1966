//! A table with every kind of column, and its rows as values of JSON.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tracelake_schema::{Column, Kind, Sentinel, Spelling, Syntax, Table, Zone};

/// A column of a made-up table.
#[must_use]
pub fn column(
    name: &str,
    kind: Kind,
    mandatory: bool,
    fields: impl IntoIterator<Item = Column>,
) -> Column {
    Column {
        mandatory,
        fields: fields.into_iter().map(Arc::new).collect(),
        ..Column::plain(name, kind)
    }
}

/// A table with every kind of column, and structs in lists.
pub static TABLE: LazyLock<Arc<Table>> = LazyLock::new(|| {
    let columns = [
        Column {
            sentinels: [Sentinel {
                value: i64::MAX,
                name: "AFTER".to_owned(),
                also: Some("18446744073709551615".to_owned()),
                doc: String::new(),
            }]
            .into(),
            unit: Some("microseconds".to_owned()),
            ..column("time", Kind::Integer, true, [])
        },
        column("event", Kind::Code, false, []),
        column("share", Kind::Float, false, []),
        column("done", Kind::Boolean, false, []),
        column("user", Kind::Text, false, []),
        column(
            "usage",
            Kind::Struct,
            false,
            [
                column("cpus", Kind::Float, false, []),
                column("memory", Kind::Float, false, []),
            ],
        ),
        column(
            "rules",
            Kind::List,
            false,
            [column(
                "item",
                Kind::Struct,
                true,
                [
                    column("name", Kind::Text, true, []),
                    column("relation", Kind::Code, false, []),
                ],
            )],
        ),
        column(
            "after",
            Kind::List,
            false,
            [column("item", Kind::Integer, true, [])],
        ),
        column("since", Kind::DateTime(Zone::Published), false, []),
    ];
    Arc::new(Table {
        syntax: Syntax::Json,
        time: Some(0),
        ..Table::plain("jobs", columns)
    })
});

/// [`TABLE`] with other spellings of its values, see [`respelled`].
pub static SPELLED: LazyLock<Arc<Table>> = LazyLock::new(|| {
    let columns = TABLE.columns.iter().map(|column| spelled(column));
    Arc::new(Table {
        columns: columns.map(Arc::new).collect(),
        ..(**TABLE).clone()
    })
});

fn spelled(column: &Column) -> Column {
    let words = [("yes", true), ("1", true), ("no", false), ("off", false)];
    let words = words.map(|(word, value)| (word.to_owned(), value));
    let zones = [("PDT", -420), ("DT", 1), ("IST", 330)];
    let zones = zones.map(|(name, minutes)| (name.to_owned(), minutes));
    let is = |kind| column.kind == kind;
    let is_zoned = is(Kind::DateTime(Zone::Published));
    Column {
        fields: column.fields.iter().map(|it| spelled(it).into()).collect(),
        spelling: Spelling {
            nulls: ["N/A", "-999", "-999.0"].map(str::to_owned).into(),
            integral_floats: is(Kind::Integer),
            numbers: is(Kind::Text),
            words: words.into_iter().filter(|_| is(Kind::Boolean)).collect(),
            zones: zones.into_iter().filter(|_| is_zoned).collect(),
            ..Spelling::default()
        },
        ..column.clone()
    }
}

/// A value of a column of [`TABLE`], some of it as [`SPELLED`] may have it: `choices` chooses.
#[must_use]
pub fn respelled(value: &Value, column: &Column, choices: &mut impl Iterator<Item = u8>) -> Value {
    let choice = usize::from(choices.next().unwrap_or_default());
    match (value, column.kind) {
        (Value::Null, _) => [json!("N/A"), json!(-999), Value::Null][choice % 3].clone(),
        (Value::Bool(true), _) => [json!("yes"), json!(1), json!(true)][choice % 3].clone(),
        (Value::Bool(false), _) => [json!("no"), json!("off"), json!(false)][choice % 3].clone(),
        (Value::Number(_) | Value::String(_), Kind::Integer) if choice.is_multiple_of(2) => {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{text}.0").into()
        }
        (Value::Object(named), _) => {
            let field = |name: &String| column.fields.iter().find(|field| field.content == *name);
            let named = named.iter().map(|(name, value)| {
                let value = respelled(value, field(name).unwrap(), choices);
                (name.clone(), value)
            });
            named.collect()
        }
        (Value::Array(items), _) => {
            let items = items.iter();
            items
                .map(|item| respelled(item, &column.fields[0], choices))
                .collect()
        }
        (other, _) => other.clone(),
    }
}

/// A row of [`TABLE`], see [`respelled`].
#[must_use]
pub fn respelled_row(row: &Value, choices: &[u8]) -> Value {
    let mut choices = choices.iter().copied().cycle();
    let named = row.as_object().unwrap().iter().map(|(name, value)| {
        let (_, column) = TABLE.column(name).unwrap();
        (name.clone(), respelled(value, column, &mut choices))
    });
    named.collect()
}

/// Formats a value as Python prints it, with numpy's spaces in lists or with commas.
fn python(value: &Value, column: &Column, numpy: bool) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) if column.kind == Kind::Float => {
            format!("{:?}", number.as_f64().unwrap())
        }
        Value::Number(number) => number.to_string(),
        Value::String(text) if matches!(column.kind, Kind::Integer | Kind::Code) => text.clone(),
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') {
                '"'
            } else {
                '\''
            };
            let mut printed = String::from(quote);
            for c in text.chars() {
                match c {
                    '\\' => printed.push_str("\\\\"),
                    '\n' => printed.push_str("\\n"),
                    c if c == quote => printed.extend(['\\', c]),
                    c if c.is_control() && u32::from(c) < 256 => {
                        printed += &format!("\\x{:02x}", u32::from(c));
                    }
                    c if u32::from(c) > 0xffff => printed += &format!("\\U{:08x}", u32::from(c)),
                    c if c.is_alphanumeric() || c.is_ascii() => printed.push(c),
                    c => printed += &format!("\\u{:04x}", u32::from(c)),
                }
            }
            printed.push(quote);
            printed
        }
        Value::Object(_) => {
            let named = column.fields.iter().map(|field| {
                let value = python(&value[&*field.content], field, numpy);
                format!("'{}': {value}", field.content)
            });
            format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| python(item, &column.fields[0], numpy));
            let separator = if numpy { "\n " } else { ", " };
            format!("[{}]", items.collect::<Vec<_>>().join(separator))
        }
    }
}

/// A row of [`TABLE`] as quoted CSV; fields are quoted `always` or where they must be.
#[must_use]
pub fn quoted_line(row: &Value, numpy: bool, always: bool) -> String {
    let fields = TABLE.columns.iter().map(|column| {
        let field = match &row[&*column.content] {
            Value::Null => return String::new(),
            Value::String(text) => text.clone(),
            value => python(value, column, numpy),
        };
        if always || field.contains([',', '"', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    fields.collect::<Vec<_>>().join(",")
}

/// A value with its integers as BigQuery exports them: as strings.
#[must_use]
pub fn exported(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_i64() => number.to_string().into(),
        Value::Array(items) => items.iter().map(exported).collect(),
        Value::Object(named) => {
            let named = named.iter();
            named
                .map(|(name, value)| (name.clone(), exported(value)))
                .collect()
        }
        other => other.clone(),
    }
}

/// All values that differ from this one in a single value, by as little as possible.
#[must_use]
pub fn mutations(value: &Value, column: &Column) -> Vec<Value> {
    let mut others = match value {
        Value::Null => {
            return vec![match column.kind {
                Kind::Integer | Kind::Code => json!(0),
                Kind::DateTime(_) => json!("1970-01-01 00:00:00Z"),
                Kind::Float => json!(0.0),
                Kind::Boolean => json!(false),
                Kind::Text => json!("x"),
                Kind::Struct => json!({}),
                Kind::List => json!([]),
            }];
        }
        Value::Number(number) if column.kind == Kind::Float => {
            let float = number.as_f64().unwrap();
            vec![json!(f64::from_bits(float.to_bits() ^ 1)), json!(-float)]
        }
        Value::Number(number) => vec![json!(number.as_i64().unwrap() ^ 1)],
        Value::Bool(value) => vec![json!(!value)],
        Value::String(text) if matches!(column.kind, Kind::DateTime(_)) => {
            vec![json!(text.replacen("00", "01", 1))]
        }
        Value::String(text) => vec![json!(format!("{text}="))],
        Value::Object(named) => {
            let others = column.fields.iter().flat_map(|field| {
                let others = mutations(&value[&*field.content], field).into_iter();
                others.map(move |other| {
                    let mut changed = named.clone();
                    changed.insert(field.content.to_owned(), other);
                    Value::Object(changed)
                })
            });
            others.collect()
        }
        Value::Array(items) => {
            let mut others = Vec::new();
            if let Some(first) = items.first() {
                others.push([&items[..], std::slice::from_ref(first)].concat().into());
            }
            for (at, item) in items.iter().enumerate() {
                let mut shorter = items.clone();
                shorter.remove(at);
                others.push(shorter.into());
                for other in mutations(item, &column.fields[0]) {
                    let mut changed = items.clone();
                    changed[at] = other;
                    others.push(changed.into());
                }
            }
            others
        }
    };
    others.push(Value::Null);
    others
}
