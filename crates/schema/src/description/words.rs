//! The single words of a description, checked.

use std::collections::HashSet;

use super::fault::{Result, bail, ensure};
use crate::calendar;
use crate::names::{MAX_NAME, is_identifier};
use crate::{Kind, Zone};

/// Refuses a name that occurs twice.
pub(super) fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        ensure!(seen.insert(name), "the {what} {name} occurs twice");
    }
    Ok(())
}

/// The words for kinds of columns.
fn kind_names() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).collect()
}

pub(super) fn kind(name: &str, zone: Option<Zone>) -> Result<Kind> {
    let kind = named(name, Kind::ALL, Kind::name);
    if let Some(Kind::DateTime(_)) = kind {
        return Ok(Kind::DateTime(zone.unwrap_or(Zone::None)));
    }
    ensure!(zone.is_none(), "only a column of kind date-time has a zone");
    match kind {
        Some(kind) => Ok(kind),
        None => bail!("kind {name:?} is not one of {}", kind_names().join(", ")),
    }
}

/// The variant of an enum that a word names, if there is one.
pub(super) fn named<T: Copy>(word: &str, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
    all.iter().copied().find(|&one| name(one) == word)
}

/// The name that a column has by convention: "disk I/O time" becomes `disk_io_time`; a slash joins, everything else
/// parts two words.
///
/// ```
/// assert_eq!(tracelake_schema::description::snake_case("CPU cores (%)"), "cpu_cores");
/// ```
#[must_use]
pub fn snake_case(content: &str) -> String {
    let joined = content.replace('/', "").to_lowercase();
    let words = joined.split(|letter: char| !letter.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

/// A name that needs no quotes in SQL, nor in a path.
pub(super) fn identifier(name: &str) -> Result<String> {
    ensure!(
        is_identifier(name),
        "{name:?} is not made of a-z, 0-9 and _, a-z first, at most {MAX_NAME}"
    );
    Ok(name.to_owned())
}

/// The name of a trace or of its family, which can be part of a path.
pub(super) fn trace_name(name: &str) -> Result<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    ensure!(
        name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && name.len() <= MAX_NAME
            && name.chars().all(plain),
        "{name:?} is not a name of at most {MAX_NAME} letters, digits, points, - and _ that begins with a-z"
    );
    Ok(name.to_owned())
}

/// A text without white space.
pub(super) fn word(text: &str) -> Result<String> {
    ensure!(
        !text.is_empty() && !text.contains(char::is_whitespace),
        "{text:?} is not one word"
    );
    printable(text)
}

/// A day as `2014-11-17`.
pub(super) fn date(text: &str) -> Result<String> {
    ensure!(
        calendar::is_day(text),
        "{text:?} is not a date such as 2014-11-17"
    );
    Ok(text.to_owned())
}

/// A SHA-256 in lowercase hex.
pub(super) fn sha256(text: &str) -> Result<String> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    ensure!(
        text.len() == 64 && text.bytes().all(hex),
        "{text:?} is not a SHA-256 in lowercase hex"
    );
    Ok(text.to_owned())
}

/// A text on one line: line breaks in the description count as spaces.
pub(super) fn prose(text: &str) -> Result<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(!line.is_empty(), "a text is empty");
    printable(&line)
}

/// Whether a text is printed as it reads: it has no control characters, which terminals obey, and no marks that turn the
/// direction of what follows. No text of a description has any.
///
/// ```
/// use tracelake_schema::description::is_printable;
/// assert!(is_printable("Größe, %") && !is_printable("a\tb") && !is_printable("a\u{202e}b"));
/// ```
#[must_use]
pub fn is_printable(text: &str) -> bool {
    !text.chars().any(is_hidden)
}

fn is_hidden(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    letter.is_control() || turns
}

/// A text that may be left out.
pub(super) fn optional(
    text: Option<&str>,
    read: fn(&str) -> Result<String>,
) -> Result<Option<String>> {
    text.map(read).transpose()
}

/// A text that is printed as it reads.
pub(super) fn printable(text: &str) -> Result<String> {
    if let Some(letter) = text.chars().find(|letter| is_hidden(*letter)) {
        bail!(
            "{text:?} has the character U+{:04X}, which can't be printed",
            u32::from(letter)
        );
    }
    Ok(text.to_owned())
}

/// A word for a kind, in the JSON Schema.
#[cfg(test)]
pub(super) fn kinds(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": kind_names() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_become_snake_case() {
        assert_eq!(snake_case("disk I/O time"), "disk_io_time");
        assert_eq!(snake_case("maximum disk IO time"), "maximum_disk_io_time");
        assert_eq!(snake_case("CPUs"), "cpus");
    }

    #[test]
    fn names_and_words_are_what_they_should_be() {
        assert!(identifier("a_1").is_ok());
        assert!(identifier("1a").is_err() && identifier("A").is_err() && identifier("").is_err());
        assert!(word("a b").is_err() && word("").is_err() && prose(" \n").is_err());
        assert_eq!(prose("a\n  b\n").unwrap(), "a b");
        for hidden in ["a\u{1b}]0;b", "a\u{202e}b", "a\u{7f}"] {
            assert!(prose(hidden).is_err() && word(hidden).is_err() && printable(hidden).is_err());
        }
    }
}
