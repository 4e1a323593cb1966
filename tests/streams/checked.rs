//! Parts of a file that is cut into parts count only once all that covers them is checked: CRC, length, the publisher's
//! digest. Until then nothing names them and nobody sees them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::streams::archives::{archive_stem, raw_tar};
use crate::streams::two_tables;
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{
    Run, Score, Scratch, assert_same_tree, convert, ended, ensure, gzip, manifest, program, rows,
    run, sha256, tree, with_stores, xz, zstd,
};

const CUT: [&str; 2] = ["--part-rows", "100"];

/// A file of the first table that covers its parts wrongly.
struct Wrong {
    what: &'static str,
    name: String,
    bytes: Vec<u8>,
    /// The digest that its publisher lists.
    sum: Option<String>,
}

fn wrong_files() -> Vec<Wrong> {
    let [table, _] = two_tables();
    let text = rows::sample(table, 0, 350);
    let good = gzip(text.as_bytes());
    let member = format!("{}.csv", table.name);
    let wrong = |what, ending: &str, bytes: Vec<u8>| Wrong {
        what,
        name: format!("{}.{ending}", table.name),
        bytes,
        sum: None,
    };
    let changed = |bytes: &[u8], from_end: usize| {
        let mut bytes = bytes.to_vec();
        let at = bytes.len() - from_end;
        bytes[at] ^= 1;
        bytes
    };
    let tar = gzip(&raw_tar(&[(&member, text.as_bytes())]));
    vec![
        wrong("a wrong CRC", "csv.gz", changed(&good, 8)),
        wrong("a wrong length", "csv.gz", changed(&good, 4)),
        wrong("no end", "csv.gz", good[..good.len() - 9].to_vec()),
        wrong(
            "a wrong checksum of zstd",
            "csv.zst",
            changed(&zstd(text.as_bytes()), 1),
        ),
        wrong(
            "a wrong index of xz",
            "csv.xz",
            changed(&xz(text.as_bytes()), 20),
        ),
        wrong("an archive with a wrong CRC", "tar.gz", changed(&tar, 8)),
        wrong(
            "an archive without end",
            "tar.gz",
            tar[..tar.len() - 9].to_vec(),
        ),
        wrong(
            "a bad last row",
            "csv",
            (text.clone() + "no row\n").into_bytes(),
        ),
        Wrong {
            sum: Some(sha256(b"another file")),
            ..wrong("another digest than the listed one", "csv.gz", good)
        },
    ]
}

/// A source of this file, and of one of another table that is good.
fn source_of(wrong: &Wrong) -> Scratch {
    let [_, other] = two_tables();
    let scratch = Scratch::new();
    scratch.file(&wrong.name, &wrong.bytes);
    let other_name = format!("{}.csv.gz", other.name);
    let good = gzip(rows::sample(other, 0, 250).as_bytes());
    scratch.file(&other_name, &good);
    if let Some(sum) = &wrong.sum {
        let sums = format!("{sum}  {}\n{}  {other_name}\n", wrong.name, sha256(&good));
        scratch.file("SHA256SUM", sums.as_bytes());
    }
    scratch
}

/// The files in OUT of the first table, and of it in the lake's own directory.
fn files_of_first(out: &Path) -> Vec<String> {
    let [table, _] = two_tables();
    let files = tree(out).unwrap_or_default().into_iter();
    let names = files.filter(|(_, bytes)| bytes.is_some());
    let names = names.map(|(name, _)| name);
    names.filter(|name| name.contains(&*table.name)).collect()
}

/// Checks that a lake of the other table, converted next, has nothing of the wrong file.
fn only_the_other(scratch: &Scratch, run_on: impl Fn(&[&str]) -> Run) -> Result<(), String> {
    let [_, other] = two_tables();
    let next = run_on(&["--tables", &other.name]);
    ensure(next.code == 0, || {
        format!("the other table: {}", next.stderr)
    })?;
    let alone = Scratch::new();
    let expected = convert(
        &scratch.src(),
        &alone.out(),
        &[&CUT[..], &["--tables", &other.name]].concat(),
    );
    ensure(expected.code == 0, || expected.stderr.clone())?;
    ensure(tree(&scratch.out()) == tree(&alone.out()), || {
        "not the lake of the other table".to_owned()
    })
}

#[test]
fn a_wrong_file_leaves_nothing_on_a_disk() {
    let mut score = Score::new("wrong files that are cut into parts");
    for wrong in wrong_files() {
        let scratch = source_of(&wrong);
        let check = || {
            let failed = scratch.convert(&CUT);
            ensure(failed.code == 5 || failed.code == 4, || {
                format!("exit {}: {}", failed.code, failed.stderr)
            })?;
            let left = files_of_first(&scratch.out());
            ensure(left.is_empty(), || format!("it left {left:?}"))?;
            only_the_other(&scratch, |more| scratch.convert(&[&CUT[..], more].concat()))
        };
        score.count(wrong.what, check());
    }
    score.close();
}

