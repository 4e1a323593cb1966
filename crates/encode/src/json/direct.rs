//! JSON lines straight to the texts of their leaves: no cell is made, and nothing is allocated for a row.
//!
//! This reads what traces have: objects whose keys and strings have no escapes. It says where values are, and leaves it
//! to the columns to read them. It refuses everything else without a reason, since [`row`](super::cells::row) finds that.

use std::ops::Range;
use std::sync::Arc;

use tracelake_schema::{Column, Extra, Kind};

use super::columns::JsonColumns;
use super::stops::{Commas, number_end, number_length, string_end};
use crate::nodes::Node;
use crate::row_fields::{LeafFields, RowFields, offset};

/// The most objects and lists within one another that are skipped here.
const DEPTH: u32 = 32;

/// Adds the row of a line of `text`, which is UTF-8; its range is without its ending. Returns whether it did; if not,
/// `rows` is unchanged.
pub(super) fn append(
    text: &[u8],
    line: Range<usize>,
    columns: &JsonColumns,
    rows: &mut RowFields,
) -> bool {
    let row = read(text, line, columns.extra, |reader| match &columns.kept {
        None => reader.object(&columns.nodes, &columns.keys, 0, rows),
        Some(kept) => reader.kept(columns, kept, rows),
    });
    let is_row = row.is_some();
    if is_row {
        rows.end_row();
    } else {
        rows.undo_row();
    }
    is_row
}

/// Finds the values of two columns, by their indices: the texts of an integer or a string, `None` for NULL. No result
/// says nothing about the line.
pub(super) fn find<'a>(
    line: &'a [u8],
    columns: &JsonColumns,
    wanted: [Option<usize>; 2],
) -> Option<[Option<&'a [u8]>; 2]> {
    // The ends of strings are ASCII, so strings of a valid line are valid.
    str::from_utf8(line).ok()?;
    let mut found = [None; 2];
    read(line, 0..line.len(), columns.extra, |reader| {
        let seen = reader.fields(&columns.whole, &columns.keys, |reader, index| {
            if !wanted.contains(&Some(index)) {
                return reader.skip(DEPTH);
            }
            let value = reader.scalar(&columns.whole[index])?;
            for (wanted, found) in wanted.iter().zip(&mut found) {
                if *wanted == Some(index) {
                    *found = value.clone().map(|value| &line[value]);
                }
            }
            Some(())
        });
        seen.map(|_| ())
    })?;
    Some(found)
}

/// Reads a line, or an element of several lines, that is one value. More of them may follow in the text.
fn read<'a>(
    text: &'a [u8],
    line: Range<usize>,
    extra: Extra,
    value: impl FnOnce(&mut DirectReader<'a>) -> Option<()>,
) -> Option<()> {
    let mut reader = DirectReader {
        text,
        at: line.start,
        line_end: line.end,
        extra,
    };
    reader.skip_space();
    value(&mut reader)?;
    // A value that goes on in the next line isn't one of this line.
    let after = text.get(reader.at..line.end)?;
    after.iter().all(|byte| is_space(*byte)).then_some(())
}

struct DirectReader<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the line ends: nothing is searched for in the lines after it.
    line_end: usize,
    /// The policy for names that no column has.
    extra: Extra,
}

impl<'a> DirectReader<'a> {
    /// Reads the values of an object, in any order. The columns bound the depth of the recursion.
    fn object(
        &mut self,
        nodes: &[Node],
        keys: &[Vec<u8>],
        repetition: u8,
        rows: &mut RowFields,
    ) -> Option<()> {
        let seen = self.fields_of(
            |index| nodes.get(index).map(|node| &*node.column),
            keys,
            |reader, index| reader.value(&nodes[index], repetition, rows),
        )?;
        if seen.count_ones() as usize == nodes.len() {
            return Some(());
        }
        for (index, node) in nodes.iter().enumerate() {
            if seen >> index & 1 == 0 {
                null(node, repetition, rows)?;
            }
        }
        Some(())
    }

