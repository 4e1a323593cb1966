//! Rules that no compiler and no other tool checks, as ordinary tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracelake_schema::TRACES;

use crate::lines::without_tests;
use crate::workspace::output;

#[test]
fn no_code_names_a_trace() {
    let names = || {
        TRACES
            .iter()
            .flat_map(|trace| [&*trace.name, &*trace.family])
    };
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
        folders.extend(ancestors.filter(|folder| folder.iter().any(|name| name == "src")));
    }
    assert!(folders.len() > 20, "the modules were not found");
    let mut wrong = Vec::new();
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
        if !remaining.is_empty() {
            wrong.push(format!("{}: {remaining:?}", folder.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// "What the run makes" and "That of the shard" leave the reader to guess the noun.
#[test]
fn doc_comments_name_what_they_document() {
    // Help, and descriptions of a JSON schema.
    const SHOWN: [&str; 6] = [
        "crates/core/src/settings.rs",
        "crates/schema/src/description/spec.rs",
        "crates/schema/src/model.rs",
        "crates/schema/src/model/queries.rs",
        "xtask/src/bench.rs",
        "xtask/src/torture.rs",
    ];
    let is_vague = |doc: &str| {
        let vague = ["That of ", "Those of ", "As ", "What "];
        vague.iter().any(|start| doc.starts_with(start))
    };
    let mut found = Vec::new();
    for (path, text) in sources() {
        let mut before = "";
        for line in text.lines() {
            let line = line.trim_start();
            let doc = line.strip_prefix("/// ").or(line.strip_prefix("//! "));
            if doc.is_some_and(is_vague)
                && !before.starts_with("/// ")
                && !before.starts_with("//! ")
            {
                found.push(format!("{path}: {line}"));
            }
            before = line;
        }
    }
    found.retain(|line| !SHOWN.iter().any(|path| line.starts_with(path)));
    assert!(found.is_empty(), "begin with a noun or a verb: {found:#?}");
}

/// One feature more in README's second command, or in the wheel, and it would build everything that uses the crate again.
#[test]
fn both_commands_of_the_readme_build_the_same_features() {
    let built = |arguments: &[&str]| -> BTreeSet<String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--locked", "--offline", "--prefix", "none"]);
        cargo.args(["--format", "{p} {f}"]).args(arguments);
        let found = output(cargo.current_dir(crate::root().unwrap())).unwrap();
        let lines = found.lines().map(|line| line.trim_end_matches(" (*)"));
        lines.map(str::to_owned).collect()
    };
    let first = built(&["--package", "tracelake", "--edges", "normal,build"]);
    let second = built(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(first.len() > 100, "the packages were not found");
    let wheel = ["--package", "tracelake-python", "--features", "extension"];
    let wheel = built(&[&wheel[..], &["--edges", "normal,build"]].concat());
    for later in [second, wheel] {
        let others: Vec<&String> = first.difference(&later).collect();
        assert!(others.is_empty(), "add features in Cargo.toml: {others:#?}");
    }
}

/// Only the crate of the commit protocol puts, replaces and removes what others count on.
#[test]
fn only_the_lake_changes_objects() {
    let mut found = sources();
    let changes = [
        ".put_new(",
        ".put_if_absent(",
        ".swap(&",
        ".remove_all(",
        "Upload::begin(",
    ];
    let is_of =
        |path: &str, folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let calls = |text: &str| changes.iter().any(|change| text.contains(change));
    found.retain(|_, text| calls(&code(text)));
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

#[test]
fn code_after_a_module_of_tests_is_seen() {
    let source =
        "use super::a;\n#[cfg(test)]\nmod tests;\n\nuse super::b;\n#[cfg(test)]\nuse super::c;\n";
    assert_eq!(Vec::from_iter(uses(source, &["super::"])), ["a", "b"]);
}

/// The modules in a folder, each with those of the same folder that it uses outside of its tests. That of the folder itself
/// is `mod`, with the items that it has of its own; one that it passes on is used from where it comes.
fn modules(
    sources: &BTreeMap<String, String>,
    folder: &Path,
) -> BTreeMap<String, BTreeSet<String>> {
    let names = folder.iter().skip_while(|&name| name != "src").skip(1);
    let inside: String = names.map(|name| format!("{}::", name.display())).collect();
    let inside = format!("crate::{inside}");
    let files = ["mod.rs", "lib.rs", "main.rs"].map(|name| folder.join(name));
    let mut files = files.into_iter().chain([folder.with_extension("rs")]);
    let own = files.find(|file| sources.contains_key(file.to_str().unwrap()));
    let own = own.unwrap_or_else(|| panic!("{} is no module", folder.display()));
    let mut children: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for path in sources.keys().map(Path::new) {
        let is_tests = path.ends_with("tests.rs") || path.iter().any(|name| name == "tests");
        if let Ok(below) = path.strip_prefix(folder)
            && path != own
            && !is_tests
        {
            let first = Path::new(below.iter().next().unwrap());
            let name = first.with_extension("").display().to_string();
            children.entry(name).or_default().push(path);
        }
    }
    let text = code(&sources[own.to_str().unwrap()]);
    let mut origins: BTreeMap<&str, &str> =
        children.keys().map(|name| (&name[..], &name[..])).collect();
    let mut body = Vec::new();
    for statement in statements(&text) {
        let item = statement.strip_prefix("pub").unwrap_or(statement);
        let item = item.strip_prefix('(').and_then(|item| item.split_once(')'));
        let item = item.map_or(statement.trim_start_matches("pub "), |(_, item)| {
            item.trim_start()
        });
        if let Some(path) = item.strip_prefix("use ") {
            let path = path
                .trim_start_matches("self::")
                .trim_start_matches(&inside);
            let mut names = words(path);
            if let Some((child, _)) = names.next().and_then(|first| children.get_key_value(first)) {
                origins.extend(names.map(|name| (name, &child[..])));
            }
        } else {
            let mut words = words(item).skip_while(|word| ["async", "unsafe"].contains(word));
            let (keyword, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let name = if name == "fn" {
                words.next().unwrap_or("")
            } else {
                name
            };
            if ITEMS.contains(&keyword) {
                origins.insert(name, "mod");
            }
            if keyword != "mod" {
                body.push(item);
            }
        }
    }
    let is_used = |name: &str, origin: &str| {
        body.iter().any(|item| match name == origin {
            true => item.contains(&format!("{name}::")),
            false => words(item).any(|word| word == name),
        })
    };
    let own = origins
        .iter()
        .filter(|(name, origin)| is_used(name, origin));
    let own: BTreeSet<String> = own.map(|(_, &origin)| origin.to_owned()).collect();
    let origin_of = |name: &str| origins.get(name).map(|&origin| origin.to_owned());
    let mut modules = BTreeMap::from([("mod".to_owned(), own)]);
    for (name, paths) in &children {
        let uses = paths.iter().flat_map(|path| {
            let below = path.strip_prefix(folder).unwrap();
            let steps = below.iter().count() - usize::from(below.ends_with("mod.rs"));
            let text = &sources[path.to_str().unwrap()];
            uses(text, &[&inside, &"super::".repeat(steps)])
        });
        modules.insert(
            name.clone(),
            uses.filter_map(|name| origin_of(&name)).collect(),
        );
    }
    for (name, used) in &mut modules {
        used.remove(name);
    }
    modules
}

/// Words that items begin with.
const ITEMS: [&str; 8] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules",
];

/// The items of a file as they are written by rustfmt: from a line that begins at the margin to the next one that does.
fn statements(code: &str) -> Vec<&str> {
    let starts = code.match_indices('\n').map(|(at, _)| at + 1);
    let begins = |&at: &usize| code[at..].starts_with(|first: char| first.is_ascii_alphabetic());
    let starts: Vec<usize> = [0]
        .into_iter()
        .chain(starts.filter(begins))
        .chain([code.len()])
        .collect();
    starts
        .windows(2)
        .map(|pair| &code[pair[0]..pair[1]])
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    text.split(is_end).filter(|word| !word.is_empty())
}

/// The code of a file without comments and tests.
fn code(source: &str) -> String {
    let (lines, _) = without_tests(source).unwrap_or_default();
    let lines = lines.iter().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that code mentions after one of these paths, and in braces after one; tests and comments apart.
fn uses(source: &str, paths: &[&str]) -> BTreeSet<String> {
    let code = code(source);
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
