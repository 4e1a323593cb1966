//! A published file as chunks of whole lines: decompressed, digested, and found in its archive.
//!
//! ```
//! use tracelake_core::Context;
//! use tracelake_source::{Chunk, Source};
//!
//! # let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample/");
//! # let file = format!("{sample}job_events/part-00000-of-00002.csv.gz");
//! let mut source = Source::open(&Context::new(), std::path::Path::new(&file))?;
//! let (mut chunk, mut bytes) = (Chunk::default(), 0);
//! while source.next_chunk(&mut chunk)? {
//!     assert!(chunk.lines().ends_with(b"\n"));
//!     bytes += chunk.lines().len();
//! }
//! assert!(bytes > 0);
//! assert_eq!(source.fingerprint().sha256.to_string().len(), 64); // of the file as it was published
//! # Ok::<(), tracelake_core::Error>(())
//! ```

mod archive;
mod bytes;
mod container;
mod decode;
mod inflate;
mod input;
mod intact;
mod magic;
mod member;
mod packed;
mod raw;
mod tests;
mod unzip;
mod whole;
mod zipped;

use std::io::Read;
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_location::Location;

use container::Layers;
pub use container::{ARCHIVES, is_archive_name};
use decode::Format;
pub use intact::decompress;
pub use magic::Magic;
pub use member::Member;
pub use raw::{Fingerprint, fingerprint, fingerprints};
use raw::{READ, Raw, at};
pub use whole::WholeFile;
pub use zipped::{ZippedFile, zipped_files};

pub use tracelake_location::open_file;

/// The size of a chunk of short lines, in bytes: it stays in the second-level cache while its columns
/// are read in turn.
pub const CHUNK: usize = 128 << 10;

/// The longest line that is read, in bytes without its ending; published ones are below 300. A longer one
/// isn't a row of any table, and could fill the memory.
pub const LINE_LIMIT: usize = 1 << 20;

/// One input file, read once from front to back.
///
/// # Memory
/// The buffers named above and the start of a line, at most [`LINE_LIMIT`], whatever the size of the
/// file; of a URL, also [`tracelake_location::OBJECT_MEMORY`].
pub struct Source {
    location: Location,
    layers: Layers,
    /// The path of the current member of an archive.
    member: Option<String>,
    /// Whether chunks end where lines do.
    is_by_lines: bool,
    /// How far the current text has been read.
    text: TextState,
}

/// The state of the text that is being read: that of the file, or of a member of an archive.
#[derive(Default)]
struct TextState {
    /// The start of the next chunk: lines that were given back, and an incomplete one.
    pending: Vec<u8>,
    /// How many of its bytes were given back, and whether they were a whole chunk.
    given_back: usize,
    all_back: bool,
    /// Decoded bytes before `pending`.
    before: u64,
    /// Whether all of it is decoded.
    at_end: bool,
    /// How the lines end; the first one decides.
    ending: Option<LineEnding>,
}

/// Some of the text of a file, reused from chunk to chunk.
///
/// # Memory
/// About 128 KiB, or as much as its longest line.
#[derive(Default)]
pub struct Chunk {
    /// Longer than the lines: reused room isn't cleared.
    text: Vec<u8>,
    /// The end of its whole lines.
    lines: usize,
}

impl Chunk {
    /// Whole lines, each with its newline; or a piece of the text, see [`Source::read_by_lines`].
    #[must_use]
    pub fn lines(&self) -> &[u8] {
        &self.text[..self.lines]
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        self.lines = 0;
    }
}

impl Source {
    /// Opens a file. Its first bytes say whether it's compressed or an archive; of an archive, [`Source::next_member`]
    /// opens the texts.
    ///
    /// # Errors
    /// When the file can't be opened. A URL is only requested by the first read. Once `context` is cancelled, every
    /// read fails with [`ErrorKind::Stopped`].
    pub fn open(context: &Context, location: impl Into<Location>) -> Result<Self> {
        let location = location.into();
        let raw = Raw::open(context, &location)?;
        Ok(Self {
            location,
            layers: Layers::new(raw),
            member: None,
            is_by_lines: true,
            text: TextState::default(),
        })
    }

