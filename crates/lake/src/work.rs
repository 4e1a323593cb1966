//! A run on a lake: joined, then working, then finished.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::OnBadRow;
use tracelake_core::words::{for_shell, several};
use tracelake_location::Location;
use tracelake_schema::Trace;

use crate::backend::{Backend, Hold};
use crate::conditional::{Put, check_conditions, put, put_all, put_or_replace};
use crate::facts::{self, Fact, Facts, agree};
use crate::identity::{self, FoundIdentity, elsewhere};
use crate::look::{
    FoundManifest, Goal, Lake, Look, foreign, recognise, refuse_damaged, refuse_unnamed,
};
use crate::manifest::{self, AbsentTable, FileFacts, Manifest, PartFacts};
use crate::parts::{PartName, Parts};
use crate::plan_file;
use crate::publish::{add, assemble, put_description, remove_complete_plans, warn_of_uncommitted};
use crate::release::warn_of_stale;
use crate::remaining::Counts;
use crate::rules::{Rule, holds};
use crate::session::Session;
use crate::staging::{Staged, Staging, digest_of};
use crate::{DESCRIPTION, IDENTITY, MANIFEST};

impl Lake {
    /// Joins the runs that work on the lake, if it is the one that is asked for, or nothing is there yet.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it is something else, another process has it alone, or it holds outputs without a record; when
    /// the disk or the store fails.
    pub fn join<'a>(&self, context: &Context, goal: &'a Goal<'a>) -> Result<Joined<'a>> {
        if self.backend.is_disk() {
            // Nothing is made in what is something else.
            let found = recognise(&*self.backend)?;
            self.refuse_another(found.as_ref(), &goal.identity)?;
        }
        let session = Session::begin(self, Hold::Shared)?;
        // Who had the lake alone a moment ago may have put another one in its place.
        self.look(context, goal, Some(session))
    }

    /// Looks at the lake as [`Lake::join`] does, and changes nothing.
    ///
    /// # Errors
    /// Looks at the lake like [`Lake::join`].
    pub fn peek<'a>(&self, context: &Context, goal: &'a Goal<'a>) -> Result<Joined<'a>> {
        self.look(context, goal, None)
    }

    fn look<'a>(
        &self,
        context: &Context,
        goal: &'a Goal<'a>,
        session: Option<Session>,
    ) -> Result<Joined<'a>> {
        let identity = recognise(&*self.backend)?;
        self.refuse_another(identity.as_ref(), &goal.identity)?;
        let trace = goal.identity.trace()?;
        let look = match &identity {
            None => Look::default(),
            Some(identity) => Look::for_run(&*self.backend, &trace, identity.sha256, goal)?,
        };
        Joined::new(context, self, goal, session, identity, trace, look)
    }
}

/// A run that has looked at a lake, and may work on it.
#[derive(Debug)]
pub struct Joined<'a> {
    pub(crate) context: Context,
    pub(crate) lake: Lake,
    pub(crate) goal: &'a Goal<'a>,
    /// `None` if the run only looks.
    session: Option<Session>,
    identity: Option<FoundIdentity>,
    pub(crate) trace: Arc<Trace>,
    pub(crate) look: Look,
    /// The parts in the manifest.
    pub(crate) committed: Parts,
}

impl std::fmt::Debug for Goal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Goal")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}

impl<'a> Joined<'a> {
    pub(crate) fn new(
        context: &Context,
        lake: &Lake,
        goal: &'a Goal<'a>,
        session: Option<Session>,
        identity: Option<FoundIdentity>,
        trace: Arc<Trace>,
        look: Look,
    ) -> Result<Self> {
        let committed = look.manifest.parts(&trace);
        let joined = Self {
            context: context.clone(),
            lake: lake.clone(),
            goal,
            session,
            identity,
            trace,
            look,
            committed,
        };
        joined.refuse()?;
        Ok(joined)
    }

