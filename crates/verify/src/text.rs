//! The rows of a source, found by separate code and split by the csv crate.
//!
//! A row is a line, or in quoted CSV a record: the lines up to the first line end outside of quotes.
//! A blank line is a row too. A row has at most [`LONGEST`] bytes, so a file that inflates to one huge
//! line doesn't fill the memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv::{ByteRecord, Terminator};
use serde::Deserialize;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::options::Accepted;
use tracelake_location::{Location, Reader};
use tracelake_schema::{Csv, Extra, Header, Separator, Syntax};

use super::archive::{self, Form, Member};
use super::array_text::ArrayText;
use super::finding::{corrupt, failed};
use super::number;
use super::parquet_text::ParquetText;
use super::rejected::RejectedText;

/// The longest row in bytes, without its line end.
const LONGEST: usize = 1 << 20;

/// The longest line of a rejects file in bytes: a row twice, with six bytes for each control character.
const LONGEST_REJECT: u64 = 16 << 20;

/// The first row given to the csv crate: it removes a byte order mark from the start of its text,
/// which here may be part of a value.
const BEFORE: &[u8] = b"-\n";

/// The text of a source file, or of the member of an archive that is named after a table.
pub(super) struct SourceText {
    path: Location,
    /// The path of the text in its archive.
    pub(super) member: Option<String>,
    text: BufReader<Box<dyn Read + Send>>,
    /// Whether a row may span lines.
    is_quoted: bool,
    csv: Csv,
    /// A line that was read before it was known whether it is a header.
    pending: Option<Vec<u8>>,
    /// Headers that were accepted, though the table has none.
    pub(super) headers_accepted: u64,
    /// Byte order marks that were accepted: 0 or 1.
    boms_accepted: u64,
    /// The order of its fields, if they are found by the names in its header.
    pub(super) order: Option<FieldOrder>,
    /// Whether each row begins with an index, which was accepted.
    pub(super) has_index: bool,
    /// Whether the first line ends with `\r\n`, as the others should then.
    is_crlf: bool,
    /// The array of JSON, as far as it was read, if the text is one.
    array: Option<ArrayText>,
    /// Whether a blank line at its end is no row.
    may_end_blank: bool,
    /// Where the current row starts: its byte, and its line from 1.
    row_start: u64,
    row_line: u64,
    /// Of a Parquet file, the rows that each row group ends before.
    row_groups: Option<Vec<u64>>,
    /// Bytes, lines and rows read so far; a header isn't a row.
    bytes: u64,
    lines: u64,
    rows: u64,
}

impl SourceText {
    /// Opens the text of a table.
    pub(super) fn open(context: &Context, path: &Location, order: &FieldOrder) -> Result<Self> {
        let (form, text) = archive::form(context, path)?;
        if form != Form::Text {
            let found = archive::open(context, path, &order.table, form)?;
            return Self::of_member(path, order, found);
        }
        Self::new(path, order, text)
    }

    /// Opens a Parquet file of a table, whose rows become lines.
    pub(super) fn of_parquet(
        context: &Context,
        path: &Location,
        order: &FieldOrder,
    ) -> Result<Self> {
        let (text, row_groups) = ParquetText::open(context, path, order)?;
        Ok(Self {
            row_groups: Some(row_groups),
            array: None,
            ..Self::new(path, order, Box::new(text))?
        })
    }

    /// Reads the member of an archive that was found.
    pub(super) fn of_member(
        path: &Location,
        order: &FieldOrder,
        found: io::Result<Option<Member>>,
    ) -> Result<Self> {
        let no_text = || corrupt(format!("has no text of {}", order.table.name)).at(path);
        let Member { path: member, text } = found
            .map_err(|error| failed(path, error))?
            .ok_or_else(no_text)?;
        Ok(Self {
            member: Some(member),
            ..Self::new(path, order, text)?
        })
    }

