//! One input file to chunks of whole lines, with the digest of the bytes on disk.

mod archive;
mod gunzip;
mod inflate;
mod input;
mod magic;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::location::{Location, Reader};
use crate::split::LineEnding;
use archive::Archive;
pub use archive::Member;
use gunzip::Gunzip;
pub use magic::Magic;

pub use crate::location::{Interrupt, open_file};

/// How much text a chunk has when lines are short, in bytes: it stays in the second-level cache
/// while each column of it is read in turn.
const CHUNK: usize = 256 << 10;

/// The longest line that is read, in bytes without its ending; real ones stay below 300. A longer one is
/// not a row of any table, and may be made to fill the memory.
pub const LINE_LIMIT: usize = 1 << 20;

/// What the names of archives end in.
pub const ARCHIVES: &[&str] = &[".tar.gz", ".tgz", ".tar"];

/// How much is read at once, in bytes.
const READ: usize = 128 << 10;

/// One input file, read once from front to back.
///
/// # Memory
/// The buffers named above and the start of a line, at most [`LINE_LIMIT`], whatever the size of the
/// file; of a URL, also [`crate::location::OBJECT_MEMORY`].
pub struct Source {
    location: Location,
    decoder: Decoder,
    /// What the file holds is an archive, and the text that of a member.
    archive: Option<Archive>,
    /// How far the current text has been read.
    text: TextState,
}

/// How far a text has been handed out: that of the file, or of a member of an archive.
#[derive(Default)]
struct TextState {
    /// What the next chunk starts with: lines that were given back, and the start of an incomplete one.
    pending: Vec<u8>,
    /// How many bytes of it are lines that were given back, and whether these were their whole chunk.
    given_back: usize,
    all_back: bool,
    /// Decoded bytes before it.
    before: u64,
    /// Whether everything was decoded.
    at_end: bool,
    /// How the lines end, which the first one decides.
    ending: Option<LineEnding>,
}

enum Decoder {
    Plain(Raw),
    Gzip(Box<Gunzip>),
}

impl Decoder {
    /// Reads some bytes into a buffer that is not empty; 0 at the end.
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        // A few bytes of gzip can hold a lot of text, so asking at each read from the disk isn't enough.
        self.raw().ask()?;
        match self {
            Self::Plain(raw) => raw.read(into),
            Self::Gzip(gunzip) => gunzip.read(into),
        }
    }

    fn raw(&self) -> &Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(gunzip) => gunzip.raw(),
        }
    }

    fn raw_mut(&mut self) -> &mut Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(gunzip) => gunzip.raw_mut(),
        }
    }
}

/// Some of the text of a file, reused from chunk to chunk.
///
/// # Memory
/// About 256 KiB, or as much as its longest line.
#[derive(Default)]
pub struct Chunk {
    /// Room that was used before is not cleared again.
    text: Vec<u8>,
    /// Where its whole lines end.
    lines: usize,
}

impl Chunk {
    /// Whole lines, each with its newline.
    #[must_use]
    pub fn lines(&self) -> &[u8] {
        &self.text[..self.lines]
    }

    /// Forgets its lines.
    pub fn clear(&mut self) {
        self.lines = 0;
    }
}

/// What a file was, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Its size on disk, in bytes.
    pub bytes: u64,
    /// The SHA-256 of these bytes, in lower-case hexadecimal.
    pub sha256: String,
}

impl Source {
    /// Opens a file; a name that ends in `.gz` or `.tgz` is gzip, everything else is as it is. If that
    /// is a tar archive, [`Source::next_member`] opens the texts in it.
    ///
    /// # Errors
    /// When the file cannot be opened. What a URL names is asked for by the first read.
    pub fn open(location: impl Into<Location>) -> Result<Self> {
        let location = location.into();
        let raw = Raw::open(&location)?;
        let name = location.name().unwrap_or_default().to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let decoder = if ends(&[".gz", ".tgz"]) {
            Decoder::Gzip(Box::new(Gunzip::new(raw)))
        } else {
            Decoder::Plain(raw)
        };
        Ok(Self {
            location,
            decoder,
            archive: ends(ARCHIVES).then(Archive::default),
            text: TextState::default(),
        })
    }

