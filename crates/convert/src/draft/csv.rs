//! Drafts plain CSV, whose lines have no quotes.

use std::fmt::Write as _;

use tracelake_core::error::{Error, Result, escape};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_schema::description::{MOST_COLUMNS, is_printable};
use tracelake_schema::{Csv, Separator, Zone};

use super::description::{self, Table, misfit, quoted};
use super::form::{self, BYTE_ORDER_MARK, Column, Header, Line, fields, without_blanks};
use super::kind::{Guess, KeptAsText, is_name};

/// The longest value that a comment shows.
const SHOWN: usize = 40;

/// The table of a text without quotes.
pub(super) fn table(text: &str, has_more: bool) -> Result<Table> {
    let sample = Sample::of(text, has_more)?;
    let mut notes = notes(sample.has_more, &sample.bad_lines);
    if let Some(line) = sample.comment.as_ref().and_then(|comment| comment.header) {
        notes.push(format!(
            "line {line} is a comment that may be a header, so the columns have its names."
        ));
    }
    let columns = sample.columns.iter().enumerate().map(|(at, column)| {
        let content = match &sample.names {
            Some(names) => names.get(at).copied().unwrap_or_default().to_owned(),
            None => format!("column {}", at + 1),
        };
        described(column, content, sample.header != Header::Is)
    });
    Ok(Table {
        from: from(sample.rows, sample.has_more),
        notes,
        syntax: None,
        form: lines_of_form(&sample),
        columns: columns.collect(),
        is_named: sample.header == Header::Is,
    })
}

/// The rows that a draft was made from: `the first 10 rows`, or `10 rows` if there are no more.
pub(super) fn from(rows: usize, has_more: bool) -> String {
    let rows = several(rows as u64, "row");
    match has_more {
        true => format!("the first {rows}"),
        false => rows,
    }
}

/// Says where `convert` may stop, or will.
pub(super) fn notes(has_more: bool, bad_lines: &[(usize, String)]) -> Vec<String> {
    let more = has_more.then(|| {
        "the file has more rows. If one of them doesn't fit, convert stops there (exit 4)."
            .to_owned()
    });
    let stops = bad_lines.iter().map(|(line, why)| {
        format!(
            "line {line} {why}. convert stops there (exit 4); --on-bad-row reject sets such rows aside."
        )
    });
    more.into_iter().chain(stops).collect()
}

/// Refuses more columns than a table has.
pub(super) fn check_width(fields: usize) -> Result<()> {
    if fields <= MOST_COLUMNS {
        return Ok(());
    }
    let reason =
        format!("has {fields} fields in a row, and a table has at most {MOST_COLUMNS} columns");
    let hint = "write the description by hand: a run of columns can be one list, with `columns`";
    Err(misfit(&reason, hint))
}

/// Refuses a header that a description can't have.
pub(super) fn unprintable(line: usize) -> Error {
    let reason = "its header has a character that can't be printed";
    let hint = "remove the character, or write the description by hand";
    misfit(reason, hint).line(line as u64, None)
}

/// How the lines are written.
fn lines_of_form(sample: &Sample<'_>) -> String {
    let mut text = String::from("\n[table.csv]\n");
    let line = sample.first_line;
    text += &match sample.header {
        Header::Is => format!("header = true  # guess: line {line} has the names of the columns\n"),
        Header::IsNot => format!("header = false  # guess: line {line} has no names of columns\n"),
        Header::MayBe => {
            format!(
                "header = \"\"  # guess: line {line} may be a header: write true if it is, or false\n"
            )
        }
    };
    if sample.csv.bom {
        text += "bom = true\n";
    }
    text += &separator_line(sample.csv.separator, sample.other_separator);
    if sample.csv.trim {
        text += "trim = true  # guess: the blanks around a field aren't part of it\n";
    } else if sample.columns.iter().any(|column| column.is_padded) {
        text += "trim = false  # guess: the blanks at the ends of texts are part of them\n";
    }
    if let Some(comment) = &sample.comment {
        text += &match comment.row {
            Some(line) => format!(
                "comment = false  # guess: line {line} may be a row: write \"{}\", or remove this key\n",
                comment.mark
            ),
            None => format!("comment = \"{}\"  # guess\n", comment.mark),
        };
    }
    text
}

