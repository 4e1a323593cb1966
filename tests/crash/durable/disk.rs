//! A disk as a power cut would leave it, from the calls that programs made: which bytes and which names are
//! on it for sure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tracelake_testkit::{LOCKS, tree};

const MANIFEST: &str = "_tracelake/manifest.json";
const STAGING: &str = "_tracelake/staging";
const FACTS: &str = "_tracelake/facts";

/// The lake on a disk, and what is in doubt of it. What is above the lake counts only if it was made for it.
pub(super) struct Disk {
    root: PathBuf,
    /// Files that were renamed to their names, and directories that were made.
    made: BTreeSet<PathBuf>,
    /// Files with bytes that no fsync has covered.
    unsynced: BTreeSet<PathBuf>,
    /// Names that were made since the last fsync of their directory.
    unsynced_names: BTreeSet<PathBuf>,
    /// Names that were removed since the last fsync of their directory.
    unsynced_removals: BTreeSet<PathBuf>,
    /// Calls that came too early.
    wrong: Vec<String>,
}

impl Disk {
    /// The lake at `root` is on the disk as it is, or isn't there.
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            made: tree(root)
                .unwrap_or_default()
                .into_keys()
                .map(|name| root.join(name))
                .collect(),
            unsynced: BTreeSet::new(),
            unsynced_names: BTreeSet::new(),
            unsynced_removals: BTreeSet::new(),
            wrong: Vec::new(),
        }
    }

    /// Takes note of the calls that a program made, one in a line as `record.c` writes them, and checks that
    /// each came when it was safe.
    pub(super) fn replay(&mut self, calls: &str) {
        for line in calls.lines() {
            let [call, path, other] = *line.split('\t').collect::<Vec<_>>() else {
                panic!("not a call: {line}");
            };
            let path = Path::new(path);
            match call {
                "write" if !path.starts_with(&self.root) => {}
                "write" => {
                    self.unsynced.insert(path.to_owned());
                }
                "sync" => self.sync(path),
                "rename" => self.rename(path, Path::new(other)),
                "link" => self.link(path, Path::new(other)),
                "mkdir" => self.name(path),
                "remove" => self.remove(path),
                _ => panic!("an unknown call: {line}"),
            }
        }
    }

    fn sync(&mut self, path: &Path) {
        self.unsynced.remove(path);
        let is_elsewhere = |name: &PathBuf| name.parent() != Some(path);
        self.unsynced_names.retain(is_elsewhere);
        self.unsynced_removals.retain(is_elsewhere);
    }

    fn name(&mut self, path: &Path) {
        self.made.insert(path.to_owned());
        self.unsynced_removals.remove(path);
        self.unsynced_names.insert(path.to_owned());
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        if self.unsynced.remove(from) {
            self.complain(to, "gets its name before its bytes are synced");
        }
        if to == self.root.join(MANIFEST) {
            self.check_outputs("when the manifest gets its name");
        }
        self.forget(from);
        self.name(to);
    }

    fn link(&mut self, from: &Path, to: &Path) {
        if self.unsynced.contains(from) {
            self.complain(to, "gets its name before its bytes are synced");
        }
        if to == self.root.join(MANIFEST) {
            self.check_outputs("when the manifest gets its name");
        }
        self.name(to);
    }

    fn remove(&mut self, path: &Path) {
        // Entries of a directory are gone for sure once the directory is.
        self.unsynced_removals
            .retain(|name| !name.starts_with(path));
        self.forget(path);
        self.unsynced_removals.insert(path.to_owned());
    }

    fn forget(&mut self, path: &Path) {
        self.made.remove(path);
        self.unsynced.remove(path);
        self.unsynced_names.remove(path);
    }

    /// Whether a path is what a manifest names: in a table's directory, or a rejects file.
    fn is_output(&self, path: &Path) -> bool {
        let Ok(path) = path.strip_prefix(&self.root) else {
            return false;
        };
        let in_table = path.components().count() > 1 && !path.starts_with("_tracelake");
        in_table || path.starts_with("_tracelake/rejects")
    }

    /// Complains of outputs that a power cut would undo, and of others that it would bring back.
    fn check_outputs(&mut self, when: &str) {
        let parents = self.made.iter().filter(|path| self.is_output(path));
        let parents: BTreeSet<&Path> = parents.flat_map(|path| path.ancestors()).collect();
        let names = self.unsynced_names.iter();
        let names = names.filter(|path| self.is_output(path) || parents.contains(path.as_path()));
        let home = self.root.join("_tracelake");
        let removals = self.unsynced_removals.iter();
        let removals = removals.filter(|path| self.is_output(path) || !path.starts_with(&home));
        let doubts: Vec<PathBuf> = names.chain(removals).cloned().collect();
        for path in doubts {
            self.complain(&path, &format!("is not in a synced directory {when}"));
        }
    }

    fn complain(&mut self, path: &Path, what: &str) {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        self.wrong.push(format!("{} {what}", path.display()));
    }

    /// Checks that a lake is on the disk as it is now, after the end of a program that said so; returns what is
    /// wrong with this and with all calls before.
    pub(super) fn close(mut self) -> Result<(), String> {
        for name in tree(&self.root).unwrap_or_default().into_keys() {
            let path = self.root.join(&name);
            if !LOCKS.contains(&&name[..]) && !self.made.contains(&path) {
                self.complain(&path, "got its name in another way than by a rename");
            }
        }
        let staging = self.root.join(STAGING);
        let doubts = self.unsynced_names.iter().chain(&self.unsynced_removals);
        let doubts = doubts.chain(&self.unsynced);
        // If facts of committed parts come back, they count for nothing.
        let facts = self.root.join(FACTS);
        let is_facts = |path: &&PathBuf| path.starts_with(&facts) && !path.exists();
        let doubts = doubts.filter(|path| !path.starts_with(&staging) && !is_facts(path));
        let doubts: Vec<PathBuf> = doubts.cloned().collect();
        for path in doubts {
            self.complain(&path, "is not synced at the end");
        }
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(self.wrong.join("\n  ")),
        }
    }
}