    /// Refuses what must not be changed, while the lake is still as it was.
    fn refuse(&self) -> Result<()> {
        let root = self.lake.root();
        if !self.look.foreign.is_empty() {
            return Err(foreign(root, &self.look.foreign));
        }
        let assignment = self.goal.plan.assignment();
        let wants = |name: &PartName| self.goal.wants(&assignment, name);
        if self.damaged().is_some() {
            // What it named is lost: only a run that makes all that is there replaces it.
            if !self.look.has_only(&self.trace, &wants) {
                refuse_damaged(&self.lake, &self.look.manifest)?;
            }
        } else {
            let unnamed = self.look.unnamed(&self.committed);
            refuse_unnamed(&self.lake, &unnamed, &self.look.manifest)?;
        }
        let parts = self.goal.plan.parts.iter();
        for name in parts.filter_map(|part| PartName::of(&self.trace, &part.table, part.key())) {
            self.lake.backend.inside(&(self.goal.output_of)(&name))?;
        }
        if self.goal.on_bad_row == OnBadRow::Reject {
            return Ok(());
        }
        let mut recorded = self.recorded_parts().filter(|(name, _)| wants(name));
        match recorded.find(|(_, facts)| facts.rows_rejected > 0) {
            None => Ok(()),
            Some((name, facts)) => {
                let rows = several(facts.rows_rejected, "rejected row");
                let reason = format!("part {} has {rows}", name.key);
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(root)
                    .field(&*name.table)
                    .hint(format!(
                        "pass --on-bad-row reject, or use {}",
                        self.elsewhere()
                    )))
            }
        }
    }

    /// The parts of the manifest, and those that have facts and were asked for.
    fn recorded_parts(&self) -> impl Iterator<Item = (PartName, &PartFacts)> {
        let recorded = self
            .look
            .recorded
            .iter()
            .map(|(name, known)| (name.clone(), &known.facts));
        let recorded = recorded.filter(|(name, _)| !self.committed.contains_key(name));
        let committed = self
            .committed
            .iter()
            .map(|(name, facts)| (name.clone(), facts));
        committed.chain(recorded)
    }

    /// The place of the lake.
    #[must_use]
    pub fn root(&self) -> &Location {
        self.lake.root()
    }

    /// Where else the lake could go, for a hint.
    #[must_use]
    pub fn elsewhere(&self) -> &'static str {
        elsewhere(&*self.lake.backend)
    }

    /// How the manifest is damaged, if it is.
    #[must_use]
    pub fn damaged(&self) -> Option<&Error> {
        match &self.look.manifest {
            FoundManifest::Damaged(_, error) => Some(error),
            _ => None,
        }
    }

    /// The parts that are done, as far as names and sizes say it: a manifest has them, or facts and their outputs are there.
    #[must_use]
    pub fn done(&self) -> Parts {
        let is_shown = |facts: &PartFacts| self.goal.shard.is_some() || self.look.is_shown(facts);
        let recorded = self
            .look
            .recorded
            .iter()
            .map(|(name, known)| (name.clone(), &known.facts));
        let shown = recorded.filter(|(_, facts)| self.look.is_shown(facts));
        let committed = self
            .committed
            .iter()
            .map(|(name, facts)| (name.clone(), facts));
        let committed = committed.filter(|(_, facts)| is_shown(facts));
        let done = shown.chain(committed);
        done.map(|(name, facts)| (name, facts.clone())).collect()
    }

    /// How many parts the files that are cut into parts have, as far as these parts and the lake say it.
    #[must_use]
    pub fn counts(&self, parts: &Parts) -> Counts {
        Counts::new(parts, self.look.all_absent())
    }

    /// The manifest, if it has all of these parts, and nothing that archives lack is left to record. Then there is nothing to
    /// do, and the run is over.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn finished_with(&self, parts: &Parts) -> Result<Option<Manifest>> {
        let Some(manifest) = self.look.manifest.whole() else {
            return Ok(None);
        };
        let has_all = parts.keys().all(|name| self.committed.contains_key(name));
        let has_absent = self
            .look
            .absent
            .iter()
            .all(|table| manifest.absent.contains(table));
        if !has_all || !has_absent {
            return Ok(None);
        }
        self.lake.backend.keep_names(&[MANIFEST.to_owned()])?;
        remove_complete_plans(&*self.lake.backend, &self.trace, manifest)?;
        put_description(&*self.lake.backend, &self.goal.identity)?;
        Ok(Some(manifest.clone()))
    }

    /// Begins the work: records what the lake is, unless it is recorded, and for a shard the plan.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if the manifest could become too large, or another run has just begun another lake; when the
    /// disk or the store fails.
    pub fn begin(mut self) -> Result<Working> {
        let bytes = self.manifest_bytes();
        manifest::check_bytes(bytes).map_err(|error| error.at(self.root()))?;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::begin(&self.lake, Hold::Shared)?,
        };
        let backend = self.lake.backend.clone();
        let plan = self
            .goal
            .shard
            .map(|_| self.goal.plan.to_json())
            .transpose();
        let plan = plan.map_err(|error| error.at(self.root()))?;
        let (json, sha256) = self.put_identity(&mut session)?;
        check_conditions(&*backend, &json)?;
        put_description(&*backend, &self.goal.identity)?;
        if let Some(json) = plan {
            let path = plan_file::path_of(Digest::of(&json));
            // Its name is its digest, so other bytes are damaged.
            if put_or_replace(&*backend, &path, json, plan_file::MOST_BYTES)? {
                session.begun.insert(0, path);
            }
        }
        session.clear_staging(&self.context)?;
        let absent = Mutex::new(self.look.all_absent());
        Ok(Working {
            context: self.context,
            lake: self.lake,
            session,
            identity: FoundIdentity {
                identity: self.goal.identity.clone(),
                sha256,
                json,
            },
            made: self.look.shown(&self.trace),
            trace: self.trace,
            manifest: self.look.manifest,
            committed: self.committed,
            absent,
            manifest_bytes: AtomicU64::new(bytes),
        })
    }

    /// The most bytes that the manifest takes with all parts that are known.
    fn manifest_bytes(&self) -> u64 {
        let recorded: BTreeMap<PartName, &PartFacts> = self.recorded_parts().collect();
        let mut bytes = recorded
            .values()
            .fold(0_u64, |bytes, facts| bytes.saturating_add(bytes_of(facts)));
        for part in &self.goal.plan.parts {
            let Some(name) = PartName::of(&self.trace, &part.table, part.key()) else {
                continue;
            };
            if !recorded.contains_key(&name) {
                let output = (self.goal.output_of)(&name);
                // A rejects file has a longer path than an output by no more than this.
                let rejects = format!("{}/{output}", manifest::REJECTS);
                bytes = bytes.saturating_add(manifest::most_bytes([
                    &part.source.path,
                    &output,
                    &rejects,
                ]));
            }
        }
        bytes
    }

    /// Puts the identity where there is none. Returns its bytes and their digest.
    fn put_identity(&self, session: &mut Session) -> Result<(Vec<u8>, Digest)> {
        if let Some(found) = &self.identity {
            return Ok((found.json.clone(), found.sha256));
        }
        let backend = &*self.lake.backend;
        let json = self.goal.identity.to_json()?;
        match put(backend, IDENTITY, json.clone(), identity::MOST_BYTES)? {
            Put::New => {
                if backend.is_disk() {
                    session.begun = vec![DESCRIPTION.to_owned(), IDENTITY.to_owned()];
                }
                Ok((json.clone(), Digest::of(&json)))
            }
            Put::There(found) if found == json => Ok((json.clone(), Digest::of(&json))),
            Put::There(_) if !holds(Rule::FirstIdentityStays) => {
                Ok((json.clone(), Digest::of(&json)))
            }
            Put::There(found) => {
                let found = identity::FoundIdentity {
                    identity: identity::Identity::read(&found)
                        .map_err(|error| error.at(self.root().join(IDENTITY)))?,
                    sha256: Digest::of(&found),
                    json: found,
                };
                self.lake
                    .refuse_another(Some(&found), &self.goal.identity)?;
                Ok((found.json, found.sha256))
            }
        }
    }
}

