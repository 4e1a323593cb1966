//! How many requests a lake in a bucket takes, counted with the code of `convert` and `commit` on a bucket in memory.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use tracelake_testkit::requests::{CountedLake, PAGE};

/// Requests for a part. Its shard reads its source and asks whether that has changed, looks for facts of an earlier run,
/// asks whether the plan is still there, puts the output, reads its end back, and puts the facts. The commit reads the
/// facts.
const PER_PART: u64 = 8;

/// Requests of a shard beside those for its parts.
const PER_SHARD: u64 = 11;

/// Listings of the source that a shard asks for.
const LISTINGS: u64 = 3;

/// The commit, and the run that puts the plan, ask as often as this many shards, beside their requests for parts.
const COMMIT: u64 = 4;

/// Bytes that are read for a part with one row: the source, the end of its output, and its facts.
const BYTES_PER_PART: u64 = 9_500;

/// Bytes that a shard reads for each part of the plan.
const PLAN_BYTES_PER_PART: u64 = 480;

/// Bytes that are read beside those.
const BYTES_ONCE: u64 = 20_000;

#[test]
fn requests_grow_with_parts_and_with_shards_but_not_with_both() {
    for (parts, shards) in [(8, 1), (8, 8), (500, 1), (500, 10), (500, 50), (500, 200)] {
        let lake = CountedLake::new(parts);
        lake.convert_shards(shards).unwrap();
        let done = lake.commit().unwrap();
        assert_eq!(done.manifest.parts().count() as u64, parts);
        let asked = lake.bucket.take();
        let shards = u64::from(shards);
        let each = PER_SHARD + LISTINGS * (parts / PAGE);
        let most = PER_PART * parts + each * (shards + COMMIT);
        let most_read = (BYTES_PER_PART + PLAN_BYTES_PER_PART * shards) * parts + BYTES_ONCE;
        let what = format!(
            "{parts} parts in {shards} shards: at most {most}, {most_read} bytes: {asked:?}"
        );
        assert!(asked.all() <= most, "{what}");
        assert!(asked.bytes_read <= most_read, "{what}");
        // The plan.
        assert_eq!(asked.removals, 1, "{what}");
    }
}

#[test]
fn a_finished_lake_is_read_once() {
    let parts = 50;
    let lake = CountedLake::new(parts);
    lake.convert(None).unwrap();
    let path = "lake/job_events/file_number=7/part-00007-of-00050.parquet";
    let undisturbed = lake.bucket.objects();
    lake.bucket.insert(path, "damaged");
    lake.bucket.take();
    lake.convert(None).unwrap();
    assert!(lake.bucket.objects() == undisturbed);
    // Of each output its size, all of it and its footer, and its source once.
    let asked = lake.bucket.take();
    assert!(asked.reads <= 5 * parts, "{asked:?}");
}
