//! Memory is bounded by the settings, never by the size of a file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod cluster;
mod state;

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use peak_alloc::PeakAlloc;
use tracelake::{CommitOptions, Context, Dataset, Location, Request, Result, RunOptions, plan};
use tracelake_location::{OBJECT_MEMORY, UPLOAD_MEMORY};
use tracelake_testkit::rows::Dice;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Scratch, manifest, part_path, program};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Tests that count what this process allocates hold it alone; tests that measure other processes share it.
static COUNTED: RwLock<()> = RwLock::new(());

fn alone() -> RwLockWriteGuard<'static, ()> {
    COUNTED.write().unwrap_or_else(PoisonError::into_inner)
}

fn beside_others() -> RwLockReadGuard<'static, ()> {
    COUNTED.read().unwrap_or_else(PoisonError::into_inner)
}

const MIB: u64 = 1 << 20;

/// The limit promised for one part at a time.
const BOUND: u64 = 256_000_000;

/// The memory that a full row group may take beyond one of 200,000 rows.
const GROWTH: u64 = 96 * MIB;

/// Writes a part of task_usage whose rows look like real ones and never repeat, as it goes.
fn write_usage(scratch: &Scratch, rows: u64) {
    let path = scratch.src().join(part_path("task_usage", 0, 1));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    let mut gzip = BufWriter::new(GzEncoder::new(file, Compression::fast()));
    let mut dice = Dice::new(1);
    for row in 0..rows {
        let start = 600_000_000 + row / 10_000 * 300_000_000;
        let end = start + 300_000_000;
        let (job, task) = (3_418_309 + row % 10_000 / 40, row % 40);
        let machine = 4_155_527_081 + dice.below(12_500) * 17;
        let mut share = || dice.below(10_000);
        let shares: [u64; 9] = std::array::from_fn(|_| share());
        let [a, b, c, d, e, f, g, h, i] = shares;
        writeln!(
            gzip,
            "{start},{end},{job},{task},{machine},0.0{a:04},0.{b:04},0.{b:04},0.00{c:04},0.00{d:04},\
             0.{b:04},{e}e-09,0.000{f:04},0.{g:04},0.00{h:04},2.{i:04},0.00{a:04},0,1,0.0{g:04}"
        )
        .unwrap();
    }
    gzip.into_inner().unwrap().finish().unwrap();
}

/// Writes parts of task_usage in which no value comes twice: no dictionary holds them.
fn write_unique(scratch: &Scratch, parts: u32, rows: u64) {
    for part in 0..parts {
        let path = scratch.src().join(part_path("task_usage", part, parts));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(path).unwrap();
        let mut gzip = BufWriter::new(GzEncoder::new(file, Compression::fast()));
        let mut dice = Dice::new(part.into());
        for _ in 0..rows {
            let ids: [u64; 5] = std::array::from_fn(|_| 1 + dice.below(1 << 60));
            let [a, b, c, d, e] = ids;
            write!(gzip, "{a},{b},{c},{d},{e}").unwrap();
            for _ in 0..13 {
                write!(gzip, ",0.{:014}", dice.below(100_000_000_000_000)).unwrap();
            }
            writeln!(gzip, ",1,0.{:014}", dice.below(100_000_000_000_000)).unwrap();
        }
        gzip.into_inner().unwrap().finish().unwrap();
    }
}

/// Two files of task_usage: one that doesn't fill a row group, and one that does.
struct Usage {
    small: (Scratch, u64),
    large: (Scratch, u64),
}

fn usage() -> &'static Usage {
    static USAGE: OnceLock<Usage> = OnceLock::new();
    USAGE.get_or_init(|| {
        let of = |rows| {
            let scratch = Scratch::new();
            write_usage(&scratch, rows);
            (scratch, rows)
        };
        Usage {
            small: of(200_000),
            large: of(700_000),
        }
    })
}

/// Converts and returns the most memory that the process ever held, in bytes.
fn peak(source: &Scratch, options: &[&str], rows: u64) -> u64 {
    let scratch = Scratch::new();
    let peak = peak_from_to(program(), &source.src(), &scratch.out(), options);
    assert_eq!(manifest(&scratch.out())["tables"][0]["rows"], rows);
    peak
}

/// The memory of a run of the smaller and of the larger file.
fn peaks(more: &[&str]) -> [u64; 2] {
    let Usage { small, large } = usage();
    let options = [&["--threads", "1"], more].concat();
    [small, large].map(|(source, rows)| peak(source, &options, *rows))
}

