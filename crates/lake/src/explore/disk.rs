//! A disk in memory, whose calls wait for their turn. After a crash it has what was synced, and no more.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind as Io, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::turns::{NoAnswer, Request, Turns, World};
use crate::backend::system::{Kind, Lock, System, Written};

/// A file or a directory.
#[derive(Debug, Clone, Hash)]
enum Inode {
    File {
        bytes: Vec<u8>,
        synced: Option<Vec<u8>>,
    },
    Directory {
        names: BTreeMap<String, usize>,
        synced: BTreeMap<String, usize>,
    },
}

/// The files of a disk, the locks on them, and the generation of the source.
#[derive(Debug, Clone, Hash)]
pub(super) struct Tree {
    inodes: Vec<Inode>,
    /// Which worker has which lock, and whether it has it alone.
    locks: BTreeSet<(usize, usize, bool)>,
    source: u64,
    /// A counter for handles to locks that one worker may have twice.
    has_links: bool,
}

impl Tree {
    /// A disk with one directory, `/`.
    pub(super) fn new(has_links: bool) -> Self {
        let root = Inode::Directory {
            names: BTreeMap::new(),
            synced: BTreeMap::new(),
        };
        Self {
            inodes: vec![root],
            locks: BTreeSet::new(),
            source: 0,
            has_links,
        }
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut at = 0;
        for name in path.iter().skip(1) {
            let Inode::Directory { names, .. } = &self.inodes[at] else {
                return Err(Io::NotADirectory.into());
            };
            let name = name.to_str().unwrap_or_default();
            at = *names.get(name).ok_or(Io::NotFound)?;
        }
        Ok(at)
    }

    fn names(&mut self, path: &Path) -> io::Result<(&mut BTreeMap<String, usize>, String)> {
        let above = self.find(path.parent().unwrap_or(Path::new("/")))?;
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match &mut self.inodes[above] {
            Inode::Directory { names, .. } => Ok((names, name.to_owned())),
            Inode::File { .. } => Err(Io::NotADirectory.into()),
        }
    }

    fn add(&mut self, path: &Path, inode: Inode) -> io::Result<usize> {
        let number = self.inodes.len();
        let (names, name) = self.names(path)?;
        if names.contains_key(&name) {
            return Err(Io::AlreadyExists.into());
        }
        names.insert(name, number);
        self.inodes.push(inode);
        Ok(number)
    }

    fn collect(&self, at: usize, path: &str, into: &mut BTreeMap<String, Vec<u8>>) {
        match &self.inodes[at] {
            Inode::File { bytes, .. } => {
                into.insert(path.to_owned(), bytes.clone());
            }
            Inode::Directory { names, .. } => {
                for (name, inode) in names {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}/{name}")
                    };
                    self.collect(*inode, &path, into);
                }
            }
        }
    }

    fn is_locked_by_others(&self, inode: usize, worker: usize, alone: bool) -> bool {
        let mut others = self
            .locks
            .iter()
            .filter(|(locked, by, _)| *locked == inode && *by != worker);
        others.any(|(.., is_alone)| alone || *is_alone)
    }
}

impl World for Tree {
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        if let Ok(lake) = self.find(Path::new("/lake")) {
            self.collect(lake, "", &mut files);
        }
        files
    }

    fn is_free(&self, lock: &str, worker: usize) -> bool {
        let inode = self.find(Path::new(lock));
        inode.map_or(true, |inode| !self.is_locked_by_others(inode, worker, true))
    }

    fn kill(&mut self, worker: usize) {
        self.locks.retain(|(_, by, _)| *by != worker);
    }

    fn crash(&mut self) {
        self.locks.clear();
        for inode in &mut self.inodes {
            match inode {
                // What wasn't synced may be anything.
                Inode::File { bytes, synced } => *bytes = synced.clone().unwrap_or_default(),
                Inode::Directory { names, synced } => names.clone_from(synced),
            }
        }
    }

    fn replace_source(&mut self) {
        self.source += 1;
    }

    fn source(&self) -> u64 {
        self.source
    }
}

/// The disk as one worker uses it.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    pub(super) worker: usize,
    pub(super) turns: Arc<Turns<Tree>>,
}

/// An error of the system, which can be hashed.
type Answer<T> = Result<T, Io>;

impl Calls {
    /// Acts without waiting for a turn, where no other worker can tell: on this worker's staged files, and on empty
    /// directories.
    fn ask_privately<T: std::hash::Hash>(
        &self,
        carry_out: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut answer = Err(Io::Other);
        self.turns.at_once(self.worker, |tree| {
            answer = carry_out(tree).map_err(|error| error.kind())
        });
        let heard = format!("{:?}", answer.as_ref().err());
        self.turns.peek(self.worker, |_| heard);
        Ok(answer?)
    }

