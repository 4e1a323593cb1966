//! The text of a released lake on its selection: the rule, how to repeat it, and what may dangle.

use tracelake_core::selection::Sample;
use tracelake_core::words::several;
use tracelake_schema::{Reference, Table, sample};

use super::released_lake::ReleasedLake;

/// The section of the card; empty if the lake has everything.
pub(super) fn section(lake: &ReleasedLake<'_>) -> String {
    if !lake.is_selection() {
        return String::new();
    }
    let options = &lake.manifest.origin.options;
    let mut text = format!("\n## Selection\n\n{}\n", sentence(lake));
    if let Some(sample) = options.sample {
        text += &sampled(lake, sample);
    }
    if let Some(time) = options.time {
        let time = time.as_typed(lake.trace);
        text += &format!(
            "\n`--time {time}` keeps the rows from its first time up to, but without, its last, and times with a special \
             meaning.\nTables without a time are whole.\n"
        );
    }
    if options.columns.is_some() {
        text += "\nThe tables below have the columns that were chosen.\n";
    }
    let dangling = dangling(lake);
    if !dangling.is_empty() {
        text += "\nThese references may name rows that are not selected:\n\n";
        text.extend(dangling.iter().map(|reference| format!("- {reference}\n")));
    }
    text
}

/// The selection, in a sentence or two.
pub(super) fn sentence(lake: &ReleasedLake<'_>) -> String {
    let selected = lake.manifest.origin.options.selected(Some(lake.trace));
    let options: Vec<String> = selected
        .iter()
        .map(|(name, value)| format!("`--{name} {value}`"))
        .collect();
    let rows = match lake.manifest.rows_not_selected() {
        Some(rows) => format!(" Not selected: {} of the source.", several(rows, "row")),
        None => String::new(),
    };
    format!(
        "A subset of the trace, selected by {}.{rows}",
        options.join(", ")
    )
}

/// The rule of a sample, with the condition of each table.
fn sampled(lake: &ReleasedLake<'_>, sample: Sample) -> String {
    let Sample { class, of } = sample;
    let by = lake.manifest.origin.options.sample_by.as_deref();
    let mut text = format!(
        "\nA row is sampled by the hash of its key: the first 8 hexadecimal digits of the MD5 of its text, modulo {of}, \
         are {class}.\nAn integer is written in decimal, and NULL is the empty text. A table without the key is whole. \
         Classes 0 to {} together\nare the whole.\n\n",
        of - 1
    );
    for (table, _) in &lake.tables {
        let Some(key) = lake.trace.sampled_column(&table.name, by) else {
            continue;
        };
        // A list, because a pipe in a condition would end the cell of a table.
        text += &format!(
            "- {}, by `{}`\n  - DuckDB: `{}`\n  - Spark: `{}`\n",
            table.name,
            key.column,
            sample::duckdb(&key.column, class, of),
            sample::spark(&key.column, class, of)
        );
    }
    let python = sample::python("key", class, of);
    text + &format!(
        "\nPython, for a key: `{python}`.\nPolars has no MD5: keep the rows whose key is one of the distinct keys for \
         which this is true.\n"
    )
}

/// The references of the lake's tables to rows that may not be selected.
pub(super) fn dangling(lake: &ReleasedLake<'_>) -> Vec<String> {
    let options = &lake.manifest.origin.options;
    let by = options.sample_by.as_deref();
    let key = |table: &str| {
        let column = lake.trace.sampled_column(table, by)?;
        options.sample.map(|_| &*column.column)
    };
    let is_sampled_alike = |table: &Table, reference: &Reference| {
        let mut columns = reference.columns.iter().zip(&reference.to);
        let (from_key, to_key) = (key(&table.name), key(&reference.table));
        columns.any(|(from, to)| from_key == Some(from) && to_key == Some(to))
    };
    let may_dangle = |table: &Table, reference: &Reference| {
        options.time.is_some()
            || (key(&reference.table).is_some() && !is_sampled_alike(table, reference))
    };
    let mut dangling = Vec::new();
    for (table, _) in &lake.tables {
        let references = table.references.iter();
        for reference in references.filter(|reference| may_dangle(table, reference)) {
            dangling.push(format!(
                "`{}` ({}) to `{}`",
                table.name,
                reference.columns.join(", "),
                reference.table
            ));
        }
    }
    dangling
}

/// One paragraph on the lake for catalogs.
pub(super) fn description(lake: &ReleasedLake<'_>) -> String {
    match lake.is_selection() {
        true => format!("{} {}", lake.content(), sentence(lake)),
        false => lake.content(),
    }
}
