//! Tables as their publisher's Parquet files: the same lakes as from JSON, and what is refused.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use tracelake_schema::{TRACES, Table, Trace};
use tracelake_testkit::{
    Run, Scratch, assert_same_tree, convert, generate, gzip, manifest, read_output, read_parquet,
    run, sha256, shared, tree, write_manifest,
};

/// The trace that is published in two forms.
fn trace() -> &'static Trace {
    let is_published = |trace: &&Arc<Trace>| trace.tables.iter().any(|table| table.parquet);
    TRACES.iter().find(is_published).unwrap()
}

/// A table of it that describes machines, by the name of its first shard.
const MACHINES: &str = "machine_events-000000000000.parquet.gz";

fn machines() -> &'static Table {
    trace().table("machine_events").unwrap()
}

/// A source in one form, without checksums.
fn made(scratch: &Scratch, form: &str) -> PathBuf {
    let source = scratch.path().join(form);
    generate(
        &trace().name,
        &source,
        &["--rows", "3000", "--parts", "2", "--form", form],
    );
    fs::remove_file(source.join("SHA256SUM")).unwrap();
    source
}

/// Converts what needn't be whole.
fn well(source: &Path, out: &Path, arguments: &[&str]) {
    let more = [&["--allow-missing"], arguments].concat();
    convert(source, out, &more).well();
}

fn verify(out: &Path, source: &Path) -> Run {
    let [out, source] = [out, source].map(|path| path.to_str().unwrap());
    run(["verify", out, "--source", source])
}

fn assert_same_lake(one: &Path, other: &Path) {
    let what = other.display().to_string();
    assert_same_tree(&tree(one), &tree(other), &what);
}

/// The first file of machines with the values of one column replaced, alone in a directory.
fn changed(scratch: &Scratch, column: &str, change: impl FnOnce(&ArrayRef) -> ArrayRef) -> PathBuf {
    let source = made(scratch, "parquet");
    let rows = read_parquet(File::open(source.join(MACHINES)).unwrap());
    let index = rows.schema().index_of(column).unwrap();
    let mut columns = rows.columns().to_vec();
    columns[index] = change(&columns[index]);
    let names = rows.schema();
    let names = names.fields().iter().map(|field| field.name().as_str());
    let rows = names.zip(columns).map(|(name, array)| (name, array, true));
    let rows = RecordBatch::try_from_iter_with_nullable(rows).unwrap();
    let changed = scratch.path().join("changed");
    fs::create_dir(&changed).unwrap();
    write(&rows, &changed.join(MACHINES));
    changed
}

