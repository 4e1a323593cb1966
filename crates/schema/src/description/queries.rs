//! Checks, figures and query tables of a description.

use std::sync::Arc;

use super::fault::{Fault, Result, Within, ensure};
use crate::requests::REQUESTS;
use crate::{Bins, Check, Figure, Known, Need, NeededParts, QueryColumn, QueryTable};

use super::spec::{CheckSpec, FamilySpec, FigureSpec, QueryTableSpec, TableSpec};
use super::words::{identifier, named, optional, prose, unique};

/// The most bytes of the queries that are written out for each of several tables: 4 MiB.
const MAX_FILLED: usize = 4 << 20;

/// The most intervals that a figure may have: its page has a number for each of them and each series.
const MOST_BINS: u32 = 5000;

/// The checks of a family; those for each of several tables are written out.
pub(super) fn checks(spec: &FamilySpec) -> Result<Arc<[Check]>> {
    let mut checks = Vec::new();
    let mut bytes = 0;
    for one in &spec.check {
        if one.each.is_empty() {
            checks.push(check(one, spec).within_named(&one.name)?);
        }
        for table in &one.each {
            let table = find(table, spec).within("each").within_named(&one.name)?;
            let filled = for_table(one, table);
            bytes += filled.sql.len();
            if bytes > MAX_FILLED {
                let reason = format!("each: the queries have more than {MAX_FILLED} bytes");
                return Err(Fault::new(reason)).within_named(&one.name);
            }
            checks.push(check(&filled, spec).within_named(&filled.name)?);
        }
    }
    unique("check", checks.iter().map(|check| &*check.name))?;
    Ok(checks.into())
}

/// The figures of a family.
pub(super) fn figures(spec: &FamilySpec) -> Result<Arc<[Figure]>> {
    let figures = spec
        .figure
        .iter()
        .map(|one| figure(one, spec).within_named(&one.name))
        .collect::<Result<Vec<_>>>()?;
    unique("figure", figures.iter().map(|figure| &*figure.name))?;
    Ok(figures.into())
}

/// The tables that queries make.
pub(super) fn query_tables(spec: &FamilySpec, is_built_in: bool) -> Result<Arc<[QueryTable]>> {
    let tables = spec
        .query_table
        .iter()
        .map(|one| {
            let checked = ensure_with(one, is_built_in).and_then(|()| query_table(one, spec));
            checked.within_named(&one.name)
        })
        .collect::<Result<Vec<_>>>()?;
    let published = all_tables(spec).map(|table| &*table.name);
    let of_requests = all_tables(spec).filter(|table| table.requests.is_some());
    let made = of_requests.map(|_| REQUESTS);
    let names = tables.iter().map(|table| &*table.name);
    unique("table", names.chain(published).chain(made))?;
    Ok(tables.into())
}

fn check(one: &CheckSpec, spec: &FamilySpec) -> Result<Check> {
    let known = one.known.iter().map(known);
    Ok(Check {
        name: identifier(&one.name)?,
        sentence: prose(&one.sentence)?,
        document: prose(&one.document)?,
        needs: needs(&one.needs, &one.sql, spec)?,
        by_part: one.by_part,
        untried: one.untried,
        sql: sql(&one.sql)?,
        known: known.collect::<Result<Vec<_>>>()?,
    })
}

fn known(one: &Known) -> Result<Known> {
    ensure!(
        one.at_most_percent
            .is_none_or(|percent| (0.0..=100.0).contains(&percent)),
        "at_most_percent is from 0 to 100"
    );
    Ok(Known {
        when: prose(&one.when)?,
        at_most: one.at_most,
        at_most_percent: one.at_most_percent,
        of: Vec::new(),
        doc: prose(&one.doc)?,
    })
}

fn figure(one: &FigureSpec, spec: &FamilySpec) -> Result<Figure> {
    Ok(Figure {
        name: identifier(&one.name)?,
        title: prose(&one.title)?,
        caption: prose(&one.caption)?,
        needs: needs(&one.needs, &one.sql, spec)?,
        plot: one.plot,
        x: prose(&one.x)?,
        y: prose(&one.y)?,
        sql: sql(&one.sql)?,
        bins: one.bins.as_ref().map(bins).transpose().within("bins")?,
    })
}

