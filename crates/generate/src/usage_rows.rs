//! Rows about what tasks use.

use crate::job_rows::{CONSTRAINT_VALUE, Constraint, JobFacts, Request, alloc_index, constraints};
use crate::number::{Amount, decimal, general, hash};
use crate::profile;
use crate::random::{mix, quantile, scale};
use crate::row::{Quantity, Row, Write, find, flag, separate, small};
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
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("usage.start", |row, out| decimal(out, row.start)),
        ("usage.end", |row, out| decimal(out, row.end)),
        ("task.index", |row, out| decimal(out, u64::from(row.index))),
        ("alloc.index", |row, out| {
            alloc_index(out, &row.job, row.index)
        }),
        ("task.machine", |row, out| decimal(out, row.machine)),
        ("usage.cpu_mean", |row, out| general(out, row.used.cpu_mean)),
        ("usage.memory_canonical", |row, out| {
            general(out, row.used.memory)
        }),
        ("usage.memory_assigned", |row, out| {
            general(out, row.used.memory_assigned)
        }),
        ("usage.page_cache_unmapped", |row, out| {
            general(out, row.used.cache_unmapped)
        }),
        ("usage.page_cache_total", |row, out| {
            general(out, row.used.cache_total)
        }),
        ("usage.memory_maximum", |row, out| {
            general(out, row.used.memory_maximum)
        }),
        ("usage.disk_io_mean", |row, out| {
            general(out, row.used.disk_io)
        }),
        ("usage.disk_space", |row, out| {
            general(out, row.used.disk_space)
        }),
        ("usage.cpu_maximum", |row, out| {
            general(out, row.used.cpu_maximum)
        }),
        ("usage.disk_io_maximum", |row, out| {
            general(out, row.used.disk_io_maximum)
        }),
        (CPI, |row, out| {
            row.cpi.into_iter().for_each(|it| general(out, it))
        }),
        (MAI, |row, out| {
            row.mai.into_iter().for_each(|it| general(out, it))
        }),
        ("usage.sample_portion", |row, out| {
            general(out, row.used.sample_portion)
        }),
        ("usage.aggregation", |row, out| {
            flag(out, row.used.aggregated)
        }),
        ("usage.cpu_sampled", |row, out| {
            general(out, row.used.cpu_sampled)
        }),
        ("usage.sample_rate", |row, out| {
            general(out, Amount((1 << 20) - row.used.sample_portion.0));
        }),
        ("usage.not_measured", |_, _| {}),
        ("usage.cpu_distribution", |row, out| {
            row.percentiles(out, (0..=10).map(|turn| 10 * turn));
        }),
        ("usage.cpu_tail", |row, out| row.percentiles(out, 91..=99)),
    ];

    fn quantity(name: &str) -> Option<Write<Self>> {
        let own = find(Self::QUANTITIES, name, |row| row);
        own.or_else(|| find(JobFacts::QUANTITIES, name, |row: &Self| &row.job))
    }
}

impl TaskUsage {
    /// Appends percentiles of CPU usage, unless they were not measured.
    fn percentiles(&self, out: &mut Vec<u8>, percents: impl Iterator<Item = u64>) {
        let chance = mix(self.job.id ^ u64::from(self.index), self.start);
        if scale(chance, 1_000_000) < profile::NO_DISTRIBUTION {
            return;
        }
        let (mean, maximum) = (self.used.cpu_mean.0, self.used.cpu_maximum.0);
        for (turn, percent) in (0..).zip(percents) {
            separate(out, turn);
            let knots = profile::CPU_PERCENTILES.map(|(at, parts)| match at {
                100 => (at, maximum),
                _ => (at, maximum.min(mean * parts / 100)),
            });
            general(out, Amount(quantile(&knots, percent)));
        }
    }
}

impl Row for JoinedUsage {
    const STREAM: &'static str = "joined usage";
    const LEFT_EMPTY: &'static [&'static str] = &[CPI, MAI];
    const QUANTITIES: &'static [Quantity<Self>] = &[
        ("row.index", |row, out| decimal(out, row.number)),
        ("row.cluster", |row, out| {
            decimal(out, 1 + mix(row.number, 7) % profile::CLUSTERS);
        }),
        ("row.event", |row, out| {
            out.extend_from_slice(row.label().as_bytes());
        }),
        ("row.failed", |row, out| flag(out, row.label() == "FAIL")),
        ("event.time", |row, out| decimal(out, row.time)),
        ("event.code", |row, out| decimal(out, row.code)),
        ("task.cpu_request", |row, out| general(out, row.request.cpu)),
        ("task.memory_request", |row, out| {
            general(out, row.request.memory);
        }),
        ("constraint.name", |row, out| {
            constraints(out, &row.constraints, |it, out| hash(out, it.attribute));
        }),
        (CONSTRAINT_VALUE, |row, out| {
            constraints(out, &row.constraints, |it, out| it.value.write(out));
        }),
        ("constraint.operator", |row, out| {
            constraints(out, &row.constraints, |it, out| small(out, it.operator));
        }),
    ];

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
