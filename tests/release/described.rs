//! The files of a release: complete, the same every time, and checked by `verify`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::release::{FILES, release, released};
use tracelake_testkit::{
    LOCKS, Score, Scratch, assert_same_tree, convert, ensure, good_row, manifest, run, sha256,
    table, trace, tree,
};

#[test]
fn checksums_name_every_file_of_the_lake() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.part("machine_events", 0, 1, b"0,5,0,plat=,0.5,0.2493\nbad\n");
    scratch
        .convert(&["--on-bad-row", "reject", "--layout", "flat"])
        .exits(3);
    let out = scratch.out();
    release(&out, &["--allow-missing", "--allow-rejects"]).well();
    let files = tree(&out).unwrap();
    let expected = files.iter().filter_map(|(path, bytes)| {
        let bytes = bytes.as_ref()?;
        let listed = path != "SHA256SUMS" && !LOCKS.contains(&&path[..]);
        listed.then(|| format!("{}  {path}\n", sha256(bytes)))
    });
    let expected: String = expected.collect();
    assert!(expected.contains(".ndjson\n") && expected.contains("/part-00001-of-00002.parquet\n"));
    assert_eq!(
        fs::read_to_string(out.join("SHA256SUMS")).unwrap(),
        expected
    );
}

#[test]
#[cfg_attr(not(sha256sum), ignore = "needs the program sha256sum")]
fn the_checksums_are_those_that_sha256sum_checks() {
    let scratch = released(&["job_events", "machine_events"]);
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--quiet", "SHA256SUMS"]);
    let output = check.current_dir(scratch.out()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_same_lake_gives_the_same_release() {
    let scratch = Scratch::with_sample(2, 50);
    let lakes = ["a", "b/c"].map(|name| scratch.path().join(name));
    for lake in &lakes {
        convert(&scratch.src(), lake, &[]).well();
        release(lake, &["--allow-missing"]).well();
    }
    let first = tree(&lakes[0]);
    assert_same_tree(&tree(&lakes[1]), &first, "in another directory");
    release(&lakes[0], &["--allow-missing", "--allow-rejects"]).well();
    assert_same_tree(&tree(&lakes[0]), &first, "released again");
}

#[test]
fn the_card_says_what_the_lake_is() {
    let tables = ["job_events", "machine_events"];
    let scratch = released(&tables);
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    let mut parts = card.splitn(3, "---\n");
    assert_eq!(parts.next(), Some(""));
    let (front, body) = (parts.next().unwrap(), parts.next().unwrap());
    for table in tables {
        let config = format!("- config_name: \"{table}\"\n  data_files: \"{table}/*/*.parquet\"\n");
        assert!(front.contains(&config), "{front}");
    }
    assert_eq!(front.matches("config_name").count(), tables.len());
    let licence = format!("license: \"{}\"\n", trace().licence.to_lowercase());
    assert!(
        front.contains(&licence) && front.contains("- \"n<1K\"\n"),
        "{front}"
    );
    let published = table("job_events").parts;
    let missing = format!("| job_events | 1 | {published} | 1-{} |", published - 1);
    let said = [
        &*trace().citation,
        &trace().document,
        env!("CARGO_PKG_VERSION"),
        "--layout hive --format parquet --compression zstd:3 --on-bad-row fail",
        "**This is not the whole trace.**",
        &missing,
        "| task_usage | 0 |",
        "No row was rejected.",
        "| machine_events | 1 | 1 | 1 | 0 |",
    ];
    for text in said
        .into_iter()
        .chain(trace().anomalies.iter().map(String::as_str))
    {
        assert!(body.contains(text), "{text} is not in the card");
    }
    for column in tables.iter().flat_map(|name| &*table(name).columns) {
        assert!(body.contains(&format!("| `{}` |", column.name)));
        assert!(body.contains(&column.doc.replace('|', "\\|")));
        for code in &*column.codes {
            assert!(body.contains(&format!("- {} `{}`", code.value, code.name)));
        }
    }
}

#[test]
fn croissant_and_data_package_name_every_file_and_column() {
    let scratch = released(&["job_events", "machine_events"]);
    let out = scratch.out();
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(out.join(name)).unwrap()).unwrap()
    };
    let (croissant, package) = (read("croissant.json"), read("datapackage.json"));
    assert_eq!(
        croissant["conformsTo"],
        "http://mlcommons.org/croissant/1.1"
    );
    assert_eq!(croissant["citeAs"], trace().citation);
    let files = croissant["distribution"].as_array().unwrap();
    let tables = manifest(&out)["tables"].as_array().unwrap().clone();
    for (index, facts) in tables.iter().enumerate() {
        let table = table(facts["name"].as_str().unwrap());
        let resource = &package["resources"][index];
        for part in facts["parts"].as_array().unwrap() {
            let output = &part["output"];
            let object = files
                .iter()
                .find(|file| file["contentUrl"] == output["path"]);
            assert_eq!(object.unwrap()["sha256"], output["sha256"]);
            assert!(
                resource["path"]
                    .as_array()
                    .unwrap()
                    .contains(&output["path"])
            );
        }
        let fields = croissant["recordSet"][index]["field"].as_array().unwrap();
        assert_eq!(fields.len(), table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            assert_eq!(fields[place]["name"], column.name);
            assert_eq!(fields[place]["source"]["extract"]["column"], column.name);
            let field = &resource["schema"]["fields"][place];
            assert_eq!(field["name"], column.name);
            assert_eq!(field["constraints"]["required"], column.mandatory);
        }
    }
}

#[test]
fn verify_finds_a_release_that_is_not_as_it_was_written() {
    let scratch = released(&["job_events"]);
    let out = scratch.out();
    let verify = || run([Path::new("verify"), &out]);
    assert_eq!(verify().code, 0, "{}", verify().stderr);
    let mut score = Score::new("changed and missing files of a release");
    for name in FILES {
        let path = out.join(name);
        let whole = fs::read(&path).unwrap();
        let more = [&whole[..], b"\n"].concat();
        let mut other = whole.clone();
        // The first letter of a digest, or of a text that a person would read.
        other[0] ^= 1;
        for (what, bytes) in [
            ("longer", Some(more)),
            ("changed", Some(other)),
            ("missing", None),
        ] {
            match bytes {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let run = verify();
            // Without the list of checksums, only Croissant shows that there was a release.
            let named = match what {
                "missing" if name == "SHA256SUMS" => "croissant.json",
                _ => name,
            };
            let found = ensure(run.code == 5 && run.stderr.contains(named), || {
                format!("exit {}: {}", run.code, run.stderr)
            });
            score.count(&format!("{name} {what}"), found);
            fs::write(&path, &whole).unwrap();
        }
    }
    assert_eq!(verify().code, 0, "{}", verify().stderr);
    score.close();
}

#[test]
fn times_that_were_mapped_are_told() {
    let scratch = Scratch::new();
    let row = good_row("machine_events").replacen("0,", "18446744073709551615,", 1);
    scratch.only("machine_events", format!("{row}\n").as_bytes());
    scratch.convert_well(&[]);
    release(&scratch.out(), &["--allow-missing"]).well();
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    assert!(card.contains("\n1 time is too large"), "{card}");
}
