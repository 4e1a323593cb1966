//! Archives: which members are read, and what a hostile one can do.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use tracelake_schema::Table;

use crate::streams::{tar, two_tables, whole_trace};
use tracelake_testkit::{
    Score, Scratch, WRITERS, assert_same_tree, convert, ensure, gzip, manifest, rows, suites, tree,
    zstd_with_window,
};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The outputs of a lake: what is in the directories of its tables.
fn outputs(out: &Path) -> Option<std::collections::BTreeMap<String, Option<Vec<u8>>>> {
    let mut tree = tree(out)?;
    tree.retain(|path, _| !path.starts_with("_tracelake"));
    Some(tree)
}

#[test]
fn every_container_of_a_text_gives_the_same_rows() {
    let [one, two] = two_tables();
    let texts = [one, two].map(|table| (table, rows::sample(table, 0, 500)));
    let plain = Scratch::new();
    for (table, text) in &texts {
        plain.file(&format!("{}.csv", table.name), text.as_bytes());
    }
    plain.convert_well(&["--part-rows", "200"]);
    let member = |directory: &str, name: &str| format!("{directory}{name}.csv");
    for directory in ["", "./", "home/someone/", "/"] {
        for ending in ["tar", "tar.gz", "tgz"] {
            let wrap = |archive: Vec<u8>| match ending {
                "tar" => archive,
                _ => gzip(&archive),
            };
            // One archive for each table, and one for all.
            let single = Scratch::new();
            for (table, text) in &texts {
                let path = member(directory, &table.name);
                let archive = wrap(raw_tar(&[(&path, text.as_bytes())]));
                single.file(&format!("{}.{ending}", table.name), &archive);
            }
            let all = Scratch::new();
            let members = texts
                .each_ref()
                .map(|(table, text)| (member(directory, &table.name), text));
            let members: Vec<(&str, &[u8])> = members
                .iter()
                .map(|(path, text)| (&path[..], text.as_bytes()))
                .collect();
            let name = format!("{}.{ending}", archive_stem());
            all.file(&name, &wrap(raw_tar(&members)));
            for (what, scratch) in [("one for each", single), ("one for all", all)] {
                scratch.convert_well(&["--part-rows", "200"]);
                let what = format!("{what}, {directory}, {ending}");
                assert_same_tree(&outputs(&scratch.out()), &outputs(&plain.out()), &what);
                scratch.verify().well();
            }
        }
    }
}

/// Whatever a file is called, its bytes say how it's compressed, around a text, around an archive and inside of one.
#[test]
fn every_compression_of_a_text_gives_the_same_rows() {
    let [table, _] = two_tables();
    let (name, text) = (&*table.name, rows::sample(table, 0, 500));
    let text = text.as_bytes();
    let path = format!("{name}.csv");
    let plain = Scratch::new();
    plain.file(&path, text);
    plain.convert_well(&["--part-rows", "200"]);
    let mut score = Score::new("compressed texts and archives");
    for (place, (ending, write)) in WRITERS.iter().enumerate() {
        let (other, _) = WRITERS[(place + 1) % WRITERS.len()];
        let tar = raw_tar(&[(&path, text)]);
        let member = format!("{path}{ending}");
        let files = [
            (format!("{path}{ending}"), write(text)),
            (path.clone(), write(text)),
            (format!("{path}{other}"), write(text)),
            (format!("{name}.tar{ending}"), write(&tar)),
            (format!("{name}.tar"), write(&tar)),
            (format!("{name}.tar"), raw_tar(&[(&member, &write(text))])),
            (
                format!("{name}.tar{other}"),
                write(&raw_tar(&[(&path, &write(text))])),
            ),
            (
                format!("{name}.zip"),
                zip(&format!("a\\b\\{member}"), &write(text)),
            ),
            (format!("{name}.csv"), zip(&path, text)),
        ];
        for (number, (file, bytes)) in files.into_iter().enumerate() {
            let scratch = Scratch::new();
            scratch.file(&file, &bytes);
            let run = scratch.convert(&["--part-rows", "200"]);
            let outcome = ensure(run.code == 0, || run.stderr.clone());
            let outcome = outcome.and_then(|()| {
                let is_same = outputs(&scratch.out()) == outputs(&plain.out());
                ensure(is_same, || "other rows".to_owned())?;
                let run = scratch.verify();
                ensure(run.code == 0, || run.stderr.clone())
            });
            score.count(&format!("{ending}, file {number}, {file}"), outcome);
        }
        for file in [&path, &format!("{name}.tar")] {
            let inner = WRITERS[(place + 2) % WRITERS.len()].1(text);
            let twice = write(&inner);
            let bytes = if file.ends_with("tar") {
                raw_tar(&[(&path, &twice)])
            } else {
                twice
            };
            let scratch = Scratch::new();
            scratch.file(file, &bytes);
            scratch.convert(&[]).refuses(5, "compressed twice, with ");
        }
    }
    score.close();
}

