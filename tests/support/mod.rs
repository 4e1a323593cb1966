//! Helpers of the end-to-end tests: make a source, run the program, read a lake.
//!
//! Published data is never copied into the project. A test that needs it, or another program, says
//! so in an attribute (`cfg_attr(not(published_data), ignore = "…")`); build.rs looks for both.
#![allow(
    dead_code,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test crate uses a part of this, and a test stops at the first surprise"
)]

pub(crate) mod rows;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow_ipc::reader::FileReader;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tracelake_schema::{TRACES, Table, Trace};

/// The trace that most tests use: the first in the catalog that is published only in parts.
pub(crate) fn trace() -> &'static Trace {
    TRACES.iter().find(|trace| trace.in_parts()).unwrap()
}

/// One of its tables.
pub(crate) fn table(name: &str) -> &'static Table {
    trace().table(name).unwrap()
}

/// A good row of a table. Tests make bad rows from it.
pub(crate) fn good_row(table: &str) -> &'static str {
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

/// That row with the field of one column replaced.
pub(crate) fn row_with(table: &Table, column: &str, value: &[u8]) -> Vec<u8> {
    let (index, _) = table.column(column).unwrap();
    let position = table
        .fields
        .iter()
        .position(|&field| field == index)
        .unwrap();
    let mut fields: Vec<&[u8]> = good_row(table.name)
        .as_bytes()
        .split(|&b| b == b',')
        .collect();
    fields[position] = value;
    fields.join(&b","[..])
}

/// The byte at which the column's field starts in that row, from 1.
pub(crate) fn byte_of(table: &Table, column: &str) -> usize {
    let (index, _) = table.column(column).unwrap();
    let position = table
        .fields
        .iter()
        .position(|&field| field == index)
        .unwrap();
    let before = good_row(table.name).split(',').take(position);
    before.map(|field| field.len() + 1).sum::<usize>() + 1
}

/// One gzip member.
pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A temporary directory with a source and room for a lake; dropping it removes the directory.
pub(crate) struct Scratch {
    directory: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("src")).unwrap();
        Self { directory }
    }

    /// A source of every table in `parts` parts where the trace has several.
    pub(crate) fn with_sample(parts: u32, rows: usize) -> Self {
        let scratch = Self::new();
        for table in trace().tables {
            let total = table.parts.min(parts);
            for number in 0..total {
                let text = rows::sample(table, number, rows);
                scratch.part(table.name, number, total, text.as_bytes());
            }
        }
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn src(&self) -> PathBuf {
        self.path().join("src")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    /// Writes a file of the source.
    pub(crate) fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.src().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a part of the source, gzipped.
    pub(crate) fn part(&self, table: &str, number: u32, total: u32, text: &[u8]) {
        self.file(&part_path(table, number, total), &gzip(text));
    }

    /// Writes the only part of a table.
    pub(crate) fn only(&self, table: &str, text: &[u8]) {
        self.part(table, 0, 1, text);
    }

    /// Runs `tracelake convert SRC OUT` with these arguments.
    pub(crate) fn convert(&self, arguments: &[&str]) -> Run {
        convert(&self.src(), &self.out(), arguments)
    }

    /// Like [`Self::convert`], and expects success.
    #[track_caller]
    pub(crate) fn convert_well(&self, arguments: &[&str]) {
        self.convert(arguments).well();
    }
}

/// The path of a part in a source.
pub(crate) fn part_path(table: &str, number: u32, total: u32) -> String {
    format!("{table}/part-{number:05}-of-{total:05}.csv.gz")
}

/// The path of an output in a lake of the default layout.
pub(crate) fn output_path(table: &str, number: u32, total: u32) -> String {
    format!("{table}/file_number={number}/part-{number:05}-of-{total:05}.parquet")
}

/// The outcome of a run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Expects success, and nothing on stdout, which is for data.
    #[track_caller]
    pub(crate) fn well(&self) {
        assert_eq!(self.code, 0, "{}", self.stderr);
        assert_eq!(self.stdout, "");
    }

    /// The error message: the only line that isn't a warning.
    #[track_caller]
    pub(crate) fn message(&self) -> &str {
        let lines: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| !line.starts_with("warning: "))
            .collect();
        let [line] = lines[..] else {
            panic!("expected one line:\n{}", self.stderr);
        };
        line.strip_prefix("tracelake: error: ")
            .unwrap_or_else(|| panic!("{line}"))
    }
}

