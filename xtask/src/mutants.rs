//! `cargo xtask mutants`: changes the code in small ways, one at a time, and runs the unit tests on each change. A
//! change that no test notices survives. cargo-mutants does this in a copy of the workspace, so the checkout stays as
//! it is.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::readers::target;

/// Files whose mutants are all tried: the ground floor of the encoder, and everything that writes lakes.
const WHOLE: &[(&str, &[&str])] = &[
    (
        "tracelake-encode",
        &["crates/encode/src/value.rs", "crates/encode/src/split/*.rs"],
    ),
    ("tracelake-lake", &["crates/lake/src/**/*.rs"]),
];

/// Crates of whose mutants one in [`SAMPLE`] is tried.
const SAMPLED: &[&str] = &[
    "tracelake-core",
    "tracelake-schema",
    "tracelake-location",
    "tracelake-source",
    "tracelake-encode",
    "tracelake-convert",
    "tracelake-verify",
    "tracelake-generate",
];

/// Of the sampled crates, one mutant in this many is tried.
const SAMPLE: u32 = 50;

/// How long the unit tests of a mutant may take, in seconds, before it counts as noticed: a loop without end.
const TIMEOUT: &str = "900";

/// One share of the work of several runs, such as `0/40`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    index: u32,
    of: u32,
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, of)| {
            let (index, of) = (index.parse().ok()?, of.parse().ok()?);
            (index < of).then_some(Self { index, of })
        });
        parsed.ok_or_else(|| "write K/N, with K from 0 to N - 1".to_owned())
    }
}

/// Tries a share of the mutants and prints those that survive.
pub(crate) fn mutants(root: &Path, share: Share, seed: u32) -> Result<()> {
    let mut survivors = Vec::new();
    for (package, files) in WHOLE {
        let mut command = cargo_mutants(root, package, share);
        for file in *files {
            command.args(["--file", file]);
        }
        survivors.extend(run(root, command, package)?);
    }
    let sample = sampled(share, seed);
    for package in SAMPLED {
        let mut command = cargo_mutants(root, package, sample);
        for (_, files) in WHOLE {
            for file in *files {
                command.args(["--exclude", file]);
            }
        }
        survivors.extend(run(root, command, package)?);
    }
    println!("survivors: {}", survivors.len());
    for survivor in survivors {
        println!("{survivor}");
    }
    Ok(())
}

/// The share of the sample: all shares together have the mutants whose number is `seed` modulo [`SAMPLE`].
fn sampled(share: Share, seed: u32) -> Share {
    Share {
        index: seed % SAMPLE + SAMPLE * share.index,
        of: SAMPLE * share.of,
    }
}

fn cargo_mutants(root: &Path, package: &str, share: Share) -> Command {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--package", package, "--baseline", "skip"]);
    command.args(["--timeout", TIMEOUT, "--build-timeout", TIMEOUT]);
    command.args(["--cargo-test-arg=--lib", "--sharding", "round-robin"]);
    command.args(["--shard", &format!("{}/{}", share.index, share.of)]);
    command.current_dir(root);
    command
}

/// Runs cargo-mutants, and returns the mutants that survive.
fn run(root: &Path, mut command: Command, package: &str) -> Result<Vec<String>> {
    let folder = target(root).join("mutants");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // It never mutates the checkout, only its own copy.
    let output = folder.join(package);
    command.arg("--output").arg(&output);
    let ended = command
        .status()
        .context("cannot start cargo: install cargo-mutants with `cargo install cargo-mutants`")?;
    // 2 and 3 say that mutants survived, or took too long.
    let code = ended.code();
    ensure!(
        matches!(code, Some(0 | 2 | 3)),
        "cargo mutants ended with {ended}"
    );
    let path = output.join("mutants.out/missed.txt");
    let missed = fs::read_to_string(path).unwrap_or_default();
    Ok(missed.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_sample_are_the_sample() {
        for seed in [0, 7, SAMPLE - 1, SAMPLE + 3] {
            let shares = (0..4).map(|index| sampled(Share { index, of: 4 }, seed));
            let tried = shares.flat_map(|share| {
                (0..1_000).filter(move |mutant| mutant % share.of == share.index)
            });
            let mut tried: Vec<u32> = tried.collect();
            tried.sort_unstable();
            let sample = (0..1_000).filter(|mutant| mutant % SAMPLE == seed % SAMPLE);
            assert_eq!(tried, sample.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_share_is_one_of_several() {
        assert!("0/1".parse::<Share>().is_ok());
        for wrong in ["1/1", "0/0", "1", "a/2", "-1/2"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
