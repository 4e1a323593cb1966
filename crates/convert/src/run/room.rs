//! Whether the disk has room for the work, by an estimate from the sizes of the sources.

use std::collections::BTreeSet;
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::words::group_digits;
use tracelake_lake::PartName;
use tracelake_location::{Location, free_bytes};

use super::run_options::RunOptions;
use super::schedule::Work;
use crate::plan::{Estimate, Packed, Plan, SourceSize, StreamPlan, TablePlan};

/// Resources needed and available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The cost of the files that are left; `None` if the size of one isn't known.
    pub estimate: Option<Estimate>,
    /// The most memory that the run takes, in bytes.
    pub memory: u64,
    /// Bytes free where the lake is; `None` in a bucket.
    pub free: Option<u64>,
    /// Bytes of outputs that the work replaces one by one. With `--overwrite`, the old lake stays until the end.
    replaced: u64,
}

impl Room {
    /// Looks at what `plan` takes at `out` beside the parts that are finished; with a shard in `run_options`, what
    /// its files take.
    #[must_use]
    pub fn of(
        context: &Context,
        plan: &Plan,
        done: &BTreeSet<PartName>,
        out: &Location,
        run_options: RunOptions,
    ) -> Self {
        let shard = run_options.shard;
        let agreed = shard.map(|shard| plan.to_file(shard.of));
        let assignment = agreed.as_ref().map(|agreed| agreed.assignment());
        let is_mine = |of: &dyn Fn(&tracelake_lake::plan_file::Assignment<'_>) -> Option<u32>| {
            let shards = shard.zip(assignment.as_ref());
            shards.is_none_or(|(shard, assignment)| of(assignment) == Some(shard.index))
        };
        let parts = plan.parts().filter(|(table, part)| {
            let name = &table.order.table.name;
            let is_done = done.contains(&PartName {
                table: name.as_str().into(),
                key: part.key,
            });
            !is_done && is_mine(&|of| of.shard_of(name, part.key))
        });
        let streams = plan
            .streams
            .iter()
            .filter(|stream| is_mine(&|of| of.shard_of_stream(&stream.source)));
        let work = parts.map(|(table, part)| Work::Part(table, part));
        let todo: Vec<Work<'_>> = work.chain(streams.map(Work::Stream)).collect();
        Self::for_work(context, plan, &todo, out, run_options)
    }

