//! Rules that no compiler checks, as ordinary tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracelake_schema::TRACES;

const EXIT_CODES: &str = "docs/exit-codes.md";
const LIMITS: &str = "docs/limits.md";
const PYTHON: &str = "crates/python/python/tracelake";

/// The files with unsafe code; docs/design.md has the reasons.
const UNSAFE: [&str; 5] = [
    "crates/encode/src/column/decimal_cache/wide.rs",
    "crates/encode/src/column/text_cache/block/wide.rs",
    "crates/encode/src/column/wide.rs",
    "crates/encode/src/split/masks.rs",
    "crates/source/src/inflate/fast.rs",
];

/// The largest file that the repository holds, in bytes: a clone stays quick, data stay outside.
const LARGEST: u64 = 1 << 20;

#[test]
fn no_code_names_a_trace() {
    let root = crate::root().unwrap();
    let sources = sources(&root);
    assert!(sources.len() > 5, "the sources were not found");
    let mut found = Vec::new();
    for source in sources {
        let path = source.strip_prefix(&root).unwrap();
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

/// A test that can't run is marked as ignored, so that the test runner counts it.
#[test]
fn no_test_passes_by_saying_that_it_was_skipped() {
    let root = crate::root().unwrap();
    let mut sources = rust_files(&root.join("tests"));
    sources.extend(rust_files(&root.join("crates")));
    assert!(sources.len() > 50, "the sources were not found");
    let skips = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        ["println!(\"skip", "print!(\"skip"]
            .iter()
            .any(|skip| text.contains(skip))
    };
    let found: Vec<String> = sources
        .into_iter()
        .filter(skips)
        .map(|path| path.display().to_string())
        .collect();
    assert_tidy(
        &found,
        "tests that skip themselves; use `cfg_attr(not(…), ignore = \"…\")` and build.rs",
    );
}

#[test]
fn no_file_is_large() {
    let root = crate::root().unwrap();
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(&root)
        .output();
    let files: Vec<PathBuf> = match listed {
        Ok(listed) if listed.status.success() => String::from_utf8_lossy(&listed.stdout)
            .split_terminator('\0')
            .map(|path| root.join(path))
            .collect(),
        // Not a clone, such as an unpacked archive.
        _ => all_files(&root),
    };
    assert!(!files.is_empty(), "no file was found");
    let mut large = Vec::new();
    for path in files {
        // A file may be listed and yet be deleted in the work tree.
        let bytes = fs::symlink_metadata(&path).map_or(0, |found| found.len());
        if bytes > LARGEST {
            large.push(format!("{} has {bytes} bytes: keep it out", path.display()));
        }
    }
    assert_tidy(&large, "files over 1 MiB");
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

/// The codes are read from the source, so that this crate need not wait for the converter.
#[test]
fn the_exit_codes_are_those_of_the_program() {
    let root = crate::root().unwrap();
    let mut expected = BTreeSet::from([("0".to_owned(), String::new())]);
    for line in read(&root, "crates/core/src/error.rs").lines() {
        let Some((kind, code)) = line
            .trim()
            .strip_prefix("Self::")
            .and_then(|arm| arm.split_once(" => "))
        else {
            continue;
        };
        let (kind, code) = (kind.trim(), code.trim_end_matches(','));
        if code.parse::<u8>().is_ok() {
            expected.insert((code.to_owned(), kind.to_owned()));
        } else if code == "128 + signal" {
            // SIGINT is 2 and SIGTERM is 15.
            for signal in [2, 15] {
                expected.insert(((128 + signal).to_string(), "Stopped".to_owned()));
            }
        }
    }
    for line in read(&root, "crates/tracelake/src/program.rs").lines() {
        if let Some(code) = line.strip_prefix("const REJECTED: u8 = ") {
            expected.insert((code.trim_end_matches(';').to_owned(), String::new()));
        }
    }
    assert!(expected.len() > 5, "the exit codes were not found");
    let page = read(&root, EXIT_CODES);
    let mut written = BTreeSet::new();
    for cells in rows_below(&page, "| exit | kind | meaning |") {
        for code in cells[0].split(", ") {
            written.insert((code.to_owned(), cells[1].replace('`', "")));
        }
    }
    assert_eq!(
        written, expected,
        "make the table of {EXIT_CODES} (left) say what ErrorKind and program.rs (right) do"
    );
}

/// Figures of the docs, and the constants that they are taken from.
const FIGURES: [(&str, &str, &str, &str); 24] = [
    (
        LIMITS,
        "more than 99 %",
        "encode/src/column/choice.rs",
        "STORE_UNCOMPRESSED_ABOVE_PERCENT: usize = 99;",
    ),
    (
        "docs/design.md",
        "more than 99 %",
        "encode/src/column/choice.rs",
        "STORE_UNCOMPRESSED_ABOVE_PERCENT: usize = 99;",
    ),
    (
        LIMITS,
        "less than 4 KiB",
        "encode/src/column/choice.rs",
        "TELLING_BYTES: usize = 4 << 10;",
    ),
    (
        "docs/design.md",
        "less than 4 KiB",
        "encode/src/column/choice.rs",
        "TELLING_BYTES: usize = 4 << 10;",
    ),
    (
        "docs/design.md",
        "has at least 1,024 values",
        "encode/src/column/encoder.rs",
        "UNREPEATED_ROWS: usize = 1024;",
    ),
    (
        "docs/design.md",
        "at most one in 16 repeats",
        "encode/src/column/encoder.rs",
        "UNREPEATED_BUT_ONE_IN: usize = 16;",
    ),
    (
        "docs/design.md",
        "texts of more than 32 bytes on average",
        "encode/src/column/choice.rs",
        "LONG_TEXT: usize = 32;",
    ),
    (
        "docs/design.md",
        "up to four chunks are read ahead",
        "convert/src/part/read_ahead.rs",
        "CHUNKS: usize = 4;",
    ),
    (
        LIMITS,
        "up to four chunks are read ahead",
        "convert/src/part/read_ahead.rs",
        "CHUNKS: usize = 4;",
    ),
    (
        LIMITS,
        "between one part and the next one, for all parts | 16 MiB",
        "encode/src/column/page.rs",
        "SPARE_INDICES: usize = 4 << 20;",
    ),
    (
        "docs/design.md",
        "whenever it is 4 MiB longer",
        "lake/src/store/staging.rs",
        "WRITE_BEHIND: u64 = 4 << 20;",
    ),
    (
        "docs/design.md",
        "returns about 128 KiB of whole lines",
        "source/src/lib.rs",
        "CHUNK: usize = 128 << 10;",
    ),
    (
        "docs/design.md",
        "504 values, 63 groups of eight",
        "encode/src/column/encode.rs",
        "MOST_GROUPS: usize = 63;",
    ),
    (
        LIMITS,
        "65,536 to 1,048,576 (`ROW_GROUP_ROWS_RANGE`)",
        "core/src/settings.rs",
        "1 << 16..=ROW_GROUP_ROWS as u64;",
    ),
    (
        "docs/design.md",
        "Texts of more than 64 bytes",
        "encode/src/column/text.rs",
        "STATISTICS_TEXT_BYTES: usize = 64;",
    ),
    (
        LIMITS,
        "64 rows with texts or lists",
        "convert/src/lake_file/mod.rs",
        "WIDE_ROWS: usize = 64;",
    ),
    (
        LIMITS,
        "about 65,536 rows",
        "encode/src/column/mod.rs",
        " PAGE_ROWS: usize = 1 << 16;",
    ),
    (
        LIMITS,
        "where values are PLAIN, 256 KiB",
        "encode/src/column/encoder.rs",
        "PLAIN_PAGE_BYTES: usize = 256 << 10;",
    ),
    (
        LIMITS,
        "come 32 times or more",
        "encode/src/column/encoder.rs",
        "BLOOM_FILTER_REPEATS: u64 = 32;",
    ),
    (
        LIMITS,
        "1,048,576 rows and 64 MiB",
        "core/src/settings.rs",
        "ROW_GROUP_ROWS: usize = 1 << 20;",
    ),
    (
        LIMITS,
        "A batch has 65,536 rows",
        "encode/src/batch/mod.rs",
        "BATCH_ROWS: usize = 1 << 16;",
    ),
    (
        LIMITS,
        "may have 1 MiB",
        "source/src/lib.rs",
        "LINE_LIMIT: usize = 1 << 20;",
    ),
    (
        LIMITS,
        "above 1,000,000",
        "convert/src/plan/mod.rs",
        "PARTS_LIMIT: u32 = 1_000_000;",
    ),
    (
        LIMITS,
        "parts of 16,777,216 rows",
        "core/src/settings.rs",
        "PART_ROWS: u64 = 1 << 24;",
    ),
];

#[test]
fn figures_are_those_of_the_constants() {
    let root = crate::root().unwrap();
    let mut stale = Vec::new();
    for (page, says, file, code) in FIGURES {
        let text = read(&root, page)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if !text.contains(says) {
            stale.push(format!("{page} doesn't say '{says}'"));
        }
        if !read(&root, &format!("crates/{file}")).contains(code) {
            stale.push(format!(
                "{file} has no '{code}', so {page} is wrong: '{says}'"
            ));
        }
    }
    assert_tidy(&stale, "figures that aren't those of the code");
}

/// The places of rules in the tables of limits.md exist, by their last names.
#[test]
fn rules_are_where_limits_says() {
    let root = crate::root().unwrap();
    let files = rust_files(&root.join("crates"));
    let sources: Vec<String> = files
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let page = read(&root, LIMITS);
    let (mut named, mut missing) = (0, Vec::new());
    let mut has_places = false;
    for line in page.lines() {
        let Some(row) = line.strip_prefix('|') else {
            has_places = false;
            continue;
        };
        let place = row.trim_end_matches(['|', ' ']).rsplit('|').next();
        let place = place.unwrap_or_default().trim();
        has_places |= place == "where";
        for name in place.split('`').skip(1).step_by(2).filter(|_| has_places) {
            named += 1;
            let last = name.rsplit("::").next().unwrap_or_default();
            let module = name.replace("::", "/");
            let ends = [format!("src/{module}.rs"), format!("src/{module}/mod.rs")];
            let is_module = files
                .iter()
                .any(|file| ends.iter().any(|end| file.ends_with(end)));
            let defined = ["fn", "const", "struct", "enum"].map(|kind| format!("{kind} {last}"));
            let is_defined = |text: &String| defined.iter().any(|item| text.contains(item));
            let is_python = name.split_once('.').is_some_and(|(module, name)| {
                let text = fs::read_to_string(root.join(format!("{PYTHON}/{module}.py")));
                let defined = [format!("def {name}("), format!("class {name}")];
                text.is_ok_and(|text| defined.iter().any(|item| text.contains(item)))
            });
            if !is_module && !is_python && !sources.iter().any(is_defined) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(named > 50, "the places were not found");
    assert_tidy(&missing, "limits.md names places that don't exist");
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

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
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

/// The cells of the rows of the Markdown table with this header.
fn rows_below(page: &str, header: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = page
        .lines()
        .skip_while(|line| *line != header)
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim().trim_matches('|').split('|');
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
        .collect();
    assert!(!rows.is_empty(), "no table with the header `{header}`");
    rows
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

/// The files in a folder and the folders in it, without what builds make.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            files.push(path);
        } else if !path.ends_with("target") && !path.ends_with(".git") {
            files.extend(all_files(&path));
        }
    }
    files
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
