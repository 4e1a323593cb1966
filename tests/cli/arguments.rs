//! The commands and their arguments.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use tracelake_testkit::{
    Scratch, assert_same_tree, copy, finished_lake, good_line, output_path, run, trace, tree,
};

/// Arguments that can't be meant end with 2, and OUT stays as it was.
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

fn unusable(arguments: &[&str]) -> tracelake_testkit::Run {
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
        run.prints(arguments[0]);
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
    assert!(message.contains(&trace().name), "{message}");
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
        for table in &trace().tables {
            let number = table.parts.min(2) - 1;
            let output = output_path(&table.name, number, number + 1);
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
    let events = json_lines(&run);
    let bytes: u64 = tree(&scratch.src())
        .unwrap()
        .into_values()
        .flatten()
        .map(|bytes| bytes.len() as u64)
        .sum();
    assert_eq!(events[0]["event"], "start");
    assert_eq!(
        (&events[0]["parts"], &events[0]["bytes_total"]),
        (&parts.into(), &bytes.into())
    );
    let of = |name: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["event"] == name)
            .collect()
    };
    let finished = of("finished");
    assert_eq!(finished.len(), parts);
    assert_eq!(finished[parts - 1]["parts_done"], parts);
    let read = of("read");
    let last = read[read.len() - 1];
    assert_eq!(
        (&last["bytes_done"], &last["bytes_total"]),
        (&bytes.into(), &bytes.into())
    );
    let increments: u64 = read
        .iter()
        .filter_map(|event| event["bytes"].as_u64())
        .sum();
    assert_eq!(increments, bytes);
    // The first one, two a second, and the last one.
    let seconds = last["seconds"].as_f64().unwrap();
    assert!(read.len() as f64 <= 2.0 * seconds + 2.0, "{}", run.stderr);
    assert_eq!(events.last().unwrap()["event"], "done");
    let run = scratch.convert(&["--progress", "none"]);
    run.well();
    assert_eq!(run.stderr, "");
    let run = scratch.convert(&["--overwrite", "--progress", "plain"]);
    run.well();
    run.prints("task_usage 1: 10 rows");
}

/// Every line that the program wrote to stderr, each of which is JSON.
fn json_lines(run: &tracelake_testkit::Run) -> Vec<Value> {
    let lines = run.stderr.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn json_lines_are_json_to_the_last_line_whatever_goes_wrong() {
    let json = ["--progress", "json"];
    let scratch = Scratch::with_sample(1, 3);
    scratch.part("job_events", 0, 1, b"x\n");
    scratch.file("job_events/notes.txt", b"x");
    let cases: [(&[&str], i32, &str); 5] = [
        (&[], 4, "misfit"),
        (&["--tables", "nothing"], 2, "usage"),
        (&["--parts", "7"], 1, "failed"),
        (&["--threads", "none"], 2, "usage"),
        (&["--max-rejects", "1"], 2, "usage"),
    ];
    for (arguments, code, kind) in cases {
        let run = scratch.convert(&[&json[..], arguments].concat());
        assert_eq!(run.code, code, "{}", run.stderr);
        let lines = json_lines(&run);
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["event"], &last["kind"]),
            (&"error".into(), &kind.into()),
            "{last}"
        );
        assert_eq!(last["exit_code"], code);
        assert!(!last["text"].as_str().unwrap().is_empty(), "{last}");
    }
    let bad = scratch.convert(&json);
    let lines = json_lines(&bad);
    assert!(
        lines.iter().any(|line| line["event"] == "warning"),
        "{}",
        bad.stderr
    );
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["line"], &last["column"]),
        (&1.into(), &1.into()),
        "{last}"
    );
    assert_eq!(last["field"], "job_events");
    assert!(
        last["path"]
            .as_str()
            .unwrap()
            .ends_with("part-00000-of-00001.csv.gz")
    );
    // Nothing else is said: rejects are counted in what is done, and kept parts are marked.
    let rejected =
        scratch.convert(&[&json[..], &["--on-bad-row", "reject", "--overwrite"]].concat());
    assert_eq!(rejected.code, 3, "{}", rejected.stderr);
    assert_eq!(
        json_lines(&rejected).last().unwrap()["tables"][0]["rejected"],
        1
    );
    let again = scratch.convert(&[&json[..], &["--on-bad-row", "reject"]].concat());
    let lines = json_lines(&again);
    assert!(
        lines.iter().any(|line| line["event"] == "kept"),
        "{}",
        again.stderr
    );
}

