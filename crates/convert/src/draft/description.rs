//! A drafted description as text: TOML, with a comment at each guess.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::words::several;
use tracelake_schema::description::{ADDED_COLUMNS, MAX_BYTES, is_printable, snake_case};
use tracelake_schema::trace_names;

use crate::discover::{CHECKSUMS, SCHEMA_CSV};

/// The longest name that is made of a header or of the name of a file.
const LONGEST_NAME: usize = 60;

/// The line of a table whose one file is cut into parts.
pub(super) const WHOLE: &str = "files = \"whole\"  # guess: one file; see `names` for several\n";

/// A drafted table, but for its name and its files.
#[derive(Debug)]
pub(super) struct Table {
    /// The sample it was drafted from: `the first 10 rows`.
    pub(super) from: String,
    /// Notes on where `convert` will stop, and on what is left out.
    pub(super) notes: Vec<String>,
    /// The syntax of its files, if it isn't plain CSV.
    pub(super) syntax: Option<&'static str>,
    /// How rows are written: a table below `[[table]]`, if there is something to say.
    pub(super) form: String,
    pub(super) columns: Vec<Column>,
    /// Whether the columns have published names.
    pub(super) is_named: bool,
}

/// A drafted column.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// The published name.
    pub(super) content: String,
    /// Whether it is made up.
    pub(super) is_made_up: bool,
    /// Comments on its kind.
    pub(super) notes: Vec<String>,
    /// The lines of its kind and how its values are written.
    pub(super) kind: String,
    /// The `format` of columns of texts.
    pub(super) format: Option<&'static str>,
    /// The fields of a struct, or the item of a list.
    pub(super) fields: Vec<Column>,
}

/// The name of a table and how its files are found.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The name of the table.
    pub(super) name: String,
    /// Its files, in words.
    pub(super) shown: String,
    /// The lines of `[[table]]` that say how they are named.
    pub(super) lines: String,
    /// `[table.captures]`, if their names have some.
    pub(super) captures: String,
    pub(super) notes: Vec<String>,
    /// The columns of the captures.
    pub(super) columns: Vec<Column>,
}

impl Files {
    /// One file that is cut into parts.
    pub(super) fn whole(file: &str) -> Self {
        let mut files = Self::of(file, WHOLE);
        if found(file).is_none() {
            "a file".clone_into(&mut files.shown);
            files.notes.push(
                "In a directory, convert doesn't find a file of this name. Name the file itself as SRC, or rename it."
                    .to_owned(),
            );
        }
        files
    }

    /// One file that is a part.
    pub(super) fn named(file: &str) -> Self {
        Self::of(
            file,
            "files = \"named\"  # guess: one part; see `names` for several\n",
        )
    }

