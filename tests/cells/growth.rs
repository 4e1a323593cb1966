//! One lake, whatever the order in which its cells come.

use std::fs;

use super::{directory, nameless, parts, two, well};
use tracelake_testkit::{assert_same_tree, run, tree};

#[test]
fn cells_together_and_one_after_another_make_the_same_lake() {
    let scratch = two();
    let together = scratch.out();
    well(&scratch.src(), &together, &[]);
    for order in [["a", "b"], ["b", "a"]] {
        let out = scratch.path().join("apart");
        for cell in order {
            well(&directory(&scratch.src(), cell), &out, &[]);
        }
        assert_same_tree(&tree(&out), &tree(&together), &order.concat());
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_cell_can_be_named_instead_of_its_directory() {
    let scratch = two();
    let [named, other] = ["named", "other"].map(|name| scratch.path().join(name));
    well(&directory(&scratch.src(), "a"), &named, &[]);
    well(&nameless(&scratch), &other, &["--cell", "a"]);
    assert_same_tree(&tree(&other), &tree(&named), "--cell");
    // Of directories of several cells, it takes one.
    let out = scratch.path().join("chosen");
    well(&scratch.src(), &out, &["--cell", "a"]);
    assert_same_tree(&tree(&out), &tree(&named), "--cell of several");
}

#[test]
fn one_table_and_one_file_are_of_the_cell_that_they_are_in() {
    let scratch = two();
    let source = directory(&scratch.src(), "b");
    let table = &super::trace().tables[0].name;
    let file = format!("{table}-000000000001.json.gz");
    well(&source.join(&file), &scratch.out(), &[]);
    let expected = [(table.to_owned(), Some("b".to_owned()), 1)];
    assert_eq!(parts(&scratch.out()), expected);
    let (below, out) = (source.join(table), scratch.path().join("below"));
    fs::create_dir(&below).unwrap();
    fs::rename(source.join(&file), below.join(&file)).unwrap();
    well(&below, &out, &["--allow-missing"]);
    assert_eq!(parts(&out), expected);
}

#[test]
fn parts_are_those_of_each_cell() {
    let scratch = two();
    well(&scratch.src(), &scratch.out(), &["--parts", "1"]);
    let parts = parts(&scratch.out());
    assert!(parts.iter().all(|(_, _, number)| *number == 1));
    assert_eq!(parts.len(), 10);
    well(&scratch.src(), &scratch.out(), &[]);
    let out = scratch.path().join("whole");
    well(&scratch.src(), &out, &[]);
    assert_same_tree(&tree(&scratch.out()), &tree(&out), "grown");
}

#[test]
fn a_gap_is_that_of_its_cell() {
    let scratch = two();
    let table = &super::trace().tables[0].name;
    let source = directory(&scratch.src(), "b");
    fs::remove_file(source.join(format!("{table}-000000000000.json.gz"))).unwrap();
    let refused = scratch.convert(&[]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let says = format!("{table}: 1 of 2 parts are missing: 0 of cell b");
    refused.says(&says);
    well(&scratch.src(), &scratch.out(), &["--allow-missing"]);
    for place in [scratch.src(), scratch.out()] {
        let inspected = run(["inspect", place.to_str().unwrap()]);
        let says = format!("{table} of cell b: 1 part missing: 0\n");
        // The number of published parts of cell b isn't known, so a lake can't tell what it lacks at
        // the end, but it sees a gap before it.
        assert_eq!(
            inspected.stdout.contains(&says),
            place == scratch.src(),
            "{}",
            inspected.stdout
        );
    }
}
