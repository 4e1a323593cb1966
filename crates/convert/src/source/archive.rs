//! The members of a tar archive, one after the other (POSIX ustar and pax, GNU long names).
//!
//! The archive is a stream that may have 100 GB, so nothing is unpacked and nothing is kept: the
//! headers are read by the tar crate, the blocks between them here.

use tar::{EntryType, Header, PaxExtensions};

use super::Decoder;
use crate::error::{Error, ErrorKind, Result};

/// An archive is made of such blocks, in bytes.
const BLOCK: usize = 512;

/// The longest text that says more of a member, in bytes; a long path has some hundred.
const LONGEST: u64 = 1 << 20;

/// A member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its path, for people and to tell its table; nothing is ever opened by it.
    pub path: String,
    /// Whether it is a plain file, and no link, device, directory or sparse file.
    pub is_file: bool,
}

/// Where in an archive its reader stands.
#[derive(Default)]
pub(super) struct Archive {
    /// Bytes of the member at hand that are not read yet, and the padding behind them.
    left: u64,
    padding: u64,
    /// Bytes of the archive before.
    offset: u64,
}

/// What a header says of the next one.
#[derive(Default)]
struct More {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

impl Archive {
    /// Reads some bytes of the member at hand; 0 at its end.
    pub(super) fn read(&mut self, decoder: &mut Decoder, into: &mut [u8]) -> Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(into.len());
        if most == 0 {
            return Ok(0);
        }
        let read = decoder.read(&mut into[..most])?;
        if read == 0 {
            return Err(self.cut());
        }
        self.left -= read as u64;
        self.offset += read as u64;
        Ok(read)
    }

    /// Goes past the rest of a member to the next one; `None` at the end of the archive, up to which
    /// everything was then read.
    pub(super) fn next_member(&mut self, decoder: &mut Decoder) -> Result<Option<Member>> {
        let mut more = More::default();
        loop {
            self.pass_rest(decoder)?;
            let start = self.offset;
            let Some(block) = self.block(decoder)? else {
                return Ok(None);
            };
            if block.iter().all(|&byte| byte == 0) {
                self.rest_is_padding(decoder)?;
                return Ok(None);
            }
            let header = Header::from_byte_slice(&block);
            if header.cksum().ok() != Some(checksum(&block)) {
                return Err(broken(start, "not the header of a member"));
            }
            let size = header.entry_size();
            let size = size.map_err(|_| broken(start, "a member of no size"))?;
            self.expect(more.size.unwrap_or(size));
            match header.entry_type() {
                EntryType::XHeader => more.pax(&self.text(decoder)?),
                EntryType::GNULongName => more.path = Some(self.text(decoder)?),
                // Neither the target of a link nor what holds for all members matters here.
                EntryType::GNULongLink | EntryType::XGlobalHeader => {}
                kind => {
                    if header.as_gnu().is_some_and(tar::GnuHeader::is_extended) {
                        self.pass_sparse_map(decoder)?;
                    }
                    let path = match more.path {
                        Some(path) => path,
                        None => header.path_bytes().into_owned(),
                    };
                    let path = path.split(|&byte| byte == 0).next().unwrap_or_default();
                    let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous)
                        && !path.ends_with(b"/")
                        && !more.is_sparse;
                    return Ok(Some(Member {
                        path: String::from_utf8_lossy(path).into_owned(),
                        is_file,
                    }));
                }
            }
        }
    }

    /// Takes it that so many bytes of a member follow.
    fn expect(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    fn pass_rest(&mut self, decoder: &mut Decoder) -> Result<()> {
        let mut scratch = [0; 16 * BLOCK];
        while self.read(decoder, &mut scratch)? > 0 {}
        self.left = std::mem::take(&mut self.padding);
        while self.read(decoder, &mut scratch)? > 0 {}
        Ok(())
    }

    /// The next block; `None` where the archive ends before it.
    fn block(&mut self, decoder: &mut Decoder) -> Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            let read = decoder.read(&mut block[filled..])?;
            if read == 0 && filled > 0 {
                return Err(self.cut());
            }
            if read == 0 {
                return Ok(None);
            }
            filled += read;
            self.offset += read as u64;
        }
        Ok(Some(block))
    }

    /// A text that says more of the next member.
    fn text(&mut self, decoder: &mut Decoder) -> Result<Vec<u8>> {
        if self.left > LONGEST {
            return Err(broken(self.offset, "a header without end"));
        }
        let mut text = vec![0; usize::try_from(self.left).unwrap_or_default()];
        let mut filled = 0;
        while filled < text.len() {
            filled += self.read(decoder, &mut text[filled..])?;
        }
        Ok(text)
    }

    /// Goes past the blocks that an old sparse file has between its header and its bytes.
    fn pass_sparse_map(&mut self, decoder: &mut Decoder) -> Result<()> {
        /// Where such a block says whether another one follows.
        const IS_EXTENDED: usize = 504;
        loop {
            match self.block(decoder)? {
                None => return Err(self.cut()),
                Some(block) if block[IS_EXTENDED] == 0 => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// Reads up to the end of the file, where there is nothing but padding.
    fn rest_is_padding(&mut self, decoder: &mut Decoder) -> Result<()> {
        let mut scratch = [0; 16 * BLOCK];
        loop {
            let read = decoder.read(&mut scratch)?;
            if read == 0 {
                return Ok(());
            }
            if scratch[..read].iter().any(|&byte| byte != 0) {
                return Err(broken(
                    self.offset,
                    "something stands behind the end of the archive",
                ));
            }
            self.offset += read as u64;
        }
    }

    fn cut(&self) -> Error {
        broken(self.offset, "the archive is cut short")
    }
}

fn broken(offset: u64, reason: &str) -> Error {
    let reason = format!("{reason}, {offset} bytes into the archive");
    Error::new(ErrorKind::Corrupt, reason)
        .hint("this is no tar archive, or not all of it: download it again")
}

impl More {
    /// Takes the records of a pax header, such as `27 path=a/very/long/path\n`.
    fn pax(&mut self, text: &[u8]) {
        for record in PaxExtensions::new(text).flatten() {
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"size" => self.size = record.value().ok().and_then(|size| size.parse().ok()),
                key => self.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
    }
}

/// The sum of a header's bytes, those of the sum itself counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..])
}
