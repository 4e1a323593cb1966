//! A bucket whose requests wait for their turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::{Listed, Objects};

use super::turns::{NoAnswer, Request, Turns, World, digest};

/// How a store treats its conditions and tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Manners {
    Usual,
    /// What may be put only on a condition is put.
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

/// The bucket as one worker asks it.
#[derive(Debug)]
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
        answer.map_err(|no_answer| {
            let reason = match no_answer {
                NoAnswer::Killed => "killed",
                NoAnswer::Lost => "no answer",
            };
            Error::new(ErrorKind::Failed, reason)
        })
    }
}

impl Objects for Asker {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        self.ask(Request::Read, ("read", path), |bucket| {
            let found = bucket.objects.get(path);
            found.map(|found| (found.0.clone(), bucket.tag(found)))
        })
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        self.ask(Request::Read, ("version", path), |bucket| {
            let found = bucket.objects.get(path);
            found.map(|found| (found.0.len() as u64, bucket.tag(found)))
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let listed = self.ask(Request::List, ("list", prefix), |bucket| {
            let below = bucket.objects.iter().filter_map(|(path, found)| {
                let rest = path.strip_prefix(prefix)?.strip_prefix('/')?;
                Some((rest.to_owned(), found.0.len() as u64, bucket.tag(found)))
            });
            below.collect::<Vec<_>>()
        })?;
        let listed = listed.into_iter();
        Ok(listed
            .map(|(path, bytes, etag)| Listed {
                path,
                bytes,
                etag: Some(etag),
            })
            .collect())
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.ask(Request::Change, ("put", path, &bytes), |bucket| {
            bucket.put(path, bytes.clone())
        })
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.ask(Request::Change, ("put_new", path, &bytes), |bucket| {
            let is_put =
                bucket.manners == Manners::IgnoresConditions || !bucket.objects.contains_key(path);
            if is_put {
                bucket.put(path, bytes.clone());
            }
            is_put
        })
    }

    fn swap(&self, path: &str, known: &str, bytes: Bytes) -> Result<bool> {
        self.ask(Request::Change, ("swap", path, known, &bytes), |bucket| {
            let found = bucket.objects.get(path);
            let is_known = found.is_some_and(|found| bucket.tag(found) == known);
            let is_put = bucket.manners == Manners::IgnoresConditions || is_known;
            if is_put {
                bucket.put(path, bytes.clone());
            }
            is_put
        })
    }

    /// A store removes the objects of one request one after the other.
    fn remove(&self, paths: &[&str]) -> Result<()> {
        for path in paths {
            self.ask(Request::Change, ("remove", path), |bucket| {
                bucket.objects.remove(*path);
            })?;
        }
        Ok(())
    }
}
