//! How a description says which files are a table's, and how their lines are written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::column_spec::ValuesSpec;
use super::fault::{Result, Within, bail, ensure};
use super::spec::{FoundBy, HeaderSpec, TableSpec};
use super::words::{identifier, printable, unique};
use crate::naming::{Piece, uncompressed};
use crate::{
    Capture, Csv, Extra, Files, Header, NamePattern, Naming, Run, Separator, SeparatorText, Syntax,
};

/// The most parts of a table, and shards of a cell; published tables have up to 12,085. A description alone must not decide
/// how much memory a plan takes.
pub const MOST_PARTS: u32 = 1_000_000;

/// The most patterns of a table, and values in the list of a capture.
pub const MOST_NAMES: usize = 1_000;

/// The most values of a capture that is a range, and the most columns in the runs of a table.
pub(super) const LONGEST_RANGE: u64 = 10_000;

/// The most captures of a pattern beside `{n}` and `{total}`, and the most directories that it names.
pub const MOST_CAPTURES: usize = 8;

/// The most spellings of NULL.
const MOST_NULLS: usize = 16;

/// The most letters of the name of a file or directory.
const MOST_LETTERS: usize = 255;

/// The names of a table's files.
pub(super) fn naming(spec: &TableSpec) -> Result<Naming> {
    let is_named = spec.files == Files::Named;
    let is_whole = spec.files == Files::Whole;
    ensure!(
        is_named || spec.captures.is_empty() && spec.first.is_none() && spec.also.is_empty(),
        "captures, first and also are for files = \"named\""
    );
    ensure!(
        !is_named || !spec.names.is_empty(),
        "files = \"named\" needs names, such as names = [\"readings-{{n}}.csv.gz\"]"
    );
    ensure!(
        is_named || is_whole || spec.names.is_empty(),
        "names are for files = \"named\" or \"whole\""
    );
    let captures = captures(&spec.captures).within("captures")?;
    ensure!(
        spec.names.len() <= MOST_NAMES,
        "names: a table has at most {MOST_NAMES}"
    );
    let names = || spec.names.iter().map(String::as_str);
    unique("name", names()).within("names")?;
    unique("name", names().chain(spec.also.iter().map(String::as_str))).within("also")?;
    let patterns = names()
        .map(|name| pattern(name, &captures))
        .collect::<Result<Vec<_>>>()
        .within("names")?;
    let also = spec
        .also
        .iter()
        .map(|name| pattern(name, &captures))
        .collect::<Result<Vec<_>>>()
        .within("also")?;
    let are_alike = patterns
        .iter()
        .map(placeholders)
        .eq(also.iter().map(placeholders));
    ensure!(
        also.is_empty() || are_alike,
        "also: one name for each of `names`, in the same order and with the same braces"
    );
    let is_file = |pattern: &NamePattern| pattern.is_plain() && !pattern.text.contains('/');
    ensure!(
        !is_whole || patterns.iter().all(is_file),
        "names: those of a table in one file have no braces and no slash"
    );
    let mixed =
        patterns.iter().any(NamePattern::is_plain) && !patterns.iter().all(NamePattern::is_plain);
    ensure!(
        !mixed,
        "names: either all of them have captures, or none has"
    );
    let has_number = |pattern: &NamePattern| pattern.pieces.contains(&Piece::Number);
    let numbered = patterns
        .iter()
        .filter(|pattern| has_number(pattern))
        .count();
    ensure!(
        numbered == 0 || numbered == patterns.len(),
        "names: either all of them have {{n}}, or none has"
    );
    let has_date = |pattern: &NamePattern| pattern.pieces.contains(&Piece::Date);
    ensure!(
        !patterns.iter().any(has_date)
            || patterns.len() == 1 && numbered == 0 && captures.is_empty() && spec.first.is_none(),
        "names: the only one has {{date}}, which numbers the parts: without {{n}}, captures and first"
    );
    ensure!(
        !patterns.iter().any(has_date) || spec.parts == 0,
        "parts: how many there are isn't known where names have {{date}}"
    );
    for (index, capture) in captures.iter().enumerate() {
        let is_used = patterns
            .iter()
            .any(|pattern| pattern.pieces.contains(&Piece::Capture(index)));
        ensure!(is_used, "captures: no name has {{{}}}", capture.name);
    }
    let is_alone = patterns.len() == 1 && !has_number_or_day(&patterns);
    ensure!(
        !spec.sparse || is_named && is_alone && !captures.is_empty(),
        "sparse: only with one name, whose captures number the files: without {{n}} and {{date}}"
    );
    let naming = Naming {
        patterns,
        also,
        captures,
        first: spec.first.unwrap_or(0),
        is_sparse: spec.sparse,
    };
    ensure!(
        naming.places() <= u64::from(MOST_PARTS),
        "captures: together they have {} values, and a table has at most {MOST_PARTS} parts",
        naming.places()
    );
    Ok(naming)
}

