//! Requests to language models, exported for replay tools, and compared with the published lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::{Value, json};
use tracelake_schema::{TRACES, Trace};
use tracelake_testkit::{
    Run, Scratch, convert, ended, generate, manifest, read_output, run, shared,
};

use crate::readers::installed;

/// Two of Mooncake's workloads, each with its own time 0 and numbers of blocks.
const CONVERSATION: &str = "\
{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1, 2]}
{\"timestamp\": 27482, \"input_length\": 0, \"output_length\": 490, \"hash_ids\": []}
{\"timestamp\": 30535, \"input_length\": 12, \"output_length\": 16, \"hash_ids\": [0, 3]}
";
const SYNTHETIC: &str = "\
{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 0, \"hash_ids\": [0, 1]}
{\"timestamp\": 27482, \"input_length\": 700, \"output_length\": 3, \"hash_ids\": [0, 2]}
";

fn export(scratch: &Scratch, file: &str, arguments: &[&str]) -> Run {
    let (lake, file) = (scratch.out(), scratch.path().join(file));
    let start = ["export", lake.to_str().unwrap(), file.to_str().unwrap()];
    run([&start[..], &["--as", "mooncake"], arguments].concat())
}

/// The objects of an exported file.
fn exported(scratch: &Scratch, file: &str) -> Vec<Value> {
    objects(&fs::read_to_string(scratch.path().join(file)).unwrap())
}

fn objects(lines: &str) -> Vec<Value> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn names_in(directory: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn two_workloads() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("conversation_trace.jsonl", CONVERSATION.as_bytes());
    scratch.file("traces/synthetic_trace.jsonl", SYNTHETIC.as_bytes());
    scratch.convert_well(&["--allow-missing"]);
    scratch
}

/// The published lines, sorted by arrival and counted from the first one, by an independent reading.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn mooncakes_published_lines_come_back() {
    let published = fs::read_to_string(shared("next/mooncake/conversation_trace.jsonl")).unwrap();
    let scratch = Scratch::new();
    scratch.file("conversation_trace.jsonl", published.as_bytes());
    scratch.convert_well(&["--allow-missing"]);
    export(&scratch, "requests.jsonl", &[]).well();
    let mut expected = objects(&published);
    expected.sort_by_key(|request| request["timestamp"].as_i64());
    let first = expected[0]["timestamp"].as_i64().unwrap();
    for request in &mut expected {
        request["timestamp"] = json!(request["timestamp"].as_i64().unwrap() - first);
    }
    assert!(expected.len() > 100);
    assert_eq!(exported(&scratch, "requests.jsonl"), expected);
    // The same bytes each time, in place of the file that is there.
    let before = fs::read(scratch.path().join("requests.jsonl")).unwrap();
    let names = names_in(scratch.path());
    export(&scratch, "requests.jsonl", &[]).well();
    assert_eq!(
        fs::read(scratch.path().join("requests.jsonl")).unwrap(),
        before
    );
    assert_eq!(names_in(scratch.path()), names);
}

#[test]
fn services_with_their_own_clocks_share_no_block() {
    let scratch = two_workloads();
    let both = export(&scratch, "both.jsonl", &[]);
    both.well();
    let said = "\
in the file: 2 requests without tokens of the input or of the output, which replay tools may refuse; --drop-empty leaves them out
together in the file: 2 services, each from its own time 0; --service keeps one
blocks (hash_ids) have 512 tokens
exported: 5 requests to ";
    assert!(both.stderr.starts_with(said), "{}", both.stderr);
    let requests = exported(&scratch, "both.jsonl");
    let times: Vec<_> = requests.iter().map(|it| it["timestamp"].clone()).collect();
    assert_eq!(times, [0, 1000, 27482, 27482, 30535]);
    let blocks: Vec<_> = requests.iter().map(|it| it["hash_ids"].clone()).collect();
    let expected = [
        json!([0, 2, 4]),
        json!([1, 3]),
        json!([]),
        json!([1, 5]),
        json!([0, 6]),
    ];
    assert_eq!(blocks, expected);

    export(
        &scratch,
        "one.jsonl",
        &["--service", "synthetic", "--drop-empty"],
    )
    .well();
    let expected =
        json!({"timestamp": 0, "input_length": 700, "output_length": 3, "hash_ids": [0, 2]});
    assert_eq!(exported(&scratch, "one.jsonl"), [expected]);
    export(
        &scratch,
        "some.jsonl",
        &["--time", "1s..30s", "--service", "conversation"],
    )
    .well();
    assert_eq!(exported(&scratch, "some.jsonl").len(), 1);
}

/// Times of dates have one clock, whatever the service, and at most three digits after the milliseconds.
#[test]
fn dates_become_milliseconds() {
    let scratch = Scratch::new();
    let header = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
    let code = format!(
        "{header}2024-05-12 18:15:46.680590+00:00,4808,10\r\n2024-05-12 18:15:47.123456+00:00,1,2\r\n"
    );
    let conv = format!(
        "{header}2024-05-12 18:15:46.680000+00:00,374,44\r\n2024-05-12 18:15:48.680000+00:00,,\r\n"
    );
    scratch.file("AzureLLMInferenceTrace_code_1week.csv", code.as_bytes());
    scratch.file("AzureLLMInferenceTrace_conv_1week.csv", conv.as_bytes());
    scratch.convert_well(&[]);
    let run = export(&scratch, "requests.jsonl", &[]);
    run.well();
    assert!(!run.stderr.contains("together"), "{}", run.stderr);
    assert!(!run.stderr.contains("blocks"), "{}", run.stderr);
    let text = fs::read_to_string(scratch.path().join("requests.jsonl")).unwrap();
    let expected = "\
{\"timestamp\":0,\"input_length\":374,\"output_length\":44}
{\"timestamp\":0.59,\"input_length\":4808,\"output_length\":10}
{\"timestamp\":443.456,\"input_length\":1,\"output_length\":2}
{\"timestamp\":2000,\"input_length\":null,\"output_length\":null}
";
    assert_eq!(text, expected);
    let arrow = scratch.path().join("arrow");
    convert(&scratch.src(), &arrow, &["--format", "arrow"]).well();
    let file = scratch.path().join("arrow.jsonl");
    let arguments = [
        "export",
        arrow.to_str().unwrap(),
        file.to_str().unwrap(),
        "--as",
        "mooncake",
    ];
    run_well(&arguments);
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    let dates = ["--time", "2024-05-12T18:15:47..", "--service", "code"];
    export(&scratch, "late.jsonl", &dates).well();
    assert_eq!(exported(&scratch, "late.jsonl").len(), 1);
}

fn run_well(arguments: &[&str]) {
    run(arguments).well();
}

#[test]
fn what_has_no_such_form_is_refused() {
    let scratch = two_workloads();
    export(&scratch, "x.jsonl", &["--service", "moon"])
        .refuses(2, "no request of the lake is of 'moon'");
    export(&scratch, "x.jsonl", &["--service", "moon"]).says("conversation, synthetic");
    export(&scratch, "out/x.jsonl", &[]).refuses(2, "within the lake");
    export(&scratch, "none/x.jsonl", &[]).refuses(2, "its directory doesn't exist");
    export(&scratch, ".", &[]).refuses(2, "a directory, not a file");
    export(&scratch, "x.jsonl", &["--time", "2020-01-01.."]).refuses(2, "--time");
    assert!(!scratch.path().join("x.jsonl").exists());

    let narrow = Scratch::new();
    narrow.file("conversation_trace.jsonl", CONVERSATION.as_bytes());
    narrow.convert_well(&["--allow-missing", "--columns", "timestamp,input_length"]);
    let refused = export(&narrow, "x.jsonl", &[]);
    refused.refuses(2, "the lake lacks columns that the export needs");
    refused.says("input_length, output_length, hash_ids, workload, timestamp");

    let negative = Scratch::new();
    let line =
        "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-5]}\n";
    negative.file("conversation_trace.jsonl", line.as_bytes());
    negative.convert_well(&["--allow-missing"]);
    export(&negative, "x.jsonl", &[]).refuses(4, "hash_ids has the block -5");
    assert!(!negative.path().join("x.jsonl").exists());
}

#[test]
fn lakes_without_requests_name_the_traces_that_have_them() {
    let scratch = Scratch::new();
    convert(Path::new("../../tests/sample"), &scratch.out(), &[]).well();
    let refused = export(&scratch, "x.jsonl", &[]);
    refused.refuses(2, "has no requests to language models");
    for family in ["azure-llm-2023", "mooncake-2025", "qwen-bailian-2025"] {
        refused.says(family);
    }
    run(["export", "lake", "x.jsonl"]).exits(2);
}

/// A column of the file's name in JSON: a row can't have it, whichever of the two readers of lines it takes.
#[test]
fn rows_of_json_have_the_values_of_their_files_name() {
    let scratch = Scratch::new();
    let escaped = CONVERSATION.replace("output", "\\u006futput");
    scratch.file("conversation_trace.jsonl", CONVERSATION.as_bytes());
    scratch.file("toolagent_trace.jsonl", escaped.as_bytes());
    let named = SYNTHETIC.replace("\"timestamp\"", "\"workload\": \"moon\", \"timestamp\"");
    let lines = format!("{SYNTHETIC}{named}");
    scratch.file("synthetic_trace.jsonl", lines.as_bytes());
    scratch
        .convert(&["--on-bad-row", "reject", "--time", "0..1h"])
        .exits(3);
    scratch.verify().well();
    export(&scratch, "requests.jsonl", &[]).well();
    let mut counts = BTreeMap::new();
    for name in ["conversation", "toolagent", "synthetic"] {
        export(&scratch, "one.jsonl", &["--service", name]).well();
        counts.insert(name, exported(&scratch, "one.jsonl").len());
    }
    let expected = [("conversation", 3), ("synthetic", 2), ("toolagent", 3)];
    assert_eq!(counts, BTreeMap::from(expected));
    assert_eq!(exported(&scratch, "requests.jsonl").len(), 8);
}

/// It doesn't matter which file of the lake has which rows.
#[test]
fn a_compacted_lake_gives_the_same_bytes() {
    let scratch = two_workloads();
    export(&scratch, "lake.jsonl", &[]).well();
    let compact = scratch.path().join("compact");
    let (lake, out) = (scratch.out(), compact.to_str().unwrap());
    let cluster = [
        "cluster",
        lake.to_str().unwrap(),
        out,
        "--compact",
        "--files",
        "3",
    ];
    run_well(&cluster);
    for (file, arguments) in [
        ("all.jsonl", &[][..]),
        ("one.jsonl", &["--service", "synthetic"]),
    ] {
        let name = scratch.path().join(file);
        let start = ["export", out, name.to_str().unwrap(), "--as", "mooncake"];
        run_well(&[&start, arguments].concat());
    }
    let read = |file: &str| fs::read_to_string(scratch.path().join(file)).unwrap();
    assert_eq!(read("all.jsonl"), read("lake.jsonl"));
    export(&scratch, "service.jsonl", &["--service", "synthetic"]).well();
    assert_eq!(read("one.jsonl"), read("service.jsonl"));
}

/// Several files of each of two services: those of a service have one clock, and share their blocks.
#[test]
fn a_service_may_have_several_files() {
    let scratch = Scratch::new();
    let line = |time: u32, block: u32| {
        format!("{{\"time\": {time}, \"input\": 1, \"output\": 1, \"blocks\": [{block}]}}\n")
    };
    for (file, time, block) in [("a_0", 7, 5), ("a_1", 9, 5), ("b_0", 7, 5), ("b_1", 8, 6)] {
        scratch.file(&format!("{file}.json"), line(time, block).as_bytes());
    }
    let description = scratch.path().join("calls.toml");
    let text = r#"
family = "calls"
[[table]]
name = "calls"
files = "named"
names = ["{service}_{half}.json"]
captures = { service = ["a", "b"], half = ["0", "1"] }
syntax = "json"
time = "time"
requests = { input_length = "input", output_length = "output", hash_ids = "blocks", block_size = 8, service = "service" }
[table.columns]
service = { kind = "text", capture = "service" }
time = { kind = "integer", unit = "seconds since the first call" }
input = "integer"
output = "integer"
blocks = { kind = "list", field = [{ kind = "integer" }] }
"#;
    fs::write(&description, text).unwrap();
    let arguments = ["--trace", description.to_str().unwrap()];
    scratch.convert_well(&arguments);
    let both = export(&scratch, "both.jsonl", &[]);
    both.well();
    assert!(
        both.stderr.contains("together in the file: 2 services"),
        "{}",
        both.stderr
    );
    let blocks = |file: &str| {
        let requests = exported(&scratch, file).into_iter();
        let blocks = requests.map(|it| it["hash_ids"][0].as_u64().unwrap());
        let mut blocks: Vec<u64> = blocks.collect();
        blocks.sort_unstable();
        blocks
    };
    assert_eq!(blocks("both.jsonl"), [10, 10, 11, 13]);
    let one = export(&scratch, "one.jsonl", &["--service", "a"]);
    one.well();
    assert!(!one.stderr.contains("together"), "{}", one.stderr);
    assert_eq!(blocks("one.jsonl"), [5, 5]);
}

/// Arrow files carry no checksums.
#[test]
fn a_flipped_bit_ends_an_export() {
    let scratch = two_workloads();
    let arrow = scratch.path().join("arrow");
    let options = ["--allow-missing", "--format", "arrow"];
    convert(&scratch.src(), &arrow, &options).well();
    for lake in [scratch.out(), arrow] {
        let path = &manifest(&lake)["tables"][0]["parts"][0]["output"]["path"];
        let output = lake.join(path.as_str().unwrap());
        let bytes = fs::read(&output).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 20) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&output, changed).unwrap();
            let file = scratch.path().join("x.jsonl");
            let start = ["export", lake.to_str().unwrap(), file.to_str().unwrap()];
            run([&start[..], &["--as", "mooncake"]].concat())
                .refuses(5, "isn't the file that the manifest of the lake names");
            assert!(!file.exists());
        }
    }
}

/// The new file takes the place of a name, so what a link or a device stands for would be lost, or not be written.
#[cfg(unix)]
#[test]
fn links_and_devices_stay() {
    let scratch = two_workloads();
    let (file, link) = (
        scratch.path().join("mine"),
        scratch.path().join("link.jsonl"),
    );
    fs::write(&file, "mine").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    export(&scratch, "link.jsonl", &[]).refuses(2, "a link or a device, not a file");
    assert_eq!(fs::read_to_string(&link).unwrap(), "mine");
    assert!(link.is_symlink());
    let lake = scratch.out();
    let device = [
        "export",
        lake.to_str().unwrap(),
        "/dev/null",
        "--as",
        "mooncake",
    ];
    run(device).refuses(2, "a link or a device, not a file");
}

/// The hint about blocks advises this.
#[test]
fn a_lake_without_blocks_is_exported_without_them() {
    let scratch = Scratch::new();
    let line =
        "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-5]}\n";
    scratch.file("conversation_trace.jsonl", line.as_bytes());
    let columns = "timestamp,input_length,output_length,workload";
    scratch.convert_well(&["--allow-missing", "--columns", columns]);
    let run = export(&scratch, "requests.jsonl", &[]);
    run.well();
    assert!(!run.stderr.contains("blocks"), "{}", run.stderr);
    let expected = json!({"timestamp": 0, "input_length": 1, "output_length": 1});
    assert_eq!(exported(&scratch, "requests.jsonl"), [expected]);
}

/// The values of a column of integers of a table, in all files of a lake.
fn integers(lake: &Path, table: &Value, column: &str) -> Vec<i64> {
    let mut values = Vec::new();
    for part in table["parts"].as_array().unwrap() {
        let rows = read_output(&lake.join(part["output"]["path"].as_str().unwrap()));
        let column = rows.column_by_name(column).unwrap();
        values.extend(column.as_primitive::<Int64Type>().iter().flatten());
    }
    values
}

/// aiperf replays such files: it accepts them, and finds as many requests as the lake has, of the same lengths.
#[test]
#[cfg_attr(not(aiperf), ignore = "needs `cargo xtask readers --aiperf`")]
fn aiperf_takes_the_requests_of_each_trace() {
    let aiperf = |arguments: &[&str]| {
        let mut command = Command::new(installed("readers-aiperf/bin/aiperf"));
        let run = ended(command.args(arguments).output().unwrap());
        run.exits(0);
        run
    };
    let mut tried = 0;
    let is_generated = |trace: &Trace| trace.tables.iter().all(|it| !it.synthetic.is_empty());
    for trace in TRACES.iter().filter(|trace| is_generated(trace)) {
        let tables = &mut trace.tables.iter();
        let asked = tables.find_map(|table| Some((&table.name, table.requests.as_ref()?)));
        let Some((name, requests)) = asked else {
            continue;
        };
        let scratch = Scratch::new();
        generate(&trace.name, &scratch.src(), &["--rows", "3000"]);
        scratch.convert_well(&[]);
        export(&scratch, "requests.jsonl", &["--drop-empty"]).well();
        let file = scratch.path().join("requests.jsonl");
        let (file, report) = (file.to_str().unwrap(), scratch.path().join("report.json"));
        let said = aiperf(&["validate", "--target", "mooncake-trace", "--input", file]);
        let block_size = requests.block_size.unwrap_or(512).to_string();
        let mut analyse = vec!["analyze-trace", "--input-file", file];
        analyse.extend(["--output-file", report.to_str().unwrap()]);
        aiperf(&[&analyse[..], &["--block-size", &block_size]].concat());
        let found: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();

        let manifest = manifest(&scratch.out());
        let mut listed = manifest["tables"].as_array().unwrap().iter();
        let table = listed.find(|table| table["name"] == **name).unwrap();
        let lengths = [&requests.input_length, &requests.output_length]
            .map(|column| integers(&scratch.out(), table, column));
        let both = lengths[0].iter().zip(&lengths[1]);
        let kept: Vec<[i64; 2]> = both
            .map(|(input, output)| [*input, *output])
            .filter(|lengths| !lengths.contains(&0))
            .collect();
        assert!(said.stdout.contains(&format!("{} rows", kept.len())));
        assert_eq!(found["total_requests"], kept.len(), "{}", trace.name);
        for (index, what) in ["isl_stats", "osl_stats"].into_iter().enumerate() {
            let of = || kept.iter().map(|lengths| lengths[index]);
            #[expect(clippy::cast_precision_loss, reason = "lengths are small")]
            let expected = [
                of().sum::<i64>() as f64 / kept.len() as f64,
                of().min().unwrap() as f64,
                of().max().unwrap() as f64,
            ];
            for (figure, expected) in ["mean", "min", "max"].into_iter().zip(expected) {
                let found = found[what][figure].as_f64().unwrap();
                assert!(
                    (found - expected).abs() < 0.01,
                    "{}: {what}: {found} {expected}",
                    trace.name
                );
            }
        }
        tried += 1;
    }
    assert!(tried >= 6, "{tried} traces");
}
