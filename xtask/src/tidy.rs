//! Rules that no compiler checks, as ordinary tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::TRACES;

/// The files with unsafe code; docs/design.md has the reasons.
const UNSAFE: [&str; 5] = [
    "crates/encode/src/column/decimal_cache/wide.rs",
    "crates/encode/src/column/text_cache/block/wide.rs",
    "crates/encode/src/column/wide.rs",
    "crates/encode/src/split/masks.rs",
    "crates/source/src/inflate/fast.rs",
];

#[test]
fn no_code_names_a_trace() {
    let root = crate::root().unwrap();
    let sources = sources(&root);
    assert!(sources.len() > 5, "the sources were not found");
    let mut found = Vec::new();
    for source in sources {
        let path = source.strip_prefix(&root).unwrap();
        // Helpers of the tests know folders of published data by name.
        if path.starts_with("crates/testkit") {
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

#[test]
fn unsafe_code_is_where_the_design_says() {
    let root = crate::root().unwrap();
    let mut sources = sources(&root);
    // Unsafe code is marked, because the workspace denies it.
    let allows = concat!("expect(", "unsafe_code");
    sources.retain(|source| fs::read_to_string(source).unwrap().contains(allows));
    sources.sort();
    let allowed: Vec<&Path> = sources
        .iter()
        .map(|source| source.strip_prefix(&root).unwrap())
        .collect();
    assert_eq!(allowed, UNSAFE.map(Path::new));
}

#[test]
fn modules_form_no_circle() {
    let root = crate::root().unwrap();
    let (mut folders, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        for folder in folders_in(&source) {
            folders += 1;
            let mut remaining = modules(&source, &folder);
            // Take away modules that use none of the others, until nothing changes. Those that remain are on a
            // circle, or use one that is.
            loop {
                let others: BTreeSet<String> = remaining.keys().cloned().collect();
                let before = remaining.len();
                remaining.retain(|_, used| used.intersection(&others).next().is_some());
                if remaining.len() == before {
                    break;
                }
            }
            if !remaining.is_empty() {
                let names: Vec<String> = remaining.into_keys().collect();
                wrong.push(format!("{}: {}", folder.display(), names.join(", ")));
            }
        }
    }
    assert!(folders > 20, "the modules were not found");
    assert_tidy(
        &wrong,
        "modules that use each other, or that use such modules",
    );
}

#[test]
fn every_relative_link_has_a_target() {
    let root = crate::root().unwrap();
    let mut pages = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            let elsewhere = link.contains("://") || link.starts_with("mailto:");
            if !elsewhere && !path.is_empty() && !page.parent().unwrap().join(path).exists() {
                let page = page.strip_prefix(&root).unwrap().display();
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert_tidy(&broken, "links that lead nowhere");
}

#[test]
fn uses_and_links_are_found() {
    let source = "//! See crate::a.\nuse crate::b::{self, X};\nuse crate::{c, d::{e, f}};\n\
                  fn g() -> crate::h::I {}\nuse super::j;\n#[cfg(test)]\nuse crate::k;";
    let found: Vec<String> = uses(source, &["crate::", "super::"]).into_iter().collect();
    assert_eq!(found, ["b", "c", "d", "h", "j"]);
    assert_eq!(
        links("[a](b.md#c) `[x](y)`\n```\n[d](e)\n```\n[f](g)"),
        ["b.md#c", "g"]
    );
}

#[track_caller]
fn assert_tidy(wrong: &[String], what: &str) {
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

/// A folder with sources, and those in it.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            folders.extend(folders_in(&path));
        }
    }
    folders
}

/// The modules in a folder of a crate's `source`, each with those of the same folder that it uses outside of its tests.
fn modules(source: &Path, folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in rust_files(folder) {
        let first = path.strip_prefix(folder).unwrap().iter().next().unwrap();
        let module = first.to_str().unwrap().trim_end_matches(".rs").to_owned();
        files.entry(module).or_default().push(path);
    }
    // They list the modules and are none of them.
    files.retain(|name, _| name != "lib" && name != "mod");
    let names: BTreeSet<String> = files.keys().cloned().collect();
    let inside = folder.strip_prefix(source).unwrap().iter();
    let path: String = inside.map(|name| format!("{}::", name.display())).collect();
    let from_root = format!("crate::{path}");
    let uses_of = |(module, paths): (String, Vec<PathBuf>)| {
        let mut used = BTreeSet::new();
        for path in &paths {
            let below = path.strip_prefix(folder).unwrap().iter().count();
            let steps = below - usize::from(path.ends_with("mod.rs"));
            let text = fs::read_to_string(path).unwrap();
            used.extend(uses(&text, &[&from_root, &"super::".repeat(steps)]));
        }
        used.retain(|name| *name != module && names.contains(name));
        (module, used)
    };
    files.into_iter().map(uses_of).collect()
}

/// The modules that a source names below one of these paths, tests and comments apart.
fn uses(source: &str, paths: &[&str]) -> BTreeSet<String> {
    let code = source.split("[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let mut used = BTreeSet::new();
    for prefix in paths {
        for (at, _) in code.match_indices(*prefix) {
            // One more step up leads elsewhere.
            if !code[..at].ends_with("super::") {
                used.extend(first_names(&code[at + prefix.len()..]));
            }
        }
    }
    used
}

/// The first name of a path, or those of each path in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        let end = |letter: char| !letter.is_alphanumeric() && letter != '_';
        text.trim().split(end).next().unwrap_or_default().to_owned()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        if letter == '}' && depth == 0 && start == at + 1 {
            break;
        }
    }
    names
}

/// The targets of the links of a Markdown page, code apart.
fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        // Every second piece between backticks is code.
        for text in line.split('`').step_by(2) {
            let targets = text.split("](").skip(1);
            links.extend(targets.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
        }
    }
    links
}

/// The Rust files of all crates and of xtask.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut sources = rust_files(&root.join("xtask/src"));
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        sources.extend(rust_files(&entry.unwrap().path().join("src")));
    }
    sources
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
