//! Every bit of a file.

use std::ops::Range;

use super::edit::findings;
use super::footer;
use tracelake_testkit::{Score, Scratch, committed_sample, convert, ensure, output_path};

/// Every bit of a small file is changed in turn. Only texts that explain can change unnoticed.
#[test]
fn a_changed_bit_is_noticed() {
    let scratch = Scratch::new();
    convert(&committed_sample(), &scratch.out(), &[]).well();
    let path = scratch.out().join(output_path("machine_events", 0, 1));
    let mut file = std::fs::read(path).unwrap();
    assert_eq!(findings(&file), Vec::<String>::new());
    let free = texts(&file);
    let mut score = Score::one_in(13, "changed bits of a file");
    for at in 0..file.len() {
        if free.iter().any(|range| range.contains(&at)) {
            continue;
        }
        for bit in 0..8 {
            if !score.is_due() {
                continue;
            }
            file[at] ^= 1 << bit;
            let is_found = !findings(&file).is_empty();
            score.count(
                &format!("byte {at}, bit {bit}"),
                ensure(is_found, || "unnoticed".into()),
            );
            file[at] ^= 1 << bit;
        }
    }
    score.close();
}

/// Where the texts are that explain the file: key-value pairs, which program wrote it, and the name of the
/// root of its schema.
fn texts(file: &[u8]) -> Vec<Range<usize>> {
    let (found, start) = footer(file).unwrap();
    let root = found.structs("schema")[0];
    let mut texts = vec![
        found.bytes("created_by").unwrap(),
        root.bytes("name").unwrap(),
    ];
    for pair in found.structs("key_value_metadata") {
        texts.extend([pair.bytes("key").unwrap(), pair.bytes("value").unwrap()]);
    }
    let place = |text: &[u8]| {
        let mut windows = file[start..].windows(text.len());
        let place = start + windows.position(|window| window == text).unwrap();
        place..place + text.len()
    };
    texts.into_iter().map(place).collect()
}
