//! Files over threads: the largest first.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rayon::prelude::*;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::{PartName, Parts};
use tracelake_source::Source;

use super::files::WaitingPart;
use super::run_options::FILES_AHEAD;
use super::step::{Run, no_threads};
use crate::plan::{PartPlan, StreamPlan, TablePlan};

/// A file to convert.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    /// It is a part of a table of the plan.
    Part(&'a TablePlan, &'a PartPlan),
    /// It is cut into parts.
    Stream(&'a StreamPlan),
}

impl Work<'_> {
    pub(super) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Part(_, part) => part.bytes,
            Self::Stream(stream) => stream.bytes,
        }
    }
}

/// A file whose bytes are already on their way; `None` for one that is opened when it is converted.
type OpenedFile = Result<Option<Source>>;

/// The files that no thread has taken yet.
struct Queue {
    /// The indices of those that aren't opened.
    order: VecDeque<usize>,
    opened: VecDeque<(usize, OpenedFile)>,
    /// How many files are requested before a thread takes them; 0 on disk.
    ahead: usize,
}

/// The results of one thread.
#[derive(Default)]
struct Finished {
    parts: Vec<(PartName, PartFacts)>,
    /// By the index of the file.
    failures: Vec<(usize, Error)>,
}

/// The files of a run, and the threads that convert and commit them.
pub(super) struct Schedule<'a> {
    run: &'a Run<'a>,
    todo: &'a [Work<'a>],
    queue: Mutex<Queue>,
}

