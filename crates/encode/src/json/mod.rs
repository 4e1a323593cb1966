//! JSON lines to values: each line is an object with the columns as its keys. Pure.
//!
//! [`append`] adds a line to the columns. `direct` reads lines as traces have them, straight into the columns;
//! all other lines, and so every fault, are left to [`row`]. There, serde_json finds the text of each value. The
//! column decides what it means: numbers are read from their text, as in CSV.

mod direct;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use tracelake_core::fault::Fault;
use tracelake_schema::{Column, Kind};

use crate::cell::{Cell, NamedCells, Row, null, number};
use crate::column_values::RowValues;
use crate::reject::Reject;

/// Adds the row of a line, without its ending. `values` has these columns.
///
/// # Errors
/// Those of [`row`]; then nothing is added.
pub fn append(
    line: &[u8],
    columns: &'static [Column],
    values: &mut RowValues,
) -> Result<(), Reject> {
    if !direct::append(line, columns, values) {
        values.push(&row(line, columns)?);
    }
    Ok(())
}

/// Reads a line, without its ending.
///
/// Integers, codes and floats may be numbers or strings. A missing value is NULL, as is `null`. The
/// columns bound the depth of the recursion.
pub fn row(line: &[u8], columns: &'static [Column]) -> Result<Row, Reject> {
    let text = str::from_utf8(line).map_err(|error| {
        let start = error.valid_up_to();
        let byte = line[start];
        Reject::new(start..line.len(), Fault::NotUtf8 { byte })
    })?;
    let mut reader = JsonReader { text, mapped: 0 };
    let cells = reader.object(text, columns, Reject::in_column)?;
    Ok(Row {
        cells,
        mapped: reader.mapped,
    })
}

struct JsonReader<'a> {
    text: &'a str,
    mapped: u64,
}

impl<'a> JsonReader<'a> {
    fn object(
        &mut self,
        text: &'a str,
        columns: &'static [Column],
        within: fn(Reject, &'static Column) -> Reject,
    ) -> Result<Vec<Cell>, Reject> {
        let Pairs(pairs) = self.parse(text, Fault::NotStruct)?;
        let mut named = NamedCells::new(columns);
        for (key, value) in pairs {
            let bad = |fault| Reject::new(self.range_of(key.get()), fault);
            let name = string(key.get()).map_err(bad)?;
            let (index, column) = named.column(name.as_ref()).map_err(bad)?;
            let cell = self.value(value.get(), column);
            named.put(index, cell.map_err(|reject| within(reject, column))?);
        }
        named
            .finish()
            .map_err(|(column, fault)| within(Reject::new(self.range_of(text), fault), column))
    }

    fn value(&mut self, text: &'a str, column: &'static Column) -> Result<Cell, Reject> {
        let bad = |fault| Reject::new(self.range_of(text), fault);
        if text == "null" {
            return null(column).map_err(bad);
        }
        let is_string = text.starts_with('"');
        match column.kind {
            Kind::Struct => {
                let cells = self.object(text, column.fields, Reject::in_struct_field);
                cells.map(Cell::Struct)
            }
            Kind::List => {
                let items: Vec<&RawValue> = self.parse(text, Fault::NotList)?;
                let [column, ..] = column.fields else {
                    return Err(Reject::new(self.range_of(text), Fault::NotList));
                };
                let items = items.into_iter().enumerate();
                let cells = items.map(|(at, item)| {
                    self.value(item.get(), column)
                        .map_err(|reject| reject.in_item(at))
                });
                cells.collect::<Result<_, _>>().map(Cell::List)
            }
            Kind::Text if is_string => string(text)
                .map(|text| Cell::Text(text.into_owned()))
                .map_err(bad),
            // A description has date-times in tables of plain fields alone.
            Kind::Text | Kind::DateTime(_) => Err(bad(Fault::NotText)),
            Kind::Boolean => match text {
                "true" => Ok(Cell::Boolean(true)),
                "false" => Ok(Cell::Boolean(false)),
                _ => Err(bad(Fault::NotTruth)),
            },
            Kind::Integer | Kind::Code | Kind::Float => {
                let range = self.range_of(text);
                let bad = |fault| Reject::new(range.clone(), fault);
                if is_string {
                    let text = string(text).map_err(bad)?;
                    number(column, text.as_bytes(), &mut self.mapped).map_err(bad)
                } else {
                    number(column, text.as_bytes(), &mut self.mapped).map_err(bad)
                }
            }
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
            let at = error.column().saturating_sub(1).min(text.len());
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
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let start = start.min(self.text.len());
        start..(start + part.len()).min(self.text.len())
    }
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

/// The unparsed names and values of an object.
struct Pairs<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
