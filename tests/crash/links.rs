//! Names that lead elsewhere: nothing outside of SRC and OUT is read, written or removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::crash::child::within_time;
use tracelake_testkit::{
    Score, Scratch, convert, copy, ensure, finished_lake, good_line, good_row, gzip, manifest,
    output_path, tree, write_facts, write_manifest,
};

const MANIFEST: &str = "_tracelake/manifest.json";

/// A lake of two tables with its source, and a directory outside of both that looks like a lake's,
/// so that a program that went there would find something to read, replace or remove.
struct Neighbours {
    scratch: Scratch,
    outside: PathBuf,
}

fn neighbours() -> Neighbours {
    let scratch = Scratch::new();
    for table in ["job_events", "machine_events"] {
        scratch.only(table, format!("{}\nbad\n", good_row(table)).as_bytes());
    }
    scratch.convert(REJECT).exits(3);
    let outside = scratch.path().join("outside");
    copy(&scratch.out(), &outside);
    for (name, bytes) in tree(&scratch.out().join("job_events/file_number=0")).unwrap() {
        if let Some(bytes) = bytes {
            fs::write(outside.join(&name), &bytes).unwrap();
            fs::write(outside.join("_tracelake").join(&name), bytes).unwrap();
        }
    }
    let rejects = "_tracelake/rejects/job_events/part-00000-of-00001.ndjson";
    fs::copy(
        scratch.out().join(rejects),
        outside.join("part-00000-of-00001.ndjson"),
    )
    .unwrap();
    Neighbours { scratch, outside }
}

const REJECT: &[&str] = &["--on-bad-row", "reject"];

/// Runs every command on `out` and checks that nothing outside of it changes, that nothing hangs,
/// and that plain `convert` is refused.
fn refused(neighbours: &Neighbours, out: &Path, plain: i32) -> Result<(), String> {
    let outside = tree(&neighbours.outside);
    let source = neighbours.scratch.src();
    let (src, lake) = (source.to_str().unwrap(), out.to_str().unwrap());
    let commands: &[(&[&str], &[i32])] = &[
        (&["inspect", lake], &[0, 6]),
        (&["verify", lake], &[5, 6]),
        (&["verify", lake, "--source", src], &[5, 6]),
        (&["convert", src, lake, "--on-bad-row", "reject"], &[plain]),
        (
            &[
                "convert",
                src,
                lake,
                "--on-bad-row",
                "reject",
                "--tables",
                "machine_events",
            ],
            &[plain],
        ),
        (
            &[
                "convert",
                src,
                lake,
                "--on-bad-row",
                "reject",
                "--overwrite",
            ],
            &[3, plain],
        ),
    ];
    for (arguments, codes) in commands {
        let run = within_time(arguments);
        let shown: Vec<_> = arguments
            .iter()
            .filter(|part| !part.starts_with('/'))
            .collect();
        ensure(codes.contains(&run.code), || {
            format!("{shown:?}: exit {}: {}", run.code, run.stderr)
        })?;
        ensure(!run.stderr.contains("panicked"), || run.stderr.clone())?;
        ensure(tree(&neighbours.outside) == outside, || {
            format!("{shown:?} changed something outside")
        })?;
    }
    Ok(())
}

/// Paths that a manifest of strangers may name.
fn paths(neighbours: &Neighbours) -> Vec<String> {
    let outside = neighbours.outside.to_str().unwrap();
    let name = "part-00000-of-00001.parquet";
    vec![
        format!("../outside/{name}"),
        format!("job_events/../../outside/{name}"),
        format!("./../outside/{name}"),
        format!("{outside}/{name}"),
        format!("//{outside}/{name}"),
        "..".to_owned(),
        "/".to_owned(),
        "/etc/passwd".to_owned(),
        "../../../../../../../../../../etc/passwd".to_owned(),
    ]
}

#[test]
fn a_manifest_cannot_name_what_lies_outside() {
    let neighbours = neighbours();
    let mut score = Score::new("manifests that name files outside");
    for place in ["output", "rejects"] {
        for path in paths(&neighbours) {
            let out = neighbours.scratch.path().join("hostile");
            copy(&neighbours.scratch.out(), &out);
            let mut json = manifest(&out);
            json["tables"][0]["parts"][0][place]["path"] = Value::from(&*path);
            write_manifest(&out, &json);
            let outcome = refused(&neighbours, &out, 6);
            score.count(&format!("{place} is {path}"), outcome);
            fs::remove_dir_all(&out).unwrap();
        }
    }
    // The facts of an unfinished lake say the same.
    for path in paths(&neighbours) {
        let out = neighbours.scratch.path().join("hostile");
        copy(&neighbours.scratch.out(), &out);
        let mut part = manifest(&out)["tables"][0]["parts"][0].clone();
        part["output"]["path"] = Value::from(&*path);
        write_facts(&out, "job_events", &part);
        fs::remove_file(out.join(MANIFEST)).unwrap();
        score.count(
            &format!("the facts' output is {path}"),
            refused(&neighbours, &out, 6),
        );
        fs::remove_dir_all(&out).unwrap();
    }
    score.close();
}

