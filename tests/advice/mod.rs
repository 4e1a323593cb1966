//! Every hint that the program prints: what provokes it, and what happens when it is followed.
//!
//! Each line of the tables makes an input and runs the program, which has to give the hint. Then it follows the hint and runs
//! again: the message is gone, or it's another one. A hint that no line provokes is named in [`ELSEWHERE`], with the reason.

mod clusters;
mod lakes;
mod options;
mod rows;
mod sources;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tracelake_testkit::{Run, Scratch, run};

/// A hint, what provokes it, and what follows it.
struct Advice {
    /// The words of the hint, as they are printed.
    says: &'static str,
    make: fn(&Scratch),
    run: &'static str,
    follow: fn(&Scratch),
    again: &'static str,
}

const fn advice(
    says: &'static str,
    make: fn(&Scratch),
    run: &'static str,
    follow: fn(&Scratch),
    again: &'static str,
) -> Advice {
    Advice {
        says,
        make,
        run,
        follow,
        again,
    }
}

/// The usual command. `SRC`, `OUT` and `DIR` stand for the source, the lake and the directory that both are in.
const CONVERT: &str = "convert SRC OUT";

/// A hint that is followed by changing what was given, and running the same command again.
const fn change(
    says: &'static str,
    make: fn(&Scratch),
    run: &'static str,
    follow: fn(&Scratch),
) -> Advice {
    advice(says, make, run, follow, run)
}

/// A hint that is followed by typing another command.
const fn retype(
    says: &'static str,
    make: fn(&Scratch),
    run: &'static str,
    again: &'static str,
) -> Advice {
    advice(says, make, run, |_| {}, again)
}

fn typed(scratch: &Scratch, command: &str) -> Run {
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    let (source, out, directory) = (
        path(scratch.src()),
        path(scratch.out()),
        path(scratch.path().to_owned()),
    );
    run(command.split(' ').map(|argument| {
        let words = argument.replace("SRC", &source).replace("OUT", &out);
        words.replace("DIR", &directory)
    }))
}

/// Provokes and follows a hint; returns what is wrong.
fn outcome(one: &Advice) -> Option<String> {
    let scratch = Scratch::new();
    (one.make)(&scratch);
    let first = typed(&scratch, one.run);
    if !first.stderr.contains(one.says) {
        return Some(format!("{:?} is not said: {}", one.says, first.stderr));
    }
    (one.follow)(&scratch);
    let second = typed(&scratch, one.again);
    let is_the_same = second.stderr.contains(one.says) && second.code == first.code;
    is_the_same.then(|| format!("{:?} is said again: {}", one.says, second.stderr))
}

fn all() -> impl Iterator<Item = &'static Advice> {
    let tables = [
        rows::ADVICE,
        sources::ADVICE,
        options::ADVICE,
        lakes::ADVICE,
        clusters::ADVICE,
    ];
    tables.into_iter().flatten()
}

#[test]
fn each_hint_is_given_and_can_be_followed() {
    let wrong: Vec<String> = all().filter_map(outcome).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A row of a table in a part of its own.
fn good(scratch: &Scratch) {
    scratch.good("job_events");
}

fn remove(scratch: &Scratch, path: &str) {
    let path = scratch.src().join(path);
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
}

fn rename(scratch: &Scratch, from: &str, to: &str) {
    let to = scratch.src().join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(scratch.src().join(from), to).unwrap();
}

/// Files whose hints no line provokes, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "convert/src/draft/",
        "drafts: tests/described/drafts.rs and its neighbours",
    ),
    (
        "source/src/zipped.rs",
        "archives that are damaged: tests/parquet_directories.rs",
    ),
    ("convert/src/run/room.rs", "a full disk: tests/cli/room.rs"),
    ("convert/src/sorting", "a full disk: tests/cluster"),
    ("fetch/", "what servers answer: tests/fetch"),
    ("verify/src/export", "exports: tests/export.rs"),
    (
        "convert/src/reader",
        "the Python package: crates/python/tests",
    ),
    (
        "convert/src/derive.rs",
        "an output that was changed: tests/streams",
    ),
    ("core/src/error.rs", "the operating system: tests/crash"),
    (
        "core/src/origin.rs",
        "a lake by a later version: tests/older",
    ),
    ("generate/src/lib.rs", "a run that was killed: tests/crash"),
    (
        "lake/",
        "lakes that are damaged, foreign, or in use: tests/crash, tests/shards and tests/urls/states",
    ),
    (
        "location/",
        "URLs and the answers of servers: tests/urls/messages.rs",
    ),
    ("python/", "the Python package: crates/python/tests"),
    (
        "schema/",
        "mistakes in descriptions: crates/schema and tests/described",
    ),
    (
        "source/src/unzip.rs",
        "archives of other tools: crates/source",
    ),
    ("tracelake/src/panics.rs", "a bug"),
    (
        "tracelake/src/report",
        "the summary, and not an error: tests/cli/inspect.rs",
    ),
    (
        "verify/src/derived.rs",
        "an output that was changed: tests/streams",
    ),
    (
        "verify/src/release_files",
        "a lake that was changed: tests/release",
    ),
    ("encode/", "no hint, but what is being done"),
];

