//! A first description of a trace, drafted from a sample of one of its tables.
//!
//! A draft keeps what the sample has: it converts the sample to the same rows and values. Where the rows don't tell, it
//! says so in a line that is marked as a guess; a key that only a person can decide is left open, and `convert` stops
//! there.

mod description;
mod form;
mod kind;
mod parquet;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_location::Location;
use tracelake_schema::description::{MAX_BYTES, MOST_COLUMNS, is_printable};
use tracelake_schema::{Csv, Separator};
use tracelake_source::{Chunk, Magic, Source, read_start};

use form::{Column, Header, Line, fields, without_blanks};
use kind::is_name;

/// The most bytes of the sample that are looked at, and the most lines, but for the last chunk.
const MOST_BYTES_SEEN: usize = 32 << 20;
const MOST_LINES_SEEN: usize = 1_000_000;

/// U+FEFF, which some programs write at the start of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Drafts the description of a trace that has one table, from a file with rows of it: columns and kinds. What is
/// guessed is marked so. Of Parquet that isn't compressed, only the footer is read.
///
/// # Errors
/// [`ErrorKind::Misfit`] if the file is neither Parquet nor CSV without quotes with at least one row; if it can't be read.
///
/// # Memory
/// The first 32 MiB of the text, and as much again.
pub fn draft(context: &Context, sample: &Location) -> Result<String> {
    if read_start(sample).is_some_and(|start| start.starts_with(parquet::MAGIC)) {
        return parquet::describe(context, sample).map_err(|error| error.or_at(sample));
    }
    let mut source = Source::open(context, sample)?;
    if source.is_archive()? {
        let error = misfit("an archive", "unpack it, and name a file of one table");
        return Err(error.at(sample));
    }
    let mut text = Vec::new();
    let mut chunk = Chunk::default();
    let mut has_more = source.next_chunk(&mut chunk)?;
    if let Some(magic) = Magic::of(chunk.lines()).filter(|_| has_more) {
        return Err(misfit("not CSV", magic.advice()).at(sample));
    }
    let mut lines = 0;
    while has_more && text.len() < MOST_BYTES_SEEN && lines < MOST_LINES_SEEN {
        text.extend_from_slice(chunk.lines());
        lines += memchr::memchr_iter(b'\n', chunk.lines()).count();
        has_more = source.next_chunk(&mut chunk)?;
    }
    let name = source.location().name().unwrap_or("table.csv");
    let drafted = match str::from_utf8(&text) {
        Ok(text) => describe(text, name, has_more),
        Err(error) => {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..error.valid_up_to()]).count();
            Err(misfit("not UTF-8", "convert it to UTF-8").line(line as u64, None))
        }
    };
    drafted.map_err(|error| error.at(sample))
}

fn misfit(reason: &str, hint: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Misfit, reason).hint(hint)
}

/// The description of a file of this name, which begins with this text.
fn describe(text: &str, file: &str, has_more: bool) -> Result<String> {
    let sample = Sample::of(text, has_more)?;
    if let Some(line) = sample.quotes {
        let hint =
            "a table with quoted fields has syntax = \"quoted-csv\"; write its description by hand";
        return Err(misfit("has quotes", hint).line(line as u64, None));
    }
    let described = description::of(&sample, file);
    match described.len() <= MAX_BYTES {
        true => Ok(described),
        false => {
            let hint = "describe it by hand, with shorter names";
            Err(misfit("has too many columns for a description", hint))
        }
    }
}

/// A sample and its form.
struct Sample<'a> {
    csv: Csv,
    /// A separator that cuts every line evenly, too.
    other_separator: Option<Separator>,
    comment: Option<Comment>,
    header: Header,
    /// The number of the first line that is no comment.
    first_line: usize,
    /// The names of the columns, from a line that is a header or may be one.
    names: Option<Vec<&'a str>>,
    columns: Vec<Column<'a>>,
    /// The rows; a line that may be a header counts.
    rows: usize,
    /// Whether the file has more than the sample.
    has_more: bool,
    /// A line with quotes.
    quotes: Option<usize>,
    /// Lines that `convert` stops at, and why.
    bad_lines: Vec<(usize, String)>,
}

/// Comments of a sample.
struct Comment {
    /// Their first byte.
    mark: char,
    /// One that may be a row.
    row: Option<usize>,
    /// One that may be a header.
    header: Option<usize>,
}