    fn of(file: &str, lines: &str) -> Self {
        let names = found(file).map(|file| format!("names = [{}]\n", quoted(file)));
        Self {
            name: identifier(stem(file)).unwrap_or_else(|| "table".to_owned()),
            shown: file.to_owned(),
            lines: lines.to_owned() + &names.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// The description of some tables from a source of this name, which may be an archive of a size.
pub(super) fn text(
    source: &str,
    archive: Option<u64>,
    tables: &[(Files, Table)],
) -> Result<String> {
    let from = match tables {
        [(_, table)] => table.from.clone(),
        _ => format!(
            "a file of each of {}",
            several(tables.len() as u64, "table")
        ),
    };
    let family = match tables {
        [(files, _)] if archive.is_none() => files.name.clone(),
        _ => identifier(stem(source)).unwrap_or_else(|| "trace".to_owned()),
    };
    let mut family = family.replace('_', "-");
    if trace_names().any(|name| name == family) {
        family.insert_str(0, "my-");
    }
    let mut text = format!(
        "# A draft by `tracelake schema --new {}`, from {from}.\n\
         # A line with `# guess` says what the sample doesn't tell for sure: check it, and correct it where it is wrong.\n\
         # docs/describe-a-trace.md explains every key.\n\n\
         family = \"{family}\"\n\
         licence = \"LicenseRef-Unknown\"  # guess: the licence of the data, as an SPDX expression\n\
         citation = \"Unknown\"  # guess: how to cite the data\n\n\
         [[trace]]\nname = \"{family}\"\ntitle = \"{family}\"  # guess: a title of one line\n\
         document = \"Unknown\"  # guess: the publisher's document\n",
        escape(source.as_bytes(), 255),
    );
    if let Some(bytes) = archive {
        let _ = write!(
            text,
            "\n[[trace.archive]]\nnames = [{}]\nsize = \"{bytes}B\"\n",
            quoted(source),
        );
    }
    for (files, table) in tables {
        text.push('\n');
        for note in table.notes.iter().chain(&files.notes) {
            let _ = writeln!(text, "# guess: {note}");
        }
        let _ = write!(
            text,
            "[[table]]\nname = \"{}\"\nsummary = {}  # guess: one sentence\n{}",
            files.name,
            quoted(format!("Rows of {}.", files.shown)),
            files.lines,
        );
        if let Some(syntax) = table.syntax {
            let _ = writeln!(text, "syntax = \"{syntax}\"");
        }
        text += &files.captures;
        text += &table.form;
        let mut taken: BTreeSet<String> = ADDED_COLUMNS.map(str::to_owned).into();
        let columns = table.columns.iter().chain(&files.columns);
        add(&mut text, "[[table.column]]", &mut taken, columns);
    }
    match text.len() <= MAX_BYTES {
        true => Ok(text),
        false => {
            let hint = "describe it by hand, with shorter names";
            Err(misfit("has too many columns for a description", hint))
        }
    }
}

/// Adds columns below a heading. They can't have the names `taken`.
fn add<'a>(
    text: &mut String,
    heading: &str,
    taken: &mut BTreeSet<String>,
    columns: impl Iterator<Item = &'a Column>,
) {
    for (at, column) in columns.enumerate() {
        let (number, content) = (at + 1, &column.content);
        let name = free_name(content, number, taken);
        let mark = if column.is_made_up {
            "  # guess: the published name"
        } else {
            ""
        };
        let content_line = quoted(content);
        let _ = writeln!(
            text,
            "\n{heading}\nname = \"{name}\"\ncontent = {content_line}{mark}"
        );
        taken.insert(name);
        for note in &column.notes {
            let _ = writeln!(text, "# guess: {note}");
        }
        *text += &column.kind;
        if let Some(format) = column.format {
            let _ = writeln!(text, "format = \"{format}\"");
        }
        let doc = match content.trim() {
            "" => format!("Column {number}."),
            content => format!("{content}."),
        };
        let _ = writeln!(
            text,
            "obfuscation = \"unchanged\"  # guess\n\
             doc = {}  # guess: its meaning; add `unit` if it has one",
            quoted(&doc)
        );
        let inner = heading.replace("]]", ".field]]");
        add(text, &inner, &mut BTreeSet::new(), column.fields.iter());
    }
}

/// The name of a file, if `convert` finds a file of this name in a directory, by `names`.
pub(super) fn found(file: &str) -> Option<&str> {
    let can_be_name =
        is_printable(file) && !file.starts_with('.') && !file.contains(['{', '}', '\\']);
    let is_found = can_be_name && !["", SCHEMA_CSV, CHECKSUMS].contains(&file);
    is_found.then_some(file)
}

/// The name of a file up to its first point.
pub(super) fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// A name made of a text, or else of a number, that isn't taken.
pub(super) fn free_name(content: &str, number: usize, taken: &BTreeSet<String>) -> String {
    free(
        identifier(content).unwrap_or_else(|| format!("column_{number}")),
        taken,
    )
}

/// A name, with a number behind it if it is taken.
pub(super) fn free(name: String, taken: &BTreeSet<String>) -> String {
    let others = (2..).map(|again: usize| format!("{name}_{again}"));
    let mut names = std::iter::once(name.clone()).chain(others);
    names.find(|name| !taken.contains(name)).unwrap_or(name)
}

/// A name that may be in a path or a query, made of a text, if that begins with a letter.
pub(super) fn identifier(text: &str) -> Option<String> {
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

/// The sample has no description, for this reason.
pub(super) fn misfit(reason: &str, hint: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Misfit, reason).hint(hint)
}
