//! Rows about jobs and their tasks: events and constraints.

use crate::number::Amount;
use crate::profile;
use crate::random::{Random, mix, scale};
use crate::row::{CodeNames, Hash, List, Quantity, Row, Value, Write, find, quantities};

/// Codes of events, and of the reasons why a record was added.
const EVENT_CODES: CodeNames = &[
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

/// The value a constraint compares with. All tasks of a job have the same constraints.
pub(crate) const CONSTRAINT_VALUE: &str = "constraint.value";

/// The facts about a job that every event of it and of its tasks repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobFacts {
    pub(crate) id: u64,
    pub(crate) user: u64,
    pub(crate) class: u8,
    pub(crate) priority: u8,
    pub(crate) name: u64,
    pub(crate) logical_name: u64,
    pub(crate) different_machines: bool,
    pub(crate) links: JobLinks,
}

/// The earlier jobs that a job is connected with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JobLinks {
    pub(crate) parent: Option<u64>,
    /// The alloc set that its tasks run in.
    pub(crate) alloc_set: Option<u64>,
    pub(crate) starts_after: [Option<u64>; 2],
}

/// The last jobs that were drawn, which later ones are linked to.
#[derive(Debug, Default)]
pub(crate) struct RecentJobs {
    jobs: Vec<u64>,
    alloc_sets: Vec<u64>,
}

impl RecentJobs {
    /// How many jobs are remembered, and how many alloc sets.
    const MOST: usize = 64;

    /// The links of a job, which is remembered for later ones.
    ///
    /// They follow from the id alone, so that a trace without such columns is drawn as if there were
    /// none.
    pub(crate) fn link(&mut self, job: &JobFacts) -> JobLinks {
        let is_set = job.pick(1, &profile::COLLECTION_TYPE) == 1;
        let waits = job.pick(3, &profile::START_AFTER);
        let recent = |list: &[u64], what: u64, holds: bool| {
            let count = u64::try_from(list.len()).unwrap_or(0);
            let place = usize::try_from(scale(mix(job.id, what), count)).ok()?;
            list.get(place).copied().filter(|_| holds)
        };
        let links = JobLinks {
            parent: recent(&self.jobs, 2, job.happens(2, profile::CHILDREN)),
            alloc_set: recent(
                &self.alloc_sets,
                6,
                !is_set && job.happens(6, profile::IN_ALLOCS),
            ),
            starts_after: [
                recent(&self.jobs, 30, waits > 0),
                recent(&self.jobs, 31, waits > 1),
            ],
        };
        let list = if is_set {
            &mut self.alloc_sets
        } else {
            &mut self.jobs
        };
        if list.len() == Self::MOST {
            list.remove(0);
        }
        list.push(job.id);
        links
    }
}

/// The resources that a task may use at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) cpu: Amount,
    pub(crate) memory: Amount,
    pub(crate) disk: Amount,
}

/// A job's condition on the machines for its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub(crate) operator: u8,
    pub(crate) attribute: u64,
    pub(crate) value: Value,
}

/// A job changes its state.
#[derive(Debug)]
pub(crate) struct JobEvent {
    pub(crate) time: u64,
    pub(crate) missing: Option<u8>,
    pub(crate) kind: u8,
    pub(crate) job: JobFacts,
}

/// A task changes its state.
#[derive(Debug)]
pub(crate) struct TaskEvent {
    pub(crate) time: u64,
    pub(crate) missing: Option<u8>,
    pub(crate) kind: u8,
    pub(crate) index: u32,
    pub(crate) machine: Option<u64>,
    pub(crate) job: JobFacts,
    /// Unknown if the record of the task's creation is missing.
    pub(crate) request: Option<Request>,
    pub(crate) constraints: Vec<Constraint>,
}

/// A constraint of a task, as of an event.
#[derive(Debug)]
pub(crate) struct TaskConstraint {
    pub(crate) time: u64,
    pub(crate) job: u64,
    pub(crate) index: u32,
    pub(crate) operator: u8,
    pub(crate) attribute: u64,
    pub(crate) value: Value,
}