/// Hints that no line provokes, in files whose other hints are provoked, and why.
const NOT_PROVOKED: &[(&str, &str)] = &[
    (
        "select its part too, or use {}",
        "a lake whose manifest can't be read: no test provokes it yet",
    ),
    (
        "check the URL; tracelake schema TRACE prints where a trace is published",
        "a store: tests/urls",
    ),
    ("pass a smaller --threads", "the operating system"),
    (
        "wait for the other run to end, and run the same command again",
        "a lake that changes between two looks",
    ),
    ("check the disk", "a disk that changes what it was given"),
    (
        "remove the file and run the same command again",
        "an output that changes while it is made: tests/crash",
    ),
    ("use a new prefix", "a bucket: tests/urls"),
    (
        "take the published file, or remove bom from the description",
        "a description: tests/described/forms.rs",
    ),
    (
        "describe the column, or write extra = \\\"ignore\\\" in [table.csv] of the description to leave it out",
        "a description: tests/described/headers.rs",
    ),
    (
        "take the published file; if it never had {0}, write may_be_absent = true for {0} in the description",
        "a description: tests/described/headers.rs",
    ),
    (
        "pass --sample I/N, such as 0/16",
        "only in Python: the command line says it first",
    ),
    (
        "use the version of tracelake that made it",
        "a lake by another version: tests/older",
    ),
    (
        "release it with that version, or convert again with this one",
        "a lake by another version: tests/release",
    ),
];

/// The words that hints begin with.
const IMPERATIVES: &[&str] = &[
    "add",
    "build",
    "call",
    "change",
    "check",
    "commit",
    "convert",
    "copy",
    "correct",
    "decompress",
    "describe",
    "download",
    "fetch",
    "finish",
    "fix",
    "free",
    "generate",
    "leave",
    "look",
    "make",
    "move",
    "name",
    "open",
    "pass",
    "put",
    "raise",
    "read",
    "release",
    "remove",
    "rename",
    "replace",
    "restore",
    "run",
    "select",
    "separate",
    "set",
    "take",
    "unpack",
    "use",
    "wait",
    "write",
];

/// The texts in a file of code, but for its tests.
fn texts(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[")
    });
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut texts = Vec::new();
    let mut rest = &code[..];
    while let Some(start) = rest.find('"') {
        rest = &rest[start + 1..];
        let mut end = 0;
        let bytes = rest.as_bytes();
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let Some(text) = rest.get(..end) else { break };
        // A text may go on in the next line.
        let pieces = text.split("\\\n").map(str::trim_start);
        texts.push(pieces.collect::<String>());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    texts
}

/// The longest piece of a text that is printed as it is.
fn fixed_piece(text: &str) -> &str {
    let pieces = text.split('}').filter_map(|piece| piece.split('{').next());
    pieces.max_by_key(|piece| piece.len()).unwrap_or_default()
}

fn code_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            code_files(&path, found);
        } else if name.ends_with(".rs") && !name.starts_with("tests") {
            found.push(path);
        }
    }
}

#[test]
fn no_hint_is_left_out() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap();
    let mut files = Vec::new();
    for folder in fs::read_dir(&crates).unwrap() {
        let source = folder.unwrap().path().join("src");
        if source.is_dir() && !source.starts_with(crates.join("testkit")) {
            code_files(&source, &mut files);
        }
    }
    let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut known = 0;
    for file in files {
        let name = file
            .strip_prefix(&crates)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if ELSEWHERE
            .iter()
            .any(|(elsewhere, _)| name.starts_with(elsewhere))
        {
            continue;
        }
        for text in texts(&fs::read_to_string(&file).unwrap()) {
            let first = text.split(' ').next().unwrap_or_default();
            if !IMPERATIVES.contains(&first) || !text.contains(' ') {
                continue;
            }
            if NOT_PROVOKED.iter().any(|(hint, _)| *hint == text) {
                continue;
            }
            let piece = fixed_piece(&text);
            match all().any(|one| one.says.contains(piece.trim()) || text.contains(one.says)) {
                true => known += 1,
                false => left_out.entry(name.clone()).or_default().push(text),
            }
        }
    }
    assert!(known > 60, "{known}");
    assert!(left_out.is_empty(), "{left_out:#?}");
}
