//! A compressed file, strictly: every member to its end, and nothing after the last one but the padding that its format
//! allows.

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;

use super::Raw;
use super::bytes::Bytes;
use super::decode::{Decode, Format, Padding};
use super::inflate::Stop;
use super::input::Input;
use super::magic::Magic;

/// A decoder of all members of a compressed file.
pub(super) struct Packed {
    input: Input,
    format: &'static Format,
    decoder: Box<dyn Decode>,
    /// The file, if it's a member of an archive.
    place: Option<Location>,
    /// The current member, from 1.
    member: u32,
    /// Zeros after the last member.
    padding: u64,
    state: State,
}

/// A text that is shorter may be the start of another format.
const SHORT: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Body,
    End,
}

impl Packed {
    /// Decodes what begins with `head` and continues in `bytes`, with a window of at most `most` bytes.
    pub(super) fn new(
        format: &'static Format,
        head: &[u8],
        bytes: Box<dyn Bytes>,
        most: u64,
    ) -> Self {
        Self {
            input: Input::new(head, bytes),
            format,
            decoder: (format.decoder)(most),
            place: None,
            member: 0,
            padding: 0,
            state: State::Header,
        }
    }

    /// Names the file in errors, since it's a member of an archive.
    pub(super) fn in_archive(self, place: Location) -> Self {
        let place = Some(place);
        Self { place, ..self }
    }

    pub(super) fn format(&self) -> &'static Format {
        self.format
    }

    /// The archive that the file is in.
    pub(super) fn into_archive(self) -> Box<dyn Bytes> {
        self.input.into_bytes()
    }

    /// Whether nothing but padding is left after a member.
    fn at_end(&mut self) -> Result<bool> {
        if self.input.is_at_end()? {
            return Ok(true);
        }
        let offset = self.input.offset();
        while !self.input.is_at_end()? {
            let ahead = self.input.ahead();
            let zeros = ahead.iter().take_while(|&&byte| byte == 0).count();
            let next = ahead.get(zeros).copied();
            self.input.pass(zeros);
            if let Some(next) = next {
                let zeros = self.input.offset() - offset;
                let may_follow = match self.format.padding {
                    Padding::Fours => zeros.is_multiple_of(4),
                    Padding::None | Padding::Last => zeros == 0,
                };
                if may_follow && (self.format.is_first)(next) {
                    return Ok(false);
                }
                return Err(self.garbage(offset));
            }
        }
        let zeros = self.input.offset() - offset;
        match self.format.padding {
            Padding::Last => self.padding = zeros,
            Padding::Fours if zeros.is_multiple_of(4) => {}
            Padding::None | Padding::Fours => return Err(self.garbage(offset)),
        }
        Ok(true)
    }

    fn begin(&mut self) -> Result<()> {
        self.member += 1;
        if self.member == 1 {
            self.input.look_ahead(1)?;
            if let Some(error) = self.other_file() {
                return Err(self.placed(error));
            }
        }
        let begun = self.decoder.begin(&mut self.input);
        begun.map_err(|stop| self.stopped(stop))
    }

    fn stopped(&self, stop: Stop) -> Error {
        match stop {
            Stop::Truncated => self.corrupt("the file is cut off"),
            Stop::Broken(what) => self.corrupt(what),
            Stop::Failed(error) => error,
        }
    }

    fn corrupt(&self, what: &str) -> Error {
        let Format { name, member, .. } = self.format;
        let (number, offset) = (self.member, self.input.offset());
        let reason = format!("{what}, in {name} {member} {number} at byte {offset}");
        self.placed(Error::new(ErrorKind::Corrupt, reason).hint("download the file again"))
    }

    fn garbage(&self, offset: u64) -> Error {
        let Format { name, member, .. } = self.format;
        let number = self.member;
        let reason = format!("bytes that are not {name} after {member} {number}, at byte {offset}");
        self.placed(Error::new(ErrorKind::Corrupt, reason).hint("download the file again"))
    }

    fn placed(&self, error: Error) -> Error {
        match &self.place {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// The error for a file that isn't what its name says, judged by its first bytes.
    fn other_file(&self) -> Option<Error> {
        let (start, name) = (self.input.ahead(), self.format.name);
        if let Some(magic) = Magic::of(start) {
            let reason = format!("not {name} but {}", magic.is);
            return Some(Error::new(ErrorKind::Corrupt, reason).hint(magic.remedy));
        }
        let is_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
        let is_text = start.iter().take(512).all(is_text);
        let first = start.first();
        let may_begin = first.is_some_and(|&first| (self.format.is_first)(first));
        // What begins like the format may be cut off.
        let is_short = !is_text || start.len() < SHORT;
        if (self.format.is_start)(start) || may_begin && is_short {
            return None;
        }
        let (reason, hint) = match start {
            [] => (
                format!(
                    "the file is empty: it doesn't even have {} {name} header",
                    if name == "xz" { "an" } else { "a" }
                ),
                "download it again".to_owned(),
            ),
            _ if is_text => (
                format!("plain text, not {name}"),
                format!("compress it with {name}, or rename it to end in .csv"),
            ),
            _ => (
                format!("not {name}: the file starts with other bytes"),
                "download it again".to_owned(),
            ),
        };
        Some(Error::new(ErrorKind::Corrupt, reason).hint(hint))
    }
}

impl Bytes for Packed {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        // A few bytes can yield a lot of text, so asking at each read from the disk isn't enough.
        self.raw().check_cancelled()?;
        loop {
            match self.state {
                State::End => return Ok(0),
                State::Header => {
                    let is_over = self.member > 0 && self.at_end()?;
                    if !is_over {
                        self.begin()?;
                    }
                    self.state = if is_over { State::End } else { State::Body };
                }
                State::Body => match self.decoder.read(&mut self.input, into) {
                    Ok(0) => self.state = State::Header,
                    Ok(read) => return Ok(read),
                    Err(stop) => return Err(self.stopped(stop)),
                },
            }
        }
    }

    fn raw(&self) -> &Raw {
        self.input.bytes().raw()
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self.input.bytes_mut().raw_mut()
    }

    fn padding(&self) -> u64 {
        self.padding
    }
}
