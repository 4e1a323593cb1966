//! `release --since`: what it prints is what a comparison of the files finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::release::{FILES, small};
use tracelake_testkit::{
    Run, Scratch, assert_same_tree, convert, generate, good_line, good_row, manifest, run, tree,
};

fn release_since(lake: &Path, old: &Path) -> Run {
    let (lake, old) = (lake.to_str().unwrap(), old.to_str().unwrap());
    run([
        "release",
        lake,
        "--allow-missing",
        "--allow-rejects",
        "--since",
        old,
    ])
}

/// The outputs and rejects files of a lake, by table.
fn files(lake: &Path) -> BTreeMap<String, BTreeMap<String, Vec<u8>>> {
    let mut tables: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for (path, bytes) in tree(lake).unwrap() {
        let below = path.strip_prefix("_tracelake/rejects/").unwrap_or(&path);
        let is_of_table =
            path.ends_with(".parquet") || path.ends_with(".arrow") || path.ends_with(".ndjson");
        if let (true, Some(bytes), Some((table, _))) = (is_of_table, bytes, below.split_once('/')) {
            tables
                .entry(table.to_owned())
                .or_default()
                .insert(path.clone(), bytes);
        }
    }
    tables
}

/// Compares what is printed with the files of both lakes, without a manifest.
#[track_caller]
fn check(old: &Path, new: &Path) -> String {
    let ended = release_since(new, old);
    ended.exits(0);
    let (then, now) = (files(old), files(new));
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let nothing = BTreeMap::new();
    for name in names {
        let [then, now] = [&then, &now].map(|tables| tables.get(name).unwrap_or(&nothing));
        let added: Vec<&String> = now
            .keys()
            .filter(|path| !then.contains_key(*path))
            .collect();
        let removed: Vec<&String> = then
            .keys()
            .filter(|path| !now.contains_key(*path))
            .collect();
        let both = now.iter().filter(|(path, _)| then.contains_key(*path));
        let (same, changed): (Vec<_>, Vec<_>) =
            both.partition(|(path, bytes)| then[*path] == **bytes);
        let start = format!(
            "{name}: {} added, {} changed, {} removed, {} as before; ",
            added.len(),
            changed.len(),
            removed.len(),
            same.len()
        );
        ended.shows(&start);
        let mut lines: Vec<String> = Vec::new();
        let changed: Vec<&String> = changed.into_iter().map(|(path, _)| path).collect();
        for (what, paths) in [("added", added), ("changed", changed), ("removed", removed)] {
            lines.extend(paths.iter().take(20).map(|path| format!("  {what} {path}")));
            if paths.len() > 20 {
                let more = paths.len() - 20;
                let s = if more == 1 { "" } else { "s" };
                lines.push(format!("  {what} {more} more file{s}"));
            }
        }
        let mut shown = ended
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with(&start))
            .skip(1);
        for line in lines {
            let found = shown.next().unwrap();
            let found = found
                .split_once(", because ")
                .map_or(found, |(file, _)| file);
            assert_eq!(found, line);
        }
    }
    ended.stdout
}

#[test]
fn files_that_are_added_changed_and_removed_are_named() {
    let scratch = Scratch::with_sample(3, 50);
    let (old, new) = (scratch.path().join("old"), scratch.path().join("new"));
    let some = ["--tables", "job_events,machine_events", "--allow-missing"];
    convert(&scratch.src(), &old, &some).well();
    scratch.part("job_events", 1, 3, good_line("job_events").as_bytes());
    scratch.part(
        "machine_events",
        0,
        1,
        format!("{}\nbad\n", good_row("machine_events")).as_bytes(),
    );
    let others = [
        "--tables",
        "job_events,machine_events,task_events",
        "--on-bad-row",
        "reject",
    ];
    convert(&scratch.src(), &new, &others).exits(3);
    let said = check(&old, &new);
    let part = "job_events/file_number=1/part-00001-of-00003.parquet";
    let source = "job_events/part-00001-of-00003.csv.gz";
    let line = format!("  changed {part}, because {source} has other bytes\n");
    assert!(said.contains(&line), "{said}");
    assert_eq!(said.matches(", because ").count(), 2, "{said}");
    assert!(!said.contains("made differently"), "{said}");
    // The other way round, and against itself, by its manifest.
    let said = check(&new, &old);
    assert!(
        said.contains("task_events: 0 added, 0 changed, 3 removed"),
        "{said}"
    );
    let itself = release_since(&old, &old.join("_tracelake/manifest.json"));
    itself.exits(0);
    assert_eq!(
        itself
            .stdout
            .matches(": 0 added, 0 changed, 0 removed, ")
            .count(),
        2
    );
}

