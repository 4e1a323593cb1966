//! Rows of JSON lines and of quoted CSV as trees of values, and how they compare with a lake.
//!
//! JSON, and structs and lists as Python prints them, are read here by separate code. It goes only
//! as deep as the table does, whatever the text holds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, cast::AsArray};
use csv::ByteRecord;
use serde::de::IgnoredAny;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::words::several;
use tracelake_schema::{Column, Extra, Kind, Syntax};

use super::number;
use super::scalar::{Scalar, scalar};

/// A value of a source.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ParsedValue {
    Null,
    /// A number, a boolean or any other word without quotes.
    Word(String),
    Text(String),
    List(Vec<ParsedValue>),
    /// Only the fields that are present.
    Struct(Vec<(String, ParsedValue)>),
}

impl fmt::Display for ParsedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Word(text) | Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                let texts: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Self::Struct(fields) => {
                let texts = fields
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}"));
                write!(f, "{{{}}}", texts.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// The values of a row, one for each column of the table; the error says why there are none.
pub(super) fn values(order: &FieldOrder, record: &ByteRecord) -> Result<Vec<ParsedValue>, String> {
    let columns: Vec<&Column> = order.table.columns.iter().map(|it| &**it).collect();
    let mut values = values_of(order, record, &columns)?;
    for (index, value) in values.iter_mut().enumerate() {
        if let Some(captured) = order.captured(index) {
            *value = ParsedValue::Text(captured.to_owned());
        }
    }
    Ok(values)
}

/// The values of some columns of a row. Of the others, only the names and the syntax of JSON are checked.
pub(super) fn values_of(
    order: &FieldOrder,
    record: &ByteRecord,
    columns: &[&Column],
) -> Result<Vec<ParsedValue>, String> {
    let is_wanted = |column: &Column| columns.iter().any(|wanted| wanted.name == column.name);
    if order.table.syntax == Syntax::Json {
        let bytes = record.get(0).unwrap_or_default();
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| error.to_string())?;
        let line = str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let mut reader = ValueReader::new(line, Syntax::Json);
        reader.extra = order.whole.json.extra;
        let row = reader.fields(&order.whole.columns, is_wanted)?;
        reader.end()?;
        let values = columns.iter().map(|column| field(&row, column).clone());
        return Ok(values.collect());
    }
    if record.len() != order.fields.len() {
        return Err(format!(
            "the source has {}",
            several(record.len() as u64, "field")
        ));
    }
    let mut values = vec![ParsedValue::Null; columns.len()];
    let mut lists: BTreeMap<usize, Vec<(u32, ParsedValue)>> = BTreeMap::new();
    for (field, text) in order.fields.iter().zip(record) {
        let mut wanted = columns.iter();
        let Some(at) = wanted.position(|column| column.name == field.column.name) else {
            continue;
        };
        let text = str::from_utf8(text).map_err(|error| error.to_string())?;
        let column = field.of_value();
        let value = match column.kind {
            _ if text.is_empty() || is_null(column, text) => ParsedValue::Null,
            Kind::Struct | Kind::List => {
                let mut reader = ValueReader::new(text, Syntax::QuotedCsv);
                let value = reader.value(column)?;
                reader.end()?;
                value
            }
            Kind::Integer
            | Kind::Float
            | Kind::Boolean
            | Kind::Text
            | Kind::Code
            | Kind::DateTime(_) => ParsedValue::Text(text.to_owned()),
        };
        match field.item {
            None => values[at] = value,
            Some(item) => lists.entry(at).or_default().push((item, value)),
        }
    }
    for (at, mut items) in lists {
        items.sort_by_key(|(item, _)| *item);
        values[at] = ParsedValue::List(items.into_iter().map(|(_, value)| value).collect());
    }
    Ok(values)
}

/// Reads JSON or what Python prints, from the front.
struct ValueReader<'a> {
    rest: &'a str,
    is_json: bool,
    /// The policy for names that no column has.
    extra: Extra,
}

