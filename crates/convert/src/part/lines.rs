//! A text in chunks of whole lines, split into records, and its parts one after the other.

use std::borrow::Cow;
use std::ops::Range;

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::first_few;
use tracelake_encode::syntax::{
    ArrayPlace, BYTE_ORDER_MARK, ChunkRecords, NoArray, Selector, Splitting,
};
use tracelake_schema::{Csv, Header, Syntax};
use tracelake_source::{Chunk, LINE_LIMIT, Magic, Source};

use crate::fit::is_json;

/// A chunk with more records than this, of 16 bytes on average, is dense.
const DENSE_RECORDS: u64 = 1 << 13;

/// A chunk with more offsets of values than this, in bytes, is dense.
const DENSE_VALUE_BYTES: usize = 1 << 20;

/// A chunk of text and where its records are.
pub(super) struct SplitChunk {
    pub(super) chunk: Chunk,
    pub(super) records: ChunkRecords,
    /// Bytes of the file that were read with it and before it.
    pub(super) position: u64,
}

impl SplitChunk {
    pub(super) fn new(order: &FieldOrder) -> Self {
        Self {
            chunk: Chunk::default(),
            records: ChunkRecords::new(order),
            position: 0,
        }
    }

    /// Whether its records take much more room than its text: up to 200 bytes each for quoted CSV, or 10 bytes for each
    /// value of JSON.
    pub(super) fn is_dense(&self) -> bool {
        self.records.count() > DENSE_RECORDS || self.records.value_bytes() > DENSE_VALUE_BYTES
    }

    /// Whether it has lines; it has none after the end of a part.
    pub(super) fn has_lines(&self) -> bool {
        !self.chunk.lines().is_empty()
    }
}

/// Bytes and lines before the rows of a chunk.
#[derive(Default)]
struct BeforeRows {
    bytes: usize,
    lines: usize,
}

impl BeforeRows {
    /// The line after it, with its ending.
    fn next_line<'a>(&self, lines: &'a [u8]) -> &'a [u8] {
        let rest = &lines[self.bytes..];
        let end = memchr::memchr(b'\n', rest);
        &rest[..end.map_or(rest.len(), |end| end + 1)]
    }

    /// Adds the next line.
    fn add(&mut self, line: &[u8]) {
        self.bytes += line.len();
        self.lines += 1;
    }
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads and splits the chunks of a text.
pub(super) struct Lines<'a> {
    source: &'a mut Source,
    order: &'a FieldOrder,
    /// How the lines end, once one was read.
    ending: Option<LineEnding>,
    /// Whether the header is still to be read.
    header: bool,
    /// Comments before the header in earlier chunks.
    comments: u64,
    /// Where the next chunk begins in an array of JSON.
    array: ArrayPlace,
    /// Lines of the array before the next chunk, and bytes of its line before it.
    before: (u64, usize),
    /// Whether the current part has a header that was accepted.
    accepted_header: bool,
    /// Rows in a part, and how many more the current part may have; `None` if one part has all.
    part_rows: Option<u64>,
    left: Option<u64>,
    /// Removes the rows that aren't selected, if the table has rules.
    selector: Option<Selector>,
}

impl<'a> Lines<'a> {
    /// Starts at the current position of `source`. A part ends after `part_rows` rows, if given.
    pub(super) fn new(
        source: &'a mut Source,
        order: &'a FieldOrder,
        part_rows: Option<u64>,
    ) -> Self {
        source.read_by_lines(!order.table.json.array);
        Self {
            source,
            order,
            ending: None,
            header: order.table.syntax == Syntax::QuotedCsv
                || order.table.csv.header != Header::None,
            comments: 0,
            array: ArrayPlace::Start,
            before: (0, 0),
            accepted_header: false,
            part_rows,
            left: part_rows,
            selector: Selector::new(&order.rules),
        }
    }

    /// The file, as far as it was read.
    pub(super) fn source(&self) -> &Source {
        self.source
    }

