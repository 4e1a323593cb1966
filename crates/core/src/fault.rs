//! Faults of a field or a row: a small `Copy` type that allocates nothing.

use std::fmt;

/// Why a row can't be converted.
///
/// A fault says what is wrong, never where: the caller adds the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A mandatory field is empty.
    Empty,
    /// Not the decimal digits that C prints for `%d`.
    NotInteger,
    /// An integer outside the range of the column's type.
    OutOfRange {
        /// The width of the column's signed integers: 32 or 64.
        bits: u8,
    },
    /// Not what C prints for `%g`.
    NotNumber,
    /// A number beyond the largest `f64`, about 1.8e308.
    Overflow,
    /// Neither `0` nor `1`.
    NotBoolean,
    /// Not a date and a time of day.
    NotDateTime,
    /// A date-time without a zone, where the publisher gives one.
    NoZone,
    /// A date-time with a zone, where the description says that there is none.
    Zone,
    /// A date-time with a digit beyond microseconds that isn't 0.
    BeyondMicroseconds,
    /// Not UTF-8.
    NotUtf8 {
        /// The first offending byte.
        byte: u8,
    },
    /// The first row of a file that starts with a byte order mark.
    ByteOrderMark,
    /// A quote, which the published files don't have.
    Quote,
    /// A control character, such as NUL.
    Control {
        /// The first offending byte.
        byte: u8,
    },
    /// The number of fields isn't that of the table.
    FieldCount {
        /// Fields in the row, at least 1.
        found: u32,
        /// Fields in the table.
        expected: u32,
    },
    /// An empty line.
    BlankLine,
    /// A line ending unlike that of the file's first line.
    LineEnding,
    /// A mandatory value is null or missing.
    Absent,
    /// Not a string.
    NotText,
    /// Neither `true` nor `false`.
    NotTruth,
    /// None of `True`, `False`, `1` and `0`.
    NotPythonTruth,
    /// Neither a spelling of true or false in the syntax, nor one that the description adds.
    NotWord,
    /// Not an object or a dictionary, where the column is a struct.
    NotStruct,
    /// Not an array or a list, where the column is a list.
    NotList,
    /// A name that the table or struct doesn't have.
    UnknownKey,
    /// A name that occurs twice in a row or struct.
    DoubleKey,
    /// Not JSON.
    NotJson,
    /// Not what Python or numpy prints.
    NotPython,
    /// Three dots, which numpy prints instead of values.
    Elided,
    /// A quote in an unquoted field, or text after a quoted one.
    StrayQuote,
    /// A quoted field without its closing quote.
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
            Self::NotDateTime => write!(f, "not a date and time such as 2023-11-16 18:17:03.5"),
            Self::NoZone => write!(f, "a date and time without a zone such as Z or +08:00"),
            Self::Zone => write!(f, "a date and time with a zone, where none is described"),
            Self::BeyondMicroseconds => write!(f, "more exact than a microsecond"),
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
            Self::Absent => write!(f, "the value is mandatory, but null or missing"),
            Self::NotText => write!(f, "not a string"),
            Self::NotTruth => write!(f, "neither true nor false"),
            Self::NotPythonTruth => write!(f, "neither True nor False, and neither 1 nor 0"),
            Self::NotWord => write!(f, "none of the described words for true and false"),
            Self::NotStruct => write!(f, "not named values in braces"),
            Self::NotList => write!(f, "not a list in brackets"),
            Self::UnknownKey => write!(f, "an unknown name"),
            Self::DoubleKey => write!(f, "a name that occurs twice"),
            Self::NotJson => write!(f, "not JSON"),
            Self::NotPython => write!(f, "not what Python prints"),
            Self::Elided => write!(f, "values are left out"),
            Self::StrayQuote => write!(f, "a quote where none belongs"),
            Self::OpenQuote => write!(f, "a quoted field that does not end"),
        }
    }
}
