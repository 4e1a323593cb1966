//! A member of an archive.

/// A member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its path, which is shown and identifies its table; it's never opened.
    pub path: String,
    /// Whether it is a plain file: not a link, device, directory or sparse file.
    pub is_file: bool,
}
