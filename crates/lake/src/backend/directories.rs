//! The directories of a lake on a disk: what is made, read, synced, locked and removed below OUT.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind as Io, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::FILE_NUMBER;

use super::system::{Kind, Lock, System};
use super::{Hold, NewNames, leads_out};
use crate::{LOCK, STAGING, WORK};

/// A directory of a disk, and what is below it.
#[derive(Debug, Clone)]
pub(super) struct Directories {
    pub(super) root: PathBuf,
    pub(super) system: Arc<dyn System>,
    known: Arc<Mutex<Known>>,
}

/// The directories of a lake that a process knows of.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The directories that it made for the lake, outermost first.
    pub(super) made: Vec<PathBuf>,
    /// The one for its staged files.
    pub(super) staging: Option<PathBuf>,
    /// Those whose names are on the disk. Those of single parts aren't kept: nothing else comes into them, and a lake has
    /// as many as parts.
    pub(super) synced: BTreeSet<PathBuf>,
}

impl Directories {
    pub(super) fn new(root: &Path, system: Arc<dyn System>) -> Self {
        Self {
            root: root.to_owned(),
            system,
            known: Arc::default(),
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a path of the lake. Nothing of the lake is read, made or removed but through this: a link below OUT
    /// could lead anywhere.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it leads out of the lake, or any directory above it does.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf> {
        let mut place = self.root.clone();
        for component in Path::new(path).components() {
            let Component::Normal(name) = component else {
                return Err(leads_out(path));
            };
            place.push(name);
            if self.kind(&place)? == Some(Kind::Link) {
                let reason = "a symbolic link, which could lead out of the lake";
                return Err(Error::new(ErrorKind::Refused, reason)
                    .at(&place)
                    .hint("replace it by what it points to"));
            }
        }
        Ok(place)
    }

    pub(super) fn kind(&self, place: &Path) -> Result<Option<Kind>> {
        match self.system.kind(place) {
            // Below a file there is nothing.
            Err(error) if error.kind() == Io::NotADirectory => Ok(None),
            kind => kind.map_err(|error| Error::io("look at", place, error)),
        }
    }

    /// The place of a file of the lake; `None` if there is nothing.
    pub(super) fn existing(&self, path: &str) -> Result<Option<PathBuf>> {
        let place = self.place(path)?;
        match self.kind(&place)? {
            None => Ok(None),
            Some(Kind::File(_)) => Ok(Some(place)),
            Some(_) => Err(Error::new(ErrorKind::Refused, "is not a file")
                .at(&place)
                .hint("move it away")),
        }
    }

    pub(super) fn names(&self, place: &Path) -> Result<Vec<OsString>> {
        match self.system.names(place) {
            Err(error) if error.kind() == Io::NotFound => Ok(vec![]),
            Err(error) if error.kind() == Io::NotADirectory => match self.kind(place)? {
                Some(_) if place == self.root => Err(not_a_directory(place)),
                _ => Ok(vec![]),
            },
            names => names.map_err(|error| Error::io("list", place, error)),
        }
    }

    /// Makes a directory and its parents, notes those that it made, and makes sure that their names are on the disk. The
    /// one that was there may have been made by a run that was killed before it did that.
    pub(super) fn make_all(&self, place: &Path) -> Result<()> {
        let above = match place.parent() {
            Some(above) if above.as_os_str().is_empty() => Path::new("."),
            Some(above) => above,
            None => return Ok(()),
        };
        match self.kind(place)? {
            Some(Kind::Directory) => {}
            // OUT may be a link to a directory, or be below one.
            Some(Kind::Link) if self.system.names(place).is_ok() => {}
            Some(_) => return Err(not_a_directory(place)),
            None => {
                self.make_all(above)?;
                let made = self.make_directory(place);
                if made.map_err(|error| error.or_hint("name another directory for the lake"))? {
                    self.known().made.push(place.to_owned());
                }
            }
        }
        match self.system.sync_directory(above) {
            // A directory outside of the lake that may not be read can't be opened, and so not synced.
            Err(error) if error.kind() == Io::PermissionDenied => Ok(()),
            synced => synced.map_err(|error| Error::io("fsync", above, error)),
        }
    }

    /// Makes one directory unless it exists; returns whether it did.
    pub(super) fn make_directory(&self, place: &Path) -> Result<bool> {
        match self.system.make_directory(place) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == Io::AlreadyExists => Ok(false),
            Err(error) => Err(Error::io("make the directory", place, error)),
        }
    }

    /// Makes the directories above a file.
    pub(super) fn make_above(&self, target: &Path, names: &mut NewNames) -> Result<()> {
        let ancestors = target.ancestors().skip(1);
        let above: Vec<&Path> = ancestors.take_while(|&above| above != self.root).collect();
        for directory in above.into_iter().rev() {
            if !self.known().synced.contains(directory) && !names.directories.contains(directory) {
                // Another thread or process may have made it, and not synced its name yet.
                self.make_directory(directory)?;
                names.directories.insert(directory.to_owned());
            }
        }
        Ok(())
    }

    /// Forgets that the directories above a file are there.
    pub(super) fn forget_above(&self, target: &Path, names: &mut NewNames) {
        let mut known = self.known();
        for above in target.ancestors().skip(1) {
            known.synced.remove(above);
            names.directories.remove(above);
        }
    }

