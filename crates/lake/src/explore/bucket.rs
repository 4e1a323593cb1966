//! A bucket whose requests wait for their turn.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};

use super::turns::{NoAnswer, Request, Turns, World, digest};

/// How a store treats its conditions and tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Manners {
    Usual,
    /// A put is carried out whatever its condition.
    IgnoresConditions,
    /// Each write of the same bytes gives them a new tag.
    NewTags,
}

/// The objects of a bucket, each with its generation, and the generation of the source.
#[derive(Debug, Clone, Hash)]
pub(super) struct Bucket {
    pub(super) objects: BTreeMap<String, (Bytes, u64)>,
    pub(super) manners: Manners,
    source: u64,
    generation: u64,
}

impl Bucket {
    pub(super) fn new(manners: Manners) -> Self {
        Self {
            objects: BTreeMap::new(),
            manners,
            source: 0,
            generation: 0,
        }
    }

    fn tag(&self, (bytes, generation): &(Bytes, u64)) -> String {
        match self.manners {
            Manners::NewTags => generation.to_string(),
            _ => format!("{:016x}", digest(bytes)),
        }
    }

    fn put(&mut self, path: &str, bytes: Bytes) {
        if self.manners == Manners::NewTags {
            self.generation += 1;
        }
        self.objects
            .insert(path.to_owned(), (bytes, self.generation));
    }
}

impl World for Bucket {
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let objects = self.objects.iter();
        let below = objects.filter_map(|(path, (bytes, _))| {
            Some((path.strip_prefix("lake/")?.to_owned(), bytes.to_vec()))
        });
        below.collect()
    }

    fn kill(&mut self, _: usize) {}

    fn crash(&mut self) {}

    fn replace_source(&mut self) {
        self.source += 1;
    }

    fn source(&self) -> u64 {
        self.source
    }
}

/// The answer of a store that has this object with this tag, or none.
pub(super) async fn answer(
    path: &Path,
    found: Option<(Bytes, String)>,
    mut options: GetOptions,
) -> Result<GetResult> {
    let (store, tag) = (InMemory::new(), found.as_ref().map(|(_, tag)| tag.clone()));
    if let Some((bytes, _)) = found {
        store.put(path, bytes.into()).await?;
    }
    // Who asks on this condition compares the tags, too.
    options.if_match = None;
    let mut answer = store.get_opts(path, options).await?;
    answer.meta.e_tag = tag;
    Ok(answer)
}

/// The error for a request that nobody here makes.
pub(super) fn unused<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "explorer".to_owned(),
    })
}

/// The bucket as one worker asks it.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    pub(super) worker: usize,
    pub(super) turns: Arc<Turns<Bucket>>,
}

impl Asker {
    fn ask<T: std::hash::Hash>(
        &self,
        request: Request,
        what: impl std::hash::Hash,
        carry_out: impl Fn(&mut Bucket) -> T,
    ) -> Result<T> {
        let answer = self.turns.ask(self.worker, request, what, carry_out);
        answer.map_err(|no_answer| Error::Generic {
            store: "explorer",
            source: match no_answer {
                NoAnswer::Killed => "killed".into(),
                NoAnswer::Lost => "no answer".into(),
            },
        })
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asker({})", self.worker)
    }
}

#[async_trait]
impl ObjectStore for Asker {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.ask(Request::Read, ("get", path.as_ref()), |bucket| {
            let found = bucket.objects.get(path.as_ref());
            found.map(|found| (found.0.clone(), bucket.tag(found)))
        })?;
        answer(path, found, options).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let prefix = prefix.map_or("", |prefix| prefix.as_ref());
        let listed = self.ask(Request::List, ("list", prefix), |bucket| {
            let below = bucket.objects.iter().filter_map(|(path, found)| {
                path.strip_prefix(prefix)?.strip_prefix('/')?;
                Some((path.clone(), found.0.len() as u64, bucket.tag(found)))
            });
            below.collect::<Vec<_>>()
        });
        let listed = match listed {
            Ok(listed) => listed.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        let listed = listed.into_iter().map(|object| {
            let (path, size, tag) = object?;
            Ok(ObjectMeta {
                location: path.into(),
                last_modified: Default::default(),
                size,
                e_tag: Some(tag),
                version: None,
            })
        });
        stream::iter(listed.collect::<Vec<_>>()).boxed()
    }

    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let bytes = Bytes::from(bytes);
        // The tag of what has to be there, and whether that counts.
        let (known, is_on_condition) = match options.mode {
            PutMode::Overwrite => (None, false),
            PutMode::Create => (None, true),
            PutMode::Update(version) => (version.e_tag, true),
        };
        let what = ("put", path.as_ref(), &known, is_on_condition, &bytes);
        let is_put = self.ask(Request::Change, what, |bucket| {
            let there = bucket.objects.get(path.as_ref());
            let is_put = !is_on_condition
                || bucket.manners == Manners::IgnoresConditions
                || there.map(|there| bucket.tag(there)) == known;
            if is_put {
                bucket.put(path.as_ref(), bytes.clone());
            }
            is_put
        })?;
        match is_put {
            true => Ok(PutResult {
                e_tag: None,
                version: None,
                extensions: Default::default(),
            }),
            false => Err(Error::Precondition {
                path: path.to_string(),
                source: "something else is there".into(),
            }),
        }
    }

    /// A store removes the objects of one request one after the other.
    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let asker = self.clone();
        let removed = paths.map(move |path| {
            let path = path?;
            asker.ask(Request::Change, ("remove", path.as_ref()), |bucket| {
                bucket.objects.remove(path.as_ref());
            })?;
            Ok(path)
        });
        removed.boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        unused("list_with_delimiter")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        unused("put_multipart_opts")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unused("copy_opts")
    }
}
