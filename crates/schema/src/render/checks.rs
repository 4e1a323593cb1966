//! Checks as statements for DuckDB, and the queries of a trace as JSON.

use serde_json::{Value, json};

use super::group_digits;
use super::sql::{double_quoted, duckdb_rows, sql_string};
use crate::{Check, Figure, Known, Need, NeededParts, QueryTable, Table, Trace};

/// The macros that queries of a description use, as statements for DuckDB.
pub(super) const HELPERS: &str = include_str!("../helpers.sql");

/// The checks of a trace, or those of one of its tables, as statements for DuckDB.
///
/// Run them with the lake as the current directory. A view of each table that is needed shows its rows
/// as they are, with the columns `file_number` and `file_row_number`. Then each check is one query; it
/// returns no rows if nothing is wrong. Otherwise it returns a row for each kind of finding: what is
/// wrong, what is known of it, how many violations there are, and the smallest of them as an example.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let sql = render::checks(&TRACES[0], None);
/// assert!(sql.contains("CREATE OR REPLACE TEMP VIEW"));
/// ```
#[must_use]
pub fn checks(trace: &Trace, table: Option<&Table>) -> String {
    let checks = of_table(&trace.checks, table, |check| &check.needs);
    let mut sql = format!(
        "-- Checks of {}\n-- Run this in the directory of the lake. A check that returns no rows \
         has passed. A check that fails\n-- because files are missing was not made. `tracelake check` \
         compares the lake with what each check needs.\n",
        trace.title
    );
    if trace.cells.is_some() {
        sql.push_str(
            "-- IDs are unique only within a cell. In a lake of several cells, check one at a time: \
             put\n-- TABLE/cell=a/**/*.parquet in place of TABLE/**/*.parquet.\n",
        );
    }
    sql.push_str(&format!("\n{HELPERS}"));
    for table in &trace.tables {
        let needed = |check: &&Check| check.needs.iter().any(|need| need.table == table.name);
        if checks.iter().any(needed) {
            let name = double_quoted(&table.name);
            sql.push_str(&format!(
                "\nCREATE OR REPLACE TEMP VIEW {name} AS {};\n",
                duckdb_rows(trace, table)
            ));
        }
    }
    for check in checks {
        sql.push_str(&format!(
            "\n-- {}: {}\n-- {}\n-- Needs {}.\n",
            check.name,
            check.sentence,
            check.document,
            needs(&check.needs)
        ));
        if check.untried {
            sql.push_str("-- Not tried on published rows.\n");
        }
        for known in &check.known {
            sql.push_str(&format!("-- Known{}: {}\n", limit(known), known.doc));
        }
        sql.push_str(&format!("{};\n", statement(check)));
    }
    sql
}

/// The query of a check with its violations counted, without a semicolon.
fn statement(check: &Check) -> String {
    let when = |one: &Known| format!("WHEN {} THEN {} ", one.when, sql_string(&one.doc));
    let cases: String = check.known.iter().map(when).collect();
    let known = if cases.is_empty() {
        "CAST(NULL AS VARCHAR)".to_owned()
    } else {
        format!("CASE {cases}END")
    };
    format!(
        "SELECT {} AS \"check\", finding, {known} AS known, count(*) AS violations, \
         min(violation) AS example\nFROM (\n{}\n) AS violation\nGROUP BY ALL ORDER BY ALL",
        sql_string(&check.name),
        check.sql
    )
}