/// Hundreds of tiny parts are converted, and verified, within a second.
#[test]
fn json_lines_are_few_although_parts_are_many() {
    const PARTS: u32 = 400;
    let scratch = Scratch::new();
    let text = good_line("job_events");
    for number in 0..PARTS {
        scratch.part("job_events", number, PARTS, text.as_bytes());
    }
    let convert = scratch.convert(&["--progress", "json"]);
    convert.well();
    let verify = run([
        "verify".into(),
        scratch.out(),
        "--progress".into(),
        "json".into(),
    ]);
    assert_eq!(verify.code, 0, "{}", verify.stderr);
    for run in [convert, verify] {
        let events = json_lines(&run);
        assert_eq!(events[0]["parts"], PARTS);
        let names = ["started", "finished", "verified"].map(Value::from);
        let about_parts = events.iter().filter(|line| names.contains(&line["event"]));
        let seconds = events.last().unwrap()["seconds"].as_f64().unwrap();
        let most = 100.0 + 4.0 * seconds;
        let lines = about_parts.count() as f64;
        assert!(
            (2.0..=most).contains(&lines),
            "{lines} lines in {seconds} s"
        );
    }
}

#[test]
fn the_page_about_progress_names_every_key() {
    let page = include_str!("../../docs/exit-codes.md");
    let scratch = Scratch::with_sample(1, 3);
    scratch.file("job_events/notes.txt", b"x");
    let json = ["--progress", "json"];
    let mut lines = json_lines(&scratch.convert(&json));
    lines.extend(json_lines(
        &scratch.convert(&[&json[..], &["--parts", "7"]].concat()),
    ));
    fn keys(value: &Value, into: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    into.insert(key.clone());
                    keys(value, into);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
            _ => {}
        }
    }
    let mut all = std::collections::BTreeSet::new();
    lines.iter().for_each(|line| keys(line, &mut all));
    assert!(all.len() > 15, "{all:?}");
    for key in all {
        assert!(
            page.contains(&format!("`{key}`")),
            "{key} is not in docs/exit-codes.md"
        );
    }
}

#[test]
fn the_summary_names_rows_and_what_is_absent() {
    let scratch = Scratch::new();
    scratch.part("job_events", 1, 3, good_line("job_events").as_bytes());
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
        for (found, table) in tables.iter().zip(&trace().tables) {
            assert_eq!(found["name"], table.name);
            assert_eq!(found["parts"], table.parts.min(2));
            if what == "lake" {
                assert_eq!(found["rows"], 10 * table.parts.min(2));
                assert_eq!(found["time_max"].as_i64(), table.time.map(|_| i64::MAX));
            }
        }
        let text = run(["inspect", path]);
        assert_eq!(text.code, 0);
        text.shows("task_usage");
    }
    let nothing = run(["inspect", scratch.path().join("nothing").to_str().unwrap()]);
    assert_eq!((nothing.code, &nothing.stdout[..]), (1, ""));
    nothing.message();
}

#[test]
fn schema_prints_every_form() {
    assert!(run(["schema"]).stdout.contains(&trace().name));
    for form in ["text", "json", "duckdb", "spark", "markdown", "checks"] {
        let all = run(["schema", &trace().name, "--as", form]);
        assert_eq!((all.code, &all.stderr[..]), (0, ""), "{form}");
        for table in &trace().tables {
            assert!(all.stdout.contains(&*table.name), "{form}: {}", table.name);
            let one = run(["schema", &trace().name, &table.name, "--as", form]);
            assert_eq!(one.code, 0, "{form}");
            for column in &*table.columns {
                assert!(
                    one.stdout.contains(&*column.name),
                    "{form}: {}",
                    column.name
                );
            }
        }
        if form == "json" {
            serde_json::from_str::<Value>(&all.stdout).unwrap();
        }
    }
    let unknown = run(["schema", &trace().name, "no_such_table"]);
    assert_eq!((unknown.code, &unknown.stdout[..]), (2, ""));
    unknown.says("job_events");
}

