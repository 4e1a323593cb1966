//! Found × catalog × options → [`Plan`]: plain data that `--dry-run` prints and a run carries out.

mod request;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use tracelake_schema::{TRACES, Table, Trace};

use crate::discover::checksums::Checksums;
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{self, Found, FoundPart, FoundTable};
use crate::error::{Error, ErrorKind, Result, escape};
use crate::layout::Layout;
use crate::manifest::REJECTS;
use crate::manifest::{Origin, Settings};
use crate::sheet::Codec;
use crate::source::{self, Chunk, Source};

pub use request::{ChecksumSource, OnBadRow, PartSet, Partitions, Request};

/// File numbers as people write them: `0-174, 178-499`.
struct Ranges<'a>(&'a [u32]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match run {
                [] => {}
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// What will be done: every input, every output, nothing left to decide.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The directory that source paths are relative to.
    pub source: PathBuf,
    /// The trace.
    pub trace: &'static Trace,
    /// What decides the bytes of the outputs.
    pub origin: Origin,
    /// How column chunks are compressed.
    pub codec: Codec,
    /// What a bad row leads to.
    pub on_bad_row: OnBadRow,
    /// The tables to convert, in the order of the trace.
    pub tables: Vec<TablePlan>,
    /// Tables of the trace that are not there, in its order.
    pub absent: Vec<&'static str>,
    /// What people should know before the work begins.
    pub warnings: Vec<String>,
}

/// One table to convert.
#[derive(Debug, Clone)]
pub struct TablePlan {
    /// Its place in the trace, from 0.
    pub rank: usize,
    /// Which field of its files is which column.
    pub layout: Layout,
    /// Its Arrow schema.
    pub schema: SchemaRef,
    /// Its parts, by file number.
    pub parts: Vec<PartPlan>,
    /// File numbers that are not there.
    pub missing: Vec<u32>,
}

/// One part to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlan {
    /// Its file number.
    pub file_number: u32,
    /// The input, relative to [`Plan::source`].
    pub source: String,
    /// The size of the input.
    pub bytes: u64,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<String>,
    /// The output, relative to the lake.
    pub output: String,
    /// The file of its rejects, relative to the lake.
    pub rejects: String,
}

impl Plan {
    /// The parts of all tables with the index of their table, in order.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &PartPlan)> {
        self.tables
            .iter()
            .enumerate()
            .flat_map(|(index, table)| table.parts.iter().map(move |part| (index, part)))
    }

    /// The size of all inputs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts().map(|(_, part)| part.bytes).sum()
    }
}

/// The names that a table's directory can have, in a lake of any trace.
#[must_use]
pub fn table_names() -> BTreeSet<&'static str> {
    let tables = TRACES.iter().flat_map(|trace| trace.tables);
    tables.map(|table| table.name).collect()
}

/// Decides what to do.
///
/// # Errors
/// When the source is not a trace, is not whole (unless that is allowed), or is not what was
/// asked for; nothing is written.
pub fn plan(request: &Request) -> Result<Plan> {
    let mut found = discover::discover(&request.source)?;
    let schema_csv = match found.schema_csv {
        true => Some(SchemaCsv::read(&found.root.join(discover::SCHEMA_CSV))?),
        false => None,
    };
    name_tables(request, &mut found)?;
    let trace = match request.trace {
        Some(trace) => trace,
        None => recognise(&found, schema_csv.as_ref())?,
    };
    if let Some(schema_csv) = &schema_csv {
        schema_csv.check(trace)?;
    }
    for name in &request.tables {
        if trace.table(name).is_none() {
            return Err(unknown_table(name, trace));
        }
        if !found
            .tables
            .iter()
            .any(|table| table.name.as_ref() == Some(name))
        {
            return Err(Error::new(
                ErrorKind::Failed,
                format!("there is no part of table {name}"),
            )
            .at(&request.source)
            .hint("leave it out of --tables, or download it"));
        }
    }
    let checksums = read_checksums(request, &found)?;
    let mut warnings: Vec<String> = found
        .passed_over
        .iter()
        .map(|path| {
            format!(
                "{} is passed over: not the name of a part",
                escape(path.as_bytes(), 200)
            )
        })
        .collect();
    let mut tables = Vec::new();
    let mut absent = Vec::new();
    for (rank, table) in trace.tables.iter().enumerate() {
        let wanted =
            request.tables.is_empty() || request.tables.iter().any(|name| name == table.name);
        let here = found
            .tables
            .iter()
            .find(|found| found.name.as_deref() == Some(table.name));
        match here {
            Some(here) if wanted => {
                let layout = match &schema_csv {
                    Some(schema_csv) => schema_csv.layout(table)?,
                    None => Layout::built_in(table, trace.name),
                };
                let planned = plan_table(request, &found, here, rank, layout, checksums.as_ref())?;
                if planned.parts.is_empty() {
                    warnings.push(format!("{} has no part that is selected", table.name));
                } else {
                    tables.push(planned);
                }
            }
            None if wanted => absent.push(table.name),
            _ => {}
        }
    }
    if tables.is_empty() {
        return Err(Error::new(ErrorKind::Failed, "no part is selected")
            .at(&request.source)
            .hint("see which there are with: tracelake inspect SRC"));
    }
    let unlisted = tables
        .iter()
        .flat_map(|table| &table.parts)
        .filter(|part| part.sha256.is_none());
    let unlisted = unlisted.count();
    if checksums.is_some() && unlisted > 0 {
        warnings.push(format!(
            "not in the checksums, so not checked: {unlisted} of the parts"
        ));
    }
    let options = Settings {
        layout: request.partitions.name().to_owned(),
        format: "parquet".to_owned(),
        compression: request.codec.to_string(),
        on_bad_row: request.on_bad_row.name().to_owned(),
    };
    tracing::debug!(
        trace = trace.name,
        tables = tables.len(),
        absent = absent.len(),
        schema_csv = schema_csv.is_some(),
        checksums = checksums.is_some(),
        "planned"
    );
    Ok(Plan {
        source: found.root,
        trace,
        origin: Origin::new(trace.name, options),
        codec: request.codec,
        on_bad_row: request.on_bad_row,
        tables,
        absent,
        warnings,
    })
}

