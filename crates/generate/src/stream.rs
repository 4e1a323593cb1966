//! The rows of the simulated cluster, and what each quantity of a row looks like in a file.
//!
//! A stream is a type of row; its quantities are a list of names and of functions that append the
//! text. A new stream is one more type and one more field of [`crate::sheet::Sheets`].

use crate::cell::ITEM;
use crate::job::Constraint;
use crate::number::{Amount, decimal, general, hash};
use crate::profile;
use crate::random::{Random, mix, quantile, scale};
use crate::usage::Measurement;

/// A quantity of a row: the name that the catalog maps a column to, and how it is written.
pub(crate) type Quantity<R> = (&'static str, fn(&R, &mut Vec<u8>));

/// Finds a quantity by its name.
pub(crate) fn quantity<R>(quantities: &[Quantity<R>], name: &str) -> Option<fn(&R, &mut Vec<u8>)> {
    let found = quantities.iter().find(|quantity| quantity.0 == name);
    found.map(|&(_, write)| write)
}

/// A type of row.
pub(crate) trait Row: Sized + 'static {
    /// The name that the catalog maps a table to.
    const STREAM: &'static str;
    /// Every quantity of a row.
    const QUANTITIES: &'static [Quantity<Self>];
    /// The quantities that the cluster itself leaves empty, in the share that the catalog gives.
    const OWN_EMPTY: &'static [&'static str] = &[];
    /// What the numbers of a quantity mean, by name, for columns whose codes are other numbers.
    const NAMES: &'static [(&'static str, &'static [&'static str])] = &[];
    /// The job of a row, whose quantities the row has too.
    const JOB: Option<fn(&Self) -> &JobFacts> = None;
    /// The usage of a row, whose quantities the row has too.
    const USAGE: Option<fn(&Self) -> &TaskUsage> = None;
}

/// The kinds of events and the reasons for a record that was made up.
const EVENT_NAMES: &[(&str, &[&str])] = &[
    (
        "event.type",
        &[
            "SUBMIT",
            "SCHEDULE",
            "EVICT",
            "FAIL",
            "FINISH",
            "KILL",
            "LOST",
            "UPDATE_PENDING",
            "UPDATE_RUNNING",
        ],
    ),
    (
        "event.missing",
        &[
            "SNAPSHOT_BUT_NO_TRANSITION",
            "NO_SNAPSHOT_OR_TRANSITION",
            "EXISTS_BUT_NO_CREATION",
        ],
    ),
];

/// Cycles per instruction, which some machines do not count.
pub(crate) const CPI: &str = "usage.cpi";
/// Memory accesses per instruction, which are missing wherever [`CPI`] are.
pub(crate) const MAI: &str = "usage.mai";
/// What a constraint compares with; a job's tasks all have the same.
pub(crate) const CONSTRAINT_VALUE: &str = "constraint.value";

/// What the events of a job and of its tasks repeat about the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobFacts {
    pub(crate) id: u64,
    pub(crate) user: u64,
    pub(crate) class: u8,
    pub(crate) priority: u8,
    pub(crate) name: u64,
    pub(crate) logical_name: u64,
    pub(crate) different_machines: bool,
}

/// What a task may use at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) cpu: Amount,
    pub(crate) memory: Amount,
    pub(crate) disk: Amount,
}

#[derive(Debug)]
pub(crate) struct JobEvent {
    pub(crate) time: u64,
    pub(crate) missing: Option<u8>,
    pub(crate) kind: u8,
    pub(crate) job: JobFacts,
}

#[derive(Debug)]
pub(crate) struct TaskEvent {
    pub(crate) time: u64,
    pub(crate) missing: Option<u8>,
    pub(crate) kind: u8,
    pub(crate) index: u32,
    pub(crate) machine: Option<u64>,
    pub(crate) job: JobFacts,
    /// Absent where the record of the task's creation is.
    pub(crate) request: Option<Request>,
    pub(crate) constraints: Vec<Constraint>,
}

#[derive(Debug)]
pub(crate) struct MachineEvent {
    pub(crate) time: u64,
    pub(crate) machine: u64,
    pub(crate) kind: u8,
    pub(crate) platform: u64,
    /// CPUs and memory.
    pub(crate) capacity: Option<(Amount, Amount)>,
}

/// The value of a machine's attribute, or what a constraint compares it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    Counted(u64),
    Hashed(u64),
}

#[derive(Debug)]
pub(crate) struct MachineAttribute {
    pub(crate) time: u64,
    pub(crate) machine: u64,
    pub(crate) name: u64,
    pub(crate) value: Value,
    pub(crate) deleted: bool,
}

