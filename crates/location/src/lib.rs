//! Where a file or a directory is: a path on disk, or a URL in an object store or on a web server.
//!
//! A source is named by a [`Location`], and a [`Reader`] gives its bytes in order, wherever they come from. A file on
//! disk never takes a detour: it is a `File`, read as one. With the feature `urls`, this is the only crate that speaks
//! to servers; without it, a URL is an error.
//!
//! ```
//! use tracelake_location::Location;
//!
//! let lake = Location::parse("lakes/google".as_ref())?;
//! assert_eq!(lake.join("manifest.json").name(), Some("manifest.json"));
//! # Ok::<(), tracelake_core::Error>(())
//! ```

#[cfg(not(feature = "urls"))]
mod absent;
pub mod directory;
mod entry;
mod listing;
mod memory;
mod objects;
mod own_bucket;
pub mod pieces;
mod random_access;
mod reader;
#[cfg(feature = "urls")]
mod remote;
mod url;

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

pub use entry::{Entry, LocationKind};
pub use listing::{Listing, SUMS_LIMIT, checksum_line};
pub use memory::Memory;
pub use own_bucket::Objects;
use pieces::Pieces;
pub use random_access::RandomAccess;
use reader::Bytes;
pub use reader::{Reader, from_read};
pub use url::Url;

/// The most memory that an open object takes, in bytes: blocks that were asked for and the one being
/// read, and what the connections have buffered of them. Files on disk take none of it.
pub const OBJECT_MEMORY: u64 = 12 << 20;

/// The most memory that an object being written takes, in bytes: the part that fills, and those that are
/// being sent, each of which the connection may hold once more.
pub const UPLOAD_MEMORY: u64 = 32 << 20;

/// A path on disk, or a URL.
///
/// ```
/// use tracelake_location::Location;
///
/// let directory: Location = "traces/clusterdata-2011-2".parse()?;
/// assert_eq!(directory.join("schema.csv").to_string(), "traces/clusterdata-2011-2/schema.csv");
/// if cfg!(feature = "urls") {
///     let bucket: Location = "gs://clusterdata-2011-2".parse()?;
///     assert_eq!(bucket.join("schema.csv").to_string(), "gs://clusterdata-2011-2/schema.csv");
/// }
/// assert!("s3://".parse::<Location>().is_err());
/// # Ok::<(), tracelake_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A path on disk.
    Disk(PathBuf),
    /// An object, what its name starts with, or a file on a web server.
    Url(Url),
}

impl Location {
    /// Reads what was typed: a URL if it starts with a scheme and `://`, else a path.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a URL that is malformed, or of a kind that isn't read, and for a path in
    /// `~`, which shells replace by the home directory and nothing else does. The message doesn't repeat
    /// what may be a secret.
    pub fn parse(text: &OsStr) -> Result<Self> {
        if Path::new(text).components().next() == Some(Component::Normal("~".as_ref())) {
            let reason = "is in ~, which no shell has replaced by the home directory";
            return Err(Error::new(ErrorKind::Usage, reason).at(text).hint(
                "write the whole path, without quotes, or ./~ for a directory of this name",
            ));
        }
        let Some(url) = text.to_str().filter(|text| url::is_url(text)) else {
            return match text.to_str().and_then(url::misspelt) {
                Some(error) if !Path::new(text).exists() => Err(error),
                _ => Ok(Self::Disk(text.into())),
            };
        };
        let parsed = Url::parse(url)?;
        if cfg!(feature = "urls") {
            return Ok(Self::Url(parsed));
        }
        Err(
            Error::new(ErrorKind::Usage, "this build of tracelake reads no URLs")
                .at(parsed.to_string())
                .hint("build it with the feature `urls`"),
        )
    }

