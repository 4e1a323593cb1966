//! The readers of everything that others may have written: no bytes make them panic, and what they
//! accept keeps what its type promises.
//!
//! Input: a byte that names the reader, the file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::setting::{context, directory, options, trace};
use tracelake_convert::discover::checksums::Checksums;
use tracelake_convert::discover::schema_csv::SchemaCsv;
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::error::ErrorKind;
use tracelake_core::seal;
use tracelake_lake::manifest::Manifest;
use tracelake_lake::read_manifest;
use tracelake_schema::TRACES;
use tracelake_verify::verify;

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([reader], bytes) = options(data);
    let directory = directory();
    let root = directory.path();
    match reader % 6 {
        0 => manifest(root, bytes),
        1 => facts(root, bytes),
        2 => schema_csv(&root.join("schema.csv"), bytes),
        3 => checksums(&root.join("SHA256SUM"), bytes),
        4 => resume(root, "manifest.json", bytes),
        _ => resume(root, "lake.json", bytes),
    }
}

fn manifest(root: &Path, bytes: &[u8]) {
    let bytes = sealed(bytes);
    let parsed = serde_json::from_slice::<Manifest>(&bytes).ok();
    let parsed = parsed.filter(|manifest| manifest.origin.check_format().is_ok());
    fs::create_dir_all(root.join("_tracelake")).unwrap();
    fs::write(root.join("_tracelake/manifest.json"), bytes).unwrap();
    let read = read_manifest(&root.into()).ok();
    let Some(manifest) = parsed.filter(|manifest| manifest.origin.description.is_none()) else {
        return;
    };
    assert_eq!(read.as_ref(), Some(&manifest));
    assert!(manifest.origin.differences(&manifest.origin).is_empty());
    let json = manifest.to_json().unwrap();
    assert_eq!(Manifest::read(&json).unwrap(), manifest);
    let lawful = manifest.tables.iter().all(|table| {
        let out: u128 = table
            .parts
            .iter()
            .map(|part| u128::from(part.rows_out))
            .sum();
        let each = |rows_in: u64, out: u64, rejected: u64| {
            u128::from(rows_in) == u128::from(out) + u128::from(rejected)
        };
        out == u128::from(table.rows)
            && table
                .parts
                .iter()
                .all(|part| each(part.rows_in, part.rows_out, part.rows_rejected))
    });
    assert_eq!(manifest.check_counts().is_ok(), lawful);
}

/// Facts of any bytes beside a finished lake are believed or not, and change nothing of it.
fn facts(root: &Path, bytes: &[u8]) {
    resume(root, "facts", bytes);
}

fn schema_csv(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let schema = match SchemaCsv::read(&path.into()) {
        Ok(schema) => schema,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Misfit, "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error}");
            return;
        }
    };
    for trace in TRACES.iter().filter(|trace| trace.in_parts()) {
        let known = schema.check(trace).is_ok();
        let fields: usize = trace
            .tables
            .iter()
            .map(|table| schema.fields(&table.name))
            .sum();
        assert!(!known || fields > 0);
        for table in &trace.tables {
            let order = match schema.order(table) {
                Ok(order) => order,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Misfit, "{error}");
                    assert!(!error.to_string().contains(char::is_control), "{error}");
                    continue;
                }
            };
            assert_eq!(order.fields.len(), schema.fields(&table.name));
            assert!(!order.fields.is_empty());
            let mut seen = vec![false; table.columns.len()];
            for field in &order.fields {
                let index = field.index.expect("every column is read");
                assert!(!std::mem::replace(&mut seen[index], true));
                assert_eq!(field.column, table.columns[index]);
                assert!(field.mandatory || !field.column.mandatory);
            }
            assert!(
                table
                    .columns
                    .iter()
                    .zip(seen)
                    .all(|(column, seen)| seen || !column.mandatory)
            );
        }
    }
}

