//! Lakes in buckets: objects equal to the files of a lake on disk, even after stops and failures.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{convert, plain, with_stores};
use crate::crash::child::{HANGS, Working};
use tracelake_schema::{Files, Header, Syntax, TRACES, Table};
use tracelake_testkit::server::{Answer, Asked, Server, status};
use tracelake_testkit::{
    LOCKS, RELEASE_FILES, Run, Score, Scratch, committed_sample, ended, ensure, good_row, gzip,
    tree,
};

/// The files of a lake on disk, but for the lock, which a bucket has no use for.
pub(super) fn on_disk(lake: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = tree(lake).unwrap().into_iter();
    let files = files.filter_map(|(name, bytes)| Some((name, bytes?)));
    files
        .filter(|(name, _)| !LOCKS.contains(&&name[..]))
        .collect()
}

/// The sample as a lake on disk.
fn sample_lake() -> BTreeMap<String, Vec<u8>> {
    let scratch = Scratch::new();
    let source = committed_sample();
    convert(plain(), source.to_str().unwrap(), &scratch.out(), &[]).well();
    on_disk(&scratch.out())
}

/// Runs the program with these arguments.
fn run(server: &Server, arguments: &[&str]) -> Run {
    ended(with_stores(&server.url()).args(arguments).output().unwrap())
}

fn same(server: &Server, expected: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    same_but(server, expected, &[])
}

/// Compares the lake in the bucket with the expected files, and ignores those of `but`.
fn same_but(
    server: &Server,
    expected: &BTreeMap<String, Vec<u8>>,
    but: &[&str],
) -> Result<(), String> {
    let mut found = server.objects("bucket/lake/");
    // Those of committed parts stay in a bucket.
    found.retain(|name, _| !name.starts_with("_tracelake/facts/") && !but.contains(&&name[..]));
    let names = |map: &BTreeMap<String, Vec<u8>>| map.keys().cloned().collect::<Vec<_>>();
    ensure(names(&found) == names(expected), || {
        format!("{:?}", names(&found))
    })?;
    ensure(found == *expected, || {
        "an object has other bytes".to_owned()
    })?;
    ensure(server.uploads() == 0, || "an upload is left".to_owned())
}

/// Names of objects are those of files: what is missing in a bucket is refused before anything is read.
#[test]
fn a_bucket_that_lacks_known_parts_is_refused() {
    let counted = |table: &Table| {
        let is_text = table.syntax == Syntax::Csv && table.csv.header == Header::None;
        table.files == Files::Named && is_text && table.parts > 2
    };
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let table = tables
        .find(|table| counted(table) && table.naming.count().is_none())
        .unwrap();
    let scratch = Scratch::new();
    let name = table.naming.name_of(0, table.parts).unwrap();
    scratch.file(&name, &gzip(b"300,a,1,2,1.5\n"));
    let server = Server::of(&scratch.src(), "bucket/trace/", |_| Answer::Well);
    let out = scratch.out();
    let arguments = ["convert", "s3://bucket/trace", out.to_str().unwrap()];
    let refused = run(&server, &arguments);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let says = format!("{} of {} parts are missing", table.parts - 1, table.parts);
    refused.says(&says);
    assert!(!out.exists());
    let shown = run(&server, &["inspect", "s3://bucket/trace"]);
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    shown.shows("parts missing: ");
    run(&server, &[&arguments[..], &["--allow-missing"]].concat()).exits(0);
}

#[test]
fn a_lake_in_a_bucket_has_the_bytes_of_one_on_disk() {
    let expected = sample_lake();
    let mut score = Score::new("lakes in buckets");
    for (scheme, condition) in [
        ("s3", ("if-none-match", "*")),
        ("gs", ("x-goog-if-generation-match", "0")),
    ] {
        let server = Server::of(&committed_sample(), "bucket/trace/", |_| Answer::Well);
        let (source, out) = (
            format!("{scheme}://bucket/trace"),
            format!("{scheme}://bucket/lake"),
        );
        let well = |arguments: &[&str]| {
            let run = run(&server, arguments);
            ensure(run.code == 0, || format!("{arguments:?}: {}", run.stderr))
        };
        let outcome = well(&["convert", &source, &out])
            .and_then(|()| same(&server, &expected))
            .and_then(|()| well(&["convert", &source, &out]))
            .and_then(|()| same(&server, &expected))
            .and_then(|()| well(&["verify", &out, "--source", &source]))
            .and_then(|()| well(&["inspect", &out]))
            .and_then(|()| well(&["release", &out, "--allow-missing", "--delta"]))
            .and_then(|()| well(&["verify", &out]))
            .and_then(|()| well(&["convert", &source, &out]))
            .and_then(|()| {
                let old = format!("{out}/_tracelake/manifest.json");
                well(&["release", &out, "--allow-missing", "--since", &old])
            })
            .and_then(|()| well(&["release", &out, "--allow-missing", "--since", &out]))
            .and_then(|()| {
                let asked = server.asked().into_iter();
                let mut puts = asked.filter(|asked| {
                    asked.method == "PUT" && asked.path.ends_with("/manifest.json")
                });
                let is_new = |asked: Asked| asked.headers.get(condition.0).cloned();
                let value = condition.1;
                ensure(
                    puts.all(|asked| is_new(asked).as_deref() == Some(value)),
                    || "a manifest was put without a condition".to_owned(),
                )
            });
        score.count(scheme, outcome);
    }
    score.close();
}

