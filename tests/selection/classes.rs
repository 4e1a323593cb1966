//! Classes by the hash of a key: the same in all tables, and together the whole.

use std::path::{Path, PathBuf};

use tracelake_core::selection::Sample;
use tracelake_schema::Trace;
use tracelake_testkit::{
    Scratch, convert, gzip, manifest, read_output, shared, trace, tries_all, verify_well,
};

use super::{assert_law, assert_unite, parts, rows};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

/// Converts each class of `of`, and the whole; returns their lakes.
fn classes(source: &Path, out: &Path, of: u32, more: &[&str]) -> (PathBuf, Vec<PathBuf>) {
    let convert = |name: String, sample: &[&str]| {
        let lake = out.join(name);
        let fixed = ["--allow-missing"];
        let run = convert(source, &lake, &[&fixed, sample, more].concat());
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
        lake
    };
    let whole = convert("whole".to_owned(), &[]);
    let classes = (0..of).map(|class| {
        let sample = format!("{class}/{of}");
        convert(format!("class-{class}"), &["--sample", &sample])
    });
    (whole, classes.collect())
}

/// Whether the table of an output is sampled by itself.
fn is_sampled(path: &str) -> bool {
    is_sampled_in(trace(), path)
}

fn is_sampled_in(trace: &Trace, path: &str) -> bool {
    let table = path.split('/').next().unwrap();
    trace.sampled_column(table, None).is_some()
}

#[test]
fn classes_unite_to_the_whole() {
    let scratch = Scratch::with_sample(2, 300);
    let (whole, classes) = classes(&scratch.src(), scratch.path(), 5, &[]);
    let paths: Vec<&Path> = classes.iter().map(PathBuf::as_path).collect();
    assert_unite(&whole, &paths, is_sampled);
    for class in &classes {
        assert_law(class);
        verify_well(class, &scratch.src());
    }
    assert_law(&whole);
    let not_selected = |lake: &Path| {
        let tables = manifest(lake)["tables"].as_array().unwrap().clone();
        let named = tables
            .iter()
            .filter(|table| !table["rows_not_selected"].is_null());
        named.count()
    };
    assert_eq!(not_selected(&whole), 0);
    let sampled = trace()
        .tables
        .iter()
        .filter(|table| is_sampled(&table.name));
    assert_eq!(not_selected(&classes[0]), sampled.count());
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn classes_of_published_rows_unite_to_the_whole() {
    let borg = Scratch::new();
    let bytes = |name: &str| std::fs::read(shared("borg-2019").join(name)).unwrap();
    let quoted = bytes("borg_traces_data-60-records.csv");
    borg.file("borg_traces_data.csv", &quoted);
    let json = gzip(&bytes("instance_usage-1-row.json"));
    borg.file("instance_usage-000000000000.json.gz", &json);
    for source in [
        shared("google-2011"),
        shared("google-2011-task-events"),
        shared("alibaba-2018"),
        shared("alibaba-2018-head"),
        borg.src(),
    ] {
        let scratch = Scratch::new();
        let count = if tries_all() { 16 } else { 5 };
        let (whole, classes) = classes(&source, scratch.path(), count, &[]);
        let paths: Vec<&Path> = classes.iter().map(PathBuf::as_path).collect();
        let name = manifest(&whole)["trace"].as_str().unwrap().to_owned();
        let published = tracelake_schema::trace(&name).unwrap();
        assert_unite(&whole, &paths, |path| is_sampled_in(published, path));
        classes.iter().for_each(|class| assert_law(class));
    }
}

/// The keys of a sample are the same in every table that has them.
#[test]
fn one_key_selects_in_all_tables() {
    let scratch = Scratch::with_sample(1, 400);
    scratch.convert_well(&["--sample", "1/3", "--sample-by", "machine"]);
    let sample: Sample = "1/3".parse().unwrap();
    let mut sampled = 0;
    for (table, part) in parts(&scratch.out()) {
        let Some(column) = trace().sampled_column(&table, Some("machine")) else {
            assert!(part["rows_not_selected"].is_null(), "{table}");
            continue;
        };
        sampled += 1;
        let path = part["output"]["path"].as_str().unwrap();
        let batch = read_output(&scratch.out().join(path));
        let keys = batch.column_by_name(&column.column).unwrap();
        for key in keys.as_primitive::<Int64Type>() {
            let text = key.map_or(String::new(), |key| key.to_string());
            assert!(sample.selects(text.as_bytes()), "{table}: {text}");
        }
    }
    assert_eq!(sampled, 4);
}

/// Integers are hashed as they are written in decimal, whatever their spelling in the source.
#[test]
fn spellings_of_a_key_are_one_key() {
    let scratch = Scratch::new();
    let text: String = ["7", "007", "-0", "0", "00"]
        .map(|job| format!("600,,{job},0,u,2,n,l\n"))
        .concat();
    scratch.only("job_events", text.as_bytes());
    for class in 0..4 {
        let out = scratch.path().join(class.to_string());
        let sample = format!("{class}/4");
        convert(&scratch.src(), &out, &["--sample", &sample]).well();
        let found = rows(&out).into_values().next().unwrap().len();
        let of = |key: &[u8]| Sample::hash(key) % 4 == class;
        let expected = usize::from(of(b"7")) * 2 + usize::from(of(b"0")) * 3;
        assert_eq!(found, expected, "class {class}");
    }
}

/// One class of one has the bytes of the whole.
#[test]
fn a_sample_of_everything_changes_the_manifest_alone() {
    let scratch = Scratch::with_sample(2, 200);
    scratch.part(
        "job_events",
        0,
        2,
        b"600,,1,0,u,2,n,l\nx,,2,0,u,2,n,l\nx,,y,0,u,2,n,l\n",
    );
    let (whole, classes) = classes(
        &scratch.src(),
        scratch.path(),
        1,
        &["--on-bad-row", "reject"],
    );
    let files = |lake: &Path| {
        let mut files = tracelake_testkit::tree(lake).unwrap();
        files.retain(|path, _| !path.ends_with("manifest.json") && !path.ends_with("lake.json"));
        files
    };
    assert_eq!(files(&whole), files(&classes[0]));
    let reported = parts(&classes[0]);
    let zero = reported
        .iter()
        .filter(|(_, part)| part["rows_not_selected"] == 0);
    assert!(zero.count() > 0);
}
