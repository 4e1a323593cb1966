//! Rows about what tasks use.

use crate::job_rows::{CONSTRAINT_VALUE, Constraint, JobFacts, Request};
use crate::number::Amount;
use crate::profile;
use crate::random::{mix, quantile, scale};
use crate::row::{Hash, List, Quantity, Row, Write, find, quantities};
use crate::usage::Measurement;

/// Cycles per instruction, which some machines don't count.
pub(crate) const CPI: &str = "usage.cpi";
/// Memory accesses per instruction, which are missing in the same rows as [`CPI`].
pub(crate) const MAI: &str = "usage.mai";

/// A task's usage in one window.
#[derive(Debug)]
pub(crate) struct TaskUsage {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) job: JobFacts,
    pub(crate) index: u32,
    pub(crate) machine: u64,
    pub(crate) used: Measurement,
    /// `None` if the machine's counters were not read.
    pub(crate) cpi: Option<Amount>,
    pub(crate) mai: Option<Amount>,
}

/// An event of a task, joined with a window of its usage.
#[derive(Debug)]
pub(crate) struct JoinedUsage {
    pub(crate) number: u64,
    pub(crate) time: u64,
    pub(crate) code: u64,
    pub(crate) request: Request,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) usage: TaskUsage,
}

impl Row for TaskUsage {
    const STREAM: &'static str = "task usage";
    const LEFT_EMPTY: &'static [&'static str] = &[CPI, MAI];
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "usage.start" => row.start,
        "usage.end" => row.end,
        "task.index" => row.index,
        "alloc.index" => row.job.alloc_index(row.index),
        "task.machine" => row.machine,
        "usage.cpu_mean" => row.used.cpu_mean,
        "usage.memory_canonical" => row.used.memory,
        "usage.memory_assigned" => row.used.memory_assigned,
        "usage.page_cache_unmapped" => row.used.cache_unmapped,
        "usage.page_cache_total" => row.used.cache_total,
        "usage.memory_maximum" => row.used.memory_maximum,
        "usage.disk_io_mean" => row.used.disk_io,
        "usage.disk_space" => row.used.disk_space,
        "usage.cpu_maximum" => row.used.cpu_maximum,
        "usage.disk_io_maximum" => row.used.disk_io_maximum,
        CPI => row.cpi,
        MAI => row.mai,
        "usage.sample_portion" => row.used.sample_portion,
        "usage.aggregation" => row.used.aggregated,
        "usage.cpu_sampled" => row.used.cpu_sampled,
        "usage.sample_rate" => Amount((1 << 20) - row.used.sample_portion.0),
        "usage.not_measured" => None::<Amount>,
        "usage.cpu_distribution" => row.percentiles((0..=10).map(|turn| 10 * turn)),
        "usage.cpu_tail" => row.percentiles(91..=99),
    };

    fn quantity(name: &str) -> Option<Write<Self>> {
        let own = find(Self::QUANTITIES, name, |row| row);
        own.or_else(|| find(JobFacts::QUANTITIES, name, |row: &Self| &row.job))
    }
}

impl TaskUsage {
    /// Percentiles of CPU usage, unless they were not measured.
    fn percentiles(
        &self,
        percents: impl Iterator<Item = u64>,
    ) -> Option<List<impl Iterator<Item = Amount>>> {
        let chance = mix(self.job.id ^ u64::from(self.index), self.start);
        let (mean, maximum) = (self.used.cpu_mean.0, self.used.cpu_maximum.0);
        (scale(chance, 1_000_000) >= profile::NO_DISTRIBUTION).then(|| {
            let knots = profile::CPU_PERCENTILES.map(|(at, parts)| match at {
                100 => (at, maximum),
                _ => (at, maximum.min(mean * parts / 100)),
            });
            List(percents.map(move |percent| Amount(quantile(&knots, percent))))
        })
    }
}

impl Row for JoinedUsage {
    const STREAM: &'static str = "joined usage";
    const LEFT_EMPTY: &'static [&'static str] = &[CPI, MAI];
    const QUANTITIES: &'static [Quantity<Self>] = quantities! { row;
        "row.index" => row.number,
        "row.cluster" => 1 + mix(row.number, 7) % profile::CLUSTERS,
        "row.event" => row.label(),
        "row.failed" => row.label() == "FAIL",
        "event.time" => row.time,
        "event.code" => row.code,
        "task.cpu_request" => row.request.cpu,
        "task.memory_request" => row.request.memory,
        "constraint.name" => List(row.constraints.iter().map(|it| Hash(it.attribute))),
        CONSTRAINT_VALUE => List(row.constraints.iter().map(|it| it.value)),
        "constraint.operator" => List(row.constraints.iter().map(|it| it.operator)),
    };

    fn quantity(name: &str) -> Option<Write<Self>> {
        let own = find(Self::QUANTITIES, name, |row| row);
        let job = || find(JobFacts::QUANTITIES, name, |row: &Self| &row.usage.job);
        let usage = || find(TaskUsage::QUANTITIES, name, |row: &Self| &row.usage);
        own.or_else(job).or_else(usage)
    }
}

impl JoinedUsage {
    /// The name of the event.
    fn label(&self) -> &'static str {
        let place = usize::try_from(self.code).unwrap_or(0);
        profile::LABELS[place.min(profile::LABELS.len() - 1)]
    }
}
