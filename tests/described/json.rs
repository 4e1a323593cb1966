//! Forms of JSON: arrays, names that no column has, and lists of structs in one another.

use std::fs;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use serde_json::Value;

use tracelake_testkit::{Scratch, convert, manifest, read_output, shared, verify_well};

use super::describe;
use super::language::{INTEGER, converted, first_output, misfit, one_table};

/// A table of one file of JSON, with these lines in its table.
fn table(more: &str) -> String {
    format!("files = \"whole\"\nsyntax = \"json\"\n{more}")
}

const COLUMNS: [(&str, &str); 2] = [
    ("time", INTEGER),
    (
        "box",
        "kind = \"struct\"\nfield = [{ name = \"size\", kind = \"float\" }]",
    ),
];

const LINES: [&str; 3] = [
    r#"{"time":1,"box":{"size":0.5}}"#,
    r#"{"box":null,"time":2}"#,
    r#"{"time":3}"#,
];

#[test]
fn a_text_may_be_an_array() {
    let description = one_table(&table("json.array = true"), &COLUMNS);
    let pretty: Vec<Value> = LINES
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for text in [
        format!("[{}]", LINES.join(",")),
        format!("[\n  {}\n]\n", LINES.join(",\n  ")),
        serde_json::to_string_pretty(&pretty).unwrap(),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.json", text.as_bytes());
        converted(&scratch, &description);
        let read = read_output(&first_output(&scratch));
        let times = read.column(0).as_primitive::<Int64Type>();
        assert_eq!(times.values(), &[1, 2, 3]);
        // Cut into parts, too.
        for rows in ["2", "3"] {
            let file = describe(&scratch, "weather.toml", &description);
            let out = scratch.path().join(rows);
            let trace = ["--trace", file.to_str().unwrap(), "--part-rows", rows];
            convert(&scratch.src(), &out, &trace).well();
            verify_well(&out, &scratch.src());
            assert_eq!(manifest(&out)["tables"][0]["rows"], 3);
        }
    }
}