/// Names of a lake that may be links to the directory outside, or to what it has in this place.
const LINKS: &[(&str, &str)] = &[
    ("job_events", ""),
    ("job_events", "job_events"),
    ("task_usage", ""),
    ("job_events/file_number=0", ""),
    ("job_events/file_number=7", ""),
    (
        "job_events/file_number=0/part-00000-of-00001.parquet",
        "part-00000-of-00001.parquet",
    ),
    (
        "job_events/file_number=0/part-00000-of-00001.parquet",
        "nothing",
    ),
    ("_tracelake", "_tracelake"),
    ("_tracelake/rejects", ""),
    ("_tracelake/rejects", "_tracelake/rejects"),
    ("_tracelake/rejects/job_events", ""),
    ("_tracelake/rejects/task_usage", ""),
    (
        "_tracelake/rejects/job_events/part-00000-of-00001.ndjson",
        "part-00000-of-00001.ndjson",
    ),
    ("_tracelake/staging", ""),
    ("_tracelake/staging", "_tracelake"),
    ("_tracelake/lock", "part-00000-of-00001.ndjson"),
    ("_tracelake/lock", "nothing"),
    ("_tracelake/work", "nothing"),
    ("_tracelake/lake.json", "_tracelake/manifest.json"),
    ("_tracelake/lake.json", "nothing"),
    ("_tracelake/facts", "_tracelake"),
    ("_tracelake/plans", "_tracelake"),
];

#[test]
fn a_link_in_a_lake_is_not_followed() {
    follows_no("links in a lake", LINKS);
}

#[test]
fn a_manifest_that_is_a_link_is_not_followed() {
    let links = &[("_tracelake/manifest.json", "_tracelake/manifest.json")];
    follows_no("manifests that are links", links);
}

fn follows_no(what: &'static str, links: &[(&str, &str)]) {
    let neighbours = neighbours();
    let mut score = Score::new(what);
    for (name, target) in links {
        let out = neighbours.scratch.path().join("hostile");
        copy(&neighbours.scratch.out(), &out);
        let link = out.join(name);
        if link.is_dir() {
            fs::remove_dir_all(&link).unwrap();
        } else if link.exists() {
            fs::remove_file(&link).unwrap();
        }
        symlink(neighbours.outside.join(target), &link).unwrap();
        score.count(
            &format!("{name} -> {target}"),
            links_refused(&neighbours, &out),
        );
        fs::remove_dir_all(&out).unwrap();
    }
    score.close();
}

/// Checks what [`refused`] checks; a link at a place that a finished lake does not have is seen when it is used.
fn links_refused(neighbours: &Neighbours, out: &Path) -> Result<(), String> {
    let outside = tree(&neighbours.outside);
    let source = neighbours.scratch.src();
    let (src, lake) = (source.to_str().unwrap(), out.to_str().unwrap());
    let convert = ["convert", src, lake, "--on-bad-row", "reject"];
    let mut refusals = 0;
    for more in [&[][..], &["--overwrite"]] {
        let run = within_time(&[&convert[..], more].concat());
        ensure([3, 6].contains(&run.code), || {
            format!("convert {more:?}: exit {}: {}", run.code, run.stderr)
        })?;
        ensure(tree(&neighbours.outside) == outside, || {
            format!("convert {more:?} changed something outside")
        })?;
        refusals += u32::from(run.code == 6);
    }
    for arguments in [
        &["verify", lake][..],
        &["verify", lake, "--source", src],
        &["inspect", lake],
    ] {
        let run = within_time(arguments);
        ensure([0, 5, 6].contains(&run.code), || run.stderr)?;
    }
    ensure(tree(&neighbours.outside) == outside, || {
        "changed outside".to_owned()
    })?;
    ensure(refusals > 0, || "was not refused".to_owned())
}

