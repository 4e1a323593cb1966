//! Refuses changes to a lake before a run makes any.

use std::collections::BTreeSet;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::Origin;
use tracelake_core::part_key::CellName;
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
        let (now, then) = (&self.plan.origin, progress.origin.as_ref());
        let mut parts = progress.parts.iter();
        let rejected = match parts.any(|(_, facts)| facts.rejects.is_some()) {
            true => Rejected::Some,
            false => Rejected::None,
        };
        let Some(difference) = then.and_then(|then| difference(then, now, rejected)) else {
            return Ok(());
        };
        let reason = format!("the lake was made with other options: {difference}");
        // Which encoding a program has is nothing to choose.
        let same = match then.map(|then| then.encoding) == Some(now.encoding) {
            true => "use the same ones",
            false => "use the version of tracelake that made it",
        };
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.lake.root())
            .hint(format!("{same}, or {}", self.elsewhere())))
    }

    /// Refuses to mix parts of cells with parts of none: the rows of the latter couldn't be attributed.
    fn same_cells(&self, progress: &LakeProgress) -> Result<()> {
        let then = progress.parts.first().map(|(_, facts)| facts.cell);
        let now = self.plan.parts().find_map(|(_, part)| part.key.cell);
        let (reason, hint) = match mixed_cells(then, now) {
            None => return Ok(()),
            Some(MixedCells::SourceLacks) => (
                "the lake is partitioned by cell, and the source names no cell",
                "name the cell with --cell, or use another directory".to_owned(),
            ),
            Some(MixedCells::LakeLacks) => (
                "the lake has no cells, and the source names one",
                format!("use {}", self.elsewhere()),
            ),
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
        let files = files(self.lake.root(), &table_names(Some(self.plan.trace)))?;
        if files.is_empty() {
            return Ok(());
        }
        let parts = self.plan.parts();
        let planned: BTreeSet<String> = parts
            .flat_map(|(_, part)| [part.output(), part.rejects()])
            .collect();
        // The parts of a stream are known by their table alone, and so are derived parts.
        let streams = self.plan.streams.iter();
        let cut = streams.flat_map(|stream| self.plan.tables_of(stream));
        let derived = self.plan.derived.iter().map(|derived| derived.table.name);
        let directories: Vec<String> = cut
            .map(|table| table.order.table.name)
            .chain(derived)
            .flat_map(|name| [format!("{name}/"), format!("{REJECTS}/{name}/")])
            .collect();
        let is_planned = |file: &String| {
            planned.contains(file) || directories.iter().any(|above| file.starts_with(above))
        };
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
            inside(self.lake.root(), &part.output())?;
            inside(self.lake.root(), &part.rejects())?;
        }
        Ok(())
    }
}

/// Whether a lake has rejected rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rejected {
    None,
    Some,
}

/// The difference between the origin of a lake and that of a run for which they can't be mixed.
fn difference(then: &Origin, now: &Origin, rejected: Rejected) -> Option<String> {
    let other = then.difference_but_policy(now);
    other.or_else(|| match rejected {
        // A part without rejected rows has the same bytes under either policy.
        Rejected::None => None,
        Rejected::Some => then.rejecting().difference(now),
    })
}

/// Why parts of cells would be mixed with parts of none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MixedCells {
    /// The lake has cells, and the source none.
    SourceLacks,
    /// The source has a cell, and the lake none.
    LakeLacks,
}

/// Compares the cell of a part of the lake, if it has a part, with that of a source.
fn mixed_cells(lake: Option<Option<CellName>>, source: Option<CellName>) -> Option<MixedCells> {
    match (lake?, source) {
        (Some(_), None) => Some(MixedCells::SourceLacks),
        (None, Some(_)) => Some(MixedCells::LakeLacks),
        (Some(_), Some(_)) | (None, None) => None,
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

#[cfg(test)]
mod tests {
    use tracelake_core::options::{Codec, OnBadRow};
    use tracelake_core::settings::Settings;
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn the_table_of_cells() {
        let cell = "a";
        for (lake, source, mixed) in [
            (None, None, None),
            (None, Some(cell), None),
            (Some(None), None, None),
            (Some(Some(cell)), Some(cell), None),
            (Some(Some(cell)), None, Some(MixedCells::SourceLacks)),
            (Some(None), Some(cell), Some(MixedCells::LakeLacks)),
        ] {
            assert_eq!(mixed_cells(lake, source), mixed, "{lake:?}, {source:?}");
        }
    }

    #[test]
    fn the_table_of_origins() {
        let origin = |on_bad_row, compression| {
            let mut settings = Settings::default();
            settings.on_bad_row = on_bad_row;
            settings.compression = compression;
            Origin::of(&TRACES[0], settings)
        };
        let zstd = Codec::Zstd(3);
        let (fail, reject) = (origin(OnBadRow::Fail, zstd), origin(OnBadRow::Reject, zstd));
        let plain = origin(OnBadRow::Fail, Codec::None);
        for (then, now, rejected, differ) in [
            (&fail, &fail, Rejected::None, false),
            (&fail, &reject, Rejected::None, false),
            (&reject, &fail, Rejected::None, false),
            (&reject, &reject, Rejected::Some, false),
            // Without rejects, the run would end at a row that the lake has rejected.
            (&reject, &fail, Rejected::Some, true),
            (&fail, &reject, Rejected::Some, false),
            (&fail, &plain, Rejected::None, true),
            (&plain, &fail, Rejected::Some, true),
        ] {
            let found = difference(then, now, rejected);
            assert_eq!(found.is_some(), differ, "{then:?}, {now:?}: {found:?}");
        }
        let mut newer = fail.clone();
        newer.encoding += 1;
        assert!(difference(&fail, &newer, Rejected::None).is_some());
    }
}
