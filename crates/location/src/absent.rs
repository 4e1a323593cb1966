//! In place of `remote` in a build without the feature `urls`, in which no URL is ever made.

use bytes::Bytes;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

use crate::entry::{Entry, Listed, LocationKind, Tag, Tagged, Version};
use crate::url::Url;

fn absent<T>() -> Result<T> {
    let error = Error::new(ErrorKind::Failed, "this build of tracelake reads no URLs");
    Err(error.hint("build it with the feature `urls`"))
}

/// Methods that fail.
macro_rules! absent {
    ($($visible:vis fn $name:ident($($argument:ty),*) -> $answer:ty;)*) => { $(
        #[doc = "Fails: this build reads no URLs.\n\n# Errors\nAlways."]
        $visible fn $name(&self, $(_: $argument),*) -> Result<$answer> {
            absent()
        }
    )* };
}

impl Url {
    absent! {
        pub(crate) fn kind() -> Option<LocationKind>;
        pub(crate) fn is_there() -> bool;
        pub(crate) fn entries() -> Vec<Entry>;
        pub fn put_new(Vec<u8>) -> bool;
        pub fn swap(&Tag, Vec<u8>) -> bool;
        pub fn read_tagged(u64) -> Option<Tagged>;
        pub fn read_all(&[String], u64) -> Vec<Option<Vec<u8>>>;
        pub fn remove_all(&[String]) -> ();
        pub fn list_all() -> Vec<Listed>;
        pub fn look_up(&[String]) -> Vec<Listed>;
        pub fn sizes(&[String]) -> Vec<Option<u64>>;
    }
}

/// An object that can't be read.
#[derive(Debug)]
pub(crate) struct Download;

impl Download {
    pub(crate) fn from(_: Url, _: u64) -> Self {
        Self
    }

    absent! {
        pub(crate) fn prefetch() -> ();
        pub(crate) fn version(&Context) -> Version;
        pub(crate) fn read(&mut [u8], Option<&Context>) -> usize;
        pub(crate) fn confirm(&Context) -> Option<String>;
    }
}

/// An object that can't be opened.
#[derive(Debug)]
pub(crate) enum RemoteFile {}

impl RemoteFile {
    pub(crate) fn open(_: &Url, _: Option<u64>) -> Result<Self> {
        absent()
    }

    pub(crate) fn len(&self) -> u64 {
        match *self {}
    }

    absent! {
        pub(crate) fn read_at(u64, u64) -> Bytes;
    }
}

/// An object that can't be written.
#[derive(Debug)]
pub enum Upload {}

impl Upload {
    /// Fails: this build reads no URLs.
    ///
    /// # Errors
    /// Always.
    pub fn begin(_: &Url) -> Result<Self> {
        absent()
    }

    absent! {
        pub fn write(&[u8]) -> ();
        pub fn flush() -> ();
        pub fn set_aside() -> ();
        pub fn complete() -> ();
    }
}

/// Does nothing: this build writes no objects.
pub fn abort_dropped_uploads() {}
