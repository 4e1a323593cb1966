//! Which shard does which part of a plan.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::str::FromStr;

use tracelake_core::digest::Digest;
use tracelake_lake::plan_file::{
    MOST_SHARDS, PlanFile, PlannedDerived, PlannedPart, PlannedSource, PlannedStream, PlannedTable,
};
use tracelake_lake::{Identity, PartName};

use super::{PartPlan, Plan, StreamPlan};

/// One of the shards of a plan, such as `0/4`.
///
/// ```
/// use tracelake_convert::plan::Shard;
///
/// assert_eq!("3/4".parse(), Ok(Shard { index: 3, of: 4 }));
/// assert!("4/4".parse::<Shard>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        let parsed = text
            .split_once('/')
            .and_then(|(index, of)| Some((number(index)?, number(of)?)));
        match parsed {
            None => Err("expected I/N, such as 0/4".to_owned()),
            Some((_, 0)) => Err("there must be at least 1 shard".to_owned()),
            Some((_, of)) if of > MOST_SHARDS => {
                Err(format!("there may be at most {MOST_SHARDS} shards"))
            }
            Some((index, of)) if index >= of => Err(format!(
                "shards are counted from 0, so the last one is {}/{of}",
                of - 1
            )),
            Some((index, of)) => Ok(Self { index, of }),
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl Plan {
    /// The plan as its workers share it, with `shards` shards of about the same size.
    ///
    /// The largest file goes first, each to the shard that has the least so far. The order of files of
    /// the same size is that of the plan, so every worker gets the same result.
    #[must_use]
    pub fn to_file(&self, shards: u32) -> PlanFile {
        let tables = self.tables.iter().map(|table| PlannedTable {
            name: table.order.table.name.to_owned(),
            fields: table
                .order
                .fields
                .iter()
                .map(|field| field.column.name.to_owned())
                .collect(),
        });
        let parts = self.parts().map(|(table, part)| PlannedPart {
            table: table.order.table.name.to_owned(),
            cell: part.key.cell,
            file_number: part.key.file_number,
            shard: 0,
            source: source(part.recorded(), part.bytes, part.sha256),
        });
        let streams = self
            .streams
            .iter()
            .map(|stream| self.planned_stream(stream));
        let derived = self.derived.iter().map(|derived| PlannedDerived {
            table: derived.table.name.to_owned(),
            from: derived.from.to_owned(),
        });
        let mut file = PlanFile::new(shards, tables.collect());
        file.parts = parts.collect();
        file.streams = streams.collect();
        file.derived = derived.collect();
        let streams = file.streams.iter_mut();
        let mut files: Vec<(u64, &mut u32)> = streams
            .map(|stream| (stream.source.bytes.unwrap_or(0), &mut stream.shard))
            .chain(
                file.parts
                    .iter_mut()
                    .map(|part| (part.source.bytes.unwrap_or(0), &mut part.shard)),
            )
            .collect();
        balance(&mut files, shards);
        file
    }

    /// Identity of the lake that this plan is for.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let has_cells = self.parts().any(|(_, part)| part.key.cell.is_some());
        Identity::new(&self.origin, has_cells)
    }

    /// The path of the file that a part is made from, relative to [`Plan::source`]; empty for a derived part.
    #[must_use]
    pub fn source_of(&self, name: &PartName) -> String {
        if let Some(part) = self.part(name) {
            return part.source.clone();
        }
        let stream = self.stream_of(&name.table);
        stream.map_or_else(String::new, |stream| stream.source.clone())
    }

    /// The path of the output of a part, relative to the lake.
    #[must_use]
    pub fn output_of(&self, name: &PartName) -> String {
        if let Some(derived) = self
            .derived
            .iter()
            .find(|derived| *derived.table.name == *name.table)
        {
            let from = self.output_of(&PartName::new(&derived.from, name.key));
            let (_, place) = from.split_once('/').unwrap_or_default();
            return format!("{}/{place}", name.table);
        }
        match self.part(name) {
            Some(part) => part.output(),
            None => self.cut_of(&name.table, name.key).output(),
        }
    }

    /// A part that is a file.
    fn part(&self, name: &PartName) -> Option<&PartPlan> {
        let mut tables = self.tables.iter();
        let table = tables.find(|table| *table.order.table.name == *name.table)?;
        let found = table.parts.binary_search_by_key(&name.key, |part| part.key);
        found.ok().map(|index| &table.parts[index])
    }

    /// A file that is cut into parts, as its workers share it; in no shard yet.
    #[must_use]
    pub fn planned_stream(&self, stream: &StreamPlan) -> PlannedStream {
        let table_names = self
            .tables_of(stream)
            .map(|table| table.order.table.name.to_owned());
        PlannedStream {
            tables: table_names.collect(),
            selected: self.selected.as_ref().map(|parts| parts.ranges().collect()),
            shard: 0,
            source: source(&stream.source, stream.bytes, stream.sha256),
        }
    }
}

