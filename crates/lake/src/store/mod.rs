//! The lake: on disk, stage, fsync, rename, lock; in a bucket, put. The only module that changes either.
//!
//! ```text
//! OUT/<table>/file_number=17/part-00017-of-00500.parquet    appears whole, by a rename
//! OUT/_tracelake/manifest.json                              written last; without it: not finished
//! OUT/_tracelake/trace.toml                                 the description of a trace that isn't built in
//! OUT/_tracelake/plan.json                                  what the shards of an unfinished lake share
//! OUT/_tracelake/journal.ndjson                             finished parts of an unfinished lake
//! OUT/_tracelake/journal-1.ndjson                           the same of one worker among several
//! OUT/_tracelake/staging/0/                                 files that one process is writing
//! OUT/_tracelake/strays.txt                                 outputs that are being removed
//! OUT/_tracelake/lock                                       held while a process changes the lake
//! OUT/SHA256SUMS and its like                               of a release; gone when the lake changes
//! ```

mod bucket;
mod description;
mod disk;
mod facts;
mod outputs;
mod peek;
mod release;
mod staging;
mod strays;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_location::directory;

use crate::manifest::Manifest;
use bucket::OwnPlan;
use disk::{
    Access, lock, make_all, make_directory, open_if_there, refuse_symlink, remove_all,
    sync_directory,
};
use strays::unnamed_outputs;

pub use bucket::{Found, LakeState, Withdrawal, finished_by_another, orphaned_base};
pub use description::DESCRIPTION_PATH;
pub use disk::inside;
pub use facts::{CutFacts, Journal, LakeProgress, plan_bytes, progress};
pub use outputs::is_skipped;
pub use release::{
    CARD, CROISSANT, DATA_PACKAGE, RELEASE, SUMS, file_facts, manifest_facts, release_sums,
    sums_line,
};
pub use staging::WRITE_BEHIND;
pub use staging::{Committed, Staged, Staging};
pub use strays::{files, foreign_files};

/// The directory of everything in a lake that is not a table.
pub const HOME: &str = "_tracelake";
const MANIFEST: &str = "manifest.json";
const PLAN: &str = "plan.json";
/// The copy of the description of a trace that isn't built in.
const DESCRIPTION: &str = "trace.toml";
const STAGING: &str = "staging";
const LOCK: &str = "lock";

/// How long a worker waits for another one to prepare the lake for all of them.
const PREPARED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two looks at a lock that is taken.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// The policy for outputs that no facts name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnamed {
    /// They stay, and the lake isn't finished.
    Refuse,
    /// They are removed.
    Remove,
}

/// A lake that no process changes in another way than this one, until it is dropped.
#[derive(Debug)]
pub struct Lake {
    root: Location,
    /// In a bucket, the plan that this process works by.
    own_plan: Mutex<Option<OwnPlan>>,
    /// Holds the lock, on disk.
    lock: Option<File>,
    access: Access,
    /// Directories that were made to open the lake, outermost first.
    created_dirs: Vec<PathBuf>,
    /// How many staged files were there when it was opened.
    left_behind: usize,
    /// The directory for the staged files of this process, once it has one.
    staging: Mutex<Option<PathBuf>>,
    /// Directories of which this process knows that their names are on the disk.
    synced: Mutex<BTreeSet<PathBuf>>,
}

/// Reads the manifest of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] if there is none, or the file isn't one; [`ErrorKind::Corrupt`] if it is
/// damaged, or the description that it names.
pub fn read_manifest(root: &Location) -> Result<Manifest> {
    let found = manifest_at(&root.join(HOME).join(MANIFEST))?;
    let manifest = found.unwrap_or_else(|| {
        Err(Error::new(
            ErrorKind::Refused,
            "not a finished lake: it has no manifest",
        )
        .at(root)
        .hint("run convert until it succeeds"))
    })?;
    description::read_description(root, &manifest.origin)?;
    Ok(manifest)
}

/// The manifest at `path`, or how it is damaged; `None` if there is no such file.
fn manifest_at(path: &Location) -> Result<Option<Result<Manifest>>> {
    let read = match path {
        Location::Disk(path) => open_if_there(path)?.map(Manifest::read),
        Location::Url(_) => {
            let json = bucket::read_if_there(path)?;
            json.map(|json| Manifest::read(std::io::Cursor::new(json)))
        }
    };
    let Some(read) = read else {
        return Ok(None);
    };
    match read.map_err(|error| error.at(path)) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            Ok(Some(Err(error.hint("run convert again to write it again"))))
        }
        Err(error) if error.kind() == ErrorKind::Refused && path.as_path().is_some() => {
            let hint = "use the version of tracelake that made it, or convert with --overwrite";
            Err(error.hint(hint))
        }
        read => read.map(|manifest| Some(Ok(manifest))),
    }
}

