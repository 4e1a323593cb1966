//! An object in an open bucket, and the requests for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
};
use tokio::sync::Mutex;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::body::UNKNOWN;
use super::client::{ForObject, SharedClient};
use super::explain::{Failure, explain, no_credentials};
use super::keys::unmarked;
use super::store::{self, Signing, Store};
use crate::entry::{Entry, Listed, LocationKind, Tag, Tagged, too_large};
use crate::url::Url;

/// The stores that were asked for so far, by the starts of their URLs.
#[derive(Default)]
pub(super) struct Stores {
    known: Mutex<HashMap<String, Store>>,
    web: SharedClient,
}

impl Stores {
    /// The object at a URL, which need not exist.
    pub(super) async fn open(&self, url: Url) -> Result<Object> {
        let path = match url.is_bucket() {
            true => path_of(&url)?,
            false => Path::default(),
        };
        let (store, unsigned) = match &url.own {
            Some(own) => (Arc::clone(own), false),
            None if !url.is_bucket() => store::open_web(&url, &self.web)?,
            None => {
                // One at a time, so that a metadata service is asked only once.
                let mut known = self.known.lock().await;
                match known.get(&url.root()) {
                    Some(store) => store.clone(),
                    None => {
                        let store = store::open(&url).await?;
                        known.insert(url.root(), store.clone());
                        store
                    }
                }
            }
        };
        Ok(Object {
            url,
            store,
            unsigned,
            path,
        })
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
pub(super) fn first_byte() -> GetOptions {
    GetOptions::new().with_range(Some(GetRange::Bounded(0..1)))
}

/// An object in a bucket that is open, or a file on a web server.
#[derive(Clone)]
pub(super) struct Object {
    pub(super) url: Url,
    store: Arc<dyn ObjectStore>,
    /// Whether requests aren't signed.
    unsigned: bool,
    path: Path,
}

/// Without the store, which shows the URL that it was made of.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.url)
    }
}

impl Object {
    /// Its size, if the server says it; `None` if there is no such object.
    pub(super) async fn size(self) -> Result<Option<Option<u64>>> {
        let found = match self.get(first_byte()).await {
            // An empty object has no first byte, and some servers say so of any.
            Err(Failure::NoRanges | Failure::NoSuchRange) => self.get(GetOptions::new()).await,
            found => found,
        };
        match found {
            Ok(found) => Ok(Some(Some(found.meta.size).filter(|size| *size != UNKNOWN))),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Asks for the object, or a range of it.
    pub(super) async fn get(
        &self,
        mut options: GetOptions,
    ) -> std::result::Result<GetResult, Failure> {
        options.extensions.insert(ForObject);
        let found = self.store.get_opts(&self.path, options).await;
        found.map_err(Failure::of)
    }

    /// Its size, tag and time; `None` if there is no such object, or nothing in it.
    pub(super) async fn look_up(self) -> Result<Option<ObjectMeta>> {
        match self.get(first_byte()).await {
            Ok(found) => Ok(Some(found.meta)),
            Err(Failure::Missing | Failure::NoSuchRange) => Ok(None),
            Err(failure) => Err(self.error("read", failure)),
        }
    }

    /// Reads all of it, with its tag; `None` if there is no such object.
    pub(super) async fn read(self, limit: u64) -> Result<Option<Tagged>> {
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

    /// Fails if there are no credentials to write with.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.unsigned && Signing::of(&self.url) == Signing::AskMetadata {
            true => Err(no_credentials(&self.url)),
            false => Ok(()),
        }
    }

    /// Puts bytes on a condition; false if it doesn't hold.
    pub(super) async fn put(self, bytes: Vec<u8>, mode: PutMode) -> Result<bool> {
        use object_store::Error::{AlreadyExists, NotFound, Precondition};
        self.check_writable()?;
        let is_swap = matches!(mode, PutMode::Update(_));
        let put = self.store.put_opts(&self.path, bytes.into(), mode.into());
        match put.await {
            Ok(_) => Ok(true),
            Err(AlreadyExists { .. } | Precondition { .. }) => Ok(false),
            Err(NotFound { .. }) if is_swap => Ok(false),
            Err(error) => Err(self.failed("write", error)),
        }
    }

    /// Begins to put an object part by part.
    pub(super) async fn begin_parts(self) -> Result<Box<dyn MultipartUpload>> {
        let options = Default::default();
        let begun = self.store.put_multipart_opts(&self.path, options).await;
        begun.map_err(|error| self.failed("write", error))
    }

    /// Removes objects below it, in as few requests as the store allows; that there are none is no error.
    pub(super) async fn remove(self, paths: Vec<String>) -> Result<()> {
        self.check_writable()?;
        let urls: Vec<Url> = paths.iter().map(|path| self.url.join(path)).collect();
        let paths: Vec<Path> = urls.iter().map(path_of).collect::<Result<_>>()?;
        let paths = futures_util::stream::iter(paths).map(Ok).boxed();
        // To the end, whatever fails: the rest is removed. The answers are in the order of the paths.
        let answers: Vec<_> = self.store.delete_stream(paths).collect().await;
        for (url, answer) in urls.iter().zip(answers) {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => {
                    return Err(explain(url, self.unsigned, "remove", Failure::of(error)));
                }
            }
        }
        Ok(())
    }

    /// The prefix that is below it, for a listing.
    fn prefix(&self) -> Option<&Path> {
        (!self.path.as_ref().is_empty()).then_some(&self.path)
    }

    /// All objects below it.
    pub(super) async fn list_all(self) -> Result<Vec<Listed>> {
        let depth = self.path.parts().count();
        let mut listed = self.store.list(self.prefix());
        let mut all = Vec::new();
        while let Some(object) = listed.next().await {
            let object = object.map_err(|error| self.failed("list", error))?;
            let names = object.location.parts().skip(depth);
            let names: Vec<String> = names
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

    /// The names below it.
    pub(super) async fn entries(self) -> Result<Vec<Entry>> {
        let listed = self.store.list_with_delimiter(self.prefix()).await;
        let listed = listed.map_err(|error| self.failed("list", error))?;
        let files = listed.objects.into_iter().map(|object| {
            let bytes = Some(object.size);
            (object.location, LocationKind::File { bytes })
        });
        let directories = listed.common_prefixes.into_iter();
        let names = files.chain(directories.map(|path| (path, LocationKind::Directory)));
        // A store may hold an empty object for the directory itself.
        let depth = self.path.parts().count() + 1;
        let children = names.filter(|(path, _)| path.parts().count() == depth);
        let entries = children.map(|(path, kind)| {
            let name = path.filename().unwrap_or_default();
            let (name, kind) = match unmarked(name) {
                found if found == name => (name.to_owned(), kind),
                // No name of a file, and nothing that could be opened by it.
                found => (format!("{found}/"), LocationKind::Other),
            };
            Entry { name, kind }
        });
        Ok(entries.collect())
    }

    /// The error for a request that failed.
    pub(super) fn error(&self, doing: &str, failure: Failure) -> Error {
        explain(&self.url, self.unsigned, doing, failure)
    }

    /// The error for a request that failed in its store.
    pub(super) fn failed(&self, doing: &str, error: object_store::Error) -> Error {
        self.error(doing, Failure::of(error))
    }
}
