//! The events of one race, as plain data that is drawn from a seed.

use std::collections::BTreeSet;

use crate::workspace::FORMATS;

/// One race: a lake, and the runs that work on it at the same time.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// An index into [`FORMATS`].
    pub(super) format: usize,
    pub(super) is_in_bucket: bool,
    /// Runs before the race, which nothing disturbs.
    pub(super) before: Vec<Task>,
    pub(super) writers: Vec<Writer>,
    /// Whether the lake is finished by shards and not by plain runs.
    pub(super) ends_with_shards: bool,
}

/// An index into [`SELECTIONS`]: what a run is asked to convert.
pub(super) type Selection = usize;

/// The tables of each selection, as indices into those of the trace (all tables if there are none), and its file numbers
/// (all if empty). They overlap.
pub(super) const SELECTIONS: &[(&[usize], &str)] = &[
    (&[], ""),
    (&[0], ""),
    (&[1, 2], ""),
    (&[3, 4, 5], ""),
    (&[0, 3], ""),
    (&[], "0"),
];

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Convert(Selection),
    /// A shard, by its index and their number.
    Shard(Selection, u64, u64),
    Commit,
    Forget,
    Release,
    Verify,
}

impl Task {
    /// The selection that is converted; `None` if nothing is.
    pub(super) fn selection(self) -> Option<Selection> {
        match self {
            Self::Convert(selection) | Self::Shard(selection, ..) => Some(selection),
            _ => None,
        }
    }
}

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    /// When it is started, in milliseconds after the race begins.
    pub(super) starts_ms: u64,
    pub(super) task: Task,
    pub(super) end: End,
    pub(super) network: Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Undisturbed,
    /// SIGKILL, in milliseconds after its start.
    Killed {
        after_ms: u64,
    },
    /// SIGKILL before it gets the answer to this write, counted from 0; the store carries the write out if `is_done`.
    KilledAtWrite {
        nth: u64,
        is_done: bool,
    },
}

/// The treatment of one writer's requests by the store. Shares are in thousandths of its requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Network {
    /// Carried out, but the connection ends without an answer.
    pub(super) lost: u64,
    /// Carried out twice; the answer is the second one.
    pub(super) doubled: u64,
    /// The longest that a request is delayed, in milliseconds.
    pub(super) slow_ms: u64,
    /// How many of the last changes a listing may lack.
    pub(super) lag: u64,
}

impl Schedule {
    /// Draws the race of a seed. Equal seeds give equal schedules.
    pub(super) fn draw(seed: u64, only: Option<&str>) -> Self {
        let mut dice = Dice(seed);
        let any = |dice: &mut Dice| dice.index(SELECTIONS.len());
        let in_any_place = dice.one_in(2);
        let is_in_bucket = only.map_or(in_any_place, |only| only == "bucket");
        let first = any(&mut dice);
        let before = match dice.below(10) {
            0 => vec![Task::Convert(first)],
            1 => vec![Task::Convert(first), Task::Release],
            2 => vec![Task::Shard(first, 0, 2)],
            3 => vec![Task::Shard(first, 0, 2), Task::Shard(first, 1, 2)],
            _ => Vec::new(),
        };
        // In every third race, all runs are asked for the same.
        let common = dice.one_in(3).then_some(first);
        let of = 2 + dice.below(2);
        let mut writer = |number: u64| {
            let selection = common.unwrap_or_else(|| any(&mut dice));
            Writer {
                starts_ms: dice.moment(),
                task: match dice.below(9) {
                    0..4 => Task::Convert(selection),
                    4..8 => Task::Shard(selection, number % of, of),
                    _ => Task::Commit,
                },
                end: match dice.below(6) {
                    0 if is_in_bucket => End::KilledAtWrite {
                        nth: dice.below(30),
                        is_done: dice.one_in(2),
                    },
                    0 | 1 => End::Killed {
                        after_ms: dice.moment(),
                    },
                    _ => End::Undisturbed,
                },
                network: match is_in_bucket {
                    true => dice.network(),
                    false => Network::default(),
                },
            }
        };
        let count = 1 + seed % 6;
        Self {
            writers: (0..count).map(&mut writer).collect(),
            format: dice.index(FORMATS.len()),
            is_in_bucket,
            before,
            ends_with_shards: dice.one_in(2),
        }
    }

    /// The selections that all runs together are asked for.
    pub(super) fn asked(&self) -> BTreeSet<Selection> {
        let writers = self.writers.iter().map(|writer| writer.task);
        let tasks = self.before.iter().copied().chain(writers);
        tasks.filter_map(Task::selection).collect()
    }
}

/// Numbers from a seed (SplitMix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number less than `limit`; 0 if that is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(limit).unwrap_or(0)
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// A moment of a race, in milliseconds. Soon is as probable as late: how long a run takes depends on the machine and
    /// on the others.
    fn moment(&mut self) -> u64 {
        let most = 8 << self.below(8);
        self.below(most)
    }

    /// Half of the networks are perfect.
    fn network(&mut self) -> Network {
        let mut network = Network::default();
        if self.one_in(2) {
            return network;
        }
        match self.below(4) {
            0 => network.lost = 100,
            1 => network.doubled = 150,
            2 => network.slow_ms = 20 + self.below(150),
            _ => network.lag = 30,
        }
        if self.one_in(3) {
            network.lag = 30;
            network.lost = 50;
        }
        network
    }
}
