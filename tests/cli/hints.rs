//! Files that people have in place of a trace: each is named, with what to do about it.

use std::fs;
use std::sync::Arc;

use tracelake_schema::{Syntax, TRACES, Table};

use tracelake_testkit::{
    Scratch, convert, good_line, gzip, manifest, plain_whole_tables, run, tree,
};

const PART: &str = "job_events/part-00000-of-00001.csv";

/// A file in a source, and what the message says.
struct Case {
    path: &'static str,
    bytes: &'static [u8],
    code: i32,
    says: &'static [&'static str],
}

const fn case(
    path: &'static str,
    bytes: &'static [u8],
    code: i32,
    says: &'static [&'static str],
) -> Case {
    Case {
        path,
        bytes,
        code,
        says,
    }
}

const CASES: &[Case] = &[
    case(
        PART,
        b"time,missing info,job ID,event type,user,scheduling class,job name,logical job name\n",
        4,
        &["'time'", "a header", "remove the line"],
    ),
    case(
        PART,
        b",time,missing_info,job_id,event_type,user,scheduling_class,job_name,logical_job_name\n",
        4,
        &["a header", "9 fields where the table has 8"],
    ),
    case(
        PART,
        b"Timestamp,missing,id,type,user,class,name,logical\n",
        4,
        &["'Timestamp'", "a header"],
    ),
    case(
        PART,
        b"600.0,,1.0,0,u,2,n,l\n",
        4,
        &["'600.0'", "pandas", "--accept integral-floats"],
    ),
    case(
        PART,
        b"600,,1.68E+11,0,u,2,n,l\n",
        4,
        &["'1.68E+11'", "spreadsheet"],
    ),
    case(
        PART,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        4,
        &["Git LFS pointer", "git lfs pull"],
    ),
    case(
        "job_events/part-00000-of-00001.csv.gz",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        5,
        &["Git LFS pointer", "git lfs pull"],
    ),
    case(
        "job_events/part-00000-of-00001.csv.gz",
        b"7z\xbc\xaf\x27\x1c",
        5,
        &["7z archive", "unpack it"],
    ),
    case(PART, b"PK\x03\x04\0\0", 5, &["the archive is cut short"]),
    case(PART, b"\x1f\x8b\x08\0", 5, &["cut off, in gzip member 1"]),
    case(
        "job_events.zip",
        b"PK",
        1,
        &["job_events.zip", "zip archive", "unpack"],
    ),
    case(
        "job_events.7z",
        b"7z",
        1,
        &["job_events.7z", "7z archive", "unpack"],
    ),
    case(
        "job_events.csv.xz",
        b"",
        5,
        &["job_events.csv.xz", "empty", "an xz header"],
    ),
    case(
        "job_events.csv.zst",
        b"1,2\n",
        5,
        &["job_events.csv.zst", "plain text, not zstd"],
    ),
    case(
        "trace.csv",
        b"version https://git-lfs.github.com/spec/v1\n",
        1,
        &["trace.csv", "LFS"],
    ),
    case(
        "job_event/part-00000-of-00001.csv",
        b"",
        1,
        &["job_event ", "job_events"],
    ),
    case(
        "Job-Events/part-00000-of-00001.csv",
        b"",
        1,
        &["Job-Events", "job_events"],
    ),
    case(
        "download/job_events/part-00000-of-00001.csv",
        b"",
        1,
        &["download is skipped", "name download as SRC"],
    ),
];

#[test]
fn each_has_its_own_hint_and_touches_nothing() {
    for case in CASES {
        let scratch = Scratch::new();
        scratch.file(case.path, case.bytes);
        let run = scratch.convert(&[]);
        assert_eq!(run.code, case.code, "{}: {}", case.path, run.stderr);
        for says in case.says {
            assert!(run.message().contains(says), "{says}: {}", run.message());
        }
        assert!(!scratch.out().exists(), "{}", case.path);
    }
}

/// Git LFS's pointer to a file that wasn't fetched.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";