    pub(super) fn for_work(
        context: &Context,
        plan: &Plan,
        todo: &[Work<'_>],
        out: &Location,
        run_options: RunOptions,
    ) -> Self {
        let sizes = todo.iter().map(|work| {
            let (table, source) = match work {
                Work::Part(table, part) => (Some(*table), &part.source),
                Work::Stream(stream) => (plan.tables_of(stream).next(), &stream.source),
            };
            SourceSize {
                syntax: table.map_or(tracelake_schema::Syntax::Csv, |table| {
                    table.order.table.syntax
                }),
                packed: match table {
                    Some(table) if table.is_parquet => Packed::Parquet,
                    _ => packed(source),
                },
                bytes: work.bytes(),
                is_whole: matches!(work, Work::Part(..)) || plan.selected.is_none(),
            }
        });
        let estimate = Estimate::of(sizes, plan.output, context.threads());
        let replaced = out
            .as_path()
            .filter(|_| !run_options.overwrite)
            .map_or(0, |lake| {
                let replaced = todo.iter().map(|work| replaced(plan, work, lake));
                replaced.fold(0, u64::saturating_add)
            });
        Self {
            estimate,
            memory: run_options.most_memory(context.threads()),
            free: out.as_path().and_then(free_bytes),
            replaced,
        }
    }

    /// Refuses to begin if the disk is clearly too small.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if less is free than the work takes at least.
    pub fn check(&self, out: &Location) -> Result<()> {
        let Some((estimate, free)) = self.estimate.zip(self.free) else {
            return Ok(());
        };
        let more = estimate.bytes.0.saturating_sub(self.replaced);
        let needed = more.max(estimate.largest);
        if needed <= free {
            return Ok(());
        }
        let reason = format!(
            "too little room: {} bytes are free on its disk, and by an estimate the work takes at least {}",
            group_digits(free),
            group_digits(needed)
        );
        Err(Error::new(ErrorKind::Refused, reason)
            .at(out)
            .hint("free some, name a directory on a larger disk, or pass --ignore-disk-space"))
    }
}

/// How a file is compressed, as its name says: it isn't opened for an estimate.
fn packed(source: &str) -> Packed {
    match source.rsplit('.').next() {
        Some("gz" | "tgz") => Packed::Gzip,
        Some("zst") => Packed::Zstd,
        Some("xz") => Packed::Xz,
        Some("bz2") => Packed::Bzip2,
        _ => Packed::Plain,
    }
}

/// The bytes of existing outputs that some work replaces.
fn replaced(plan: &Plan, work: &Work<'_>, lake: &Path) -> u64 {
    match work {
        Work::Part(_, part) => size(lake, &part.output()).unwrap_or_default(),
        Work::Stream(stream) => {
            let tables = plan.tables_of(stream);
            let sizes = tables.map(|table| replaced_by_parts(plan, stream, table, lake));
            sizes.fold(0, u64::saturating_add)
        }
    }
}

/// The bytes of the first parts of a table that exist, up to one that doesn't.
fn replaced_by_parts(plan: &Plan, stream: &StreamPlan, table: &TablePlan, lake: &Path) -> u64 {
    let outputs = (0..).map(|number| plan.cut(stream, table, number).output());
    let sizes = outputs.map_while(|output| size(lake, &output));
    sizes.fold(0, u64::saturating_add)
}

fn size(lake: &Path, output: &str) -> Option<u64> {
    let facts = lake.join(output).symlink_metadata().ok()?;
    facts.is_file().then_some(facts.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tracelake_schema::TRACES;

    use super::*;
    use crate::plan::{Request, Shard, plan};

    /// Two parts of one table, the second one twice as large, which are planned and never read.
    fn planned(source: &Path) -> Plan {
        let trace = TRACES.iter().find(|trace| trace.in_parts()).unwrap();
        let table = trace.tables.iter().find(|table| table.parts > 1).unwrap();
        fs::create_dir(source.join(&*table.name)).unwrap();
        for (number, size) in [(0, 1_u64 << 30), (1, 2 << 30)] {
            let name = format!("{}/part-0000{number}-of-00002.csv.gz", table.name);
            let file = fs::File::create(source.join(name)).unwrap();
            file.set_len(size).unwrap();
        }
        let mut request = Request::new(source);
        request.trace = Some(trace.clone());
        plan(&Context::new(), &request).unwrap()
    }

    #[test]
    fn what_is_finished_or_replaced_needs_no_room() {
        let (source, lake) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let plan = planned(source.path());
        let out = Location::from(lake.path());
        let context = Context::new().with_threads(2);
        let run_options = RunOptions::default();
        let mut found = BTreeSet::new();
        let all = Room::of(&context, &plan, &found, &out, run_options);
        let bytes = all.estimate.unwrap().bytes.0;
        assert_eq!(all.memory, 384_000_000);
        assert_eq!(all.replaced, 0);
        // The shards of two files have one each.
        let shares = [0, 1].map(|index| {
            let shard = Some(Shard { index, of: 2 });
            let room = Room::of(
                &context,
                &plan,
                &found,
                &out,
                RunOptions {
                    shard,
                    ..run_options
                },
            );
            room.estimate.unwrap().bytes.0
        });
        assert_eq!(shares, [bytes - bytes / 3, bytes / 3]);
        let (table, part) = plan.parts().next().unwrap();
        let place = lake.path().join(part.output());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, [0; 100]).unwrap();
        assert_eq!(
            Room::of(&context, &plan, &found, &out, run_options).replaced,
            100
        );
        found.insert(PartName::new(&table.order.table.name, part.key));
        let left = Room::of(&context, &plan, &found, &out, run_options);
        assert_eq!(
            (left.estimate.unwrap().bytes.0, left.replaced),
            (shares[0], 0)
        );
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused() {
        let estimate = Estimate {
            bytes: (1_000, 9_000),
            largest: 400,
            seconds: (1, 2),
        };
        let out = Location::from(Path::new("lake"));
        let check = |estimate, free, replaced| {
            let room = Room {
                estimate,
                memory: 0,
                free,
                replaced,
            };
            room.check(&out)
        };
        for (free, replaced) in [(1_000, 0), (900, 100), (400, 1_000), (400, 5_000)] {
            check(Some(estimate), Some(free), replaced).unwrap();
        }
        for (free, replaced) in [(999, 0), (899, 100), (399, 1_000), (399, 5_000)] {
            let error = check(Some(estimate), Some(free), replaced).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused);
            assert!(
                error.to_string().contains("pass --ignore-disk-space"),
                "{error}"
            );
        }
        // In a bucket, or from a server that says nothing about sizes.
        check(Some(estimate), None, 0).unwrap();
        check(None, Some(0), 0).unwrap();
    }
}