fn write(rows: &RecordBatch, path: &Path) {
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

/// The integers of an array, with one of them replaced.
fn with_integer(array: &ArrayRef, row: usize, value: Option<i64>) -> ArrayRef {
    let mut integers: Vec<Option<i64>> = array.as_primitive::<Int64Type>().iter().collect();
    integers[row] = value;
    Arc::new(Int64Array::from(integers))
}

/// The files of the lake's tables, and not of its home.
fn outputs(lake: &Path) -> Vec<String> {
    let files = tree(lake).unwrap().into_keys();
    files
        .filter(|path| path.ends_with(".parquet") || path.ends_with(".arrow"))
        .collect()
}

fn assert_same_rows(one: &Path, other: &Path) {
    assert_eq!(outputs(one), outputs(other));
    for path in outputs(one) {
        let [one, other] = [one, other].map(|lake| read_output(&lake.join(&path)));
        assert_eq!(one, other, "{path}");
    }
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn the_published_file_has_the_rows_of_the_crates_own_reader() {
    let scratch = Scratch::new();
    let source = shared("next/borg-2019-parquet");
    well(&source, &scratch.out(), &[]);
    let output = scratch
        .out()
        .join("machine_events/file_number=0/part-00000.parquet");
    let found = read_output(&output);
    let published = read_parquet(File::open(source.join(MACHINES)).unwrap());
    assert_eq!((found.num_rows(), published.num_rows()), (46_219, 46_219));
    for name in ["time", "machine_id", "switch_id", "platform_id"] {
        let [one, other] = [&found, &published].map(|rows| rows.column_by_name(name).unwrap());
        assert_eq!(one, other, "{name}");
    }
    let codes = |rows: &RecordBatch, name| -> Vec<Option<i64>> {
        let array = Arc::clone(rows.column_by_name(name).unwrap());
        match array.as_primitive_opt::<Int64Type>() {
            Some(integers) => integers.iter().collect(),
            None => {
                let codes = array.as_primitive::<arrow_array::types::Int32Type>().iter();
                codes.map(|code| code.map(i64::from)).collect()
            }
        }
    };
    for name in ["type", "missing_data_reason"] {
        assert_eq!(codes(&found, name), codes(&published, name), "{name}");
    }
    let [one, other] = [&found, &published].map(|rows| rows.column_by_name("capacity").unwrap());
    assert_eq!(one.as_struct().columns(), other.as_struct().columns());
    let adds = codes(&found, "type")
        .into_iter()
        .enumerate()
        .filter(|(_, code)| *code == Some(1));
    assert_eq!(adds.filter(|(row, _)| one.is_null(*row)).count(), 459);
    let times = found
        .column_by_name("time")
        .unwrap()
        .as_primitive::<Int64Type>();
    assert_eq!(times.iter().filter(|time| *time == Some(0)).count(), 9_526);
    verify(&scratch.out(), &source).exits(0);
}

#[test]
fn selections_and_formats_are_those_of_json() {
    let scratch = Scratch::new();
    let sources = ["json", "parquet"].map(|form| made(&scratch, form));
    for (number, arguments) in [
        &["--sample", "1/3"][..],
        &[
            "--sample",
            "0/2",
            "--sample-by",
            "machine",
            "--time",
            "1h..",
        ],
        &["--columns", "machine_id,time", "--tables", "machine_events"],
        &[
            "--columns",
            "type",
            "--tables",
            "machine_events",
            "--time",
            "10m..2h",
        ],
        &[
            "--columns",
            "cpu_usage_distribution,start_time",
            "--tables",
            "instance_usage",
        ],
        &["--format", "arrow"],
        &["--layout", "flat", "--parts", "1"],
    ]
    .into_iter()
    .enumerate()
    {
        let lakes = ["json", "parquet"].map(|form| scratch.path().join(format!("{form}-{number}")));
        for (source, lake) in sources.iter().zip(&lakes) {
            well(source, lake, arguments);
            let verified = verify(lake, source);
            assert_eq!(verified.code, 0, "{arguments:?}: {}", verified.stderr);
            assert!(
                !verified.stderr.contains("not compared"),
                "{}",
                verified.stderr
            );
        }
        match arguments.contains(&"arrow") {
            true => assert_eq!(outputs(&lakes[0]), outputs(&lakes[1])),
            false => assert_same_rows(&lakes[0], &lakes[1]),
        }
        let counts = lakes.map(|lake| {
            let tables = manifest(&lake)["tables"].clone();
            let count = |table: &Value, what: &str| {
                let parts = table["parts"].as_array().unwrap().iter();
                parts
                    .map(|part| part[what].as_u64().unwrap_or(0))
                    .sum::<u64>()
            };
            let counts = ["rows_in", "rows_out", "rows_not_selected"];
            let tables = tables.as_array().unwrap().iter();
            tables
                .map(|table| counts.map(|what| count(table, what)))
                .collect::<Vec<_>>()
        });
        assert_eq!(counts[0], counts[1], "{arguments:?}");
    }
}

#[test]
fn threads_and_killed_runs_make_the_same_bytes() {
    let scratch = Scratch::new();
    let source = made(&scratch, "parquet");
    let [one, many] = ["one", "many"].map(|name| scratch.path().join(name));
    well(&source, &one, &["--threads", "1"]);
    well(&source, &many, &["--threads", "4"]);
    assert_same_lake(&one, &many);
    // Some parts, and then the others.
    let parts = scratch.path().join("parts");
    well(&source, &parts, &["--parts", "1"]);
    well(&source, &parts, &[]);
    assert_same_lake(&one, &parts);
    let shards = scratch.path().join("shards");
    for shard in ["0/2", "1/2"] {
        well(&source, &shards, &["--shard", shard]);
    }
    run(["commit", shards.to_str().unwrap()]).exits(0);
    assert_same_rows(&one, &shards);
}

#[test]
fn a_source_in_both_forms_is_asked_about() {
    let scratch = Scratch::new();
    let [json, parquet] = ["json", "parquet"].map(|form| made(&scratch, form));
    let both = scratch.path().join("both [forms] a=b");
    for source in [&json, &parquet] {
        tracelake_testkit::copy(source, &both);
    }
    let refused = convert(&both, &scratch.out(), &["--allow-missing"]);
    refused.refuses(2, "--source-form json or --source-form parquet");
    assert!(!scratch.out().exists());
    run(["inspect", both.to_str().unwrap()]).refuses(2, "two forms");
    for (form, alone) in [("json", &json), ("parquet", &parquet)] {
        let [lake, expected] = ["both", "alone"].map(|name| scratch.path().join(name).join(form));
        well(&both, &lake, &["--source-form", form]);
        well(alone, &expected, &[]);
        assert_same_lake(&lake, &expected);
        let noted = &manifest(&lake)["options"]["source_form"];
        assert_eq!(noted.as_str(), (form == "parquet").then_some("parquet"));
        // Another form has other file numbers.
        let (other, says) = match form {
            "json" => (&parquet, "this run asks for --source-form parquet"),
            _ => (&json, "was made with --source-form parquet"),
        };
        let refused = convert(other, &lake, &["--allow-missing"]);
        refused.refuses(6, says);
    }
    let absent = convert(
        &json,
        &scratch.out(),
        &["--allow-missing", "--source-form", "parquet"],
    );
    absent.refuses(1, "as parquet");
    // A file of any name is known by its columns.
    let other = scratch.path().join("any name.parquet");
    fs::copy(parquet.join(MACHINES), &other).unwrap();
    let alone = scratch.path().join("of one file");
    well(&other, &alone, &[]);
    assert_eq!(manifest(&alone)["tables"][0]["name"], "machine_events");
    let rows = RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    write(&rows.unwrap(), &other);
    let stranger = convert(&other, &scratch.out(), &[]);
    stranger.refuses(1, "no known table has its columns: a");
    // A table that isn't wanted doesn't matter.
    let mixed = scratch.path().join("mixed");
    tracelake_testkit::copy(&json, &mixed);
    fs::copy(parquet.join(MACHINES), mixed.join(MACHINES)).unwrap();
    well(&mixed, &scratch.out(), &["--tables", "instance_events"]);
}

#[test]
fn bad_rows_are_named_by_their_row_group_and_row() {
    let scratch = Scratch::new();
    let source = changed(&scratch, "type", |codes| {
        with_integer(codes, 6, Some(3_000_000_000))
    });
    let strict = convert(&source, &scratch.out(), &["--allow-missing"]);
    strict.refuses(
        4,
        "row 7, in row group 1: out of the range of a signed 32-bit integer",
    );
    strict.says(MACHINES);
    strict.says("machine_events.type");
    strict.says("'3000000000'");
    let lenient = convert(
        &source,
        &scratch.out(),
        &["--allow-missing", "--on-bad-row", "reject"],
    );
    lenient.exits(3);
    let rejects = scratch
        .out()
        .join("_tracelake/rejects/machine_events/part-00000.ndjson");
    let text = fs::read_to_string(&rejects).unwrap();
    let reject: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&reject["row_group"], &reject["row"]),
        (&1.into(), &7.into())
    );
    assert_eq!(reject["column"], "type");
    assert!(reject.get("line").is_none() && reject.get("byte").is_none());
    let raw: Value = serde_json::from_str(reject["raw"].as_str().unwrap()).unwrap();
    assert_eq!(raw["type"], 3_000_000_000_i64);
    assert!(
        raw["time"].is_i64() && raw["capacity"]["cpus"].is_f64(),
        "{raw}"
    );
    verify(&scratch.out(), &source).exits(0);
    // Another reason, another row and another raw row are found.
    for (from, to) in [
        ("32-bit", "64-bit"),
        ("\"row\":7", "\"row\":8"),
        ("\"row_group\":1", "\"row_group\":2"),
        ("\\\"type\\\":3", "\\\"type\\\":4"),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from}");
        fs::write(&rejects, &forged).unwrap();
        let mut facts = manifest(&scratch.out());
        let part = &mut facts["tables"][0]["parts"][0]["rejects"];
        part["sha256"] = sha256(forged.as_bytes()).into();
        part["bytes"] = forged.len().into();
        write_manifest(&scratch.out(), &facts);
        verify(&scratch.out(), &source).exits(5);
    }
}