    fn new(path: &Location, order: &FieldOrder, text: Box<dyn Read + Send>) -> Result<Self> {
        let table = &order.table;
        let mut text = Self {
            path: path.clone(),
            member: None,
            text: BufReader::with_capacity(1 << 17, text),
            is_quoted: table.syntax == Syntax::QuotedCsv,
            csv: table.csv,
            pending: None,
            headers_accepted: 0,
            boms_accepted: 0,
            order: None,
            has_index: false,
            is_crlf: false,
            array: table.json.array.then(ArrayText::default),
            may_end_blank: table.syntax == Syntax::Json,
            row_start: 0,
            row_line: 0,
            row_groups: None,
            bytes: 0,
            lines: 0,
            rows: 0,
        };
        if table.csv.bom {
            text.skip_mark()?;
        } else if order.accept.bom && text.starts_with_mark()? {
            text.skip_mark()?;
            text.boms_accepted = 1;
        }
        let is_by_name = table.csv.header == Header::ByName;
        if order.accept.index && table.syntax != Syntax::Json && !is_by_name {
            text.find_index(order)?;
        }
        if text.is_quoted || table.csv.header != Header::None {
            text.check_header(order)?;
        } else if table.syntax == Syntax::Csv && order.accept.header {
            text.accept_header(order)?;
        }
        Ok(text)
    }

    /// Skips the byte order mark of a file that isn't empty.
    fn skip_mark(&mut self) -> Result<()> {
        let mut start = Vec::new();
        let read = self.text.by_ref().take(3).read_to_end(&mut start);
        read.map_err(|error| failed(&self.path, error))?;
        // It is before the first row, and not in it.
        self.bytes = start.len() as u64;
        match &start[..] {
            b"" | b"\xef\xbb\xbf" => Ok(()),
            _ => Err(corrupt("begins with no byte order mark")
                .at(&self.path)
                .line(1, None)),
        }
    }

    fn starts_with_mark(&mut self) -> Result<bool> {
        let start = self.text.fill_buf();
        let start = start.map_err(|error| failed(&self.path, error))?;
        Ok(start.starts_with(b"\xef\xbb\xbf"))
    }

    /// Looks whether the first line has one field more than the table, before the others: without a name or a number.
    fn find_index(&mut self, order: &FieldOrder) -> Result<()> {
        let mut line = Vec::new();
        if !self.next(&mut line)? {
            return Ok(());
        }
        self.rows = 0;
        let mut fields = FieldSplitter::new(self.is_quoted, self.csv);
        self.has_index = fields.split(without_line_end(&line)).is_ok_and(|record| {
            let is_number = |first: &[u8]| str::from_utf8(first).is_ok_and(number::digits);
            record.len() == order.fields.len() + 1
                && record
                    .get(0)
                    .is_some_and(|first| first.is_empty() || is_number(first))
        });
        self.lines -= 1;
        self.pending = Some(line);
        Ok(())
    }

