//! Shared by the fault sweep and the kill test: the program, an input, the lake of an undisturbed run,
//! and the checks after a disturbed one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use tracelake_schema::{TRACES, Trace};

use tracelake_testkit::server::{Answer, Asked, Server};

/// The files of a directory by their path in it.
pub(crate) type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// A program and an input of which the right lake is known.
pub(crate) struct Rig {
    pub(crate) program: PathBuf,
    /// Everything that the rig makes is here.
    pub(crate) scratch: Scratch,
    /// The format of the lakes.
    format: &'static str,
    clean: Tree,
    /// The store, if lakes are in a bucket.
    store: Option<Store>,
}

/// A store on loopback, and how it answers from now on.
struct Store {
    server: Server,
    rule: SharedRule,
}

type AnswerRule = Box<dyn FnMut(&Asked) -> Answer + Send>;
type SharedRule = Arc<Mutex<AnswerRule>>;

/// The lake in a bucket.
const IN_BUCKET: &str = "s3://bucket/lake";
const OBJECTS: &str = "bucket/lake/";

/// The formats of lakes, each of which is disturbed.
pub(crate) const FORMATS: [&str; 2] = ["parquet", "arrow"];

/// Where lakes are, in the order in which they are disturbed.
pub(crate) const PLACES: [&str; 2] = ["disk", "bucket"];

/// The trace that is measured and disturbed: the first of the catalog that is published in parts alone.
pub(crate) fn published_in_parts() -> Result<&'static Trace> {
    let trace = TRACES.iter().find(|trace| trace.in_parts());
    trace.context("a trace in parts")
}

/// Exit codes of a run that converted everything: the input has bad rows.
const DONE: i32 = 3;

/// The exit code of the loader, which opens and reads libraries before the program runs.
const LOADER: i32 = 127;

impl Rig {
    /// Builds the program, generates an input of `rows` rows of the largest table with a bad row
    /// in each part, and converts it undisturbed.
    pub(crate) fn new(root: &Path, name: &str, rows: u64, format: &'static str) -> Result<Self> {
        let program = build(root, "--bin", "tracelake")?;
        let scratch = Scratch::new(name)?;
        let mut rig = Self {
            program,
            scratch,
            format,
            clean: Tree::new(),
            store: None,
        };
        let mut generate = Command::new(&rig.program);
        generate
            .args(["generate", published_in_parts()?.name])
            .arg(rig.source());
        let made = generate.args(["--rows", &rows.to_string()]).output()?;
        ensure!(made.status.success(), "generate: {}", text(&made));
        spoil(&rig.source())?;
        let clean = rig.scratch.join("clean");
        let made = rig.convert(&clean).output()?;
        ensure!(
            made.status.code() == Some(DONE),
            "the undisturbed run: {}",
            text(&made)
        );
        rig.clean = tree(&clean)?;
        Ok(rig)
    }

    fn source(&self) -> PathBuf {
        self.scratch.join("source")
    }

    /// Puts lakes into a bucket from now on.
    pub(crate) fn use_bucket(&mut self) {
        let rule: SharedRule = Arc::new(Mutex::new(Box::new(|_| Answer::Well)));
        let shared = Arc::clone(&rule);
        let answer = move |asked: &Asked| {
            let mut rule = shared.lock().unwrap_or_else(PoisonError::into_inner);
            rule(asked)
        };
        let server = Server::start(BTreeMap::new(), answer);
        self.store = Some(Store { server, rule });
    }

    /// Answers requests of the store by this rule from now on.
    pub(crate) fn answer(&self, answer: impl FnMut(&Asked) -> Answer + Send + 'static) {
        if let Some(store) = &self.store {
            let mut rule = store.rule.lock().unwrap_or_else(PoisonError::into_inner);
            *rule = Box::new(answer);
        }
    }

    /// Where a lake can be made: nothing is there.
    pub(crate) fn fresh(&self) -> Result<PathBuf> {
        if let Some(store) = &self.store {
            store.server.clear(OBJECTS);
            return Ok(IN_BUCKET.into());
        }
        let out = self.scratch.join("out");
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        Ok(out)
    }

    /// The files or the objects of a lake.
    fn left(&self, out: &Path) -> Result<Tree> {
        let Some(store) = self.store.as_ref().filter(|_| out == Path::new(IN_BUCKET)) else {
            return tree(out);
        };
        let objects = store.server.objects(OBJECTS).into_iter();
        // Facts stay in a bucket.
        let objects = objects.filter(|(name, _)| !name.starts_with("_tracelake/facts/"));
        Ok(objects.map(|(name, bytes)| (name.into(), bytes)).collect())
    }

