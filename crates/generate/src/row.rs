//! Rows in general: a type of row, its quantities, and how a quantity is written to a file.
//!
//! A new kind of row is a type that implements [`Row`] and a field of
//! [`crate::table::TableWriters`].

use crate::number::{decimal, hash};

/// A quantity of a row: the name that the catalog maps a column to, and what appends its text.
pub(crate) type Quantity<R> = (&'static str, fn(&R, &mut Vec<u8>));

/// Appends the text of one quantity of a row.
pub(crate) type Write<R> = Box<dyn Fn(&R, &mut Vec<u8>)>;

/// Codes by their numbers: a quantity, and the names of 0, 1, 2 and so on.
pub(crate) type CodeNames = &'static [(&'static str, &'static [&'static str])];

/// A type of row.
pub(crate) trait Row: Sized + 'static {
    /// The name that the catalog maps a table to.
    const STREAM: &'static str;
    /// The quantities that only this type of row has.
    const QUANTITIES: &'static [Quantity<Self>];
    /// The quantities that the simulation leaves empty itself, as often as the catalog says.
    const LEFT_EMPTY: &'static [&'static str] = &[];
    /// The names of codes, for columns that number them differently.
    const CODE_NAMES: CodeNames = &[];

    /// How to write a quantity, or `None` if the rows don't have it.
    fn quantity(name: &str) -> Option<Write<Self>> {
        find(Self::QUANTITIES, name, |row| row)
    }
}

/// Finds a quantity of a part of a row, which may be the whole row.
pub(crate) fn find<R: 'static, P: 'static>(
    quantities: &[Quantity<P>],
    name: &str,
    part: fn(&R) -> &P,
) -> Option<Write<R>> {
    let &(_, write) = quantities.iter().find(|quantity| quantity.0 == name)?;
    Some(Box::new(move |row, out| write(part(row), out)))
}

/// The byte between two items of a quantity that is a list.
pub(crate) const ITEM_SEPARATOR: u8 = 0x1f;

/// Appends the separator before every item but the first.
pub(crate) fn separate(out: &mut Vec<u8>, index: u64) {
    if index > 0 {
        out.push(ITEM_SEPARATOR);
    }
}

/// Appends a small number.
pub(crate) fn small(out: &mut Vec<u8>, value: u8) {
    decimal(out, u64::from(value));
}

/// Appends `1` or `0`.
pub(crate) fn flag(out: &mut Vec<u8>, value: bool) {
    out.push(if value { b'1' } else { b'0' });
}

/// The value of a machine attribute, or the value that a constraint compares it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Empty.
    None,
    /// A number.
    Counted(u64),
    /// The hash of a text, given by its key.
    Hashed(u64),
}

impl Value {
    /// Appends the value.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Counted(value) => decimal(out, value),
            Self::Hashed(key) => hash(out, key),
        }
    }
}