    /// The names that a header has.
    fn names<'a>(&self, order: &'a FieldOrder) -> Vec<Cow<'a, str>> {
        let names = order.fields.iter().map(Field::content);
        self.has_index
            .then_some(Cow::Borrowed(""))
            .into_iter()
            .chain(names)
            .collect()
    }

    fn check_header(&mut self, order: &FieldOrder) -> Result<()> {
        let mut header = Vec::new();
        self.next(&mut header)?;
        self.rows = 0;
        let mut fields = FieldSplitter::new(self.is_quoted, self.csv);
        let split = fields.split(without_line_end(&header));
        let record = split.map_err(|reason| corrupt(reason).at(&self.path).line(1, None))?;
        if order.table.csv.header == Header::ByName {
            let is_named = order.fields.iter().any(|it| it.content().is_empty());
            self.has_index = order.accept.index && record.get(0) == Some(b"") && !is_named;
            let names = record.iter().skip(usize::from(self.has_index));
            let found = by_name(order, &names.collect::<Vec<_>>());
            self.order =
                Some(found.map_err(|reason| corrupt(reason).at(&self.path).line(1, None))?);
            return Ok(());
        }
        let names = self.names(order);
        if record.iter().eq(names.iter().map(|name| name.as_bytes())) {
            return Ok(());
        }
        Err(corrupt("has another header than its table")
            .at(&self.path)
            .line(1, None))
    }

    /// Passes over a first line that has the names of the columns.
    fn accept_header(&mut self, order: &FieldOrder) -> Result<()> {
        let mut line = Vec::new();
        if !self.next(&mut line)? {
            return Ok(());
        }
        self.rows = 0;
        let names = self.names(order);
        let mut fields = FieldSplitter::new(false, self.csv);
        let record = fields.split(without_line_end(&line));
        if record.is_ok_and(|record| record.iter().eq(names.iter().map(|name| name.as_bytes()))) {
            self.headers_accepted = 1;
        } else {
            self.lines = 0;
            self.pending = Some(line);
        }
        Ok(())
    }

    /// Reads the next row with its line end into `row`; returns false at the end of the text.
    fn next(&mut self, row: &mut Vec<u8>) -> Result<bool> {
        row.clear();
        if let Some(pending) = self.pending.take() {
            *row = pending;
            self.lines += 1;
            self.rows += 1;
            self.row_line = self.lines;
            self.row_start = self.bytes - row.len() as u64;
            return Ok(true);
        }
        if self.array.is_some() {
            return self.next_element(row);
        }
        let mut quotes = Quotes::FieldStart;
        loop {
            let start = row.len();
            let room = (LONGEST + 3 - start) as u64;
            let read = self.text.by_ref().take(room).read_until(b'\n', row);
            read.map_err(|error| failed(&self.path, error))?;
            if row.len() == start {
                break;
            }
            if start == 0 {
                (self.row_start, self.row_line) = (self.bytes, self.lines + 1);
            }
            if self.lines == 0 {
                self.is_crlf = row.strip_suffix(b"\n").unwrap_or(row).ends_with(b"\r");
            }
            self.bytes += (row.len() - start) as u64;
            self.lines += 1;
            if without_line_end(row).len() > LONGEST {
                let reason = format!("a row of more than {LONGEST} bytes, which convert refuses");
                return Err(corrupt(reason).at(&self.path).line(self.lines, None));
            }
            if start == 0
                && row
                    .first()
                    .is_some_and(|first| Some(*first) == self.csv.comment)
            {
                row.clear();
                continue;
            }
            quotes = quotes.after(&row[start..], self.csv.separator.bytes());
            if !self.is_quoted || quotes != Quotes::Inside {
                break;
            }
        }
        if self.may_end_blank && without_line_end(row).is_empty() {
            let rest = self.text.fill_buf();
            if rest.map_err(|error| failed(&self.path, error))?.is_empty() {
                row.clear();
            }
        }
        self.rows += u64::from(!row.is_empty());
        Ok(!row.is_empty())
    }

    /// Reads the next element of an array into `row`; returns false after the last one.
    fn next_element(&mut self, row: &mut Vec<u8>) -> Result<bool> {
        let Some(array) = &mut self.array else {
            return Ok(false);
        };
        let (bytes, lines) = (array.bytes, array.lines);
        let found = array.next(&mut self.text, row, LONGEST);
        self.bytes += array.bytes - bytes;
        self.lines += array.lines - lines;
        let skipped = self.bytes - array.bytes;
        let Some(element) = found.map_err(|error| failed(&self.path, error))? else {
            return Ok(false);
        };
        self.row_start = skipped + element.byte;
        self.row_line = element.lines + 1;
        if row.len() > LONGEST {
            let reason = format!("a row of more than {LONGEST} bytes, which convert refuses");
            return Err(corrupt(reason).at(&self.path).line(self.row_line, None));
        }
        self.rows += 1;
        Ok(true)
    }
}