    /// The program, with the store's address and credentials in its environment.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(store) = &self.store {
            command
                .env("AWS_ENDPOINT_URL", store.server.url())
                .env("AWS_ACCESS_KEY_ID", "tests")
                .env("AWS_SECRET_ACCESS_KEY", "tests");
        }
        command
    }

    /// The command that makes the lake; callers wrap it to disturb it.
    pub(crate) fn convert(&self, out: &Path) -> Command {
        let mut command = self.command();
        command.args(self.arguments(out));
        command
    }

    /// The command that converts one shard of the lake.
    pub(crate) fn shard(&self, out: &Path, index: u32, of: u32) -> Command {
        let mut command = self.convert(out);
        command.args(["--shard", &format!("{index}/{of}")]);
        command
    }

    /// The command that commits what shards have converted.
    pub(crate) fn commit(&self, out: &Path) -> Command {
        let mut command = self.command();
        command.arg("commit").arg(out);
        command
    }

    /// The arguments of the command that makes the lake.
    pub(crate) fn arguments(&self, out: &Path) -> Vec<std::ffi::OsString> {
        let mut arguments: Vec<std::ffi::OsString> = vec!["convert".into(), self.source().into()];
        arguments.push(out.into());
        let options = [
            "--format",
            self.format,
            "--on-bad-row",
            "reject",
            "--checksums",
            "none",
            "--threads",
            "2",
        ];
        arguments.extend(options.map(Into::into));
        arguments
    }

    /// Checks what a disturbed run left at `out`: nothing that is not whole, and no manifest that
    /// does not hold.
    pub(crate) fn check_left(&self, out: &Path) -> Result<()> {
        let left = self.left(out)?;
        let manifest = left.contains_key(Path::new("_tracelake/manifest.json"));
        for (path, bytes) in &left {
            let visible = !path.starts_with("_tracelake");
            let rejects = path.starts_with("_tracelake/rejects");
            let holds = self.clean.get(path) == Some(bytes);
            let is_manifest = path == Path::new("_tracelake/manifest.json");
            ensure!(
                holds || !(visible || rejects || is_manifest),
                "{} is visible, but not what it should be",
                path.display()
            );
        }
        ensure!(
            !manifest || self.clean.keys().all(|path| left.contains_key(path)),
            "there is a manifest, but not everything that it names"
        );
        Ok(())
    }

    /// Runs the command undisturbed on what was left and checks that the lake is the right one.
    pub(crate) fn check_resumed(&self, out: &Path) -> Result<()> {
        let resumed = self.convert(out).output()?;
        ensure!(
            resumed.status.code() == Some(DONE),
            "resuming: {}",
            text(&resumed)
        );
        self.check_same(out)
    }

    /// Runs all shards and the commit undisturbed on what was left, and checks the same.
    pub(crate) fn check_committed(&self, out: &Path, shards: u32) -> Result<()> {
        for index in (0..shards).rev() {
            let worker = self.shard(out, index, shards).output()?;
            let is_done = matches!(worker.status.code(), Some(0 | DONE));
            ensure!(is_done, "shard {index}: {}", text(&worker));
        }
        let committed = self.commit(out).output()?;
        ensure!(
            committed.status.code() == Some(DONE),
            "committing: {}",
            text(&committed)
        );
        self.check_same(out)
    }

    /// Checks that a lake is the right one.
    fn check_same(&self, out: &Path) -> Result<()> {
        let now = self.left(out)?;
        let path = difference(&self.clean, &now);
        ensure!(
            path.is_none(),
            "after resuming, {path:?} differs from the undisturbed lake"
        );
        Ok(())
    }

    /// Checks how a disturbed run ended: as if nothing had been, or with one clear error.
    pub(crate) fn check_end(&self, ended: &Output) -> Result<()> {
        self.check_code(ended)?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let errors = said
            .lines()
            .filter(|line| line.starts_with("tracelake: error: "));
        let failed = !matches!(ended.status.code(), Some(DONE | LOADER));
        ensure!(
            errors.count() == usize::from(failed),
            "not one clear error, but: {said}"
        );
        Ok(())
    }

    /// Checks that a disturbed run ended with one of its exit codes, and without a panic.
    pub(crate) fn check_code(&self, ended: &Output) -> Result<()> {
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(!said.contains("panicked"), "panicked: {said}");
        match ended.status.code() {
            Some(0..=6 | LOADER) => Ok(()),
            other => bail!("ended with {other:?}: {said}"),
        }
    }
}

