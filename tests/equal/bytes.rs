//! Bytes do not depend on threads, time, or the surroundings of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use tracelake_schema::TRACES;
use tracelake_testkit::rows::Dice;
use tracelake_testkit::{
    Scratch, assert_same_tree, committed_sample, convert, ended, generate, heads, is_simulated,
    output_path, program, read_output, row_groups, run, shared, tree, verify_well,
};

type Tree = Option<BTreeMap<String, Option<Vec<u8>>>>;

/// A path and what is in it.
type File = (String, Vec<u8>);

/// Converts `source` with 1, 2 and 8 threads, the first of them twice, and with more threads than
/// parts at a time, and compares everything.
#[track_caller]
fn same_with_any_threads(source: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let lake = |name: &str, threads: &str, more: &[&str]| -> Tree {
        let out = directory.path().join(name);
        let fixed = ["--allow-missing", "--threads", threads];
        convert(source, &out, &[&fixed, more].concat()).well();
        tree(&out)
    };
    let first = lake("first", "1", &[]);
    assert!(
        first
            .as_ref()
            .unwrap()
            .contains_key("_tracelake/manifest.json")
    );
    let little = &["--memory", "256MB"][..];
    for (name, threads, more) in [
        ("again", "1", &[][..]),
        ("two", "2", &[]),
        ("eight", "8", &[]),
        ("little memory", "3", little),
    ] {
        assert_same_tree(&lake(name, threads, more), &first, name);
    }
}

#[test]
fn any_number_of_threads() {
    let scratch = Scratch::with_sample(5, 500);
    same_with_any_threads(&scratch.src());
    same_with_any_threads(&committed_sample());
}

/// Parts large enough for several chunks and batches, of which one thread finishes one first.
#[test]
fn any_number_of_threads_with_uneven_parts() {
    let scratch = Scratch::new();
    let table = tracelake_testkit::table("task_events");
    for (number, rows) in [(0, 10), (1, 9_000), (2, 1), (3, 20_000)] {
        let text = tracelake_testkit::rows::sample(table, number, rows);
        scratch.part(&table.name, number, 4, text.as_bytes());
    }
    same_with_any_threads(&scratch.src());
}

