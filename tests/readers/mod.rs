//! Other people's readers read a lake as it is, and agree with each other and with the source.
//!
//! `cargo xtask readers` (and `--spark`) installs them; without them, these tests are ignored.
//! TRACELAKE_PYTHON names another interpreter that has them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tracelake_schema::{Kind, SYNTHETIC, TRACES, Zone};

use tracelake_testkit::{
    Scratch, committed_sample, convert, copy, generate, good_row, heads, manifest, row_with, run,
    shared, table,
};

mod bench;
mod catalogs;

/// The interpreter of TRACELAKE_PYTHON, or else the one that `cargo xtask readers` makes. The build
/// script looks for it in the same place.
pub(crate) fn python() -> PathBuf {
    let named = std::env::var_os("TRACELAKE_PYTHON").map(PathBuf::from);
    named.unwrap_or_else(|| installed("readers/bin/python"))
}

/// The path of a file that `cargo xtask readers` or `cargo xtask buckets` installs into the build directory.
pub(crate) fn installed(path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join(path)
}

/// Describes a lake and its source for a script.
fn describe(source: &Path, out: &Path) -> Value {
    let source = source.canonicalize().unwrap();
    let manifest = manifest(out);
    let trace = tracelake_schema::trace(manifest["trace"].as_str().unwrap()).unwrap();
    let tables = manifest["tables"].as_array().unwrap();
    let described = tables.iter().map(|facts| {
        let table = trace.table(facts["name"].as_str().unwrap()).unwrap();
        let columns = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::DateTime(Zone::Published) => "timestamp[us, tz=UTC]",
                Kind::DateTime(Zone::None) => "timestamp[us]",
                Kind::Integer => "int64",
                Kind::Code => "int32",
                Kind::Float => "double",
                Kind::Boolean => "boolean",
                Kind::Text | Kind::Struct | Kind::List => "string",
            };
            json!({"name": column.name, "type": kind, "nullable": !column.mandatory, "comment": column.comment()})
        });
        let parts = facts["parts"].as_array().unwrap().iter().map(|part| {
            json!({
                "number": part["file_number"],
                "source": source.join(part["source"]["path"].as_str().unwrap()),
                "output": out.join(part["output"]["path"].as_str().unwrap()),
            })
        });
        let fields: Vec<&str> = table.fields.iter().map(|&index| &*table.columns[index].name).collect();
        json!({
            "name": table.name,
            "directory": out.join(&*table.name),
            "columns": columns.collect::<Vec<_>>(),
            "rows": facts["rows"],
            "fields": fields,
            "parts": parts.collect::<Vec<_>>(),
        })
    });
    json!({"lake": out, "tables": described.collect::<Vec<_>>()})
}

