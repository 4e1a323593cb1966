//! What stands for servers in a build without the feature `urls`, in which no URL is ever parsed.

use super::{Entry, Interrupt, Kind, Url};
use crate::error::{Error, ErrorKind, Result};

fn absent() -> Error {
    Error::new(ErrorKind::Failed, "this build of tracelake reads no URLs")
        .hint("build it with the feature `urls`")
}

pub(super) fn kind(url: &Url) -> Result<Option<Kind>> {
    Err(absent().at(url.to_string()))
}

pub(super) fn has_object(_: &Url) -> bool {
    false
}

pub(super) fn list(url: &Url) -> Result<Vec<Entry>> {
    Err(absent().at(url.to_string()))
}

pub(super) fn sizes(_: Vec<Url>) -> Result<Vec<Option<u64>>> {
    Err(absent())
}

/// An object that can't be read.
#[derive(Debug)]
pub(super) struct Download;

impl Download {
    pub(super) fn new(_: Url) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn read(&mut self, _: &mut [u8], _: Option<&Interrupt>) -> Result<usize> {
        Err(absent())
    }
}
