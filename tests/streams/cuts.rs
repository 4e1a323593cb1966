//! Where a text is cut into parts, and how a run resumes within one.

use std::fs;

use serde_json::Value;

use crate::streams::two_tables;
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::with_stores;
use tracelake_testkit::{Scratch, assert_same_tree, ended, gzip, manifest, rows, run, seal, tree};

/// The rows of the parts of one table, in order.
fn parts(scratch: &Scratch, table: &str) -> Vec<(u64, u64, u64)> {
    let manifest = manifest(&scratch.out());
    let tables = manifest["tables"].as_array().unwrap().clone();
    let found = tables.into_iter().find(|found| found["name"] == table);
    let parts = found.unwrap()["parts"].as_array().unwrap().clone();
    for (number, part) in parts.iter().enumerate() {
        assert_eq!(part["file_number"], number);
        assert_eq!(part["of"], parts.len());
    }
    let count = |part: &Value, name: &str| part[name].as_u64().unwrap();
    let counts = parts.iter().map(|part| {
        (
            count(part, "rows_in"),
            count(part, "rows_out"),
            count(part, "rows_rejected"),
        )
    });
    counts.collect()
}

#[test]
fn a_part_ends_after_so_many_rows() {
    let [table, _] = two_tables();
    for (rows, expected) in [
        (250, &[100, 100, 50][..]),
        (200, &[100, 100]),
        (201, &[100, 100, 1]),
        (99, &[99]),
        (0, &[0]),
    ] {
        let scratch = Scratch::new();
        let text = rows::sample(table, 0, rows);
        scratch.file(&format!("{}.csv.gz", table.name), &gzip(text.as_bytes()));
        scratch.convert_well(&["--part-rows", "100"]);
        let counts: Vec<u64> = parts(&scratch, &table.name)
            .iter()
            .map(|part| part.1)
            .collect();
        assert_eq!(counts, expected, "{rows} rows");
        scratch.verify().well();
    }
}

/// Rejected rows count too, so that a part is the same lines whatever is wrong with them.
#[test]
fn rejected_rows_count_for_their_part() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let mut lines: Vec<String> = rows::sample(table, 0, 25)
        .lines()
        .map(str::to_owned)
        .collect();
    lines[3] = "no row".to_owned();
    lines[19] = format!("{},", lines[19]);
    lines[20] = String::new();
    scratch.file(&format!("{}.csv", table.name), lines.join("\n").as_bytes());
    scratch
        .convert(&["--part-rows", "10", "--on-bad-row", "reject"])
        .exits(3);
    assert_eq!(
        parts(&scratch, &table.name),
        [(10, 9, 1), (10, 9, 1), (5, 4, 1)]
    );
    let rejects = |number: usize| {
        let path = format!("_tracelake/rejects/{}/part-{number:05}.ndjson", table.name);
        fs::read_to_string(scratch.out().join(path)).unwrap()
    };
    for (number, line) in [(0, 4), (1, 20), (2, 21)] {
        assert!(
            rejects(number).contains(&format!("\"line\":{line},")),
            "{}",
            rejects(number)
        );
    }
    scratch.verify().well();
}

