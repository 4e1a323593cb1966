//! Simulates a cluster in windows of 300 seconds.
//!
//! # Memory
//! The machines, the jobs that have tasks left, and the rows of one window. None of this grows with the
//! number of windows.

use tracelake_schema::Trace;

use crate::draw::{self, Draws};
use crate::job::{
    Class, DISAPPEARED, EVICT, Job, KILL, NO_CREATION, SCHEDULE, SUBMIT, State, UPDATE_PENDING,
    UPDATE_RUNNING,
};
use crate::job_rows::CONSTRAINT_VALUE;
use crate::machine::{MachineRows, Machines};
use crate::profile;
use crate::random::{Random, mix, share};
use crate::scheduler::{Room, SECOND, Scheduler};
use crate::table::{Stopped, TableWriters};
use crate::usage_rows::{CPI, MAI, TaskUsage};

/// The length of a window, in microseconds.
pub(crate) const WINDOW: u64 = 300_000_000;
/// The start of the first window; the trace's clock starts 600 seconds before it.
pub(crate) const BEGIN: u64 = 600_000_000;
/// The time of events before the trace.
const BEFORE: u64 = 0;
/// The time of events after the trace.
const AFTER: u64 = i64::MAX.cast_unsigned();
/// The id of the first job that arrives.
const FIRST_JOB: u64 = 6_250_000_000;
/// How many jobs end after the trace.
const LATE_JOBS: usize = 4;

/// The shares of empty fields that come from the cluster's state, in 2^-32.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shares {
    pub(crate) cpi: u64,
    pub(crate) mai: u64,
    pub(crate) constraint_value: u64,
}

impl Shares {
    /// The shares that the catalog gives for a trace.
    pub(crate) fn of(trace: &Trace) -> Self {
        let columns = || trace.tables.iter().flat_map(|table| &*table.columns);
        let empty = |quantity: &str| {
            columns()
                .find(|column| column.synthetic == quantity)
                .map_or(0, |it| share(it.empty))
        };
        Self {
            cpi: empty(CPI),
            mai: empty(MAI),
            constraint_value: empty(CONSTRAINT_VALUE),
        }
    }
}

/// The state of the cluster between two windows.
pub(crate) struct Cluster {
    /// In the order of ids, which is the order of submission.
    jobs: Vec<Job>,
    draws: Draws,
    next_job: u64,
    /// Tasks that run at a time.
    live: u64,
    shares: Shares,
    scheduler: Scheduler,
    /// The number of usage rows so far that may be joined with an event.
    usages: u64,
}

impl Cluster {
    /// A cluster in which about `live` tasks run at a time.
    pub(crate) fn new(live: u64, seed: u64, shares: Shares) -> Self {
        let mut random = Random::new(seed);
        let count = (live / profile::TASKS_PER_MACHINE).max(4);
        // Half of the missing counters are those of machines that never have any.
        let machines = Machines::new(count, shares.cpi / 2, seed, &mut random);
        let scheduler = Scheduler {
            machines,
            random,
            from: BEFORE,
            to: BEGIN,
            queued: 0,
            events: Vec::new(),
            job_events: Vec::new(),
            measured: Vec::new(),
        };
        let draws = Draws::new(shares.constraint_value);
        let mut cluster = Self {
            jobs: Vec::new(),
            draws,
            next_job: FIRST_JOB,
            live,
            shares,
            scheduler,
            usages: 0,
        };
        cluster.populate();
        cluster
    }

    /// Adds the jobs that ran before the trace: mostly services, and the usual amount of batch work.
    fn populate(&mut self) {
        let live = self.live;
        let Scheduler {
            machines,
            random,
            queued,
            ..
        } = &mut self.scheduler;
        let target = (live - live / 30).max(1);
        let (mut left, mut batch) = (target, 0);
        let mut id = 3_418_309;
        // Ids rise to those of the trace in about as many steps as there are jobs.
        let steps = (live / 14).max(1);
        while left > 0 {
            // Large jobs are rare, so the share is kept by counting tasks, not by chance.
            let short = batch * 1_000_000 < (target - left + 1) * profile::BATCH_BEFORE;
            let class = if short { Class::Batch } else { Class::Service };
            let size = draw::size(class, live / 16, random).min(left);
            batch += if short { size } else { 0 };
            left -= size;
            let mut job = self.draws.job(random, machines, (class, id, size, BEFORE));
            job.kill_at = u64::MAX;
            for task in &mut job.tasks {
                task.vague = random.happens(profile::NO_CREATION);
                let place = job.placement.place(task, machines, random);
                match place.filter(|_| !random.happens(profile::WAITING)) {
                    Some(machine) => {
                        job.lifetimes.start(task, machine, BEGIN, random);
                        task.since = BEFORE;
                        job.scheduled_at = Some(BEFORE);
                    }
                    None => {
                        (task.state, task.next) = (State::Pending, u64::MAX);
                        *queued += 1;
                    }
                }
            }
            job.announced = job.scheduled_at.is_some();
            self.jobs.push(job);
            id += 5 + random.below((id * 15 / steps).min((FIRST_JOB - id.min(FIRST_JOB)) / 20) + 5);
        }
        self.next_job = self.next_job.max(id);
        self.scheduler.queued = self
            .jobs
            .iter()
            .flat_map(|job| &job.tasks)
            .filter(|it| it.queued())
            .count();
    }

