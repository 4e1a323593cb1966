//! Cells that can't be meant, and lakes that don't mix.

use std::fs;

use super::{cells, directory, nameless, trace, two, well};
use tracelake_testkit::{committed_sample, convert, tree};

#[test]
fn a_cell_that_cannot_be_meant_ends_with_2() {
    let scratch = two();
    let of_a = directory(&scratch.src(), "a");
    let other = trace()
        .tables
        .iter()
        .find(|it| it.files == tracelake_schema::Files::Whole);
    let other = other.unwrap();
    let whole = scratch
        .path()
        .join(format!("{}.{}", other.name, other.syntax.extension()));
    let names: Vec<&str> = other
        .fields
        .iter()
        .map(|&it| &*other.columns[it].content)
        .collect();
    fs::write(&whole, names.join(",") + "\n").unwrap();
    let all = cells().names.join(", ");
    let cases = [
        (
            committed_sample(),
            "a",
            "is not published by cell; leave --cell out".to_owned(),
        ),
        (
            of_a.clone(),
            "z",
            format!("has no cell 'z'; its cells are {all}"),
        ),
        (
            of_a,
            "b",
            "is of cell a, and --cell says b; leave --cell out".to_owned(),
        ),
        (
            scratch.src(),
            "c",
            "is of cell a, b, and --cell says c".to_owned(),
        ),
        (
            whole,
            "a",
            "no file here is published by cell; leave --cell out".to_owned(),
        ),
    ];
    for (source, cell, says) in cases {
        convert(&source, &scratch.out(), &["--cell", cell]).refuses(2, &says);
        assert!(!scratch.out().exists());
    }
}

#[test]
fn lakes_with_and_without_cells_do_not_mix() {
    let scratch = two();
    let (with, without) = (directory(&scratch.src(), "a"), nameless(&scratch));
    let cases = [
        (
            &with,
            &without,
            "it is partitioned by cell, and the source names none",
        ),
        (&without, &with, "it has no cells, and the source names one"),
    ];
    for (first, second, says) in cases {
        let out = scratch.path().join("mixed");
        well(first, &out, &[]);
        let before = tree(&out);
        for arguments in [&[][..], &["--dry-run"], &["--shard", "0/2"]] {
            convert(second, &out, arguments).refuses(6, says);
            assert!(tree(&out) == before);
        }
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_file_beside_the_directories_of_cells_is_refused() {
    let scratch = two();
    let name = format!("{}-000000000000.json.gz", trace().tables[0].name);
    fs::copy(
        directory(&scratch.src(), "a").join(&name),
        scratch.src().join(&name),
    )
    .unwrap();
    scratch.convert(&[]).refuses(1, "is of no cell");
}

/// Nothing is in the directory of the cell, so the files are of none.
#[test]
fn an_empty_directory_of_a_cell_changes_nothing() {
    let scratch = two();
    let files = nameless(&scratch);
    let [plain, beside] = ["plain", "beside"].map(|name| scratch.path().join(name));
    well(&files, &plain, &[]);
    fs::create_dir(directory(&files, "a")).unwrap();
    well(&files, &beside, &[]);
    assert!(tree(&beside) == tree(&plain));
    assert!(
        !tree(&plain)
            .unwrap()
            .keys()
            .any(|name| name.contains("cell="))
    );
}

/// A directory or a manifest that claims another cell.
#[test]
fn a_file_in_the_directory_of_another_cell_is_found() {
    let scratch = two();
    well(&directory(&scratch.src(), "a"), &scratch.out(), &[]);
    let table = scratch.out().join(&*trace().tables[0].name);
    let verify = || tracelake_testkit::run(["verify", scratch.out().to_str().unwrap()]);
    let again = || convert(&directory(&scratch.src(), "a"), &scratch.out(), &[]);
    // A cell that no trace has: no run can have made it.
    tracelake_testkit::copy(&table.join("cell=a"), &table.join("cell=z"));
    assert_eq!((verify().code, again().code), (5, 6));
    fs::remove_dir_all(table.join("cell=z")).unwrap();
    // Another cell's, which a killed run may have left.
    tracelake_testkit::copy(&table.join("cell=a"), &table.join("cell=b"));
    verify().exits(5);
    fs::remove_dir_all(table.join("cell=b")).unwrap();
    verify().exits(0);
    let manifest = scratch.out().join("_tracelake/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let lie = text.replacen("\"cell\": \"a\"", "\"cell\": \"b\"", 1);
    fs::write(&manifest, tracelake_testkit::seal(&lie)).unwrap();
    let verified = verify();
    assert_eq!(verified.code, 5);
    verified.prints("another cell than its directory");
    let lie = text.replacen("\"cell\": \"a\"", "\"cell\": \"../a\"", 1);
    fs::write(&manifest, tracelake_testkit::seal(&lie)).unwrap();
    verify().exits(6);
}
