//! A lake in a bucket. An object appears whole or not at all, so nothing is staged, and nothing is locked.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Location, Upload, Url};

use super::{Backend, Commits, Held, Hold, Left, NewNames, Stored, Unfinished, Version, leads_out};
use crate::manifest::stays_below;

/// How many threads wait for the bucket for each part that is converted. A commit waits for five answers, and takes
/// half a second where each takes 100 ms; a part of 5 MB is converted in a seventh of that.
const COMMITS: usize = 7;

/// A prefix of a bucket, on a server or in memory.
#[derive(Debug)]
pub(super) struct Bucket {
    root: Url,
    location: Location,
}

impl Bucket {
    pub(super) fn new(root: &Url) -> Self {
        Self {
            root: root.clone(),
            location: Location::Url(root.clone()),
        }
    }

    fn place(&self, path: &str) -> Result<Url> {
        match stays_below(path) {
            true => Ok(self.root.join(path)),
            false => Err(leads_out(path)),
        }
    }

    /// A finished lake on a web server can be read, and that is all.
    fn refuse_web_server(&self, what: &str) -> Result<()> {
        match self.root.is_bucket() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Usage, format!("a web server {what}"))
                .at(&self.location)
                .hint("name a bucket or a directory")),
        }
    }
}

/// In a bucket, a process is never known to be alone.
#[derive(Debug)]
struct BesideOthers;

impl Held for BesideOthers {
    fn if_alone(&mut self, _: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn leave(self: Box<Self>, _: &mut dyn FnMut() -> Result<Left>) -> Result<()> {
        Ok(())
    }
}

impl Backend for Bucket {
    fn root(&self) -> &Location {
        &self.location
    }

    fn is_disk(&self) -> bool {
        false
    }

    /// A part on its way to a bucket keeps some of its bytes in memory, so none is queued.
    fn commits(&self, parts: usize) -> Commits {
        Commits {
            at_once: COMMITS * parts,
            queued: 0,
            together: 1,
        }
    }

    fn hold(&self, _: Hold) -> Result<Option<Box<dyn Held>>> {
        self.refuse_web_server("can't hold a lake")?;
        Ok(Some(Box::new(BesideOthers)))
    }

    fn get(&self, path: &str, limit: u64) -> Result<Option<Stored>> {
        let read = self.place(path)?.read_tagged(limit)?;
        Ok(read.map(|(bytes, tag)| Stored::new(bytes, tag)))
    }

    fn get_all(&self, paths: &[String], limit: u64) -> Result<Vec<Option<Vec<u8>>>> {
        self.root.read_all(paths, limit)
    }

    fn inside(&self, path: &str) -> Result<Location> {
        self.place(path).map(Location::Url)
    }

    fn open(&self, path: &str) -> Result<Option<Box<dyn Read + Send>>> {
        let location = Location::Url(self.place(path)?);
        match location.is_there()? {
            true => Ok(Some(Box::new(location.open()?))),
            false => Ok(None),
        }
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>> {
        self.refuse_web_server("can't list the files of a lake")?;
        if directory.is_empty() {
            return self.root.list_all();
        }
        let mut listed = self.root.join(directory).list_all()?;
        for file in &mut listed {
            file.path = format!("{directory}/{}", file.path);
        }
        Ok(listed)
    }

    /// One listing takes no longer than many.
    fn list_named(&self, names: &BTreeSet<&str>, above: &str) -> Result<Vec<Listed>> {
        let mut files = self.list("")?;
        files.retain(|file| {
            let below = file.path.strip_prefix(above);
            let below = below.and_then(|rest| rest.strip_prefix('/'));
            let named = below.unwrap_or(&file.path).split_once('/');
            named.is_some_and(|(name, _)| names.contains(name))
        });
        Ok(files)
    }

    fn look_up(&self, paths: &[String]) -> Result<Vec<Listed>> {
        self.root.look_up(paths)
    }

    fn put_if_absent(&self, objects: Vec<(String, Vec<u8>)>) -> Result<Vec<Result<bool>>> {
        let put = objects
            .into_iter()
            .map(|(path, bytes)| self.place(&path)?.put_new(bytes));
        Ok(put.collect())
    }

    fn swap(&self, path: &str, known: &Version, bytes: Vec<u8>) -> Result<bool> {
        self.place(path)?.swap(&known.tag, bytes)
    }

    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>> {
        Ok(Box::new(Object(Upload::begin(&self.place(path)?)?)))
    }

    fn show(&self, files: Vec<Box<dyn Unfinished>>) -> Result<Vec<Result<()>>> {
        let mut names = NewNames::default();
        Ok(files
            .into_iter()
            .map(|file| file.show(&mut names))
            .collect())
    }

    fn keep_names(&self, _: &[String]) -> Result<()> {
        Ok(())
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        self.root.remove_all(paths)
    }

    fn clear_staging(&self, _: bool) -> Result<usize> {
        tracelake_location::abort_dropped_uploads();
        Ok(0)
    }
}

/// An object being written.
#[derive(Debug)]
struct Object(Upload);

impl Write for Object {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unfinished for Object {
    fn close(&mut self) -> Result<()> {
        self.0.flush()
    }

    fn set_aside(&mut self) -> Result<()> {
        self.0.set_aside()
    }

    fn show(self: Box<Self>, _: &mut NewNames) -> Result<()> {
        self.0.complete()
    }
}
