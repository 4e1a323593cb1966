//! Files in a lake that no run made: none of them is removed, and none is taken for data.

use std::fs;

use tracelake_testkit::{
    Score, Scratch, assert_same_tree, ensure, good_row, output_path, part_path, tree,
};

/// A finished lake of one part.
fn finished() -> Scratch {
    let scratch = Scratch::new();
    scratch.good("job_events");
    scratch.convert_well(&[]);
    scratch
}

#[test]
fn a_foreign_file_beside_the_data_is_refused_before_any_work() {
    let mut score = Score::new("foreign files in a table's directory");
    let foreign = [
        "job_events/part-mine.parquet",
        "job_events/part-7.parquet",
        "job_events/notes.txt",
        "job_events/.hidden.parquet",
        "job_events/file_number=0/copy of part-00000-of-00001.parquet",
        "job_events/file_number=00/part-00000-of-00001.parquet",
        "job_events/file_number=1/part-00000-of-00001.parquet",
        "job_events/backup/part-00000-of-00001.parquet",
        "task_usage/mine.parquet",
    ];
    for path in foreign {
        for finished_before in [true, false] {
            let scratch = finished();
            let out = scratch.out();
            if !finished_before {
                fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
            }
            let file = out.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "mine").unwrap();
            scratch.part("job_events", 0, 2, good_row("job_events").as_bytes());
            scratch.part("job_events", 1, 2, good_row("job_events").as_bytes());
            fs::remove_file(scratch.src().join(part_path("job_events", 0, 1))).unwrap();
            let before = tree(&out);
            for more in [&[][..], &["--overwrite"]] {
                let run = scratch.convert(more);
                let named = run.stderr.contains(path) && run.stderr.contains("move it away");
                let outcome = ensure(run.code == 6 && named, || {
                    format!("exit {}: {}", run.code, run.stderr)
                });
                let same = ensure(tree(&out) == before, || "the lake changed".to_owned());
                score.count(&format!("{path} {more:?}"), outcome.and(same));
            }
        }
    }
    score.close();
}

#[test]
fn what_readers_skip_is_left_alone() {
    let scratch = finished();
    for path in ["job_events/.DS_Store", "job_events/_SUCCESS"] {
        fs::write(scratch.out().join(path), "").unwrap();
    }
    let before = tree(&scratch.out());
    scratch.convert_well(&[]);
    assert_same_tree(&tree(&scratch.out()), &before, "nothing to do");
}

#[test]
fn unnamed_outputs_are_removed_by_a_command_alone() {
    let scratch = finished();
    let expected = tree(&scratch.out());
    let out = scratch.out();
    let stray = output_path("task_usage", 3, 9);
    let rejects = "_tracelake/rejects/task_usage/part-00003-of-00009.ndjson";
    for path in [&stray[..], rejects] {
        fs::create_dir_all(out.join(path).parent().unwrap()).unwrap();
        fs::write(out.join(path), "left").unwrap();
    }
    // A directory that a user made there is no reason to stop either.
    fs::create_dir_all(out.join("_tracelake/staging/mine/deeper")).unwrap();
    fs::write(out.join("_tracelake/staging/mine/deeper/file"), "left").unwrap();
    let json = fs::read(out.join(output_path("job_events", 0, 1))).unwrap();
    fs::write(out.join(output_path("job_events", 0, 1)), &json[1..]).unwrap();
    let refused = scratch.convert(&[]);
    assert_eq!(refused.code, 6, "{}", refused.stderr);
    let run = tracelake_testkit::run(["commit", out.to_str().unwrap(), "--remove-unnamed"]);
    // It says what else is to be done.
    run.refuses(6, "is committed, and is missing or has another size");
    for path in [&stray[..], rejects] {
        refused.says(path);
        let said = format!("warning: removed {path}");
        run.prints(&said);
    }
    scratch.convert_well(&[]);
    assert_same_tree(&tree(&out), &expected, "repaired");
}
