//! How runs that share a lake agree: every step puts a file where there is none, or one with equal bytes.
//!
//! ```text
//! OUT/_tracelake/plan.json                       what every run that writes agrees on
//! OUT/_tracelake/trace.toml                      the description of a trace that isn't built in
//! OUT/_tracelake/base-<digest>.json              the finished manifest that the plan adds to
//! OUT/_tracelake/manifest.json                   put last; then facts, base and plan are removed
//! ```

mod tests;

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::{Arc, PoisonError};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_core::seal::sha256;
use tracelake_location::{Location, Tagged};

use super::backend::{Backend, Show};
use super::{DESCRIPTION_PATH, FACTS, HOME, Lake, MANIFEST, PLAN, manifest_in};
use crate::manifest::{Manifest, PartFacts};
use crate::plan_file::PlanFile;

/// How often a store may replace an object that it was asked to keep before it counts as one that ignores conditions.
const CONDITION_TRIALS: usize = 3;

/// How many journals of parts are asked for at once whose number isn't known.
const MOST_AHEAD: usize = 64;

/// The plan and the manifest of a lake that runs share, as one look finds them.
#[derive(Debug)]
pub struct LakeState {
    /// The plan, or how it is damaged; there is one while runs work on the lake, and after one was killed.
    pub plan: Option<Found<Result<PlanFile>>>,
    /// The manifest, or how it is damaged.
    pub manifest: Option<Found<Result<Manifest>>>,
}

/// A small object that was read.
#[derive(Debug)]
pub struct Found<T> {
    /// The SHA-256 of its bytes.
    pub digest: String,
    /// Its bytes.
    bytes: Vec<u8>,
    /// The tag that the store gave them, if it gives any.
    pub etag: Option<String>,
    /// Its content.
    pub content: T,
}

/// How a manifest was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// The lake is ready for the parts that the plan adds.
    Done,
    /// Another run has ended the plan: the lake has to be looked at again.
    PlanIsGone,
}

impl<T> Found<T> {
    fn new((bytes, etag): Tagged, content: T) -> Self {
        Self {
            digest: sha256(&bytes),
            bytes,
            etag,
            content,
        }
    }
}

impl LakeState {
    /// Looks at a lake.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a later version wrote the manifest; if the store fails.
    pub(super) fn of(backend: &dyn Backend) -> Result<Self> {
        // In this order: a commit puts the manifest before it removes the plan, and an addition puts the plan
        // before it withdraws the manifest. So a lake that has one of them never looks as if it had neither.
        let plan = backend.read(PLAN)?.map(|read| {
            let content =
                PlanFile::from_json(&read.0).map_err(|error| error.at(backend.root().join(PLAN)));
            Found::new(read, content)
        });
        let manifest = match backend.read(MANIFEST)? {
            None => None,
            Some(read) => {
                let content = manifest_in(backend, Cursor::new(&read.0), MANIFEST)?;
                Some(Found::new(read, content))
            }
        };
        Ok(Self { plan, manifest })
    }

    /// The manifest, unless the plan is about to replace it by one with more parts.
    #[must_use]
    pub fn finished(&self) -> Option<&Found<Result<Manifest>>> {
        let plan = self
            .plan
            .as_ref()
            .and_then(|plan| plan.content.as_ref().ok());
        let base = plan.and_then(|plan| plan.base.as_ref());
        self.manifest
            .as_ref()
            .filter(|manifest| base != Some(&manifest.digest))
    }
}

/// The name of the copy of the manifest that a plan adds to.
fn base_name(digest: &str) -> String {
    format!("{HOME}/base-{digest}.json")
}

/// The parts of the lake that a plan adds to. What is damaged has no parts: they are made again.
pub(super) fn base_parts(
    backend: &dyn Backend,
    plan: &PlanFile,
) -> Result<Vec<(Arc<str>, PartFacts)>> {
    let Some(digest) = &plan.base else {
        return Ok(Vec::new());
    };
    let path = base_name(digest);
    let read = backend.read(&path)?.map(|(bytes, _)| bytes);
    let Some(bytes) = read.filter(|bytes| sha256(bytes) == *digest) else {
        let reason = "is missing or damaged, and the plan adds to the lake that it describes";
        return Err(Error::new(ErrorKind::Refused, reason)
            .at(backend.root().join(&path))
            .hint("restore it, or use a new prefix"));
    };
    let Ok(manifest) = manifest_in(backend, Cursor::new(&bytes), &path)? else {
        return Ok(Vec::new());
    };
    Ok(manifest.into_parts())
}

