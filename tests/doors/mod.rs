//! Files that `convert` gets alone: published ones, renamed, saved again or cut, and unrelated ones.

mod files;

use tracelake_testkit::{Scratch, convert, manifest};

use files::{FILES, File, Outcome};

/// Converts a file alone; returns what is wrong with the answer.
fn answer(file: &File) -> Option<String> {
    let scratch = Scratch::new();
    scratch.file(file.name, &(file.bytes)());
    let run = convert(
        &scratch.src().join(file.name),
        &scratch.out(),
        file.arguments,
    );
    let outcome = match run.code {
        0 | 4 => Outcome::Recognised,
        2 => Outcome::Asked,
        _ => Outcome::Refused,
    };
    let said = match run.code {
        0 => {
            let manifest = manifest(&scratch.out());
            let table = manifest["tables"][0]["name"].as_str().unwrap().to_owned();
            format!("{table} of {}", manifest["trace"].as_str().unwrap())
        }
        _ => {
            let path = scratch.src().display().to_string() + "/";
            run.stderr
                .lines()
                .last()
                .unwrap_or_default()
                .replace(&path, "")
        }
    };
    let is_named = said.contains(file.says);
    let wrong = match (outcome == file.outcome, is_named) {
        (true, true) => (run.code != 0 && scratch.out().exists()).then(|| "OUT exists".to_owned()),
        (false, _) => Some(format!("expected {}", file.outcome)),
        (true, false) => Some(format!("doesn't say {:?}", file.says)),
    };
    wrong.map(|wrong| format!("{}: {wrong}\n{}", file.what, run.stderr))
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn each_file_is_recognised_asked_about_or_refused() {
    let wrong: Vec<String> = FILES.iter().filter_map(answer).collect();
    assert!(FILES.len() >= 60, "{}", FILES.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Directories and archives that hold files of a published form, beside a table that is converted: each is warned of.
#[test]
fn what_holds_parts_and_is_not_converted_is_named() {
    let row = b"0,5,0,HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493\n";
    for (path, says) in [
        (
            "jobs/part-00000-of-00500.csv.gz",
            "jobs is skipped: it holds part-00000-of-00500.csv.gz",
        ),
        (
            "events/part-00017-of-00500.csv",
            "rename it to the name of its table, or name it as SRC",
        ),
        (
            "clusterdata-job_events/part-00000-of-00500.csv.gz",
            "rename it to job_events",
        ),
        (
            "backup/job_events/part-00000-of-00001.csv.gz",
            "name backup as SRC",
        ),
        (
            "a/b/c/part-00000-of-00001.csv",
            "a is skipped: it holds b/c/part-00000-of-00001.csv",
        ),
        (
            "old/machine_meta.tar.gz",
            "old is skipped: it holds machine_meta.tar.gz",
        ),
        (
            "usage/vm_cpu_readings-file-1-of-125.csv.gz",
            "usage is skipped",
        ),
        (
            "borg/instance_usage-000000000000.json.gz",
            "borg is skipped",
        ),
        ("everything.tar.gz", "everything.tar.gz is skipped"),
        ("everything.zip", "everything.zip is skipped"),
    ] {
        let scratch = Scratch::new();
        scratch.only("machine_events", row);
        scratch.file(path, b"");
        let run = scratch.convert(&[]);
        run.well();
        let warned = run
            .stderr
            .lines()
            .any(|line| line.starts_with("warning: ") && line.contains(says));
        assert!(warned, "{path}: {}", run.stderr);
    }
    // What holds nothing of the kind is nobody's concern.
    let scratch = Scratch::new();
    scratch.only("machine_events", row);
    scratch.file("notes/part one.txt", b"");
    scratch.file("photos/2024/cat.jpeg", b"");
    let run = scratch.convert(&[]);
    run.well();
    assert!(!run.stderr.contains("is skipped"), "{}", run.stderr);
}
