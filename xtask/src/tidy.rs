//! Rules that no compiler and no other tool checks, as ordinary tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::TRACES;

#[test]
fn no_code_names_a_trace() {
    let names = || TRACES.iter().flat_map(|trace| [trace.name, trace.family]);
    let mut found = sources();
    // Helpers of the tests know folders of published data by name.
    found.retain(|path, text| {
        !path.starts_with("crates/testkit/") && names().any(|name| text.contains(name))
    });
    let paths: Vec<String> = found.into_keys().collect();
    assert!(paths.is_empty(), "take names from TRACES: {paths:?}");
}

#[test]
fn modules_form_no_circle() {
    let sources = sources();
    let mut folders = BTreeSet::new();
    for path in sources.keys() {
        let ancestors = Path::new(path).ancestors().skip(1);
        folders.extend(ancestors.filter(|folder| folder.iter().nth(2) == Some("src".as_ref())));
    }
    assert!(folders.len() > 20, "the modules were not found");
    for folder in folders {
        let mut remaining = modules(&sources, folder);
        // Take away modules that use none of the others, until nothing changes. Those that remain are on a circle, or
        // use one that is.
        loop {
            let others: BTreeSet<String> = remaining.keys().cloned().collect();
            remaining.retain(|_, used| !used.is_disjoint(&others));
            if remaining.len() == others.len() {
                break;
            }
        }
        assert!(remaining.is_empty(), "{}: {remaining:?}", folder.display());
    }
}

/// What others count on is put, replaced and removed by the crate of the commit protocol alone.
#[test]
fn only_the_lake_changes_objects() {
    let mut found = sources();
    let changes = [
        ".put_new(",
        ".put_if_absent(",
        ".swap(&",
        ".remove_all(",
        ".upload(",
    ];
    let is_of =
        |path: &str, folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let calls = |text: &str| changes.iter().any(|change| text.contains(change));
    found.retain(|_, text| calls(text.split("[cfg(test)]").next().unwrap()));
    assert!(
        found.keys().any(|path| path.starts_with("crates/lake/")),
        "the calls were not found"
    );
    found.retain(|path, _| {
        !is_of(
            path,
            &[
                "crates/lake/",
                "crates/location/",
                "crates/testkit/",
                "xtask/src/tidy.rs",
            ],
        )
    });
    let paths: Vec<String> = found.into_keys().collect();
    assert!(paths.is_empty(), "leave it to the crate lake: {paths:?}");
}

/// The last column of the protocol's tables names tests.
#[test]
fn the_tests_of_the_commit_protocol_exist() {
    let root = crate::root().unwrap();
    let page = fs::read_to_string(root.join("docs/internals/commit-protocol.md")).unwrap();
    let texts = rust_files(vec![root.join("tests"), root.join("crates")]).into_iter();
    let texts: Vec<String> = texts
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut tables = page
        .split("\n\n")
        .filter(|table| table.lines().next().unwrap().ends_with("| test |"));
    let tables = [tables.next().unwrap(), tables.next().unwrap()].join("\n");
    let rows = tables
        .lines()
        .filter(|row| !row.starts_with("|---") && !row.ends_with("| test |"));
    for row in rows {
        let last = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for test in last.split(", ") {
            let name = format!("fn {}(", test.trim_matches('`'));
            assert!(
                texts.iter().any(|text| text.contains(&name)),
                "there is no {name}"
            );
        }
    }
}

/// How long README's commands take is what `.ci/build-times --record` measured.
#[test]
fn pages_quote_the_build_times_that_are_recorded() {
    let root = crate::root().unwrap();
    let recorded = fs::read_to_string(root.join(".ci/build-times.txt")).unwrap();
    let of = |name: &str| {
        let mut lines = recorded.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().to_owned()
    };
    let [(convert, convert_wall), (test, test_wall)] = ["convert ", "test "].map(|name| {
        let seconds = of(name);
        let (cpu, wall) = seconds.split_once(' ').unwrap();
        let wall: u32 = wall.parse().unwrap();
        (cpu.to_owned(), format!("{} min {} s", wall / 60, wall % 60))
    });
    let says = format!(
        "On {}, they take {convert} s and {test} s of CPU time, in {convert_wall} and {test_wall}",
        of("machine ")
    );
    for page in ["README.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            words.join(" ").contains(&says),
            "{page} doesn't say: {says}"
        );
    }
}

