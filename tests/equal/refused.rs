//! Runs never guess what a lake has lost: they are refused before they change anything, and the way out that the
//! message names works.

use std::fs;
use std::path::Path;

use tracelake_core::seal;
use tracelake_testkit::{
    Run, Scratch, assert_same_tree, convert, generate, manifest, output_path, part_path, run, tree,
    unfinish,
};

const MANIFEST: &str = "_tracelake/manifest.json";

const ONE_TABLE: [&str; 2] = ["--tables", "machine_events"];

fn finished() -> Scratch {
    let scratch = Scratch::with_sample(2, 30);
    scratch.convert_well(&[]);
    scratch
}

fn commit(out: &Path, options: &[&str]) -> Run {
    run([&["commit", out.to_str().unwrap()], options].concat())
}

/// Changes the manifest, and gives it the digest of what it says then.
fn rewrite(out: &Path, from: &str, to: &str) {
    let json = fs::read_to_string(out.join(MANIFEST)).unwrap();
    let end = json.rfind("  \"sha256\": ").unwrap();
    let changed = json[..end].replace(from, to);
    assert_ne!(changed, json[..end]);
    fs::write(out.join(MANIFEST), seal::document(changed.into_bytes())).unwrap();
}

#[test]
fn beside_a_damaged_manifest_only_a_run_of_all_parts_works() {
    for has_facts in [false, true] {
        let scratch = finished();
        let (out, undisturbed) = (scratch.out(), tree(&scratch.out()));
        let mut json = fs::read(out.join(MANIFEST)).unwrap();
        if has_facts {
            unfinish(&out);
        }
        json[1000] ^= 1;
        fs::write(out.join(MANIFEST), json).unwrap();
        let damaged = tree(&out);
        let says = "the manifest is damaged";
        scratch.convert(&ONE_TABLE).refuses(6, says);
        commit(&out, &[]).refuses(6, says);
        commit(&out, &["--forget"]).refuses(6, says);
        commit(&out, &["--remove-unnamed"]).refuses(6, says);
        assert_same_tree(&tree(&out), &damaged, "refused");
        scratch.convert_well(&[]);
        assert_same_tree(&tree(&out), &undisturbed, "converted again");
    }
}

#[test]
fn a_committed_output_that_is_lost_is_named_until_it_is_made_again() {
    let scratch = finished();
    let (out, undisturbed) = (scratch.out(), tree(&scratch.out()));
    for damage in [
        |path: &Path| fs::remove_file(path).unwrap(),
        |path: &Path| fs::write(path, b"short").unwrap(),
    ] {
        let lost = output_path("task_usage", 1, 2);
        damage(&out.join(&lost));
        let committed = commit(&out, &[]);
        committed.refuses(6, "is committed, and is missing or has another size");
        committed.says(&lost);
        for run in [
            scratch.convert(&ONE_TABLE),
            run(["inspect", out.to_str().unwrap()]),
        ] {
            assert_eq!(run.code, 0, "{}", run.stderr);
            let said = format!("{}{}", run.stderr, run.stdout);
            assert!(
                said.contains(&format!("1 committed file, such as {lost}")),
                "{said}"
            );
        }
        scratch.convert_well(&[]);
        commit(&out, &[]).well();
        assert_same_tree(&tree(&out), &undisturbed, "made again");
    }
}

#[test]
fn the_identity_and_the_tables_are_those_of_the_manifest() {
    let scratch = finished();
    let other = scratch.path().join("other");
    convert(&scratch.src(), &other, &["--compression", "snappy"]).well();
    let identity = "_tracelake/lake.json";
    let own = fs::read(scratch.out().join(identity)).unwrap();
    fs::copy(other.join(identity), scratch.out().join(identity)).unwrap();
    let snappy = [&ONE_TABLE[..], &["--compression", "snappy"]].concat();
    scratch
        .convert(&snappy)
        .refuses(6, "isn't the one that the manifest names");
    commit(&scratch.out(), &[]).refuses(6, "isn't the one that the manifest names");
    fs::remove_file(scratch.out().join(identity)).unwrap();
    commit(&scratch.out(), &[]).refuses(6, "has lost _tracelake/lake.json");
    fs::write(scratch.out().join(identity), own).unwrap();
    scratch.convert_well(&[]);
    rewrite(&scratch.out(), "\"job_events\"", "\"table_of_later\"");
    scratch
        .convert(&ONE_TABLE)
        .refuses(6, "has no table table_of_later");
    commit(&scratch.out(), &[]).refuses(6, "has no table table_of_later");
}

