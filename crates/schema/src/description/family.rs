//! A description that is checked, and turned into the types of the crate.

use std::sync::Arc;

use super::column::Shared;
use super::fault::{Fault, Result, Within, ensure};
use super::spec::{CreatorSpec, FamilySpec, TableSpec, TraceSpec};
use super::table::Version;
use super::words::{date, identifier, optional, prose, sha256, trace_name, unique, word};
use super::{queries, sample};
use crate::requests::query_table;
use crate::{Archive, Cells, Creator, Derived, Description, PublishedAt, Syntax, Table, Trace};

/// The most versions of a data set.
const MAX_TRACES: usize = 16;

/// The most tables of a description.
const MAX_TABLES: usize = 256;

/// The most cells of a version.
const MAX_CELLS: usize = 1_000;

/// The text for a title, document or citation that isn't described.
pub const UNKNOWN: &str = "Unknown";

/// The SPDX expression for a licence that isn't described.
const UNKNOWN_LICENCE: &str = "LicenseRef-Unknown";

/// The versions of a data set, of a built-in description or of this one.
pub(super) fn traces(
    spec: &FamilySpec,
    description: Option<&Arc<Description>>,
) -> Result<Vec<Arc<Trace>>> {
    ensure!(
        spec.trace.len() <= MAX_TRACES,
        "trace: a description has at most {MAX_TRACES} versions"
    );
    ensure!(
        spec.table.len() + spec.derived.len() <= MAX_TABLES,
        "table: a description has at most {MAX_TABLES} tables"
    );
    let family = trace_name(&spec.family).within("family")?;
    let shared = Shared::read(spec)?;
    let names: Vec<&str> = spec.trace.iter().map(|trace| &*trace.name).collect();
    unique("trace", names.iter().copied())?;
    let derived = spec.derived.iter().map(|derived| &derived.table);
    let all_tables: Vec<&TableSpec> = spec.table.iter().chain(derived).collect();
    let published_tables: Vec<&TableSpec> = spec.table.iter().collect();
    // The views of a table `t` are named `t` and `t_named`.
    let views: Vec<String> = all_tables
        .iter()
        .map(|table| format!("{}_named", &*table.name))
        .collect();
    let table_names = all_tables.iter().map(|table| &*table.name);
    unique(
        "table or view",
        table_names.chain(views.iter().map(String::as_str)),
    )?;
    // All versions share the columns.
    let mut columns = Vec::new();
    for table in &all_tables {
        columns.push(shared.columns(table, &names).within_named(&table.name)?);
    }
    shared.check_use(&all_tables)?;
    let sample_keys = sample::keys(&all_tables)?;
    let checks = queries::checks(spec).within("check")?;
    let figures = queries::figures(spec).within("figure")?;
    let query_tables = queries::query_tables(spec, description.is_none()).within("query_table")?;
    let trace = |trace: &TraceSpec| {
        ensure!(
            trace.name.starts_with(&family),
            "its name must begin with that of its family, {family}"
        );
        let cells = trace
            .cells
            .as_ref()
            .map(cells)
            .transpose()
            .within("cells")?;
        ensure!(
            cells.is_none() || trace.archive.is_empty(),
            "archive: a trace with cells has none, because its files have the same names in each cell"
        );
        let version = Version {
            name: &trace.name,
            all: &names,
            cells: cells.as_ref(),
            tables: &all_tables,
        };
        let tables: Vec<Arc<Table>> = spec
            .table
            .iter()
            .zip(&columns)
            .map(|(table, columns)| version.table(table, columns).map(Arc::new))
            .collect::<Result<_>>()?;
        let derived_specs = spec.derived.iter().zip(&columns[tables.len()..]);
        let derived: Vec<Arc<Derived>> = derived_specs
            .map(|(derived, columns)| {
                let from = tables
                    .iter()
                    .find(|table| table.name == derived.from)
                    .ok_or_else(|| Fault::new(format!("there is no table {}", derived.from)));
                Ok(Arc::new(Derived {
                    rule: derived.rule,
                    from: from
                        .within("from")
                        .within_named(&derived.table.name)?
                        .name
                        .clone(),
                    table: Arc::new(version.table(&derived.table, columns)?),
                }))
            })
            .collect::<Result<_>>()
            .within("derived")?;
        let of_requests = tables.iter().find_map(|table| query_table(table));
        let query_tables = match of_requests {
            Some(made) => query_tables.iter().cloned().chain([made]).collect(),
            None => Arc::clone(&query_tables),
        };
        Ok(Arc::new(Trace {
            name: trace_name(&trace.name)?,
            description: description.cloned(),
            family: family.clone(),
            title: prose(trace.title.as_deref().unwrap_or(&trace.name)).within("title")?,
            document: prose(trace.document.as_deref().unwrap_or(UNKNOWN)).within("document")?,
            revision: spec.revision,
            licence: prose(spec.licence.as_deref().unwrap_or(UNKNOWN_LICENCE)).within("licence")?,
            citation: prose(spec.citation.as_deref().unwrap_or(UNKNOWN)).within("citation")?,
            archives: archives(&trace.archive, &all_tables).within("archive")?,
            cells,
            locations: locations(&trace.location, &published_tables).within("location")?,
            download: optional(spec.download.as_deref(), prose).within("download")?,
            creators: creators(&spec.creators).within("creators")?,
            url: optional(spec.url.as_deref(), word).within("url")?,
            published: optional(trace.published.as_deref(), date).within("published")?,
            epoch: spec.epoch,
            time_zero: optional(spec.time_zero.as_deref(), prose).within("time_zero")?,
            span: spec.span.map(span).transpose().within("span")?,
            anomalies: sentences(&spec.anomalies).within("anomalies")?,
            tables,
            derived,
            checks: Arc::clone(&checks),
            figures: Arc::clone(&figures),
            query_tables,
            sample_keys: Arc::clone(&sample_keys),
            whole: None,
        }))
    };
    let traces = spec
        .trace
        .iter()
        .map(|spec| trace(spec).within_named(&spec.name));
    traces.collect()
}

