//! Names, sizes and versions of files and objects.

use tracelake_core::error::{Error, ErrorKind};

/// The file that lists the files of a directory on a web server.
pub(crate) const SUMS: &str = "SHA256SUM";

/// The kind of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// A file or an object.
    File {
        /// Its size; `None` if its server doesn't say it.
        bytes: Option<u64>,
    },
    /// A directory, or what the names of objects start with.
    Directory,
    /// A pipe, a device, or a link that leads nowhere.
    Other,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the directory.
    pub name: String,
    /// Its kind; for a link on disk, that of its target.
    pub kind: LocationKind,
}

/// An object in the listing of a bucket.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its path relative to the prefix.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The ETag of its content in the store.
    pub etag: Option<String>,
}

/// The bytes of an object, with their tag.
pub type Tagged = (Vec<u8>, Tag);

/// The name of an object's bytes in their store, to swap them for others: an ETag, or a generation on Google. Both are
/// opaque: a store may give another one each time that the same bytes are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tag {
    pub(crate) etag: Option<String>,
    pub(crate) generation: Option<String>,
}

impl Tag {
    /// A tag that no object has.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self {
            etag: Some("\"00000000000000000000000000000000\"".to_owned()),
            generation: Some("1".to_owned()),
        }
    }
}

/// The version of an object as its server reports it, to see later whether the bytes are still the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// The size; `None` if the server doesn't say it.
    pub bytes: Option<u64>,
    /// The ETag.
    pub etag: Option<String>,
    /// When it was last changed, in seconds since 1970-01-01 00:00:00 UTC; 0 if the server doesn't say it.
    pub modified: i64,
}

impl Version {
    /// Whether two answers are about the same bytes. Without a size, and an ETag or a time, that can't be known, and the
    /// answer is no.
    ///
    /// ```
    /// use tracelake_location::Version;
    ///
    /// let tagged = |etag: &str| Version {
    ///     bytes: Some(7),
    ///     etag: Some(etag.to_owned()),
    ///     modified: 0,
    /// };
    /// assert!(tagged("\"a\"").is_same(&tagged("\"a\"")));
    /// assert!(!tagged("\"a\"").is_same(&tagged("\"b\"")));
    /// assert!(!Version::default().is_same(&Version::default()));
    /// ```
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let is_strong = |tag: &String| !tag.starts_with("W/");
        let names_bytes = self.etag.as_ref().is_some_and(is_strong);
        let has_time = self.modified != 0 && self.modified == other.modified;
        self.bytes.is_some()
            && (self.bytes, &self.etag) == (other.bytes, &other.etag)
            && (names_bytes || has_time)
    }
}

/// The error for a small file that isn't one.
pub(crate) fn too_large(limit: u64) -> Error {
    let reason = format!("is larger than {limit} bytes; such a file never is");
    Error::new(ErrorKind::Corrupt, reason).hint("it is not what its name says: move it away")
}
