//! An unfinished file, `NAME.partial`, and beside it `NAME.partial.json`, which says which bytes it has.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Version;

/// The ending of a file that isn't finished. `convert` says so of such a file.
const PARTIAL: &str = ".partial";

/// The ending of the file that describes it.
const DESCRIBED: &str = ".partial.json";

/// The version of the bytes in an unfinished file.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    /// The URL without a secret.
    url: String,
    bytes: Option<u64>,
    etag: Option<String>,
    /// When it was last changed, in seconds since 1970-01-01 00:00:00 UTC.
    modified: i64,
}

/// A file that isn't finished, which no other process writes.
#[derive(Debug)]
pub(crate) struct Partial {
    file: File,
    finished: PathBuf,
    path: PathBuf,
    described: PathBuf,
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The size of the unfinished file that will have this path; 0 if there is none.
pub(crate) fn size_so_far(finished: &Path) -> u64 {
    fs::metadata(with_ending(finished, PARTIAL)).map_or(0, |found| found.len())
}

/// Removes what was left beside a file that is finished.
pub(crate) fn clear(finished: &Path) -> Result<()> {
    for ending in [DESCRIBED, PARTIAL] {
        remove(&with_ending(finished, ending))?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

impl Partial {
    /// Opens the unfinished file that will have this path, and creates it if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if another process writes it; if it can't be opened.
    pub(crate) fn open(finished: &Path) -> Result<Self> {
        let path = with_ending(finished, PARTIAL);
        let failed = |error| Error::io("open", &path, error);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false);
        let file = file.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::Refused, "another process fetches it")
                    .at(path)
                    .hint("wait for it, or fetch to another directory"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self {
            file,
            finished: finished.to_owned(),
            described: with_ending(finished, DESCRIBED),
            path,
        })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> Result<u64> {
        let found = self.file.metadata();
        let found = found.map_err(|error| Error::io("read", &self.path, error))?;
        Ok(found.len())
    }

    /// The version of its bytes; `None` if they aren't known to be those of this URL.
    pub(crate) fn version_of(&self, url: &str) -> Option<Version> {
        let text = fs::read(&self.described).ok()?;
        let known: Description = serde_json::from_slice(&text).ok()?;
        (known.url == url).then_some(Version {
            bytes: known.bytes,
            etag: known.etag,
            modified: known.modified,
        })
    }

    /// Empties it, for bytes of this version.
    pub(crate) fn begin(&mut self, url: &str, version: &Version) -> Result<()> {
        let failed = |error| Error::io("write", &self.path, error);
        self.file.set_len(0).map_err(failed)?;
        self.file.rewind().map_err(failed)?;
        let description = Description {
            url: url.to_owned(),
            bytes: version.bytes,
            etag: version.etag.clone(),
            modified: version.modified,
        };
        let text = serde_json::to_string_pretty(&description).expect("names and numbers");
        fs::write(&self.described, text + "\n")
            .map_err(|error| Error::io("write", &self.described, error))
    }

    /// Prepares to append to the bytes that it has.
    pub(crate) fn resume(&mut self) -> Result<()> {
        let end = self.file.seek(SeekFrom::End(0));
        end.map(|_| ())
            .map_err(|error| Error::io("read", &self.path, error))
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Error::io("write", &self.path, error))
    }

    /// Forgets which bytes it has, since they are wrong: the next run begins it again.
    pub(crate) fn forget(&self) -> Result<()> {
        remove(&self.described)
    }

    /// Gives the file its name, once its bytes are on the disk.
    pub(crate) fn finish(self) -> Result<()> {
        let failed = |error| Error::io("write", &self.path, error);
        self.file.sync_all().map_err(failed)?;
        fs::rename(&self.path, &self.finished)
            .map_err(|error| Error::io("rename", &self.path, error))?;
        remove(&self.described)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_one_url_and_version() {
        let directory = tempfile::tempdir().unwrap();
        let finished = directory.path().join("jobs.csv.gz");
        let version = Version {
            bytes: Some(4),
            etag: Some("\"a\"".to_owned()),
            modified: 7,
        };
        let mut partial = Partial::open(&finished).unwrap();
        assert_eq!(partial.version_of("https://host/jobs"), None);
        partial.begin("https://host/jobs", &version).unwrap();
        partial.write(b"ab").unwrap();
        let other = Partial::open(&finished).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Refused);
        drop(partial);

        let mut partial = Partial::open(&finished).unwrap();
        assert_eq!((partial.len().unwrap(), size_so_far(&finished)), (2, 2));
        assert_eq!(partial.version_of("https://host/jobs"), Some(version));
        assert_eq!(partial.version_of("https://host/other"), None);
        partial.resume().unwrap();
        partial.write(b"cd").unwrap();
        partial.finish().unwrap();
        assert_eq!(fs::read(&finished).unwrap(), b"abcd");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
