//! The form of lines: what ends and separates records, and which lines are none.

use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::{Csv, Separator};

use super::offsets::offset;

/// The form of the lines of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct LineForm {
    pub(super) ending: LineEnding,
    pub(super) separator: Separator,
    /// Whether the first line is a header.
    pub(super) header: bool,
    /// The first byte of lines that are comments.
    pub(super) comment: Option<u8>,
    /// Whether any line may be no record.
    pub(super) skips: bool,
}

impl LineForm {
    /// Records that end so, in the form of a table's files; `header` says whether the first line of the chunk is their
    /// header.
    #[must_use]
    pub fn of(csv: Csv, ending: LineEnding, header: bool) -> Self {
        Self {
            ending,
            separator: csv.separator,
            header,
            comment: csv.comment,
            skips: header || csv.comment.is_some(),
        }
    }
}

impl From<LineEnding> for LineForm {
    /// Plain records that end so.
    fn from(ending: LineEnding) -> Self {
        Self::of(Csv::PLAIN, ending, false)
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
