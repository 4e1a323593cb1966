//! Facts that an earlier run noted, compared with the files that they describe. The digest of a file doesn't
//! say that the counts beside it are right.

use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_lake::manifest::{FileFacts, PartFacts, is_relative};
use tracelake_lake::store::{Hints, Lake, LakeProgress, inside};
use tracelake_location::{Location, LocationKind};
use tracelake_schema::Table;
use tracelake_schema::arrow::{arrow_schema, fingerprint};

use super::{Parts, digest};
use crate::lake_file::{LakeFile, count_lines};

/// How many times an output is read that other workers replace by equal bytes at the same time.
const READINGS: usize = 8;

/// The outputs of a lake that runs have noted.
pub(super) struct Outputs<'a> {
    context: &'a Context,
    root: &'a Location,
    format: Format,
    /// The sizes of those that still have the tag in a bucket that was noted when they were made. They needn't
    /// be read.
    untouched: BTreeMap<String, u64>,
}

impl<'a> Outputs<'a> {
    /// The outputs of `progress`.
    ///
    /// # Errors
    /// If the store fails.
    pub(super) fn new(
        context: &'a Context,
        lake: &'a Lake,
        format: Format,
        progress: &LakeProgress,
        hints: Hints,
    ) -> Result<Self> {
        Ok(Self {
            context,
            root: lake.root(),
            format,
            untouched: lake.untouched(&progress.etags, hints)?,
        })
    }

    /// Whether all files of a part exist with the bytes that were committed.
    pub(super) fn are_whole(&self, facts: &PartFacts) -> Result<bool> {
        for file in facts.files() {
            if !self.is_untouched(file) && !steady(|| is_whole(self.context, self.root, file))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reports an error in the facts of a part whose files are whole; see [`contradiction`].
    pub(super) fn contradiction(
        &self,
        table: &Table,
        facts: &PartFacts,
    ) -> Result<Option<&'static str>> {
        // The worker that noted the tag has compared them.
        if facts.files().all(|file| self.is_untouched(file)) {
            return Ok(None);
        }
        let contents = steady(|| Contents::read(self.root, self.format, table, facts))?;
        Ok(contradiction(table, facts, &contents))
    }

    fn is_untouched(&self, file: &FileFacts) -> bool {
        self.untouched.get(&file.path) == Some(&file.bytes)
    }
}

/// Reads an output, and again if another worker has replaced it by equal bytes while it was read.
///
/// # Errors
/// As `read`.
pub(super) fn steady<T>(read: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..READINGS {
        match read() {
            Err(error) if error.is_replacement() => {}
            done => return done,
        }
    }
    read()
}

/// Whether an output exists with the bytes that were committed.
fn is_whole(context: &Context, root: &Location, output: &FileFacts) -> Result<bool> {
    let path = inside(root, &output.path)?;
    let bytes = Some(output.bytes);
    if path.kind()? != Some(LocationKind::File { bytes }) {
        return Ok(false);
    }
    Ok(digest(context, &path)? == output.sha256)
}

/// Reads the footer of a part back, and compares its row count with what was counted.
pub(super) fn check_footer(
    root: &Location,
    format: Format,
    table: &str,
    part: &PartFacts,
) -> Result<()> {
    let path = inside(root, &part.output.path)?;
    let rows = LakeFile::open_end(&path, format, part.output.bytes)?.rows(&path)?;
    if rows == part.rows_out {
        return Ok(());
    }
    let reason = format!(
        "its footer says {rows} rows, but {} were counted",
        part.rows_out
    );
    Err(Error::new(ErrorKind::Failed, reason)
        .at(path)
        .field(table)
        .hint("remove the file and run the same command again"))
}

/// The files of a part, as far as its facts describe them beside their digests.
struct Contents {
    /// The lines of the rejects file.
    rejected: u64,
    /// `None` if the output can't be read.
    footer: Option<Footer>,
}

/// The footer of an output.
struct Footer {
    rows: u64,
    /// Whether it has the schema of its table.
    has_schema: bool,
    /// The range of the table's time column, if the schema has it.
    time: (Option<i64>, Option<i64>),
}

impl Contents {
    fn read(root: &Location, format: Format, table: &Table, facts: &PartFacts) -> Result<Self> {
        let rejects = facts.rejects.as_ref();
        let rejected = rejects.map_or(Ok(0), |file| count_lines(&inside(root, &file.path)?))?;
        let path = inside(root, &facts.output.path)?;
        let file = match LakeFile::open_end(&path, format, facts.output.bytes) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let footer = None;
                return Ok(Self { rejected, footer });
            }
            file => file?,
        };
        let has_schema = fingerprint(file.schema()) == fingerprint(&arrow_schema(table));
        let time_range = table
            .time
            .filter(|_| has_schema)
            .map(|time| file.range(table.columns[time].name));
        let footer = Footer {
            rows: file.rows(&path)?,
            has_schema,
            time: time_range.transpose()?.flatten().unzip(),
        };
        Ok(Self {
            rejected,
            footer: Some(footer),
        })
    }
}

