//! Thrift's compact protocol, in which footers and page headers of Parquet are written: read without keeping
//! anything, so that no number in it decides how much memory is used.

/// How deep structs and lists may be nested.
pub const DEEPEST: u8 = 16;

pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
/// The type of a struct.
pub const STRUCT: u8 = 12;

/// Bytes of the compact protocol that are still to be read.
pub struct Thrift<'a>(pub &'a [u8]);

impl<'a> Thrift<'a> {
    /// Visits each struct at the end of a path of fields; a field may be a struct or a list of structs.
    pub fn each_struct(
        &mut self,
        path: &[i64],
        visit: &mut impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let Some((wanted, rest)) = path.split_first() else {
            return visit(self);
        };
        self.each_field(|reader, id, kind| match kind {
            STRUCT if id == *wanted => reader.each_struct(rest, visit),
            LIST if id == *wanted => {
                let (items, kind) = reader.list()?;
                for _ in 0..items {
                    match kind {
                        STRUCT => reader.each_struct(rest, visit)?,
                        kind => reader.skip(kind, DEEPEST)?,
                    }
                }
                Some(())
            }
            kind => reader.skip(kind, DEEPEST),
        })
    }

    /// Visits the fields of a struct: each call has to read its field.
    pub fn each_field(
        &mut self,
        mut visit: impl FnMut(&mut Self, i64, u8) -> Option<()>,
    ) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => self.signed()?,
                step => id.checked_add(i64::from(step))?,
            };
            visit(self, id, head & 15)?;
        }
    }

    /// Skips a value of this type; `None` if the bytes end before, or it is nested deeper than `depth`.
    pub fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.take(8).map(drop),
            BINARY => self.binary().map(drop),
            LIST | 10 => {
                let (items, kind) = self.list()?;
                for _ in 0..items {
                    match kind {
                        1 | 2 => self.byte().map(drop)?,
                        kind => self.skip(kind, depth)?,
                    }
                }
                Some(())
            }
            STRUCT => self.each_field(|reader, _, kind| reader.skip(kind, depth)),
            // Parquet has no maps in its footer.
            _ => None,
        }
    }

    /// The number of items of a list and what they are.
    pub(crate) fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let items = match head >> 4 {
            15 => self.varint()?,
            items => u64::from(items),
        };
        Some((items, head & 15))
    }

    pub(crate) fn binary(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Reads a signed integer; `None` if the bytes end before.
    pub fn signed(&mut self) -> Option<i64> {
        let number = i64::try_from(self.varint()?).ok()?;
        Some((number >> 1) ^ -(number & 1))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }
}