#[test]
fn bad_elements_are_named_and_rejected() {
    let text = "[{\"time\":1},\n {\"time\":\n   \"x\"}, 5,,\n{\"time\":2} {},{\"time\":3}]\n";
    let scratch = Scratch::new();
    scratch.file("readings.json", text.as_bytes());
    let description = one_table(&table("json.array = true"), &COLUMNS);
    let run = misfit(&scratch, &description);
    run.refuses(
        4,
        "readings.json:2:13: readings.time: not an integer in decimal digits: '\"x\"'",
    );
    let file = describe(&scratch, "weather.toml", &description);
    let out = scratch.path().join("rejecting");
    let trace = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
    convert(&scratch.src(), &out, &trace).exits(3);
    verify_well(&out, &scratch.src());
    let part = &manifest(&out)["tables"][0]["parts"][0];
    assert_eq!(
        (&part["rows_out"], &part["rows_rejected"]),
        (&2.into(), &4.into())
    );
    let rejects = fs::read_to_string(out.join(part["rejects"]["path"].as_str().unwrap())).unwrap();
    let rejects: Vec<Value> = rejects
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<_> = rejects
        .iter()
        .map(|reject| {
            (
                reject["line"].as_u64().unwrap(),
                reject["raw"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (2, "{\"time\":\n   \"x\"}"),
            (3, "5"),
            (3, ""),
            (4, "{\"time\":2} {}")
        ]
    );
}

#[test]
fn what_is_no_array_is_refused_with_its_place() {
    let description = one_table(&table("json.array = true"), &COLUMNS);
    for (text, place, says) in [
        (
            "{\"time\":1}\n",
            "readings.json:1:1",
            "these are JSON lines: remove array = true",
        ),
        ("", "readings.json:1:1", "the text doesn't begin with ["),
        (
            "[{\"time\":1},\n{\"time\"",
            "readings.json",
            "the array has no end: the text is cut off",
        ),
        (
            "[{\"time\":1}]\n x",
            "readings.json:2:2",
            "there is more after the array",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.json", text.as_bytes());
        let run = misfit(&scratch, &description);
        run.refuses(4, says);
        run.says(place);
    }
    let scratch = Scratch::new();
    scratch.file("readings.json", b"[\n{\"time\":1}]\n");
    let run = misfit(&scratch, &one_table(&table(""), &COLUMNS));
    run.refuses(4, "readings.json:1:1");
    run.says("a JSON array: write array = true in [table.json] of the description");
}

#[test]
fn other_names_are_refused_or_ignored() {
    let text = "{\"time\":1,\"sky\":{\"blue\":[1,\"\\n\"]},\"box\":{\"size\":1,\"lid\":null}}\n\
                {\"sky\":1,\"sky\":2,\"time\":2,\"box\":{}}\n{\"s\\u006by\":\"\\u0041\",\"time\":3}\n";
    let scratch = Scratch::new();
    scratch.file("readings.json", text.as_bytes());
    for refuses in ["", "json.extra = \"refuse\""] {
        let run = misfit(&scratch, &one_table(&table(refuses), &COLUMNS));
        run.refuses(
            4,
            "readings.json:1:11: readings: an unknown name: '\"sky\"'",
        );
    }
    let ignores = one_table(&table("json.extra = \"ignore\"\ntime = \"time\""), &COLUMNS);
    converted(&scratch, &ignores);
    let read = read_output(&first_output(&scratch));
    let times = read.column(0).as_primitive::<Int64Type>();
    assert_eq!(times.values(), &[1, 2, 3]);
    let file = describe(&scratch, "weather.toml", &ignores);
    let out = scratch.path().join("some");
    let some = ["--trace", file.to_str().unwrap(), "--time", "2..3"];
    convert(&scratch.src(), &out, &some).well();
    verify_well(&out, &scratch.src());
    assert_eq!(manifest(&out)["tables"][0]["rows"], 1);
    // A name that is known still can't come twice, and what is ignored is JSON.
    for (text, says) in [
        ("{\"time\":1,\"time\":1}\n", "a name that occurs twice"),
        ("{\"time\":1,\"sky\":x}\n", "not JSON"),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.json", text.as_bytes());
        misfit(&scratch, &ignores).refuses(4, says);
    }
    for (more, says) in [
        (
            "json.extra = \"drop\"",
            "unknown variant `drop`, expected `refuse` or `ignore`",
        ),
        (
            "json.lines = true",
            "unknown field `lines`, expected `array` or `extra`",
        ),
    ] {
        misfit(&scratch, &one_table(&table(more), &COLUMNS)).refuses(2, says);
    }
    let csv = "files = \"whole\"\njson.array = true";
    misfit(&scratch, &one_table(csv, &COLUMNS[..1]))
        .refuses(2, "readings: json: only for syntax = \"json\"");
}

#[test]
fn structs_and_lists_are_in_one_another_up_to_a_depth() {
    let nested = |depth: usize| {
        let kind = |at: usize| ["list", "struct"][at % 2];
        let inner = "name = \"x\", kind = \"integer\"".to_owned();
        let fields = (1..depth).fold(inner, |inner, at| {
            format!(
                "name = \"x\", kind = \"{}\", field = [{{ {inner} }}]",
                kind(at)
            )
        });
        let more = format!("kind = \"list\"\nfield = [{{ {fields} }}]");
        let value = (1..depth).fold("5".to_owned(), |inner, at| match kind(at) {
            "list" => format!("[{inner}, {inner}]"),
            _ => format!("{{\"x\":{inner}}}"),
        });
        let line = format!("{{\"deep\":[{value}, {value}]}}\n{{}}\n{{\"deep\":[]}}\n");
        (one_table(&table(""), &[("deep", more.as_str())]), line)
    };
    let (description, text) = nested(16);
    let scratch = Scratch::new();
    scratch.file("readings.json", text.as_bytes());
    converted(&scratch, &description);
    assert_eq!(read_output(&first_output(&scratch)).num_rows(), 3);
    let refused = misfit(&scratch, &nested(17).0);
    refused.refuses(
        2,
        "weather.toml:15: readings: deep: structs and lists are at most 16 deep in one another",
    );
}

const PHILLY: &str = r#"
family = "philly"
[[table]]
name = "jobs"
file = "cluster_job_log"
syntax = "json"
json.array = true
time = "submitted_time"
[table.columns]
status = "text"
vc = "text"
jobid = "text"
submitted_time = "date-time"
user = "text"
[table.columns.attempts]
kind = "list"
[[table.columns.attempts.field]]
kind = "struct"
[[table.columns.attempts.field.field]]
name = "start_time"
kind = "date-time"
[[table.columns.attempts.field.field]]
name = "end_time"
kind = "date-time"
[[table.columns.attempts.field.field]]
name = "detail"
kind = "list"
[[table.columns.attempts.field.field.field]]
kind = "struct"
[[table.columns.attempts.field.field.field.field]]
name = "ip"
kind = "text"
[[table.columns.attempts.field.field.field.field]]
name = "gpus"
kind = "list"
field = [{ kind = "text" }]
"#;

/// Lists of structs in lists of structs, in an array that spans lines, as Philly publishes its jobs.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_attempts_of_jobs_are_read() {
    let text = fs::read(shared("next/philly/cluster_job_log")).unwrap();
    let jobs: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    for (text, description) in [
        (text, PHILLY.to_owned()),
        (
            lines.into_bytes(),
            PHILLY.replace("json.array = true\n", ""),
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file("cluster_job_log", &text);
        converted(&scratch, &description);
        let read = read_output(&first_output(&scratch));
        assert_eq!(read.num_rows(), jobs.len());
        for (row, job) in jobs.iter().enumerate() {
            let user = read.column_by_name("user").unwrap().as_string::<i32>();
            assert_eq!(job["user"], user.value(row));
            let attempts = read
                .column_by_name("attempts")
                .unwrap()
                .as_list::<i32>()
                .value(row);
            let attempts = attempts.as_struct();
            let expected = job["attempts"].as_array().unwrap();
            assert_eq!(attempts.len(), expected.len());
            let starts = attempts
                .column(0)
                .as_primitive::<TimestampMicrosecondType>();
            for (at, attempt) in expected.iter().enumerate() {
                let start = starts.value_as_datetime(at).unwrap().to_string();
                assert_eq!(attempt["start_time"], start);
                let details = attempts.column(2).as_list::<i32>().value(at);
                let details = details.as_struct();
                let of_attempt = attempt["detail"].as_array().unwrap();
                assert_eq!(details.len(), of_attempt.len());
                for (at, detail) in of_attempt.iter().enumerate() {
                    assert_eq!(detail["ip"], details.column(0).as_string::<i32>().value(at));
                    let gpus = details.column(1).as_list::<i32>().value(at);
                    let gpus: Vec<_> = gpus.as_string::<i32>().iter().flatten().collect();
                    assert_eq!(detail["gpus"], Value::from(gpus));
                }
            }
        }
    }
}

#[test]
fn json_lines_may_end_with_a_blank_one() {
    let description = one_table(&table("time = \"time\""), &COLUMNS);
    for ending in ["\n", "\r\n"] {
        let scratch = Scratch::new();
        let text = LINES.map(|line| line.to_owned() + ending).concat() + ending;
        scratch.file("readings.json", text.as_bytes());
        converted(&scratch, &description);
        assert_eq!(manifest(&scratch.out())["tables"][0]["rows"], 3);
        let scratch = Scratch::new();
        scratch.file("readings.json", (text + ending).as_bytes());
        misfit(&scratch, &description).refuses(4, "readings.json:4:1: readings: a blank line");
        let file = describe(&scratch, "weather.toml", &description);
        let out = scratch.path().join("rejecting");
        let trace = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
        convert(&scratch.src(), &out, &trace).exits(3);
        verify_well(&out, &scratch.src());
    }
}