/// The program's schema of a lake's trace, in a form.
fn schema(out: &Path, form: &str) -> String {
    let trace = manifest(out)["trace"].as_str().unwrap().to_owned();
    let run = run(["schema", &trace, "--as", form]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

/// A request with the statements for a database and what they have to show.
fn with_views(request: Value, out: &Path, form: &str) -> Value {
    let mut request = request;
    request["ddl"] = schema(out, form).into();
    request["schema"] = serde_json::from_str(&schema(out, "json")).unwrap();
    request
}

/// Runs a script on a lake and returns its answer.
#[track_caller]
fn ask(python: &Path, script: &str, request: &Value) -> Value {
    ask_all(python, script, std::slice::from_ref(request)).remove(0)
}

/// Asks a script that takes any number of requests, one a line: importing what it reads with takes longest.
fn ask_all(python: &Path, script: &str, requests: &[Value]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/readers")
        .join(script);
    let output = output(python, &script, &[], requests);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    let answers: Vec<Value> = answers.collect::<Result<_, _>>().unwrap();
    assert_eq!(answers.len(), requests.len());
    answers
}

/// Runs a script on some requests.
fn output(python: &Path, script: &Path, arguments: &[&str], requests: &[Value]) -> Output {
    let lines: String = requests
        .iter()
        .map(|request| format!("{request}\n"))
        .collect();
    let mut child = Command::new(python)
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

fn findings(answer: &Value) -> String {
    let findings = answer["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A script has to find nothing wrong with a lake, and every row.
#[track_caller]
fn check(python: &Path, script: &str, source: &Path, out: &Path) {
    judge(python, script, &describe(source, out), out);
}

#[track_caller]
fn judge(python: &Path, script: &str, request: &Value, out: &Path) {
    is_right(&ask(python, script, request), out);
}

/// Expects that a script found nothing wrong, and every row.
#[track_caller]
fn is_right(answer: &Value, out: &Path) {
    assert_eq!(findings(answer), "", "{}", out.display());
    for facts in manifest(out)["tables"].as_array().unwrap() {
        let name = facts["name"].as_str().unwrap();
        assert_eq!(answer["tables"][name]["rows"], facts["rows"], "{name}");
    }
}

/// Every table with every kind of column, NULLs, and the times before and after the trace.
fn sample() -> Scratch {
    let scratch = Scratch::with_sample(3, 400);
    scratch.convert_well(&[]);
    scratch
}

#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn four_readers_agree_with_the_source() {
    let python = python();
    let scratch = sample();
    check(&python, "check.py", &scratch.src(), &scratch.out());
    let out = scratch.path().join("committed");
    convert(&committed_sample(), &out, &[]).well();
    check(&python, "check.py", &committed_sample(), &out);
    // Codecs that some reader has another decoder for.
    for codec in ["snappy", "none"] {
        let out = scratch.path().join(codec);
        convert(&scratch.src(), &out, &["--compression", codec]).well();
        check(&python, "check.py", &scratch.src(), &out);
    }
}

#[test]
#[cfg_attr(
    not(all(readers, published_data)),
    ignore = "needs `cargo xtask readers` and the published rows in ../shared/data"
)]
fn four_readers_agree_with_the_published_source() {
    let python = python();
    let source = shared("google-2011");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("lake");
    convert(&source, &out, &["--allow-missing"]).well();
    check(&python, "check.py", &source, &out);
    let scratch = heads();
    scratch.convert_well(&["--allow-missing"]);
    check(&python, "check.py", &scratch.src(), &scratch.out());
}

/// The comparison is worth nothing unless it finds what it should: one other digit, one NULL.
#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn the_comparison_finds_a_changed_value() {
    let python = python();
    let good = good_row("task_events");
    for (column, value) in [("memory_request", "0.07447"), ("machine_id", "")] {
        let scratch = Scratch::new();
        scratch.only("task_events", format!("{good}\n{good}\n").as_bytes());
        scratch.convert_well(&[]);
        let other = row_with(table("task_events"), column, value.as_bytes());
        scratch.only(
            "task_events",
            &[&other[..], b"\n", good.as_bytes()].concat(),
        );
        let request = describe(&scratch.src(), &scratch.out());
        let answer = ask(&python, "check.py", &request);
        let found = findings(&answer);
        assert!(found.contains("1 rows are only in the source"), "{found}");
        assert!(
            found.contains("1 rows differ from the source in place"),
            "{found}"
        );
    }
}

#[test]
#[cfg_attr(not(spark), ignore = "needs `cargo xtask readers --spark`")]
fn spark_reads_schema_comments_and_partitions() {
    let python = python();
    let scratch = sample();
    let out = scratch.out();
    let request = with_views(describe(&scratch.src(), &out), &out, "spark");
    judge(&python, "check_spark.py", &request, &out);
}

/// The rows of the sample, and codes and texts that are nearly something else.
#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn views_show_names_seconds_timestamps_and_nulls() {
    let python = python();
    let scratch = sample();
    let attributes = table("machine_attributes");
    let values = ["-3", "+3", "3.0", "12a", "", "9223372036854775808", "007"];
    let rows = values.map(|value| row_with(attributes, "attribute_value", value.as_bytes()));
    scratch.only("machine_attributes", &rows.join(&b'\n'));
    let unknown = row_with(table("machine_events"), "event_type", b"9");
    scratch.only("machine_events", &unknown);
    for layout in ["hive", "flat"] {
        let out = scratch.path().join(layout);
        convert(&scratch.src(), &out, &["--layout", layout]).well();
        let request = with_views(describe(&scratch.src(), &out), &out, "duckdb");
        judge(&python, "check_views.py", &request, &out);
    }
}

#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn a_release_is_read_by_its_descriptions_alone() {
    let directory = tempfile::tempdir().unwrap();
    let [source, synthetic] =
        ["source", "synthetic-source"].map(|name| directory.path().join(name));
    let size = ["--parts", "2", "--rows", "400"];
    generate("google-2011-v2.1", &synthetic, &size);
    copy(&synthetic, &source);
    fs::remove_file(source.join(SYNTHETIC)).unwrap();
    // Cells, lists and structs.
    let cells = directory.path().join("borg");
    generate("borg-2019", &cells, &["--rows", "2000"]);
    let some = ["--sample", "0/2", "--tables", "job_events,task_events"];
    let (mut requests, mut outs) = (Vec::new(), Vec::new());
    for (name, source, options, reads_rows) in [
        ("hive", &source, &[][..], true),
        ("flat", &source, &["--layout", "flat"], true),
        // mlcroissant reads no Arrow files.
        ("arrow", &source, &["--format", "arrow"], false),
        ("sampled", &source, &some, true),
        ("synthetic", &synthetic, &[], true),
        ("clustered", &source, &[], true),
        ("cells", &cells, &[], false),
    ] {
        let out = directory.path().join(name);
        if name == "clustered" {
            let by = ["--by", "job", "--files", "2"];
            let hive = directory.path().join("hive");
            let lakes = [&hive, &out].map(|path| path.to_str().unwrap());
            run([&["cluster"], &lakes[..], &by].concat()).well();
        } else {
            convert(source, &out, options).well();
        }
        let mut request = released(source, &out);
        request["rows"] = reads_rows.into();
        // Its validator takes long, and the crates of the others are made alike.
        request["validates"] = (name == "cells").into();
        requests.push(request);
        outs.push(out);
    }
    let answers = ask_all(&python(), "check_release.py", &requests);
    for (answer, out) in answers.iter().zip(&outs) {
        is_right(answer, out);
    }
}

