//! The calls to the operating system that a lake on a disk makes. A test keeps a disk in memory behind them.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
#[cfg(target_os = "linux")]
use std::ops::Range;
use std::path::Path;

use tracelake_location::disk;

use super::waits::Waits;

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A file of this many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device.
    Other,
}

/// A file that is being written.
pub(crate) trait Written: Write + Debug + Send {
    /// Makes sure that its bytes are on the disk.
    ///
    /// # Errors
    /// When they aren't: then nothing is known of them, and the file has to be given up.
    fn sync(&mut self) -> io::Result<()>;
}

/// A lock, which is given back when it is dropped.
pub(crate) trait Lock: Debug + Send + Sync {}

/// An operating system's disk. Each call returns the error of the system.
pub(crate) trait System: Debug + Send + Sync {
    /// Makes a file, which must not be there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>>;

    /// Opens a file to read it.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// The kind of what has a name; `None` if nothing has. A link isn't followed.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;

    /// The names in a directory, sorted.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Makes a directory.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes sure that the names in a directory are on the disk.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, in the place of what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a further name, which nothing may have.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Lets two directories exchange their names in one step; [`io::ErrorKind::Unsupported`] where there is no such step.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Removes a file, or a link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Locks a file, which is made if it isn't there; `None` if another process has a lock that excludes this one.
    fn try_lock(&self, path: &Path, is_exclusive: bool) -> io::Result<Option<Box<dyn Lock>>>;

    /// Locks a file for this process alone, as [`System::try_lock`] does, once no other process has a lock on it.
    /// Gives up with [`io::ErrorKind::TimedOut`] after an hour.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>>;
}

/// The operating system of this process.
#[derive(Debug)]
pub(crate) struct Os;

/// Each time a file has grown by this much, the system is asked to start writing it to the disk. Little is then
/// left for the fsync at the end, which may have no other work to overlap with. Two parts of task_usage take
/// 3 % less time.
pub const WRITE_BEHIND: u64 = 4 << 20;

/// A file of this process.
#[derive(Debug)]
struct OsFile {
    file: File,
    bytes: u64,
}

impl Write for OsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let before = self.bytes / WRITE_BEHIND;
        self.bytes += written as u64;
        let now = self.bytes / WRITE_BEHIND;
        if now > before {
            start_writing(&self.file, before * WRITE_BEHIND..now * WRITE_BEHIND);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Written for OsFile {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
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
fn start_writing(_: &File, _: std::ops::Range<u64>) {}

#[derive(Debug)]
struct OsLock {
    file: File,
}

impl Drop for OsLock {
    /// A file that can't be closed would keep its lock until the process ends.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock for OsLock {}

impl System for Os {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(OsFile { file, bytes: 0 }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(File::open(path)?))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        Ok(Some(if found.is_file() {
            Kind::File(found.len())
        } else if found.is_dir() {
            Kind::Directory
        } else if found.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        }))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        disk::names(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        // Only Unix can open a directory; elsewhere the rename itself is all there is.
        match cfg!(unix) {
            true => File::open(path)?.sync_all(),
            false => Ok(()),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn exchange(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let mut waits = Waits::new();
        loop {
            if let Some(lock) = self.try_lock(path, true)? {
                return Ok(lock);
            }
            waits.wait().ok_or(io::ErrorKind::TimedOut)?;
        }
    }

    fn try_lock(&self, path: &Path, is_exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        loop {
            // Network file systems want to read for a shared lock, and to write for the other.
            let mut options = OpenOptions::new();
            let file = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let locked = match is_exclusive {
                true => file.try_lock(),
                false => file.try_lock_shared(),
            };
            match locked {
                // A run that gave up may have removed the file after it was opened here.
                Ok(()) if is_at(&file, path) => return Ok(Some(Box::new(OsLock { file }))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
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
