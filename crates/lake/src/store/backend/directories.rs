//! Directories, links, locks, removals and fsync.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as Io};
use std::path::{Component, Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::directory;

use super::{Access, leads_out};

/// Locks a lake; `None` if another process has a lock that excludes this one.
pub(super) fn lock(path: &Path, access: Access) -> Result<Option<File>> {
    loop {
        refuse_symlink(path)?;
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::new(ErrorKind::Refused, "is not a file")
                .at(path)
                .hint("move it away"));
        }
        // Network file systems want to read for a shared lock, and to write for the other.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| Error::io("make", path, error))?;
        let locked = match access {
            Access::Alone => file.try_lock(),
            Access::Shared | Access::Look => file.try_lock_shared(),
        };
        match locked {
            // A run that gave up may have removed the file after it was opened here.
            Ok(()) if is_at(&file, path) => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", path, error)),
        }
    }
}

/// Locks a lake to look at it by its file for that; false if another process has a lock that excludes this one.
pub(super) fn look(file: &File, path: &Path) -> Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", path, error)),
    }
}

/// Whether an open file is still the one of this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(named)) => same(file, named),
        _ => false,
    }
}

/// Whether an open file is still the one of this name: elsewhere it cannot be removed while open.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Makes a directory and its parents, lists those that it made, and makes sure that their names are on the disk.
/// The one that was there may have been made by a run that was killed before it did that.
pub(super) fn make_all(path: &Path, made: &mut Vec<PathBuf>) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(Error::new(ErrorKind::Refused, "not a directory")
                .at(path)
                .hint("name a directory for the lake"));
        }
        Err(error) if error.kind() == Io::NotFound => {
            if let Some(parent) = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
            {
                make_all(parent, made)?;
            }
            let one = make_directory(path);
            if one.map_err(|error| error.or_hint("name another directory for the lake"))? {
                made.push(path.to_owned());
            }
        }
        Err(error) => return Err(Error::io("look at", path, error)),
    }
    let Some(above) = above(path) else {
        return Ok(());
    };
    match fsync_directory(above) {
        // A directory outside of the lake that may not be read can't be opened, and so not synced.
        Err(error) if error.kind() == Io::PermissionDenied => Ok(()),
        synced => synced.map_err(|error| Error::io("fsync", above, error)),
    }
}

/// Makes one directory unless it exists; returns whether it did. A symbolic link to one is
/// refused: nothing in a lake may lead out of it.
pub(super) fn make_directory(path: &Path) -> Result<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Io::AlreadyExists => {
            refuse_symlink(path)?;
            Ok(false)
        }
        Err(error) => Err(Error::io("make the directory", path, error)),
    }
}

pub(super) fn refuse_symlink(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(Error::new(
            ErrorKind::Refused,
            "a symbolic link, which could lead out of the lake",
        )
        .at(path)
        .hint("replace it by what it points to")),
        _ => Ok(()),
    }
}

pub(super) fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != Io::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Removes a file, or a directory with everything in it; links are removed, not followed.
pub(super) fn remove_all(path: &Path) -> Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return remove_file(path);
    }
    for name in all_names(path)? {
        remove_all(&path.join(name))?;
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() != Io::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// The directory that has the name of a path; `None` for the root of all.
fn above(path: &Path) -> Option<&Path> {
    let above = path.parent()?;
    match above.as_os_str().is_empty() {
        true => Some(Path::new(".")),
        false => Some(above),
    }
}

/// Makes sure that the names in a directory are on the disk.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    fsync_directory(path).map_err(|error| Error::io("fsync", path, error))
}

fn fsync_directory(path: &Path) -> io::Result<()> {
    // Only Unix can open a directory; elsewhere the rename itself is all there is.
    match cfg!(unix) {
        true => File::open(path)?.sync_all(),
        false => Ok(()),
    }
}

/// The place of a path of a lake; one that leads out of it, as a link may, is refused.
pub(super) fn inside_directory(root: &Path, path: &str) -> Result<PathBuf> {
    let mut place = root.to_owned();
    for component in Path::new(path).components() {
        let Component::Normal(name) = component else {
            return Err(leads_out(path));
        };
        place.push(name);
        refuse_symlink(&place)?;
    }
    Ok(place)
}

/// The names in a directory, sorted; none when it is not there or is a file. A name that is not
/// UTF-8 is none of ours.
pub(super) fn names(path: &Path) -> Result<Vec<String>> {
    let names = all_names(path)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Like [`names`], with non-UTF-8 names.
pub(super) fn all_names(path: &Path) -> Result<Vec<OsString>> {
    match directory::names(path) {
        Ok(names) => Ok(names),
        Err(error) if matches!(error.kind(), Io::NotFound | Io::NotADirectory) => Ok(vec![]),
        Err(error) => Err(Error::io("list", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is refused to the superuser.
    #[cfg(unix)]
    #[test]
    fn a_lake_in_a_directory_that_may_not_be_read_can_be_made() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = |mode| fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode));
        mode(0o300).unwrap();
        let mut made = Vec::new();
        let outcome = make_all(&directory.path().join("new/lake"), &mut made);
        mode(0o700).unwrap();
        outcome.unwrap();
        assert_eq!(made.len(), 2);
    }

    #[test]
    fn a_directory_is_made_with_its_parents_and_removed_with_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        let mut made = Vec::new();
        make_all(&path, &mut made).unwrap();
        make_all(&path, &mut made).unwrap();
        assert_eq!(made, [directory.path().join("a"), path.clone()]);
        fs::write(path.join("file"), "x").unwrap();
        let error = make_all(&path.join("file"), &mut made).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let error = make_all(&path.join("file/below"), &mut made).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);

        assert_eq!(remove_file(&path).unwrap_err().kind(), ErrorKind::Failed);
        remove_file(&path.join("file")).unwrap();
        remove_file(&path.join("file")).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        remove_all(&directory.path().join("a")).unwrap();
        remove_all(&directory.path().join("a")).unwrap();
        assert!(!directory.path().join("a").exists());
    }

    #[test]
    fn names_are_in_the_directory_above() {
        assert_eq!(above(Path::new("lake")), Some(Path::new(".")));
        assert_eq!(above(Path::new("a/lake")), Some(Path::new("a")));
        assert_eq!(above(Path::new("/")), None);
    }
}