fn span((from, to): (i64, i64)) -> Result<(i64, i64)> {
    ensure!(from < to, "it has to end after it begins");
    Ok((from, to))
}

fn creators(list: &[CreatorSpec]) -> Result<Vec<Creator>> {
    let creators = list.iter().map(|one| match one {
        CreatorSpec::Organisation(name) => Ok(Creator {
            given: None,
            name: prose(name)?,
        }),
        CreatorSpec::Person(person) => Ok(Creator {
            given: Some(prose(&person.given)?),
            name: prose(&person.family)?,
        }),
    });
    creators.collect()
}

fn sentences(list: &[String]) -> Result<Vec<String>> {
    let sentences = list.iter().map(|one| prose(one));
    sentences.collect()
}

fn archives(list: &[Archive], tables: &[&TableSpec]) -> Result<Vec<Archive>> {
    let names = list.iter().flat_map(|archive| &archive.names);
    unique("file name", names.map(String::as_str))?;
    let mut dated = tables.iter().flat_map(|table| &table.names);
    ensure!(
        list.is_empty() || !dated.any(|name| name.contains("{date}")),
        "names with {{date}} are those of files, not of members of an archive"
    );
    ensure!(
        list.is_empty() || !tables.iter().any(|table| table.sparse),
        "a table that is sparse has files, and no members of an archive"
    );
    let archives = list.iter().map(|archive| {
        if let Some(name) = &archive.table {
            let known = tables.iter().any(|table| *table.name == **name);
            ensure!(known, "there is no table {name}");
        }
        ensure!(!archive.names.is_empty(), "an archive has no name");
        let mut held = tables.iter().filter(|table| {
            let is_held = archive
                .table
                .as_ref()
                .is_none_or(|name| **name == *table.name);
            is_held && table.syntax == Syntax::Parquet
        });
        let are_zips = archive.names.iter().all(|name| name.ends_with(".zip"));
        ensure!(
            are_zips || held.next().is_none(),
            "names: Parquet is read in a zip archive only, whose name ends in .zip"
        );
        let names = archive.names.iter().map(|name| word(name));
        Ok(Archive {
            table: archive.table.clone(),
            names: names.collect::<Result<_>>()?,
            sha256: archive.sha256.as_deref().map(sha256).transpose()?,
            size: word(&archive.size)?,
        })
    });
    archives.collect()
}

fn locations(list: &[PublishedAt], tables: &[&TableSpec]) -> Result<Vec<PublishedAt>> {
    unique("URL", list.iter().map(|location| location.url.as_str()))?;
    let locations = list.iter().map(|location| {
        let url = word(&location.url)?;
        ensure!(url.contains("://"), "{url} is not a URL");
        ensure!(!url.ends_with('/'), "{url} ends in a slash");
        unique("table", location.tables.iter().map(String::as_str))?;
        for name in &location.tables {
            let known = tables.iter().any(|table| *table.name == **name);
            ensure!(known, "there is no table {name}");
        }
        ensure!(
            !location.sha256sum || location.not_fetched.is_none(),
            "{url}: sha256sum: nothing is fetched from there"
        );
        Ok(PublishedAt {
            url,
            doc: prose(&location.doc)?,
            tables: location.tables.clone(),
            sha256sum: location.sha256sum,
            not_fetched: optional(location.not_fetched.as_deref(), prose).within("not_fetched")?,
        })
    });
    locations.collect()
}

fn cells(spec: &Cells) -> Result<Cells> {
    unique("cell", spec.names.iter().map(String::as_str))?;
    ensure!(
        spec.names.is_sorted() && (1..=MAX_CELLS).contains(&spec.names.len()),
        "names: 1 to {MAX_CELLS} cells, in ascending order"
    );
    let is_name = !spec.directory.starts_with('.') && !spec.directory.contains(['/', '\\']);
    ensure!(
        is_name && spec.directory.matches("{cell}").count() == 1,
        "the directory {:?} is not a name with {{cell}} in one place, such as \"trace_{{cell}}\"",
        spec.directory
    );
    let names = spec.names.iter().map(|name| identifier(name));
    Ok(Cells {
        names: names.collect::<Result<_>>()?,
        directory: word(&spec.directory)?,
        doc: prose(&spec.doc)?,
    })
}