/// The order of the fields of a file whose header has these names.
fn by_name(order: &FieldOrder, names: &[&[u8]]) -> std::result::Result<FieldOrder, String> {
    let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        places.entry(name).or_default().push(place);
    }
    let mut fields: Vec<Option<Field>> = vec![None; names.len()];
    let mut absent: BTreeSet<&str> = BTreeSet::new();
    for field in &order.fields {
        let name = field.content();
        let found = field
            .names()
            .filter_map(|name| places.remove(name.as_bytes()));
        let found: Vec<usize> = found.flatten().collect();
        match found[..] {
            [place] => fields[place] = Some(field.clone()),
            [] if field.column.spelling.may_be_absent => {
                absent.insert(&field.column.name);
            }
            [] => return Err(format!("has a header without '{name}'")),
            _ => return Err(format!("has a header with '{name}' twice")),
        }
    }
    let mut found = fields.iter().flatten();
    if let Some(field) = found.find(|field| absent.contains(&*field.column.name)) {
        return Err(format!("has a header with a part of {}", field.column.name));
    }
    if !places.is_empty() && order.table.csv.extra == Extra::Refuse {
        return Err("has a header with other names than its table".to_owned());
    }
    let fields = fields.into_iter();
    let fields = fields.map(|field| field.unwrap_or_else(Field::ignored));
    Ok(order.clone().of_header(fields.collect()))
}

/// Whether the text is inside of quotes, by the rules of RFC 4180: only a quote at the start of a
/// field opens one, and two in a row are a quote of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    FieldStart,
    Outside,
    Inside,
    /// After a quote inside of quotes, which ends them unless another one follows.
    MayEnd,
}

impl Quotes {
    /// Passes over a byte or a separator at the start of a text; returns what follows it.
    fn pass<'a>(self, text: &'a [u8], separator: &[u8]) -> (Self, &'a [u8]) {
        match (self, text) {
            (Self::Inside, [b'"', rest @ ..]) => (Self::MayEnd, rest),
            (Self::Inside, [_, rest @ ..])
            | (Self::FieldStart | Self::MayEnd, [b'"', rest @ ..]) => (Self::Inside, rest),
            _ => match (text.strip_prefix(separator), text) {
                (Some(rest), _) | (None, [b'\n', rest @ ..]) => (Self::FieldStart, rest),
                (None, rest) => (Self::Outside, rest.get(1..).unwrap_or_default()),
            },
        }
    }

    fn after(self, mut line: &[u8], separator: &[u8]) -> Self {
        let mut quotes = self;
        while !line.is_empty() {
            (quotes, line) = quotes.pass(line, separator);
        }
        quotes
    }
}

/// The fields of a row of quoted CSV with any separator.
fn quoted_fields(row: &[u8], separator: &[u8]) -> std::result::Result<ByteRecord, String> {
    let (mut fields, mut quotes, mut rest) = (vec![Vec::new()], Quotes::FieldStart, row);
    while !rest.is_empty() {
        let before = rest;
        (quotes, rest) = quotes.pass(before, separator);
        match (quotes, fields.last_mut()) {
            (Quotes::FieldStart, _) | (_, None) => fields.push(Vec::new()),
            (_, Some(field)) => field.extend(&before[..before.len() - rest.len()]),
        }
    }
    let values = fields.into_iter().map(|field| {
        let field = String::from_utf8(field).map_err(|error| error.to_string())?;
        let inner = field
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        Ok(inner.map_or(field.clone(), |inner| inner.replace("\"\"", "\"")))
    });
    let values: std::result::Result<Vec<String>, String> = values.collect();
    Ok(values?.into())
}

fn without_line_end(row: &[u8]) -> &[u8] {
    let line = row.strip_suffix(b"\n").unwrap_or(row);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Splits rows into fields by the csv crate, which takes separators of one byte; others by searching.
struct FieldSplitter {
    is_quoted: bool,
    csv: Csv,
    reader: csv::Reader<Feed>,
    record: ByteRecord,
    /// Bytes given to the reader so far.
    given: u64,
}

/// The row that the csv crate reads next; it never sees the end of the text.
#[derive(Default)]
struct Feed {
    row: Vec<u8>,
    read: usize,
}

impl Read for Feed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.row.len() {
            return Err(io::Error::other("the csv crate doesn't end the row here"));
        }
        let read = (&self.row[self.read..]).read(into)?;
        self.read += read;
        Ok(read)
    }
}

