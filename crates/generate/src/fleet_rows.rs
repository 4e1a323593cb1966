//! Rows about a fleet: states and samples of machines and containers, batch tasks and instances.

use crate::number::{decimal, hundredths};
use crate::row::{Quantity, Row};

/// The state of a machine at a time.
#[derive(Debug)]
pub(crate) struct MachineState {
    pub(crate) machine: u64,
    pub(crate) time: u64,
    /// The second one may be unknown.
    pub(crate) domains: (u64, Option<u64>),
    pub(crate) status: &'static str,
}

/// A machine's usage at a time.
#[derive(Debug)]
pub(crate) struct MachineSample {
    pub(crate) machine: u64,
    pub(crate) time: u64,
    pub(crate) used: Used,
}

/// The state of a container at a time.
#[derive(Debug)]
pub(crate) struct ContainerState {
    pub(crate) container: u64,
    pub(crate) machine: u64,
    pub(crate) time: u64,
    pub(crate) app: u64,
    pub(crate) status: &'static str,
    /// Hundredths of a core.
    pub(crate) cpu: u64,
    /// Hundredths of a hundredth of the largest machine.
    pub(crate) memory: u64,
}

/// A container's usage at a time.
#[derive(Debug)]
pub(crate) struct ContainerSample {
    pub(crate) container: u64,
    pub(crate) machine: u64,
    pub(crate) time: u64,
    pub(crate) used: Used,
}

/// A task of a batch job.
#[derive(Debug, Clone)]
pub(crate) struct BatchTask {
    pub(crate) job: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u64,
    pub(crate) status: &'static str,
    /// Unknown while the task waits.
    pub(crate) instances: Option<u64>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// CPU and memory, in hundredths.
    pub(crate) plan: Option<(u64, u64)>,
}

/// One run of an instance of a batch task.
#[derive(Debug)]
pub(crate) struct BatchInstance {
    pub(crate) id: u64,
    pub(crate) task: BatchTask,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) machine: u64,
    pub(crate) attempt: u64,
    pub(crate) attempts: u64,
    /// Mean and maximum, in hundredths.
    pub(crate) cpu: (u64, u64),
    pub(crate) memory: (u64, u64),
}

/// The usage of a machine or a container at a time, in percent unless a field says otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub(crate) cpu: u64,
    pub(crate) memory: u64,
    /// Cycles per instruction and memory bandwidth in hundredths, misses per thousand instructions.
    pub(crate) counters: Option<(u64, u64, u64)>,
    /// In hundredths of a percent.
    pub(crate) net: (u64, u64),
    /// `None` if the sample is invalid.
    pub(crate) disk: Option<u64>,
    /// The text written for an invalid sample.
    pub(crate) invalid: &'static str,
}

/// Appends a name such as `m_12`.
fn named(out: &mut Vec<u8>, sort: &str, number: u64) {
    out.extend_from_slice(sort.as_bytes());
    decimal(out, number);
}

impl Used {
    fn disk(&self, out: &mut Vec<u8>) {
        match self.disk {
            Some(percent) => decimal(out, percent),
            None => out.extend_from_slice(self.invalid.as_bytes()),
        }
    }
}

macro_rules! sample {
    ($row:ty, $stream:literal, $($own:expr,)*) => {
        impl Row for $row {
            const STREAM: &'static str = $stream;
            const QUANTITIES: &'static [Quantity<Self>] = &[
                $($own,)*
                ("machine.name", |row, out| named(out, "m_", row.machine)),
                ("sample.time", |row, out| decimal(out, row.time)),
                ("sample.cpu", |row, out| decimal(out, row.used.cpu)),
                ("sample.memory", |row, out| decimal(out, row.used.memory)),
                ("sample.cpi", |row, out| {
                    row.used.counters.into_iter().for_each(|it| hundredths(out, it.0));
                }),
                ("sample.memory_bandwidth", |row, out| {
                    row.used.counters.into_iter().for_each(|it| hundredths(out, it.1));
                }),
                ("sample.cache_misses", |row, out| {
                    row.used.counters.into_iter().for_each(|it| decimal(out, it.2));
                }),
                ("sample.net_in", |row, out| hundredths(out, row.used.net.0)),
                ("sample.net_out", |row, out| hundredths(out, row.used.net.1)),
                ("sample.disk_io", |row, out| row.used.disk(out)),
            ];
        }
    };
}

