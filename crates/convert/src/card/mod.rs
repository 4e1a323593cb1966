//! The files that make a lake publishable: checksums, dataset card, Croissant and data package, as
//! bytes. They follow from the manifest and the catalog alone, so they can be written again.

mod croissant;
mod data_package;
mod readme;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tracelake_schema::{Files, Table, Trace};

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{FileFacts, Manifest, PartFacts, REJECTS, TableFacts};
use crate::output::Format;
use crate::source::hex;
use crate::store::{CARD, CROISSANT, DATA_PACKAGE, RELEASE, sums_line};

/// The files of a release.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// The text of `SHA256SUMS`.
    pub sums: String,
    /// The names and bytes of the other files, in the order of [`RELEASE`].
    pub files: [(&'static str, Vec<u8>); RELEASE.len()],
}

/// Makes the files of a release; `manifest_file` is the manifest on the disk.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when the manifest names a table or a path that this program would not.
pub fn release(trace: &Trace, manifest: &Manifest, manifest_file: &FileFacts) -> Result<Release> {
    let lake = Facts::new(trace, manifest)?;
    let files = [
        (CARD, readme::readme(&lake).into_bytes()),
        (CROISSANT, pretty(&croissant::croissant(&lake))),
        (DATA_PACKAGE, pretty(&data_package::data_package(&lake))),
    ];
    let written = files
        .iter()
        .map(|(name, bytes)| (*name, hex(&Sha256::digest(bytes))));
    let sums = sums(manifest, manifest_file, written);
    Ok(Release { sums, files })
}

/// The text of `SHA256SUMS`, sorted by path: outputs, rejects, manifest, and `written`, which are
/// the other files of the release with their digests.
pub fn sums<'a>(
    manifest: &'a Manifest,
    manifest_file: &'a FileFacts,
    written: impl Iterator<Item = (&'a str, String)>,
) -> String {
    let files = manifest.files().chain([manifest_file]);
    let files = files.map(|file| (&file.path[..], file.sha256.clone()));
    let mut files: Vec<(&str, String)> = files.chain(written).collect();
    files.sort();
    let lines = files
        .iter()
        .map(|(path, sha256)| sums_line(sha256, path) + "\n");
    lines.collect()
}

/// What keeps a lake from being the whole trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Gaps {
    /// The tables of which parts are missing, in the order of the trace.
    pub tables: Vec<TableGaps>,
    /// Rows that were rejected.
    pub rejected: u64,
}

/// What is missing of one table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableGaps {
    /// Its name.
    pub name: &'static str,
    /// How many parts it has when it is whole: as many as were published, or as the names of the
    /// files say, if that is more.
    pub total: u32,
    /// The file numbers below `total` that are not there: the first and the last of each run.
    pub missing: Vec<(u32, u32)>,
}

impl TableGaps {
    /// How many parts are missing.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.missing
            .iter()
            .map(|(first, last)| last - first + 1)
            .sum()
    }

    /// The file numbers that are missing, such as `0, 3-7`.
    #[must_use]
    pub fn numbers(&self) -> String {
        let runs = self.missing.iter().map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        });
        runs.collect::<Vec<_>>().join(", ")
    }
}

/// Finds what keeps a lake from being the whole trace.
#[must_use]
pub fn gaps(trace: &Trace, manifest: &Manifest) -> Gaps {
    let of_table = |table: &Table| {
        let parts = manifest.tables.iter().filter(|one| one.name == table.name);
        let parts: Vec<&PartFacts> = parts.flat_map(|one| &one.parts).collect();
        let totals = parts.iter().filter_map(|part| total(&part.output.path));
        let cut = parts.iter().filter_map(|part| part.of);
        // Of a file that was not read to its end at least one part is missing.
        let open = parts
            .iter()
            .find(|part| table.files == Files::Whole && part.of.is_none());
        let open = open.map(|_| {
            parts
                .iter()
                .map(|part| part.file_number + 2)
                .max()
                .unwrap_or(0)
        });
        let totals = totals.chain(cut).chain(open);
        let total = totals.chain([table.parts]).max().unwrap_or(0);
        let mut numbers: Vec<u32> = parts.iter().map(|part| part.file_number).collect();
        numbers.sort_unstable();
        let mut missing = Vec::new();
        let mut next = 0;
        for number in numbers.into_iter().chain([total]) {
            if number > next {
                missing.push((next, number - 1));
            }
            next = next.max(number.saturating_add(1));
        }
        let name = table.name;
        (!missing.is_empty()).then_some(TableGaps {
            name,
            total,
            missing,
        })
    };
    let rejected = manifest.parts().map(|(_, part)| part.rows_rejected);
    Gaps {
        tables: trace.tables.iter().filter_map(of_table).collect(),
        rejected: rejected.fold(0, u64::saturating_add),
    }
}