/// Lists the needed tables, such as `task_usage, job_events (all parts)`.
pub(super) fn needs(needs: &[Need]) -> String {
    let shown = needs.iter().map(|need| match need.parts {
        NeededParts::Any => need.table.clone(),
        NeededParts::Unbroken => format!("{} (parts without gaps)", need.table),
        NeededParts::Same => format!("{} (the same parts)", need.table),
        NeededParts::All => format!("{} (all parts)", need.table),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// How many violations are known, such as `, up to 80`.
pub(super) fn limit(known: &Known) -> String {
    match (known.at_most, known.at_most_percent) {
        (Some(most), Some(percent)) => {
            format!(", up to {} and {percent} % of the rows", group_digits(most))
        }
        (Some(most), None) => format!(", up to {}", group_digits(most)),
        (None, Some(percent)) => format!(", up to {percent} % of the rows"),
        (None, None) => String::new(),
    }
}

/// The queries of a trace, or those that are about one of its tables, as JSON.
pub(super) fn queries(trace: &Trace, table: Option<&Table>) -> [(&'static str, Value); 3] {
    let checks = of_table(&trace.checks, table, |check| &check.needs);
    let figures = of_table(&trace.figures, table, |figure| &figure.needs);
    let tables = of_table(&trace.query_tables, table, |table| &table.needs);
    [
        ("checks", checks.into_iter().map(check).collect()),
        ("figures", figures.into_iter().map(figure).collect()),
        (
            "query_tables",
            tables.into_iter().map(query_table).collect(),
        ),
    ]
}

/// The queries whose first table is the one that was asked for, or all of them.
fn of_table<'a, T>(list: &'a [T], table: Option<&Table>, needs: fn(&T) -> &[Need]) -> Vec<&'a T> {
    let is_chosen = |one: &&T| {
        let first = needs(one).first().map(|need| &*need.table);
        table.is_none_or(|table| first == Some(&table.name))
    };
    list.iter().filter(is_chosen).collect()
}

fn check(check: &Check) -> Value {
    json!({
        "name": check.name,
        "sentence": check.sentence,
        "document": check.document,
        "needs": needs_json(&check.needs),
        "by_part": check.by_part,
        "untried": check.untried,
        "known": check.known.iter().map(|one| json!({
            "when": one.when, "at_most": one.at_most, "at_most_percent": one.at_most_percent,
            "doc": one.doc,
        })).collect::<Vec<_>>(),
        "sql": statement(check),
    })
}

fn figure(figure: &Figure) -> Value {
    json!({
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "needs": needs_json(&figure.needs),
        "plot": figure.plot.name(),
        "x": figure.x,
        "y": figure.y,
        "sql": figure.sql,
        "bins": figure.bins.as_ref().map(|one| json!({
            "unit": one.unit, "width": one.width.unwrap_or(one.unit), "most": one.most, "origin": one.origin, "begin": one.begin,
            "end": one.end, "percent_of": one.percent_of,
        })),
    })
}

fn query_table(table: &QueryTable) -> Value {
    json!({
        "name": table.name,
        "summary": table.summary,
        "needs": needs_json(&table.needs),
        "with": table.with.as_ref().map(|with| json!({
            "family": with.family, "tables": with.tables,
        })),
        "columns": table.columns.iter().map(|one| json!({
            "name": one.name, "unit": one.unit, "doc": one.doc,
        })).collect::<Vec<_>>(),
        "sql": table.sql,
    })
}

fn needs_json(needs: &[Need]) -> Value {
    needs
        .iter()
        .map(|need| json!({"table": need.table, "parts": need.parts.name()}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    #[test]
    fn every_check_is_printed_with_its_views_and_what_is_known() {
        for trace in TRACES {
            let sql = checks(trace, None);
            for check in trace.checks.iter() {
                assert!(sql.contains(&format!("\n-- {}: {}", check.name, check.sentence)));
                assert!(sql.contains(&check.sql), "{}", check.name);
                assert!(check.known.iter().all(|known| sql.contains(&known.doc)));
                for need in &check.needs {
                    assert!(sql.contains(&format!("VIEW \"{}\" AS", need.table)));
                }
            }
        }
    }

    #[test]
    fn the_checks_of_a_table_have_no_view_that_none_of_them_reads() {
        for trace in TRACES {
            for table in &trace.tables {
                let sql = checks(trace, Some(table));
                let views = sql.matches("TEMP VIEW").count();
                let mut read: Vec<&str> = trace
                    .checks
                    .iter()
                    .filter(|check| check.needs[0].table == table.name)
                    .flat_map(|check| &check.needs)
                    .map(|need| &*need.table)
                    .collect();
                read.sort_unstable();
                read.dedup();
                assert_eq!(views, read.len(), "{}", table.name);
            }
        }
    }
}
