//! The page of the promises of all traces, from the lists by which the Python tests plant faults.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tracelake_schema::{TRACES, Trace, render};

use crate::workspace::read;

/// The page.
pub(super) const PATH: &str = "docs/internals/promises.md";

/// The folder with a list for each data set.
const LISTS: &str = "crates/python/tests/promises";

const INTRODUCTION: &str = "\
<!-- Generated from crates/python/tests/promises/*.toml by `cargo xtask gen`; do not edit. -->

# Promises of the publishers

Every promise of the publishers' documents about the rows of a trace, with the [check](../check.md) that compares it with
a lake, or the reason why there is none. `untried` marks a check that the project has no published rows to try on.

A test plants each fault in a lake and makes the check: it finds every fault of a promise that has one. Where a promise
that can be broken has no check, its faults count as missed.

";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    promise: Vec<Promise>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Promise {
    /// The tables that it is about.
    tables: Vec<String>,
    /// The publisher's sentence, short.
    says: String,
    /// The document and its section.
    source: String,
    /// The check, with `{table}` for the name of the table.
    check: Option<String>,
    /// Why there is no check.
    reason: Option<String>,
    /// The columns that each fault is planted in.
    #[serde(default)]
    columns: Vec<String>,
    #[serde(default)]
    faults: Vec<String>,
}

impl Promise {
    /// How many faults break it: one for each table, column and fault.
    fn planted(&self) -> usize {
        self.tables.len() * self.columns.len().max(1) * self.faults.len()
    }
}

/// The page.
pub(super) fn page(root: &Path) -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    let mut sections = String::new();
    page.push_str(
        "| data set | promises | with a check | faults | found |\n|---|---|---|---|---|\n",
    );
    let traces: Vec<&Trace> = TRACES.iter().map(|trace| &**trace).collect();
    for versions in traces.chunk_by(|one, next| one.family == next.family) {
        let trace = &versions[0];
        let file = format!("{LISTS}/{}.toml", trace.family);
        let list: List = toml::from_str(&read(root, &file)?).with_context(|| file.clone())?;
        let checked = || {
            list.promise
                .iter()
                .filter(|promise| promise.check.is_some())
        };
        writeln!(
            page,
            "| [{name}](#{name_of_heading}) | {} | {} | {} | {} |",
            list.promise.len(),
            checked().count(),
            list.promise.iter().map(Promise::planted).sum::<usize>(),
            checked().map(Promise::planted).sum::<usize>(),
            name = trace.family,
            name_of_heading = trace.family.replace('.', ""),
        )?;
        writeln!(
            sections,
            "\n## {}\n\n| tables | promise | source | check, or why there is none |\n|---|---|---|---|",
            trace.family
        )?;
        for promise in &list.promise {
            let check =
                check(promise, trace).with_context(|| format!("{file}: {}", promise.says))?;
            writeln!(
                sections,
                "| {} | {} | {} | {check} |",
                promise.tables.join(", "),
                cell(&promise.says),
                cell(&promise.source),
            )?;
        }
    }
    page.push_str(&sections);
    Ok(page)
}

/// The checks of a promise, or why there is none.
fn check(promise: &Promise, trace: &Trace) -> Result<String> {
    ensure!(!promise.tables.is_empty(), "a promise is about a table");
    ensure!(
        promise.check.is_some() != promise.reason.is_some(),
        "a promise has a check or a reason"
    );
    let Some(check) = &promise.check else {
        return Ok(cell(promise.reason.as_deref().unwrap_or_default()));
    };
    ensure!(
        !promise.faults.is_empty(),
        "a promise with a check has a fault"
    );
    let mut names: Vec<String> = Vec::new();
    for table in &promise.tables {
        let name = check.replace("{table}", table);
        let known = trace.checks.iter().find(|known| known.name == name);
        let known = known.with_context(|| format!("{} has no check {name}", trace.name))?;
        let untried = if known.untried { " (untried)" } else { "" };
        let shown = format!("`{name}`{untried}");
        if !names.contains(&shown) {
            names.push(shown);
        }
    }
    Ok(names.join(", "))
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    render::markdown_text(text).replace('|', "\\|")
}