impl<'a> Schedule<'a> {
    /// The largest file comes first, so that none is left over for the end.
    pub(super) fn new(run: &'a Run<'a>, todo: &'a [Work<'a>]) -> Self {
        let mut order: Vec<usize> = (0..todo.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(todo[index].bytes()));
        let queue = Queue {
            order: order.into(),
            opened: VecDeque::new(),
            ahead: 0,
        };
        Self {
            run,
            todo,
            queue: Mutex::new(queue),
        }
    }

    /// Converts files side by side, and commits their parts.
    pub(super) fn convert_all(&self) -> Result<Parts> {
        // Threads that no file is left for take over columns of the others.
        let files = rayon::current_num_threads().min(self.run.run_options.parts_at_once);
        let ahead = match self.run.plan.source.as_path() {
            Some(_) => 0,
            None => files * FILES_AHEAD,
        };
        self.queue().ahead = ahead;
        let commits = self.run.working.commits(files);
        let commits_at_once = self
            .run
            .run_options
            .commits_at_once
            .unwrap_or(commits.at_once);
        let (staged, received) = sync_channel(commits.queued);
        let received = Arc::new(Mutex::new(received));
        let made = thread::scope(|scope| {
            let commit = |_| {
                let received = received.clone();
                let commit = move || self.commit_staged(&received, commits.together);
                thread::Builder::new().spawn_scoped(scope, commit)
            };
            let committing = (0..commits_at_once.min(most_parts(self.todo)))
                .map(commit)
                .collect::<io::Result<Vec<_>>>()
                .map_err(|error| no_threads(commits_at_once, error))?;
            // If all of them panicked, nothing is received any more.
            drop(received);
            let convert = |_| self.convert_files(&staged);
            let mut made: Vec<Finished> = (0..files).into_par_iter().map(convert).collect();
            drop(staged);
            for commit in committing {
                match commit.join() {
                    Ok(committed) => made.push(committed),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, Error>(made)
        })?;
        let mut all = Finished::default();
        for mut made in made {
            all.parts.append(&mut made.parts);
            all.failures.append(&mut made.failures);
        }
        first_failure(all.failures)?;
        // A thread that is stopped between two files has no failure to report, but files may be left.
        self.run.context.check()?;
        Ok(all.parts.into_iter().collect())
    }

    /// The next file, whose bytes may already be on their way. `None` if there is none.
    fn next_file(&self) -> Option<(usize, OpenedFile)> {
        let mut queue = self.queue();
        while queue.opened.len() <= queue.ahead
            && let Some(index) = queue.order.pop_front()
        {
            let opened = match self.todo[index] {
                Work::Part(table, part) if queue.ahead > 0 && !table.is_parquet => {
                    self.open_ahead(part).map(Some)
                }
                _ => Ok(None),
            };
            queue.opened.push_back((index, opened));
        }
        queue.opened.pop_front()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a server for the start of a file.
    fn open_ahead(&self, part: &PartPlan) -> Result<Source> {
        let path = self.run.plan.source.join(&part.source);
        let mut source = Source::open(&self.run.context, path)?;
        source.prefetch()?;
        Ok(source)
    }

    /// Converts the next file until there is none, or one has failed.
    fn convert_files(&self, staged: &SyncSender<(usize, WaitingPart)>) -> Finished {
        let mut finished = Finished::default();
        // Sending fails only if every receiver has panicked, which ends the run.
        let send = |index, part| drop(staged.send((index, part)));
        while !self.run.context.is_cancelled() {
            let Some((index, opened)) = self.next_file() else {
                break;
            };
            let converted = opened.and_then(|opened| match self.todo[index] {
                Work::Part(table, part) => {
                    let part = self.run.convert_file(table, part, opened);
                    part.map(|part| send(index, part))
                }
                Work::Stream(stream) => self.run.convert_stream(stream).map(|parts| {
                    let made = parts.into_iter().map(WaitingPart::Synced);
                    // Once they are checked, they are kept even if another file fails.
                    let made = made.take_while(|_| !self.is_stopped());
                    made.for_each(|part| send(index, part));
                }),
            });
            if let Err(error) = converted {
                finished.failures.push((index, self.failing(error)));
            }
        }
        finished
    }

    /// Commits what is staged until nothing more comes, up to `together` parts at once: those that came while the ones
    /// before were committed. What was converted stays, whatever fails.
    fn commit_staged(
        &self,
        received: &Mutex<Receiver<(usize, WaitingPart)>>,
        together: usize,
    ) -> Finished {
        let mut finished = Finished::default();
        let next = || {
            let received = received.lock();
            let received = received.unwrap_or_else(PoisonError::into_inner);
            let first = received.recv().into_iter();
            first.chain(received.try_iter()).take(together).collect()
        };
        loop {
            let (indices, parts): (Vec<usize>, Vec<_>) = Vec::into_iter(next()).unzip();
            let Some(&first) = indices.first() else {
                return finished;
            };
            let committed = match self.run.commit_all(parts) {
                Ok(committed) => committed,
                Err(error) => {
                    finished.failures.push((first, self.failing(error)));
                    continue;
                }
            };
            for (index, committed) in indices.into_iter().zip(committed) {
                match committed {
                    Ok(part) => finished.parts.push(part),
                    Err(error) => finished.failures.push((index, self.failing(error))),
                }
            }
        }
    }

    /// Whether a signal has stopped the run.
    fn is_stopped(&self) -> bool {
        let checked = self.run.context.check();
        checked.is_err_and(|error| !matches!(error.kind(), ErrorKind::Stopped(0)))
    }

    /// Makes the other threads stop because of an error.
    fn failing(&self, error: Error) -> Error {
        self.run.context.fail();
        error
    }
}

/// Fails with the failure that is first in the plan, whichever thread was first. What stopped because something else
/// failed doesn't count.
pub(crate) fn first_failure(failures: impl IntoIterator<Item = (usize, Error)>) -> Result<()> {
    let is_stopped = |error: &Error| error.kind() == ErrorKind::Stopped(0);
    let failures = failures.into_iter();
    let first = failures.min_by_key(|(index, error)| (is_stopped(error), *index));
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// The most parts that files become: how many a stream is cut into isn't known.
fn most_parts(todo: &[Work<'_>]) -> usize {
    let is_stream = |work: &Work<'_>| matches!(work, Work::Stream(_));
    match todo.iter().any(is_stream) {
        true => usize::MAX,
        false => todo.len(),
    }
}