/// The plan that a process works by.
#[derive(Debug, Clone)]
pub(super) struct OwnPlan {
    digest: String,
    /// The digest of the manifest that it adds to.
    base: Option<String>,
    /// The bytes of that manifest, once this process has withdrawn it.
    withdrawn: Option<Vec<u8>>,
    /// The tag that the store gave the bytes of the plan, once this process has read them.
    etag: Option<String>,
}

impl Lake {
    /// Looks at plan and manifest.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a later version wrote the manifest; if the store fails.
    pub fn state(&self) -> Result<LakeState> {
        LakeState::of(&*self.backend)
    }

    /// The digest of the manifest that an addition has withdrawn and that no plan names any more, because the
    /// plan was removed by hand. `None` if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if there are several; if the store fails.
    pub fn orphaned_base(&self) -> Result<Option<String>> {
        let names = self.backend.names(HOME)?;
        let digest = |name| str::strip_prefix(name, "base-")?.strip_suffix(".json");
        let digests: Vec<&str> = names.iter().filter_map(|name| digest(name)).collect();
        match digests[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.to_owned())),
            [..] => {
                let reason = "holds copies of several manifests, and neither a manifest nor a plan";
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.root().join(HOME))
                    .hint("copy the right one to manifest.json"))
            }
        }
    }

    /// Keeps a copy of the manifest for the plan that adds to it; `found` is what it was a moment ago.
    ///
    /// # Errors
    /// If the store fails.
    pub fn put_base<T>(&self, found: &Found<T>) -> Result<()> {
        let path = base_name(&found.digest);
        self.backend.put_new(&path, found.bytes.clone()).map(|_| ())
    }

    /// Puts a plan where there is none; false if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if the store replaces an object that it was asked to keep: then two runs could
    /// replace each other's plan.
    pub fn put_new_plan(&self, json: Vec<u8>) -> Result<bool> {
        if !self.backend.put_new(PLAN, json.clone())? {
            return Ok(false);
        }
        // The plan may be gone again, because a run has taken over; but hardly each time.
        for _ in 0..CONDITION_TRIALS {
            if !self.backend.put_new(PLAN, json.clone())? {
                return Ok(true);
            }
        }
        self.remove_plan()?;
        let reason =
            "the store ignores conditional writes, which tracelake needs to keep runs apart";
        Err(Error::new(ErrorKind::Failed, reason)
            .at(self.root())
            .hint("see docs/object-stores.md for the stores that have them"))
    }

    /// Works by this plan from now on, which was found with this digest and, unless it has to be read again, this tag.
    pub fn work_by(&self, digest: &str, plan: &PlanFile, etag: Option<String>) {
        let mut own = self.own_plan.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(OwnPlan {
            digest: digest.to_owned(),
            base: plan.base.clone(),
            withdrawn: None,
            etag,
        });
    }

    fn own_plan(&self) -> Option<OwnPlan> {
        let own = self.own_plan.lock();
        own.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_own_plan(&self, change: impl FnOnce(&mut OwnPlan)) {
        let mut own = self.own_plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = &mut *own {
            change(own);
        }
    }

    /// Whether the plan in the lake is the one that this run works by.
    fn works_by_plan(&self) -> Result<bool> {
        if self.own_plan().is_none() {
            return Ok(false);
        }
        match self.check_plan() {
            Err(error) if error.kind() == ErrorKind::Refused => Ok(false),
            checked => checked.map(|()| true),
        }
    }

    /// Checks that the plan in the lake is still the one that this run works by. A run that has the lake alone works by
    /// none.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it isn't; if the store fails.
    pub fn check_plan(&self) -> Result<()> {
        let Some(own) = self.own_plan() else {
            return Ok(());
        };
        if own.etag.is_some() {
            // A plan of many parts is large, and it's asked for before each output is completed.
            let found = self.backend.look_up(vec![PLAN.to_owned()])?.pop();
            if found.is_some_and(|found| found.etag == own.etag) {
                return Ok(());
            }
        }
        let reason = match self.backend.read(PLAN)? {
            Some((bytes, etag)) if sha256(&bytes) == own.digest => {
                self.change_own_plan(|own| own.etag = etag);
                return Ok(());
            }
            Some(_) => "another run has taken over this lake, by its own plan",
            None => "another run has finished this lake, or taken it over",
        };
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.root())
            .hint("run the same command again to see what is left to do"))
    }

    /// Takes the manifest away that the plan adds to, after the files of its release, which describe it. First
    /// its copy is put again, in case that the commit before removed it while the plan was put.
    ///
    /// # Errors
    /// As [`Lake::check_release`]; [`ErrorKind::Refused`] if another run has taken over; if the store fails.
    pub fn withdraw_manifest<T>(&self, found: &Found<T>) -> Result<Withdrawal> {
        self.check_plan()?;
        self.put_base(found)?;
        self.withdraw_release()?;
        // Where another run has taken over, the manifest may be its own by now.
        self.check_plan()?;
        self.backend.remove(&[MANIFEST.to_owned()])?;
        self.change_own_plan(|own| own.withdrawn = Some(found.bytes.clone()));
        self.put_back()
    }

    /// Makes sure that others can add to the manifest that this process has withdrawn: puts its copy again, or the
    /// manifest itself if the plan is gone.
    ///
    /// A bucket can't remove an object on a condition. If another run on the same plan committed just before, it was
    /// that run's manifest that was removed, and the copy may be gone too. That run puts its manifest again, unless it
    /// is killed first.
    ///
    /// # Errors
    /// If the store fails.
    pub fn put_back(&self) -> Result<Withdrawal> {
        let works_by_plan = self.works_by_plan()?;
        let own = self.own_plan();
        let Some((base, bytes)) = own.and_then(|own| own.base.zip(own.withdrawn)) else {
            return Ok(Withdrawal::Done);
        };
        let (path, found) = match works_by_plan {
            true => (base_name(&base), Withdrawal::Done),
            false => (MANIFEST.to_owned(), Withdrawal::PlanIsGone),
        };
        self.backend.put_new(&path, bytes)?;
        Ok(found)
    }

    /// Puts the manifest, by the plan that this run works by.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if the plan isn't in the lake any more, or another manifest is; if the store
    /// fails.
    pub(super) fn put_manifest_beside_others(&self, manifest: &Manifest) -> Result<()> {
        self.check_plan()?;
        if self.backend.put_new(MANIFEST, manifest.to_json()?)? {
            return Ok(());
        }
        let json = manifest.to_json()?;
        let finished_by_another = || finished_by_another(&self.root().join(MANIFEST));
        let state = self.state()?;
        let Some(found) = &state.manifest else {
            // Withdrawn in between by a worker on the same plan, which began just now.
            return match self.backend.put_new(MANIFEST, json)? {
                true => Ok(()),
                false => Err(finished_by_another()),
            };
        };
        if found.bytes == json {
            return Ok(());
        }
        // A worker that dies before it has withdrawn the manifest leaves it to the others.
        match state.finished() {
            None => self.backend.put(MANIFEST, json),
            Some(_) => Err(finished_by_another()),
        }
    }

    /// Removes what a finished lake doesn't need: facts, copies of manifests, and last the plan. Facts of
    /// parts that the manifest doesn't have stay: they may be of the next addition. So do the plan of others, and
    /// the copy of the manifest that it adds to.
    pub(super) fn remove_facts_beside_others(&self, manifest: &Manifest) -> Result<()> {
        let works_by_plan = self.works_by_plan()?;
        let parts = manifest.parts();
        let mut names: BTreeSet<String> = parts
            .flat_map(|(table, facts)| {
                [facts_name(table, facts.key()), cut_name(&facts.source.path)]
            })
            .map(|name| facts_path(&name))
            .collect();
        if manifest.origin.description.is_none() {
            // Of a plan that was taken over.
            names.insert(DESCRIPTION_PATH.to_owned());
        }
        let copy_start = format!("{HOME}/base-");
        let is_copy = |path: &String| path.starts_with(&copy_start);
        let mut unneeded = Vec::new();
        self.backend.list(&[HOME.to_owned()], &mut |listed| {
            if names.remove(&listed.path) || is_copy(&listed.path) {
                unneeded.push(listed.path);
            }
            Ok(())
        })?;
        let (mut copies, mut left): (Vec<String>, Vec<String>) =
            unneeded.into_iter().partition(is_copy);
        if !copies.is_empty() {
            // A run that adds to this manifest puts a copy of it before it puts its plan.
            let now = sha256(&manifest.to_json()?);
            copies.retain(|path| *path != base_name(&now));
            if works_by_plan || !copies.is_empty() && self.is_settled(&now)? {
                left.extend(copies);
            }
        }
        // A listing may be too old to have it.
        let base = self.own_plan().and_then(|own| own.base);
        let adds = works_by_plan && base.is_some();
        left.extend(base.filter(|_| works_by_plan).map(|base| base_name(&base)));
        self.backend.remove(&left)?;
        // A plan that another run has put in the meantime is not removed.
        if !works_by_plan || !self.works_by_plan()? {
            return Ok(());
        }
        self.remove_plan()?;
        if adds {
            // A run on the same plan may have withdrawn this manifest, taking it for the one before.
            self.backend.put_new(MANIFEST, manifest.to_json()?)?;
        }
        Ok(())
    }

    /// Whether the lake is finished with this manifest, and no run adds to it: then no copy of another manifest is
    /// needed.
    fn is_settled(&self, manifest: &str) -> Result<bool> {
        let state = self.state()?;
        let found = state.manifest.map(|found| found.digest);
        Ok(state.plan.is_none() && found.as_deref() == Some(manifest))
    }
}

