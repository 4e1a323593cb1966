//! A bucket in memory that counts what it is asked, and a lake that is made in it by the code of `convert` and `commit`.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};
use tracelake_convert::plan::{Plan, Request, Shard, plan};
use tracelake_convert::run::{Outcome, RunOptions, convert};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_lake::{Commit, CommitOptions};
use tracelake_location::{Location, Url};

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
    objects: InMemory,
    asked: Arc<Mutex<Requests>>,
}

impl CountedBucket {
    /// The requests since the last call.
    pub fn take(&self) -> Requests {
        mem::take(&mut *count(&self.asked))
    }

    /// Its objects, by their paths.
    pub fn objects(&self) -> BTreeMap<String, Bytes> {
        let read = self.objects.list(None).and_then(|found| async move {
            let bytes = self.objects.get(&found.location).await?.bytes().await?;
            Ok((found.location.into(), bytes))
        });
        let read = read.try_collect().now_or_never();
        read.expect("memory answers at once").expect("memory")
    }

    /// Puts an object, uncounted.
    pub fn insert(&self, path: &str, bytes: impl Into<PutPayload>) {
        let path = Path::from(path);
        let put = self.objects.put(&path, bytes.into()).now_or_never();
        put.expect("memory answers at once").expect("memory");
    }
}

fn count(asked: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for a request that isn't counted.
fn uncounted<T>(operation: &str) -> StoreResult<T> {
    Err(Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "CountedBucket".to_owned(),
    })
}

impl fmt::Display for CountedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CountedBucket")
    }
}

#[async_trait]
impl ObjectStore for CountedBucket {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        count(&self.asked).reads += 1;
        let found = self.objects.get_opts(path, options).await?;
        count(&self.asked).bytes_read += found.range.end - found.range.start;
        Ok(found)
    }

    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        *count(&self.asked) += Requests {
            writes: 1,
            bytes_written: bytes.content_length() as u64,
            ..Requests::default()
        };
        self.objects.put_opts(path, bytes, options).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        count(&self.asked).lists += 1;
        let asked = Arc::clone(&self.asked);
        let listed = self.objects.list(prefix).enumerate();
        let listed = listed.map(move |(number, object)| {
            if number > 0 && (number as u64).is_multiple_of(PAGE) {
                count(&asked).lists += 1;
            }
            object
        });
        listed.boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        let listed = self.objects.list_with_delimiter(prefix).await?;
        let names = listed.objects.len() + listed.common_prefixes.len();
        count(&self.asked).lists += (names as u64).div_ceil(PAGE).max(1);
        Ok(listed)
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        let asked = Arc::clone(&self.asked);
        let paths = paths.enumerate().map(move |(number, path)| {
            if (number as u64).is_multiple_of(PAGE) {
                count(&asked).removals += 1;
            }
            path
        });
        self.objects.delete_stream(paths.boxed())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        uncounted("put_multipart_opts")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> StoreResult<()> {
        uncounted("copy_opts")
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
        for part in 0..parts {
            let name = format!("trace/{TABLE}/part-{part:05}-of-{parts:05}.csv");
            bucket.insert(&name, row.clone());
        }
        let objects = Arc::clone(&bucket);
        let root = Location::Url(Url::of_store("bucket", objects));
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
    /// Calls [`plan`].
    pub fn plan(&self) -> Result<Plan> {
        let mut request = Request::new(self.source.clone());
        request.trace = Some(Arc::clone(trace()));
        plan(&self.context, &request)
    }

    /// Converts one shard, or everything.
    ///
    /// # Errors
    /// Calls [`convert`].
    pub fn convert(&self, shard: Option<Shard>) -> Result<Outcome> {
        let mut options = RunOptions::default();
        options.shard = shard;
        convert(&self.context, &self.plan()?, &self.lake, options)
    }

    /// Converts all of these shards, one after the other.
    ///
    /// # Errors
    /// Calls [`convert`].
    pub fn convert_shards(&self, of: u32) -> Result<()> {
        let mut shards = (0..of).map(|index| Shard { index, of });
        shards.try_for_each(|shard| self.convert(Some(shard)).map(drop))
    }

    /// Commits the lake.
    ///
    /// # Errors
    /// Calls [`Commit::finish`].
    pub fn commit(&self) -> Result<Outcome> {
        let commit = Commit::open(&self.context, &self.lake, CommitOptions::default())?;
        let committed = commit.finish()?;
        Ok(Outcome::committed(committed.expect("nothing was removed")))
    }
}