    /// Appends a path, which is relative, with forward slashes.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        match self {
            Self::Disk(directory) => Self::Disk(directory.join(path)),
            Self::Url(url) => Self::Url(url.join(path)),
        }
    }

    /// The last name of the path, if it is UTF-8.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Disk(path) => path.file_name()?.to_str(),
            Self::Url(url) => url.name(),
        }
    }

    /// The last name of the path, or, of a bucket, the name of that.
    #[must_use]
    pub fn name_or_bucket(&self) -> Option<&str> {
        match self {
            Self::Disk(_) => self.name(),
            Self::Url(url) => url.name().or_else(|| url.bucket_name()),
        }
    }

    /// The parent: the empty path for a single name on disk, `None` for a root and a bucket.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::Disk(path) => path.parent().map(|parent| Self::Disk(parent.to_owned())),
            Self::Url(url) => url.parent().map(Self::Url),
        }
    }

    /// This place in a context: a wait for its server, or for that of a place below it, ends when the context is
    /// cancelled.
    #[must_use]
    pub fn within(&self, context: &Context) -> Self {
        let mut location = self.clone();
        if let Self::Url(url) = &mut location {
            url.context.0 = Some(Box::new(context.clone()));
        }
        location
    }

    /// The path, if it is on disk.
    #[must_use]
    pub fn as_path(&self) -> Option<&Path> {
        match self {
            Self::Disk(path) => Some(path),
            Self::Url(_) => None,
        }
    }

    /// The kind of entry here; `None` if nothing is.
    ///
    /// # Errors
    /// If the disk or the server doesn't say.
    pub fn kind(&self) -> Result<Option<LocationKind>> {
        match self {
            Self::Disk(path) => match fs::metadata(path) {
                Ok(found) if found.is_dir() => Ok(Some(LocationKind::Directory)),
                Ok(found) if found.is_file() => Ok(Some(LocationKind::File {
                    bytes: Some(found.len()),
                })),
                Ok(_) => Ok(Some(LocationKind::Other)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Error::io("open", path, error)),
            },
            Self::Url(url) => objects::kind(url),
        }
    }

    /// Whether there is a file here. What a disk or a server doesn't show counts as no.
    ///
    /// # Errors
    /// If a server doesn't answer.
    pub fn is_file(&self) -> Result<bool> {
        match self {
            Self::Disk(path) => Ok(path.is_file()),
            Self::Url(url) => match objects::is_there(url) {
                Err(error) if !error.is_unanswered() => Ok(false),
                found => found,
            },
        }
    }

    /// Whether there is a file here.
    ///
    /// # Errors
    /// If that can't be found out.
    pub fn is_there(&self) -> Result<bool> {
        match self {
            Self::Disk(path) => Ok(fs::symlink_metadata(path).is_ok()),
            Self::Url(url) => objects::is_there(url),
        }
    }

    /// Opens the file to read it from front to back; on disk, a file that is there in [`pieces`] alone. The bytes of a URL are asked for by the first read,
    /// which also reports if there is no such object.
    ///
    /// # Errors
    /// If there is no such file, or it can't be opened.
    pub fn open(&self) -> Result<Reader> {
        match self {
            Self::Disk(path) => match open_file(path) {
                Err(error) if fs::symlink_metadata(path).is_err() => {
                    let pieces =
                        Pieces::open(path).map_err(|error| Error::io("open", path, error))?;
                    pieces
                        .map(|pieces| Reader(Bytes::Pieces(pieces)))
                        .ok_or(error)
                }
                file => Ok(Reader(Bytes::Disk(file?))),
            },
            Self::Url(url) => Ok(Reader(Bytes::Url(Box::new(objects::Download::new(
                url.clone(),
            ))))),
        }
    }

    /// Reads a whole file that is small by nature.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it is larger than `limit` bytes; if it can't be read.
    pub fn read_small(&self, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.open()?.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| from_read(error).or_at(self))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(limit).at(self));
        }
        Ok(bytes)
    }
}

/// Changes to a bucket, for the lake's store only.
impl Url {
    /// The root of a bucket that this process keeps; shown as a bucket of S3.
    #[must_use]
    pub fn of_objects(name: &str, objects: Arc<dyn Objects>) -> Self {
        Self::of_bucket(name, own_bucket::OwnBucket(Some(objects)))
    }

