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
use crate::plan::{Plan, table_names};

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
        if is_known(progress.origin.as_ref(), self.run_options.overwrite) {
            return Ok(());
        }
        let files = files(self.lake.root(), &table_names(Some(self.plan.trace)))?;
        // A new lake has none, and a plan may be large.
        if files.is_empty() {
            return Ok(());
        }
        let Some(file) = Remade::by(self.plan).lacks(&files) else {
            return Ok(());
        };
        let reason = "is in no readable manifest, but may belong to a lake";
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.lake.root().join(file))
            .hint(format!("select its part too, or use {}", self.elsewhere())))
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

/// Whether nothing in the lake can be lost unseen: its facts say what belongs to it, or it's to be replaced.
fn is_known(origin: Option<&Origin>, overwrite: bool) -> bool {
    origin.is_some() || overwrite
}

/// The files of a lake that a run makes again, whatever they are now.
struct Remade {
    files: BTreeSet<String>,
    /// Everything in them is made again.
    directories: Vec<String>,
}

impl Remade {
    fn by(plan: &Plan) -> Self {
        let files = plan
            .parts()
            .flat_map(|(_, part)| [part.output(), part.rejects()]);
        let streams = plan.streams.iter();
        let cut = streams.flat_map(|stream| plan.tables_of(stream));
        let derived = plan.derived.iter().map(|derived| derived.table.name);
        let tables = cut.map(|table| table.order.table.name).chain(derived);
        Self::of(files, tables)
    }

    /// The parts of these tables are known by their table alone: those of a stream, and derived ones.
    fn of<'a>(files: impl Iterator<Item = String>, tables: impl Iterator<Item = &'a str>) -> Self {
        let directories =
            tables.flat_map(|name| [format!("{name}/"), format!("{REJECTS}/{name}/")]);
        Self {
            files: files.collect(),
            directories: directories.collect(),
        }
    }

    /// The first of the files in a lake that isn't made again.
    fn lacks<'a>(&self, files: &'a [String]) -> Option<&'a String> {
        files.iter().find(|file| {
            let mut directories = self.directories.iter();
            !self.files.contains(*file) && !directories.any(|one| file.starts_with(one))
        })
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
    fn the_table_of_unknown_files() {
        let planned = [
            "jobs/part-00000.parquet",
            "_tracelake/rejects/jobs/part-00000.ndjson",
        ];
        let remade = Remade::of(
            planned.iter().map(|&file| file.to_owned()),
            ["tasks"].into_iter(),
        );
        for (files, unknown) in [
            (&[][..], None),
            (&planned[..], None),
            (&["jobs/part-00001.parquet"], Some(0)),
            (&["_tracelake/rejects/jobs/part-00001.ndjson"], Some(0)),
            (
                &["jobs/part-00000.parquet", "jobs/part-00000.arrow"],
                Some(1),
            ),
            // The table is cut from a file, so all of its parts are made again.
            (&["tasks/part-00007.parquet"], None),
            (&["_tracelake/rejects/tasks/part-00007.ndjson"], None),
            (
                &["tasks/part-00007.parquet", "tasks_2/part-00007.parquet"],
                Some(1),
            ),
            (
                &["machines/part-00000.parquet", "other/part-00000.parquet"],
                Some(0),
            ),
        ] {
            let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
            let expected = unknown.map(|index: usize| &files[index]);
            assert_eq!(remade.lacks(&files), expected, "{files:?}");
        }
        let origin = Origin::of(&TRACES[0], Settings::default());
        for (origin, overwrite, known) in [
            (None, false, false),
            (None, true, true),
            (Some(&origin), false, true),
            (Some(&origin), true, true),
        ] {
            assert_eq!(
                is_known(origin, overwrite),
                known,
                "{origin:?}, {overwrite}"
            );
        }
    }

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