#[derive(Debug)]
pub(crate) struct TaskConstraint {
    pub(crate) time: u64,
    pub(crate) job: u64,
    pub(crate) index: u32,
    pub(crate) operator: u8,
    pub(crate) attribute: u64,
    pub(crate) value: Value,
}

#[derive(Debug)]
pub(crate) struct TaskUsage {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) job: JobFacts,
    pub(crate) index: u32,
    pub(crate) machine: u64,
    pub(crate) used: Measurement,
    /// Absent where the machine's counters were not read.
    pub(crate) cpi: Option<Amount>,
    pub(crate) mai: Option<Amount>,
}

/// An event of a task joined with a window of its usage.
#[derive(Debug)]
pub(crate) struct JoinedUsage {
    pub(crate) number: u64,
    pub(crate) time: u64,
    pub(crate) code: u64,
    pub(crate) request: Request,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) usage: TaskUsage,
}

fn small(out: &mut Vec<u8>, value: u8) {
    decimal(out, u64::from(value));
}

fn flag(out: &mut Vec<u8>, value: bool) {
    out.push(if value { b'1' } else { b'0' });
}

impl Value {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Counted(value) => decimal(out, value),
            Self::Hashed(key) => hash(out, key),
        }
    }
}

impl JobFacts {
    pub(crate) const QUANTITIES: &'static [Quantity<Self>] = &[
        ("job.id", |job, out| decimal(out, job.id)),
        ("job.user", |job, out| hash(out, job.user)),
        ("job.scheduling_class", |job, out| small(out, job.class)),
        ("job.name", |job, out| hash(out, job.name)),
        ("job.logical_name", |job, out| hash(out, job.logical_name)),
        ("job.priority", |job, out| small(out, job.priority)),
        ("job.raw_priority", |job, out| {
            let rank = usize::from(job.priority).min(profile::RAW_PRIORITY.len() - 1);
            decimal(out, profile::RAW_PRIORITY[rank]);
        }),
        ("collection.type", |job, out| {
            decimal(out, job.pick(1, &profile::COLLECTION_TYPE));
        }),
        ("collection.parent", |job, out| {
            if job.happens(2, profile::CHILDREN) {
                decimal(out, job.earlier(2));
            }
        }),
        ("collection.start_after", |job, out| {
            for turn in 0..job.pick(3, &profile::START_AFTER) {
                separate(out, turn);
                decimal(out, job.earlier(30 + turn));
            }
        }),
        ("collection.max_per_machine", |job, out| {
            decimal(out, u64::from(job.different_machines));
        }),
        ("collection.max_per_switch", |job, out| {
            decimal(out, job.pick(4, &profile::MAX_PER_SWITCH));
        }),
        ("collection.vertical_scaling", |job, out| {
            decimal(out, job.pick(5, &profile::VERTICAL_SCALING));
        }),
        ("collection.scheduler", |job, out| {
            // Batch work of low priority has a scheduler of its own.
            flag(out, (3..6).contains(&job.priority));
        }),
        ("alloc.collection", |job, out| {
            decimal(out, job.alloc().unwrap_or(0));
        }),
    ];

    /// An alloc set that the tasks run in, for some jobs.
    fn alloc(&self) -> Option<u64> {
        self.happens(6, profile::IN_ALLOCS).then(|| self.earlier(6))
    }

    /// Whether something is so for the job, which it is for so many in a million.
    fn happens(&self, what: u64, times: u64) -> bool {
        scale(mix(self.id, what), 1_000_000) < times
    }

    /// The index of one of several weights, in proportion to them and always the same for a job.
    fn pick(&self, what: u64, weights: &[u32]) -> u64 {
        let index = Random::new(mix(self.id, what)).weighted(weights);
        u64::try_from(index).unwrap_or(0)
    }

    /// The id of something that was there before the job.
    fn earlier(&self, what: u64) -> u64 {
        self.id - scale(mix(self.id, what), self.id.min(100_000))
    }
}

/// Parts the items of a list.
fn separate(out: &mut Vec<u8>, turn: u64) {
    if turn > 0 {
        out.push(ITEM);
    }
}

/// The number of the alloc instance that a task runs in, or -1.
fn alloc_index(out: &mut Vec<u8>, job: &JobFacts, index: u32) {
    match job.alloc() {
        Some(_) => decimal(out, u64::from(index)),
        None => out.extend_from_slice(b"-1"),
    }
}

/// One part of each of the constraints.
fn constraints(out: &mut Vec<u8>, constraints: &[Constraint], part: fn(&Constraint, &mut Vec<u8>)) {
    for (turn, constraint) in (0..).zip(constraints) {
        separate(out, turn);
        part(constraint, out);
    }
}

