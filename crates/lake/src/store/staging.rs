//! Files being written: staged, synced, renamed. The types keep these steps in order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as Io, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use sha2::{Digest, Sha256};
use tracelake_core::error::{Error, Result};
use tracelake_core::seal::hex;
use tracelake_location::{Location, Upload};

use super::disk::{inside_directory, make_directory, remove_all, sync_directory, sync_name};
use super::{Lake, STAGING};
use crate::manifest::FileFacts;

/// Each time a file has grown by this much, the system is asked to start writing it to the disk. Little is then
/// left for the fsync at the end, which may have no other work to overlap with. Two parts of task_usage take
/// 3 % less time.
pub const WRITE_BEHIND: u64 = 4 << 20;

impl Lake {
    /// Starts a file that will become `path`, which is relative to the lake.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn stage(&self, path: &str) -> Result<Staging> {
        if let Location::Url(root) = self.root() {
            return Ok(Staging {
                target: path.to_owned(),
                file: Target::Bucket(Box::new(root.join(path).upload()?)),
                digest: Sha256::new(),
                bytes: 0,
            });
        }
        let staged = self.staging_directory()?.join(path.replace('/', "-"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staged);
        let file = file.map_err(|error| Error::io("make", &staged, error))?;
        Ok(Staging {
            target: path.to_owned(),
            file: Target::Disk(TempPathGuard::new(staged), file),
            digest: Sha256::new(),
            bytes: 0,
        })
    }

    /// The directory for the staged files of this process, which no other process uses: the first
    /// free number.
    fn staging_directory(&self) -> Result<PathBuf> {
        let own = self.staging.lock();
        let mut own = own.unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = &*own {
            return Ok(directory.clone());
        }
        let all = self.home(STAGING);
        make_directory(&all)?;
        let mut number = 0_u64;
        loop {
            let directory = all.join(number.to_string());
            match fs::create_dir(&directory) {
                Ok(()) => return Ok(own.insert(directory).clone()),
                Err(error) if error.kind() == Io::AlreadyExists => number += 1,
                // Another process has just left, and was the last one there.
                Err(error) if error.kind() == Io::NotFound => {
                    make_directory(&all)?;
                }
                Err(error) => return Err(Error::io("make the directory", &directory, error)),
            }
        }
    }

    /// Removes what this process has staged.
    pub(super) fn clear_own_staging(&self) {
        if self.root().as_path().is_none() {
            return;
        }
        let own = self.staging.lock();
        if let Some(directory) = own.unwrap_or_else(PoisonError::into_inner).take() {
            // Best effort: the next process that has the lake alone clears all of the staging directory. The last
            // process that leaves removes it, since a directory that isn't empty stays.
            let _ = remove_all(&directory);
            let _ = fs::remove_dir(self.home(STAGING));
        }
    }

    /// Puts a staged file under its name, replacing what was there.
    ///
    /// # Errors
    /// When the disk fails; the file is then not there, or whole.
    pub fn commit(&self, staged: Staged) -> Result<Committed> {
        let Staged { facts, file } = staged;
        let path = match file {
            StagedFile::Disk(path) => path,
            StagedFile::Bucket(upload) => {
                self.check_plan()?;
                let etag = upload.complete()?;
                return Ok(Committed { facts, etag });
            }
        };
        let root = self.directory();
        let target = inside_directory(root, &facts.path)?;
        let parents: Vec<_> = target.ancestors().skip(1).collect();
        let within = parents
            .iter()
            .rev()
            .skip_while(|parent| **parent != root)
            .skip(1);
        for directory in within {
            make_directory(directory)?;
            self.sync_name(directory)?;
        }
        path.rename(&target)?;
        sync_directory(target.parent().unwrap_or(root))?;
        Ok(Committed { facts, etag: None })
    }

    /// Makes sure that the name of a directory in the lake is on the disk. Another thread or process may have made
    /// the directory, and not done this yet.
    fn sync_name(&self, directory: &Path) -> Result<()> {
        let synced = || self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if synced().contains(directory) {
            return Ok(());
        }
        sync_name(directory)?;
        synced().insert(directory.to_owned());
        Ok(())
    }

    /// Writes a file, whole or not at all; the path is relative to the lake.
    pub(super) fn write_whole(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut staging = self.stage(path)?;
        staging
            .write_all(bytes)
            .map_err(|error| Error::disk("write", error).at(self.root().join(path)))?;
        self.commit(staging.close()?)?;
        Ok(())
    }
}

/// A file being written; it goes away when dropped.
#[derive(Debug)]
pub struct Staging {
    target: String,
    file: Target,
    digest: Sha256,
    bytes: u64,
}

#[derive(Debug)]
enum Target {
    Disk(TempPathGuard, File),
    Bucket(Box<Upload>),
}

impl Staging {
    /// Makes sure that the file is on the disk.
    ///
    /// # Errors
    /// When the disk fails; a failed fsync is final, the file is given up.
    pub fn close(self) -> Result<Staged> {
        let file = match self.file {
            Target::Disk(path, file) => {
                file.sync_all()
                    .map_err(|error| Error::io("fsync", &path.path, error))?;
                StagedFile::Disk(path)
            }
            Target::Bucket(mut upload) => {
                upload.flush()?;
                StagedFile::Bucket(upload)
            }
        };
        let sha256 = hex(&self.digest.finalize());
        let facts = FileFacts {
            path: self.target,
            bytes: self.bytes,
            sha256,
        };
        Ok(Staged { facts, file })
    }
}

impl Write for Staging {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.file {
            Target::Disk(_, file) => file.write(bytes)?,
            Target::Bucket(upload) => {
                upload.write(bytes).map_err(io::Error::other)?;
                bytes.len()
            }
        };
        self.digest.update(&bytes[..written]);
        let before = self.bytes;
        self.bytes += written as u64;
        let (block, next) = (before / WRITE_BEHIND, self.bytes / WRITE_BEHIND);
        if let Target::Disk(_, file) = &self.file
            && next > block
        {
            start_writing(file, block * WRITE_BEHIND..next * WRITE_BEHIND);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Target::Disk(_, file) => file.flush(),
            Target::Bucket(_) => Ok(()),
        }
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

/// A file that is whole and on the disk, but not under its name; it goes away when dropped.
#[derive(Debug)]
pub struct Staged {
    facts: FileFacts,
    file: StagedFile,
}

#[derive(Debug)]
enum StagedFile {
    Disk(TempPathGuard),
    /// Sent, but not visible yet.
    Bucket(Box<Upload>),
}

/// A file under its name; made by [`Lake::commit`] alone.
#[derive(Debug)]
pub struct Committed {
    facts: FileFacts,
    etag: Option<String>,
}

impl Committed {
    /// Its path in the lake, size and digest.
    #[must_use]
    pub fn into_facts(self) -> FileFacts {
        self.facts
    }

    /// Its path, and what the store names its content by; `None` on disk.
    #[must_use]
    pub fn etag(&self) -> Option<(String, String)> {
        Some((self.facts.path.clone(), self.etag.clone()?))
    }
}

/// A path that is removed when dropped, unless it was renamed.
#[derive(Debug)]
struct TempPathGuard {
    path: PathBuf,
    is_renamed: bool,
}

impl TempPathGuard {
    fn new(path: PathBuf) -> Self {
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
