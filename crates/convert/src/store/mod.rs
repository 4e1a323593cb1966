//! The lake on disk: stage, fsync, rename, lock. The only room that changes the disk.
//!
//! ```text
//! OUT/<table>/file_number=17/part-00017-of-00500.parquet    appears whole, by a rename
//! OUT/_tracelake/manifest.json                              written last; without it: not finished
//! OUT/_tracelake/journal.ndjson                             finished parts of an unfinished lake
//! OUT/_tracelake/staging/                                   files being written
//! OUT/_tracelake/lock                                       held while a run changes the lake
//! OUT/SHA256SUMS and its like                               of a release; gone when the lake changes
//! ```

mod disk;
mod peek;
mod release;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::directory;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{FileFacts, Manifest, Origin, PartFacts};
use crate::source::hex;
use disk::{
    is_output, lock, make_all, make_directory, open_if_there, read_if_there, refuse_symlink,
    remove_all, remove_file, sync_directory,
};

pub use disk::{files, foreign_files, inside};
pub use peek::unfinished;
pub use release::{
    CARD, CROISSANT, DATA_PACKAGE, RELEASE, SUMS, facts, manifest_facts, release_sums, sums_line,
};

/// The directory of everything in a lake that is not a table.
pub const HOME: &str = "_tracelake";
const MANIFEST: &str = "manifest.json";
const JOURNAL: &str = "journal.ndjson";
const STAGING: &str = "staging";
const LOCK: &str = "lock";

/// A lake that this process alone may change, until it is dropped.
#[derive(Debug)]
pub struct Lake {
    root: PathBuf,
    /// Holds the lock.
    _lock: Option<File>,
    /// Directories that were made to open the lake, outermost first.
    made: Vec<PathBuf>,
    /// How many staged files were there when it was opened.
    left_behind: usize,
}

/// What is finished in a lake.
#[derive(Debug, Default)]
pub struct Progress {
    /// Who began the lake; `None` when nothing is finished.
    pub origin: Option<Origin>,
    /// The finished parts, each with its table.
    pub parts: Vec<(String, PartFacts)>,
    /// Whether the manifest is there and the journal is not.
    pub complete: bool,
    /// Why the manifest can't be believed; nothing then counts as finished.
    pub damaged: Option<Error>,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Origin(Origin),
    Part { table: String, facts: PartFacts },
}

/// Reads the manifest of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] if there is none, or the file isn't one; [`ErrorKind::Corrupt`] if it is
/// damaged.
pub fn read_manifest(root: &Path) -> Result<Manifest> {
    let found = manifest_at(&root.join(HOME).join(MANIFEST))?;
    found.unwrap_or_else(|| {
        Err(Error::new(
            ErrorKind::Refused,
            "not a finished lake: it has no manifest",
        )
        .at(root)
        .hint("run convert on it until it ends well"))
    })
}

/// The manifest at `path`, or why it can't be believed; `None` if there is no such file.
fn manifest_at(path: &Path) -> Result<Option<Result<Manifest>>> {
    let Some(file) = open_if_there(path)? else {
        return Ok(None);
    };
    match Manifest::read(file).map_err(|error| error.at(path)) {
        Err(error) if error.kind() == ErrorKind::Failed => Err(error),
        read => Ok(Some(read.map_err(|error| {
            error.hint("run convert again to write it again")
        }))),
    }
}

impl Lake {
    /// Opens or makes the lake at `root` and locks it; leavings of a killed run are cleared away.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when `root` is something else or another process works on it.
    pub fn open(root: &Path) -> Result<Self> {
        let mut made = Vec::new();
        make_all(root, &mut made)?;
        let home = root.join(HOME);
        if fs::symlink_metadata(&home).is_err() {
            let names = directory::names(root).map_err(|error| Error::io("list", root, error))?;
            if !names.is_empty() {
                return Err(something_else(root));
            }
        }
        if make_directory(&home)? {
            made.push(home.clone());
        }
        let lock = lock(&home.join(LOCK), root)?;
        let mut lake = Self {
            root: root.to_owned(),
            _lock: Some(lock),
            made,
            left_behind: 0,
        };
        lake.left_behind = lake.clear_staging()?;
        Ok(lake)
    }