#[test]
fn a_command_of_the_python_package_says_in_one_line_how_to_get_it() {
    let cases: &[(&[&str], &str)] = &[
        (&["check", "lake", "--fail-on", "known"], "check"),
        (&["report", "lake", "-o", "page.html"], "report"),
        (&["derive", "lake", "out"], "check"),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (arguments, extra) in cases {
        let run = run(*arguments);
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{}", run.stderr);
        let message = run.message();
        let (_, command) = message.split_once("pip install './").unwrap();
        let (package, rest) = command.split_once('[').unwrap();
        assert_eq!(rest.trim_end(), format!("{extra}]'"), "{message}");
        let described = fs::read_to_string(root.join(package).join("pyproject.toml")).unwrap();
        assert!(described.contains(&format!("\n{extra} = [")), "{message}");
    }
}

#[test]
fn arguments_of_a_command_of_the_python_package_are_read_here() {
    let wrong: &[(&[&str], &str)] = &[
        (&["check", "lake", "--onyl", "sorted"], "'--only'"),
        (&["check"], "<LAKE>"),
        (&["derive", "lake"], "<OUT>"),
        (&["report", "lake", "--threads", "0"], "from 1 to 1024"),
        (&["report", "lake", "--memory", "1MB"], "queries need 100MB"),
        (&["report", "lake", "--time-limit", "0"], "above 0"),
        (&["derive", "lake", "out", "--progress", "bar"], "plain"),
    ];
    for (arguments, says) in wrong {
        let run = run(*arguments);
        assert_eq!((run.code, &run.stdout[..]), (2, ""), "{}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
        run.prints(says);
    }
    for (command, options) in [
        ("check", ["--only", "--fail-on", "--allow-missing"]),
        ("report", ["--out", "--overwrite", "[default: report.html]"]),
        ("derive", ["--tables", "--allow-missing", "<OUT>"]),
    ] {
        let help = run([command, "--help"]);
        assert_eq!((help.code, &help.stderr[..]), (0, ""));
        let shared = [
            "--json",
            "--progress <HOW>",
            "--memory <SIZE>",
            "pip install",
        ];
        for option in options.iter().chain(&shared) {
            assert!(
                help.stdout.contains(option),
                "{command}: {option}: {}",
                help.stdout
            );
        }
    }
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
    damaged.prints("part-00001-of-00002.parquet: ");
    std::fs::remove_file(&output).unwrap();
    assert_ne!(run(verify).code, 0);
    std::fs::write(&output, &whole).unwrap();
    let stray = out.join("task_events/part-9.parquet");
    std::fs::write(&stray, &whole).unwrap();
    run(verify).exits(5);
    std::fs::remove_file(stray).unwrap();
    run(verify).well();
    std::fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
    run(verify).exits(6);
}

#[test]
fn verify_tells_a_source_that_changed() {
    let scratch = Scratch::with_sample(1, 50);
    scratch.convert_well(&[]);
    scratch.good("job_events");
    let verify = scratch.verify();
    assert_eq!(verify.code, 5, "{}", verify.stderr);
    verify.prints("job_events/part-00000-of-00001.csv.gz: ");
}

#[test]
fn sizes_and_lists_are_read_as_people_write_them() {
    let scratch = Scratch::with_sample(1, 3);
    scratch.convert_well(&["--memory", "1G", "--tables", "job_events, task_events"]);
    let manifest = tracelake_testkit::manifest(&scratch.out());
    assert_eq!(manifest["tables"].as_array().unwrap().len(), 2);
    scratch.convert_well(&["--memory", "300M"]);
}

#[test]
fn a_part_of_no_rows_is_refused_in_a_sentence() {
    let run = unusable(&["--part-rows", "0"]);
    let says = "--part-rows can't be 0; pass 1 to 134217728 rows";
    run.prints(says);
}

#[test]
fn one_of_something_has_no_s() {
    let scratch = Scratch::with_sample(1, 1);
    let plan = scratch.convert(&["--dry-run"]);
    plan.shows("job_events: 1 part, ");
    assert!(!plan.stdout.contains("1 parts"), "{}", plan.stdout);
    scratch.convert_well(&[]);
    let out = scratch.out();
    let lone = run(["verify", out.to_str().unwrap()]);
    assert!(
        !lone.stderr.contains("1 parts") && !lone.stderr.contains("1 rows"),
        "{}",
        lone.stderr
    );
}

#[test]
fn options_that_cannot_apply_are_refused() {
    for arguments in [&["--part-rows", "5"][..], &["--derive", "dag"]] {
        let run = unusable(arguments);
        run.says(&format!("leave {} out", arguments[0]));
    }
    // A rule whose table is neither selected nor in the lake.
    let archive = tracelake_schema::TRACES
        .iter()
        .find(|trace| !trace.derived.is_empty())
        .unwrap();
    let from = &archive.derived[0].from;
    let other = archive
        .tables
        .iter()
        .find(|table| table.name != *from)
        .unwrap();
    let scratch = Scratch::new();
    scratch.file(&format!("{}.csv", other.name), b"");
    let rule = archive.derived[0].rule.name();
    for more in [&[][..], &["--dry-run"]] {
        scratch
            .convert(&[&["--derive", rule], more].concat())
            .refuses(2, from);
    }
}

#[test]
fn parts_that_are_not_there_are_answered_with_those_that_are() {
    let scratch = Scratch::with_sample(3, 3);
    scratch
        .convert(&["--tables", "job_events", "--parts", "5"])
        .refuses(1, "job_events has parts 0-2");
}

#[test]
fn a_lake_inside_its_source_is_refused() {
    let scratch = Scratch::with_sample(1, 3);
    let before = tree(scratch.path());
    for out in ["lake", "job_events/lake", "new/lake"] {
        for more in [&[][..], &["--dry-run"]] {
            let run = tracelake_testkit::convert(&scratch.src(), &scratch.src().join(out), more);
            assert_eq!(run.code, 6, "{out}: {}", run.stderr);
            run.says("OUT is inside SRC");
        }
    }
    assert_same_tree(&tree(scratch.path()), &before, "inside");
}

#[test]
fn a_dry_run_looks_at_the_lake() {
    let scratch = Scratch::with_sample(2, 3);
    scratch.convert_well(&["--tables", "job_events", "--parts", "1"]);
    let done = tree(scratch.path());
    let plan = scratch.convert(&["--dry-run"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    let output = output_path("job_events", 1, 2);
    plan.shows(&format!("{output}  (done)\n"));
    assert_eq!(plan.stdout.matches("(done)").count(), 1, "{}", plan.stdout);
    assert!(plan.stdout.contains("job_events: 2 parts") && plan.stdout.contains("1 done"));
    let other = scratch.convert(&["--dry-run", "--compression", "snappy"]);
    assert_eq!(other.code, 6, "{}", other.stderr);
    assert_eq!(
        other.message(),
        scratch.convert(&["--compression", "snappy"]).message()
    );
    assert_same_tree(&tree(scratch.path()), &done, "dry run");
    tracelake_testkit::convert(&scratch.src(), scratch.path(), &["--dry-run"]).exits(6);
}

#[test]
fn a_dry_run_names_the_outputs_of_a_file_that_is_cut() {
    let (scratch, table) = whole_table();
    let plan = scratch.convert(&["--dry-run", "--part-rows", "2"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    for number in 0..2 {
        let output = format!("{0}/file_number={number}/part-0000{number}.parquet", table);
        plan.shows(&output);
    }
    scratch.convert_well(&["--part-rows", "2"]);
    scratch
        .convert(&["--dry-run", "--part-rows", "2"])
        .shows("(2 parts done)");
}

/// A source of a table that is published in one file, with three rows of nothing.
fn whole_table() -> (Scratch, &'static str) {
    let optional = |table: &&'static Arc<tracelake_schema::Table>| {
        table.columns.iter().all(|column| !column.mandatory)
    };
    let mut whole = tracelake_testkit::plain_whole_tables();
    let table = whole.find(optional).or(whole.next()).unwrap();
    let fields = table
        .fields
        .iter()
        .map(|&index| match table.columns[index].kind {
            _ if !table.columns[index].mandatory => "",
            tracelake_schema::Kind::Text => "x",
            _ => "1",
        });
    let row = fields.collect::<Vec<_>>().join(",") + "\n";
    let scratch = Scratch::new();
    scratch.file(&format!("{}.csv", table.name), row.repeat(3).as_bytes());
    (scratch, &table.name)
}

#[test]
fn inspect_shows_what_is_missing_rejected_and_left() {
    let scratch = Scratch::with_sample(3, 5);
    let bad = [
        tracelake_testkit::rows::sample(tracelake_testkit::table("job_events"), 1, 5),
        "x\n".to_owned(),
    ];
    scratch.part("job_events", 1, 3, bad.concat().as_bytes());
    let reject = ["--on-bad-row", "reject"];
    scratch
        .convert(&[&reject[..], &["--parts", "0-1", "--allow-missing"]].concat())
        .exits(3);
    let out = scratch.out();
    let path = out.to_str().unwrap();
    let json = |path: &str| {
        let shown = run(["inspect", "--json", path]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        serde_json::from_str::<Value>(&shown.stdout).unwrap()
    };
    let found = json(path);
    assert_eq!(found["finished"], true);
    let jobs = &found["tables"][0];
    assert_eq!(
        (&jobs["name"], &jobs["rejected"]),
        (&"job_events".into(), &1.into())
    );
    assert!(
        jobs["missing"].as_array().unwrap().contains(&2.into()),
        "{jobs}"
    );
    let text = run(["inspect", path]).stdout;
    assert!(
        text.contains("rejected") && text.contains("missing: 2"),
        "{text}"
    );
    // A run that fails leaves a lake that isn't finished.
    scratch.part("task_usage", 2, 3, b"x\n");
    let unfinished = scratch.path().join("unfinished");
    tracelake_testkit::convert(
        &scratch.src(),
        &unfinished,
        &["--tables", "machine_events,task_usage", "--threads", "1"],
    )
    .exits(4);
    let found = json(unfinished.to_str().unwrap());
    assert_eq!(found["finished"], false);
    let done: u64 = found["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["parts"].as_u64().unwrap())
        .sum();
    assert!(done > 0, "{found}");
    let shown = run(["inspect", unfinished.to_str().unwrap()]);
    assert!(
        shown.stdout.starts_with("unfinished lake of "),
        "{}",
        shown.stdout
    );
    shown.shows("run the same convert command again");
}
