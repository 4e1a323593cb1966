//! What is finished in a lake, and what its workers have agreed on.
//!
//! Facts are lines in journals: `journal.ndjson` is written by whoever has the lake alone, and each
//! worker that shares it has a `journal-N.ndjson` of its own. They aren't synced: a line that is lost
//! with the machine only means that a part is converted again, and a line is believed only when the
//! output has the digest that it names.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as Io, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::bucket::{self, FACTS, KEPT, ORIGIN};
use super::disk::{names, read_if_there, refuse_symlink, remove_file, sync_directory};
use super::{HOME, Lake, MANIFEST, PLAN, manifest_at};
use crate::error::{Error, ErrorKind, Result};
use crate::location::{Location, Url};
use crate::manifest::{PartFacts, check_bytes};
use crate::origin::Origin;
use crate::plan_file::PlanFile;
use crate::source::{Fingerprint, hex};

/// The journal of whoever has the lake alone; those of shards have a number before the dot.
const JOURNAL: &str = "journal.ndjson";

/// What is finished in a lake.
#[derive(Debug, Default)]
pub struct LakeProgress {
    /// Who began the lake; `None` when nothing is finished.
    pub origin: Option<Origin>,
    /// The finished parts, each with its table. A part that was done twice is listed twice; the later
    /// entry counts.
    pub parts: Vec<(String, PartFacts)>,
    /// Files that were cut into parts, as far as that was wanted. In a finished lake there are none.
    pub cut: Vec<CutFacts>,
    /// What the shards of an unfinished lake have agreed on.
    pub plan: Option<PlanFile>,
    /// Whether there is a manifest. Plan and facts beside it are left over, and aren't read.
    pub complete: bool,
    /// How the manifest is damaged; nothing then counts as finished but what facts name.
    pub damaged: Option<Error>,
}

/// A file that was read and cut into parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutFacts {
    /// Its path relative to SRC.
    pub source: String,
    /// Its size and digest; `None` if it wasn't read to its end, because no later part was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Fingerprint>,
    /// The file numbers that were selected, as ranges; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Vec<(u32, u32)>>,
    /// The tables in it, each with the number of parts seen.
    pub tables: BTreeMap<String, u32>,
}

impl CutFacts {
    /// Gives the parts of this file the size and the digest of the whole, and their number.
    fn complete(&self, parts: &mut [(String, PartFacts)]) {
        let Some(whole) = &self.whole else {
            return;
        };
        for (table, facts) in parts {
            let Some(count) = self.tables.get(table) else {
                continue;
            };
            if facts.source.path == self.source && facts.of.is_none() {
                facts.source.bytes = whole.bytes;
                facts.source.sha256.clone_from(&whole.sha256);
                facts.of = Some(*count);
            }
        }
    }
}

/// A line of a journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Origin(Origin),
    Part { table: String, facts: PartFacts },
    Cut(CutFacts),
}

impl Lake {
    /// What is finished: from the manifest, or else from the facts of an unfinished lake. What is damaged
    /// is not believed and counts as not finished.
    ///
    /// # Errors
    /// When the disk fails; [`ErrorKind::Refused`] when a manifest, a plan or the head of a journal is
    /// intact but can't be read, as if another version wrote it.
    pub fn progress(&self) -> Result<LakeProgress> {
        let progress = progress(self.root())?;
        if self.root().as_path().is_none() && progress.complete {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.clone_from(&progress.parts);
        }
        Ok(progress)
    }

