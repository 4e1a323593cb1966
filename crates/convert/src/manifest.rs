//! The facts of a part and of a lake, and the counting law that they keep.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tracelake_schema::Table;

use crate::error::{Error, ErrorKind, Result};

/// The directory of the rejects files, relative to the lake.
pub const REJECTS: &str = "_tracelake/rejects";

/// What a lake is: `_tracelake/manifest.json`, written last. It holds no clock and no absolute
/// path, so the same input gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Who made the lake, under which options.
    #[serde(flatten)]
    pub origin: Origin,
    /// The tables, in the order of the trace.
    pub tables: Vec<TableFacts>,
}

/// What has to be equal for two runs to work on the same lake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `tracelake`.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The trace.
    pub trace: String,
    /// The options that decide the bytes of the outputs.
    pub options: Settings,
}

/// The options that decide the bytes of the outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `hive` or `flat`.
    pub layout: String,
    /// `parquet`.
    pub format: String,
    /// As on the command line, with the level: `zstd:3`.
    pub compression: String,
    /// `fail` or `reject`.
    pub on_bad_row: String,
    /// Rows in a part of a table that is published in one file, if the trace has such tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_rows: Option<u64>,
}

impl Origin {
    /// This version of tracelake with a trace and options.
    #[must_use]
    pub fn new(trace: &str, options: Settings) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            tool: "tracelake".to_owned(),
            version,
            trace: trace.to_owned(),
            options,
        }
    }

    /// The first difference to another origin, in words: `compression zstd:3, now snappy`.
    #[must_use]
    pub fn difference(&self, now: &Self) -> Option<String> {
        let rows = |origin: &Self| {
            origin
                .options
                .part_rows
                .map_or("none".into(), |r| r.to_string())
        };
        let (then_rows, now_rows) = (rows(self), rows(now));
        let pairs = [
            ("part-rows", &then_rows, &now_rows),
            ("tool", &self.tool, &now.tool),
            ("version", &self.version, &now.version),
            ("trace", &self.trace, &now.trace),
            ("layout", &self.options.layout, &now.options.layout),
            ("format", &self.options.format, &now.options.format),
            (
                "compression",
                &self.options.compression,
                &now.options.compression,
            ),
            (
                "on-bad-row",
                &self.options.on_bad_row,
                &now.options.on_bad_row,
            ),
        ];
        pairs
            .iter()
            .find(|(_, then, now)| then != now)
            .map(|(name, then, now)| format!("{name} was {then} and is now {now}"))
    }
}

/// One table of a lake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFacts {
    /// The table.
    pub name: String,
    /// The SHA-256 of its Arrow schema's names, types and nullabilities.
    pub schema_fingerprint: String,
    /// Rows in all outputs.
    pub rows: u64,
    /// Its parts, by file number.
    pub parts: Vec<PartFacts>,
}

impl TableFacts {
    /// Rows in all sources.
    #[must_use]
    pub fn rows_in(&self) -> u64 {
        let rows = self.parts.iter().map(|part| part.rows_in);
        rows.fold(0, u64::saturating_add)
    }

    /// Whether all parts that were published are there, so that a published count can be held
    /// against [`TableFacts::rows_in`].
    #[must_use]
    pub fn is_whole(&self, table: &Table) -> bool {
        let numbers: BTreeSet<u32> = self.parts.iter().map(|part| part.file_number).collect();
        let cut = self.parts.iter().find_map(|part| part.of);
        !numbers.is_empty() && numbers.into_iter().eq(0..cut.unwrap_or(table.parts))
    }

    /// How many rows more than published were read, which is less than 0 where some are missing;
    /// nothing where there is no published count or the table is not whole.
    #[must_use]
    pub fn more_than_published(&self, table: &Table) -> Option<i64> {
        let published = table.published.filter(|_| self.is_whole(table))?;
        let more = i128::from(self.rows_in()) - i128::from(published.rows);
        // A manifest may say anything.
        Some(i64::try_from(more).unwrap_or(i64::MAX))
    }
}

/// One part of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFacts {
    /// The number in the names of the source and of the output.
    pub file_number: u32,
    /// The input file; the path is relative to SRC. Of one that was not read to its end, as far as it
    /// was: its first bytes.
    pub source: FileFacts,
    /// How many parts of the table its source was cut into, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// Rows in the source.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Rows that could not be converted.
    pub rows_rejected: u64,
    /// Values that were spelled in another way and mapped to a sentinel.
    pub sentinels_mapped: u64,
    /// The smallest value of the table's time column, sentinels included.
    pub time_min: Option<i64>,
    /// The largest value of the table's time column, sentinels included.
    pub time_max: Option<i64>,
    /// Of a derived table, rows of the other one of which none was made, because they say nothing of that
    /// kind. The source of such a part is a file of the lake, and its rows are those that were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// The output file; the path is relative to OUT.
    pub output: FileFacts,
    /// The file of the rejected rows, if there are any; the path is relative to OUT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejects: Option<FileFacts>,
}