fn bins(one: &Bins) -> Result<Bins> {
    ensure!(
        one.unit > 0 && one.width != Some(0) && one.most > 0,
        "unit, width and most are above 0"
    );
    ensure!(
        one.begin
            .zip(one.end)
            .is_none_or(|(begin, end)| begin < end),
        "end is after begin"
    );
    ensure!(
        one.most <= MOST_BINS,
        "most is {}, and at most {MOST_BINS}",
        one.most
    );
    Ok(Bins {
        percent_of: optional(one.percent_of.as_deref(), prose)?,
        ..one.clone()
    })
}

/// Refuses a query of another lake in a description that isn't part of the program.
fn ensure_with(one: &QueryTableSpec, is_built_in: bool) -> Result<()> {
    ensure!(
        one.with.is_none() || is_built_in,
        "with: only traces that come with the program read another lake"
    );
    let mut tables = one.with.iter().flat_map(|with| &with.tables);
    let unread = tables.find(|table| !one.sql.contains(&format!("\"with\".{table}")));
    ensure!(unread.is_none(), "with: the query doesn't read every table");
    Ok(())
}

fn query_table(one: &QueryTableSpec, spec: &FamilySpec) -> Result<QueryTable> {
    unique("column", one.column.iter().map(|column| &column.name[..]))?;
    let columns = one.column.iter().map(|column| {
        Ok(QueryColumn {
            name: identifier(&column.name)?,
            unit: optional(column.unit.as_deref(), prose)?,
            doc: prose(&column.doc)?,
        })
    });
    Ok(QueryTable {
        name: identifier(&one.name)?,
        summary: prose(&one.summary)?,
        needs: needs(&one.needs, &one.sql, spec)?,
        with: one.with.clone(),
        columns: columns.collect::<Result<Vec<_>>>()?,
        sql: sql(&one.sql)?,
    })
}

/// The tables that a query needs: known ones, which it reads.
fn needs(list: &[String], sql: &str, spec: &FamilySpec) -> Result<Vec<Need>> {
    ensure!(!list.is_empty(), "a query needs a table");
    let need = |text: &String| {
        let (table, parts) = text.split_once(' ').unwrap_or((text, "any"));
        ensure!(sql.contains(table), "the query doesn't read {table}");
        Ok(Need {
            table: find(table, spec)?.name.to_string(),
            parts: named(parts, NeededParts::ALL, NeededParts::name).ok_or_else(|| {
                Fault::new(format!(
                    "the parts {parts:?} are not any, unbroken, same or all"
                ))
            })?,
        })
    };
    let needs = list.iter().map(need).collect::<Result<Vec<_>>>()?;
    unique("table", needs.iter().map(|need| &*need.table))?;
    Ok(needs)
}

/// A query as it is written, without the white space around it.
fn sql(text: &str) -> Result<String> {
    let text = text.trim();
    let query = text.starts_with("SELECT") || text.starts_with("WITH");
    ensure!(
        query && !text.contains(';'),
        "a query begins with SELECT or WITH and has no semicolon"
    );
    Ok(text.to_owned())
}

/// A check of one table out of several.
fn for_table(one: &CheckSpec, table: &TableSpec) -> CheckSpec {
    let time = table.time.as_deref().unwrap_or("time");
    let entity = table.entity.first().map_or("", |column| column);
    let fill = |text: &str| {
        text.replace("{table}", &table.name)
            .replace("{time}", time)
            .replace("{entity}", entity)
    };
    let mut filled = one.clone();
    filled.each.clear();
    filled
        .known
        .retain(|known| known.of.is_empty() || known.of.iter().any(|name| **name == *table.name));
    filled.name = one.name.with(fill(&one.name));
    for text in [&mut filled.sentence, &mut filled.sql] {
        *text = fill(text);
    }
    for need in &mut filled.needs {
        *need = fill(need);
    }
    filled
}

fn find<'a>(name: &str, spec: &'a FamilySpec) -> Result<&'a TableSpec> {
    let table = all_tables(spec).find(|table| *table.name == *name);
    table.ok_or_else(|| Fault::new(format!("there is no table {name}")))
}

fn all_tables(spec: &FamilySpec) -> impl Iterator<Item = &TableSpec> {
    let derived = spec.derived.iter().map(|derived| &derived.table);
    spec.table.iter().chain(derived)
}