/// Reads the checksums that apply, and holds `schema.csv` against them, since it decides so much.
fn read_checksums(request: &Request, found: &Found) -> Result<Option<Checksums>> {
    let path = match &request.checksums {
        ChecksumSource::None => return Ok(None),
        ChecksumSource::Auto if !found.checksums => return Ok(None),
        ChecksumSource::Auto => found.root.join(discover::CHECKSUMS),
        ChecksumSource::File(path) => path.clone(),
    };
    let checksums = Checksums::read(&path)?;
    if let Some(expected) = checksums
        .of("", discover::SCHEMA_CSV)
        .filter(|_| found.schema_csv)
    {
        let schema_csv = found.root.join(discover::SCHEMA_CSV);
        check_sha256(
            &schema_csv,
            expected,
            &source::fingerprint(&schema_csv)?.sha256,
        )?;
    }
    Ok(Some(checksums))
}

/// Holds the digest of a source file against the one that its publisher names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when they differ.
pub fn check_sha256(path: &Path, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        format!("has SHA-256 {found}, but the checksums say {expected}"),
    )
    .at(path)
    .hint("download it again, or pass --checksums none to go on without"))
}

fn plan_table(
    request: &Request,
    found: &Found,
    here: &FoundTable,
    rank: usize,
    layout: Layout,
    checksums: Option<&Checksums>,
) -> Result<TablePlan> {
    let table = layout.table;
    let selected = |number| {
        request
            .parts
            .as_ref()
            .is_none_or(|parts| parts.contains(number))
    };
    let mut missing = Vec::new();
    if !found.alone {
        check_numbers(request, found, table, here)?;
        let total = here.parts.iter().map(|part| part.total).max().unwrap_or(0);
        let there = |number| here.parts.iter().any(|part| part.number == number);
        missing = (0..total)
            .filter(|&number| selected(number) && !there(number))
            .collect();
        if !missing.is_empty() && !request.allow_missing {
            let reason = format!(
                "{} of {total} parts are missing: {}",
                missing.len(),
                Ranges(&missing)
            );
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(&request.source)
                .field(table.name)
                .hint("download them, or pass --allow-missing to convert what is there"));
        }
    }
    let parts = here
        .parts
        .iter()
        .filter(|part| selected(part.number))
        .map(|part| PartPlan {
            file_number: part.number,
            source: part.path.clone(),
            bytes: part.bytes,
            sha256: checksums
                .and_then(|sums| sums.of(table.name, &part.path))
                .map(str::to_owned),
            output: output_path(request.partitions, table, part),
            rejects: format!("{REJECTS}/{}/{}.ndjson", table.name, output_stem(part)),
        });
    let parts = parts.collect();
    let schema = tracelake_schema::arrow::arrow_schema(table);
    Ok(TablePlan {
        rank,
        layout,
        schema,
        parts,
        missing,
    })
}

/// Two files of one number would become the same output; a number past the total is a mistake; two
/// totals mean that two downloads were mixed.
fn check_numbers(request: &Request, found: &Found, table: &Table, here: &FoundTable) -> Result<()> {
    let wrong = |part: &FoundPart, reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&part.path))
            .field(table.name)
            .hint(hint))
    };
    for pair in here.parts.windows(2) {
        if pair[0].number == pair[1].number {
            let reason = format!("has the same file number as {}", pair[0].path);
            return wrong(&pair[1], reason, "move one of them away");
        }
    }
    for part in &here.parts {
        if part.number >= part.total {
            let reason = format!("file number {} is not below {}", part.number, part.total);
            return wrong(part, reason, "rename it, or move it away");
        }
        if part.total != here.parts[0].total && !request.allow_missing {
            let reason = format!(
                "one of {} parts, but {} is one of {}",
                part.total, here.parts[0].path, here.parts[0].total
            );
            return wrong(
                part,
                reason,
                "move one kind away, or pass --allow-missing to take both",
            );
        }
    }
    Ok(())
}

