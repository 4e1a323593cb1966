//! The members of a zip archive, one after the other (PKWARE's APPNOTE 6.3.10).
//!
//! Other readers begin with the directory at the end of an archive. This one reads the file once from front to back, as
//! it comes from a server: the header of each member, its text, and then the directory, which has to name the same
//! members. An archive that readers of either kind would disagree about is refused.

use crc32fast::Hasher;
use tracelake_core::error::{Error, ErrorKind, Result, escape};

use super::bytes::Bytes;
use super::inflate::{Inflate, Stop};
use super::input::Input;
use super::magic::Magic;
use super::{Member, Raw};
use directory::Directory;
use record::{RecordReader, Sizes, field_64, flag, signature};

mod directory;
mod record;
#[cfg(test)]
mod tests;

/// A decoder of the members of a zip archive.
pub(super) struct Unzip {
    zip: RecordReader,
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
                    self.zip.input.copy(&mut into[..most])?
                };
                if copied == 0 && most > 0 {
                    return Err(self.zip.cut());
                }
                *left -= copied as u64;
                copied
            }
            None => match self.inflate.read(&mut self.zip.input, into) {
                Ok(decoded) => decoded,
                Err(Stop::Truncated) => return Err(self.zip.cut()),
                Err(Stop::Broken(what)) => return Err(self.zip.broken(what)),
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
        let offset = self.zip.input.offset();
        if offset == 0 {
            self.check_start()?;
        }
        match self.zip.u32()? {
            signature::MEMBER => {}
            first => {
                directory::read(&mut self.zip, self.directory, offset, first)?;
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
            start: self.zip.input.offset(),
            stored: (header.method == 0).then_some(header.sizes.packed),
            header,
        });
        Ok(Some(Member { path, is_file }))
    }

    fn raw(&self) -> &Raw {
        self.zip.input.bytes().raw()
    }

    fn raw_mut(&mut self) -> &mut Raw {
        self.zip.input.bytes_mut().raw_mut()
    }

    fn is_archive(&self) -> bool {
        true
    }
}

impl Unzip {
    /// Reads an archive of which `head` was read.
    pub(super) fn new(head: &[u8], archive: Box<dyn Bytes>) -> Self {
        Self {
            zip: RecordReader::new(Input::new(head, archive)),
            inflate: Inflate::new(),
            crc: Hasher::new(),
            length: 0,
            member: None,
            directory: Directory::default(),
        }
    }

    /// Reads the header of a member after its signature.
    fn header(&mut self, offset: u64) -> Result<MemberHeader> {
        let [_needed, flags, method] = [self.zip.u16()?, self.zip.u16()?, self.zip.u16()?];
        let _modified = self.zip.u32()?;
        let (crc, packed, text) = (self.zip.u32()?, self.zip.u32()?, self.zip.u32()?);
        let (name, extra) = (self.zip.u16()?, self.zip.u16()?);
        let name = self.zip.bytes(usize::from(name))?;
        let extra = self.zip.bytes(usize::from(extra))?;
        let wide = field_64(&extra);
        let mut wide_sizes = wide.unwrap_or_default();
        let text = wide_sizes.size(text);
        let packed = wide_sizes.size(packed);
        let (Some(text), Some(packed)) = (text, packed) else {
            return Err(self.zip.broken("a field of 64-bit sizes that lacks one"));
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
            packed: self.zip.input.offset() - member.start,
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
            return Err(self.zip.broken(&format!("{what} of the member {shown}")));
        }
        self.directory
            .seen(header.offset, header.method, found, &header.name);
        Ok(())
    }

    /// Reads the checksum and sizes after the data of a member. They have a signature or none, and 32 or 64 bits each:
    /// what was found says which.
    fn descriptor(&mut self, found: Sizes, is_64: bool) -> Result<Sizes> {
        let mut crc = self.zip.u32()?;
        if crc == signature::DESCRIPTOR {
            self.zip.input.look_ahead(8)?;
            let bytes = self.zip.input.ahead().first_chunk().copied();
            let next = bytes.map(u32::from_le_bytes);
            // The checksum may be equal to the signature, by accident.
            if next == Some(found.crc) || crc != found.crc {
                crc = self.zip.u32()?;
            }
        }
        let low = self.zip.u32()?;
        let [low_size, high_size] = halves(found.packed);
        self.zip.input.look_ahead(8)?;
        let next: [u32; 2] = match self.zip.input.ahead().first_chunk::<8>() {
            Some(&[a, b, c, d, e, f, g, h]) => [
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            ],
            None => [0; 2],
        };
        let [low_text, _] = halves(found.text);
        let is_narrow = next[0] == low_text && next[1].to_le_bytes().starts_with(b"PK");
        if (is_64 || low == low_size && next[0] == high_size) && !is_narrow {
            let packed = u64::from(low) | u64::from(self.zip.u32()?) << 32;
            let text = u64::from(self.zip.u32()?) | u64::from(self.zip.u32()?) << 32;
            return Ok(Sizes { crc, packed, text });
        }
        let text = self.zip.u32()?;
        Ok(Sizes {
            crc,
            packed: u64::from(low),
            text: u64::from(text),
        })
    }

    /// Refuses a file that isn't a zip archive, judged by its first bytes.
    fn check_start(&mut self) -> Result<()> {
        self.zip.input.look_ahead(8)?;
        let start = self.zip.input.ahead();
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