impl PartFacts {
    /// How many of the first bytes of its source the digest is of: all, unless the source is cut into
    /// parts and was not read to its end.
    #[must_use]
    pub fn digested(&self, is_cut: bool) -> u64 {
        if is_cut && self.of.is_none() {
            self.source.bytes
        } else {
            u64::MAX
        }
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// A relative path with forward slashes.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// Checks the counting law, `rows_in = rows_out + rows_rejected`, per part and in total.
    ///
    /// # Errors
    /// Names the first part or table that breaks it.
    pub fn check_counts(&self) -> Result<()> {
        for table in &self.tables {
            let mut rows = 0_u128;
            for part in &table.parts {
                if part.rows_out.checked_add(part.rows_rejected) != Some(part.rows_in) {
                    let reason = format!(
                        "{} rows in, but {} out and {} rejected",
                        part.rows_in, part.rows_out, part.rows_rejected
                    );
                    return Err(Error::new(ErrorKind::Failed, reason)
                        .at(&part.output.path)
                        .field(table.name.clone()));
                }
                rows += u128::from(part.rows_out);
            }
            if rows != u128::from(table.rows) {
                let reason = format!("{} rows, but {rows} in its parts", table.rows);
                return Err(Error::new(ErrorKind::Failed, reason).field(table.name.clone()));
            }
        }
        Ok(())
    }

    /// The parts with their table's name, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &PartFacts)> {
        self.tables.iter().flat_map(|table| {
            table
                .parts
                .iter()
                .map(move |part| (table.name.as_str(), part))
        })
    }

    /// Every file that belongs to the lake, apart from the manifest.
    pub fn files(&self) -> impl Iterator<Item = &FileFacts> {
        self.parts()
            .flat_map(|(_, part)| std::iter::once(&part.output).chain(&part.rejects))
    }

    /// The bytes of `manifest.json`.
    ///
    /// # Errors
    /// Never for a manifest of this crate; serde's signature has one.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| {
            Error::new(
                ErrorKind::Failed,
                format!("cannot write the manifest: {error}"),
            )
        })?;
        json.push(b'\n');
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use tracelake_schema::{Confidence, Published};

    use super::*;

    fn file(path: &str) -> FileFacts {
        FileFacts {
            path: path.into(),
            bytes: 1,
            sha256: "00".into(),
        }
    }

    fn manifest(rows_rejected: u64, rows: u64) -> Manifest {
        let options = Settings {
            layout: "hive".into(),
            format: "parquet".into(),
            compression: "zstd:3".into(),
            on_bad_row: "fail".into(),
            part_rows: None,
        };
        let part = PartFacts {
            file_number: 7,
            source: file("jobs/part-7.csv.gz"),
            of: None,
            left_out: None,
            rows_in: 10,
            rows_out: 9,
            rows_rejected,
            sentinels_mapped: 0,
            time_min: Some(0),
            time_max: None,
            output: file("jobs/part-7.parquet"),
            rejects: None,
        };
        let tables = vec![TableFacts {
            name: "jobs".into(),
            schema_fingerprint: "ff".into(),
            rows,
            parts: vec![part],
        }];
        Manifest {
            origin: Origin::new("some-trace", options),
            tables,
        }
    }

    #[test]
    fn the_counting_law_holds_per_part_and_in_total() {
        assert!(manifest(1, 9).check_counts().is_ok());
        assert!(
            manifest(0, 9)
                .check_counts()
                .unwrap_err()
                .to_string()
                .contains("10 rows in")
        );
        assert!(
            manifest(1, 8)
                .check_counts()
                .unwrap_err()
                .to_string()
                .contains("9 in its parts")
        );
    }

    #[test]
    fn a_whole_table_is_held_against_its_published_count() {
        let mut table = tracelake_schema::TRACES[0].tables[0];
        let mut facts = manifest(1, 9).tables.remove(0);
        let mut part = facts.parts.remove(0);
        table.parts = 2;
        table.published = Some(Published {
            rows: 19,
            confidence: Confidence::Reported,
            source: "somebody",
        });
        assert_eq!(facts.more_than_published(&table), None);
        for (number, more) in [(1, None), (1, None), (0, Some(11)), (2, None)] {
            part.file_number = number;
            facts.parts.push(part.clone());
            assert_eq!(facts.more_than_published(&table), more, "{number}");
        }
        facts.parts.drain(2..);
        facts.parts[0].file_number = 0;
        assert_eq!(facts.more_than_published(&table), Some(1));
        facts.parts[0].rows_in = 9;
        assert_eq!(facts.more_than_published(&table), Some(0));
        facts.parts[0].rows_in = 3;
        assert_eq!(facts.more_than_published(&table), Some(-6));
        facts.parts[0].rows_in = u64::MAX;
        assert_eq!(facts.more_than_published(&table), Some(i64::MAX));
        table.published = None;
        assert!(facts.is_whole(&table));
        assert_eq!(facts.more_than_published(&table), None);
    }

    #[test]
    fn reads_what_it_writes() {
        let manifest = manifest(1, 9);
        let json = manifest.to_json().unwrap();
        assert_eq!(serde_json::from_slice::<Manifest>(&json).unwrap(), manifest);
    }

    #[test]
    fn names_what_differs() {
        let then = manifest(1, 9).origin;
        let mut now = then.clone();
        now.options.compression = "snappy".into();
        assert_eq!(
            then.difference(&now).unwrap(),
            "compression was zstd:3 and is now snappy"
        );
        assert_eq!(then.difference(&then), None);
    }
}
