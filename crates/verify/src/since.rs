//! Changes from one lake to the next one of the same trace, by their manifests alone.

use std::collections::BTreeMap;

use serde::Serialize;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::origin::Origin;
use tracelake_core::part_key::PartKey;
use tracelake_lake::manifest::{self, FileFacts, Manifest, PartFacts, TableFacts};
use tracelake_location::Location;

use crate::manifest_of;

/// The differences between two lakes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// The tables of either lake, those of the new one first.
    pub tables: Vec<TableChanges>,
    /// How the two were made differently: `compression was zstd:3 and is now snappy`.
    pub made_differently: Vec<String>,
}

/// The differences of a table: its outputs and rejects files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableChanges {
    /// The name of the table.
    pub name: String,
    /// The paths of files that only the new lake has.
    pub added: Vec<String>,
    /// Files that have other bytes now.
    pub changed: Vec<ChangedFile>,
    /// The paths of files that only the old lake has.
    pub removed: Vec<String>,
    /// How many files have the bytes that they had.
    pub unchanged: u64,
    /// The size of the files that are added or changed, in bytes.
    pub bytes: u64,
}

/// A file that has other bytes than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangedFile {
    /// Its path in the lake.
    pub path: String,
    /// The path of its source, if that has other bytes than before.
    pub source: Option<String>,
}

/// Reads the manifest that a lake is compared with: `old` is a lake, or the file `manifest.json` of one.
///
/// # Errors
/// [`ErrorKind::Refused`] if one of the two isn't a finished lake, or is of another version; [`ErrorKind::Corrupt`] if a
/// manifest is damaged; [`ErrorKind::Usage`] if they are of different traces.
pub fn old_manifest(context: &Context, old: &Location, lake: &Location) -> Result<Manifest> {
    let manifest = &manifest_of(&lake.within(context))?;
    let old = &old.within(context);
    let then = match old.name().is_some_and(|name| name.ends_with(".json")) {
        true => old
            .read_small(manifest::MOST_BYTES)
            .and_then(|json| Manifest::read(&json))
            .map_err(|error| error.or_at(old))?,
        false => manifest_of(old)?,
    };
    let [own, other] = [manifest, &then].map(|manifest| &manifest.origin.trace);
    if own == other {
        return Ok(then);
    }
    let [own, other] = [own, other].map(|trace| escape(trace.as_bytes(), 80));
    let reason = format!("is of {other}, and the lake to release is of {own}");
    Err(Error::new(ErrorKind::Usage, reason)
        .at(old)
        .hint("name a lake of the same trace"))
}

impl Changes {
    /// Compares two manifests.
    #[must_use]
    pub fn between(old: &Manifest, new: &Manifest) -> Self {
        let tables = new.tables.iter();
        let mut changes: Vec<TableChanges> = tables
            .map(|table| TableChanges::between(table_of(old, &table.name), table))
            .collect();
        let is_gone = |table: &&TableFacts| table_of(new, &table.name).is_none();
        let gone = old.tables.iter().filter(is_gone);
        changes.extend(gone.map(|table| {
            let nothing = TableFacts::new(&table.name, String::new());
            TableChanges::between(Some(table), &nothing)
        }));
        Self {
            tables: changes,
            made_differently: made_differently(&old.origin, &new.origin),
        }
    }

    /// The files that have other bytes and the same source, in lakes that were made alike: no manifest says why.
    #[must_use]
    pub fn unexplained(&self) -> u64 {
        let changed = self.tables.iter().flat_map(|table| &table.changed);
        match self.made_differently.is_empty() {
            true => changed.filter(|file| file.source.is_none()).count() as u64,
            false => 0,
        }
    }
}

fn table_of<'a>(manifest: &'a Manifest, name: &str) -> Option<&'a TableFacts> {
    manifest.tables.iter().find(|table| table.name == name)
}

impl TableChanges {
    fn between(old: Option<&TableFacts>, new: &TableFacts) -> Self {
        let then = old.into_iter().flat_map(|table| &table.parts);
        let sources: BTreeMap<PartKey, &FileFacts> = then
            .clone()
            .map(|part| (part.key(), &part.source))
            .collect();
        let mut then: BTreeMap<&str, &FileFacts> = then
            .flat_map(PartFacts::files)
            .map(|file| (&file.path[..], file))
            .collect();
        let mut changes = Self {
            name: new.name.clone(),
            ..Self::default()
        };
        for part in &new.parts {
            let is_other = |then: &&&FileFacts| then.sha256 != part.source.sha256;
            let source = sources.get(&part.key()).filter(is_other);
            for file in part.files() {
                let path = file.path.clone();
                match then.remove(&path[..]) {
                    Some(before) if before.sha256 == file.sha256 => {
                        changes.unchanged += 1;
                        continue;
                    }
                    Some(_) => changes.changed.push(ChangedFile {
                        path,
                        source: source.map(|_| part.source.path.clone()),
                    }),
                    None => changes.added.push(path),
                }
                changes.bytes = changes.bytes.saturating_add(file.bytes);
            }
        }
        changes.removed = then.into_keys().map(str::to_owned).collect();
        changes
    }
}

/// Each difference in how two lakes were made.
fn made_differently(old: &Origin, new: &Origin) -> Vec<String> {
    let facts = |origin: &Origin| -> Vec<(String, String)> {
        let description = origin.description.clone();
        let built_in = || "that of a built-in trace".to_owned();
        let clustered = origin.clustered.as_ref();
        let rows = match origin.synthetic {
            true => "synthetic",
            false => "published",
        };
        let facts = [
            ("version", origin.version.clone()),
            ("format of the manifest", origin.format.to_string()),
            ("encoding", origin.encoding.to_string()),
            ("description", description.unwrap_or_else(built_in)),
            ("source", rows.to_owned()),
            (
                "clustered",
                clustered.map_or_else(String::new, ToString::to_string),
            ),
            (
                "manifest of the lake that it was clustered from",
                clustered.map_or_else(String::new, |how| how.source.to_string()),
            ),
        ];
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        facts.into_iter().chain(origin.options.named()).collect()
    };
    let [then, now] = [old, new].map(|origin| BTreeMap::from_iter(facts(origin)));
    let mut names: Vec<&String> = then.keys().chain(now.keys()).collect();
    names.sort_unstable();
    names.dedup();
    // A part without rejected rows has the same bytes under either policy.
    names.retain(|name| *name != "on-bad-row");
    let said = |facts: &BTreeMap<String, String>, name: &String| match facts.get(name) {
        Some(value) if !value.is_empty() => escape(value.as_bytes(), 200),
        _ => "none".to_owned(),
    };
    let differences = names.into_iter().filter_map(|name| {
        let (then, now) = (said(&then, name), said(&now, name));
        (then != now).then(|| format!("{name} was {then} and is now {now}"))
    });
    differences.collect()
}