    /// Reads the values of some columns of an object; `kept` has the index of each one among the nodes.
    fn kept(
        &mut self,
        columns: &JsonColumns,
        kept: &[Option<usize>],
        rows: &mut RowFields,
    ) -> Option<()> {
        let seen = self.fields(&columns.whole, &columns.keys, |reader, index| {
            match kept[index] {
                Some(slot) => reader.value(&columns.nodes[slot], 0, rows),
                None => reader.skip(DEPTH),
            }
        })?;
        for (index, slot) in kept.iter().enumerate() {
            if let Some(slot) = slot
                && seen >> index & 1 == 0
            {
                null(&columns.nodes[*slot], 0, rows)?;
            }
        }
        for (leaf, value) in &columns.captured {
            rows.push(*leaf, *value, 0);
        }
        Some(())
    }

    /// Reads an object; `value` reads the value of a column, and gets its index. Returns the columns that it has,
    /// as bits.
    fn fields(
        &mut self,
        columns: &[Arc<Column>],
        keys: &[Vec<u8>],
        value: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<u64> {
        self.fields_of(|index| columns.get(index).map(|it| &**it), keys, value)
    }

    fn fields_of<'c>(
        &mut self,
        column: impl Fn(usize) -> Option<&'c Column>,
        keys: &[Vec<u8>],
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
            match self.key(&column, keys, expected)? {
                Some(index) => {
                    let bit = 1_u64.checked_shl(u32::try_from(index).ok()?)?;
                    if seen & bit > 0 {
                        return None;
                    }
                    seen |= bit;
                    expected = index + 1;
                    self.skip_space();
                    value(self, index)?;
                }
                None => {
                    self.skip_space();
                    self.skip(DEPTH)?;
                }
            }
            self.skip_space();
            if self.take(b',').is_none() {
                break;
            }
            self.skip_space();
        }
        self.take(b'}')?;
        Some(seen)
    }

    /// Reads a key and its colon; returns the index of its column, an inner `None` if there is no such column and that is
    /// ignored. The expected one needs no search.
    #[expect(
        clippy::option_option,
        reason = "a name to ignore isn't one that can't be read"
    )]
    fn key<'c>(
        &mut self,
        column: impl Fn(usize) -> Option<&'c Column>,
        keys: &[Vec<u8>],
        expected: usize,
    ) -> Option<Option<usize>> {
        if let Some(key) = keys.get(expected)
            && self.rest().starts_with(key)
        {
            self.at += key.len();
            return Some(Some(expected));
        }
        let key = self.string()?;
        self.skip_space();
        self.take(b':')?;
        let key = &self.text[key];
        let mut indices = 0..keys.len();
        let found =
            indices.find(|&index| column(index).is_some_and(|it| it.content.as_bytes() == key));
        (found.is_some() || self.extra == Extra::Ignore).then_some(found)
    }

    fn value(&mut self, node: &Node, repetition: u8, rows: &mut RowFields) -> Option<()> {
        let value = match node.column.kind {
            Kind::Integer | Kind::Code | Kind::Float => self.number(),
            Kind::Text if node.column.spelling.numbers => self.any_number(),
            Kind::Text | Kind::DateTime(_) => self.string(),
            Kind::Boolean => self.boolean(&node.column),
            Kind::Struct if self.peek() == Some(b'{') => {
                return self.object(&node.fields, &node.keys, repetition, rows);
            }
            Kind::List if self.peek() == Some(b'[') => return self.list(node, repetition, rows),
            Kind::Struct | Kind::List => None,
        };
        match value {
            Some(value) if node.column.spelling.is_null(&self.text[value.clone()]) => {
                null(node, repetition, rows)
            }
            Some(value) => {
                let range = (offset(value.start), offset(value.end));
                rows.push(node.leaves.start, range, repetition);
                Some(())
            }
            None => {
                self.word(b"null")?;
                null(node, repetition, rows)
            }
        }
    }

    fn list(&mut self, node: &Node, repetition: u8, rows: &mut RowFields) -> Option<()> {
        let item = node.fields.first()?;
        self.take(b'[')?;
        self.skip_space();
        if self.take(b']').is_some() {
            rows.push_null(node.leaves.clone(), node.levels.definition, repetition);
            return Some(());
        }
        let mut repetition = repetition;
        if let Kind::Integer | Kind::Code | Kind::Float = item.column.kind
            && item.column.spelling.nulls.is_empty()
        {
            let leaf = &mut rows.leaves[item.leaves.start];
            if self.numbers(&mut repetition, node.levels.repetition, leaf)? {
                return Some(());
            }
        }
        loop {
            self.skip_space();
            self.value(item, repetition, rows)?;
            repetition = node.levels.repetition;
            self.skip_space();
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }

    /// Reads the items of a list of numbers, most of the values of instance_usage, up to the first one that isn't plainly a
    /// number between two commas. Returns whether the list has ended. Its commas are found in blocks.
    fn numbers(&mut self, repetition: &mut u8, next: u8, leaf: &mut LeafFields) -> Option<bool> {
        let end = self.at + memchr::memchr(b']', self.text.get(self.at..self.line_end)?)?;
        for stop in Commas::new(self.text, self.at..end).chain([end]) {
            if !is_number(&self.text[self.at..stop]) {
                return Some(false);
            }
            leaf.push((offset(self.at), offset(stop)), *repetition);
            *repetition = next;
            self.at = stop + 1;
        }
        Some(true)
    }

    /// Reads an integer or a string; NULL is an inner `None`.
    #[expect(
        clippy::option_option,
        reason = "a value that is NULL isn't one that can't be read"
    )]
    fn scalar(&mut self, column: &Column) -> Option<Option<Range<usize>>> {
        if self.word(b"null").is_some() {
            return Some(None);
        }
        let value = match column.kind {
            Kind::Text | Kind::DateTime(_) if !column.spelling.numbers => self.string()?,
            Kind::Integer
            | Kind::Float
            | Kind::Boolean
            | Kind::Text
            | Kind::Code
            | Kind::DateTime(_)
            | Kind::Struct
            | Kind::List => self.any_number()?,
        };
        Some(Some(value))
    }

    /// Skips a value, with at most `depth` objects and lists within one another.
    fn skip(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let end = match self.peek()? {
            b'"' => return self.string().map(|_| ()),
            b'{' => b'}',
            b'[' => b']',
            b'-' | b'0'..=b'9' => return self.any_number().map(|_| ()),
            _ => {
                let words: [&[u8]; 3] = [b"null", b"true", b"false"];
                return words.iter().find_map(|word| self.word(word)).map(|_| ());
            }
        };
        self.at += 1;
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

    /// The text of a number that a column reads, and that may be in a string. One in a string need not be a number;
    /// another one is a number of JSON if it is one for its column.
    #[inline]
    fn number(&mut self) -> Option<Range<usize>> {
        if self.peek() == Some(b'"') {
            return self.string();
        }
        let number = self.at..number_end(self.text, self.at);
        if !is_number(self.text.get(number.clone())?) {
            return None;
        }
        self.at = number.end;
        Some(number)
    }

    /// The text of a truth value, or of a string or a number that may spell one.
    fn boolean(&mut self, column: &Column) -> Option<Range<usize>> {
        let value = self.word(b"true").or_else(|| self.word(b"false"));
        value.or_else(|| match column.spelling.words.is_empty() {
            true => None,
            false => self.any_number(),
        })
    }

    /// The text of a number that no column reads, and that may be in a string.
    fn any_number(&mut self) -> Option<Range<usize>> {
        if self.peek() == Some(b'"') {
            return self.string();
        }
        let number = self.at..self.at + number_length(self.rest())?;
        self.at = number.end;
        Some(number)
    }

    /// The text of a string without escapes.
    #[inline]
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        if self.peek() != Some(b'"') {
            return None;
        }
        let end = string_end(self.text, start)?;
        if self.text[end] != b'"' {
            return None;
        }
        self.at = end + 1;
        Some(start..end)
    }

    fn word(&mut self, word: &[u8]) -> Option<Range<usize>> {
        let end = self.at + word.len();
        let range = self.at..end;
        if self.text.get(range.clone()) != Some(word) {
            return None;
        }
        self.at = end;
        Some(range)
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    #[inline]
    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a text is a number of JSON, if it is one for its column.
#[inline]
fn is_number(text: &[u8]) -> bool {
    match text {
        // With these around it, a number that isn't one of JSON isn't one for `value` either.
        [b'0'..=b'9', b'.', b'0'..=b'9'] | [b'0'..=b'9', b'.', b'0'..=b'9', .., b'0'..=b'9'] => {
            true
        }
        _ => number_length(text) == Some(text.len()),
    }
}

/// Adds NULL, unless the column is mandatory.
fn null(node: &Node, repetition: u8, rows: &mut RowFields) -> Option<()> {
    if node.column.mandatory {
        return None;
    }
    rows.push_null(node.leaves.clone(), node.null_level(), repetition);
    Some(())
}
