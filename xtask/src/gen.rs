//! Files that are made from `schemas/*.toml` and from the command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tracelake_schema::render;

use self::family::Family;

mod catalog;
mod family;
#[cfg(test)]
mod fifth;
mod python;
mod queries;
mod spec;
mod words;

const CATALOG: &str = "crates/schema/src/catalog.rs";
const DICTIONARY: &str = "docs/data-dictionary";

/// Writes the generated files that are stale, and returns their paths.
pub(crate) fn write(root: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for (path, content) in files(root)? {
        let whole = root.join(&path);
        if fs::read_to_string(&whole).ok().as_ref() == Some(&content) {
            continue;
        }
        if let Some(folder) = whole.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&whole, content).with_context(|| format!("write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// The generated files that differ from what they would be made into, or do not exist.
pub(crate) fn stale(root: &Path) -> Result<Vec<PathBuf>> {
    let differs = |(path, content): &(PathBuf, String)| {
        fs::read_to_string(root.join(path)).ok().as_ref() != Some(content)
    };
    Ok(files(root)?
        .into_iter()
        .filter(differs)
        .map(|(path, _)| path)
        .collect())
}

/// Every generated file, by its path below the root.
fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let families = families(root)?;
    let mut files = vec![(CATALOG.into(), catalog::source(&families))];
    let mut index = String::from(INDEX);
    for family in &families {
        let name = format!("{}.md", family.name);
        let traces: Vec<String> = family
            .traces
            .iter()
            .map(|t| format!("`{}`", t.name))
            .collect();
        let tables: Vec<&str> = family.traces[0]
            .tables
            .iter()
            .map(|table| table.name)
            .collect();
        let (traces, tables) = (traces.join(", "), tables.join(", "));
        index.push_str(&format!(
            "| [{}]({name}) | {traces} | {tables} |\n",
            family.name
        ));
        let dictionary = format!(
            "<!-- Generated from schemas/{}.toml by `cargo xtask gen`; do not edit. -->\n\n{}",
            family.name,
            render::dictionary(&family.traces),
        );
        files.push((Path::new(DICTIONARY).join(name), dictionary));
    }
    files.push((Path::new(DICTIONARY).join("README.md"), index));
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

/// Reads every description, in the order of their file names.
fn families(root: &Path) -> Result<Vec<Family>> {
    let folder = root.join("schemas");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            paths.push(path);
        }
    }
    paths.sort();
    let mut families: Vec<Family> = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let family = Family::parse(&text).with_context(|| format!("{}", path.display()))?;
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        ensure!(
            stem == family.name,
            "{}: describes the family {}, so it must be called {}.toml",
            path.display(),
            family.name,
            family.name,
        );
        families.push(family);
    }
    words::unique(
        "trace",
        families
            .iter()
            .flat_map(|family| &family.traces)
            .map(|trace| trace.name),
    )?;
    Ok(families)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of docs/planning.md that follow from the catalog.
    #[test]
    fn the_planning_page_has_the_catalog_s_figures() {
        let page = crate::root().unwrap().join("docs/planning.md");
        let page = fs::read_to_string(page).unwrap();
        let billions = |trace: &tracelake_schema::Trace| {
            let counts = trace.tables.iter().filter_map(|table| table.published);
            counts.map(|count| count.rows).sum::<u64>() as f64 / 1e9
        };
        for trace in tracelake_schema::TRACES {
            // The first number with its unit, such as 41 GB.
            let download: Vec<&str> = trace.download.unwrap().split(' ').collect();
            assert!(page.contains(&download[1..3].join(" ")), "{download:?}");
            let whole = trace.tables.iter().all(|table| table.published.is_some());
            if whole {
                let rows = format!("{:.2} billion", billions(trace));
                assert!(page.contains(&rows), "{}: {rows}", trace.name);
            }
            let cell = |table: &tracelake_schema::Table| Some(table.shards.first()?.count);
            let shards: u32 = trace.tables.iter().filter_map(cell).sum();
            if shards > 0 {
                let shards = format!("{},{:03} shards", shards / 1_000, shards % 1_000);
                assert!(page.contains(&shards), "{}: {shards}", trace.name);
            }
        }
    }

    #[test]
    fn generated_files_are_fresh() {
        let stale = stale(&crate::root().unwrap()).unwrap();
        assert!(stale.is_empty(), "run `cargo xtask gen`; stale: {stale:?}");
    }
}
