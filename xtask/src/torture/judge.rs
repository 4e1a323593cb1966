//! Expected results: lakes on disk that undisturbed runs made in turn, and the checks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{LOCKS, Scratch, gzip, trace};

use super::schedule::{SELECTIONS, Selection, Task};
use crate::workspace::{FORMATS, Tree, difference, generate, program, said, tree, with_extension};

const MANIFEST: &str = "_tracelake/manifest.json";

/// The lake in a bucket, and the names of its objects on the server.
const IN_BUCKET: &str = "s3://bucket/lake";
const OBJECTS: &str = "bucket/lake/";

/// Where a lake is.
pub(super) enum Lake {
    Disk(PathBuf),
    Bucket(Server),
}

impl Lake {
    /// Where the program finds it.
    fn out(&self) -> &Path {
        match self {
            Self::Disk(path) => path,
            Self::Bucket(_) => Path::new(IN_BUCKET),
        }
    }

    /// Its files or objects.
    pub(super) fn files(&self) -> Tree {
        match self {
            Self::Bucket(server) => server.objects(OBJECTS),
            Self::Disk(path) => {
                let mut files = tree(path);
                files.retain(|name, _| !LOCKS.contains(&&name[..]));
                files
            }
        }
    }
}

/// A program, its source, and the lakes of a format that it makes of it undisturbed.
pub(super) struct Judge {
    program: PathBuf,
    pub(super) format: &'static str,
    scratch: Scratch,
    lakes: RefCell<BTreeMap<(BTreeSet<Selection>, bool), Tree>>,
}

impl Judge {
    /// Generates a source for each format: few rows, so that the time of a run goes into files and requests, and a bad
    /// row in each part.
    pub(super) fn of_each_format(root: &Path) -> Result<Vec<Self>> {
        let program = program(root, &[])?;
        let judge = |format| {
            let scratch = Scratch::new();
            let source = scratch.src();
            fs::remove_dir(&source)?;
            let few = ["--parts", "2", "--rows", "2000"];
            generate(&program, trace(), &source, &few)?;
            for table in &trace().tables {
                for part in with_extension(&source.join(&*table.name), "gz")? {
                    let mut file = OpenOptions::new().append(true).open(part)?;
                    file.write_all(&gzip(b"bad\n"))?;
                }
            }
            Ok(Self {
                program: program.clone(),
                format,
                scratch,
                lakes: RefCell::default(),
            })
        };
        FORMATS.into_iter().map(judge).collect()
    }

    /// A path for the task's own use.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// An empty place on the disk.
    pub(super) fn on_disk(&self) -> Result<Lake> {
        let out = self.scratch.out();
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        Ok(Lake::Disk(out))
    }

