//! Mistakes in a description, and where they are.

use std::fmt;

use serde::Deserialize;

/// A mistake in a description: its line, the names around it, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionError {
    line: Option<usize>,
    message: String,
}

impl DescriptionError {
    /// The line of the mistake, or of the name of what is wrong, from 1; `None` if it is the whole text.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The mistake without its line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A text that is not TOML, or has an unknown key or a value of another type.
    pub(super) fn of_toml(error: &toml::de::Error, text: &str) -> Self {
        let offset = error.span().map(|span| span.start);
        let line = offset.map(|offset| line(text, offset));
        let written = line.and_then(|line| text.lines().nth(line - 1));
        let letters = written.unwrap_or_default().trim().chars();
        let shown: String = letters
            .filter(|letter| !letter.is_control())
            .take(80)
            .collect();
        let reason = error.message().trim().replace('\n', ", ");
        let message = match shown.is_empty() {
            true => reason,
            false => format!("`{shown}`: {reason}"),
        };
        Self { line, message }
    }
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for DescriptionError {}

/// The number of the line that a byte is in, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    1 + before.filter(|byte| *byte == b'\n').count()
}

/// A mistake whose line is not counted yet.
#[derive(Debug)]
pub(super) struct Fault {
    /// The innermost place that is known, in bytes.
    offset: Option<usize>,
    message: String,
}

pub(super) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        let offset = None;
        Self { offset, message }
    }

    /// Puts a name before the message, and gives its line unless there is a more exact one.
    pub(super) fn within_named(mut self, name: &Name) -> Self {
        self.message = format!("{name}: {}", self.message);
        self.offset.get_or_insert(name.offset);
        self
    }

    /// The mistake as one of this text.
    pub(super) fn of(self, text: &str) -> DescriptionError {
        DescriptionError {
            line: self.offset.map(|offset| line(text, offset)),
            message: self.message,
        }
    }
}

/// Says what a mistake is in.
pub(super) trait Within {
    /// Puts a key before the message.
    fn within(self, key: impl fmt::Display) -> Self;

    /// Puts a name before the message, and gives its line unless there is a more exact one.
    fn within_named(self, name: &Name) -> Self;
}

impl<T> Within for Result<T> {
    fn within(self, key: impl fmt::Display) -> Self {
        self.map_err(|mut fault| {
            fault.message = format!("{key}: {}", fault.message);
            fault
        })
    }

    fn within_named(self, name: &Name) -> Self {
        self.map_err(|fault| fault.within_named(name))
    }
}

/// A name, and where it is.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(from = "toml::Spanned<String>")]
pub(super) struct Name {
    text: String,
    offset: usize,
}

impl Name {
    /// Where it is, in bytes.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Another name at the same place.
    pub(super) fn with(&self, text: String) -> Self {
        let offset = self.offset;
        Self { text, offset }
    }
}

impl From<toml::Spanned<String>> for Name {
    fn from(spanned: toml::Spanned<String>) -> Self {
        let offset = spanned.span().start;
        let text = spanned.into_inner();
        Self { text, offset }
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.escape_debug().to_string())
    }
}

/// Returns an error with this message.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::description::fault::Fault::new(format!($($message)*)))
    };
}

/// Returns an error with this message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            $crate::description::fault::bail!($($message)*);
        }
    };
}

pub(in crate::description) use {bail, ensure};
