//! A lake that was disturbed becomes, by one more run, the lake that was never disturbed.

use std::fs;
use std::path::Path;

use tracelake_testkit::{Run, Scratch, assert_same_tree, convert, output_path, tree, unfinish};

fn finished() -> Scratch {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    scratch
}

/// How many parts a run did not have to do again.
fn kept(run: &Run) -> usize {
    run.stderr.matches("\"event\":\"kept\"").count()
}

fn converted(run: &Run) -> usize {
    run.stderr.matches("\"event\":\"finished\"").count()
}

/// All parts of the sample: two tables come in one part, four in three.
const PARTS: usize = 14;

/// A change to a finished lake, and how many parts have to be done again.
type Disturbance = (&'static str, fn(&Path), usize);

const DISTURBANCES: &[Disturbance] = &[
    ("nothing", |_| {}, 0),
    (
        "an output is gone",
        |out| fs::remove_file(one(out)).unwrap(),
        1,
    ),
    (
        "a table is gone",
        |out| fs::remove_dir_all(out.join("task_usage")).unwrap(),
        3,
    ),
    ("an output is cut", |out| cut(&one(out), 2), 1),
    ("an output is empty", |out| cut(&one(out), usize::MAX), 1),
    ("an output has another bit", |out| flip(&one(out)), 1),
    (
        "the manifest is torn",
        |out| cut(&out.join(MANIFEST), 2),
        PARTS,
    ),
    (
        "the manifest is empty",
        |out| cut(&out.join(MANIFEST), usize::MAX),
        PARTS,
    ),
    (
        "the manifest is something else",
        |out| fs::write(out.join(MANIFEST), "{}").unwrap(),
        PARTS,
    ),
    ("stopped before the manifest", |out| _ = unfinish(out), 0),
    (
        "stopped before the outputs of a part",
        |out| {
            unfinish(out);
            fs::remove_file(one(out)).unwrap();
        },
        1,
    ),
    (
        "stopped before a part",
        |out| {
            let facts = unfinish(out);
            fs::remove_file(&facts[0]).unwrap();
            let first = output_path("job_events", 0, 3);
            assert!(facts[0].ends_with("job_events/00000.json"), "{facts:?}");
            fs::remove_file(out.join(first)).unwrap();
        },
        1,
    ),
    (
        "stopped after the manifest, before the facts went",
        |out| {
            let manifest = fs::read(out.join(MANIFEST)).unwrap();
            unfinish(out);
            fs::write(out.join(MANIFEST), manifest).unwrap();
        },
        0,
    ),
    (
        "staged leftovers",
        |out| {
            fs::create_dir_all(out.join("_tracelake/staging")).unwrap();
            fs::write(out.join("_tracelake/staging/half.parquet"), "half").unwrap();
        },
        0,
    ),
];

const MANIFEST: &str = "_tracelake/manifest.json";

fn one(out: &Path) -> std::path::PathBuf {
    out.join(output_path("task_events", 1, 3))
}

/// Outputs that no run of the same plan makes: another number, another layout.
fn add_strays(out: &Path) {
    let stray = out.join("task_usage/file_number=99/part-00099-of-00100.parquet");
    fs::create_dir_all(stray.parent().unwrap()).unwrap();
    fs::copy(one(out), stray).unwrap();
    fs::copy(one(out), out.join("job_events/part-00000-of-00003.parquet")).unwrap();
}

fn cut(path: &Path, by: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / by]).unwrap();
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_disturbed_lake_becomes_the_undisturbed_one() {
    for &(name, disturb, again) in DISTURBANCES {
        let scratch = finished();
        let undisturbed = tree(&scratch.out());
        disturb(&scratch.out());
        let run = scratch.convert(&["--progress", "json"]);
        run.well();
        assert_eq!(
            (converted(&run), kept(&run)),
            (again, PARTS - again),
            "{name}: {}",
            run.stderr
        );
        assert_same_tree(&tree(&scratch.out()), &undisturbed, name);
    }
}