impl<'a> ValueReader<'a> {
    fn new(text: &'a str, syntax: Syntax) -> Self {
        let is_json = syntax == Syntax::Json;
        Self {
            rest: text,
            is_json,
            extra: Extra::Refuse,
        }
    }

    /// Takes a mark, and the blanks before it, if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.takes(mark) {
            return Ok(());
        }
        let found = self.rest.chars().next();
        Err(match found {
            Some(found) => format!("the source has '{found}' where '{mark}' belongs"),
            None => format!("the source ends where '{mark}' belongs"),
        })
    }

    fn end(&mut self) -> Result<(), String> {
        match self.rest.trim_start() {
            "" => Ok(()),
            rest => Err(format!("the source continues with '{rest}'")),
        }
    }

    fn value(&mut self, column: &Column) -> Result<ParsedValue, String> {
        self.rest = self.rest.trim_start();
        match (self.rest.chars().next(), column.kind) {
            (Some('{'), Kind::Struct) => {
                let fields = self.fields(&column.fields, |_| true);
                fields.map(ParsedValue::Struct)
            }
            (Some('['), Kind::List) => self.items(column),
            (Some('"'), _) => self.string('"').map(ParsedValue::Text),
            (Some('\''), _) if !self.is_json => self.string('\'').map(ParsedValue::Text),
            _ => self.word(),
        }
    }

    /// The fields of an object; each is a column, and none comes twice. The value of a field that isn't wanted is
    /// skipped.
    fn fields(
        &mut self,
        columns: &[Arc<Column>],
        is_wanted: impl Fn(&Column) -> bool,
    ) -> Result<Vec<(String, ParsedValue)>, String> {
        let mut fields: Vec<(String, ParsedValue)> = Vec::new();
        self.expect('{')?;
        if self.takes('}') {
            return Ok(fields);
        }
        loop {
            self.rest = self.rest.trim_start();
            let quote = if self.is_json || self.rest.starts_with('"') {
                '"'
            } else {
                '\''
            };
            let name = self.string(quote)?;
            let of_row = |column: &&Arc<Column>| column.spelling.capture.is_none();
            let mut of_row = columns.iter().filter(of_row);
            let known = of_row.find(|column| column.content == name);
            if known.is_none() && self.extra == Extra::Ignore {
                self.expect(':')?;
                self.skip()?;
                if self.takes('}') {
                    return Ok(fields);
                }
                self.expect(',')?;
                continue;
            }
            let column = known.ok_or_else(|| format!("the source has the name '{name}'"))?;
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(format!("the source has the name '{name}' twice"));
            }
            self.expect(':')?;
            let value = match is_wanted(column) {
                true => self.value(column)?,
                false => self.skip()?,
            };
            fields.push((name, value));
            if self.takes('}') {
                return Ok(fields);
            }
            self.expect(',')?;
        }
    }

    /// Skips a value of JSON.
    fn skip(&mut self) -> Result<ParsedValue, String> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => self.rest = self.rest.get(values.byte_offset()..).unwrap_or_default(),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the source has no value where one belongs".to_owned()),
        }
        Ok(ParsedValue::Null)
    }

    /// The items of a list; numpy puts nothing but blanks between them.
    fn items(&mut self, column: &Column) -> Result<ParsedValue, String> {
        let mut items = Vec::new();
        self.expect('[')?;
        while !self.takes(']') {
            if !items.is_empty() && !self.takes(',') && self.is_json {
                self.expect(',')?;
            }
            items.push(self.value(item_of(column))?);
        }
        Ok(ParsedValue::List(items))
    }

    fn string(&mut self, quote: char) -> Result<String, String> {
        let starts = self.rest.starts_with(quote);
        let found = closing(self.rest, quote).filter(|_| starts);
        let end = found.ok_or("the source has a string that doesn't end")?;
        let (string, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        if self.is_json {
            serde_json::from_str(string).map_err(|error| error.to_string())
        } else {
            Ok(unescaped(&string[1..end]))
        }
    }

    fn word(&mut self) -> Result<ParsedValue, String> {
        let mark = |c: char| c.is_whitespace() || "{}[]:,'\"".contains(c);
        let end = self.rest.find(mark).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "" => Err("the source has no value where one belongs".to_owned()),
            "null" if self.is_json => Ok(ParsedValue::Null),
            "None" if !self.is_json => Ok(ParsedValue::Null),
            word => Ok(ParsedValue::Word(word.to_owned())),
        }
    }
}