    fn ask<T: std::hash::Hash>(
        &self,
        request: Request,
        what: impl std::hash::Hash,
        carry_out: impl Fn(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        let answer = self
            .turns
            .ask(self.worker, request, what, |tree| -> Answer<T> {
                carry_out(tree).map_err(|error| error.kind())
            });
        match answer {
            Ok(answer) => Ok(answer?),
            Err(NoAnswer::Killed | NoAnswer::Lost) => Err(io::Error::other("killed")),
        }
    }
}

/// A file being written. Its writes aren't calls of their own: no other worker sees them before the file has a name.
#[derive(Debug)]
struct MemoryFile {
    calls: Calls,
    inode: usize,
}

impl Write for MemoryFile {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.calls.turns.at_once(self.calls.worker, |tree| {
            if let Inode::File { bytes, .. } = &mut tree.inodes[self.inode] {
                bytes.extend_from_slice(more);
            }
        });
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written for MemoryFile {
    fn sync(&mut self) -> io::Result<()> {
        self.calls.turns.at_once(self.calls.worker, |tree| {
            if let Inode::File { bytes, synced } = &mut tree.inodes[self.inode] {
                *synced = Some(bytes.clone());
            }
        });
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    calls: Calls,
    held: (usize, usize, bool),
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.calls.turns.at_once(self.calls.worker, |tree| {
            tree.locks.remove(&self.held);
        });
    }
}

impl System for Calls {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        let inode = self.ask_privately(|tree| {
            tree.add(
                path,
                Inode::File {
                    bytes: Vec::new(),
                    synced: None,
                },
            )
        })?;
        Ok(Box::new(MemoryFile {
            calls: self.clone(),
            inode,
        }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let bytes = self.ask(Request::Read, ("open", path), |tree| {
            let inode = tree.find(path)?;
            match &tree.inodes[inode] {
                Inode::File { bytes, .. } => Ok(bytes.clone()),
                Inode::Directory { .. } => Err(Io::IsADirectory.into()),
            }
        })?;
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    /// Needs no turn: the worker only decides by it what to call next.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Ok(self.turns.peek(self.worker, |tree| {
            match tree.find(path).map(|inode| &tree.inodes[inode]) {
                Err(_) => None,
                Ok(Inode::File { bytes, .. }) => Some(Kind::File(bytes.len() as u64)),
                Ok(Inode::Directory { .. }) => Some(Kind::Directory),
            }
        }))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let names = |tree: &mut Tree| {
            let inode = tree.find(path)?;
            match &tree.inodes[inode] {
                Inode::Directory { names, .. } => Ok(names.keys().cloned().collect::<Vec<_>>()),
                Inode::File { .. } => Err(Io::NotADirectory.into()),
            }
        };
        let names = match is_staged(path) {
            true => self.ask_privately(names),
            false => self.ask(Request::List, ("names", path), names),
        };
        Ok(names?.into_iter().map(OsString::from).collect())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.ask_privately(|tree| {
            let empty = Inode::Directory {
                names: BTreeMap::new(),
                synced: BTreeMap::new(),
            };
            tree.add(path, empty).map(drop)
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.ask(Request::Sync, ("syncdir", path), |tree| {
            let inode = tree.find(path)?;
            if let Inode::Directory { names, synced } = &mut tree.inodes[inode] {
                synced.clone_from(names);
            }
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Request::Call, ("rename", from, to), |tree| {
            let (names, name) = tree.names(from)?;
            let inode = names.remove(&name).ok_or(Io::NotFound)?;
            let (names, name) = tree.names(to)?;
            names.insert(name, inode);
            Ok(())
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Request::Call, ("link", from, to), |tree| {
            if !tree.has_links {
                return Err(Io::Unsupported.into());
            }
            let inode = tree.find(from)?;
            let (names, name) = tree.names(to)?;
            if names.contains_key(&name) {
                return Err(Io::AlreadyExists.into());
            }
            names.insert(name, inode);
            Ok(())
        })
    }

    fn exchange(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(Io::Unsupported.into())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let remove = |tree: &mut Tree| {
            let (names, name) = tree.names(path)?;
            names
                .remove(&name)
                .map(drop)
                .ok_or_else(|| io::Error::from(Io::NotFound))
        };
        match is_staged(path) {
            true => self.ask_privately(remove),
            false => self.ask(Request::Call, ("remove", path), remove),
        }
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.ask_privately(|tree| {
            let inode = tree.find(path)?;
            match &tree.inodes[inode] {
                Inode::Directory { names, .. } if names.is_empty() => {}
                Inode::Directory { .. } => return Err(Io::DirectoryNotEmpty.into()),
                Inode::File { .. } => return Err(Io::NotADirectory.into()),
            }
            let (names, name) = tree.names(path)?;
            names.remove(&name);
            Ok(())
        })
    }

    fn try_lock(&self, path: &Path, is_exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        self.take(Request::Call, path, is_exclusive)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let wait = Request::Wait(path.to_string_lossy().into_owned());
        self.take(wait, path, true)?
            .ok_or_else(|| Io::WouldBlock.into())
    }
}

impl Calls {
    fn take(
        &self,
        request: Request,
        path: &Path,
        alone: bool,
    ) -> io::Result<Option<Box<dyn Lock>>> {
        let worker = self.worker;
        let held = self.ask(request, ("lock", path, alone), |tree| {
            let inode = match tree.find(path) {
                Err(error) if error.kind() == Io::NotFound => tree.add(
                    path,
                    Inode::File {
                        bytes: Vec::new(),
                        synced: Some(Vec::new()),
                    },
                )?,
                found => found?,
            };
            if tree.is_locked_by_others(inode, worker, alone) {
                return Ok(None);
            }
            let held = (inode, worker, alone);
            tree.locks.insert(held);
            Ok(Some(held))
        })?;
        Ok(held.map(|held| {
            Box::new(MemoryLock {
                calls: self.clone(),
                held,
            }) as _
        }))
    }
}

fn is_staged(path: &Path) -> bool {
    path.starts_with("/lake/_tracelake/staging")
}

/// The place of the lake.
pub(super) fn root() -> PathBuf {
    PathBuf::from("/lake")
}
