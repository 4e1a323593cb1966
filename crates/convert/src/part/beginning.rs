//! The beginning of a text: its header, and what is accepted there that isn't as published.

use std::borrow::Cow;
use std::collections::BTreeSet;

use csv::ByteRecord;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::{Field, FieldOrder, HeaderFault};
use tracelake_core::line_ending::LineEnding;
use tracelake_encode::quoted::QuotedRecords;
use tracelake_encode::syntax::BYTE_ORDER_MARK;
use tracelake_schema::{Header, Syntax};
use tracelake_source::{Chunk, Source};

/// The longest name in a header that a message shows in full, in bytes.
const SHOWN: usize = 80;

/// The beginning of a text, which says what its fields are.
pub struct Beginning<'a> {
    /// The fields of the text.
    pub order: Cow<'a, FieldOrder>,
    /// Whether a byte order mark was accepted and removed.
    pub(super) is_marked: bool,
}

impl<'a> Beginning<'a> {
    /// Looks at the first lines of a text, if its order depends on them or accepts what only they tell, and gives them
    /// back but for a byte order mark.
    ///
    /// # Errors
    /// When the file can't be read, or its header isn't one of the table.
    pub fn of(source: &mut Source, order: Cow<'a, FieldOrder>) -> Result<Self> {
        let (csv, syntax) = (order.table.csv, order.table.syntax);
        let is_by_name = csv.header == Header::ByName;
        let accepts_mark = order.accept.bom && !csv.bom;
        let accepts_index = order.accept.index && syntax != Syntax::Json;
        let mut beginning = Self {
            order,
            is_marked: false,
        };
        if !accepts_mark && !accepts_index && !is_by_name {
            return Ok(beginning);
        }
        source.read_by_lines(!beginning.order.table.json.array);
        let mut chunk = Chunk::default();
        if !source.next_chunk(&mut chunk)? {
            return Ok(beginning);
        }
        let lines = chunk.lines();
        let has_mark = lines.starts_with(BYTE_ORDER_MARK);
        beginning.is_marked = accepts_mark && has_mark;
        let start = usize::from(beginning.is_marked) * BYTE_ORDER_MARK.len();
        let described = usize::from(has_mark && csv.bom) * BYTE_ORDER_MARK.len();
        // A mark that isn't accepted is refused where rows are read, not taken for a part of the first name.
        let is_refused = has_mark && start + described == 0;
        let rows = (!is_refused).then(|| &lines[start + described..]);
        if let Some((line, row)) = rows.and_then(|rows| beginning.first_row(rows)) {
            if is_by_name {
                let found = beginning.find_columns(&row, accepts_index);
                found.map_err(|error| error.at(source.text_location()).line(line, None))?;
            } else if accepts_index && let Some(order) = beginning.order.with_index_of(row.iter()) {
                beginning.order = Cow::Owned(order);
            }
        }
        source.give_back(&mut chunk, start);
        Ok(beginning)
    }

    /// The number of the first line that is no comment, and its fields.
    fn first_row(&self, lines: &[u8]) -> Option<(u64, ByteRecord)> {
        let csv = self.order.table.csv;
        let comment = |line: &[u8]| csv.comment.is_some() && line.first().copied() == csv.comment;
        match self.order.table.syntax {
            Syntax::Csv => {
                let rows = lines.split(|&byte| byte == b'\n');
                let (number, line) = (1..).zip(rows).find(|(_, line)| !comment(line))?;
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let fields = csv.fields(line).map(|range| &line[range]);
                Some((number, fields.collect()))
            }
            Syntax::QuotedCsv => {
                let mut records = QuotedRecords::new(csv.separator);
                records.split(lines, false, 1);
                let (raw, _) =
                    LineEnding::of(lines).body(&lines[records.ranges().first()?.clone()]);
                let fields = records.fields(0, raw).ok()?;
                Some((1, fields.into_iter().map(|(_, value)| value).collect()))
            }
            Syntax::Json | Syntax::Parquet => None,
        }
    }

    /// Finds the columns by the names in a header. Where none is known, the order stays: a header that has to be exact
    /// isn't that, and the message says what is there instead.
    fn find_columns(&mut self, header: &ByteRecord, accepts_index: bool) -> Result<()> {
        let order = &self.order;
        let known: BTreeSet<Cow<'_, str>> = order.fields.iter().flat_map(Field::names).collect();
        let is_known = |name: &[u8]| str::from_utf8(name).is_ok_and(|name| known.contains(name));
        if !header.iter().any(is_known) {
            return Ok(());
        }
        let is_index = |name: &[u8]| accepts_index && name.is_empty() && !is_known(name);
        let has_index = header.get(0).is_some_and(is_index);
        let names = header.iter().skip(usize::from(has_index));
        let found = order.by_name(names).map_err(|fault| {
            let names: Vec<&[u8]> = header.iter().skip(usize::from(has_index)).collect();
            misfit(order, &names, fault)
        })?;
        self.order = Cow::Owned(match has_index {
            true => found.with_index(),
            false => found,
        });
        Ok(())
    }
}

/// The error for a header with these names.
fn misfit(order: &FieldOrder, names: &[&[u8]], fault: HeaderFault) -> Error {
    let name_at = |at: usize| escape(names[at], SHOWN);
    let (reason, hint) = match fault {
        HeaderFault::Unknown(at) => (
            format!(
                "the header has '{}' as column {}, which the description doesn't have",
                name_at(at),
                at + 1
            ),
            "describe the column, or write extra = \"ignore\" in [table.csv] of the description to leave it out"
                .to_owned(),
        ),
        HeaderFault::Double(at) => (
            format!("the header has '{}' twice", name_at(at)),
            "take the published file".to_owned(),
        ),
        HeaderFault::Missing(field) => {
            let field = &order.fields[field];
            (
                format!("the header lacks the column '{}'", field.content()),
                format!(
                    "take the published file; if it never had {0}, write may_be_absent = true for {0} in the \
                     description",
                    field.column.name
                ),
            )
        }
    };
    Error::new(ErrorKind::Misfit, reason)
        .field(&*order.table.name)
        .hint(hint)
}