fn has_number_or_day(patterns: &[NamePattern]) -> bool {
    let mut pieces = patterns.iter().flat_map(|pattern| &pattern.pieces);
    pieces.any(|piece| matches!(piece, Piece::Number | Piece::Date))
}

/// A range such as `00..23`: as many digits as there are in front, and more if there must be.
fn range(text: &str) -> Result<Run> {
    let numbers = text.split_once("..").and_then(|(first, last)| {
        let are_digits = [first, last]
            .iter()
            .all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let numbers = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        are_digits.then_some((numbers, first.len()))
    });
    let Some(((first, last), digits)) = numbers else {
        bail!("{text:?} is not a range of numbers, such as \"0..99\" or \"00..23\"");
    };
    let beyond = last.checked_sub(first);
    match beyond.and_then(|beyond| u32::try_from(beyond).ok()) {
        Some(beyond) if u64::from(beyond) < LONGEST_RANGE => Ok(Run::Range {
            first,
            count: beyond + 1,
            digits,
        }),
        _ => bail!("{text:?} has no number in it, or more than {LONGEST_RANGE}"),
    }
}

/// The published names of the columns of a run.
pub(super) fn run(spec: &ValuesSpec) -> Result<Run> {
    let run = match spec {
        ValuesSpec::Range(text) => range(text)?,
        ValuesSpec::Values(names) => {
            for name in names {
                printable(name)?;
            }
            Run::Names(names.as_slice().into())
        }
    };
    ensure!(run.count() > 0, "a run has a column");
    Ok(run)
}

fn captures(spec: &BTreeMap<String, ValuesSpec>) -> Result<Vec<Capture>> {
    let captures = spec.iter().map(|(name, values)| {
        ensure!(
            !["n", "total", "date"].contains(&&name[..]),
            "{{{name}}} stands for digits and has no list"
        );
        let (values, is_range) = match values {
            ValuesSpec::Values(values) => {
                ensure!(
                    !values.is_empty() && values.len() <= MOST_NAMES,
                    "{name}: a capture has 1 to {MOST_NAMES} values"
                );
                (values.clone(), false)
            }
            ValuesSpec::Range(text) => {
                let values = range(text).within(name)?;
                (values.names().map(Cow::into_owned).collect(), true)
            }
        };
        unique("value", values.iter().map(String::as_str)).within(name)?;
        for value in &values {
            let plain = |letter: char| !letter.is_control() && letter != '/';
            ensure!(
                !value.is_empty() && value.len() <= MOST_LETTERS && value.chars().all(plain),
                "{name}: {value:?} can't be a piece of a file name"
            );
        }
        Ok(Capture {
            name: identifier(name)?,
            values,
            is_range,
        })
    });
    captures.collect()
}

/// The braces of a pattern, in whatever order.
fn placeholders(pattern: &NamePattern) -> Vec<&Piece> {
    let pieces = pattern.pieces.iter();
    let mut braces: Vec<&Piece> = pieces.filter(|it| !matches!(it, Piece::Text(_))).collect();
    braces.sort_unstable();
    braces
}

/// Reads a pattern.
fn pattern(text: &str, captures: &[Capture]) -> Result<NamePattern> {
    let plain = |letter: char| !letter.is_control() && letter != '\\';
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= MOST_LETTERS
            && name.chars().all(plain)
            && !name.starts_with('.')
    };
    ensure!(
        text.split('/').all(is_name) && text.matches('/').count() <= MOST_CAPTURES,
        "{text:?} is not the name of a file, maybe with up to {MOST_CAPTURES} directories before it: none of them is \
         empty or begins with a point"
    );
    let mut rest = uncompressed(text);
    let mut pieces: Vec<Piece> = Vec::new();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            bail!("{text:?}: a brace isn't closed");
        };
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        let piece = match name {
            "n" => Piece::Number,
            "total" => Piece::Total,
            "date" => Piece::Date,
            _ => match captures.iter().position(|capture| capture.name == name) {
                Some(index) => Piece::Capture(index),
                None => {
                    bail!(
                        "{text:?}: {{{name}}} is not {{n}}, {{total}}, {{date}} or one of [table.captures]"
                    )
                }
            },
        };
        ensure!(
            !pieces.contains(&piece),
            "{text:?}: {{{name}}} is in the name twice"
        );
        ensure!(
            !matches!(
                (pieces.last(), &piece),
                (
                    Some(Piece::Number | Piece::Total | Piece::Date),
                    Piece::Number | Piece::Total | Piece::Date
                )
            ),
            "{text:?}: two numbers need a text between them"
        );
        pieces.push(piece);
        rest = after;
    }
    ensure!(!rest.contains('}'), "{text:?}: a brace isn't opened");
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    let others = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Capture(_)))
        .count();
    ensure!(
        others <= MOST_CAPTURES,
        "{text:?}: at most {MOST_CAPTURES} captures beside {{n}} and {{total}}"
    );
    ensure!(
        pieces.contains(&Piece::Number) || !pieces.contains(&Piece::Total),
        "{text:?}: {{total}} needs {{n}}"
    );
    Ok(NamePattern {
        text: text.to_owned(),
        pieces,
    })
}

