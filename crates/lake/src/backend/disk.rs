//! A lake in a directory of a disk: files are staged, synced and renamed.
//!
//! Two locks keep processes apart: `work` is held by each run to its end, and `lock` for moments, in which the manifest is
//! swapped, or `work` is taken or changed.

use std::collections::BTreeSet;
use std::io::{ErrorKind as Io, Read};
use std::path::Path;
use std::sync::Arc;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Location, Tag};

use super::directories::{Directories, not_a_directory};
use super::staged_file::StagedFile;
use super::system::{Kind, Lock, System};
use super::{Backend, Commits, Held, Hold, Left, NewNames, Stored, Unfinished, Version};
use crate::backend::waits::TRIALS;
use crate::rules::{Rule, holds};
use crate::{FACTS, HOME, LOCK, PLANS, STAGING, WORK};

/// How many threads wait for the disk while others convert. A disk syncs several files in little more time than one, and
/// most take longer to sync a small part than it takes to convert. `docs/design.md` has the measurement.
const COMMITS: usize = 16;

/// How many parts such a thread commits together, at most.
const COMMITS_TOGETHER: usize = 4;

/// A lake in a directory.
#[derive(Debug)]
pub(crate) struct Disk {
    location: Location,
    directories: Directories,
}

impl Disk {
    pub(crate) fn new(root: &Path, system: Arc<dyn System>) -> Self {
        Self {
            location: root.into(),
            directories: Directories::new(root, system),
        }
    }
}

impl Disk {
    /// Makes the directory of the lake and takes `lock`; starts over if another run, which leaves nothing behind, has just
    /// removed the directory.
    fn lock_home(&self) -> Result<Box<dyn Lock>> {
        let home = self.directories.place(HOME)?;
        for _ in 1..TRIALS {
            self.directories.make_all(&self.directories.root)?;
            if self.directories.make_directory(&home)? {
                self.directories.known().made.push(home.clone());
            }
            match self.directories.lock() {
                Err(_) if self.directories.kind(&home)?.is_none() => {}
                locked => return locked,
            }
        }
        self.directories.lock()
    }
}

impl Backend for Disk {
    fn root(&self) -> &Location {
        &self.location
    }

    fn is_disk(&self) -> bool {
        true
    }

    /// With a queue, no thread waits until another is awake: 500 parts of job_events take 8 % less time.
    fn commits(&self, _: usize) -> Commits {
        Commits {
            at_once: COMMITS,
            queued: COMMITS,
            together: COMMITS_TOGETHER,
        }
    }

    fn hold(&self, hold: Hold) -> Result<Option<Box<dyn Held>>> {
        let staging = self.directories.place(STAGING)?;
        if self
            .directories
            .kind(&staging)?
            .is_some_and(|kind| kind != Kind::Directory)
        {
            return Err(not_a_directory(&staging).hint("move it away"));
        }
        let _lock = self.lock_home()?;
        let work = self.directories.try_work(hold)?;
        Ok(work.map(|work| {
            Box::new(DiskHold {
                directories: self.directories.clone(),
                work: Some(work),
            }) as _
        }))
    }

    fn get(&self, path: &str, limit: u64) -> Result<Option<Stored>> {
        let Some(place) = self.directories.existing(path)? else {
            return Ok(None);
        };
        let read = self.directories.read(&place, limit)?;
        Ok(read.map(|bytes| Stored::new(bytes, Tag::default())))
    }

    fn get_all(&self, paths: &[String], limit: u64) -> Result<Vec<Option<Vec<u8>>>> {
        let read = paths
            .iter()
            .map(|path| Ok(self.get(path, limit)?.map(|found| found.bytes)));
        read.collect()
    }

