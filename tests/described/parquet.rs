//! `schema --new FILE.parquet`: the draft converts the file to the values that another reader finds in it.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use tracelake_testkit::{Scratch, read_output, run};

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let rows = columns.into_iter().map(|(name, array)| (name, array, true));
    let rows = RecordBatch::try_from_iter_with_nullable(rows).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

/// Lists of texts.
fn lists() -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a"), None]);
    lists.append_value(Vec::<Option<&str>>::new());
    lists.append_null();
    Arc::new(lists.finish())
}

fn maps() -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    maps.keys().append_value("a");
    maps.values().append_value(1);
    maps.append(true).unwrap();
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    Arc::new(maps.finish())
}

#[test]
fn a_draft_of_parquet_keeps_every_value_that_a_lake_can_have() {
    let scratch = Scratch::new();
    let source = scratch.path().join("source");
    fs::create_dir(&source).unwrap();
    let inner = Field::new("cpu", DataType::Float64, true);
    let cpus: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    let nested = StructArray::new(vec![inner].into(), vec![cpus], None);
    let kept: Vec<(&str, &str, ArrayRef)> = vec![
        (
            "Job ID",
            "job_id",
            Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MAX)])),
        ),
        (
            "small",
            "small",
            Arc::new(Int32Array::from(vec![Some(-1), None, Some(7)])),
        ),
        (
            "name",
            "name",
            Arc::new(StringArray::from(vec![Some(""), None, Some("ü \"x\"")])),
        ),
        (
            "ok",
            "ok",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "load",
            "load",
            Arc::new(Float32Array::from(vec![Some(0.5), None, Some(-2.0)])),
        ),
        (
            "local",
            "local",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(1),
                None,
                Some(-1),
            ])),
        ),
        (
            "zoned",
            "zoned",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(1), None, Some(-1)]).with_timezone("UTC"),
            ),
        ),
        ("tags", "tags", lists()),
        ("limits", "limits", maps()),
        ("nested", "nested", Arc::new(nested)),
        // The name of a column that every lake has.
        (
            "file_number",
            "file_number_2",
            Arc::new(Int64Array::from(vec![1, 2, 3])),
        ),
    ];
    let mut columns: Vec<(&str, ArrayRef)> = kept
        .iter()
        .map(|(published, _, array)| (*published, Arc::clone(array)))
        .collect();
    columns.push(("day", Arc::new(Date32Array::from(vec![1, 2, 3]))));
    columns.push(("count", Arc::new(UInt64Array::from(vec![1, 2, 3]))));
    write(&source.join("jobs.parquet"), columns);
    let file = source.join("jobs.parquet");
    let drafted = run(["schema", "--new", file.to_str().unwrap()]);
    assert_eq!(drafted.code, 0, "{}", drafted.stderr);
    for line in [
        "the column day is left out: it has INT32 (DATE), and a lake has no such type.",
        "the column count is left out: it has INT64 (INTEGER(64,false)), and a lake has no such type.",
    ] {
        drafted.shows(line);
    }
    let description = scratch.path().join("jobs.toml");
    fs::write(&description, &drafted.stdout).unwrap();
    let [from, description] = [&source, &description].map(|path| path.to_str().unwrap());
    let out = scratch.out();
    let lake = out.to_str().unwrap();
    let converted = run(["convert", from, lake, "--trace", description]);
    converted.well();
    converted.prints("the column 'day' isn't one of jobs, and left out");
    let found = read_output(&out.join("jobs/file_number=0/part-00000-of-00001.parquet"));
    let plain = ["job_id", "name", "ok", "file_number_2"];
    for (_, name, array) in kept.iter().filter(|(_, name, _)| plain.contains(name)) {
        assert_eq!(found.column_by_name(name).unwrap(), array, "{name}");
    }
    let small: ArrayRef = Arc::new(Int64Array::from(vec![Some(-1), None, Some(7)]));
    assert_eq!(found.column_by_name("small").unwrap(), &small);
    let load: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-2.0)]));
    assert_eq!(found.column_by_name("load").unwrap(), &load);
    let zoned = TimestampMicrosecondArray::from(vec![Some(1_000), None, Some(-1_000)]);
    let zoned: ArrayRef = Arc::new(zoned.with_timezone("UTC"));
    assert_eq!(found.column_by_name("zoned").unwrap(), &zoned);
    let tags = found.column_by_name("tags").unwrap().as_list::<i32>();
    assert_eq!(
        tags.value(0).as_string::<i32>().iter().collect::<Vec<_>>(),
        [Some("a"), None]
    );
    assert!(tags.is_valid(1) && tags.value(1).is_empty() && tags.is_null(2));
    // Lists and structs, too, are compared with what another reader finds.
    run(["verify", lake, "--source", from]).well();
}

