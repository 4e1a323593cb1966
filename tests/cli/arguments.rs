//! The commands and their arguments.

use serde_json::Value;

use crate::support::{
    Scratch, assert_same_tree, copy, finished_lake, good_row, output_path, run, trace, tree,
};

/// What cannot be meant ends with 2, and OUT stays as it was.
const UNUSABLE: &[&[&str]] = &[
    &["--parts", "9-0"],
    &["--parts", ""],
    &["--threads", "0"],
    &["--threads", "many"],
    &["--layout", "heap"],
    &["--compression", "lz4"],
    &["--compression", "zstd:99"],
    &["--progress", "loud"],
    &["--no-such-option"],
];

fn unusable(arguments: &[&str]) -> crate::support::Run {
    let scratch = Scratch::with_sample(1, 3);
    let run = scratch.convert(arguments);
    assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
    assert_eq!(run.stdout, "", "{arguments:?}");
    assert!(!scratch.out().exists(), "{arguments:?}");
    run
}

#[test]
fn unusable_arguments_end_with_2() {
    for arguments in UNUSABLE {
        let run = unusable(arguments);
        assert!(run.stderr.contains(arguments[0]), "{}", run.stderr);
    }
    for incomplete in [&[][..], &["convert"], &["convert", "x"], &["explode"]] {
        assert_eq!(run(incomplete).code, 2, "{incomplete:?}");
    }
}

#[test]
fn an_unknown_trace_is_told_in_one_line_that_names_the_known() {
    let run = unusable(&["--trace", "google-2012"]);
    let message = run.message();
    assert!(message.contains("'google-2012'"), "{message}");
    assert!(message.contains(trace().name), "{message}");
}

