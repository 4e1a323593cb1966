//! A line of JSON to cells: serde_json finds the text of each value, and the column decides what it means.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{FieldOrder, RuleField};
use tracelake_schema::{Column, Extra, Kind};

use super::columns::JsonColumns;
use super::direct;
use crate::cell::{Cell, NamedCells, NumberReader, Row, boolean, date_time, null};
use crate::reject::Reject;
use crate::selection;
use crate::value::json_boolean;

/// Reads a line, without its ending.
///
/// Integers, codes and floats may be numbers or strings. A missing value is NULL, as is `null`. The
/// columns bound the depth of the recursion.
///
/// # Errors
/// The first fault of the line. Of a column that isn't read, only the name and the syntax of its value are checked.
pub(crate) fn row(line: &[u8], columns: &JsonColumns) -> Result<Row, Reject> {
    let mut reader = JsonReader::new(line, columns)?;
    let mut named = NamedCells::new(&columns.whole);
    let text = reader.text;
    for (name, value) in reader.pairs(text)? {
        let Some((index, column)) = reader.column(&mut named, name)? else {
            continue;
        };
        let cell = if columns.keeps(index) {
            let cell = reader.value(value, column);
            cell.map_err(|reject| reject.in_column(column))?
        } else {
            Cell::Null
        };
        named.put(index, cell);
    }
    let cells = named.finish_some(|index| columns.keeps(index));
    Ok(Row {
        cells: cells.map_err(|(column, fault)| {
            Reject::new(reader.range_of(text), fault).in_column(column)
        })?,
        others: reader.numbers.others,
    })
}

/// Whether the order's rules select the row of a line, without its ending. Only the values that they need are read; of the
/// others, only names and syntax are checked.
///
/// # Errors
/// The first fault of what was read.
pub(crate) fn is_selected(
    line: &[u8],
    columns: &JsonColumns,
    order: &FieldOrder,
) -> Result<bool, Reject> {
    let rules = &order.rules;
    let sample = rules.sample.as_ref().map(|rule| rule.field.index);
    let time = rules.time.as_ref().map(|rule| rule.field.index);
    let wanted = [sample, time].map(|index| Some(columns.in_row(order, index?)));
    // A field is the key, or else the time.
    let slot = |field: &RuleField| usize::from(sample != Some(field.index));
    if let Some(texts) = direct::find(line, columns, wanted)
        && let Some(is_selected) =
            selection::selects(rules, |field| cell(texts[slot(field)], field).ok_or(())).ok()
    {
        return Ok(is_selected);
    }
    let mut reader = JsonReader::new(line, columns)?;
    let mut named = NamedCells::new(&columns.whole);
    let text = reader.text;
    let mut found = [None; 2];
    for (name, value) in reader.pairs(text)? {
        let Some((index, _)) = reader.column(&mut named, name)? else {
            continue;
        };
        named.put(index, Cell::Null);
        for (wanted, found) in wanted.iter().zip(&mut found) {
            if *wanted == Some(index) {
                *found = Some(value);
            }
        }
    }
    selection::selects(rules, |field| {
        let cell = match found[slot(field)] {
            Some(value) => reader.value(value, &field.column),
            None => null(&field.column).map_err(|fault| Reject::new(reader.range_of(text), fault)),
        };
        cell.map_err(|reject| reject.in_column(&field.column))
    })
}

/// The value of a field with this text; `None` if it has a fault.
fn cell(text: Option<&[u8]>, field: &RuleField) -> Option<Cell> {
    match (text, field.column.kind) {
        (None, _) => null(&field.column).ok(),
        (Some(text), _) if field.column.spelling.is_null(text) => null(&field.column).ok(),
        (Some(text), Kind::Text) => Some(Cell::Text(str::from_utf8(text).ok()?.to_owned())),
        (Some(text), Kind::DateTime(zone)) => {
            date_time(&field.column, str::from_utf8(text).ok()?.to_owned(), zone).ok()
        }
        (Some(text), Kind::Integer) => {
            let integer = selection::integer(field, text);
            integer.ok().map(Cell::Integer)
        }
        _ => None,
    }
}

struct JsonReader<'a> {
    text: &'a str,
    extra: Extra,
    numbers: NumberReader<'a>,
}

impl<'a> JsonReader<'a> {
    fn new(line: &'a [u8], columns: &'a JsonColumns) -> Result<Self, Reject> {
        let text = str::from_utf8(line).map_err(|error| {
            let start = error.valid_up_to();
            let byte = line[start];
            Reject::new(start..line.len(), Fault::NotUtf8 { byte })
        })?;
        Ok(Self {
            text,
            extra: columns.extra,
            numbers: NumberReader::new(&columns.accept),
        })
    }

    /// The unparsed names and values of an object.
    fn pairs(&self, text: &'a str) -> Result<Vec<(&'a str, &'a str)>, Reject> {
        let Members(raw) = self.parse(text, Fault::NotStruct)?;
        let pairs = raw
            .into_iter()
            .map(|(name, value)| (name.get(), value.get()));
        Ok(pairs.collect())
    }

