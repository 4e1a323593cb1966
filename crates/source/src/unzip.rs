//! The members of a zip archive, one after the other (PKWARE's APPNOTE 6.3.10).
//!
//! Other readers begin with the directory at the end of an archive. This one reads the file once from front to back, as
//! it comes from a server: the header of each member, its text, and then the directory, which has to name the same
//! members. An archive that readers of either kind would disagree about is refused.

use crc32fast::Hasher;
use sha2::{Digest, Sha256};
use tracelake_core::error::{Error, ErrorKind, Result, escape};

use super::bytes::Bytes;
use super::inflate::{Inflate, Stop};
use super::input::Input;
use super::magic::Magic;
use super::{Member, Raw};
use directory::Directory;

mod directory;
#[cfg(test)]
mod tests;

/// The bytes that each record of a zip archive begins with.
mod signature {
    pub(super) const MEMBER: u32 = 0x0403_4b50;
    pub(super) const DESCRIPTOR: u32 = 0x0807_4b50;
    pub(super) const ENTRY: u32 = 0x0201_4b50;
    pub(super) const EXTRA_DATA: u32 = 0x0806_4b50;
    pub(super) const SIGNATURE: u32 = 0x0505_4b50;
    pub(super) const END_64: u32 = 0x0606_4b50;
    pub(super) const LOCATOR_64: u32 = 0x0706_4b50;
    pub(super) const END: u32 = 0x0605_4b50;
}

/// The flags of a member.
mod flag {
    pub(super) const ENCRYPTED: u16 = 1;
    pub(super) const DESCRIPTOR: u16 = 1 << 3;
    pub(super) const PATCH: u16 = 1 << 5;
    pub(super) const STRONGLY_ENCRYPTED: u16 = 1 << 6;
    pub(super) const MASKED: u16 = 1 << 13;
}

/// A size of 32 bits that says: see the field of 64 bits.
const SEE_64: u32 = u32::MAX;

/// A decoder of the members of a zip archive.
pub(super) struct Unzip {
    input: Input,
    inflate: Inflate,
    /// CRC and length of the text of the current member.
    crc: Hasher,
    length: u64,
    /// `None` between members.
    member: Option<Current>,
    directory: Directory,
}

/// The member that is being read.
struct Current {
    header: MemberHeader,
    /// Where its data begin.
    start: u64,
    /// Bytes left, if it is stored.
    stored: Option<u64>,
}

/// The header of a member.
struct MemberHeader {
    /// Where it begins.
    offset: u64,
    name: Vec<u8>,
    method: u16,
    sizes: Sizes,
    /// Whether the sizes follow the data instead.
    has_descriptor: bool,
    /// Whether sizes take 64 bits.
    is_64: bool,
}

/// The checksum and the sizes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    crc: u32,
    packed: u64,
    text: u64,
}

impl Bytes for Unzip {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        // A few bytes can yield a lot of text, so asking at each read from the disk isn't enough.
        self.raw().check_cancelled()?;
        let Some(member) = &mut self.member else {
            return Ok(0);
        };
        let decoded = match &mut member.stored {
            Some(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX).min(into.len());
                let copied = if most == 0 {
                    0
                } else {
                    self.input.copy(&mut into[..most])?
                };
                if copied == 0 && most > 0 {
                    return Err(self.cut());
                }
                *left -= copied as u64;
                copied
            }
            None => match self.inflate.read(&mut self.input, into) {
                Ok(decoded) => decoded,
                Err(Stop::Truncated) => return Err(self.cut()),
                Err(Stop::Broken(what)) => return Err(self.broken(what)),
                Err(Stop::Failed(error)) => return Err(error),
            },
        };
        self.crc.update(&into[..decoded]);
        self.length += decoded as u64;
        if decoded == 0 {
            self.end_member()?;
        }
        Ok(decoded)
    }

    /// Reads the rest of the current member and the header of the next one; `None` at the end of the archive, which
    /// has then been read to its last byte.
    fn next_member(&mut self) -> Result<Option<Member>> {
        let mut scratch = [0; 8 << 10];
        while self.read(&mut scratch)? > 0 {}
        let offset = self.input.offset();
        if offset == 0 {
            self.check_start()?;
        }
        match self.u32()? {
            signature::MEMBER => {}
            first => {
                directory::read(self, offset, first)?;
                return Ok(None);
            }
        }
        let header = self.header(offset)?;
        // Some programs of Windows write its separator.
        let path = String::from_utf8_lossy(&header.name).replace('\\', "/");
        let is_file = !path.ends_with('/');
        self.inflate.reset();
        self.crc.reset();
        self.length = 0;
        self.member = Some(Current {
            start: self.input.offset(),
            stored: (header.method == 0).then_some(header.sizes.packed),
            header,
        });
        Ok(Some(Member { path, is_file }))
    }

    fn raw(&self) -> &Raw {
        self.input.bytes().raw()
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self.input.bytes_mut().raw_mut()
    }

    fn is_archive(&self) -> bool {
        true
    }
}