#[test]
fn help_and_version_are_data() {
    for arguments in [&["--help"][..], &["convert", "--help"], &["--version"]] {
        let run = run(arguments);
        assert_eq!((run.code, &run.stderr[..]), (0, ""), "{arguments:?}");
        assert!(run.stdout.contains("racelake") || run.stdout.contains("lake"));
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let scratch = Scratch::with_sample(2, 3);
    for finished in [false, true] {
        if finished {
            copy(finished_lake(), &scratch.out());
        }
        let before = tree(scratch.path());
        let run = scratch.convert(&["--dry-run"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        for table in trace().tables {
            let number = table.parts.min(2) - 1;
            let output = output_path(table.name, number, number + 1);
            assert!(run.stdout.contains(&output), "{output}:\n{}", run.stdout);
        }
        assert_same_tree(&tree(scratch.path()), &before, "dry run");
    }
}

#[test]
fn progress_goes_to_stderr() {
    let scratch = Scratch::with_sample(2, 10);
    let parts = trace()
        .tables
        .iter()
        .map(|table| table.parts.min(2) as usize)
        .sum::<usize>();
    let run = scratch.convert(&["--progress", "json"]);
    run.well();
    let events: Vec<Value> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let finished = events
        .iter()
        .filter(|event| event["event"] == "finished")
        .count();
    assert_eq!(finished, parts);
    let read: u64 = events
        .iter()
        .filter_map(|event| event["bytes"].as_u64())
        .sum();
    let source = tree(&scratch.src()).unwrap().into_values().flatten();
    assert_eq!(read, source.map(|bytes| bytes.len() as u64).sum::<u64>());
    let run = scratch.convert(&["--progress", "none"]);
    run.well();
    assert_eq!(run.stderr, "");
    let run = scratch.convert(&["--overwrite", "--progress", "plain"]);
    run.well();
    assert!(
        run.stderr.contains("task_usage 1: 10 rows"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_summary_names_rows_and_what_is_absent() {
    let scratch = Scratch::new();
    scratch.part(
        "job_events",
        1,
        3,
        format!("{}\n", good_row("job_events")).as_bytes(),
    );
    let run = scratch.convert(&["--allow-missing"]);
    run.well();
    for says in [
        "job_events",
        "2 parts",
        "missing",
        "task_usage",
        "machine_events",
    ] {
        assert!(run.stderr.contains(says), "{says}:\n{}", run.stderr);
    }
}

#[test]
fn inspect_describes_a_lake_and_a_source() {
    let scratch = Scratch::with_sample(2, 10);
    scratch.convert_well(&[]);
    for (path, what) in [(scratch.out(), "lake"), (scratch.src(), "source")] {
        let path = path.to_str().unwrap();
        let json = run(["inspect", "--json", path]);
        assert_eq!((json.code, &json.stderr[..]), (0, ""));
        let found: Value = serde_json::from_str(&json.stdout).unwrap();
        assert_eq!(found["what"], what);
        assert_eq!(found["trace"], trace().name);
        let tables = found["tables"].as_array().unwrap();
        assert_eq!(tables.len(), trace().tables.len());
        for (found, table) in tables.iter().zip(trace().tables) {
            assert_eq!(found["name"], table.name);
            assert_eq!(found["parts"], table.parts.min(2));
            if what == "lake" {
                assert_eq!(found["rows"], 10 * table.parts.min(2));
                assert_eq!(found["time_max"].as_i64(), table.time.map(|_| i64::MAX));
            }
        }
        let text = run(["inspect", path]);
        assert_eq!(text.code, 0);
        assert!(text.stdout.contains("task_usage"), "{}", text.stdout);
    }
    let nothing = run(["inspect", scratch.path().join("nothing").to_str().unwrap()]);
    assert_eq!((nothing.code, &nothing.stdout[..]), (1, ""));
    nothing.message();
}

#[test]
fn schema_prints_every_form() {
    assert!(run(["schema"]).stdout.contains(trace().name));
    for form in ["text", "json", "duckdb", "spark", "markdown"] {
        let all = run(["schema", trace().name, "--as", form]);
        assert_eq!((all.code, &all.stderr[..]), (0, ""), "{form}");
        for table in trace().tables {
            assert!(all.stdout.contains(table.name), "{form}: {}", table.name);
            let one = run(["schema", trace().name, table.name, "--as", form]);
            assert_eq!(one.code, 0, "{form}");
            for column in table.columns {
                assert!(one.stdout.contains(column.name), "{form}: {}", column.name);
            }
        }
        if form == "json" {
            serde_json::from_str::<Value>(&all.stdout).unwrap();
        }
    }
    let unknown = run(["schema", trace().name, "no_such_table"]);
    assert_eq!((unknown.code, &unknown.stdout[..]), (2, ""));
    assert!(unknown.message().contains("job_events"));
}

#[test]
fn verify_tells_a_whole_lake_from_a_damaged_one() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.convert_well(&[]);
    let (src, out) = (scratch.src(), scratch.out());
    let verify = [
        "verify",
        out.to_str().unwrap(),
        "--source",
        src.to_str().unwrap(),
    ];
    run(verify).well();
    run(&verify[..2]).well();
    // A flipped bit, a lost file, a stranger among the outputs, a lost manifest.
    let output = out.join(output_path("task_events", 1, 2));
    let whole = std::fs::read(&output).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    std::fs::write(&output, &flipped).unwrap();
    let damaged = run(verify);
    assert_eq!(
        (damaged.code, &damaged.stdout[..]),
        (5, ""),
        "{}",
        damaged.stderr
    );
    assert!(
        damaged.stderr.contains("part-00001-of-00002.parquet: "),
        "{}",
        damaged.stderr
    );
    std::fs::remove_file(&output).unwrap();
    assert_ne!(run(verify).code, 0);
    std::fs::write(&output, &whole).unwrap();
    let stray = out.join("task_events/part-9.parquet");
    std::fs::write(&stray, &whole).unwrap();
    assert_eq!(run(verify).code, 5);
    std::fs::remove_file(stray).unwrap();
    run(verify).well();
    std::fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
    assert_eq!(run(verify).code, 6);
}

#[test]
fn verify_tells_a_source_that_changed() {
    let scratch = Scratch::with_sample(1, 50);
    scratch.convert_well(&[]);
    scratch.only(
        "job_events",
        format!("{}\n", good_row("job_events")).as_bytes(),
    );
    let (src, out) = (scratch.src(), scratch.out());
    let verify = run([
        "verify",
        out.to_str().unwrap(),
        "--source",
        src.to_str().unwrap(),
    ]);
    assert_eq!(verify.code, 5, "{}", verify.stderr);
    assert!(
        verify
            .stderr
            .contains("job_events/part-00000-of-00001.csv.gz: ")
    );
}
