//! The stores that were opened, and requests for their objects.

use std::collections::HashMap;
use std::fmt;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    UpdateVersion,
};
use tokio::sync::Mutex;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::super::url::Scheme;
use super::super::{Entry, Listed, LocationKind, Tag, Tagged, Url, Version, too_large};
use super::body::UNKNOWN;
use super::client::ForObject;
use super::explain::{Failure, explain, no_credentials};
use super::keys::unmarked;
use super::store::{Signing, Store, bucket, web};

/// The stores that were asked for so far, by the starts of their URLs.
#[derive(Default)]
pub(super) struct Stores {
    known: Mutex<HashMap<String, Store>>,
}

impl Stores {
    /// The object at a URL, to be written.
    pub(super) async fn create(&self, url: &Url) -> Result<Object> {
        let object = self.open(url).await?;
        if object.store.unsigned && Signing::of(url) == Signing::AskMetadata {
            return Err(no_credentials(url));
        }
        Ok(object)
    }

    /// The object at a URL, which need not exist.
    pub(super) async fn open(&self, url: &Url) -> Result<Object> {
        if let Scheme::Web(_) = url.scheme {
            return Ok(Object {
                url: url.clone(),
                store: web(url)?,
                path: Path::default(),
            });
        }
        let path = path_of(url)?;
        // One at a time, so that a metadata service is asked only once.
        let mut known = self.known.lock().await;
        let store = match known.get(&url.root()) {
            Some(store) => store.clone(),
            None => {
                let store = bucket(url).await?;
                known.insert(url.root(), store.clone());
                store
            }
        };
        Ok(Object {
            url: url.clone(),
            store,
            path,
        })
    }

    /// Removes objects of one bucket, in as few requests as the store allows; that there are none is no error.
    pub(super) async fn remove(&self, urls: &[Url]) -> Result<()> {
        let Some(first) = urls.first() else {
            return Ok(());
        };
        let Store { objects, unsigned } = self.create(first).await?.store;
        let paths: Vec<Path> = urls.iter().map(path_of).collect::<Result<_>>()?;
        let paths = futures_util::stream::iter(paths).map(Ok).boxed();
        // To the end, whatever fails: the rest is removed. The answers are in the order of the paths.
        let answers: Vec<_> = objects.delete_stream(paths).collect().await;
        for (url, answer) in urls.iter().zip(answers) {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(explain(url, unsigned, "remove", Failure::of(error))),
            }
        }
        Ok(())
    }
}

/// The path of an object in its bucket.
fn path_of(url: &Url) -> Result<Path> {
    Path::parse(&url.path).map_err(|error| {
        let error = Error::new(ErrorKind::Usage, error.to_string());
        error.at(url.to_string()).hint("write the path out")
    })
}

/// Whether a tag stays the same for bytes that are only similar.
pub(super) fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// A request for the first byte. A server that isn't asked for the head alone says why it refuses, and some URLs are
/// signed for this method only.
fn first_byte() -> GetOptions {
    GetOptions::new().with_range(Some(GetRange::Bounded(0..1)))
}

/// An object in a store, or a file on a web server.
#[derive(Clone)]
pub(super) struct Object {
    url: Url,
    store: Store,
    path: Path,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.url)
    }
}

