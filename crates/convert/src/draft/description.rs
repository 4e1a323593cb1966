//! A drafted description as text: TOML, with a comment at each guess.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tracelake_core::error::escape;
use tracelake_core::words::several;
use tracelake_schema::description::{ADDED_COLUMNS, is_printable, snake_case};
use tracelake_schema::{Separator, Zone, trace_names};

use super::Sample;
use super::form::{Column, Header};
use super::kind::{Guess, KeptAsText};
use crate::discover::{CHECKSUMS, SCHEMA_CSV};

/// The longest name that is made of a header or of the name of a file.
const LONGEST_NAME: usize = 60;

/// The longest value that a comment shows.
const SHOWN: usize = 40;

/// The description of a sample in a file of this name.
pub(super) fn of(sample: &Sample<'_>, file: &str) -> String {
    let mut text = head(sample, file);
    text += &table(
        file,
        "files = \"whole\"  # guess: one file; see `names` for several\n",
    );
    text += &form(sample);
    let mut taken: BTreeSet<String> = ADDED_COLUMNS.map(str::to_owned).into();
    for (at, column) in sample.columns.iter().enumerate() {
        let number = at + 1;
        let content = match &sample.names {
            Some(names) => names.get(at).copied().unwrap_or_default().to_owned(),
            None => format!("column {number}"),
        };
        let name = free_name(&content, number, &taken);
        text += &of_column(sample, column, number, &name, &content);
        taken.insert(name);
    }
    text
}

/// Says how the draft was made, and where `convert` will stop.
fn head(sample: &Sample<'_>, file: &str) -> String {
    let rows = match sample.has_more {
        true => format!("the first {}", several(sample.rows as u64, "row")),
        false => several(sample.rows as u64, "row"),
    };
    let mut text = format!(
        "# A draft by `tracelake schema --new {}`, from {rows}.\n\
         # A line with `# guess` says what the rows don't tell for sure: check it, and correct it where it is wrong.\n\
         # docs/describe-a-trace.md explains every key.\n",
        escape(file.as_bytes(), 255),
    );
    let mut note = |note: &str| {
        let _ = writeln!(text, "# guess: {note}");
    };
    if sample.has_more {
        note("the file has more rows. If one of them doesn't fit, convert stops there (exit 4).");
    }
    for (line, why) in &sample.bad_lines {
        note(&format!(
            "line {line} {why}. convert stops there (exit 4); --on-bad-row reject sets such rows aside."
        ));
    }
    if let Some(line) = sample.comment.as_ref().and_then(|comment| comment.header) {
        note(&format!(
            "line {line} is a comment that may be a header, so the columns have its names."
        ));
    }
    if !is_found(file) {
        note(
            "In a directory, convert doesn't find a file of this name. Name the file itself as SRC, or rename it.",
        );
    }
    text
}

/// The data set, and the table without its columns; `files` is the line that says how its files are named.
pub(super) fn table(file: &str, files: &str) -> String {
    let stem = file.split('.').next().unwrap_or(file);
    let table = identifier(stem).unwrap_or_else(|| "table".to_owned());
    let mut family = table.replace('_', "-");
    if trace_names().any(|name| name == family) {
        family.insert_str(0, "my-");
    }
    let (file, found) = match is_found(file) {
        true => (file.to_owned(), format!("names = [{}]\n", quoted(file))),
        false => ("a file".to_owned(), String::new()),
    };
    format!(
        "\nfamily = \"{family}\"\n\
         licence = \"LicenseRef-Unknown\"  # guess: the licence of the data, as an SPDX expression\n\
         citation = \"Unknown\"  # guess: how to cite the data\n\n\
         [[trace]]\nname = \"{family}\"\ntitle = \"{family}\"  # guess: a title of one line\n\
         document = \"Unknown\"  # guess: the publisher's document\n\n\
         [[table]]\nname = \"{table}\"\nsummary = {}  # guess: one sentence\n\
         {files}{found}",
        quoted(format!("Rows of {file}.")),
    )
}

/// Whether `convert` finds a file of this name in a directory, by `names`.
pub(super) fn is_found(file: &str) -> bool {
    let can_be_name =
        is_printable(file) && !file.starts_with('.') && !file.contains(['{', '}', '\\']);
    can_be_name && !["", SCHEMA_CSV, CHECKSUMS].contains(&file)
}