impl Row for JobEvent {
    const STREAM: &'static str = "job events";
    const NAMES: &'static [(&'static str, &'static [&'static str])] = EVENT_NAMES;
    const JOB: Option<fn(&Self) -> &JobFacts> = Some(|row| &row.job);
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.missing", |row, out| {
            row.missing.into_iter().for_each(|why| small(out, why))
        }),
        ("event.type", |row, out| small(out, row.kind)),
    ];
}

impl Row for TaskEvent {
    const STREAM: &'static str = "task events";
    const NAMES: &'static [(&'static str, &'static [&'static str])] = EVENT_NAMES;
    const JOB: Option<fn(&Self) -> &JobFacts> = Some(|row| &row.job);
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.missing", |row, out| {
            row.missing.into_iter().for_each(|why| small(out, why))
        }),
        ("event.type", |row, out| small(out, row.kind)),
        ("event.machine", |row, out| {
            row.machine.into_iter().for_each(|id| decimal(out, id))
        }),
        ("event.machine_or_0", |row, out| {
            decimal(out, row.machine.unwrap_or(0));
        }),
        ("alloc.index", |row, out| {
            alloc_index(out, &row.job, row.index)
        }),
        ("constraint.name", |row, out| {
            constraints(out, &row.constraints, |it, out| hash(out, it.attribute));
        }),
        (CONSTRAINT_VALUE, |row, out| {
            constraints(out, &row.constraints, |it, out| it.value.write(out));
        }),
        ("constraint.operator", |row, out| {
            constraints(out, &row.constraints, |it, out| small(out, it.operator));
        }),
        ("job.different_machines", |row, out| {
            // Known only together with the request.
            row.request
                .into_iter()
                .for_each(|_| flag(out, row.job.different_machines));
        }),
        ("task.index", |row, out| decimal(out, u64::from(row.index))),
        ("task.cpu_request", |row, out| {
            row.request.into_iter().for_each(|it| general(out, it.cpu))
        }),
        ("task.memory_request", |row, out| {
            row.request
                .into_iter()
                .for_each(|it| general(out, it.memory));
        }),
        ("task.disk_request", |row, out| {
            row.request.into_iter().for_each(|it| general(out, it.disk));
        }),
    ];
}

impl Row for MachineEvent {
    const STREAM: &'static str = "machine events";
    const NAMES: &'static [(&'static str, &'static [&'static str])] =
        &[("event.type", &["ADD", "REMOVE", "UPDATE"])];
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.type", |row, out| small(out, row.kind)),
        ("machine.id", |row, out| decimal(out, row.machine)),
        ("machine.platform", |row, out| hash(out, row.platform)),
        ("machine.switch", |row, out| {
            hash(out, mix(row.machine / profile::SWITCHED, 1));
        }),
        ("machine.missing", |_, out| small(out, 0)),
        ("machine.cpus", |row, out| {
            row.capacity.into_iter().for_each(|it| general(out, it.0))
        }),
        ("machine.memory", |row, out| {
            row.capacity.into_iter().for_each(|it| general(out, it.1))
        }),
    ];
}

impl Row for MachineAttribute {
    const STREAM: &'static str = "machine attributes";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("machine.id", |row, out| decimal(out, row.machine)),
        ("attribute.name", |row, out| hash(out, row.name)),
        ("attribute.value", |row, out| row.value.write(out)),
        ("attribute.deleted", |row, out| flag(out, row.deleted)),
    ];
}

impl Row for TaskConstraint {
    const STREAM: &'static str = "task constraints";
    const OWN_EMPTY: &'static [&'static str] = &[CONSTRAINT_VALUE];
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("job.id", |row, out| decimal(out, row.job)),
        ("task.index", |row, out| decimal(out, u64::from(row.index))),
        ("constraint.operator", |row, out| small(out, row.operator)),
        ("constraint.attribute", |row, out| hash(out, row.attribute)),
        (CONSTRAINT_VALUE, |row, out| row.value.write(out)),
    ];
}

