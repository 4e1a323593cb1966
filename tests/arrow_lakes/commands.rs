//! Commands on an Arrow lake: resume, refusals, verify, inspect, release.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::arrow;
use tracelake_testkit::{Scratch, assert_same_tree, convert, good_row, manifest, run, tree};

fn small() -> Scratch {
    let scratch = Scratch::new();
    for name in ["job_events", "machine_events"] {
        scratch.good(name);
    }
    arrow(&scratch.src(), &scratch.out(), &[]).well();
    scratch
}

/// The output of a table.
fn output(scratch: &Scratch, table: &str) -> PathBuf {
    let path = format!("{table}/file_number=0/part-00000-of-00001.arrow");
    scratch.out().join(path)
}

#[test]
fn a_damaged_file_is_found_and_made_again() {
    let scratch = small();
    assert_eq!(manifest(&scratch.out())["options"]["format"], "arrow");
    let whole = tree(&scratch.out());
    let path = output(&scratch, "job_events");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let out = scratch.out();
    let out = out.to_str().unwrap();
    run(["verify", out]).exits(5);
    let again = arrow(&scratch.src(), &scratch.out(), &[]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_same_tree(&tree(&scratch.out()), &whole, "made again");
    fs::remove_file(output(&scratch, "machine_events")).unwrap();
    fs::write(scratch.out().join("_tracelake/manifest.json"), "").unwrap();
    let again = arrow(&scratch.src(), &scratch.out(), &[]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_same_tree(&tree(&scratch.out()), &whole, "made again");
}

#[test]
fn a_file_that_the_manifest_does_not_name_is_found() {
    let scratch = small();
    let path = output(&scratch, "job_events");
    fs::copy(&path, path.with_file_name("part-00001-of-00002.arrow")).unwrap();
    let out = scratch.out();
    let verified = run(["verify", out.to_str().unwrap()]);
    assert_eq!(verified.code, 5);
    verified.prints("is not in the manifest");
}

#[test]
fn another_format_is_refused() {
    let scratch = small();
    let before = tree(&scratch.out());
    scratch
        .convert(&[])
        .refuses(6, "format was arrow and is now parquet");
    assert_same_tree(&tree(&scratch.out()), &before, "refused");
    scratch.convert_well(&["--overwrite"]);
    assert!(!output(&scratch, "job_events").exists());
    arrow(&scratch.src(), &scratch.out(), &[]).refuses(6, "format was parquet and is now arrow");
}

#[test]
fn snappy_is_refused_with_the_codecs_that_arrow_has() {
    let scratch = Scratch::new();
    scratch.only("job_events", good_row("job_events").as_bytes());
    let refused = arrow(&scratch.src(), &scratch.out(), &["--compression", "snappy"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for codec in ["zstd", "none"] {
        refused.says(codec);
    }
    assert!(!scratch.out().exists());
    let unknown = convert(&scratch.src(), &scratch.out(), &["--format", "feather"]);
    assert_eq!(unknown.code, 2);
    unknown.prints("[possible values: parquet, arrow]");
}

#[test]
fn a_lake_is_inspected_and_released() {
    let scratch = small();
    let out = scratch.out();
    let out = out.to_str().unwrap();
    run(["inspect", out, "--json"]).exits(0);
    run(["release", out, "--allow-missing"]).well();
    let file = |name: &str| fs::read_to_string(scratch.out().join(name)).unwrap();
    assert!(file("README.md").contains("--format arrow"));
    assert!(file("README.md").contains("/*/*.arrow"));
    for name in ["croissant.json", "datapackage.json"] {
        let text = file(name);
        assert!(text.contains("application/vnd.apache.arrow.file"), "{name}");
        assert!(!text.to_lowercase().contains("parquet"), "{name}");
        serde_json::from_str::<Value>(&text).unwrap();
    }
    assert!(file("SHA256SUMS").contains(".arrow"));
    run(["verify", out]).well();
}
