//! The server side of a build without the feature `urls`, in which no URL is ever parsed.

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::{Entry, Listed, LocationKind, Tag, Tagged, Url, Version};

fn absent() -> Error {
    Error::new(ErrorKind::Failed, "this build of tracelake reads no URLs")
        .hint("build it with the feature `urls`")
}

pub(super) fn kind(url: &Url) -> Result<Option<LocationKind>> {
    Err(absent().at(url.to_string()))
}

pub(super) fn is_there(url: &Url) -> Result<bool> {
    Err(absent().at(url.to_string()))
}

pub(super) fn list(url: &Url) -> Result<Vec<Entry>> {
    Err(absent().at(url.to_string()))
}

/// An object that can't be read.
#[derive(Debug)]
pub(super) struct Download;

impl Download {
    pub(super) fn new(_: Url) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn prefetch(&mut self) -> Result<()> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn read(&mut self, _: &mut [u8], _: Option<&Context>) -> Result<usize> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn confirm(&self, _: Option<&Context>) -> Result<Option<String>> {
        Err(absent())
    }
}

/// An object that can't be read.
#[derive(Debug)]
pub(crate) struct RemoteFile;

impl RemoteFile {
    pub(super) fn open(url: &Url) -> Result<Self> {
        Err(absent().at(url.to_string()))
    }

    pub(super) fn open_end(url: &Url, _: u64) -> Result<Self> {
        Err(absent().at(url.to_string()))
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn len(&self) -> u64 {
        0
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn read_at(&self, _: u64, _: u64) -> Result<bytes::Bytes> {
        Err(absent())
    }
}

/// An object that can't be written.
#[derive(Debug)]
pub(super) struct Upload;

impl Upload {
    pub(super) fn begin(url: &Url) -> Result<Self> {
        Err(absent().at(url.to_string()))
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn write(&mut self, _: &[u8]) -> Result<()> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn flush(&mut self) -> Result<()> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn set_aside(&mut self) -> Result<()> {
        Err(absent())
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn complete(self) -> Result<()> {
        Err(absent())
    }
}

pub(super) fn abort_dropped_uploads() {}

pub(super) fn versions(_: Vec<Url>) -> Result<Vec<Option<Version>>> {
    Err(absent())
}

pub(super) fn list_all(url: &Url) -> Result<Vec<Listed>> {
    Err(absent().at(url.to_string()))
}

pub(super) fn swap(url: &Url, _: &Tag, _: Vec<u8>) -> Result<bool> {
    Err(absent().at(url.to_string()))
}

pub(super) fn put_new(url: &Url, _: Vec<u8>) -> Result<bool> {
    Err(absent().at(url.to_string()))
}

pub(super) fn remove(_: Vec<Url>) -> Result<()> {
    Err(absent())
}

pub(super) fn read_all(_: Vec<Url>, _: u64) -> Result<Vec<Option<Tagged>>> {
    Err(absent())
}