/// The total in a name such as `part-00017-of-00500.parquet`, where there is one.
fn total(path: &str) -> Option<u32> {
    let (_, end) = path.rsplit_once("-of-")?;
    end.split_once('.')?.0.parse().ok()
}

/// A lake of a known trace in which everything lies where this program puts it.
struct Facts<'a> {
    trace: &'a Trace,
    manifest: &'a Manifest,
    format: Format,
    tables: Vec<(&'a Table, &'a TableFacts)>,
    gaps: Gaps,
}

impl<'a> Facts<'a> {
    fn new(trace: &'a Trace, manifest: &'a Manifest) -> Result<Self> {
        let format = Format::of_lake(manifest)?;
        let suffix = format!(".{format}");
        let mut tables = Vec::new();
        for facts in &manifest.tables {
            let table = trace
                .table(&facts.name)
                .ok_or_else(|| misplaced(&facts.name))?;
            for part in &facts.parts {
                let (output, rejects) = (&part.output.path, part.rejects.as_ref());
                let folder = match manifest.origin.options.layout.as_str() {
                    "hive" => format!("{}/file_number={}", table.name, part.file_number),
                    _ => table.name.to_owned(),
                };
                check_place(output, &folder, &suffix)?;
                if let Some(rejects) = rejects {
                    let folder = format!("{REJECTS}/{}", table.name);
                    check_place(&rejects.path, &folder, ".ndjson")?;
                }
            }
            tables.push((table, facts));
        }
        Ok(Self {
            trace,
            manifest,
            format,
            tables,
            gaps: gaps(trace, manifest),
        })
    }

    /// A pattern of all outputs of a table.
    fn pattern(&self, table: &Table) -> String {
        match self.manifest.origin.options.layout.as_str() {
            "hive" => format!("{}/*/*.{}", table.name, self.format),
            _ => format!("{}/*.{}", table.name, self.format),
        }
    }

    /// The MIME type of the outputs, as readers of Croissant know it.
    fn mime_type(&self) -> &'static str {
        match self.format {
            Format::Parquet => "application/x-parquet",
            Format::Arrow => "application/vnd.apache.arrow.file",
        }
    }

    fn rows(&self) -> u64 {
        let rows = self.tables.iter().map(|(_, facts)| facts.rows);
        rows.fold(0, u64::saturating_add)
    }

    /// One paragraph for catalogs.
    fn description(&self) -> String {
        let Gaps { tables, rejected } = &self.gaps;
        let incomplete = match (tables.is_empty(), rejected) {
            (true, 0) => "",
            (true, _) => " Some rows are missing.",
            (false, _) => " This is not the whole trace.",
        };
        format!(
            "{}, converted to {} by {} {}.{incomplete}",
            self.trace.title,
            self.format.title(),
            self.manifest.origin.tool,
            self.manifest.origin.version
        )
    }
}

/// Refuses a path that is not a plain name in `folder`: the card would not find it, and a line of
/// checksums could be made to say something else.
fn check_place(path: &str, folder: &str, suffix: &str) -> Result<()> {
    let name = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match name {
        Some(name) if name.ends_with(suffix) && name.bytes().all(plain) => Ok(()),
        _ => Err(misplaced(path)),
    }
}

fn misplaced(path: &str) -> Error {
    let path = crate::error::escape(path.as_bytes(), 80);
    let reason = format!("the manifest names '{path}', which is not where a lake has its files");
    Error::new(ErrorKind::Corrupt, reason).hint("run convert again to make it anew")
}

/// The address of a licence that SPDX knows; `None` for a licence in other words.
fn licence_page(licence: &str) -> Option<String> {
    spdx(licence).then(|| format!("https://spdx.org/licenses/{licence}.html"))
}

