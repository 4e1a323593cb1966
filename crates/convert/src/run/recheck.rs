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
        for file in files_of(facts) {
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
        if files_of(facts).all(|file| self.is_untouched(file)) {
            return Ok(None);
        }
        steady(|| contradiction(self.root, self.format, table, facts))
    }

    fn is_untouched(&self, file: &FileFacts) -> bool {
        self.untouched.get(&file.path) == Some(&file.bytes)
    }
}

/// The output of a part and its rejects.
fn files_of(facts: &PartFacts) -> impl Iterator<Item = &FileFacts> {
    std::iter::once(&facts.output).chain(&facts.rejects)
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
    let bytes = output.bytes;
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

/// Reports an error in the facts of a part whose files have the digests that the facts name: in its counts, or in
/// the output's rows, schema or range of time. `None` if all is well.
///
/// # Errors
/// When a file can't be read.
pub(super) fn contradiction(
    root: &Location,
    format: Format,
    table: &Table,
    facts: &PartFacts,
) -> Result<Option<&'static str>> {
    if !facts.counts_add_up() {
        return Ok(Some("its recorded row counts don't add up"));
    }
    let rejected = match &facts.rejects {
        None => 0,
        Some(rejects) => count_lines(&inside(root, &rejects.path)?)?,
    };
    if rejected != facts.rows_rejected {
        return Ok(Some(
            "its rejects file doesn't have the recorded number of rows",
        ));
    }
    if !is_relative(&facts.source.path) {
        return Ok(Some("the path of its source leads out of the source"));
    }
    if !has_its_number(facts) {
        return Ok(Some("its file has another number"));
    }
    let path = inside(root, &facts.output.path)?;
    let file = match LakeFile::open_end(&path, format, facts.output.bytes) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return Ok(Some("it can't be read"));
        }
        file => file?,
    };
    if file.rows(&path)? != facts.rows_out {
        return Ok(Some("its footer doesn't have the recorded number of rows"));
    }
    if fingerprint(file.schema()) != fingerprint(&arrow_schema(table)) {
        return Ok(Some("it has another schema than its table"));
    }
    if let Some(time) = table.time
        && file.range(table.columns[time].name)?.unzip() != (facts.time_min, facts.time_max)
    {
        return Ok(Some("it doesn't have the recorded time range"));
    }
    Ok(None)
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
    let mut files = parts.values().flat_map(files_of);
    match files.find(|file| !seen.insert(&file.path)) {
        None => Ok(()),
        Some(file) => Err(Error::new(ErrorKind::Refused, "is listed by two parts")
            .at(root.join(&file.path))
            .hint("remove it, and convert both parts again")),
    }
}
