//! Expected results of a race: lakes on disk that undisturbed runs made in turn, and the checks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};

use super::moto::Objects;
use super::schedule::{SELECTIONS, Selection};
use crate::rig::{Scratch, published_in_parts, text, tree};

/// The exit code of a refusal.
const REFUSED: i32 = 6;

pub(super) const MANIFEST: &str = "_tracelake/manifest.json";

/// A program, its source, and the lakes that it makes of it undisturbed.
pub(super) struct Judge {
    program: PathBuf,
    scratch: Scratch,
    lakes: RefCell<BTreeMap<(BTreeSet<Selection>, bool), Objects>>,
}

impl Judge {
    /// Generates the source: few rows, so that the time of a run goes into requests.
    pub(super) fn new(program: PathBuf) -> Result<Self> {
        let scratch = Scratch::new("races")?;
        let mut generate = Command::new(&program);
        generate
            .args(["generate", published_in_parts()?.name])
            .arg(scratch.join("source"))
            .args(["--parts", "2", "--rows", "200"]);
        ended_well(generate)?;
        let lakes = RefCell::default();
        Ok(Self {
            program,
            scratch,
            lakes,
        })
    }

    /// A file for what a writer says.
    pub(super) fn log(&self, writer: usize) -> PathBuf {
        self.scratch.join(format!("stderr-{writer}"))
    }

    /// The program in an environment with this store and nothing of others.
    pub(super) fn command(&self, address: &str, user: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("AWS_ENDPOINT_URL", format!("http://{address}"))
            .env("AWS_ACCESS_KEY_ID", user)
            .env("AWS_SECRET_ACCESS_KEY", "tests");
        command
    }

    /// The arguments that convert a selection.
    pub(super) fn convert(&self, selection: Selection, out: &str) -> Result<Vec<String>> {
        let source = self.scratch.join("source").display().to_string();
        let mut arguments = vec!["convert".to_owned(), source, out.to_owned()];
        arguments.extend(["--threads", "2"].map(str::to_owned));
        let (tables, parts) = SELECTIONS.get(selection).context("no such selection")?;
        if !tables.is_empty() {
            let all = published_in_parts()?.tables;
            let known: Option<Vec<&str>> = tables
                .iter()
                .map(|&index| Some(all.get(index)?.name))
                .collect();
            let names = known.context("a trace with fewer tables")?;
            arguments.extend(["--tables".to_owned(), names.join(",")]);
        }
        if !parts.is_empty() {
            arguments.extend(["--parts", parts].map(str::to_owned));
        }
        Ok(arguments)
    }

    /// The lake of these selections, converted on disk one after the other, and released if asked for.
    pub(super) fn lake(
        &self,
        selections: &BTreeSet<Selection>,
        is_released: bool,
    ) -> Result<Objects> {
        let key = (selections.clone(), is_released);
        if let Some(lake) = self.lakes.borrow().get(&key) {
            return Ok(lake.clone());
        }
        let out = self.scratch.join("reference");
        for &selection in selections {
            let mut command = Command::new(&self.program);
            command.args(self.convert(selection, &out.display().to_string())?);
            ended_well(command)?;
        }
        if is_released {
            let mut command = Command::new(&self.program);
            command.arg("release").arg(&out).arg("--allow-missing");
            ended_well(command)?;
        }
        let files = tree(&out)?.into_iter();
        let lake: Objects = files
            .map(|(path, bytes)| (path.display().to_string(), bytes))
            .collect();
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        self.lakes.borrow_mut().insert(key, lake.clone());
        Ok(lake)
    }

    /// Checks that a finished lake has everything that runs with exit 0 wrote: named in its manifest, and
    /// with the right bytes.
    pub(super) fn check_kept(&self, found: &Objects, done: &BTreeSet<Selection>) -> Result<()> {
        let stored = found.get(MANIFEST).context("there is no manifest")?;
        let manifest = String::from_utf8_lossy(stored);
        for (name, bytes) in self.lake(done, false)? {
            if name.starts_with("_tracelake/") {
                continue;
            }
            ensure!(
                manifest.contains(&format!("\"{name}\"")),
                "LOST: a run with exit 0 wrote {name}, and the manifest doesn't name it"
            );
            ensure!(
                found.get(&name) == Some(&bytes),
                "LOST: a run with exit 0 wrote {name}, which is missing or has other bytes"
            );
        }
        Ok(())
    }

    /// Checks that data files have the bytes of an undisturbed run, whatever the manifest names.
    pub(super) fn check_data(&self, found: &Objects) -> Result<()> {
        let all = self.lake(&BTreeSet::from([0]), false)?;
        for (name, bytes) in found {
            let is_data = all.contains_key(name) && !name.starts_with("_tracelake/");
            ensure!(
                !is_data || all.get(name) == Some(bytes),
                "{name} has other bytes than after one undisturbed run"
            );
        }
        Ok(())
    }

    /// Checks that the objects are those of one lake, and nothing else.
    pub(super) fn check_same(found: &Objects, expected: &Objects) -> Result<()> {
        for (name, bytes) in found {
            match expected.get(name) {
                None => bail!("{name} is left over"),
                Some(right) => ensure!(right == bytes, "{name} has other bytes"),
            }
        }
        let missing = expected.keys().find(|name| !found.contains_key(*name));
        ensure!(missing.is_none(), "{missing:?} is missing");
        Ok(())
    }
}

fn ended_well(mut command: Command) -> Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", text(&output));
    Ok(())
}

/// Checks that a process ended with an exit code that it may have, and with one clear error unless it is 0.
pub(super) fn check_end(output: &Output, may_refuse: bool, is_disturbed: bool) -> Result<()> {
    let said = text(output);
    ensure!(!said.contains("panicked"), "a panic: {said}");
    match output.status.code() {
        Some(0) => return Ok(()),
        Some(REFUSED) if may_refuse => {}
        Some(1) if is_disturbed => {}
        _ => bail!("unexpected end: {said}"),
    }
    let errors = said
        .lines()
        .filter(|line| line.contains("tracelake: error: "));
    ensure!(errors.count() == 1, "not one clear error: {said}");
    Ok(())
}
