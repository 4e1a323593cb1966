//! Lakes in the servers of others, which have the protocols from their documents and not from us: moto for
//! S3, Azurite for Azure. `cargo xtask buckets` installs them; without them, these tests are ignored.

mod emulator;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::lakes::{UNCOMPRESSED, large, on_disk};
use super::{convert, plain};
use crate::crash::child::{HANGS, Working};
use emulator::{Emulator, KEY};
use tracelake_testkit::{Run, Score, Scratch, committed_sample, ended, ensure};

type Tree = BTreeMap<String, Vec<u8>>;

/// A source as a lake on disk.
fn lake_of(source: &Path, options: &[&str]) -> Tree {
    let scratch = Scratch::new();
    convert(plain(), source.to_str().unwrap(), &scratch.out(), options).well();
    on_disk(&scratch.out())
}

fn well(emulator: &Emulator, arguments: &[&str]) -> Result<Run, String> {
    let run = ended(emulator.program().args(arguments).output().unwrap());
    ensure(run.code == 0, || format!("{arguments:?}: {}", run.stderr))?;
    Ok(run)
}

/// Whether the objects below a prefix are the files of a lake on disk, and nothing else.
fn same(emulator: &Emulator, prefix: &str, expected: &Tree) -> Result<(), String> {
    let mut found = emulator.objects(prefix);
    // No run knows that it is alone in a bucket, so the facts of parts stay.
    found.retain(|name, _| !name.starts_with("_tracelake/facts/"));
    ensure(found.keys().eq(expected.keys()), || {
        format!("{prefix} has {:?}", found.keys())
    })?;
    ensure(found == *expected, || {
        format!("{prefix}: an object has other bytes")
    })
}

fn no_upload(emulator: &Emulator) -> Result<(), String> {
    let left = emulator.uploads();
    ensure(left == 0, || format!("{left} uploads are left"))
}

/// Lakes from disk and from the bucket: made, made again, in shards, verified, inspected and released.
fn lakes(emulator: &Emulator, score: &mut Score) {
    let sample = committed_sample();
    let expected = lake_of(&sample, &[]);
    let bucket = emulator.bucket();
    emulator.put(&sample, "trace/");
    let disk = sample.to_str().unwrap();
    let url = &format!("{bucket}/trace")[..];
    for (name, source) in [("disk", disk), ("bucket", url)] {
        let out = &format!("{bucket}/{name}")[..];
        let prefix = format!("{name}/");
        let made = || -> Result<(), String> {
            well(emulator, &["convert", source, out])?;
            same(emulator, &prefix, &expected)?;
            well(emulator, &["convert", source, out])?;
            same(emulator, &prefix, &expected)?;
            well(emulator, &["verify", out])?;
            well(emulator, &["verify", out, "--source", source])?;
            let said = well(emulator, &["inspect", out])?.stdout;
            ensure(said.contains("task_usage"), || said.clone())?;
            well(emulator, &["release", out, "--allow-missing"])?;
            well(emulator, &["verify", out])?;
            no_upload(emulator)
        };
        score.count(&format!("from {name}"), made());
    }
    let shards = || -> Result<(), String> {
        let out = &format!("{bucket}/shards")[..];
        for shard in ["1/2", "0/2", "1/2"] {
            well(emulator, &["convert", url, out, "--shard", shard])?;
        }
        well(emulator, &["commit", out])?;
        well(emulator, &["commit", out])?;
        same(emulator, "shards/", &expected)
    };
    score.count("in shards", shards());
    let source = large().src();
    let several = || -> Result<(), String> {
        let out = &format!("{bucket}/large")[..];
        let arguments = ["convert", source.to_str().unwrap(), out];
        well(emulator, &[&arguments[..], &UNCOMPRESSED].concat())?;
        same(emulator, "large/", &lake_of(&source, &UNCOMPRESSED))?;
        no_upload(emulator)
    };
    score.count("an upload of several parts", several());
    score.count("killed twice", killed(emulator, url, &expected));
    score.count("a selection", selected(emulator, url));
}