impl Row for TaskUsage {
    const STREAM: &'static str = "task usage";
    const OWN_EMPTY: &'static [&'static str] = &[CPI, MAI];
    const JOB: Option<fn(&Self) -> &JobFacts> = Some(|row| &row.job);
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("usage.start", |row, out| decimal(out, row.start)),
        ("usage.end", |row, out| decimal(out, row.end)),
        ("task.index", |row, out| decimal(out, u64::from(row.index))),
        ("alloc.index", |row, out| {
            alloc_index(out, &row.job, row.index)
        }),
        ("task.machine", |row, out| decimal(out, row.machine)),
        ("usage.cpu_mean", |row, out| general(out, row.used.cpu_mean)),
        ("usage.memory_canonical", |row, out| {
            general(out, row.used.memory)
        }),
        ("usage.memory_assigned", |row, out| {
            general(out, row.used.memory_assigned)
        }),
        ("usage.page_cache_unmapped", |row, out| {
            general(out, row.used.cache_unmapped)
        }),
        ("usage.page_cache_total", |row, out| {
            general(out, row.used.cache_total)
        }),
        ("usage.memory_maximum", |row, out| {
            general(out, row.used.memory_maximum)
        }),
        ("usage.disk_io_mean", |row, out| {
            general(out, row.used.disk_io)
        }),
        ("usage.disk_space", |row, out| {
            general(out, row.used.disk_space)
        }),
        ("usage.cpu_maximum", |row, out| {
            general(out, row.used.cpu_maximum)
        }),
        ("usage.disk_io_maximum", |row, out| {
            general(out, row.used.disk_io_maximum)
        }),
        (CPI, |row, out| {
            row.cpi.into_iter().for_each(|it| general(out, it))
        }),
        (MAI, |row, out| {
            row.mai.into_iter().for_each(|it| general(out, it))
        }),
        ("usage.sample_portion", |row, out| {
            general(out, row.used.sample_portion)
        }),
        ("usage.aggregation", |row, out| {
            flag(out, row.used.aggregated)
        }),
        ("usage.cpu_sampled", |row, out| {
            general(out, row.used.cpu_sampled)
        }),
        ("usage.sample_rate", |row, out| {
            general(out, Amount((1 << 20) - row.used.sample_portion.0));
        }),
        ("usage.not_measured", |_, _| {}),
        ("usage.cpu_distribution", |row, out| {
            row.percentiles(out, (0..=10).map(|turn| 10 * turn));
        }),
        ("usage.cpu_tail", |row, out| row.percentiles(out, 91..=99)),
    ];
}

impl TaskUsage {
    /// Some percentiles of CPU usage, unless they were not measured.
    fn percentiles(&self, out: &mut Vec<u8>, percents: impl Iterator<Item = u64>) {
        let chance = mix(self.job.id ^ u64::from(self.index), self.start);
        if scale(chance, 1_000_000) < profile::NO_DISTRIBUTION {
            return;
        }
        let (mean, maximum) = (self.used.cpu_mean.0, self.used.cpu_maximum.0);
        for (turn, percent) in (0..).zip(percents) {
            separate(out, turn);
            let knots = profile::CPU_PERCENTILES.map(|(at, parts)| match at {
                100 => (at, maximum),
                _ => (at, maximum.min(mean * parts / 100)),
            });
            general(out, Amount(quantile(&knots, percent)));
        }
    }
}

impl Row for JoinedUsage {
    const STREAM: &'static str = "joined usage";
    const OWN_EMPTY: &'static [&'static str] = &[CPI, MAI];
    const JOB: Option<fn(&Self) -> &JobFacts> = Some(|row| &row.usage.job);
    const USAGE: Option<fn(&Self) -> &TaskUsage> = Some(|row| &row.usage);
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("row.index", |row, out| decimal(out, row.number)),
        ("row.cluster", |row, out| {
            decimal(out, 1 + mix(row.number, 7) % profile::CLUSTERS);
        }),
        ("row.event", |row, out| {
            out.extend_from_slice(row.label().as_bytes());
        }),
        ("row.failed", |row, out| flag(out, row.label() == "FAIL")),
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.code", |row, out| decimal(out, row.code)),
        ("task.cpu_request", |row, out| general(out, row.request.cpu)),
        ("task.memory_request", |row, out| {
            general(out, row.request.memory);
        }),
        ("constraint.name", |row, out| {
            constraints(out, &row.constraints, |it, out| hash(out, it.attribute));
        }),
        (CONSTRAINT_VALUE, |row, out| {
            constraints(out, &row.constraints, |it, out| it.value.write(out));
        }),
        ("constraint.operator", |row, out| {
            constraints(out, &row.constraints, |it, out| small(out, it.operator));
        }),
    ];
}

impl JoinedUsage {
    /// What the row is labelled with: the name at the place of its code among all names in the order
    /// of the alphabet, as in the published rows.
    fn label(&self) -> &'static str {
        let place = usize::try_from(self.code).unwrap_or(0);
        profile::LABELS[place.min(profile::LABELS.len() - 1)]
    }
}
