//! Flipped bits and bytes in what an unfinished lake has beside its outputs, and in a manifest with a right
//! digest: no run ends well with another manifest than an undisturbed one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use super::{commit, shard};
use tracelake_testkit::rows::Dice;
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::with_stores;
use tracelake_testkit::{
    Run, Score, Scratch, convert, copy, ended, ensure, manifest, run, tree, write_manifest,
};

/// How many flips each kind of lake gets.
const FLIPS: u64 = 500;

/// How many lakes are tried at the same time.
const THREADS: usize = 2;

type Files = BTreeMap<String, Vec<u8>>;

const MANIFEST: &str = "_tracelake/manifest.json";

/// A source of two tables, small enough for a thousand runs.
fn small() -> Scratch {
    let scratch = Scratch::new();
    for (name, parts) in [("job_events", 2), ("machine_events", 1)] {
        for part in 0..parts {
            let text = tracelake_testkit::rows::sample(tracelake_testkit::table(name), part, 4);
            scratch.part(name, part, parts, text.as_bytes());
        }
    }
    scratch
}

/// The files that say what is done: all of `_tracelake/` but the locks.
fn state_files(files: &Files) -> Files {
    let mut state = files.clone();
    state.retain(|name, bytes| name.starts_with("_tracelake/") && !bytes.is_empty());
    state
}

/// Flips a bit or replaces a byte; every other time a digit becomes another digit, which keeps the syntax.
fn flip(bytes: &mut [u8], dice: &mut Dice) -> String {
    let digits: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at].is_ascii_digit())
        .collect();
    let is_digit = dice.below(2) == 0 && !digits.is_empty();
    let at = match is_digit {
        true => digits[dice.index(digits.len())],
        false => dice.index(bytes.len()),
    };
    let old = bytes[at];
    bytes[at] = match (is_digit, dice.below(2)) {
        (true, _) => b'0' + (old - b'0' + 1 + dice.byte(9)) % 10,
        (false, 0) => old ^ (1 << dice.below(8)),
        (false, _) => old.wrapping_add(1 + dice.byte(255)),
    };
    format!("byte {at}, {old:#04x} to {:#04x}", bytes[at])
}

/// Flips something in one of these files, and says what.
fn flipped(files: &Files, seed: u64) -> (String, String, Vec<u8>) {
    let mut dice = Dice::new(seed);
    let at = dice.index(files.len());
    let (name, bytes) = files.iter().nth(at).unwrap();
    let mut bytes = bytes.clone();
    let what = flip(&mut bytes, &mut dice);
    (format!("seed {seed}, {name}, {what}"), name.clone(), bytes)
}

/// Tries every flip on several threads.
fn try_all(name: &'static str, one: impl Fn(u64) -> (String, Result<(), String>) + Sync) {
    let mut score = Score::one_in(11, name);
    let due: Vec<u64> = (0..FLIPS).filter(|_| score.is_due()).collect();
    let score = Mutex::new(score);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let (score, one, due) = (&score, &one, &due);
            scope.spawn(move || {
                for &seed in due.iter().skip(first).step_by(THREADS) {
                    let (what, outcome) = one(seed);
                    score.lock().unwrap().count(&what, outcome);
                }
            });
        }
    });
    score.into_inner().unwrap().close();
}

/// Checks how a run on a flipped lake ended: well with the right manifest, or refused without one.
fn check(run: &Run, found: Option<&Vec<u8>>, right: &[u8]) -> Result<(), String> {
    ensure([0, 5, 6].contains(&run.code), || {
        format!("exit {}: {}", run.code, run.stderr)
    })?;
    ensure(!run.stderr.contains("panicked"), || run.stderr.clone())?;
    match found {
        Some(found) => ensure(found == right, || {
            format!("exit {} with another manifest: {}", run.code, run.stderr)
        }),
        None => ensure(run.code != 0, || "exit 0 without a manifest".to_owned()),
    }
}

#[test]
fn flips_in_facts_and_the_plan_of_an_unfinished_lake() {
    let scratch = small();
    scratch.convert_well(&[]);
    let right = fs::read(scratch.out().join(MANIFEST)).unwrap();
    let made = scratch.path().join("made");
    for index in [0, 1] {
        shard(&scratch.src(), &made, index, 2, &[]).well();
    }
    let files = tree(&made).unwrap().into_iter();
    let files: Files = files
        .filter_map(|(name, bytes)| Some((name, bytes?)))
        .collect();
    let state = state_files(&files);
    assert!(
        state.keys().any(|name| name.contains("facts")),
        "{:?}",
        state.keys()
    );
    try_all("flips in what an unfinished lake says on a disk", |seed| {
        let (what, name, bytes) = flipped(&state, seed);
        let out = scratch.path().join(format!("flipped-{seed}"));
        copy(&made, &out);
        fs::write(out.join(name), bytes).unwrap();
        let run = match seed % 2 {
            0 => commit(&out),
            _ => convert(&scratch.src(), &out, &[]),
        };
        let outcome = check(&run, fs::read(out.join(MANIFEST)).ok().as_ref(), &right);
        fs::remove_dir_all(&out).unwrap();
        (what, outcome)
    });
}

