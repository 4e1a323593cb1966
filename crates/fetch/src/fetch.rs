//! Fetches files, several at a time, into one directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_lake::HOME;
use tracelake_location::Location;

use crate::check::{Checked, check_digest};
use crate::file::{Done, fetch_file};
use crate::partial;
use crate::plan::{FetchPlan, RemoteFile};
use crate::room::Room;
use crate::sums;

/// Files that are fetched at a time.
const AT_A_TIME: usize = 4;

/// The most connections at a time: each file has its next three blocks asked for.
pub const CONNECTIONS: usize = 3 * AT_A_TIME;

/// Files of unknown size whose servers are asked for it before the work begins. Of more, each is checked when it begins.
const MOST_ASKED: usize = 256;

/// The outcome of a fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Files that were fetched.
    pub fetched: u64,
    /// Their bytes, with those of earlier runs.
    pub bytes: u64,
    /// Files that were there, and right.
    pub kept: u64,
    /// How all of them were checked, and how many.
    pub checked: BTreeMap<Checked, u64>,
}

impl Outcome {
    fn of<'a>(done: impl Iterator<Item = &'a Done>) -> Self {
        let mut outcome = Self::default();
        for file in done {
            match file.is_kept {
                true => outcome.kept += 1,
                false => {
                    outcome.fetched += 1;
                    outcome.bytes += file.bytes;
                }
            }
            *outcome.checked.entry(file.checked).or_default() += 1;
        }
        outcome
    }

    /// How many files were checked in a way that this holds for.
    ///
    /// ```
    /// use tracelake_fetch::{Checked, Outcome};
    ///
    /// let mut outcome = Outcome::default();
    /// outcome.checked.insert(Checked::Digest, 7);
    /// assert_eq!(outcome.checked_by(|checked| checked == Checked::Digest), 7);
    /// assert_eq!(outcome.checked_by(|checked| checked == Checked::Size), 0);
    /// ```
    #[must_use]
    pub fn checked_by(&self, is: fn(Checked) -> bool) -> u64 {
        let counts = self.checked.iter().filter(|(checked, _)| is(**checked));
        counts.map(|(_, count)| count).sum()
    }
}

impl FetchPlan {
    /// The bytes of all files; `None` if the size of one isn't known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let mut sizes = self.files.iter().map(|file| file.bytes);
        sizes.try_fold(0_u64, |sum, size| Some(sum.saturating_add(size?)))
    }
}

/// Fetches the files of a plan into a directory. At most [`CONNECTIONS`] are open at a time. A file appears under its
/// name only when it is complete and checked; until then, it ends in `.partial`, which the next run resumes.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if a file isn't what was published: the others are fetched before that. If a server or the disk
/// fails, nothing more is fetched. [`ErrorKind::Refused`] if the disk has too little room, another process fetches the
/// same file, or the directory is a lake.
pub fn fetch(context: &Context, plan: &FetchPlan, directory: &Path) -> Result<Outcome> {
    if directory.join(HOME).is_dir() {
        return Err(Error::new(
            ErrorKind::Refused,
            "this is a lake, and files aren't fetched into one",
        )
        .at(directory)
        .hint("name another directory"));
    }
    let room = Room::of(directory);
    room.check(still_to_come(context, plan, directory)?)?;
    fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
    let work = Work {
        context: &context.for_parts(),
        plan,
        directory,
        room: &room,
        next: AtomicUsize::new(0),
        result: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(plan.files.len()) {
            scope.spawn(|| work.fetch_next());
        }
    });
    let Fetched { done, first_error } = work
        .result
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let written = write_sums(plan, directory, &done);
    // Ctrl-C is the reason, whatever failed because of it.
    let again = "finished files are kept; run the same command again to resume";
    context.check().map_err(|error| error.hint(again))?;
    match first_error {
        Some(error) => return Err(error),
        None => written?,
    }
    check_pieces(context, plan, directory)?;
    Ok(Outcome::of(done.values()))
}