    /// Makes every read ask `interrupt` first, and fail with its error.
    pub fn interrupt_with(&mut self, interrupt: Interrupt) {
        self.decoder.raw_mut().interrupt = Some(interrupt);
    }

    /// Reads the next whole lines into a chunk; false, and no lines, after the last one.
    ///
    /// A last line without a newline gets one.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] for broken gzip, [`ErrorKind::Misfit`] for a line past
    /// [`LINE_LIMIT`], [`ErrorKind::Failed`] when the disk fails.
    pub fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Chunk { text, lines } = chunk;
        *lines = 0;
        let mut end = self.text.pending.len();
        text.resize(text.len().max(end), 0);
        text[..end].copy_from_slice(&self.text.pending);
        let given_back = std::mem::take(&mut self.text.given_back);
        if given_back >= CHUNK && !self.text.all_back {
            *lines = given_back;
            self.text.before += given_back as u64;
            self.text.pending.drain(..given_back);
            return Ok(true);
        }
        // Else there are more lines than these, unless they are the last ones.
        let mut searched = if given_back > 0 { given_back } else { end };
        loop {
            end = self.fill(text, end)?;
            if self.text.at_end && end > 0 && text[end - 1] != b'\n' {
                // The last line gets the ending that the others have.
                text.truncate(end);
                let ending = self.text.ending.unwrap_or_else(|| LineEnding::of(text));
                if ending == LineEnding::CrLf && !text.ends_with(b"\r") {
                    text.push(b'\r');
                }
                text.push(b'\n');
                end = text.len();
            }
            // Text left from before had no newline, or it would have been handed out. So only the first
            // line here can be longer than a chunk.
            let new = &text[searched..end];
            let first = memchr::memchr(b'\n', new).map(|at| searched + at);
            let line = &text[given_back..first.unwrap_or(end)];
            if line.strip_suffix(b"\r").unwrap_or(line).len() > LINE_LIMIT {
                return Err(self.too_long("line", chunk, given_back));
            }
            let newline = memchr::memrchr(b'\n', new).map(|newline| searched + newline + 1);
            let last = (self.text.at_end && given_back > 0).then_some(given_back);
            if let Some(whole) = newline.or(last) {
                *lines = whole;
                self.text.before += *lines as u64;
                self.text.pending.clear();
                self.text.pending.extend_from_slice(&text[*lines..end]);
                self.text
                    .ending
                    .get_or_insert_with(|| LineEnding::of(&text[..*lines]));
                return Ok(true);
            }
            if self.text.at_end {
                return Ok(false);
            }
            searched = end;
        }
    }

    /// Takes back the lines of the last chunk from byte `at` on, where a line starts: the next chunk starts
    /// with them. If all of them are given back, the next chunk has more after them, unless the file ends.
    pub fn give_back(&mut self, chunk: &mut Chunk, at: usize) {
        let lines = &chunk.text[at.min(chunk.lines)..chunk.lines];
        self.text.all_back = lines.len() == chunk.lines;
        self.text.given_back += lines.len();
        self.text.before -= lines.len() as u64;
        self.text.pending.splice(..0, lines.iter().copied());
        chunk.lines -= lines.len();
    }

    /// Whether the last chunk was known to be the last one; else there may be more.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.text.at_end && self.text.pending.is_empty()
    }

    /// The file.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The refusal of what is longer than [`LINE_LIMIT`], which starts at byte `at` of the last chunk.
    pub(crate) fn too_long(&self, what: &str, chunk: &Chunk, at: usize) -> Error {
        let at = self.text.before - chunk.lines as u64 + at as u64;
        let reason = format!("a {what} longer than {LINE_LIMIT} bytes, {at} bytes into the text");
        Error::new(ErrorKind::Misfit, reason)
            .at(&self.location)
            .hint("this is not a table of a trace; download the file again")
    }

    /// Decodes about one more chunk to after `text[..start]`; returns the new end.
    fn fill(&mut self, text: &mut Vec<u8>, start: usize) -> Result<usize> {
        let room = start + CHUNK;
        if text.len() < room {
            text.resize(room, 0);
        }
        let mut filled = start;
        while filled < room && !self.text.at_end {
            let into = &mut text[filled..room];
            let read = match &mut self.archive {
                None => self.decoder.read(into),
                Some(archive) => archive.read(&mut self.decoder, into),
            }
            .map_err(|error| at(error, &self.location))?;
            filled += read;
            self.text.at_end = read == 0;
        }
        Ok(filled)
    }

    /// Bytes of the file that were read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.raw().bytes
    }

    /// The size and digest of what was read of the file so far: of the whole file, once
    /// [`Source::next_chunk`], or in an archive [`Source::next_member`], has come to its end.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.raw().fingerprint()
    }

    /// Asks whether the file is still the one that was read so far: an object in a bucket may have been
    /// replaced. On disk, nothing is asked.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if it has changed, or the server doesn't say.
    pub fn confirm(&self) -> Result<()> {
        let raw = self.raw();
        let confirmed = raw.reader.confirm(raw.interrupt.as_ref());
        confirmed.map_err(|error| at(error, &self.location))
    }

    /// Whether the file is an archive.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        self.archive.is_some()
    }

    /// Goes to the next member of an archive, whose text [`Source::next_chunk`] then reads; `None` after
    /// the last one, and in any other file.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when the archive is broken.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        let Some(archive) = &mut self.archive else {
            return Ok(None);
        };
        self.text = TextState::default();
        let member = archive.next_member(&mut self.decoder);
        member.map_err(|error| at(error, &self.location))
    }

    fn raw(&self) -> &Raw {
        self.decoder.raw()
    }
}

