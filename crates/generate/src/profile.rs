//! Statistics of published rows: quantiles, shares and rates. Every number here is data.
//!
//! Usage, requests and machines follow published first rows, whole machine tables and counts per
//! kind of event; `docs/synthetic.md` says how close the outcome is.

use crate::random::whole;

/// The quantiles of a distribution, as pairs of a place (0 to 65535) and a value.
pub(crate) type Knots = &'static [(u64, u64)];

/// Values in units of 2^-32, finer than an amount, so that noise can be added before rounding.
const FINE: f64 = 4_294_967_296.0;
/// Times in microseconds.
const SECOND: f64 = 1e6;
const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

const fn knots<const N: usize>(unit: f64, points: [(f64, f64); N]) -> [(u64, u64); N] {
    let mut made = [(0, 0); N];
    let mut index = 0;
    while index < N {
        let (percent, value) = points[index];
        made[index] = (whole(percent * 655.35), whole(value * unit));
        index += 1;
    }
    made
}

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident in $unit:expr => $points:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: Knots = &knots($unit, $points);)*
    };
}

table! {
    /// Mean CPU usage.
    CPU in FINE => [(0.0, 5e-5), (1.0, 1.4e-4), (10.0, 0.00116), (25.0, 0.0115), (50.0, 0.0151),
        (60.0, 0.022), (75.0, 0.033), (90.0, 0.0369), (99.0, 0.0614), (100.0, 0.3)];
    /// Maximum CPU usage over the mean.
    CPU_PEAK in FINE => [(0.0, 1.2), (1.0, 1.7), (10.0, 2.8), (25.0, 3.2), (50.0, 4.3),
        (75.0, 5.5), (90.0, 7.5), (99.0, 20.0), (100.0, 60.0)];
    /// Canonical memory usage.
    MEMORY in FINE => [(0.0, 0.001), (1.0, 0.0044), (10.0, 0.0083), (25.0, 0.0088), (40.0, 0.0205),
        (50.0, 0.0218), (75.0, 0.0225), (79.0, 0.065), (90.0, 0.0807), (99.0, 0.118), (100.0, 0.4)];
    /// Assigned memory over canonical memory.
    ASSIGNED in FINE => [(0.0, 1.03), (1.0, 1.045), (10.0, 1.134), (25.0, 1.29), (50.0, 1.325),
        (75.0, 1.396), (90.0, 1.472), (99.0, 1.589), (100.0, 2.065)];
    /// Page cache that is not mapped.
    CACHE in FINE => [(0.0, 5e-6), (1.0, 1.2e-4), (10.0, 5.2e-4), (25.0, 0.0017), (50.0, 0.0036),
        (75.0, 0.0046), (90.0, 0.0057), (99.0, 0.007), (100.0, 0.05)];
    /// Page cache that is mapped: the total without the unmapped.
    CACHE_MAPPED in FINE => [(0.0, 1.5e-5), (1.0, 4.6e-5), (10.0, 8.6e-5), (25.0, 1.09e-4),
        (50.0, 1.6e-4), (75.0, 2.8e-4), (90.0, 3.9e-4), (99.0, 8.9e-4), (100.0, 0.0044)];
    /// Mean disk I/O time.
    DISK_IO in FINE => [(0.0, 9e-7), (1.0, 1.9e-6), (10.0, 5.7e-6), (25.0, 4.4e-5), (50.0, 6.7e-5),
        (55.0, 7e-5), (63.0, 3e-4), (75.0, 5.2e-4), (90.0, 6.9e-4), (99.0, 8.8e-4), (100.0, 0.01)];
    /// Maximum disk I/O time over the mean.
    DISK_IO_PEAK in FINE => [(0.0, 4.0), (1.0, 20.0), (10.0, 29.7), (25.0, 34.0), (50.0, 40.5),
        (75.0, 54.5), (90.0, 100.0), (99.0, 208.0), (100.0, 268.0)];
    /// Local disk space used.
    DISK_SPACE in FINE => [(0.0, 9e-7), (1.0, 3.7e-5), (10.0, 9.4e-5), (25.0, 1.07e-4),
        (50.0, 2.94e-4), (75.0, 3.02e-4), (90.0, 3.07e-4), (99.0, 3.58e-4), (100.0, 0.004)];
    /// Cycles per instruction.
    CPI in FINE => [(0.0, 0.7), (1.0, 1.58), (10.0, 2.36), (25.0, 3.39), (50.0, 4.28),
        (75.0, 5.65), (90.0, 6.54), (99.0, 10.0), (100.0, 25.0)];
    /// Memory accesses per instruction.
    MAI in FINE => [(0.0, 0.0005), (1.0, 0.0028), (10.0, 0.0061), (25.0, 0.0099), (50.0, 0.0145),
        (75.0, 0.0221), (90.0, 0.026), (99.0, 0.047), (100.0, 0.127)];
    /// Requested memory.
    MEMORY_REQUEST in FINE => [(0.0, 0.001), (5.0, 0.008), (15.0, 0.0265), (50.0, 0.0286),
        (57.0, 0.03), (65.0, 0.085), (90.0, 0.0978), (100.0, 0.125)];
    /// Requested disk space.
    DISK_REQUEST in FINE => [(0.0, 1e-5), (5.0, 3.8e-5), (12.0, 3e-4), (55.0, 3.1e-4),
        (62.0, 4.7e-4), (95.0, 5e-4), (100.0, 0.00105)];

    /// How long a task of a batch job runs.
    BATCH_LIFE in SECOND => [(0.0, 2.0), (10.0, 15.0), (25.0, 45.0), (50.0, 150.0), (75.0, 500.0),
        (90.0, 1500.0), (99.0, 5400.0), (100.0, 6.0 * HOUR)];
    /// How long a task of a service runs.
    SERVICE_LIFE in SECOND => [(0.0, HOUR), (5.0, 20.0 * HOUR), (25.0, 4.0 * DAY),
        (50.0, 15.0 * DAY), (75.0, 30.0 * DAY), (100.0, 60.0 * DAY)];
    /// How long a task waits for its machine when there is room.
    WAIT in SECOND => [(0.0, 0.4), (10.0, 1.8), (25.0, 2.9), (50.0, 3.7), (75.0, 5.6), (90.0, 8.6),
        (99.0, 60.0), (100.0, 200.0)];
    /// How long an instance of a batch task of a fleet runs, in whole seconds.
    INSTANCE_LIFE in 1.0 => [(0.0, 0.0), (10.0, 1.0), (25.0, 3.0), (50.0, 10.0), (75.0, 40.0),
        (90.0, 150.0), (99.0, 1500.0), (100.0, 20_000.0)];
    /// How long a removed machine stays away.
    REPAIR in SECOND => [(0.0, 300.0), (25.0, 900.0), (50.0, 1010.0), (75.0, 1500.0),
        (95.0, 6.0 * HOUR), (100.0, 10.0 * DAY)];
}

