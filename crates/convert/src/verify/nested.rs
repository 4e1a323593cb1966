//! Rows whose values may hold others, as JSON values, and these against what the lake has.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use csv::ByteRecord;
use serde_json::{Map, Value};
use tracelake_schema::{Column, Kind, Syntax};

use crate::layout::Layout;

/// The values of a row, one for each column of the table; the error says why there are none.
pub(super) fn values(layout: &Layout, record: &ByteRecord) -> Result<Vec<Value>, String> {
    let columns = layout.table.columns;
    if layout.table.syntax == Syntax::Json {
        let line = record.get(0).unwrap_or_default();
        let row: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| error.to_string())?;
        check_names(columns, &row)?;
        let value = |column: &Column| row.get(column.content).cloned().unwrap_or_default();
        return Ok(columns.iter().map(value).collect());
    }
    if record.len() != layout.fields.len() {
        return Err(format!("the source has {} fields", record.len()));
    }
    let mut values = vec![Value::Null; columns.len()];
    for (field, text) in layout.fields.iter().zip(record) {
        let text = str::from_utf8(text).map_err(|error| error.to_string())?;
        values[field.index] = match field.column.kind {
            _ if text.is_empty() => Value::Null,
            Kind::Struct | Kind::List => {
                let json = json(text);
                serde_json::from_str(&json).map_err(|error| format!("{error} in {json}"))?
            }
            _ => text.into(),
        };
    }
    Ok(values)
}

fn check_names(columns: &[Column], row: &Map<String, Value>) -> Result<(), String> {
    let known = |name: &&String| columns.iter().any(|column| column.content == name.as_str());
    match row.keys().find(|name| !known(name)) {
        Some(name) => Err(format!("the source has the name '{name}'")),
        None => Ok(()),
    }
}

/// The JSON that says what Python printed: strings are taken out, the rest is cut into words, and
/// where two values stand side by side, a comma comes between.
fn json(python: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = python;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => {
                let end = closing(rest, first);
                let inner = rest.get(1..end).unwrap_or_default();
                words.push(Value::from(unescaped(inner)).to_string());
                end + 1
            }
            '{' | '}' | '[' | ']' | ':' | ',' => {
                words.push(first.to_string());
                1
            }
            first if first.is_whitespace() => first.len_utf8(),
            _ => {
                let marks = |c: char| c.is_whitespace() || "{}[]:,'\"".contains(c);
                let end = rest.find(marks).unwrap_or(rest.len());
                words.push(word(&rest[..end]));
                end
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    let mut json = String::new();
    for (at, word) in words.iter().enumerate() {
        let opens = |word: &str| ["{", "[", ":", ","].contains(&word);
        let closes = |word: &str| ["}", "]", ":", ","].contains(&word);
        if at > 0 && !opens(&words[at - 1]) && !closes(word) {
            json.push(',');
        }
        json.push_str(word);
    }
    json
}

/// Where a string ends that starts with a quote.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !escaped {
            return at;
        }
        escaped = character == '\\' && !escaped;
    }
    text.len()
}

/// What a string means that Python printed.
fn unescaped(inner: &str) -> String {
    let mut pieces = inner.split('\\');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    while let Some(piece) = pieces.next() {
        let (digits, replaced) = match piece.chars().next() {
            // The piece between two backslashes side by side is empty.
            None => {
                text.push('\\');
                text.push_str(pieces.next().unwrap_or_default());
                continue;
            }
            Some('x') => (2, None),
            Some('u') => (4, None),
            Some('U') => (8, None),
            Some('n') => (0, Some('\n')),
            Some('r') => (0, Some('\r')),
            Some('t') => (0, Some('\t')),
            other => (0, other),
        };
        let number = piece.get(1..1 + digits).unwrap_or_default();
        let number = u32::from_str_radix(number, 16).ok();
        text.extend(replaced.or(number.and_then(char::from_u32)));
        text.push_str(piece.get(1 + digits..).unwrap_or_default());
    }
    text
}