/// A directory that goes when this is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("tracelake-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// A path in it.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Builds a program of the workspace as it is released, and says where it is; `kind` is `--bin` or
/// `--example`.
pub(crate) fn build(root: &Path, kind: &str, name: &str) -> Result<PathBuf> {
    build_with(root, &["--release"], kind, name)
}

/// The command that is cargo, without the variables that cargo sets for this task: some build scripts look
/// at them, and would run again after every task.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Like [`build`], with other options of `cargo build`.
pub(crate) fn build_with(root: &Path, options: &[&str], kind: &str, name: &str) -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet"]).args(options);
    build.args([kind, name]);
    build.args(["--message-format", "json-render-diagnostics"]);
    let built = build
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    ensure!(
        built.status.success(),
        "{name} does not build: {}",
        text(&built)
    );
    let messages = String::from_utf8_lossy(&built.stdout);
    let (named, marker) = (format!("\"name\":\"{name}\""), "\"executable\":\"");
    let path = messages
        .lines()
        .filter(|line| line.contains(&named))
        .find_map(|line| line.split(marker).nth(1)?.split('"').next());
    Ok(path
        .context("cargo does not say where the program is")?
        .into())
}

/// Adds a row to every part that is no row of its table, as a separate gzip member.
fn spoil(source: &Path) -> Result<()> {
    for path in tree(source)?.into_keys() {
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut file = fs::OpenOptions::new()
                .append(true)
                .open(source.join(path))?;
            file.write_all(BAD_ROW)?;
        }
    }
    Ok(())
}

/// The line `bad` as a gzip member with one stored block.
const BAD_ROW: &[u8] =
    b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x04\0\xfb\xffbad\n\x3e\x06\x3a\x18\x04\0\0\0";

/// What a lake on a disk has besides its files.
const LOCKS: [&str; 2] = ["_tracelake/lock", "_tracelake/work"];

/// Reads every file below a directory, but not the lock; nothing where there is no directory.
pub(crate) fn tree(directory: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        let Ok(entries) = fs::read_dir(&next) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if !LOCKS.iter().any(|lock| path.ends_with(lock)) {
                tree.insert(
                    path.strip_prefix(directory)?.to_path_buf(),
                    fs::read(&path)?,
                );
            }
        }
    }
    Ok(tree)
}

/// The first file that is not in both, or not the same in both.
pub(crate) fn difference<'a>(one: &'a Tree, other: &'a Tree) -> Option<&'a PathBuf> {
    let differs = |path: &&PathBuf| one.get(*path) != other.get(*path);
    one.keys().chain(other.keys()).find(differs)
}

/// The output of a command, for an error.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )
}

/// Counts of a sweep; the last line of its output.
#[derive(Default)]
pub(crate) struct Score {
    pub(crate) tried: u64,
    pub(crate) wrong: u64,
}

impl Score {
    /// Counts one try, and reports what was wrong with it.
    pub(crate) fn count(&mut self, what: &str, outcome: Result<()>) {
        self.tried += 1;
        if let Err(error) = outcome {
            self.wrong += 1;
            println!("wrong: {what}: {error:#}");
        }
    }

    /// Counts it as wrong if nothing was tried since there were `before` tries: what should have been disturbed
    /// was never done.
    pub(crate) fn expect_tries(&mut self, before: u64, otherwise: &str) {
        if self.tried == before {
            self.count(otherwise, Err(anyhow!("nothing was disturbed")));
        }
    }

    /// Prints the counts; an error when anything was wrong.
    pub(crate) fn close(&self, name: &str) -> Result<()> {
        let right = self.tried - self.wrong;
        println!(
            "{name}: tried {}, right {right}, wrong = {}",
            self.tried, self.wrong
        );
        ensure!(
            self.wrong == 0,
            "{} of {} were wrong",
            self.wrong,
            self.tried
        );
        ensure!(self.tried > 0, "nothing was tried");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_that_disturbs_nothing_is_wrong() {
        let mut score = Score::default();
        score.count("a call", Ok(()));
        score.expect_tries(0, "no call");
        score.close("one call").unwrap();
        score.expect_tries(1, "no other call");
        assert_eq!((score.tried, score.wrong), (2, 1));
        score.close("one call of two").unwrap_err();
    }
}
