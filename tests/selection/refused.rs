//! Selections that are refused, each with what to do.

use tracelake_schema::TRACES;
use tracelake_testkit::{Scratch, convert, trace};

#[test]
fn what_is_no_selection() {
    let scratch = Scratch::with_sample(1, 5);
    for (arguments, says) in [
        (&["--sample", "16/16"][..], "numbered from 0 to 15"),
        (&["--sample", "0/0"], "1 to 1000000 classes"),
        (&["--sample", "0/1000001"], "1 to 1000000 classes"),
        (&["--sample", "half"], "such as 0/16"),
        (&["--sample-by", "job"], "--sample"),
        (
            &["--sample", "0/2", "--sample-by", "jobs"],
            "did you mean job?",
        ),
        (
            &["--sample", "0/2", "--sample-by", "zebra"],
            "keys are job, machine",
        ),
        (&["--columns", "job_events.usr"], "did you mean user?"),
        (&["--columns", "job_event.user"], "no table 'job_event'"),
        (&["--columns", "job_events."], "TABLE.COLUMN"),
        (&["--columns", "user"], "write job_events.user"),
        (&["--columns", ""], "TABLE.COLUMN"),
        (&["--time", "5..5"], "empty range of time"),
        (&["--time", "2d..1h"], "empty range of time"),
        (&["--time", "60000000..1m"], "empty range of time"),
        (&["--time", "5"], "FROM..TO"),
        (&["--time", ".."], "neither a beginning nor an end"),
        (&["--time", "1y..2y"], "not a time"),
        (&["--time", "2011-02-29.."], "not a time"),
        (&["--time", "2011-05-03..2011-05-02"], "empty range of time"),
        (&["--time", "30d..31d"], "is outside of"),
        (&["--time", "2012-01-01.."], "is outside of"),
        (&["--time", "..2011-05-01"], "is outside of"),
    ] {
        let run = scratch.convert(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{arguments:?}: {}", run.stderr);
        assert!(!scratch.out().exists(), "{arguments:?}");
    }
}

/// Durations have to be whole numbers of the trace's unit.
#[test]
fn a_time_between_two_units() {
    let scratch = Scratch::new();
    let seconds = TRACES.iter().find(|one| {
        one.tables.iter().all(|table| {
            table
                .time
                .is_some_and(|time| table.columns[time].time_units() == Some(1))
        })
    });
    let seconds = seconds.unwrap();
    let table = &seconds.tables[0];
    let row = vec!["1"; table.fields.len()].join(",") + "\n";
    scratch.file(&format!("{}.csv", table.name), row.as_bytes());
    let run = scratch.convert(&["--trace", &seconds.name, "--time", "1500ms..2s"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    run.prints("whole number");
}

/// A derived table needs its source to be selected.
#[test]
fn a_derived_table_without_its_columns() {
    let (seconds, derived) = TRACES
        .iter()
        .find_map(|one| Some((one, one.derived.first()?)))
        .unwrap();
    let table = seconds.table(&derived.from).unwrap();
    let scratch = Scratch::new();
    let row = vec!["1"; table.fields.len()].join(",") + "\n";
    scratch.file(&format!("{}.csv", table.name), row.as_bytes());
    let rule = derived.rule.name();
    for (columns, code) in [("task_name", 2), ("job_name", 2), ("job_name,task_name", 0)] {
        let run = scratch.convert(&["--derive", rule, "--columns", columns]);
        assert_eq!(run.code, code, "{columns}: {}", run.stderr);
        assert!(
            code == 0 || run.stderr.contains("--derive"),
            "{}",
            run.stderr
        );
    }
}

/// A lake has one selection.
#[test]
fn another_selection_on_the_same_lake() {
    let scratch = Scratch::with_sample(2, 30);
    let first = ["--parts", "0", "--sample", "0/4"];
    scratch.convert_well(&first);
    for other in [
        &["--sample", "1/4"][..],
        &[],
        &["--sample", "0/4", "--sample-by", "machine"],
        &["--sample", "0/4", "--time", "0..1h"],
        &["--sample", "0/4", "--columns", "job_events.user"],
    ] {
        let run = scratch.convert(other);
        assert_eq!(run.code, 6, "{other:?}: {}", run.stderr);
    }
    scratch.convert_well(&["--sample", "0/4"]);
    let whole = scratch.path().join("at-once");
    convert(&scratch.src(), &whole, &["--sample", "0/4"]).well();
    let (grown, at_once) = (
        tracelake_testkit::tree(&scratch.out()),
        tracelake_testkit::tree(&whole),
    );
    tracelake_testkit::assert_same_tree(&grown, &at_once, "a lake that grew");
    assert!(trace().sample_key("job").is_some());
}
