use tracelake_core::origin::Origin;
use tracelake_core::part_key::PartKey;
use tracelake_core::settings::Settings;
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_schema::{TRACES, Trace};

use super::*;

/// A trace that is published in parts, without cells.
fn trace() -> &'static Arc<Trace> {
    TRACES.iter().find(|trace| trace.in_parts()).unwrap()
}

fn part(file_number: u32, cell: Option<CellName>, rows_out: u64) -> PartFacts {
    let file = |path: String| FileFacts {
        path,
        bytes: 10,
        sha256: Digest::of(b""),
    };
    let output = file(format!("part-{file_number}"));
    let key = PartKey { cell, file_number };
    let mut part = PartFacts::new(key, file("in".to_owned()), output);
    (part.rows_in, part.rows_out, part.rows_rejected) = (rows_out + 1, rows_out, 1);
    part
}

#[test]
fn a_lake_is_added_up_and_its_gaps_are_listed() {
    let table = trace()
        .tables
        .iter()
        .find(|table| table.parts > 3 && table.time.is_some())
        .unwrap();
    let mut facts = TableFacts::new(&table.name, String::new());
    for (number, times) in [(0, (7, 90)), (2, (3, 40))] {
        let mut part = part(number, None, 100);
        (part.time_min, part.time_max) = (Some(times.0), Some(times.1));
        facts.push(part);
    }
    let origin = Origin::new(&trace().name, Settings::default());
    let inventory = inspect_lake(Manifest::new(origin, Digest::of(b""), vec![facts]), true);
    assert_eq!(inventory.finished, Some(true));
    let [found] = &inventory.tables[..] else {
        panic!("{inventory:?}");
    };
    assert_eq!((found.parts, found.rows), (2, Some(200)));
    assert_eq!((found.rejected, found.bytes), (Some(2), Some(20)));
    assert_eq!((found.time_min, found.time_max), (Some(3), Some(90)));
    assert_eq!(found.missing[..2], [1, 3]);
    assert_eq!(found.missing.len(), table.parts as usize - 2);
    let others = trace()
        .tables
        .iter()
        .filter(|other| other.name != table.name);
    let names: Vec<&str> = others.map(|other| &*other.name).collect();
    assert_eq!(inventory.absent, names);
}

#[test]
fn a_cell_that_lacks_a_table_is_named() {
    let table = &trace().tables[0].name;
    let mut facts = TableFacts::new(table, String::new());
    facts.push(part(0, Some("a"), 1));
    let origin = Origin::new(&trace().name, Settings::default());
    let inventory = inspect_lake(Manifest::new(origin, Digest::of(b""), vec![facts]), true);
    let cells = BTreeSet::from([Some("a"), Some("b")]);
    let lacking = absent(table, &inventory.tables, &cells);
    assert_eq!(lacking, [format!("{table} of cell b")]);
    assert_eq!(absent("other", &inventory.tables, &cells), ["other"]);
}