/// The value of a column among the fields of an object; NULL if it isn't one of them.
pub(super) fn field<'a>(fields: &'a [(String, ParsedValue)], column: &Column) -> &'a ParsedValue {
    let mut fields = fields.iter();
    let found = fields.find(|(name, _)| *name == column.content);
    found.map_or(&ParsedValue::Null, |(_, value)| value)
}

/// The column of the items of a list.
fn item_of(column: &Column) -> &Column {
    let item = column.fields.first();
    item.expect("the catalog gives every list an item")
}

/// Where a string ends that starts with a quote.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !escaped {
            return Some(at);
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

/// The value of a Python string literal without its quotes.
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
        let hex = piece.get(1..1 + digits).unwrap_or_default();
        let number = u32::from_str_radix(hex, 16).ok();
        text.extend(replaced.or(number.and_then(char::from_u32)));
        let first = piece.chars().next().map_or(0, char::len_utf8);
        text.push_str(piece.get(first + digits..).unwrap_or_default());
    }
    text
}

/// Whether a value of the source equals that of an array in a row.
pub(super) fn equals(
    order: &FieldOrder,
    column: &Column,
    value: &ParsedValue,
    array: &dyn Array,
    row: usize,
) -> bool {
    let text = match value {
        ParsedValue::Null => return array.is_null(row),
        ParsedValue::Word(text) | ParsedValue::Text(text) if is_null(column, text) => {
            return array.is_null(row);
        }
        _ if array.is_null(row) => return false,
        ParsedValue::Word(text) | ParsedValue::Text(text) => text.as_str(),
        ParsedValue::List(_) | ParsedValue::Struct(_) => "",
    };
    let is_text = matches!(value, ParsedValue::Text(_));
    match (column.kind, value) {
        (Kind::Struct, ParsedValue::Struct(fields)) => {
            let mut columns = column.fields.iter().zip(array.as_struct().columns());
            columns.all(|(column, array)| equals(order, column, field(fields, column), array, row))
        }
        (Kind::List, ParsedValue::List(items)) => {
            let found = array.as_list::<i32>().value(row);
            let mut numbered = items.iter().enumerate();
            numbered.len() == found.len()
                && numbered.all(|(at, item)| equals(order, item_of(column), item, &found, at))
        }
        (Kind::Struct | Kind::List, _) => false,
        (Kind::DateTime(_), _) if !is_text => false,
        (Kind::Text, _) if !(is_text || column.spelling.numbers && number::is_float(text)) => false,
        _ => {
            let truths = [&["0", "False", "false"][..], &["1", "True", "true"]];
            is_value_of(order, column, text, truths, scalar(array, row))
        }
    }
}

/// Whether a text is a spelling of a value; `truths` are those of false and of true that need no description.
pub(super) fn is_value_of(
    order: &FieldOrder,
    column: &Column,
    text: &str,
    truths: [&[&str]; 2],
    value: Option<Scalar<'_>>,
) -> bool {
    match (column.kind, value) {
        (Kind::Integer | Kind::Code, Some(Scalar::Integer(value))) => {
            number::integer_of(column, &order.accept, text) == Some(value)
        }
        (Kind::DateTime(zone), Some(Scalar::Integer(value))) => {
            number::date_time_of(column, text, zone) == Some(value)
        }
        (Kind::Float, Some(Scalar::Float(value))) => {
            number::float(text).is_some_and(|read| read.to_bits() == value.to_bits())
        }
        (Kind::Boolean, Some(Scalar::Boolean(value))) => {
            let is_plain = truths[usize::from(value)].contains(&text);
            is_plain || column.spelling.truth(text.as_bytes()) == Some(value)
        }
        (Kind::Text, Some(Scalar::Text(value))) => text == value,
        _ => false,
    }
}