/// One part of several row groups, with rejects at the edges of chunks and of nothing in particular:
/// threads that have nothing else to do take columns of it, and read ahead.
#[test]
fn any_number_of_threads_with_row_groups_and_rejects() {
    // More than the 524,288 rows of a row group, then more than 1 MiB of times, and more users than a dictionary holds.
    let rows = 1_300_000_u64;
    let (mut text, mut bad) = (String::new(), 0);
    let mut dice = Dice::new(7);
    for row in 0..rows {
        let (job, class) = (dice.below(9_000), dice.below(5));
        let user = match row {
            0..40_000 => format!("{:0>40x}=", row * 7_919),
            _ => format!("u{}", dice.below(300)),
        };
        // Every fault follows a value that occurs nowhere else, which must leave no trace.
        let (event, more) = match dice.below(5_000) {
            0 => ("x", ""),
            1 => ("", ""),
            2 => ("4", ","),
            _ => ("4", ""),
        };
        bad += u64::from(event != "4" || !more.is_empty());
        let missing = if row % 11 == 0 { "1" } else { "" };
        let time = if row < 700_000 { row / 1000 } else { row };
        writeln!(
            text,
            "{time},{missing},{job},{event},{user},{class},,n{more}"
        )
        .unwrap();
    }
    let scratch = Scratch::new();
    scratch.only("job_events", text.as_bytes());
    let lake = |threads: &str| {
        let out = scratch.path().join(threads);
        convert(
            &scratch.src(),
            &out,
            &["--on-bad-row", "reject", "--threads", threads],
        )
        .exits(3);
        tree(&out)
    };
    let first = lake("1");
    for threads in ["2", "5"] {
        assert_same_tree(&lake(threads), &first, threads);
    }
    // It is what it says: row groups in which each kind of column gave up its dictionary or did not.
    let out = scratch.path().join("1");
    let groups = row_groups(&out.join(output_path("job_events", 0, 1)));
    assert!(
        matches!(
            groups[..],
            [500_000..=524_288, 200_000..=300_000, 130_000..=140_000, .., last] if last > 0
        ),
        "{groups:?}"
    );
    assert_eq!(groups.iter().sum::<u64>(), rows - bad);
    let rejects = fs::read(out.join("_tracelake/rejects/job_events/part-00000-of-00001.ndjson"));
    let lines = rejects
        .unwrap()
        .iter()
        .filter(|byte| **byte == b'\n')
        .count() as u64;
    assert_eq!(lines, bad);
    assert!(bad > 500);
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn any_number_of_threads_on_published_data() {
    same_with_any_threads(&shared("google-2011"));
    same_with_any_threads(&heads().src());
}

/// The directory that the program is started in, and what the shell has set.
#[test]
fn any_surroundings() {
    let scratch = Scratch::with_sample(2, 100);
    scratch.convert_well(&[]);
    let expected = tree(&scratch.out());
    let run = |name: &str, command: &mut Command| {
        ended(command.output().unwrap()).well();
        assert_same_tree(&tree(&scratch.path().join(name)), &expected, name);
    };
    let relative = |name: &'static str| {
        let mut command = program();
        command
            .current_dir(scratch.path())
            .args(["convert", "src", name]);
        command
    };
    run("relative", &mut relative("relative"));
    run(
        "dotted",
        program()
            .current_dir(scratch.src())
            .args(["convert", ".", "../dotted"]),
    );
    run(
        "slashed",
        relative("slashed/").env("TZ", "Pacific/Kiritimati"),
    );
    let odd = [
        ("LC_ALL", "de_DE.UTF-8"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_NUMERIC", "de_DE"),
        ("HOME", "/nonexistent"),
        ("USER", "somebody"),
        ("COLUMNS", "20"),
        ("RAYON_NUM_THREADS", "3"),
    ];
    run("locale", relative("locale").envs(odd));
    for zone in ["UTC", "Asia/Kathmandu", ":/nonexistent"] {
        run("zone", relative("zone").arg("--overwrite").env("TZ", zone));
    }
    for locale in ["C", "C.UTF-8", "ar_EG.UTF-8", "no such locale"] {
        let all = [("LANG", locale), ("LC_ALL", locale)];
        run("locale", relative("locale").arg("--overwrite").envs(all));
    }
    run("bare", relative("bare").env_clear());
}

/// Another umask changes who may read a lake, not what is in it.
#[cfg(unix)]
#[test]
fn any_umask() {
    let scratch = Scratch::with_sample(1, 20);
    scratch.convert_well(&[]);
    let expected = tree(&scratch.out());
    for umask in ["077", "000"] {
        let out = scratch.path().join(umask);
        let mut command = Command::new("sh");
        command.args(["-c", "umask \"$1\" && shift && exec \"$@\"", "sh", umask]);
        command
            .args([env!("CARGO_BIN_EXE_tracelake"), "convert"])
            .arg(scratch.src())
            .arg(&out);
        ended(command.output().unwrap()).well();
        assert_same_tree(&tree(&out), &expected, umask);
    }
}

/// A file system lists names in its own order, which may be that in which they were made.
#[test]
fn any_order_of_files() {
    let sample = Scratch::with_sample(7, 40);
    sample.convert_well(&["--threads", "2"]);
    let expected = tree(&sample.out());
    let mut files: Vec<File> = tree(&sample.src())
        .unwrap()
        .into_iter()
        .filter_map(|(path, bytes)| Some((path, bytes?)))
        .collect();
    // In memory, names are mostly listed by age; on a disk, mostly by a hash.
    let places = [std::env::temp_dir(), "/dev/shm".into()];
    let mut listed = BTreeSet::new();
    for place in places.iter().filter(|place| place.is_dir()) {
        let orders: [fn(&mut Vec<File>); 3] = [
            |files| files.sort(),
            |files| files.reverse(),
            |files| files.sort_by(|a, b| a.1.cmp(&b.1)),
        ];
        for (index, order) in orders.iter().enumerate() {
            let directory = tempfile::tempdir_in(place).unwrap();
            let source = directory.path().join("src");
            order(&mut files);
            for (path, bytes) in &files {
                let path = source.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            let names = fs::read_dir(source.join("task_usage")).unwrap();
            listed.insert(
                names
                    .map(|entry| entry.unwrap().file_name())
                    .collect::<Vec<_>>(),
            );
            let out = directory.path().join("out");
            convert(&source, &out, &["--threads", "2"]).well();
            assert_same_tree(&tree(&out), &expected, &format!("{place:?}, order {index}"));
        }
    }
    // A file system in memory lists names by age, so there was more than one order.
    if cfg!(target_os = "linux") {
        assert!(listed.len() > 1, "every file was found in the same order");
    }
}

/// No path of this machine and no clock may reach the lake: two sources of the same content in
/// other places, of another age, give one lake.
#[test]
fn any_place_of_the_source() {
    let one = Scratch::with_sample(2, 50);
    let two = Scratch::with_sample(2, 50);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_300_000_000);
    for (path, bytes) in tree(&two.src()).unwrap() {
        if bytes.is_some() {
            let file = std::fs::File::options()
                .write(true)
                .open(two.src().join(path))
                .unwrap();
            file.set_modified(old).unwrap();
        }
    }
    one.convert_well(&[]);
    two.convert_well(&[]);
    assert_same_tree(&tree(&two.out()), &tree(&one.out()), "another place");
    let manifest = std::fs::read_to_string(one.out().join("_tracelake/manifest.json")).unwrap();
    assert!(!manifest.contains(one.path().to_str().unwrap()));
}

/// The largest tables of traces in which they aren't the last ones.
const LARGEST: [&str; 2] = ["container_usage", "instance_usage"];

/// Row groups have as many rows as was asked for, at most, and the same rows in the same order. A lake keeps to it.
#[test]
fn row_groups_are_as_small_as_asked_for() {
    let scratch = Scratch::new();
    // The largest table has them, which are more than a small row group has.
    let rows = 70_000;
    let mut families = BTreeSet::new();
    for trace in TRACES
        .iter()
        .rev()
        .filter(|trace| is_simulated(trace))
        .filter(|trace| families.insert(&trace.family))
    {
        let mut tables = trace.tables.iter().map(|table| &*table.name);
        let largest = tables.clone().find(|name| LARGEST.contains(name));
        let table = largest.or_else(|| tables.next_back()).unwrap();
        let src = scratch.path().join(&trace.name);
        let size = ["--parts", "1", "--rows", &rows.to_string()];
        generate(&trace.name, &src, &size);
        let selected = ["--tables", table, "--parts", "0"];
        let lake = |name: &str, more: &[&str]| {
            let out = scratch.path().join(format!("{}-{name}", trace.name));
            convert(&src, &out, &[&selected[..], more].concat()).well();
            let files = tree(&out).unwrap().into_keys();
            let mut files = files.filter(|file| file.ends_with(".parquet"));
            let file = out.join(files.next().unwrap());
            (out, file)
        };
        let (_, usual) = lake("usual", &[]);
        let small = ["--row-group-rows", "65536"];
        let (out, file) = lake("small", &small);
        let [usual_rows] = row_groups(&usual)[..] else {
            panic!("one row group");
        };
        let groups = row_groups(&file);
        assert!(
            groups.len() > 1 && groups.iter().all(|rows| *rows <= 65_536),
            "{groups:?}"
        );
        assert_eq!(groups.iter().sum::<u64>(), usual_rows);
        assert_eq!(read_output(&file), read_output(&usual));
        let larger = [&selected[..], &["--row-group-rows", "100000"]].concat();
        let other = convert(&src, &out, &larger);
        assert_eq!(other.code, 6, "{}", other.stderr);
        let says = "row-group-rows was 65536 and is now 100000";
        other.prints(says);
        convert(&src, &out, &[&selected[..], &small].concat()).well();
        verify_well(&out, &src);
        // The card names the option, so that others make the same bytes.
        run(["release", out.to_str().unwrap(), "--allow-missing"]).well();
        let card = std::fs::read_to_string(out.join("README.md")).unwrap();
        assert!(card.contains(" --row-group-rows 65536\n"), "{card}");
    }
}

#[test]
fn row_groups_have_limits() {
    let scratch = Scratch::with_sample(1, 10);
    let cases: [(&[&str], &str); 4] = [
        (&["--row-group-rows", "65535"], "pass 65536 to 1048576 rows"),
        (
            &["--row-group-rows", "1048577"],
            "pass 65536 to 1048576 rows",
        ),
        (
            &["--row-group-rows", "18446744073709551615"],
            "pass 65536 to 1048576 rows",
        ),
        (
            &["--row-group-rows", "100000", "--format", "arrow"],
            "leave --row-group-rows out",
        ),
    ];
    for (options, says) in cases {
        let run = convert(&scratch.src(), &scratch.out(), options);
        assert_eq!(run.code, 2, "{options:?}: {}", run.stderr);
        run.prints(says);
        assert!(!scratch.out().exists());
    }
    // As many as usual are the same bytes.
    scratch.convert_well(&[]);
    let usual = tree(&scratch.out());
    convert(
        &scratch.src(),
        &scratch.out(),
        &["--row-group-rows", "524288"],
    )
    .well();
    assert_same_tree(&tree(&scratch.out()), &usual, "the default");
}
