//! A fleet: machines, containers and batch jobs, simulated one after the other.
//!
//! The rows of each machine, container and job are together and in order of time, as in traces that
//! are grouped this way. Each one is drawn from its own number, so that tables agree with each other.

use crate::fleet_rows::{
    BatchInstance, BatchTask, ContainerSample, ContainerState, MachineSample, MachineState, Used,
};
use crate::number::{base64, decimal, split};
use crate::profile;
use crate::random::{Random, mix, quantile};
use crate::table::{Stopped, TableWriters};

/// The number of machines and containers, and of rows about them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    seed: u64,
    machines: u64,
    containers: u64,
    machine_samples: u64,
    container_samples: u64,
    instances: u64,
}

impl Fleet {
    /// A fleet with `rows` samples of containers.
    pub(crate) fn new(rows: u64, seed: u64) -> Self {
        let machine_samples = (rows * profile::MACHINE_SAMPLES / 1000).max(1);
        let things = |samples: u64, most: u64| (samples / profile::SAMPLES_EACH).clamp(1, most);
        Self {
            seed,
            machines: things(machine_samples, profile::FLEET_MOST[0]),
            containers: things(rows, profile::FLEET_MOST[1]),
            machine_samples,
            container_samples: rows,
            instances: (rows * profile::BATCH_INSTANCES / 1000).max(1),
        }
    }

    /// Writes all rows.
    pub(crate) fn write(&self, tables: &mut TableWriters) -> Result<(), Stopped> {
        for machine in 0..self.machines {
            let samples = split(self.machine_samples, self.machines, machine);
            self.machine(machine, samples, tables)?;
        }
        for container in 0..self.containers {
            let samples = split(self.container_samples, self.containers, container);
            self.container(container, samples, tables)?;
        }
        let (mut left, mut job) = (self.instances, 1);
        while left > 0 {
            left -= self.job(job, left, tables)?;
            job += 1;
        }
        Ok(())
    }

    fn random(&self, sort: u64, number: u64) -> Random {
        Random::new(mix(mix(self.seed, sort), number))
    }

    fn machine(&self, index: u64, samples: u64, tables: &mut TableWriters) -> Result<(), Stopped> {
        let mut random = self.random(1, index);
        let machine = index + 1;
        for time in times(&mut random) {
            let known = !random.happens(profile::NO_DOMAIN);
            let domains = (
                1 + index / profile::DOMAIN_SIZE,
                known.then_some(1 + index % 20),
            );
            let installing = random.happens(profile::INSTALLING);
            tables.machine_states.push(&MachineState {
                machine,
                time,
                domains,
                status: if installing {
                    "IMPORT_INSTALLING"
                } else {
                    "USING"
                },
            })?;
        }
        Series::new(&mut random, samples).each(&mut random, |time, used| {
            tables.machine_samples.push(&MachineSample {
                machine,
                time,
                used,
            })
        })
    }

    fn container(
        &self,
        index: u64,
        samples: u64,
        tables: &mut TableWriters,
    ) -> Result<(), Stopped> {
        let mut random = self.random(2, index);
        let (container, machine) = (index + 1, 1 + random.below(self.machines));
        let (cpu, memory) = (
            pick(&mut random, &profile::CONTAINER_CPU),
            pick(&mut random, &profile::CONTAINER_MEMORY),
        );
        for time in times(&mut random) {
            tables.container_states.push(&ContainerState {
                container,
                machine,
                time,
                app: 1 + index / profile::APP_SIZE,
                status: pick(&mut random, &profile::CONTAINER_STATUS),
                cpu,
                memory,
            })?;
        }
        Series::new(&mut random, samples).each(&mut random, |time, used| {
            tables.container_samples.push(&ContainerSample {
                container,
                machine,
                time,
                used,
            })
        })
    }

    /// Writes a job with at most `left` instances and returns how many it has.
    fn job(&self, job: u64, left: u64, tables: &mut TableWriters) -> Result<u64, Stopped> {
        let mut random = self.random(3, job);
        let is_dag = random.happens(profile::DAGS);
        let kind = if is_dag {
            0
        } else {
            random.weighted(&profile::TASK_TYPES)
        };
        let mut start = random.below(profile::FLEET_SPAN);
        let mut written = 0;
        for number in 1..=size(&mut random, &profile::JOB_TASKS) {
            let name = if is_dag {
                dag_name(&mut random, number)
            } else {
                lone_name(&mut random)
            };
            let life = quantile(profile::INSTANCE_LIFE, random.quantile());
            // Nothing starts after the trace, and what would end after it still runs.
            let status = match pick(&mut random, &profile::BATCH_STATUS) {
                _ if start > profile::FLEET_SPAN => "Waiting",
                "Terminated" | "Failed" if start + life > profile::FLEET_SPAN => "Running",
                drawn => drawn,
            };
            let waits = status == "Waiting";
            let most = (self.instances / 20).max(1).min(left - written);
            let count = size(&mut random, &profile::TASK_INSTANCES).min(most);
            let end = match status {
                "Terminated" | "Failed" => start + life,
                _ => 0,
            };
            let plan = (
                pick(&mut random, &profile::PLAN_CPU),
                pick(&mut random, &profile::PLAN_MEMORY),
            );
            let planned = !waits && !random.happens(profile::NO_PLAN);
            let task = BatchTask {
                job,
                name,
                kind: 1 + u64::try_from(kind).unwrap_or(0),
                status,
                instances: (!waits).then_some(count),
                start: if waits { 0 } else { start },
                end,
                plan: planned.then_some(plan),
            };
            tables.batch_tasks.push(&task)?;
            if !waits {
                for turn in 0..count {
                    let id = mix(job, number) % 1_000_000 * 10_000 + turn;
                    self.instance(&task, id, plan, &mut random, tables)?;
                }
                written += count;
            }
            start += life;
            if written == left {
                break;
            }
        }
        Ok(written)
    }

