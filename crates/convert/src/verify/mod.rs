//! A second opinion on a lake: its files against its manifest and, where the source is at hand,
//! every value against the source, read with flate2, the csv crate and the standard library.
//! Nothing that parsed a row on the way in is used here.

mod derived;
mod nested;
mod plain;
mod release;
mod values;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tracelake_schema::arrow::{arrow_schema, fingerprint};
use tracelake_schema::{Table, Trace};

use crate::error::{Error, ErrorKind, Result, escape};
use crate::event::{Event, Watcher};
use crate::lake_file::LakeFile;
use crate::manifest::{FileFacts, Manifest, PartFacts};
use crate::output::Format;
use crate::plan::{ChecksumSource, Plan, Request, plan, table_names};
use crate::source::{self, open_file};
use crate::store::{files, inside, read_manifest};
use derived::verify_derived;
use release::verify_release;
use values::{Original, verify_values};

/// What a verification found.
#[derive(Debug)]
pub struct Verdict {
    /// The manifest that the lake was held against.
    pub manifest: Manifest,
    /// Parts that were looked at.
    pub parts: usize,
    /// Values that were compared with the source.
    pub values: u64,
    /// Parts of the source that the lake does not have.
    pub not_converted: usize,
    /// Everything that is wrong, in the order of the manifest.
    pub findings: Vec<Error>,
}

/// Holds a lake against its manifest and, if `source` is given, against its source; and the files of
/// its release, if there are any, against the lake.
///
/// # Errors
/// When there is no finished lake, or no source. What is wrong with the lake itself is in
/// [`Verdict::findings`].
pub fn verify(
    root: &Path,
    source: Option<&Path>,
    threads: usize,
    watch: Watcher<'_>,
) -> Result<Verdict> {
    let manifest = read_manifest(root)?;
    let trace = known_trace(root, &manifest)?;
    let plan = match source {
        Some(source) => Some(source_plan(source, trace)?),
        None => None,
    };
    let mut verdict = verify_lake(root, manifest, trace, plan.as_ref(), threads, watch)?;
    match verify_release(root, trace, &verdict.manifest) {
        Ok(findings) => verdict.findings.extend(findings),
        Err(error) => verdict.findings.push(error),
    }
    Ok(verdict)
}

/// The trace of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] when it is not known.
pub(crate) fn known_trace(root: &Path, manifest: &Manifest) -> Result<&'static Trace> {
    tracelake_schema::trace(&manifest.origin.trace).ok_or_else(|| {
        let name = escape(manifest.origin.trace.as_bytes(), 80);
        Error::new(
            ErrorKind::Refused,
            format!("a lake of the trace '{name}', which is not known"),
        )
        .at(root)
        .hint("use the version of tracelake that made it")
    })
}

