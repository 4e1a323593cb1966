//! Refuses changes to a lake before a run makes any.

use std::collections::BTreeSet;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::REJECTS;
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::store::{LakeProgress, files, foreign_files, inside, is_skipped};
use tracelake_location::Location;
use tracelake_schema::Trace;

use super::Run;
use crate::plan::table_names;

impl Run<'_> {
    /// Refuses whatever must not be changed, while the lake is still as it was.
    pub(super) fn refuse(&self, progress: &LakeProgress) -> Result<()> {
        self.refuse_other_settings(progress)?;
        nothing_foreign(self.lake.root(), self.plan.trace)?;
        self.nothing_unknown(progress)?;
        self.nothing_leads_out()
    }

    /// Refuses a lake that was made with other settings.
    pub(super) fn refuse_other_settings(&self, progress: &LakeProgress) -> Result<()> {
        self.same_origin(progress)?;
        self.same_cells(progress)
    }

    /// Where else the lake could go, for a hint.
    pub(super) fn elsewhere(&self) -> &'static str {
        self.lake.elsewhere()
    }

    /// Refuses to mix a lake with what other options would make.
    fn same_origin(&self, progress: &LakeProgress) -> Result<()> {
        let now = &self.plan.origin;
        let mut parts = progress.parts.iter();
        let rejected = parts.any(|(_, facts)| facts.rejects.is_some());
        let difference = progress.origin.as_ref().and_then(|then| {
            let other = then.difference_but_policy(now);
            // A part without rejected rows has the same bytes under either policy.
            let policy = rejected.then(|| then.rejecting().difference(now));
            other.or_else(|| policy.flatten())
        });
        match difference {
            None => Ok(()),
            Some(difference) => {
                let reason = format!("the lake was made with other options: {difference}");
                let then = progress.origin.as_ref().map(|then| then.encoding);
                // Which encoding a program has is nothing to choose.
                let same = match then == Some(now.encoding) {
                    true => "use the same ones",
                    false => "use the version of tracelake that made it",
                };
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.lake.root())
                    .hint(format!("{same}, or {}", self.elsewhere())))
            }
        }
    }

    /// Refuses to mix parts of cells with parts of none: the rows of the latter couldn't be attributed.
    fn same_cells(&self, progress: &LakeProgress) -> Result<()> {
        let Some(then) = progress.parts.first().map(|(_, facts)| facts.cell) else {
            return Ok(());
        };
        let now = self.plan.parts().find_map(|(_, part)| part.key.cell);
        let (reason, hint) = match (then, now) {
            (Some(_), None) => (
                "the lake is partitioned by cell, and the source names no cell",
                "name the cell with --cell, or use another directory".to_owned(),
            ),
            (None, Some(_)) => (
                "the lake has no cells, and the source names one",
                format!("use {}", self.elsewhere()),
            ),
            (Some(_), Some(_)) | (None, None) => return Ok(()),
        };
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.lake.root())
            .hint(hint))
    }

    /// Refuses to continue what shards have begun by another plan.
    pub(super) fn refuse_other_plan(&self, progress: &LakeProgress) -> Result<()> {
        let Some(then) = progress
            .plan
            .as_ref()
            .filter(|_| !self.run_options.take_over)
        else {
            return Ok(());
        };
        let shards = self.run_options.shard.map_or(then.shards, |shard| shard.of);
        let now = self.plan.to_file(shards, self.run_options.max_rejects);
        same_plan(then, &now).map_err(|error| error.at(self.lake.root()))
    }

    /// Where neither a manifest nor a journal can be read, refuses to lose what may be a part: only
    /// what this run makes again may be there.
    fn nothing_unknown(&self, progress: &LakeProgress) -> Result<()> {
        if progress.origin.is_some() || self.run_options.overwrite {
            return Ok(());
        }
        let planned: BTreeSet<&str> = self
            .plan
            .parts()
            .flat_map(|(_, part)| [part.output.as_str(), part.rejects.as_str()])
            .collect();
        // The parts of a stream are known by their table alone, and so are derived parts.
        let streams = self.plan.streams.iter();
        let streams = streams.flat_map(|stream| self.plan.tables_of(stream));
        let derived = self.plan.derived.iter().map(|derived| derived.table.name);
        let streams: Vec<String> = streams
            .map(|table| table.order.table.name)
            .chain(derived)
            .flat_map(|name| [format!("{name}/"), format!("{REJECTS}/{name}/")])
            .collect();
        let is_planned = |file: &String| {
            planned.contains(file.as_str()) || streams.iter().any(|table| file.starts_with(table))
        };
        let files = files(self.lake.root(), &table_names(Some(self.plan.trace)))?;
        match files.iter().find(|file| !is_planned(file)) {
            None => Ok(()),
            Some(file) => {
                let reason = "is in no readable manifest, but may belong to a lake";
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.lake.root().join(file))
                    .hint(format!("select its part too, or use {}", self.elsewhere())))
            }
        }
    }

    /// Refuses a link in the way of an output now, while the lake is still as it was.
    fn nothing_leads_out(&self) -> Result<()> {
        for (_, part) in self.plan.parts() {
            inside(self.lake.root(), &part.output)?;
            inside(self.lake.root(), &part.rejects)?;
        }
        Ok(())
    }
}

/// Refuses another plan than that of the shards that work on a lake.
pub(super) fn same_plan(then: &PlanFile, now: &PlanFile) -> Result<()> {
    match then.difference(now) {
        None => Ok(()),
        Some(difference) => {
            let reason = format!("its shards follow another plan: {difference}");
            Err(Error::new(ErrorKind::Refused, reason).hint(
                "use the same source and options for all shards, or another directory; \
                 if nothing works by that plan, pass --take-over",
            ))
        }
    }
}

/// How many foreign files an error names beside the first.
const FOREIGN_SHOWN: usize = 4;

/// Refuses a lake whose table directories hold files that no run of ours can have made: every
/// reader would take them for data, and they may be the only copy.
pub(super) fn nothing_foreign(root: &Location, trace: &'static Trace) -> Result<()> {
    let mut foreign = foreign_files(root, &table_names(Some(trace)))?;
    foreign.retain(|file| !is_skipped(file));
    foreign.truncate(1 + FOREIGN_SHOWN);
    let Some((first, others)) = foreign.split_first() else {
        return Ok(());
    };
    let mut reason = "is in a table's directory, but isn't part of the lake".to_owned();
    if !others.is_empty() {
        reason += &format!("; so are {}", others.join(", "));
    }
    Err(Error::new(ErrorKind::Refused, reason)
        .at(root.join(first))
        .hint("move it away: readers would take it for data"))
}
