//! A path on disk, or a URL.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

use crate::disk::{open_file, read_small};
use crate::entry::LocationKind;
use crate::pieces::Pieces;
use crate::reader::{Bytes, Reader};
use crate::remote::Download;
use crate::url::{self, Url};

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
            Self::Url(url) => url.name().or(url.is_bucket().then_some(&url.bucket)),
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
            url.context = Some(Box::new(context.clone()));
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
            Self::Url(url) => url.kind(),
        }
    }

    /// Whether there is a file here. What a disk or a server doesn't show counts as no.
    ///
    /// # Errors
    /// If a server doesn't answer.
    pub fn is_file(&self) -> Result<bool> {
        match self {
            Self::Disk(path) => Ok(path.is_file()),
            Self::Url(url) => match url.is_there() {
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
            Self::Url(url) => url.is_there(),
        }
    }

    /// Opens the file to read it from front to back; on disk, also one that exists only as [`pieces`](crate::pieces). The
    /// bytes of a URL are asked for by the first read, which also reports if there is no such object.
    ///
    /// # Errors
    /// If there is no such file, or it can't be opened.
    pub fn open(&self) -> Result<Reader> {
        Ok(Reader(match self {
            Self::Disk(path) => Bytes::Disk(match open_file(path) {
                Err(error) if fs::symlink_metadata(path).is_err() => {
                    let pieces = Pieces::open(path);
                    let pieces = pieces.map_err(|error| Error::io("open", path, error))?;
                    pieces.ok_or(error)?
                }
                file => file?.into(),
            }),
            Self::Url(url) => Bytes::Url(Box::new(Download::from(url.clone(), 0))),
        }))
    }

    /// Opens the file to read it from a byte on, such as the one after those that an earlier run has read. The bytes of a
    /// URL are asked for by the first read or by [`Reader::version`], which says whether it is still the same object.
    ///
    /// # Errors
    /// If there is no such file on disk, or it can't be opened.
    pub fn open_from(&self, start: u64) -> Result<Reader> {
        Ok(Reader(match self {
            Self::Disk(path) => {
                let failed = |error| Error::io("read", path, error);
                let mut file = open_file(path)?;
                file.seek(SeekFrom::Start(start)).map_err(failed)?;
                Bytes::Disk(file.into())
            }
            Self::Url(url) => Bytes::Url(Box::new(Download::from(url.clone(), start))),
        }))
    }

    /// Reads a whole file that is small by nature.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it is larger than `limit` bytes; if it can't be read.
    pub fn read_small(&self, limit: u64) -> Result<Vec<u8>> {
        read_small(self.open()?, limit).map_err(|error| error.or_at(self))
    }
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

/// The path, or the URL as it is shown, for the place of an error.
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

    #[cfg(not(feature = "urls"))]
    #[test]
    fn a_build_without_urls_says_so() {
        let error = Location::parse("s3://bucket/lake".as_ref()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        let expected = "s3://bucket/lake: this build of tracelake reads no URLs";
        assert!(error.to_string().starts_with(expected), "{error}");
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
