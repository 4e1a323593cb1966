//! Requests about objects: to a server, or to a bucket that this process keeps itself.
//!
//! This is the only module that knows of both. Everything above it asks a [`Url`].

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

#[cfg(not(feature = "urls"))]
use crate::absent as remote;
#[cfg(feature = "urls")]
use crate::remote;

use super::own_bucket::Objects;
use super::{Entry, Listed, LocationKind, Tag, Tagged, Url, Version, too_large};

fn of(url: &Url) -> Option<&Arc<dyn Objects>> {
    url.own.0.as_ref()
}

/// Asks the bucket of these URLs about each of them; `None` if a server has it.
fn each<T>(urls: &[Url], ask: impl Fn(&dyn Objects, &str) -> Result<T>) -> Option<Result<Vec<T>>> {
    let Some(first) = urls.first() else {
        return Some(Ok(Vec::new()));
    };
    let own = of(first)?;
    Some(urls.iter().map(|url| ask(&**own, &url.path)).collect())
}

fn missing(url: &Url) -> Error {
    Error::new(ErrorKind::Failed, "there is no such object").at(url.to_string())
}

pub(super) fn kind(url: &Url) -> Result<Option<LocationKind>> {
    let Some(own) = of(url) else {
        return remote::kind(url);
    };
    if url.path.is_empty() || url.ends_in_slash {
        return Ok(Some(LocationKind::Directory));
    }
    if let Some((bytes, _)) = own.version(&url.path)? {
        let bytes = Some(bytes);
        return Ok(Some(LocationKind::File { bytes }));
    }
    let is_empty = own.list(&url.path)?.is_empty();
    Ok((!is_empty).then_some(LocationKind::Directory))
}

pub(super) fn is_there(url: &Url) -> Result<bool> {
    match of(url) {
        None => remote::is_there(url),
        Some(own) => Ok(own.version(&url.path)?.is_some()),
    }
}

pub(super) fn list(url: &Url) -> Result<Vec<Entry>> {
    let Some(own) = of(url) else {
        return remote::list(url);
    };
    let mut entries = BTreeMap::new();
    for object in own.list(&url.path)? {
        let (name, kind) = match object.path.split_once('/') {
            Some((name, _)) => (name, LocationKind::Directory),
            None => {
                let bytes = Some(object.bytes);
                (&object.path[..], LocationKind::File { bytes })
            }
        };
        let name = name.to_owned();
        entries.insert(name.clone(), Entry { name, kind });
    }
    Ok(entries.into_values().collect())
}

pub(super) fn versions(urls: Vec<Url>) -> Result<Vec<Option<Version>>> {
    let own = each(&urls, |own, path| {
        Ok(own.version(path)?.map(|(bytes, etag)| (bytes, Some(etag))))
    });
    own.unwrap_or_else(|| remote::versions(urls))
}

pub(super) fn list_all(url: &Url) -> Result<Vec<Listed>> {
    match of(url) {
        None => remote::list_all(url),
        Some(own) => own.list(&url.path),
    }
}

pub(super) fn put_new(url: &Url, bytes: Vec<u8>) -> Result<bool> {
    match of(url) {
        None => remote::put_new(url, bytes),
        Some(own) => own.put_new(&url.path, bytes.into()),
    }
}

pub(super) fn swap(url: &Url, known: &Tag, bytes: Vec<u8>) -> Result<bool> {
    match of(url) {
        None => remote::swap(url, known, bytes),
        Some(own) => own.swap(
            &url.path,
            known.etag.as_deref().unwrap_or_default(),
            bytes.into(),
        ),
    }
}

pub(super) fn remove(urls: Vec<Url>) -> Result<()> {
    let Some(first) = urls.first() else {
        return Ok(());
    };
    match of(first) {
        None => remote::remove(urls),
        Some(own) => {
            let paths: Vec<&str> = urls.iter().map(|url| &url.path[..]).collect();
            own.remove(&paths)
        }
    }
}

pub(super) fn read_all(urls: Vec<Url>, limit: u64) -> Result<Vec<Option<Tagged>>> {
    let tagged = |(bytes, etag): (Bytes, String)| {
        let tag = Tag {
            etag: Some(etag),
            generation: None,
        };
        (bytes.into(), tag)
    };
    let small = |(bytes, etag): (Bytes, String), path: &str| match bytes.len() as u64 <= limit {
        true => Ok(tagged((bytes, etag))),
        false => Err(too_large(limit).at(path)),
    };
    match each(&urls, |own, path| {
        own.read(path)?.map(|read| small(read, path)).transpose()
    }) {
        None => remote::read_all(urls, limit),
        Some(read) => read,
    }
}

