//! `cargo xtask mutants`: changes the code in small ways, one at a time, and runs the unit tests of its crate on each
//! change. A change that no test notices survives. cargo-mutants does this in a copy of the workspace, so the checkout
//! stays as it is.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::readers::target;

/// Files whose mutants are all tried.
struct Whole {
    name: &'static str,
    package: &'static str,
    /// Globs.
    files: &'static [&'static str],
    excluded: &'static [&'static str],
    /// The tests that have to notice, by the start of their paths: those of the module, or of the whole crate.
    tests: Option<&'static str>,
}

/// The records of a lake: manifest, plan, facts and the paths of outputs.
const FACTS: &[&str] = &[
    "crates/lake/src/manifest/*.rs",
    "crates/lake/src/plan_file.rs",
    "crates/lake/src/facts.rs",
    "crates/lake/src/outputs.rs",
];

/// The ground floor of the encoder, and everything that writes lakes.
const WHOLE: &[Whole] = &[
    Whole {
        name: "value",
        package: "tracelake-encode",
        files: &["crates/encode/src/value/*.rs"],
        excluded: &[],
        tests: Some("value::"),
    },
    Whole {
        name: "split",
        package: "tracelake-encode",
        files: &["crates/encode/src/split/*.rs"],
        excluded: &[],
        tests: Some("split::"),
    },
    Whole {
        name: "facts",
        package: "tracelake-lake",
        files: FACTS,
        excluded: &[],
        tests: None,
    },
    Whole {
        name: "store",
        package: "tracelake-lake",
        files: &["crates/lake/src/**/*.rs"],
        excluded: FACTS,
        tests: None,
    },
];

/// The choice of the sample: everything else.
const SAMPLE: &str = "sample";

/// The names for `--only`.
pub(crate) const NAMES: [&str; 5] = ["value", "split", "facts", "store", SAMPLE];

/// Crates of whose mutants one in [`ONE_IN`] is tried.
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
const ONE_IN: u32 = 50;

/// How long the tests of a mutant may take at least, in seconds, before it counts as timed out: a loop without end.
const TIMEOUT: &str = "60";

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

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// Mutants by what became of them.
struct Tried {
    killed: Vec<String>,
    timed_out: Vec<String>,
    /// They don't compile.
    unviable: Vec<String>,
    survived: Vec<String>,
}

/// Tries a share of the mutants of one choice, or of all. Prints a row for each, and the survivors.
pub(crate) fn mutants(root: &Path, only: Option<&str>, share: Share, seed: u32) -> Result<()> {
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut table = "| | share | tried | killed | timed out | survived | don't compile |\n\
                     |---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut survivors = Vec::new();
    let mut try_all = |name: &str, share: Share, command: Command| -> Result<()> {
        let tried = run(root, command, name, share)?;
        let [killed, timed_out, survived] =
            [&tried.killed, &tried.timed_out, &tried.survived].map(Vec::len);
        table += &format!(
            "| {name} | {share} | {} | {killed} | {timed_out} | {survived} | {} |\n",
            killed + timed_out + survived,
            tried.unviable.len()
        );
        survivors.extend(tried.survived);
        Ok(())
    };
    for whole in WHOLE.iter().filter(|whole| is_wanted(whole.name)) {
        let mut command = cargo_mutants(root, whole.package, share);
        add_globs(&mut command, "--file", whole.files);
        add_globs(&mut command, "--exclude", whole.excluded);
        if let Some(tests) = whole.tests {
            command.args(["--cargo-test-arg", tests]);
        }
        try_all(whole.name, share, command)?;
    }
    let sample = sampled(share, seed);
    for package in SAMPLED.iter().filter(|_| is_wanted(SAMPLE)) {
        let mut command = cargo_mutants(root, package, sample);
        for whole in WHOLE {
            add_globs(&mut command, "--exclude", whole.files);
        }
        try_all(package, sample, command)?;
    }
    println!("{table}");
    for survivor in survivors {
        println!("{survivor}");
    }
    Ok(())
}

/// The share of the sample: all shares together have the mutants whose number is `seed` modulo [`ONE_IN`].
fn sampled(share: Share, seed: u32) -> Share {
    Share {
        index: seed % ONE_IN + ONE_IN * share.index,
        of: ONE_IN * share.of,
    }
}

fn cargo_mutants(root: &Path, package: &str, share: Share) -> Command {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--package", package, "--cargo-arg=--lib"]);
    // xtask has no library, but brings the features of the whole workspace: so all packages are tested with the same
    // build of what they depend on.
    command.arg("--cargo-arg=--package=xtask");
    // A mutant is compiled for the sake of a second of tests.
    for setting in ["opt-level=0", "debug=0"] {
        let setting = format!("profile.dev.package.{package}.{setting}");
        command.args(["--cargo-arg=--config", &format!("--cargo-arg={setting}")]);
    }
    command.args(["--sharding", "round-robin", "--shard", &share.to_string()]);
    command.args(["--minimum-test-timeout", TIMEOUT]);
    // Each run copies the workspace, but what it depends on is built once.
    command.env("CARGO_TARGET_DIR", target(root).join("mutants/build"));
    command.current_dir(root);
    command
}

fn add_globs(command: &mut Command, option: &str, globs: &[&str]) {
    for glob in globs {
        command.args([option, glob]);
    }
}

/// Runs cargo-mutants, which first runs the tests on the code as it is.
fn run(root: &Path, mut command: Command, name: &str, share: Share) -> Result<Tried> {
    let Share { index, of } = share;
    let output = target(root).join(format!("mutants/{name}-{index}-of-{of}"));
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    command.arg("--output").arg(&output);
    let ended = command
        .status()
        .context("cannot start cargo: install cargo-mutants with `cargo install cargo-mutants`")?;
    // 2 and 3 say that mutants survived, or took too long.
    ensure!(
        matches!(ended.code(), Some(0 | 2 | 3)),
        "cargo mutants ended with {ended}"
    );
    let list = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(output.join("mutants.out").join(file));
        let text = text.unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    Ok(Tried {
        killed: list("caught.txt"),
        timed_out: list("timeout.txt"),
        unviable: list("unviable.txt"),
        survived: list("missed.txt"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_sample_are_the_sample() {
        for seed in [0, 7, ONE_IN - 1, ONE_IN + 3] {
            let shares = (0..4).map(|index| sampled(Share { index, of: 4 }, seed));
            let tried = shares.flat_map(|share| {
                (0..1_000).filter(move |mutant| mutant % share.of == share.index)
            });
            let mut tried: Vec<u32> = tried.collect();
            tried.sort_unstable();
            let sample = (0..1_000).filter(|mutant| mutant % ONE_IN == seed % ONE_IN);
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

    /// A glob without files would leave their mutants out unseen.
    #[test]
    fn whole_files_exist() {
        let root = crate::root().unwrap();
        let globs = WHOLE.iter().flat_map(|whole| whole.files);
        for glob in globs {
            let path = root.join(glob);
            let path = match glob.contains('*') {
                true => path
                    .ancestors()
                    .find(|path| !path.to_string_lossy().contains('*'))
                    .unwrap(),
                false => &path,
            };
            assert!(path.exists(), "{glob}");
        }
        let names = WHOLE.iter().map(|whole| whole.name).chain([SAMPLE]);
        assert!(names.eq(NAMES));
    }
}
