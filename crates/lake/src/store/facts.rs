//! A lake's progress: its finished parts, and the plan of its workers.
//!
//! Facts are lines in journals: `journal.ndjson` is written by a run that has the lake alone, and each
//! worker that shares it has its own `journal-N.ndjson`. They aren't synced: a line that is lost
//! with the machine only means that a part is converted again. A line is believed only when it has the digest
//! of its content, and the output has the digest that it names.

mod tests;

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::{Origin, unreadable};
use tracelake_core::seal;
use tracelake_location::Location;

use super::backend::{Agreement, Backend, Notes, Show, backend};
use super::description::know_description;
use super::planned::{LakeState, base_parts, cut_name, facts_name, journals_of};
use super::{ASKED, JOURNAL, Lake, MANIFEST, PLAN, manifest_of};
use crate::manifest::{Manifest, PartFacts};
use crate::plan_file::{self, PlanFile};

/// The progress of a lake.
#[derive(Debug, Default)]
pub struct LakeProgress {
    /// Who began the lake; `None` when nothing is finished.
    pub origin: Option<Origin>,
    /// The finished parts, each with its table. A part that was done twice is listed twice; the later
    /// entry counts.
    pub parts: Vec<(Arc<str>, PartFacts)>,
    /// How many parts files were cut into that were read as far as that was wanted. In a finished lake there are none.
    pub cut: Vec<CutFacts>,
    /// The ETags that a store gave to outputs when they were made, by their paths.
    pub etags: BTreeMap<String, String>,
    /// The plan that an unfinished lake's shards have agreed on.
    pub plan: Option<PlanFile>,
    /// The SHA-256 of the plan, in a bucket.
    pub plan_digest: Option<String>,
    /// Whether there is a manifest, other than one that is about to be replaced. Facts beside it are left over,
    /// and aren't read.
    pub complete: bool,
    /// How the manifest is damaged; nothing then counts as finished but what facts name.
    pub damaged: Option<Error>,
    /// Lines of journals that don't have the digest of their content, as after a crash of the machine. They
    /// aren't believed.
    pub damaged_lines: u64,
}

/// A file that was read and cut into parts: how many they are. The parts are noted after that, so whichever of them a
/// killed run hasn't noted is known to be missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutFacts {
    /// Its path relative to SRC.
    pub source: String,
    /// The file numbers that were selected, as ranges; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Vec<(u32, u32)>>,
    /// The tables in it, each with the number of parts seen.
    pub tables: BTreeMap<String, u32>,
}

/// A line of a journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Origin(Origin),
    Part {
        table: String,
        facts: PartFacts,
        /// The ETags of the outputs in the store, by their paths. A hint, which may be missing.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        etags: BTreeMap<String, String>,
    },
    Cut(CutFacts),
}

impl Lake {
    /// Reads the progress from the manifest, or else from the facts of an unfinished lake. Damaged facts
    /// aren't believed and count as not finished.
    ///
    /// # Errors
    /// As the function [`progress`].
    pub fn progress(&self) -> Result<LakeProgress> {
        progress_in(&*self.backend, Err)
    }

    /// Reads the progress of one shard's work; on disk, that of the whole lake.
    ///
    /// # Errors
    /// As the function [`progress`].
    pub fn progress_of(&self, plan: &PlanFile, shard: u32) -> Result<LakeProgress> {
        let backend = &*self.backend;
        match self.agreement() {
            Agreement::Lock => self.progress(),
            Agreement::Plan => {
                let journals =
                    |base: &[_], show: Show<'_>| journals_of(backend, plan, shard, base, show);
                known(backend, progress_by_plan(backend, Err, journals)?)
            }
        }
    }

    /// Reads the progress for a run that replaces the plan: a plan that can't be read counts as none.
    ///
    /// # Errors
    /// As the function [`progress`], but for the plan.
    pub fn progress_to_take_over(&self) -> Result<LakeProgress> {
        progress_in(&*self.backend, |_| Ok(None))
    }