    /// Takes the manifest away, so that the lake counts as not finished while it changes, and
    /// starts a journal with the parts that stay. A release goes first: it describes a lake that
    /// will not be there any more. Only for whoever has the lake alone.
    ///
    /// # Errors
    /// As [`Lake::release_files`]; when the disk fails.
    pub fn begin(&self, origin: &Origin, kept: &[(String, PartFacts)]) -> Result<Journal> {
        self.withdraw_release()?;
        let mut lines = line(&JournalLine::Origin(origin.clone()))?;
        for (table, facts) in kept {
            lines.extend(line(&JournalLine::Part {
                table: table.clone(),
                facts: facts.clone(),
            })?);
        }
        if let Location::Url(root) = self.root() {
            let home = root.join(HOME);
            self.nothing_happened(origin)?;
            if !kept.is_empty() {
                home.join(FACTS).join(KEPT).put(lines)?;
            }
            home.remove_all(&[MANIFEST.to_owned()])?;
            self.is_begun.store(true, Ordering::Relaxed);
            return Journal::in_bucket(root, origin);
        }
        self.write_whole(&format!("{HOME}/{JOURNAL}"), &lines)?;
        for (number, name) in journals(&self.home(""))? {
            if number > 0 {
                remove_file(&self.home(&name))?;
            }
        }
        remove_file(&self.home(MANIFEST))?;
        sync_directory(&self.home(""))?;
        let path = self.home(JOURNAL);
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|error| Error::io("open", &path, error))?;
        Ok(Journal(Entries::Disk { path, file }))
    }

    /// In a bucket, which has no lock: refuses to continue when another run has begun or finished something
    /// else since this one looked.
    fn nothing_happened(&self, origin: &Origin) -> Result<()> {
        let Location::Url(root) = self.root() else {
            return Ok(());
        };
        let refused = |reason: &str| {
            Err(Error::new(ErrorKind::Refused, reason)
                .at(self.root())
                .hint("run the same command again once nothing else works on this lake"))
        };
        let place = root.join(HOME).join(FACTS).join(ORIGIN);
        place.put_new(line(&JournalLine::Origin(origin.clone()))?)?;
        let now = progress(self.root())?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if now.complete && now.parts != *seen {
            return refused("another run has finished this lake");
        }
        let began = now.origin.filter(|_| !now.complete);
        if began.is_some_and(|began| began.difference_but_policy(origin).is_some()) {
            return refused("another run has begun this lake with other options");
        }
        Ok(())
    }

    /// Starts a journal beside those of other workers.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn join_in(&self, origin: &Origin) -> Result<Journal> {
        if let Location::Url(root) = self.root() {
            return Journal::in_bucket(root, origin);
        }
        let mut number = 1_u64;
        loop {
            let path = self.home(&format!("journal-{number}.ndjson"));
            let file = OpenOptions::new().append(true).create_new(true).open(&path);
            match file {
                Ok(file) => {
                    let mut journal = Journal(Entries::Disk { path, file });
                    journal.write(&JournalLine::Origin(origin.clone()))?;
                    return Ok(journal);
                }
                Err(error) if error.kind() == Io::AlreadyExists => number += 1,
                Err(error) => return Err(Error::io("make", &path, error)),
            }
        }
    }

    /// Writes the plan that the shards of this lake have in common. Only for whoever has the lake
    /// alone, so that no other worker can write another one.
    ///
    /// # Errors
    /// When the disk fails; [`ErrorKind::Refused`] if the plan would be too large to be read back.
    pub fn put_plan(&self, plan: &PlanFile) -> Result<()> {
        let json = plan.to_json();
        check_bytes(json.len() as u64).map_err(|error| error.at(self.root()))?;
        if let Location::Url(root) = self.root() {
            // If there is one, whoever put it looks at it before it works by it.
            let place = root.join(&format!("{HOME}/{PLAN}"));
            return place.put_new(json).map(|_| ());
        }
        self.write_whole(&format!("{HOME}/{PLAN}"), &json)
    }

    /// Removes the plan of the shards.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn remove_plan(&self) -> Result<()> {
        if let Location::Url(root) = self.root() {
            return root.join(HOME).remove_all(&[PLAN.to_owned()]);
        }
        let path = self.home(PLAN);
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        remove_file(&path)?;
        sync_directory(&self.home(""))
    }

    /// Removes all facts and then the plan, which a finished lake doesn't need.
    pub(super) fn remove_facts(&self) -> Result<()> {
        if let Location::Url(root) = self.root() {
            bucket::remove_facts(root)?;
            return self.remove_plan();
        }
        for (_, name) in journals(&self.home(""))? {
            refuse_symlink(&self.home(&name))?;
            remove_file(&self.home(&name))?;
        }
        refuse_symlink(&self.home(PLAN))?;
        self.remove_plan()
    }
}

/// What is finished in the lake at `root`; see [`Lake::progress`].
///
/// # Errors
/// As [`Lake::progress`].
pub fn progress(root: &Location) -> Result<LakeProgress> {
    let home = root.join(HOME);
    let mut progress = LakeProgress::default();
    match manifest_at(&home.join(MANIFEST))? {
        None => {}
        Some(Ok(manifest)) => {
            let parts = manifest.parts();
            let parts = parts.map(|(table, facts)| (table.to_owned(), facts.clone()));
            return Ok(LakeProgress {
                parts: parts.collect(),
                origin: Some(manifest.origin),
                complete: true,
                ..progress
            });
        }
        Some(Err(error)) => progress.damaged = Some(error),
    }
    let plan = match &home {
        Location::Disk(home) => read_if_there(&home.join(PLAN))?,
        Location::Url(_) => bucket::read_if_there(&home.join(PLAN))?,
    };
    if let Some(json) = plan {
        let plan = PlanFile::from_json(&json).map_err(|error| error.at(home.join(PLAN)))?;
        progress.origin = Some(plan.origin.clone());
        progress.plan = Some(plan);
    }
    match (&home, root) {
        (Location::Disk(home), _) => {
            for (_, name) in journals(home)? {
                if let Some(journal) = read_if_there(&home.join(name))? {
                    read_journal(&journal, &mut progress).map_err(|error| error.at(root))?;
                }
            }
        }
        (_, Location::Url(url)) => {
            for journal in bucket::journals(url)? {
                read_journal(&journal, &mut progress).map_err(|error| error.at(root))?;
            }
        }
        (Location::Url(_), Location::Disk(_)) => {}
    }
    for cut in &progress.cut {
        cut.complete(&mut progress.parts);
    }
    Ok(progress)
}

