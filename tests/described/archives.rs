//! Archives by descriptions: of one part, of many, of whole tables; zip and tar.

use std::fs;
use std::io::{Cursor, Write};

use crate::streams::tar_gz;
use arrow_array::cast::AsArray;
use tracelake_core::seal::sha256;
use tracelake_testkit::{Scratch, convert, manifest, read_output, run};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::language::{INTEGER, TEXT, converted, misfit, one_table};

/// A zip archive of these members.
pub(super) fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in members {
        zip.start_file(*name, deflated).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The file number, the rows and the source of each part.
fn parts(scratch: &Scratch) -> Vec<(u64, u64, String)> {
    let manifest = manifest(&scratch.out());
    let parts = manifest["tables"][0]["parts"].as_array().unwrap().clone();
    let facts = parts.iter().map(|part| {
        let number = |key: &str| part[key].as_u64().unwrap();
        let source = part["source"]["path"].as_str().unwrap().to_owned();
        (number("file_number"), number("rows_out"), source)
    });
    facts.collect()
}

const CALLS: &str = "files = \"named\"\nnames = [\"calls_{n}.tar.gz\"]";

#[test]
fn an_archive_can_be_one_part() {
    let scratch = Scratch::new();
    let columns = [
        ("time", INTEGER),
        ("part", "kind = \"integer\"\ncapture = \"n\""),
    ];
    let description = one_table(CALLS, &columns);
    scratch.file(
        "calls_0.tar.gz",
        &tar_gz(&[
            ("._data.csv", "\u{5}"),
            ("data.csv", "1\n2\n"),
            ("README", "read me"),
        ]),
    );
    scratch.file("calls_1.tar.gz", &tar_gz(&[("x/calls_1.csv", "3\n")]));
    converted(&scratch, &description);
    let source = |number: u64| format!("calls_{number}.tar.gz");
    assert_eq!(parts(&scratch), [(0, 2, source(0)), (1, 1, source(1))]);
    let made = read_output(
        &scratch
            .out()
            .join("readings/file_number=1/part-00001.parquet"),
    );
    let number = made
        .column(1)
        .as_primitive::<arrow_array::types::Int64Type>();
    assert_eq!(number.value(0), 1);
    for (archive, code, message) in [
        (
            tar_gz(&[("README", "1")]),
            4,
            "holds no file that ends in .csv",
        ),
        (
            tar_gz(&[("a.csv", "1\n"), ("b.csv", "2\n")]),
            4,
            "an archive of one part has a second text, b.csv",
        ),
        (
            tar_gz(&[("a.csv", "x\n")]),
            4,
            "calls_1.tar.gz/a.csv:1:1: readings.time: ",
        ),
        (b"1\n2\n".to_vec(), 5, "plain text, not gzip"),
    ] {
        scratch.file("calls_1.tar.gz", &archive);
        let file = scratch.path().join("weather.toml");
        let out = scratch.path().join("other");
        let other = convert(&scratch.src(), &out, &["--trace", file.to_str().unwrap()]);
        assert_eq!(other.code, code, "{}", other.stderr);
        assert!(
            other.message().contains(message),
            "{message}: {}",
            other.message()
        );
    }
}

const MACHINES: &str = "files = \"named\"\nnames = [\"{n}.csv\"]\nfirst = 1\n[table.csv]\nheader = true\nseparator = \";\\t\"";

fn machines() -> String {
    let columns = [
        ("Timestamp [ms]", INTEGER),
        ("CPU cores", INTEGER),
        ("vm", "kind = \"integer\"\ncapture = \"n\""),
    ];
    one_table(MACHINES, &columns).replace(
        "[[table]]",
        "[[trace.archive]]\nnames = [\"machines.zip\"]\nsha256 = \"SHA\"\nsize = \"1K\"\n[[table]]",
    )
}

const HEADER: &str = "Timestamp [ms];\tCPU cores\n";

#[test]
fn an_archive_can_hold_many_parts() {
    let scratch = Scratch::new();
    let text = |rows: &str| format!("{HEADER}{rows}");
    let texts = [text("1;\t2\n3;\t4\n"), text("5;\t6\n"), text("7;\t8\n")];
    let archive = zip(&[
        ("fast/", ""),
        ("fast/2.csv", &texts[1]),
        ("fast/1.csv", &texts[0]),
        ("../../3.csv", &texts[2]),
        ("__MACOSX/fast/._1.csv", "\u{5}"),
        ("notes.txt", "read me"),
    ]);
    scratch.file("machines.zip", &archive);
    let description = machines().replace("SHA", &sha256(&archive));
    converted(&scratch, &description);
    let source = "machines.zip".to_owned();
    assert_eq!(
        parts(&scratch),
        [
            (1, 2, source.clone()),
            (2, 1, source.clone()),
            (3, 1, source)
        ]
    );
    let made = read_output(
        &scratch
            .out()
            .join("readings/file_number=2/part-00002.parquet"),
    );
    let column = |index: usize| {
        let column = made.column(index);
        column
            .as_primitive::<arrow_array::types::Int64Type>()
            .value(0)
    };
    assert_eq!([column(0), column(1), column(2)], [5, 6, 2]);
    assert!(!scratch.path().join("3.csv").exists());
    // A lake that lacks a part is completed, and ends with the same bytes.
    let whole = fs::read(scratch.out().join("_tracelake/manifest.json")).unwrap();
    let file = scratch.path().join("weather.toml");
    let trace = ["--trace", file.to_str().unwrap()];
    for name in ["again", "shards"] {
        let out = scratch.path().join(name);
        let made = match name {
            "again" => {
                convert(
                    &scratch.src(),
                    &out,
                    &[&trace[..], &["--parts", "2"]].concat(),
                )
                .well();
                convert(&scratch.src(), &out, &trace)
            }
            _ => {
                for shard in ["0/2", "1/2"] {
                    let shard = [&trace[..], &["--shard", shard]].concat();
                    convert(&scratch.src(), &out, &shard).exits(0);
                }
                run(["commit", out.to_str().unwrap()])
            }
        };
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        let again = fs::read(out.join("_tracelake/manifest.json")).unwrap();
        assert!(again == whole, "{name}");
    }
    run(["release", scratch.out().to_str().unwrap()]).well();
}

#[test]
fn archives_of_parts_that_do_not_fit_are_refused() {
    let text = format!("{HEADER}1;\t2\n");
    let member = |name| (name, &text[..]);
    let refused = |archive: Vec<u8>, sha256: &str, code, message: &str| {
        let scratch = Scratch::new();
        scratch.file("machines.zip", &archive);
        let run = misfit(&scratch, &machines().replace("SHA", sha256));
        assert_eq!(run.code, code, "{message}: {}", run.stderr);
        assert!(
            run.message().contains(message),
            "{message}: {}",
            run.message()
        );
    };
    for (members, code, message) in [
        (
            vec![member("1.csv"), member("3.csv")],
            1,
            "1 of 3 parts are missing: 2",
        ),
        (vec![member("0.csv"), member("1.csv")], 4, "but not part 1"),
        (
            vec![member("1.csv"), member("x/1.csv")],
            4,
            "a second member with the number 1",
        ),
        (
            vec![member("999999999.csv")],
            4,
            "part 999999999, and a table has at most 1000000",
        ),
        (vec![member("1.csv.zip")], 4, "holds no {n}.csv"),
        (
            vec![member("1.csv.gz")],
            5,
            "1.csv.gz: plain text, not gzip",
        ),
        (vec![("1.csv", "a;\tb\n")], 4, "machines.zip/1.csv"),
        (
            vec![("1.csv", "Timestamp [ms];\tCPU cores\n1;2\n")],
            4,
            "2:1",
        ),
    ] {
        let archive = zip(&members);
        refused(archive.clone(), &sha256(&archive), code, message);
    }
    let good = zip(&[member("1.csv")]);
    refused(
        good.clone(),
        &"0".repeat(64),
        5,
        "but the checksums say 0000",
    );
    let cut = good[..good.len() - 1].to_vec();
    refused(cut.clone(), &sha256(&cut), 5, "the archive is cut short");
}

#[test]
fn a_zip_archive_can_hold_whole_tables() {
    for name in ["readings.zip", "readings.csv.zip", "r.zip"] {
        let scratch = Scratch::new();
        let table = "files = \"whole\"\nnames = [\"r.csv\", \"r.zip\"]";
        let description = one_table(table, &[("time", INTEGER), ("name", TEXT)]);
        let member = if name == "r.zip" {
            "data/r.csv"
        } else {
            "readings.csv"
        };
        scratch.file(name, &zip(&[("README", "no"), (member, "1,a\n2,b\n")]));
        converted(&scratch, &description);
        assert_eq!(parts(&scratch), [(0, 2, name.to_owned())]);
    }
}
