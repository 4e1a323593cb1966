//! `cluster` takes the memory that it is given, whatever the rows are.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tracelake::Context;
use tracelake_testkit::{Scratch, convert, manifest, part_path, program};

use super::{MIB, allocated_by, alone, beside_others, peak_of, usage, write_unique};

const BY_JOB: &[&str] = &["--by", "job", "--files", "3"];
const COMPACT: &[&str] = &["--compact", "--files", "3"];

/// A lake of the rows of a source.
fn lake_of(source: &Path, lake: &Path) -> PathBuf {
    convert(source, lake, &["--allow-missing"]).well();
    lake.to_owned()
}

/// Clusters and returns the most memory that the process ever held, in bytes.
fn peak(lake: &Path, out: &Path, options: &[&str]) -> u64 {
    let mut program = program();
    program.arg("cluster").args([lake, out]).args(options);
    let peak = peak_of(program);
    let rows = |lake| manifest(lake)["tables"][0]["rows"].clone();
    assert_eq!(rows(out), rows(lake));
    fs::remove_dir_all(out).unwrap();
    peak
}

/// Every row with the same job, texts of a page each among them.
fn write_giant(scratch: &Scratch, rows: u64) {
    let lines = (0..rows).map(|row| {
        let user = format!("{row:07}").repeat(if row % 100 == 0 { 20_000 } else { 10 });
        format!("{row},,77,{},{user},{},name,logical\n", row % 6, row % 4)
    });
    let text: String = lines.collect();
    scratch.part("job_events", 0, 1, text.as_bytes());
}

#[test]
fn peak_memory_is_what_was_asked_for() {
    let _beside = beside_others();
    let unique = Scratch::new();
    write_unique(&unique, 2, 200_000);
    let giant = Scratch::new();
    write_giant(&giant, 100_000);
    assert!(giant.src().join(part_path("job_events", 0, 1)).exists());
    for (what, source, ways) in [
        ("usage", &usage().large.0, &[(64, "2", BY_JOB)][..]),
        (
            "unique",
            &unique,
            &[(64, "1", BY_JOB), (256, "2", BY_JOB), (256, "2", COMPACT)],
        ),
        ("giant", &giant, &[(64, "2", BY_JOB), (256, "2", COMPACT)]),
    ] {
        let scratch = Scratch::new();
        let lake = lake_of(&source.src(), &scratch.path().join("lake"));
        let out = scratch.path().join("out");
        for (memory, threads, way) in ways {
            let limit = format!("{memory}MB");
            let options = [*way, &["--memory", &limit, "--threads", threads]].concat();
            let peak = peak(&lake, &out, &options);
            let shown = format!("{what}, {}: {} MiB", options.join(" "), peak / MIB);
            assert!(peak <= memory * 1_000_000, "{shown}");
        }
    }
}

/// The memory that is allocated at one time is less than the process takes, and doesn't depend on the system's
/// allocator.
#[test]
fn no_more_is_allocated_than_was_asked_for() {
    let _alone = alone();
    let unique = Scratch::new();
    write_unique(&unique, 2, 200_000);
    let lake = lake_of(&unique.src(), &unique.path().join("lake"));
    let allocated = [64, 256].map(|memory| {
        let out = unique.path().join(format!("out-{memory}"));
        let limit = format!("{memory}MB");
        let options = [BY_JOB, &["--memory", &limit, "--threads", "1"]].concat();
        let places = [&lake, &out].map(|place| place.clone().into_os_string());
        let arguments = places.into_iter().chain(options.iter().map(OsString::from));
        let run = || tracelake::program::cluster(&Context::new(), arguments, |_| ());
        let allocated = allocated_by(run);
        assert!(
            allocated <= memory * 1_000_000,
            "{memory} MB: {allocated} bytes"
        );
        allocated
    });
    // Memory that isn't limited to the smaller bound is used.
    assert!(allocated[1] > 64_000_000, "{allocated:?}");
}
