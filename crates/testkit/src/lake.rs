//! Lakes, read by code of others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;
use sha2::{Digest, Sha256};

/// Everything below a directory by path, with `None` for directories; `None` if the directory doesn't
/// exist.
pub fn tree(root: &Path) -> Option<BTreeMap<String, Option<Vec<u8>>>> {
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
pub fn assert_same_tree(
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

/// One output of a lake, in the format that its extension names.
pub fn read_output(path: &Path) -> RecordBatch {
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
pub fn read_arrow(path: &Path) -> Vec<RecordBatch> {
    arrow_reader(path).map(|batch| batch.unwrap()).collect()
}

fn arrow_reader(path: &Path) -> FileReader<fs::File> {
    FileReader::try_new(fs::File::open(path).unwrap(), None).unwrap()
}

/// All rows of a Parquet file.
pub fn read_parquet(file: impl ChunkReader + 'static) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader
        .build()
        .unwrap()
        .map(|batch| batch.unwrap())
        .collect();
    concat_batches(&schema, &batches).unwrap()
}

/// A value as text: `NULL`, numbers as Rust prints them, date-times with a zone as microseconds, lists in brackets.
pub fn value_text(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::Timestamp(_, zone) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            match zone {
                None => format!("{:?}", times.value_as_datetime(row).unwrap()),
                Some(zone) => format!("{} us in {zone}", times.value(row)),
            }
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let texts = (0..items.len()).map(|item| value_text(&items, item));
            format!("[{}]", texts.collect::<Vec<_>>().join(", "))
        }
        DataType::Struct(_) => {
            let values = array.as_struct();
            let fields = values.column_names().into_iter().zip(values.columns());
            let texts = fields.map(|(name, column)| format!("{name}: {}", value_text(column, row)));
            format!("{{{}}}", texts.collect::<Vec<_>>().join(", "))
        }
        other => panic!("{other} is no type of a lake"),
    }
}

/// How many rows each row group of an output has.
pub fn row_groups(path: &Path) -> Vec<u64> {
    let file = fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let groups = reader.metadata().row_groups().iter();
    groups
        .map(|group| u64::try_from(group.num_rows()).unwrap())
        .collect()
}

/// The manifest of a lake, read without any code of the project.
pub fn manifest(out: &Path) -> serde_json::Value {
    let json = fs::read(out.join("_tracelake/manifest.json")).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Writes a changed manifest of a lake with the digest that a manifest ends with, so that a test can
/// lie in it.
pub fn write_manifest(out: &Path, manifest: &serde_json::Value) {
    let json = serde_json::to_string_pretty(manifest).unwrap();
    fs::write(out.join("_tracelake/manifest.json"), seal(&json)).unwrap();
}

/// A manifest, changed as a text, with its digest made right: it covers every line but the last two.
pub fn seal(json: &str) -> String {
    let mut lines: Vec<&str> = json.trim_end().lines().collect();
    assert_eq!(lines.pop(), Some("}"));
    if lines.last().unwrap().starts_with("  \"sha256\": ") {
        lines.pop();
    }
    let body = lines.join("\n").trim_end_matches(',').to_owned() + ",\n";
    format!("{body}  \"sha256\": \"{}\"\n}}\n", sha256(body.as_bytes()))
}

/// The SHA-256 of bytes as lower-case hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the facts of a part into a lake, as they are before the part is committed; gives their path.
pub fn write_facts(out: &Path, table: &str, part: &serde_json::Value) -> PathBuf {
    let lake = sha256(&fs::read(out.join("_tracelake/lake.json")).unwrap());
    let cell = part["cell"]
        .as_str()
        .map_or_else(String::new, |cell| format!("{cell}-"));
    let path = out.join(format!(
        "_tracelake/facts/{table}/{cell}{:05}.json",
        part["file_number"].as_u64().unwrap()
    ));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let facts = serde_json::json!({ "lake": lake, "table": table, "part": part });
    fs::write(&path, tracelake_core::seal::line(facts.to_string().into())).unwrap();
    path
}

/// Makes of a finished lake what it was before its manifest was written; gives the paths of the facts.
pub fn unfinish(out: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for table in manifest(out)["tables"].as_array().unwrap() {
        for part in table["parts"].as_array().unwrap() {
            paths.push(write_facts(out, table["name"].as_str().unwrap(), part));
        }
    }
    fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
    paths
}

/// Copies a directory and everything below it.
pub fn copy(from: &Path, to: &Path) {
    for (name, bytes) in tree(from).unwrap() {
        let path = to.join(&name);
        match bytes {
            None => fs::create_dir_all(path).unwrap(),
            Some(bytes) => fs::write(path, bytes).unwrap(),
        }
    }
}

/// The locks of a lake on a disk, by their paths.
pub const LOCKS: [&str; 2] = ["_tracelake/lock", "_tracelake/work"];

/// The files of a release with a day, of a trace with creators.
pub const RELEASE_FILES: [&str; 8] = [
    ".zenodo.json",
    "CITATION.cff",
    "README.md",
    "SHA256SUMS",
    "_tracelake/release.toml",
    "croissant.json",
    "datapackage.json",
    "ro-crate-metadata.json",
];