#[test]
fn what_no_description_can_have_is_refused() {
    let scratch = Scratch::new();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    let file = scratch.path().join("days.parquet");
    write(&file, vec![("day", days)]);
    let draft = |file: &Path| run(["schema", "--new", file.to_str().unwrap()]);
    draft(&file).refuses(4, "has no column of a type that a lake has");
    let braces = scratch.path().join("a{n}.parquet");
    fs::rename(&file, &braces).unwrap();
    draft(&braces).refuses(4, "has a name that a description can't have");
    let cut = scratch.path().join("cut.parquet");
    fs::write(&cut, b"PAR1 and no more").unwrap();
    draft(&cut).exits(5);
}

/// JSON has no NaN and no date-times, and a row has no more than the file.
#[test]
fn rejected_rows_are_found_in_the_source_again() {
    let scratch = Scratch::new();
    let description = scratch.path().join("mini.toml");
    let text = r#"
family = "mini"
[[table]]
name = "usage"
summary = "Usage."
files = "named"
syntax = "parquet"
names = ["usage-{day}.parquet"]
captures = { day = ["1"] }
column = [
    { name = "day", kind = "integer", capture = "day" },
    { name = "id", kind = "integer" },
    { name = "load", kind = "float" },
    { name = "at", kind = "date-time", zone = "published" },
]
"#;
    fs::write(&description, text).unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let loads = vec![Some(f64::NAN), Some(f64::NEG_INFINITY), Some(0.5), None];
    let loads: ArrayRef = Arc::new(Float64Array::from(loads));
    // 2017-07-14 02:40:00.123456789 and a nanosecond before 1970.
    let nanoseconds = vec![Some(1_500_000_000_123_456_000), Some(-1000), Some(-1), None];
    let times = TimestampNanosecondArray::from(nanoseconds).with_timezone("UTC");
    fs::create_dir(scratch.path().join("source")).unwrap();
    write(
        &scratch.path().join("source/usage-1.parquet"),
        vec![("id", ids), ("load", loads), ("at", Arc::new(times))],
    );
    let [source, out, description] = ["source", "out", "mini.toml"]
        .map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let convert = ["convert", &source, &out, "--trace", &description];
    run([&convert[..], &["--on-bad-row", "reject"]].concat()).exits(3);
    let rejects = scratch.path().join("out/_tracelake/rejects/usage");
    let [rejects] = &fs::read_dir(rejects).unwrap().collect::<Vec<_>>()[..] else {
        panic!("a part has one rejects file");
    };
    let rejects = fs::read_to_string(rejects.as_ref().unwrap().path()).unwrap();
    let rejects: Vec<Value> = rejects
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shown: Vec<(&str, Value)> = rejects
        .iter()
        .map(|reject| {
            let raw = serde_json::from_str(reject["raw"].as_str().unwrap()).unwrap();
            (reject["reason"].as_str().unwrap(), raw)
        })
        .collect();
    let expected = [
        (
            "not a decimal number: 'NaN'",
            json!({ "id": 1, "load": "NaN", "at": "2017-07-14 02:40:00.123456000Z" }),
        ),
        (
            "not a decimal number: '-inf'",
            json!({ "load": "-inf", "at": "1969-12-31 23:59:59.999999000Z" }),
        ),
        (
            "more exact than a microsecond: '1969-12-31 23:59:59.999999999Z'",
            json!({ "id": 3, "load": 0.5, "at": "1969-12-31 23:59:59.999999999Z" }),
        ),
    ];
    assert_eq!(shown, expected);
    run(["verify", &out, "--source", &source]).well();
}