/// Requested CPU: values, with how often they occur.
pub(crate) const CPU_REQUEST: [(u32, f64); 9] = [
    (780, 0.0625),
    (25, 0.03125),
    (25, 0.01562),
    (60, 0.125),
    (20, 0.1875),
    (20, 0.25),
    (40, 0.025),
    (20, 0.5),
    (10, 0.006_25),
];

/// Sizes of jobs that arrive: weight, smallest, largest.
pub(crate) const BATCH_SIZE: [(u32, u64, u64); 5] = [
    (700, 1, 1),
    (120, 2, 9),
    (100, 10, 99),
    (60, 100, 399),
    (20, 400, 2000),
];

/// Sizes of jobs that ran before the trace: mostly replicated services.
pub(crate) const SERVICE_SIZE: [(u32, u64, u64); 5] = [
    (100, 1, 1),
    (640, 2, 2),
    (115, 3, 4),
    (100, 5, 25),
    (45, 100, 400),
];

/// Priorities of jobs that arrive and of services, with their weights; 9 and above are production.
pub(crate) const BATCH_PRIORITY: [(u32, u8); 8] = [
    (330, 0),
    (60, 1),
    (60, 2),
    (450, 4),
    (30, 6),
    (20, 8),
    (40, 9),
    (10, 10),
];
/// See [`BATCH_PRIORITY`].
pub(crate) const SERVICE_PRIORITY: [(u32, u8); 5] =
    [(20, 1), (10, 8), (950, 9), (10, 10), (10, 11)];

/// Scheduling classes 0 to 3 of jobs that arrive and of services.
pub(crate) const BATCH_CLASS: [u32; 4] = [430, 240, 325, 5];
/// See [`BATCH_CLASS`].
pub(crate) const SERVICE_CLASS: [u32; 4] = [5, 5, 40, 950];

/// Kinds of machines: weight, platform, CPUs, memory.
pub(crate) const MACHINES: [(u32, u8, f64, f64); 9] = [
    (6672, 0, 0.5, 0.4995),
    (3835, 0, 0.5, 0.2493),
    (992, 0, 0.5, 0.749),
    (788, 1, 1.0, 1.0),
    (123, 2, 0.25, 0.2498),
    (54, 0, 0.5, 0.1241),
    (5, 0, 0.5, 0.03085),
    (4, 0, 0.5, 0.9678),
    (4, 1, 1.0, 0.5),
];