impl Unzip {
    /// Reads an archive of which `head` was read.
    pub(super) fn new(head: &[u8], archive: Box<dyn Bytes>) -> Self {
        Self {
            input: Input::new(head, archive),
            inflate: Inflate::new(),
            crc: Hasher::new(),
            length: 0,
            member: None,
            directory: Directory::default(),
        }
    }

    /// Reads the header of a member after its signature.
    fn header(&mut self, offset: u64) -> Result<MemberHeader> {
        let [_needed, flags, method] = [self.u16()?, self.u16()?, self.u16()?];
        let _modified = self.u32()?;
        let (crc, packed, text) = (self.u32()?, self.u32()?, self.u32()?);
        let (name, extra) = (self.u16()?, self.u16()?);
        let name = self.bytes(usize::from(name))?;
        let extra = self.bytes(usize::from(extra))?;
        let wide = field_64(&extra);
        let mut wide_sizes = wide.unwrap_or_default();
        let text = wide_sizes.size(text);
        let packed = wide_sizes.size(packed);
        let (Some(text), Some(packed)) = (text, packed) else {
            return Err(self.broken("a field of 64-bit sizes that lacks one"));
        };
        let shown = escape(&name, 200);
        let refused = |reason: &str, hint: &'static str| {
            let reason = format!("the member {shown} {reason}, {offset} bytes into the archive");
            Err(Error::new(ErrorKind::Corrupt, reason).hint(hint))
        };
        if flags & (flag::ENCRYPTED | flag::STRONGLY_ENCRYPTED | flag::MASKED) != 0 {
            return refused("is encrypted", "unpack it with its password");
        }
        if flags & flag::PATCH != 0 {
            return refused("is a patch of another file", "unpack it");
        }
        let has_descriptor = flags & flag::DESCRIPTOR != 0;
        if !matches!(method, 0 | 8) {
            let reason = format!("is compressed by {}, not deflate", method_name(method));
            return refused(&reason, "unpack it, or make the archive with deflate");
        }
        if method == 0 && has_descriptor && !name.ends_with(b"/") {
            return refused(
                "is stored without its size before it, so its end can't be told",
                "unpack it",
            );
        }
        Ok(MemberHeader {
            offset,
            name,
            method,
            sizes: Sizes { crc, packed, text },
            has_descriptor,
            is_64: wide.is_some(),
        })
    }

    /// Compares a member's text with what its header, or what follows it, says.
    fn end_member(&mut self) -> Result<()> {
        let Some(member) = self.member.take() else {
            return Ok(());
        };
        let found = Sizes {
            crc: self.crc.clone().finalize(),
            packed: self.input.offset() - member.start,
            text: self.length,
        };
        let header = member.header;
        let said = match header.has_descriptor {
            true => self.descriptor(found, header.is_64)?,
            false => header.sizes,
        };
        let what = match (said, found) {
            (said, found) if said == found => None,
            (said, found) if said.crc != found.crc => Some("wrong CRC of the text"),
            (said, found) if said.text != found.text => Some("wrong length of the text"),
            _ => Some("wrong length of the compressed text"),
        };
        if let Some(what) = what {
            let shown = escape(&header.name, 200);
            return Err(self.broken(&format!("{what} of the member {shown}")));
        }
        self.directory
            .seen(header.offset, header.method, found, &header.name);
        Ok(())
    }

    /// Reads the checksum and sizes after the data of a member. They have a signature or none, and 32 or 64 bits each:
    /// what was found says which.
    fn descriptor(&mut self, found: Sizes, is_64: bool) -> Result<Sizes> {
        let mut crc = self.u32()?;
        if crc == signature::DESCRIPTOR {
            self.input.look_ahead(8)?;
            let bytes = self.input.ahead().first_chunk().copied();
            let next = bytes.map(u32::from_le_bytes);
            // The checksum may be equal to the signature, by accident.
            if next == Some(found.crc) || crc != found.crc {
                crc = self.u32()?;
            }
        }
        let low = self.u32()?;
        let [low_size, high_size] = halves(found.packed);
        self.input.look_ahead(8)?;
        let next: [u32; 2] = match self.input.ahead().first_chunk::<8>() {
            Some(&[a, b, c, d, e, f, g, h]) => [
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            ],
            None => [0; 2],
        };
        let [low_text, _] = halves(found.text);
        let is_narrow = next[0] == low_text && next[1].to_le_bytes().starts_with(b"PK");
        if (is_64 || low == low_size && next[0] == high_size) && !is_narrow {
            let packed = u64::from(low) | u64::from(self.u32()?) << 32;
            let text = u64::from(self.u32()?) | u64::from(self.u32()?) << 32;
            return Ok(Sizes { crc, packed, text });
        }
        let text = self.u32()?;
        Ok(Sizes {
            crc,
            packed: u64::from(low),
            text: u64::from(text),
        })
    }

    /// Refuses a file that isn't a zip archive, judged by its first bytes.
    fn check_start(&mut self) -> Result<()> {
        self.input.look_ahead(8)?;
        let start = self.input.ahead();
        if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
            return Ok(());
        }
        let again = "download it again";
        let (what, hint) = match Magic::of(start) {
            Some(magic) if !start.starts_with(b"PK") => (magic.is, magic.remedy),
            _ if start.is_empty() => ("an empty file", again),
            _ if start.starts_with(b"PK") => {
                ("a piece of a split archive", "join its pieces first")
            }
            _ if start.starts_with(b"MZ") => ("a program that unpacks itself", "unpack it first"),
            _ => ("a file that starts with other bytes", again),
        };
        Err(Error::new(ErrorKind::Corrupt, format!("not a zip archive but {what}")).hint(hint))
    }

    fn u16(&mut self) -> Result<u16> {
        let mut number = [0; 2];
        self.fill(&mut number)?;
        Ok(u16::from_le_bytes(number))
    }

    fn u32(&mut self) -> Result<u32> {
        let mut number = [0; 4];
        self.fill(&mut number)?;
        Ok(u32::from_le_bytes(number))
    }

    fn u64(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        self.fill(&mut number)?;
        Ok(u64::from_le_bytes(number))
    }

    /// Bytes of a header, at most 64 KiB.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match self.input.copy(&mut into[filled..])? {
                0 => return Err(self.cut()),
                copied => filled += copied,
            }
        }
        Ok(())
    }

    fn cut(&self) -> Error {
        self.broken("the archive is cut short")
    }

    fn broken(&self, reason: &str) -> Error {
        let reason = format!("{reason}, {} bytes into the archive", self.input.offset());
        Error::new(ErrorKind::Corrupt, reason)
            .hint("this is not a zip archive, or not a whole one: download it again")
    }
}