/// The separator, if it isn't the usual one or if there is another one that fits.
pub(super) fn separator_line(separator: Separator, other: Option<Separator>) -> String {
    let other = match other {
        None if separator == Separator::Byte(b',') => return String::new(),
        None => String::new(),
        Some(other) => format!(
            ": {} separates every line evenly, too",
            quoted(name_of(other))
        ),
    };
    let separator = quoted(name_of(separator));
    format!("separator = {separator}  # guess{other}\n")
}

/// A separator as a description names it.
fn name_of(separator: Separator) -> String {
    match separator {
        Separator::Blanks => "blanks".to_owned(),
        Separator::Byte(_) | Separator::Text(_) => separator.text(),
    }
}

/// A column of texts, whose published name may be made up.
pub(super) fn described(
    column: &Column<'_>,
    content: String,
    is_made_up: bool,
) -> description::Column {
    let (mut kind, format) = kind_lines(column.guess());
    let spelled: Vec<String> = column.nulls().map(quoted).collect();
    let spelled = spelled.join(", ");
    let mut notes = Vec::new();
    if let Some((why, value)) = column.kept_as_text() {
        let value = escape(value.as_bytes(), SHOWN);
        let why = match why {
            KeptAsText::Zeros => "a number would lose the zeros in front",
            KeptAsText::Long => "an integer has at most 64 bits",
            KeptAsText::NoNumber => "a lake has no such number; it may be a spelling of `null`",
        };
        notes.push(format!(
            "a text, because it has values such as {value}: {why}."
        ));
    }
    if column.are_booleans() {
        notes.push(
            "for booleans, write kind = \"boolean\" and words = { true = [\"True\"], false = [\"False\"] }, as the values spell them."
                .to_owned(),
        );
    }
    if !spelled.is_empty() {
        if column.guess().is_typed() {
            let _ = writeln!(kind, "null = [{spelled}]  # guess");
        } else {
            notes.push(format!(
                "if {spelled} means that there is no value, add null = [{spelled}]."
            ));
        }
    }
    description::Column {
        content,
        is_made_up,
        notes,
        kind,
        format: Some(format),
        fields: Vec::new(),
    }
}

/// The lines of a kind, and its format.
pub(super) fn kind_lines(guess: Guess) -> (String, &'static str) {
    let (kind, more, format) = match guess {
        Guess::Integer => ("integer", "", "INTEGER"),
        Guess::IntegralFloat => ("integer", "integral_floats = true\n", "INTEGER"),
        Guess::Float => ("float", "", "FLOAT"),
        Guess::DateTime(Zone::None) => ("date-time", "zone = \"none\"\n", "DATE_TIME"),
        Guess::DateTime(Zone::Published) => ("date-time", "zone = \"published\"\n", "DATE_TIME"),
        Guess::Empty | Guess::Text => ("text", "", "STRING"),
    };
    let why = match guess {
        Guess::Empty => ": it has no value in the sample",
        _ => "",
    };
    (format!("kind = \"{kind}\"  # guess{why}\n{more}"), format)
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
        let (cut, other_separator) = form::separator(&lines);
        check_width(cut.fields)?;
        let mut csv = Csv {
            separator: cut.separator,
            bom: without_mark.is_some(),
            ..Csv::PLAIN
        };
        let firsts: Vec<&str> = fields(csv, first).collect();
        let is_row = bad_lines.check(first_line, &firsts, cut.fields);
        let mut columns: Vec<Column<'_>> = (0..cut.fields)
            .map(|at| {
                Column::new(
                    firsts.get(at).map_or("", |first| without_blanks(first)),
                    true,
                )
            })
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
                (_, false) => return Err(unprintable(first_line)),
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
            bad_lines: bad_lines.explain(&csv),
            columns,
        })
    }
}

/// The lines of a text that aren't blank, without their endings.
pub(super) fn lines<'a>(text: &'a str, bad: &mut BadLines) -> Vec<Line<'a>> {
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
pub(super) struct BadLines {
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
    pub(super) fn explain(self, csv: &Csv) -> Vec<(usize, String)> {
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
