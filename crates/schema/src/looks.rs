//! Patterns of texts such as `m_{digits}`, and bounds of numbers, by which the values of a column are recognised.

/// Patterns and bounds of the published values of a column. Files are recognised by them, and no value is refused for
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    /// Patterns of texts: a value fits one of them. Empty if nothing is said.
    pub patterns: Vec<TextPattern>,
    /// The smallest and the largest number, apart from special values.
    pub within: Option<(f64, f64)>,
    /// The number that all integers are multiples of, apart from special values.
    pub multiple_of: Option<i64>,
}

impl Looks {
    /// Nothing is said.
    pub const UNKNOWN: Self = Self {
        patterns: Vec::new(),
        within: None,
        multiple_of: None,
    };

    /// The pattern that a text fits, if one does.
    #[must_use]
    pub fn pattern_of(&self, text: &[u8]) -> Option<&TextPattern> {
        self.patterns.iter().find(|pattern| pattern.fits(text))
    }

    /// Whether a number is within the bounds, and a multiple of what it should be.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::Looks;
    ///
    /// let percent = Looks { within: Some((0.0, 100.0)), ..Looks::UNKNOWN };
    /// assert!(percent.has_number(99.5) && !percent.has_number(101.0));
    /// ```
    #[must_use]
    pub fn has_number(&self, number: f64) -> bool {
        let is_within = self
            .within
            .is_none_or(|(least, most)| (least..=most).contains(&number));
        #[expect(clippy::cast_precision_loss, reason = "factors are small")]
        let is_multiple = self
            .multiple_of
            .is_none_or(|factor| number % factor as f64 == 0.0);
        is_within && is_multiple
    }
}

/// A pattern of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPattern {
    /// The pattern as it was written.
    pub text: String,
    pub(crate) pieces: Vec<TextPiece>,
}

/// A piece of a [`TextPattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextPiece {
    /// These letters.
    Text(String),
    /// Decimal digits, one or more.
    Digits,
    /// This number of lower-case hexadecimal digits.
    Hex(usize),
    /// This number of Base64 characters with padding, unless all are hexadecimal digits.
    Base64(usize),
}

impl TextPattern {
    /// Whether a text fits the pattern.
    #[must_use]
    pub fn fits(&self, text: &[u8]) -> bool {
        let mut rest = text;
        for piece in &self.pieces {
            let length = match piece {
                TextPiece::Text(expected) => {
                    let fits = rest.starts_with(expected.as_bytes());
                    fits.then_some(expected.len())
                }
                TextPiece::Digits => {
                    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
                    Some(digits.count()).filter(|&digits| digits > 0)
                }
                TextPiece::Hex(length) => rest
                    .get(..*length)
                    .filter(|text| text.iter().all(is_hex))
                    .map(|_| *length),
                TextPiece::Base64(length) => rest
                    .get(..*length)
                    .filter(|text| is_base64(text))
                    .map(|_| *length),
            };
            let Some(length) = length else { return false };
            rest = &rest[length..];
        }
        rest.is_empty()
    }

    /// The number of letters that are the same in every text of the pattern.
    #[must_use]
    pub fn fixed_letters(&self) -> usize {
        let pieces = self.pieces.iter().map(|piece| match piece {
            TextPiece::Text(text) => text.len(),
            TextPiece::Digits | TextPiece::Hex(_) | TextPiece::Base64(_) => 0,
        });
        pieces.sum()
    }

    /// Whether it has a hash, whose length is known.
    #[must_use]
    pub fn has_hash(&self) -> bool {
        let is_hash = |piece: &TextPiece| matches!(piece, TextPiece::Hex(_) | TextPiece::Base64(_));
        self.pieces.iter().any(is_hash)
    }
}

fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_base64(text: &[u8]) -> bool {
    let digits = text.strip_suffix(b"=").unwrap_or(text);
    let digits = digits.strip_suffix(b"=").unwrap_or(digits);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    digits.iter().all(is_digit) && !digits.iter().all(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_piece_by_piece() {
        let machine: &[TextPiece] = &[TextPiece::Text("m_".to_owned()), TextPiece::Digits];
        let cases: [(&[TextPiece], &str, bool); 14] = [
            (machine, "m_1932", true),
            (machine, "m_", false),
            (machine, "m_19x", false),
            (machine, "c_19", false),
            (&[TextPiece::Hex(4)], "00ff", true),
            (&[TextPiece::Hex(4)], "00FF", false),
            (&[TextPiece::Hex(4)], "00fff", false),
            (&[TextPiece::Hex(4)], "00f", false),
            (&[TextPiece::Base64(8)], "+8aLrM8=", true),
            (&[TextPiece::Base64(8)], "+8aLr===", false),
            (&[TextPiece::Base64(8)], "08a1b2c3", false),
            (&[TextPiece::Base64(8)], "08a1b2c", false),
            (&[], "", true),
            (&[], "a", false),
        ];
        for (pieces, text, fits) in cases {
            let pattern = TextPattern {
                text: String::new(),
                pieces: pieces.to_vec(),
            };
            assert_eq!(pattern.fits(text.as_bytes()), fits, "{pieces:?} {text}");
        }
    }

    #[test]
    fn numbers_have_bounds_and_factors() {
        let looks = Looks {
            within: Some((0.0, 900.0)),
            multiple_of: Some(300),
            ..Looks::UNKNOWN
        };
        let fit = [0.0, 300.0, 900.0].map(|number| looks.has_number(number));
        assert_eq!(fit, [true; 3]);
        let others = [-300.0, 1.0, 1200.0].map(|number| looks.has_number(number));
        assert_eq!(others, [false; 3]);
    }
}