/// Nobody knows what damaged facts have said, so the part is made again only when they are forgotten.
#[test]
fn damaged_facts_are_kept_until_they_are_forgotten() {
    let scratch = finished();
    let undisturbed = tree(&scratch.out());
    cut(&unfinish(&scratch.out())[0], 2);
    let run = scratch.convert(&[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let out = scratch.out();
    let forget = [
        "commit",
        out.to_str().unwrap(),
        "--forget",
        "--tables",
        "job_events",
        "--parts",
        "0",
    ];
    run.says(&forget.join(" "));
    tracelake_testkit::run(forget).well();
    let run = scratch.convert(&["--progress", "json"]);
    run.well();
    assert_eq!(
        (converted(&run), kept(&run)),
        (1, PARTS - 1),
        "{}",
        run.stderr
    );
    assert_same_tree(&tree(&scratch.out()), &undisturbed, "forgotten");
}

/// Outputs that neither facts nor a manifest name may be the only copy.
#[test]
fn unnamed_outputs_are_kept_until_they_are_removed() {
    let lose_manifest = |out: &Path| fs::remove_file(out.join(MANIFEST)).unwrap();
    let add_to_unfinished = |out: &Path| {
        add_strays(out);
        unfinish(out);
    };
    let strays = [
        ("the manifest is gone", &lose_manifest as &dyn Fn(&Path)),
        ("strays beside a manifest", &add_strays),
        ("strays in an unfinished lake", &add_to_unfinished),
    ];
    for (name, disturb) in strays {
        let scratch = finished();
        let undisturbed = tree(&scratch.out());
        disturb(&scratch.out());
        let before = tree(&scratch.out());
        let run = scratch.convert(&[]);
        assert_eq!(run.code, 6, "{name}: {}", run.stderr);
        assert!(
            run.message().contains(" --remove-unnamed"),
            "{name}: {}",
            run.message()
        );
        assert_same_tree(&tree(&scratch.out()), &before, name);
        let overwritten = scratch.path().join("overwritten");
        tracelake_testkit::copy(&scratch.out(), &overwritten);
        convert(&scratch.src(), &overwritten, &["--overwrite"]).well();
        assert_same_tree(&tree(&overwritten), &undisturbed, name);
        tracelake_testkit::run([
            "commit",
            scratch.out().to_str().unwrap(),
            "--remove-unnamed",
        ])
        .well();
        scratch.convert_well(&[]);
        assert_same_tree(&tree(&scratch.out()), &undisturbed, name);
    }
}

/// A run over a finished lake changes nothing, not even the age of a file.
#[test]
fn a_second_run_changes_nothing() {
    let scratch = finished();
    let ages = || -> Vec<_> {
        let names = tree(&scratch.out()).unwrap().into_iter();
        let files = names.filter(|(name, bytes)| bytes.is_some() && !name.ends_with("/lock"));
        files
            .map(|(name, _)| {
                fs::metadata(scratch.out().join(name))
                    .unwrap()
                    .modified()
                    .unwrap()
            })
            .collect()
    };
    let before = (tree(&scratch.out()), ages());
    let run = scratch.convert(&["--progress", "json"]);
    run.well();
    assert_eq!((converted(&run), kept(&run)), (0, PARTS));
    assert_same_tree(&tree(&scratch.out()), &before.0, "second run");
    assert_eq!(ages(), before.1);
}

/// Parts that come later join the lake, which is then the same as one made in one go.
#[test]
fn a_lake_that_grew_equals_one_made_at_once() {
    let scratch = finished();
    let grown = scratch.path().join("grown");
    for selection in [
        &["--parts", "2", "--tables", "task_usage"][..],
        &["--tables", "job_events"],
        &["--parts", "0"],
        &[],
    ] {
        convert(&scratch.src(), &grown, selection).well();
    }
    assert_same_tree(&tree(&grown), &tree(&scratch.out()), "grown");
}

#[test]
fn a_failed_run_goes_on_where_it_stopped() {
    let scratch = finished();
    let part = scratch.src().join("task_usage/part-00002-of-00003.csv.gz");
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let out = scratch.path().join("other");
    convert(&scratch.src(), &out, &["--threads", "1"]).exits(5);
    assert!(!out.join(MANIFEST).exists());
    assert!(!out.join(output_path("task_usage", 2, 3)).exists());
    fs::write(&part, whole).unwrap();
    convert(&scratch.src(), &out, &[]).well();
    assert_same_tree(&tree(&out), &tree(&scratch.out()), "after a failure");
}

/// Another option would mix bytes of two kinds in one lake.
#[test]
fn other_options_are_refused_until_told_to_overwrite() {
    let scratch = finished();
    let before = tree(&scratch.out());
    let others: &[(&[&str], &str)] = &[
        (
            &["--compression", "snappy"],
            "compression was zstd:3 and is now snappy",
        ),
        (
            &["--compression", "zstd:4"],
            "compression was zstd:3 and is now zstd:4",
        ),
        (&["--layout", "flat"], "layout was hive and is now flat"),
    ];
    for (arguments, says) in others {
        let run = scratch.convert(arguments);
        assert_eq!(run.code, 6, "{}", run.stderr);
        assert!(run.message().contains(says) && run.message().contains("--overwrite"));
        assert_same_tree(&tree(&scratch.out()), &before, says);
        let fresh = scratch.path().join("fresh");
        convert(&scratch.src(), &fresh, arguments).well();
        let replaced = scratch.path().join("replaced");
        tracelake_testkit::copy(&scratch.out(), &replaced);
        let overwrite = [arguments, &["--overwrite"][..]].concat();
        convert(&scratch.src(), &replaced, &overwrite).well();
        // Outputs of the other layout are gone, and so are their directories.
        assert_same_tree(&tree(&replaced), &tree(&fresh), says);
        fs::remove_dir_all(&fresh).unwrap();
        fs::remove_dir_all(&replaced).unwrap();
    }
}

#[test]
fn a_source_that_changed_is_refused_until_told_to_overwrite() {
    let scratch = finished();
    let before = tree(&scratch.out());
    let text = tracelake_testkit::rows::sample(tracelake_testkit::table("job_events"), 7, 60);
    scratch.part("job_events", 1, 3, text.as_bytes());
    let run = scratch.convert(&[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    for says in ["job_events/part-00001-of-00003.csv.gz: ", "--overwrite"] {
        run.says(says);
    }
    assert_same_tree(&tree(&scratch.out()), &before, "refused");
    scratch.convert_well(&["--overwrite"]);
    let fresh = scratch.path().join("fresh");
    convert(&scratch.src(), &fresh, &[]).well();
    assert_same_tree(&tree(&scratch.out()), &tree(&fresh), "overwritten");
}

#[test]
fn overwriting_with_less_leaves_nothing_of_the_old_lake() {
    let scratch = finished();
    let selection = ["--tables", "machine_events,task_usage", "--parts", "0"];
    scratch.convert_well(&[&selection[..], &["--overwrite"]].concat());
    let fresh = scratch.path().join("fresh");
    convert(&scratch.src(), &fresh, &selection).well();
    assert_same_tree(&tree(&scratch.out()), &tree(&fresh), "less");
}

/// A lake of one trace is not mixed with another.
#[test]
fn another_trace_is_refused() {
    let scratch = finished();
    let before = tree(&scratch.out());
    scratch
        .convert(&["--trace", "google-2011-v2", "--tables", "job_events"])
        .refuses(6, "trace was google-2011-v2.1");
    assert_same_tree(&tree(&scratch.out()), &before, "another trace");
}
