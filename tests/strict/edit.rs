//! A good file, and ways to make one thing in it wrong.

use std::fmt::Write;

use super::chunk::Chunk;
use super::schema::{Leaf, leaves};
use super::seen::Seen;
use super::thrift::{self, Layout, Struct, Value};
use super::{MAGIC, check, footer};
use tracelake_testkit::{Scratch, ensure, output_path};

/// Columns of the file that is made wrong; [`file`] says what they have. The last ones are floats.
pub(super) const TIME: usize = 0;
pub(super) const MACHINE: usize = 1;
pub(super) const PLATFORM: usize = 3;
pub(super) const CPUS: usize = 4;

/// A good file: a PLAIN column of two pages that ascend, an id with a dictionary and a bloom filter, texts
/// and NULLs, floats.
pub(super) fn file() -> Vec<u8> {
    let mut rows = String::new();
    for at in 0..70_000 {
        let platform = ["", "a", "b"][at % 3];
        let cpus = at % 7;
        writeln!(rows, "{},{},0,{platform},0.{cpus},0.5", at * 37, at % 100).unwrap();
    }
    let scratch = Scratch::new();
    scratch.only("machine_events", rows.as_bytes());
    scratch.convert_well(&["--allow-missing"]);
    std::fs::read(scratch.out().join(output_path("machine_events", 0, 1))).unwrap()
}

/// The findings of a file.
pub(super) fn findings(file: &[u8]) -> Vec<String> {
    let mut seen = Seen::default();
    check(file, &mut seen);
    seen.findings
}

/// Expects a finding that contains a text.
pub(super) fn finds(file: &[u8], expected: &str) -> Result<(), String> {
    let found = findings(file);
    let is_there = found.iter().any(|finding| finding.contains(expected));
    ensure(is_there, || format!("{expected:?} is not in {found:?}"))
}

/// The value at a path such as `row_groups.0.num_rows`.
pub(super) fn at<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        value if path.is_empty() => value,
        Value::List(values) => at(&mut values[name.parse::<usize>().unwrap()], rest),
        Value::Struct(found) => at(found.entry(name).or_insert(Value::Integer(0)), rest),
        other => panic!("{path} in {other:?}"),
    }
}

/// A change of a value.
pub(super) type Edit = fn(&mut Value);

pub(super) fn more(value: &mut Value) {
    add(value, 1);
}

pub(super) fn less(value: &mut Value) {
    add(value, -1);
}

pub(super) fn add(value: &mut Value, more: i64) {
    match value {
        Value::Integer(number) => *number += more,
        other => panic!("{other:?}"),
    }
}

pub(super) fn pop(value: &mut Value) {
    match value {
        Value::List(values) => drop(values.pop().unwrap()),
        other => panic!("{other:?}"),
    }
}

pub(super) fn flip(value: &mut Value) {
    match value {
        Value::Bool(yes) => *yes = !*yes,
        other => panic!("{other:?}"),
    }
}

/// Changes the lowest bit of the first byte.
pub(super) fn change_bytes(value: &mut Value) {
    match value {
        Value::Bytes(bytes) => bytes[0] ^= 1,
        other => panic!("{other:?}"),
    }
}

pub(super) fn fields(value: &mut Value) -> &mut Struct {
    match value {
        Value::Struct(found) => found,
        other => panic!("{other:?}"),
    }
}

/// The file with another footer.
pub(super) fn with_footer(file: &[u8], path: &str, edit: Edit) -> Vec<u8> {
    let (found, start) = footer(file).unwrap();
    let mut found = Value::Struct(found);
    edit(at(&mut found, path));
    let mut out = file[..start].to_vec();
    thrift::write(fields(&mut found), &mut out);
    let length = u32::try_from(out.len() - start).unwrap();
    out.extend(length.to_le_bytes());
    out.extend(MAGIC);
    out
}

/// The file with another struct of the same length in one place.
pub(super) fn with_struct(
    file: &[u8],
    start: usize,
    layout: &'static Layout,
    path: &str,
    edit: Edit,
) -> Vec<u8> {
    let (found, length) = thrift::read(&file[start..], layout).unwrap();
    let mut found = Value::Struct(found);
    edit(at(&mut found, path));
    let mut bytes = Vec::new();
    thrift::write(fields(&mut found), &mut bytes);
    assert_eq!(bytes.len(), length, "{path}");
    let mut out = file.to_vec();
    out[start..start + length].copy_from_slice(&bytes);
    out
}

/// Calls `use_chunks` with the column chunks of the first row group.
pub(super) fn with_chunks<T>(file: &[u8], use_chunks: impl FnOnce(&[Chunk<'_>]) -> T) -> T {
    let (footer, _) = footer(file).unwrap();
    let leaves: Vec<Leaf> = leaves(&footer).unwrap();
    let columns = footer.structs("row_groups")[0].structs("columns");
    let chunk = |(said, leaf)| Chunk::new(file, said, leaf).unwrap();
    let chunks: Vec<Chunk<'_>> = columns.into_iter().zip(&leaves).map(chunk).collect();
    use_chunks(&chunks)
}