    /// Asks the server of a URL for the start of the file, and doesn't wait for it. A file on disk is only opened.
    ///
    /// # Errors
    /// If no thread can be started that waits for servers. What the server says is the answer to the first read.
    ///
    /// # Memory
    /// [`tracelake_location::OBJECT_MEMORY`], as if it were being read.
    pub fn prefetch(&mut self) -> Result<()> {
        let begun = self.layers.top_mut().raw_mut().prefetch();
        begun.map_err(|error| at(error, &self.location))
    }

    /// Says whether chunks end where lines do, as they do by default. An array of JSON may be one line of any length: its
    /// reader gives back what follows the last whole element.
    pub fn read_by_lines(&mut self, is_by_lines: bool) {
        self.is_by_lines = is_by_lines;
        if is_by_lines {
            // A piece that was given back may end within a line.
            let pending = &self.text.pending[..self.text.given_back];
            let last = memchr::memrchr(b'\n', pending);
            self.text.given_back = last.map_or(0, |newline| newline + 1);
        }
    }

    /// Reads the next whole lines into a chunk; returns false, and no lines, after the last one.
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
        // Otherwise the chunk gets more lines than these, if there are any.
        let mut searched = if given_back > 0 { given_back } else { end };
        loop {
            end = self.fill(text, end)?;
            if self.text.at_end && end > 0 && text[end - 1] != b'\n' {
                // The last line gets the ending of the others.
                text.truncate(end);
                let ending = self.text.ending.unwrap_or_else(|| LineEnding::of(text));
                if ending == LineEnding::CrLf && !text.ends_with(b"\r") {
                    text.push(b'\r');
                }
                text.push(b'\n');
                end = text.len();
            }
            if !self.is_by_lines && end > given_back {
                *lines = end;
                self.text.before += end as u64;
                self.text.pending.clear();
                return Ok(true);
            }
            // Text left from before has no newline, or it would have been in the last chunk. So only the
            // first line can be longer than a chunk.
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

    /// Returns the lines from byte `at` of the last chunk to the source; a line starts there. The next chunk starts with
    /// them, and has more after them if it would have no others, unless the file ends.
    pub fn give_back(&mut self, chunk: &mut Chunk, at: usize) {
        let lines = &chunk.text[at.min(chunk.lines)..chunk.lines];
        self.text.all_back = lines.len() == chunk.lines;
        self.text.given_back += lines.len();
        self.text.before -= lines.len() as u64;
        self.text.pending.splice(..0, lines.iter().copied());
        chunk.lines -= lines.len();
    }

    /// Whether the last chunk is known to be the last one; otherwise there may be more.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.text.at_end && self.text.pending.is_empty()
    }

    /// The file.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The place of the current text, for people: the file, and in an archive the path of the member after it.
    #[must_use]
    pub fn text_location(&self) -> Location {
        match &self.member {
            Some(member) => self.location.join(member),
            None => self.location.clone(),
        }
    }

    /// The error for a line or record past [`LINE_LIMIT`] that starts at byte `at` of the last chunk.
    pub fn too_long(&self, what: &str, chunk: &Chunk, at: usize) -> Error {
        let at = self.text.before - chunk.lines as u64 + at as u64;
        let reason = format!("a {what} longer than {LINE_LIMIT} bytes, {at} bytes into the text");
        Error::new(ErrorKind::Misfit, reason)
            .at(self.text_location())
            .hint("this is not a table of a trace; download the file again")
    }