/// The platform of machines whose capacities are not known.
pub(crate) const UNKNOWN_PLATFORM: u8 = 3;

/// Attributes of machines: how many of them have a few values, written as small integers, and how
/// many have many, written as hashes.
pub(crate) const COUNTED_ATTRIBUTES: u64 = 36;
/// See [`COUNTED_ATTRIBUTES`].
pub(crate) const HASHED_ATTRIBUTES: u64 = 8;

/// Tasks that run on a machine at a time, on average.
pub(crate) const TASKS_PER_MACHINE: u64 = 12;
/// Additions, removals and updates of machines in a window, per million machines.
pub(crate) const MACHINE_EVENTS: u64 = 240;
/// Changed attributes in a window, per million machines.
pub(crate) const ATTRIBUTE_EVENTS: u64 = 98_000;

/// Tasks from before the trace that are batch work, per million.
pub(crate) const BATCH_BEFORE: u64 = 40_000;
/// Jobs whose requests change in a window, per million.
pub(crate) const JOB_UPDATES: u64 = 1500;
/// Jobs that are killed as a whole, per million jobs that arrive.
pub(crate) const JOB_KILLS: u64 = 380_000;
/// Jobs that have constraints, per million.
pub(crate) const CONSTRAINED_JOBS: u64 = 250_000;
/// Tasks from before the trace without a record of their creation, per million.
pub(crate) const NO_CREATION: u64 = 130_000;
/// Events without a record whose outcome a later snapshot shows, per million.
pub(crate) const NO_TRANSITION: u64 = 130;
/// Tasks from before the trace that still wait for a machine, per million.
pub(crate) const WAITING: u64 = 10_000;
/// Tasks that use no local disk, per million.
pub(crate) const DISKLESS: u64 = 18_000;
/// The places by CPU usage, of 65536, of jobs whose maxima are not sums over containers.
pub(crate) const ONE_CONTAINER: std::ops::Range<u64> = 14_000..47_400;
/// Measurements in which samples were lost, per million.
pub(crate) const LOST_SAMPLES: u64 = 15_000;

/// How a run of a batch task ends, in weights: evicted, failed, finished, killed, lost.
pub(crate) const BATCH_END: [u32; 5] = [135, 330, 505, 29, 1];
/// How a run of a service's task ends.
pub(crate) const SERVICE_END: [u32; 5] = [450, 350, 100, 99, 1];
/// Tasks that are submitted again after an eviction and after a failure, per million.
pub(crate) const AGAIN: [u64; 2] = [980_000, 930_000];

/// Priorities before they were replaced by their ranks 0 to 11.
pub(crate) const RAW_PRIORITY: [u64; 12] = [0, 25, 80, 101, 103, 112, 116, 117, 119, 200, 214, 360];
/// Jobs and alloc sets, in weights.
pub(crate) const COLLECTION_TYPE: [u32; 2] = [98, 2];
/// Settings of vertical scaling from 0 to 3, in weights.
pub(crate) const VERTICAL_SCALING: [u32; 4] = [1, 39, 30, 30];
/// How many jobs a job starts after, in weights.
pub(crate) const START_AFTER: [u32; 3] = [97, 2, 1];
/// No limit on tasks at one switch, or a limit of 1, 2 or 3, in weights.
pub(crate) const MAX_PER_SWITCH: [u32; 4] = [95, 3, 1, 1];
/// Jobs that have a parent, per million.
pub(crate) const CHILDREN: u64 = 300_000;
/// Jobs whose tasks run in alloc instances, per million.
pub(crate) const IN_ALLOCS: u64 = 270_000;
/// How far apart the ids of machines at one switch may be.
pub(crate) const SWITCHED: u64 = 50_000_000;
/// Windows without percentiles of CPU usage, per million.
pub(crate) const NO_DISTRIBUTION: u64 = 50_000;
/// Percentiles of CPU usage in hundredths of the mean; the last one is the maximum.
pub(crate) const CPU_PERCENTILES: [(u64, u64); 7] = [
    (0, 20),
    (10, 75),
    (40, 93),
    (60, 104),
    (90, 130),
    (98, 160),
    (100, 0),
];
/// The cells that joined rows come from.
pub(crate) const CLUSTERS: u64 = 8;
/// One in this many windows of usage is joined with an event.
pub(crate) const JOINED: u64 = 5;
/// The codes of the events that usage is joined with, in weights.
pub(crate) const JOINED_EVENTS: [u32; 9] = [120, 20, 150, 90, 5, 100, 120, 5, 1];
/// The labels of joined rows by the code of the event.
pub(crate) const LABELS: [&str; 9] = [
    "SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST",
];

