//! A fleet: machines, containers and batch jobs gone through one after the other.
//!
//! Every thing has its rows together and in order of time, as in traces that are grouped by what the
//! rows are about. What belongs to one thing is drawn from its own number, so that tables agree.

use crate::number::{base64, decimal, hundredths};
use crate::profile;
use crate::random::{Random, mix, quantile};
use crate::sheet::{Sheets, Stopped};
use crate::stream::{Quantity, Row};

/// How many things there are, and how many rows tell of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    seed: u64,
    machines: u64,
    containers: u64,
    machine_samples: u64,
    container_samples: u64,
    instances: u64,
}

#[derive(Debug)]
pub(crate) struct MachineState {
    machine: u64,
    time: u64,
    /// The second one is not always known.
    domains: (u64, Option<u64>),
    status: &'static str,
}

#[derive(Debug)]
pub(crate) struct MachineSample {
    machine: u64,
    time: u64,
    used: Used,
}

#[derive(Debug)]
pub(crate) struct ContainerState {
    container: u64,
    machine: u64,
    time: u64,
    app: u64,
    status: &'static str,
    /// Hundredths of a core.
    cpu: u64,
    /// Hundredths of a hundredth of the largest machine.
    memory: u64,
}

#[derive(Debug)]
pub(crate) struct ContainerSample {
    container: u64,
    machine: u64,
    time: u64,
    used: Used,
}

#[derive(Debug, Clone)]
pub(crate) struct BatchTask {
    job: u64,
    name: Vec<u8>,
    kind: u64,
    status: &'static str,
    /// Not known while it waits.
    instances: Option<u64>,
    start: u64,
    end: u64,
    /// CPU and memory, in hundredths.
    plan: Option<(u64, u64)>,
}

#[derive(Debug)]
pub(crate) struct BatchInstance {
    id: u64,
    task: BatchTask,
    start: u64,
    end: u64,
    machine: u64,
    attempt: u64,
    attempts: u64,
    /// Mean and largest, in hundredths.
    cpu: (u64, u64),
    memory: (u64, u64),
}

/// What a machine or a container uses at a time; percents but for what says otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    cpu: u64,
    memory: u64,
    /// Cycles per instruction and memory bandwidth in hundredths, misses per thousand instructions.
    counters: Option<(u64, u64, u64)>,
    /// In hundredths of a percent.
    net: (u64, u64),
    /// Not valid now and then.
    disk: Option<u64>,
    /// What stands in the place of a value that is not valid.
    invalid: &'static str,
}

impl Fleet {
    /// A fleet of which containers give so many samples.
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

    /// Writes the rows of all things.
    pub(crate) fn write(&self, sheets: &mut Sheets<'_>) -> Result<(), Stopped> {
        for machine in 0..self.machines {
            let samples = crate::split(self.machine_samples, self.machines, machine);
            self.machine(machine, samples, sheets)?;
        }
        for container in 0..self.containers {
            let samples = crate::split(self.container_samples, self.containers, container);
            self.container(container, samples, sheets)?;
        }
        let (mut left, mut job) = (self.instances, 1);
        while left > 0 {
            left -= self.job(job, left, sheets)?;
            job += 1;
        }
        Ok(())
    }

    fn random(&self, sort: u64, number: u64) -> Random {
        Random::new(mix(mix(self.seed, sort), number))
    }

    fn machine(&self, index: u64, samples: u64, sheets: &mut Sheets<'_>) -> Result<(), Stopped> {
        let mut random = self.random(1, index);
        let machine = index + 1;
        for time in times(&mut random) {
            let known = !random.happens(profile::NO_DOMAIN);
            let domains = (
                1 + index / profile::DOMAIN_SIZE,
                known.then_some(1 + index % 20),
            );
            let installing = random.happens(profile::INSTALLING);
            sheets.machine_states.push(&MachineState {
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
            sheets.machine_samples.push(&MachineSample {
                machine,
                time,
                used,
            })
        })
    }

    fn container(&self, index: u64, samples: u64, sheets: &mut Sheets<'_>) -> Result<(), Stopped> {
        let mut random = self.random(2, index);
        let (container, machine) = (index + 1, 1 + random.below(self.machines));
        let (cpu, memory) = (
            pick(&mut random, &profile::CONTAINER_CPU),
            pick(&mut random, &profile::CONTAINER_MEMORY),
        );
        for time in times(&mut random) {
            sheets.container_states.push(&ContainerState {
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
            sheets.container_samples.push(&ContainerSample {
                container,
                machine,
                time,
                used,
            })
        })
    }

    /// Writes a job with at most `left` instances and says how many it has.
    fn job(&self, job: u64, left: u64, sheets: &mut Sheets<'_>) -> Result<u64, Stopped> {
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
            let status = pick(&mut random, &profile::BATCH_STATUS);
            let waits = status == "Waiting";
            let most = (self.instances / 20).max(1).min(left - written);
            let count = size(&mut random, &profile::TASK_INSTANCES).min(most);
            let life = quantile(profile::INSTANCE_LIFE, random.place());
            let backwards = random.happens(profile::BACKWARDS);
            let end = match status {
                "Terminated" | "Failed" if backwards => start.saturating_sub(1 + life % 60),
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
            sheets.batch_tasks.push(&task)?;
            if !waits {
                for turn in 0..count {
                    let id = mix(job, number) % 1_000_000 * 10_000 + turn;
                    self.instance(&task, id, plan, &mut random, sheets)?;
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
        sheets: &mut Sheets<'_>,
    ) -> Result<(), Stopped> {
        let attempts = 1 + u64::from(random.happens(profile::RETRIES));
        let start = task.start + random.below((task.end.saturating_sub(task.start)) / 4 + 1);
        let cpu = plan.0 * (10 + random.below(90)) / 100;
        let memory = plan.1 * (5 + random.below(60)) / 100;
        sheets.batch_instances.push(&BatchInstance {
            id,
            task: task.clone(),
            start,
            end: if task.end == 0 {
                0
            } else {
                start.max(task.end)
            },
            machine: 1 + random.below(self.machines),
            attempt: attempts,
            attempts,
            cpu: (100 * cpu, 100 * (cpu + random.below(cpu + 1))),
            memory: (memory, memory + random.below(memory + 1)),
        })
    }
}

/// When rows tell of the state of a thing: at first before the trace.
fn times(random: &mut Random) -> Vec<u64> {
    let later = random.weighted(&profile::STATES);
    let mut times: Vec<u64> = (0..later)
        .map(|_| 1 + random.below(profile::FLEET_SPAN))
        .collect();
    times.push(0);
    times.sort_unstable();
    times
}

/// Samples of one thing, on a grid of ten seconds with gaps.
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
            from: random.below(profile::FLEET_SPAN / 2) / 10 * 10,
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
        for _ in 0..self.samples {
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
            let gap = random.weighted(&profile::SAMPLE_GAPS);
            time += 10 * (1 + u64::try_from(gap).unwrap_or(0));
        }
        Ok(())
    }
}

/// A value a step further, up or down, within its bounds.
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

/// The name of a task of a DAG, such as `J5_3_4`: its number and those of the tasks that it needs.
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
    name
}

/// The name of a task that is no part of a DAG.
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

/// A name such as `m_12`.
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
