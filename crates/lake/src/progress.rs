//! Progress of a lake, for people and programs that only look.

use std::collections::BTreeSet;

use tracelake_core::error::Result;
use tracelake_core::part_key::PartKey;
use tracelake_location::Location;

use crate::backend::{backend, paths_of};
use crate::facts;
use crate::identity::{self, Identity};
use crate::look::{FoundManifest, Look, Place, place_of};
use crate::manifest::Manifest;
use crate::outputs::{delta_logs, outputs_of, part_of, table_names};
use crate::parts::{PartName, Parts};
use crate::plan_file::PlanFile;
use crate::publish::read_plans;
use crate::remaining::Counts;
use crate::{FACTS, IDENTITY};

/// Progress of a lake.
#[derive(Debug)]
#[non_exhaustive]
pub struct Progress {
    /// Its identity.
    pub identity: Identity,
    /// The manifest; `None` before the first commit.
    pub manifest: Option<Manifest>,
    /// The parts that are made and not committed.
    pub made: Parts,
    /// The plans of shards that aren't committed.
    pub plans: Vec<PlanFile>,
    /// How many parts files have that are cut into parts.
    pub counts: Counts,
    /// Outputs that neither facts nor the manifest name.
    pub unnamed: Vec<String>,
    /// Files of committed parts that aren't there, or have another size.
    pub lost: Vec<String>,
}

impl Progress {
    /// The parts of its manifest, of tables of its trace.
    #[must_use]
    pub fn committed(&self, manifest: &Manifest) -> Parts {
        let trace = self.identity.trace().ok();
        trace.map_or_else(Parts::new, |trace| crate::look::parts_in(manifest, &trace))
    }
}

/// Looks how far the lake at `root` is; `None` where there is none.
///
/// # Errors
/// [`ErrorKind::Refused`](tracelake_core::ErrorKind::Refused) if it has lost its identity; if the manifest is damaged; when the
/// disk or the store fails.
pub fn progress(root: &Location) -> Result<Option<Progress>> {
    let backend = backend(root);
    let Place::Lake(found) = place_of(&*backend)? else {
        return Ok(None);
    };
    let trace = found.identity.trace().map_err(|error| error.at(root))?;
    let plans = read_plans(&*backend)?.into_values().collect();
    let look = Look::whole(&*backend, &trace, found.sha256, &|_| true)?;
    let committed = look.manifest.parts(&trace);
    let made = look.made(&committed);
    let lost = look.lost(&*backend, &committed)?.into_iter();
    let lost = lost.map(|file| file.path.clone()).collect();
    let mut done = committed.clone();
    done.extend(made.clone());
    let counts = Counts::new(&done, look.all_absent());
    let unnamed = look.unnamed(&committed);
    let manifest = match look.manifest {
        FoundManifest::None => None,
        FoundManifest::Whole(_, manifest) => Some(*manifest),
        FoundManifest::Damaged(_, error) => return Err(error),
    };
    Ok(Some(Progress {
        identity: found.identity,
        manifest,
        made,
        plans,
        counts,
        unnamed,
        lost,
    }))
}

/// Content of a lake that its manifest doesn't name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beyond {
    /// Parts that are made, or being made, and not committed.
    pub uncommitted: BTreeSet<PartName>,
    /// Files in the directories of tables without a record, whatever their names; without the Delta logs that a
    /// release can have.
    pub unnamed: Vec<String>,
    /// Whether the manifest names the lake's identity.
    pub has_identity: bool,
}

/// Looks what is in the lake at `root` beyond this manifest.
///
/// # Errors
/// When the disk or the store fails.
pub fn beyond(root: &Location, manifest: &Manifest) -> Result<Beyond> {
    let backend = backend(root);
    let trace = manifest.origin.find_trace();
    // Outputs first: their facts are put before them.
    let outputs = paths_of(outputs_of(&*backend, &table_names(trace.as_deref()))?);
    let facts = backend.list(FACTS)?;
    let named: BTreeSet<PartName> = trace.as_deref().map_or_else(BTreeSet::new, |trace| {
        facts
            .iter()
            .filter_map(|file| facts::part_of(trace, &file.path))
            .collect()
    });
    let mut beyond = Beyond {
        uncommitted: named,
        unnamed: outputs,
        has_identity: false,
    };
    beyond.take_out(manifest);
    if !beyond.unnamed.is_empty() || !beyond.uncommitted.is_empty() {
        // Another run may have committed them since this manifest was read.
        if let FoundManifest::Whole(_, later) = FoundManifest::read(&*backend)? {
            beyond.take_out(&later);
        }
    }
    let of_uncommitted: BTreeSet<(&str, PartKey)> = beyond
        .uncommitted
        .iter()
        .map(|name| (&*name.table, name.key))
        .collect();
    beyond
        .unnamed
        .retain(|path| part_of(path).is_none_or(|part| !of_uncommitted.contains(&part)));
    beyond.unnamed.sort_unstable();
    let identity = backend.get(IDENTITY, identity::MOST_BYTES)?;
    beyond.has_identity = identity.is_some_and(|found| found.version.sha256 == manifest.lake);
    Ok(beyond)
}

impl Beyond {
    /// Takes out what this manifest names.
    fn take_out(&mut self, manifest: &Manifest) {
        let files: BTreeSet<&str> = manifest.files().map(|file| &file.path[..]).collect();
        let logs = delta_logs(manifest);
        self.unnamed
            .retain(|path| !files.contains(&path[..]) && !logs.contains(path));
        let parts = manifest.part_names();
        self.uncommitted
            .retain(|name| !parts.contains(&(&*name.table, name.key)));
    }
}
