//! A disk that is too small for the lake: refused before any work, and not if the user says so.

use std::fs::{self, File};

use tracelake_testkit::{Scratch, trace};

/// A part of 8 TB that takes no room: only its size is looked at.
fn large() -> Scratch {
    let scratch = Scratch::new();
    let table = scratch.src().join("job_events");
    fs::create_dir(&table).unwrap();
    let file = File::create(table.join("part-00000-of-00001.csv.gz")).unwrap();
    file.set_len(8_000_000_000_000).unwrap();
    scratch
}

#[test]
fn a_lake_that_cannot_fit_is_refused_before_any_work() {
    let scratch = large();
    for (options, code) in [
        (&[][..], 6),
        (&["--dry-run"], 6),
        // The file isn't gzip, which only a run that begins finds out.
        (&["--ignore-disk-space"], 5),
        (&["--dry-run", "--ignore-disk-space"], 0),
    ] {
        let options = [&["--trace", &trace().name], options].concat();
        let run = scratch.convert(&options);
        assert_eq!(run.code, code, "{options:?}: {}", run.stderr);
        assert_eq!(
            run.stderr.contains("pass --ignore-disk-space"),
            code == 6,
            "{}",
            run.stderr
        );
        assert_eq!(
            run.stdout.contains("estimate: "),
            options.contains(&"--dry-run")
        );
        assert!(!scratch.out().exists(), "{options:?}");
    }
    let shard = scratch.convert(&["--trace", &trace().name, "--shard", "0/2"]);
    assert_eq!(shard.code, 6, "{}", shard.stderr);
    assert!(!scratch.out().exists(), "a plan was left behind");
    // The other shard has no file.
    scratch
        .convert(&["--trace", &trace().name, "--shard", "1/2"])
        .well();
}
