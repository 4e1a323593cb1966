//! JSON lines straight into columns: no cell is made, and nothing is allocated for a row.
//!
//! This reads what traces have: objects whose keys and strings have no escapes, with values that fit their
//! columns. It refuses everything else without a reason, since [`super::row`] finds that.

use tracelake_schema::{Column, Kind};

use super::JsonColumns;
use crate::column_values::{ColumnValues, RowValues, Values};
use crate::value;

/// The most objects and lists within one another that are skipped here.
const DEPTH: u32 = 32;

/// Adds the row of a line, without its ending. Returns whether it did; if not, `values` is unchanged.
pub(super) fn append(line: &[u8], columns: &JsonColumns, values: &mut RowValues) -> bool {
    let row = read(line, |reader| match &columns.kept {
        None => reader.object(columns.whole, &mut values.columns),
        Some(kept) => reader.kept(columns.whole, kept, &mut values.columns),
    });
    let is_row = row.is_some();
    if is_row {
        values.end_row(0);
    } else {
        values.undo_row();
    }
    is_row
}

/// Finds the values of two columns, by their indices: the texts of an integer or a string, `None` for NULL. No result
/// says nothing about the line.
pub(super) fn find<'a>(
    line: &'a [u8],
    columns: &'static [Column],
    wanted: [Option<usize>; 2],
) -> Option<[Option<&'a [u8]>; 2]> {
    let mut found = [None; 2];
    read(line, |reader| {
        let seen = reader.fields(columns, |reader, index| {
            if !wanted.contains(&Some(index)) {
                return reader.skip(DEPTH);
            }
            let text = reader.scalar(&columns[index])?;
            for (wanted, found) in wanted.iter().zip(&mut found) {
                if *wanted == Some(index) {
                    *found = text;
                }
            }
            Some(())
        });
        seen.map(|_| ())
    })?;
    Some(found)
}

/// Reads a line that is one value.
fn read<'a>(line: &'a [u8], value: impl FnOnce(&mut DirectReader<'a>) -> Option<()>) -> Option<()> {
    // The ends of strings are ASCII, so strings of a valid line are valid.
    str::from_utf8(line).ok()?;
    let mut reader = DirectReader { rest: line };
    reader.skip_space();
    value(&mut reader)?;
    reader.skip_space();
    reader.rest.is_empty().then_some(())
}

struct DirectReader<'a> {
    rest: &'a [u8],
}

impl<'a> DirectReader<'a> {
    /// Reads the values of an object, in any order. The columns bound the depth of the recursion.
    fn object(&mut self, columns: &'static [Column], values: &mut [ColumnValues]) -> Option<()> {
        let seen = self.fields(columns, |reader, index| {
            reader.value(&columns[index], &mut values[index])
        })?;
        if seen.count_ones() as usize == columns.len() {
            return Some(());
        }
        for (index, column) in columns.iter().enumerate() {
            if seen >> index & 1 == 0 {
                null(column, &mut values[index])?;
            }
        }
        Some(())
    }

    /// Reads the values of some columns of an object; `kept` has the index of each one in `values`.
    fn kept(
        &mut self,
        columns: &'static [Column],
        kept: &[Option<usize>],
        values: &mut [ColumnValues],
    ) -> Option<()> {
        let seen = self.fields(columns, |reader, index| match kept[index] {
            Some(slot) => reader.value(&columns[index], &mut values[slot]),
            None => reader.skip(DEPTH),
        })?;
        for (index, column) in columns.iter().enumerate() {
            if let Some(slot) = kept[index]
                && seen >> index & 1 == 0
            {
                null(column, &mut values[slot])?;
            }
        }
        Some(())
    }

