//! A lake of cells beside its source: verified, released, at a URL.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tracelake_schema::SYNTHETIC;

use super::{cells, directory, nameless, trace, two, well};
use tracelake_testkit::{LOCKS, Run, gzip, run};

fn verify(out: &Path, source: &Path) -> Run {
    let [out, source] = [out, source].map(|path| path.to_str().unwrap());
    run(["verify", out, "--source", source])
}

#[test]
fn every_value_is_compared_with_its_own_cell() {
    let scratch = two();
    let out = scratch.out();
    well(&scratch.src(), &out, &[]);
    let whole = verify(&out, &scratch.src());
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    assert!(!whole.stderr.contains("not compared"), "{}", whole.stderr);
    // A source of one cell says nothing of the other.
    let one = verify(&out, &directory(&scratch.src(), "b"));
    assert_eq!(one.code, 0, "{}", one.stderr);
    one.prints("not compared with a source: 10 parts");
    // One that is of no cell of the lake, or doesn't say which, isn't its source.
    let other = directory(scratch.path(), "c");
    tracelake_testkit::copy(&directory(&scratch.src(), "a"), &other);
    for stranger in [other, nameless(&scratch)] {
        verify(&out, &stranger).refuses(2, &cells().directory_of("a"));
    }
}

#[test]
fn a_source_without_a_name_is_that_of_the_only_cell() {
    let scratch = two();
    let files = nameless(&scratch);
    let [with, without] = ["with", "without"].map(|name| scratch.path().join(name));
    well(&files, &with, &["--cell", "a"]);
    well(&files, &without, &[]);
    for out in [with, without] {
        for source in [&files, &directory(&scratch.src(), "a")] {
            let run = verify(&out, source);
            assert_eq!(run.code, 0, "{}", run.stderr);
            run.prints("values compared");
            assert!(!run.stderr.contains("not compared"), "{}", run.stderr);
        }
    }
}

/// Both cells have files of the same names; the wrong value is in one of them. The digest of the source
/// is changed with it, so that only the comparison of values can find it.
#[test]
fn a_changed_value_is_found_in_its_cell() {
    let scratch = two();
    let out = scratch.out();
    let table = &trace().tables[0];
    let name = format!("{}-000000000000.json.gz", table.name);
    let file = directory(&scratch.src(), "b").join(&name);
    let mut text = String::new();
    let mut bytes = flate2::read::MultiGzDecoder::new(fs::File::open(&file).unwrap());
    std::io::Read::read_to_string(&mut bytes, &mut text).unwrap();
    well(&scratch.src(), &out, &[]);
    let start = text.find("\"time\":\"").unwrap() + 8;
    text.replace_range(start..=start, "7");
    let changed = gzip(text.as_bytes());
    fs::write(&file, &changed).unwrap();
    let mut manifest = tracelake_testkit::manifest(&out);
    let parts = manifest["tables"][0]["parts"].as_array_mut().unwrap();
    let is_it = |part: &&mut Value| part["cell"] == "b" && part["file_number"] == 0;
    let part = parts.iter_mut().find(is_it).unwrap();
    part["source"]["sha256"] = tracelake_testkit::sha256(&changed).into();
    part["source"]["bytes"] = changed.len().into();
    tracelake_testkit::write_manifest(&out, &manifest);
    let run = verify(&out, &scratch.src());
    assert_eq!(run.code, 5, "{}", run.stderr);
    let place = format!("{}/{name}:1", cells().directory_of("b"));
    run.prints(&place);
    run.prints("cell=b");
}

#[test]
fn a_release_says_which_cells_it_has() {
    let scratch = two();
    for cell in ["a", "b"] {
        fs::remove_file(directory(&scratch.src(), cell).join(SYNTHETIC)).unwrap();
    }
    for (layout, pattern) in [("hive", "*/*/*.parquet"), ("flat", "*/*.parquet")] {
        let out = scratch.path().join(layout);
        well(
            &scratch.src(),
            &out,
            &["--layout", layout, "--allow-missing"],
        );
        let refused = run(["release", out.to_str().unwrap()]);
        assert_eq!(refused.code, 6, "{}", refused.stderr);
        let missing = cells().names[2..].join(", ");
        let says = format!("these cells are missing: {missing};");
        refused.says(&says);
        run(["release", out.to_str().unwrap(), "--allow-missing"]).well();
        let card = fs::read_to_string(out.join("README.md")).unwrap();
        assert!(
            card.contains(", cells a, b, converted to Parquet"),
            "{card}"
        );
        assert!(
            card.contains(&format!("These cells are missing: {missing}.")),
            "{card}"
        );
        let pattern = format!("{}/{pattern}", trace().tables[0].name);
        for file in ["README.md", "croissant.json"] {
            let text = fs::read_to_string(out.join(file)).unwrap();
            assert!(text.contains(&format!("\"{pattern}\"")), "{file}");
        }
        let package = fs::read_to_string(out.join("datapackage.json")).unwrap();
        assert!(package.contains("/cell=b/"), "{package}");
        run(["verify", out.to_str().unwrap()]).well();
    }
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_bucket_names_its_cell() {
    use tracelake_testkit::server::{Answer, Server};
    use tracelake_testkit::{assert_same_tree, ended, tree};

    let scratch = two();
    let bucket = cells().directory_of("b");
    let server = Server::of(
        &directory(&scratch.src(), "b"),
        &format!("{bucket}/"),
        |_| Answer::Well,
    );
    let run = |arguments: &[&str]| {
        let mut command = tracelake_testkit::with_stores(&server.url());
        let run = ended(command.args(arguments).output().unwrap());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    let source = format!("gs://{bucket}");
    let (found, expected) = (scratch.path().join("found"), scratch.out());
    run(&["convert", &source, found.to_str().unwrap()]);
    run(&["verify", found.to_str().unwrap(), "--source", &source]);
    well(&directory(&scratch.src(), "b"), &expected, &[]);
    assert_same_tree(&tree(&found), &tree(&expected), "a bucket");
    // A lake in a bucket, which grows by a cell, part by part.
    let out = "s3://lakes/lake";
    run(&["convert", &source, out, "--parts", "0"]);
    run(&["convert", scratch.src().to_str().unwrap(), out]);
    run(&["convert", &source, out]);
    run(&["verify", out, "--source", scratch.src().to_str().unwrap()]);
    well(&scratch.src(), &expected, &[]);
    let files = tree(&expected).unwrap().into_iter();
    let files = files.filter_map(|(name, bytes)| Some((name, bytes?)));
    let files: std::collections::BTreeMap<_, _> = files
        .filter(|(name, _)| !LOCKS.contains(&&name[..]))
        .collect();
    let mut found = server.objects("lakes/lake/");
    // Those of committed parts stay in a bucket.
    found.retain(|name, _| !name.starts_with("_tracelake/facts/"));
    assert!(found == files);
}
