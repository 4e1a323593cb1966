//! Files and directories on a disk.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tracelake_core::error::{Error, ErrorKind, Result};

use crate::entry::too_large;

/// The names in a directory, sorted.
///
/// # Errors
/// When the directory cannot be opened or read; the path is not in the error.
pub fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    Ok(names)
}

/// The bytes that a process without privileges can still write where `path` is or will be.
#[cfg(unix)]
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let existing = path.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(existing).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Nothing is known elsewhere.
#[cfg(not(unix))]
#[must_use]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
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

/// Reads all of a file that is small by nature; its place isn't in the error.
pub(crate) fn read_small(file: impl Read, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::disk("read", error))?;
    match bytes.len() as u64 <= limit {
        true => Ok(bytes),
        false => Err(too_large(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_sorted_names() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b", "a", "ü"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(names(directory.path()).unwrap(), ["a", "b", "ü"]);
        let error = names(&directory.path().join("c")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = names(&directory.path().join("a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
