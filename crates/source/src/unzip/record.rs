//! The records of a zip archive: how they begin, and the numbers in them.

use tracelake_core::error::{Error, ErrorKind, Result};

use crate::input::Input;

/// The bytes that each record of a zip archive begins with.
pub(super) mod signature {
    pub(crate) const MEMBER: u32 = 0x0403_4b50;
    pub(crate) const DESCRIPTOR: u32 = 0x0807_4b50;
    pub(crate) const ENTRY: u32 = 0x0201_4b50;
    pub(crate) const EXTRA_DATA: u32 = 0x0806_4b50;
    pub(crate) const SIGNATURE: u32 = 0x0505_4b50;
    pub(crate) const END_64: u32 = 0x0606_4b50;
    pub(crate) const LOCATOR_64: u32 = 0x0706_4b50;
    pub(crate) const END: u32 = 0x0605_4b50;
}

/// The flags of a member.
pub(super) mod flag {
    pub(crate) const ENCRYPTED: u16 = 1;
    pub(crate) const DESCRIPTOR: u16 = 1 << 3;
    pub(crate) const PATCH: u16 = 1 << 5;
    pub(crate) const STRONGLY_ENCRYPTED: u16 = 1 << 6;
    pub(crate) const MASKED: u16 = 1 << 13;
}

/// A size of 32 bits that says: see the field of 64 bits.
pub(super) const SEE_64: u32 = u32::MAX;

/// The checksum and the sizes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) text: u64,
}

/// An archive that is read record by record.
pub(super) struct RecordReader {
    pub(super) input: Input,
}

impl RecordReader {
    pub(super) fn new(input: Input) -> Self {
        Self { input }
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        let mut number = [0; 2];
        self.fill(&mut number)?;
        Ok(u16::from_le_bytes(number))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        let mut number = [0; 4];
        self.fill(&mut number)?;
        Ok(u32::from_le_bytes(number))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        let mut number = [0; 8];
        self.fill(&mut number)?;
        Ok(u64::from_le_bytes(number))
    }

    /// Bytes of a header, at most 64 KiB.
    pub(super) fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
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

    pub(super) fn cut(&self) -> Error {
        self.broken("the archive is cut short")
    }

    pub(super) fn broken(&self, reason: &str) -> Error {
        let reason = format!("{reason}, {} bytes into the archive", self.input.offset());
        Error::new(ErrorKind::Corrupt, reason)
            .hint("this is not a zip archive, or not a whole one: download it again")
    }
}

/// The 64-bit sizes in the extra field of a header, in the order in which the 32-bit ones refer to them.
#[derive(Clone, Copy, Default)]
pub(super) struct Field64<'a>(&'a [u8]);

/// The field of 64-bit sizes among the extra fields of a header.
pub(super) fn field_64(extra: &[u8]) -> Option<Field64<'_>> {
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
    pub(super) fn size(&mut self, narrow: u32) -> Option<u64> {
        if narrow != SEE_64 || self.0.is_empty() {
            return Some(u64::from(narrow));
        }
        let (&size, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(size))
    }
}
