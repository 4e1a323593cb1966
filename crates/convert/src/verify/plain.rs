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
use tracelake_schema::Syntax;

use super::corrupt;
use crate::error::{Error, Result};
use crate::layout::Layout;
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
        start: 0,
        rows: 0,
        end: u64::MAX,
        between: false,
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

/// The good rows of a part of a text.
pub(super) struct PlainRows {
    path: PathBuf,
    reader: Reader,
    /// The row at hand; of JSON its one field is the line.
    pub(super) record: ByteRecord,
}

enum Reader {
    Csv(Box<csv::Reader<GoodLines>>),
    Json(Box<GoodLines>),
}

impl PlainRows {
    /// Goes to the rows `rows`, counted from 0, without those that `rejects` names.
    pub(super) fn new(
        mut text: GoodLines,
        path: &Path,
        layout: &Layout,
        rows: Range<u64>,
        rejects: Option<&Path>,
    ) -> Result<Self> {
        let failed = |error| Error::io("read", path, error);
        let quoted = layout.table.syntax == Syntax::QuotedCsv;
        let header = quoted && text.lines == 0;
        if !quoted {
            text.pass(rows.start).map_err(failed)?;
        }
        text.end = rows.end;
        let reader = if layout.table.syntax == Syntax::Json {
            Reader::Json(Box::new(text))
        } else {
            (text.line, text.served) = (BEFORE.to_vec(), 0);
            let reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .quoting(quoted)
                .terminator(Terminator::CRLF)
                .from_reader(text);
            Reader::Csv(Box::new(reader))
        };
        let mut plain = Self {
            path: path.to_owned(),
            reader,
            record: ByteRecord::new(),
        };
        if let Reader::Csv(_) = plain.reader {
            plain.read()?;
        }
        if header {
            plain.read()?;
            let names = layout
                .fields
                .iter()
                .map(|field| field.column.content.as_bytes());
            if !plain.record.iter().eq(names) {
                return Err(corrupt("has not the header of its table").at(path));
            }
        }
        // Where rows may have several lines, they are read to be passed over.
        while quoted && plain.text().rows < rows.start && plain.advance()? {}
        let text = plain.text_mut();
        text.rejects = rejects.map(open).transpose()?.map(BufRead::lines);
        text.rejected = 0;
        text.read_reject().map_err(failed)?;
        Ok(plain)
    }

    /// The text again, for the rows of the next part.
    pub(super) fn into_text(self) -> GoodLines {
        match self.reader {
            Reader::Csv(reader) => reader.into_inner(),
            Reader::Json(text) => *text,
        }
    }

    fn text(&self) -> &GoodLines {
        match &self.reader {
            Reader::Csv(reader) => reader.get_ref(),
            Reader::Json(text) => text,
        }
    }

    fn text_mut(&mut self) -> &mut GoodLines {
        match &mut self.reader {
            Reader::Csv(reader) => reader.get_mut(),
            Reader::Json(text) => text,
        }
    }

    /// Goes to the next good row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.text_mut().between = true;
        self.read()
    }

    fn read(&mut self) -> Result<bool> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            corrupt(format!("cannot be read: {error}"))
                .at(&self.path)
                .because(error)
        };
        match &mut self.reader {
            Reader::Csv(reader) => {
                let read = reader.read_byte_record(&mut self.record);
                read.map_err(|error| failed(error.into()))
            }
            Reader::Json(text) => {
                text.next_line().map_err(|error| failed(error.into()))?;
                self.record = ByteRecord::from(vec![&text.line]);
                Ok(!text.line.is_empty())
            }
        }
    }

    /// The line that the row at hand starts in: the reader below hands out one line at a time.
    pub(super) fn line(&self) -> u64 {
        self.text().start
    }

    pub(super) fn rejected(&self) -> u64 {
        self.text().rejected
    }
}

/// A text without the lines that a rejects file names; each of them has to stand there as it does
/// in the text.
pub(super) struct GoodLines {
    text: BufReader<Box<dyn Read + Send>>,
    rejects: Option<Lines<BufReader<File>>>,
    next_reject: Option<Reject>,
    rejected: u64,
    /// Lines before the next one, and the one that the last good row starts in.
    lines: u64,
    start: u64,
    /// Rows before the next one, and those after which the part ends.
    rows: u64,
    end: u64,
    /// Whether the next line is the first one of a row.
    between: bool,
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

    /// Goes to a row that is further on, or to the end; each row is a line.
    fn pass(&mut self, row: u64) -> io::Result<()> {
        while self.rows < row && self.text.skip_until(b'\n')? > 0 {
            self.lines += 1;
            self.rows += 1;
        }
        Ok(())
    }

    /// Reads the next line of a good row; it is empty at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.served = 0;
        loop {
            self.line.clear();
            if self.between && self.rows == self.end {
                return Ok(());
            }
            if self.text.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(());
            }
            self.lines += 1;
            if !std::mem::take(&mut self.between) {
                return Ok(());
            }
            self.rows += 1;
            self.start = self.lines;
            let Some(reject) = self.next_reject.take_if(|reject| reject.line == self.lines) else {
                // A blank line is a row that the csv crate does not see.
                self.between = matches!(&self.line[..], b"\n" | b"\r\n");
                return Ok(());
            };
            let raw = match &reject.raw_base64 {
                Some(text) => STANDARD.decode(text).map_err(io::Error::other)?,
                None => reject.raw.into_bytes(),
            };
            // A row may have several lines, which its own newlines tell.
            for _ in memchr::memchr_iter(b'\n', &raw) {
                self.text.read_until(b'\n', &mut self.line)?;
                self.lines += 1;
            }
            let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
            // In a file of CRLF lines the row is without its ending.
            if raw != line && Some(&raw[..]) != line.strip_suffix(b"\r") {
                let line = self.start;
                return Err(io::Error::other(format!(
                    "line {line} is not as in the rejects file"
                )));
            }
            self.rejected += 1;
            self.between = true;
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
        let table = &tracelake_schema::TRACES[0].tables[0];
        let layout = Layout::built_in(table, "here");
        let mut rows = PlainRows::new(text, &path, &layout, 0..u64::MAX, Some(&rejects)).unwrap();
        assert!(rows.advance().unwrap());
        assert_eq!(rows.record, ByteRecord::from(vec!["\u{feff}v", "1"]));
        assert_eq!((rows.line(), rows.rejected()), (2, 1));
        assert!(!rows.advance().unwrap());
    }
}
