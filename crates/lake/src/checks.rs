//! The parts that an earlier run made: compared with the disk and the source, and kept or made again.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::words::several;
use tracelake_location::Location;
use tracelake_source::{self as source, Fingerprint};

use crate::manifest::PartFacts;
use crate::parts::{PartName, Parts};
use crate::plan_file::{PlannedSource, PlannedStream};
use crate::publish::keep_names;
use crate::rules::{Rule, holds};
use crate::staging::digest_of;
use crate::work::{Joined, forget_hint};

/// A part that was asked for and is recorded.
struct Known<'a> {
    name: &'a PartName,
    facts: &'a PartFacts,
    /// The tag that the source's store gave its bytes.
    tag: Option<&'a String>,
    /// Its file as the plan knows it; `None` for a derived part.
    source: Option<Planned<'a>>,
}

#[derive(Clone, Copy)]
enum Planned<'a> {
    File(&'a PlannedSource),
    Stream(&'a PlannedStream),
}

impl Joined<'_> {
    /// Checks the parts that are done and returns those to keep. One that is damaged is left out, so that it's made again.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if the source of a part has changed; when the disk or the store fails.
    pub fn keep(&self) -> Result<Parts> {
        let done = self.done();
        let assignment = self.goal.plan.assignment();
        let wanted = done
            .iter()
            .filter(|(name, _)| self.goal.wants(&assignment, name));
        let known: Vec<Known<'_>> = wanted
            .map(|(name, facts)| {
                let file = assignment
                    .source_of(&name.table, name.key)
                    .map(Planned::File);
                let stream = || self.goal.plan.stream_of(&name.table).map(Planned::Stream);
                let recorded = self.look.recorded.get(name);
                Known {
                    name,
                    facts,
                    tag: recorded.and_then(|recorded| recorded.tag.as_ref()),
                    source: file.or_else(stream),
                }
            })
            .collect();
        self.check_sources(&known)?;
        self.warn_of_lost()?;
        let kept = known.into_par_iter().map(|known| {
            self.context.check()?;
            let Known {
                name,
                facts,
                source,
                ..
            } = known;
            if !self.is_whole(name, facts)? {
                let path = &facts.output.path;
                self.context
                    .warn(format!("{path} is damaged and is converted again"));
                return Ok(None);
            }
            let bytes = match (source, facts.of) {
                (Some(Planned::File(_)), _) => facts.source.bytes,
                // The rest of a stream comes after the kept parts, which are skipped.
                (Some(Planned::Stream(_)), Some(parts)) => {
                    facts.source.bytes / u64::from(parts.max(1))
                }
                _ => 0,
            };
            if source.is_some() {
                self.context.emit(Event::Kept {
                    table: name.table.to_string(),
                    part: name.key,
                    rows: facts.rows_out,
                    bytes,
                });
            }
            Ok(Some((name.clone(), facts.clone())))
        });
        let kept = kept.collect::<Result<Vec<_>>>()?;
        let kept: Parts = kept.into_iter().flatten().collect();
        let uncommitted = kept
            .iter()
            .filter(|(name, _)| !self.committed.contains_key(name));
        keep_names(&*self.lake.backend, uncommitted)?;
        Ok(kept)
    }

    /// Says which committed outputs are lost that this run doesn't make. A shard looks at its own alone.
    fn warn_of_lost(&self) -> Result<()> {
        if self.goal.shard.is_some() {
            return Ok(());
        }
        let assignment = self.goal.plan.assignment();
        let mut others = self.committed.clone();
        others.retain(|name, _| !self.goal.wants(&assignment, name));
        let lost = self.look.lost(&*self.lake.backend, &others)?;
        if let Some(first) = lost.first() {
            let files = several(lost.len() as u64, "committed file");
            self.context.warn(format!(
                "missing or of another size: {files}, such as {}; convert the parts again that this run leaves out",
                first.path
            ));
        }
        Ok(())
    }

    /// Whether the files of a part have the bytes that are recorded. A bucket keeps what it was given, so that names and
    /// sizes are enough; and a shard doesn't look at what is committed.
    fn is_whole(&self, name: &PartName, facts: &PartFacts) -> Result<bool> {
        let backend = &*self.lake.backend;
        let is_left_to_others = self.goal.shard.is_some() && self.committed.contains_key(name);
        if !backend.is_disk() || is_left_to_others {
            return Ok(true);
        }
        for file in facts.files() {
            if digest_of(&self.context, backend, &file.path)? != Some(file.sha256) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares the sources of parts with what they were made from: by path and size, then by the tag that a store gave
    /// them, and else by the digest, for which each file is read once.
    fn check_sources(&self, known: &[Known<'_>]) -> Result<()> {
        let mut unsure: BTreeMap<String, Vec<&Known<'_>>> = BTreeMap::new();
        for known in known.iter().filter(|_| holds(Rule::SourceIsCompared)) {
            let Some(planned) = known.source else {
                continue;
            };
            let (source, is_beginning) = match planned {
                Planned::File(source) => (source, false),
                Planned::Stream(stream) => (&stream.source, known.facts.of.is_none()),
            };
            let facts = &known.facts.source;
            let sizes = source
                .bytes
                .is_none_or(|bytes| bytes == facts.bytes || is_beginning && bytes >= facts.bytes);
            let sums = source
                .sha256
                .is_none_or(|sum| is_beginning || sum == facts.sha256);
            if source.path != facts.path || !sizes || !sums {
                return Err(self.another_source(known));
            }
            unsure
                .entry((self.goal.source_of)(known.name))
                .or_default()
                .push(known);
        }
        self.leave_out_tagged(&mut unsure)?;
        let checked = unsure.into_par_iter().map(|(path, known)| {
            self.context.check()?;
            let length = |known: &Known<'_>| match known.source {
                Some(Planned::Stream(_)) => known.facts.digested(true),
                _ => u64::MAX,
            };
            let lengths: BTreeSet<u64> = known.iter().map(|known| length(known)).collect();
            let location = self.goal.source.join(&path);
            let now = source::fingerprints(&self.context, &location, &lengths)?;
            for known in known {
                let then = Fingerprint {
                    bytes: known.facts.source.bytes,
                    sha256: known.facts.source.sha256,
                };
                if now.get(&length(known)) != Some(&then) {
                    return Err(self.another_source(known));
                }
            }
            Ok(())
        });
        checked.collect()
    }

    /// Leaves out the sources in a store that have the tags that are recorded.
    fn leave_out_tagged(&self, unsure: &mut BTreeMap<String, Vec<&Known<'_>>>) -> Result<()> {
        let Location::Url(root) = self.goal.source else {
            return Ok(());
        };
        let is_tagged = |known: &Vec<&Known<'_>>| known.iter().all(|known| known.tag.is_some());
        let tagged = unsure.iter().filter(|(_, known)| is_tagged(known));
        let paths: Vec<String> = tagged.map(|(path, _)| path.clone()).collect();
        let now = root.look_up(&paths)?.into_iter();
        let now: BTreeMap<String, Option<String>> =
            now.map(|listed| (listed.path, listed.etag)).collect();
        unsure.retain(|path, known| match now.get(path) {
            Some(Some(tag)) => known.iter().any(|known| known.tag != Some(tag)),
            _ => true,
        });
        Ok(())
    }

    /// The error for a part whose source has changed.
    fn another_source(&self, known: &Known<'_>) -> Error {
        let is_committed = self.committed.contains_key(known.name);
        Error::new(
            ErrorKind::Refused,
            "is not the file that the lake was made from",
        )
        .at(self.goal.source.join(&(self.goal.source_of)(known.name)))
        .field(&*known.name.table)
        .hint(forget_hint(&*self.lake.backend, known.name, is_committed))
    }
}