#[test]
fn a_pointer_is_named_in_place_of_every_file() {
    let quoted = &tables(Syntax::QuotedCsv).next().unwrap().name;
    let json = &tables(Syntax::Json).next().unwrap().name;
    let csv = &plain_whole_tables().next().unwrap().name;
    for path in [
        format!("{quoted}.csv"),
        format!("{quoted}.csv.gz"),
        format!("{json}-000000000000.json"),
        format!("{json}-000000000000.json.gz"),
        format!("{csv}.csv"),
        format!("{csv}.csv.gz"),
        format!("{csv}.tar.gz"),
        "job_events/rows.csv".to_owned(),
        "schema.csv".to_owned(),
        "SHA256SUM".to_owned(),
    ] {
        let scratch = Scratch::new();
        scratch.file(&path, POINTER);
        if !path.contains(['/', '.']) || path == "schema.csv" {
            scratch.only("job_events", b"");
        }
        let run = scratch.convert(&[]);
        let says = ["Git LFS pointer", "git lfs pull", &path];
        let all = says.iter().all(|says| run.message().contains(says));
        assert!(all, "{path}: {}", run.message());
        assert!(!scratch.out().exists(), "{path}");
    }
    let scratch = Scratch::new();
    scratch.file("rows", POINTER);
    convert(&scratch.src().join("rows"), &scratch.out(), &[]).says("git lfs pull");
}

/// A table that only a trace of JSON lines has, and the header of its export.
fn exported() -> (&'static str, String) {
    let own = |table: &&'static Arc<Table>| tracelake_testkit::trace().table(&table.name).is_none();
    let table = tables(Syntax::Json).find(own).unwrap();
    let names = table.columns.iter().map(|column| &*column.name);
    let header = names.collect::<Vec<_>>().join(",") + "\n";
    (&table.name, header)
}

#[test]
fn a_table_of_json_lines_exported_as_csv_is_named_under_any_name() {
    let (table, header) = exported();
    for path in [
        format!("{table}/part-00000-of-00001.csv"),
        format!("{table}/rows.csv"),
        format!("{table}/rows.csv.gz"),
        "bq-results.csv".to_owned(),
        format!("{table}-000000000000.csv.gz"),
    ] {
        let scratch = Scratch::new();
        let bytes = match path.ends_with(".gz") {
            true => gzip(header.as_bytes()),
            false => header.clone().into_bytes(),
        };
        scratch.file(&path, &bytes);
        let file = scratch.src().join(&path);
        for source in [scratch.src(), file] {
            let run = convert(&source, &scratch.out(), &[]);
            assert!([1, 4].contains(&run.code), "{}", run.stderr);
            for says in ["JSON lines", &format!("{table}-*.json.gz"), &path] {
                assert!(run.message().contains(says), "{says}: {}", run.message());
            }
        }
        assert!(!scratch.out().exists(), "{path}");
    }
}

fn tables(syntax: Syntax) -> impl Iterator<Item = &'static Arc<Table>> {
    let tables = TRACES.iter().flat_map(|trace| &trace.tables);
    tables.filter(move |table| table.syntax == syntax)
}

#[test]
fn tables_of_json_lines_in_other_formats_are_named() {
    let own = |table: &&'static Arc<Table>| tracelake_testkit::trace().table(&table.name).is_none();
    let table = tables(Syntax::Json).find(own).unwrap();
    for (ending, says) in [
        (".csv", "exported as CSV"),
        ("-000000000000.csv.gz", "exported as CSV"),
    ] {
        let scratch = Scratch::new();
        let name = format!("{}{ending}", table.name);
        scratch.file(&name, b"time,type\n");
        let run = scratch.convert(&[]);
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        for says in [&name[..], says, ".json.gz"] {
            assert!(run.message().contains(says), "{says}: {}", run.message());
        }
    }
}

#[test]
fn the_first_letter_of_what_is_not_json_is_shown() {
    let table = tables(Syntax::Json).next().unwrap();
    for (text, shown) in [
        ("time,collection_id,type", "'time,collection_id,type'"),
        ("nonsense", "'nonsense'"),
        ("{\"time\":truth}", "'truth}'"),
    ] {
        let scratch = Scratch::new();
        let name = format!("{}-000000000000.json.gz", table.name);
        scratch.file(&name, &gzip(format!("{text}\n").as_bytes()));
        scratch.convert(&[]).refuses(4, shown);
    }
}

#[test]
fn the_quoted_file_under_another_name_is_named() {
    let table = tables(Syntax::QuotedCsv).next().unwrap();
    let names = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content);
    let scratch = Scratch::new();
    let text = format!("{}\n", names.collect::<Vec<_>>().join(","));
    scratch.file("archive.csv", text.as_bytes());
    let run = scratch.convert(&[]);
    run.refuses(1, &table.name);
    run.says("rename");
}

