//! Draws jobs: sizes, requests, constraints, placement and usage.

use crate::job::{Class, FINISH, Job, Lifetimes, Placement, Slots, State, Task};
use crate::job_rows::{Constraint, JobFacts, JobLinks, RecentJobs, Request};
use crate::machine::{Attribute, Machines};
use crate::number::Amount;
use crate::profile;
use crate::random::{Balance, Random, bell, mix, quantile, raise, whole};
use crate::row::Value;
use crate::usage::{Spread, amount};

/// The state that connects the draws of different jobs.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    spread: Spread,
    memory: Balance,
    disk: Balance,
    cpu: Balance,
    life: [Balance; 2],
    apart: Balance,
    recent_jobs: RecentJobs,
    /// The share of constraints without a value, in 2^-32.
    no_value: u64,
}

impl Draws {
    /// Starts drawing; `no_value` is the share of constraints without a value, in 2^-32.
    pub(crate) fn new(no_value: u64) -> Self {
        Self {
            no_value,
            ..Self::default()
        }
    }

    /// Draws a job of `size` tasks that is submitted at `time`.
    pub(crate) fn job(
        &mut self,
        random: &mut Random,
        machines: &Machines,
        (class, id, size, time): (Class, u64, u64, u64),
    ) -> Job {
        let apart = self.apart.place(random, size) < 1 << 15;
        let count = u64::try_from(machines.list.len()).unwrap_or(1);
        let placement = if apart && size <= count {
            Placement::Apart(Slots {
                start: random.below(count),
                size,
                machines: count,
            })
        } else {
            Placement::Anywhere
        };
        let life = self.life[usize::from(class == Class::Batch)].place(random, size);
        let (priority, class_number) = match class {
            Class::Batch => (
                pick(random, &profile::BATCH_PRIORITY),
                &profile::BATCH_CLASS,
            ),
            Class::Service => (
                pick(random, &profile::SERVICE_PRIORITY),
                &profile::SERVICE_CLASS,
            ),
        };
        // A few users have most of the jobs.
        let user = mix(1, random.quantile().pow(3) >> 38);
        let program = if random.happens(600_000) {
            random.word()
        } else {
            random.below(40)
        };
        let logical_name = mix(user, program);
        let name = if random.happens(800_000) {
            random.word()
        } else {
            mix(logical_name, 1)
        };
        let kill_at = match class {
            Class::Batch if random.happens(profile::JOB_KILLS) => {
                time + raise(
                    quantile(profile::BATCH_LIFE, life),
                    bell(random.word(), 5000),
                )
                .max(1_000_000)
            }
            _ => u64::MAX,
        };
        let mut facts = JobFacts {
            id,
            user,
            class: u8::try_from(random.weighted(class_number)).unwrap_or(0),
            priority,
            name,
            logical_name,
            different_machines: matches!(placement, Placement::Apart(_)),
            links: JobLinks::default(),
        };
        facts.links = self.recent_jobs.link(&facts);
        Job {
            facts,
            request: Request {
                cpu: self.cpu(random, size),
                memory: amount(quantile(
                    profile::MEMORY_REQUEST,
                    self.memory.place(random, size),
                ))
                .rounded(),
                disk: amount(quantile(
                    profile::DISK_REQUEST,
                    self.disk.place(random, size),
                ))
                .rounded(),
            },
            constraints: self.constraints(random, &machines.attributes),
            habits: self.spread.habits(random, size),
            tasks: (0..size)
                .map(|index| Task {
                    index: u32::try_from(index).unwrap_or(u32::MAX),
                    state: State::New,
                    since: time,
                    next: time + index,
                    machine: 0,
                    attempts: 0,
                    ending: FINISH,
                    vague: false,
                })
                .collect(),
            lifetimes: Lifetimes { class, place: life },
            kill_at,
            update: None,
            scheduled_at: None,
            announced: false,
            last_end: (0, FINISH),
            placement,
        }
    }

    fn cpu(&mut self, random: &mut Random, size: u64) -> Amount {
        let mut left = (self.cpu.place(random, size) * 1000) >> 16;
        for (weight, cpu) in profile::CPU_REQUEST {
            if left < u64::from(weight) {
                return Amount(whole(cpu * 1_048_576.0 + 0.5)).rounded();
            }
            left -= u64::from(weight);
        }
        Amount(1 << 16)
    }

    fn constraints(&self, random: &mut Random, attributes: &[Attribute]) -> Vec<Constraint> {
        if !random.happens(profile::CONSTRAINED_JOBS) {
            return Vec::new();
        }
        let mut constraints: Vec<Constraint> = Vec::new();
        let drawn = (0..1 + random.weighted(&[35, 30, 20, 10, 5])).map(|_| {
            let count = u64::try_from(attributes.len()).unwrap_or(1);
            let attribute = attributes[usize::try_from(random.below(count)).unwrap_or(0)];
            let operator = match attribute.values {
                0 => random.weighted(&[60, 40]),
                _ => random.weighted(&[35, 30, 10, 25]),
            };
            let no_value = operator < 2 && random.word() >> 32 < self.no_value;
            Constraint {
                operator: u8::try_from(operator).unwrap_or(0),
                attribute: attribute.name,
                value: if no_value {
                    Value::None
                } else {
                    attribute.value(random.word())
                },
            }
        });
        for constraint in drawn {
            // A job doesn't ask for the same twice.
            if !constraints.contains(&constraint) {
                constraints.push(constraint);
            }
        }
        constraints
    }
}

fn pick(random: &mut Random, choices: &[(u32, u8)]) -> u8 {
    let weights: Vec<u32> = choices.iter().map(|choice| choice.0).collect();
    choices[random.weighted(&weights)].1
}

/// Draws the number of tasks of a job, at most `most`.
pub(crate) fn size(class: Class, most: u64, random: &mut Random) -> u64 {
    let sizes = match class {
        Class::Batch => &profile::BATCH_SIZE,
        Class::Service => &profile::SERVICE_SIZE,
    };
    let weights: Vec<u32> = sizes.iter().map(|size| size.0).collect();
    let (_, low, high) = sizes[random.weighted(&weights)];
    random.between(low, high + 1).min(most.max(1))
}
