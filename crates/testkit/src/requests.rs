//! A bucket in memory that counts what it is asked, and a lake that is made in it by the code of `convert` and `commit`.

use std::collections::BTreeMap;
use std::mem;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tracelake_convert::plan::{Plan, Request, Shard, plan};
use tracelake_convert::run::{Outcome, RunOptions, convert};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_lake::{Commit, CommitOptions};
use tracelake_location::{Listed, Location, Memory, Objects, Url};

use crate::source::{good_row, trace};

/// Keys that a store lists or removes at once.
pub const PAGE: u64 = 1_000;

/// The table that is converted.
const TABLE: &str = "job_events";

/// The requests that a bucket got, by kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Requests {
    /// Reads of objects, and of their sizes.
    pub reads: u64,
    /// Pages of listings.
    pub lists: u64,
    /// Writes of objects.
    pub writes: u64,
    /// Removals, each of as many objects as a store takes at once.
    pub removals: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
}

impl Requests {
    /// Requests of all kinds.
    pub fn all(&self) -> u64 {
        self.reads + self.lists + self.writes + self.removals
    }
}

impl AddAssign for Requests {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.lists += other.lists;
        self.writes += other.writes;
        self.removals += other.removals;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

/// A bucket that counts what it is asked.
#[derive(Debug, Default)]
pub struct CountedBucket {
    objects: Memory,
    asked: Mutex<Requests>,
}

impl CountedBucket {
    /// The requests since the last call.
    pub fn take(&self) -> Requests {
        mem::take(&mut *self.asked())
    }

    /// Its objects, by their paths.
    pub fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.objects.objects()
    }

    fn asked(&self) -> MutexGuard<'_, Requests> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote(&self, bytes: &Bytes) {
        let mut asked = self.asked();
        asked.writes += 1;
        asked.bytes_written += bytes.len() as u64;
    }
}

impl Objects for CountedBucket {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        let found = self.objects.read(path)?;
        let mut asked = self.asked();
        asked.reads += 1;
        asked.bytes_read += found.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64);
        Ok(found)
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        self.asked().reads += 1;
        self.objects.version(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let listed = self.objects.list(prefix)?;
        self.asked().lists += (listed.len() as u64).div_ceil(PAGE).max(1);
        Ok(listed)
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.wrote(&bytes);
        self.objects.put(path, bytes)
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.wrote(&bytes);
        self.objects.put_new(path, bytes)
    }

    fn swap(&self, path: &str, etag: &str, bytes: Bytes) -> Result<bool> {
        self.wrote(&bytes);
        self.objects.swap(path, etag, bytes)
    }

    fn remove(&self, paths: &[&str]) -> Result<()> {
        self.asked().removals += (paths.len() as u64).div_ceil(PAGE);
        self.objects.remove(paths)
    }
}

/// A source of parts with one row each, and a place for a lake, both in one bucket.
#[derive(Debug)]
pub struct CountedLake {
    /// The bucket.
    pub bucket: Arc<CountedBucket>,
    source: Location,
    lake: Location,
    context: Context,
}

impl CountedLake {
    /// A source of this many parts.
    pub fn new(parts: u64) -> Self {
        let bucket = Arc::new(CountedBucket::default());
        let row = Bytes::from(format!("{}\n", good_row(TABLE)));
        let names =
            (0..parts).map(|part| format!("trace/{TABLE}/part-{part:05}-of-{parts:05}.csv"));
        bucket
            .objects()
            .extend(names.map(|name| (name, row.clone())));
        let objects = Arc::clone(&bucket);
        let root = Location::Url(Url::of_objects("bucket", objects));
        Self {
            bucket,
            source: root.join("trace"),
            lake: root.join("lake"),
            context: Context::new().with_threads(1),
        }
    }

    /// Lists the source, as each run does first.
    ///
    /// # Errors
    /// As [`plan`].
    pub fn plan(&self) -> Result<Plan> {
        let mut request = Request::new(self.source.clone());
        request.trace = Some(trace());
        plan(&self.context, &request)
    }

    /// Converts one shard, or everything.
    ///
    /// # Errors
    /// As [`convert`].
    pub fn convert(&self, shard: Option<Shard>) -> Result<Outcome> {
        let mut options = RunOptions::default();
        options.shard = shard;
        convert(&self.context, &self.plan()?, &self.lake, options)
    }

    /// Converts all of these shards, one after the other.
    ///
    /// # Errors
    /// As [`convert`].
    pub fn convert_shards(&self, of: u32) -> Result<()> {
        let mut shards = (0..of).map(|index| Shard { index, of });
        shards.try_for_each(|shard| self.convert(Some(shard)).map(drop))
    }

    /// Commits the lake.
    ///
    /// # Errors
    /// As [`Commit::finish`].
    pub fn commit(&self) -> Result<Outcome> {
        let commit = Commit::open(&self.context, &self.lake, CommitOptions::default())?;
        let committed = commit.finish()?;
        Ok(Outcome::committed(committed.expect("nothing was removed")))
    }
}
