//! `cargo xtask bench` compares the rows that its queries find in the files of several writers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use super::{output, python};
use tracelake_testkit::{Scratch, convert};

const WRITERS: [&str; 3] = ["DuckDB", "Polars", "pyarrow"];

/// Files of one table by their writers, with the same rows.
struct Files {
    python: PathBuf,
    scratch: Scratch,
    picked: Value,
}

impl Files {
    fn of(table: &str) -> Self {
        let scratch = Scratch::with_sample(2, 400);
        let ours = scratch.path().join("tracelake");
        convert(&scratch.src(), &ours, &["--layout", "flat"]).well();
        let folders = WRITERS.map(|writer| scratch.path().join(writer).join(table));
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
        }
        fs::create_dir(scratch.path().join("expected")).unwrap();
        let mut files = Self {
            python: python(),
            scratch,
            picked: Value::Null,
        };
        let folders: Value = WRITERS
            .iter()
            .zip(folders)
            .map(|(w, f)| (w.to_string(), json!(f)))
            .collect();
        let task =
            json!({"table": table, "files": files.paths("tracelake", table), "folders": folders});
        files.picked = answer(&files.run("rewrite.py", &[], &task));
        files
    }

    fn paths(&self, writer: &str, table: &str) -> [PathBuf; 2] {
        let folder = self.scratch.path().join(writer).join(table);
        [0, 1].map(|part| folder.join(format!("part-{part:05}-of-00002.parquet")))
    }

    fn run(&self, script: &str, arguments: &[&str], task: &Value) -> Output {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/bench");
        output(
            &self.python,
            &folder.join(script),
            arguments,
            std::slice::from_ref(task),
        )
    }

    /// Asks an engine about the files of all writers.
    fn ask(&self, engine: &str, table: &str) -> Output {
        let sets: Value = ["tracelake"]
            .iter()
            .chain(&WRITERS)
            .map(|writer| {
                (
                    writer.to_string(),
                    json!({table: self.paths(writer, table)}),
                )
            })
            .collect();
        let task = json!({
            "table": table, "sets": sets, "picked": self.picked, "seconds": 0,
            "expected": self.scratch.path().join("expected"),
        });
        self.run("queries.py", &[engine], &task)
    }
}

fn answer(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[cfg_attr(not(readers), ignore = "needs `cargo xtask readers`")]
fn engines_find_the_same_rows_whoever_wrote_them() {
    let table = "task_events";
    let files = Files::of(table);
    for engine in WRITERS {
        let taken = answer(&files.ask(engine, table));
        let taken = taken.as_object().unwrap();
        assert_eq!(taken.len(), 8);
        for seconds in taken.values() {
            let mut writers: Vec<&String> = seconds.as_object().unwrap().keys().collect();
            writers.sort();
            assert_eq!(writers, ["DuckDB", "Polars", "pyarrow", "tracelake"]);
        }
    }
    // A file with other rows than ours is found by every engine.
    let [one, other] = files.paths("Polars", table);
    fs::copy(other, one).unwrap();
    for engine in WRITERS {
        let ended = files.ask(engine, table);
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success());
        let found = format!("{engine} on the files of Polars:");
        assert!(stderr.contains(&found), "{stderr}");
    }
}