    /// Reads an object; `value` reads the value of a column, and gets its index. Returns the columns that it has,
    /// as bits.
    fn fields(
        &mut self,
        columns: &'static [Column],
        mut value: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<u64> {
        self.take(b'{')?;
        self.skip_space();
        let mut seen = 0_u64;
        if self.take(b'}').is_some() {
            return Some(seen);
        }
        let mut expected = 0;
        loop {
            let index = self.key(columns, expected)?;
            let bit = 1_u64.checked_shl(u32::try_from(index).ok()?)?;
            if seen & bit > 0 {
                return None;
            }
            seen |= bit;
            expected = index + 1;
            self.skip_space();
            self.take(b':')?;
            self.skip_space();
            value(self, index)?;
            self.skip_space();
            if self.take(b',').is_none() {
                break;
            }
            self.skip_space();
        }
        self.take(b'}')?;
        Some(seen)
    }

    /// Reads the text of an integer or a string; NULL is an inner `None`.
    #[expect(
        clippy::option_option,
        reason = "a value that is NULL isn't one that can't be read"
    )]
    fn scalar(&mut self, column: &Column) -> Option<Option<&'a [u8]>> {
        if self.literal(b"null") {
            return Some(None);
        }
        let text = match column.kind {
            Kind::Text => self.string()?,
            _ => self.number()?,
        };
        Some(Some(text))
    }

    /// Skips a value, with at most `depth` objects and lists within one another.
    fn skip(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let end = match self.rest.first()? {
            b'"' => return self.string().map(|_| ()),
            b'{' => b'}',
            b'[' => b']',
            b'-' | b'0'..=b'9' => return self.number().map(|_| ()),
            _ => {
                let words: [&[u8]; 3] = [b"null", b"true", b"false"];
                return words.iter().any(|word| self.literal(word)).then_some(());
            }
        };
        self.rest = &self.rest[1..];
        self.skip_space();
        if self.take(end).is_some() {
            return Some(());
        }
        loop {
            if end == b'}' {
                self.string()?;
                self.skip_space();
                self.take(b':')?;
                self.skip_space();
            }
            self.skip(depth)?;
            self.skip_space();
            if self.take(b',').is_none() {
                return self.take(end);
            }
            self.skip_space();
        }
    }

    /// Reads a key; returns the index of its column. The expected one needs no search.
    fn key(&mut self, columns: &[Column], expected: usize) -> Option<usize> {
        if let Some(column) = columns.get(expected)
            && let Some(rest) = self.rest.strip_prefix(b"\"")
            && let Some(rest) = rest.strip_prefix(column.content.as_bytes())
            && let Some(rest) = rest.strip_prefix(b"\"")
        {
            self.rest = rest;
            return Some(expected);
        }
        let key = self.string()?;
        let mut columns = columns.iter();
        columns.position(|column| column.content.as_bytes() == key)
    }

    fn value(&mut self, column: &'static Column, into: &mut ColumnValues) -> Option<()> {
        if self.literal(b"null") {
            return null(column, into);
        }
        match &mut into.values {
            Values::Structs(fields) => self.object(column.fields, fields)?,
            Values::Lists(items, ends) => {
                self.list(&column.fields[0], items)?;
                ends.push(items.len());
            }
            Values::Texts(bytes, ends) => {
                bytes.extend_from_slice(self.string()?);
                ends.push(bytes.len());
            }
            Values::Booleans(values) => {
                let is_true = self.literal(b"true");
                if !is_true && !self.literal(b"false") {
                    return None;
                }
                values.push(is_true);
            }
            Values::Integers(values) => values.push(value::integer(self.number()?).ok()?),
            Values::Codes(values) => values.push(value::code(self.number()?).ok()?),
            Values::Floats(values) => values.push(value::float(self.number()?).ok()?),
        }
        into.is_valid.push(true);
        Some(())
    }

    fn list(&mut self, column: &'static Column, items: &mut ColumnValues) -> Option<()> {
        self.take(b'[')?;
        self.skip_space();
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(column, items)?;
            self.skip_space();
            if self.take(b',').is_none() {
                return self.take(b']');
            }
            self.skip_space();
        }
    }

    /// The text of a number, which may be in a string. One in a string need not be a number.
    fn number(&mut self) -> Option<&'a [u8]> {
        if self.rest.first() == Some(&b'"') {
            return self.string();
        }
        let (number, rest) = self.rest.split_at(number_length(self.rest)?);
        self.rest = rest;
        Some(number)
    }

    /// The text of a string without escapes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.strip_prefix(b"\"")?;
        let is_end = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < b' ';
        let (string, rest) = rest.split_at(rest.iter().position(is_end)?);
        self.rest = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    fn literal(&mut self, word: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        (*first == byte).then(|| self.rest = rest)
    }

    #[inline]
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }
}

/// Adds NULL, unless the column is mandatory.
fn null(column: &Column, into: &mut ColumnValues) -> Option<()> {
    (!column.mandatory).then(|| into.push_null())
}

/// The length of the number of JSON that a text starts with.
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        from + end.unwrap_or(rest.len())
    };
    let start = usize::from(text.first() == Some(&b'-'));
    let mut end = digits(start);
    // No digits, or more than one after a zero.
    if end == start || (text[start] == b'0' && end > start + 1) {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let start = end + 1;
        end = digits(start);
        if end == start {
            return None;
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let start = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits(start);
        if end == start {
            return None;
        }
    }
    Some(end)
}