#[test]
fn a_wrong_file_leaves_nothing_of_a_shard() {
    let mut score = Score::new("wrong files of a shard");
    for wrong in wrong_files() {
        let scratch = source_of(&wrong);
        let out = scratch.out();
        let shard = |index| {
            let shard = format!("{index}/2");
            scratch.convert(&[&CUT[..], &["--shard", &shard]].concat())
        };
        let check = || {
            let codes = [shard(0).code, shard(1).code];
            ensure(codes.contains(&0) && codes != [0, 0], || {
                format!("exits {codes:?}")
            })?;
            let left = files_of_first(&out);
            ensure(left.is_empty(), || format!("it left {left:?}"))?;
            let committed = run(["commit", out.to_str().unwrap()]);
            let says = format!("{}, which is cut into parts", wrong.name);
            ensure(
                committed.code == 6 && committed.message().contains(&says),
                || format!("exit {}: {}", committed.code, committed.stderr),
            )
        };
        score.count(wrong.what, check());
    }
    score.close();
}

#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_wrong_file_leaves_nothing_in_a_bucket() {
    let [table, other] = two_tables();
    let mut score = Score::new("wrong files that are cut into parts, in a bucket");
    for wrong in wrong_files() {
        let scratch = source_of(&wrong);
        let server = Server::start(Default::default(), |_| Answer::Well);
        let to_bucket = |more: &[&str]| {
            let mut command = with_stores(&server.url());
            command
                .arg("convert")
                .arg(scratch.src())
                .arg("s3://bucket/lake");
            ended(command.args(CUT).args(more).output().unwrap())
        };
        let check = || {
            let failed = to_bucket(&["--tables", &table.name]);
            ensure(failed.code == 5 || failed.code == 4, || {
                format!("exit {}: {}", failed.code, failed.stderr)
            })?;
            let named = |name: &&String| !name.ends_with("/lake.json");
            let objects = server.objects("bucket/lake/");
            let left: Vec<&String> = objects.keys().filter(named).collect();
            ensure(left.is_empty(), || format!("it left {left:?}"))?;
            ensure(server.uploads() == 0, || {
                format!("{} uploads are left", server.uploads())
            })?;
            let next = to_bucket(&["--tables", &other.name]);
            ensure(next.code == 0, || {
                format!("the other table: {}", next.stderr)
            })?;
            let objects = server.objects("bucket/lake/");
            ensure(
                !objects.keys().any(|name| name.starts_with(&*table.name)),
                || "parts of the wrong file".to_owned(),
            )
        };
        score.count(wrong.what, check());
    }
    score.close();
}

/// Each part waits with its files closed, and in a bucket with nothing in memory.
#[test]
fn many_parts_that_wait_need_no_open_files() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let text = rows::sample(table, 0, 3000);
    scratch.file(&format!("{}.csv.gz", table.name), &gzip(text.as_bytes()));
    let (program, options) = (program(), ["--part-rows", "10", "--threads", "2"]);
    let limited = |out: PathBuf| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"]);
        command.arg(program.get_program()).args(program.get_args());
        command.arg("convert");
        command.args([scratch.src(), out]).args(options);
        ended(command.output().unwrap())
    };
    limited(scratch.out()).exits(0);
    let parts = manifest(&scratch.out())["tables"][0]["parts"].clone();
    assert_eq!(parts.as_array().unwrap().len(), 300);
}

/// The first part isn't visible while the last one is being made.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn no_part_is_visible_before_the_end_of_its_file() {
    let [table, _] = two_tables();
    let source = Scratch::new();
    let file = gzip(rows::sample(table, 0, 150_000).as_bytes());
    assert!(file.len() > 3 << 20, "several blocks of a download");
    source.file(&format!("{}.csv.gz", table.name), &file);
    let out = Scratch::new();
    let (path, length) = (out.out(), file.len());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&seen);
    let server = Server::of(&source.src(), "bucket/trace/", move |asked| {
        // The block at the end is asked for while the parts before it are converted.
        if asked.range().is_some_and(|(_, end)| end >= length) {
            let is_part = |name: &String| name.ends_with(".parquet");
            let names = tree(&path).unwrap_or_default().into_keys();
            let staged = |name: &String| name.starts_with("_tracelake/staging/");
            log.lock()
                .unwrap()
                .extend(names.filter(|name| is_part(name) && !staged(name)));
        }
        Answer::Well
    });
    let mut command = with_stores(&server.url());
    command
        .args(["convert", "s3://bucket/trace"])
        .arg(out.out());
    command.args(["--part-rows", "1000", "--threads", "1"]);
    ended(command.output().unwrap()).exits(0);
    assert_eq!(*seen.lock().unwrap(), [""; 0]);
}

