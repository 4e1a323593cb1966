//! What can be wrong with one field or one row: small, `Copy`, and without any allocation.

use std::fmt;

/// The reason for which a row cannot be converted.
///
/// A fault is data: it says what is wrong, never where; the place is added by whoever knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A mandatory field is empty.
    Empty,
    /// Not the decimal digits that C prints for `%d`.
    NotInteger,
    /// An integer that does not fit; the bounds are those of the column's type.
    OutOfRange {
        /// How many bits the column's signed integers have: 32 or 64.
        bits: u8,
    },
    /// Not what C prints for `%g`.
    NotNumber,
    /// A number beyond the largest `f64`, about 1.8e308.
    Overflow,
    /// Neither `0` nor `1`.
    NotBoolean,
    /// Not UTF-8 from this byte on.
    NotUtf8 {
        /// The first offending byte.
        byte: u8,
    },
    /// The first row, when the file starts with a byte order mark, which belongs to no value.
    ByteOrderMark,
    /// A quote: the published files have none, so this file follows other rules.
    Quote,
    /// A control character, such as NUL.
    Control {
        /// The first offending byte.
        byte: u8,
    },
    /// The row has another number of fields than the table.
    FieldCount {
        /// How many fields the row has, from 1.
        found: u32,
        /// How many fields the table has.
        expected: u32,
    },
    /// A line of no bytes.
    BlankLine,
    /// A line whose end is not the one that the file's first line has.
    LineEnding,
    /// A mandatory value is null or not there.
    Absent,
    /// Not a string.
    NotText,
    /// Neither true nor false.
    NotTruth,
    /// Not named values in braces.
    NotStruct,
    /// Not values in brackets.
    NotList,
    /// A name that the table, or the struct, does not have.
    UnknownKey,
    /// A name that stands twice in one struct.
    DoubleKey,
    /// Not JSON from here on.
    NotJson,
    /// Not what Python or numpy prints, from here on.
    NotPython,
    /// Three dots, which numpy prints in place of values.
    Elided,
    /// A quote where none belongs, or text after a quoted field.
    StrayQuote,
    /// A quoted field that does not end.
    OpenQuote,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => write!(f, "the field is mandatory, but empty"),
            Self::NotInteger => write!(f, "not an integer in decimal digits"),
            Self::OutOfRange { bits } => {
                write!(f, "out of the range of a signed {bits}-bit integer")
            }
            Self::NotNumber => write!(f, "not a decimal number"),
            Self::Overflow => write!(f, "beyond the range of a 64-bit float"),
            Self::NotBoolean => write!(f, "neither 0 nor 1"),
            Self::NotUtf8 { byte } => write!(f, "not UTF-8 (byte 0x{byte:02x})"),
            Self::ByteOrderMark => write!(f, "starts with a byte order mark"),
            Self::Quote => write!(f, "holds a quote, which this format does not have"),
            Self::Control { byte } => write!(f, "holds a control character (byte 0x{byte:02x})"),
            Self::FieldCount { found, expected } => {
                let plural = if found == 1 { "" } else { "s" };
                write!(f, "{found} field{plural} where the table has {expected}")
            }
            Self::BlankLine => write!(f, "a blank line"),
            Self::LineEnding => write!(f, "a line ending unlike the first line's"),
            Self::Absent => write!(f, "the value is mandatory, but null or not there"),
            Self::NotText => write!(f, "not a string"),
            Self::NotTruth => write!(f, "neither true nor false"),
            Self::NotStruct => write!(f, "not named values in braces"),
            Self::NotList => write!(f, "not a list in brackets"),
            Self::UnknownKey => write!(f, "a name that is not known here"),
            Self::DoubleKey => write!(f, "a name that stands twice"),
            Self::NotJson => write!(f, "not JSON"),
            Self::NotPython => write!(f, "not what Python prints"),
            Self::Elided => write!(f, "values are left out"),
            Self::StrayQuote => write!(f, "a quote where none belongs"),
            Self::OpenQuote => write!(f, "a quoted field that does not end"),
        }
    }
}
