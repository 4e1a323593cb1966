//! Drafts a text in the syntax that it has: CSV, CSV with quotes, or JSON.

use tracelake_core::error::Result;
use tracelake_source::{Chunk, Magic, Source};

use super::description::{Table, misfit};
use super::{csv, json, quoted};

/// The most bytes of a text that are looked at, and the most lines, but for the last chunk.
const MOST_BYTES_SEEN: usize = 32 << 20;
const MOST_LINES_SEEN: usize = 1_000_000;

/// The table of the text that a source is at.
pub(super) fn table(source: &mut Source) -> Result<Table> {
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
        Ok(text) => of_start(text, has_more),
        // The last letter isn't whole.
        Err(error) if has_more && error.error_len().is_none() => {
            text.truncate(error.valid_up_to());
            of_start(&String::from_utf8_lossy(&text), has_more)
        }
        Err(error) => {
            let line = 1 + memchr::memchr_iter(b'\n', &text[..error.valid_up_to()]).count();
            Err(misfit("not UTF-8", "convert it to UTF-8").line(line as u64, None))
        }
    }
}

/// The table of a file that begins with this text.
pub(super) fn of_start(text: &str, has_more: bool) -> Result<Table> {
    if json::is_array(text.as_bytes()) || json::is_object(text) {
        json::table(text, has_more)
    } else if text.contains('"') {
        quoted::table(text, has_more)
    } else {
        csv::table(text, has_more)
    }
}
