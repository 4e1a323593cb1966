//! The members of a tar archive, one after the other (POSIX ustar and pax, GNU long names).
//!
//! The archive is a stream of up to 100 GB, so nothing is unpacked or kept: the tar crate reads the
//! fields of a header, and this module reads the blocks between the headers. An archive that other
//! readers disagree about is refused.

use tar::{EntryType, Header};
use tracelake_core::error::{Error, ErrorKind, Result};

use super::bytes::{Bytes, fill};
use super::{Member, Raw};

/// The size of a block of an archive, in bytes.
const BLOCK: usize = 512;

/// The longest extension header, in bytes; a long path takes a few hundred.
const EXTENSION_LIMIT: u64 = 1 << 20;

/// Reads the members of an archive.
pub(super) struct TarReader {
    /// The archive, decompressed.
    archive: Box<dyn Bytes>,
    /// Unread bytes of the current member, and the padding after them.
    left: u64,
    padding: u64,
    /// Bytes of the archive read so far.
    offset: u64,
}

/// Extension headers for the next member.
#[derive(Default)]
struct Extension {
    pax: Option<Pax>,
    gnu_name: Option<Vec<u8>>,
}

/// The records of a pax header that matter here.
#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// The meaning of a header, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    /// Extension headers, which describe the next member (or, globally, all that follow).
    Pax,
    PaxGlobal,
    GnuName,
    GnuLinkName,
    /// A member with data of a kind that readers may ignore.
    Other,
    /// A sparse file of old GNU tar, which has more blocks between its header and its data.
    GnuSparse,
    /// A plain file.
    File,
    /// A link, a directory or a device: it has no data, whatever its size field says.
    NoData,
}

impl Type {
    fn of(header: &Header) -> Self {
        let field = &header.as_old().name;
        let name = field.split(|&byte| byte == 0).next().unwrap_or_default();
        match header.entry_type() {
            // Solaris has its own letter for the same header.
            EntryType::XHeader => Self::Pax,
            kind if kind.as_byte() == b'X' => Self::Pax,
            EntryType::XGlobalHeader => Self::PaxGlobal,
            EntryType::GNULongName => Self::GnuName,
            EntryType::GNULongLink => Self::GnuLinkName,
            EntryType::GNUSparse => Self::GnuSparse,
            EntryType::Link
            | EntryType::Symlink
            | EntryType::Char
            | EntryType::Block
            | EntryType::Directory
            | EntryType::Fifo => Self::NoData,
            // Before there was a type for them, directories were files with a slash at the end.
            _ if header.as_old().linkflag == [0] && name.ends_with(b"/") => Self::NoData,
            EntryType::Regular | EntryType::Continuous => Self::File,
            _ => Self::Other,
        }
    }

    const fn is_extension(self) -> bool {
        matches!(
            self,
            Self::Pax | Self::PaxGlobal | Self::GnuName | Self::GnuLinkName
        )
    }
}

/// Whether bytes are the header of a member, as an archive starts with one. Its checksum alone could be that of a text, which
/// has no NUL.
pub(super) fn is_start(head: &[u8]) -> bool {
    let block = head.first_chunk::<BLOCK>();
    let block = block.filter(|block| block.contains(&0));
    block.is_some_and(|block| has_checksum(Header::from_byte_slice(block), block))
}