    /// Decodes about one more chunk after `text[..start]`; returns the new end.
    fn fill(&mut self, text: &mut Vec<u8>, start: usize) -> Result<usize> {
        let room = start + CHUNK;
        if text.len() < room {
            text.resize(room, 0);
        }
        self.recognise()?;
        let mut filled = start;
        let is_start = start == 0 && self.text.before == 0;
        while filled < room && !self.text.at_end {
            let read = self.layers.top_mut().read(&mut text[filled..room]);
            let read = read.map_err(|error| self.at(error))?;
            filled += read;
            self.text.at_end = read == 0;
            let is_whole = filled == room || self.text.at_end;
            if is_start && is_whole && self.member.is_some() {
                let place = self.text_location();
                if self.layers.recognise_member(&text[..filled], &place)? {
                    filled = start;
                    self.text.at_end = false;
                }
            }
        }
        Ok(filled)
    }

    /// Looks at the first bytes of the file, once.
    fn recognise(&mut self) -> Result<()> {
        let name = self.location.name().unwrap_or_default();
        let recognised = self.layers.recognise(name);
        recognised.map_err(|error| self.at(error))
    }

    /// Names the file in an error, unless it names one.
    fn at(&self, error: Error) -> Error {
        at(error, &self.location)
    }

    /// Bytes of the file read so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.raw().bytes
    }

    /// The size and digest of the bytes read so far: of the whole file, once [`Source::next_chunk`], or in
    /// an archive [`Source::next_member`], has reached the end.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.raw().fingerprint()
    }

    /// Reads the rest of the file without decompressing it, and returns the size and digest of all of it.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn digest_rest(&mut self) -> Result<Fingerprint> {
        let raw = self.layers.top_mut().raw_mut();
        let read = raw.read_to(u64::MAX, &mut vec![0; READ]);
        read.map_err(|error| at(error, &self.location))?;
        Ok(raw.fingerprint())
    }

    /// Warns of zeros after the last gzip member of a file that was read to its end.
    pub fn warn_of_zeros(&self) {
        let padding = self.layers.top().padding();
        if padding > 0 {
            let zeros = several(padding, "byte");
            let place = &self.location;
            self.raw().context().warn(format!(
                "{place}: {zeros} of zeros after the last gzip member are ignored"
            ));
        }
    }

    /// Checks at its end that the file hasn't changed since it was opened: an object in a bucket may have been
    /// replaced. On disk, nothing is checked.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if it has changed, or the server doesn't say.
    pub fn confirm(&self) -> Result<Option<String>> {
        let confirmed = self.raw().confirm();
        confirmed.map_err(|error| at(error, &self.location))
    }

    /// Whether the file is an archive.
    ///
    /// # Errors
    /// When its start can't be read, or is broken.
    pub fn is_archive(&mut self) -> Result<bool> {
        self.recognise()?;
        Ok(self.layers.top().is_archive())
    }

    /// Advances to the next member of an archive, whose text [`Source::next_chunk`] then reads; `None`
    /// after the last one, and in a file that isn't an archive.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when the archive is broken.
    pub fn next_member(&mut self) -> Result<Option<Member>> {
        self.recognise()?;
        let read = self.layers.next_member();
        let member = read.map_err(|error| self.at(error))?;
        self.text = TextState::default();
        self.member = member.as_ref().map(|member| member.path.clone());
        Ok(member)
    }

    fn raw(&self) -> &Raw {
        self.layers.top().raw()
    }
}

/// The first 4 KiB of a file, of a compressed one those of its text; `None` if it can't be read.
#[must_use]
pub fn read_start(location: &Location) -> Option<Vec<u8>> {
    const START: usize = 4 << 10;
    let mut start = Vec::new();
    let file = location.open().ok()?;
    file.take(START as u64).read_to_end(&mut start).ok()?;
    if Format::of(&start).is_some() {
        let mut layers = Layers::new(Raw::open(&Context::new(), location).ok()?);
        layers.recognise("").ok()?;
        start.resize(START, 0);
        let length = bytes::fill(layers.top_mut(), &mut start).ok()?;
        start.truncate(length);
    }
    Some(start)
}

/// Reads a file on disk that is small by nature.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when it is larger than `limit` bytes; when it cannot be read.
pub fn read_small(path: &Path, limit: u64) -> Result<Vec<u8>> {
    Location::from(path).read_small(limit)
}