impl<'a> Sample<'a> {
    fn of(text: &'a str, has_more: bool) -> Result<Self> {
        let without_mark = text.strip_prefix(BYTE_ORDER_MARK);
        let mut bad_lines = BadLines::default();
        let mut lines = lines(without_mark.unwrap_or(text), &mut bad_lines);
        let mark = form::comment(&lines);
        let is_comment = |(_, line): &mut Line<'_>| mark.is_some_and(|mark| line.starts_with(mark));
        let comments: Vec<Line<'_>> = lines.extract_if(.., is_comment).collect();
        let Some(&(first_line, first)) = lines.first() else {
            return Err(misfit("has no row", "name a file with some rows"));
        };
        let quotes = lines.iter().find(|(_, line)| line.contains('"'));
        let quotes = quotes.map(|(line, _)| *line);
        let (cut, other_separator) = form::separator(&lines);
        if cut.fields > MOST_COLUMNS {
            let reason = format!(
                "has {} fields in a row, and a table has at most {MOST_COLUMNS} columns",
                cut.fields
            );
            let hint =
                "write the description by hand: a run of columns can be one list, with `columns`";
            return Err(misfit(&reason, hint));
        }
        let mut csv = Csv {
            separator: cut.separator,
            bom: without_mark.is_some(),
            ..Csv::PLAIN
        };
        let firsts: Vec<&str> = fields(csv, first).collect();
        let is_row = bad_lines.check(first_line, &firsts, cut.fields);
        let mut columns: Vec<Column<'_>> = (0..cut.fields)
            .map(|at| Column::new(firsts.get(at).map_or("", |first| without_blanks(first))))
            .collect();
        for (number, line) in &lines[1..] {
            let row: Vec<&str> = fields(csv, line).collect();
            if bad_lines.check(*number, &row, cut.fields) {
                let values = columns.iter_mut().zip(row);
                values.for_each(|(column, field)| column.add(field));
            }
        }
        let mut header = match is_row {
            true => form::header(&columns),
            false => Header::IsNot,
        };
        if is_row && header != Header::Is {
            let values = columns.iter_mut().zip(&firsts);
            values.for_each(|(column, field)| column.add_value(field));
        }
        // Blanks around a number aren't part of it, and so they aren't part of a text beside it.
        csv.trim = columns
            .iter()
            .any(|column| column.is_padded && column.guess().is_typed());
        let mut names: Option<Vec<&str>> = None;
        if header != Header::IsNot {
            let found: Vec<&str> = fields(csv, first).collect();
            match (header, found.iter().all(|name| is_printable(name))) {
                (_, true) => names = Some(found),
                // No header that a description can have.
                (Header::MayBe, false) => header = Header::IsNot,
                (_, false) => {
                    let reason = "its header has a character that can't be printed";
                    let hint = "remove the character, or write the description by hand";
                    return Err(misfit(reason, hint).line(first_line as u64, None));
                }
            }
        }
        let comment = mark.map(|mark| {
            let mut comment = Comment {
                mark,
                row: None,
                header: None,
            };
            for (number, line) in &comments {
                let row: Vec<&str> = fields(csv, line).collect();
                let has_values =
                    |(column, field): (&Column<'_>, &&str)| column.has(without_blanks(field));
                let may_be_row =
                    row.len() == cut.fields && columns.iter().zip(&row).all(has_values);
                comment.row = comment.row.or(may_be_row.then_some(*number));
                let text = without_blanks(line.trim_start_matches(mark));
                let named: Vec<&str> = fields(csv, text).map(without_blanks).collect();
                let is_name = |name: &&str| is_name(name) && is_printable(name);
                let may_be_header =
                    cut.separates() && named.len() == cut.fields && named.iter().all(is_name);
                if header == Header::IsNot && *number < first_line && may_be_header {
                    comment.header = Some(*number);
                    names = Some(named);
                }
            }
            comment
        });
        Ok(Self {
            csv,
            other_separator,
            comment,
            header,
            first_line,
            names,
            rows: lines.len() - usize::from(header == Header::Is),
            has_more,
            quotes,
            bad_lines: bad_lines.explain(&csv),
            columns,
        })
    }
}

/// The lines of a text that aren't blank, without their endings.
fn lines<'a>(text: &'a str, bad: &mut BadLines) -> Vec<Line<'a>> {
    let ending = LineEnding::of(text.as_bytes());
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split_terminator('\n')) {
        let body = line.strip_suffix('\r').unwrap_or(line);
        if body.is_empty() {
            bad.blank.get_or_insert(number);
            continue;
        }
        if (body.len() < line.len()) != (ending == LineEnding::CrLf) {
            bad.ending.get_or_insert(number);
        }
        lines.push((number, body));
    }
    lines
}

/// The first line with each fault that makes it a bad row.
#[derive(Default)]
struct BadLines {
    blank: Option<usize>,
    ending: Option<usize>,
    /// With the number of its fields, and that of most lines.
    width: Option<(usize, usize, usize)>,
    /// With the character.
    control: Option<(usize, char)>,
    /// A tab at the end of a field, which is one if fields aren't trimmed.
    tab: Option<usize>,
}

impl BadLines {
    /// Looks at the fields of a line, whether they are as many as most lines have and can be values.
    fn check(&mut self, number: usize, fields: &[&str], width: usize) -> bool {
        if fields.len() != width {
            self.width.get_or_insert((number, fields.len(), width));
            return false;
        }
        for field in fields {
            let is_control = |letter: &char| letter.is_ascii_control();
            if let Some(control) = without_blanks(field).chars().find(is_control) {
                self.control.get_or_insert((number, control));
            } else if field.contains('\t') {
                self.tab.get_or_insert(number);
            }
        }
        true
    }

    /// The lines, with the reasons in words.
    fn explain(self, csv: &Csv) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        let mut add = |line: Option<usize>, why: String| lines.extend(line.map(|line| (line, why)));
        add(self.blank, "is blank".to_owned());
        add(
            self.ending,
            "doesn't end as the first line does, with LF or CR LF".to_owned(),
        );
        if let Some((line, found, expected)) = self.width {
            let found = several(found as u64, "field");
            add(
                Some(line),
                format!("has {found}, and most lines have {expected}"),
            );
        }
        let control = self
            .control
            .or(self.tab.filter(|_| !csv.trim).map(|line| (line, '\t')));
        if let Some((line, letter)) = control {
            let code = u32::from(letter);
            add(
                Some(line),
                format!("has the control character U+{code:04X} in a field"),
            );
        }
        lines
    }
}