/// [`peaks`] of Parquet files, measured once.
fn parquet_peaks() -> [u64; 2] {
    static PEAKS: OnceLock<[u64; 2]> = OnceLock::new();
    *PEAKS.get_or_init(|| peaks(&[]))
}

/// Like [`peak`], for any SRC and OUT.
fn peak_from_to(mut program: Command, source: &Path, out: &Path, options: &[&str]) -> u64 {
    program.arg("convert").args([source, out]).args(options);
    peak_of(program)
}

/// The most memory that a program holds that ends well, in bytes.
fn peak_of(program: Command) -> u64 {
    let (peak, code) = peak_of_any(program);
    assert_eq!(code, Some(0));
    peak
}

/// The most memory that a program holds, in bytes, and its exit code.
fn peak_of_any(mut program: Command) -> (u64, Option<i32>) {
    program.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = program.spawn().unwrap();
    // The kernel keeps the high-water mark until the process ends, so the last look is the truth
    // but for the last moment, which writes a footer.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        // Until it is the program, it is a copy of this process.
        let text = text.strip_prefix("Name:\ttracelake").unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(mark) = mark {
            let kib: u64 = mark.trim().trim_end_matches(" kB").parse().unwrap();
            peak = peak.max(kib * 1024);
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        thread::sleep(Duration::from_millis(2));
    };
    (peak, code)
}

#[test]
fn peak_memory_does_not_grow_with_the_file() {
    let _beside = beside_others();
    let [small, large] = parquet_peaks();
    let shown = format!("{} MiB, then {} MiB", small / MIB, large / MIB);
    assert!(large <= BOUND, "{shown}");
    assert!(large <= small + GROWTH, "{shown}");
}

/// The memory of the HTTP client beside its objects: certificates, connections, code.
const CLIENT: u64 = 12 * MIB;

/// From a bucket to a bucket, a conversion takes no more than one on disk, and what is documented for an open
/// object and for one being written.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn objects_take_what_is_documented() {
    let _beside = beside_others();
    let server = Server::of(&usage().large.0.src(), "bucket/trace/", |_| Answer::Well);
    let mut program = program();
    program
        .env("AWS_ENDPOINT_URL", server.url())
        .env("AWS_ACCESS_KEY_ID", "tests")
        .env("AWS_SECRET_ACCESS_KEY", "tests");
    let (source, out) = ("s3://bucket/trace", "s3://bucket/lake");
    let (source, out) = (Path::new(source), Path::new(out));
    let peak = peak_from_to(program, source, out, &["--threads", "1"]);
    let [_, disk] = parquet_peaks();
    let objects = OBJECT_MEMORY + UPLOAD_MEMORY;
    let shown = format!("{} MiB on disk, {} MiB in buckets", disk / MIB, peak / MIB);
    let is_part = |asked: &Asked| asked.query.contains("partNumber=2");
    assert!(server.asked().iter().any(is_part), "one part and no more");
    assert!(peak <= BOUND + objects, "{shown}");
    assert!(peak <= disk + objects + CLIENT, "{shown}");
}

/// A batch has few rows, so the smaller file fills one.
#[test]
fn peak_memory_of_arrow_files_does_not_grow_with_the_file() {
    let _beside = beside_others();
    let [small, large] = peaks(&["--format", "arrow"]);
    let shown = format!("{} MiB, then {} MiB", small / MIB, large / MIB);
    assert!(large <= BOUND, "{shown}");
    assert!(large <= small + 16 * MIB, "{shown}");
}

#[test]
fn the_bound_holds_where_no_value_repeats() {
    let _beside = beside_others();
    let of = |rows| {
        let scratch = Scratch::new();
        write_unique(&scratch, 2, rows);
        (scratch, rows)
    };
    // Enough rows for a whole row group, which 64 MiB end here, and for two batches.
    let (group, batches) = (of(360_000), of(120_000));
    let arrow = ["--format", "arrow"];
    for (source, options, more, parts, at_once) in [
        (&group, ["--threads", "1"], &["--parts", "0"][..], 1, 1),
        (&group, ["--threads", "2"], &[], 2, 2),
        (&group, ["--threads", "2"], &["--memory", "256MB"], 2, 1),
        (
            &batches,
            ["--threads", "1"],
            &["--parts", "0", "--format", "arrow"],
            1,
            1,
        ),
        (&batches, ["--threads", "2"], &arrow, 2, 2),
    ] {
        let bound = (1 + at_once) * 128_000_000;
        let options = [&options, more].concat();
        let peak = peak(&source.0, &options, parts * source.1);
        assert!(peak <= bound, "{options:?}: {peak}");
    }
}

