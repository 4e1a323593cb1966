//! The events of one race, as plain data that is drawn from a seed.

/// One race: a prefix of a bucket, and the writers that work on it at the same time.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// Equal seeds give equal schedules.
    pub(super) seed: u64,
    pub(super) start: Start,
    pub(super) writers: Vec<Writer>,
}

/// An index into [`SELECTIONS`]: what a writer is asked to convert.
pub(super) type Selection = usize;

/// The tables of each selection, as indices into those of the trace (all tables if there are none), and
/// its file numbers (all if empty). They overlap.
pub(super) const SELECTIONS: &[(&[usize], &str)] = &[
    (&[], ""),
    (&[0], ""),
    (&[1, 2], ""),
    (&[3, 4, 5], ""),
    (&[0, 3], ""),
    (&[], "0"),
];

/// The state below the prefix when a race begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Start {
    Empty,
    /// A finished lake.
    Finished(Selection),
    /// A finished lake with release files.
    Released(Selection),
    /// A lake of which one shard of two is converted.
    Begun(Selection),
}

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    /// When it is started, in milliseconds after the race begins.
    pub(super) starts_ms: u64,
    pub(super) task: Task,
    pub(super) selection: Selection,
    pub(super) end: End,
    pub(super) network: Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Convert,
    Shard { index: u64, of: u64 },
    Commit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Not disturbed.
    Undisturbed,
    /// SIGKILL, in milliseconds after its start.
    Killed { after_ms: u64 },
    /// SIGKILL while it waits for the answer to this write, counted from 0; the store has carried the write
    /// out if `is_done`.
    KilledAtWrite { nth: u64, is_done: bool },
}

/// The treatment of one writer's requests by the proxy. Shares are in thousandths of its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Network {
    /// Carried out, but the connection ends without an answer.
    pub(super) lost: u64,
    /// Carried out twice; the answer is the first or the second one.
    pub(super) doubled: u64,
    /// The longest that a request is delayed, in milliseconds.
    pub(super) slow_ms: u64,
    /// The greatest age of a listing, in milliseconds.
    pub(super) lag_ms: u64,
}

impl Schedule {
    /// Draws the race of a seed.
    pub(super) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let any = |dice: &mut Dice| dice.index(SELECTIONS.len());
        let start = match dice.below(8) {
            0 => Start::Finished(any(&mut dice)),
            1 => Start::Released(any(&mut dice)),
            2 => Start::Begun(any(&mut dice)),
            _ => Start::Empty,
        };
        // In every third race, all writers are asked for the same.
        let common = dice.one_in(3).then(|| any(&mut dice));
        let of = 2 + dice.below(2);
        let count = 2 + dice.below(5);
        let writer = |number: u64, dice: &mut Dice| Writer {
            starts_ms: if dice.one_in(2) { 0 } else { dice.below(900) },
            task: match dice.below(9) {
                0..4 => Task::Convert,
                4..8 => Task::Shard {
                    index: number % of,
                    of,
                },
                _ => Task::Commit,
            },
            selection: common.unwrap_or_else(|| any(dice)),
            end: match dice.below(6) {
                0 => End::Killed {
                    after_ms: dice.below(1_500),
                },
                1 => End::KilledAtWrite {
                    nth: dice.below(30),
                    is_done: dice.one_in(2),
                },
                _ => End::Undisturbed,
            },
            network: dice.network(),
        };
        let writers = (0..count).map(|number| writer(number, &mut dice)).collect();
        Self {
            seed,
            start,
            writers,
        }
    }

    /// A line for the start and one for each writer.
    pub(super) fn lines(&self) -> String {
        let mut lines = format!("seed {}, {:?}\n", self.seed, self.start);
        for (number, writer) in self.writers.iter().enumerate() {
            lines += &format!("  writer {number}: {writer:?}\n");
        }
        lines
    }
}

/// Numbers from a seed (SplitMix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `limit`; 0 if that is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
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
            _ => network.lag_ms = 2_000,
        }
        if self.one_in(3) {
            network.lag_ms = 2_000;
            network.lost = 50;
        }
        network
    }
}
