//! Other people's test suites, each case as a part of a table: read as it is, rejected or refused,
//! never changed in silence. The suites are not part of the project.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::rejects::account::account;
use tracelake_testkit::{Score, Scratch, ensure, part_path, suites, table, trace};

const TABLE: &str = "machine_attributes";

/// Converts a file and compares what comes of it with its text, if there is one.
fn fed(file: &[u8], text: Option<&[u8]>) -> Result<(), String> {
    let scratch = Scratch::new();
    scratch.file(&part_path(TABLE, 0, 1), file);
    let name = ["--trace", &trace().name];
    let strict = scratch.convert(&name);
    let run = scratch.convert(&[&name[..], &["--on-bad-row", "reject", "--overwrite"]].concat());
    for run in [&strict, &run] {
        ensure(!run.stderr.contains("panicked"), || run.stderr.clone())?;
    }
    let Some(text) = text else {
        let refused =
            strict.code == 5 && run.code == 5 && run.message().contains(&part_path(TABLE, 0, 1));
        return ensure(refused && !scratch.out().exists(), || {
            format!("exit {} and {}: {}", strict.code, run.code, run.stderr)
        });
    };
    ensure(
        [0, 4].contains(&strict.code) && [0, 3, 4].contains(&run.code),
        || format!("exit {} and {}: {}", strict.code, run.code, run.stderr),
    )?;
    if run.code == 4 {
        // Only a line past the limit is refused where bad rows are set aside.
        return ensure(run.stderr.contains("a line longer than"), || {
            run.stderr.clone()
        });
    }
    let (_, bad) = account(text, &scratch.out(), table(TABLE), (0, 1))?;
    ensure((bad > 0) == (run.code == 3), || {
        format!("{bad} bad, exit {}", run.code)
    })?;
    ensure((bad > 0) == (strict.code == 4), || {
        format!("{bad} bad, strict exit {}", strict.code)
    })
}

/// A case as the whole file, and as a value of a text column between good rows.
fn count(score: &mut Score, name: &str, input: &[u8]) {
    let value = [b"0,5,a,1,0\n0,5,", input, b",3,0\n0,6,b,2,1\n"].concat();
    for (how, text) in [("as a file", input), ("as a value", &value)] {
        if score.is_due() {
            let outcome = fed(&tracelake_testkit::gzip(text), Some(text));
            score.count(&format!("{name}, {how}"), outcome);
        }
    }
}

#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn cases_of_csv_suites_are_never_changed() {
    let suites = suites();
    let mut score = Score::one_in(3, "cases of csv suites");
    // Bytes that are no UTF-8 stand there as lone surrogates, which JSON cannot hold.
    let cases = fs::read_to_string(suites.join("csv/go-cases.json")).unwrap();
    let cases: Value = serde_json::from_str(&cases.replace("\\udc", "\\ue0")).unwrap();
    for case in cases.as_array().unwrap() {
        let mut input = Vec::new();
        for character in case["input"].as_str().unwrap_or_default().chars() {
            match u32::from(character) {
                byte @ 0xe080..=0xe0ff => input.push(u8::try_from(byte - 0xe000).unwrap()),
                _ => input.extend(character.to_string().bytes()),
            }
        }
        count(&mut score, &case["name"].to_string(), &input);
    }
    let mut spectrum: Vec<PathBuf> = fs::read_dir(suites.join("csv/csv-spectrum/csvs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    spectrum.sort();
    for path in spectrum {
        count(
            &mut score,
            path.file_name().unwrap().to_str().unwrap(),
            &fs::read(&path).unwrap(),
        );
    }
    score.close();
}

#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn streams_of_gzip_suites_are_read_or_refused() {
    let suites = suites();
    let mut score = Score::new("streams of gzip suites");
    let index = fs::read_to_string(suites.join("INDEX.tsv")).unwrap();
    for line in index.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if !fields[0].starts_with("gzip/") || !fields[0].ends_with(".gz") {
            continue;
        }
        let file = fs::read(suites.join(fields[0])).unwrap();
        let mut text = Vec::new();
        let text = fields[3].contains(": VALID").then(|| {
            MultiGzDecoder::new(&file[..])
                .read_to_end(&mut text)
                .unwrap();
            &text[..]
        });
        score.count(fields[0], fed(&file, text));
    }
    score.close();
}