/// An object that is read from front to back.
#[derive(Debug)]
pub(super) enum Download {
    Remote(Box<remote::Download>),
    /// Its bytes that aren't read yet, and its ETag, once it was asked for.
    Own(Box<Url>, Option<(Bytes, String)>),
}

impl Download {
    pub(super) fn new(url: Url) -> Self {
        match of(&url) {
            None => Self::Remote(Box::new(remote::Download::new(url))),
            Some(_) => Self::Own(Box::new(url), None),
        }
    }

    pub(super) fn prefetch(&mut self) -> Result<()> {
        match self {
            Self::Remote(download) => download.prefetch(),
            Self::Own(..) => Ok(()),
        }
    }

    pub(super) fn read(&mut self, into: &mut [u8], context: Option<&Context>) -> Result<usize> {
        match self {
            Self::Remote(download) => download.read(into, context),
            Self::Own(url, opened) => {
                let (rest, _) = match opened {
                    Some(opened) => opened,
                    None => opened.insert(read_own(url)?),
                };
                let read = rest.split_to(rest.len().min(into.len()));
                into[..read.len()].copy_from_slice(&read);
                Ok(read.len())
            }
        }
    }

    pub(super) fn confirm(&self, context: Option<&Context>) -> Result<Option<String>> {
        match self {
            Self::Remote(download) => download.confirm(context),
            Self::Own(_, None) => Ok(None),
            Self::Own(url, Some((_, then))) => {
                let now = of(url).map_or(Ok(None), |own| own.version(&url.path))?;
                if now.is_some_and(|(_, now)| now == *then) {
                    return Ok(Some(then.clone()));
                }
                Err(Error::new(ErrorKind::Failed, "changed while it was read").at(url.to_string()))
            }
        }
    }
}

fn read_own(url: &Url) -> Result<(Bytes, String)> {
    let read = of(url).map_or(Ok(None), |own| own.read(&url.path))?;
    read.ok_or_else(|| missing(url))
}

/// An object of one version that is read at any place.
#[derive(Debug)]
pub(super) enum RemoteFile {
    Remote(remote::RemoteFile),
    Own(Bytes),
}

impl RemoteFile {
    pub(super) fn open(url: &Url) -> Result<Self> {
        match of(url) {
            None => remote::RemoteFile::open(url).map(Self::Remote),
            Some(_) => Ok(Self::Own(read_own(url)?.0)),
        }
    }

    pub(super) fn open_end(url: &Url, size: u64) -> Result<Self> {
        match of(url) {
            None => remote::RemoteFile::open_end(url, size).map(Self::Remote),
            Some(_) => Self::open(url),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Remote(file) => file.len(),
            Self::Own(bytes) => bytes.len() as u64,
        }
    }

    pub(super) fn read_at(&self, start: u64, length: u64) -> Result<Bytes> {
        match self {
            Self::Remote(file) => file.read_at(start, length),
            Self::Own(bytes) => {
                let place = |at| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
                let end = start.checked_add(length).and_then(place);
                match place(start).zip(end) {
                    Some((start, end)) => Ok(bytes.slice(start..end)),
                    None => Err(Error::new(ErrorKind::Corrupt, "ends too early")),
                }
            }
        }
    }
}

pub(super) fn abort_dropped_uploads() {
    remote::abort_dropped_uploads();
}

/// An object being written.
#[derive(Debug)]
pub(super) enum Upload {
    Remote(Box<remote::Upload>),
    Own(Box<Url>, Vec<u8>),
}

impl Upload {
    pub(super) fn begin(url: &Url) -> Result<Self> {
        match of(url) {
            None => remote::Upload::begin(url).map(Box::new).map(Self::Remote),
            Some(_) => Ok(Self::Own(Box::new(url.clone()), Vec::new())),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Remote(upload) => upload.write(bytes),
            Self::Own(_, held) => {
                held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        match self {
            Self::Remote(upload) => upload.flush(),
            Self::Own(..) => Ok(()),
        }
    }

    pub(super) fn set_aside(&mut self) -> Result<()> {
        match self {
            Self::Remote(upload) => upload.set_aside(),
            Self::Own(..) => Ok(()),
        }
    }

    pub(super) fn complete(self) -> Result<()> {
        match self {
            Self::Remote(upload) => upload.complete(),
            Self::Own(url, bytes) => {
                of(&url).map_or(Ok(()), |own| own.put(&url.path, bytes.into()))
            }
        }
    }
}