/// Releases a lake, and describes it for a script.
#[track_caller]
fn released(source: &Path, out: &Path) -> Value {
    let form = out.join("_tracelake/release.toml");
    let said = "\"Ada's \\\"<b>\\\" costs $5 & more: \\n# 100 %\"";
    let text = format!("[rai]\ndata_biases = {said}\ndata_social_impact = {said}\n");
    fs::write(form, text).unwrap();
    let date = ["--allow-missing", "--date", "2026-06-01"];
    run([&["release", out.to_str().unwrap()], &date[..]].concat()).well();
    run(["verify", out.to_str().unwrap()]).well();
    describe(source, out)
}

/// Describes an Arrow lake and the Parquet lake of the same source for a script.
fn describe_both(parquet: &Path, arrow: &Path, codec: &str) -> Value {
    let [one, other] = [parquet, arrow].map(manifest);
    let trace = tracelake_schema::trace(one["trace"].as_str().unwrap()).unwrap();
    let tables = one["tables"].as_array().unwrap().iter();
    let tables = tables.zip(other["tables"].as_array().unwrap());
    let tables = tables.map(|(one, other)| {
        let table = trace.table(one["name"].as_str().unwrap()).unwrap();
        let columns = table.columns.iter().map(
            |column| json!({"name": column.name, "comment": column.comment(), "unit": column.unit}),
        );
        let path = |lake: &Path, part: &Value| lake.join(part["output"]["path"].as_str().unwrap());
        let parts = one["parts"].as_array().unwrap().iter();
        let parts = parts.zip(other["parts"].as_array().unwrap());
        let parts = parts.map(
            |(one, other)| json!({"parquet": path(parquet, one), "arrow": path(arrow, other)}),
        );
        json!({
            "name": table.name,
            "columns": columns.collect::<Vec<_>>(),
            "parquet": parquet.join(&*table.name),
            "arrow": arrow.join(&*table.name),
            "parts": parts.collect::<Vec<_>>(),
        })
    });
    let tables: Vec<Value> = tables.collect();
    json!({"tables": tables, "compressed": codec != "none"})
}

/// Makes both lakes of each source, and has all readers compare them.
#[track_caller]
fn check_both(sources: &[(PathBuf, Vec<&str>)]) {
    let directory = tempfile::tempdir().unwrap();
    let (mut requests, mut outs) = (Vec::new(), Vec::new());
    for (number, (source, options)) in sources.iter().enumerate() {
        let lake = |name: &str, more: &[&str]| {
            let out = directory.path().join(format!("{number}/{name}"));
            convert(source, &out, &[options, more].concat()).well();
            out
        };
        let parquet = lake("parquet", &[]);
        for codec in ["zstd", "none"] {
            let arrow = lake(codec, &["--format", "arrow", "--compression", codec]);
            requests.push(describe_both(&parquet, &arrow, codec));
            outs.push(arrow);
        }
    }
    let answers = ask_all(&python(), "check_arrow.py", &requests);
    for (answer, out) in answers.iter().zip(&outs) {
        is_right(answer, out);
    }
}

#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn readers_of_arrow_files_agree_with_those_of_parquet_files() {
    let sample = Scratch::with_sample(2, 400);
    let mut sources = vec![(committed_sample(), vec![]), (sample.src(), vec![])];
    let directory = tempfile::tempdir().unwrap();
    for trace in TRACES {
        if trace.tables.iter().any(|table| table.synthetic.is_empty()) {
            continue;
        }
        let source = directory.path().join(&trace.name);
        generate(&trace.name, &source, &["--rows", "2000"]);
        let mut options = vec!["--trace", &trace.name, "--checksums", "none"];
        if !trace.derived.is_empty() {
            options.extend(["--derive", "dag"]);
        }
        sources.push((source, options));
    }
    check_both(&sources);
}

#[test]
#[cfg_attr(
    not(all(readers, published_data)),
    ignore = "needs `cargo xtask readers` and the published rows in ../shared/data"
)]
fn readers_of_arrow_files_agree_on_published_rows() {
    check_both(&[(shared("google-2011"), vec!["--allow-missing"])]);
}

/// The snippets of the page on queries run, and their answers agree.
#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn the_queries_of_the_docs_run_on_the_sample() {
    let python = python();
    let directory = tempfile::tempdir().unwrap();
    convert(&committed_sample(), &directory.path().join("lake"), &[]).well();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/query.md");
    let page = std::fs::read_to_string(path).unwrap();
    let request = json!({"page": page, "directory": directory.path()});
    let answer = ask(&python, "check_queries.py", &request);
    assert_eq!(findings(&answer), "");
    let sections = answer["sections"].as_u64().unwrap();
    assert!(sections > 0);
    assert!(answer["snippets"].as_u64().unwrap() >= 2 * sections);
}