/// How the lines are written.
fn form(sample: &Sample<'_>) -> String {
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
    if sample.csv.separator != Separator::Byte(b',') || sample.other_separator.is_some() {
        let other = sample.other_separator.map_or(String::new(), |other| {
            format!(
                ": {} separates every line evenly, too",
                quoted(name_of(other))
            )
        });
        let separator = quoted(name_of(sample.csv.separator));
        let _ = writeln!(text, "separator = {separator}  # guess{other}");
    }
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

/// A separator as a description names it.
fn name_of(separator: Separator) -> String {
    match separator {
        Separator::Blanks => "blanks".to_owned(),
        Separator::Byte(_) | Separator::Text(_) => separator.text(),
    }
}

/// A column.
fn of_column(
    sample: &Sample<'_>,
    column: &Column<'_>,
    number: usize,
    name: &str,
    content: &str,
) -> String {
    let mark = match column.guess() {
        Guess::Empty => "  # guess: it has no value in the sample",
        _ => "  # guess",
    };
    let (kind, more, format) = match column.guess() {
        Guess::Integer => ("integer", "", "INTEGER"),
        Guess::IntegralFloat => ("integer", "integral_floats = true\n", "INTEGER"),
        Guess::Float => ("float", "", "FLOAT"),
        Guess::DateTime(Zone::None) => ("date-time", "zone = \"none\"\n", "DATE_TIME"),
        Guess::DateTime(Zone::Published) => ("date-time", "zone = \"published\"\n", "DATE_TIME"),
        Guess::Empty | Guess::Text => ("text", "", "STRING"),
    };
    let spelled: Vec<String> = column.nulls().map(quoted).collect();
    let spelled = spelled.join(", ");
    let mut text = format!(
        "\n[[table.column]]\nname = \"{name}\"\ncontent = {}",
        quoted(content)
    );
    text += match sample.header {
        Header::Is => "\n",
        Header::MayBe | Header::IsNot => "  # guess: the published name\n",
    };
    if let Some((why, value)) = column.kept_as_text() {
        let value = escape(value.as_bytes(), SHOWN);
        let why = match why {
            KeptAsText::Zeros => "a number would lose the zeros in front",
            KeptAsText::Long => "an integer has at most 64 bits",
            KeptAsText::NoNumber => "a lake has no such number; it may be a spelling of `null`",
        };
        let _ = writeln!(
            text,
            "# guess: a text, because it has values such as {value}: {why}."
        );
    }
    if !spelled.is_empty() && !column.guess().is_typed() {
        let _ = writeln!(
            text,
            "# guess: if {spelled} means that there is no value, add null = [{spelled}]."
        );
    }
    let _ = writeln!(text, "kind = \"{kind}\"{mark}");
    text += more;
    if !spelled.is_empty() && column.guess().is_typed() {
        let _ = writeln!(text, "null = [{spelled}]  # guess");
    }
    let doc = match content.trim() {
        "" => format!("Column {number}."),
        content => format!("{content}."),
    };
    let _ = writeln!(
        text,
        "format = \"{format}\"\nobfuscation = \"unchanged\"  # guess\n\
         doc = {}  # guess: its meaning; add `unit` if it has one",
        quoted(&doc)
    );
    text
}

/// A name for a column that no other has.
pub(super) fn free_name(content: &str, number: usize, taken: &BTreeSet<String>) -> String {
    let name = identifier(content).unwrap_or_else(|| format!("column_{number}"));
    let others = (2..).map(|again: usize| format!("{name}_{again}"));
    let mut names = std::iter::once(name.clone()).chain(others);
    names.find(|name| !taken.contains(name)).unwrap_or(name)
}

/// A name that may be in a path or a query, made of a text, if that begins with a letter.
fn identifier(text: &str) -> Option<String> {
    let snake: String = snake_case(text).chars().take(LONGEST_NAME).collect();
    snake
        .starts_with(|letter: char| letter.is_ascii_lowercase())
        .then_some(snake)
}

/// A string of TOML.
pub(super) fn quoted(text: impl AsRef<str>) -> String {
    let mut quoted = String::from('"');
    for letter in text.as_ref().chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\t' => quoted += "\\t",
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