    /// Makes sure that names are on the disk; each of their directories is synced once.
    pub(super) fn sync_names(&self, names: &NewNames) -> Result<()> {
        let all = names.directories.iter().chain(&names.files);
        let parents: BTreeSet<&Path> = all.filter_map(|name| name.parent()).collect();
        for parent in parents {
            self.sync_directory(parent)?;
        }
        let is_of_part = |directory: &Path| {
            let name = directory.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with(FILE_NUMBER))
        };
        let shared = names.directories.iter().filter(|name| !is_of_part(name));
        self.known().synced.extend(shared.cloned());
        Ok(())
    }

    pub(super) fn sync_directory(&self, place: &Path) -> Result<()> {
        match self.system.sync_directory(place) {
            // Another run has removed the last file in it: there are no names to keep.
            Err(error) if error.kind() == Io::NotFound => Ok(()),
            synced => synced.map_err(|error| Error::io("fsync", place, error)),
        }
    }

    /// The directory for the staged files of this process, which no other process uses: the first free number.
    pub(super) fn staging(&self) -> Result<PathBuf> {
        let mut known = self.known();
        if let Some(directory) = &known.staging {
            return Ok(directory.clone());
        }
        let all = self.place(STAGING)?;
        self.make_directory(&all)?;
        let mut number = 0_u64;
        loop {
            let directory = all.join(number.to_string());
            match self.system.make_directory(&directory) {
                Ok(()) => return Ok(known.staging.insert(directory).clone()),
                Err(error) if error.kind() == Io::AlreadyExists => number += 1,
                // Another process has just left, and was the last one there.
                Err(error) if error.kind() == Io::NotFound => {
                    self.make_directory(&all)?;
                }
                Err(error) => return Err(Error::io("make the directory", &directory, error)),
            }
        }
    }

    /// Takes `lock`. Until it is dropped, no other process swaps the manifest, or takes or leaves the lake.
    pub(super) fn lock(&self) -> Result<Box<dyn Lock>> {
        let place = self.existing(LOCK)?.map_or_else(|| self.place(LOCK), Ok)?;
        let lock = self.system.lock(&place);
        lock.map_err(|error| Error::io("lock", &place, error))
    }

    pub(super) fn try_work(&self, hold: Hold) -> Result<Option<Box<dyn Lock>>> {
        let place = self.existing(WORK)?.map_or_else(|| self.place(WORK), Ok)?;
        let lock = self.system.try_lock(&place, hold == Hold::Alone);
        lock.map_err(|error| Error::io("lock", &place, error))
    }

    /// Removes a file, and returns its directory.
    pub(super) fn remove_file(&self, path: &str) -> Result<PathBuf> {
        let mut removed = self.place(path)?;
        match self.system.remove_file(&removed) {
            Err(error) if error.kind() != Io::NotFound => {
                return Err(Error::io("remove", &removed, error));
            }
            _ => {}
        }
        removed.pop();
        Ok(removed)
    }

    /// Removes a directory with its last file, and those above it; where others have put something, it stays. Returns the
    /// directory that has changed.
    pub(super) fn remove_if_empty(&self, mut directory: PathBuf) -> PathBuf {
        while directory != self.root {
            match self.system.remove_directory(&directory) {
                Err(error) if error.kind() != Io::NotFound => break,
                _ => _ = directory.pop(),
            }
        }
        directory
    }

    /// Removes a directory with everything in it, and counts the files; links are removed, not followed.
    pub(super) fn remove_all(&self, place: &Path) -> Result<usize> {
        let mut files = 0;
        for name in self.names(place)? {
            let place = place.join(name);
            match self.kind(&place)? {
                Some(Kind::Directory) => files += self.remove_all(&place)?,
                _ => {
                    files += 1;
                    let removed = self.system.remove_file(&place);
                    removed.map_err(|error| Error::io("remove", &place, error))?;
                }
            }
        }
        match self.system.remove_directory(place) {
            Err(error) if error.kind() != Io::NotFound => Err(Error::io("remove", place, error)),
            _ => Ok(files),
        }
    }

    /// Removes a directory and those in it, if they are empty: a process that was killed may have left them.
    pub(super) fn remove_empty(&self, path: &str) -> Result<()> {
        let place = self.place(path)?;
        let inner = self.names(&place)?.into_iter().map(|name| place.join(name));
        let removed = inner
            .chain([place.clone()])
            .filter(|place| self.system.remove_directory(place).is_ok());
        match (removed.count(), place.parent()) {
            (0, _) | (_, None) => Ok(()),
            (_, Some(above)) => self.sync_directory(above),
        }
    }

    /// Reads a small file; `None` if there is none.
    pub(super) fn read(&self, place: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
        let failed = |error| Error::io("read", place, error);
        let too_large = || {
            let reason = format!("is larger than {limit} bytes; such a file never is");
            Error::new(ErrorKind::Corrupt, reason)
                .at(place)
                .hint("it is not what its name says: move it away")
        };
        if matches!(self.kind(place)?, Some(Kind::File(bytes)) if bytes > limit) {
            return Err(too_large());
        }
        let file = match self.system.open(place) {
            Err(error) if error.kind() == Io::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        match bytes.len() as u64 > limit {
            true => Err(too_large()),
            false => Ok(Some(bytes)),
        }
    }
}

pub(super) fn not_a_directory(place: &Path) -> Error {
    Error::new(ErrorKind::Refused, "not a directory")
        .at(place)
        .hint("name a directory for the lake")
}
