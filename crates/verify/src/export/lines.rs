//! Lines in the order of arrival.

use std::io;
use std::path::Path;

use tracelake_convert::sorting::{CLASS_BYTES, Merge, Row, Sorter, reduce};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};

/// The bytes of lines that are sorted in memory.
const SORTED: usize = 64 << 20;

/// The most runs of sorted lines that are merged at a time.
const MOST_RUNS: usize = 256;

/// The bytes of a time in a place.
const TIME_BYTES: usize = size_of::<u64>();

/// Lines with the times of their arrival. Lines of one time stay in the order in which they came.
pub(super) struct Lines<'a> {
    directory: &'a Path,
    sorter: Sorter,
    count: u64,
    line: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// No lines; they are sorted in a file without a name in this directory.
    pub(super) fn new(directory: &'a Path) -> Result<Self> {
        Ok(Self {
            directory,
            sorter: Sorter::new(directory, SORTED, 1).map_err(elsewhere)?,
            count: 0,
            line: Vec::new(),
        })
    }

    /// Adds a line, which `write` writes.
    pub(super) fn push(
        &mut self,
        time: i64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.line.clear();
        write(&mut self.line)?;
        // Bytes in the order of times, which have a sign.
        let time = time.cast_unsigned() ^ (1 << 63);
        let mut place = [0; CLASS_BYTES + 2 * TIME_BYTES];
        place[CLASS_BYTES..][..TIME_BYTES].copy_from_slice(&time.to_be_bytes());
        place[CLASS_BYTES + TIME_BYTES..].copy_from_slice(&self.count.to_be_bytes());
        self.count += 1;
        let row = Row {
            place: &place,
            values: &self.line,
        };
        self.sorter.push(row).map_err(elsewhere)
    }

    /// Gives each line, and its time, to `take`, in their order.
    pub(super) fn for_each(
        self,
        context: &Context,
        mut take: impl FnMut(i64, &[u8]) -> io::Result<()>,
        failed: impl Fn(io::Error) -> Error,
    ) -> Result<()> {
        let runs = self.sorter.finish().map_err(elsewhere)?;
        let runs = reduce(context, runs, MOST_RUNS, 1, self.directory).map_err(elsewhere)?;
        let mut merge = Merge::open(&runs, 0).map_err(elsewhere)?;
        while merge.advance().map_err(elsewhere)? {
            let row = merge.row().expect("there is a row after an advance");
            let time = row.place[CLASS_BYTES..].first_chunk();
            let time = u64::from_be_bytes(*time.expect("a place has a time")) ^ (1 << 63);
            take(time.cast_signed(), row.values).map_err(&failed)?;
        }
        Ok(())
    }
}

/// An error of sorting, with what helps.
fn elsewhere(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Failed => error.hint("free some space, or export to a larger disk"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_the_order_of_their_times() {
        let scratch = tempfile::tempdir().unwrap();
        let mut lines = Lines::new(scratch.path()).unwrap();
        let times = (0..1000).map(|line| (line * 7919) % 101 - 50);
        let times = times.chain([i64::MAX, i64::MIN]);
        let mut expected: Vec<(i64, String)> = times
            .zip(0..)
            .map(|(time, line)| (time, format!("line {line}")))
            .collect();
        for (time, line) in &expected {
            let write = |text: &mut Vec<u8>| {
                text.extend_from_slice(line.as_bytes());
                Ok(())
            };
            lines.push(*time, write).unwrap();
        }
        expected.sort_by_key(|(time, _)| *time);
        let mut found = Vec::new();
        let take = |time, line: &[u8]| {
            found.push((time, String::from_utf8(line.to_vec()).unwrap()));
            Ok(())
        };
        lines
            .for_each(&Context::new(), take, |error| panic!("{error}"))
            .unwrap();
        assert_eq!(found, expected);
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0);
    }
}
