//! An OUT that was damaged, cut or changed between two runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracelake_core::seal;
use tracelake_schema::TRACES;

use tracelake_testkit::{
    Score, Scratch, assert_same_tree, convert, copy, ensure, generate, good_line, output_path, run,
    tree,
};

const MANIFEST: &str = "_tracelake/manifest.json";
const FACTS: &str = "_tracelake/facts/";
const IDENTITY: &str = "_tracelake/lake.json";

/// The smallest lakes that have two finished parts: a source, its lake, and what a run that failed
/// at its last part left.
struct Small {
    scratch: Scratch,
    left: PathBuf,
}

fn small() -> Small {
    let scratch = Scratch::new();
    let rows = |table: &str, rows: usize| good_line(table).repeat(rows);
    scratch.only("job_events", rows("job_events", 40).as_bytes());
    scratch.only("machine_events", rows("machine_events", 20).as_bytes());
    scratch.only("task_constraints", rows("task_constraints", 1).as_bytes());
    scratch.convert_well(&[]);
    // The smallest part comes last, and fails.
    let left = scratch.path().join("left");
    let last = "task_constraints/part-00000-of-00001.csv.gz";
    let whole = fs::read(scratch.src().join(last)).unwrap();
    scratch.file(last, &whole[..20]);
    convert(&scratch.src(), &left, &["--threads", "1"]).exits(5);
    scratch.file(last, &whole);
    Small { scratch, left }
}

/// Runs once more on `out` and checks that the lake is the undisturbed one.
fn made_right(small: &Scratch, out: &Path) -> Result<(), String> {
    let run = convert(&small.src(), out, &["--threads", "1"]);
    ensure(run.code == 0, || run.stderr.clone())?;
    ensure(tree(out) == tree(&small.out()), || {
        "another lake".to_owned()
    })
}

/// The paths of facts in a lake.
fn facts(out: &Path) -> Vec<String> {
    let files = tree(out).unwrap().into_iter();
    let facts = files.filter(|(name, bytes)| bytes.is_some() && name.starts_with(FACTS));
    facts.map(|(name, _)| name).collect()
}

/// A part whose facts are damaged can't be made again beside them: its run is refused, and names the way out.
#[test]
fn facts_that_are_torn_or_changed_are_never_believed() {
    let Small { scratch, left } = small();
    let before = scratch.path().join("before");
    copy(&left, &before);
    let names = facts(&before);
    assert_eq!(names.len(), 2, "{names:?}");
    let mut score = Score::one_in(7, "facts torn or changed at every byte");
    for name in &names {
        let whole = fs::read(before.join(name)).unwrap();
        for at in (0..whole.len()).step_by(13) {
            for torn in [false, true] {
                if !score.is_due() {
                    continue;
                }
                fs::remove_dir_all(&left).unwrap();
                copy(&before, &left);
                let mut bytes = whole.clone();
                match torn {
                    true => bytes.truncate(at),
                    false => bytes[at] ^= 4,
                }
                fs::write(left.join(name), bytes).unwrap();
                let outcome = || {
                    let run = convert(&scratch.src(), &left, &["--threads", "1"]);
                    ensure(run.code == 6, || {
                        format!("exit {}: {}", run.code, run.stderr)
                    })?;
                    ensure(run.message().contains("--forget"), || run.stderr.clone())?;
                    ensure(!left.join(MANIFEST).exists(), || "a manifest".to_owned())?;
                    let forget = ["commit", left.to_str().unwrap(), "--forget"];
                    let forgotten = tracelake_testkit::run(forget);
                    ensure(forgotten.code == 0, || forgotten.stderr.clone())?;
                    made_right(&scratch, &left)
                };
                score.count(&format!("{name}, byte {at}, torn: {torn}"), outcome());
            }
        }
    }
    score.close();
}

#[test]
fn a_torn_manifest_is_never_believed() {
    let Small { scratch, .. } = small();
    let whole = fs::read(scratch.out().join(MANIFEST)).unwrap();
    let out = scratch.path().join("torn");
    let mut score = Score::new("manifests torn at every 97th byte");
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 2]) {
        copy(&scratch.out(), &out);
        fs::write(out.join(MANIFEST), &whole[..length]).unwrap();
        score.count(&format!("{length} bytes"), made_right(&scratch, &out));
        fs::remove_dir_all(&out).unwrap();
    }
    score.close();
}