/// The length of a fleet's trace, in seconds.
pub(crate) const FLEET_SPAN: u64 = 8 * 86_400;
/// Seconds between two samples of a fleet, in tens: most follow at once, some after a gap.
pub(crate) const SAMPLE_GAPS: [u32; 12] = [560, 200, 80, 40, 30, 20, 15, 15, 10, 10, 10, 10];
/// Rows of the other tables of a fleet, per thousand samples of containers.
pub(crate) const MACHINE_SAMPLES: u64 = 100;
/// See [`MACHINE_SAMPLES`].
pub(crate) const BATCH_INSTANCES: u64 = 400;
/// Samples of one machine or container. Few rows mean few machines and containers, not short series.
pub(crate) const SAMPLES_EACH: u64 = 800;
/// The most machines and containers of a fleet.
pub(crate) const FLEET_MOST: [u64; 2] = [4034, 71_476];
/// Events of a machine after the first row, in weights.
pub(crate) const STATES: [u32; 6] = [10, 15, 20, 25, 20, 10];
/// Machines and containers whose hardware counters are not read, per million.
pub(crate) const NO_COUNTERS: u64 = 780_000;
/// Samples of disk use that are not valid, per million.
pub(crate) const INVALID: u64 = 200;
/// Rows of machines without a second failure domain, per million.
pub(crate) const NO_DOMAIN: u64 = 2000;
/// Rows of machines that are being set up, per million.
pub(crate) const INSTALLING: u64 = 300;
/// CPU shares that containers request, in hundredths of a core, with weights.
pub(crate) const CONTAINER_CPU: [(u32, u64); 4] = [(700, 400), (200, 800), (60, 600), (40, 1600)];
/// Memory that containers request, in hundredths of a hundredth of the largest machine.
pub(crate) const CONTAINER_MEMORY: [(u32, u64); 4] = [(600, 156), (250, 313), (100, 78), (50, 625)];
/// Containers of one application, and machines of one failure domain.
pub(crate) const APP_SIZE: u64 = 7;
/// See [`APP_SIZE`].
pub(crate) const DOMAIN_SIZE: u64 = 14;
/// States of containers, with weights.
pub(crate) const CONTAINER_STATUS: [(u32, &str); 3] =
    [(960, "started"), (20, "stopped"), (20, "allocated")];
/// States of batch tasks and of instances, with weights.
pub(crate) const BATCH_STATUS: [(u32, &str); 4] = [
    (9920, "Terminated"),
    (57, "Running"),
    (13, "Waiting"),
    (10, "Failed"),
];
/// Jobs whose tasks are a DAG, per million.
pub(crate) const DAGS: u64 = 500_000;
/// Tasks of a job: weight, fewest, most.
pub(crate) const JOB_TASKS: [(u32, u64, u64); 4] =
    [(400, 1, 1), (350, 2, 3), (200, 4, 9), (50, 10, 40)];
/// Instances of a task: weight, fewest, most.
pub(crate) const TASK_INSTANCES: [(u32, u64, u64); 5] = [
    (655, 1, 1),
    (180, 2, 9),
    (120, 10, 99),
    (40, 100, 999),
    (5, 1000, 9999),
];
/// CPU that an instance is planned to need, in hundredths of a core, with weights.
pub(crate) const PLAN_CPU: [(u32, u64); 3] = [(603, 100), (395, 50), (2, 200)];
/// Memory that an instance is planned to need, in hundredths of a hundredth of the largest machine.
pub(crate) const PLAN_MEMORY: [(u32, u64); 6] = [
    (267, 49),
    (264, 20),
    (206, 30),
    (169, 39),
    (79, 59),
    (15, 107),
];
/// Tasks without a plan, per million.
pub(crate) const NO_PLAN: u64 = 2000;
/// Tasks of a DAG whose names end with a stage, per million; a guess.
pub(crate) const STAGES: u64 = 10_000;
/// Types of tasks, in weights; the first one is that of DAGs.
pub(crate) const TASK_TYPES: [u32; 12] = [800, 20, 50, 10, 10, 10, 20, 10, 20, 10, 20, 20];
/// Instances that are tried again, per million.
pub(crate) const RETRIES: u64 = 3000;
