//! The paths of outputs.

use std::collections::BTreeSet;

use tracelake_core::error::Result;
use tracelake_core::options::{Format, Layout};
use tracelake_core::part_key::{CELL, FILE_NUMBER, PartKey};
use tracelake_core::settings::Settings;
use tracelake_location::Listed;
use tracelake_schema::{TRACES, Trace};

use crate::backend::Backend;
use crate::manifest::{Manifest, REJECTS};

/// The extensions of outputs, in any format.
const OUTPUTS: &[&str] = &[".parquet", ".arrow"];

/// The Delta log of a table, below the table's directory: a file of a release, and the only one that isn't at the top of
/// the lake.
const DELTA_LOG: &str = "_delta_log/00000000000000000000.json";

/// The paths of the Delta logs that a release of the lake with this manifest can have, one for each table: none unless
/// its outputs are Parquet files in directories of their own, as a Delta log describes them.
#[must_use]
pub fn delta_logs(manifest: &Manifest) -> Vec<String> {
    let Settings { layout, format, .. } = manifest.origin.options;
    let tables = manifest.tables.iter();
    let logs = tables.map(|table| format!("{}/{DELTA_LOG}", table.name));
    match (layout, format) {
        (Layout::Hive, Format::Parquet) => logs.collect(),
        _ => Vec::new(),
    }
}

/// Whether this is the path of the Delta log of a table.
pub(super) fn is_delta_log(file: &str) -> bool {
    let below = file.split_once('/').map(|(_, below)| below);
    below == Some(DELTA_LOG)
}

fn ends_in(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether readers skip a foreign file, because a name in its path begins with a dot or an underscore;
/// systems leave such files.
#[must_use]
pub fn is_skipped(file: &str) -> bool {
    let is_hidden = |name: &str| name.starts_with(['.', '_']) && !ends_in(name, OUTPUTS);
    file.split('/').any(is_hidden)
}

/// The names that a table's directory can have, in a lake of this trace or of any built-in one.
#[must_use]
pub fn table_names(trace: Option<&Trace>) -> BTreeSet<&str> {
    let mut names: BTreeSet<&str> = TRACES.table_names().collect();
    let tables = trace.into_iter().flat_map(Trace::all_tables);
    names.extend(tables.map(|table| &*table.name));
    names
}

/// The files in the directories of these tables, and of their rejects.
pub(super) fn outputs_of(backend: &dyn Backend, tables: &BTreeSet<&str>) -> Result<Vec<Listed>> {
    backend.list_named(tables, REJECTS)
}

/// Whether this is the path of an output or rejects file of a lake of this trace or of any built-in one.
pub(super) fn is_output(trace: Option<&Trace>, file: &str) -> bool {
    let cells = trace.and_then(|trace| trace.cells.as_ref());
    let is_own = |cell| cells.is_some_and(|cells| cells.find(cell).is_some());
    let is_cell = |cell| TRACES.has_cell(cell) || is_own(cell);
    part_of(file).is_some_and(|(_, key)| key.cell.is_none_or(is_cell))
}

/// The part whose output or rejects file has this path: `table/part-00017-of-00500.parquet`, the same in
/// `file_number=17`, both of them also in `cell=a`, or below the directory of rejects. `None` if no plan can have named
/// the file.
pub(super) fn part_of(file: &str) -> Option<(&str, PartKey)> {
    let (directory, name) = file.rsplit_once('/')?;
    let rejects = directory.strip_prefix(REJECTS);
    let (path, suffixes) = match rejects {
        Some(rejects) => (rejects.strip_prefix('/')?, &[".ndjson"][..]),
        None => (directory, OUTPUTS),
    };
    let mut names = path.split('/').peekable();
    let table = names.next().filter(|table| !table.is_empty())?;
    let mut key = |start| {
        let name = names.next_if(|name| name.starts_with(start))?;
        name.strip_prefix(start)
    };
    let (cell, file_number) = (key(CELL), key(FILE_NUMBER));
    if names.next().is_some() || (rejects.is_some() && file_number.is_some()) {
        return None;
    }
    let mut stems = suffixes
        .iter()
        .filter_map(|suffix| name.strip_suffix(suffix));
    let number = stems.next().and_then(part_number)?;
    // A number of a directory is written in one way alone.
    if file_number.is_some_and(|written| written != number.to_string()) {
        return None;
    }
    let cell = match cell {
        Some(cell) => Some(tracelake_schema::cell_name(cell).ok()?),
        None => None,
    };
    Some((
        table,
        PartKey {
            cell,
            file_number: number,
        },
    ))
}

/// The number in a name such as `part-00017-of-00500` or `part-00017`.
fn part_number(stem: &str) -> Option<u32> {
    let number = |text: &str| {
        let number: u32 = text.parse().ok()?;
        (format!("{number:05}") == text).then_some(number)
    };
    let rest = stem.strip_prefix("part-")?;
    match rest.split_once("-of-") {
        Some((part, total)) => number(total).and(number(part)),
        None => number(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_where_a_plan_puts_them() {
        for file in [
            "jobs/part-00017-of-00500.parquet",
            "jobs/file_number=17/part-00017.arrow",
            "jobs/cell=a/part-00017.parquet",
            "jobs/cell=a/file_number=17/part-00017.parquet",
            "_tracelake/rejects/jobs/part-00017.ndjson",
            "_tracelake/rejects/jobs/cell=a/part-00017.ndjson",
        ] {
            assert!(is_output(None, file), "{file}");
        }
        for file in [
            "jobs/copy.parquet",
            "jobs/file_number=18/part-00017.parquet",
            "jobs/cell=zz/part-00017.parquet",
            "jobs/cell=/part-00017.parquet",
            "jobs/file_number=17/cell=a/part-00017.parquet",
            "jobs/cell=a/old/file_number=17/part-00017.parquet",
            "jobs/cell=a/part-00017.ndjson",
            "_tracelake/rejects/jobs/cell=a/file_number=17/part-00017.ndjson",
            "_tracelake/rejects/jobs/part-00017.parquet",
        ] {
            assert!(!is_output(None, file), "{file}");
        }
    }

    #[test]
    fn a_delta_log_is_in_the_directory_of_a_table() {
        assert!(is_delta_log("jobs/_delta_log/00000000000000000000.json"));
        for file in [
            "jobs/_delta_log/00000000000000000001.json",
            "jobs/_delta_log/_last_checkpoint",
            "jobs/cell=a/_delta_log/00000000000000000000.json",
            "_delta_log/00000000000000000000.json",
        ] {
            assert!(!is_delta_log(file), "{file}");
        }
    }

    #[test]
    fn files_of_systems_are_skipped() {
        for (file, is_it) in [
            ("jobs/.DS_Store", true),
            ("jobs/_SUCCESS", true),
            ("jobs/_old/part-00000.parquet", true),
            ("jobs/notes.txt", false),
            // Readers that skip it would miss rows.
            ("jobs/_part-00000.parquet", false),
            ("jobs/.part-00000.arrow", false),
        ] {
            assert_eq!(is_skipped(file), is_it, "{file}");
        }
    }
}