/// The journals by their number; 0 is that of whoever has the lake alone.
fn journals(home: &Path) -> Result<BTreeMap<u64, String>> {
    let journals = names(home)?.into_iter().filter_map(|name| {
        if name == JOURNAL {
            return Some((0, name));
        }
        let number = name.strip_prefix("journal-")?.strip_suffix(".ndjson")?;
        Some((number.parse().ok().filter(|&number| number > 0)?, name))
    });
    Ok(journals.collect())
}

/// Adds a journal to what is known. It is read as far as its lines are whole; a torn line ends what is
/// believed. One of another origin is what `--overwrite` had not removed yet.
///
/// # Errors
/// [`ErrorKind::Refused`] if nothing is known of the lake but an origin that can't be read.
fn read_journal(journal: &[u8], progress: &mut LakeProgress) -> Result<()> {
    let lines = journal.split_inclusive(|&byte| byte == b'\n');
    let lines = lines.take_while(|line| line.ends_with(b"\n"));
    let mut lines = lines.map(serde_json::from_slice::<JournalLine>);
    let origin = match lines.next() {
        Some(Ok(JournalLine::Origin(origin))) => origin,
        Some(Err(error)) if error.is_data() && progress.origin.is_none() => {
            let reason = format!("not a journal: {error}");
            return Err(Error::new(ErrorKind::Refused, reason)
                .because(error)
                .hint("use the version of tracelake that began it, or convert with --overwrite"));
        }
        _ => return Ok(()),
    };
    match &progress.origin {
        None => progress.origin = Some(origin),
        Some(known) if known.difference_but_policy(&origin).is_some() => return Ok(()),
        Some(_) => {}
    }
    for line in lines.map_while(std::result::Result::ok) {
        match line {
            JournalLine::Origin(_) => break,
            JournalLine::Part { table, facts } => progress.parts.push((table, facts)),
            JournalLine::Cut(cut) => progress.cut.push(cut),
        }
    }
    Ok(())
}

/// The list of the parts that one process has finished.
#[derive(Debug)]
pub struct Journal(Entries);

#[derive(Debug)]
enum Entries {
    /// Lines of a file.
    Disk { path: PathBuf, file: File },
    /// An object for each.
    Bucket { facts: Url, origin: Vec<u8> },
}

impl Journal {
    fn in_bucket(root: &Url, origin: &Origin) -> Result<Self> {
        Ok(Self(Entries::Bucket {
            facts: root.join(HOME).join(FACTS),
            origin: line(&JournalLine::Origin(origin.clone()))?,
        }))
    }

    /// Notes a finished part.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note(&mut self, table: &str, facts: &PartFacts) -> Result<()> {
        self.write(&JournalLine::Part {
            table: table.to_owned(),
            facts: facts.clone(),
        })
    }

    /// Notes a file that was cut into parts.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note_cut(&mut self, facts: CutFacts) -> Result<()> {
        self.write(&JournalLine::Cut(facts))
    }

    fn write(&mut self, one: &JournalLine) -> Result<()> {
        let line = line(one)?;
        match &mut self.0 {
            Entries::Disk { path, file } => file
                .write_all(&line)
                .map_err(|error| Error::io("write", path, error)),
            Entries::Bucket { facts, origin } => {
                let name = match one {
                    JournalLine::Origin(_) => return Ok(()),
                    JournalLine::Part { table, facts } => {
                        let cell = facts
                            .cell
                            .map_or_else(String::new, |cell| format!("-{cell}"));
                        format!("{table}{cell}-{:05}.ndjson", facts.file_number)
                    }
                    JournalLine::Cut(cut) => {
                        let digest = hex(&Sha256::digest(&cut.source));
                        format!("cut-{}.ndjson", &digest[..16])
                    }
                };
                let place = facts.join(&name);
                let journal = [&origin[..], &line].concat();
                // What is there is of an earlier lake, or the same.
                match place.put_new(journal.clone())? {
                    true => Ok(()),
                    false => place.put(journal),
                }
            }
        }
    }
}

fn line(line: &JournalLine) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec(line).map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot write the journal: {error}"),
        )
    })?;
    json.push(b'\n');
    Ok(json)
}