    /// Takes the manifest of a lake on disk away, so that the lake counts as not finished while it changes. Writes what
    /// is `asked` for, and starts a journal with the parts that stay. A release goes first: it describes a lake that
    /// will not be there any more. Only for a process that has the lake alone.
    ///
    /// # Errors
    /// As [`Lake::check_release`]; when the disk fails.
    pub fn begin<'a>(
        &self,
        origin: &Origin,
        asked: Option<&PlanFile>,
        kept: impl Iterator<Item = (&'a str, &'a PartFacts)>,
    ) -> Result<Journal> {
        self.withdraw_release()?;
        if let Some(asked) = asked {
            self.write_in_pieces(ASKED, |file| asked.write(file))?;
        }
        let first = JournalLine::Origin(origin.clone());
        let parts = kept.map(|(table, facts)| JournalLine::Part {
            table: table.to_owned(),
            facts: facts.clone(),
            etags: BTreeMap::new(),
        });
        self.write_in_pieces(JOURNAL, |file| {
            let mut lines = std::iter::once(first).chain(parts);
            lines.try_for_each(|one| file.write_all(&json_line(&one)?))
        })?;
        let mut replaced = self.backend.journals()?;
        replaced.retain(|journal| journal != JOURNAL);
        replaced.extend(asked.is_none().then(|| ASKED.to_owned()));
        self.backend.remove(&replaced)?;
        self.backend.remove(&[MANIFEST.to_owned()])?;
        self.put_description(origin)?;
        Ok(Journal(self.backend.append_to(JOURNAL)?))
    }

    /// Starts a journal beside those of other workers.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn join_in(&self, origin: &Origin) -> Result<Journal> {
        let head = line(&JournalLine::Origin(origin.clone()))?;
        Ok(Journal(self.backend.join_in(head)?))
    }

    /// Writes the plan that the shards of a lake on disk have in common. Only for a process that has the lake
    /// alone, so that no other worker can write another one.
    ///
    /// # Errors
    /// When the disk fails; [`ErrorKind::Refused`] if the plan would be too large to be read back.
    pub fn put_plan(&self, plan: &PlanFile) -> Result<()> {
        self.put_description(&plan.origin)?;
        self.write_whole(PLAN, &plan_bytes(plan, self.root())?)
    }

    /// Removes the plan of a lake.
    ///
    /// # Errors
    /// When the disk or the store fails.
    pub fn remove_plan(&self) -> Result<()> {
        self.backend.remove(&[PLAN.to_owned()])
    }
}

/// The bytes of a plan.
///
/// # Errors
/// [`ErrorKind::Refused`] if they are too many to be read back.
pub fn plan_bytes(plan: &PlanFile, root: &Location) -> Result<Vec<u8>> {
    let json = plan.to_json();
    plan_file::check_bytes(json.len() as u64).map_err(|error| error.at(root))?;
    Ok(json)
}

/// Reads the progress of the lake at `root`; see [`Lake::progress`].
///
/// # Errors
/// As [`Lake::progress`].
pub fn progress(root: &Location) -> Result<LakeProgress> {
    progress_in(&*backend(root), Err)
}

/// The request of a run on a disk that had the lake at `root` alone and hasn't finished it, as a plan with one shard.
/// `None` if there is none that can be read, or if it isn't of a lake of this `origin`: a run that is killed while it
/// begins leaves its request beside the journal that it was about to replace. No run has a lake in a bucket alone.
#[must_use]
pub fn asked(root: &Location, origin: &Origin) -> Option<PlanFile> {
    let backend = backend(root);
    if backend.agreement() == Agreement::Plan {
        return None;
    }
    let (json, _) = backend.read(ASKED).ok()??;
    let asked = PlanFile::from_json(&json).ok()?;
    let is_of_another = asked.origin.difference_but_policy(origin).is_some();
    (!is_of_another).then_some(asked)
}

/// Returns the replacement for a plan that can't be read.
type DamagedPlan = fn(Error) -> Result<Option<PlanFile>>;

/// Reads the progress; a plan that can't be read is replaced by the answer to its error.
fn progress_in(backend: &dyn Backend, damaged: DamagedPlan) -> Result<LakeProgress> {
    let progress = match backend.agreement() {
        Agreement::Lock => progress_by_lock(backend, damaged),
        Agreement::Plan => progress_by_plan(backend, damaged, |_, show| {
            backend.read_each(backend.journals()?, show)
        }),
    };
    known(backend, progress?)
}

/// The progress of a lake whose trace is known by its description.
fn known(backend: &dyn Backend, progress: LakeProgress) -> Result<LakeProgress> {
    if let Some(origin) = &progress.origin {
        know_description(backend, origin)?;
    }
    Ok(progress)
}

/// Reads the progress of a lake that no other run changes at the same time. A manifest is newer than all else.
fn progress_by_lock(backend: &dyn Backend, damaged: DamagedPlan) -> Result<LakeProgress> {
    let mut progress = LakeProgress::default();
    match manifest_of(backend)? {
        None => {}
        Some(Ok(manifest)) => return Ok(LakeProgress::finished(manifest)),
        Some(Err(error)) => progress.damaged = Some(error),
    }
    if let Some((json, _)) = backend.read(PLAN)? {
        let plan = PlanFile::from_json(&json).map_err(|error| error.at(backend.root().join(PLAN)));
        progress.plan = plan.map(Some).or_else(damaged)?;
        progress.origin = progress.plan.as_ref().map(|plan| plan.origin.clone());
    }
    let hint = || {
        let elsewhere = backend.elsewhere();
        format!("use the version of tracelake that began it, or {elsewhere}")
    };
    backend.read_each(backend.journals()?, &mut |journal| {
        let read = read_journal(journal, &mut progress);
        read.map_err(|error| error.at(backend.root()).hint(hint()))
    })?;
    Ok(progress)
}

