//! `fetch --list`: every table of every built-in trace can be fetched, or the list says why not.

use std::fs;

use tracelake_convert::discover::published_file;
use tracelake_fetch::{FileList, offers};
use tracelake_schema::TRACES;
use tracelake_testkit::{Scratch, run};

#[test]
fn every_table_can_be_fetched_or_says_why_not() {
    let list = run(["fetch", "--list"]);
    list.exits(0);
    for trace in TRACES.iter() {
        for offer in offers(trace).unwrap() {
            let name = format!("{} {}", trace.name, offer.table.name);
            assert!(
                list.stdout.contains(&format!("\n  {}", offer.table.name)),
                "{name}"
            );
            match &offer.why_not {
                Some(why_not) => {
                    assert!(offer.places.is_empty(), "{name}");
                    // The reason is that of the description.
                    let mut locations = trace.locations.iter();
                    let is_reason = locations.any(|it| it.not_fetched.as_ref() == Some(why_not));
                    assert!(is_reason, "{name}: {why_not}");
                    assert!(list.stdout.contains(why_not), "{name}");
                }
                None => assert!(!offer.places.is_empty(), "{name}"),
            }
            for place in offer.places {
                let url = place.root.to_string();
                assert!(list.stdout.contains(&url), "{name}");
                // A page for people isn't a directory of files.
                let is_page = url.contains("/tree/") || url.contains("/blob/");
                assert!(!is_page, "{name}: {url}");
                let FileList::Named { has_sums, names } = place.files else {
                    continue;
                };
                assert!(
                    has_sums || !names.is_empty(),
                    "{name}: how many files are there?"
                );
                for (path, number) in names.iter().zip(0..) {
                    let file = published_file(path, trace).unwrap();
                    let table = file.table.unwrap_or(offer.table.name.clone());
                    assert_eq!(table, offer.table.name, "{path}");
                    let expected = offer.table.naming.first + number;
                    assert!(file.number.is_none_or(|it| it == expected), "{path}");
                }
            }
        }
    }
    let cells = TRACES.iter().filter_map(|trace| trace.cells.as_ref());
    for cells in cells {
        let count = list.stdout.lines().filter(|line| {
            let mut directories = cells.names.iter().map(|cell| cells.directory_of(cell));
            directories.any(|directory| line.ends_with(&directory))
        });
        assert_eq!(count.count() % cells.names.len(), 0);
    }
}

#[test]
fn one_trace_is_listed_and_so_is_a_description() {
    let name = &TRACES[0].name;
    let list = run(["fetch", name, "--list"]);
    list.exits(0);
    assert!(
        list.stdout.starts_with(&format!("{name}  ")),
        "{}",
        list.stdout
    );
    assert_eq!(run(["fetch", "--list", name]).stdout, list.stdout);

    let scratch = Scratch::new();
    let path = scratch.path().join("moon.toml");
    fs::write(&path, super::MOON.replace("SERVER", "https://host")).unwrap();
    let list = run(["fetch", path.to_str().unwrap(), "--list"]);
    list.exits(0);
    list.shows("  jobs     3 files  -  no digest  https://host/moon\n");
    list.shows("  craters  1 file   -  no digest  https://host/moon/craters.csv.gz\n");
    let text = super::MOON.replace("\ndoc = \"All", "\nnot_fetched = \"Lost.\"\ndoc = \"All");
    fs::write(&path, text.replace("SERVER", "https://host")).unwrap();
    run(["fetch", path.to_str().unwrap(), "--list"]).shows("can't be fetched: Lost.");
    let out = scratch.out();
    run(["fetch", path.to_str().unwrap(), out.to_str().unwrap()]).refuses(
        1,
        "jobs can't be fetched: Lost; tracelake fetch --list says what can be",
    );
    assert!(!out.exists());
}
