//! The rows of the simulated cluster, and what each quantity of a row looks like in a file.
//!
//! A stream is a type of row; its quantities are a list of names and of functions that append the
//! text. A new stream is one more type and one more field of [`crate::sheet::Sheets`].

use crate::number::{Amount, decimal, general, hash};
use crate::usage::Measurement;

/// A quantity of a row: the name that the catalog maps a column to, and how it is written.
pub(crate) type Quantity<R> = (&'static str, fn(&R, &mut Vec<u8>));

/// A type of row.
pub(crate) trait Row: Sized + 'static {
    /// The name that the catalog maps a table to.
    const STREAM: &'static str;
    /// Every quantity of a row.
    const QUANTITIES: &'static [Quantity<Self>];
    /// The quantities that the cluster itself leaves empty, in the share that the catalog gives.
    const OWN_EMPTY: &'static [&'static str] = &[];
}

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
    pub(crate) job: u64,
    pub(crate) index: u32,
    pub(crate) machine: u64,
    pub(crate) used: Measurement,
    /// Absent where the machine's counters were not read.
    pub(crate) cpi: Option<Amount>,
    pub(crate) mai: Option<Amount>,
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

impl Row for JobEvent {
    const STREAM: &'static str = "job events";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.missing", |row, out| {
            row.missing.into_iter().for_each(|why| small(out, why))
        }),
        ("event.type", |row, out| small(out, row.kind)),
        ("job.id", |row, out| decimal(out, row.job.id)),
        ("job.user", |row, out| hash(out, row.job.user)),
        ("job.scheduling_class", |row, out| small(out, row.job.class)),
        ("job.name", |row, out| hash(out, row.job.name)),
        ("job.logical_name", |row, out| {
            hash(out, row.job.logical_name)
        }),
        ("job.priority", |row, out| small(out, row.job.priority)),
    ];
}

impl Row for TaskEvent {
    const STREAM: &'static str = "task events";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.missing", |row, out| {
            row.missing.into_iter().for_each(|why| small(out, why))
        }),
        ("event.type", |row, out| small(out, row.kind)),
        ("event.machine", |row, out| {
            row.machine.into_iter().for_each(|id| decimal(out, id))
        }),
        ("job.id", |row, out| decimal(out, row.job.id)),
        ("job.user", |row, out| hash(out, row.job.user)),
        ("job.scheduling_class", |row, out| small(out, row.job.class)),
        ("job.name", |row, out| hash(out, row.job.name)),
        ("job.logical_name", |row, out| {
            hash(out, row.job.logical_name)
        }),
        ("job.priority", |row, out| small(out, row.job.priority)),
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
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.type", |row, out| small(out, row.kind)),
        ("machine.id", |row, out| decimal(out, row.machine)),
        ("machine.platform", |row, out| hash(out, row.platform)),
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
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("usage.start", |row, out| decimal(out, row.start)),
        ("usage.end", |row, out| decimal(out, row.end)),
        ("job.id", |row, out| decimal(out, row.job)),
        ("task.index", |row, out| decimal(out, u64::from(row.index))),
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
    ];
}