    /// The order of the fields.
    pub(super) fn order(&self) -> &'a FieldOrder {
        self.order
    }

    /// How many first lines of the current part were accepted as a header.
    pub(super) fn headers_accepted(&self) -> u64 {
        u64::from(self.accepted_header)
    }

    /// Advances to the next part.
    pub(super) fn start_part(&mut self) {
        self.left = self.part_rows;
        self.accepted_header = false;
    }

    /// Reads and splits the next chunk, which has no lines at the end of the part.
    pub(super) fn read(&mut self, split: &mut SplitChunk) -> Result<()> {
        self.split(&mut split.chunk, &mut split.records)?;
        split.position = self.source.position();
        Ok(())
    }

    fn split(&mut self, chunk: &mut Chunk, records: &mut ChunkRecords) -> Result<()> {
        chunk.clear();
        while self.left != Some(0) && self.source.next_chunk(chunk)? {
            let is_first = self.ending.is_none() || self.header;
            let before = self.before_rows(chunk.lines())?;
            let is_header_record = self.header && self.order.table.syntax == Syntax::QuotedCsv;
            let ending = *self
                .ending
                .get_or_insert_with(|| LineEnding::of(chunk.lines()));
            let most = self.left.map_or(u64::MAX, |left| {
                left.saturating_add(before.lines as u64 + u64::from(is_header_record))
            });
            let splitting = Splitting {
                ending,
                skipped_bytes: before.bytes,
                skipped_lines: before.lines,
                is_first,
                is_last: self.source.is_at_end(),
                most,
                array: self.array,
            };
            let whole = records.split(chunk.lines(), self.order, splitting);
            if let Some(array) = records.array() {
                self.array = array.map_err(|(at, why)| self.no_array(chunk.lines(), at, why))?;
                self.before = self.place_after(&chunk.lines()[..whole]);
            }
            let begun = whole..chunk.lines().len();
            let begun = (records.count() < most).then_some(begun);
            let mut long = records.longest().into_iter().chain(begun);
            let length =
                |record: &Range<usize>| ending.body(&chunk.lines()[record.clone()]).0.len();
            if let Some(long) = long.find(|record| length(record) > LINE_LIMIT) {
                return Err(self.source.too_long("record", chunk, long.start));
            }
            self.source.give_back(chunk, whole);
            if whole == 0 {
                // All of it is the start of one record.
                continue;
            }
            let is_over = match records.array() {
                Some(_) => self.array == ArrayPlace::Ended,
                None => self.order.table.syntax == Syntax::Json,
            };
            if is_over && records.count() == 0 {
                // The end of an array, or a blank last line: it isn't a part of its own.
                continue;
            }
            if is_header_record {
                let header = records.take_header(chunk.lines(), self.order);
                header.map_err(|(at, reason)| {
                    let first = chunk.lines().split(|&byte| byte == b'\n').next();
                    let error = self.misfit(first.unwrap_or_default(), at, reason);
                    match Magic::of(chunk.lines()) {
                        Some(magic) => error.hint(magic.advice()),
                        None => error,
                    }
                })?;
                self.header = false;
            }
            if let Some(left) = &mut self.left {
                let split = left.checked_sub(records.count());
                *left = split.expect("a chunk is split into at most this many records");
            }
            if let Some(selector) = &mut self.selector {
                records.select(chunk.lines(), selector);
            }
            return Ok(());
        }
        if self.header {
            return Err(self.misfit(b"", 0, "there is no header".to_owned()));
        }
        let is_array = self.order.table.json.array && self.left != Some(0);
        match self.array {
            ArrayPlace::Start if is_array => Err(self.no_array(b"", 0, NoArray::Start)),
            ArrayPlace::Opened | ArrayPlace::AfterElement if is_array => {
                Err(self.no_array(b"", 0, NoArray::End))
            }
            _ => Ok(()),
        }
    }

    /// Lines before the end of a piece that the next chunk begins with, and bytes of its line before it.
    fn place_after(&self, piece: &[u8]) -> (u64, usize) {
        let (lines, column) = self.before;
        let more = memchr::memchr_iter(b'\n', piece).count() as u64;
        let last = memchr::memrchr(b'\n', piece);
        let column = last.map_or(column + piece.len(), |newline| piece.len() - newline - 1);
        (lines + more, column)
    }

    /// The error for a text that isn't the array that its description says it is, at a byte of a chunk.
    fn no_array(&self, chunk: &[u8], at: usize, why: NoArray) -> Error {
        let (lines, column) = self.place_after(&chunk[..at]);
        let error = Error::new(ErrorKind::Misfit, why.reason())
            .at(self.source.text_location())
            .line(lines + 1, Some(column as u64 + 1))
            .field(&*self.order.table.name);
        match (why, Magic::of(chunk)) {
            (NoArray::Start, Some(magic)) => error.hint(magic.advice()),
            (NoArray::Start, None) if chunk.starts_with(BYTE_ORDER_MARK) => {
                error.hint(self.advice(chunk))
            }
            (NoArray::Start, None) if is_json(chunk) => {
                error.hint("these are JSON lines: remove array = true from the description")
            }
            (NoArray::Start | NoArray::After, _) => error.hint("take the published file"),
            (NoArray::End, _) => error.hint("download the file again"),
        }
    }

    /// Skips what is before the first row in these lines of plain CSV: a byte order mark, comments and the header,
    /// because the table has them, or a header that is accepted.
    fn before_rows(&mut self, lines: &[u8]) -> Result<BeforeRows> {
        let Csv {
            header,
            comment,
            bom,
            ..
        } = self.order.table.csv;
        let mut before = BeforeRows::default();
        if self.order.table.syntax != Syntax::Csv {
            return Ok(before);
        }
        let is_first = self.ending.is_none();
        if is_first && bom {
            if !lines.starts_with(BYTE_ORDER_MARK) {
                return Err(self.no_mark(lines));
            }
            before.bytes = BYTE_ORDER_MARK.len();
        }
        if header == Header::None && is_first && self.order.accept.header {
            let line = before.next_line(lines);
            self.accepted_header = self.order.is_header(without_ending(line));
            if self.accepted_header {
                before.add(line);
            }
        }
        while self.header && before.bytes < lines.len() {
            let line = before.next_line(lines);
            let is_comment = comment.is_some() && line.first().copied() == comment;
            if !is_comment {
                let number = self.comments + before.lines as u64 + 1;
                self.check_header(without_ending(line), lines, number)?;
                self.header = false;
            }
            before.add(line);
        }
        if self.header {
            self.comments += before.lines as u64;
        }
        Ok(before)
    }

    /// Checks the header of plain CSV: a line without its ending, in the chunk `lines` and of this number.
    fn check_header(&self, line: &[u8], lines: &[u8], number: u64) -> Result<()> {
        if self.order.is_found || self.order.is_header(line) {
            return Ok(());
        }
        if let Some(magic) = Magic::of(lines) {
            return Err(self
                .misfit(lines, 0, "not the published header".to_owned())
                .hint(magic.advice()));
        }
        let (at, reason) = self.header_difference(line);
        let error = self.misfit(line, at, reason);
        Err(error.line(number, Some(at as u64 + 1)))
    }

    /// The error for a file that doesn't begin with a byte order mark although its description says so.
    fn no_mark(&self, lines: &[u8]) -> Error {
        let reason = "begins with no byte order mark, and the description says bom = true";
        let error = self.misfit(lines, 0, reason.to_owned());
        error.hint("take the published file, or remove bom from the description")
    }

    /// Where a header differs from the published one, and how.
    fn header_difference(&self, line: &[u8]) -> (usize, String) {
        if line.starts_with(BYTE_ORDER_MARK) {
            return (0, Fault::ByteOrderMark.to_string());
        }
        let mut names = self.order.fields.iter().map(Field::content);
        for (number, range) in self.order.table.csv.fields(line).enumerate() {
            let (number, at) = (number + 1, range.start);
            let found = &line[range];
            let found_name = escape(found, 80);
            match names.next() {
                Some(name) if name.as_bytes() == found => {}
                Some(name) => {
                    return (
                        at,
                        format!("the header has '{found_name}' as column {number}, not '{name}'"),
                    );
                }
                None => {
                    return (
                        at,
                        format!("the header has '{found_name}' as column {number}, one too many"),
                    );
                }
            }
        }
        match names.next() {
            Some(name) => (line.len(), format!("the header lacks the column '{name}'")),
            None => (0, "not the published header".to_owned()),
        }
    }

    /// The error for a wrong header, at one of its bytes.
    fn misfit(&self, line: &[u8], at: usize, reason: String) -> Error {
        Error::new(ErrorKind::Misfit, reason)
            .at(self.source.text_location())
            .line(1, Some(at as u64 + 1))
            .field(&*self.order.table.name)
            .hint(self.advice(line))
    }

    /// Advises what to do about a first line that isn't the published header.
    fn advice(&self, line: &[u8]) -> String {
        let separator = self.order.table.csv.separator;
        let fields = self.order.fields.iter();
        let names: Vec<Cow<'_, str>> = fields.map(Field::content).collect();
        if self.order.is_header_after_index(line) {
            return "pass --accept index to leave the unnamed first column out".to_owned();
        }
        if line.starts_with(BYTE_ORDER_MARK) {
            let other = match self.order.table.syntax {
                Syntax::Csv => ", or write bom = true in [table.csv] of the description",
                Syntax::QuotedCsv | Syntax::Json | Syntax::Parquet => "",
            };
            return format!(
                "pass --accept bom, or remove the first three bytes of the file{other}"
            );
        }
        let other = [b',', b';', b'\t', b'|'].into_iter().find(|&other| {
            let mut fields = line.split(|&byte| byte == other);
            names.len() > 1
                && names
                    .iter()
                    .all(|name| fields.next() == Some(name.as_bytes()))
        });
        if let Some(other) = other {
            return format!(
                "its fields are separated by '{}' and not by '{}': replace the separators, or change them in the \
                 description of the trace",
                escape(&[other], 1),
                escape(separator.text().as_bytes(), 10)
            );
        }
        format!(
            "the first line has to be the published header, which is {}: take the published file",
            first_few(&names, ToString::to_string)
        )
    }
}