    /// The directory of the lake.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many staged files of a killed run were removed when the lake was opened.
    #[must_use]
    pub fn left_behind(&self) -> usize {
        self.left_behind
    }

    /// Removes whatever is in the staging directory; returns how many names it had.
    fn clear_staging(&self) -> Result<usize> {
        let staging = self.home(STAGING);
        refuse_symlink(&staging)?;
        let names = directory::names(&staging).map_or(0, |names| names.len());
        remove_all(&staging)?;
        Ok(names)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.root.join(HOME).join(name)
    }

    /// What is finished: from the manifest, or from the journal of an unfinished lake. What cannot
    /// be read is not believed and counts as not finished.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn progress(&self) -> Result<Progress> {
        if let Some(journal) = read_if_there(&self.home(JOURNAL))? {
            return Ok(read_journal(&journal));
        }
        let manifest = match manifest_at(&self.home(MANIFEST))? {
            None => return Ok(Progress::default()),
            Some(Ok(manifest)) => manifest,
            Some(Err(error)) => {
                let damaged = Some(error);
                return Ok(Progress {
                    damaged,
                    ..Progress::default()
                });
            }
        };
        let parts = manifest
            .parts()
            .map(|(table, facts)| (table.to_owned(), facts.clone()));
        let parts = parts.collect();
        Ok(Progress {
            origin: Some(manifest.origin),
            parts,
            complete: true,
            damaged: None,
        })
    }

    /// Takes the manifest away, so that the lake counts as not finished while it changes, and
    /// starts a journal with the parts that stay. A release goes first: it describes a lake that
    /// will not be there any more.
    ///
    /// # Errors
    /// As [`Lake::release_files`]; when the disk fails.
    pub fn begin(&self, origin: &Origin, kept: &[(String, PartFacts)]) -> Result<Journal> {
        self.withdraw_release()?;
        let path = self.home(JOURNAL);
        let mut lines = line(&Line::Origin(origin.clone()))?;
        for (table, facts) in kept {
            lines.extend(line(&Line::Part {
                table: table.clone(),
                facts: facts.clone(),
            })?);
        }
        self.write_whole(&format!("{HOME}/{JOURNAL}"), &lines)?;
        remove_file(&self.home(MANIFEST))?;
        sync_directory(&self.root.join(HOME))?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|error| Error::io("open", &path, error))?;
        Ok(Journal { path, file })
    }

    /// Starts a file that will become `path`, which is relative to the lake.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn stage(&self, path: &str) -> Result<Staging> {
        let directory = self.home(STAGING);
        make_directory(&directory)?;
        let staged = directory.join(path.replace('/', "-"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&staged);
        let file = file.map_err(|error| Error::io("make", &staged, error))?;
        Ok(Staging {
            target: path.to_owned(),
            staged: Leaving(Some(staged)),
            file,
            digest: Sha256::new(),
            bytes: 0,
        })
    }

    /// Puts a staged file under its name, replacing what was there.
    ///
    /// # Errors
    /// When the disk fails; the file is then not there, or whole.
    pub fn commit(&self, mut staged: Staged) -> Result<Committed> {
        let target = inside(&self.root, &staged.facts.path)?;
        let parents: Vec<_> = target.ancestors().skip(1).collect();
        let within = parents
            .iter()
            .rev()
            .skip_while(|parent| **parent != self.root)
            .skip(1);
        for directory in within {
            if make_directory(directory)? {
                sync_directory(directory.parent().unwrap_or(&self.root))?;
            }
        }
        staged.path.rename(&target)?;
        sync_directory(target.parent().unwrap_or(&self.root))?;
        Ok(Committed {
            facts: staged.facts,
        })
    }

    /// Finishes the lake: removes outputs of `tables` that the manifest doesn't name (of a killed run, or
    /// of the lake that this one replaces), writes the manifest, and then removes what only an unfinished
    /// lake has. Returns the outputs that it removed. Files that no run can have made stay.
    ///
    /// # Errors
    /// When the counting law doesn't hold, or the disk fails.
    pub fn publish(&self, manifest: &Manifest, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
        manifest.check_counts()?;
        let named: BTreeSet<&str> = manifest.files().map(|file| file.path.as_str()).collect();
        let mut strays = files(&self.root, tables)?;
        strays.retain(|file| !named.contains(file.as_str()) && is_output(file));
        for stray in &strays {
            self.remove_stray(stray)?;
        }
        // Where no part was converted, the manifest alone is another one, and a release names it.
        self.withdraw_release()?;
        self.write_whole(&format!("{HOME}/{MANIFEST}"), &manifest.to_json()?)?;
        remove_file(&self.home(JOURNAL))?;
        self.clear_staging()?;
        sync_directory(&self.root.join(HOME))?;
        Ok(strays)
    }

    fn remove_stray(&self, stray: &str) -> Result<()> {
        let file = inside(&self.root, stray)?;
        remove_file(&file)?;
        // A directory goes with its last file; where others have put something, it stays.
        for directory in file
            .ancestors()
            .skip(1)
            .take_while(|parent| *parent != self.root)
        {
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Gives up: leaves OUT as it was if nothing was committed, and resumable if something was.
    pub fn abandon(self) {
        // Best effort: the error that made us give up is the one to tell.
        let _ = self.clear_staging();
        if self.home(JOURNAL).exists() || self.home(MANIFEST).exists() {
            return;
        }
        for directory in self.made.iter().rev() {
            if directory.ends_with(HOME) {
                let _ = fs::remove_file(directory.join(LOCK));
            }
            let _ = fs::remove_dir(directory);
        }
    }

    /// Writes a file, whole or not at all; the path is relative to the lake.
    fn write_whole(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut staging = self.stage(path)?;
        staging
            .write_all(bytes)
            .map_err(|error| Error::io("write", &self.root.join(path), error))?;
        self.commit(staging.close()?)?;
        Ok(())
    }
}

fn something_else(root: &Path) -> Error {
    Error::new(ErrorKind::Refused, "the directory holds something else")
        .at(root)
        .hint("name an empty or new directory for the lake")
}

fn busy(root: &Path) -> Error {
    Error::new(
        ErrorKind::Refused,
        "another tracelake is working on this lake",
    )
    .at(root)
    .hint("wait for it to end, or name another directory")
}

/// The list of finished parts of an unfinished lake.
///
/// It is not synced: a line that is lost with the machine only means that a part is done again,
/// and a line is believed only when the output has the digest that it names.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Notes a finished part.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note(&mut self, table: &str, facts: &PartFacts) -> Result<()> {
        let line = line(&Line::Part {
            table: table.to_owned(),
            facts: facts.clone(),
        })?;
        self.file
            .write_all(&line)
            .map_err(|error| Error::io("write", &self.path, error))
    }
}

