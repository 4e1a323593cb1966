//! Parts to the manifest, which is swapped for the next one, and what goes once they are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::{PartKey, listed};
use tracelake_core::words::for_shell;
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_schema::arrow::{arrow_schema, fingerprint};

use crate::backend::waits::{TRIALS, Waits};
use crate::backend::{Backend, paths_of};
use crate::conditional::{put_or_replace, refused};
use crate::facts;
use crate::identity::{self, FoundIdentity, Identity};
use crate::look::{FoundManifest, Lake, not_there, parts_in, refuse_damaged};
use crate::manifest::{self, AbsentTable, Manifest, PartFacts, TableFacts};
use crate::parts::{PartName, Parts, parts_of};
use crate::plan_file::{self, PlanFile};
use crate::remaining::{Counts, remaining};
use crate::rules::{Rule, holds};
use crate::{DESCRIPTION, FACTS, MANIFEST, PLANS};

/// The manifest of these parts. It says that rows are rejected exactly if some are.
pub(crate) fn assemble(
    lake: &FoundIdentity,
    trace: &Arc<Trace>,
    mut parts: Parts,
    absent: BTreeSet<AbsentTable>,
) -> Manifest {
    forget_alone(&mut parts);
    let tables = trace.all_tables().filter_map(|table| {
        let mut facts = TableFacts::new(&table.name, fingerprint(&arrow_schema(table)));
        parts_of(&parts, &table.name).for_each(|(_, part)| facts.push(part.clone()));
        (!facts.parts.is_empty()).then_some(facts)
    });
    let has_rejects = parts.values().any(|part| part.rows_rejected > 0);
    let origin = lake.identity.origin.with_rejects(has_rejects);
    let mut manifest = Manifest::new(origin, lake.sha256, tables.collect());
    // What another run has found since is there.
    let is_there = |absent: &AbsentTable| {
        manifest
            .tables
            .iter()
            .any(|table| table.name == absent.name)
    };
    manifest.absent = absent
        .into_iter()
        .filter(|absent| !is_there(absent))
        .collect();
    manifest
}

/// Leaves it to parts that were all converted alone, and aren't all parts of their table or of its cell, to say so. A lake
/// that grew from one file then has the bytes of one that was made at once.
fn forget_alone(parts: &mut Parts) {
    let group = |name: &PartName| (Arc::clone(&name.table), name.key.cell);
    // The number of parts, and of how many they are if all say so.
    let mut groups: BTreeMap<_, (u32, Option<u32>)> = BTreeMap::new();
    for (name, facts) in parts.iter() {
        let (count, total) = groups.entry(group(name)).or_insert((0, Some(0)));
        *count = count.saturating_add(1);
        *total = total.zip(facts.in_all).map(|(one, other)| one.max(other));
    }
    for (name, facts) in parts {
        let (count, total) = groups[&group(name)];
        if facts.in_all.is_some() && total.is_none_or(|total| count >= total) {
            facts.in_all = None;
        }
    }
}

