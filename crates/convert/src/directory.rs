//! The names in a directory, without a panic when closing it fails.
//!
//! The standard library panics on that (`unexpected error during closedir`), and a network file
//! system can well report a failure there; rustix ignores it, since everything has been read.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The names in a directory, sorted.
///
/// # Errors
/// When the directory cannot be opened or read; the path is not in the error.
#[cfg(unix)]
pub fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut names = Vec::new();
    for entry in Dir::new(openat(CWD, directory, flags, Mode::empty())?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The names in a directory, sorted.
///
/// # Errors
/// When the directory cannot be opened or read; the path is not in the error.
#[cfg(not(unix))]
pub fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.push(entry?.file_name());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_sorted_names() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b", "a", "ü"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(names(directory.path()).unwrap(), ["a", "b", "ü"]);
        let error = names(&directory.path().join("c")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = names(&directory.path().join("a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
