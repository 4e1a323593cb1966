//! How a chunk of text is split into records.

use tracelake_core::line_ending::LineEnding;

/// How a chunk is split.
#[derive(Debug, Clone, Copy)]
pub struct Splitting {
    /// How lines end.
    pub ending: LineEnding,
    /// Bytes before the first record, such as a header.
    pub skipped_bytes: usize,
    /// Whole lines before the first record.
    pub skipped_lines: usize,
    /// Whether the chunk begins its text.
    pub is_first: bool,
    /// Whether the chunk ends its text.
    pub is_last: bool,
    /// The most records to split off.
    pub most: u64,
    /// Where the chunk begins, if the text is an array of JSON.
    pub array: ArrayPlace,
}

/// Where in an array a chunk begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrayPlace {
    /// Before its bracket.
    #[default]
    Start,
    /// After its bracket: an element or the end follows.
    Opened,
    /// After an element: a comma or the end follows.
    AfterElement,
    /// After its end.
    Ended,
}

/// Why a text is no array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoArray {
    /// It begins with something else.
    Start,
    /// It ends before the array does.
    End,
    /// There is more after the array.
    After,
}

impl NoArray {
    /// The reason, in words.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Start => {
                "the text doesn't begin with [, and the description says that it is an array"
            }
            Self::End => "the array has no end: the text is cut off",
            Self::After => "there is more after the array",
        }
    }
}

/// The first `most` lines, or all of them if there are fewer.
pub(crate) fn first(lines: &[u8], most: u64) -> &[u8] {
    // A line has at least one byte, so most chunks needn't be searched.
    let Some(skip) = usize::try_from(most)
        .ok()
        .filter(|most| *most < lines.len())
    else {
        return lines;
    };
    let end = match skip.checked_sub(1) {
        Some(skip) => memchr::memchr_iter(b'\n', lines).nth(skip),
        None => return &[],
    };
    end.map_or(lines, |end| &lines[..=end])
}
