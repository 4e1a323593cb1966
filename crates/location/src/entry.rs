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

/// The error for a small file that isn't one.
pub(crate) fn too_large(limit: u64) -> Error {
    let reason = format!("is larger than {limit} bytes; such a file never is");
    Error::new(ErrorKind::Corrupt, reason).hint("it is not what its name says: move it away")
}
