//! Lakes that are clustered in very little memory, and what is found while they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tracelake_core::error::ErrorKind;

use super::*;
use crate::plan::{Request, plan};
use crate::run::{RunOptions, convert};

/// A lake of the sample.
fn lake() -> TempDir {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
    let lake = tempfile::tempdir().unwrap();
    let context = Context::new();
    let planned = plan(&context, &Request::new(Path::new(sample))).unwrap();
    let out = Location::from(lake.path());
    convert(&context, &planned, &out, RunOptions::default()).unwrap();
    lake
}

fn request(lake: &Path, arrangement: Arrangement, files: FileCount) -> ClusterRequest {
    let mut request = ClusterRequest::new(lake, arrangement);
    request.files = files;
    request
}

/// The files of a directory with their bytes.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            open.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn by_job() -> Arrangement {
    Arrangement::By("job".to_owned())
}

#[test]
fn bytes_do_not_depend_on_memory_and_threads() {
    let lake = lake();
    let request = request(lake.path(), by_job(), FileCount::Files(3));
    let plan = ClusterPlan::new(&Context::new(), &request).unwrap();
    let memories = [
        Memory::of(1 << 30, 1, &by_job()),
        // Runs of some hundred rows, which are merged in several passes.
        Memory {
            threads: 1,
            readers: 1,
            sorted: 40_000,
            writers: 1,
            runs: 2,
        },
        Memory {
            threads: 2,
            readers: 2,
            sorted: 100_000,
            writers: 2,
            runs: 7,
        },
    ];
    let made = memories.map(|memory| {
        let out = tempfile::tempdir().unwrap();
        let context = Context::new().with_threads(memory.threads);
        let (place, options) = (
            Location::from(out.path()),
            ClusterOptions::new(LEAST_MEMORY_COMPACT),
        );
        let how = (memory.threads, false);
        let made = make_lake(&context, &plan.trace, &place, how, |out| {
            cluster_into(&context, &plan, out, &options, memory)
        });
        assert_eq!(made.unwrap().converted, 14);
        tree(out.path())
    });
    assert!(made[0].keys().eq(made[1].keys()) && made[0].keys().eq(made[2].keys()));
    for (name, bytes) in &made[0] {
        assert!(*bytes == made[1][name] && *bytes == made[2][name], "{name}");
    }
}

#[test]
fn a_damaged_file_of_the_lake_ends_it() {
    let lake = lake();
    let table = lake.path().join("task_usage/file_number=1");
    let path = fs::read_dir(&table)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let error = |way: &Arrangement, count| {
        let request = request(lake.path(), way.clone(), FileCount::Files(count));
        let plan = ClusterPlan::new(&Context::new(), &request).unwrap();
        let out = tempfile::tempdir().unwrap();
        let place = Location::from(out.path());
        let options = ClusterOptions::new(LEAST_MEMORY_COMPACT);
        let error = cluster(&Context::new(), &plan, &place, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(!out.path().join("_tracelake/manifest.json").exists());
        error.to_string()
    };
    for (way, count) in [(by_job(), 3), (Arrangement::Compact, 2)] {
        for damaged in [&flipped[..], &whole[..whole.len() - 9], b""] {
            fs::write(&path, damaged).unwrap();
            let error = error(&way, count);
            assert!(error.contains("task_usage/file_number=1"), "{error}");
        }
    }
    // One that is gone.
    fs::remove_file(&path).unwrap();
    error(&by_job(), 3);
}

#[test]
fn the_largest_table_with_the_key_decides_how_many_files_there_are() {
    let lake = lake();
    let context = Context::new();
    let plan =
        |arrangement, files| ClusterPlan::new(&context, &request(lake.path(), arrangement, files));
    fn group<'a>(plan: &'a ClusterPlan, name: &str) -> &'a Group {
        let mut groups = plan.groups().iter();
        groups.find(|group| group.table_name() == name).unwrap()
    }
    let outputs = |plan: &ClusterPlan, name: &str| group(plan, name).names().count();
    let by_size = plan(by_job(), FileCount::OfSize(100_000)).unwrap();
    let bytes = group(&by_size, "task_usage").bytes();
    let count = usize::try_from(bytes.div_ceil(100_000)).unwrap();
    assert!(count > 1);
    for table in [
        "task_usage",
        "job_events",
        "task_events",
        "task_constraints",
    ] {
        assert_eq!(outputs(&by_size, table), count, "{table}");
    }
    assert_eq!(group(&by_size, "machine_events").order(), None);
    // The number is the same if only a small table is asked for.
    let mut small = request(lake.path(), by_job(), FileCount::OfSize(100_000));
    small.tables = vec!["job_events".to_owned()];
    let small = ClusterPlan::new(&context, &small).unwrap();
    assert_eq!(outputs(&small, "job_events"), count);
    assert_eq!(small.groups().len(), 1);
    // Without a key, each table has its own number.
    let compact = plan(Arrangement::Compact, FileCount::OfSize(100_000)).unwrap();
    assert_eq!(
        (
            outputs(&compact, "task_usage"),
            outputs(&compact, "job_events")
        ),
        (count, 1)
    );
    // As many as there may be, and more.
    for files in [FileCount::Files(u32::MAX), FileCount::OfSize(1)] {
        let error = plan(by_job(), files).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
    let error = plan(Arrangement::By("jobs".to_owned()), FileCount::Files(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("did you mean job?"), "{error}");
}