/// The digest of the source is changed with it, so that only the comparison of values can find it.
#[test]
fn a_value_that_differs_from_its_source_is_found() {
    let scratch = Scratch::new();
    let source = changed(&scratch, "time", Arc::clone);
    well(&source, &scratch.out(), &[]);
    verify(&scratch.out(), &source).exits(0);
    let path = source.join(MACHINES);
    let rows = read_parquet(File::open(&path).unwrap());
    for (column, other) in [
        ("machine_id", with_integer(rows.column(1), 5, Some(-5))),
        ("machine_id", with_integer(rows.column(1), 5, None)),
        (
            "platform_id",
            Arc::new(StringArray::from(vec!["x"; rows.num_rows()])) as ArrayRef,
        ),
    ] {
        let index = rows.schema().index_of(column).unwrap();
        let mut columns = rows.columns().to_vec();
        columns[index] = other;
        write(
            &RecordBatch::try_new(rows.schema(), columns).unwrap(),
            &path,
        );
        let bytes = fs::read(&path).unwrap();
        let mut facts = manifest(&scratch.out());
        let part = &mut facts["tables"][0]["parts"][0]["source"];
        part["sha256"] = sha256(&bytes).into();
        part["bytes"] = bytes.len().into();
        write_manifest(&scratch.out(), &facts);
        let found = verify(&scratch.out(), &source);
        found.exits(5);
        found.prints(&format!("machine_events.{column}"));
    }
}