/// The bytes that a part adds to a run: what is planned, and what is noted, once for all that use it.
const PART_BOUND: u64 = 1_800;

/// The bytes that a part adds to a shard, which keeps the plan beside them.
const SHARD_PART_BOUND: u64 = 3_000;

/// Writes many parts with the first row of the sample.
fn write_parts(scratch: &Scratch, table: &str, parts: u32) {
    let sample = sample_row(table);
    fs::create_dir_all(scratch.src().join(table)).unwrap();
    for part in 0..parts {
        fs::write(scratch.src().join(part_path(table, part, parts)), &sample).unwrap();
    }
}

/// The first row of a table of the sample, compressed.
fn sample_row(table: &str) -> Vec<u8> {
    let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), "../../tests/sample");
    let file = File::open(Path::new(&path).join(part_path(table, 0, 2))).unwrap();
    let mut rows = String::new();
    GzDecoder::new(file).read_to_string(&mut rows).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    writeln!(gzip, "{}", rows.lines().next().unwrap()).unwrap();
    gzip.finish().unwrap()
}

/// The most bytes that were allocated at one time while something ran in this process, beyond what was before. Unlike the
/// memory of a process, this doesn't depend on how threads happen to meet.
fn allocated_by<T>(run: impl FnOnce() -> Result<T>) -> u64 {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    run().unwrap();
    (ALLOCATOR.peak_usage() - before) as u64
}

/// The runs on a lake of many parts, one after the other, with the bytes that a part may add and those that were
/// allocated.
fn allocated_by_runs(parts: u32) -> Vec<(&'static str, u64, u64)> {
    let scratch = Scratch::new();
    write_parts(&scratch, "job_events", parts);
    let source = Location::from(scratch.src().as_path());
    let out = Location::from(scratch.out().as_path());
    let shared = Location::from(scratch.path().join("shared").as_path());
    let context = Context::new().with_threads(1);
    let convert = |out: &Location, shard: Option<&str>| {
        allocated_by(|| {
            let mut options = RunOptions::default();
            options.shard = shard.map(|shard| shard.parse().unwrap());
            let plan = plan(&context, &Request::new(source.clone()))?;
            Dataset::at(&context, out).convert(&plan, options)
        })
    };
    let inspect = |out: &Location| allocated_by(|| Dataset::at(&context, out).inspect());
    let runs = vec![
        ("convert", PART_BOUND, convert(&out, None)),
        // It reads everything first, and keeps it.
        ("convert again", PART_BOUND, convert(&out, None)),
        (
            "verify",
            PART_BOUND,
            allocated_by(|| Dataset::at(&context, &out).verify_against(&source)),
        ),
        ("inspect", PART_BOUND, inspect(&out)),
        ("shard", SHARD_PART_BOUND, convert(&shared, Some("0/1"))),
        (
            "shard again",
            SHARD_PART_BOUND,
            convert(&shared, Some("0/1")),
        ),
        ("inspect the shard", PART_BOUND, inspect(&shared)),
        (
            "commit",
            SHARD_PART_BOUND,
            allocated_by(|| Dataset::at(&context, &shared).commit(CommitOptions::default())),
        ),
    ];
    for out in [scratch.out(), scratch.path().join("shared")] {
        assert_eq!(manifest(&out)["tables"][0]["rows"], parts);
    }
    runs
}

#[test]
fn a_part_adds_little_to_a_run() {
    let _alone = alone();
    let (few, many) = (200, 800);
    let [small, large] = [few, many].map(allocated_by_runs);
    let mut over = Vec::new();
    for ((run, bound, small), (_, _, large)) in small.into_iter().zip(large) {
        let each = large.saturating_sub(small) / u64::from(many - few);
        over.extend((each > bound).then(|| format!("{run}: {each} bytes a part")));
    }
    assert!(over.is_empty(), "{over:?}");
}

#[test]
fn the_page_of_limits_has_these_bounds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    let page = fs::read_to_string(path).unwrap();
    let kilobytes = |bytes: u64| (bytes as f64 / 1000.0).to_string();
    let said = format!(
        "at most {} KB for each, and {} KB in a shard or where shards are committed",
        kilobytes(PART_BOUND),
        kilobytes(SHARD_PART_BOUND)
    );
    assert!(page.contains(&said), "docs/limits.md should say: {said}");
    let [disk, bucket] = state::WAITING_BOUNDS.map(kilobytes);
    let said = format!("takes at most {disk} KB, in a bucket {bucket} KB");
    assert!(page.contains(&said), "docs/limits.md should say: {said}");
}