/// The bytes that aren't on disk yet, as far as their number is known.
fn still_to_come(context: &Context, plan: &FetchPlan, directory: &Path) -> Result<u64> {
    let is_left = |file: &&RemoteFile| !directory.join(&file.path).exists();
    let left: Vec<&RemoteFile> = plan.files.iter().filter(is_left).collect();
    let mut unknown: BTreeMap<String, Vec<&RemoteFile>> = BTreeMap::new();
    for file in left
        .iter()
        .filter(|file| file.bytes.is_none())
        .take(MOST_ASKED)
    {
        unknown.entry(file.root.to_string()).or_default().push(file);
    }
    let mut bytes = 0_u64;
    for files in unknown.values() {
        let Some(first) = files.first() else { continue };
        let Location::Url(root) = Location::Url(first.root.clone()).within(context) else {
            continue;
        };
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        for (files, names) in files.chunks(CONNECTIONS).zip(names.chunks(CONNECTIONS)) {
            for (file, size) in files.iter().zip(root.sizes(names)?) {
                let so_far = partial::size_so_far(&directory.join(&file.path));
                bytes = bytes.saturating_add(size.unwrap_or(0).saturating_sub(so_far));
            }
        }
    }
    for file in left {
        let so_far = partial::size_so_far(&directory.join(&file.path));
        bytes = bytes.saturating_add(file.bytes.unwrap_or(0).saturating_sub(so_far));
    }
    Ok(bytes)
}

/// Files that several threads take one by one.
struct Work<'a> {
    context: &'a Context,
    plan: &'a FetchPlan,
    directory: &'a Path,
    room: &'a Room<'a>,
    next: AtomicUsize,
    result: Mutex<Fetched>,
}

/// The outcomes of the files so far, by their places in the plan.
#[derive(Default)]
struct Fetched {
    done: BTreeMap<usize, Done>,
    first_error: Option<Error>,
}

impl Work<'_> {
    /// Fetches one file after the other, until none is left.
    fn fetch_next(&self) {
        while !self.context.is_cancelled() {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.plan.files.get(place) else {
                return;
            };
            let done = fetch_file(self.context, self.directory, self.room, file);
            let mut found = self.result.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                Ok(done) => {
                    self.context.emit(Event::Fetched {
                        path: file.path.clone(),
                        bytes: done.bytes,
                        kept: done.is_kept,
                    });
                    found.done.insert(place, done);
                }
                // The others may be right.
                Err(error) if error.kind() == ErrorKind::Corrupt => match found.first_error {
                    None => found.first_error = Some(error),
                    Some(_) => self.context.warn(error.to_string()),
                },
                Err(error) => {
                    if !matches!(error.kind(), ErrorKind::Stopped(_)) {
                        // What stops the work counts more than a file that is wrong.
                        found.first_error = Some(error);
                    }
                    self.context.fail();
                }
            }
        }
    }
}

/// Writes the published digests of the files that are there.
fn write_sums(plan: &FetchPlan, directory: &Path, done: &BTreeMap<usize, Done>) -> Result<()> {
    let files = done.keys().filter_map(|place| plan.files.get(*place));
    let lines: BTreeMap<String, Digest> = files
        .filter_map(|file| Some((file.path.clone(), file.sha256?)))
        .collect();
    sums::add(directory, &lines)
}

/// Checks files that are published in pieces as a whole.
fn check_pieces(context: &Context, plan: &FetchPlan, directory: &Path) -> Result<()> {
    let wholes = plan.files.iter().filter_map(|file| file.whole.clone());
    let wholes: BTreeMap<String, Option<Digest>> = wholes.collect();
    for (path, sha256) in wholes {
        let whole = Location::from(directory.join(path));
        match sha256 {
            Some(published) => check_digest(context, &whole, published).map(|_| ())?,
            None => tracelake_source::decompress(context, &whole).map(|_| ())?,
        }
    }
    Ok(())
}
