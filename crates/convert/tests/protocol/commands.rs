//! The commands of the workers: `convert` and `commit`, on a trace of two parts with one row each.

use std::fs;
use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;

use tracelake_convert::plan::{Plan, Request, Shard, plan};
use tracelake_convert::run::{Commit, CommitOptions, Outcome, RunOptions, convert};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_lake::store::Unnamed;
use tracelake_location::Location;
use tracelake_schema::TRACES;

/// A command of a worker.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// Converts some parts.
    Convert {
        /// The file numbers; both if absent.
        part: Option<u32>,
        /// The shard, of two.
        shard: Option<u32>,
        take_over: bool,
    },
    Commit {
        unnamed: Unnamed,
    },
}

pub(crate) type Commands = [Command; 2];

/// A plain run for both parts.
pub(crate) fn all() -> Command {
    Command::Convert {
        part: None,
        shard: None,
        take_over: false,
    }
}

/// A plain run for one part.
pub(crate) fn part(number: u32) -> Command {
    Command::Convert {
        part: Some(number),
        shard: None,
        take_over: false,
    }
}

/// One of two shards, each of which has one part.
pub(crate) fn shard(index: u32) -> Command {
    Command::Convert {
        part: None,
        shard: Some(index),
        take_over: false,
    }
}

pub(crate) fn commit() -> Command {
    Command::Commit {
        unnamed: Unnamed::Refuse,
    }
}

/// A commit that removes outputs that no run has recorded.
pub(crate) fn remove_unnamed() -> Command {
    Command::Commit {
        unnamed: Unnamed::Remove,
    }
}

/// A run that takes over.
pub(crate) fn take_over(mut command: Command) -> Command {
    if let Command::Convert { take_over, .. } = &mut command {
        *take_over = true;
    }
    command
}

/// The table that is converted, which has two parts.
const TABLE: &str = "job_events";

/// The plans for both parts, for the first one and for the second one.
static PLANS: LazyLock<[Plan; 3]> = LazyLock::new(|| {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
    let source = tempfile::tempdir().unwrap().keep();
    fs::create_dir(source.join(TABLE)).unwrap();
    for number in 0..2 {
        let name = format!("{TABLE}/part-0000{number}-of-00002.csv.gz");
        let gzip = fs::File::open(format!("{sample}/{name}")).unwrap();
        let mut rows = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(gzip), &mut rows).unwrap();
        let row = rows.lines().next().unwrap();
        let file = fs::File::create(source.join(name)).unwrap();
        let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        writeln!(file, "{row}").unwrap();
        file.finish().unwrap();
    }
    let trace = TRACES
        .iter()
        .find(|trace| trace.tables.iter().any(|table| table.name == TABLE));
    [None, Some("0"), Some("1")].map(|parts| {
        let mut request = Request::new(source.as_path());
        request.trace = trace;
        request.allow_missing = true;
        request.parts = parts.map(|parts| parts.parse().unwrap());
        plan(&Context::new(), &request).unwrap()
    })
});

impl Command {
    /// Carries the command out.
    pub(crate) fn run(&self, lake: &Location) -> Result<Outcome> {
        let context = Context::new().with_threads(1);
        match self {
            Self::Commit { unnamed } => {
                let commit = Commit::open(&context, lake, Duration::ZERO)?;
                let mut options = CommitOptions::default();
                options.unnamed = *unnamed;
                commit.finish(options)
            }
            Self::Convert {
                part,
                shard,
                take_over,
            } => {
                let plan = &PLANS[part.map_or(0, |part| part as usize + 1)];
                let mut options = RunOptions::default();
                options.commits_at_once = Some(1);
                options.take_over = *take_over;
                options.shard = shard.map(|index| Shard { index, of: 2 });
                convert(&context, plan, lake, options)
            }
        }
    }
}