/// Adds parts to the manifest: swaps it for one that has them too, and if another run was faster, reads it again. `found`
/// is the manifest as this run last saw it.
pub(crate) fn add(
    lake: &Lake,
    identity: &FoundIdentity,
    trace: &Arc<Trace>,
    mut found: FoundManifest,
    parts: &Parts,
    absent: BTreeSet<AbsentTable>,
    max_rejects: Option<u64>,
) -> Result<Manifest> {
    let backend = &*lake.backend;
    let mut waits = Waits::new();
    let mut trials = 0;
    let mut is_checked = false;
    loop {
        let mut all = found.parts(trace);
        let before = all.len();
        for (name, facts) in parts {
            all.entry(name.clone()).or_insert_with(|| facts.clone());
        }
        let known = found.whole().map(|manifest| &manifest.absent);
        let all_absent: BTreeSet<AbsentTable> = known
            .into_iter()
            .flatten()
            .chain(&absent)
            .cloned()
            .collect();
        let is_new = all.len() > before;
        let manifest = assemble(identity, trace, all, all_absent);
        if let FoundManifest::Whole(_, then) = &found
            && !is_new
            && then.absent == manifest.absent
        {
            backend.keep_names(&[MANIFEST.to_owned()])?;
            return Ok(manifest);
        }
        manifest.check_counts()?;
        manifest
            .check_rejects(max_rejects)
            .map_err(|error| error.at(lake.root()))?;
        no_file_twice(lake.root(), &manifest)?;
        if !is_checked {
            check_shown(lake, trace, parts)?;
            is_checked = true;
        }
        let json = manifest.to_json()?;
        let swapped = match &found {
            FoundManifest::None => {
                let put = backend.put_if_absent(vec![(MANIFEST.to_owned(), json)])?;
                put.into_iter().next().unwrap_or(Ok(false))
            }
            FoundManifest::Damaged(version, _) | FoundManifest::Whole(version, _) => {
                backend.swap(MANIFEST, version, json)
            }
        };
        let swapped = match (swapped, holds(Rule::ManifestIsCompared)) {
            (Ok(false), false) => match backend.get(MANIFEST, manifest::MOST_BYTES)? {
                Some(found) => backend.swap(MANIFEST, &found.version, manifest.to_json()?),
                None => Ok(false),
            },
            (swapped, _) => swapped,
        };
        match &swapped {
            Ok(true) => return Ok(manifest),
            Err(error) if matches!(error.kind(), ErrorKind::Stopped(_)) => {
                return swapped.map(|_| manifest);
            }
            // The answer may be lost, or another run was faster.
            Ok(false) | Err(_) => {}
        }
        let now = FoundManifest::of_lake(backend, trace, identity.sha256)?;
        if !matches!(found, FoundManifest::Damaged(..)) {
            refuse_damaged(lake, &now)?;
        }
        let there = now.parts(trace);
        if let Some(now) = now.whole()
            && parts
                .iter()
                .all(|(name, facts)| there.get(name) == Some(facts))
            && absent.iter().all(|one| now.absent.contains(one))
        {
            backend.keep_names(&[MANIFEST.to_owned()])?;
            return Ok(now.clone());
        }
        let has_changed = match (&found, &now) {
            (FoundManifest::None, FoundManifest::None) => false,
            (
                FoundManifest::Whole(then, _) | FoundManifest::Damaged(then, _),
                FoundManifest::Whole(now, _) | FoundManifest::Damaged(now, _),
            ) => then.sha256 != now.sha256,
            _ => true,
        };
        found = now;
        if has_changed {
            trials = 0;
            continue;
        }
        // An error isn't a refusal: the store has tried again already.
        swapped?;
        trials += 1;
        if trials >= TRIALS || waits.wait().is_none() {
            return Err(refused(backend, MANIFEST));
        }
    }
}

/// Refuses a manifest in which two parts name one file: one of them has lost its rows.
fn no_file_twice(root: &Location, manifest: &Manifest) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut files = manifest.files();
    match files.find(|file| !seen.insert(&file.path)) {
        None => Ok(()),
        Some(file) => Err(Error::new(ErrorKind::Refused, "is listed by two parts")
            .at(root.join(&file.path))
            .hint("remove it, and convert both parts again")),
    }
}

/// Compares a listing with the names and sizes of outputs that are about to be committed.
fn check_shown(lake: &Lake, trace: &Trace, parts: &Parts) -> Result<()> {
    let tables: BTreeSet<&str> = parts.keys().map(|name| &*name.table).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let listed = crate::outputs::outputs_of(&*lake.backend, &tables)?;
    let sizes: BTreeMap<&str, u64> = listed
        .iter()
        .map(|file| (&file.path[..], file.bytes))
        .collect();
    let files = parts.values().flat_map(PartFacts::files);
    let lacking = files.filter(|file| sizes.get(&file.path[..]) != Some(&file.bytes));
    match not_there(&*lake.backend, lacking.collect())?.first() {
        None => Ok(()),
        Some(file) => {
            let reason = "was removed or changed before it could be committed";
            Err(Error::new(ErrorKind::Refused, reason)
                .at(lake.root().join(&file.path))
                .field(&trace.name)
                .hint("run the same command again"))
        }
    }
}

/// Removes the plans of shards of which the manifest has all parts, after it has them.
pub(crate) fn remove_complete_plans(
    backend: &dyn Backend,
    trace: &Arc<Trace>,
    manifest: &Manifest,
) -> Result<()> {
    let paths = paths_of(backend.list(PLANS)?);
    if paths.is_empty() {
        return Ok(());
    }
    let parts = parts_in(manifest, trace);
    let counts = Counts::new(&parts, manifest.absent.iter().cloned().collect());
    for path in paths {
        let Some(found) = backend.get(&path, plan_file::MOST_BYTES)? else {
            continue;
        };
        // A damaged one is for the next commit.
        if let Ok(plan) = PlanFile::from_json(&found.bytes)
            && remaining(trace, &plan, &parts, &parts, &counts).is_empty()
        {
            backend.remove(&[path])?;
        }
    }
    Ok(())
}