fn source(path: &str, bytes: Option<u64>, sha256: Option<Digest>) -> PlannedSource {
    PlannedSource {
        path: path.to_owned(),
        bytes,
        sha256: sha256.filter(|_| bytes.is_none()),
    }
}

/// Assigns the largest first, each to the shard with the fewest bytes, then the fewest files.
///
/// # Memory
/// The shards that get a file: the number of shards comes from the command line.
fn balance(files: &mut [(u64, &mut u32)], shards: u32) {
    let used = shards.min(u32::try_from(files.len()).unwrap_or(u32::MAX));
    let mut loads: BinaryHeap<Reverse<(u64, u64, u32)>> =
        (0..used).map(|shard| Reverse((0, 0, shard))).collect();
    files.sort_by_key(|(bytes, _)| Reverse(*bytes));
    for (bytes, shard) in files {
        let Some(Reverse((load, count, least))) = loads.pop() else {
            return;
        };
        **shard = least;
        loads.push(Reverse((load.saturating_add(*bytes), count + 1, least)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_typed_as_fractions() {
        assert_eq!("0/4".parse(), Ok(Shard { index: 0, of: 4 }));
        assert_eq!("11/12".parse::<Shard>().unwrap().to_string(), "11/12");
        for bad in [
            "", "1", "/", "1/", "/2", "-1/2", "+1/2", "1/2/3", "a/b", "0x1/2",
        ] {
            assert_eq!(
                bad.parse::<Shard>(),
                Err("expected I/N, such as 0/4".to_owned()),
                "{bad}"
            );
        }
        assert!("0/0".parse::<Shard>().unwrap_err().contains("at least 1"));
        assert!("4/4".parse::<Shard>().unwrap_err().contains("3/4"));
        for many in ["0/1000001", "0/4294967295"] {
            assert!(
                many.parse::<Shard>()
                    .unwrap_err()
                    .contains("at most 1000000")
            );
        }
        "999999/1000000".parse::<Shard>().unwrap();
    }

    #[test]
    fn shards_are_of_about_the_same_size() {
        let sizes = [7, 1, 9, 9, 0, 3, 0, 5];
        let mut shards = [u32::MAX; 8];
        let mut files: Vec<(u64, &mut u32)> = sizes.into_iter().zip(&mut shards).collect();
        balance(&mut files, 3);
        assert_eq!(shards, [2, 1, 0, 1, 1, 0, 1, 2]);
        let load = |shard| -> u64 {
            let pairs = sizes.iter().zip(&shards);
            pairs
                .filter(|pair| *pair.1 == shard)
                .map(|pair| pair.0)
                .sum()
        };
        assert_eq!([0, 1, 2].map(load), [12, 10, 12]);
    }

    #[test]
    fn more_shards_than_files_take_no_memory() {
        let mut shards = [u32::MAX; 2];
        let mut files: Vec<(u64, &mut u32)> = [0, 7].into_iter().zip(&mut shards).collect();
        balance(&mut files, u32::MAX);
        assert_eq!(shards, [1, 0]);
    }
}