/// The 64-bit sizes in the extra field of a header, in the order in which the 32-bit ones refer to them.
#[derive(Clone, Copy, Default)]
struct Field64<'a>(&'a [u8]);

/// The field of 64-bit sizes among the extra fields of a header.
fn field_64(extra: &[u8]) -> Option<Field64<'_>> {
    let mut rest = extra;
    while let Some((&[a, b, c, d], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_le_bytes([c, d]));
        let (field, next) = after.split_at_checked(length)?;
        if u16::from_le_bytes([a, b]) == 1 {
            return Some(Field64(field));
        }
        rest = next;
    }
    None
}

impl Field64<'_> {
    /// The value of a 32-bit size; `None` if it refers to a 64-bit one that isn't there. Old programs write the largest
    /// 32-bit size itself, without such a field.
    fn size(&mut self, narrow: u32) -> Option<u64> {
        if narrow != SEE_64 || self.0.is_empty() {
            return Some(u64::from(narrow));
        }
        let (&size, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(size))
    }
}

/// The lower and the upper half of a size.
#[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
fn halves(size: u64) -> [u32; 2] {
    [size as u32, (size >> 32) as u32]
}

/// A compression method for people.
fn method_name(method: u16) -> String {
    let known = match method {
        9 => "deflate64",
        12 => "bzip2",
        14 => "LZMA",
        93 => "zstd",
        95 => "xz",
        98 => "PPMd",
        99 => "an encrypted method",
        _ => return format!("method {method}"),
    };
    known.to_owned()
}

/// Digests what a header and the directory both say of a member.
fn digest(offset: u64, method: u16, sizes: Sizes, name: &[u8]) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update(offset.to_le_bytes());
    hasher.update(method.to_le_bytes());
    hasher.update(sizes.crc.to_le_bytes());
    hasher.update(sizes.packed.to_le_bytes());
    hasher.update(sizes.text.to_le_bytes());
    hasher.update(name);
    let digest = hasher.finalize();
    u128::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
}
