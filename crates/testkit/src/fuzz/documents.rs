//! Changed numbers and texts in the documents of a lake: no reader panics, aborts, or takes much longer than for the
//! original document.
//!
//! Input: a byte that says whether all changes are made at once or one after the other, each to the document as it was;
//! changes of four bytes each: which value of the document, and what becomes of it. A document is a plan,
//! the facts of an unfinished lake, or the manifest of a finished one, of real lakes of one table.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tempfile::TempDir;
use tracelake_convert::plan::{Plan, Request, Shard, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::error::ErrorKind;
use tracelake_core::seal;
use tracelake_lake::plan_file::{MOST_SHARDS, PlanFile};
use tracelake_lake::{Commit, CommitOptions};
use tracelake_verify::inspect::inspect;
use tracelake_verify::release::{ReleaseOptions, release};
use tracelake_verify::verify;

use super::lakes::copy;
use super::setting::{context, directory, options, trace};

/// Tries one input on the plan of shards.
pub fn plan_file(data: &[u8]) {
    on_copies("shards", data, |root, data| {
        let path = only_file(&root.join("_tracelake/plans"));
        let value = without_digest(&fs::read(&path).unwrap());
        let json = sealed(&changed(value.to_string().as_bytes(), data));
        match PlanFile::from_json(&json) {
            Ok(plan) => {
                assert!((1..=MOST_SHARDS).contains(&plan.shards));
                let again = PlanFile::from_json(&plan.to_json().unwrap()).unwrap();
                assert_eq!(again, plan);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Refused),
        }
        fs::write(path, json).unwrap();
        use_unfinished(root);
    });
}

/// Tries one input on the facts of a part.
pub fn facts(data: &[u8]) {
    on_copies("shards", data, |root, data| {
        let table = &trace().tables[0];
        let path = only_file(&root.join("_tracelake/facts").join(&*table.name));
        let value = without_digest(&fs::read(&path).unwrap());
        let line = changed(value.to_string().as_bytes(), data);
        fs::write(path, seal::line(line)).unwrap();
        use_unfinished(root);
    });
}

/// Tries one input on a manifest, whose digest fits.
pub fn manifest(data: &[u8]) {
    on_copies("finished", data, |root, data| {
        let path = root.join("_tracelake/manifest.json");
        let value = without_digest(&fs::read(&path).unwrap());
        let json = changed(value.to_string().as_bytes(), data);
        fs::write(path, sealed(&json)).unwrap();
        drop(inspect(&context(), root));
        drop(verify(&context(), &root.into(), None));
        let mut options = ReleaseOptions::default();
        (options.allow_rejects, options.allow_missing) = (true, true);
        options.delta = true;
        drop(release(&context(), &root.into(), &options));
        drop(convert(
            &context(),
            &planned(),
            &root.into(),
            RunOptions::default(),
        ));
    });
}

/// Everything that reads an unfinished lake. Whatever it says is right.
fn use_unfinished(root: &Path) {
    drop(inspect(&context(), root));
    let mut run_options = RunOptions::default();
    run_options.shard = Some(Shard { index: 1, of: 2 });
    drop(convert(&context(), &planned(), &root.into(), run_options));
    let mut options = CommitOptions::default();
    options.verify_outputs = true;
    if let Ok(commit) = Commit::open(&context(), &root.into(), options) {
        drop(commit.finish());
    }
}

/// The only file of a directory.
fn only_file(directory: &Path) -> PathBuf {
    let mut files = fs::read_dir(directory).unwrap();
    files.next().unwrap().unwrap().path()
}

/// A document or a line without the digest of its content.
fn without_digest(json: &[u8]) -> Value {
    let mut json: Value = serde_json::from_slice(json).unwrap();
    json.as_object_mut().unwrap().remove("sha256");
    json
}

/// A document with the digest of its content.
fn sealed(json: &[u8]) -> Vec<u8> {
    let body = json.strip_suffix(b"}").unwrap();
    seal::document([body, b",\n"].concat())
}

/// A document in which some values became others.
fn changed(json: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut json: Value = serde_json::from_slice(json).unwrap();
    for change in changes.chunks_exact(4) {
        let [high, low, what, value] = [change[0], change[1], change[2], change[3]];
        let mut values = Vec::new();
        leaves(&mut json, &mut values);
        let which = usize::from(u16::from_be_bytes([high, low]));
        if values.is_empty() {
            break;
        }
        let count = values.len();
        *values.swap_remove(which % count) = match what % 8 {
            0 => u64::MAX.into(),
            1 => u32::MAX.into(),
            2 => (u64::from(u32::MAX) + 1).into(),
            3 => (i64::MIN + i64::from(value)).into(),
            4 => value.into(),
            5 => (1_u64 << (value % 64)).into(),
            6 => Value::Null,
            _ => ["", "../x", "/x", "x".repeat(1 << (value % 16)).as_str()][usize::from(value % 4)]
                .into(),
        };
    }
    json.to_string().into_bytes()
}

/// The numbers and texts of a document, in order.
fn leaves<'a>(json: &'a mut Value, into: &mut Vec<&'a mut Value>) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(|item| leaves(item, into)),
        Value::Object(fields) => fields.values_mut().for_each(|field| leaves(field, into)),
        leaf => into.push(leaf),
    }
}

/// Gives copies of one of the lakes to `work`, each with changes that it has to make.
fn on_copies(name: &str, data: &[u8], work: impl Fn(&Path, &[u8])) {
    let ([together], changes) = options(data);
    let each = match together % 2 {
        0 => 4,
        _ => changes.len().max(1),
    };
    for changes in changes.chunks(each) {
        let directory = directory();
        copy(&lakes().path().join(name), directory.path());
        work(directory.path(), changes);
    }
}

/// A source, a lake of it that is finished, and one of whose two shards the first is done; made once.
fn lakes() -> &'static TempDir {
    static LAKES: OnceLock<TempDir> = OnceLock::new();
    LAKES.get_or_init(|| {
        let directory = directory();
        let table = &trace().tables[0];
        let source = directory.path().join("source").join(&*table.name);
        fs::create_dir_all(&source).unwrap();
        let row = vec!["1"; table.fields.len()].join(",") + "\n";
        for number in 0..2 {
            fs::write(source.join(format!("part-0000{number}-of-00002.csv")), &row).unwrap();
        }
        let plan = plan_of(&directory.path().join("source"));
        let mut run_options = RunOptions::default();
        for (name, shard) in [
            ("finished", None),
            ("shards", Some(Shard { index: 0, of: 2 })),
        ] {
            run_options.shard = shard;
            let out = directory.path().join(name);
            convert(&context(), &plan, &(&out).into(), run_options).unwrap();
        }
        directory
    })
}

fn planned() -> Plan {
    plan_of(&lakes().path().join("source"))
}

fn plan_of(source: &Path) -> Plan {
    let mut request = Request::new(source);
    request.trace = Some(Arc::clone(trace()));
    plan(&context(), &request).unwrap()
}
