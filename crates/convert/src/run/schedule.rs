//! Files over threads: the largest first.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Parts, Run, Shared};
use crate::error::ErrorKind;
use crate::error::Result;
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
    fn bytes(&self) -> u64 {
        match self {
            Self::Part(_, part) => part.bytes,
            Self::Stream(stream) => stream.bytes,
        }
    }
}

impl Run<'_> {
    /// Converts files side by side, the largest first so that none is left over for the end.
    pub(super) fn convert_all(&self, todo: &[Work<'_>], shared: &Shared) -> Result<Parts> {
        let mut order: Vec<usize> = (0..todo.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(todo[index].bytes()));
        let next = AtomicUsize::new(0);
        let work = |_| {
            let (mut parts, mut failure) = (Parts::new(), None);
            while !self.failed.load(Ordering::Relaxed) {
                let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                let outcome = match todo[index] {
                    Work::Part(table, part) => self.convert_file(shared, table, part),
                    Work::Stream(stream) => self.convert_stream(shared, stream),
                };
                match outcome {
                    Ok(done) => parts.extend(done),
                    Err(error) => {
                        self.failed.store(true, Ordering::Relaxed);
                        failure = Some((index, error));
                    }
                }
            }
            (parts, failure)
        };
        // Threads that no file is left for take over columns of the others.
        let files = rayon::current_num_threads().min(self.run_options.parts);
        let outcomes: Vec<_> = (0..files).into_par_iter().map(work).collect();
        let mut parts = Parts::new();
        let mut failures = Vec::new();
        for (mut done, failure) in outcomes {
            parts.append(&mut done);
            failures.extend(failure);
        }
        // The failure that is first in the plan, whichever thread was first. Parts that stopped because
        // another one failed don't count.
        let first = failures
            .into_iter()
            .min_by_key(|(index, error)| match error.kind() {
                ErrorKind::Stopped(0) => usize::MAX,
                _ => *index,
            });
        first.map_or(Ok(parts), |(_, error)| Err(error))
    }
}
