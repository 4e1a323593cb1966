//! `inspect` on a run that ended early: what it reports as left, and in which units.

use serde_json::Value;
use tracelake_core::words::group_digits;
use tracelake_schema::Table;

use tracelake_testkit::{Scratch, plain_whole_tables, run, trace};

fn inspected(path: &std::path::Path) -> (Value, String) {
    let path = path.to_str().unwrap();
    let [json, text] = [&["inspect", "--json", path][..], &["inspect", path]].map(|arguments| {
        let shown = run(arguments);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        shown.stdout
    });
    (serde_json::from_str(&json).unwrap(), text)
}

#[test]
fn what_is_left_is_counted_of_what_the_plan_asks_for() {
    let scratch = Scratch::with_sample(4, 20);
    let asked = ["--tables", "job_events,task_usage", "--parts", "0-2"];
    scratch.convert_well(&[&asked[..], &["--shard", "0/2"]].concat());
    let (json, text) = inspected(&scratch.out());
    let tables = json["tables"].as_array().unwrap();
    let mut left = 0;
    for found in tables {
        let missing = found["missing"].as_array().unwrap();
        assert_eq!(found["asked"], 3, "{found}");
        assert_eq!(found["parts"].as_u64().unwrap() + missing.len() as u64, 3);
        assert!(!missing.contains(&3.into()), "{found}");
        let name = found["name"].as_str().unwrap();
        let says = format!("{name}: {} of 3 parts left: ", missing.len());
        assert_eq!(text.contains(&says), !missing.is_empty(), "{text}");
        left += missing.len();
    }
    assert!(tables.len() == 2 && left > 0, "{text}");
}

/// Nobody notes what a run without shards was asked for, so what is missing is missing of all published parts.
#[test]
fn a_run_that_ended_early_has_parts_missing_of_all_that_are_published() {
    let scratch = Scratch::with_sample(4, 20);
    scratch.part("job_events", 1, 4, b"x\n");
    let asked = ["--tables", "job_events,task_usage", "--parts", "0-2"];
    scratch
        .convert(&[&asked[..], &["--threads", "1"]].concat())
        .exits(4);
    let (json, text) = inspected(&scratch.out());
    let tables = json["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 2, "{text}");
    for found in tables {
        assert!(found["asked"].is_null(), "{text}");
        let [done, missing] = [
            &found["parts"],
            &found["missing"].as_array().unwrap().len().into(),
        ]
        .map(|number| number.as_u64().unwrap());
        assert_eq!(done + missing, 500, "{text}");
        let name = found["name"].as_str().unwrap();
        let says = format!("{name}: {missing} parts missing: ");
        assert!(text.contains(&says), "{says}: {text}");
    }
    let says = "run the same convert command again to finish it\n";
    assert!(text.ends_with(says), "{text}");
    // Once all parts are done, too: what has no shards can't be committed.
    assert!(json["shards"].is_null(), "{json}");
}

#[test]
fn times_have_the_unit_of_their_column() {
    let unit = |table: &'static Table| {
        let unit = table.columns[table.time.unwrap()].unit.as_deref().unwrap();
        unit.split_once(" since ").unwrap().0
    };
    let scratch = Scratch::with_sample(1, 5);
    scratch.convert_well(&[]);
    let (json, text) = inspected(&scratch.out());
    for (found, table) in json["tables"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&trace().tables)
    {
        assert_eq!(found["time_unit"], unit(table));
        let row = text
            .lines()
            .find(|line| line.starts_with(&*table.name))
            .unwrap();
        assert!(row.contains("iB") || row.contains(" B"), "{row}");
        if let Some(from) = found["time_min"].as_i64() {
            let from = group_digits(from.unsigned_abs());
            let from = format!("{}: from {from} µs", table.name);
            assert!(text.contains(&from), "{from}: {text}");
        }
    }
    let table = plain_whole_tables()
        .find(|table| table.time.is_some())
        .unwrap();
    let scratch = Scratch::new();
    scratch.file(&format!("{}.csv", table.name), b"1\n");
    let (json, _) = inspected(&scratch.src());
    assert_eq!(json["tables"][0]["time_unit"], unit(table));
    assert_ne!(unit(table), unit(trace().tables.first().unwrap()));
}