/// A zip archive of one file.
fn zip(path: &str, text: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file(path, stored).unwrap();
    zip.write_all(text).unwrap();
    zip.finish().unwrap().into_inner()
}

/// A window of 64 MiB takes more than a part has, unless there is more memory.
#[test]
fn a_large_window_needs_memory() {
    let (table, text) = table_and_text();
    let scratch = Scratch::new();
    let file = zstd_with_window(26, text.as_bytes());
    scratch.file(&format!("{table}.csv"), &file);
    let run = scratch.convert(&["--threads", "1"]);
    run.refuses(
        5,
        "needs a window of 67,108,864 bytes, and a part has 33,554,432 for it",
    );
    let run = scratch.convert(&["--threads", "1", "--memory", "289M"]);
    run.refuses(5, "a part has 66,554,432 for it; pass a larger --memory");
    scratch.convert_well(&["--threads", "1", "--memory", "290M"]);
    scratch.verify().well();
}

/// The members of an archive are listed before any work, within the same memory.
#[test]
fn a_large_window_is_refused_while_an_archive_is_listed() {
    let description = "family = \"mini\"\n[[trace]]\nname = \"mini\"\n[[trace.archive]]\nnames = [\"days.tar.gz\"]\n\
                       table = \"days\"\nsize = \"1K\"\n[[table]]\nname = \"days\"\nfiles = \"named\"\n\
                       names = [\"day-{n}.csv\"]\nparts = 2\n[table.columns]\nday = \"integer\"\n";
    let scratch = Scratch::new();
    let trace = scratch.path().join("mini.toml");
    std::fs::write(&trace, description).unwrap();
    let members: [(&str, &[u8]); 2] = [("day-0.csv", b"1\n"), ("day-1.csv", b"2\n")];
    let archive = zstd_with_window(26, &raw_tar(&members));
    scratch.file("days.tar.zst", &archive);
    let plan = [
        "--dry-run",
        "--threads",
        "1",
        "--trace",
        trace.to_str().unwrap(),
    ];
    let says = "needs a window of 67,108,864 bytes, and a part has 33,554,432 for it";
    scratch.convert(&plan).refuses(5, says);
    let planned = scratch.convert(&[&plan[..], &["--memory", "290M"]].concat());
    planned.exits(0);
}