/// The program, ready for arguments. The environment of the tests doesn't change what it prints, nor
/// whether it obeys signals: tests that a shell runs in the background inherit that SIGINT is ignored.
pub(crate) fn program() -> Command {
    let program = env!("CARGO_BIN_EXE_tracelake");
    let mut command = if is_sigint_ignored() {
        let mut env = Command::new("env");
        env.args(["--default-signal=INT", program]);
        env
    } else {
        Command::new(program)
    };
    command.env_remove("RUST_LOG");
    command
}

/// Linux shows it in /proc; elsewhere it counts as not running.
fn is_sigint_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, and SIGINT is 2.
    mask.is_some_and(|mask| mask & 0b10 != 0)
}

/// Runs the program.
pub(crate) fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    ended(program().args(arguments).output().unwrap())
}

/// The outcome of a finished process.
pub(crate) fn ended(output: Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `tracelake convert`.
pub(crate) fn convert(source: &Path, out: &Path, arguments: &[&str]) -> Run {
    let fixed = [OsStr::new("convert"), source.as_os_str(), out.as_os_str()];
    run(fixed.into_iter().chain(arguments.iter().map(OsStr::new)))
}

/// Everything below a directory by path, with `None` for directories; `None` if the directory doesn't
/// exist.
pub(crate) fn tree(root: &Path) -> Option<BTreeMap<String, Option<Vec<u8>>>> {
    if !root.exists() {
        return None;
    }
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            found.insert(name, None);
        } else {
            found.insert(name, Some(fs::read(&path).unwrap()));
        }
    }
    Some(found)
}

/// Expects two trees to be equal, and names the first file that differs without printing its bytes.
#[track_caller]
pub(crate) fn assert_same_tree(
    found: &Option<BTreeMap<String, Option<Vec<u8>>>>,
    expected: &Option<BTreeMap<String, Option<Vec<u8>>>>,
    what: &str,
) {
    let names = |tree: &Option<BTreeMap<String, _>>| {
        tree.as_ref()
            .map(|tree| tree.keys().cloned().collect::<Vec<_>>())
    };
    assert_eq!(names(found), names(expected), "{what}");
    if let (Some(found), Some(expected)) = (found, expected) {
        for (name, bytes) in found {
            assert!(*bytes == expected[name], "{what}: {name} differs");
        }
    }
}

/// Copies a directory and everything below it.
pub(crate) fn copy(from: &Path, to: &Path) {
    for (name, bytes) in tree(from).unwrap() {
        let path = to.join(&name);
        match bytes {
            None => fs::create_dir_all(path).unwrap(),
            Some(bytes) => fs::write(path, bytes).unwrap(),
        }
    }
}

/// A finished lake of two tables, made once. Tests must not change it.
pub(crate) fn finished_lake() -> &'static Path {
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

/// One output of a lake, in the format that its extension names.
pub(crate) fn read_output(path: &Path) -> RecordBatch {
    if path
        .extension()
        .is_some_and(|extension| extension == "arrow")
    {
        let schema = arrow_reader(path).schema();
        return concat_batches(&schema, &read_arrow(path)).unwrap();
    }
    read_parquet(fs::File::open(path).unwrap())
}

/// The record batches of an Arrow file.
pub(crate) fn read_arrow(path: &Path) -> Vec<RecordBatch> {
    arrow_reader(path).map(|batch| batch.unwrap()).collect()
}

fn arrow_reader(path: &Path) -> FileReader<fs::File> {
    FileReader::try_new(fs::File::open(path).unwrap(), None).unwrap()
}

/// All rows of a Parquet file.
pub(crate) fn read_parquet(file: impl ChunkReader + 'static) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader
        .build()
        .unwrap()
        .map(|batch| batch.unwrap())
        .collect();
    concat_batches(&schema, &batches).unwrap()
}

