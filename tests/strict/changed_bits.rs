//! Every bit of a file.

use std::ops::Range;

use parquet::file::metadata::PageIndexPolicy;

use super::edit::{findings, footer_start};
use super::metadata;
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
    let found = metadata(file, PageIndexPolicy::Skip).unwrap();
    let (found, start) = (found.file_metadata(), footer_start(file));
    let mut texts = vec![found.created_by().unwrap(), found.schema().name()];
    for pair in found.key_value_metadata().unwrap() {
        texts.extend([&pair.key[..], pair.value.as_deref().unwrap()]);
    }
    let place = |text: &str| {
        let mut windows = file[start..].windows(text.len());
        let place = windows.position(|window| window == text.as_bytes());
        let place = start + place.unwrap();
        place..place + text.len()
    };
    texts.into_iter().map(place).collect()
}
