//! The names in a directory.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The names in a directory, sorted.
///
/// # Errors
/// When the directory cannot be opened or read; the path is not in the error.
pub fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = std::fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<OsString>>>()?;
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