#[test]
fn overwrite_needs_a_name_and_says_what_an_earlier_one_left() {
    let scratch = finished();
    let undisturbed = tree(&scratch.out());
    let src = scratch.src();
    for out in [".", "..", "./.", "x/.."] {
        let mut program = tracelake_testkit::program();
        fs::create_dir_all(scratch.out().join("job_events")).unwrap();
        let inside = scratch.out().join("job_events");
        let place = if out == "." { scratch.out() } else { inside };
        program.current_dir(place).arg("convert").arg(&src);
        tracelake_testkit::ended(program.args([out, "--overwrite"]).output().unwrap())
            .refuses(6, "name it from above");
    }
    assert_same_tree(&tree(&scratch.out()), &undisturbed, "not by this name");
    let last = part_path("task_usage", 1, 2);
    let whole = fs::read(src.join(&last)).unwrap();
    scratch.file(&last, &whole[..20]);
    scratch.convert(&["--overwrite", "--threads", "1"]).exits(5);
    scratch.file(&last, &whole);
    let snappy = ["--overwrite", "--compression", "snappy"];
    let run = scratch.convert(&snappy);
    run.refuses(6, "or remove it");
    let new = scratch.path().join(".out.tracelake-new");
    run.says(new.to_str().unwrap());
    fs::remove_dir_all(&new).unwrap();
    // Killed before its mark was written.
    fs::create_dir_all(new.join("_tracelake")).unwrap();
    scratch.convert_well(&snappy);
    assert_eq!(manifest(&scratch.out())["options"]["compression"], "snappy");
    assert!(!new.exists());
}

#[test]
fn the_lake_never_has_more_rejects_than_a_run_allows() {
    let scratch = Scratch::with_sample(2, 30);
    for table in ["job_events", "machine_events"] {
        let total = if table == "job_events" { 2 } else { 1 };
        scratch.part(table, 0, total, b"bad\nworse\n");
    }
    let of = |table: &'static str| {
        [
            "--tables",
            table,
            "--on-bad-row",
            "reject",
            "--max-rejects",
            "2",
        ]
    };
    scratch.convert(&of("job_events")).exits(3);
    let before = fs::read(scratch.out().join(MANIFEST)).unwrap();
    scratch
        .convert(&of("machine_events"))
        .refuses(4, "more than 2 rows are rejected");
    assert_eq!(fs::read(scratch.out().join(MANIFEST)).unwrap(), before);
}

#[test]
fn a_derived_part_is_committed_with_what_it_was_made_from() {
    let scratch = Scratch::new();
    let src = scratch.src();
    generate("alibaba-2018", &src, &["--rows", "400"]);
    for derives in [false, true] {
        let out = scratch.path().join(format!("lake-{derives}"));
        let convert_with = |options: &[&str]| {
            let usual = ["--tables", "batch_task", "--part-rows", "20"];
            convert(&src, &out, &[&usual, options].concat()).well();
        };
        let dag: &[&str] = if derives { &["--derive", "dag"] } else { &[] };
        // Stands for a plain run that was killed before its commit.
        convert_with(&[&["--parts", "3", "--shard", "0/1"], dag].concat());
        fs::remove_dir_all(out.join("_tracelake/plans")).unwrap();
        for shard in ["0/2", "1/2"] {
            convert_with(&["--parts", "0-1", "--derive", "dag", "--shard", shard]);
        }
        commit(&out, &[]).well();
        for table in manifest(&out)["tables"].as_array().unwrap() {
            let parts = table["parts"].as_array().unwrap();
            let numbers: Vec<_> = parts.iter().map(|part| &part["file_number"]).collect();
            assert_eq!(numbers, [0, 1], "{derives}: {}", table["name"]);
        }
    }
}

#[test]
fn what_a_command_can_not_do_is_said_before_it_begins() {
    let scratch = finished();
    let out = scratch.out();
    commit(&out, &["--forget", "--tables", "jobz"]).exits(2);
    fs::create_dir(out.join("README.md")).unwrap();
    run(["release", out.to_str().unwrap(), "--allow-missing"])
        .refuses(6, "README.md: is not a file");
}

#[test]
fn a_plan_under_another_name_is_refused() {
    let scratch = Scratch::with_sample(2, 30);
    scratch.convert_well(&["--shard", "0/2"]);
    let plans = scratch.out().join("_tracelake/plans");
    let plan = fs::read_dir(&plans).unwrap().next().unwrap().unwrap();
    fs::copy(plan.path(), plans.join("copy.json")).unwrap();
    commit(&scratch.out(), &[]).refuses(6, "a plan under another name than its own");
    commit(&scratch.out(), &["--forget"]).well();
    assert!(!scratch.out().join("_tracelake/lake.json").exists());
}
