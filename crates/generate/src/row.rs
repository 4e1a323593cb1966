//! Rows in general: a type of row, its quantities, and how a quantity is written to a file.
//!
//! A new kind of row is a type that implements [`Row`] and a field of
//! [`crate::table::TableWriters`].

use crate::number::{Amount, decimal, general, hash, hundredths};

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

/// Lists quantities: the name of each, and the value of a row that it shows.
macro_rules! quantities {
    ($row:ident; $($name:expr => $value:expr,)*) => {
        &[$(($name, |$row, out| {
            // Some values are the same in all rows.
            let _ = $row;
            $crate::row::Show::show($value, out)
        })),*]
    };
}
pub(crate) use quantities;

/// A value whose type says how it is written.
pub(crate) trait Show {
    /// Appends the text of the value.
    fn show(self, out: &mut Vec<u8>);
}

macro_rules! shown {
    ($($of:ty: |$value:ident, $out:ident| $text:expr;)*) => {
        $(impl Show for $of {
            fn show(self, $out: &mut Vec<u8>) {
                let $value = self;
                $text;
            }
        })*
    };
}

shown! {
    u64: |value, out| decimal(out, value);
    u32: |value, out| decimal(out, value.into());
    u8: |value, out| decimal(out, value.into());
    bool: |value, out| out.push(if value { b'1' } else { b'0' });
    Amount: |value, out| general(out, value);
    Hundredths: |value, out| hundredths(out, value.0);
    Hash: |value, out| hash(out, value.0);
    &[u8]: |text, out| out.extend_from_slice(text);
    &str: |text, out| text.as_bytes().show(out);
    // A name such as `m_12`.
    (&str, u64): |name, out| (name.0.show(out), name.1.show(out));
    Value: |value, out| match value {
        Value::None => {}
        Value::Counted(value) => value.show(out),
        Value::Hashed(key) => Hash(key).show(out),
    };
}

impl<T: Show> Show for Option<T> {
    fn show(self, out: &mut Vec<u8>) {
        if let Some(value) = self {
            value.show(out);
        }
    }
}

/// A value, or what is written in its place.
impl<T: Show, E: Show> Show for Result<T, E> {
    fn show(self, out: &mut Vec<u8>) {
        match self {
            Ok(value) => value.show(out),
            Err(other) => other.show(out),
        }
    }
}

/// A number of hundredths.
pub(crate) struct Hundredths(pub(crate) u64);

/// The hash of a text, given by its key.
pub(crate) struct Hash(pub(crate) u64);

/// The items of a list.
pub(crate) struct List<I>(pub(crate) I);

/// The byte between two items of a quantity that is a list.
pub(crate) const ITEM_SEPARATOR: u8 = 0x1f;

impl<I: Iterator<Item: Show>> Show for List<I> {
    fn show(self, out: &mut Vec<u8>) {
        for (turn, item) in self.0.enumerate() {
            if turn > 0 {
                out.push(ITEM_SEPARATOR);
            }
            item.show(out);
        }
    }
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