fn output_stem(part: &FoundPart) -> String {
    format!("part-{:05}-of-{:05}", part.number, part.total)
}

fn output_path(partitions: Partitions, table: &Table, part: &FoundPart) -> String {
    let name = format!("{}.parquet", output_stem(part));
    match partitions {
        Partitions::Hive => format!("{}/file_number={}/{name}", table.name, part.number),
        Partitions::Flat => format!("{}/{name}", table.name),
    }
}

fn unknown_table(name: &str, trace: &Trace) -> Error {
    let names: Vec<&str> = trace.tables.iter().map(|table| table.name).collect();
    let name = escape(name.as_bytes(), 80);
    Error::new(
        ErrorKind::Usage,
        format!("{} has no table '{name}'", trace.name),
    )
    .hint(format!("it has {}", names.join(", ")))
}

/// Gives a table to files of which neither the directory nor the name tells: the one that
/// `--tables` names, or the only one that has so many fields.
fn name_tables(request: &Request, found: &mut Found) -> Result<()> {
    let root = found.root.clone();
    for table in found.tables.iter_mut().filter(|table| table.name.is_none()) {
        if let [name] = &request.tables[..] {
            table.name = Some(name.clone());
            continue;
        }
        let fields = count_fields(&root, table)?;
        let mut candidates: Vec<&str> = TRACES
            .iter()
            .filter(|trace| request.trace.is_none_or(|wanted| wanted.name == trace.name))
            .flat_map(|trace| trace.tables)
            .filter(|candidate| Some(candidate.fields.len()) == fields)
            .map(|candidate| candidate.name)
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        let reason = match (&candidates[..], fields) {
            ([only], _) => {
                table.name = Some((*only).to_owned());
                continue;
            }
            (_, None) => "the file has no rows that tell its table".to_owned(),
            ([], Some(fields)) => format!("no known table has {fields} fields"),
            (several, Some(fields)) => format!("{} have {fields} fields", several.join(" and ")),
        };
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(&request.source)
            .hint("name the table with --tables, or put the file into a directory of its name"));
    }
    Ok(())
}

/// Finds the trace: the one that has all tables found, each with the number of fields that
/// `schema.csv` or its first row has. Of several the first of the catalog.
fn recognise(found: &Found, schema_csv: Option<&SchemaCsv>) -> Result<&'static Trace> {
    let names = || {
        found
            .tables
            .iter()
            .filter_map(|table| table.name.as_deref())
    };
    let candidates: Vec<&'static Trace> = TRACES
        .iter()
        .filter(|trace| names().all(|name| trace.table(name).is_some()))
        .collect();
    let Some(&first) = candidates.first() else {
        return Err(
            Error::new(ErrorKind::Failed, "the tables here belong to no one trace")
                .at(&found.root)
                .hint("name the trace with --trace; tracelake schema lists them"),
        );
    };
    let mut fitting = candidates;
    for table in &found.tables {
        let Some(name) = table.name.as_deref() else {
            continue;
        };
        let fields_of = |trace: &&'static Trace| trace.table(name).map(|table| table.fields.len());
        let Some(one) = fitting.first().map(fields_of) else {
            break;
        };
        if fitting.iter().all(|trace| fields_of(trace) == one) {
            continue;
        }
        let fields = match schema_csv.map(|schema_csv| schema_csv.fields(name)) {
            Some(fields) if fields > 0 => Some(fields),
            _ => count_fields(&found.root, table)?,
        };
        fitting.retain(|trace| fields.is_none() || fields_of(trace) == fields);
    }
    // Where no version fits, the rows themselves will say what is wrong with them.
    Ok(fitting.first().copied().unwrap_or(first))
}

/// The number of fields in the first row of a table's first part that has one.
fn count_fields(root: &Path, table: &FoundTable) -> Result<Option<usize>> {
    for part in &table.parts {
        let mut source = Source::open(&root.join(&part.path))?;
        let mut chunk = Chunk::default();
        if source.next_chunk(&mut chunk)? {
            let line = chunk
                .lines()
                .split(|&byte| byte == b'\n')
                .next()
                .unwrap_or_default();
            return Ok(Some(1 + line.iter().filter(|&&byte| byte == b',').count()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_written_short() {
        assert_eq!(Ranges(&[0, 1, 2, 5, 7, 8]).to_string(), "0-2, 5, 7-8");
    }
}
