//! The paths of outputs.

use tracelake_core::part_key::{CELL, FILE_NUMBER};

use crate::manifest::REJECTS;

/// The extensions of outputs, in any format.
pub(super) const OUTPUTS: &[&str] = &[".parquet", ".arrow"];

pub(super) fn ends_in(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether readers skip a foreign file, because a name in its path begins with a dot or an underscore;
/// systems leave such files.
#[must_use]
pub fn is_skipped(file: &str) -> bool {
    let is_hidden = |name: &str| name.starts_with(['.', '_']) && !ends_in(name, OUTPUTS);
    file.split('/').any(is_hidden)
}

/// The directory of a file in a lake, taken apart.
pub(super) struct LakeDirectory<'a> {
    pub(super) table: &'a str,
    /// The endings of the file names in there.
    pub(super) suffixes: &'static [&'static str],
    pub(super) cell: Option<&'a str>,
    pub(super) file_number: Option<&'a str>,
}

impl<'a> LakeDirectory<'a> {
    /// `None` if a lake has no files in such a directory.
    pub(super) fn of(directory: &'a str) -> Option<Self> {
        let rejects = directory.strip_prefix(REJECTS);
        let (path, suffixes) = match rejects {
            Some(rejects) => (rejects.strip_prefix('/')?, &[".ndjson"][..]),
            None => (directory, OUTPUTS),
        };
        let mut names = path.split('/').peekable();
        let table = names.next()?;
        let mut key = |start| {
            let name = names.next_if(|name| name.starts_with(start))?;
            name.strip_prefix(start)
        };
        let (cell, file_number) = (key(CELL), key(FILE_NUMBER));
        let is_known = names.next().is_none() && (rejects.is_none() || file_number.is_none());
        is_known.then_some(Self {
            table,
            suffixes,
            cell,
            file_number,
        })
    }
}

/// Whether a plan can have named this file: `table/part-00017-of-00500.parquet`, the same in
/// `file_number=17`, both of them also in `cell=a`, or its rejects file.
pub(super) fn is_output(file: &str) -> bool {
    let (directory, name) = file.rsplit_once('/').unwrap_or_default();
    let Some(place) = LakeDirectory::of(directory) else {
        return false;
    };
    let mut stems = place
        .suffixes
        .iter()
        .filter_map(|suffix| name.strip_suffix(suffix));
    let number = stems.next().and_then(part_number);
    let is_cell = place.cell.is_none_or(tracelake_schema::is_cell);
    // A padded number is written in one way alone.
    let is_part = number.is_some_and(|number| {
        let key = place.file_number;
        key.is_none_or(|key| key == number.to_string())
    });
    is_cell && is_part
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
            assert!(is_output(file), "{file}");
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
            assert!(!is_output(file), "{file}");
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