/// Reads the progress of a lake that other runs may change at the same time. The journals are read once the parts are
/// known that the plan adds to.
fn progress_by_plan(
    backend: &dyn Backend,
    damaged: DamagedPlan,
    journals: impl FnOnce(&[(Arc<str>, PartFacts)], Show<'_>) -> Result<()>,
) -> Result<LakeProgress> {
    let state = LakeState::of(backend)?;
    let mut progress = LakeProgress::default();
    if let Some(finished) = state.finished() {
        match &finished.content {
            Ok(manifest) => progress = LakeProgress::finished(manifest.clone()),
            Err(_) => progress.damaged = state.manifest.and_then(|found| found.content.err()),
        }
    }
    if let Some(found) = state.plan {
        progress.plan_digest = Some(found.digest);
        progress.plan = found.content.map(Some).or_else(damaged)?;
    }
    if progress.complete {
        return Ok(progress);
    }
    if let Some(plan) = &progress.plan {
        progress.origin = Some(plan.origin.clone());
        progress.parts = base_parts(backend, plan)?;
    }
    let base = progress.parts.clone();
    journals(&base, &mut |journal| {
        let read = read_journal(journal, &mut progress);
        read.map_err(|error| error.at(backend.root()))
    })?;
    Ok(progress)
}

impl LakeProgress {
    /// A lake with this manifest.
    #[must_use]
    pub fn finished(manifest: Manifest) -> Self {
        Self {
            origin: Some(manifest.origin.clone()),
            parts: manifest.into_parts(),
            complete: true,
            ..Self::default()
        }
    }
}

/// Adds a journal to what is known. A line without the digest of its content is skipped, and without a first
/// line that names the origin, the whole journal is. A journal of another origin is what `--overwrite` had not
/// removed yet.
///
/// # Errors
/// [`ErrorKind::Refused`] if nothing is known of the lake but an origin that can't be read, as another version
/// may write it.
fn read_journal(journal: &mut dyn BufRead, progress: &mut LakeProgress) -> Result<()> {
    let mut line = Vec::new();
    let mut next_line = || {
        line.clear();
        let read = journal
            .read_until(b'\n', &mut line)
            .map_err(|error| Error::disk("read", error))?;
        Ok::<_, Error>((read > 0).then(|| seal::content(&line)))
    };
    let Some(Some(first)) = next_line()? else {
        while next_line()?.is_some() {
            progress.damaged_lines += 1;
        }
        return Ok(());
    };
    let origin = match serde_json::from_slice(&first) {
        Ok(JournalLine::Origin(origin)) => origin,
        Err(error) if progress.origin.is_none() => {
            let hint = "use the version of tracelake that began it";
            return Err(unreadable("a journal", &first[..], error).or_hint(hint));
        }
        _ => return Ok(()),
    };
    match &progress.origin {
        None => {
            origin.check_format()?;
            progress.origin = Some(origin);
        }
        Some(known) if known.difference_but_policy(&origin).is_some() => return Ok(()),
        Some(_) => {}
    }
    while let Some(line) = next_line()? {
        match line.as_deref().map(serde_json::from_slice) {
            Some(Ok(JournalLine::Part {
                table,
                facts,
                etags,
            })) => {
                let before = progress.parts.last().map(|(before, _)| before);
                let table = match before.filter(|before| ***before == *table) {
                    Some(before) => Arc::clone(before),
                    None => table.into(),
                };
                progress.parts.push((table, facts));
                progress.etags.extend(etags);
            }
            Some(Ok(JournalLine::Cut(cut))) => progress.cut.push(cut),
            Some(Ok(JournalLine::Origin(_)) | Err(_)) | None => progress.damaged_lines += 1,
        }
    }
    Ok(())
}

/// The list of the parts that one process has finished.
#[derive(Debug)]
pub struct Journal(Box<dyn Notes>);

impl Journal {
    /// Notes a finished part, with what the store names the content of its outputs by.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note(
        &self,
        table: &str,
        facts: &PartFacts,
        etags: BTreeMap<String, String>,
    ) -> Result<()> {
        let name = facts_name(table, facts.key());
        let part = JournalLine::Part {
            table: table.to_owned(),
            facts: facts.clone(),
            etags,
        };
        self.0.note(&name, &line(&part)?)
    }

    /// Notes how many parts a file was cut into.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn note_cut(&self, facts: CutFacts) -> Result<()> {
        let name = cut_name(&facts.source);
        self.0.note(&name, &line(&JournalLine::Cut(facts))?)
    }
}

fn line(line: &JournalLine) -> Result<Vec<u8>> {
    json_line(line).map_err(|error| {
        let reason = format!("cannot write the journal: {error}");
        Error::new(ErrorKind::Failed, reason)
    })
}

fn json_line(line: &JournalLine) -> io::Result<Vec<u8>> {
    Ok(seal::line(serde_json::to_vec(line)?))
}