/// Links out of a source: where the link is, and its target.
const SOURCE_LINKS: &[(&str, &str, i32)] = &[
    (
        "job_events/part-00001-of-00002.csv.gz",
        "../../outside/file.gz",
        6,
    ),
    ("job_events/part-00001-of-00002.csv.gz", "/etc/passwd", 6),
    ("job_events/part-00001-of-00002.csv.gz", "/dev/zero", 6),
    ("job_events/part-00001-of-00002.csv.gz", "nothing", 1),
    (
        "job_events/part-00001-of-00002.csv.gz",
        "part-00001-of-00002.csv.gz",
        1,
    ),
    ("task_events", "../outside", 6),
    ("task_events", "/", 6),
    ("schema.csv", "../outside/file.gz", 6),
    ("schema.csv", "/dev/zero", 6),
    ("SHA256SUM", "../outside/file.gz", 6),
    ("SHA256SUM", "/dev/zero", 6),
    // Links that stay inside are fine.
    (
        "job_events/part-00001-of-00002.csv.gz",
        "part-00000-of-00002.csv.gz",
        0,
    ),
    (
        "job_events/part-00001-of-00002.csv.gz",
        "../other/file.gz",
        0,
    ),
];

#[test]
fn a_link_out_of_the_source_is_refused() {
    let mut score = Score::new("links in a source");
    for (link, target, code) in SOURCE_LINKS {
        let scratch = Scratch::new();
        let row = gzip(good_line("job_events").as_bytes());
        scratch.file("job_events/part-00000-of-00002.csv.gz", &row);
        scratch.file("other/file.gz", &row);
        fs::create_dir(scratch.path().join("outside")).unwrap();
        for name in ["file.gz", "part-00000-of-00001.csv.gz"] {
            fs::write(scratch.path().join("outside").join(name), &row).unwrap();
        }
        symlink(target, scratch.src().join(link)).unwrap();
        let (src, out) = (scratch.src(), scratch.out());
        let (src, out) = (src.to_str().unwrap(), out.to_str().unwrap());
        let run = within_time(&["convert", src, out, "--allow-missing"]);
        let outcome = ensure(run.code == *code, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome = outcome.and_then(|()| {
            let named = *code == 0 || run.message().contains(&format!("{src}/{link}: "));
            ensure(named, || run.stderr.clone())?;
            ensure(*code == 0 || !scratch.out().exists(), || {
                "OUT was made".to_owned()
            })
        });
        score.count(&format!("{link} -> {target}"), outcome);
    }
    score.close();
}

/// Pipes where files are expected would be waited on for ever.
const PIPES: &[&str] = &[
    "src/job_events/part-00000-of-00001.csv.gz",
    "src/schema.csv",
    "src/SHA256SUM",
    "out/_tracelake/manifest.json",
    "out/_tracelake/lake.json",
    "out/_tracelake/lock",
    "out/job_events/file_number=0/part-00000-of-00001.parquet",
];

#[test]
fn a_pipe_in_place_of_a_file_does_not_hang() {
    let mut score = Score::new("pipes in place of files");
    for path in PIPES {
        let scratch = Scratch::new();
        scratch.good("job_events");
        copy(finished_lake(), &scratch.out());
        let fifo = scratch.path().join(path);
        let _ = fs::remove_file(&fifo);
        assert!(
            Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let (src, out) = (scratch.src(), scratch.out());
        let (src, out) = (src.to_str().unwrap(), out.to_str().unwrap());
        for arguments in [
            &["convert", src, out][..],
            &["verify", out],
            &["verify", out, "--source", src],
            &["inspect", out],
            &["inspect", src],
        ] {
            let run = within_time(arguments);
            let outcome = ensure(run.code >= 0, || "hangs".to_owned());
            score.count(&format!("{path}: {}", arguments[0]), outcome);
        }
    }
    score.close();
}

/// A list of checksums names files; none of them is opened for being named.
#[test]
fn a_list_of_checksums_opens_nothing() {
    let scratch = Scratch::new();
    scratch.good("job_events");
    let fifo = scratch.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let digest = "ab".repeat(32);
    let mut list = String::new();
    for name in [
        "../fifo",
        fifo.to_str().unwrap(),
        "job_events/../../fifo",
        "/dev/zero",
    ] {
        list += &format!("{digest}  {name}\n{digest} *{name}\n");
    }
    scratch.file("SHA256SUM", list.as_bytes());
    let (src, out) = (scratch.src(), scratch.out());
    within_time(&["convert", src.to_str().unwrap(), out.to_str().unwrap()]).well();
    assert!(out.join(output_path("job_events", 0, 1)).exists());
    let _ = convert(&src, &out, &[]);
}
