//! A lake in a directory of a disk: files are staged, synced and renamed, and a lock keeps runs apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind as Io, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Location, Tagged, directory};
use tracelake_source::{open_small, read_small};

use super::super::{ASKED, HOME, JOURNAL, MANIFEST, PLAN};
use super::directories::{
    all_names, inside_directory, lock, look, make_all, make_directory, names, remove_all,
    remove_file, sync_directory,
};
use super::disk_file::{Lines, StagedFile, SyncedNames, TempPathGuard};
use super::{
    Access, Agreement, Backend, Commits, Content, NewNames, Notes, Show, Unfinished, something_else,
};
use crate::manifest::MOST_BYTES;

const STAGING: &str = "_tracelake/staging";
const LOCK: &str = "_tracelake/lock";

/// How many threads wait for the disk while others convert. A disk syncs several files in little more time than one, and
/// most take longer to sync a small part than it takes to convert. `docs/design.md` has the measurement.
const COMMITS: usize = 16;

/// How many parts such a thread commits together, at most.
const COMMITS_TOGETHER: usize = 4;

/// A directory of a disk.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    location: Location,
    /// Holds the lock.
    lock: Mutex<Option<File>>,
    /// Directories that were made for the lake, outermost first.
    made: Mutex<Vec<PathBuf>>,
    /// The directory for the staged files of this process, once it has one.
    staging: Mutex<Option<PathBuf>>,
    synced: SyncedNames,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            location: root.into(),
            lock: Mutex::default(),
            made: Mutex::default(),
            staging: Mutex::default(),
            synced: SyncedNames::default(),
        }
    }

    /// The place of a path of the lake. Nothing of the lake is read, made or removed but through this: a link below OUT
    /// could lead anywhere.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it leads out of the lake, or any directory above it does.
    fn place(&self, path: &str) -> Result<PathBuf> {
        inside_directory(&self.root, path)
    }

    /// The place of a file of the lake; `None` if there is nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it isn't a file.
    fn existing(&self, path: &str) -> Result<Option<PathBuf>> {
        let place = self.place(path)?;
        match fs::symlink_metadata(&place) {
            Err(error) if error.kind() == Io::NotFound => Ok(None),
            Ok(found) if !found.is_file() => Err(not_a_file(&place)),
            _ => Ok(Some(place)),
        }
    }

    /// The directory for the staged files of this process, which no other process uses: the first
    /// free number.
    fn staging_directory(&self) -> Result<PathBuf> {
        let mut own = locked(&self.staging);
        if let Some(directory) = &*own {
            return Ok(directory.clone());
        }
        let all = self.place(STAGING)?;
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

    /// Removes a file, and returns the directory that has changed.
    fn remove_one(&self, path: &str) -> Result<PathBuf> {
        let mut removed = self.place(path)?;
        remove_file(&removed)?;
        // A directory goes with its last file; where others have put something, it stays.
        while removed.pop() && removed != self.root {
            match fs::remove_dir(&removed) {
                Err(error) if error.kind() != Io::NotFound => break,
                _ => {}
            }
        }
        Ok(removed)
    }
}

impl Backend for Disk {
    fn root(&self) -> &Location {
        &self.location
    }

    fn agreement(&self) -> Agreement {
        Agreement::Lock
    }