    /// Whether it can be written to, and listed.
    pub fn is_bucket(&self) -> bool {
        !self.is_web()
    }

    /// Puts a small object where there is none; false if there is one.
    pub fn put_new(&self, bytes: Vec<u8>) -> Result<bool> {
        objects::put_new(self, bytes)
    }

    /// Puts a small object in the place of the bytes with this tag; false if it has other bytes, or is gone.
    pub fn swap(&self, known: &Tag, bytes: Vec<u8>) -> Result<bool> {
        objects::swap(self, known, bytes)
    }

    /// Reads small objects below this one; `None` for one that isn't there.
    pub fn read_all(&self, paths: &[String], limit: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let read = objects::read_all(paths.iter().map(|path| self.join(path)).collect(), limit)?;
        let read = read.into_iter();
        Ok(read.map(|found| found.map(|(bytes, _)| bytes)).collect())
    }

    /// Reads this object if it is small; `None` if there is none.
    pub fn read_if_there(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.read_tagged(limit)?.map(|(bytes, _)| bytes))
    }

    /// Reads this object if it is small, with its tag; `None` if there is none.
    pub fn read_tagged(&self, limit: u64) -> Result<Option<Tagged>> {
        Ok(objects::read_all(vec![self.clone()], limit)?
            .pop()
            .flatten())
    }

    /// Removes objects below this one, in any order and as many at a time as the store takes; that there are none is no
    /// error.
    pub fn remove_all(&self, paths: &[String]) -> Result<()> {
        objects::remove(paths.iter().map(|path| self.join(path)).collect())
    }

    /// All objects below this one, sorted by their paths.
    pub fn list_all(&self) -> Result<Vec<Listed>> {
        let mut all = objects::list_all(self)?;
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// The objects of these paths below this one; those that aren't there are left out.
    pub fn look_up(&self, paths: &[String]) -> Result<Vec<Listed>> {
        let urls = paths.iter().map(|path| self.join(path)).collect();
        let found = objects::versions(urls)?.into_iter().zip(paths);
        let listed = found.filter_map(|(found, path)| {
            let (bytes, etag) = found?;
            let path = path.clone();
            Some(Listed { path, bytes, etag })
        });
        Ok(listed.collect())
    }

    /// Begins to write an object, which becomes visible when it is complete.
    pub fn upload(&self) -> Result<Upload> {
        objects::Upload::begin(self).map(Upload)
    }
}

/// The size of an object, and what its store names its content by.
type Version = (u64, Option<String>);

/// The bytes of an object, and what its store names them by.
pub type Tagged = (Vec<u8>, Tag);

/// What a store names the bytes of an object by, to swap them for others: an ETag, or a generation on Google. Both are
/// opaque: a store may give another one for each time that the same bytes are written.
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

/// An object being written; if it is dropped before it is complete, nothing of it becomes visible.
#[derive(Debug)]
pub struct Upload(objects::Upload);

impl Upload {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write(bytes)
    }

    /// Sends everything, as far as that doesn't make the object visible.
    pub fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }

    /// Sends everything like [`Upload::flush`], and keeps nothing of a small object in memory either: it is then sent
    /// in parts, of which there is one.
    pub fn set_aside(&mut self) -> Result<()> {
        self.0.set_aside()
    }

    /// Makes the object visible, in the place of what has its name.
    pub fn complete(self) -> Result<()> {
        self.0.complete()
    }
}

/// The error for a small file that isn't one.
fn too_large(limit: u64) -> Error {
    let reason = format!("is larger than {limit} bytes; such a file never is");
    Error::new(ErrorKind::Corrupt, reason).hint("it is not what its name says: move it away")
}

/// Removes from their stores what was sent of objects that were dropped before they were complete. Takes at most a second,
/// and what is left then is for the lifecycle rule of the bucket.
pub fn abort_dropped_uploads() {
    objects::abort_dropped_uploads();
}

impl FromStr for Location {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text.as_ref())
    }
}