/// A name or a number of Python in JSON; other words stay, and are no JSON.
fn word(python: &str) -> String {
    match python {
        "None" => "null".to_owned(),
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        // JSON has no number that ends with a point.
        number if number.contains('.') => match number.parse::<f64>() {
            Ok(value) => Value::from(value).to_string(),
            Err(_) => number.to_owned(),
        },
        other => other.to_owned(),
    }
}

/// Whether a value means the one that an array has in a row.
pub(super) fn equals(column: &Column, value: &Value, array: &dyn Array, row: usize) -> bool {
    if value.is_null() || array.is_null(row) {
        return value.is_null() && array.is_null(row);
    }
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match column.kind {
        Kind::Integer => {
            let sentinel = others(column).find(|(also, _)| *also == text);
            let expected = match sentinel {
                Some((_, sentinel)) => Some(sentinel),
                None => text.parse().ok(),
            };
            expected == Some(array.as_primitive::<Int64Type>().value(row))
        }
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => {
            let expected = match value {
                Value::String(text) => text.parse().ok(),
                value => value.as_f64(),
            };
            let found = array.as_primitive::<Float64Type>().value(row);
            expected.is_some_and(|expected| expected.to_bits() == found.to_bits())
        }
        Kind::Boolean => {
            let names = if array.as_boolean().value(row) {
                ["1", "True", "true"]
            } else {
                ["0", "False", "false"]
            };
            names.contains(&text.as_str())
        }
        Kind::Text => value.as_str() == Some(array.as_string::<i32>().value(row)),
        Kind::Struct => {
            let fields = array.as_struct().columns();
            let columns = column.fields.iter().zip(fields);
            value.as_object().is_some_and(|object| {
                check_names(column.fields, object).is_ok()
                    && columns.into_iter().all(|(column, field)| {
                        let value = object.get(column.content).unwrap_or(&Value::Null);
                        equals(column, value, field, row)
                    })
            })
        }
        Kind::List => {
            let found = array.as_list::<i32>().value(row);
            value.as_array().is_some_and(|items| {
                let mut items = items.iter().enumerate();
                items.len() == found.len()
                    && column.fields.first().is_some_and(|column| {
                        items.all(|(at, item)| equals(column, item, &found, at))
                    })
            })
        }
    }
}

/// The other spellings of sentinels, each with its value.
fn others(column: &Column) -> impl Iterator<Item = (&'static str, i64)> {
    let sentinels = column.sentinels.iter();
    sentinels.filter_map(|sentinel| Some((sentinel.also?, sentinel.value)))
}

/// How many integers in a value spell a sentinel in another way.
pub(super) fn spelled_otherwise(column: &Column, value: &Value) -> u64 {
    match value {
        Value::Object(object) => {
            let fields = column.fields.iter();
            let spelled = |field: &Column| {
                let value = object.get(field.content);
                value.map_or(0, |value| spelled_otherwise(field, value))
            };
            fields.map(spelled).sum()
        }
        Value::Array(items) => {
            let item = column.fields.first();
            let spelled = |value| item.map_or(0, |item| spelled_otherwise(item, value));
            items.iter().map(spelled).sum()
        }
        Value::String(text) => others(column).filter(|(also, _)| also == text).count() as u64,
        value => {
            let text = value.to_string();
            others(column).filter(|(also, _)| *also == text).count() as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_prints_becomes_json() {
        let cases = [
            ("{'a': 0.5, 'b': None}", "{\"a\":0.5,\"b\":null}"),
            ("[0. 1.5e-05\n 2]", "[0.0,0.000015,2]"),
            (
                "[{'a': 'b'}\n {'a': \"it's\"}]",
                "[{\"a\":\"b\"},{\"a\":\"it's\"}]",
            ),
            (
                "['\\\\x41 \\x41\\u00e9\\n', True]",
                "[\"\\\\x41 Aé\\n\",true]",
            ),
            ("[]", "[]"),
        ];
        for (python, expected) in cases {
            assert_eq!(json(python), expected);
        }
    }
}
