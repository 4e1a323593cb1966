//! Jobs and their tasks: where tasks run, for how long, and the rows about them.

use crate::job_rows::{Constraint, JobEvent, JobFacts, Request, TaskConstraint, TaskEvent};
use crate::machine::Machines;
use crate::number::Amount;
use crate::profile;
use crate::random::{Random, bell, mix, quantile, raise};
use crate::table::{Stopped, TableWriters};
use crate::usage::Habits;
use crate::usage_rows::{JoinedUsage, TaskUsage};

/// The kinds of job and task events.
pub(crate) const SUBMIT: u8 = 0;
pub(crate) const SCHEDULE: u8 = 1;
pub(crate) const EVICT: u8 = 2;
pub(crate) const FAIL: u8 = 3;
pub(crate) const FINISH: u8 = 4;
pub(crate) const KILL: u8 = 5;
pub(crate) const LOST: u8 = 6;
pub(crate) const UPDATE_PENDING: u8 = 7;
pub(crate) const UPDATE_RUNNING: u8 = 8;

/// The reasons why a record was added.
pub(crate) const NO_TRANSITION: u8 = 0;
pub(crate) const DISAPPEARED: u8 = 1;
pub(crate) const NO_CREATION: u8 = 2;

/// The kinds of job that are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Runs for days; most jobs from before the trace.
    Service,
    /// Runs for minutes.
    Batch,
}

/// A job and its tasks that haven't ended.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) facts: JobFacts,
    pub(crate) request: Request,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) habits: Habits,
    pub(crate) tasks: Vec<Task>,
    pub(crate) lifetimes: Lifetimes,
    /// When the whole job is killed, or never.
    pub(crate) kill_at: u64,
    /// A new request, and the time in the current window from which it applies.
    pub(crate) update: Option<(u64, Request)>,
    /// When the first task was scheduled, and whether that event was written.
    pub(crate) scheduled_at: Option<u64>,
    pub(crate) announced: bool,
    /// The time and the kind of the last end of a task.
    pub(crate) last_end: (u64, u8),
    pub(crate) placement: Placement,
}

/// How long the tasks of a job run, and how their runs end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetimes {
    pub(crate) class: Class,
    /// The job's place in the distribution of lifetimes.
    pub(crate) place: u64,
}

/// Where the tasks of a job may run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Placement {
    /// On any machine.
    Anywhere,
    /// On a machine that runs no other task of the job.
    Apart(Slots),
}

/// Keeps the tasks of a job on different machines.
///
/// Task `i` of `size` takes the machines `start + i + size * n` for any `n`, counted around the
/// first `machines` of them; no two tasks of the job ever have one in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) machines: u64,
}

/// One task that has not ended for good.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) index: u32,
    pub(crate) state: State,
    /// When the state was entered.
    pub(crate) since: u64,
    /// When the state ends by itself; never for a task that waits for room.
    pub(crate) next: u64,
    /// The machine, while it runs.
    pub(crate) machine: u32,
    pub(crate) attempts: u32,
    /// How the run will end.
    pub(crate) ending: u8,
    /// Whether the record of its creation is missing, and so its request is unknown.
    pub(crate) vague: bool,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// To be submitted, for the first time or again.
    New,
    /// Submitted and waiting for a machine.
    Pending,
    /// On a machine.
    Running,
}

impl Lifetimes {
    /// Starts a run of a task on this machine at `time` and decides when and how it will end.
    pub(crate) fn start(self, task: &mut Task, machine: u32, time: u64, random: &mut Random) {
        let (lifetimes, ends) = match self.class {
            Class::Batch => (profile::BATCH_LIFE, &profile::BATCH_END),
            Class::Service => (profile::SERVICE_LIFE, &profile::SERVICE_END),
        };
        let life = raise(quantile(lifetimes, self.place), bell(random.word(), 3000));
        task.ending = [EVICT, FAIL, FINISH, KILL, LOST][random.weighted(ends)];
        // Failures mostly happen early.
        let life = if task.ending == FAIL { life / 3 } else { life };
        task.state = State::Running;
        task.since = time;
        task.next = time + life.max(1_000_000);
        task.machine = machine;
        task.attempts += 1;
    }
}