/// How the columns of a table are found in a header.
pub(super) fn header(spec: &TableSpec) -> Header {
    match spec.csv.as_ref().and_then(|csv| csv.header) {
        Some(HeaderSpec::Found(FoundBy::ByName)) => Header::ByName,
        Some(HeaderSpec::Is(true)) if spec.syntax == Syntax::Csv => Header::InOrder,
        Some(HeaderSpec::Is(_)) | None => Header::None,
    }
}

/// The details of CSV.
pub(super) fn csv(spec: &TableSpec) -> Result<Csv> {
    let header = header(spec);
    let Some(csv) = &spec.csv else {
        return Ok(Csv::PLAIN);
    };
    let is_quoted = spec.syntax == Syntax::QuotedCsv;
    ensure!(
        spec.syntax == Syntax::Csv || is_quoted,
        "csv: only for syntax = \"csv\" or \"quoted-csv\""
    );
    ensure!(
        !is_quoted || !matches!(csv.header, Some(HeaderSpec::Is(false))),
        "csv: header: a file of syntax = \"quoted-csv\" has one"
    );
    let of_lines = csv.comment.is_some() || csv.bom || csv.trim || csv.trailing;
    ensure!(
        !is_quoted || !of_lines,
        "csv: comment, bom, trim and trailing are for syntax = \"csv\""
    );
    ensure!(
        csv.extra == Extra::Refuse || header == Header::ByName,
        "csv: extra: only with header = \"by-name\""
    );
    let separator = match csv.separator.as_deref() {
        None => Separator::Byte(b','),
        Some(text) => separator(text)?,
    };
    ensure!(
        !is_quoted || separator != Separator::Blanks,
        "csv: separator = \"{BLANKS}\" is for syntax = \"csv\""
    );
    let comment = csv
        .comment
        .as_deref()
        .map(|text| one_byte("comment", text))
        .transpose()?;
    ensure!(
        comment.is_none_or(|comment| !separates(separator, comment)),
        "csv: comment {:?} is also the separator",
        csv.comment.as_deref().unwrap_or_default()
    );
    ensure!(
        !csv.trim || separator != Separator::Blanks,
        "csv: trim: separator = \"{BLANKS}\" leaves no blanks around a field"
    );
    ensure!(
        !csv.trailing || separator != Separator::Blanks,
        "csv: trailing: with separator = \"{BLANKS}\", blanks at the end of a line begin no field anyway"
    );
    Ok(Csv {
        header,
        extra: csv.extra,
        separator,
        comment,
        bom: csv.bom,
        trim: csv.trim,
        trailing: csv.trailing,
    })
}

/// The name of the separator that is a run of blanks.
const BLANKS: &str = "blanks";

/// The most characters of a separator.
const LONGEST_SEPARATOR: usize = SeparatorText::MOST;

fn separator(text: &str) -> Result<Separator> {
    if text == BLANKS {
        return Ok(Separator::Blanks);
    }
    if let [_] = text.as_bytes() {
        return Ok(Separator::Byte(one_byte("separator", text)?));
    }
    let fits = |at: usize| {
        text.get(at..=at)
            .is_some_and(|one| one_byte("", one).is_ok())
    };
    ensure!(
        (2..=LONGEST_SEPARATOR).contains(&text.len()) && (0..text.len()).all(fits),
        "csv: separator {text:?} is not \"{BLANKS}\" or 1 to {LONGEST_SEPARATOR} ASCII characters that are no letter, \
         digit, quote, sign or point, such as \";\" or \"\\t\""
    );
    Ok(Separator::several(text))
}

/// Whether a line that begins with a byte begins with a separator.
fn separates(separator: Separator, byte: u8) -> bool {
    match separator {
        Separator::Byte(separator) => separator == byte,
        Separator::Text(text) => text.first() == Some(&byte),
        Separator::Blanks => matches!(byte, b' ' | b'\t'),
    }
}

/// One ASCII character that can't be mistaken for another part of a row.
fn one_byte(key: &str, text: &str) -> Result<u8> {
    let printable = |byte: u8| byte == b'\t' || (b' '..0x7f).contains(&byte);
    match *text.as_bytes() {
        [byte] if printable(byte) && !byte.is_ascii_alphanumeric() && !b"\"-+.".contains(&byte) => {
            Ok(byte)
        }
        _ => bail!(
            "csv: {key} {text:?} is not one ASCII character that is no letter, digit, quote, sign or point, such as \
             \";\" or \"\\t\""
        ),
    }
}

/// The spellings of NULL beside the empty field.
pub(super) fn nulls(spelled: &[String]) -> Result<Arc<[String]>> {
    ensure!(
        spelled.len() <= MOST_NULLS,
        "null has at most {MOST_NULLS} spellings"
    );
    unique("spelling", spelled.iter().map(String::as_str)).within("null")?;
    let beside_empty = spelled.iter().filter(|text| !text.is_empty());
    Ok(beside_empty.cloned().collect())
}
