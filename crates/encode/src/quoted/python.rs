//! Structs and lists as Python and numpy print them, to cells.

use std::sync::Arc;

use tracelake_core::fault::Fault;
use tracelake_schema::{Column, Kind};

use crate::cell::{Cell, NamedCells, NumberReader, boolean, date_time, null};
use crate::reject::Reject;
use crate::value;

/// Reads all of a text as the value of a column, such as `{'cpus': 0.02, 'memory': None}` or
/// `[0.003 0.004\n 1.2e-05]`. The columns bound the depth of the recursion.
pub(super) fn read(
    text: &str,
    column: &Column,
    numbers: &mut NumberReader<'_>,
) -> Result<Cell, Reject> {
    let mut reader = PythonReader {
        text,
        at: 0,
        numbers,
    };
    reader.space();
    let cell = reader.value(column)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.unexpected());
    }
    Ok(cell)
}

struct PythonReader<'a, 'b, 'n> {
    text: &'a str,
    at: usize,
    numbers: &'b mut NumberReader<'n>,
}

impl<'a> PythonReader<'a, '_, '_> {
    fn value(&mut self, column: &Column) -> Result<Cell, Reject> {
        let start = self.at;
        let next = self.peek();
        match (column.kind, next) {
            (Kind::Struct, Some(b'{')) => self.named(&column.fields).map(Cell::Struct),
            (Kind::List, Some(b'[')) => match &column.fields[..] {
                [item, ..] => self.items(item).map(Cell::List),
                [] => Err(self.unexpected()),
            },
            (kind, Some(b'\'' | b'"')) if may_be_string(column) => {
                let text = self.string()?;
                let read = match kind {
                    _ if column.spelling.is_null(text.as_bytes()) => null(column),
                    Kind::Text => Ok(Cell::Text(text)),
                    Kind::DateTime(zone) => date_time(column, text, zone),
                    Kind::Boolean => boolean(column, text.as_bytes(), |_| Err(Fault::NotTruth)),
                    _ => self.bare(column, ""),
                };
                read.map_err(|fault| Reject::new(start..self.at, fault))
            }
            _ => {
                let word = self.word();
                let end = if word.is_empty() {
                    self.text.len()
                } else {
                    self.at
                };
                let read = match word {
                    "" if next.is_none() && is_number(column) => Err(Fault::NotPython),
                    word => self.bare(column, word),
                };
                read.map_err(|fault| Reject::new(start..end, fault))
            }
        }
    }

    /// The value of a word without quotes.
    fn bare(&mut self, column: &Column, word: &str) -> Result<Cell, Fault> {
        match (column.kind, word) {
            (_, "None") => null(column),
            (_, word) if !word.is_empty() && column.spelling.is_null(word.as_bytes()) => {
                null(column)
            }
            (_, word) if word.starts_with("...") => Err(Fault::Elided),
            (Kind::Struct, _) => Err(Fault::NotStruct),
            (Kind::List, _) => Err(Fault::NotList),
            (Kind::Text, word) if column.spelling.numbers && is_float(word) => {
                Ok(Cell::Text(word.to_owned()))
            }
            (Kind::Text, _) => Err(Fault::NotText),
            (Kind::DateTime(_), _) => Err(Fault::NotDateTime),
            (Kind::Boolean, word) => boolean(column, word.as_bytes(), truth),
            (_, word) => self.numbers.read(column, word.as_bytes()),
        }
    }

    /// Reads `{'name': value, ...}`.
    fn named(&mut self, columns: &[Arc<Column>]) -> Result<Vec<Cell>, Reject> {
        let start = self.at;
        self.at += 1;
        let mut named = NamedCells::new(columns);
        self.space();
        while self.peek() != Some(b'}') {
            let key = self.at;
            if !matches!(self.peek(), Some(b'\'' | b'"')) {
                return Err(self.unexpected());
            }
            let name = self.string()?;
            let found = named.column(&name);
            let (index, column) = found.map_err(|fault| Reject::new(key..self.at, fault))?;
            self.space();
            self.expect(b':')?;
            self.space();
            let cell = self
                .value(column)
                .map_err(|reject| reject.in_struct_field(column))?;
            named.put(index, cell);
            self.space();
            if self.peek() != Some(b'}') {
                self.expect(b',')?;
                self.space();
                if self.peek() == Some(b'}') {
                    return Err(self.unexpected());
                }
            }
        }
        self.at += 1;
        named
            .finish()
            .map_err(|(column, fault)| Reject::new(start..self.at, fault).in_struct_field(column))
    }