#[test]
fn tables_are_added_and_shards_are_committed() {
    let expected = sample_lake();
    let (source, out) = ("s3://bucket/trace", "s3://bucket/lake");
    let mut score = Score::new("lakes in buckets in several runs");
    let added: &[&[&str]] = &[
        &["convert", source, out, "--tables", "job_events"],
        &["release", out, "--allow-missing"],
        &["convert", source, out],
    ];
    let shards: &[&[&str]] = &[
        &["convert", source, out, "--shard", "1/2"],
        &["convert", source, out, "--shard", "0/2"],
        &["commit", out],
        &["commit", out],
    ];
    // The copy of the sums of a release, and the plan of the shards.
    for (name, runs, removals) in [("added", added, 1), ("shards", shards, 1)] {
        let server = Server::of(&committed_sample(), "bucket/trace/", |_| Answer::Well);
        let outcome = runs.iter().try_for_each(|arguments| {
            let run = run(&server, arguments);
            ensure(run.code == 0, || format!("{arguments:?}: {}", run.stderr))
        });
        let asked = server.asked();
        let removed = asked.iter().filter(|asked| asked.query == "delete").count();
        let outcome = outcome.and_then(|()| {
            ensure(removed == removals, || {
                format!("{removed} requests to remove objects")
            })
        });
        score.count(
            name,
            outcome.and_then(|()| same_but(&server, &expected, &RELEASE_FILES)),
        );
    }
    score.close();
}

#[test]
fn what_a_store_gets_over_changes_no_lake() {
    let expected = sample_lake();
    let mut score = Score::new("stores with faults");
    let again = || vec![("Retry-After", "0".to_owned())];
    let busy = [500, 503, 429].map(|code| Answer::Status(code, again(), String::new()));
    for fault in busy.into_iter().chain([Answer::Lost]) {
        let name = format!("{fault:?}");
        let server = Server::of(&committed_sample(), "bucket/trace/", move |asked| {
            // Not more often than one request is tried again: others may get all the good answers.
            match asked.before {
                0 | 2 | 4 | 6 => fault.clone(),
                _ => Answer::Well,
            }
        });
        let run = run(
            &server,
            &["convert", "s3://bucket/trace", "s3://bucket/lake"],
        );
        let outcome = ensure(run.code == 0, || run.stderr.clone());
        score.count(&name, outcome.and_then(|()| same(&server, &expected)));
    }
    score.close();
}

/// Options with which the output of [`large`] is larger than one part of an upload.
pub(super) const UNCOMPRESSED: [&str; 2] = ["--compression", "none"];

/// A source whose only output is larger than one part of an upload; made once, never changed.
pub(super) fn large() -> &'static Scratch {
    static LARGE: OnceLock<Scratch> = OnceLock::new();
    LARGE.get_or_init(make_large)
}

fn make_large() -> Scratch {
    let scratch = Scratch::new();
    let mut text = String::new();
    let mut seed = 1_u64;
    for number in 0..900_000_u64 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let row = good_row("job_events").replacen("600", &number.to_string(), 1);
        text += &row.replacen("3418309", &(seed >> 2).to_string(), 1);
        text.push('\n');
    }
    scratch.file("job_events/part-00000-of-00001.csv", text.as_bytes());
    scratch
}

