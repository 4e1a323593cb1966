//! A row of a file as JSON, for people.

use std::io::Write;

use tracelake_schema::Kind;

use super::cast::date_time;
use super::leaf::LeafChunk;
use crate::nodes::Node;
use crate::typed_rows::TypedValues;

/// The row of this number of a chunk, whose leaves are those of `nodes`. NULLs are left out, and a text that isn't
/// UTF-8 keeps its bytes.
pub(super) fn row_json(nodes: &[Node], leaves: &[LeafChunk], row: usize) -> Vec<u8> {
    let mut writer = RowWriter {
        leaves,
        entries: leaves.iter().map(|leaf| Entries::of(leaf, row)).collect(),
        out: Vec::new(),
    };
    writer.group(nodes, 0);
    writer.out
}

struct RowWriter<'a> {
    leaves: &'a [LeafChunk],
    entries: Vec<Entries>,
    out: Vec<u8>,
}

/// The entries of a leaf in one row that are still to be written, and the number of the next value.
struct Entries {
    levels: std::vec::IntoIter<(u8, u8)>,
    value: usize,
}

impl Entries {
    fn of(leaf: &LeafChunk, row: usize) -> Self {
        let levels = &leaf.values.levels;
        let (mut found, mut value, mut at) = (Vec::new(), 0, 0);
        for (entry, (definition, repetition)) in levels.iter().enumerate() {
            at += usize::from(entry > 0 && repetition == 0);
            if at == row {
                found.push((definition, repetition));
            } else if at < row && levels.is_value(definition) {
                value += 1;
            }
        }
        Self {
            levels: found.into_iter(),
            value,
        }
    }

    fn level(&self) -> Option<(u8, u8)> {
        self.levels.as_slice().first().copied()
    }
}

impl RowWriter<'_> {
    /// Writes a group of values, which is in so many lists.
    fn group(&mut self, nodes: &[Node], lists: u8) {
        let start = self.out.len();
        for node in nodes {
            let before = self.out.len();
            self.out.push(if before == start { b'{' } else { b',' });
            self.text(node.column.content.as_bytes());
            self.out.push(b':');
            if !self.value(node, lists) {
                self.out.truncate(before);
            }
        }
        if self.out.len() == start {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }

    /// Writes a value; false if it is NULL.
    fn value(&mut self, node: &Node, lists: u8) -> bool {
        let first = node.leaves.start;
        let level = self.entries[first]
            .level()
            .map_or(0, |(definition, _)| definition);
        if level < node.levels.definition {
            self.pass(node);
            return false;
        }
        if node.levels.repetition == lists {
            return match node.fields.is_empty() {
                true => self.leaf(node),
                false => {
                    self.group(&node.fields, lists);
                    true
                }
            };
        }
        self.out.push(b'[');
        if level == node.levels.definition {
            self.pass(node);
        } else {
            loop {
                if !self.value(&node.fields[0], node.levels.repetition) {
                    self.out.extend_from_slice(b"null");
                }
                let next = self.entries[first].level();
                if next.is_none_or(|(_, repetition)| repetition < node.levels.repetition) {
                    break;
                }
                self.out.push(b',');
            }
        }
        self.out.push(b']');
        true
    }

    /// Passes an entry of each leaf, which is no value.
    fn pass(&mut self, node: &Node) {
        for leaf in node.leaves.clone() {
            self.entries[leaf].levels.next();
        }
    }

    /// Writes the value of a leaf; false if it should not be NULL, but is.
    fn leaf(&mut self, node: &Node) -> bool {
        let leaf = node.leaves.start;
        let chunk = &self.leaves[leaf];
        let entries = &mut self.entries[leaf];
        entries.levels.next();
        let value = entries.value;
        entries.value += 1;
        let fault = chunk
            .faults
            .binary_search_by_key(&value, |fault| fault.value);
        if let Some(fault) = fault.ok().map(|index| &chunk.faults[index]) {
            match &fault.text {
                // JSON has no NaN, and no date-times.
                Some(text) if chunk.is_text() || !is_json(text) => self.text(text),
                Some(text) => self.out.extend_from_slice(text),
                None => return false,
            }
            return true;
        }
        let (values, index) = chunk.values.at(value);
        let written = match values {
            TypedValues::Integers(values) if matches!(node.column.kind, Kind::DateTime(_)) => {
                let text = date_time(&node.column, i128::from(values[index]) * 1000);
                self.text(text.as_bytes());
                Ok(())
            }
            TypedValues::Integers(values) => write!(self.out, "{}", values[index]),
            TypedValues::Floats(values) => write!(self.out, "{:?}", values[index]),
            TypedValues::Booleans(values) => write!(self.out, "{}", values[index]),
            TypedValues::Texts(values) => {
                let text = values[index].clone();
                self.text(&text);
                Ok(())
            }
        };
        written.expect("memory takes any text");
        true
    }

    /// Writes a text with quotes, and its bytes as they are where they aren't UTF-8.
    fn text(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        for chunk in bytes.utf8_chunks() {
            let quoted = serde_json::to_string(chunk.valid()).expect("a text can be written");
            self.out
                .extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
            self.out.extend_from_slice(chunk.invalid());
        }
        self.out.push(b'"');
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}