/// The bytes of a file as it was published, counted and digested as they are read.
struct Raw {
    reader: Reader,
    digest: Sha256,
    bytes: u64,
    interrupt: Option<Interrupt>,
}

impl Raw {
    fn open(location: &Location) -> Result<Self> {
        Ok(Self {
            reader: location.open()?,
            digest: Sha256::new(),
            bytes: 0,
            interrupt: None,
        })
    }

    /// Fails where the interrupt does.
    fn ask(&self) -> Result<()> {
        self.interrupt
            .as_ref()
            .map_or(Ok(()), |interrupt| interrupt())
    }

    /// Reads some bytes; 0 at the end. The error lacks the path.
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        self.ask()?;
        let read = self.reader.read_some(into, self.interrupt.as_ref())?;
        self.digest.update(&into[..read]);
        self.bytes += read as u64;
        Ok(read)
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            bytes: self.bytes,
            sha256: hex(&self.digest.clone().finalize()),
        }
    }
}

/// The first bytes of a file, at most 4 KiB of them; `None` where there is no file that can be read.
#[must_use]
pub fn read_start(location: &Location) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let file = location.open().ok()?;
    file.take(4 << 10).read_to_end(&mut start).ok()?;
    Some(start)
}

/// Reads a file on disk that has a meaning as a whole and is small by nature.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when it is larger than `limit` bytes; when it cannot be read.
pub fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    Location::from(path).read_small(limit)
}

/// Opens a file on disk that is at most `limit` bytes long by nature.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it is larger; if it can't be opened.
pub fn open_small(path: &Path, limit: u64) -> Result<File> {
    let file = open_file(path)?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|error| Error::io("read", path, error))?;
    if metadata.len() > limit {
        let reason = format!("is larger than {limit} bytes, which it never is by nature");
        return Err(Error::new(ErrorKind::Corrupt, reason)
            .at(path)
            .hint("it is not what its name says: move it away"));
    }
    Ok(file)
}

