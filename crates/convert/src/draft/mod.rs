//! A first description of a trace, drafted from a sample of it: a file, a directory, or an archive.
//!
//! A draft keeps what the sample has: it converts the sample to the same rows and values. Where the sample doesn't tell,
//! it says so in a line that is marked as a guess; a key that only a person can decide is left open, and `convert` stops
//! there.

mod csv;
mod description;
mod files;
mod form;
mod json;
mod kind;
mod parquet;
mod paths;
mod quoted;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Location, LocationKind};
use tracelake_source::{Chunk, Magic, Source, read_start};

use description::{Files, Table};

/// The most bytes of a text that are looked at, and the most lines, but for the last chunk.
const MOST_BYTES_SEEN: usize = 32 << 20;
const MOST_LINES_SEEN: usize = 1_000_000;

/// U+FEFF, which some programs write at the start of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Drafts the description of a trace from a file with rows of a table, or from a directory or an archive with files of
/// several: their tables, columns and kinds. What is guessed is marked so. Of Parquet that isn't compressed, only the
/// footer is read.
///
/// # Errors
/// [`ErrorKind::Misfit`] if there is no file that is Parquet, CSV or JSON with at least one row; if it can't be read.
///
/// # Memory
/// The first 32 MiB of a text, and ten times as much for text with quotes.
pub fn draft(context: &Context, sample: &Location) -> Result<String> {
    let drafted = match sample.kind().map_err(|error| error.or_at(sample))? {
        Some(LocationKind::Directory) => files::of_directory(context, sample),
        _ => of_file(context, sample),
    };
    drafted.map_err(|error| error.or_at(sample))
}

fn of_file(context: &Context, sample: &Location) -> Result<String> {
    let name = sample.name().unwrap_or_default();
    let (files, table) = if is_parquet(sample) {
        let file = description::found(name).ok_or_else(|| {
            let hint = "rename it: a name has no braces and no backslash";
            misfit("has a name that a description can't have", hint)
        })?;
        (Files::named(file), parquet::table(context, sample)?)
    } else {
        let mut source = Source::open(context, sample)?;
        if source.is_archive()? {
            return files::of_archive(context, source);
        }
        (Files::whole(name), of_text(&mut source)?)
    };
    description::text(name, None, &[(files, table)])
}

/// Whether a file begins like Parquet.
fn is_parquet(file: &Location) -> bool {
    read_start(file).is_some_and(|start| start.starts_with(parquet::MAGIC))
}

/// The table of the text that a source is at.
fn of_text(source: &mut Source) -> Result<Table> {
    let mut text = Vec::new();
    let mut chunk = Chunk::default();
    // An array of JSON may be one line.
    source.read_by_lines(false);
    let mut has_more = source.next_chunk(&mut chunk)?;
    if !json::is_array(chunk.lines()) {
        source.give_back(&mut chunk, 0);
        source.read_by_lines(true);
        has_more = source.next_chunk(&mut chunk)?;
    }
    if let Some(magic) = Magic::of(chunk.lines()).filter(|_| has_more) {
        return Err(misfit("not CSV, JSON or Parquet", magic.advice()));
    }
    let mut lines = 0;
    while has_more && text.len() < MOST_BYTES_SEEN && lines < MOST_LINES_SEEN {
        text.extend_from_slice(chunk.lines());
        lines += memchr::memchr_iter(b'\n', chunk.lines()).count();
        has_more = source.next_chunk(&mut chunk)?;
    }
    match str::from_utf8(&text) {
        Ok(text) => table(text, has_more),
        // The last letter isn't whole.
        Err(error) if has_more && error.error_len().is_none() => {
            text.truncate(error.valid_up_to());
            table(&String::from_utf8_lossy(&text), has_more)
        }
        Err(error) => {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..error.valid_up_to()]).count();
            Err(misfit("not UTF-8", "convert it to UTF-8").line(line as u64, None))
        }
    }
}

/// The table of a file that begins with this text.
fn table(text: &str, has_more: bool) -> Result<Table> {
    if json::is_array(text.as_bytes()) || json::is_object(text) {
        json::table(text, has_more)
    } else if text.contains('"') {
        quoted::table(text, has_more)
    } else {
        csv::table(text, has_more)
    }
}

fn misfit(reason: &str, hint: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Misfit, reason).hint(hint)
}