    fn instance(
        &self,
        task: &BatchTask,
        id: u64,
        plan: (u64, u64),
        random: &mut Random,
        tables: &mut TableWriters,
    ) -> Result<(), Stopped> {
        let attempts = 1 + u64::from(random.happens(profile::RETRIES));
        let start = task.start + random.below(task.end.saturating_sub(task.start) / 4 + 1);
        let cpu = plan.0 * (10 + random.below(90)) / 100;
        let memory = plan.1 * (5 + random.below(60)) / 100;
        tables.batch_instances.push(&BatchInstance {
            id,
            task: task.clone(),
            start,
            end: task.end,
            machine: 1 + random.below(self.machines),
            attempt: attempts,
            attempts,
            cpu: (100 * cpu, 100 * (cpu + random.below(cpu + 1))),
            memory: (memory, memory + random.below(memory + 1)),
        })
    }
}

/// The times of the rows about a state: first 0, which is before the trace.
fn times(random: &mut Random) -> Vec<u64> {
    let later = random.weighted(&profile::STATES);
    let mut times: Vec<u64> = (0..later)
        .map(|_| 1 + random.below(profile::FLEET_SPAN))
        .collect();
    times.push(0);
    times.sort_unstable();
    times.dedup();
    times
}

/// Samples of one machine or container, every ten seconds with gaps.
struct Series {
    from: u64,
    samples: u64,
    /// Whether its hardware counters are read.
    counters: bool,
    net: (u64, u64),
    cpu: u64,
    memory: u64,
}

impl Series {
    fn new(random: &mut Random, samples: u64) -> Self {
        Self {
            from: (random.below(profile::FLEET_SPAN / 2) / 10 * 10)
                .min(profile::FLEET_SPAN.saturating_sub(10 * samples)),
            samples,
            counters: !random.happens(profile::NO_COUNTERS),
            net: (random.between(0, 4000), random.between(0, 3500)),
            cpu: random.between(3, 60),
            memory: random.between(40, 95),
        }
    }

    fn each(
        self,
        random: &mut Random,
        mut row: impl FnMut(u64, Used) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let (mut time, mut cpu, mut memory, mut net) = (self.from, self.cpu, self.memory, self.net);
        for left in (0..self.samples).rev() {
            cpu = walk(random, cpu, 3, 93);
            memory = walk(random, memory, 1, 98);
            net = (net.0 + random.below(2), net.1 + random.below(2));
            let counters = (
                60 + cpu + random.below(80),
                16 + 8 * cpu + random.below(100),
                random.below(5) * random.below(2),
            );
            let invalid = random.happens(profile::INVALID);
            row(
                time,
                Used {
                    cpu,
                    memory,
                    counters: self.counters.then_some(counters),
                    net,
                    disk: (!invalid).then_some(random.below(1 + cpu / 4)),
                    invalid: if random.happens(400_000) { "-1" } else { "101" },
                },
            )?;
            let gap = 1 + u64::try_from(random.weighted(&profile::SAMPLE_GAPS)).unwrap_or(0);
            // The samples that are left fit into the trace.
            let room = profile::FLEET_SPAN.saturating_sub(time) / 10 / left.max(1);
            time += 10 * gap.min(room.max(1));
        }
        Ok(())
    }
}

/// The value after a random step up or down, within its bounds.
fn walk(random: &mut Random, value: u64, low: u64, high: u64) -> u64 {
    (value + random.below(5)).saturating_sub(2).clamp(low, high)
}

fn pick<T: Copy, const N: usize>(random: &mut Random, choices: &[(u32, T); N]) -> T {
    let weights = choices.map(|choice| choice.0);
    choices[random.weighted(&weights)].1
}

fn size<const N: usize>(random: &mut Random, sizes: &[(u32, u64, u64); N]) -> u64 {
    let (low, high) = pick(
        random,
        &sizes.map(|(weight, low, high)| (weight, (low, high))),
    );
    random.between(low, high + 1)
}

/// The name of a task in a DAG, such as `J5_3_4`: its number and those of the tasks it depends on. A few
/// end with a stage, such as `_Stg4`.
fn dag_name(random: &mut Random, number: u64) -> Vec<u8> {
    let most = (number - 1).min(3);
    let needs = if most == 0 || random.happens(200_000) {
        0
    } else {
        1 + random.below(most)
    };
    let mut name = vec![match needs {
        0 => b'M',
        1 => b'R',
        _ => b'J',
    }];
    decimal(&mut name, number);
    let first = 1 + random.below(number.saturating_sub(needs).max(1));
    for need in first..first + needs {
        name.push(b'_');
        decimal(&mut name, need);
    }
    if random.happens(profile::STAGES) {
        name.extend_from_slice(b"_Stg");
        decimal(&mut name, 1 + random.below(9));
    }
    name
}

/// The name of a task that isn't in a DAG.
fn lone_name(random: &mut Random) -> Vec<u8> {
    let mut digits = Vec::new();
    decimal(
        &mut digits,
        1_000_000_000_000_000_000 + random.below(8_000_000_000_000_000_000),
    );
    let mut name = b"task_".to_vec();
    base64(&mut name, &digits);
    name
}