/// How many rows each row group of an output has.
pub(crate) fn row_groups(path: &Path) -> Vec<u64> {
    let file = fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let groups = reader.metadata().row_groups().iter();
    groups
        .map(|group| u64::try_from(group.num_rows()).unwrap())
        .collect()
}

/// The manifest of a lake, read without any code of the project.
pub(crate) fn manifest(out: &Path) -> serde_json::Value {
    let json = fs::read(out.join("_tracelake/manifest.json")).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Writes a changed manifest of a lake with the digest that a manifest ends with, so that a test can
/// lie in it.
pub(crate) fn write_manifest(out: &Path, manifest: &serde_json::Value) {
    let json = serde_json::to_string_pretty(manifest).unwrap();
    fs::write(out.join("_tracelake/manifest.json"), seal(&json)).unwrap();
}

/// A manifest, changed as a text, with its digest made right: it covers every line but the last two.
pub(crate) fn seal(json: &str) -> String {
    let mut lines: Vec<&str> = json.trim_end().lines().collect();
    assert_eq!(lines.pop(), Some("}"));
    if lines.last().unwrap().starts_with("  \"sha256\": ") {
        lines.pop();
    }
    let body = lines.join("\n");
    let body = body.trim_end_matches(',').to_owned() + ",\n";
    format!("{body}  \"sha256\": \"{}\"\n}}\n", sha256(body.as_bytes()))
}

/// The SHA-256 of bytes as lower-case hex digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Published rows in ../shared/data, for tests that are marked `published_data`.
pub(crate) fn shared(path: &str) -> PathBuf {
    let found = outside("data").join(path);
    assert!(found.exists(), "../shared/data has no {path}");
    found
}

/// Test suites of other projects in ../shared/suites, for tests that are marked `suites`.
pub(crate) fn suites() -> PathBuf {
    outside("suites")
}

/// A folder of ../shared, which is next to the workspace and not a part of it.
pub(crate) fn outside(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(folder)
}

/// The small synthetic trace that is part of the project.
pub(crate) fn committed_sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sample")
}

/// A source with the first published rows of three tables.
pub(crate) fn heads() -> Scratch {
    let heads = shared("google-2011-heads");
    let scratch = Scratch::new();
    for name in ["task_events", "task_usage", "machine_attributes"] {
        let text = fs::read(heads.join(format!("{name}.csv"))).unwrap();
        scratch.part(name, 0, table(name).parts, &text);
    }
    scratch
}

/// Counts the cases of a test, so that one failure doesn't hide the others.
pub(crate) struct Score {
    name: &'static str,
    tried: u64,
    wrong: Vec<String>,
}

impl Score {
    pub(crate) fn new(name: &'static str) -> Self {
        let (tried, wrong) = (0, Vec::new());
        Self { name, tried, wrong }
    }

    /// Counts one case.
    pub(crate) fn count(&mut self, what: &str, outcome: Result<(), String>) {
        self.tried += 1;
        if let Err(error) = outcome {
            self.wrong.push(format!("{what}: {error}"));
        }
    }

    /// Prints the counts, past the test harness's capture, and fails if any case was wrong.
    #[track_caller]
    pub(crate) fn close(self) {
        let (tried, wrong) = (self.tried, self.wrong.len() as u64);
        let right = tried - wrong;
        let line = format!(
            "{}: tried {tried}, right {right}, wrong = {wrong}\n",
            self.name
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        assert!(self.wrong.is_empty(), "{line}{}", self.wrong.join("\n"));
        assert!(tried > 0, "{}: nothing was tried", self.name);
    }
}

/// The outcome of a case: right if it `holds`, else what `says` returns.
pub(crate) fn ensure(holds: bool, says: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(says()) }
}

/// A line of a journal, with its digest.
pub(crate) fn journal_line(content: &serde_json::Value) -> String {
    let line = tracelake_core::seal::line(content.to_string().into());
    String::from_utf8(line).unwrap()
}
