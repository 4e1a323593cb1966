//! Short descriptions of real rows.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};

use tracelake_testkit::{Scratch, read_output, run, shared};

use super::language::{converted, first_output};

const HELIOS: &str = r#"
family = "helios"
[[table]]
name = "jobs"
file = "cluster_log.csv"
csv.header = true
time = "submit_time"
columns = { job_id = "integer", user = "text", vc = "text", gpu_num = "integer", cpu_num = "integer", node_num = "integer", state = "text", submit_time = "date-time", start_time = "date-time", end_time = "date-time", duration = "integer", queue = "integer" }
"#;

const BURSTGPT: &str = r#"
family = "burstgpt"
[[table]]
name = "requests"
file = "BurstGPT_3.csv"
csv.header = true
[table.columns]
Timestamp = { kind = "integer", integral_floats = true, unit = "seconds since the trace began" }
"Session ID" = "text"
"Elapsed time" = "integer"
Model = "text"
"Request tokens" = "integer"
"Response tokens" = "integer"
"Total tokens" = "integer"
"Log Type" = "text"
"#;

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_rows_are_read_by_short_descriptions() {
    for (path, description, names) in [
        ("next/helios/cluster_log.csv", HELIOS, ["user", "duration"]),
        (
            "next/burstgpt/BurstGPT_3.csv",
            BURSTGPT,
            ["session_id", "elapsed_time"],
        ),
    ] {
        let text = fs::read_to_string(shared(path)).unwrap();
        let scratch = Scratch::new();
        scratch.file(path.rsplit('/').next().unwrap(), text.as_bytes());
        converted(&scratch, description);
        let read = read_output(&first_output(&scratch));
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(read.num_rows(), rows.len());
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let at = |name: &str| {
            let snake = |field: &&str| field.to_lowercase().replace(' ', "_") == name;
            header.iter().position(snake).unwrap()
        };
        let [text_at, number_at] = names.map(at);
        let texts = read.column_by_name(names[0]).unwrap().as_string::<i32>();
        let numbers = read
            .column_by_name(names[1])
            .unwrap()
            .as_primitive::<Int64Type>();
        for (row, line) in rows.iter().enumerate() {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(texts.value(row), fields[text_at]);
            assert_eq!(numbers.value(row).to_string(), fields[number_at]);
        }
        if let Some(times) = read.column_by_name("submit_time") {
            let first = times.as_primitive::<TimestampMicrosecondType>().value(0);
            // 2020-06-09 18:41:01.
            assert_eq!(first, 1_591_728_061_000_000);
        }
    }
}

/// The schema that editors are given describes what the program reads.
#[test]
fn the_json_schema_is_printed() {
    let printed = run(["schema", "--json-schema"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let schema: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["family", "table"]));
    let column = &schema["definitions"]["ColumnSpec"]["properties"];
    assert!(column.get("words").is_some() && column.get("unit").is_some());
    run(["schema", "--json-schema", "--as", "json"]).exits(2);
}