#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn flips_in_facts_and_the_plan_of_an_unfinished_lake_in_a_bucket() {
    let scratch = small();
    scratch.convert_well(&[]);
    let right = fs::read(scratch.out().join(MANIFEST)).unwrap();
    let src = scratch.src().to_str().unwrap().to_owned();
    let out = "s3://bucket/lake";
    let tracelake = |server: &Server, arguments: &[&str]| {
        let output = with_stores(&server.url()).args(arguments).output();
        ended(output.unwrap())
    };
    let server = Server::start(BTreeMap::new(), |_| Answer::Well);
    for shard in ["0/2", "1/2"] {
        tracelake(&server, &["convert", &src, out, "--shard", shard]).well();
    }
    let made = server.objects("bucket/lake/");
    let state = state_files(&made);
    assert!(
        state.keys().any(|name| name.contains("facts")),
        "{:?}",
        state.keys()
    );
    try_all(
        "flips in what an unfinished lake says in a bucket",
        |seed| {
            let (what, name, bytes) = flipped(&state, seed);
            let mut objects = made.clone();
            objects.insert(name, bytes);
            let objects = objects.into_iter();
            let objects = objects.map(|(name, bytes)| (format!("bucket/lake/{name}"), bytes));
            let server = Server::start(objects.collect(), |_| Answer::Well);
            let run = match seed % 2 {
                0 => tracelake(&server, &["commit", out]),
                _ => tracelake(&server, &["convert", &src, out]),
            };
            let found = server.objects("bucket/lake/").remove(MANIFEST);
            (what, check(&run, found.as_ref(), &right))
        },
    );
}

/// Where a value of a manifest is, such as `/tables/0/parts/1/rows_in`, for each number and each text.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{path}/{index}"), found);
            }
        }
        Value::Number(_) | Value::String(_) => found.push(path),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Fields that no file of the lake or of its source contradicts: the program that made it, how it compressed,
/// and how it would treat bad rows.
const SAYS_ITSELF: &[&str] = &[
    "/tool",
    "/version",
    "/encoding",
    "/format",
    "/sha256",
    "/options/",
];

/// Another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(number) => (number ^ 1).into(),
            None => (number.as_u64().unwrap() - 1).into(),
        },
        Value::String(text) => {
            let last = text.len() - 1;
            let other = if text.ends_with('0') { '1' } else { '0' };
            format!("{}{other}", &text[..last]).into()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn changed_values_of_a_manifest_are_found_and_healed() {
    let scratch = small();
    scratch.convert_well(&[]);
    let healthy = manifest(&scratch.out());
    let right = tree(&scratch.out());
    let out = scratch.path().join("changed");
    let (lake, src) = (out.to_str().unwrap(), scratch.src());
    let mut paths = Vec::new();
    leaves(&healthy, String::new(), &mut paths);
    paths.retain(|path| !SAYS_ITSELF.iter().any(|known| path.starts_with(known)));
    // Nor does a file say under which name and with how many bytes its source was published.
    paths.retain(|path| !path.ends_with("/source/path") && !path.ends_with("/source/bytes"));
    let mut forgeries: Vec<(&str, Value)> = paths
        .iter()
        .map(|path| (&path[..], changed(healthy.pointer(path).unwrap())))
        .collect();
    forgeries.push(("/tables/0/parts/0/source/path", "../x".into()));
    let mut score = Score::one_in(5, "changed values of a manifest with a right digest");
    let mut healed = 0;
    for (path, value) in forgeries {
        if !score.is_due() {
            continue;
        }
        copy(&scratch.out(), &out);
        let mut forged = healthy.clone();
        *forged.pointer_mut(path).unwrap() = value;
        write_manifest(&out, &forged);
        let verified = run(["verify", lake, "--source", src.to_str().unwrap()]);
        let is_hinted = verified.stderr.contains("convert again");
        let outcome = ensure(verified.code != 0, || "verify finds nothing".to_owned())
            .and_then(|()| {
                ensure(!verified.stderr.contains("panicked"), || {
                    verified.stderr.clone()
                })
            })
            .and_then(|()| {
                if !is_hinted {
                    return Ok(());
                }
                healed += 1;
                // What is committed never changes, so a manifest that was forged is given up.
                let mut again = convert(&src, &out, &[]);
                if again.code == 6 && again.message().contains("--remove-unnamed") {
                    // It names another output, so that nothing names the right one.
                    run(["commit", lake, "--remove-unnamed"]);
                    again = convert(&src, &out, &[]);
                }
                if again.code == 6 && again.message().contains("--overwrite") {
                    again = convert(&src, &out, &["--overwrite"]);
                }
                ensure(again.code == 0, || {
                    format!("verify: {}again: {}", verified.stderr, again.stderr)
                })?;
                ensure(tree(Path::new(lake)) == right, || {
                    format!("not healed, after {}", verified.stderr)
                })
            });
        score.count(path, outcome);
        fs::remove_dir_all(&out).unwrap();
    }
    score.close();
    assert!(healed > 0, "no finding of verify says `convert again`");
}