impl Object {
    /// Its size, if the server says it; `None` if there is no such object.
    pub(super) async fn size(&self) -> Result<Option<Option<u64>>> {
        match self.look().await {
            Ok(found) => Ok(Some(Some(found.meta.size).filter(|size| *size != UNKNOWN))),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Asks for the first byte, to learn of the object by the answer.
    async fn look(&self) -> std::result::Result<GetResult, Failure> {
        match self.get(first_byte()).await {
            // An empty object has no first byte, and some servers say so of any.
            Err(Failure::NoRanges | Failure::NoSuchRange) => self.get(GetOptions::new()).await,
            found => found,
        }
    }

    /// Asks for the object, or a range of it.
    pub(super) async fn get(
        &self,
        mut options: GetOptions,
    ) -> std::result::Result<GetResult, Failure> {
        options.extensions.insert(ForObject);
        let found = self.store.objects.get_opts(&self.path, options).await;
        found.map_err(Failure::of)
    }

    /// Its size and tag; `None` if there is no such object, or nothing in it.
    pub(super) async fn version_if_there(&self) -> Result<Option<Version>> {
        match self.get(first_byte()).await {
            Ok(found) => Ok(Some((found.meta.size, found.meta.e_tag))),
            Err(Failure::Missing | Failure::NoSuchRange) => Ok(None),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Its size, tag and time of the last change.
    pub(super) async fn version(&self) -> Result<ObjectMeta> {
        let found = self.get(first_byte()).await;
        Ok(found.map_err(|failure| self.error("read", failure))?.meta)
    }

    /// Reads all of it, with its tag; `None` if there is no such object.
    pub(super) async fn read(&self, limit: u64) -> Result<Option<Tagged>> {
        let answer = match self.get(GetOptions::new()).await {
            Ok(answer) => answer,
            Err(Failure::Missing) => return Ok(None),
            Err(failure) => return Err(self.error("read", failure)),
        };
        let tag = Tag {
            etag: answer.meta.e_tag.clone().filter(|tag| !is_weak(tag)),
            generation: answer.meta.version.clone(),
        };
        let mut size = Some(answer.meta.size).filter(|size| *size != UNKNOWN);
        let mut bytes = Vec::new();
        let mut pieces = answer.into_stream();
        while size.is_none_or(|size| size <= limit) {
            let Some(piece) = pieces.next().await else {
                return Ok(Some((bytes, tag)));
            };
            bytes.extend_from_slice(&piece.map_err(|error| self.failed("read", error))?);
            size = size.max(Some(bytes.len() as u64));
        }
        Err(too_large(limit).at(self.url.to_string()))
    }

    /// Puts bytes in its place.
    pub(super) async fn put(&self, bytes: Vec<u8>) -> Result<()> {
        self.put_if(bytes, PutMode::Overwrite).await.map(drop)
    }

    /// Puts bytes where there is no object yet; false if there is one.
    pub(super) async fn put_new(&self, bytes: Vec<u8>) -> Result<bool> {
        self.put_if(bytes, PutMode::Create).await
    }

    /// Puts bytes in the place of those with this tag; false if it has others, or is gone.
    pub(super) async fn swap(&self, known: Tag, bytes: Vec<u8>) -> Result<bool> {
        let version = UpdateVersion {
            e_tag: known.etag,
            version: known.generation,
        };
        self.put_if(bytes, PutMode::Update(version)).await
    }

    /// Puts bytes on a condition; false if it doesn't hold.
    async fn put_if(&self, bytes: Vec<u8>, mode: PutMode) -> Result<bool> {
        use object_store::Error::{AlreadyExists, NotFound, Precondition};
        let is_swap = matches!(mode, PutMode::Update(_));
        let put = self
            .store
            .objects
            .put_opts(&self.path, bytes.into(), mode.into());
        match put.await {
            Ok(_) => Ok(true),
            Err(AlreadyExists { .. } | Precondition { .. }) => Ok(false),
            Err(NotFound { .. }) if is_swap => Ok(false),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Begins to put an object part by part.
    pub(super) async fn begin_parts(&self) -> Result<Box<dyn MultipartUpload>> {
        let begun = self
            .store
            .objects
            .put_multipart_opts(&self.path, Default::default());
        begun.await.map_err(|error| self.failed("write", error))
    }

    /// All objects below it.
    pub(super) async fn list_all(&self) -> Result<Vec<Listed>> {
        let prefix = (!self.path.as_ref().is_empty()).then_some(&self.path);
        let depth = self.path.parts().count();
        let mut listed = self.store.objects.list(prefix);
        let mut all = Vec::new();
        while let Some(object) = listed.next().await {
            let object = object.map_err(|error| self.failed("list", error))?;
            let names: Vec<String> = object
                .location
                .parts()
                .skip(depth)
                .map(|part| unmarked(part.as_ref()).to_owned())
                .collect();
            if !names.is_empty() {
                all.push(Listed {
                    path: names.join("/"),
                    bytes: object.size,
                    etag: object.e_tag,
                });
            }
        }
        Ok(all)
    }

    /// The error of the store.
    pub(super) fn failed(&self, doing: &str, error: object_store::Error) -> Error {
        self.error(doing, Failure::of(error))
    }

    /// The names below it.
    pub(super) async fn list(&self) -> Result<Vec<Entry>> {
        let prefix = (!self.path.as_ref().is_empty()).then_some(&self.path);
        let listed = self
            .store
            .objects
            .list_with_delimiter(prefix)
            .await
            .map_err(|error| self.failed("list", error))?;
        let depth = self.path.parts().count() + 1;
        // A store may hold an empty object for the directory itself.
        let is_child = |path: &Path| path.parts().count() == depth;
        let name = |path: &Path| path.filename().unwrap_or_default().to_owned();
        let objects = listed.objects.iter();
        let children = objects.filter(|object| is_child(&object.location));
        let files = children.map(|object| Entry {
            name: name(&object.location),
            kind: LocationKind::File {
                bytes: Some(object.size),
            },
        });
        let prefixes = listed.common_prefixes.iter().filter(|path| is_child(path));
        let directories = prefixes.map(|path| Entry {
            name: name(path),
            kind: LocationKind::Directory,
        });
        let entries = files.chain(directories);
        let unmarked = entries.map(|entry| match unmarked(&entry.name) {
            name if name == entry.name => entry,
            // No name of a file, and nothing that could be opened by it.
            name => Entry {
                name: format!("{name}/"),
                kind: LocationKind::Other,
            },
        });
        Ok(unmarked.collect())
    }

    /// Reports what isn't wrong yet. Only the program shows it.
    pub(super) fn warn(&self, what: &str) {
        tracing::warn!("{}: {what}", self.url);
    }

    /// The error for a request that failed.
    pub(super) fn error(&self, doing: &str, failure: Failure) -> Error {
        explain(&self.url, self.store.unsigned, doing, failure)
    }
}

#[cfg(test)]
impl Object {
    /// An object of a store that is but memory.
    pub(super) async fn in_memory(url: &Url, bytes: Vec<u8>) -> Self {
        use object_store::ObjectStoreExt;
        let store = object_store::memory::InMemory::new();
        let path = Path::parse(&url.path).expect("a path");
        store.put(&path, bytes.into()).await.expect("memory");
        Self {
            url: url.clone(),
            store: Store {
                objects: std::sync::Arc::new(store),
                unsigned: false,
            },
            path,
        }
    }
}
