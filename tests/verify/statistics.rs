//! What a Parquet file says about its values, forged: readers that trust it would miss rows.

use std::fs;

use crate::support::{Score, ensure};
use crate::verify::patient::Patient;

/// Where a pattern is in some bytes.
fn places(bytes: &[u8], pattern: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(pattern.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == pattern);
    found.map(|(at, _)| at).collect()
}

/// The largest time is in the statistics for old and for new readers, and in the page index. All
/// copies are changed, and then each alone.
#[test]
fn forged_bounds_are_found() {
    let patient = Patient::new("machine_events");
    let pointer = "/tables/0/parts/0";
    let facts = patient.healthy.pointer(pointer).unwrap();
    let path = patient
        .lake()
        .join(facts["output"]["path"].as_str().unwrap());
    let whole = fs::read(path).unwrap();
    let max = facts["time_max"].as_i64().unwrap();
    let pattern = max.to_le_bytes();
    // Before them it may be in a dictionary.
    let places: Vec<usize> = places(&whole, &pattern).into_iter().rev().take(3).collect();
    assert_eq!(
        places.len(),
        3,
        "a maximum is in the footer twice and in the page index"
    );
    let mut score = Score::new("forged bounds");
    let forged = [&places[..], &places[..1], &places[1..2], &places[2..]];
    for (forged, value) in forged
        .iter()
        .flat_map(|forged| [(forged, max / 2), (forged, max + 1)])
    {
        let mut bytes = whole.clone();
        for &at in forged.iter() {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        patient.forge_bytes(pointer, &bytes);
        let run = patient.verify_source();
        let says = ["imum of ", "its time range", "for old readers"];
        let said = says.iter().any(|says| run.stderr.contains(says));
        // A page's bound may be beyond its values, as the format allows.
        let allowed = value > max && run.code == 0;
        let outcome = ensure((run.code == 5 && said) || allowed, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        score.count(&format!("{value} at {forged:?}"), outcome);
        patient.heal();
    }
    score.close();
}
