//! The rows of a source, read with flate2 and the csv crate and nothing of ours.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv::{ByteRecord, Terminator};
use flate2::bufread::GzDecoder;
use serde::Deserialize;

use super::corrupt;
use crate::error::{Error, Result};
use crate::source::open_file;

/// What the csv crate reads first: it takes a byte order mark off the start of its text, which here
/// may be that of a later row, whose value holds the mark.
const BEFORE: &[u8] = b"-\n";

/// The good rows of a source file through the csv crate.
pub(super) struct PlainRows {
    path: PathBuf,
    reader: csv::Reader<GoodLines>,
    /// The row at hand.
    pub(super) record: ByteRecord,
}

impl PlainRows {
    pub(super) fn open(path: &Path, rejects: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| {
            let file = open_file(path)?;
            Ok(BufReader::with_capacity(1 << 17, file))
        };
        let gzip = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let file = open(path)?;
        let text: Box<dyn Read + Send> = if gzip {
            Box::new(Members {
                member: Some(GzDecoder::new(file)),
            })
        } else {
            Box::new(file)
        };
        let mut lines = GoodLines {
            text: BufReader::with_capacity(1 << 17, text),
            rejects: rejects.map(open).transpose()?.map(BufRead::lines),
            next_reject: None,
            rejected: 0,
            lines: 0,
            line: BEFORE.to_vec(),
            served: 0,
        };
        lines
            .read_reject()
            .map_err(|error| Error::io("read", path, error))?;
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .terminator(Terminator::CRLF)
            .from_reader(lines);
        let mut rows = Self {
            path: path.to_owned(),
            reader,
            record: ByteRecord::new(),
        };
        rows.advance()?;
        Ok(rows)
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
struct GoodLines {
    text: BufReader<Box<dyn Read + Send>>,
    rejects: Option<Lines<BufReader<File>>>,
    next_reject: Option<Reject>,
    rejected: u64,
    lines: u64,
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

    /// Reads the next good line; it is empty at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.served = 0;
        loop {
            self.line.clear();
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
        let mut rows = PlainRows::open(&path, Some(&rejects)).unwrap();
        assert!(rows.advance().unwrap());
        assert_eq!(rows.record, ByteRecord::from(vec!["\u{feff}v", "1"]));
        assert_eq!((rows.line(), rows.rejected()), (2, 1));
        assert!(!rows.advance().unwrap());
    }
}
