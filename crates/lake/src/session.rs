//! A process that has a lake.

use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::Origin;
use tracelake_core::words::several;
use tracelake_schema::Trace;

use crate::backend::{Held, Hold, Left};
use crate::identity::{self, FoundIdentity, Identity};
use crate::look::{FoundManifest, Lake, Place, place_of};
use crate::manifest::Manifest;
use crate::publish::remove_committed_facts;
use crate::rules::{Rule, holds};
use crate::{FACTS, IDENTITY, MANIFEST, PLANS};

/// A process that has a lake, until it is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) lake: Lake,
    held: Option<Box<dyn Held>>,
    /// Paths of the objects that this run has put and that mean nothing without parts: its plan, and the identity last.
    pub(crate) begun: Vec<String>,
}

impl Session {
    /// Takes a lake.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if another process has it in a way that excludes this one.
    pub(crate) fn begin(lake: &Lake, hold: Hold) -> Result<Self> {
        let hold = match holds(Rule::RemovalIsAlone) {
            true => hold,
            false => Hold::Shared,
        };
        let Some(held) = lake.backend.hold(hold)? else {
            return Err(Error::new(
                ErrorKind::Refused,
                "another tracelake is working on this lake",
            )
            .at(lake.root())
            .hint("wait for it to end, or name another directory"));
        };
        Ok(Self {
            lake: lake.clone(),
            held: Some(held),
            begun: Vec::new(),
        })
    }

    /// Removes the files that killed runs have staged, if no other process has the lake.
    pub(crate) fn clear_staging(&mut self, context: &Context) -> Result<()> {
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        let backend = &self.lake.backend;
        let mut files = 0;
        if !holds(Rule::StagingStays) {
            return backend.clear_staging(true).map(drop);
        }
        held.if_alone(&mut || {
            files = backend.clear_staging(true)?;
            Ok(())
        })?;
        if files > 0 {
            let files = several(files as u64, "file");
            context.warn(format!(
                "removed {files} that an interrupted run left unfinished"
            ));
        }
        Ok(())
    }

    /// Gives the lake up. Whoever is the last leaves no staged files, and no facts of parts that the manifest has.
    /// `known` is a manifest that the lake had, which is read again only where facts are left.
    pub(crate) fn leave(&mut self, known: Option<&Manifest>) -> Result<()> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        let backend = &*self.lake.backend;
        backend.clear_staging(false)?;
        if !holds(Rule::CommittedFactsStay) {
            let identity = identity::find(backend)?;
            if let (Some(identity), Some(manifest)) =
                (identity, FoundManifest::read(backend)?.whole())
            {
                remove_committed_facts(backend, &identity.identity, manifest)?;
            }
        }
        let begun = std::mem::take(&mut self.begun);
        held.leave(&mut || {
            backend.clear_staging(true)?;
            let Some(identity) = identity::find(backend)? else {
                return Ok(Left::Nothing);
            };
            let has_facts = match known {
                Some(known) => remove_committed_facts(backend, &identity.identity, known)?,
                None => !backend.list(FACTS)?.is_empty(),
            };
            if has_facts && let Some(manifest) = FoundManifest::read(backend)?.whole() {
                remove_committed_facts(backend, &identity.identity, manifest)?;
                return Ok(Left::Lake);
            }
            let has_parts = has_facts && holds(Rule::IdentityStaysWithFacts);
            let mut plans = backend.list(PLANS)?.into_iter();
            if has_parts
                || plans.any(|plan| !begun.contains(&plan.path))
                || begun.last().is_none_or(|last| last != IDENTITY)
                || !backend.look_up(&[MANIFEST.to_owned()])?.is_empty()
            {
                return Ok(Left::Lake);
            }
            // First everything that needs the identity.
            for path in &begun {
                backend.remove(std::slice::from_ref(path))?;
            }
            Ok(Left::Nothing)
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Best effort: the error that made the run give up is the one to tell.
        let _ = self.leave(None);
    }
}

/// Opens an existing lake.
pub(crate) fn open_lake(lake: &Lake, hold: Hold) -> Result<(Session, FoundIdentity)> {
    let not_a_lake = || {
        Error::new(ErrorKind::Refused, "not a lake")
            .at(lake.root())
            .hint("name the directory that the shards were converted into")
    };
    let identity = || match place_of(&*lake.backend)? {
        Place::Lake(found) => Ok(*found),
        Place::Nothing | Place::SomethingElse => Err(not_a_lake()),
    };
    identity()?;
    let session = Session::begin(lake, hold)?;
    // Who had it alone a moment ago may have put another one in its place.
    Ok((session, identity()?))
}

/// Refuses to commit what another program's shards have made.
pub(crate) fn check_encoding(identity: &Identity, trace: &Arc<Trace>) -> Result<()> {
    let then = &identity.origin;
    let now = Origin {
        synthetic: then.synthetic,
        ..Origin::of(trace, then.options.clone())
    };
    let differences = then.differences(&now);
    if differences.is_empty() {
        return Ok(());
    }
    let differences = differences.join("; ");
    let reason = format!("its shards were converted by another program: {differences}");
    Err(Error::new(ErrorKind::Refused, reason)
        .hint("commit with the version that converted the shards"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;
    use tracelake_core::settings::Settings;
    use tracelake_schema::TRACES;

    use super::*;

    /// Two shards of different plans begin together, and both fail: what is left needs the identity.
    #[test]
    fn a_plan_of_another_run_keeps_the_identity() {
        for is_alone in [true, false] {
            let directory = tempdir().unwrap();
            let lake = Lake::at(&directory.path().join("lake").as_path().into());
            let place = |path: &str| directory.path().join("lake").join(path);
            let mut session = Session::begin(&lake, Hold::Shared).unwrap();
            let origin = Origin::of(&TRACES[0], Settings::default());
            let identity = Identity::new(&origin, false).to_json().unwrap();
            let [own, others] = ["own", "others"].map(|name| format!("{PLANS}/{name}.json"));
            fs::create_dir(place(PLANS)).unwrap();
            fs::write(place(IDENTITY), identity).unwrap();
            fs::write(place(&own), "").unwrap();
            if !is_alone {
                fs::write(place(&others), "").unwrap();
            }
            session.begun = vec![own, IDENTITY.to_owned()];
            session.leave(None).unwrap();
            assert_eq!(place(IDENTITY).exists(), !is_alone);
            assert_eq!(directory.path().join("lake").exists(), !is_alone);
        }
    }
}