/// An archive whose paths are as given, absolute ones too, which the crate's builder refuses.
pub(crate) fn raw_tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, text) in members {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(text);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// A table with a good text and what it becomes.
pub(crate) fn table_and_text() -> (&'static str, String) {
    let [table, _] = two_tables();
    (&table.name, rows::sample(table, 0, 30))
}

#[test]
fn what_is_no_table_is_named_and_passed_over() {
    let (table, text) = table_and_text();
    let path = format!("{table}.csv");
    let long = format!("{}/notes.csv", "x".repeat(200));
    let scratch = Scratch::new();
    let archive = tar(&[
        ("README", b"read me"),
        (&long, b"1,2,3"),
        (&path, text.as_bytes()),
        ("evil\u{1b}[2J.csv", b"4"),
    ]);
    scratch.file(&format!("{table}.tar.gz"), &gzip(&archive));
    let run = scratch.convert(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in ["README", &long, "evil"] {
        let said = run.stderr.lines().any(|line| {
            line.starts_with("warning: ") && line.contains(name) && line.contains("skipped")
        });
        assert!(said, "{name}: {}", run.stderr);
    }
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    assert_eq!(manifest(&scratch.out())["tables"][0]["rows"], 30);
}

#[test]
fn archives_that_do_not_fit_are_refused() {
    let (table, text) = table_and_text();
    let path = format!("{table}.csv");
    let good = (&path[..], text.as_bytes());
    let broken = (&path[..], &b"1,2\n"[..]);
    let with_end = |bytes: &[u8]| [&tar(&[good])[..], bytes].concat();
    for (what, archive, code, message) in [
        (
            "twice",
            tar(&[good, good]),
            4,
            "a second member of one table",
        ),
        ("none", tar(&[("x.csv", b"1")]), 4, "holds no"),
        ("empty", tar(&[]), 4, "holds no"),
        (
            "no archive",
            text.clone().into_bytes(),
            5,
            "0 bytes into the archive",
        ),
        ("after the end", with_end(b"x"), 5, "after the end"),
        (
            "a bad row",
            tar(&[broken]),
            4,
            &format!(".tar.gz/{path}:1:1: {table}: "),
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file(&format!("{table}.tar.gz"), &gzip(&archive));
        let run = scratch.convert(&[]);
        assert_eq!(run.code, code, "{what}: {}", run.stderr);
        let said = run.stderr.lines().last().unwrap_or_default();
        assert!(said.contains(message), "{what}: {said}");
        assert!(
            !scratch.out().join("_tracelake/manifest.json").exists(),
            "{what}"
        );
    }
}

#[test]
fn a_table_that_is_there_twice_is_refused_before_any_work() {
    let (table, text) = table_and_text();
    let path = format!("{table}.csv");
    let archive = gzip(&tar(&[(&path, text.as_bytes())]));
    for other in [
        format!("{}.tar.gz", archive_stem()),
        format!("{table}.tar.gz"),
    ] {
        let scratch = Scratch::new();
        scratch.file(&path, text.as_bytes());
        scratch.file(&other, &archive);
        scratch.convert(&[]).refuses(1, "move one of them away");
        assert!(!scratch.out().exists());
    }
}

#[test]
fn every_cut_of_an_archive_is_noticed() {
    let (table, text) = table_and_text();
    let path = format!("{table}.csv");
    let archive = tar(&[("README", b"read me"), (&path, text.as_bytes())]);
    // Behind the last block of the table there is nothing to miss but zeros, and not even these.
    let needed = (3 * 512 + text.len()).next_multiple_of(512);
    let mut score = Score::one_in(5, "archives cut at every 29th byte");
    for length in (1..archive.len()).step_by(29) {
        if !score.is_due() {
            continue;
        }
        let scratch = Scratch::new();
        scratch.file(&format!("{table}.tar"), &archive[..length]);
        let run = scratch.convert(&[]);
        let whole = length == needed || length >= needed + 512;
        let expected: &[i32] = if whole { &[0] } else { &[4, 5] };
        let visible = scratch.out().join("_tracelake/manifest.json").exists();
        score.count(
            &format!("{length} bytes"),
            ensure(expected.contains(&run.code) && visible == whole, || {
                format!("exit {}: {}", run.code, run.stderr)
            }),
        );
    }
    score.close();
}

/// Archives of foreign origin, each alone and before the file of a table: nothing is written but
/// the lake, and a member that is no table does no harm to one.
#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn foreign_archives_do_nothing() {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in fs::read_dir(suites().join("tar")).unwrap() {
        let files = fs::read_dir(folder.unwrap().path()).unwrap();
        found.extend(files.map(|file| file.unwrap().path()));
    }
    found.sort();
    let (table, text) = table_and_text();
    let path = format!("{table}.csv");
    let mut score = Score::one_in(3, "foreign archives");
    for file in found {
        let bytes = fs::read(&file).unwrap();
        let members = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let both = [
            &bytes[..members.next_multiple_of(512)],
            &tar(&[(&path, text.as_bytes())]),
        ]
        .concat();
        for (archive, with_table) in [(&bytes, false), (&both, true)] {
            if !score.is_due() {
                continue;
            }
            let scratch = Scratch::new();
            scratch.file(&format!("{table}.tar"), archive);
            let before = tree(&scratch.src());
            let out = scratch.path().join("a/b/out");
            let run = convert(&scratch.src(), &out, &[]);
            let right = match run.code {
                0 => with_table && manifest(&out)["tables"][0]["rows"] == 30,
                4 | 5 => !out.join("_tracelake/manifest.json").exists(),
                _ => false,
            };
            let names = fs::read_dir(scratch.path()).unwrap().count();
            let alone = names <= 2 && tree(&scratch.src()) == before;
            score.count(
                &format!("{}, with a table: {with_table}", file.display()),
                ensure(right && alone, || {
                    format!("exit {}: {}", run.code, run.stderr)
                }),
            );
        }
    }
    score.close();
}

/// The publisher's name of the archive that holds all tables, without its ending.
pub(crate) fn archive_stem() -> &'static str {
    let mut archives = whole_trace().archives.iter();
    let all = archives.find(|archive| archive.table.is_none()).unwrap();
    all.names[0].strip_suffix(".tar.gz").unwrap()
}

#[test]
fn an_archive_is_recognised_by_every_name_it_was_published_under() {
    let text = |table: &'static Table| rows::sample(table, 0, 5);
    for archive in &whole_trace().archives {
        let tables = whole_trace().tables.iter();
        let held = tables.filter(|table| {
            archive
                .table
                .as_deref()
                .is_none_or(|name| name == table.name)
        });
        let members: Vec<(String, String)> = held
            .map(|table| (format!("{}.csv", table.name), text(table)))
            .collect();
        let members = members
            .iter()
            .map(|(path, text)| (&path[..], text.as_bytes()));
        let bytes = gzip(&tar(&members.clone().collect::<Vec<_>>()));
        assert!(!archive.names.is_empty());
        for name in &archive.names {
            let scratch = Scratch::new();
            scratch.file(name, &bytes);
            scratch.convert_well(&[]);
            let found = manifest(&scratch.out());
            let found = found["tables"].as_array().unwrap();
            assert_eq!(found.len(), members.len(), "{name}");
        }
    }
}
