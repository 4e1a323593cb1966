//! How the lines of a file end.

use crate::fault::Fault;

/// How the lines of a file end; its first line decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`, as published.
    Lf,
    /// `\r\n`, as other systems write it.
    CrLf,
}

impl LineEnding {
    /// The line ending of the first line of `chunk`.
    #[must_use]
    pub fn of(chunk: &[u8]) -> Self {
        match memchr::memchr(b'\n', chunk) {
            Some(end) if end > 0 && chunk[end - 1] == b'\r' => Self::CrLf,
            _ => Self::Lf,
        }
    }

    /// A line without its ending, and what is wrong with its shape. A carriage return that isn't part of
    /// the ending is part of the line.
    #[must_use]
    pub fn body(self, line: &[u8]) -> (&[u8], Option<Fault>) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let body = line.strip_suffix(b"\r").unwrap_or(line);
        let fault = if body.is_empty() {
            Some(Fault::BlankLine)
        } else if (body.len() < line.len()) != (self == Self::CrLf) {
            Some(Fault::LineEnding)
        } else {
            None
        };
        (if self == Self::Lf { line } else { body }, fault)
    }
}