    /// An empty place in a bucket that answers by this rule.
    pub(super) fn in_bucket(rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Lake {
        Lake::Bucket(Server::start(BTreeMap::new(), rule))
    }

    /// A command on a lake, in an environment with its store and nothing of others. `wrapper` starts it; the store
    /// knows it as `user`.
    pub(super) fn command(&self, wrapper: &[&str], lake: &Lake, user: &str, task: Task) -> Command {
        let mut command = Command::new("env");
        command.env_clear().args(wrapper).arg(&self.program);
        if let Lake::Bucket(server) = lake {
            command
                .env("AWS_ENDPOINT_URL", server.url())
                .env("AWS_ACCESS_KEY_ID", user)
                .env("AWS_SECRET_ACCESS_KEY", "tests");
        }
        let out = lake.out();
        match task {
            Task::Commit => command.arg("commit").arg(out),
            Task::Forget => command.args(["commit", "--forget"]).arg(out),
            Task::Release => command
                .args(["release", "--allow-missing", "--allow-rejects"])
                .arg(out),
            Task::Verify => command.arg("verify").arg(out),
            Task::Convert(selection) | Task::Shard(selection, ..) => {
                command.arg("convert").arg(self.scratch.src()).arg(out);
                command.args(["--format", self.format, "--on-bad-row", "reject"]);
                command.args(["--checksums", "none", "--threads", "2"]);
                let (tables, parts) = SELECTIONS[selection];
                let names = tables.iter().map(|&index| &*trace().tables[index].name);
                let names: Vec<&str> = names.collect();
                for (option, value) in [("--tables", names.join(",")), ("--parts", parts.into())] {
                    if !value.is_empty() {
                        command.args([option, &value]);
                    }
                }
                if let Task::Shard(_, index, of) = task {
                    command.args(["--shard", &format!("{index}/{of}")]);
                }
                &mut command
            }
        };
        command
    }

    /// Runs a command undisturbed; it has to end well.
    pub(super) fn well(&self, lake: &Lake, task: Task) -> Result<()> {
        let ended = self.command(&[], lake, "undisturbed", task).output()?;
        ensure!(
            is_well(&ended),
            "undisturbed {task:?} ends with {}",
            said(&ended)
        );
        Ok(())
    }

    /// The lake of these selections, converted on disk one after the other, and released if asked for.
    pub(super) fn reference(
        &self,
        selections: &BTreeSet<Selection>,
        is_released: bool,
    ) -> Result<Tree> {
        let key = (selections.clone(), is_released);
        if let Some(files) = self.lakes.borrow().get(&key) {
            return Ok(files.clone());
        }
        let lake = Lake::Disk(self.path("reference"));
        for &selection in selections {
            self.well(&lake, Task::Convert(selection))?;
        }
        if is_released {
            self.well(&lake, Task::Release)?;
        }
        let files = lake.files();
        if !selections.is_empty() {
            fs::remove_dir_all(lake.out())?;
        }
        self.lakes.borrow_mut().insert(key, files.clone());
        Ok(files)
    }

    /// The files of a release of a selection.
    pub(super) fn release(&self, selection: Selection) -> Result<Tree> {
        let selections = BTreeSet::from([selection]);
        let before = self.reference(&selections, false)?;
        let mut files = self.reference(&selections, true)?;
        files.retain(|name, _| !before.contains_key(name));
        Ok(files)
    }

    /// Checks what runs have left: nothing visible that is foreign or not whole; and a manifest that holds, names only what
    /// exists, and everything that runs that ended well have converted.
    pub(super) fn check_left(
        &self,
        lake: &Lake,
        done: &BTreeSet<Selection>,
        release: &Tree,
    ) -> Result<()> {
        let left = lake.files();
        let whole = self.reference(&BTreeSet::from([0]), false)?;
        let done = self.reference(done, false)?;
        let visible = |name: &str| {
            !name.starts_with("_tracelake/") || name.starts_with("_tracelake/rejects/")
        };
        for (name, bytes) in left.iter().filter(|(name, _)| visible(name)) {
            let is_right = whole.get(name).or_else(|| release.get(name)) == Some(bytes);
            ensure!(is_right, "{name} is visible, but not what it should be");
        }
        let manifest = left.get(MANIFEST);
        if manifest.is_some() {
            self.well(lake, Task::Verify)?;
        }
        let manifest = String::from_utf8_lossy(manifest.map_or(b"", |bytes| bytes));
        for name in whole.keys().filter(|name| visible(name)) {
            let is_named = manifest.contains(&format!("\"{name}\""));
            ensure!(
                left.contains_key(name) || !is_named,
                "LOST: the manifest names {name}, which is missing"
            );
            ensure!(
                is_named || !done.contains_key(name),
                "LOST: a run that ended well wrote {name}, and the manifest doesn't name it"
            );
        }
        Ok(())
    }

    /// Checks that the files of a lake are these, and nothing else.
    pub(super) fn check_same(found: &Tree, expected: &Tree) -> Result<()> {
        match difference(found, expected) {
            None => Ok(()),
            Some(name) if !expected.contains_key(name) => bail!("{name} is left over"),
            Some(name) if !found.contains_key(name) => bail!("{name} is missing"),
            Some(name) => bail!("{name} has other bytes than that of undisturbed runs"),
        }
    }
}

/// Whether a command has done everything; 3 says that there were bad rows.
pub(super) fn is_well(ended: &Output) -> bool {
    matches!(ended.status.code(), Some(0 | 3))
}

/// Checks that a process ended with one of these exit codes, or well, and without a panic.
pub(super) fn check_code(ended: &Output, codes: &[i32]) -> Result<()> {
    let said = said(ended);
    ensure!(!said.contains("panicked"), "panicked: {said}");
    let code = ended.status.code().context("a signal ended it")?;
    ensure!(
        is_well(ended) || codes.contains(&code),
        "unexpected end: {said}"
    );
    Ok(())
}

/// Like [`check_code`], and with one clear error unless it ended well.
pub(super) fn check_end(ended: &Output, codes: &[i32]) -> Result<()> {
    check_code(ended, codes)?;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let errors = stderr
        .lines()
        .filter(|line| line.starts_with("tracelake: error: "));
    // The loader ends with 127 before the program runs.
    let fails = !is_well(ended) && ended.status.code() != Some(127);
    ensure!(
        errors.count() == usize::from(fails),
        "not one clear error, but: {stderr}"
    );
    Ok(())
}