    fn elsewhere(&self) -> &'static str {
        "another directory or --overwrite"
    }

    /// With a queue, no thread waits until another is awake: 500 parts of job_events take 8 % less time.
    fn commits(&self, _: usize) -> Commits {
        Commits {
            at_once: COMMITS,
            queued: COMMITS,
            together: COMMITS_TOGETHER,
        }
    }

    fn prepare(&self) -> Result<()> {
        if self.root.is_dir() {
            self.check_recognised()?;
        }
        let mut made = locked(&self.made);
        make_all(&self.root, &mut made)?;
        let home = self.place(HOME)?;
        if make_directory(&home)? {
            made.push(home);
        }
        Ok(())
    }

    /// Every lake has its lock, but for copies.
    fn has_lake(&self) -> Result<bool> {
        for path in [LOCK, MANIFEST, PLAN] {
            if self.existing(path)?.is_some() {
                return Ok(true);
            }
        }
        Ok(!self.journals()?.is_empty())
    }

    fn check_vacant(&self) -> Result<()> {
        if !self.root.exists() {
            return Ok(());
        }
        if !self.root.is_dir() {
            return Err(Error::new(ErrorKind::Failed, "is not a directory")
                .at(&self.root)
                .hint("name an empty or new directory for the lake"));
        }
        self.check_recognised()
    }

    fn lock(&self, access: Access) -> Result<Option<Access>> {
        let path = self.place(LOCK)?;
        let file = match access {
            Access::Alone | Access::Shared => lock(&path, access)?,
            Access::Look => {
                let Ok(file) = File::open(&path) else {
                    // Without it, no run has ever had the lake.
                    return Ok(Some(access));
                };
                look(&file, &path)?.then_some(file)
            }
        };
        if file.is_none() {
            return Ok(None);
        }
        *locked(&self.lock) = file;
        Ok(Some(access))
    }

    fn unlock(&self) -> Result<()> {
        // Without the lock, the staging directory belongs to its holder.
        self.clear_own_staging();
        match locked(&self.lock).take() {
            None => Ok(()),
            Some(file) => {
                let unlocked = file.unlock();
                unlocked.map_err(|error| Error::io("unlock", &self.root.join(LOCK), error))
            }
        }
    }

    fn undo_prepare(&self) {
        // Best effort: the error that made us give up is the one to tell.
        for directory in locked(&self.made).iter().rev() {
            if directory.ends_with(HOME) {
                let _ = fs::remove_file(self.root.join(LOCK));
            }
            let _ = fs::remove_dir(directory);
        }
    }

    fn read(&self, path: &str) -> Result<Option<Tagged>> {
        let Some(place) = self.existing(path)? else {
            return Ok(None);
        };
        Ok(Some((read_small(&place, MOST_BYTES)?, None)))
    }

    fn read_each(&self, paths: Vec<String>, show: Show<'_>) -> Result<()> {
        for path in paths {
            if let Some(file) = self.open(&path)? {
                show(&mut BufReader::new(file))?;
            }
        }
        Ok(())
    }

    fn open(&self, path: &str) -> Result<Option<Box<dyn Content>>> {
        let Some(place) = self.existing(path)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(open_small(&place, MOST_BYTES)?)))
    }

    fn list(
        &self,
        directories: &[String],
        show: &mut dyn FnMut(Listed) -> Result<()>,
    ) -> Result<()> {
        for directory in directories {
            let place = self.place(directory)?;
            for name in all_names(&place)? {
                let path = format!("{directory}/{}", name.to_string_lossy());
                match place.join(&name).symlink_metadata() {
                    Ok(found) if found.is_dir() && name.to_str().is_some() => {
                        self.list(&[path], show)?;
                    }
                    found => show(Listed {
                        path,
                        bytes: found.map_or(0, |found| found.len()),
                        etag: None,
                    })?,
                }
            }
        }
        Ok(())
    }

    fn list_tagged(&self) -> Result<Vec<Listed>> {
        Ok(Vec::new())
    }

    fn names(&self, directory: &str) -> Result<Vec<String>> {
        names(&self.place(directory)?)
    }

    /// A disk has no tags.
    fn look_up(&self, _: Vec<String>) -> Result<Vec<Listed>> {
        Ok(Vec::new())
    }

    fn inside(&self, path: &str) -> Result<Location> {
        self.place(path).map(Location::Disk)
    }

    /// Only for a process that has the lake alone, so that no other can put one in between.
    fn put_new(&self, path: &str, bytes: Vec<u8>) -> Result<bool> {
        match self.existing(path)? {
            Some(_) => Ok(false),
            None => self.put(path, bytes).map(|()| true),
        }
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<()> {
        let mut file = self.stage(path)?;
        let written = file.write_all(&bytes);
        written.map_err(|error| Error::disk("write", error).at(self.root.join(path)))?;
        file.close()?;
        self.show(file).map(drop)
    }

    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>> {
        let staged = self.staging_directory()?.join(path.replace('/', "-"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staged)
            .map_err(|error| Error::io("make", &staged, error))?;
        Ok(Box::new(StagedFile {
            root: self.root.clone(),
            target: path.to_owned(),
            staged: TempPathGuard::new(staged),
            file: Some(file),
            bytes: 0,
            synced: self.synced.clone(),
        }))
    }

    fn keep_names(&self, names: &NewNames) -> Result<()> {
        self.synced.sync(names)
    }

    /// After a power cut, they don't come back.
    fn remove(&self, paths: &[String]) -> Result<()> {
        self.synced.forget();
        let mut changed = BTreeSet::new();
        for path in paths {
            changed.insert(self.remove_one(path)?);
        }
        let mut existing = changed.iter().filter(|directory| directory.is_dir());
        existing.try_for_each(|directory| sync_directory(directory))
    }

    fn clear_own_staging(&self) {
        if let Some(directory) = locked(&self.staging).take() {
            // Best effort: the next process that has the lake alone clears all of the staging directory. The last
            // process that leaves removes it, since a directory that isn't empty stays.
            let _ = remove_all(&directory);
            let _ = self.place(STAGING).map(fs::remove_dir);
        }
    }

    fn clear_staging(&self) -> Result<usize> {
        self.clear_own_staging();
        let staging = self.place(STAGING)?;
        let mut files = 0;
        for name in directory::names(&staging).unwrap_or_default() {
            // Each process has a directory; anything else is a file.
            files += directory::names(&staging.join(name)).map_or(1, |names| names.len());
        }
        remove_all(&staging)?;
        Ok(files)
    }

    /// That of a run that had the lake alone comes first; those of shards have a number before the dot.
    fn journals(&self) -> Result<Vec<String>> {
        let names = names(&self.place(HOME)?)?.into_iter();
        let numbered = names.filter_map(|name| {
            let path = format!("{HOME}/{name}");
            if path == JOURNAL {
                return Some((0, path));
            }
            let number = name.strip_prefix("journal-")?.strip_suffix(".ndjson")?;
            Some((number.parse().ok().filter(|&number| number > 0)?, path))
        });
        let numbered: BTreeMap<u64, String> = numbered.collect();
        Ok(numbered.into_values().collect())
    }

    fn append_to(&self, path: &str) -> Result<Box<dyn Notes>> {
        let path = self.place(path)?;
        let file = OpenOptions::new()
            .append(true)
            .open(&path)
            .map_err(|error| Error::io("open", &path, error))?;
        Ok(Box::new(Lines::new(path, file)))
    }

    fn join_in(&self, head: Vec<u8>) -> Result<Box<dyn Notes>> {
        let mut number = 1_u64;
        loop {
            let path = self.place(&format!("{HOME}/journal-{number}.ndjson"))?;
            let file = OpenOptions::new().append(true).create_new(true).open(&path);
            match file {
                Ok(file) => {
                    let lines = Lines::new(path, file);
                    lines.note("", &head)?;
                    return Ok(Box::new(lines));
                }
                Err(error) if error.kind() == Io::AlreadyExists => number += 1,
                Err(error) => return Err(Error::io("make", &path, error)),
            }
        }
    }
}

impl Disk {
    /// Refuses a directory that holds neither a lake nor nothing. Files that a killed run had staged are nothing, and so is
    /// the request of a run that ended before it had a journal.
    fn check_recognised(&self) -> Result<()> {
        let only = |directory: &Path, allowed: &[&str]| {
            let names = match directory::names(directory) {
                Err(error) if error.kind() == Io::NotFound => Vec::new(),
                names => names.map_err(|error| Error::io("list", directory, error))?,
            };
            Ok::<_, Error>(
                names
                    .iter()
                    .all(|name| allowed.iter().any(|allowed| name == allowed)),
            )
        };
        let [staging, asked] =
            [STAGING, ASKED].map(|path| path.rsplit('/').next().unwrap_or_default());
        // First, because another worker that begins the lake locks it before it makes anything else.
        let is_vacant = only(&self.root, &[HOME])? && only(&self.place(HOME)?, &[staging, asked])?;
        match is_vacant || self.has_lake()? {
            true => Ok(()),
            false => Err(something_else(&self.location)),
        }
    }
}

fn not_a_file(place: &Path) -> Error {
    Error::new(ErrorKind::Refused, "is not a file")
        .at(place)
        .hint("move it away")
}
