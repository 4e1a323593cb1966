//! Files on a disk that are being written: staged, synced and renamed; and journals, which aren't synced.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracelake_core::error::{Error, Result};
use tracelake_core::part_key::FILE_NUMBER;

use super::directories::{inside_directory, make_directory, sync_directory};
use super::{NewNames, Notes, Unfinished};

/// Each time a file has grown by this much, the system is asked to start writing it to the disk. Little is then
/// left for the fsync at the end, which may have no other work to overlap with. Two parts of task_usage take
/// 3 % less time.
pub const WRITE_BEHIND: u64 = 4 << 20;

/// The directories of a lake of whose names this process knows that they are on the disk. Those of single parts aren't
/// kept: nothing else comes into them, and a lake has as many as parts.
#[derive(Debug, Clone, Default)]
pub(super) struct SyncedNames(Arc<Mutex<BTreeSet<PathBuf>>>);

impl SyncedNames {
    /// Whether the name of a directory is known to be on the disk.
    fn has(&self, directory: &Path) -> bool {
        self.lock().contains(directory)
    }

    /// Makes sure that names are on the disk.
    pub(super) fn sync(&self, names: &NewNames) -> Result<()> {
        let all = names.directories.iter().chain(&names.files);
        let parents: BTreeSet<&Path> = all.filter_map(|name| name.parent()).collect();
        parents.into_iter().try_for_each(sync_directory)?;
        let is_of_part = |directory: &Path| {
            let name = directory.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with(FILE_NUMBER))
        };
        let shared = names.directories.iter().filter(|name| !is_of_part(name));
        self.lock().extend(shared.cloned());
        Ok(())
    }

    /// Forgets all names, because some directories may be gone.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A staged file.
#[derive(Debug)]
pub(super) struct StagedFile {
    pub(super) root: PathBuf,
    /// The path that it will have, relative to the root.
    pub(super) target: String,
    pub(super) staged: TempPathGuard,
    /// Gone once it is synced.
    pub(super) file: Option<File>,
    pub(super) bytes: u64,
    pub(super) synced: SyncedNames,
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let written = file.write(bytes)?;
        let before = self.bytes;
        self.bytes += written as u64;
        let (block, next) = (before / WRITE_BEHIND, self.bytes / WRITE_BEHIND);
        if next > block {
            start_writing(file, block * WRITE_BEHIND..next * WRITE_BEHIND);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Unfinished for StagedFile {
    fn close(&mut self) -> Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let synced = file.sync_all();
        synced.map_err(|error| Error::io("fsync", &self.staged.path, error))
    }

    /// A closed file isn't open any more.
    fn set_aside(&mut self) -> Result<()> {
        self.close()
    }

    fn show(mut self: Box<Self>, names: &mut NewNames) -> Result<Option<String>> {
        self.close()?;
        let target = inside_directory(&self.root, &self.target)?;
        let ancestors = target.ancestors().skip(1);
        let above: Vec<&Path> = ancestors.take_while(|&above| above != self.root).collect();
        for directory in above.into_iter().rev() {
            if !self.synced.has(directory) && !names.directories.contains(directory) {
                // Another thread or process may have made it, and not synced its name yet.
                make_directory(directory)?;
                names.directories.insert(directory.to_owned());
            }
        }
        self.staged.rename(&target)?;
        names.files.insert(target);
        Ok(None)
    }
}

/// Asks the system to start writing a range of a file to the disk, and doesn't wait until it is written. If that
/// fails, the fsync at the end says so, as for any other write.
#[cfg(target_os = "linux")]
fn start_writing(file: &File, range: Range<u64>) {
    // With this advice, Linux starts writing the changed pages of the range, then drops from its cache those that
    // are on the disk. Changed pages are never dropped.
    let length = NonZeroU64::new(range.end - range.start);
    let _ = rustix::fs::fadvise(file, range.start, length, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn start_writing(_: &File, _: Range<u64>) {}

/// A path that is removed when dropped, unless it was renamed.
#[derive(Debug)]
pub(super) struct TempPathGuard {
    path: PathBuf,
    is_renamed: bool,
}

impl TempPathGuard {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            is_renamed: false,
        }
    }

    fn rename(mut self, target: &Path) -> Result<()> {
        fs::rename(&self.path, target).map_err(|error| Error::io("rename to", target, error))?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for TempPathGuard {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A journal that is a file. It isn't synced.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    file: Mutex<File>,
}

impl Lines {
    pub(super) fn new(path: PathBuf, file: File) -> Self {
        let file = Mutex::new(file);
        Self { path, file }
    }
}

impl Notes for Lines {
    fn note(&self, _: &str, line: &[u8]) -> Result<()> {
        // A thread that panicked while it held the file has not torn a line.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(line);
        written.map_err(|error| Error::io("write", &self.path, error))
    }
}
