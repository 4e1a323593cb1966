//! `verify` on a lake whose Parquet files were changed, with digests in the manifest to match:
//! it reports something or nothing, and a panic of the Parquet crate stays inside.
//!
//! Input: a byte for the file, then changes of four bytes each: what is done, two bytes for the place
//! (from the end of the file, where the footer is), and a value.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::digest::Digest;
use tracelake_lake::read_manifest;
use tracelake_location::Location;
use tracelake_schema::Syntax;
use tracelake_verify::verify;

use super::setting::{context, directory, options, trace};

/// Rows of each table of the small lake.
const ROWS: usize = 40;

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([file], changes) = options(data);
    let directory = directory();
    let root = directory.path();
    copy(&lake().path().join("lake"), root);
    let mut manifest = read_manifest(&root.into()).unwrap();
    let mut parts = manifest
        .tables
        .iter_mut()
        .flat_map(|table| &mut table.parts);
    let count = lake_files();
    let output = &mut parts.nth(usize::from(file) % count).unwrap().output;
    let mut bytes = fs::read(root.join(&output.path)).unwrap();
    change(&mut bytes, changes);
    output.bytes = bytes.len() as u64;
    output.sha256 = Digest::of(&bytes);
    fs::write(root.join(&output.path), &bytes).unwrap();
    fs::write(
        root.join("_tracelake/manifest.json"),
        manifest.to_json().unwrap(),
    )
    .unwrap();
    let source = Location::from(lake().path().join("source"));
    for source in [None, Some(&source)] {
        // Whatever it finds is right; a file can also stay what it was.
        drop(verify(&context(), &root.into(), source));
    }
}

/// Changes a file.
pub(super) fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    for change in changes.chunks_exact(4) {
        let [what, high, low, value] = [change[0], change[1], change[2], change[3]];
        let back = usize::from(u16::from_be_bytes([high, low]));
        let Some(place) = bytes.len().checked_sub(1 + back % bytes.len().max(1)) else {
            return;
        };
        match what % 5 {
            0 => bytes[place] = value,
            1 => bytes[place] ^= 1 << (value % 8),
            2 => bytes[place] = bytes[place].wrapping_add(value),
            3 => bytes.insert(place, value),
            _ => drop(bytes.remove(place)),
        }
    }
}

/// A lake and its source, made once: tables of plain and of nested values.
fn lake() -> &'static TempDir {
    static LAKE: OnceLock<TempDir> = OnceLock::new();
    LAKE.get_or_init(|| {
        let directory = directory();
        let (source, out) = (
            directory.path().join("source"),
            directory.path().join("lake"),
        );
        let trace = trace();
        for table in trace
            .tables
            .iter()
            .filter(|table| table.syntax == Syntax::Csv)
        {
            let text: String = (0..ROWS)
                .map(|row| vec![(row % 2).to_string(); table.fields.len()].join(",") + "\n")
                .collect();
            fs::create_dir_all(source.join(&*table.name)).unwrap();
            let part = source.join(&*table.name).join("part-00000-of-00001.csv");
            fs::write(part, text).unwrap();
        }
        let mut request = Request::new(source);
        request.trace = Some(Arc::clone(trace));
        request.allow_missing = true;
        let run_options = RunOptions::default();
        convert(
            &context(),
            &plan(&context(), &request).unwrap(),
            &(&out).into(),
            run_options,
        )
        .unwrap();
        directory
    })
}

fn lake_files() -> usize {
    let manifest = read_manifest(&lake().path().join("lake").into()).unwrap();
    manifest.parts().count()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