#[test]
fn a_file_may_be_compressed_once_more() {
    let scratch = Scratch::new();
    let source = made(&scratch, "parquet");
    let [plain, packed] = ["plain", "packed"].map(|name| scratch.path().join(name));
    let [lake, other] = ["lake", "other"].map(|name| scratch.path().join(name));
    for directory in [&plain, &packed] {
        fs::create_dir(directory).unwrap();
    }
    let bytes = fs::read(source.join(MACHINES)).unwrap();
    fs::write(plain.join("machine_events-000000000000.parquet"), &bytes).unwrap();
    fs::write(packed.join(MACHINES), gzip(&bytes)).unwrap();
    well(&plain, &lake, &[]);
    well(&packed, &other, &[]);
    assert_same_rows(&lake, &other);
    verify(&other, &packed).exits(0);
    let digest = &manifest(&other)["tables"][0]["parts"][0]["source"]["sha256"];
    assert_eq!(*digest, sha256(&gzip(&bytes)));
    // Nothing is left in the lake, and broken gzip is refused.
    assert!(!other.join("_tracelake/staging").exists());
    fs::write(packed.join(MACHINES), &gzip(&bytes)[..bytes.len() / 2]).unwrap();
    let broken = convert(&packed, &scratch.out(), &["--allow-missing"]);
    broken.refuses(5, MACHINES);
}

#[test]
fn a_wrong_digest_is_found_before_a_row_is_shown() {
    let scratch = Scratch::new();
    let source = made(&scratch, "parquet");
    let list = format!("{}  {MACHINES}\n", sha256(b"another file"));
    fs::write(source.join("SHA256SUM"), list).unwrap();
    let refused = convert(
        &source,
        &scratch.out(),
        &["--allow-missing", "--tables", "machine_events"],
    );
    refused.refuses(5, MACHINES);
    assert!(!scratch.out().join("machine_events/file_number=0").exists());
}