/// Whether a text is a described spelling of NULL.
fn is_null(column: &Column, text: &str) -> bool {
    column.spelling.is_null(text.as_bytes())
}

/// The other spellings of sentinels, each with its value.
fn other_spellings(column: &Column) -> impl Iterator<Item = (&str, i64)> {
    let sentinels = column.sentinels.iter();
    sentinels.filter_map(|sentinel| Some((sentinel.also.as_deref()?, sentinel.value)))
}

/// How many integers in a value use another spelling of a sentinel.
pub(super) fn count_other_spellings(column: &Column, value: &ParsedValue) -> u64 {
    count(column, value, |column, text| {
        other_spellings(column).any(|(spelling, _)| spelling == text)
    })
}

/// How many integers in a value are spelled as floats, where that isn't described.
pub(super) fn count_floats(column: &Column, value: &ParsedValue) -> u64 {
    count(column, value, |column, text| {
        let is_described = column.spelling.integral_floats || is_null(column, text);
        let is_kind = matches!(column.kind, Kind::Integer | Kind::Code);
        is_kind && !is_described && text.contains('.')
    })
}

/// How many words and texts in a value have a property.
fn count(column: &Column, value: &ParsedValue, has: fn(&Column, &str) -> bool) -> u64 {
    match value {
        ParsedValue::Null => 0,
        ParsedValue::Struct(fields) => {
            let columns = column.fields.iter();
            let counts = columns.map(|column| count(column, field(fields, column), has));
            counts.sum()
        }
        ParsedValue::List(items) => {
            let item = item_of(column);
            items.iter().map(|value| count(item, value, has)).sum()
        }
        ParsedValue::Word(text) | ParsedValue::Text(text) => u64::from(has(column, text)),
    }
}

#[cfg(test)]
mod tests {
    use tracelake_testkit::every_kind::TABLE;

    use super::*;

    /// The value of a column of the table that has one of every kind, as Python prints it.
    fn python(name: &str, text: &str) -> Result<String, String> {
        let (_, column) = TABLE.column(name).unwrap();
        let mut reader = ValueReader::new(text, Syntax::QuotedCsv);
        let value = reader.value(column)?;
        reader.end().map(|()| value.to_string())
    }

    #[test]
    fn python_is_read() {
        let (structs, lists) = (&TABLE.columns[5], &TABLE.columns[7]);
        let name = &structs.fields[0].content;
        let text = format!("{{'{name}': 0.5}}");
        assert_eq!(python(&structs.name, &text), Ok(format!("{{{name}: 0.5}}")));
        for (text, read) in [
            ("[1 2\n 3]", "[1, 2, 3]"),
            ("[007, 00, -0]", "[007, 00, -0]"),
            ("[None, 5]", "[null, 5]"),
            ("[]", "[]"),
            ("['\\\\x41 \\x41\\u00e9\\n']", "[\\x41 Aé\n]"),
        ] {
            assert_eq!(python(&lists.name, text), Ok(read.to_owned()));
        }
        for broken in ["[", "[1", "[1]]", "['a", "[{]", ""] {
            python(&lists.name, broken).unwrap_err();
        }
        python(&lists.name, &"[".repeat(1 << 20)).unwrap_err();
    }

    #[test]
    fn each_syntax_has_its_own_null() {
        let (_, column) = TABLE.column("time").unwrap();
        for (syntax, null, word) in [
            (Syntax::Json, "null", "None"),
            (Syntax::QuotedCsv, "None", "null"),
        ] {
            let read = |text| ValueReader::new(text, syntax).value(column).unwrap();
            assert!(matches!(read(null), ParsedValue::Null), "{null}");
            assert!(!matches!(read(word), ParsedValue::Null), "{word}");
        }
    }
}