    /// Reads `[value, ...]`, or `[value ...]` as numpy prints it. All items have the same separator.
    fn items(&mut self, column: &Column) -> Result<Vec<Cell>, Reject> {
        self.at += 1;
        let mut items = Vec::new();
        let mut commas = None;
        self.space();
        while self.peek() != Some(b']') {
            let item = self
                .value(column)
                .map_err(|reject| reject.in_item(items.len()))?;
            items.push(item);
            let end = self.at;
            self.space();
            if self.peek() == Some(b']') {
                break;
            }
            let comma = self.peek() == Some(b',');
            if *commas.get_or_insert(comma) != comma || (!comma && self.at == end) {
                return Err(self.unexpected());
            }
            if comma {
                self.at += 1;
                self.space();
                if self.peek() == Some(b']') {
                    return Err(self.unexpected());
                }
            }
        }
        self.at += 1;
        Ok(items)
    }

    /// Reads a string in single or double quotes, with the escapes that Python prints.
    fn string(&mut self) -> Result<String, Reject> {
        let start = self.at;
        let rest = &self.text[start..];
        let mut characters = rest.char_indices();
        let Some((_, quote)) = characters.next() else {
            return Err(self.unexpected());
        };
        let mut string = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => {
                    let digits = match characters.next() {
                        Some((_, same @ ('\\' | '\'' | '"'))) => {
                            string.push(same);
                            continue;
                        }
                        Some((_, 'n')) => {
                            string.push('\n');
                            continue;
                        }
                        Some((_, 'r')) => {
                            string.push('\r');
                            continue;
                        }
                        Some((_, 't')) => {
                            string.push('\t');
                            continue;
                        }
                        Some((_, 'x')) => 2,
                        Some((_, 'u')) => 4,
                        Some((_, 'U')) => 8,
                        _ => 0,
                    };
                    let character = rest
                        .get(at + 2..at + 2 + digits)
                        .filter(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()))
                        .and_then(|number| u32::from_str_radix(number, 16).ok())
                        .and_then(char::from_u32);
                    let Some(character) = character else {
                        self.at = start + at;
                        return Err(self.unexpected());
                    };
                    string.push(character);
                    characters.nth(digits - 1);
                }
                character if character == quote => {
                    self.at = start + at + 1;
                    return Ok(string);
                }
                character if character.is_control() => {
                    self.at = start + at;
                    return Err(self.unexpected());
                }
                character => string.push(character),
            }
        }
        Err(self.unexpected())
    }

    /// The text before the next space or delimiter.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |byte: u8| is_space(byte) || b"[]{}:,'\"".contains(&byte);
        let end = rest.bytes().position(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), Reject> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    /// The reject for text that can't come next.
    fn unexpected(&self) -> Reject {
        let rest = &self.text[self.at..];
        let fault = if rest.starts_with("...") {
            Fault::Elided
        } else {
            Fault::NotPython
        };
        Reject::new(self.at..self.text.len(), fault)
    }
}

/// Whether a value of a column may be a string.
fn may_be_string(column: &Column) -> bool {
    let is_kind = matches!(column.kind, Kind::Text | Kind::DateTime(_));
    is_kind || !column.spelling.words.is_empty() || !column.spelling.nulls.is_empty()
}

/// Whether a word is a number, however large.
fn is_float(word: &str) -> bool {
    matches!(value::float(word.as_bytes()), Ok(_) | Err(Fault::Overflow))
}

fn is_number(column: &Column) -> bool {
    matches!(column.kind, Kind::Integer | Kind::Code | Kind::Float)
}

/// Reads a truth value as Python prints it.
fn truth(word: &[u8]) -> Result<bool, Fault> {
    match word {
        b"True" => Ok(true),
        b"False" => Ok(false),
        _ => Err(Fault::NotTruth),
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