/// Digests a whole file without decoding it.
///
/// # Errors
/// When it cannot be read.
pub fn fingerprint(location: impl Into<Location>) -> Result<Fingerprint> {
    let mut whole = fingerprints(&location.into(), &BTreeSet::from([u64::MAX]), None)?;
    Ok(whole.pop().expect("one fingerprint for one length"))
}

/// Digests the first N bytes of a file for each N in `lengths`, or all of it where it is shorter.
///
/// # Errors
/// When it can't be read; the error of `interrupt`.
pub fn fingerprints(
    location: &Location,
    lengths: &BTreeSet<u64>,
    interrupt: Option<Interrupt>,
) -> Result<Vec<Fingerprint>> {
    let mut raw = Raw::open(location)?;
    raw.interrupt = interrupt;
    let mut buffer = vec![0; READ];
    let mut fingerprints = Vec::new();
    for &length in lengths {
        while raw.bytes < length {
            let left = usize::try_from(length - raw.bytes).unwrap_or(usize::MAX);
            let room = left.min(buffer.len());
            if raw
                .read(&mut buffer[..room])
                .map_err(|error| at(error, location))?
                == 0
            {
                break;
            }
        }
        fingerprints.push(raw.fingerprint());
    }
    Ok(fingerprints)
}

/// Names the file in an error, unless the error is an interrupt, which is not about any file.
fn at(error: Error, location: &Location) -> Error {
    match error.kind() {
        ErrorKind::Stopped(_) => error,
        _ => error.at(location),
    }
}

