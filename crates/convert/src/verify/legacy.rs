//! The bounds that old readers of Parquet use. The format replaced `min` and `max` in the statistics
//! by `min_value` and `max_value`; files have both, and the Parquet crate reads only the new ones. So
//! the footer is read here as Thrift's compact protocol, far enough to compare the two.

/// How deep a footer's structs are read.
const DEEPEST: u8 = 16;

/// Field numbers of the format: the row groups of a footer, their columns, the metadata of a column,
/// and the statistics in it.
const STATISTICS: [i64; 4] = [4, 1, 3, 12];

/// Field numbers of the old and the new spelling of a bound.
const BOUNDS: [(i64, i64); 2] = [(1, 5), (2, 6)];

/// Whether every old bound in a footer equals the new one; `None` if the footer can't be read.
pub(super) fn old_bounds_are_right(footer: &[u8]) -> Option<bool> {
    let mut right = true;
    Thrift(footer).each_struct(&STATISTICS, &mut |statistics| {
        let mut fields = [None; 7];
        statistics.each_field(|reader, id, kind| {
            if kind == BINARY && (1..7).contains(&id) {
                fields[usize::try_from(id).ok()?] = Some(reader.binary()?);
                return Some(());
            }
            reader.skip(kind, DEEPEST)
        })?;
        for (old, new) in BOUNDS {
            let [old, new] =
                [old, new].map(|id| usize::try_from(id).ok().and_then(|id| fields[id]));
            right &= old.is_none() || old == new;
        }
        Some(())
    })?;
    Some(right)
}

const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Bytes of the compact protocol that are still to be read.
struct Thrift<'a>(&'a [u8]);

impl<'a> Thrift<'a> {
    /// Visits each struct at the end of a path of fields; a field may be a struct or a list of structs.
    fn each_struct(
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
    fn each_field(
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

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
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
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let items = match head >> 4 {
            15 => self.varint()?,
            items => u64::from(items),
        };
        Some((items, head & 15))
    }

    fn binary(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length).ok()?)
    }

    fn signed(&mut self) -> Option<i64> {
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
