//! The task DAG encoded in task names, as a separate table.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::Value;
use tracelake_schema::{Derived, Rule};

use crate::streams::whole_trace;
use tracelake_testkit::{Scratch, assert_same_tree, manifest, read_output, seal, shared, tree};

fn dag() -> &'static Derived {
    let mut derived = whole_trace().derived.iter();
    derived.find(|derived| derived.rule == Rule::Dag).unwrap()
}

/// Rows of the other table that have these tasks, all of one job.
fn tasks(names: &[&str]) -> String {
    let other = whole_trace().table(&dag().from).unwrap();
    let field = |name: &str, task: &str| match name {
        "task_name" => task.to_owned(),
        "job_name" => "j_1".to_owned(),
        _ => "1".to_owned(),
    };
    let row = |task: &&str| {
        let fields = other
            .fields
            .iter()
            .map(|&index| field(&other.columns[index].name, task));
        fields.collect::<Vec<_>>().join(",") + "\n"
    };
    names.iter().map(row).collect()
}

fn source(names: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    scratch.file(&format!("{}.csv", dag().from), tasks(names).as_bytes());
    scratch
}

fn edges(scratch: &Scratch, number: usize) -> Vec<(String, i64, i64)> {
    let name = &dag().table.name;
    let path = format!("{name}/file_number={number}/part-{number:05}.parquet");
    let batch = read_output(&scratch.out().join(path));
    let tasks = batch["task_name"].as_string::<i32>();
    let integers = |name: &str| batch[name].as_primitive::<Int64Type>().clone();
    let (numbers, waits) = (integers("task_number"), integers("depends_on"));
    let rows = 0..batch.num_rows();
    rows.map(|row| {
        (
            tasks.value(row).to_owned(),
            numbers.value(row),
            waits.value(row),
        )
    })
    .collect()
}

/// The example of the document's section 2.3, with a task that is in no DAG.
#[test]
fn the_example_of_the_document() {
    let scratch = source(&["M1", "M2_1", "M3_1", "task_Nzg3ODA=", "R4_2", "M5_3_4"]);
    let run = scratch.convert(&["--derive", "dag"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.prints("batch_task_edges: nothing derived from 1 row of its input");
    let expected = [
        ("M2_1", 2, 1),
        ("M3_1", 3, 1),
        ("R4_2", 4, 2),
        ("M5_3_4", 5, 3),
        ("M5_3_4", 5, 4),
    ];
    let expected = expected.map(|(task, number, waits)| (task.to_owned(), number, waits));
    assert_eq!(edges(&scratch, 0), expected);
    let manifest = manifest(&scratch.out());
    let tables = manifest["tables"].as_array().unwrap();
    let facts = tables
        .iter()
        .find(|table| table["name"] == dag().table.name);
    let part = &facts.unwrap()["parts"][0];
    assert_eq!(
        (&part["rows_out"], &part["left_out"]),
        (&Value::from(5), &Value::from(1))
    );
    scratch.verify().well();
}

/// It can be asked for later, is made again where it is lost, and is found out where it is wrong.
#[test]
fn it_grows_resumes_and_is_verified() {
    let names: Vec<String> = (0..25)
        .map(|task| format!("M{}_{task}", task + 1))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let scratch = source(&names);
    let cut = ["--part-rows", "10"];
    let derive = ["--part-rows", "10", "--derive", "dag"];
    scratch.convert_well(&cut);
    scratch.convert_well(&derive);
    assert_eq!(
        [0, 1, 2].map(|number| edges(&scratch, number).len()),
        [10, 10, 5]
    );
    let expected = tree(&scratch.out());
    scratch.convert_well(&cut);
    assert_same_tree(&tree(&scratch.out()), &expected, "nothing to do");
    let at_once = source(&names);
    at_once.convert_well(&derive);
    assert_same_tree(&tree(&at_once.out()), &expected, "at once");
    let path = format!("{}/file_number=1/part-00001.parquet", dag().table.name);
    for table in [&*dag().from, &*dag().table.name] {
        let lost = format!("{table}/file_number=1/part-00001.parquet");
        fs::remove_file(scratch.out().join(lost)).unwrap();
        scratch.convert(&derive).well();
        assert_same_tree(&tree(&scratch.out()), &expected, table);
    }
    scratch.verify().well();
    // The edges of another part under the name of this one, as if they belonged there.
    let other = path.replace('1', "0");
    let (right, wrong) = (manifest(&scratch.out()), scratch.out().join(&path));
    fs::copy(scratch.out().join(&other), &wrong).unwrap();
    let tables = right["tables"].as_array().unwrap();
    let facts = tables
        .iter()
        .find(|table| table["name"] == dag().table.name)
        .unwrap();
    let digest = |part: usize| facts["parts"][part]["output"]["sha256"].as_str().unwrap();
    let bytes = |part: usize| facts["parts"][part]["output"]["bytes"].to_string();
    let json = fs::read_to_string(scratch.out().join("_tracelake/manifest.json")).unwrap();
    let json = json.replace(digest(1), digest(0)).replace(
        &format!("\"bytes\": {}", bytes(1)),
        &format!("\"bytes\": {}", bytes(0)),
    );
    fs::write(scratch.out().join("_tracelake/manifest.json"), seal(&json)).unwrap();
    let run = scratch.verify();
    assert_eq!(run.code, 5, "{}", run.stderr);
    run.prints("row 1 doesn't follow from");
}

#[test]
fn a_trace_without_such_names_has_nothing_to_derive() {
    let scratch = Scratch::with_sample(1, 3);
    scratch
        .convert(&["--derive", "dag"])
        .refuses(2, "--derive dag works only for ");
    assert!(!scratch.out().exists());
}

/// The real rows of tasks that are in DAGs.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn published_names_give_edges() {
    let path = shared(&format!("alibaba-2018/{}.csv", dag().from));
    let scratch = Scratch::new();
    let text = fs::read(path).unwrap();
    scratch.file(&format!("{}.csv", dag().from), &text);
    scratch.convert_well(&["--derive", "dag"]);
    // Counted by hand: underscores in the first field, but for the last in a name of 50 bytes.
    let expected: usize = text
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.split(|&byte| byte == b',').next())
        .map(|name| {
            let waits = name.iter().filter(|&&byte| byte == b'_').count();
            waits - usize::from(name.len() >= 50)
        })
        .sum();
    assert!(expected > 30_000);
    assert_eq!(edges(&scratch, 0).len(), expected);
    scratch.verify().well();
}
