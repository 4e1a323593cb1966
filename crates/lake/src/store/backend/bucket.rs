//! A lake in a bucket. An object appears whole or not at all, so nothing is staged, and nothing is locked: what several
//! runs may do at the same time is put on the condition that nothing is there.
//!
//! ```text
//! OUT/_tracelake/facts/task_usage-00017.ndjson   the facts of a part: a journal with one entry
//! ```

use std::io::{self, Cursor, Write};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Listing, Location, Tagged, Upload, Url};

use super::super::{FACTS, HOME, PLAN};
use super::{
    Access, Agreement, Backend, Commits, Content, NewNames, Notes, Show, Unfinished, leads_out,
    something_else,
};
use crate::manifest::{MOST_BYTES, stays_below};

/// How many threads wait for the bucket for each part that is converted. A commit waits for five answers, and takes
/// half a second where each takes 100 ms; a part of 5 MB is converted in a seventh of that.
const COMMITS: usize = 7;

/// How many small objects are in memory at a time. They are asked for side by side, and few facts have 1 KB.
const READ_AT_ONCE: usize = 4096;

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
}

impl Backend for Bucket {
    fn root(&self) -> &Location {
        &self.location
    }

    fn agreement(&self) -> Agreement {
        Agreement::Plan
    }

    /// Nothing is ever overwritten in a bucket.
    fn elsewhere(&self) -> &'static str {
        "a new prefix"
    }

    /// A part on its way to a bucket keeps some of its bytes in memory, so none is queued.
    fn commits(&self, parts: usize) -> Commits {
        Commits {
            at_once: COMMITS * parts,
            queued: 0,
            together: 1,
        }
    }

    fn prepare(&self) -> Result<()> {
        self.has_lake().map(drop)
    }

    /// Refuses a prefix that holds something else than a lake, and a URL that can't be one.
    fn has_lake(&self) -> Result<bool> {
        if !self.root.is_bucket() {
            return Err(
                Error::new(ErrorKind::Usage, "a web server can't hold a lake")
                    .at(&self.location)
                    .hint("name a bucket or a directory"),
            );
        }
        // A listing for each of many shards would take longer than this.
        let plan = self.location.join(PLAN).is_there();
        if plan.map_err(|error| error.at(&self.location))? {
            return Ok(true);
        }
        let entries = Listing::of(&self.location)?.entries("")?;
        let is_lake = entries.iter().any(|entry| entry.name == HOME);
        if !is_lake && !entries.is_empty() {
            return Err(something_else(&self.location));
        }
        Ok(is_lake)
    }

    fn check_vacant(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self, access: Access) -> Result<Option<Access>> {
        Ok(Some(match access {
            Access::Look => Access::Look,
            Access::Alone | Access::Shared => Access::Shared,
        }))
    }

    fn unlock(&self) -> Result<()> {
        Ok(())
    }

    fn undo_prepare(&self) {}

    fn read(&self, path: &str) -> Result<Option<Tagged>> {
        self.root.join(path).read_tagged(MOST_BYTES)
    }

    fn read_each(&self, paths: Vec<String>, show: Show<'_>) -> Result<()> {
        for paths in paths.chunks(READ_AT_ONCE) {
            for bytes in self.root.read_all(paths.to_vec(), MOST_BYTES)? {
                show(&mut &bytes[..])?;
            }
        }
        Ok(())
    }

    fn open(&self, path: &str) -> Result<Option<Box<dyn Content>>> {
        let read = self.read(path)?;
        Ok(read.map(|(bytes, _)| Box::new(Cursor::new(bytes)) as _))
    }

    fn list(
        &self,
        directories: &[String],
        show: &mut dyn FnMut(Listed) -> Result<()>,
    ) -> Result<()> {
        let listed = match directories {
            [one] => {
                let mut listed = self.root.join(one).list_all()?;
                for file in &mut listed {
                    file.path = format!("{one}/{}", file.path);
                }
                listed
            }
            // One listing for many tables.
            _ => self.root.list_all()?,
        };
        let is_below = |path: &str, directory: &str| {
            let rest = path.strip_prefix(directory);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let is_wanted = |file: &Listed| directories.iter().any(|one| is_below(&file.path, one));
        listed.into_iter().filter(is_wanted).try_for_each(show)
    }

    fn list_tagged(&self) -> Result<Vec<Listed>> {
        self.root.list_all()
    }

    fn names(&self, directory: &str) -> Result<Vec<String>> {
        let entries = Listing::of(&self.location.join(directory))?.entries("")?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn look_up(&self, paths: Vec<String>) -> Result<Vec<Listed>> {
        self.root.look_up(paths)
    }

    fn inside(&self, path: &str) -> Result<Location> {
        match stays_below(path) {
            true => Ok(self.location.join(path)),
            false => Err(leads_out(path)),
        }
    }

    fn put_new(&self, path: &str, bytes: Vec<u8>) -> Result<bool> {
        self.root.join(path).put_new(bytes)
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<()> {
        self.root.join(path).put(bytes)
    }

    fn stage(&self, path: &str) -> Result<Box<dyn Unfinished>> {
        Ok(Box::new(Object(self.root.join(path).upload()?)))
    }

    /// Objects have no directories.
    fn keep_names(&self, _: &NewNames) -> Result<()> {
        Ok(())
    }

    fn remove(&self, paths: &[String]) -> Result<()> {
        self.root.remove_all(paths)
    }

    fn clear_own_staging(&self) {
        tracelake_location::abort_dropped_uploads();
    }

    fn clear_staging(&self) -> Result<usize> {
        Ok(0)
    }

    fn journals(&self) -> Result<Vec<String>> {
        let listed = self.root.join(FACTS).list_all()?.into_iter();
        Ok(listed
            .map(|listed| format!("{FACTS}/{}", listed.path))
            .collect())
    }

    fn append_to(&self, path: &str) -> Result<Box<dyn Notes>> {
        let head = self.read(path)?.map(|(head, _)| head).unwrap_or_default();
        self.join_in(head)
    }

    fn join_in(&self, head: Vec<u8>) -> Result<Box<dyn Notes>> {
        Ok(Box::new(Facts {
            facts: self.root.join(FACTS),
            head,
        }))
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

    fn show(self: Box<Self>, _: &mut NewNames) -> Result<Option<String>> {
        self.0.complete()
    }
}

/// A journal that is an object for each part.
#[derive(Debug)]
struct Facts {
    facts: Url,
    /// The first line of each.
    head: Vec<u8>,
}

impl Notes for Facts {
    fn note(&self, name: &str, line: &[u8]) -> Result<()> {
        let place = self.facts.join(name);
        let journal = [&self.head[..], line].concat();
        if place.put_new(journal.clone())? {
            return Ok(());
        }
        // Facts that aren't the same are damaged, or of a run with other settings whose plan is gone.
        match place.read_if_there(MOST_BYTES)? {
            Some(found) if found == journal => Ok(()),
            _ => place.put(journal),
        }
    }
}