/// The error of a run that finds the manifest of another one.
pub fn finished_by_another(place: &Location) -> Error {
    Error::new(ErrorKind::Refused, "another run has finished this lake")
        .at(place)
        .hint("run the same command again, to add to it")
}

/// The name of the facts of a part.
pub(super) fn facts_name(table: &str, key: PartKey) -> String {
    let cell = key.cell.map_or_else(String::new, |cell| format!("-{cell}"));
    format!("{table}{cell}-{:05}.ndjson", key.file_number)
}

/// The name of the facts of a file that was cut into parts.
pub(super) fn cut_name(source: &str) -> String {
    format!("cut-{}.ndjson", &sha256(source.as_bytes())[..16])
}

/// Shows the journals of one shard's parts, found by their names: with many shards, each of them would otherwise read
/// what all others have noted. `base` are the parts of the lake that the plan adds to.
pub(super) fn journals_of(
    backend: &dyn Backend,
    plan: &PlanFile,
    shard: u32,
    base: &[(Arc<str>, PartFacts)],
    show: Show<'_>,
) -> Result<()> {
    let assignment = plan.assignment();
    let planned = plan.parts.iter().map(|part| (&part.table[..], part.key()));
    let earlier = base.iter().map(|(table, facts)| (&table[..], facts.key()));
    let parts = planned.chain(earlier).flat_map(|(table, key)| {
        let tables = plan.with_derived(table);
        tables.map(move |table| (table, key))
    });
    let mine = parts.filter(|(table, key)| assignment.shard_of(table, *key) == Some(shard));
    let mut names: BTreeSet<String> = mine.map(|(table, key)| facts_name(table, key)).collect();
    let streams = plan.streams.iter().filter(|stream| stream.shard == shard);
    names.extend(streams.clone().map(|stream| cut_name(&stream.source.path)));
    backend.read_each(names.iter().map(|name| facts_path(name)).collect(), show)?;
    for stream in streams {
        let tables = stream.tables.iter();
        for table in tables.flat_map(|table| plan.with_derived(table)) {
            let keys = stream.selected_below(u32::MAX);
            let paths = keys.map(|key| facts_path(&facts_name(table, key)));
            read_in_order(backend, paths, show)?;
        }
    }
    Ok(())
}

fn facts_path(name: &str) -> String {
    format!("{FACTS}/{name}")
}

/// Shows the journals of the parts that a file is cut into, which are made one after the other, up to the first
/// ones that aren't all there.
fn read_in_order(
    backend: &dyn Backend,
    mut paths: impl Iterator<Item = String>,
    show: Show<'_>,
) -> Result<()> {
    let mut ahead = 1;
    loop {
        let next: Vec<String> = paths.by_ref().take(ahead).collect();
        let wanted = next.len();
        let mut found = 0;
        backend.read_each(next, &mut |journal| {
            found += 1;
            show(journal)
        })?;
        if found < wanted || wanted == 0 {
            return Ok(());
        }
        ahead = (2 * ahead).min(MOST_AHEAD);
    }
}
