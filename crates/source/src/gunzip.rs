//! Gzip, strictly: every member, its header, CRC and length, and nothing after the last one but
//! NUL padding (RFC 1952).
//!
//! flate2's own `MultiGzDecoder` refuses NUL padding and cannot say in which member and at which
//! byte a file breaks, so the framing is read here.

use crc32fast::Hasher;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::Raw;
use super::inflate::{Inflate, Stop};
use super::input::Input;
use super::magic::Magic;

/// A decoder of all members of a gzip file.
pub(super) struct Gunzip {
    input: Input,
    inflate: Inflate,
    /// CRC and length of the text of the current member.
    crc: Hasher,
    length: u64,
    /// The current member, from 1.
    member: u32,
    /// Zeros after the last member.
    pub(super) padding: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Body,
    End,
}

const RESERVED_FLAGS: u8 = 0xe0;
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

impl Gunzip {
    pub(super) fn new(raw: Raw) -> Self {
        Self {
            input: Input::new(raw),
            inflate: Inflate::new(),
            crc: Hasher::new(),
            length: 0,
            member: 0,
            padding: 0,
            state: State::Header,
        }
    }

    pub(super) fn raw(&self) -> &Raw {
        self.input.raw()
    }

    pub(super) fn raw_mut(&mut self) -> &mut Raw {
        self.input.raw_mut()
    }