impl FieldSplitter {
    fn new(is_quoted: bool, csv: Csv) -> Self {
        let delimiter = match csv.separator {
            Separator::Byte(separator) => separator,
            Separator::Text(_) | Separator::Blanks => b',',
        };
        // A row that isn't selected may have a carriage return among its fields, which ends nothing without quotes.
        let terminator = match is_quoted {
            true => Terminator::CRLF,
            false => Terminator::Any(b'\n'),
        };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(is_quoted)
            .delimiter(delimiter)
            .terminator(terminator)
            .from_reader(Feed::default());
        let record = ByteRecord::new();
        let mut fields = Self {
            is_quoted,
            csv: Csv {
                separator: Separator::Byte(delimiter),
                ..Csv::PLAIN
            },
            reader,
            record,
            given: 0,
        };
        let first = fields.split(without_line_end(BEFORE));
        first.expect("the csv crate reads a dash");
        Self { csv, ..fields }
    }

    /// The fields of a row, which is given without its line end.
    fn split(&mut self, row: &[u8]) -> std::result::Result<&ByteRecord, String> {
        self.split_whole(row)?;
        if self.csv.trailing && self.record.len() > 1 && self.record.iter().next_back() == Some(b"")
        {
            self.record.truncate(self.record.len() - 1);
        }
        if self.csv.trim {
            let trimmed = self.record.iter().map(|field| {
                let is_blank = |byte: &u8| b" \t".contains(byte);
                let start = field.iter().take_while(|byte| is_blank(byte)).count();
                let end = field.iter().rev().take_while(|byte| is_blank(byte)).count();
                field.get(start..field.len() - end).unwrap_or_default()
            });
            self.record = trimmed.collect();
        }
        Ok(&self.record)
    }

    /// Splits a row into its fields with the blanks around them.
    fn split_whole(&mut self, row: &[u8]) -> std::result::Result<(), String> {
        match self.csv.separator {
            Separator::Byte(_) => {}
            Separator::Text(separator) if self.is_quoted => {
                self.record = quoted_fields(row, &separator)?;
                return Ok(());
            }
            Separator::Text(_) => {
                let separator = self.csv.separator.text();
                let row = String::from_utf8(row.to_vec()).map_err(|error| error.to_string())?;
                self.record = row.split(&separator).map(str::as_bytes).collect();
                return Ok(());
            }
            Separator::Blanks => {
                let fields = row.split(|byte| b" \t".contains(byte));
                self.record = fields.filter(|field| !field.is_empty()).collect();
                return Ok(());
            }
        }
        let feed = self.reader.get_mut();
        feed.row.clear();
        feed.row.extend_from_slice(row);
        feed.row.push(b'\n');
        feed.read = 0;
        self.given += row.len() as u64 + 1;
        let read = self.reader.read_byte_record(&mut self.record);
        read.map_err(|error| error.to_string())?;
        if self.reader.position().byte() != self.given {
            return Err("the csv crate finds several rows in this one".to_owned());
        }
        Ok(())
    }
}

/// The rows of one part that weren't rejected.
pub(super) struct PartRows<'a> {
    text: &'a mut SourceText,
    order: &'a FieldOrder,
    rejects: Option<Rejects>,
    /// `None` for JSON.
    fields: Option<FieldSplitter>,
    /// Another one for rejected rows, which may leave it unusable; `None` before the first of them, and after such one.
    rejected_fields: Option<FieldSplitter>,
    /// Whether it is the first part of the text.
    is_first: bool,
    /// The number of the first row after the part.
    end: u64,
    row: Vec<u8>,
    /// The line in which the current row starts, from 1.
    line: u64,
    rejected: u64,
    /// The current row, without what is accepted beside its values; for JSON lines one field, the line.
    pub(super) record: ByteRecord,
    /// Fields of the current row that are NULL on request.
    pub(super) nulls: u64,
}

