//! The store that keeps the files of a lake: a directory on a disk, or a prefix of a bucket, which may be in memory.
//!
//! A [`Lake`](super::Lake) knows nothing else of the place it is in. The few operations are those that the commit
//! protocol needs; paths are relative to the lake, with forward slashes.

mod bucket;
mod directories;
mod disk;
mod disk_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, Read, Seek, Write};
use std::path::PathBuf;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Location, Tagged};

use bucket::Bucket;
use disk::Disk;

pub use disk_file::WRITE_BEHIND;

/// Who may work on a lake at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// This process and no other.
    Alone,
    /// Workers that have agreed on a plan.
    Shared,
    /// Others too, but none that has the lake alone; nothing is changed.
    Look,
}

/// How runs that change a lake at the same time are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// A run has the lake alone, by a lock. Only shards share it, and they have put their plan before.
    Lock,
    /// Every run works by the plan that is put if absent, and checks it again before each step.
    Plan,
}

/// Commits of parts that wait while others are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commits {
    /// How many wait at a time, each in a thread.
    pub at_once: usize,
    /// How many parts that are converted wait for one of these threads.
    pub queued: usize,
    /// How many parts a thread commits together, at most.
    pub together: usize,
}

/// The operations on the files of a lake.
pub(super) trait Backend: fmt::Debug + Send + Sync {
    /// The place of the lake.
    fn root(&self) -> &Location;

    /// How runs are kept apart.
    fn agreement(&self) -> Agreement;

    /// Where else a lake could go, for a hint.
    fn elsewhere(&self) -> &'static str;

    /// How many parts wait for the disk or the store while this many are converted.
    fn commits(&self, parts: usize) -> Commits;

    /// Makes a place for a lake; refuses one that holds something else, and changes nothing there.
    fn prepare(&self) -> Result<()>;

    /// Whether there is a lake.
    fn has_lake(&self) -> Result<bool>;

    /// Refuses a place without a lake that holds something else.
    fn check_vacant(&self) -> Result<()>;

    /// Takes the lake, and returns the access that was given; `None` if another process has one that excludes it.
    /// Without locks, every process shares the lake.
    fn lock(&self, access: Access) -> Result<Option<Access>>;

    /// Gives the lake to others.
    fn unlock(&self) -> Result<()>;

    /// Gives up a lake that nothing was put into: removes what was made for it.
    fn undo_prepare(&self);

    /// Reads a small file, with the tag that the store gives to its bytes; `None` if there is none.
    fn read(&self, path: &str) -> Result<Option<Tagged>>;

    /// Shows small files in this order; those that are gone are left out.
    fn read_each(&self, paths: Vec<String>, show: Show<'_>) -> Result<()>;

    /// Opens a small file to read it more than once; `None` if there is none.
    fn open(&self, path: &str) -> Result<Option<Box<dyn Content>>>;

    /// Shows each file below these directories, at any depth, in no order. Of a name that isn't UTF-8, the rest is shown.
    fn list(
        &self,
        directories: &[String],
        show: &mut dyn FnMut(Listed) -> Result<()>,
    ) -> Result<()>;

    /// The files with tags, of all directories; none without a store that gives tags.
    fn list_tagged(&self) -> Result<Vec<Listed>>;

    /// The names in a directory, sorted; none if it isn't there.
    fn names(&self, directory: &str) -> Result<Vec<String>>;

    /// The files of these paths with their tags; those that have none are left out.
    fn look_up(&self, paths: Vec<String>) -> Result<Vec<Listed>>;

    /// The place of a path that a lake names for one of its files; one that leads out of the lake is refused.
    fn inside(&self, path: &str) -> Result<Location>;

    /// Puts a small file where there is none; false if there is one.
    fn put_new(&self, path: &str, bytes: Vec<u8>) -> Result<bool>;

    /// Puts a small file in the place of what has its name.
    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<()>;

    /// Starts a file, which becomes visible as a whole.
    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>>;

    /// Makes sure that names are kept; each of their directories is synced once.
    fn keep_names(&self, names: &NewNames) -> Result<()>;

    /// Makes a file visible, and makes sure that its name is kept.
    fn show(&self, file: Box<dyn Unfinished>) -> Result<Option<String>> {
        let mut names = NewNames::default();
        let tag = file.show(&mut names)?;
        self.keep_names(&names)?;
        Ok(tag)
    }

    /// Removes files for good, in any order; that there are none is no error. A kill leaves some of them.
    fn remove(&self, paths: &[String]) -> Result<()>;

    /// Removes what this process has staged.
    fn clear_own_staging(&self);

    /// Removes what all processes have staged, and returns how many files that were.
    fn clear_staging(&self) -> Result<usize>;

    /// The paths of the journals, in the order in which they count.
    fn journals(&self) -> Result<Vec<String>>;

    /// Continues the journal that was put at `path`.
    fn append_to(&self, path: &str) -> Result<Box<dyn Notes>>;

    /// Starts a journal beside those of other workers, whose first line is `head`.
    fn join_in(&self, head: Vec<u8>) -> Result<Box<dyn Notes>>;
}

/// Reads a file that is shown to it.
pub(super) type Show<'a> = &'a mut dyn FnMut(&mut dyn BufRead) -> Result<()>;

/// The bytes of a small file.
pub(super) trait Content: Read + Seek {}

impl<T: Read + Seek> Content for T {}

/// A file being written, which isn't visible; it goes away when dropped.
pub(super) trait Unfinished: Write + fmt::Debug + Send {
    /// Makes sure that its bytes are kept, on the disk or in the store. If that fails, the file is given up.
    fn close(&mut self) -> Result<()>;

    /// Makes sure that its bytes are kept, and that it takes next to no memory until it is shown.
    fn set_aside(&mut self) -> Result<()>;

    /// Makes it visible, in the place of what had its name; returns the tag that the store gives to its bytes. The names
    /// that this makes on a disk are added to `names`.
    fn show(self: Box<Self>, names: &mut NewNames) -> Result<Option<String>>;
}

/// Names that were made on a disk, and that a power cut may undo until their directories are synced.
#[derive(Debug, Default)]
pub(super) struct NewNames {
    directories: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

/// A journal: the facts that one process notes.
pub(super) trait Notes: fmt::Debug + Send + Sync {
    /// Adds a line, which a bucket keeps by its name.
    fn note(&self, name: &str, line: &[u8]) -> Result<()>;
}

/// The backend of the lake at `root`.
pub(super) fn backend(root: &Location) -> Box<dyn Backend> {
    match root {
        Location::Disk(path) => Box::new(Disk::new(path)),
        Location::Url(url) => Box::new(Bucket::new(url)),
    }
}

fn something_else(root: &Location) -> Error {
    Error::new(ErrorKind::Refused, "the directory holds something else")
        .at(root)
        .hint("name an empty or new directory for the lake")
}

fn leads_out(path: &str) -> Error {
    Error::new(ErrorKind::Refused, "a path that leads out of the lake").at(path)
}
