//! Every error: its kind (which decides the exit code), its place, what is wrong and what to do.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::redact::redacted;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: a reason, a place, and perhaps a hint.
///
/// Its text is one line: `path:line:column: table.column: reason; hint`.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    place: Place,
    reason: String,
    value: Option<String>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The class of an error; each has one exit code, listed in `docs/exit-codes.md`.
///
/// ```
/// use tracelake_core::ErrorKind;
///
/// assert_eq!(ErrorKind::Misfit.exit_code(), 4);
/// assert_eq!(ErrorKind::Stopped(2).exit_code(), 130); // by Ctrl-C
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading, writing, or something that should not happen: exit 1.
    Failed,
    /// Arguments that cannot be used: exit 2.
    Usage,
    /// A bad row, or a file that does not fit its table: exit 4.
    Misfit,
    /// A broken gzip stream or a wrong checksum: exit 5.
    Corrupt,
    /// OUT is locked, is something else, or was made with other options: exit 6.
    Refused,
    /// Stopped by a signal, which is the field: exit 128 + signal.
    Stopped(i32),
}

/// The number that Unix systems give to "too many open files"; the standard library has no kind
/// for it.
const EMFILE: i32 = 24;

impl ErrorKind {
    /// The exit code of the program, from 1 to 143.
    #[must_use]
    pub const fn exit_code(self) -> i32 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Misfit => 4,
            Self::Corrupt => 5,
            Self::Refused => 6,
            Self::Stopped(signal) => 128 + signal,
        }
    }

    /// The name of the class in machine output, such as `misfit`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Misfit => "misfit",
            Self::Corrupt => "corrupt",
            Self::Refused => "refused",
            Self::Stopped(_) => "stopped",
        }
    }
}

/// Where something is wrong; whatever is unknown is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file or directory.
    pub path: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The first byte of the field in its line, from 1.
    pub column: Option<u64>,
    /// `table` or `table.column`.
    pub field: Option<String>,
}

impl Error {
    /// Makes an error of a kind with a reason, which starts in lower case and has no full stop. The reason of
    /// [`ErrorKind::Usage`] may repeat an argument: it loses the secrets of URLs.
    pub fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        let reason = match kind {
            ErrorKind::Usage => redacted(&reason.into()),
            _ => reason.into(),
        };
        Self(Box::new(Inner {
            kind,
            place: Place::default(),
            reason,
            value: None,
            hint: None,
            source: None,
        }))
    }

    /// Wraps what the operating system said of `path` while `doing` something.
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        Self::disk(doing, source).at(path)
    }

    /// Wraps what the operating system said while `doing` something, and says what to do about it
    /// where that is known.
    pub fn disk(doing: &str, source: io::Error) -> Self {
        // A server's failure is an error of ours already.
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let hint = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free some space, then run the same command again")
            }
            io::ErrorKind::FileTooLarge => Some("raise the limit on file sizes (ulimit -f)"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Some("check who may write there, or name another directory")
            }
            _ if source.raw_os_error() == Some(EMFILE) => {
                Some("raise the limit on open files (ulimit -n), or pass a smaller --threads")
            }
            _ => None,
        };
        let reason = format!("cannot {doing}: {source}");
        let error = Self::new(ErrorKind::Failed, reason).because(source);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Changes the class of the error.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Names the file or directory.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.place.path = Some(path.into());
        self
    }

    /// Names the file or directory, unless one is named already.
    #[must_use]
    pub fn or_at(self, path: impl Into<PathBuf>) -> Self {
        if self.0.place.path.is_some() {
            self
        } else {
            self.at(path)
        }
    }

    /// Names the line, and the byte in it, both from 1.
    #[must_use]
    pub fn line(mut self, line: u64, column: Option<u64>) -> Self {
        self.0.place.line = Some(line);
        self.0.place.column = column;
        self
    }

    /// Names the table, or the table and its column with a dot between.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.0.place.field = Some(field.into());
        self
    }

    /// Keeps the value that is wrong; the reason shows it already, so it isn't printed again.
    #[must_use]
    pub fn of_value(mut self, value: impl Into<String>) -> Self {
        self.0.value = Some(value.into());
        self
    }

    /// Says what to do. As the reason, a hint to [`ErrorKind::Usage`] may repeat an argument, unless it is always the
    /// same text.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        let hint = match (self.0.kind, hint.into()) {
            (ErrorKind::Usage, Cow::Owned(hint)) => redacted(&hint),
            (_, hint) => hint.into_owned(),
        };
        self.0.hint = Some(hint);
        self
    }

    /// Says what to do, unless that is said already.
    #[must_use]
    pub fn or_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        if self.0.hint.is_some() {
            self
        } else {
            self.hint(hint)
        }
    }

    /// Keeps the error that this one comes from.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Whether an object was replaced while it was read.
    pub fn is_replacement(&self) -> bool {
        self.is_because_of::<Replaced>()
    }

    /// Whether a server didn't answer, however often it was asked. Nothing else it is asked for will come either.
    pub fn is_unanswered(&self) -> bool {
        self.is_because_of::<Unanswered>()
    }

    fn is_because_of<T: std::error::Error + 'static>(&self) -> bool {
        let source = self.0.source.as_ref();
        source.is_some_and(|source| source.is::<T>())
    }

    /// The reason, without the place and the hint.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The value that is wrong, escaped and cut like in the message, where one value is.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.0.value.as_deref()
    }

    /// The hint for the user, if there is one.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