#[test]
fn ci_tries_all_cases_of_each_long_test() {
    let root = crate::root().unwrap();
    let steps = fs::read_to_string(root.join(".ci/run")).unwrap();
    let (_, names) = steps.split_once("--test e2e -- ").unwrap();
    let names: BTreeSet<&str> = names.lines().next().unwrap().split(' ').collect();
    let mut long = BTreeSet::from(["emulators".to_owned(), "readers".to_owned()]);
    for path in rust_files(vec![root.join("tests")]) {
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("Score::one_in") || text.contains("tries_all()") {
            let parts = path.strip_prefix(root.join("tests")).unwrap();
            let parts: Vec<String> = parts
                .iter()
                .map(|part| part.display().to_string())
                .collect();
            let module = parts.iter().map(|part| part.trim_end_matches(".rs"));
            let named = module.filter(|part| names.contains(part));
            long.extend(named.map(str::to_owned).next().or(Some(parts.join("/"))));
        }
    }
    assert_eq!(Vec::from_iter(&long), Vec::from_iter(&names));
}

#[test]
fn uses_are_found() {
    let source = "//! See crate::a.\nuse crate::b::{self, X};\nuse crate::{c, d::{e, f}, g};\n\
                  fn h() -> crate::i::J {}\nuse super::k;\n#[cfg(test)]\nuse crate::l;";
    let found = uses(source, &["crate::", "super::"]);
    assert_eq!(
        Vec::from_iter(found),
        ["b", "c", "d", "e", "f", "g", "i", "k"]
    );
}

/// The modules in a folder, each with those of the same folder that it uses outside of its tests.
fn modules(
    sources: &BTreeMap<String, String>,
    folder: &Path,
) -> BTreeMap<String, BTreeSet<String>> {
    // Below the folder of the crate and `src`.
    let names = folder.iter().skip(3).map(|name| name.display());
    let inside: String = names.map(|name| format!("{name}::")).collect();
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in sources {
        let Ok(below) = Path::new(path).strip_prefix(folder) else {
            continue;
        };
        let first = below.iter().next().unwrap().display().to_string();
        let steps = below.iter().count() - usize::from(below.ends_with("mod.rs"));
        let paths = [&format!("crate::{inside}")[..], &"super::".repeat(steps)];
        let used = modules.entry(first.trim_end_matches(".rs").to_owned());
        used.or_default().extend(uses(text, &paths));
    }
    // They list the modules and are none of them.
    modules.retain(|name, _| name != "lib" && name != "mod");
    for (name, used) in &mut modules {
        used.remove(name);
    }
    modules
}

/// The names that code mentions after one of these paths, and in braces after one; tests and comments apart.
fn uses(source: &str, paths: &[&str]) -> BTreeSet<String> {
    let code = source.split("[cfg(test)]").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for path in paths {
        for (at, _) in code.match_indices(path) {
            let rest = &code[at + path.len()..];
            // One more step up leads elsewhere.
            if code[..at].ends_with("super::") {
                continue;
            }
            let group = match rest.strip_prefix('{') {
                Some(group) => group.split(';').next().unwrap(),
                None => rest.split(['{', ',']).next().unwrap(),
            };
            let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
            let names = group.split(['{', ',']).map(str::trim_start);
            used.extend(names.map(|name| name.split(is_end).next().unwrap().to_owned()));
        }
    }
    used
}

/// The text of every Rust file of the crates and of xtask, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    let root = crate::root().unwrap();
    let mut folders = vec![root.join("xtask/src")];
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        folders.push(entry.unwrap().path().join("src"));
    }
    let files = rust_files(folders).into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    });
    files.collect()
}

/// The Rust files in these folders and below.
fn rust_files(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}