/// The size to upload is that of the files that are added and changed.
#[test]
fn the_size_to_upload_is_that_of_new_bytes() {
    let scratch = small(&["machine_events"]);
    let (out, old) = (scratch.out(), scratch.path().join("old"));
    tracelake_testkit::copy(&out, &old);
    scratch.only("job_events", good_line("job_events").as_bytes());
    scratch.convert_well(&[]);
    let added = fs::metadata(out.join("job_events/file_number=0/part-00000-of-00001.parquet"));
    let said = check(&old, &out);
    let size = indicatif_bytes(added.unwrap().len());
    assert!(
        said.contains(&format!(
            "job_events: 1 added, 0 changed, 0 removed, 0 as before; {size} to upload\n"
        )),
        "{said}"
    );
    assert!(
        said.contains(
            "machine_events: 0 added, 0 changed, 0 removed, 1 as before; 0 B to upload\n"
        ),
        "{said}"
    );
}

/// A size below a mebibyte as the program shows it.
fn indicatif_bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        #[expect(clippy::cast_precision_loss, reason = "a small file")]
        _ => format!("{:.2} KiB", bytes as f64 / 1024.0),
    }
}

#[test]
fn how_two_lakes_were_made_is_said() {
    let scratch = Scratch::with_sample(2, 50);
    let old = scratch.path().join("old");
    convert(&scratch.src(), &old, &[]).well();
    for (name, options, says) in [
        (
            "snappy",
            &["--compression", "snappy"][..],
            "  compression was zstd:3 and is now snappy\n",
        ),
        (
            "arrow",
            &["--format", "arrow"],
            "  format was parquet and is now arrow\n",
        ),
        (
            "flat",
            &["--layout", "flat"],
            "  layout was hive and is now flat\n",
        ),
        (
            "sample",
            &["--sample", "0/2"],
            "  sample was none and is now 0/2\n",
        ),
    ] {
        let new = scratch.path().join(name);
        convert(&scratch.src(), &new, options).well();
        let said = check(&old, &new);
        let (_, how) = said.split_once("made differently:\n").unwrap();
        assert_eq!(how, says);
    }
    let clustered = scratch.path().join("clustered");
    run([
        "cluster",
        old.to_str().unwrap(),
        clustered.to_str().unwrap(),
        "--by",
        "job",
    ])
    .well();
    let said = check(&old, &clustered);
    assert!(
        said.contains("  clustered was none and is now by job into "),
        "{said}"
    );
    // A file that has other bytes, and no manifest says why.
    let other = scratch.path().join("other");
    tracelake_testkit::copy(&old, &other);
    let path = other.join("_tracelake/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let digest = manifest(&old)["tables"][0]["parts"][0]["output"]["sha256"].clone();
    let forged = text.replacen(digest.as_str().unwrap(), &"0".repeat(64), 1);
    fs::write(&path, tracelake_testkit::seal(&forged)).unwrap();
    let said = release_since(&old, &path);
    said.exits(0);
    said.shows("1 changed file of the same source, and both lakes were made alike: the manifests don't say why\n");
}

#[test]
fn an_old_lake_that_cannot_be_compared_is_refused_before_anything_is_written() {
    let scratch = small(&["machine_events"]);
    let out = scratch.out();
    let (other, source) = (scratch.path().join("other"), scratch.path().join("source"));
    generate("alibaba-2018", &source, &["--rows", "100"]);
    convert(&source, &other, &[]).well();
    let damaged = scratch.path().join("damaged");
    tracelake_testkit::copy(&out, &damaged);
    let path = damaged.join("_tracelake/manifest.json");
    fs::write(
        &path,
        fs::read_to_string(&path).unwrap().replacen('1', "2", 1),
    )
    .unwrap();
    let before = tree(&out);
    for (old, code, says) in [
        (
            other,
            2,
            "is of alibaba-2018, and the lake to release is of google-2011-v2.1",
        ),
        (damaged, 5, "the manifest is damaged"),
        (path, 5, "the manifest is damaged"),
        (scratch.path().join("nowhere"), 6, "not a finished lake"),
    ] {
        let refused = release_since(&out, &old);
        refused.refuses(code, says);
        assert_eq!(refused.stdout, "");
        assert_same_tree(&tree(&out), &before, says);
    }
}

/// The files of a release depend on the lake alone.
#[test]
fn nothing_of_the_old_lake_is_in_the_release() {
    let scratch = Scratch::with_sample(2, 50);
    let lakes = ["a", "b", "old"].map(|name| scratch.path().join(name));
    for lake in &lakes[..2] {
        convert(&scratch.src(), lake, &[]).well();
    }
    convert(&scratch.src(), &lakes[2], &["--compression", "none"]).well();
    let [a, b, old] = &lakes;
    release_since(a, old).exits(0);
    run(["release", b.to_str().unwrap(), "--allow-missing"]).well();
    assert_same_tree(&tree(a), &tree(b), "with and without --since");
    assert!(FILES.iter().all(|name| a.join(name).exists()));
}
