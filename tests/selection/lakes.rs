//! A selection has equal bytes on any number of threads and shards.

use tracelake_testkit::{Scratch, assert_same_tree, convert, run, tree};

const RULES: [&str; 6] = [
    "--sample",
    "1/3",
    "--time",
    "0..1h",
    "--columns",
    "task_events.job_id,task_events.time,job_events.job_id",
];

#[test]
fn any_number_of_threads_and_shards() {
    let scratch = Scratch::with_sample(3, 700);
    let options = |more: &[&'static str]| [&RULES[..], more].concat();
    scratch.convert_well(&options(&["--threads", "1"]));
    let first = tree(&scratch.out());
    for threads in ["2", "5"] {
        let out = scratch.path().join(threads);
        convert(&scratch.src(), &out, &options(&["--threads", threads])).well();
        assert_same_tree(&tree(&out), &first, threads);
    }
    let out = scratch.path().join("shards");
    for shard in ["1/2", "0/2"] {
        convert(&scratch.src(), &out, &options(&["--shard", shard])).well();
    }
    run(["commit".as_ref(), out.as_os_str()]).well();
    assert_same_tree(&tree(&out), &first, "shards");
}

/// Arrow files have the same rows.
#[test]
fn arrow_files_have_the_rows_of_parquet_files() {
    let scratch = Scratch::with_sample(1, 300);
    scratch.convert_well(&RULES);
    let out = scratch.path().join("arrow");
    let options = [&RULES[..], &["--format", "arrow"]].concat();
    convert(&scratch.src(), &out, &options).well();
    for (path, expected) in super::rows(&scratch.out()) {
        let path = path.replace(".parquet", ".arrow");
        let batches = tracelake_testkit::read_arrow(&out.join(&path));
        let found: Vec<String> = batches.iter().flat_map(super::texts).collect();
        assert_eq!(found, expected, "{path}");
    }
}