#[test]
fn other_files_are_refused_with_what_they_are() {
    let scratch = Scratch::new();
    let good = fs::read(made(&scratch, "parquet").join(MACHINES)).unwrap();
    let source = scratch.path().join("one");
    fs::create_dir(&source).unwrap();
    let mut encrypted = good.clone();
    let end = encrypted.len() - 4;
    encrypted[end..].copy_from_slice(b"PARE");
    for (bytes, code, says) in [
        (b"{\"time\":\"1\"}\n".to_vec(), 5, MACHINES),
        (Vec::new(), 5, "too short"),
        (good[..good.len() - 1].to_vec(), 5, "is damaged"),
        (good[..good.len() / 2].to_vec(), 5, "is damaged"),
        (encrypted, 5, "ncrypted"),
    ] {
        fs::write(source.join(MACHINES), bytes).unwrap();
        let refused = convert(
            &source,
            &scratch.out(),
            &["--allow-missing", "--trace", &trace().name],
        );
        refused.refuses(code, says);
    }
    // Without a column, with one of another type, and with one too many.
    let rows = read_parquet(bytes::Bytes::from(good));
    let columns = |but: &str| {
        let fields = rows.schema();
        let fields = fields.fields().iter().zip(rows.columns());
        let kept = fields.filter(|(field, _)| field.name() != but);
        let kept = kept.map(|(field, array)| (field.name().clone(), Arc::clone(array), true));
        kept.collect::<Vec<_>>()
    };
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"; rows.num_rows()]));
    let typed = [
        columns("time"),
        vec![("time".to_owned(), Arc::clone(&texts), true)],
    ]
    .concat();
    let more = [columns(""), vec![("colour".to_owned(), texts, true)]].concat();
    for (columns, code, says) in [
        (columns("time"), 4, "lacks the column 'time'"),
        (typed, 4, "where the table has Int64"),
        (more, 0, "the column 'colour' isn't one of machine_events"),
    ] {
        let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        write(&rows, &source.join(MACHINES));
        let run = convert(&source, &scratch.out(), &["--allow-missing"]);
        run.exits(code);
        run.prints(says);
        run.prints(MACHINES);
    }
    assert!(
        machines()
            .columns
            .iter()
            .all(|column| column.name != "colour")
    );
}

/// The size of the first page is 2 GiB by its header, and the memory of the process is limited.
#[cfg(unix)]
#[test]
fn a_forged_size_takes_no_memory() {
    let scratch = Scratch::new();
    let whole = fs::read(made(&scratch, "parquet").join(MACHINES)).unwrap();
    // The first page is after the four bytes of magic: its kind, and its size without compression.
    assert_eq!((whole[4], whole[6]), (0x15, 0x15));
    let size = 7 + whole[7..].iter().position(|byte| *byte < 128).unwrap() + 1;
    let forged = b"\xfe\xff\xff\xff\x0f";
    let longer = forged.len() - (size - 7);
    let (kept, rest) = (&whole[size..size + 20], &whole[size + 20 + longer..]);
    let source = scratch.path().join("forged");
    fs::create_dir(&source).unwrap();
    fs::write(
        source.join(MACHINES),
        [&whole[..7], forged, kept, rest].concat(),
    )
    .unwrap();
    let program = tracelake_testkit::program();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""]);
    command.arg(program.get_program()).args(program.get_args());
    let paths = [source.as_path(), &scratch.out()].map(Path::to_owned);
    command.arg("convert").args(paths).arg("--allow-missing");
    // Each arena of the C library reserves address space, used or not.
    command.env("MALLOC_ARENA_MAX", "1");
    let run = tracelake_testkit::ended(command.output().unwrap());
    run.refuses(5, "has 2147483647 bytes");
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_bucket_gives_the_lake_of_a_directory() {
    use tracelake_testkit::ended;
    use tracelake_testkit::server::{Answer, Server};

    let scratch = Scratch::new();
    let source = made(&scratch, "parquet");
    well(&source, &scratch.out(), &[]);
    let server = Server::of(&source, "bucket/", |_| Answer::Well);
    let lake = scratch.path().join("lake");
    let mut command = tracelake_testkit::with_stores(&server.url());
    let arguments = [
        "convert",
        "gs://bucket",
        lake.to_str().unwrap(),
        "--allow-missing",
    ];
    ended(command.args(arguments).output().unwrap()).well();
    assert_same_lake(&lake, &scratch.out());
    let mut command = tracelake_testkit::with_stores(&server.url());
    let arguments = ["verify", lake.to_str().unwrap(), "--source", "gs://bucket"];
    ended(command.args(arguments).output().unwrap()).exits(0);
}