    /// Decodes some text into a buffer that isn't empty; returns 0 at the end.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            match self.state {
                State::End => return Ok(0),
                State::Header => {
                    if self.member > 0 && self.at_end()? {
                        self.state = State::End;
                    } else {
                        self.header()?;
                        self.state = State::Body;
                    }
                }
                State::Body => {
                    let decoded = self.body(into)?;
                    if decoded > 0 {
                        return Ok(decoded);
                    }
                }
            }
        }
    }

    /// Inflates some text, and checks the trailer at the end of the member.
    fn body(&mut self, into: &mut [u8]) -> Result<usize> {
        let decoded = match self.inflate.read(&mut self.input, into) {
            Ok(decoded) => decoded,
            Err(Stop::Truncated) => return Err(self.truncated()),
            Err(Stop::Broken(what)) => return Err(self.corrupt(what)),
            Err(Stop::Disk(error)) => return Err(error),
        };
        self.crc.update(&into[..decoded]);
        self.length += decoded as u64;
        if decoded == 0 {
            self.trailer()?;
            self.state = State::Header;
        }
        Ok(decoded)
    }

    /// Whether nothing but padding is left after a member; padding is read to the end.
    fn at_end(&mut self) -> Result<bool> {
        if self.input.is_at_end()? {
            return Ok(true);
        }
        let offset = self.input.offset();
        match self.input.ahead()[0] {
            0x1f => return Ok(false),
            0 => {}
            _ => return Err(self.garbage(offset)),
        }
        while !self.input.is_at_end()? {
            if self.input.ahead().iter().any(|&byte| byte != 0) {
                return Err(self.garbage(offset));
            }
            let padding = self.input.ahead().len();
            self.padding += padding as u64;
            self.input.pass(padding);
        }
        Ok(true)
    }

    /// Reads a member's header to its end.
    fn header(&mut self) -> Result<()> {
        self.member += 1;
        self.inflate.reset();
        self.crc.reset();
        self.length = 0;
        let mut crc = Hasher::new();
        if self.member == 1 {
            self.input.is_at_end()?;
            if let Some(error) = self.not_gzip() {
                return Err(error);
            }
        }
        let fixed: [u8; 10] = self.bytes(&mut crc)?;
        if fixed[..2] != [0x1f, 0x8b] {
            return Err(self.corrupt("not a gzip header"));
        }
        if fixed[2] != 8 {
            return Err(self.corrupt("a compression method other than deflate"));
        }
        let flags = fixed[3];
        if flags & RESERVED_FLAGS != 0 {
            return Err(self.corrupt("reserved flags are set in a gzip header"));
        }
        if flags & EXTRA != 0 {
            let length: [u8; 2] = self.bytes(&mut crc)?;
            for _ in 0..u16::from_le_bytes(length) {
                let [_]: [u8; 1] = self.bytes(&mut crc)?;
            }
        }
        for text in [NAME, COMMENT] {
            while flags & text != 0 && self.bytes::<1>(&mut crc)? != [0] {}
        }
        if flags & HEADER_CRC != 0 {
            let expected = crc.clone().finalize().to_le_bytes();
            let found: [u8; 2] = self.bytes(&mut crc)?;
            if found != expected[..2] {
                return Err(self.corrupt("wrong CRC of a gzip header"));
            }
        }
        Ok(())
    }

    /// Compares a member's text with its trailer: CRC, then length modulo 2^32.
    fn trailer(&mut self) -> Result<()> {
        let [crc, length]: [[u8; 4]; 2] = {
            let mut unused = Hasher::new();
            [self.bytes(&mut unused)?, self.bytes(&mut unused)?]
        };
        if u32::from_le_bytes(crc) != self.crc.clone().finalize() {
            return Err(self.corrupt("wrong CRC of the text"));
        }
        if u64::from(u32::from_le_bytes(length)) != self.length & u64::from(u32::MAX) {
            return Err(self.corrupt("wrong length of the text"));
        }
        Ok(())
    }

    /// Reads `N` bytes of a header and adds them to its CRC.
    fn bytes<const N: usize>(&mut self, crc: &mut Hasher) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            let Some(next) = self.input.byte()? else {
                return Err(self.truncated());
            };
            *byte = next;
        }
        crc.update(&bytes);
        Ok(bytes)
    }

    fn corrupt(&self, what: &str) -> Error {
        let reason = format!(
            "{what}, in gzip member {} at byte {}",
            self.member,
            self.input.offset()
        );
        Error::new(ErrorKind::Corrupt, reason).hint("download the file again")
    }

    fn truncated(&self) -> Error {
        self.corrupt("the file is cut off")
    }

    fn garbage(&self, offset: u64) -> Error {
        let reason = format!(
            "bytes that are not gzip after member {}, at byte {offset}",
            self.member
        );
        Error::new(ErrorKind::Corrupt, reason).hint("download the file again")
    }

    /// The error for a file that isn't gzip, judged by its first bytes.
    fn not_gzip(&self) -> Option<Error> {
        let start = self.input.ahead();
        if start.starts_with(&[0x1f]) {
            return None;
        }
        let again = "download it again";
        if let Some(magic) = Magic::of(start) {
            let reason = format!("not gzip but {}", magic.is);
            return Some(Error::new(ErrorKind::Corrupt, reason).hint(magic.remedy));
        }
        let (what, hint) = match start {
            [] => (
                "the file is empty: it doesn't even have a gzip header",
                again,
            ),
            _ if start
                .iter()
                .take(512)
                .all(|&byte| byte >= b' ' || byte.is_ascii_whitespace()) =>
            {
                (
                    "plain text, not gzip",
                    "compress it with gzip, or rename it to end in .csv",
                )
            }
            _ => ("not gzip: the file starts with other bytes", again),
        };
        Some(Error::new(ErrorKind::Corrupt, what).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::path::Path;

    fn decode(path: &Path) -> Result<Vec<u8>> {
        let mut gunzip = Gunzip::new(Raw::open(&tracelake_core::Context::new(), &path.into())?);
        let (mut text, mut buffer) = (Vec::new(), [0; 777]);
        loop {
            match gunzip.read(&mut buffer)? {
                0 => return Ok(text),
                read => text.extend_from_slice(&buffer[..read]),
            }
        }
    }

    /// Streams of other test suites, each with the result of zlib.
    #[test]
    #[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
    fn the_suites_streams_come_out_or_are_refused() {
        let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/suites");
        let index = std::fs::read_to_string(suites.join("INDEX.tsv")).unwrap();
        let mut tried = 0_u32;
        for line in index.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let path = suites.join(fields[0]);
            if !fields[0].starts_with("gzip/") || !fields[0].ends_with(".gz") {
                continue;
            }
            let sha256 = fields[3].split("sha256=").nth(1);
            let expected = sha256
                .filter(|_| fields[3].contains(": VALID"))
                .map(|text| &text[..64]);
            match (decode(&path), expected) {
                (Ok(text), Some(expected)) => {
                    assert_eq!(
                        tracelake_core::seal::hex(&Sha256::digest(&text)),
                        expected,
                        "{line}"
                    );
                }
                (Err(error), None) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{line}"),
                (outcome, _) => panic!("{line}: {outcome:?}"),
            }
            tried += 1;
        }
        assert!(tried > 0);
    }
}