impl Lake {
    /// Opens or makes the lake at `root` for this process alone; what a killed run left unfinished is
    /// removed.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when `root` is something else or another process works on it.
    pub fn open(root: &Location) -> Result<Self> {
        let Some(path) = root.as_path() else {
            return Self::in_bucket(root);
        };
        let made = make_home(path)?;
        match Self::locked(path, Access::Alone)? {
            Some(lake) => Ok(Self {
                created_dirs: made,
                ..lake
            }),
            None => Err(busy(root)),
        }
    }

    /// The lake in a bucket. There is no lock, so others may work on it at any time.
    fn in_bucket(root: &Location) -> Result<Self> {
        bucket::look(root)?;
        Ok(Self {
            root: root.clone(),
            own_plan: Mutex::default(),
            lock: None,
            access: Access::Shared,
            created_dirs: Vec::new(),
            left_behind: 0,
            staging: Mutex::default(),
            synced: Mutex::default(),
        })
    }

    /// The directory of a lake on disk.
    fn directory(&self) -> &Path {
        self.root.as_path().expect("a lake on disk")
    }

    /// Opens or makes the lake at `root` for one of several workers: alone if no other is there, so
    /// that it can be prepared for all of them, and otherwise beside the others.
    ///
    /// # Errors
    /// As [`Lake::open`]; another worker may be at work, but no run that needs the lake alone.
    pub fn join(root: &Location) -> Result<Self> {
        let Some(path) = root.as_path() else {
            return Self::in_bucket(root);
        };
        let made = make_home(path)?;
        let begun = Instant::now();
        loop {
            for access in [Access::Alone, Access::Shared] {
                if let Some(lake) = Self::locked(path, access)? {
                    return Ok(Self {
                        created_dirs: made,
                        ..lake
                    });
                }
            }
            // Another worker may just be preparing the lake.
            if begun.elapsed() > PREPARED_WITHIN {
                return Err(busy(root));
            }
            thread::sleep(LOCK_POLL);
        }
    }

    /// Opens an existing lake for this process alone, and waits this long for workers that are about to
    /// end.
    ///
    /// # Errors
    /// As [`Lake::open`]; [`ErrorKind::Refused`] when there is no lake.
    pub fn existing(root: &Location, patience: Duration) -> Result<Self> {
        let is_lake = match root {
            Location::Disk(path) => fs::symlink_metadata(path.join(HOME)).is_ok(),
            Location::Url(_) => bucket::look(root)?,
        };
        if !is_lake {
            return Err(Error::new(ErrorKind::Refused, "not a lake")
                .at(root)
                .hint("name the directory that the shards were converted into"));
        }
        let Some(path) = root.as_path() else {
            return Self::in_bucket(root);
        };
        let begun = Instant::now();
        loop {
            match Self::locked(path, Access::Alone)? {
                Some(lake) => return Ok(lake),
                None if begun.elapsed() >= patience => return Err(busy(root)),
                None => thread::sleep(LOCK_POLL),
            }
        }
    }

    /// The lake with its lock; `None` if another process has a lock that excludes it.
    fn locked(root: &Path, access: Access) -> Result<Option<Self>> {
        let Some(file) = lock(&root.join(HOME).join(LOCK), access)? else {
            return Ok(None);
        };
        let mut lake = Self {
            root: root.into(),
            own_plan: Mutex::default(),
            lock: Some(file),
            access,
            created_dirs: Vec::new(),
            left_behind: 0,
            staging: Mutex::default(),
            synced: Mutex::default(),
        };
        if access == Access::Alone {
            lake.left_behind = lake.clear_staging()?;
        }
        Ok(Some(lake))
    }

