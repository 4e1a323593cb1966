//! Rules that no compiler checks, as ordinary tests.

use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::TRACES;

/// The only Rust file that may name a trace; a new trace is a TOML file and no code.
const CATALOG: &str = "crates/schema/src/catalog.rs";

#[test]
fn only_the_catalog_names_a_trace() {
    let root = crate::root().unwrap();
    let mut sources = rust_files(&root.join("xtask/src"));
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        sources.extend(rust_files(&entry.unwrap().path().join("src")));
    }
    assert!(sources.len() > 5, "the sources were not found");
    let mut found = Vec::new();
    for source in sources {
        let path = source.strip_prefix(&root).unwrap();
        if path == Path::new(CATALOG) {
            continue;
        }
        let text = fs::read_to_string(&source).unwrap();
        for (number, line) in text.lines().enumerate() {
            let named = |name: &&str| line.contains(name);
            let names = TRACES.iter().flat_map(|trace| [trace.name, trace.family]);
            if let Some(name) = names.into_iter().find(named) {
                found.push(format!("{}:{}: {name}", path.display(), number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "take names from TRACES:\n{}",
        found.join("\n")
    );
}

/// The Rust files in a folder and the folders in it.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
