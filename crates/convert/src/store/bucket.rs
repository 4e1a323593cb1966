//! A lake in a bucket. An object appears whole or not at all, so nothing is staged and nothing is locked:
//! every step puts an object where there is none, or one with equal bytes.
//!
//! ```text
//! OUT/_tracelake/facts/begun.ndjson              who began it: version, trace and options
//! OUT/_tracelake/facts/kept.ndjson               the parts of a finished lake that is being added to
//! OUT/_tracelake/facts/task_usage-00017.ndjson   the facts of a part: a journal with one entry
//! ```

use std::collections::BTreeSet;

use super::disk::{LakeDirectory, ends_in, is_output};
use super::{HOME, MANIFEST};
use crate::error::{Error, ErrorKind, Result};
use crate::location::{Listing, Location, Url};
use crate::manifest::{MOST_BYTES, Manifest};

/// The directory of facts.
pub(super) const FACTS: &str = "facts";

/// By which options the lake was begun: a journal without an entry.
pub(super) const ORIGIN: &str = "begun.ndjson";

/// The facts of the parts that a finished lake had.
pub(super) const KEPT: &str = "kept.ndjson";

/// Refuses a prefix that holds something else than a lake, and a URL that can't be one.
pub(super) fn look(root: &Location) -> Result<bool> {
    let Location::Url(url) = root else {
        return Ok(false);
    };
    if !url.is_bucket() {
        return Err(
            Error::new(ErrorKind::Usage, "a web server can't hold a lake")
                .at(root)
                .hint("name a bucket or a directory"),
        );
    }
    let entries = Listing::of(root)?.entries("")?;
    let is_lake = entries.iter().any(|entry| entry.name == HOME);
    if !is_lake && !entries.is_empty() {
        return Err(super::something_else(root));
    }
    Ok(is_lake)
}

/// Reads a small object; `None` if there is none.
pub(super) fn read_if_there(object: &Location) -> Result<Option<Vec<u8>>> {
    match object.is_there()? {
        true => object.read_small(MOST_BYTES).map(Some),
        false => Ok(None),
    }
}

/// The journals in a lake's facts.
pub(super) fn journals(root: &Url) -> Result<Vec<Vec<u8>>> {
    let facts = root.join(&format!("{HOME}/{FACTS}"));
    let objects = facts.list_all()?.into_iter().map(|(path, _)| path);
    facts.read_all(objects.collect(), MOST_BYTES)
}

/// Puts the manifest where there is none. `may_replace` says whether another one is the lake's own.
pub(super) fn put_manifest(root: &Url, manifest: &Manifest, may_replace: bool) -> Result<()> {
    let place = root.join(&format!("{HOME}/{MANIFEST}"));
    let json = manifest.to_json()?;
    if may_replace {
        return place.put(json);
    }
    if place.put_new(json.clone())? {
        return Ok(());
    }
    if Location::Url(place.clone()).read_small(MOST_BYTES)? == json {
        return Ok(());
    }
    Err(
        Error::new(ErrorKind::Refused, "another run has finished this lake")
            .at(place.to_string())
            .hint("run the same command again, to add to it"),
    )
}

/// Removes all facts.
pub(super) fn remove_facts(root: &Url) -> Result<()> {
    let facts = root.join(&format!("{HOME}/{FACTS}"));
    let objects = facts.list_all()?.into_iter().map(|(path, _)| path);
    facts.remove_all(&objects.collect::<Vec<_>>())
}

/// The outputs and rejects files of these tables; see [`super::files`].
pub(super) fn files(root: &Url, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut files: Vec<String> = root.list_all()?.into_iter().map(|(path, _)| path).collect();
    files.retain(|path| {
        let (directory, name) = path.rsplit_once('/').unwrap_or_default();
        LakeDirectory::of(directory).is_some_and(|place| {
            let is_part = name.starts_with("part-") && ends_in(name, place.suffixes);
            tables.contains(place.table) && is_part
        })
    });
    Ok(files)
}

/// The objects below these tables that no plan can have named; see [`super::foreign_files`].
pub(super) fn foreign_files(root: &Url, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    let mut files: Vec<String> = root.list_all()?.into_iter().map(|(path, _)| path).collect();
    files.retain(|path| {
        let table = path.split_once('/').map(|(table, _)| table);
        table.is_some_and(|table| tables.contains(table)) && !is_output(path)
    });
    Ok(files)
}
