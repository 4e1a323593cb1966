//! The lake. The only module that changes a disk or a bucket: by its `backend`.
//!
//! ```text
//! OUT/<table>/file_number=17/part-00017-of-00500.parquet    appears whole, by a rename
//! OUT/_tracelake/manifest.json                              written last; without it: not finished
//! OUT/_tracelake/trace.toml                                 the description of a trace that isn't built in
//! OUT/_tracelake/plan.json                                  what the shards of an unfinished lake share
//! OUT/_tracelake/asked.json                                 the request of a run that has an unfinished lake alone
//! OUT/_tracelake/journal.ndjson                             finished parts of an unfinished lake
//! OUT/_tracelake/journal-1.ndjson                           the same of one worker among several
//! OUT/_tracelake/staging/0/                                 files that one process is writing
//! OUT/_tracelake/strays.txt                                 outputs that are being removed
//! OUT/_tracelake/lock                                       held while a process changes the lake
//! OUT/SHA256SUMS and its like                               of a release; gone when the lake changes
//! ```

mod backend;
mod description;
mod facts;
mod outputs;
mod planned;
mod release;
mod staging;
mod strays;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;

use crate::manifest::Manifest;
use backend::{Access, Backend, backend};
use planned::OwnPlan;
use strays::unnamed_outputs;

pub use backend::{Agreement, Commits, WRITE_BEHIND};
pub use description::DESCRIPTION_PATH;
pub use facts::{CutFacts, Journal, LakeProgress, asked, plan_bytes, progress};
pub use outputs::is_skipped;
pub use planned::{Found, LakeState, Withdrawal, finished_by_another};
pub use release::{
    CARD, CROISSANT, DATA_PACKAGE, RELEASE, SUMS, file_facts, manifest_facts, release_sums,
    sums_line,
};
pub use staging::{Committed, Staged, Staging};
pub use strays::{files, foreign_files};

/// The directory of everything in a lake that is not a table.
pub const HOME: &str = "_tracelake";
/// The manifest.
pub const MANIFEST: &str = "_tracelake/manifest.json";
const PLAN: &str = "_tracelake/plan.json";
/// The journal of a run that has the lake alone.
const JOURNAL: &str = "_tracelake/journal.ndjson";
/// The request of such a run, which only `inspect` reads.
const ASKED: &str = "_tracelake/asked.json";
/// In a bucket, the directory of the facts of parts.
const FACTS: &str = "_tracelake/facts";

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

/// The current tags to compare with those that were noted when outputs were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// Nothing: every output is read.
    Ignored,
    /// A listing of the lake.
    Listed,
    /// The outputs themselves, one by one: for a shard, which has few of them.
    AskedFor,
}

/// A lake that no process changes in another way than this one, until it is dropped.
#[derive(Debug)]
pub struct Lake {
    backend: Box<dyn Backend>,
    access: Access,
    /// The plan that this process works by, if it doesn't have the lake alone.
    own_plan: Mutex<Option<OwnPlan>>,
}

/// Reads the manifest of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] if there is none, or the file isn't one; [`ErrorKind::Corrupt`] if it is
/// damaged, or the description that it names.
pub fn read_manifest(root: &Location) -> Result<Manifest> {
    let backend = backend(root);
    let manifest = manifest_of(&*backend)?.unwrap_or_else(|| {
        Err(Error::new(
            ErrorKind::Refused,
            "not a finished lake: it has no manifest",
        )
        .at(root)
        .hint("run convert until it succeeds"))
    })?;
    description::read_description(&*backend, &manifest.origin)?;
    Ok(manifest)
}

/// The manifest, or how it is damaged; `None` if there is none.
fn manifest_of(backend: &dyn Backend) -> Result<Option<Result<Manifest>>> {
    let file = backend.open(MANIFEST)?;
    file.map(|file| manifest_in(backend, file, MANIFEST))
        .transpose()
}