/// Where chunks end in the text has nothing to do with where parts end, nor have threads.
#[test]
fn a_run_that_made_some_parts_before_makes_the_same_lake() {
    let [table, other] = two_tables();
    let source = Scratch::new();
    for table in [table, other] {
        // Several chunks of text, and parts that end inside of them.
        let text = rows::sample(table, 0, 30_000);
        source.file(&format!("{}.csv.gz", table.name), &gzip(text.as_bytes()));
    }
    let convert = |out: &Scratch, more: &[&str]| {
        let mut arguments = vec!["--part-rows", "7000"];
        arguments.extend(more);
        tracelake_testkit::convert(&source.src(), &out.out(), &arguments)
    };
    let expected = Scratch::new();
    convert(&expected, &["--threads", "1"]).well();
    for steps in [
        &[&["--threads", "2"][..]][..],
        &[&["--parts", "0"], &[]],
        &[
            &["--parts", "2,4"],
            &["--parts", "1-2"],
            &["--threads", "1"],
        ],
        &[&["--tables", &other.name], &["--parts", "3"], &[]],
    ] {
        let scratch = Scratch::new();
        for step in steps {
            convert(&scratch, step).well();
        }
        // The manifest says which parts were made from a beginning of the file; what is committed never changes.
        let is_of_beginning = steps.iter().any(|step| step.contains(&"--parts"));
        let files = |lake: &Scratch| {
            let mut files = tree(&lake.out()).unwrap();
            files.retain(|path, _| !is_of_beginning || path != "_tracelake/manifest.json");
            files
        };
        assert!(files(&scratch) == files(&expected), "{steps:?}");
        let (out, src) = (scratch.out(), source.src());
        let verify = [
            "verify",
            out.to_str().unwrap(),
            "--source",
            src.to_str().unwrap(),
        ];
        tracelake_testkit::run(verify).well();
        // Nothing is left to do, and a lost part is made again.
        convert(&scratch, &[]).well();
        let lost = format!("{}/file_number=1/part-00001.parquet", table.name);
        fs::remove_file(scratch.out().join(lost)).unwrap();
        let run = convert(&scratch, &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(files(&scratch) == files(&expected), "a lost part");
    }
    run([
        "verify".into(),
        expected.out(),
        "--source".into(),
        source.src(),
    ])
    .well();
}

/// A few parts of a large file are had without reading all of it, and are known by what was read.
#[test]
fn a_selection_is_verified_and_its_source_recognised() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let name = format!("{}.csv", table.name);
    let text = rows::sample(table, 0, 60_000);
    scratch.file(&name, text.as_bytes());
    let some = ["--part-rows", "5000", "--parts", "0-1"];
    scratch.convert_well(&some);
    let facts = manifest(&scratch.out())["tables"][0]["parts"].clone();
    assert_eq!(facts.as_array().unwrap().len(), 2);
    let read = facts[1]["source"]["bytes"].as_u64().unwrap();
    assert!(read < text.len() as u64 && facts[1]["of"].is_null());
    scratch.verify().well();
    scratch.convert_well(&some);
    // The rest may change, since nothing was made of it; the bytes that were read may not.
    let mut longer = text.clone().into_bytes();
    longer.extend_from_slice(rows::sample(table, 1, 10).as_bytes());
    scratch.file(&name, &longer);
    scratch.convert_well(&some);
    let changed = text.replacen(|letter: char| letter.is_ascii_digit(), "7", 3);
    scratch.file(&name, changed.as_bytes());
    scratch
        .convert(&["--part-rows", "5000"])
        .refuses(6, "is not the file that the lake was made from");
    scratch.verify().exits(5);
}

#[test]
fn parts_of_another_size_are_another_lake() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let text = rows::sample(table, 0, 30);
    scratch.file(&format!("{}.csv", table.name), text.as_bytes());
    scratch.convert_well(&["--part-rows", "10"]);
    let run = scratch.convert(&["--part-rows", "20"]);
    assert_eq!(run.code, 6);
    run.says("part-rows was 10 and is now 20");
}

/// A value that is changed anywhere in a lake is found, in whichever part it is.
#[test]
fn a_row_of_another_part_is_found() {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let text = rows::sample(table, 0, 300);
    let name = format!("{}.csv", table.name);
    scratch.file(&name, text.as_bytes());
    scratch.convert_well(&["--part-rows", "100"]);
    for number in 0..3 {
        let wrong = Scratch::new();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.swap(number * 100 + 5, number * 100 + 6);
        wrong.file(&name, (lines.join("\n") + "\n").as_bytes());
        wrong.convert_well(&["--part-rows", "100"]);
        // The lake of other rows, which says that it was made from these.
        let json = fs::read_to_string(wrong.out().join("_tracelake/manifest.json")).unwrap();
        let digest = |scratch: &Scratch| {
            let facts = manifest(&scratch.out())["tables"][0]["parts"][0].clone();
            facts["source"]["sha256"].as_str().unwrap().to_owned()
        };
        let json = json.replace(&digest(&wrong), &digest(&scratch));
        fs::write(wrong.out().join("_tracelake/manifest.json"), seal(&json)).unwrap();
        let run = run([
            "verify".into(),
            wrong.out(),
            "--source".into(),
            scratch.src(),
        ]);
        assert_eq!(run.code, 5, "{}", run.stderr);
        let line = number * 100 + 6;
        run.prints(&format!("{name}:{line}: "));
        run.prints("1 wrong");
    }
}

/// Until its file has been read to the end, a part is identified by the digest of what was read.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_part_before_the_end_of_its_file_has_the_same_source_on_disk_and_in_a_bucket() {
    let [table, _] = two_tables();
    let source = Scratch::new();
    let file = gzip(rows::sample(table, 0, 200_000).as_bytes());
    assert!(file.len() > 5 << 20, "several blocks of a download");
    source.file(&format!("{}.csv.gz", table.name), &file);
    let server = Server::of(&source.src(), "bucket/trace/", |_| Answer::Well);
    for part in ["0", "4", "8"] {
        let cut = ["--part-rows", "20000", "--parts", part, "--allow-missing"];
        source.convert_well(&cut);
        let bucket = Scratch::new();
        let mut command = with_stores(&server.url());
        command.args(["convert", "s3://bucket/trace"]);
        ended(command.arg(bucket.out()).args(cut).output().unwrap()).exits(0);
        assert_same_tree(&tree(&bucket.out()), &tree(&source.out()), part);
        fs::remove_dir_all(source.out()).unwrap();
    }
}