/// Whether a licence is one name of SPDX's list.
fn spdx(licence: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.+".contains(&byte);
    licence.bytes().all(plain) && !licence.starts_with("LicenseRef-")
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Origin, Settings};
    use tracelake_schema::TRACES;

    /// The first trace of the catalog that is published in parts alone.
    fn trace() -> &'static Trace {
        TRACES.iter().find(|trace| trace.in_parts()).unwrap()
    }

    fn file(path: &str) -> FileFacts {
        FileFacts {
            path: path.to_owned(),
            bytes: 1,
            sha256: "00".repeat(32),
        }
    }

    /// A lake of the first table of the first trace with these outputs.
    fn manifest(layout: &str, outputs: &[(u32, &str)]) -> Manifest {
        let text = String::from;
        let options = Settings {
            layout: text(layout),
            format: text("parquet"),
            compression: text("zstd:3"),
            on_bad_row: text("fail"),
            part_rows: None,
        };
        let parts = outputs.iter().map(|(number, name)| PartFacts {
            file_number: *number,
            of: None,
            left_out: None,
            source: file("in"),
            rows_in: 3,
            rows_out: 2,
            rows_rejected: 1,
            sentinels_mapped: 0,
            time_min: None,
            time_max: None,
            output: file(&format!("{}/{name}", trace().tables[0].name)),
            rejects: None,
        });
        Manifest {
            origin: Origin::new(trace().name, options),
            tables: vec![TableFacts {
                name: text(trace().tables[0].name),
                schema_fingerprint: String::new(),
                rows: 2 * outputs.len() as u64,
                parts: parts.collect(),
            }],
        }
    }

    #[test]
    fn gaps_are_counted_up_to_the_larger_total() {
        let trace = *trace();
        let published = trace.tables[0].parts;
        let parts = [
            (1, "part-00001-of-00002.parquet"),
            (4, "part-00004.parquet"),
        ];
        let found = gaps(&trace, &manifest("flat", &parts));
        assert_eq!(found.rejected, 2);
        assert_eq!(found.tables.len(), trace.tables.len());
        assert_eq!(found.tables[0].total, published);
        assert_eq!(found.tables[0].count(), published - 2);
        let last = published - 1;
        assert_eq!(found.tables[0].numbers(), format!("0, 2-3, 5-{last}"));
        let parts = [(0, "part-00000-of-99999.parquet")];
        let found = gaps(&trace, &manifest("flat", &parts));
        assert_eq!(found.tables[0].missing, [(1, 99_998)]);
        let parts: Vec<(u32, &str)> = (0..published).map(|number| (number, "x")).collect();
        let found = gaps(&trace, &manifest("flat", &parts));
        assert_eq!(found.tables.len(), trace.tables.len() - 1);
    }

    #[test]
    fn a_whole_trace_is_called_whole() {
        let trace = *trace();
        let mut manifest = manifest("flat", &[(0, "part-00000.parquet")]);
        let one = manifest.tables.remove(0);
        manifest.tables = trace
            .tables
            .iter()
            .map(|table| {
                let mut facts = one.clone();
                facts.name = table.name.to_owned();
                facts.parts = (0..table.parts)
                    .map(|number| {
                        let mut part = one.parts[0].clone();
                        part.file_number = number;
                        part.output.path = format!("{}/part-{number:05}.parquet", table.name);
                        part
                    })
                    .collect();
                facts
            })
            .collect();
        assert_eq!(gaps(&trace, &manifest).tables, []);
        let lake = Facts::new(&trace, &manifest).unwrap();
        let card = readme::readme(&lake);
        assert!(card.contains("Every part of every table that was published is here."));
        assert!(!card.contains("not the whole trace"));
    }

    #[test]
    fn a_file_in_another_place_is_refused() {
        let made = |layout, name| {
            let manifest = manifest(layout, &[(0, name)]);
            release(trace(), &manifest, &file("_tracelake/manifest.json"))
        };
        assert!(made("flat", "part-00000.parquet").is_ok());
        assert!(made("hive", "file_number=0/part-00000.parquet").is_ok());
        for (layout, name) in [
            ("hive", "part-00000.parquet"),
            ("hive", "file_number=1/part-00000.parquet"),
            ("flat", "file_number=0/part-00000.parquet"),
            ("flat", "part-00000.csv"),
            ("flat", "part-\n.parquet"),
            ("flat", "../part-00000.parquet"),
        ] {
            let error = made(layout, name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}");
        }
    }

    #[test]
    fn checksums_are_sorted_and_name_every_file_once() {
        let parts = [(1, "part-00001.parquet"), (0, "part-00000.parquet")];
        let manifest = manifest("flat", &parts);
        let home = file("_tracelake/manifest.json");
        let release = release(trace(), &manifest, &home).unwrap();
        let paths = release.sums.lines().map(|line| line.split_at(66).1);
        let paths: Vec<&str> = paths.collect();
        assert!(
            paths.is_sorted() && paths.len() == 2 + 1 + RELEASE.len(),
            "{paths:?}"
        );
        assert!(RELEASE.iter().all(|name| paths.contains(name)));
    }

    #[test]
    fn licences_of_spdx_have_a_page() {
        let page = licence_page("CC-BY-4.0").unwrap();
        assert_eq!(page, "https://spdx.org/licenses/CC-BY-4.0.html");
        assert_eq!(licence_page("for research only"), None);
        assert_eq!(licence_page("LicenseRef-own"), None);
    }
}