fn line(line: &Line) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec(line).map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot write the journal: {error}"),
        )
    })?;
    json.push(b'\n');
    Ok(json)
}

/// Reads as far as the lines are whole; a torn line ends what is believed.
fn read_journal(journal: &[u8]) -> Progress {
    let mut progress = Progress::default();
    for line in journal.split_inclusive(|&byte| byte == b'\n') {
        let whole = line.ends_with(b"\n");
        match serde_json::from_slice(line) {
            Ok(Line::Origin(origin)) if whole => progress.origin = Some(origin),
            Ok(Line::Part { table, facts }) if whole => progress.parts.push((table, facts)),
            _ => break,
        }
    }
    if progress.origin.is_none() {
        progress.parts.clear();
    }
    progress
}

/// A file being written; it goes away when dropped.
#[derive(Debug)]
pub struct Staging {
    target: String,
    staged: Leaving,
    file: File,
    digest: Sha256,
    bytes: u64,
}

impl Staging {
    /// Makes sure that the file is on the disk.
    ///
    /// # Errors
    /// When the disk fails; a failed fsync is final, the file is given up.
    pub fn close(self) -> Result<Staged> {
        self.file
            .sync_all()
            .map_err(|error| Error::io("fsync", &self.staged.path(), error))?;
        let sha256 = hex(&self.digest.finalize());
        let facts = FileFacts {
            path: self.target,
            bytes: self.bytes,
            sha256,
        };
        Ok(Staged {
            facts,
            path: self.staged,
        })
    }
}