/// A source with one archive of both tables, 350 rows each.
fn both_in_an_archive() -> Scratch {
    let scratch = Scratch::new();
    let texts =
        two_tables().map(|table| (format!("{}.csv", table.name), rows::sample(table, 0, 350)));
    let members = texts
        .each_ref()
        .map(|(name, text)| (&name[..], text.as_bytes()));
    let name = format!("{}.tar.gz", archive_stem());
    scratch.file(&name, &gzip(&raw_tar(&members)));
    scratch
}

/// A run that was killed while it noted the parts of an archive is not taken for one that has finished it.
#[test]
fn an_archive_that_is_half_noted_is_read_again() {
    let [_, other] = two_tables();
    let scratch = both_in_an_archive();
    scratch.convert_well(&CUT);
    let whole = tree(&scratch.out());
    let out = scratch.path().join("sharded");
    let shard = [&CUT[..], &["--shard", "0/1"]].concat();
    let commit = || run(["commit", out.to_str().unwrap()]);
    // Facts come before outputs.
    for (what, and_facts) in [
        ("the outputs of a table", false),
        ("these, and their facts", true),
    ] {
        convert(&scratch.src(), &out, &shard).well();
        fs::remove_dir_all(out.join(&*other.name)).unwrap();
        if and_facts {
            fs::remove_dir_all(out.join("_tracelake/facts").join(&*other.name)).unwrap();
        }
        let early = commit();
        assert_eq!(early.code, 6, "{what}: {}", early.stderr);
        convert(&scratch.src(), &out, &shard).well();
        commit().well();
        assert_same_tree(&tree(&out), &whole, what);
        fs::remove_dir_all(&out).unwrap();
    }
}

/// A finished lake doesn't say which tables of an archive were asked for.
#[test]
fn the_other_table_of_an_archive_is_added() {
    let [table, _] = two_tables();
    let scratch = both_in_an_archive();
    scratch.convert_well(&CUT);
    let whole = tree(&scratch.out());
    let grown = scratch.path().join("grown");
    let one = [&CUT[..], &["--tables", &table.name]].concat();
    for more in [&one[..], &CUT] {
        convert(&scratch.src(), &grown, more).well();
    }
    assert_same_tree(&tree(&grown), &whole, "grown");
    // One that lacks a table is read again, and stays as it is.
    let text = rows::sample(table, 0, 350);
    let only = Scratch::new();
    let archive = raw_tar(&[(&format!("{}.csv", table.name), text.as_bytes())]);
    only.file(&format!("{}.tar.gz", archive_stem()), &gzip(&archive));
    only.convert_well(&CUT);
    let before = tree(&only.out());
    let modified = || {
        let manifest = only.out().join("_tracelake/manifest.json");
        fs::metadata(manifest).unwrap().modified().unwrap()
    };
    let then = modified();
    only.convert_well(&CUT);
    assert_same_tree(&tree(&only.out()), &before, "nothing to add");
    assert_eq!(modified(), then);
}

/// The parts of the beginning of a file have the digest of what was read, for good.
#[test]
fn what_was_made_of_a_beginning_grows_to_the_whole() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let text = rows::sample(table, 0, 60_000);
    scratch.file(&format!("{}.csv", table.name), text.as_bytes());
    let cut = ["--part-rows", "9000"];
    scratch.convert_well(&cut);
    let files = |out: &Path| {
        let mut files = tree(out).unwrap();
        files.retain(|path, _| path != "_tracelake/manifest.json");
        files
    };
    let grown = scratch.path().join("grown");
    let src = scratch.src();
    let convert_parts = |parts: &str| {
        convert(&src, &grown, &[&cut[..], &["--parts", parts]].concat()).well();
        let verify = [
            "verify",
            grown.to_str().unwrap(),
            "--source",
            src.to_str().unwrap(),
        ];
        run(verify).well();
    };
    let mut earlier: Vec<serde_json::Value> = Vec::new();
    for parts in ["0-1", "4", "2", "3-9"] {
        convert_parts(parts);
        let now = manifest(&grown)["tables"][0]["parts"]
            .as_array()
            .unwrap()
            .clone();
        assert!(
            earlier.iter().all(|part| now.contains(part)),
            "after {parts}"
        );
        earlier = now;
    }
    assert!(files(&grown) == files(&scratch.out()), "grown");
    let before = tree(&grown);
    let lost = format!("{}/file_number=0/part-00000.parquet", table.name);
    fs::remove_file(grown.join(lost)).unwrap();
    convert_parts("0");
    assert_same_tree(&tree(&grown), &before, "made again");
}
