//! Quoted CSV cut into parts: the counts are those of the file, wherever a part ends.

use serde_json::Value;
use tracelake_schema::{Files, Syntax, TRACES, Table};

use tracelake_testkit::{Scratch, manifest, run};

/// A table of the catalog in one file of quoted CSV.
fn quoted() -> &'static Table {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    tables
        .find(|table| table.syntax == Syntax::QuotedCsv && table.files == Files::Whole)
        .unwrap()
}

/// The rows in, out and rejected of each part of such a table, and the rejected rows.
fn converted(body: &str, part_rows: &str) -> (Vec<[u64; 3]>, Vec<Value>) {
    let table = quoted();
    let names: Vec<&str> = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content)
        .collect();
    let scratch = Scratch::new();
    let name = format!("{}.csv", table.name);
    scratch.file(&name, format!("{}\n{body}", names.join(",")).as_bytes());
    let arguments = ["--on-bad-row", "reject", "--part-rows", part_rows];
    scratch.convert(&arguments).exits(3);
    let manifest = manifest(&scratch.out());
    let parts = manifest["tables"][0]["parts"].as_array().unwrap();
    let mut rejects = Vec::new();
    let counts = parts.iter().map(|part| {
        let path = part["rejects"]["path"].as_str().unwrap();
        let lines = std::fs::read_to_string(scratch.out().join(path)).unwrap();
        rejects.extend(
            lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap()),
        );
        ["rows_in", "rows_out", "rows_rejected"].map(|count| part[count].as_u64().unwrap())
    });
    let counts = counts.collect();
    let (out, src) = (scratch.out(), scratch.src());
    verified(&out, &src);
    (counts, rejects)
}

fn verified(out: &std::path::Path, src: &std::path::Path) {
    run(["verify".as_ref(), out, "--source".as_ref(), src]).well();
}

#[test]
fn blank_lines_fill_parts_one_by_one() {
    for (part_rows, parts) in [("1", vec![1; 8]), ("3", vec![3, 3, 2]), ("9", vec![8])] {
        let (counts, rejects) = converted(&"\n".repeat(8), part_rows);
        let expected: Vec<[u64; 3]> = parts.into_iter().map(|rows| [rows, 0, rows]).collect();
        assert_eq!(counts, expected);
        for (index, reject) in rejects.iter().enumerate() {
            assert_eq!(reject["line"], index + 2);
            assert_eq!(reject["reason"], "a blank line");
        }
    }
}

#[test]
fn an_open_quote_is_a_part_of_its_own() {
    let (counts, rejects) = converted("a,b\nc\n\"open\n", "1");
    assert_eq!(counts, [[1, 0, 1]; 3]);
    assert_eq!(rejects[2]["raw"], "\"open");
    assert_eq!(rejects[2]["line"], 4);
}