sample!(MachineSample, "machine samples",);
sample!(
    ContainerSample,
    "container samples",
    ("container.name", |row, out| named(out, "c_", row.container)),
);

impl Row for MachineState {
    const STREAM: &'static str = "machine states";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("machine.name", |row, out| named(out, "m_", row.machine)),
        ("state.time", |row, out| decimal(out, row.time)),
        ("machine.domain", |row, out| decimal(out, row.domains.0)),
        ("machine.other_domain", |row, out| {
            row.domains.1.into_iter().for_each(|it| decimal(out, it));
        }),
        ("machine.cores", |_, out| decimal(out, 96)),
        ("machine.memory", |_, out| decimal(out, 100)),
        ("state.status", |row, out| {
            out.extend_from_slice(row.status.as_bytes());
        }),
    ];
}

impl Row for ContainerState {
    const STREAM: &'static str = "container states";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("container.name", |row, out| named(out, "c_", row.container)),
        ("machine.name", |row, out| named(out, "m_", row.machine)),
        ("state.time", |row, out| decimal(out, row.time)),
        ("container.app", |row, out| named(out, "app_", row.app)),
        ("state.status", |row, out| {
            out.extend_from_slice(row.status.as_bytes());
        }),
        ("container.cpu", |row, out| decimal(out, row.cpu)),
        ("container.memory", |row, out| hundredths(out, row.memory)),
    ];
}

impl Row for BatchTask {
    const STREAM: &'static str = "batch tasks";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("task.name", |row, out| out.extend_from_slice(&row.name)),
        ("task.instances", |row, out| {
            row.instances.into_iter().for_each(|it| decimal(out, it));
        }),
        ("job.name", |row, out| named(out, "j_", row.job)),
        ("task.type", |row, out| decimal(out, row.kind)),
        ("task.status", |row, out| {
            out.extend_from_slice(row.status.as_bytes());
        }),
        ("run.start", |row, out| decimal(out, row.start)),
        ("run.end", |row, out| decimal(out, row.end)),
        ("task.plan_cpu", |row, out| {
            row.plan.into_iter().for_each(|it| decimal(out, it.0));
        }),
        ("task.plan_memory", |row, out| {
            row.plan.into_iter().for_each(|it| hundredths(out, it.1));
        }),
    ];
}

impl Row for BatchInstance {
    const STREAM: &'static str = "batch instances";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("instance.name", |row, out| named(out, "ins_", row.id)),
        ("task.name", |row, out| {
            out.extend_from_slice(&row.task.name);
        }),
        ("job.name", |row, out| named(out, "j_", row.task.job)),
        ("task.type", |row, out| decimal(out, row.task.kind)),
        ("task.status", |row, out| {
            out.extend_from_slice(row.task.status.as_bytes());
        }),
        ("run.start", |row, out| decimal(out, row.start)),
        ("run.end", |row, out| decimal(out, row.end)),
        ("machine.name", |row, out| named(out, "m_", row.machine)),
        ("instance.attempt", |row, out| decimal(out, row.attempt)),
        ("instance.attempts", |row, out| decimal(out, row.attempts)),
        ("instance.cpu_mean", |row, out| hundredths(out, row.cpu.0)),
        ("instance.cpu_maximum", |row, out| {
            hundredths(out, row.cpu.1);
        }),
        ("instance.memory_mean", |row, out| {
            hundredths(out, row.memory.0);
        }),
        ("instance.memory_maximum", |row, out| {
            hundredths(out, row.memory.1);
        }),
    ];
}