/// Removes the facts of parts that the manifest has, when no other run works on the lake. Says whether others are left.
pub(crate) fn remove_committed_facts(
    backend: &dyn Backend,
    identity: &Identity,
    manifest: &Manifest,
) -> Result<bool> {
    let trace = identity.trace()?;
    let committed = manifest.part_names();
    let mut paths = paths_of(backend.list(FACTS)?);
    let all = paths.len();
    paths.retain(|path| match facts::part_of(&trace, path) {
        Some(name) => committed.contains(&(&name.table, name.key)),
        // Of a table that an archive doesn't have.
        None => manifest.absent.iter().any(|absent| {
            path.strip_prefix(FACTS)
                .is_some_and(|rest| rest.starts_with(&format!("/{}/absent-", absent.name)))
        }),
    });
    backend.remove(&paths)?;
    Ok(paths.len() < all)
}

/// Says which parts are made and not in the manifest.
pub(crate) fn warn_of_uncommitted(
    context: &Context,
    root: &Location,
    names: impl Iterator<Item = PartName>,
) {
    let names: Vec<PartName> = names.collect();
    if names.is_empty() {
        return;
    }
    let tables = names
        .chunk_by(|one, other| one.table == other.table)
        .map(|names| {
            let keys: Vec<PartKey> = names.iter().map(|name| name.key).collect();
            format!("{} {}", names[0].table, listed(&keys))
        });
    let tables = tables.collect::<Vec<_>>().join("; ");
    let lake = for_shell(root);
    context.warn(format!(
        "made, but not committed yet: {tables}; the command that made them commits them, and for shards tracelake commit \
         {lake}; to give them up: tracelake commit {lake} --forget"
    ));
}

/// Reads the plans of a lake, by their paths.
pub(crate) fn read_plans(backend: &dyn Backend) -> Result<BTreeMap<String, PlanFile>> {
    let mut plans = BTreeMap::new();
    for file in backend.list(PLANS)? {
        let place = || backend.root().join(&file.path);
        let Some(found) = backend.get(&file.path, plan_file::MOST_BYTES)? else {
            continue;
        };
        let plan = PlanFile::from_json(&found.bytes).and_then(|plan| {
            match file.path == plan_file::path_of(found.version.sha256) {
                true => Ok(plan),
                false => Err(Error::new(
                    ErrorKind::Refused,
                    "a plan under another name than its own",
                )),
            }
        });
        let plan = plan.map_err(|error| {
            let lake = for_shell(backend.root());
            error.at(place()).or_hint(format!(
                "start one of its shards again, or give up what isn't committed: tracelake commit {lake} --forget"
            ))
        })?;
        plans.insert(file.path, plan);
    }
    Ok(plans)
}

/// Makes sure that the names of parts that other processes have made are kept, before anything counts on them.
pub(crate) fn keep_names<'a>(
    backend: &dyn Backend,
    parts: impl Iterator<Item = (&'a PartName, &'a PartFacts)>,
) -> Result<()> {
    let paths = parts.flat_map(|(name, part)| {
        let facts = facts::path_of(&name.table, name.key);
        part.files().map(|file| file.path.clone()).chain([facts])
    });
    backend.keep_names(&paths.collect::<Vec<_>>())
}

/// Puts the copy of a description that isn't there, or is another one.
pub(crate) fn put_description(backend: &dyn Backend, identity: &identity::Identity) -> Result<()> {
    let Some(text) = &identity.toml else {
        return Ok(());
    };
    let bytes = text.clone().into_bytes();
    put_or_replace(backend, DESCRIPTION, bytes, identity::MOST_BYTES).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;
    use tracelake_core::digest::Digest;
    use tracelake_core::origin::Origin;
    use tracelake_core::settings::Settings;
    use tracelake_schema::TRACES;

    use super::*;

    /// The parts that it named are lost, and this run hasn't looked whether it makes all of them again.
    #[test]
    fn a_manifest_that_is_damaged_meanwhile_is_not_replaced() {
        let directory = tempdir().unwrap();
        let trace = &TRACES[0];
        let identity = Identity::new(&Origin::of(trace, Settings::default()), false);
        let json = identity.to_json().unwrap();
        let identity = FoundIdentity {
            identity,
            sha256: Digest::of(&json),
            json,
        };
        let lake = Lake::at(&directory.path().into());
        let manifest = directory.path().join(MANIFEST);
        fs::create_dir_all(manifest.parent().unwrap()).unwrap();
        fs::write(&manifest, "damaged").unwrap();
        let add = |found| {
            let (parts, absent) = (Parts::new(), BTreeSet::new());
            add(&lake, &identity, trace, found, &parts, absent, None)
        };
        let error = add(FoundManifest::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(fs::read(&manifest).unwrap(), b"damaged");
        add(FoundManifest::read(&*lake.backend).unwrap()).unwrap();
        assert_ne!(fs::read(&manifest).unwrap(), b"damaged");
    }
}
