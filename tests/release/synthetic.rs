//! Synthetic traces and fragments: a release doesn't vouch for what a lake isn't.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tracelake_schema::{Files, SYNTHETIC, TRACES};

use crate::release::release;
use tracelake_testkit::{
    Scratch, committed_sample, convert, generate, manifest, output_path, run, trace,
};

#[test]
fn a_synthetic_trace_is_called_synthetic() {
    let scratch = Scratch::new();
    let out = scratch.out();
    let converted = convert(&committed_sample(), &out, &[]);
    converted.well();
    converted.prints("synthetic: ");
    assert!(
        !converted.stderr.contains("warning: "),
        "{}",
        converted.stderr
    );
    assert_eq!(manifest(&out)["synthetic"], true);
    for path in [&out, &committed_sample()] {
        let inspected = run([Path::new("inspect"), path]);
        assert!(
            inspected.stdout.starts_with("synthetic "),
            "{}",
            inspected.stdout
        );
        let inspected = run([Path::new("inspect"), path, Path::new("--json")]);
        let json: Value = serde_json::from_str(&inspected.stdout).unwrap();
        assert_eq!(json["synthetic"], true);
    }
    let options = ["--allow-missing", "--date", "2026-06-01", "--delta"];
    release(&out, &options).well();
    let json = fs::read(out.join("croissant.json")).unwrap();
    let croissant: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(croissant["rai:hasSyntheticData"], true);
    for name in [
        "README.md",
        "croissant.json",
        "datapackage.json",
        "ro-crate-metadata.json",
        ".zenodo.json",
        "job_events/_delta_log/00000000000000000000.json",
    ] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(text.contains("Synthetic data in the format of"), "{name}");
        let names = trace().creators.iter().map(|creator| &creator.name);
        for theirs in names.chain([&trace().citation]) {
            assert!(!text.contains(theirs), "{theirs} in {name}");
        }
    }
}

/// One directory and one file of a synthetic trace are synthetic, too.
#[test]
fn parts_of_a_synthetic_trace_are_synthetic() {
    let sample = committed_sample();
    let file = "machine_events/part-00000-of-00001.csv.gz";
    for source in [sample.join("machine_events"), sample.join(file)] {
        let scratch = Scratch::new();
        convert(&source, &scratch.out(), &[]).well();
        assert_eq!(
            manifest(&scratch.out())["synthetic"],
            true,
            "{}",
            source.display()
        );
    }
}

#[test]
fn a_published_trace_is_not_called_synthetic_and_does_not_mix_with_one() {
    let scratch = Scratch::with_sample(1, 3);
    scratch.convert_well(&[]);
    assert_eq!(manifest(&scratch.out()).get("synthetic"), None);
    fs::write(scratch.src().join(SYNTHETIC), "").unwrap();
    let mixed = scratch.convert(&[]);
    assert_eq!(mixed.code, 6, "{}", mixed.stderr);
    let says = "source was published and is now synthetic";
    mixed.says(says);
    assert!(
        scratch
            .out()
            .join(output_path("machine_events", 0, 1))
            .exists()
    );
}

/// Every table is there and was read to its end, and still they are a few rows of millions.
#[test]
fn a_fragment_is_not_released_as_the_whole_trace() {
    let scratch = Scratch::new();
    let whole = |files: Files| {
        TRACES
            .iter()
            .find(|trace| trace.tables[0].files == files && !trace.tables[0].synthetic.is_empty())
    };
    for (trace, is_counted) in [(whole(Files::Whole), true), (whole(Files::Shards), false)] {
        let trace = trace.unwrap();
        let [made, out] = ["made", "lake"].map(|name| scratch.path().join(&trace.name).join(name));
        generate(&trace.name, &made, &["--rows", "100", "--parts", "1"]);
        // As if it had been downloaded.
        fs::remove_file(made.join(SYNTHETIC)).unwrap();
        let tables = trace
            .tables
            .iter()
            .filter(|table| table.files == trace.tables[0].files);
        let tables: Vec<&str> = tables.map(|table| &*table.name).collect();
        convert(&made, &out, &["--tables", &tables.join(",")]).well();
        let refused = release(&out, &[]);
        if is_counted {
            refused.refuses(6, "were published");
            release(&out, &["--allow-missing"]).well();
        } else {
            refused.well();
        }
        let card = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(!card.contains("Every part of every table"), "{card}");
        assert_eq!(
            card.contains("**This is not the whole trace.**"),
            is_counted
        );
        assert!(card.contains("not known whether"), "{card}");
        assert!(!card.contains("Each source file became one Parquet file.") || !is_counted);
    }
}
