//! The store that keeps the files of a lake: a directory on a disk, or a prefix of a bucket.
//!
//! These operations are all that the commit protocol needs. Paths are relative to the lake, with forward slashes.

mod bucket;
mod directories;
pub(crate) mod disk;
mod open;
mod staged_file;
pub(crate) mod system;
mod tests;
pub(crate) mod waits;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::path::PathBuf;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Location, Tag};

pub(crate) use open::backend;
pub use system::WRITE_BEHIND;

/// The bytes of a small object, and which version of it they are.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: Version,
}

/// A version of an object, to swap it for the next one.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    /// The SHA-256 of its bytes, by which a disk knows it.
    pub(crate) sha256: Digest,
    /// The tag by which a bucket knows it.
    pub(crate) tag: Tag,
}

impl Stored {
    pub(crate) fn new(bytes: Vec<u8>, tag: Tag) -> Self {
        let sha256 = Digest::of(&bytes);
        Self {
            bytes,
            version: Version { sha256, tag },
        }
    }
}

impl Version {
    /// A version that no object has.
    pub(crate) fn of_nothing() -> Self {
        Self {
            sha256: Digest::of(b""),
            tag: Tag::of_nothing(),
        }
    }
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

/// Whether a process shares a lake on a disk or has it alone. A bucket has no locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Beside other runs.
    Shared,
    /// Alone.
    Alone,
}

/// A lake that a process has, until this is dropped.
pub(crate) trait Held: Debug + Send + Sync {
    /// Calls `act` if no other process has the lake, and keeps others out until it returns.
    fn if_alone(&mut self, act: &mut dyn FnMut() -> Result<()>) -> Result<()>;

    /// Gives the lake up, after a call of `act` if no other process has it. If `act` says that nothing is left of the lake,
    /// what was made for it goes too.
    fn leave(self: Box<Self>, act: &mut dyn FnMut() -> Result<Left>) -> Result<()>;
}

/// Whether a run leaves anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// A lake, finished or not.
    Lake,
    /// Nothing.
    Nothing,
}

/// Names that were made on a disk, and that a power cut may undo until their directories are synced.
#[derive(Debug, Default)]
pub(crate) struct NewNames {
    directories: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
}

/// The operations on the files of a lake.
pub(crate) trait Backend: Debug + Send + Sync {
    /// The place of the lake.
    fn root(&self) -> &Location;

    /// Whether other processes' outputs are believed only by their digests, and a new lake may replace an old one.
    fn is_disk(&self) -> bool;

    /// How many parts wait for the disk or the store while this many are converted.
    fn commits(&self, parts: usize) -> Commits;

    /// Takes the lake; `None` if another process has it in a way that excludes this one.
    fn hold(&self, hold: Hold) -> Result<Option<Box<dyn Held>>>;

    /// Reads a small object; `None` if there is none.
    fn get(&self, path: &str, limit: u64) -> Result<Option<Stored>>;

    /// Reads small objects; `None` for one that isn't there.
    fn get_all(&self, paths: &[String], limit: u64) -> Result<Vec<Option<Vec<u8>>>>;

    /// The place of a path of the lake; one that leads out of it is refused.
    fn inside(&self, path: &str) -> Result<Location>;

    /// Opens an object to read it from front to back; `None` if there is none.
    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>>;

    /// The files below this directory, at any depth and in any order; `""` is the lake. Of a name that isn't UTF-8, the rest
    /// is there.
    fn list(&self, directory: &str) -> Result<Vec<Listed>>;

    /// The files below those directories of the lake, and below those of `above`, that have one of these names.
    fn list_named(&self, names: &BTreeSet<&str>, above: &str) -> Result<Vec<Listed>>;

    /// The files of these paths, with their sizes; those that aren't there are left out.
    fn look_up(&self, paths: &[String]) -> Result<Vec<Listed>>;

    /// Puts small objects, each where there is none; false for one whose name is taken.
    fn put_if_absent(&self, objects: Vec<(String, Vec<u8>)>) -> Result<Vec<Result<bool>>>;

    /// Puts a small object in the place of a version of it; false if another version is there, or nothing.
    fn swap(&self, path: &str, known: &Version, bytes: Vec<u8>) -> Result<bool>;

    /// Starts a file that stays invisible until it is shown.
    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>>;

    /// Shows files under their names, in the place of what has them, for good.
    fn show(&self, files: Vec<Box<dyn Unfinished>>) -> Result<Vec<Result<()>>>;

    /// Makes sure that the names of files that other processes have shown are kept.
    fn keep_names(&self, paths: &[String]) -> Result<()>;

    /// Removes files for good, in any order; that there are none is no error. Directories go with their last file.
    fn remove(&self, paths: &[String]) -> Result<()>;

    /// Removes what this process has staged, or what all have; returns how many files of others that were.
    fn clear_staging(&self, of_all: bool) -> Result<usize>;
}

/// A file being written, which isn't visible; it goes away when dropped.
pub(crate) trait Unfinished: Write + Debug + Send {
    /// Makes sure that its bytes are kept, on the disk or in the store. If that fails, the file is given up.
    fn close(&mut self) -> Result<()>;

    /// Makes sure that its bytes are kept, and that it takes next to no memory until it is shown.
    fn set_aside(&mut self) -> Result<()>;

    /// Makes it visible, in the place of what has its name. The names that this makes on a disk are added to `names`.
    fn show(self: Box<Self>, names: &mut NewNames) -> Result<()>;
}

/// The paths of listed files.
pub(crate) fn paths_of(files: Vec<Listed>) -> Vec<String> {
    files.into_iter().map(|file| file.path).collect()
}

fn leads_out(path: &str) -> Error {
    Error::new(ErrorKind::Refused, "a path that leads out of the lake").at(path)
}
