//! `_tracelake/facts/<table>/<part>.json`: what the manifest will say of a part.
//!
//! The first facts of a part decide it for good: they are put where there are none, before its outputs are shown. A line of
//! JSON with a digest of itself and that of `lake.json`, so that damaged facts, or those of another lake, aren't believed.

use serde::{Deserialize, Serialize};
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_core::seal;
use tracelake_schema::Trace;

use crate::FACTS;
use crate::manifest::{AbsentTable, FileFacts, PartFacts};
use crate::parts::PartName;

/// The largest facts, in bytes.
pub(crate) const MOST_BYTES: u64 = 64 << 10;

/// The content of facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The SHA-256 of `lake.json`.
    pub(crate) lake: Digest,
    pub(crate) table: String,
    #[serde(flatten)]
    pub(crate) fact: Fact,
    /// The tag that the source's store gave its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
}

/// The subject of facts: a part, or tables that an archive lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fact {
    /// A part that was made.
    Part(PartFacts),
    /// An archive in which the table was looked for.
    AbsentFrom(FileFacts),
}

impl Facts {
    pub(crate) fn path(&self) -> String {
        match &self.fact {
            Fact::Part(facts) => path_of(&self.table, facts.key()),
            Fact::AbsentFrom(source) => {
                let digest = seal::sha256(source.path.as_bytes());
                format!("{FACTS}/{}/absent-{}.json", self.table, &digest[..16])
            }
        }
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(self).map_err(|error| {
            Error::new(ErrorKind::Failed, format!("cannot write facts: {error}"))
        })?;
        let line = seal::line(json);
        match line.len() as u64 <= MOST_BYTES {
            true => Ok(line),
            false => Err(Error::new(
                ErrorKind::Refused,
                format!("the facts of a part take more than {MOST_BYTES} bytes"),
            )
            .hint("shorten the names of the source files")),
        }
    }

    /// Reads facts of a lake; `None` if they are damaged, of another lake, or under another name than theirs.
    pub(crate) fn read(json: &[u8], path: &str, lake: Digest) -> Option<Self> {
        let facts: Self = serde_json::from_slice(&seal::content(json)?).ok()?;
        (facts.lake == lake && facts.path() == path).then_some(facts)
    }

    /// The absent table that these facts are about.
    pub(crate) fn absent(&self) -> Option<AbsentTable> {
        match &self.fact {
            Fact::Part(_) => None,
            Fact::AbsentFrom(source) => Some(AbsentTable {
                name: self.table.clone(),
                source: source.clone(),
            }),
        }
    }
}

/// The path of the facts of a part.
pub(crate) fn path_of(table: &str, key: PartKey) -> String {
    let cell = key.cell.map_or_else(String::new, |cell| format!("{cell}-"));
    format!("{FACTS}/{table}/{cell}{:05}.json", key.file_number)
}

/// The part whose facts have this path.
pub(crate) fn part_of(trace: &Trace, path: &str) -> Option<PartName> {
    let (table, name) = path
        .strip_prefix(FACTS)?
        .strip_prefix('/')?
        .split_once('/')?;
    let stem = name.strip_suffix(".json")?;
    let (cell, number) = match stem.rsplit_once('-') {
        Some((cell, number)) => (Some(tracelake_schema::cell_name(cell).ok()?), number),
        None => (None, stem),
    };
    let key = PartKey {
        cell,
        file_number: number.parse().ok()?,
    };
    let name = PartName::of(trace, table, key)?;
    (path_of(table, key) == path).then_some(name)
}

/// Whether two runs agree on a part: everything that the manifest would say is equal. An entry made from the beginning of a
/// file equals one made from all of it, if what both have is equal; so do entries with and without what only the lake as a
/// whole decides.
pub(crate) fn agree(one: &PartFacts, other: &PartFacts, is_cut: bool) -> bool {
    let (mut one, other) = (one.clone(), other.clone());
    one.in_all = other.in_all;
    if is_cut && (one.of.is_none() || other.of.is_none()) && one.source.path == other.source.path {
        one.of = other.of;
        one.source = other.source.clone();
    }
    one == other
}
