//! Some columns, and a range of time.

use std::path::Path;

use tracelake_testkit::{Scratch, convert, manifest, read_output, trace, verify_well};

use super::{assert_law, parts, rows};

fn names(out: &Path, table: &str) -> Vec<String> {
    let parts = parts(out);
    let (_, part) = parts.iter().find(|(name, _)| name == table).unwrap();
    let batch = read_output(&out.join(part["output"]["path"].as_str().unwrap()));
    let schema = batch.schema();
    let fields = schema.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

#[test]
fn columns_keep_the_order_of_their_table() {
    let scratch = Scratch::with_sample(2, 50);
    let chosen = "task_usage.cpu_rate,task_usage.job_id,job_events.user";
    scratch.convert_well(&["--columns", chosen]);
    let out = scratch.out();
    assert_eq!(names(&out, "task_usage"), ["job_id", "cpu_rate"]);
    assert_eq!(names(&out, "job_events"), ["user"]);
    let whole = trace().table("machine_events").unwrap().columns.len();
    assert_eq!(names(&out, "machine_events").len(), whole);
    let chosen = "job_events.user,task_usage.job_id,task_usage.cpu_rate";
    assert_eq!(manifest(&out)["options"]["columns"], chosen);
    for (table, part) in parts(&out) {
        let has_time = !["task_usage", "job_events"].contains(&&*table);
        assert_eq!(!part["time_min"].is_null(), has_time, "{table}: {part}");
    }
    verify_well(&out, &scratch.src());
}

/// Bare names are those of the only table, and equal the full ones.
#[test]
fn bare_names_are_of_one_table() {
    let scratch = Scratch::with_sample(1, 50);
    let bare = ["--tables", "job_events", "--columns", "time,job_id"];
    scratch.convert_well(&bare);
    assert_eq!(names(&scratch.out(), "job_events"), ["time", "job_id"]);
    let full = "job_events.job_id,job_events.time";
    scratch.convert_well(&["--tables", "job_events", "--columns", full]);
    assert!(!parts(&scratch.out())[0].1["time_min"].is_null());
}

/// Values in columns that aren't selected don't matter; a row's key and its number of fields do.
#[test]
fn only_what_is_selected_is_parsed() {
    let scratch = Scratch::new();
    let good = "600,,1,0,u,2,n,l\n";
    let unselected = "600,,2,not a code,u,2,n,l\n";
    let bad = "600,,not a job,0,u,2,n,l\n600,,3\n";
    scratch.only("job_events", format!("{good}{unselected}{bad}").as_bytes());
    for class in ["0/2", "1/2"] {
        let out = scratch.path().join(class.replace('/', "-"));
        let options = ["--columns", "time,user", "--sample", class];
        let more = ["--on-bad-row", "reject"];
        convert(&scratch.src(), &out, &[&options[..], &more].concat()).exits(3);
        let part = &parts(&out)[0].1;
        assert_eq!(part["rows_rejected"], 2, "{part}");
        assert_law(&out);
        verify_well(&out, &scratch.src());
        let path = out.join(part["rejects"]["path"].as_str().unwrap());
        let rejects = std::fs::read_to_string(path).unwrap();
        let lines: Vec<serde_json::Value> = rejects
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            (&lines[0]["line"], &lines[0]["column"]),
            (&3.into(), &"job_id".into())
        );
        assert_eq!(lines[1]["line"], 4);
    }
}

/// A range has its first time and not its last, and times with a special meaning are always kept.
#[test]
fn a_range_of_time() {
    let scratch = Scratch::new();
    let times = [
        "0",
        "599",
        "600",
        "899",
        "900",
        "9223372036854775807",
        "18446744073709551615",
    ];
    let text = times.map(|time| format!("{time},,1,0,u,2,n,l\n")).concat();
    scratch.only("job_events", text.as_bytes());
    scratch.convert_well(&["--time", "600..900"]);
    let found: Vec<String> = rows(&scratch.out())
        .into_values()
        .flatten()
        .map(|row| row.split('|').next().unwrap().to_owned())
        .collect();
    let last = i64::MAX.to_string();
    assert_eq!(found, ["0", "600", "899", &last, &last]);
    assert_eq!(parts(&scratch.out())[0].1["rows_not_selected"], 2);
    verify_well(&scratch.out(), &scratch.src());
    // The same range in words is the same option.
    scratch.convert_well(&["--time", "600us..900us"]);
    assert_eq!(manifest(&scratch.out())["options"]["time"], "600..900");
}

/// A row has to be selected by every rule, and its time may be of a column that the lake doesn't have.
#[test]
fn rules_combine() {
    let scratch = Scratch::with_sample(1, 300);
    let chosen = "job_events.job_id,task_events.job_id,task_constraints.job_id,task_usage.job_id";
    let rules = [
        "--sample",
        "0/2",
        "--time",
        "3000..30ms",
        "--columns",
        chosen,
    ];
    scratch.convert_well(&rules);
    assert_law(&scratch.out());
    verify_well(&scratch.out(), &scratch.src());
    let (only_time, only_sample) = (scratch.path().join("time"), scratch.path().join("sample"));
    convert(&scratch.src(), &only_time, &rules[2..]).well();
    let of_sample = [&rules[..2], &rules[4..]].concat();
    convert(&scratch.src(), &only_sample, &of_sample).well();
    for (path, both) in rows(&scratch.out()) {
        let (in_time, sampled) = (&rows(&only_time)[&path], &rows(&only_sample)[&path]);
        assert!(both.len() <= in_time.len().min(sampled.len()), "{path}");
    }
}

/// A selection without a row makes a lake that says so.
#[test]
fn a_selection_may_keep_no_row() {
    let scratch = Scratch::with_sample(1, 20);
    let converted = scratch.convert(&["--tables", "job_events", "--time", "1..2"]);
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    converted.prints("not selected");
    let scratch = Scratch::new();
    scratch.only("job_events", b"600,,1,0,u,2,n,l\n");
    let converted = scratch.convert(&["--time", "1..2"]);
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    converted.prints("no row is selected");
    verify_well(&scratch.out(), &scratch.src());
}
