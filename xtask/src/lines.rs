//! `cargo xtask lines`: how much Rust there is, comments and blank lines included, in all and as it is shipped: without
//! tests, their helpers and these tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::workspace::{output, read};

/// Prints a row for each crate and for each other folder.
pub(crate) fn lines(root: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = output(list.arg("*.rs").current_dir(root))?;
    let mut counts = Vec::new();
    let mut of_tests = BTreeSet::new();
    for path in listed.lines().filter(|path| root.join(path).exists()) {
        let source = read(root, path)?;
        let shipped = shipped(path, &source, &mut of_tests);
        counts.push((path, shipped, source.lines().count()));
    }
    let mut rows: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (path, shipped, all) in counts {
        let is_of_tests = of_tests.iter().any(|start| path.starts_with(start));
        let folders = if path.starts_with("crates/") { 2 } else { 1 };
        let folders: Vec<&str> = path.split('/').take(folders).collect();
        for name in [&folders.join("/"), "in all"] {
            let row = rows.entry(name.to_owned()).or_default();
            row[0] += if is_of_tests { 0 } else { shipped };
            row[1] += all;
        }
    }
    println!("| | shipped | all |\n|---|---|---|");
    for (name, [shipped, all]) in rows {
        println!("| {name} | {shipped} | {all} |");
    }
    Ok(())
}

/// How many lines of a file are shipped. Modules of tests in files of their own are noted in `of_tests`, by how their
/// paths begin.
fn shipped(path: &str, source: &str, of_tests: &mut BTreeSet<String>) -> usize {
    let is_source = path.contains("/src/") || path.ends_with("/build.rs");
    if !path.starts_with("crates/") || path.starts_with("crates/testkit/") || !is_source {
        return 0;
    }
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
        _ => path.trim_end_matches(".rs"),
    };
    let Some((lines, files)) = without_tests(source) else {
        of_tests.extend([path.to_owned(), format!("{folder}/")]);
        return 0;
    };
    let names = files.iter().map(|name| format!("{folder}/{name}"));
    of_tests.extend(names.flat_map(|name| [format!("{name}.rs"), format!("{name}/")]));
    lines.len()
}

/// The lines of a file without its tests, and the names of its modules of tests that are files of their own; `None` if
/// all of it is tests.
pub(crate) fn without_tests(source: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        match line.trim_start() {
            "#![cfg(test)]" => return None,
            "#[cfg(test)]" => {
                // The item ends at the first line that isn't indented more and closes something.
                let ends = |other: &&str| {
                    indent(other) == indent(line) && other.ends_with(['}', ';', ','])
                };
                let item = lines.by_ref().find(ends);
                let words = item.unwrap_or_default().split(' ');
                let file = words.skip_while(|word| *word != "mod").nth(1);
                files.extend(file.and_then(|name| name.strip_suffix(';')));
            }
            _ => kept.push(line),
        }
    }
    Some((kept, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_not_shipped() {
        let source = "use a;\n\n#[cfg(test)]\npub(crate) mod cases;\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    fn f() \
                      {\n    }\n}\nfn g() {\n    #[cfg(test)]\n    h();\n    i();\n}\n";
        let mut of_tests = BTreeSet::new();
        assert_eq!(shipped("crates/a/src/b/mod.rs", source, &mut of_tests), 5);
        let expected = ["crates/a/src/b/cases.rs", "crates/a/src/b/cases/"];
        assert!(of_tests.iter().eq(expected));
        for path in ["tests/b.rs", "xtask/src/b.rs", "crates/testkit/src/b.rs"] {
            assert_eq!(shipped(path, source, &mut of_tests), 0, "{path}");
        }
        shipped("crates/a/src/c.rs", "#![cfg(test)]\n", &mut of_tests);
        assert!(of_tests.contains("crates/a/src/c.rs"));
    }
}
