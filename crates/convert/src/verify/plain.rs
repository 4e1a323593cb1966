//! The rows of a source, read with flate2 and the csv crate and nothing of ours.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv::{ByteRecord, Terminator};
use flate2::bufread::GzDecoder;
use serde::Deserialize;

use super::corrupt;
use crate::error::{Error, Result};
use crate::source::{ARCHIVES, open_file};

/// What the csv crate reads first: it takes a byte order mark off the start of its text, which here
/// may be that of a later row, whose value holds the mark.
const BEFORE: &[u8] = b"-\n";

/// The text of a source file, or of the member of an archive that is named after a table, line by line.
pub(super) fn open_text(path: &Path, table: &str) -> Result<GoodLines> {
    let text = decoded(path)?;
    let name = path.to_string_lossy().to_lowercase();
    let text: Box<dyn Read + Send> = if ARCHIVES.iter().any(|ending| name.ends_with(ending)) {
        let member = member(text, table).map_err(|error| Error::io("read", path, error))?;
        let (before, size) =
            member.ok_or_else(|| corrupt(format!("holds no {table}.csv")).at(path))?;
        let mut text = decoded(path)?;
        let skipped = io::copy(&mut text.by_ref().take(before), &mut io::sink());
        skipped.map_err(|error| Error::io("read", path, error))?;
        Box::new(text.take(size))
    } else {
        text
    };
    Ok(GoodLines {
        text: BufReader::with_capacity(1 << 17, text),
        rejects: None,
        next_reject: None,
        rejected: 0,
        lines: 0,
        end: u64::MAX,
        line: Vec::new(),
        served: 0,
    })
}

/// The bytes of a file, inflated if its name says so.
fn decoded(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = open(path)?;
    let gzip = path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("gz") || extension.eq_ignore_ascii_case("tgz")
    });
    Ok(if gzip {
        Box::new(Members {
            member: Some(GzDecoder::new(file)),
        })
    } else {
        Box::new(file)
    })
}

fn open(path: &Path) -> Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 17, open_file(path)?))
}

/// Where in an archive the file of a table starts, and its size.
fn member(archive: Box<dyn Read + Send>, table: &str) -> io::Result<Option<(u64, u64)>> {
    let name = format!("{table}.csv");
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        if entry.header().entry_type().is_file() && entry.path()?.ends_with(&name) {
            return Ok(Some((entry.raw_file_position(), entry.size())));
        }
    }
    Ok(None)
}

/// The good rows of a part of a text through the csv crate.
pub(super) struct PlainRows {
    path: PathBuf,
    reader: csv::Reader<GoodLines>,
    /// The row at hand.
    pub(super) record: ByteRecord,
}

impl PlainRows {
    /// Goes to the rows of the lines from `lines.start` on, counted from 0, without those that
    /// `rejects` names.
    pub(super) fn new(
        mut text: GoodLines,
        path: &Path,
        lines: Range<u64>,
        rejects: Option<&Path>,
    ) -> Result<Self> {
        let failed = |error| Error::io("read", path, error);
        text.rejects = rejects.map(open).transpose()?.map(BufRead::lines);
        text.rejected = 0;
        text.read_reject().map_err(failed)?;
        text.pass(lines.start).map_err(failed)?;
        text.end = lines.end;
        (text.line, text.served) = (BEFORE.to_vec(), 0);
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .terminator(Terminator::CRLF)
            .from_reader(text);
        let mut rows = Self {
            path: path.to_owned(),
            reader,
            record: ByteRecord::new(),
        };
        rows.advance()?;
        Ok(rows)
    }

    /// The text again, for the rows of the next part.
    pub(super) fn into_text(self) -> GoodLines {
        self.reader.into_inner()
    }

    /// Goes to the next good row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.reader
            .read_byte_record(&mut self.record)
            .map_err(|error| {
                corrupt(format!("cannot be read: {error}"))
                    .at(&self.path)
                    .because(error)
            })
    }

    /// The line of the row at hand: the reader below hands out one line at a time.
    pub(super) fn line(&self) -> u64 {
        self.reader.get_ref().lines
    }

    pub(super) fn rejected(&self) -> u64 {
        self.reader.get_ref().rejected
    }
}

/// A text without the lines that a rejects file names; each of them has to stand there as it does
/// in the text.
pub(super) struct GoodLines {
    text: BufReader<Box<dyn Read + Send>>,
    rejects: Option<Lines<BufReader<File>>>,
    next_reject: Option<Reject>,
    rejected: u64,
    /// Lines before the next one, and those after which the part ends.
    lines: u64,
    end: u64,
    line: Vec<u8>,
    served: usize,
}

/// What a line of a rejects file says of a row.
#[derive(Deserialize)]
struct Reject {
    line: u64,
    raw: String,
    raw_base64: Option<String>,
}

impl GoodLines {
    fn read_reject(&mut self) -> io::Result<()> {
        let json = self.rejects.as_mut().and_then(Iterator::next).transpose()?;
        self.next_reject = json.map(|json| serde_json::from_str(&json)).transpose()?;
        Ok(())
    }

    /// Goes to a line that is further on, or to the end.
    fn pass(&mut self, line: u64) -> io::Result<()> {
        while self.lines < line && self.text.skip_until(b'\n')? > 0 {
            self.lines += 1;
        }
        Ok(())
    }

    /// Reads the next good line; it is empty at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.served = 0;
        loop {
            self.line.clear();
            if self.lines == self.end {
                return Ok(());
            }
            if self.text.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            let Some(reject) = self.next_reject.take_if(|reject| reject.line == self.lines) else {
                return Ok(());
            };
            let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
            let raw = match &reject.raw_base64 {
                Some(text) => STANDARD.decode(text).map_err(io::Error::other)?,
                None => reject.raw.into_bytes(),
            };
            // In a file of CRLF lines the row is without its ending.
            if raw != line && Some(&raw[..]) != line.strip_suffix(b"\r") {
                let line = self.lines;
                return Err(io::Error::other(format!(
                    "line {line} is not as in the rejects file"
                )));
            }
            self.rejected += 1;
            self.read_reject()?;
        }
    }
}

impl Read for GoodLines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.served == self.line.len() {
            self.next_line()?;
        }
        let read = (&self.line[self.served..]).read(into)?;
        self.served += read;
        Ok(read)
    }
}

/// All members of a gzip file by flate2, up to the end or to NUL padding.
struct Members<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let next = member.get_mut().fill_buf()?.first().copied();
            self.member = match (self.member.take(), next) {
                (Some(ended), Some(first)) if first != 0 => {
                    Some(GzDecoder::new(ended.into_inner()))
                }
                _ => None,
            };
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_behind_a_reject_belongs_to_the_value() {
        let directory = tempfile::tempdir().unwrap();
        let [path, rejects] = ["a.csv", "a.ndjson"].map(|name| directory.path().join(name));
        std::fs::write(&path, "x\n\u{feff}v,1\n").unwrap();
        std::fs::write(&rejects, "{\"line\":1,\"raw\":\"x\"}\n").unwrap();
        let text = open_text(&path, "jobs").unwrap();
        let mut rows = PlainRows::new(text, &path, 0..u64::MAX, Some(&rejects)).unwrap();
        assert!(rows.advance().unwrap());
        assert_eq!(rows.record, ByteRecord::from(vec!["\u{feff}v", "1"]));
        assert_eq!((rows.line(), rows.rejected()), (2, 1));
        assert!(!rows.advance().unwrap());
    }
}