#[test]
fn one_file_named_after_its_table_is_the_table() {
    let row = good_line("job_events");
    for (path, bytes) in [
        ("job_events.csv", row.as_bytes().to_vec()),
        ("job_events.csv.gz", gzip(row.as_bytes())),
        ("job_events/job_events.csv", row.as_bytes().to_vec()),
    ] {
        let scratch = Scratch::new();
        scratch.file(path, &bytes);
        scratch.good("task_usage");
        scratch.convert_well(&[]);
        let manifest = manifest(&scratch.out());
        assert_eq!(manifest["tables"][0]["name"], "job_events", "{path}");
        assert_eq!(manifest["tables"][0]["rows"], 1, "{path}");
        assert_eq!(manifest["tables"][1]["name"], "task_usage", "{path}");
    }
    let scratch = Scratch::new();
    scratch.file("job_events.csv", row.as_bytes());
    scratch.only("job_events", row.as_bytes());
    scratch.convert(&[]).refuses(1, "same file number");
}

#[test]
fn source_and_lake_the_wrong_way_round_are_named() {
    let scratch = Scratch::with_sample(1, 3);
    scratch.convert_well(&[]);
    for (source, out, code) in [
        (scratch.out(), scratch.src(), 1),
        (scratch.path().join("new"), scratch.src(), 1),
    ] {
        let before = tree(scratch.path());
        convert(&source, &out, &[]).exits(code);
        tracelake_testkit::assert_same_tree(&tree(scratch.path()), &before, "swapped");
    }
}

#[test]
fn a_path_that_does_not_exist_is_said_so() {
    run(["convert", "no/such/place", "out"]).refuses(1, "no/such/place: there is no such file");
}

#[test]
fn skipped_files_are_named_wherever_they_are() {
    let scratch = Scratch::new();
    scratch.good("job_events");
    scratch.file("job_events/notes.txt", b"x");
    scratch.file("job_events/task_events.csv", b"x");
    let warned = |run: &tracelake_testkit::Run, name: &str| {
        let mut lines = run
            .stderr
            .lines()
            .filter(|line| line.starts_with("warning: "));
        lines.any(|line| line.contains(&format!("{name} is skipped: ")))
    };
    // From above, and with the table's directory as the source.
    let above = scratch.convert(&[]);
    above.well();
    let below = convert(
        &scratch.src().join("job_events"),
        &scratch.path().join("b"),
        &[],
    );
    below.well();
    for run in [&above, &below] {
        for name in ["notes.txt", "task_events.csv"] {
            assert!(warned(run, name), "{name}: {}", run.stderr);
        }
    }
    fs::remove_file(scratch.src().join("job_events/task_events.csv")).unwrap();
    // Data beside the tables; what is not data stays unnamed.
    scratch.file("usage.csv", b"x");
    scratch.file("LICENSE", b"x");
    let beside = convert(&scratch.src(), &scratch.path().join("c"), &[]);
    beside.well();
    assert!(warned(&beside, "usage.csv"), "{}", beside.stderr);
    assert!(!beside.stderr.contains("LICENSE"), "{}", beside.stderr);
}

#[test]
fn downloads_that_are_not_whole_are_called_so() {
    let scratch = Scratch::new();
    scratch.good("job_events");
    let names = [
        ("part-00001-of-00500.csv.gz_.gstmp", "hasn't finished"),
        ("part-00001-of-00500.csv.gz.partial", "hasn't finished"),
        ("part-00001-of-00500.csv.gz.aria2", "hasn't finished"),
        ("part-00001-of-00500.csv.gz.crdownload", "hasn't finished"),
        ("part-00001-of-00500.csv.gz.1", "a repeated download"),
        ("part-00001-of-00500.csv.1.gz", "a repeated download"),
        ("part-00001-of-00500 (1).csv.gz", "a repeated download"),
        ("._part-00001-of-00500.csv.gz", "macOS"),
    ];
    for (name, _) in names {
        scratch.file(&format!("job_events/{name}"), b"x");
    }
    let run = scratch.convert(&[]);
    run.well();
    for (name, says) in names {
        let mut lines = run.stderr.lines();
        let line = lines.find(|line| line.contains(&format!("{name} is skipped: ")));
        assert!(
            line.is_some_and(|line| line.contains(says)),
            "{name}: {}",
            run.stderr
        );
    }
}

/// `tar` and tapes leave such zeros.
#[test]
fn zeros_after_a_member_are_counted() {
    let scratch = Scratch::new();
    let text = good_line("job_events");
    let whole = gzip(text.as_bytes());
    let path = "job_events/part-00000-of-00001.csv.gz";
    scratch.file(path, &[&whole[..], &[0; 1_234]].concat());
    let run = scratch.convert(&[]);
    run.well();
    let says = "1,234 bytes of zeros after the last gzip member are ignored";
    let named = run.stderr.lines().filter(|line| line.contains(says));
    assert_eq!(named.count(), 1, "{}", run.stderr);
    scratch.file(path, &whole);
    let again = scratch.convert(&["--overwrite"]);
    again.well();
    assert!(!again.stderr.contains("zeros"), "{}", again.stderr);
}
