//! Plans of small sources, and what is said about them.

use std::fs;
use std::path::Path;

use super::*;

const TABLE: &str = "machine_events";

/// A source with these files below it, each with one row.
fn source(paths: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for path in paths {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "0,5,0,plat=,0.5,0.2493\n").unwrap();
    }
    directory
}

fn planned(source: &Path, ask: impl FnOnce(&mut Request)) -> Result<Plan> {
    let mut request = Request::new(source);
    request.allow_missing = true;
    ask(&mut request);
    plan(&Context::new(), &request)
}

#[test]
fn of_many_files_that_are_skipped_the_first_are_named() {
    for (files, named, more) in [
        (20, 20, None),
        (21, 20, Some("1 more file skipped")),
        (23, 20, Some("3 more files skipped")),
    ] {
        let names: Vec<String> = (0..files)
            .map(|file| format!("{TABLE}/notes-{file:02}.txt"))
            .collect();
        let mut paths: Vec<&str> = names.iter().map(|name| &name[..]).collect();
        paths.push("machine_events/part-00000-of-00001.csv");
        let source = source(&paths);
        let warnings = planned(source.path(), |_| {}).unwrap().warnings;
        assert!(
            warnings[0].starts_with("machine_events/notes-00.txt is skipped: "),
            "{warnings:?}"
        );
        assert_eq!(warnings.get(named).map(|text| &text[..]), more);
    }
}

/// Only files that look like data are worth a warning at the top of a source.
#[test]
fn data_beside_the_tables_is_named() {
    let source = source(&[
        "machine_events/part-00000-of-00001.csv",
        "README.txt",
        "photos/cat.jpeg",
        "notes.csv",
        "machine_events.parquet",
    ]);
    let warnings = planned(source.path(), |_| {}).unwrap().warnings;
    let names: Vec<&str> = warnings
        .iter()
        .map(|text| text.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["machine_events.parquet", "notes.csv"],
        "{warnings:?}"
    );
}

#[test]
fn a_column_that_is_nearly_right_is_offered() {
    let source = source(&["machine_events/part-00000-of-00001.csv"]);
    let hint = |column: &str| {
        let columns = format!("{TABLE}.{column}").parse().unwrap();
        let refused = planned(source.path(), |request| {
            request.settings.columns = Some(columns)
        });
        refused.unwrap_err().advice().unwrap().to_owned()
    };
    assert!(
        hint("cpu").starts_with("did you mean cpus? it has "),
        "{}",
        hint("cpu")
    );
    assert!(
        hint("weather").starts_with("it has "),
        "{}",
        hint("weather")
    );
}
