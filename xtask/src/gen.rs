//! Files that are made from `schemas/*.toml`, from the lists of promises and from the command line.

use std::path::Path;

use anyhow::{Result, ensure};
use tracelake_schema::{TRACES, Trace, render};

use crate::workspace::{read, write};

mod promises;
mod python;

const DICTIONARY: &str = "docs/data-dictionary";

/// Writes the generated files that are stale, or fails and names them.
pub(crate) fn generate(root: &Path, only_check: bool) -> Result<()> {
    let stale = stale(root)?;
    if only_check {
        let names: Vec<&str> = stale.iter().map(|(name, _)| &name[..]).collect();
        ensure!(
            names.is_empty(),
            "stale, run `cargo xtask gen`: {}",
            names.join(", ")
        );
    }
    for (name, content) in stale {
        write(&root.join(&name), content)?;
        println!("wrote {name}");
    }
    Ok(())
}

/// The generated files that differ from what they would be made into, or do not exist.
fn stale(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = files(root)?;
    files.retain(|(name, content)| read(root, name).ok().as_ref() != Some(content));
    Ok(files)
}

/// Every generated file, by its path below the root.
fn files(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut index = String::from(INDEX);
    let traces: Vec<&Trace> = TRACES.iter().map(|trace| &**trace).collect();
    for versions in traces.chunk_by(|one, next| one.family == next.family) {
        let family = &versions[0].family;
        let name = format!("{family}.md");
        let traces: Vec<String> = versions.iter().map(|t| format!("`{}`", t.name)).collect();
        let tables: Vec<&str> = versions[0]
            .tables
            .iter()
            .map(|table| &*table.name)
            .collect();
        index.push_str(&format!(
            "| [{family}]({name}) | {} | {} |\n",
            traces.join(", "),
            tables.join(", ")
        ));
        let dictionary = format!(
            "<!-- Generated from schemas/{family}.toml by `cargo xtask gen`; do not edit. -->\n\n{}",
            render::dictionary(versions),
        );
        files.push((format!("{DICTIONARY}/{name}"), dictionary));
    }
    files.push((format!("{DICTIONARY}/README.md"), index));
    files.push((promises::PATH.into(), promises::page(root)?));
    files.push((python::PATH.into(), python::source()?));
    Ok(files)
}

const INDEX: &str = "\
<!-- Generated from schemas/*.toml by `cargo xtask gen`; do not edit. -->

# Data dictionary

Every table and column of every trace, with units, codes, special values and known anomalies, and what
`tracelake check` and `tracelake derive` make of them.
`tracelake schema TRACE [TABLE] --as markdown` prints the same for one trace or table.

| data set | traces | tables |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    /// The figures of docs/convert.md that follow from the catalog.
    #[test]
    fn the_planning_page_has_the_catalog_s_figures() {
        let page = read(&root().unwrap(), "docs/convert.md").unwrap();
        let rows = |trace: &Trace| {
            let counts = trace
                .tables
                .iter()
                .filter_map(|table| table.published.as_ref());
            match counts.map(|count| count.rows).sum::<u64>() {
                rows @ 1_000_000_000.. => format!("{:.2} billion", rows as f64 / 1e9),
                rows @ 1_000_000.. => format!("{:.2} million", rows as f64 / 1e6),
                rows => format!("{},{:03}", rows / 1_000, rows % 1_000),
            }
        };
        for trace in TRACES {
            // The first number with its unit, such as 41 GB, where the publisher says one.
            let download = trace.download.as_ref().unwrap();
            let words: Vec<&str> = download.split([' ', ',', ';']).collect();
            let is_size = |pair: &&[&str]| ["KB", "MB", "GB", "TB", "TiB"].contains(&pair[1]);
            if let Some(size) = words.windows(2).find(is_size) {
                assert!(page.contains(&size.join(" ")), "{download:?}");
            }
            let whole = trace.tables.iter().all(|table| table.published.is_some());
            if whole {
                let rows = rows(trace);
                assert!(page.contains(&rows), "{}: {rows}", trace.name);
            }
            let cell =
                |table: &std::sync::Arc<tracelake_schema::Table>| Some(table.shards.first()?.count);
            let shards: u32 = trace.tables.iter().filter_map(cell).sum();
            if shards > 0 {
                let figure = format!("{},{:03} shards", shards / 1_000, shards % 1_000);
                assert!(page.contains(&figure), "{}: {figure}", trace.name);
            }
        }
    }

    #[test]
    fn generated_files_are_fresh() {
        generate(&root().unwrap(), true).unwrap();
    }
}