/// The path, or the URL without user name, password and query.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Self::Disk(path)
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Self::Disk(path.to_owned())
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        Self::Disk(path.clone())
    }
}

impl From<&Self> for Location {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}

/// As it is shown, for the place of an error.
impl From<&Location> for PathBuf {
    fn from(location: &Location) -> Self {
        match location {
            Location::Disk(path) => path.clone(),
            Location::Url(url) => url.to_string().into(),
        }
    }
}

impl From<Location> for PathBuf {
    fn from(location: Location) -> Self {
        Self::from(&location)
    }
}

/// Opens a file on disk to read. Opening a pipe or a device could wait for ever, so these are refused.
///
/// # Errors
/// When it is not there, is not a file, or cannot be opened.
pub fn open_file(path: &Path) -> Result<File> {
    let found = fs::metadata(path).map_err(|error| Error::io("open", path, error))?;
    if !found.is_file() {
        return Err(Error::new(ErrorKind::Failed, "is not a file")
            .at(path)
            .hint("put a file in its place"));
    }
    File::open(path).map_err(|error| Error::io("open", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_a_path() {
        let location = Location::parse("a/b".as_ref()).unwrap();
        assert_eq!(location, Location::Disk("a/b".into()));
        assert_eq!(location.join("c").to_string(), "a/b/c");
        assert_eq!(location.name(), Some("b"));
        assert_eq!(location.parent(), Some(Location::Disk("a".into())));
    }

    #[test]
    fn a_file_is_there_on_a_disk_and_in_a_bucket() {
        let directory = tempfile::tempdir().unwrap();
        let objects = std::sync::Arc::new(Memory::default());
        let bucket = Url::of_objects("bucket", objects);
        std::fs::write(directory.path().join("a"), "1").unwrap();
        bucket.join("a").put_new(b"1".to_vec()).unwrap();
        for root in [Location::from(directory.path()), Location::Url(bucket)] {
            let found = ["a", "b"].map(|name| {
                let location = root.join(name);
                (location.is_file().unwrap(), location.is_there().unwrap())
            });
            assert_eq!(found, [(true, true), (false, false)], "{root}");
        }
    }

    #[test]
    fn objects_that_are_gone_are_left_out() {
        let bucket = Url::of_objects("bucket", std::sync::Arc::new(Memory::default()));
        for name in ["a", "c"] {
            bucket.join(name).put_new(name.as_bytes().to_vec()).unwrap();
        }
        let all = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let read = || {
            let read = bucket.read_all(&all(), 9).unwrap().into_iter();
            read.flatten().flatten().map(char::from).collect::<String>()
        };
        assert_eq!(read(), "ac");
        bucket.remove_all(&all()[..2]).unwrap();
        assert_eq!(read(), "c");
    }

    #[test]
    fn bytes_are_swapped_for_those_that_were_read() {
        let bucket = Url::of_objects("bucket", std::sync::Arc::new(Memory::default()));
        let object = bucket.join("a");
        assert!(!object.swap(&Tag::of_nothing(), b"1".to_vec()).unwrap());
        object.put_new(b"1".to_vec()).unwrap();
        assert!(!object.swap(&Tag::of_nothing(), b"2".to_vec()).unwrap());
        let (_, tag) = object.read_tagged(9).unwrap().unwrap();
        assert!(object.swap(&tag, b"2".to_vec()).unwrap());
        assert!(!object.swap(&tag, b"3".to_vec()).unwrap());
        assert_eq!(object.read_if_there(9).unwrap().unwrap(), b"2");
    }

    #[test]
    fn nothing_is_written_to_a_directory_named_like_the_home() {
        for path in ["~", "~/lake"] {
            let error = Location::parse(path.as_ref()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{path}");
        }
        for path in ["./~", "./~/lake", "~lake", "a/~/b", "/~"] {
            assert!(Location::parse(path.as_ref()).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_small_file_is_small() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        let location = Location::from(&path);
        assert_eq!(location.read_small(5).unwrap(), b"12345");
        let error = location.read_small(4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