    /// The maximum number of tasks of a new job, so that no job fills the cluster.
    fn most(&self) -> u64 {
        (self.live / 20).max(1)
    }

    /// Writes the state before the trace: first everything submitted, then everything scheduled.
    pub(crate) fn before(&mut self, tables: &mut TableWriters) -> Result<(), Stopped> {
        let mut rows = MachineRows::default();
        self.scheduler.machines.before(&mut rows);
        rows.write(tables)?;
        for kind in [SUBMIT, SCHEDULE] {
            for job in &self.jobs {
                if kind == SUBMIT || job.announced {
                    tables.job_events.push(&job.event(BEFORE, None, kind))?;
                }
                for task in &job.tasks {
                    let running = task.state == State::Running;
                    if kind == SCHEDULE && !running {
                        continue;
                    }
                    let machine = running.then(|| self.scheduler.machines.id(task.machine));
                    let missing = task.vague.then_some(NO_CREATION);
                    let mut event = job.task_event(BEFORE, missing, kind, task.index, machine);
                    event.request = event.request.filter(|_| !task.vague);
                    tables.task_events.push(&event)?;
                    if kind == SUBMIT {
                        job.constrain(BEFORE, task.index, tables)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Simulates the window from `from` and writes its rows, exactly `budget` of them usage.
    ///
    /// The number of running tasks is limited so that the window has this many measurements. `busy` asks
    /// for at least one new job.
    pub(crate) fn step(
        &mut self,
        (from, budget, busy): (u64, u64, bool),
        tables: &mut TableWriters,
    ) -> Result<(), Stopped> {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        (self.scheduler.from, self.scheduler.to) = (from, from + WINDOW);
        let mut rows = MachineRows::default();
        self.scheduler
            .machines
            .step(from, from + WINDOW, &mut self.scheduler.random, &mut rows);
        rows.write(tables)?;

        self.go_on();
        self.admit(budget);
        self.arrive(budget, busy);
        self.note_jobs();
        self.write(budget, tables)?;

        self.scheduler.events.clear();
        self.scheduler.job_events.clear();
        self.scheduler.measured.clear();
        self.jobs.retain(|job| !job.tasks.is_empty());
        Ok(())
    }

    /// The number of tasks that run or will run in the window.
    fn go_on(&mut self) {
        let scheduler = &mut self.scheduler;
        for (position, job) in self.jobs.iter_mut().enumerate() {
            if scheduler.random.happens(profile::JOB_UPDATES) {
                let time = scheduler.random.between(scheduler.from, scheduler.to);
                job.update = Some((time, job.other_request(&mut scheduler.random)));
            }
            scheduler.step_tasks(job, position, |task, _| {
                (!task.queued()).then_some(Room::Yes)
            });
        }
    }

    /// Gives half of the free room to waiting tasks; new jobs get the rest.
    fn admit(&mut self, budget: usize) {
        let scheduler = &mut self.scheduler;
        if scheduler.queued == 0 {
            return;
        }
        let target = budget - budget.saturating_sub(scheduler.measured.len()) / 2;
        for (position, job) in self.jobs.iter_mut().enumerate() {
            scheduler.step_tasks(job, position, |task, scheduler| {
                if task.queued() && scheduler.measured.len() < target {
                    scheduler.queued -= 1;
                    task.next = scheduler
                        .random
                        .between(scheduler.from, scheduler.to - SECOND);
                    return Some(Room::Yes);
                }
                task.queued().then_some(Room::No)
            });
        }
    }

    /// Adds new jobs until the window has its measurements.
    fn arrive(&mut self, budget: usize, busy: bool) {
        let mut busy = busy;
        while busy || self.scheduler.measured.len() < budget {
            busy = false;
            let most = self.most();
            let scheduler = &mut self.scheduler;
            let missing =
                u64::try_from(budget.saturating_sub(scheduler.measured.len())).unwrap_or(1);
            let crowded = scheduler.queued >= usize::try_from(self.live / 8).unwrap_or(usize::MAX);
            let most = if crowded { missing } else { most };
            let size = draw::size(Class::Batch, most, &mut scheduler.random);
            let time = scheduler
                .random
                .between(scheduler.from, scheduler.to - 10 * SECOND);
            let drawn = (Class::Batch, self.next_job, size, time);
            let mut job = self
                .draws
                .job(&mut scheduler.random, &scheduler.machines, drawn);
            self.next_job += match scheduler.random.weighted(&[60, 8, 20, 12]) {
                0 => 2,
                1 => 3,
                2 => scheduler.random.between(4, 20),
                _ => scheduler.random.between(20, 150),
            };
            let position = self.jobs.len();
            scheduler.job_events.push((time, position, SUBMIT));
            scheduler.step_tasks(&mut job, position, |_, scheduler| {
                Some(if scheduler.measured.len() < budget {
                    Room::Yes
                } else {
                    Room::No
                })
            });
            self.jobs.push(job);
        }
    }

    /// Derives the events of jobs from those of their tasks.
    fn note_jobs(&mut self) {
        let scheduler = &mut self.scheduler;
        for (position, job) in self.jobs.iter_mut().enumerate() {
            let (ended_at, ending) = job.last_end;
            let ended = job.tasks.is_empty();
            if let Some(time) = job.scheduled_at.filter(|_| !job.announced) {
                scheduler.job_events.push((time, position, SCHEDULE));
                job.announced = true;
            }
            if let Some((time, _)) = job.update.filter(|update| !ended || update.0 < ended_at) {
                let running = job.scheduled_at.is_some_and(|scheduled| scheduled < time);
                let kind = if running {
                    UPDATE_RUNNING
                } else {
                    UPDATE_PENDING
                };
                scheduler.job_events.push((time, position, kind));
            }
            if ended {
                // If the last task was evicted and not submitted again, the job was given up.
                let kind = if ending == EVICT { KILL } else { ending };
                scheduler.job_events.push((ended_at, position, kind));
            }
        }
    }

    fn write(&mut self, budget: usize, tables: &mut TableWriters) -> Result<(), Stopped> {
        let scheduler = &mut self.scheduler;
        // Both sorts are stable, so the events of a task or job stay in order.
        scheduler.job_events.sort_by_key(|event| event.0);
        scheduler.events.sort_by_key(|event| event.time);
        scheduler
            .measured
            .sort_by_key(|it| (it.start, it.job, it.index));

        for &(time, position, kind) in &scheduler.job_events {
            tables
                .job_events
                .push(&self.jobs[position].event(time, None, kind))?;
        }
        for event in &scheduler.events {
            let job = &self.jobs[event.job];
            let machine = event.machine.map(|machine| scheduler.machines.id(machine));
            let row = job.task_event(event.time, event.missing, event.kind, event.index, machine);
            tables.task_events.push(&row)?;
            if matches!(event.kind, SUBMIT | UPDATE_PENDING | UPDATE_RUNNING) {
                job.constrain(event.time, event.index, tables)?;
            }
        }
        for job in &mut self.jobs {
            if let Some((_, request)) = job.update.take() {
                job.request = request;
            }
        }

        let count = scheduler.measured.len();
        // Drops the surplus measurements of the window, evenly spread.
        let lost = count.saturating_sub(budget);
        let phase = if lost == 0 {
            0
        } else {
            scheduler.random.below(u64::try_from(count).unwrap_or(1))
        };
        let mut turn = usize::try_from(phase).unwrap_or(0);
        for it in &scheduler.measured {
            turn += lost;
            if turn >= count {
                turn -= count;
                continue;
            }
            let job = &self.jobs[it.job];
            let machine = scheduler.machines.machine(it.machine);
            let chance = mix(job.facts.id ^ u64::from(it.index) << 40, it.start) >> 32;
            let shared = self.shares.cpi / 2;
            let used = job.habits.measure(it.index, it.start);
            let usage = TaskUsage {
                start: it.start,
                end: it.end,
                job: job.facts,
                index: it.index,
                machine: machine.id,
                used,
                cpi: (machine.counters && chance >= shared).then_some(used.cpi),
                mai: (machine.counters && chance + shared >= self.shares.mai).then_some(used.mai),
            };
            tables.task_usage.push(&usage)?;
            if tables.joined_usage.is_open() {
                let turn = self.usages;
                self.usages += 1;
                if turn.is_multiple_of(profile::JOINED) {
                    tables
                        .joined_usage
                        .push(&job.joined(usage, turn / profile::JOINED))?;
                }
            }
        }
        Ok(())
    }

    /// Writes a few ends of jobs that became known only after the trace.
    pub(crate) fn after(&mut self, tables: &mut TableWriters) -> Result<(), Stopped> {
        let mut late: Vec<&Job> = self.jobs.iter().rev().filter(|job| job.announced).collect();
        late.sort_by_key(|job| job.tasks.len());
        for job in late.iter().take(LATE_JOBS) {
            tables
                .job_events
                .push(&job.event(AFTER, Some(DISAPPEARED), KILL))?;
            // A task that has ended and isn't submitted again yet already has its end.
            for task in job.tasks.iter().filter(|task| task.state != State::New) {
                let running = task.state == State::Running;
                let machine = running.then(|| self.scheduler.machines.id(task.machine));
                let missing = Some(DISAPPEARED);
                let row = job.task_event(AFTER, missing, KILL, task.index, machine);
                tables.task_events.push(&row)?;
            }
        }
        Ok(())
    }
}
