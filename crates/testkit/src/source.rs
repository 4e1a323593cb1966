//! Sources: rows, parts and directories that a test converts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;

use bzip2::write::BzEncoder;
use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use tempfile::TempDir;
use tracelake_schema::{Files, Header, Syntax, TRACES, Table, Trace};

use crate::program::{Run, convert, run};
use crate::rows;

/// The trace that most tests use: the first in the catalog that is published only in parts.
pub fn trace() -> &'static Arc<Trace> {
    TRACES.iter().find(|trace| trace.in_parts()).unwrap()
}

/// Whether a simulation makes all tables of a trace. Other rows are drawn on their own.
pub fn is_simulated(trace: &Trace) -> bool {
    let mut tables = trace.tables.iter();
    tables.all(|table| !["", "rows"].contains(&&*table.synthetic))
}

/// One of its tables.
pub fn table(name: &str) -> &'static Arc<Table> {
    trace().table(name).unwrap()
}

/// The tables of all traces that are published in one file of CSV with their name and no header.
pub fn plain_whole_tables() -> impl Iterator<Item = &'static Arc<Table>> {
    let tables = TRACES.iter().flat_map(|trace| &trace.tables);
    tables.filter(|table| {
        let is_plain = table.syntax == Syntax::Csv && table.csv.header == Header::None;
        table.files == Files::Whole && is_plain && table.naming.patterns.is_empty()
    })
}

/// A good row of a table. Tests make bad rows from it.
pub fn good_row(table: &str) -> &'static str {
    match table {
        "job_events" => "600,,3418309,0,usr=,2,name=,logical=",
        "task_events" => "600,2,3418309,1,4155527081,1,usr=,3,9,0.125,0.07446,0.0004244,0",
        "machine_events" => "0,5,0,plat=,0.5,0.2493",
        "machine_attributes" => "0,5,attr=,3,0",
        "task_constraints" => "600,3418309,0,1,attr=,value=",
        "task_usage" => {
            "600,900,3418309,0,4155527081,0.001562,0.06787,0.07568,0.001156,0.001503,0.06787,\
             2.861e-06,0.0001869,0.03967,0.0003567,2.445,0.007243,0,1,0.0009"
        }
        other => panic!("no row of {other}"),
    }
}

/// The row of [`good_row`], as a line.
pub fn good_line(table: &str) -> String {
    format!("{}\n", good_row(table))
}

/// The row of [`good_row`] with the field of one column replaced.
pub fn row_with(table: &Table, column: &str, value: &[u8]) -> Vec<u8> {
    let (index, _) = table.column(column).unwrap();
    let position = table
        .fields
        .iter()
        .position(|&field| field == index)
        .unwrap();
    let mut fields: Vec<&[u8]> = good_row(&table.name)
        .as_bytes()
        .split(|&b| b == b',')
        .collect();
    fields[position] = value;
    fields.join(&b","[..])
}

/// The byte at which the column's field starts in that row, from 1.
pub fn byte_of(table: &Table, column: &str) -> usize {
    let (index, _) = table.column(column).unwrap();
    let position = table
        .fields
        .iter()
        .position(|&field| field == index)
        .unwrap();
    let before = good_row(&table.name).split(',').take(position);
    before.map(|field| field.len() + 1).sum::<usize>() + 1
}

/// One gzip member.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The ending of files of a format, and what compresses a text so.
pub type Writer = (&'static str, fn(&[u8]) -> Vec<u8>);

/// A writer of each format.
pub const WRITERS: [Writer; 4] = [(".gz", gzip), (".zst", zstd), (".xz", xz), (".bz2", bzip2)];

/// One zstd frame, with a checksum.
pub fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// One zstd frame of a short text, with a window of this power of two.
pub fn zstd_with_window(log: u32, text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(log).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// One xz stream, with a CRC-64.
pub fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// One bzip2 stream.
pub fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A temporary directory with a source and room for a lake; dropping it removes the directory.
pub struct Scratch {
    directory: TempDir,
}

impl Scratch {
    /// An empty source, and no lake.
    #[allow(
        clippy::new_without_default,
        reason = "a default should not write to the disk"
    )]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("src")).unwrap();
        Self { directory }
    }

    /// A source of every table in `parts` parts where the trace has several.
    pub fn with_sample(parts: u32, rows: usize) -> Self {
        let scratch = Self::new();
        for table in &trace().tables {
            let total = table.parts.min(parts);
            for number in 0..total {
                let text = rows::sample(table, number, rows);
                scratch.part(&table.name, number, total, text.as_bytes());
            }
        }
        scratch
    }

    /// The temporary directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory of the source.
    pub fn src(&self) -> PathBuf {
        self.path().join("src")
    }

    /// The directory of the lake, which doesn't exist yet.
    pub fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    /// Writes a file of the source.
    pub fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.src().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a part of the source, gzipped.
    pub fn part(&self, table: &str, number: u32, total: u32, text: &[u8]) {
        self.file(&part_path(table, number, total), &gzip(text));
    }

    /// Writes the only part of a table.
    pub fn only(&self, table: &str, text: &[u8]) {
        self.part(table, 0, 1, text);
    }

    /// Writes the only part of a table, with a good row.
    pub fn good(&self, table: &str) {
        self.only(table, good_line(table).as_bytes());
    }

    /// Runs `tracelake convert SRC OUT` with these arguments.
    pub fn convert(&self, arguments: &[&str]) -> Run {
        convert(&self.src(), &self.out(), arguments)
    }

    /// Verifies the lake against the source.
    pub fn verify(&self) -> Run {
        run(["verify".into(), self.out(), "--source".into(), self.src()])
    }

    /// Like [`Self::convert`], and expects success.
    #[track_caller]
    pub fn convert_well(&self, arguments: &[&str]) {
        self.convert(arguments).well();
    }
}

/// The path of a part in a source.
pub fn part_path(table: &str, number: u32, total: u32) -> String {
    format!("{table}/part-{number:05}-of-{total:05}.csv.gz")
}

/// The path of an output in a lake of the default layout.
pub fn output_path(table: &str, number: u32, total: u32) -> String {
    format!("{table}/file_number={number}/part-{number:05}-of-{total:05}.parquet")
}

/// Published rows in ../shared/data, for tests that are marked `published_data`.
pub fn shared(path: &str) -> PathBuf {
    let found = outside("data").join(path);
    assert!(found.exists(), "../shared/data has no {path}");
    found
}

/// Test suites of other projects in ../shared/suites, for tests that are marked `suites`.
pub fn suites() -> PathBuf {
    outside("suites")
}

/// A folder of ../shared, which is next to the workspace and not a part of it.
pub fn outside(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(folder)
}

/// The small synthetic trace that is part of the project.
pub fn committed_sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample")
}

/// A source with the first published rows of three tables.
pub fn heads() -> Scratch {
    let heads = shared("google-2011-heads");
    let scratch = Scratch::new();
    for name in ["task_events", "task_usage", "machine_attributes"] {
        let text = fs::read(heads.join(format!("{name}.csv"))).unwrap();
        scratch.part(name, 0, table(name).parts, &text);
    }
    scratch
}

/// A finished lake of two tables, made once. Tests must not change it.
pub fn finished_lake() -> &'static Path {
    static LAKE: OnceLock<(Scratch, PathBuf)> = OnceLock::new();
    let (_, out) = LAKE.get_or_init(|| {
        let scratch = Scratch::new();
        for table in ["job_events", "machine_events"] {
            scratch.only(table, format!("{}\n", good_row(table)).as_bytes());
        }
        scratch.convert_well(&[]);
        let out = scratch.out();
        (scratch, out)
    });
    out
}
