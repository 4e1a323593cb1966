//! Rows about a fleet: states and samples of machines and containers, batch tasks and instances.

use crate::row::{Hundredths, Quantity, Row, quantities};

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

macro_rules! sample {
    ($row:ident: $of:ty, $stream:literal, $($own:tt)*) => {
        impl Row for $of {
            const STREAM: &'static str = $stream;
            const QUANTITIES: &'static [Quantity<Self>] = quantities! { $row;
                $($own)*
                "machine.name" => ("m_", $row.machine),
                "sample.time" => $row.time,
                "sample.cpu" => $row.used.cpu,
                "sample.memory" => $row.used.memory,
                "sample.cpi" => $row.used.counters.map(|it| Hundredths(it.0)),
                "sample.memory_bandwidth" => $row.used.counters.map(|it| Hundredths(it.1)),
                "sample.cache_misses" => $row.used.counters.map(|it| it.2),
                "sample.net_in" => Hundredths($row.used.net.0),
                "sample.net_out" => Hundredths($row.used.net.1),
                "sample.disk_io" => $row.used.disk.ok_or($row.used.invalid),
            };
        }
    };
}

sample!(row: MachineSample, "machine samples",);
sample!(
    row: ContainerSample, "container samples",
    "container.name" => ("c_", row.container),
);

impl Row for MachineState {
    const STREAM: &'static str = "machine states";
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "machine.name" => ("m_", row.machine),
        "state.time" => row.time,
        "machine.domain" => row.domains.0,
        "machine.other_domain" => row.domains.1,
        "machine.cores" => 96_u64,
        "machine.memory" => 100_u64,
        "state.status" => row.status,
    };
}

impl Row for ContainerState {
    const STREAM: &'static str = "container states";
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "container.name" => ("c_", row.container),
        "machine.name" => ("m_", row.machine),
        "state.time" => row.time,
        "container.app" => ("app_", row.app),
        "state.status" => row.status,
        "container.cpu" => row.cpu,
        "container.memory" => Hundredths(row.memory),
    };
}

impl Row for BatchTask {
    const STREAM: &'static str = "batch tasks";
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "task.name" => &*row.name,
        "task.instances" => row.instances,
        "job.name" => ("j_", row.job),
        "task.type" => row.kind,
        "task.status" => row.status,
        "run.start" => row.start,
        "run.end" => row.end,
        "task.plan_cpu" => row.plan.map(|it| it.0),
        "task.plan_memory" => row.plan.map(|it| Hundredths(it.1)),
    };
}

impl Row for BatchInstance {
    const STREAM: &'static str = "batch instances";
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "instance.name" => ("ins_", row.id),
        "task.name" => &*row.task.name,
        "job.name" => ("j_", row.task.job),
        "task.type" => row.task.kind,
        "task.status" => row.task.status,
        "run.start" => row.start,
        "run.end" => row.end,
        "machine.name" => ("m_", row.machine),
        "instance.attempt" => row.attempt,
        "instance.attempts" => row.attempts,
        "instance.cpu_mean" => Hundredths(row.cpu.0),
        "instance.cpu_maximum" => Hundredths(row.cpu.1),
        "instance.memory_mean" => Hundredths(row.memory.0),
        "instance.memory_maximum" => Hundredths(row.memory.1),
    };
}
