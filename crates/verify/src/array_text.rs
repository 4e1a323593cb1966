//! The elements of a JSON array that is a whole text, read byte by byte: none of the converter's code is in it.

use std::io::{self, BufRead};

/// An array, as far as it was read.
#[derive(Default)]
pub(super) struct ArrayText {
    /// Whether its bracket was read, an element, and its end.
    is_open: bool,
    has_element: bool,
    is_over: bool,
    /// Bytes and line ends that were read.
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

/// Where an element begins: its byte, and the line ends before it.
pub(super) struct Element {
    pub(super) byte: u64,
    pub(super) lines: u64,
}

impl ArrayText {
    /// Reads the next element into `row`, which is empty; `None` after the last one, and after an element of more than
    /// `longest` bytes its start.
    ///
    /// # Errors
    /// When the text can't be read, or is no array.
    pub(super) fn next(
        &mut self,
        text: &mut impl BufRead,
        row: &mut Vec<u8>,
        longest: usize,
    ) -> io::Result<Option<Element>> {
        if !self.is_open {
            self.skip_blanks(text)?;
            if self.take(text)? != Some(b'[') {
                return Err(io::Error::other("doesn't begin with a bracket"));
            }
            self.is_open = true;
        }
        if !self.is_over {
            self.skip_blanks(text)?;
            let element = Element {
                byte: self.bytes,
                lines: self.lines,
            };
            self.read(text, row, longest)?;
            let blanks = row
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_whitespace());
            row.truncate(row.len() - blanks.count());
            // Nothing before the end is an element only after a comma.
            if !self.is_over || self.has_element || !row.is_empty() {
                self.has_element = true;
                return Ok(Some(element));
            }
        }
        self.skip_blanks(text)?;
        match self.take(text)? {
            None => Ok(None),
            Some(_) => Err(io::Error::other("has more after its array")),
        }
    }

    /// Reads up to the comma or the bracket that ends an element.
    fn read(
        &mut self,
        text: &mut impl BufRead,
        row: &mut Vec<u8>,
        longest: usize,
    ) -> io::Result<()> {
        let (mut open, mut in_string, mut is_escaped) = (0_u64, false, false);
        while row.len() <= longest {
            let Some(byte) = self.take(text)? else {
                return Err(io::Error::other("ends before its array does"));
            };
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b',' if open == 0 => return Ok(()),
                b']' if open == 0 => {
                    self.is_over = true;
                    return Ok(());
                }
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            row.push(byte);
        }
        Ok(())
    }

    fn take(&mut self, text: &mut impl BufRead) -> io::Result<Option<u8>> {
        let first = text.fill_buf()?.first().copied();
        if let Some(byte) = first {
            text.consume(1);
            self.bytes += 1;
            self.lines += u64::from(byte == b'\n');
        }
        Ok(first)
    }

    fn skip_blanks(&mut self, text: &mut impl BufRead) -> io::Result<()> {
        while text
            .fill_buf()?
            .first()
            .is_some_and(u8::is_ascii_whitespace)
        {
            self.take(text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements of a text with their bytes and lines.
    fn elements(text: &str) -> io::Result<Vec<(String, u64, u64)>> {
        let (mut array, mut rest) = (ArrayText::default(), text.as_bytes());
        let (mut found, mut row) = (Vec::new(), Vec::new());
        while let Some(element) = array.next(&mut rest, &mut row, 100)? {
            let text = String::from_utf8(std::mem::take(&mut row)).unwrap();
            found.push((text, element.byte, element.lines));
        }
        Ok(found)
    }

    #[test]
    fn elements_are_between_commas() {
        let found = elements("[ {\"a\": \"],\\\"\"},\n [1, {}] ,\n]\n").unwrap();
        let expected = [
            ("{\"a\": \"],\\\"\"}", 2, 0),
            ("[1, {}]", 18, 1),
            ("", 28, 2),
        ];
        let expected = expected.map(|(text, byte, line)| (text.to_owned(), byte, line));
        assert_eq!(found, expected);
        assert_eq!(elements(" [\n]\n").unwrap(), []);
        for broken in ["", "{}", "[", "[1", "[1,", "[\"]", "[] 1", "[]]"] {
            elements(broken).unwrap_err();
        }
    }
}
