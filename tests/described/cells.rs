//! Traces of description files that are published per cell.

use std::fs;

use tracelake_testkit::{Scratch, assert_same_tree, convert, gzip, manifest, run, tree};

use super::{GARDEN, describe};

/// The garden's showers, measured in two beds at the same time.
fn beds() -> String {
    let cells = "document = \"A notebook\"\n[trace.cells]\nnames = [\"herbs\", \"roses\"]\n\
                 directory = \"garden_{cell}\"\ndoc = \"A bed.\"";
    let shards = "parts = 2\nshards = [{ cell = \"herbs\", count = 2, rows = \
                  { rows = 3, confidence = \"publisher\", source = \"A notebook\" } }]";
    let text = GARDEN.replacen("document = \"A notebook\"", cells, 1);
    text.replacen("parts = 2", shards, 1)
}

/// Files of two beds, and the description beside them.
fn two() -> (Scratch, String) {
    let scratch = Scratch::new();
    for (bed, time) in [("herbs", 1), ("roses", 100)] {
        for part in 0..2 {
            let rows = if part == 0 { "1,0.5\n7,2\n" } else { "9,1e3\n" };
            let rows = rows.replace("1,", &format!("{time},"));
            let path = format!("garden_{bed}/rain/part-0000{part}-of-00002.csv.gz");
            scratch.file(&path, &gzip(rows.as_bytes()));
        }
    }
    let file = describe(&scratch, "beds.toml", &beds());
    let file = file.to_str().unwrap().to_owned();
    (scratch, file)
}

#[test]
fn cells_of_a_description_are_partitions() {
    let (scratch, trace) = two();
    scratch.convert_well(&["--trace", &trace]);
    let out = scratch.out();
    let whole = tree(&out);
    for bed in ["herbs", "roses"] {
        let path = format!("rain/cell={bed}/file_number=1/part-00001-of-00002.parquet");
        assert!(out.join(&path).is_file(), "{path}");
    }
    assert_eq!(manifest(&out)["tables"][0]["parts"][3]["cell"], "roses");

    // One cell after the other makes the same lake; a name that isn't a cell's needs --cell.
    let parted = scratch.path().join("parted");
    let source = scratch.src();
    let one = ["--trace", &trace];
    convert(&source.join("garden_roses"), &parted, &one).well();
    let renamed = scratch.path().join("downloads");
    tracelake_testkit::copy(&source.join("garden_herbs"), &renamed);
    convert(&renamed, &parted, &one).exits(6);
    convert(&renamed, &parted, &["--trace", &trace, "--cell", "herbs"]).well();
    assert_same_tree(&tree(&parted), &whole, "one cell after the other");
    convert(&renamed, &parted, &["--trace", &trace, "--cell", "weeds"])
        .refuses(2, "its cells are herbs, roses");

    // The lake works without the file, in a process that knows the cells by the lake alone.
    fs::remove_file(&trace).unwrap();
    let lake = out.to_str().unwrap();
    let source = source.to_str().unwrap();
    for arguments in [
        &["inspect", lake][..],
        &["verify", lake, "--source", source],
        &["release", lake, "--allow-missing"],
        &["verify", lake],
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    }
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains("rain/*/*/*.parquet"), "{card}");
}

#[test]
fn a_cell_that_the_description_lacks_is_found() {
    let (scratch, trace) = two();
    scratch.convert_well(&["--trace", &trace]);
    let out = scratch.out();
    let verify = || run(["verify", out.to_str().unwrap()]);
    // No run can have made this directory, so none removes it.
    let table = out.join("rain");
    tracelake_testkit::copy(&table.join("cell=roses"), &table.join("cell=weeds"));
    verify().exits(5);
    scratch
        .convert(&["--trace", &trace, "--overwrite"])
        .exits(6);
    fs::remove_dir_all(table.join("cell=weeds")).unwrap();
    verify().exits(0);
    // A manifest may say anything.
    let manifest = out.join("_tracelake/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    for (name, says) in [
        ("weeds", "a cell that the trace doesn't have"),
        ("../weeds", "not the name of a cell"),
    ] {
        let lie = text.replace("\"cell\": \"roses\"", &format!("\"cell\": \"{name}\""));
        assert_ne!(lie, text);
        fs::write(&manifest, tracelake_testkit::seal(&lie)).unwrap();
        let found = verify();
        assert!([5, 6].contains(&found.code), "{}", found.stderr);
        found.prints(says);
    }
}
