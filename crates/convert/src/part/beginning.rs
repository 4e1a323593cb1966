//! The beginning of a text, where something is accepted that isn't as published.

use std::borrow::Cow;

use csv::ReaderBuilder;
use tracelake_core::error::Result;
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::syntax::BYTE_ORDER_MARK;
use tracelake_schema::Syntax;
use tracelake_source::{Chunk, Source};

/// The beginning of a text, which says what its fields are.
pub struct Beginning<'a> {
    /// The fields of the text.
    pub order: Cow<'a, FieldOrder>,
    /// Whether a byte order mark was accepted and removed.
    pub(super) is_marked: bool,
}

impl<'a> Beginning<'a> {
    /// Looks at the first lines of a text, if its order accepts what only they tell, and gives them back but for a byte
    /// order mark.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of(source: &mut Source, order: Cow<'a, FieldOrder>) -> Result<Self> {
        let table = &order.table;
        let accepts_mark = order.accept.bom && !table.csv.bom;
        let accepts_index = order.accept.index && table.syntax != Syntax::Json;
        let mut beginning = Self {
            order,
            is_marked: false,
        };
        if !accepts_mark && !accepts_index {
            return Ok(beginning);
        }
        let mut chunk = Chunk::default();
        if !source.next_chunk(&mut chunk)? {
            return Ok(beginning);
        }
        let lines = chunk.lines();
        beginning.is_marked = accepts_mark && lines.starts_with(BYTE_ORDER_MARK);
        let start = usize::from(beginning.is_marked) * BYTE_ORDER_MARK.len();
        if accepts_index {
            beginning.find_index(&lines[start..]);
        }
        source.give_back(&mut chunk, start);
        Ok(beginning)
    }

    /// Puts the index before the fields, if the first row has one.
    fn find_index(&mut self, lines: &[u8]) {
        let csv = self.order.table.csv;
        let mut rows = lines.split(|&byte| byte == b'\n');
        let comment = |line: &[u8]| csv.comment.is_some() && line.first().copied() == csv.comment;
        let Some(line) = rows.find(|line| !comment(line)) else {
            return;
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let found = match self.order.table.syntax {
            Syntax::Csv => {
                let fields = csv.fields(line).map(|range| &line[range]);
                self.order.with_index_of(fields)
            }
            Syntax::QuotedCsv => {
                let reader = ReaderBuilder::new().has_headers(false).from_reader(line);
                let record = reader.into_byte_records().next();
                let record = record.and_then(std::result::Result::ok);
                record.and_then(|record| self.order.with_index_of(record.iter()))
            }
            Syntax::Json | Syntax::Parquet => None,
        };
        if let Some(order) = found {
            self.order = Cow::Owned(order);
        }
    }
}