/// The manifest in the file of this path, or how it is damaged.
fn manifest_in(
    backend: &dyn Backend,
    file: impl Read + Seek,
    path: &str,
) -> Result<Result<Manifest>> {
    match Manifest::read(file).map_err(|error| error.at(backend.root().join(path))) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            Ok(Err(error.hint("run convert again to write it again")))
        }
        Err(error) if error.kind() == ErrorKind::Refused => Err(error.hint(format!(
            "use the version of tracelake that made it, or {}",
            backend.elsewhere()
        ))),
        read => read.map(Ok),
    }
}

/// The place of a path that a lake names for one of its files; a manifest may come from strangers,
/// so a path or a link that leads out of the lake is refused.
///
/// # Errors
/// [`ErrorKind::Refused`].
pub fn inside(root: &Location, path: &str) -> Result<Location> {
    backend(root).inside(path)
}

impl Lake {
    /// Opens or makes the lake at `root` for this process alone. In a bucket, others may work on it at any time.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when `root` is something else or another process works on it.
    pub fn open(root: &Location) -> Result<Self> {
        let backend = backend(root);
        backend.prepare()?;
        Self::take(backend, &[Access::Alone], Duration::ZERO)
    }

    /// Opens or makes the lake at `root` for one of several workers: alone if no other is there, so
    /// that it can be prepared for all of them, and otherwise beside the others.
    ///
    /// # Errors
    /// As [`Lake::open`]; another worker may be at work, but no run that needs the lake alone.
    pub fn join(root: &Location) -> Result<Self> {
        let backend = backend(root);
        backend.prepare()?;
        // Another worker may just be preparing the lake.
        Self::take(backend, &[Access::Alone, Access::Shared], PREPARED_WITHIN)
    }

    /// Opens an existing lake for this process alone, and waits this long for workers that are about to
    /// end.
    ///
    /// # Errors
    /// As [`Lake::open`]; [`ErrorKind::Refused`] when there is no lake.
    pub fn existing(root: &Location, patience: Duration) -> Result<Self> {
        let backend = backend(root);
        if !backend.has_lake()? {
            return Err(Error::new(ErrorKind::Refused, "not a lake")
                .at(root)
                .hint("name the directory that the shards were converted into"));
        }
        Self::take(backend, &[Access::Alone], patience)
    }

    /// Opens the lake at `root` without changing anything, as `--dry-run` does; `None` where there is no lake yet.
    ///
    /// # Errors
    /// As [`Lake::open`]: [`ErrorKind::Refused`] when `root` is something else or another process
    /// works on it.
    pub fn peek(root: &Location) -> Result<Option<Self>> {
        let backend = backend(root);
        if !backend.has_lake()? {
            return backend.check_vacant().map(|()| None);
        }
        Self::take(backend, &[Access::Look], Duration::ZERO).map(Some)
    }

    /// Takes the lake in the first of these ways in which it can be had, and waits this long for other processes.
    fn take(backend: Box<dyn Backend>, ways: &[Access], patience: Duration) -> Result<Self> {
        let access = lock_within(&*backend, ways, patience)?;
        Ok(Self {
            backend,
            access,
            own_plan: Mutex::default(),
        })
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
        self.backend.unlock()?;
        // Another worker may just be looking whether it is alone.
        self.access = lock_within(&*self.backend, &[Access::Shared], PREPARED_WITHIN)?;
        Ok(())
    }

    /// The directory of the lake, or its prefix in a bucket.
    #[must_use]
    pub fn root(&self) -> &Location {
        self.backend.root()
    }