#[test]
fn an_output_of_several_parts_is_uploaded_or_leaves_nothing() {
    let source = large().src();
    let source = source.to_str().unwrap();
    let arguments = UNCOMPRESSED;
    let scratch = Scratch::new();
    convert(plain(), source, &scratch.out(), &arguments).well();
    let expected = on_disk(&scratch.out());
    assert!(
        expected.values().any(|bytes| bytes.len() > 9 << 20),
        "one part and no more"
    );
    let is_part = |asked: &Asked| asked.query.contains("partNumber=2");
    let server = Server::start(BTreeMap::new(), move |asked| {
        match is_part(asked) && asked.before < 20 {
            true => status(403),
            false => Answer::Well,
        }
    });
    let convert = || {
        let mut command = with_stores(&server.url());
        command
            .args(["convert", source, "s3://bucket/lake"])
            .args(arguments);
        ended(command.output().unwrap())
    };
    let failed = convert();
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    failed.prints("s3://bucket/lake/job_events");
    assert!(server.objects("bucket/lake/job_events").is_empty());
    assert_eq!(server.uploads(), 0);
    let server = Server::start(BTreeMap::new(), |_| Answer::Well);
    let mut command = with_stores(&server.url());
    command
        .args(["convert", source, "s3://bucket/lake"])
        .args(arguments);
    ended(command.output().unwrap()).exits(0);
    same(&server, &expected).unwrap();
    assert!(server.asked().iter().any(is_part));
}

#[test]
fn a_run_that_is_killed_twice_is_resumed_to_the_same_objects() {
    let expected = sample_lake();
    let mut score = Score::new("kills of runs into a bucket");
    for held in [
        ["_tracelake/manifest.json", "_tracelake/manifest.json"],
        ["task_usage/", "_tracelake/manifest.json"],
        ["_tracelake/facts/task_usage", "lake/task_usage/"],
    ] {
        // The server holds a run where it puts such an object: the first run and the second.
        let killed = Arc::new(AtomicUsize::new(0));
        let kills = Arc::clone(&killed);
        let is_held = move |asked: &Asked| {
            let next = held.get(kills.load(Ordering::Relaxed));
            asked.method == "PUT" && next.is_some_and(|next| asked.path.contains(next))
        };
        let is_asked = is_held.clone();
        let server = Server::of(
            &committed_sample(),
            "bucket/trace/",
            move |asked| match is_held(asked) {
                true => Answer::Silent,
                false => Answer::Well,
            },
        );
        for _ in 0..2 {
            let before = server.asked().len();
            let working = Working::start_under(
                with_stores(&server.url()),
                Path::new("s3://bucket/trace"),
                Path::new("s3://bucket/lake"),
                &[],
            );
            let begun = Instant::now();
            while !server.asked()[before..].iter().any(&is_asked) {
                if begun.elapsed() > HANGS / 3 {
                    working.signal("KILL");
                    panic!("{held:?} was not put: {}", working.end().0.stderr);
                }
                sleep(Duration::from_millis(10));
            }
            working.signal("KILL");
            let (ended, _) = working.end();
            assert_eq!(ended.code, -1);
            assert!(
                !server
                    .objects("bucket/lake/")
                    .contains_key("_tracelake/manifest.json")
            );
            killed.fetch_add(1, Ordering::Relaxed);
        }
        let resumed = run(
            &server,
            &["convert", "s3://bucket/trace", "s3://bucket/lake"],
        );
        let outcome = ensure(resumed.code == 0, || resumed.stderr.clone());
        score.count(held[0], outcome.and_then(|()| same(&server, &expected)));
    }
    score.close();
}

#[test]
fn refusals_in_a_bucket() {
    let server = Server::of(&committed_sample(), "bucket/trace/", |_| Answer::Well);
    let mut score = Score::new("refusals in a bucket");
    for (arguments, code, says) in [
        (
            &["convert", "s3://bucket/trace", "s3://bucket/trace/lake"][..],
            6,
            "OUT is inside SRC",
        ),
        (
            &["convert", "s3://bucket/trace", "s3://bucket"],
            6,
            "holds something else",
        ),
        (
            &[
                "convert",
                "s3://bucket/trace",
                "s3://bucket/lake",
                "--overwrite",
            ],
            2,
            "new prefix",
        ),
        (
            &["convert", "s3://bucket/trace", "http://127.0.0.1/lake"],
            2,
            "can't hold a lake",
        ),
        (&["verify", "s3://bucket/nothing"], 6, "not a finished lake"),
        (&["commit", "s3://bucket/nothing"], 6, "not a lake"),
    ] {
        let run = run(&server, arguments);
        let outcome = ensure(run.code == code, || {
            format!("exit {}: {}", run.code, run.stderr)
        })
        .and_then(|()| ensure(run.stderr.contains(says), || run.stderr.clone()));
        score.count(&arguments.join(" "), outcome);
    }
    score.close();
    assert!(server.objects("bucket/lake").is_empty());
}
