//! The names in a directory, on disk or on a server.

/// The file that lists the files of a directory on a web server.
pub(super) const SUMS: &str = "SHA256SUM";

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