impl Bytes for TarReader {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = left.min(into.len());
        if most == 0 {
            return Ok(0);
        }
        let read = self.archive.read(&mut into[..most])?;
        if read == 0 {
            return Err(self.cut());
        }
        self.left -= read as u64;
        self.offset += read as u64;
        Ok(read)
    }

    fn raw(&self) -> &Raw {
        self.archive.raw()
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self.archive.raw_mut()
    }

    fn is_archive(&self) -> bool {
        true
    }

    /// Skips the rest of the current member and reads the headers of the next one; `None` at the end of
    /// the archive, which has then been read to its last byte.
    fn next_member(&mut self) -> Result<Option<Member>> {
        let mut extension = Extension::default();
        loop {
            self.skip_rest()?;
            let start = self.offset;
            let block = self.block()?;
            let Some(block) = block.filter(|block| block.iter().any(|&byte| byte != 0)) else {
                self.rest_is_padding()?;
                return match extension {
                    Extension {
                        pax: None,
                        gnu_name: None,
                    } => Ok(None),
                    _ => Err(broken(start, "an extension header without a member")),
                };
            };
            let header = Header::from_byte_slice(&block);
            if !has_checksum(header, &block) {
                return Err(broken(start, "not the header of a member"));
            }
            let kind = Type::of(header);
            let of_header = size(header).ok_or_else(|| broken(start, "a member without a size"))?;
            let size = match kind {
                Type::NoData => 0,
                // A pax size is that of the member, not of another extension header before it.
                kind if kind.is_extension() => of_header,
                _ => extension.size().unwrap_or(of_header),
            };
            self.expect(size);
            if kind.is_extension() {
                let text = self.text()?;
                let taken = extension.take(kind, text);
                taken.map_err(|reason| broken(start, reason))?;
                continue;
            }
            /// Where a header of old GNU tar says whether a block of its sparse map follows.
            const HAS_SPARSE_MAP: usize = 482;
            if kind == Type::GnuSparse && block[HAS_SPARSE_MAP] != 0 {
                self.skip_sparse_map()?;
            }
            let is_sparse = extension.pax.as_ref().is_some_and(|pax| pax.is_sparse);
            let field = match extension.path() {
                Some(path) => path,
                None => header.path_bytes().into_owned(),
            };
            let path = field.split(|&byte| byte == 0).next().unwrap_or_default();
            return Ok(Some(Member {
                path: String::from_utf8_lossy(path).into_owned(),
                is_file: kind == Type::File && !path.ends_with(b"/") && !is_sparse,
            }));
        }
    }

    fn padding(&self) -> u64 {
        self.archive.padding()
    }
}

impl TarReader {
    pub(super) fn new(archive: Box<dyn Bytes>) -> Self {
        Self {
            archive,
            left: 0,
            padding: 0,
            offset: 0,
        }
    }

    /// Prepares for a member of `size` bytes.
    fn expect(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    fn skip_rest(&mut self) -> Result<()> {
        let mut scratch = [0; 16 * BLOCK];
        while self.read(&mut scratch)? > 0 {}
        self.left = std::mem::take(&mut self.padding);
        while self.read(&mut scratch)? > 0 {}
        Ok(())
    }

    /// The next block; `None` where the archive ends before it.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let filled = fill(&mut *self.archive, &mut block)?;
        self.offset += filled as u64;
        match filled {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(self.cut()),
        }
    }

    /// The text of an extension header.
    fn text(&mut self) -> Result<Vec<u8>> {
        if self.left > EXTENSION_LIMIT {
            return Err(broken(self.offset, "an extension header longer than 1 MiB"));
        }
        let mut text = vec![0; usize::try_from(self.left).expect("at most 1 MiB")];
        let mut filled = 0;
        while filled < text.len() {
            filled += self.read(&mut text[filled..])?;
        }
        Ok(text)
    }

