//! How many requests a lake in a bucket takes, counted with the code of `convert` and `commit` on a bucket in memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails says where, and reports what it counted"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tracelake_convert::plan::{Request, Shard, plan};
use tracelake_convert::run::{Commit, CommitOptions, RunOptions, convert};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Listed, Location, Memory, Objects, Url};
use tracelake_schema::TRACES;

/// Requests for a part. Its shard looks for facts of an earlier run, asks whether the plan is still there, puts the
/// output, reads its end back, and puts the facts. The commit reads the facts and removes them.
const PER_PART: u64 = 7;

/// Requests of a shard beside those for its parts.
const PER_SHARD: u64 = 6;

/// Requests of the run that puts the plan and of the commit, beside those for parts.
const ONCE: u64 = 30;

/// Bytes that are read for a part with one row: the end of its output, and its facts.
const BYTES_PER_PART: u64 = 10_500;

/// Bytes that a shard reads for each part of the plan.
const PLAN_BYTES_PER_PART: u64 = 600;

/// Bytes that are read beside those.
const BYTES_ONCE: u64 = 20_000;

/// Keys of a listing that a store returns at once.
const PAGE: u64 = 1_000;

/// A bucket that counts what it is asked.
#[derive(Debug)]
struct Counted {
    bucket: Memory,
    requests: AtomicU64,
    /// Bytes that were read.
    read: AtomicU64,
}

impl Counted {
    fn count(&self, requests: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
    }
}

impl Objects for Counted {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        self.count(1);
        let found = self.bucket.read(path)?;
        let bytes = found.as_ref().map_or(0, |(bytes, _)| bytes.len());
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(found)
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        self.count(1);
        self.bucket.version(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let listed = self.bucket.list(prefix)?;
        self.count((listed.len() as u64).div_ceil(PAGE).max(1));
        Ok(listed)
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<String> {
        self.count(1);
        self.bucket.put(path, bytes)
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.count(1);
        self.bucket.put_new(path, bytes)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.count(1);
        self.bucket.remove(path)
    }
}

/// A source of this many parts with a row each.
fn source(directory: &Path, table: &str, parts: u64) {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
    let first = fs::File::open(format!("{sample}/{table}/part-00000-of-00002.csv.gz")).unwrap();
    let mut rows = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(first), &mut rows).unwrap();
    let row = format!("{}\n", rows.lines().next().unwrap());
    fs::create_dir(directory.join(table)).unwrap();
    for number in 0..parts {
        let name = format!("part-{number:05}-of-{parts:05}.csv");
        fs::write(directory.join(table).join(name), &row).unwrap();
    }
}

/// The requests of some shards and a commit, and the bytes that they read.
fn requests(parts: u64, shards: u32) -> (u64, u64) {
    let table = "job_events";
    let directory = tempfile::tempdir().unwrap();
    source(directory.path(), table, parts);
    let mut request = Request::new(directory.path());
    let mut traces = TRACES.iter();
    request.trace = traces.find(|trace| trace.tables.iter().any(|one| one.name == table));
    request.allow_missing = true;
    let context = Context::new().with_threads(1);
    let plan = plan(&context, &request).unwrap();
    let bucket = Arc::new(Counted {
        bucket: Memory::new(BTreeMap::new()),
        requests: AtomicU64::new(0),
        read: AtomicU64::new(0),
    });
    let objects = Arc::clone(&bucket);
    let lake = Location::Url(Url::of_objects("lake", objects));
    for index in 0..shards {
        let mut options = RunOptions::default();
        options.shard = Some(Shard { index, of: shards });
        convert(&context, &plan, &lake, options).unwrap();
    }
    let commit = Commit::open(&context, &lake, Duration::ZERO).unwrap();
    let done = commit.finish(CommitOptions::default()).unwrap();
    assert_eq!(done.manifest.parts().count() as u64, parts);
    let asked = bucket.requests.load(Ordering::Relaxed);
    (asked, bucket.read.load(Ordering::Relaxed))
}

#[test]
fn requests_grow_with_parts_and_with_shards_but_not_with_both() {
    for (parts, shards) in [(8, 1), (8, 8), (500, 1), (500, 10), (500, 50), (500, 200)] {
        let (asked, read) = requests(parts, shards);
        let shards = u64::from(shards);
        let most = PER_PART * parts + (PER_SHARD + parts / PAGE) * shards + ONCE;
        let most_read = (BYTES_PER_PART + PLAN_BYTES_PER_PART * shards) * parts + BYTES_ONCE;
        println!(
            "{parts} parts in {shards} shards: {asked} requests of at most {most}, {read} bytes of at most {most_read}"
        );
        assert!(
            asked <= most,
            "{parts} parts in {shards} shards: {asked} requests"
        );
        assert!(
            read <= most_read,
            "{parts} parts in {shards} shards: {read} bytes read"
        );
    }
}