/// The most bytes of a part in a manifest.
fn bytes_of(facts: &PartFacts) -> u64 {
    let rejects = facts.rejects.as_ref().map_or("", |file| &file.path);
    manifest::most_bytes([&facts.source.path, &facts.output.path, rejects])
}

/// A part that is made, but not visible.
#[derive(Debug)]
pub struct MadePart {
    /// Its name.
    pub name: PartName,
    /// Its facts for the manifest.
    pub facts: PartFacts,
    /// The tag that the source's store gave the bytes.
    pub tag: Option<String>,
    /// Whether its source is a file that is cut into parts.
    pub is_cut: bool,
    /// Its files, the output last.
    pub files: Vec<Staged>,
}

/// A run that works on a lake, beside any number of others.
#[derive(Debug)]
pub struct Working {
    context: Context,
    lake: Lake,
    session: Session,
    identity: FoundIdentity,
    trace: Arc<Trace>,
    /// The manifest, as this run last saw it.
    manifest: FoundManifest,
    committed: Parts,
    /// Parts that were made when the run began, committed or not.
    made: BTreeSet<PartName>,
    /// The tables that archives don't have.
    absent: Mutex<BTreeSet<AbsentTable>>,
    /// The most bytes that the manifest takes with the parts so far.
    manifest_bytes: AtomicU64,
}