impl JobFacts {
    pub(crate) const QUANTITIES: &'static [Quantity<Self>] = quantities! { job;
        "job.id" => job.id,
        "job.user" => Hash(job.user),
        "job.scheduling_class" => job.class,
        "job.name" => Hash(job.name),
        "job.logical_name" => Hash(job.logical_name),
        "job.priority" => job.priority,
        "job.raw_priority" => {
            let rank = usize::from(job.priority).min(profile::RAW_PRIORITY.len() - 1);
            profile::RAW_PRIORITY[rank]
        },
        "collection.type" => job.pick(1, &profile::COLLECTION_TYPE),
        "collection.parent" => job.links.parent,
        "collection.start_after" => List(job.links.starts_after.into_iter().flatten()),
        "collection.max_per_machine" => job.different_machines,
        "collection.max_per_switch" => job.pick(4, &profile::MAX_PER_SWITCH),
        "collection.vertical_scaling" => job.pick(5, &profile::VERTICAL_SCALING),
        // Batch work of low priority has its own scheduler.
        "collection.scheduler" => (3..6).contains(&job.priority),
        "alloc.collection" => job.links.alloc_set.unwrap_or(0),
    };

    /// Whether something holds for the job, which it does for `times` jobs in a million.
    fn happens(&self, what: u64, times: u64) -> bool {
        scale(mix(self.id, what), 1_000_000) < times
    }

    /// The index of one of several weights, in proportion to them and always the same for a job.
    fn pick(&self, what: u64, weights: &[u32]) -> u64 {
        let index = Random::new(mix(self.id, what)).weighted(weights);
        u64::try_from(index).unwrap_or(0)
    }

    /// The number of the alloc instance that a task runs in, or -1.
    pub(crate) fn alloc_index(&self, task: u32) -> Result<u32, &'static str> {
        self.links.alloc_set.map(|_| task).ok_or("-1")
    }
}

impl Row for JobEvent {
    const STREAM: &'static str = "job events";
    const CODE_NAMES: CodeNames = EVENT_CODES;
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "event.time" => row.time,
        "event.missing" => row.missing,
        "event.type" => row.kind,
    };

    fn quantity(name: &str) -> Option<Write<Self>> {
        let own = find(Self::QUANTITIES, name, |row| row);
        own.or_else(|| find(JobFacts::QUANTITIES, name, |row: &Self| &row.job))
    }
}

impl Row for TaskEvent {
    const STREAM: &'static str = "task events";
    const CODE_NAMES: CodeNames = EVENT_CODES;
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "event.time" => row.time,
        "event.missing" => row.missing,
        "event.type" => row.kind,
        "event.machine" => row.machine,
        "event.machine_or_0" => row.machine.unwrap_or(0),
        "alloc.index" => row.job.alloc_index(row.index),
        "constraint.name" => List(row.constraints.iter().map(|it| Hash(it.attribute))),
        CONSTRAINT_VALUE => List(row.constraints.iter().map(|it| it.value)),
        "constraint.operator" => List(row.constraints.iter().map(|it| it.operator)),
        // Known only together with the request.
        "job.different_machines" => row.request.map(|_| row.job.different_machines),
        "task.index" => row.index,
        "task.cpu_request" => row.request.map(|it| it.cpu),
        "task.memory_request" => row.request.map(|it| it.memory),
        "task.disk_request" => row.request.map(|it| it.disk),
    };

    fn quantity(name: &str) -> Option<Write<Self>> {
        let own = find(Self::QUANTITIES, name, |row| row);
        own.or_else(|| find(JobFacts::QUANTITIES, name, |row: &Self| &row.job))
    }
}

impl Row for TaskConstraint {
    const STREAM: &'static str = "task constraints";
    const LEFT_EMPTY: &'static [&'static str] = &[CONSTRAINT_VALUE];
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "event.time" => row.time,
        "job.id" => row.job,
        "task.index" => row.index,
        "constraint.operator" => row.operator,
        "constraint.attribute" => Hash(row.attribute),
        CONSTRAINT_VALUE => row.value,
    };
}
