//! Facts that an earlier run noted, compared with the files that they describe. The digest of a file doesn't
//! say that the counts beside it are right.

use std::collections::BTreeSet;

use tracelake_schema::Table;
use tracelake_schema::arrow::{arrow_schema, fingerprint};

use super::Parts;
use crate::error::{Error, ErrorKind, Result};
use crate::lake_file::{LakeFile, count_lines};
use crate::location::Location;
use crate::manifest::PartFacts;
use crate::options::Format;
use crate::store::inside;

/// What is wrong with the facts of a part whose files have the digests that the facts name: its counts, or what
/// they say of the output's rows, schema and range of time. `None` if nothing is.
///
/// # Errors
/// When a file can't be read.
pub(super) fn contradiction(
    root: &Location,
    format: Format,
    table: &Table,
    facts: &PartFacts,
) -> Result<Option<&'static str>> {
    if facts.rows_out.checked_add(facts.rows_rejected) != Some(facts.rows_in) {
        return Ok(Some("the rows that were noted for it don't add up"));
    }
    let rejected = match &facts.rejects {
        None => 0,
        Some(rejects) => count_lines(&inside(root, &rejects.path)?)?,
    };
    if rejected != facts.rows_rejected {
        return Ok(Some(
            "its rejects file has another number of rows than was noted",
        ));
    }
    if !has_its_number(facts) {
        return Ok(Some("its file has another number"));
    }
    let path = inside(root, &facts.output.path)?;
    let file = match LakeFile::open(&path, format) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return Ok(Some("it can't be read"));
        }
        file => file?,
    };
    if file.rows(&path)? != facts.rows_out {
        return Ok(Some("its footer has another number of rows than was noted"));
    }
    if fingerprint(file.schema()) != fingerprint(&arrow_schema(table)) {
        return Ok(Some("it has another schema than its table"));
    }
    if let Some(time) = table.time
        && file.range(table.columns[time].name)?.unzip() != (facts.time_min, facts.time_max)
    {
        return Ok(Some("it has another range of time than was noted"));
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
    let files = parts.values();
    let mut files = files.flat_map(|facts| std::iter::once(&facts.output).chain(&facts.rejects));
    match files.find(|file| !seen.insert(&file.path)) {
        None => Ok(()),
        Some(file) => Err(Error::new(ErrorKind::Refused, "is listed by two parts")
            .at(root.join(&file.path))
            .hint("remove it, and convert both parts again")),
    }
}