impl Write for Staging {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is whole and on the disk, but not under its name; it goes away when dropped.
#[derive(Debug)]
pub struct Staged {
    facts: FileFacts,
    path: Leaving,
}

/// A file under its name; made by [`Lake::commit`] alone.
#[derive(Debug)]
pub struct Committed {
    facts: FileFacts,
}

impl Committed {
    /// Its path in the lake, size and digest.
    #[must_use]
    pub fn into_facts(self) -> FileFacts {
        self.facts
    }
}

/// A path that is removed when dropped, unless it was renamed.
#[derive(Debug)]
struct Leaving(Option<PathBuf>);

impl Leaving {
    fn path(&self) -> PathBuf {
        self.0.clone().unwrap_or_default()
    }

    fn rename(&mut self, target: &Path) -> Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, target).map_err(|error| Error::io("rename to", target, error))?;
            self.0 = None;
        }
        Ok(())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::disk::names;
    use super::*;
    use crate::manifest::Settings;

    fn origin() -> Origin {
        let text = String::from;
        let options = Settings {
            layout: text("hive"),
            format: text("parquet"),
            compression: text("zstd:3"),
            on_bad_row: text("fail"),
            part_rows: None,
        };
        Origin::new("some-trace", options)
    }

    fn commit(lake: &Lake, path: &str, bytes: &[u8]) -> PartFacts {
        let mut staging = lake.stage(path).unwrap();
        staging.write_all(bytes).unwrap();
        let output = lake.commit(staging.close().unwrap()).unwrap().into_facts();
        PartFacts {
            file_number: 0,
            source: output.clone(),
            of: None,
            left_out: None,
            rows_in: 0,
            rows_out: 0,
            rows_rejected: 0,
            sentinels_mapped: 0,
            time_min: None,
            time_max: None,
            output,
            rejects: None,
        }
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("a/lake");
        let lake = Lake::open(&root).unwrap();
        let path = "jobs/file_number=0/part-0.parquet";
        let mut staging = lake.stage(path).unwrap();
        staging.write_all(b"half").unwrap();
        assert!(!root.join(path).exists());
        drop(staging);
        assert!(names(&root.join("_tracelake/staging")).unwrap().is_empty());
        commit(&lake, path, b"whole");
        assert_eq!(fs::read(root.join(path)).unwrap(), b"whole");
    }

    #[test]
    fn giving_up_leaves_out_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("new/lake");
        let lake = Lake::open(&root).unwrap();
        drop(lake.stage("jobs/part-0.parquet").unwrap());
        lake.abandon();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_run_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::open(directory.path()).unwrap();
        let error = Lake::open(directory.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        drop(lake);
        Lake::open(directory.path()).unwrap();
    }

    #[test]
    fn something_else_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("thesis.tex"), "x").unwrap();
        let error = Lake::open(directory.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(names(directory.path()).unwrap(), ["thesis.tex"]);
    }

    #[test]
    fn a_torn_journal_is_believed_up_to_the_tear() {
        let directory = tempfile::tempdir().unwrap();
        let lake = Lake::open(directory.path()).unwrap();
        let facts = commit(&lake, "jobs/part-0.parquet", b"x");
        let mut journal = lake.begin(&origin(), &[]).unwrap();
        journal.note("jobs", &facts).unwrap();
        journal.note("jobs", &facts).unwrap();
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
            assert!(inside(directory.path(), path).is_err(), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/tmp", directory.path().join("jobs")).unwrap();
            assert!(inside(directory.path(), "jobs/part-0.parquet").is_err());
        }
    }
}