    /// Skips the blocks that an old sparse file has between its header and its data.
    fn skip_sparse_map(&mut self) -> Result<()> {
        /// Where such a block says whether another one follows it.
        const IS_EXTENDED: usize = 504;
        loop {
            match self.block()? {
                None => return Err(self.cut()),
                Some(block) if block[IS_EXTENDED] == 0 => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// Reads up to the end of the file, where there is nothing but padding.
    fn rest_is_padding(&mut self) -> Result<()> {
        let mut scratch = [0; 16 * BLOCK];
        loop {
            let read = self.archive.read(&mut scratch)?;
            if read == 0 {
                return Ok(());
            }
            if scratch[..read].iter().any(|&byte| byte != 0) {
                return Err(broken(self.offset, "bytes after the end of the archive"));
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
        .hint("this is not a tar archive, or not a whole one: download it again")
}

impl Extension {
    /// Takes the text of an extension header; the error says what is wrong with it.
    ///
    /// Other readers disagree about which of two headers counts, so a second one is refused.
    fn take(&mut self, kind: Type, text: Vec<u8>) -> std::result::Result<(), &'static str> {
        match kind {
            Type::Pax => {
                let before = self.pax.replace(Pax::of(&text)?);
                before.map_or(Ok(()), |_| Err("two pax headers for one member"))?;
            }
            Type::GnuName => {
                let before = self.gnu_name.replace(text);
                before.map_or(Ok(()), |_| Err("two long names for one member"))?;
            }
            Type::PaxGlobal => {
                let global = Pax::of(&text)?;
                if global.path.is_some() || global.size.is_some() || global.is_sparse {
                    return Err("a pax header that gives all members one name or size");
                }
            }
            // The target of a link doesn't matter here.
            _ => {}
        }
        let pax_path = self.pax.as_ref().and_then(|pax| pax.path.as_ref());
        match (pax_path, &self.gnu_name) {
            (Some(pax), Some(gnu)) if *pax != gnu.strip_suffix(b"\0").unwrap_or(gnu) => {
                Err("two names for one member")
            }
            _ => Ok(()),
        }
    }

    fn size(&self) -> Option<u64> {
        self.pax.as_ref().and_then(|pax| pax.size)
    }

    fn path(self) -> Option<Vec<u8>> {
        self.pax.and_then(|pax| pax.path).or(self.gnu_name)
    }
}

impl Pax {
    /// Reads records such as `27 path=a/very/long/path\n`. Each starts with its length, so a value can
    /// contain newlines. Of two records with the same key the last one counts.
    fn of(mut text: &[u8]) -> std::result::Result<Self, &'static str> {
        const BROKEN: &str = "a broken pax header";
        let mut pax = Self::default();
        while !text.is_empty() && text[0] != 0 {
            let space = text.iter().position(|&byte| byte == b' ').ok_or(BROKEN)?;
            let length = number(&text[..space])
                .and_then(|length| usize::try_from(length).ok())
                .filter(|length| (space + 1..=text.len()).contains(length));
            let (record, rest) = text.split_at(length.ok_or(BROKEN)?);
            let record = record[space + 1..].strip_suffix(b"\n").ok_or(BROKEN)?;
            let equals = record.iter().position(|&byte| byte == b'=');
            let (key, value) = record.split_at(equals.ok_or(BROKEN)?);
            match (key, &value[1..]) {
                (b"path", value) => pax.path = Some(value.to_vec()),
                (b"size", value) => pax.size = Some(number(value).ok_or(BROKEN)?),
                (key, _) => pax.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
            text = rest;
        }
        Ok(pax)
    }
}

/// A number in decimal digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| str::from_utf8(text).ok()?.parse().ok())?
}

/// The size in a header; a blank one, as of a volume label, is 0.
fn size(header: &Header) -> Option<u64> {
    let blank = |byte: &u8| matches!(byte, 0 | b' ');
    if header.as_old().size.iter().all(blank) {
        return Some(0);
    }
    header.entry_size().ok()
}

/// Whether the checksum of a header is right: the sum of its bytes, with the checksum itself as spaces.
/// Some old programs added signed bytes.
fn has_checksum(header: &Header, block: &[u8; BLOCK]) -> bool {
    let bytes = || block[..148].iter().chain(&block[156..]);
    let spaces = 8 * i64::from(b' ');
    let unsigned = bytes().map(|&byte| i64::from(byte)).sum::<i64>();
    let signed = bytes()
        .map(|&byte| i64::from(byte.cast_signed()))
        .sum::<i64>();
    let found = header.cksum().ok().map(i64::from);
    [unsigned, signed]
        .map(|sum| Some(sum + spaces))
        .contains(&found)
}

#[cfg(test)]
mod tests;