impl Working {
    /// The place of the lake.
    #[must_use]
    pub fn root(&self) -> &Location {
        self.lake.root()
    }

    /// How many parts wait for the disk or the store while this many are converted.
    #[must_use]
    pub fn commits(&self, parts: usize) -> crate::Commits {
        self.lake.backend.commits(parts)
    }

    /// A directory for files without a name that are gone once they are closed: that of staged files, on the disk of the
    /// lake, or the system's for a bucket.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn scratch(&self) -> Result<PathBuf> {
        let Some(root) = self.root().as_path() else {
            return Ok(std::env::temp_dir());
        };
        let scratch = root.join(crate::STAGING);
        let made = fs::create_dir_all(&scratch);
        made.map_err(|error| Error::disk("make", error).at(&scratch))?;
        Ok(scratch)
    }

    /// Starts a file that will become `path`, which is relative to the lake.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn stage(&self, path: &str) -> Result<Staging> {
        Ok(Staging::new(path, self.lake.backend.stage(path)?))
    }

    /// Makes parts visible for good: records what the manifest will say of them, then shows their files. On a disk, parts
    /// that are committed together share their syncs. Returns the facts of each, or why it isn't visible.
    ///
    /// # Errors
    /// When the disk or the store fails. For one part, [`ErrorKind::Refused`] if another run has made it from another
    /// source.
    pub fn commit(&self, parts: Vec<MadePart>) -> Result<Vec<Result<PartFacts>>> {
        let mut objects = Vec::new();
        let mut agreed: Vec<Result<Agreed>> = Vec::new();
        for part in &parts {
            match self.committed.get(&part.name) {
                // The manifest alone speaks of a part that it has.
                Some(then) => agreed.push(self.agree_with(part, then)),
                None => {
                    self.count_in_manifest(part)?;
                    let facts = self.facts(
                        &part.name.table,
                        Fact::Part(part.facts.clone()),
                        part.tag.clone(),
                    );
                    objects.push((facts.path(), facts.to_json()?));
                    agreed.push(Ok(Agreed::New));
                }
            }
        }
        let backend = &*self.lake.backend;
        if !holds(Rule::FactsBeforeOutputs) {
            return self.commit_in_another_order(parts, &objects);
        }
        let mut put = put_all(backend, &objects, facts::MOST_BYTES)?.into_iter();
        for (part, agreed) in parts.iter().zip(&mut agreed) {
            if matches!(agreed, Ok(Agreed::New))
                && let Some(answer) = put.next()
            {
                *agreed = answer.and_then(|answer| match answer {
                    Put::New => Ok(Agreed::New),
                    Put::There(_) if !holds(Rule::FirstFactsStay) => self.replace_facts(part),
                    Put::There(json) => self.agree_with_recorded(part, &json),
                });
            }
        }
        let mut files = Vec::new();
        let mut counts = Vec::new();
        for (part, agreed) in parts.into_iter().zip(agreed) {
            counts.push(agreed.and_then(|agreed| {
                let shown = self.to_show(part.files, &agreed)?;
                let count = shown.len();
                files.extend(shown);
                let facts = match agreed {
                    Agreed::New => part.facts,
                    Agreed::Known(facts) => facts,
                };
                Ok((facts, count))
            }));
        }
        let mut shown = backend.show(files)?.into_iter();
        let committed = counts.into_iter().map(|counted| {
            let (facts, count) = counted?;
            let files: Vec<Result<()>> = shown.by_ref().take(count).collect();
            files.into_iter().collect::<Result<()>>()?;
            Ok(facts)
        });
        Ok(committed.collect())
    }

    /// Shows outputs before facts: only for a test that switches a rule off.
    fn commit_in_another_order(
        &self,
        parts: Vec<MadePart>,
        objects: &[(String, Vec<u8>)],
    ) -> Result<Vec<Result<PartFacts>>> {
        let backend = &*self.lake.backend;
        let facts = parts.iter().map(|part| Ok(part.facts.clone())).collect();
        let files = parts
            .into_iter()
            .flat_map(|part| part.files)
            .map(Staged::into_file);
        for shown in backend.show(files.collect())? {
            shown?;
        }
        put_all(backend, objects, facts::MOST_BYTES)?;
        Ok(facts)
    }

    /// Puts facts in the place of others: only for a test that switches a rule off.
    fn replace_facts(&self, part: &MadePart) -> Result<Agreed> {
        let backend = &*self.lake.backend;
        let facts = self.facts(
            &part.name.table,
            Fact::Part(part.facts.clone()),
            part.tag.clone(),
        );
        if let Some(found) = backend.get(&facts.path(), facts::MOST_BYTES)? {
            backend.swap(&facts.path(), &found.version, facts.to_json()?)?;
        }
        Ok(Agreed::New)
    }

    fn facts(&self, table: &str, fact: Fact, tag: Option<String>) -> Facts {
        Facts {
            lake: self.identity.sha256,
            table: table.to_owned(),
            fact,
            tag,
        }
    }

    /// Counts a part whose number wasn't known before.
    fn count_in_manifest(&self, part: &MadePart) -> Result<()> {
        if !part.is_cut {
            return Ok(());
        }
        let bytes = bytes_of(&part.facts);
        let before = self.manifest_bytes.fetch_add(bytes, Ordering::Relaxed);
        let checked = manifest::check_bytes(before.saturating_add(bytes));
        checked.map_err(|error| error.at(self.root()))
    }

    fn agree_with(&self, part: &MadePart, then: &PartFacts) -> Result<Agreed> {
        match agree(then, &part.facts, part.is_cut) {
            true => Ok(Agreed::Known(then.clone())),
            false => Err(self.another(part, true)),
        }
    }

    /// Compares a part with facts that another run has put first.
    fn agree_with_recorded(&self, part: &MadePart, json: &[u8]) -> Result<Agreed> {
        let path = facts::path_of(&part.name.table, part.name.key);
        let read = Facts::read(json, &path, self.identity.sha256).map(|facts| facts.fact);
        if !holds(Rule::FactsAgree) {
            return Ok(Agreed::New);
        }
        if let Some(Fact::Part(then)) = &read
            && agree(then, &part.facts, part.is_cut)
        {
            return Ok(Agreed::Known(then.clone()));
        }
        // It may have been committed since, and then its facts don't count.
        let backend = &*self.lake.backend;
        let manifest = FoundManifest::of_lake(backend, &self.trace, self.identity.sha256)?;
        if let Some(then) = manifest.parts(&self.trace).get(&part.name) {
            return self.agree_with(part, then);
        }
        match read {
            Some(_) => Err(self.another(part, false)),
            None => Err(
                Error::new(ErrorKind::Refused, "the facts of this part are damaged")
                    .at(self.root().join(&path))
                    .hint(forget_command(&*self.lake.backend, &part.name)),
            ),
        }
    }

    /// The error for a part that another run has made from something else.
    fn another(&self, part: &MadePart, is_committed: bool) -> Error {
        let reason = "another run has made this part, and not from the same file";
        Error::new(ErrorKind::Refused, reason)
            .at(self.root().join(&part.facts.output.path))
            .field(&*part.name.table)
            .hint(forget_hint(&*self.lake.backend, &part.name, is_committed))
    }

    /// The files of a part that aren't there with their bytes.
    fn to_show(
        &self,
        staged: Vec<Staged>,
        agreed: &Agreed,
    ) -> Result<Vec<Box<dyn crate::backend::Unfinished>>> {
        let backend = &*self.lake.backend;
        let mut show = Vec::new();
        for file in staged {
            let facts = file.facts();
            // In a bucket, who put the facts is the first to show anything.
            let may_be_there = backend.is_disk() || matches!(agreed, Agreed::Known(_));
            let found = match may_be_there {
                true => backend.look_up(std::slice::from_ref(&facts.path))?.pop(),
                false => None,
            };
            match found {
                Some(found) if found.bytes == facts.bytes && self.is_whole(facts)? => {
                    backend.keep_names(std::slice::from_ref(&facts.path))?;
                    continue;
                }
                Some(_) if backend.is_disk() => self.context.warn(format!(
                    "{} isn't what was recorded of it, and is replaced",
                    facts.path
                )),
                _ => {}
            }
            show.push(file.into_file());
        }
        Ok(show)
    }

    /// Whether a file of this size has its bytes. In a bucket, its size is enough.
    fn is_whole(&self, facts: &FileFacts) -> Result<bool> {
        let backend = &*self.lake.backend;
        if !backend.is_disk() {
            return Ok(true);
        }
        Ok(digest_of(&self.context, backend, &facts.path)? == Some(facts.sha256))
    }

    /// Records that an archive doesn't have some tables.
    ///
    /// # Errors
    /// When the disk or the store fails.
    pub fn note_absent(&self, tables: &[&str], source: &FileFacts) -> Result<()> {
        let facts = tables
            .iter()
            .map(|table| self.facts(table, Fact::AbsentFrom(source.clone()), None));
        let facts: Vec<Facts> = facts.collect();
        let objects = facts
            .iter()
            .map(|facts| Ok((facts.path(), facts.to_json()?)));
        let objects = objects.collect::<Result<Vec<_>>>()?;
        put_all(&*self.lake.backend, &objects, facts::MOST_BYTES)?
            .into_iter()
            .try_for_each(|put| put.map(drop))?;
        let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent.extend(facts.iter().filter_map(Facts::absent));
        Ok(())
    }

    /// Leaves what the lake is, and the plan, to other workers, even if this one makes nothing.
    #[must_use]
    pub fn keep_begun(mut self) -> Self {
        self.session.begun.clear();
        self
    }

    /// Ends the work without a commit, as a shard does, and a run that failed.
    ///
    /// # Errors
    /// When the disk or the store fails.
    pub fn leave(mut self) -> Result<()> {
        self.session.leave(None)
    }

    /// The manifest of these parts alone, which isn't written.
    #[must_use]
    pub fn assemble(&self, parts: &Parts) -> Manifest {
        assemble(&self.identity, &self.trace, parts.clone(), BTreeSet::new())
    }

    /// Commits the parts of this run, and ends it.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if an output was removed while the run worked; [`ErrorKind::Misfit`] if the lake has more than
    /// `max_rejects` rejected rows; when the counting law doesn't hold, or the disk or the store fails.
    pub fn finish(mut self, parts: &Parts, max_rejects: Option<u64>) -> Result<Manifest> {
        let manifest = std::mem::take(&mut self.manifest);
        let absent = std::mem::take(&mut self.absent).into_inner();
        let absent = absent.unwrap_or_else(PoisonError::into_inner);
        let done = add(
            &self.lake,
            &self.identity,
            &self.trace,
            manifest,
            parts,
            absent,
            max_rejects,
        )?;
        remove_complete_plans(&*self.lake.backend, &self.trace, &done)?;
        let committed = done.part_names();
        let is_left = |name: &PartName| !committed.contains(&(&name.table, name.key));
        let left = std::mem::take(&mut self.made).into_iter().filter(is_left);
        warn_of_uncommitted(&self.context, self.lake.root(), left);
        warn_of_stale(&self.context, &*self.lake.backend)?;
        self.session.leave(Some(&done))?;
        Ok(done)
    }
}

/// The state of a part's facts.
enum Agreed {
    /// This run has put them.
    New,
    /// Another run, or an earlier one.
    Known(PartFacts),
}

/// The way out for a part that was made from something else.
pub(crate) fn forget_hint(backend: &dyn Backend, name: &PartName, is_committed: bool) -> String {
    if is_committed {
        return format!("put the old file back, or use {}", elsewhere(backend));
    }
    format!(
        "put the old file back; or, {}",
        forget_command(backend, name)
    )
}

/// How a part that isn't committed is forgotten.
pub(crate) fn forget_command(backend: &dyn Backend, name: &PartName) -> String {
    let PartName { table, key } = name;
    let cell = key
        .cell
        .map_or_else(String::new, |cell| format!(" --cell {cell}"));
    let lake = for_shell(backend.root());
    let number = key.file_number;
    format!(
        "while no other run works on the lake, run tracelake commit {lake} --forget --tables {table} --parts \
         {number}{cell}, and then this command again"
    )
}