impl<'a> PartRows<'a> {
    /// Skips to the rows `rows`, counted from 0. `rejects` is the rejects file of the part.
    pub(super) fn new(
        text: &'a mut SourceText,
        order: &'a FieldOrder,
        rows: Range<u64>,
        rejects: Option<&Location>,
    ) -> Result<Self> {
        let mut row = Vec::new();
        while text.rows < rows.start && text.next(&mut row)? {}
        let syntax = order.table.syntax;
        let fields = (syntax != Syntax::Json)
            .then(|| FieldSplitter::new(syntax == Syntax::QuotedCsv, text.csv));
        Ok(Self {
            text,
            order,
            rejects: rejects.map(Rejects::open).transpose()?,
            fields,
            rejected_fields: None,
            is_first: rows.start == 0,
            end: rows.end,
            row,
            line: 0,
            rejected: 0,
            record: ByteRecord::new(),
            nulls: 0,
        })
    }

    /// Makes fields empty that are NULL on request; returns how many of the lake's there are.
    fn empty_nulls(order: &FieldOrder, record: &mut ByteRecord) -> u64 {
        if !order.accept.has_nulls() {
            return 0;
        }
        let is_null = |text: &[u8]| order.accept.is_null(text);
        let fields = order.fields.iter().zip(record.iter());
        let nulls = fields.filter(|(field, text)| field.index.is_some() && is_null(text));
        let nulls = nulls.count() as u64;
        let emptied = record
            .iter()
            .map(|text| if is_null(text) { b"" } else { text });
        *record = emptied.collect();
        nulls
    }

    /// Reads the next row that wasn't rejected; returns false at the end of the part.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            if self.text.rows == self.end || !self.text.next(&mut self.row)? {
                return Ok(false);
            }
            self.line = self.text.row_line;
            let body = without_line_end(&self.row);
            let at = |reason: String| corrupt(reason).at(&self.text.path).line(self.line, None);
            let reject = self.rejects.as_mut().and_then(|file| file.take(self.line));
            if let Some(reject) = reject {
                let raw = reject.raw()?;
                if raw != body && Some(&raw[..]) != self.row.strip_suffix(b"\n") && raw != self.row
                {
                    return Err(at("the row is not as in the rejects file".to_owned()));
                }
                self.check_reject(&reject)?;
                self.rejected += 1;
                self.rejects.as_mut().map_or(Ok(()), Rejects::advance)?;
                continue;
            }
            if body.is_empty() && self.text.array.is_none() {
                return Err(at(
                    "a blank line that the rejects file doesn't have".to_owned()
                ));
            }
            match &mut self.fields {
                Some(fields) => {
                    self.record.clone_from(fields.split(body).map_err(at)?);
                    if self.text.has_index {
                        self.record = self.record.iter().skip(1).collect();
                    }
                    self.nulls = Self::empty_nulls(self.order, &mut self.record);
                }
                None => {
                    self.record.clear();
                    self.record.push_field(body);
                }
            }
            return Ok(true);
        }
    }

    /// Compares what the rejects file says of the current row with what is wrong with it.
    fn check_reject(&mut self, reject: &RejectedRow) -> Result<()> {
        let Some(file) = &self.rejects else {
            return Ok(());
        };
        let wrong = |reason: String| {
            let at = corrupt(reason).at(&file.path).line(file.line, None);
            Err(at.field(&*self.order.table.name))
        };
        let with_index = self.text.has_index.then(|| self.order.clone().with_index());
        let order = with_index.as_ref().unwrap_or(self.order);
        let start = self.text.row_start;
        match (&self.text.row_groups, reject.byte, reject.row_group) {
            (None, Some(byte), None) if byte == start => {}
            (None, Some(byte), None) => {
                let line = self.line;
                return wrong(format!(
                    "says that line {line} of the source starts at byte {byte}, but it starts at byte {start}"
                ));
            }
            (Some(ends), None, Some(given)) => {
                let row_group = 1 + ends.partition_point(|end| *end < self.line) as u64;
                if given != row_group {
                    let row = self.line;
                    return wrong(format!(
                        "says that row {row} of the source is in row group {given}, but it is in row group {row_group}"
                    ));
                }
            }
            _ => return wrong("doesn't say where in the source a row is".to_owned()),
        }
        let line = self.row.strip_suffix(b"\n").unwrap_or(&self.row);
        let body = without_line_end(&self.row);
        // A last line without its end has the one that the others have.
        let is_ended = line.len() < self.row.len() || !self.text.is_crlf;
        let row = RejectedText {
            raw: if self.text.is_crlf { body } else { line },
            is_blank: body.is_empty() && self.text.array.is_none(),
            has_other_end: is_ended && (body.len() < line.len()) != self.text.is_crlf,
            is_first: start == 3 * self.text.boms_accepted,
            fields: match self.order.table.syntax {
                Syntax::Json | Syntax::Parquet => Some(ByteRecord::from(vec![body])),
                Syntax::Csv | Syntax::QuotedCsv => {
                    let (is_quoted, csv) = (self.text.is_quoted, self.text.csv);
                    let fields = self
                        .rejected_fields
                        .get_or_insert_with(|| FieldSplitter::new(is_quoted, csv));
                    let mut split = fields.split(body).ok().cloned();
                    match &mut split {
                        Some(record) => {
                            Self::empty_nulls(order, record);
                        }
                        None => self.rejected_fields = None,
                    }
                    split
                }
            },
        };
        match row.contradiction(order, reject.column.as_deref(), &reject.reason) {
            Some(reason) => wrong(format!("says of line {} of the source {reason}", self.line)),
            None => Ok(()),
        }
    }

    /// The line in which the current row starts, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The headers, index columns and byte order marks that were accepted in this part.
    pub(super) fn accepted(&self) -> Accepted {
        match self.is_first {
            true => Accepted {
                headers: self.text.headers_accepted,
                indexes: u64::from(self.text.has_index),
                boms: self.text.boms_accepted,
                ..Accepted::default()
            },
            false => Accepted::default(),
        }
    }

    /// Rejected rows so far.
    pub(super) fn rejected(&self) -> u64 {
        self.rejected
    }
}