    fn inside(&self, path: &str) -> Result<Location> {
        self.directories.place(path).map(Location::Disk)
    }

    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>> {
        let Some(place) = self.directories.existing(path)? else {
            return Ok(None);
        };
        match self.directories.system.open(&place) {
            // It was there a moment ago.
            Err(error) if error.kind() == Io::NotFound => Ok(None),
            opened => opened
                .map(Some)
                .map_err(|error| Error::io("open", &place, error)),
        }
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>> {
        let place = self.directories.place(directory)?;
        let mut files = Vec::new();
        for name in self.directories.names(&place)? {
            let shown = name.to_string_lossy();
            let path = match directory.is_empty() {
                true => shown.into_owned(),
                false => format!("{directory}/{shown}"),
            };
            match self.directories.kind(&place.join(&name))? {
                Some(Kind::Directory) if name.to_str().is_some() => {
                    files.append(&mut self.list(&path)?)
                }
                Some(Kind::File(bytes)) => files.push(Listed {
                    path,
                    bytes,
                    etag: None,
                }),
                _ => files.push(Listed {
                    path,
                    bytes: 0,
                    etag: None,
                }),
            }
        }
        Ok(files)
    }

    fn list_named(&self, names: &BTreeSet<&str>, above: &str) -> Result<Vec<Listed>> {
        let mut files = Vec::new();
        for (directory, prefix) in [("", String::new()), (above, format!("{above}/"))] {
            for found in self
                .directories
                .names(&self.directories.place(directory)?)?
            {
                let found = found.to_str().filter(|name| names.contains(name));
                if let Some(name) = found {
                    files.append(&mut self.list(&format!("{prefix}{name}"))?);
                }
            }
        }
        Ok(files)
    }

    fn look_up(&self, paths: &[String]) -> Result<Vec<Listed>> {
        let mut found = Vec::new();
        for path in paths {
            if let Some(Kind::File(bytes)) =
                self.directories.kind(&self.directories.place(path)?)?
            {
                found.push(Listed {
                    path: path.clone(),
                    bytes,
                    etag: None,
                });
            }
        }
        Ok(found)
    }

    fn put_if_absent(&self, objects: Vec<(String, Vec<u8>)>) -> Result<Vec<Result<bool>>> {
        let mut names = NewNames::default();
        let mut staged = Vec::new();
        for (path, bytes) in objects {
            staged.push(StagedFile::of_bytes(&self.directories, &path, &bytes));
        }
        let put = staged.into_iter();
        let put = put.map(|file| file?.link(&mut names)).collect();
        if holds(Rule::FactsAreSynced) {
            self.directories.sync_names(&names)?;
        }
        Ok(put)
    }

    fn swap(&self, path: &str, known: &Version, bytes: Vec<u8>) -> Result<bool> {
        let file = StagedFile::of_bytes(&self.directories, path, &bytes)?;
        let _lock = match holds(Rule::SwapIsLocked) {
            true => Some(self.directories.lock()?),
            false => None,
        };
        let read = || {
            self.directories
                .read(&self.directories.place(path)?, u64::MAX - 1)
        };
        if read()?.is_none_or(|found| Digest::of(&found) != known.sha256) {
            return Ok(false);
        }
        let mut names = NewNames::default();
        Box::new(file).show(&mut names)?;
        self.directories.sync_names(&names)?;
        match read()? == Some(bytes) {
            true => Ok(true),
            false => Err(Error::new(ErrorKind::Failed, "isn't what was written")
                .at(self.location.join(path))),
        }
    }

    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>> {
        Ok(Box::new(StagedFile::create(&self.directories, path)?))
    }

    fn show(&self, files: Vec<Box<dyn Unfinished>>) -> Result<Vec<Result<()>>> {
        let mut names = NewNames::default();
        let shown = files
            .into_iter()
            .map(|file| file.show(&mut names))
            .collect();
        if holds(Rule::OutputsAreSynced) {
            self.directories.sync_names(&names)?;
        }
        Ok(shown)
    }

    fn keep_names(&self, paths: &[String]) -> Result<()> {
        if !holds(Rule::NamesOfOthersAreSynced) {
            return Ok(());
        }
        let mut names = NewNames::default();
        for path in paths {
            let target = self.directories.place(path)?;
            let ancestors = target.ancestors().skip(1);
            let above = ancestors.take_while(|&above| above != self.directories.root);
            names.directories.extend(above.map(Path::to_owned));
            names.files.insert(target);
        }
        self.directories.sync_names(&names)
    }

    /// After a power cut, they don't come back.
    fn remove(&self, paths: &[String]) -> Result<()> {
        self.directories.known().synced.clear();
        let above = paths
            .iter()
            .map(|path| self.directories.remove_file(path))
            .collect::<Result<BTreeSet<_>>>()?;
        // Once each: to ask whether a large directory is empty takes as long as to list it.
        let changed: BTreeSet<_> = above
            .into_iter()
            .map(|directory| self.directories.remove_if_empty(directory))
            .collect();
        changed
            .iter()
            .try_for_each(|directory| self.directories.sync_directory(directory))
    }

    fn clear_staging(&self, of_all: bool) -> Result<usize> {
        let own = self.directories.known().staging.take();
        if let Some(directory) = own {
            self.directories.remove_all(&directory)?;
        }
        let all = self.directories.place(STAGING)?;
        match of_all {
            true => self.directories.remove_all(&all),
            false => {
                // The last process that leaves removes it, since a directory that isn't empty stays.
                let _ = self.directories.system.remove_directory(&all);
                Ok(0)
            }
        }
    }
}

/// A lake on a disk that this process has.
#[derive(Debug)]
struct DiskHold {
    directories: Directories,
    work: Option<Box<dyn Lock>>,
}

impl Held for DiskHold {
    fn if_alone(&mut self, act: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let _lock = self.directories.lock()?;
        self.work = None;
        let acted = self
            .directories
            .try_work(Hold::Alone)?
            .map_or(Ok(()), |_alone| act());
        // No process can take it in between: that needs `lock`, too.
        self.work = self.directories.try_work(Hold::Shared)?;
        acted
    }

    fn leave(mut self: Box<Self>, act: &mut dyn FnMut() -> Result<Left>) -> Result<()> {
        let lock = self.directories.lock()?;
        self.work = None;
        let Some(alone) = self.directories.try_work(Hold::Alone)? else {
            return Ok(());
        };
        if act()? == Left::Lake {
            // A killed run may have removed the last file of each, and not the directory.
            let mut directories = [FACTS, PLANS].into_iter();
            return directories.try_for_each(|path| self.directories.remove_empty(path));
        }
        // Best effort: empty directories are no lake.
        for path in [WORK, LOCK] {
            let _ = self
                .directories
                .place(path)
                .map(|place| self.directories.system.remove_file(&place));
        }
        for directory in self.directories.known().made.iter().rev() {
            let _ = self.directories.system.remove_directory(directory);
        }
        drop((alone, lock));
        Ok(())
    }
}