/// The cause of an error: an object was replaced while it was read.
#[derive(Debug)]
pub struct Replaced;

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object was replaced")
    }
}

impl std::error::Error for Replaced {}

/// The cause of an error: a server didn't answer, however often it was asked.
#[derive(Debug)]
pub struct Unanswered;

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server didn't answer")
    }
}

impl std::error::Error for Unanswered {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            place,
            reason,
            hint,
            ..
        } = &*self.0;
        if let Some(path) = &place.path {
            write!(
                f,
                "{}",
                escape(path.as_os_str().as_encoded_bytes(), usize::MAX)
            )?;
            if let Some(line) = place.line {
                write!(f, ":{line}")?;
            }
            if let Some(column) = place.column {
                write!(f, ":{column}")?;
            }
            write!(f, ": ")?;
        }
        if let Some(field) = &place.field {
            write!(f, "{}: ", escape(field.as_bytes(), usize::MAX))?;
        }
        // Text that is already escaped stays as it is.
        write!(f, "{}", escape(reason.as_bytes(), usize::MAX))?;
        if let Some(hint) = hint {
            write!(f, "; {}", escape(hint.as_bytes(), usize::MAX))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Bytes from a file as text that cannot disturb a terminal or a log, cut after `limit` bytes.
///
/// Printable UTF-8 stays; control characters and broken bytes become `\n`, `\u{1b}` or `\xff`.
///
/// ```
/// use tracelake_core::error::escape;
/// assert_eq!(escape(b"a\x1b[31m\xff", 80), r"a\u{1b}[31m\xff");
/// ```
#[must_use]
pub fn escape(bytes: &[u8], limit: usize) -> String {
    let mut text = String::new();
    let shown = &bytes[..bytes.len().min(limit)];
    for chunk in shown.utf8_chunks() {
        for character in chunk.valid().chars() {
            // Directional and other invisible format characters can make a line read as another.
            let hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}');
            if character.is_control() || hidden {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    if shown.len() < bytes.len() {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_line_with_its_place() {
        let error = Error::new(ErrorKind::Misfit, "not an integer: 'x'")
            .at("jobs/part-0.gz")
            .line(3, Some(7))
            .field("job_events.time")
            .hint("see docs");
        assert_eq!(
            error.to_string(),
            "jobs/part-0.gz:3:7: job_events.time: not an integer: 'x'; see docs"
        );
        assert_eq!(error.kind().exit_code(), 4);
    }

    #[test]
    fn a_wrong_argument_is_repeated_without_its_secret() {
        let reason = "there is no key 'https://me:SECRET@host/a'";
        let error = Error::new(ErrorKind::Usage, reason);
        assert_eq!(error.to_string(), "there is no key 'https://…@host/a'");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
        let error = error.hint(format!("write a.{}", "me:SECRET@host"));
        assert_eq!(error.advice(), Some("write …@host"));
        let error = error.hint("write abfss://CONTAINER@ACCOUNT/PATH");
        assert_eq!(error.advice(), Some("write abfss://CONTAINER@ACCOUNT/PATH"));
        // A value of a row stays as it is.
        let error = Error::new(ErrorKind::Misfit, "not an integer: 'a:b@c'");
        assert_eq!(error.to_string(), "not an integer: 'a:b@c'");
    }

    #[test]
    fn a_path_cannot_break_the_line() {
        let error = Error::new(ErrorKind::Failed, "no").at("a\nb");
        assert_eq!(error.to_string(), "a\\nb: no");
    }
}