/// Damage to a finished lake; it must neither be repaired in silence nor stay.
type Damage = (&'static str, fn(&Path, &Path));

fn output(out: &Path) -> PathBuf {
    out.join(output_path("job_events", 0, 1))
}

const DAMAGES: &[Damage] = &[
    ("an output is missing", |out, _| {
        fs::remove_file(output(out)).unwrap()
    }),
    ("an output's directory is missing", |out, _| {
        fs::remove_dir_all(output(out).parent().unwrap()).unwrap();
    }),
    ("an output is cut", |out, _| {
        let bytes = fs::read(output(out)).unwrap();
        fs::write(output(out), &bytes[..bytes.len() - 1]).unwrap();
    }),
    ("an output is longer", |out, _| {
        let bytes = fs::read(output(out)).unwrap();
        fs::write(output(out), [&bytes[..], b"\0"].concat()).unwrap();
    }),
    ("an output is another part's", |out, _| {
        fs::copy(out.join(output_path("machine_events", 0, 1)), output(out)).unwrap();
    }),
    ("leftovers of a killed run", |out, _| {
        let staging = out.join("_tracelake/staging");
        fs::create_dir_all(&staging).unwrap();
        for name in [
            "job_events-file_number=0-part-00000-of-00001.parquet",
            "x",
            "_tracelake-manifest.json",
        ] {
            fs::write(staging.join(name), "half").unwrap();
        }
    }),
    ("locks that nobody holds", |out, _| {
        fs::write(out.join("_tracelake/lock"), "").unwrap();
        fs::write(out.join("_tracelake/work"), "").unwrap();
    }),
];

/// A name, the exit code, and what is done to a finished lake, with a place to put things aside.
type Obstacle = (&'static str, i32, fn(&Path, &Path));

/// Obstacles to a run; it is refused or fails with one line, nothing is lost, and when the obstacle
/// is taken away the next run makes the lake right.
const OBSTACLES: &[Obstacle] = &[
    ("the staging directory is a file", 6, |out, _| {
        fs::write(out.join("_tracelake/staging"), "x").unwrap();
    }),
    ("an output is a directory", 1, |out, _| {
        fs::remove_file(output(out)).unwrap();
        fs::create_dir(output(out)).unwrap();
    }),
    ("an output is a full directory", 6, |out, _| {
        fs::remove_file(output(out)).unwrap();
        fs::create_dir(output(out)).unwrap();
        fs::write(output(out).join("file"), "x").unwrap();
    }),
    ("an output is a link to its own bytes", 6, |out, aside| {
        fs::rename(output(out), aside).unwrap();
        symlink(aside, output(out)).unwrap();
    }),
    ("an output is a link to nothing", 6, |out, aside| {
        fs::remove_file(output(out)).unwrap();
        symlink(aside, output(out)).unwrap();
    }),
    ("an output's directory is a file", 6, |out, _| {
        let directory = output(out).parent().unwrap().to_owned();
        fs::remove_dir_all(&directory).unwrap();
        fs::write(directory, "x").unwrap();
    }),
];

#[test]
fn a_damaged_output_is_made_again() {
    let Small { scratch, .. } = small();
    let out = scratch.path().join("damaged");
    let mut score = Score::new("damaged lakes");
    for (name, damage) in DAMAGES {
        copy(&scratch.out(), &out);
        damage(&out, &scratch.path().join("aside"));
        score.count(name, made_right(&scratch, &out));
        fs::remove_dir_all(&out).unwrap();
    }
    let whole = fs::read(output(&scratch.out())).unwrap();
    for at in (0..whole.len()).step_by(61) {
        copy(&scratch.out(), &out);
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(output(&out), bytes).unwrap();
        score.count(&format!("byte {at} flipped"), made_right(&scratch, &out));
        fs::remove_dir_all(&out).unwrap();
    }
    score.close();
}

#[test]
fn an_obstacle_in_a_lake_is_one_clear_error() {
    let Small { scratch, .. } = small();
    let out = scratch.path().join("obstructed");
    let mut score = Score::new("obstacles in a lake");
    for (name, code, obstruct) in OBSTACLES {
        let aside = scratch.path().join("aside");
        copy(&scratch.out(), &out);
        obstruct(&out, &aside);
        let run = convert(&scratch.src(), &out, &[]);
        let errors: Vec<&str> = run
            .stderr
            .lines()
            .filter(|l| !l.starts_with("warning: "))
            .collect();
        let outcome = ensure(run.code == *code && errors.len() == 1, || {
            format!("exit {}, {errors:?}", run.code)
        });
        let outcome = outcome.and_then(|()| {
            ensure(errors[0].contains(out.to_str().unwrap()), || {
                errors[0].to_owned()
            })?;
            for place in [output(&out), output(&out).parent().unwrap().to_owned()] {
                if place.is_dir() && !place.is_symlink() {
                    fs::remove_dir_all(place).unwrap();
                } else if place.symlink_metadata().is_ok() {
                    fs::remove_file(place).unwrap();
                }
            }
            let _ = fs::remove_file(out.join("_tracelake/staging"));
            made_right(&scratch, &out)
        });
        score.count(name, outcome);
        fs::remove_dir_all(&out).unwrap();
        let _ = fs::remove_file(aside);
    }
    score.close();
}

/// Beside a damaged manifest, a run that makes all outputs again replaces it; one that doesn't is refused. Where there is
/// none, nobody knows whether an earlier run has made the outputs.
#[test]
fn a_damaged_manifest_is_replaced_by_a_run_that_makes_every_output() {
    let derives = TRACES.iter().find(|trace| !trace.derived.is_empty());
    let trace = derives.unwrap();
    let scratch = Scratch::new();
    fs::remove_dir(scratch.src()).unwrap();
    generate(&trace.name, &scratch.src(), &["--rows", "60"]);
    let derive = ["--derive", "dag"];
    scratch.convert_well(&derive);
    assert!(scratch.out().join(&*trace.derived[0].table.name).is_dir());
    let expected = tree(&scratch.out());
    fs::write(scratch.out().join(MANIFEST), "{}").unwrap();
    scratch.convert(&[]).exits(6);
    scratch.convert_well(&derive);
    assert_same_tree(&tree(&scratch.out()), &expected, "again");
    fs::remove_file(scratch.out().join(MANIFEST)).unwrap();
    let unnamed = scratch.convert(&derive);
    unnamed.refuses(6, "--remove-unnamed");
    run([
        "commit",
        scratch.out().to_str().unwrap(),
        "--remove-unnamed",
    ]);
    scratch.convert_well(&derive);
    assert_same_tree(
        &tree(&scratch.out()),
        &expected,
        "after all unnamed outputs are removed",
    );
}

/// Replaces one string of the identity.
fn edit(out: &Path, pointer: &str, value: &str) {
    let path = out.join(IDENTITY);
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    *json.pointer_mut(pointer).unwrap() = Value::from(value);
    json.as_object_mut().unwrap().remove("sha256");
    let mut document = Vec::new();
    seal::write_document(&mut document, &json).unwrap();
    fs::write(path, document).unwrap();
}

/// Changes to a lake's identity, and how the refusal names them.
const IDENTITIES: &[(&str, &str, &str)] = &[
    ("/tool", "other", "tool was other and is now tracelake"),
    (
        "/trace",
        "google-2011-v2",
        "trace was google-2011-v2 and is now google-2011-v2.1",
    ),
    ("/options/layout", "flat", "layout was flat and is now hive"),
    (
        "/options/format",
        "arrow",
        "format was arrow and is now parquet",
    ),
    (
        "/options/compression",
        "zstd:9",
        "compression was zstd:9 and is now zstd:3",
    ),
    (
        "/options/compression",
        "lz4",
        "unknown compression 'lz4', expected zstd",
    ),
];

/// Of a finished lake and of an unfinished one.
#[test]
fn another_identity_is_refused_with_the_reason() {
    let Small { scratch, left } = small();
    let mut score = Score::new("other versions and options");
    for (pointer, value, says) in IDENTITIES {
        for unfinished in [false, true] {
            let out = scratch.path().join("changed");
            let finished = scratch.out();
            copy(if unfinished { &left } else { &finished }, &out);
            edit(&out, pointer, value);
            let before = tree(&out);
            let run = convert(&scratch.src(), &out, &[]);
            let outcome = (|| {
                let names = run.message().contains(says) && run.message().contains("--overwrite");
                ensure(run.code == 6 && names, || {
                    format!("{}: {}", run.code, run.stderr)
                })?;
                ensure(tree(&out) == before, || "something changed".to_owned())?;
                let over = convert(&scratch.src(), &out, &["--overwrite"]);
                ensure(over.code == 0, || over.stderr)?;
                ensure(tree(&out) == tree(&scratch.out()), || {
                    "another lake".to_owned()
                })
            })();
            score.count(&format!("{pointer}, unfinished: {unfinished}"), outcome);
            fs::remove_dir_all(&out).unwrap();
        }
    }
    score.close();
}

/// A source that changed after a part was finished, in a lake that is not.
#[test]
fn a_source_that_changed_is_refused_with_its_name() {
    let Small { scratch, left } = small();
    for text in ["", "601,,1,0,usr=,2,name=,logical=\n"] {
        scratch.only("job_events", text.as_bytes());
        for out in [&left, &scratch.out()] {
            let before = tree(out);
            let run = convert(&scratch.src(), out, &[]);
            assert_eq!(run.code, 6, "{}", run.stderr);
            let says = "job_events/part-00000-of-00001.csv.gz: job_events: is not the file that the \
                        lake was made from";
            run.says(says);
            assert_same_tree(&tree(out), &before, "refused");
        }
    }
}