/// Reports an error in the facts of a part whose files have the digests that the facts name: in its counts, or in
/// the output's rows, schema or range of time. `None` if all is well.
fn contradiction(table: &Table, facts: &PartFacts, found: &Contents) -> Option<&'static str> {
    let Some(footer) = &found.footer else {
        return Some("it can't be read");
    };
    let wrong = [
        (
            !facts.counts_add_up(),
            "its recorded row counts don't add up",
        ),
        (
            found.rejected != facts.rows_rejected,
            "its rejects file doesn't have the recorded number of rows",
        ),
        (
            !is_relative(&facts.source.path),
            "the path of its source leads out of the source",
        ),
        (!has_its_number(facts), "its file has another number"),
        (
            footer.rows != facts.rows_out,
            "its footer doesn't have the recorded number of rows",
        ),
        (!footer.has_schema, "it has another schema than its table"),
        (
            table.time.is_some() && footer.time != (facts.time_min, facts.time_max),
            "it doesn't have the recorded time range",
        ),
    ];
    let first = wrong.into_iter().find(|(is_wrong, _)| *is_wrong);
    first.map(|(_, reason)| reason)
}

/// Whether the name of the output begins with the number of the part.
fn has_its_number(facts: &PartFacts) -> bool {
    let name = facts.output.path.rsplit('/').next().unwrap_or_default();
    let rest = name.strip_prefix(&format!("part-{:05}", facts.file_number));
    rest.is_some_and(|rest| rest.starts_with(['-', '.']))
}

/// Refuses parts of which two name the same file: one of them has lost its rows.
pub(super) fn no_file_twice(root: &Location, parts: &Parts) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut files = parts.values().flat_map(PartFacts::files);
    match files.find(|file| !seen.insert(&file.path)) {
        None => Ok(()),
        Some(file) => Err(Error::new(ErrorKind::Refused, "is listed by two parts")
            .at(root.join(&file.path))
            .hint("remove it, and convert both parts again")),
    }
}

#[cfg(test)]
mod tests {
    use tracelake_core::digest::Digest;
    use tracelake_schema::TRACES;

    use super::*;

    /// Changes what is said of a part, or what is in its files.
    type Change = fn(&mut PartFacts, &mut Contents);

    #[test]
    fn the_table_of_contradictions() {
        let tables = TRACES.iter().flat_map(|trace| trace.tables);
        let table = { tables }.find(|table| table.time.is_some()).unwrap();
        let file = |path: &str| FileFacts {
            path: path.to_owned(),
            bytes: 100,
            sha256: Digest::of(b""),
        };
        let rows: &[(Change, Option<&str>)] = &[
            (|_, _| {}, None),
            (|_, found| found.footer = None, Some("it can't be read")),
            (
                |facts, _| facts.rows_in = 10,
                Some("its recorded row counts don't add up"),
            ),
            (
                |_, found| found.rejected = 1,
                Some("its rejects file doesn't have the recorded number of rows"),
            ),
            (
                |facts, _| facts.source.path = "../part-00007.csv".to_owned(),
                Some("the path of its source leads out of the source"),
            ),
            (
                |facts, _| facts.file_number = 8,
                Some("its file has another number"),
            ),
            (
                |_, found| found.footer.as_mut().unwrap().rows = 8,
                Some("its footer doesn't have the recorded number of rows"),
            ),
            (
                |_, found| found.footer.as_mut().unwrap().has_schema = false,
                Some("it has another schema than its table"),
            ),
            (
                |_, found| found.footer.as_mut().unwrap().time.1 = None,
                Some("it doesn't have the recorded time range"),
            ),
        ];
        for (change, expected) in rows {
            let output = file("jobs/part-00007-of-00008.parquet");
            let mut facts = PartFacts::new(7.into(), file("part-00007.csv"), output);
            (facts.rows_in, facts.rows_out) = (9, 9);
            (facts.time_min, facts.time_max) = (Some(0), Some(1));
            let mut found = Contents {
                rejected: 0,
                footer: Some(Footer {
                    rows: 9,
                    has_schema: true,
                    time: (Some(0), Some(1)),
                }),
            };
            change(&mut facts, &mut found);
            assert_eq!(contradiction(table, &facts, &found), *expected);
        }
    }
}