    /// The column with an unparsed name; `None` if there is none, and that is ignored.
    fn column<'c>(
        &self,
        named: &mut NamedCells<'c>,
        name: &'a str,
    ) -> Result<Option<(usize, &'c Arc<Column>)>, Reject> {
        let bad = |fault| Reject::new(self.range_of(name), fault);
        match named.column(string(name).map_err(bad)?.as_ref()) {
            Err(Fault::UnknownKey) if self.extra == Extra::Ignore => Ok(None),
            found => found.map(Some).map_err(bad),
        }
    }

    /// Reads a struct.
    fn object(&mut self, text: &'a str, columns: &[Arc<Column>]) -> Result<Vec<Cell>, Reject> {
        let mut named = NamedCells::new(columns);
        for (name, value) in self.pairs(text)? {
            let Some((index, column)) = self.column(&mut named, name)? else {
                continue;
            };
            let cell = self.value(value, column);
            named.put(
                index,
                cell.map_err(|reject| reject.in_struct_field(column))?,
            );
        }
        named.finish().map_err(|(column, fault)| {
            Reject::new(self.range_of(text), fault).in_struct_field(column)
        })
    }

    fn value(&mut self, text: &'a str, column: &Column) -> Result<Cell, Reject> {
        let bad = |fault| Reject::new(self.range_of(text), fault);
        let is_string = text.starts_with('"');
        if text == "null" || self.is_null(text, column) {
            return null(column).map_err(bad);
        }
        match column.kind {
            Kind::Struct => self.object(text, &column.fields).map(Cell::Struct),
            Kind::List => {
                let items: Vec<&RawValue> = self.parse(text, Fault::NotList)?;
                let [column, ..] = &column.fields[..] else {
                    return Err(Reject::new(self.range_of(text), Fault::NotList));
                };
                let cells = items.into_iter().enumerate().map(|(at, item)| {
                    self.value(item.get(), column)
                        .map_err(|reject| reject.in_item(at))
                });
                cells.collect::<Result<_, _>>().map(Cell::List)
            }
            Kind::Text if is_string => string(text)
                .map(|text| Cell::Text(text.into_owned()))
                .map_err(bad),
            Kind::Text if column.spelling.numbers && is_number(text) => {
                Ok(Cell::Text(text.to_owned()))
            }
            Kind::Text => Err(bad(Fault::NotText)),
            Kind::DateTime(zone) if is_string => string(text)
                .and_then(|text| date_time(column, text.into_owned(), zone))
                .map_err(bad),
            Kind::DateTime(_) => Err(bad(Fault::NotDateTime)),
            Kind::Boolean => {
                let word = match is_string && !column.spelling.words.is_empty() {
                    true => string(text).map_err(bad)?,
                    false => text.into(),
                };
                boolean(column, word.as_bytes(), json_boolean).map_err(bad)
            }
            Kind::Integer | Kind::Code | Kind::Float => {
                let range = self.range_of(text);
                let bad = |fault| Reject::new(range.clone(), fault);
                let number = match is_string {
                    true => string(text).map_err(bad)?,
                    false => text.into(),
                };
                self.numbers.read(column, number.as_bytes()).map_err(bad)
            }
        }
    }

    /// Whether a value, without its quotes, is a described spelling of NULL.
    fn is_null(&self, text: &'a str, column: &Column) -> bool {
        let nulls = &column.spelling.nulls;
        let is_one = |text: &str| nulls.iter().any(|null| null == text);
        !nulls.is_empty()
            && match text.starts_with('"') {
                true => string(text).is_ok_and(|text| is_one(&text)),
                false => is_one(text),
            }
    }

    /// Parses one level of JSON; returns the fault `other` if the value is of another type.
    fn parse<T: Deserialize<'a>>(&self, text: &'a str, other: Fault) -> Result<T, Reject> {
        serde_json::from_str(text).map_err(|error| {
            let range = self.range_of(text);
            if error.is_data() {
                return Reject::new(range, other);
            }
            // Show the whole word: serde_json fails in the middle of one that isn't JSON.
            let lines = text
                .split_inclusive('\n')
                .take(error.line().saturating_sub(1));
            let before: usize = lines.map(str::len).sum();
            let at = (before + error.column().saturating_sub(1)).min(text.len());
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
            let word = text.as_bytes()[..at]
                .iter()
                .rev()
                .take_while(|byte| is_word(byte));
            let at = range.start + at - word.count();
            Reject::new(at..range.end, Fault::NotJson)
        })
    }

    /// The range of a part of the line in it.
    fn range_of(&self, part: &str) -> Range<usize> {
        let distance = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let start = distance.min(self.text.len());
        start..(start + part.len()).min(self.text.len())
    }
}

/// Whether a value of JSON is a number.
fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// The text of a JSON string, unescaped.
fn string(json: &str) -> Result<std::borrow::Cow<'_, str>, Fault> {
    let inner = json
        .strip_prefix('"')
        .and_then(|json| json.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Ok(inner.into()),
        // Half of a surrogate pair is valid JSON, but not text.
        _ => match serde_json::from_str::<String>(json) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(Fault::NotText),
        },
    }
}

/// The names and values of an object, as they are written.
///
/// # Errors
/// If the text is no object.
///
/// ```
/// let members = tracelake_encode::json::members(r#"{"a": 1.0, "b": [2]}"#).unwrap();
/// assert_eq!(members, [("\"a\"", "1.0"), ("\"b\"", "[2]")]);
/// ```
pub fn members(text: &str) -> serde_json::Result<Vec<(&str, &str)>> {
    let Members(members) = serde_json::from_str(text)?;
    let texts = members
        .into_iter()
        .map(|(name, value)| (name.get(), value.get()));
    Ok(texts.collect())
}

/// The unparsed names and values of an object.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Members(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
