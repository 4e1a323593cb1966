//! Directories, links, removals and fsync, for [`super::Lake`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind as Io};
use std::path::{Component, Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::{CELL, FILE_NUMBER};
use tracelake_location::{Location, directory};
use tracelake_source::{open_small, read_small};

use super::outputs::{OUTPUTS, ends_in, is_output};
use crate::manifest::{MOST_BYTES, REJECTS, stays_below};

/// Who may work on a lake at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// This process and no other.
    Alone,
    /// Workers that have agreed on a plan.
    Shared,
}

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
            .open(path);
        let file = file.map_err(|error| Error::io("make", path, error))?;
        let locked = match access {
            Access::Alone => file.try_lock(),
            Access::Shared => file.try_lock_shared(),
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

/// Reads a file of the lake's home; `None` if there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    refuse_symlink(path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        _ => read_small(path, MOST_BYTES).map(Some),
    }
}

/// Opens a file of the lake's home; `None` if there is no such file.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it is too large; if it is a link, not a file, or can't be opened.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>> {
    refuse_symlink(path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        _ => open_small(path, MOST_BYTES).map(Some),
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

/// Makes sure that the name of a file or directory is on the disk.
pub(super) fn sync_name(path: &Path) -> Result<()> {
    above(path).map_or(Ok(()), sync_directory)
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

/// The place of a path that a lake names for one of its files; a manifest may come from strangers,
/// so a path or a link that leads out of the lake is refused.
///
/// # Errors
/// [`ErrorKind::Refused`].
pub fn inside(root: &Location, path: &str) -> Result<Location> {
    if let Location::Url(_) = root {
        return match stays_below(path) {
            true => Ok(root.join(path)),
            false => Err(leads_out(path)),
        };
    }
    inside_directory(&PathBuf::from(root), path).map(Location::Disk)
}

fn leads_out(path: &str) -> Error {
    Error::new(ErrorKind::Refused, "a path that leads out of the lake").at(path)
}

/// Like [`inside`], on disk.
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

/// See [`super::files`].
pub(super) fn files(root: &Path, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut list = |directory: &str, suffixes: &[&str]| -> Result<()> {
        let parts = names(&inside_directory(root, directory)?)?.into_iter();
        let parts = parts.filter(|name| name.starts_with("part-") && ends_in(name, suffixes));
        files.extend(parts.map(|name| format!("{directory}/{name}")));
        Ok(())
    };
    for table in tables {
        for directory in with_cells(root, table)? {
            list(&directory, OUTPUTS)?;
            for name in names(&inside_directory(root, &directory)?)? {
                if name.starts_with(FILE_NUMBER) {
                    list(&format!("{directory}/{name}"), OUTPUTS)?;
                }
            }
        }
        for directory in with_cells(root, &format!("{REJECTS}/{table}"))? {
            list(&directory, &[".ndjson"])?;
        }
    }
    Ok(files)
}

/// A directory of a table, and those of cells in it.
fn with_cells(root: &Path, directory: &str) -> Result<Vec<String>> {
    let names = names(&inside_directory(root, directory)?)?.into_iter();
    let cells = names.filter(|name| name.starts_with(CELL));
    let cells = cells.map(|name| format!("{directory}/{name}"));
    Ok(std::iter::once(directory.to_owned()).chain(cells).collect())
}

/// See [`super::foreign_files`].
pub(super) fn foreign_files(root: &Path, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut foreign = Vec::new();
    for table in tables {
        let mut directories = vec![(*table).to_owned()];
        while let Some(directory) = directories.pop() {
            let path = inside_directory(root, &directory)?;
            for name in all_names(&path)? {
                let shown = name.to_string_lossy();
                let file = format!("{directory}/{shown}");
                if name.to_str().is_none() {
                    foreign.push(file);
                    continue;
                }
                let is_directory = path
                    .join(&name)
                    .symlink_metadata()
                    .is_ok_and(|it| it.is_dir());
                if is_directory {
                    directories.push(file);
                } else if !is_output(&file) {
                    foreign.push(file);
                }
            }
        }
    }
    Ok(foreign)
}

/// The names in a directory, sorted; none when it is not there or is a file. A name that is not
/// UTF-8 is none of ours.
pub(super) fn names(path: &Path) -> Result<Vec<String>> {
    let names = all_names(path)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Like [`names`], with non-UTF-8 names.
fn all_names(path: &Path) -> Result<Vec<OsString>> {
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
}
