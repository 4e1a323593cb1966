//! The directory at the end of a zip archive, compared with the members that were read.

use sha2::{Digest, Sha256};
use tracelake_core::error::Result;

use super::record::{RecordReader, SEE_64, Sizes, field_64, flag, signature};

/// The longest record of 64-bit counts, in bytes after its length; there are 44 in all that are made.
const LONGEST_END_64: u64 = 1 << 16;

/// The members of an archive: their number, and the sum of their digests, whatever their order. So a million of them
/// take no more memory than one.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    count: u64,
    sum: u128,
}

impl Directory {
    /// Adds a member.
    pub(super) fn seen(&mut self, offset: u64, method: u16, sizes: Sizes, name: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(digest(offset, method, sizes, name));
    }
}

/// Where the directory is and how many members it has, as the end of the archive says.
struct End {
    entries: u64,
    offset: u64,
}

/// Reads the directory, whose first signature was read, compares it with the members, and reads what follows it up to
/// the end of the file.
pub(super) fn read(
    zip: &mut RecordReader,
    members: Directory,
    start: u64,
    first: u32,
) -> Result<()> {
    let mut found = Directory::default();
    let mut wide: Option<End> = None;
    let mut next = first;
    let end = loop {
        match next {
            signature::ENTRY => entry(zip, &mut found)?,
            signature::EXTRA_DATA => {
                return Err(zip.broken("the directory of the archive is encrypted"));
            }
            signature::SIGNATURE => {
                let length = zip.u16()?;
                zip.bytes(usize::from(length))?;
            }
            signature::END_64 => wide = Some(end_64(zip)?),
            signature::LOCATOR_64 => {
                zip.bytes(16)?;
            }
            signature::END => break end(zip, wide)?,
            _ => return Err(zip.broken("not the header of a member, and not the directory")),
        }
        next = zip.u32()?;
    };
    if found != members {
        let reason = format!(
            "the directory at the end has other members than the archive: {} entries and {} members",
            found.count, members.count
        );
        return Err(zip.broken(&reason));
    }
    // A size of 16 bits wraps.
    let is_counted = end.entries == found.count || end.entries == found.count & 0xffff;
    if !is_counted || end.offset != start && found.count > 0 {
        return Err(zip.broken("the end of the archive says that its directory is elsewhere"));
    }
    rest_is_padding(zip)
}

/// Reads an entry after its signature.
fn entry(zip: &mut RecordReader, found: &mut Directory) -> Result<()> {
    let [_made, _needed, flags, method] = [zip.u16()?, zip.u16()?, zip.u16()?, zip.u16()?];
    let _modified = zip.u32()?;
    let (crc, packed, text) = (zip.u32()?, zip.u32()?, zip.u32()?);
    let [name, extra, comment] = [zip.u16()?, zip.u16()?, zip.u16()?];
    let (disk, _inner, _outer) = (zip.u16()?, zip.u16()?, zip.u32()?);
    let offset = zip.u32()?;
    let name = zip.bytes(usize::from(name))?;
    let extra = zip.bytes(usize::from(extra))?;
    zip.bytes(usize::from(comment))?;
    let mut wide = field_64(&extra).unwrap_or_default();
    let (text, packed, offset) = (wide.size(text), wide.size(packed), wide.size(offset));
    let (Some(text), Some(packed), Some(offset)) = (text, packed, offset) else {
        return Err(zip.broken("an entry of the directory that lacks a 64-bit size"));
    };
    if !matches!(disk, 0 | u16::MAX) || flags & (flag::ENCRYPTED | flag::STRONGLY_ENCRYPTED) != 0 {
        return Err(zip.broken("an entry of the directory that is encrypted, or in another file"));
    }
    found.seen(offset, method, Sizes { crc, packed, text }, &name);
    Ok(())
}

/// Reads the 64-bit counts after their signature.
fn end_64(zip: &mut RecordReader) -> Result<End> {
    let length = zip.u64()?;
    if !(44..=LONGEST_END_64).contains(&length) {
        return Err(zip.broken("a record of 64-bit counts of another length"));
    }
    let _versions_and_disks = zip.bytes(12)?;
    let (_here, entries) = (zip.u64()?, zip.u64()?);
    let (_size, offset) = (zip.u64()?, zip.u64()?);
    let more = usize::try_from(length - 44).unwrap_or(usize::MAX);
    zip.bytes(more)?;
    Ok(End { entries, offset })
}

/// Reads the end of the archive after its signature; what it says with 64 bits counts more.
fn end(zip: &mut RecordReader, wide: Option<End>) -> Result<End> {
    let (disk, first_disk) = (zip.u16()?, zip.u16()?);
    let (_here, entries) = (zip.u16()?, zip.u16()?);
    let (_size, offset) = (zip.u32()?, zip.u32()?);
    let comment = zip.u16()?;
    zip.bytes(usize::from(comment))?;
    let is_split = !matches!((disk, first_disk), (0 | u16::MAX, 0 | u16::MAX));
    if is_split {
        return Err(zip.broken("the last piece of a split archive"));
    }
    let narrow = End {
        entries: u64::from(entries),
        offset: u64::from(offset),
    };
    Ok(match wide {
        Some(wide) => End {
            entries: if entries == u16::MAX {
                wide.entries
            } else {
                narrow.entries
            },
            offset: if offset == SEE_64 {
                wide.offset
            } else {
                narrow.offset
            },
        },
        None => narrow,
    })
}

/// Reads up to the end of the file, where there is nothing but padding.
fn rest_is_padding(zip: &mut RecordReader) -> Result<()> {
    let mut scratch = [0; 8 << 10];
    loop {
        let read = zip.input.copy(&mut scratch)?;
        if read == 0 {
            return Ok(());
        }
        if scratch[..read].iter().any(|&byte| byte != 0) {
            return Err(zip.broken("bytes after the end of the archive"));
        }
    }
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