/// A lake of a selection that is made in two runs, between which every other selection is refused.
fn selected(emulator: &Emulator, source: &str) -> Result<(), String> {
    let rules = ["--sample", "1/3", "--time", "0..1d"];
    let expected = lake_of(&committed_sample(), &rules);
    let out = &format!("{}/selected", emulator.bucket())[..];
    let convert = ["convert", source, out];
    let some = ["--tables", "job_events,task_events"];
    well(emulator, &[&convert[..], &rules, &some].concat())?;
    for other in [
        &["--sample", "2/3", "--time", "0..1d"][..],
        &["--sample", "1/3"],
        &[],
    ] {
        let before = emulator.objects("selected/");
        let arguments = [&convert[..], other].concat();
        let refused = ended(emulator.program().args(&arguments).output().unwrap());
        ensure(refused.code == 6, || {
            format!("{arguments:?} exits {}: {}", refused.code, refused.stderr)
        })?;
        ensure(emulator.objects("selected/") == before, || {
            format!("{arguments:?} was refused, and changed the lake")
        })?;
    }
    well(emulator, &[&convert[..], &rules].concat())?;
    same(emulator, "selected/", &expected)?;
    well(emulator, &["verify", out, "--source", source])?;
    no_upload(emulator)
}

/// Kills a run once there are a few objects, and the next one once there are more; the third has to make
/// the lake on disk of what they left.
fn killed(emulator: &Emulator, source: &str, expected: &Tree) -> Result<(), String> {
    let out = format!("{}/killed", emulator.bucket());
    let killed = |objects: usize| {
        let (source, out) = (Path::new(source), Path::new(&out));
        let mut working = Working::start_under(emulator.program(), source, out, &[]);
        let begun = Instant::now();
        // A fast run may end before.
        while emulator.names("killed/").len() < objects && begun.elapsed() < HANGS {
            if working.ends_within(Duration::ZERO) {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        working.signal("KILL");
        working.end()
    };
    for objects in [3, 8] {
        killed(objects);
        for (name, bytes) in emulator.objects("killed/") {
            let is_home = name.starts_with("_tracelake/") && !name.ends_with("manifest.json");
            ensure(is_home || expected.get(&name) == Some(&bytes), || {
                format!("{name} is visible, and not what it should be")
            })?;
        }
    }
    well(emulator, &["convert", source, &out])?;
    same(emulator, "killed/", expected)
}

/// A bucket that doesn't exist, and credentials that are wrong or not there: what is said, and that no
/// secret is in it, even if everything is logged.
fn refusals(score: &mut Score, cases: Vec<(&str, Command, &[&str], &[&str])>) {
    for (name, mut command, arguments, said) in cases {
        command.args(arguments).env("RUST_LOG", "trace");
        let run = ended(command.output().unwrap());
        let (log, all) = (&run.stderr, format!("{}{}", run.stdout, run.stderr));
        let message = log.lines().find(|line| line.contains("tracelake: error: "));
        let message = message.unwrap_or_default();
        let outcome = ensure(run.code == 1, || format!("exit {}: {message}", run.code))
            .and_then(|()| {
                let missing = said.iter().find(|words| !message.contains(**words));
                ensure(missing.is_none(), || {
                    format!("{missing:?} is not in {message}")
                })
            })
            .and_then(|()| {
                let is_secret = [SECRET, KEY].iter().any(|secret| all.contains(secret));
                ensure(!is_secret, || "a secret is in the output".to_owned())
            });
        score.count(name, outcome);
    }
}

/// Base64, as Azure wants it.
const SECRET: &str = "d0phbHJYVXRuRkVNSUs3TURFTkc=";

#[test]
#[cfg_attr(not(moto), ignore = "needs `cargo xtask buckets`")]
fn lakes_in_moto() {
    let mut score = Score::new("lakes in moto");
    lakes(&Emulator::moto(), &mut score);
    score.close();
}

#[test]
#[cfg_attr(not(azurite), ignore = "needs `cargo xtask buckets`, and node")]
fn lakes_in_azurite() {
    let mut score = Score::new("lakes in Azurite");
    lakes(&Emulator::azurite(), &mut score);
    score.close();
}

#[test]
#[cfg_attr(not(moto), ignore = "needs `cargo xtask buckets`")]
fn refusals_of_moto() {
    let sample = committed_sample();
    let sample = sample.to_str().unwrap();
    let moto = Emulator::moto();
    // After the request that made the bucket, it checks every signature, and knows no user.
    let strict = Emulator::moto_with(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]);
    let mut wrong = [strict.program(), strict.program()];
    for command in &mut wrong {
        command.env("AWS_SECRET_ACCESS_KEY", SECRET);
    }
    let [wrong, wrong_too] = wrong;
    let mut score = Score::new("refusals of moto");
    refusals(
        &mut score,
        vec![
            (
                "no such bucket for OUT",
                moto.program(),
                &["convert", sample, "s3://nothing/lake"],
                &["s3://nothing/lake: there is no such bucket; check its name"],
            ),
            (
                "no such bucket for SRC",
                moto.program(),
                &["inspect", "s3://nothing/trace"],
                &["s3://nothing/trace: there is no such bucket; check its name"],
            ),
            (
                "wrong credentials for OUT",
                wrong,
                &["convert", sample, "s3://bucket/lake"],
                &[
                    "s3://bucket/lake: the credentials are wrong",
                    "check AWS_ACCESS_KEY_ID",
                ],
            ),
            (
                "wrong credentials for SRC",
                wrong_too,
                &["inspect", "s3://bucket/trace"],
                &[
                    "s3://bucket/trace: the credentials are wrong",
                    "check AWS_ACCESS_KEY_ID",
                ],
            ),
            (
                "no credentials for OUT",
                moto.without_credentials(),
                &["convert", sample, "s3://bucket/lake"],
                &["there are no credentials to write with; set AWS_ACCESS_KEY_ID"],
            ),
        ],
    );
    score.close();
    assert!(moto.names("").is_empty());
}

#[test]
#[cfg_attr(not(azurite), ignore = "needs `cargo xtask buckets`, and node")]
fn refusals_of_azurite() {
    let sample = committed_sample();
    let sample = sample.to_str().unwrap();
    let azurite = Emulator::azurite();
    let wrong = || {
        let mut command = azurite.program();
        command.env("AZURE_STORAGE_ACCOUNT_KEY", SECRET);
        command
    };
    let mut score = Score::new("refusals of Azurite");
    refusals(
        &mut score,
        vec![
            (
                "no such container for OUT",
                azurite.program(),
                &["convert", sample, "az://nothing/lake"],
                &["az://nothing/lake: there is no such bucket; check its name"],
            ),
            (
                "no such container for SRC",
                azurite.program(),
                &["inspect", "az://nothing/trace"],
                &["az://nothing/trace: there is no such bucket; check its name"],
            ),
            (
                "wrong credentials for OUT",
                wrong(),
                &["convert", sample, "az://bucket/lake"],
                &[
                    "az://bucket/lake: ",
                    "AuthorizationFailure; check AZURE_STORAGE_ACCOUNT_KEY",
                ],
            ),
            (
                "wrong credentials for SRC",
                wrong(),
                &["inspect", "az://bucket/trace"],
                &[
                    "az://bucket/trace: ",
                    "AuthorizationFailure; check AZURE_STORAGE_ACCOUNT_KEY",
                ],
            ),
            (
                "no credentials for OUT",
                azurite.without_credentials(),
                &["convert", sample, "az://bucket/lake"],
                &[
                    "az://bucket/lake: forbidden without credentials",
                    "set AZURE_STORAGE_ACCOUNT_KEY",
                ],
            ),
            (
                "no credentials for SRC",
                azurite.without_credentials(),
                &["inspect", "az://private/trace"],
                &["az://private/trace: ", "set AZURE_STORAGE_ACCOUNT_KEY"],
            ),
        ],
    );
    score.close();
    assert!(azurite.names("").is_empty());
}