fn checksums(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let checksums = match Checksums::read(&path.into()) {
        Ok(checksums) => checksums,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
    };
    let text = String::from_utf8_lossy(bytes);
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // Only what has a digest in front and a path at 66 may have been accepted.
        let (digest, path) = (&line[..64], &line[66..]);
        assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        listed.insert(
            path.strip_prefix("./").unwrap_or(path),
            digest.to_ascii_lowercase(),
        );
    }
    for (path, digest) in &listed {
        assert_eq!(checksums.of("no_such_table", path), digest.parse().ok());
    }
}

/// A run resumes a lake of which a file was tampered with. In it, `$1` and `$2` are placeholders for size
/// and digest of the source, `$3` and `$4` for those of the output, `$5` and `$6` for trace
/// and version, `$7` for the fingerprint of the schema.
fn resume(root: &Path, name: &str, bytes: &[u8]) {
    let (source, out, beside) = (root.join("source"), root.join("lake"), root.join("beside"));
    let table = &trace().tables[0];
    let row = vec!["1"; table.fields.len()].join(",");
    fs::create_dir_all(source.join(&*table.name)).unwrap();
    fs::write(
        source.join(&*table.name).join("part-00000-of-00001.csv"),
        format!("{row}\n{row}\n"),
    )
    .unwrap();
    fs::write(&beside, "").unwrap();
    let mut request = Request::new(source.clone());
    request.trace = Some(Arc::clone(trace()));
    let plan = plan(&context(), &request).unwrap();
    let run_options = RunOptions::default();
    let before = convert(&context(), &plan, &(&out).into(), run_options)
        .unwrap()
        .manifest;
    let home = out.join("_tracelake");
    let part = &before.tables[0].parts[0];
    let mut tampered = bytes.to_vec();
    for (token, value) in [
        ("$1", part.source.bytes.to_string()),
        ("$2", part.source.sha256.to_string()),
        ("$3", part.output.bytes.to_string()),
        ("$4", part.output.sha256.to_string()),
        ("$5", before.origin.trace.clone()),
        ("$6", before.origin.version.clone()),
        ("$7", before.tables[0].schema_fingerprint.clone()),
    ] {
        tampered = replace(&tampered, token.as_bytes(), value.as_bytes());
    }
    if name == "facts" {
        // Facts count where there is no manifest yet.
        let directory = home.join("facts").join(&*table.name);
        fs::create_dir_all(&directory).unwrap();
        let line = match tampered.strip_suffix(b"}") {
            Some(_) => seal::line(tampered),
            None => tampered,
        };
        fs::write(directory.join("00000.json"), line).unwrap();
        fs::remove_file(home.join("manifest.json")).unwrap();
    } else {
        fs::write(home.join(name), sealed(&tampered)).unwrap();
    }
    let outcome = convert(&context(), &plan, &(&out).into(), run_options);
    assert_eq!(fs::read(&beside).unwrap(), b"");
    assert!(source.join(&part.source.path).is_file());
    let Ok(outcome) = outcome else {
        return;
    };
    assert_eq!(read_manifest(&(&out).into()).unwrap(), outcome.manifest);
    outcome.manifest.check_counts().unwrap();
    let verdict = verify(&context(), &(&out).into(), Some(&source.into())).unwrap();
    // A forger can change the digest of an output too, and then only verify notices.
    if outcome.converted > 0 {
        let wrong: Vec<_> = verdict.findings.iter().map(ToString::to_string).collect();
        assert!(
            outcome.manifest.parts().count() > 1 || wrong.is_empty(),
            "{wrong:?}"
        );
    }
}

/// A manifest of these bytes that has the right digest.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let json = bytes.trim_ascii_end();
    let body = json.strip_suffix(b"}").unwrap_or(json).trim_ascii_end();
    seal::document([body, b",\n"].concat())
}

fn replace(bytes: &[u8], token: &[u8], value: &[u8]) -> Vec<u8> {
    let (mut replaced, mut rest) = (Vec::new(), bytes);
    while let Some(&first) = rest.first() {
        match rest.strip_prefix(token) {
            Some(after) => {
                replaced.extend_from_slice(value);
                rest = after;
            }
            None => {
                replaced.push(first);
                rest = &rest[1..];
            }
        }
    }
    replaced
}
