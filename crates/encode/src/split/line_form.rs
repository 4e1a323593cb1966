//! The form of lines: what ends and separates records, and which lines are none.

use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::Csv;

use super::offsets::offset;

/// The form of the lines of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct LineForm {
    pub(super) ending: LineEnding,
    pub(super) csv: Csv,
    /// Bytes and lines before the first record.
    pub(super) first: usize,
    pub(super) first_lines: usize,
}

impl LineForm {
    /// Records that end so, in the form of a table's files.
    #[must_use]
    pub fn of(csv: Csv, ending: LineEnding) -> Self {
        Self {
            ending,
            csv,
            first: 0,
            first_lines: 0,
        }
    }

    /// This form for a chunk that begins with something else, such as a byte order mark and a header: as many bytes,
    /// with as many whole lines.
    #[must_use]
    pub fn after(self, bytes: usize, lines: usize) -> Self {
        Self {
            first: bytes,
            first_lines: lines,
            ..self
        }
    }

    /// Whether a line up to its newline is a comment; not inlined, because most traces have none.
    #[cold]
    pub(super) fn is_comment(self, chunk: &[u8], start: usize, newline: usize) -> bool {
        start < newline && chunk.get(start).copied() == self.csv.comment
    }
}

impl From<LineEnding> for LineForm {
    /// Plain records that end so.
    fn from(ending: LineEnding) -> Self {
        Self::of(Csv::PLAIN, ending)
    }
}

/// A fault in the shape of a record.
#[inline(always)]
pub(super) fn shape_fault(
    form: LineForm,
    carriage_return: bool,
    found: usize,
    expected: usize,
    is_empty: bool,
) -> Option<Fault> {
    if carriage_return != (form.ending == LineEnding::CrLf) && !is_empty {
        Some(Fault::LineEnding)
    } else if is_empty {
        Some(Fault::BlankLine)
    } else if found != expected {
        Some(Fault::FieldCount {
            found: offset(found),
            expected: offset(expected),
        })
    } else {
        None
    }
}