    /// How runs on the lake are kept apart.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        self.backend.agreement()
    }

    /// How many parts wait for the disk or the store while this many are converted.
    #[must_use]
    pub fn commits(&self, parts: usize) -> Commits {
        self.backend.commits(parts)
    }

    /// The sizes of the files that still have the tag that was noted when they were made: they needn't be read. With
    /// `Hints::Listed`, one listing answers.
    ///
    /// # Errors
    /// If the store fails.
    pub fn untouched(
        &self,
        etags: &BTreeMap<String, String>,
        hints: Hints,
    ) -> Result<BTreeMap<String, u64>> {
        let mut found = match hints {
            _ if etags.is_empty() => Vec::new(),
            Hints::Ignored => Vec::new(),
            Hints::Listed => self.backend.list_tagged()?,
            Hints::AskedFor => self.backend.look_up(etags.keys().cloned().collect())?,
        };
        found.retain(|file| file.etag.is_some() && file.etag.as_ref() == etags.get(&file.path));
        let sizes = found.into_iter().map(|file| (file.path, file.bytes));
        Ok(sizes.collect())
    }

    /// Where else the lake could go, for a hint.
    #[must_use]
    pub fn elsewhere(&self) -> &'static str {
        self.backend.elsewhere()
    }

    /// Removes the files that killed runs have staged, if this process has the lake alone; returns how many they were.
    /// Only for a lake that this run may change.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn clear_staging(&self) -> Result<usize> {
        match self.is_alone() {
            true => self.backend.clear_staging(),
            false => Ok(0),
        }
    }

    /// Finishes the lake: writes the manifest, and then removes what only an unfinished lake has.
    ///
    /// Outputs of `tables` that the manifest doesn't name are of a killed run, or of the lake that this one
    /// replaces. `unnamed` says whether they are removed: by a run that has the lake alone before the manifest is
    /// written, so that no reader of a finished lake finds them, and beside others after that. Returns those that were
    /// removed. Files that no run can have made stay.
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
            return Err(unnamed_outputs(self.root(), &strays));
        }
        // Where no part was converted, the manifest alone is another one, and a release names it. Beside others, a
        // release may have been written since the plan was put.
        if self.is_alone() {
            self.remove_strays(manifest, &strays)?;
            self.withdraw_release()?;
            self.write_in_pieces(MANIFEST, |file| manifest.write(file))?;
        } else {
            self.withdraw_release()?;
            self.put_manifest_beside_others(manifest)?;
            self.backend.remove(&strays)?;
        }
        self.remove_unneeded(manifest)?;
        Ok(strays)
    }

    /// Puts a missing description back, and removes what a finished lake with this manifest doesn't need: facts, plan and
    /// staged files.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn tidy(&self, manifest: &Manifest) -> Result<()> {
        self.put_description(&manifest.origin)?;
        self.remove_unneeded(manifest)
    }

    /// Removes what only an unfinished lake has.
    fn remove_unneeded(&self, manifest: &Manifest) -> Result<()> {
        if !self.is_alone() {
            return self.remove_facts_beside_others(manifest);
        }
        let mut paths = self.backend.journals()?;
        paths.extend([PLAN, ASKED, strays::STRAYS].map(str::to_owned));
        self.backend.remove(&paths)?;
        self.backend.clear_staging().map(drop)
    }

    /// Ends this worker's part in a lake that others still work on.
    pub fn leave(self) {
        self.backend.clear_own_staging();
    }

    /// Gives up: leaves OUT as it was if nothing was committed, and resumable if something was.
    pub fn abandon(self) {
        if !self.is_alone() {
            return self.leave();
        }
        self.backend.clear_own_staging();
        let is_begun = self.progress().map_or(true, |found| {
            found.origin.is_some() || found.damaged.is_some()
        });
        if !is_begun {
            self.backend.undo_prepare();
        }
    }
}

/// Locks a lake in the first of these ways in which it can be had, and waits this long for other processes.
fn lock_within(backend: &dyn Backend, ways: &[Access], patience: Duration) -> Result<Access> {
    let begun = Instant::now();
    loop {
        for way in ways {
            if let Some(access) = backend.lock(*way)? {
                return Ok(access);
            }
        }
        if begun.elapsed() >= patience {
            return Err(busy(backend.root()));
        }
        thread::sleep(LOCK_POLL);
    }
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
mod tests;
mod tests_of_finished;
