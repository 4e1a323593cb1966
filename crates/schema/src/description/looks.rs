//! How a description says what the values of a column look like.

use super::column_spec::ColumnSpec;
use super::fault::{Result, Within, bail, ensure};
use crate::looks::TextPiece;
use crate::{Kind, Looks, TextPattern};

/// The most patterns of a column.
const MOST_PATTERNS: usize = 100;

/// The most letters of a pattern, and of a hash in it.
const MOST_LETTERS: usize = 255;

/// Whether a column says what its values look like.
pub(super) fn has_looks(column: &ColumnSpec) -> bool {
    !column.looks_like.is_empty() || column.within.is_some() || column.multiple_of.is_some()
}

/// Checks the patterns and bounds of a column, and returns them.
pub(super) fn looks(column: &ColumnSpec, kind: Kind) -> Result<Looks> {
    ensure!(
        column.looks_like.is_empty() || kind == Kind::Text,
        "looks_like: only a column of kind text has patterns"
    );
    ensure!(
        column.looks_like.len() <= MOST_PATTERNS,
        "looks_like: a column has at most {MOST_PATTERNS} patterns"
    );
    ensure!(
        column.within.is_none() || matches!(kind, Kind::Integer | Kind::Float),
        "within: only a column of kind integer or float has bounds"
    );
    ensure!(
        column.within.is_none_or(|(least, most)| least <= most),
        "within: the first number must not be above the second"
    );
    ensure!(
        column.multiple_of.is_none() || kind == Kind::Integer,
        "multiple_of: only for a column of kind integer"
    );
    ensure!(
        column.multiple_of.is_none_or(|factor| factor > 0),
        "multiple_of must be above 0"
    );
    let patterns = column.looks_like.iter().map(|text| pattern(text));
    let patterns = patterns.collect::<Result<Vec<_>>>().within("looks_like")?;
    Ok(Looks {
        patterns,
        within: column.within,
        multiple_of: column.multiple_of,
    })
}

/// Reads a pattern.
fn pattern(text: &str) -> Result<TextPattern> {
    ensure!(
        !text.is_empty() && text.len() <= MOST_LETTERS,
        "{text:?} has no letter, or more than {MOST_LETTERS}"
    );
    let mut rest = text;
    let mut pieces = Vec::new();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            bail!("{text:?}: a brace isn't closed");
        };
        if !before.is_empty() {
            pieces.push(TextPiece::Text(before.to_owned()));
        }
        pieces.push(piece(text, name)?);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(TextPiece::Text(rest.to_owned()));
    }
    Ok(TextPattern {
        text: text.to_owned(),
        pieces,
    })
}

/// The piece that a name in braces stands for.
fn piece(text: &str, name: &str) -> Result<TextPiece> {
    let length = |digits: &str| {
        let length = digits.parse::<usize>().ok();
        length.filter(|length| (1..=MOST_LETTERS).contains(length))
    };
    let known = match name.split_once(' ') {
        None if name == "digits" => Some(TextPiece::Digits),
        Some(("hex", digits)) => length(digits).map(TextPiece::Hex),
        Some(("base64", digits)) => length(digits).map(TextPiece::Base64),
        _ => None,
    };
    let Some(piece) = known else {
        bail!("{text:?}: {{{name}}} is not {{digits}}, {{hex N}} or {{base64 N}}");
    };
    Ok(piece)
}
