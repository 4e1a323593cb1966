//! Simulates tasks within one window: submits, schedules, measures and ends them.

use crate::job::{
    self, DISAPPEARED, EVICT, Job, KILL, LOST, NO_TRANSITION, SCHEDULE, SUBMIT, State, Task,
    UPDATE_PENDING, UPDATE_RUNNING,
};
use crate::machine::Machines;
use crate::profile;
use crate::random::{Random, quantile};

/// Usage is measured in whole seconds.
pub(crate) const SECOND: u64 = 1_000_000;

/// The state that a task changes, apart from its job.
pub(crate) struct Scheduler {
    pub(crate) machines: Machines,
    pub(crate) random: Random,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The number of tasks that wait for room.
    pub(crate) queued: usize,
    pub(crate) events: Vec<Event>,
    pub(crate) job_events: Vec<(u64, usize, u8)>,
    pub(crate) measured: Vec<Measured>,
}

/// A task event of the current window. `job` is the job's position.
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) job: usize,
    pub(crate) index: u32,
    pub(crate) machine: Option<u32>,
    pub(crate) kind: u8,
    pub(crate) missing: Option<u8>,
}

/// A period of the current window in which a task ran.
pub(crate) struct Measured {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) job: usize,
    pub(crate) index: u32,
    pub(crate) machine: u32,
}

/// Whether a submitted task gets a machine or has to wait for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Yes,
    No,
}

impl Scheduler {
    /// Simulates the tasks for which `room` has an answer, and drops those that end.
    pub(crate) fn step_tasks(
        &mut self,
        job: &mut Job,
        position: usize,
        room: impl Fn(&mut Task, &mut Self) -> Option<Room>,
    ) {
        let mut tasks = std::mem::take(&mut job.tasks);
        tasks.retain_mut(|task| match room(task, self) {
            Some(room) => self.step(job, position, task, room),
            None => true,
        });
        job.tasks = tasks;
    }

    /// Simulates a task up to the end of the window; false if it ends for good.
    fn step(&mut self, job: &mut Job, position: usize, task: &mut Task, room: Room) -> bool {
        let stop = job.kill_at.min(self.to);
        let killed = job.kill_at < self.to;
        loop {
            match task.state {
                State::New => {
                    if task.next >= stop {
                        if killed {
                            job.end(job.kill_at, KILL);
                        }
                        return !killed;
                    }
                    self.note(position, task.index, (task.next, SUBMIT), None);
                    task.state = State::Pending;
                    task.since = task.next;
                    if room == Room::Yes {
                        task.next += quantile(profile::WAIT, self.random.quantile());
                    } else {
                        task.next = u64::MAX;
                        self.queued += 1;
                    }
                }
                State::Pending => {
                    let due = task.next < stop;
                    let machine = due
                        .then(|| job.placement.place(task, &self.machines, &mut self.random))
                        .flatten();
                    if due && machine.is_none() {
                        // All machines it may run on are down, so it tries again in the next window.
                        task.next = self.to;
                    }
                    self.note_update(job, position, task, task.next.min(stop));
                    let Some(machine) = machine else {
                        if killed {
                            self.queued -= usize::from(task.queued());
                            self.note(position, task.index, (job.kill_at, KILL), None);
                            job.end(job.kill_at, KILL);
                        }
                        return !killed;
                    };
                    let time = task.next;
                    self.note(position, task.index, (time, SCHEDULE), Some(machine));
                    job.lifetimes.start(task, machine, time, &mut self.random);
                    job.scheduled_at = Some(job.scheduled_at.map_or(time, |first| first.min(time)));
                }
                State::Running => {
                    let down_at = self.machines.machine(task.machine).down_at;
                    let end = task.next.min(down_at).min(stop);
                    self.measure(position, task, end);
                    self.note_update(job, position, task, end);
                    if end >= self.to {
                        return true;
                    }
                    let kind = match end {
                        _ if end == job.kill_at => KILL,
                        _ if end == down_at => EVICT,
                        _ => task.ending,
                    };
                    self.note(position, task.index, (end, kind), Some(task.machine));
                    job.end(end, kind);
                    if end == job.kill_at || !job::again(kind, &mut self.random) {
                        return false;
                    }
                    task.state = State::New;
                    task.next = end + 1 + self.random.below(5);
                }
            }
        }
    }

    fn note(&mut self, job: usize, index: u32, (time, kind): (u64, u8), machine: Option<u32>) {
        // Rarely, a step that isn't an end is known only from a later snapshot.
        let missing = match kind {
            SCHEDULE if self.random.happens(profile::NO_TRANSITION) => Some(NO_TRANSITION),
            LOST => Some(DISAPPEARED),
            _ => None,
        };
        self.events.push(Event {
            time,
            job,
            index,
            machine,
            kind,
            missing,
        });
    }

    /// Adds the event of the job's update if the task was in its present state then, up to `end`.
    fn note_update(&mut self, job: &Job, position: usize, task: &Task, end: u64) {
        let Some((time, _)) = job
            .update
            .filter(|update| (task.since + 1..end).contains(&update.0))
        else {
            return;
        };
        match task.state {
            State::Running => {
                let machine = Some(task.machine);
                self.note(position, task.index, (time, UPDATE_RUNNING), machine);
            }
            _ => self.note(position, task.index, (time, UPDATE_PENDING), None),
        }
    }

    /// Measures a run up to `end`, in whole seconds.
    fn measure(&mut self, job: usize, task: &Task, end: u64) {
        let start = task.since.max(self.from).next_multiple_of(SECOND);
        let end = end / SECOND * SECOND;
        if start < end {
            self.measured.push(Measured {
                start,
                end,
                job,
                index: task.index,
                machine: task.machine,
            });
        }
    }
}