impl Placement {
    /// A machine for a task, among those that are up for the whole of the window.
    pub(crate) fn place(
        self,
        task: &Task,
        machines: &Machines,
        random: &mut Random,
    ) -> Option<u32> {
        let count = u64::try_from(machines.list.len()).unwrap_or(1);
        (0..64)
            .filter_map(|attempt| {
                let machine = match self {
                    Self::Anywhere => random.below(count),
                    Self::Apart(lanes) => lanes.machine(task, attempt),
                };
                u32::try_from(machine).ok()
            })
            .find(|&machine| machines.machine(machine).usable)
    }
}

impl Slots {
    fn machine(self, task: &Task, attempt: u64) -> u64 {
        let turn = (u64::from(task.attempts) + attempt) % (self.machines / self.size);
        (self.start + u64::from(task.index) + self.size * turn) % self.machines
    }
}

/// Whether a task is submitted again after a run that ended like this.
pub(crate) fn again(kind: u8, random: &mut Random) -> bool {
    match kind {
        EVICT => random.happens(profile::AGAIN[0]),
        FAIL => random.happens(profile::AGAIN[1]),
        _ => false,
    }
}

impl Job {
    /// Remembers the last end of a task.
    pub(crate) fn end(&mut self, time: u64, kind: u8) {
        if time >= self.last_end.0 {
            self.last_end = (time, kind);
        }
    }

    /// A request that differs from the present one.
    pub(crate) fn other_request(&self, random: &mut Random) -> Request {
        let mut other =
            |amount: Amount| Amount(raise(amount.0, bell(random.word(), 1500))).rounded();
        let (memory, disk) = (other(self.request.memory), other(self.request.disk));
        Request {
            memory,
            disk,
            ..self.request
        }
    }

    /// The row of an event of the job.
    pub(crate) fn event(&self, time: u64, missing: Option<u8>, kind: u8) -> JobEvent {
        JobEvent {
            time,
            missing,
            kind,
            job: self.facts,
        }
    }

    /// The row of an event of one of its tasks.
    pub(crate) fn task_event(
        &self,
        time: u64,
        missing: Option<u8>,
        kind: u8,
        index: u32,
        machine: Option<u64>,
    ) -> TaskEvent {
        let updated = self
            .update
            .filter(|update| update.0 <= time)
            .map(|update| update.1);
        let request = Some(updated.unwrap_or(self.request));
        TaskEvent {
            time,
            missing,
            kind,
            index,
            machine,
            job: self.facts,
            request,
            constraints: self.constraints.clone(),
        }
    }

    /// The row of a window of usage and an event that goes with it.
    pub(crate) fn joined(&self, usage: TaskUsage, number: u64) -> JoinedUsage {
        let mut random = Random::new(mix(number, 6));
        let code = u64::try_from(random.weighted(&profile::JOINED_EVENTS)).unwrap_or(0);
        // Codes below 4 are events before the window, the others after it.
        let time = if code < 4 {
            self.scheduled_at.unwrap_or(0)
        } else {
            usage.end + random.below(3_600_000_000)
        };
        JoinedUsage {
            number,
            time,
            code,
            request: self.request,
            constraints: self.constraints.clone(),
            usage,
        }
    }

    /// Writes the constraints of one of its tasks, as of an event at `time`.
    pub(crate) fn constrain(
        &self,
        time: u64,
        index: u32,
        tables: &mut TableWriters,
    ) -> Result<(), Stopped> {
        for &Constraint {
            operator,
            attribute,
            value,
        } in &self.constraints
        {
            let job = self.facts.id;
            tables.task_constraints.push(&TaskConstraint {
                time,
                job,
                index,
                operator,
                attribute,
                value,
            })?;
        }
        Ok(())
    }
}

impl Task {
    /// Whether the task waits for room in the cluster.
    pub(crate) fn queued(&self) -> bool {
        self.state == State::Pending && self.next == u64::MAX
    }
}
