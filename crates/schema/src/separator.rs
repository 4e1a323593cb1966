//! The separator between the fields of a line.

use std::ops::Range;

/// The separator between two fields of [`crate::Syntax::Csv`] or [`crate::Syntax::QuotedCsv`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One byte.
    Byte(u8),
    /// Several bytes, such as a semicolon and a tab.
    Text(SeparatorText),
    /// Spaces and tabs, one or more; those at the start and the end of a line separate nothing. No field is empty.
    Blanks,
}

/// The bytes of a separator, at most [`MOST`](Self::MOST).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeparatorText {
    bytes: [u8; Self::MOST],
    length: usize,
}

impl SeparatorText {
    /// The most bytes of a separator.
    pub const MOST: usize = 4;
}

impl std::ops::Deref for SeparatorText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Separator {
    /// A separator of several bytes.
    ///
    /// # Panics
    /// If the text has more than [`SeparatorText::MOST`] bytes.
    #[must_use]
    pub fn several(text: &str) -> Self {
        let (mut bytes, length) = ([0; SeparatorText::MOST], text.len());
        bytes[..length].copy_from_slice(text.as_bytes());
        Self::Text(SeparatorText { bytes, length })
    }

    /// The fields of a line without its ending.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::Separator;
    ///
    /// let fields: Vec<_> = Separator::Blanks.fields(b"  1 \t23 ").collect();
    /// assert_eq!(fields, [2..3, 5..7]);
    /// assert_eq!(Separator::several(";\t").fields(b"1;\t;\t").count(), 3);
    /// ```
    #[must_use]
    pub fn fields(self, line: &[u8]) -> Fields<'_> {
        Fields {
            separator: self,
            line,
            next: Some(0),
        }
    }

    /// A line without the separator at its end, if it has one there.
    pub(crate) fn without_last(self, line: &[u8]) -> &[u8] {
        let rest = match self {
            Self::Byte(byte) => line.strip_suffix(&[byte]),
            Self::Text(text) => line.strip_suffix(&*text),
            Self::Blanks => None,
        };
        rest.unwrap_or(line)
    }

    /// Its usual bytes: between the names of a header, for example.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Byte(byte) => std::slice::from_ref(byte),
            Self::Text(text) => text,
            Self::Blanks => b" ",
        }
    }

    /// Its usual bytes as a text.
    #[must_use]
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// A range of a line without the spaces and tabs at its ends.
pub(crate) fn without_blanks(line: &[u8], field: Range<usize>) -> Range<usize> {
    let start = field.clone().find(|&at| !is_blank(line[at]));
    let end = field.clone().rfind(|&at| !is_blank(line[at]));
    match (start, end) {
        (Some(start), Some(last)) => start..last + 1,
        _ => field.end..field.end,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The ranges of the fields of a line.
#[derive(Debug)]
pub struct Fields<'a> {
    separator: Separator,
    line: &'a [u8],
    /// Where the next field begins, at the latest; `None` after the last one.
    next: Option<usize>,
}

impl Iterator for Fields<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next?;
        let rest = self.line.get(start..)?;
        let end = match self.separator {
            Separator::Byte(separator) => {
                let end = rest.iter().position(|&byte| byte == separator);
                self.next = end.map(|end| start + end + 1);
                end
            }
            Separator::Text(separator) => {
                let mut windows = rest.windows(separator.len().max(1));
                let end = windows.position(|window| window == &*separator);
                self.next = end.map(|end| start + end + separator.len());
                end
            }
            Separator::Blanks => {
                let first = rest.iter().position(|&byte| !is_blank(byte));
                let Some(first) = first else {
                    self.next = None;
                    return None;
                };
                let length = rest[first..].iter().position(|&byte| is_blank(byte));
                let end = length.map_or(self.line.len(), |length| start + first + length);
                self.next = Some(end);
                return Some(start + first..end);
            }
        };
        Some(start..end.map_or(self.line.len(), |end| start + end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(separator: Separator, line: &str) -> Vec<&str> {
        let ranges = separator.fields(line.as_bytes());
        ranges.map(|range| &line[range]).collect()
    }

    #[test]
    fn blanks_around_a_field_are_cut_off() {
        for (text, expected) in [
            ("", ""),
            (" \t", ""),
            ("a", "a"),
            ("\ta b ", "a b"),
            ("  é\u{a0}\t", "é\u{a0}"),
        ] {
            let line = format!(" {text} ");
            let field = without_blanks(line.as_bytes(), 1..1 + text.len());
            assert_eq!(&line[field], expected, "{text:?}");
        }
    }

    #[test]
    fn fields_are_between_separators() {
        let blanks = Separator::Blanks;
        for (line, expected) in [
            ("", &[][..]),
            (" \t ", &[]),
            ("1", &["1"]),
            ("\t1  2\t\t3 ", &["1", "2", "3"]),
            ("\"a b\"", &["\"a", "b\""]),
        ] {
            assert_eq!(fields(blanks, line), expected, "{line:?}");
        }
        let text = Separator::several(";\t");
        for (line, expected) in [
            ("", &[""][..]),
            ("1;2;\t3", &["1;2", "3"]),
            (";\t;\t", &["", "", ""]),
            ("1;\t\t2", &["1", "\t2"]),
        ] {
            assert_eq!(fields(text, line), expected, "{line:?}");
        }
        assert_eq!(fields(Separator::Byte(b','), "1,,2,"), ["1", "", "2", ""]);
    }
}