/// A rejects file, line by line.
struct Rejects {
    path: Location,
    file: BufReader<Reader>,
    /// Lines read so far.
    line: u64,
    next: Option<RejectedRow>,
}

/// A line of a rejects file, about one row.
#[derive(Deserialize)]
struct RejectedRow {
    /// In a Parquet file, the number of the row.
    #[serde(alias = "row")]
    line: u64,
    byte: Option<u64>,
    row_group: Option<u64>,
    column: Option<String>,
    reason: String,
    raw: String,
    raw_base64: Option<String>,
}

impl RejectedRow {
    fn raw(&self) -> Result<Cow<'_, [u8]>> {
        match &self.raw_base64 {
            Some(text) => STANDARD
                .decode(text)
                .map(Cow::Owned)
                .map_err(|error| corrupt(format!("raw_base64 is not Base64: {error}"))),
            None => Ok(Cow::Borrowed(self.raw.as_bytes())),
        }
    }
}

impl Rejects {
    fn open(path: &Location) -> Result<Self> {
        let file = BufReader::new(path.open()?);
        let path = path.clone();
        let mut rejects = Self {
            path,
            file,
            line: 0,
            next: None,
        };
        rejects.advance()?;
        Ok(rejects)
    }

    fn advance(&mut self) -> Result<()> {
        let mut line = Vec::new();
        let read = self
            .file
            .by_ref()
            .take(LONGEST_REJECT)
            .read_until(b'\n', &mut line);
        read.map_err(|error| failed(&self.path, error))?;
        self.next = None;
        if !line.is_empty() {
            self.line += 1;
            let reject = serde_json::from_slice(&line);
            let broken = |error| corrupt(format!("not a line of a rejects file: {error}"));
            self.next = Some(reject.map_err(|error| broken(error).at(&self.path))?);
        }
        Ok(())
    }

    /// The reject that starts in a line, if there is one.
    fn take(&mut self, line: u64) -> Option<RejectedRow> {
        self.next.take_if(|reject| reject.line == line)
    }
}

#[cfg(test)]
mod tests;