    /// Whether no other process works on the lake.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.access == Access::Alone
    }

    /// Lets other workers in.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a run that needs the lake alone takes it first.
    pub fn share(&mut self) -> Result<()> {
        if self.root.as_path().is_none() {
            self.access = Access::Shared;
            return Ok(());
        }
        // Without the lock, the staging directory belongs to its holder.
        self.clear_own_staging();
        let path = self.home(LOCK);
        if let Some(file) = self.lock.take() {
            file.unlock()
                .map_err(|error| Error::io("unlock", &path, error))?;
        }
        let begun = Instant::now();
        loop {
            if let Some(file) = lock(&path, Access::Shared)? {
                self.lock = Some(file);
                self.access = Access::Shared;
                return Ok(());
            }
            // Another worker may just be looking whether it is alone.
            if begun.elapsed() > PREPARED_WITHIN {
                return Err(busy(&self.root));
            }
            thread::sleep(LOCK_POLL);
        }
    }

    /// The directory of the lake, or its prefix in a bucket.
    #[must_use]
    pub fn root(&self) -> &Location {
        &self.root
    }

    /// How many staged files of a killed run were removed when the lake was opened.
    #[must_use]
    pub fn left_behind(&self) -> usize {
        self.left_behind
    }

    /// Removes whatever is in the staging directory; returns how many files it had.
    fn clear_staging(&self) -> Result<usize> {
        if self.root.as_path().is_none() {
            return Ok(0);
        }
        self.clear_own_staging();
        let staging = self.home(STAGING);
        refuse_symlink(&staging)?;
        let mut files = 0;
        for name in directory::names(&staging).unwrap_or_default() {
            // Each process has a directory; anything else is a file.
            files += directory::names(&staging.join(name)).map_or(1, |names| names.len());
        }
        remove_all(&staging)?;
        Ok(files)
    }

    /// A path in the home of a lake on disk.
    fn home(&self, name: &str) -> PathBuf {
        self.directory().join(HOME).join(name)
    }

    /// Finishes the lake: writes the manifest, and then removes what only an unfinished lake has.
    ///
    /// Outputs of `tables` that the manifest doesn't name are of a killed run, or of the lake that this one
    /// replaces. `unnamed` says whether they are removed; on disk before the manifest is written, so that no
    /// reader of a finished lake finds them, and in a bucket after that. Returns those that were removed. Files
    /// that no run can have made stay.
    ///
    /// # Errors
    /// When the counting law doesn't hold, or the disk fails; [`ErrorKind::Refused`] when there are unnamed
    /// outputs to keep, or, in a bucket, when another run has taken over or finished the lake.
    pub fn publish(
        &self,
        manifest: &Manifest,
        tables: &BTreeSet<&str>,
        unnamed: Unnamed,
    ) -> Result<Vec<String>> {
        manifest.check_counts()?;
        self.put_description(&manifest.origin)?;
        let strays = self.unnamed(manifest, tables)?;
        if unnamed == Unnamed::Refuse && !strays.is_empty() {
            return Err(unnamed_outputs(&self.root, &strays));
        }
        if let Location::Url(root) = &self.root {
            // A release may have been written since the plan was put.
            self.withdraw_release()?;
            self.put_manifest(root, manifest)?;
            root.remove_all(&strays)?;
            self.remove_facts_in_bucket(root, manifest)?;
            return Ok(strays);
        }
        self.remove_strays(manifest, &strays)?;
        // Where no part was converted, the manifest alone is another one, and a release names it.
        self.withdraw_release()?;
        self.write_whole(&format!("{HOME}/{MANIFEST}"), &manifest.to_json()?)?;
        self.remove_unfinished()?;
        Ok(strays)
    }

    /// Puts a missing description back, and removes what a finished lake with this manifest doesn't need: facts, plan and
    /// staged files.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn tidy(&self, manifest: &Manifest) -> Result<()> {
        self.put_description(&manifest.origin)?;
        if let Location::Url(root) = &self.root {
            return self.remove_facts_in_bucket(root, manifest);
        }
        self.remove_unfinished()
    }

    /// Removes what only an unfinished lake on disk has.
    fn remove_unfinished(&self) -> Result<()> {
        self.remove_facts()?;
        self.forget_strays()?;
        self.clear_staging()?;
        sync_directory(&self.home(""))
    }

    /// Ends this worker's part in a lake that others still work on.
    pub fn leave(self) {
        self.clear_own_staging();
    }

    /// Gives up: leaves OUT as it was if nothing was committed, and resumable if something was.
    pub fn abandon(self) {
        if self.root.as_path().is_none() {
            return;
        }
        // Best effort: the error that made us give up is the one to tell.
        if self.access == Access::Shared {
            return self.clear_own_staging();
        }
        let _ = self.clear_staging();
        let is_begun = progress(&self.root).map_or(true, |found| {
            found.origin.is_some() || found.damaged.is_some()
        });
        if is_begun {
            return;
        }
        for directory in self.created_dirs.iter().rev() {
            if directory.ends_with(HOME) {
                let _ = fs::remove_file(directory.join(LOCK));
            }
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Makes the directories of a lake, and returns those that weren't there.
fn make_home(root: &Path) -> Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    make_all(root, &mut made)?;
    let home = root.join(HOME);
    if fs::symlink_metadata(&home).is_err() {
        let names = directory::names(root).map_err(|error| Error::io("list", root, error))?;
        // Another worker may just have made the directory.
        if names.iter().any(|name| name != HOME) {
            return Err(something_else(&root.into()));
        }
    }
    if make_directory(&home)? {
        made.push(home);
    }
    Ok(made)
}

fn something_else(root: &Location) -> Error {
    Error::new(ErrorKind::Refused, "the directory holds something else")
        .at(root)
        .hint("name an empty or new directory for the lake")
}

fn busy(root: &Location) -> Error {
    Error::new(
        ErrorKind::Refused,
        "another tracelake is working on this lake",
    )
    .at(root)
    .hint("wait for it to end, or name another directory")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;

    use tracelake_core::origin::Origin;
    use tracelake_core::settings::Settings;

    use super::disk::names;
    use super::*;
    use crate::manifest::PartFacts;

    fn origin() -> Origin {
        Origin::new("some-trace", Settings::default())
    }

    fn commit(lake: &Lake, path: &str, bytes: &[u8]) -> PartFacts {
        let mut staging = lake.stage(path).unwrap();
        staging.write_all(bytes).unwrap();
        let output = lake.commit(staging.close().unwrap()).unwrap().into_facts();
        PartFacts::new(0.into(), output.clone(), output)
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("a/lake");
        let lake = Lake::open(&(&root).into()).unwrap();
        let path = "jobs/file_number=0/part-0.parquet";
        let mut staging = lake.stage(path).unwrap();
        staging.write_all(b"half").unwrap();
        assert!(!root.join(path).exists());
        drop(staging);
        assert!(
            names(&root.join("_tracelake/staging/0"))
                .unwrap()
                .is_empty()
        );
        commit(&lake, path, b"whole");
        assert_eq!(fs::read(root.join(path)).unwrap(), b"whole");
    }

    #[test]
    fn giving_up_leaves_out_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("new/lake");
        let lake = Lake::open(&(&root).into()).unwrap();
        drop(lake.stage("jobs/part-0.parquet").unwrap());
        lake.abandon();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_run_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::open(&directory.path().into()).unwrap();
        let error = Lake::open(&directory.path().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        drop(lake);
        Lake::open(&directory.path().into()).unwrap();
    }

    #[test]
    fn workers_share_a_lake_that_was_prepared() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("lake");
        let mut first = Lake::join(&(&root).into()).unwrap();
        assert!(first.is_alone());
        first.share().unwrap();
        let second = Lake::join(&(&root).into()).unwrap();
        assert!(!first.is_alone() && !second.is_alone());
        assert_eq!(
            Lake::open(&(&root).into()).unwrap_err().kind(),
            ErrorKind::Refused
        );
        // Each stages its files in its own directory, and leaves the other's alone.
        let path = "jobs/part-0.parquet";
        let (one, other) = (first.stage(path).unwrap(), second.stage(path).unwrap());
        drop((one, other));
        first.leave();
        assert_eq!(names(&root.join("_tracelake/staging")).unwrap(), ["1"]);
        second.leave();
        assert_eq!(names(&root.join("_tracelake")).unwrap(), ["lock"]);
        assert!(Lake::join(&(&root).into()).unwrap().is_alone());
    }

    #[test]
    fn something_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("thesis.tex"), "x").unwrap();
        let error = Lake::open(&directory.path().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(names(directory.path()).unwrap(), ["thesis.tex"]);
    }

    #[test]
    fn a_torn_journal_is_believed_up_to_the_tear() {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::open(&directory.path().into()).unwrap();
        let facts = commit(&lake, "jobs/part-0.parquet", b"x");
        let journal = lake.begin(&origin(), None, &[]).unwrap();
        journal.note("jobs", &facts, BTreeMap::new()).unwrap();
        journal.note("jobs", &facts, BTreeMap::new()).unwrap();
        let path = directory.path().join("_tracelake/journal.ndjson");
        let whole = fs::read(&path).unwrap();
        for (length, parts) in [(whole.len(), 2), (whole.len() - 1, 1), (40, 0), (0, 0)] {
            fs::write(&path, &whole[..length]).unwrap();
            let progress = lake.progress().unwrap();
            assert_eq!((progress.parts.len(), progress.complete), (parts, false));
        }
    }

    #[test]
    fn nothing_leads_out_of_the_lake() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["../x", "/etc/passwd", "a/../../x"] {
            assert!(inside(&directory.path().into(), path).is_err(), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/tmp", directory.path().join("jobs")).unwrap();
            assert!(inside(&directory.path().into(), "jobs/part-0.parquet").is_err());
        }
    }
}