/// Holds a lake against its manifest and the plan of its source, and leaves a release alone.
///
/// # Errors
/// When the threads cannot be started, or the disk fails.
pub(crate) fn verify_lake(
    root: &Path,
    manifest: Manifest,
    trace: &'static Trace,
    plan: Option<&Plan>,
    threads: usize,
    watch: Watcher<'_>,
) -> Result<Verdict> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot start {threads} threads: {error}"),
        )
    })?;
    let mut findings: Vec<Error> = manifest.check_counts().err().into_iter().collect();
    findings.extend(strays(root, &manifest)?);
    findings.extend(contradictions(root, trace, &manifest));
    let parts: Vec<(&str, &PartFacts)> = manifest.parts().collect();
    // The parts of one source are compared with it in one pass.
    let same = |a: &(&str, &PartFacts), b: &(&str, &PartFacts)| {
        (a.0, &a.1.source.path) == (b.0, &b.1.source.path)
    };
    let sources: Vec<&[(&str, &PartFacts)]> = parts.chunk_by(same).collect();
    let lake = LakeView {
        root,
        trace,
        format: Format::of_lake(&manifest).map_err(|error| error.at(root))?,
        manifest: &manifest,
        plan,
        watch,
    };
    let checked: Vec<(u64, Option<Error>)> = pool.install(|| {
        let checked = sources.par_iter().map(|parts| lake.verify_parts(parts));
        checked.flatten_iter().collect()
    });
    let values = checked.iter().map(|(values, _)| values).sum();
    let number = parts.len();
    findings.extend(checked.into_iter().filter_map(|(_, finding)| finding));
    let not_converted = plan.map_or(0, |plan| {
        let there = |table: &str, number| {
            manifest
                .parts()
                .any(|(name, part)| name == table && part.file_number == number)
        };
        let parts = plan.parts();
        let streams = plan.streams.iter().filter(|stream| {
            let has = |name: &str| manifest.parts().any(|(table, _)| table == name);
            let mut tables = stream.tables.iter();
            !tables.any(|&table| has(plan.tables[table].layout.table.name))
        });
        let streams = streams.count();
        streams
            + parts
                .filter(|(table, part)| {
                    !there(plan.tables[*table].layout.table.name, part.file_number)
                })
                .count()
    });
    Ok(Verdict {
        manifest,
        parts: number,
        values,
        not_converted,
        findings,
    })
}

/// What is in the source, however incomplete: the manifest says what has to be there.
fn source_plan(source: &Path, trace: &'static Trace) -> Result<Plan> {
    let mut request = Request::new(source.to_owned());
    request.trace = Some(trace);
    request.allow_missing = true;
    request.checksums = ChecksumSource::None;
    plan(&request)
}

/// Files of tables that the manifest does not name; a reader of the whole directory would take them.
fn strays(root: &Path, manifest: &Manifest) -> Result<Vec<Error>> {
    let named: BTreeSet<&str> = manifest.files().map(|file| file.path.as_str()).collect();
    let strays = files(root, &table_names())?
        .into_iter()
        .filter(|path| !named.contains(&path[..]));
    let finding = |path: String| {
        corrupt("is not in the manifest")
            .at(root.join(path))
            .hint("move it out of the lake")
    };
    Ok(strays.map(finding).collect())
}

/// What a manifest says of tables that cannot be.
fn contradictions(root: &Path, trace: &Trace, manifest: &Manifest) -> Vec<Error> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for facts in &manifest.tables {
        let finding = |reason: &str| {
            corrupt(reason)
                .at(root)
                .field(facts.name.clone())
                .hint(AGAIN)
        };
        let known = trace
            .table(&facts.name)
            .map(|table| fingerprint(&arrow_schema(table)));
        if known.is_some_and(|known| known != facts.schema_fingerprint) {
            findings.push(finding("the manifest names another schema"));
        }
        for part in &facts.parts {
            if !seen.insert((&facts.name, part.file_number)) {
                findings.push(finding("the manifest names a part twice"));
            }
            let name = part.output.path.rsplit('/').next().unwrap_or_default();
            let number = format!("part-{:05}", part.file_number);
            let rest = name.strip_prefix(&number);
            if !rest.is_some_and(|rest| rest.starts_with(['-', '.'])) {
                findings.push(finding(
                    "the manifest gives a part another number than its file",
                ));
            }
        }
    }
    findings
}

fn corrupt(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, reason)
}

/// What every part is held against.
struct LakeView<'a> {
    root: &'a Path,
    trace: &'static Trace,
    format: Format,
    manifest: &'a Manifest,
    plan: Option<&'a Plan>,
    watch: Watcher<'a>,
}