/// Bytes in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn chunks(name: &str, bytes: &[u8]) -> Result<(Vec<u8>, Fingerprint)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut source = Source::open(&path)?;
        let (mut text, mut chunk) = (Vec::new(), Chunk::default());
        while source.next_chunk(&mut chunk)? {
            assert_eq!(chunk.lines().last(), Some(&b'\n'));
            text.extend_from_slice(chunk.lines());
        }
        assert!(chunk.lines().is_empty());
        Ok((text, source.fingerprint()))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn lines_cross_members_and_chunks() {
        let line = b"0123456789,abcdefghij\n".repeat(40_000);
        let (one, two) = line.split_at(line.len() / 3);
        let members = [gzip(one), gzip(b""), gzip(two), vec![0; 700]].concat();
        let (text, fingerprint) = chunks("a.csv.gz", &members).unwrap();
        assert!(text == line);
        assert_eq!(fingerprint.bytes, members.len() as u64);
        assert_eq!(fingerprint.sha256, hex(&Sha256::digest(&members)));
        assert!(chunks("a.csv", &line).unwrap().0 == line);
    }

    #[test]
    fn what_is_given_back_comes_again() {
        let text = b"0123456789,abcdefghij\n".repeat(40_000);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, &text).unwrap();
        let mut source = Source::open(&path).unwrap();
        let (mut read, mut chunk, mut chunks) = (Vec::new(), Chunk::default(), 0);
        while source.next_chunk(&mut chunk).unwrap() {
            // All of it now and then, else but the first lines.
            chunks += 1;
            source.give_back(&mut chunk, if chunks % 5 == 0 { 0 } else { 22 * chunks });
            read.extend_from_slice(chunk.lines());
        }
        assert!(read == text);
    }

    #[test]
    fn what_is_given_back_does_not_pile_up() {
        let text = b"0123456789,abcdefghij\n".repeat(100_000);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, &text).unwrap();
        let mut source = Source::open(&path).unwrap();
        let (mut read, mut chunk) = (Vec::new(), Chunk::default());
        while source.next_chunk(&mut chunk).unwrap() {
            assert!(chunk.lines().len() < 3 * CHUNK);
            source.give_back(&mut chunk, 22 * 1000);
            read.extend_from_slice(chunk.lines());
        }
        assert!(source.is_at_end());
        assert!(read == text);
    }

    #[test]
    fn a_line_behind_what_is_given_back_has_the_same_limit() {
        let text = [b"a\n".to_vec(), vec![b'x'; LINE_LIMIT + 1], b"\n".to_vec()].concat();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let mut source = Source::open(&path).unwrap();
        let mut chunk = Chunk::default();
        let mut chunks = 0;
        let error = loop {
            match source.next_chunk(&mut chunk) {
                Ok(_) => source.give_back(&mut chunk, 0),
                Err(error) => break error,
            }
            chunks += 1;
        };
        assert_eq!(chunks, 1);
        assert!(
            error.to_string().contains("2 bytes into the text"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_final_newline_is_added() {
        assert_eq!(chunks("a.csv", b"a\nb").unwrap().0, b"a\nb\n");
        assert_eq!(chunks("a.csv.gz", &gzip(b"")).unwrap().0, b"");
    }

    #[test]
    fn a_missing_final_newline_is_the_one_that_the_others_have() {
        assert_eq!(chunks("a.csv", b"a\r\nb").unwrap().0, b"a\r\nb\r\n");
        assert_eq!(chunks("a.csv", b"a\r\nb\r").unwrap().0, b"a\r\nb\r\n");
    }

    #[test]
    fn the_line_limit_is_exact() {
        let line = vec![b'x'; LINE_LIMIT];
        for before in ["", "a\n"] {
            let text = [before.as_bytes(), &line, b"\nb\n"].concat();
            assert_eq!(chunks("a.csv", &text).unwrap().0, text);
            let text = [before.as_bytes(), b"x", &line, b"\nb\n"].concat();
            assert_eq!(
                chunks("a.csv", &text).unwrap_err().kind(),
                ErrorKind::Misfit
            );
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let error = chunks("a.csv.gz", &gzip(&vec![b'x'; LINE_LIMIT * 8])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misfit);
    }

    #[test]
    fn every_cut_of_a_file_is_noticed() {
        let whole = [gzip(b"1,2\n3,4\n"), gzip(b"5,6\n")].concat();
        let first = gzip(b"1,2\n3,4\n").len();
        for length in 0..whole.len() {
            let outcome = chunks("a.csv.gz", &whole[..length]);
            if length == first {
                // Cut exactly between members: nothing in the bytes can tell, but a checksum can.
                assert_eq!(outcome.unwrap().0, b"1,2\n3,4\n");
            } else {
                assert_eq!(
                    outcome.unwrap_err().kind(),
                    ErrorKind::Corrupt,
                    "cut at {length}"
                );
            }
        }
    }

    #[test]
    fn every_flipped_bit_of_the_data_is_noticed() {
        let whole = gzip(b"1,2\n3,4\n");
        for bit in 8 * 10..8 * whole.len() {
            let mut broken = whole.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            match chunks("a.csv.gz", &broken) {
                // The bits that pad the last byte of the deflate data mean nothing.
                Ok((text, _)) => assert_eq!(text, b"1,2\n3,4\n"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
            }
        }
    }

    #[test]
    fn other_formats_are_named() {
        let named = |bytes: &[u8]| chunks("a.csv.gz", bytes).unwrap_err().to_string();
        assert!(named(b"").contains("empty"));
        assert!(named(b"1,2,3\n").contains("plain text"));
        assert!(named(b"<!DOCTYPE html>\n<html>").contains("web page"));
        assert!(named(b"\x28\xb5\x2f\xfd....").contains("zstd"));
        assert!(named(b"\xfd7zXZ\0....").contains("xz"));
        assert!(named(b"PK\x03\x04....").contains("zip"));
        let garbage = [gzip(b"1\n"), b"garbage".to_vec()].concat();
        assert!(named(&garbage).contains("after member 1"));
    }
}