impl LakeView<'_> {
    /// Checks the parts of one table that were made from one source; of each, how many values were
    /// compared with it, and what is wrong.
    fn verify_parts(&self, parts: &[(&str, &PartFacts)]) -> Vec<(u64, Option<Error>)> {
        let facts: Vec<&PartFacts> = parts.iter().map(|(_, part)| *part).collect();
        let mut original = None;
        let mut checked = Vec::new();
        for (table, part) in parts {
            let found = self.verify_part(table, part, &facts, &mut original);
            (self.watch)(Event::Read {
                bytes: part.output.bytes,
            });
            checked.push(match found {
                Ok(values) => (values, None),
                Err(error) => (0, Some(error)),
            });
        }
        checked
    }

    /// Checks one part; returns how many values were compared with the source.
    fn verify_part<'a>(
        &'a self,
        table: &str,
        part: &PartFacts,
        of_source: &[&PartFacts],
        original: &mut Option<Original<'a>>,
    ) -> Result<u64> {
        let root = self.root;
        let table = self.trace.table(table).ok_or_else(|| {
            let table = escape(table.as_bytes(), 80);
            corrupt(format!("the manifest names the unknown table '{table}'")).at(root)
        })?;
        let path = verify_file(root, &part.output)?;
        let rejects = match &part.rejects {
            Some(rejects) => Some(verify_file(root, rejects)?),
            None => None,
        };
        let lake = LakeFile::open(&path, self.format)?;
        let rows = lake.rows(&path)?;
        if rows != part.rows_out {
            let reason = format!(
                "its footer says {rows} rows, the manifest {}",
                part.rows_out
            );
            return Err(corrupt(reason).at(path).hint(AGAIN));
        }
        if fingerprint(lake.schema()) != fingerprint(&arrow_schema(table)) {
            return Err(corrupt(format!("has not the schema of {}", table.name))
                .at(path)
                .hint(AGAIN));
        }
        verify_times(table, part, &path, &lake)?;
        verify_rejects(part, rejects.as_deref())?;
        let Some(plan) = self.plan else {
            return Ok(0);
        };
        let mut derived = self.trace.derived.iter();
        if let Some(derived) = derived.find(|derived| derived.table.name == table.name) {
            return verify_derived(root, derived, part, &path, (lake, self.format));
        }
        let original = match original {
            Some(original) => original,
            None => original.insert(Original::find(plan, self.manifest, table, of_source)?),
        };
        verify_values(original, table, part, (&path, rejects.as_deref()), lake)
    }
}

/// Compares the range of time with the statistics of a Parquet file or the values of an Arrow file.
fn verify_times(table: &Table, part: &PartFacts, path: &Path, lake: &LakeFile) -> Result<()> {
    let Some(time) = table.time else {
        return Ok(());
    };
    let found = lake.range(table.columns[time].name)?.unzip();
    if found != (part.time_min, part.time_max) {
        let reason = "its range of time differs from the manifest's";
        return Err(corrupt(reason).at(path).field(table.name).hint(AGAIN));
    }
    Ok(())
}

/// Compares the number of lines of a rejects file with the manifest.
fn verify_rejects(part: &PartFacts, rejects: Option<&Path>) -> Result<()> {
    let lines = match rejects {
        None => 0,
        Some(path) => {
            let lines = BufReader::new(open_file(path)?).split(b'\n');
            lines.map_while(std::result::Result::ok).count() as u64
        }
    };
    if lines != part.rows_rejected {
        let reason = format!(
            "{lines} rows are rejected, the manifest says {}",
            part.rows_rejected
        );
        return Err(corrupt(reason).at(&part.output.path).hint(AGAIN));
    }
    Ok(())
}

/// What to do about a file of the lake that is not what it was.
const AGAIN: &str = "run convert again to make it anew";

/// Checks that a file has the bytes that it was committed with.
fn verify_file(root: &Path, facts: &FileFacts) -> Result<PathBuf> {
    let path = inside(root, &facts.path)?;
    let found = source::fingerprint(&path).map_err(|error| error.hint(AGAIN))?;
    if found.bytes != facts.bytes {
        let reason = format!(
            "has {} bytes, but the manifest says {}",
            found.bytes, facts.bytes
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    if found.sha256 != facts.sha256 {
        let reason = format!(
            "has SHA-256 {}, but the manifest says {}",
            found.sha256, facts.sha256
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    Ok(path)
}
