//! Every bit of a file.

use std::ops::Range;

use super::chunk::Chunk;
use super::edit::{CPUS, findings, with_chunks};
use super::footer;
use super::page::StoredPage;
use super::policy::PAGES_OF_FLOATS_HAVE_EXACT_BOUNDS;
use crate::support::{Score, Scratch, committed_sample, convert, ensure, output_path};

/// Every bit of a small file is changed in turn. Only texts that explain, pages without a checksum and
/// bounds that may be wide can change unnoticed.
#[test]
fn a_changed_bit_is_noticed() {
    let scratch = Scratch::new();
    convert(&committed_sample(), &scratch.out(), &[]).well();
    let path = scratch.out().join(output_path("machine_events", 0, 1));
    let mut file = std::fs::read(path).unwrap();
    assert_eq!(findings(&file), Vec::<String>::new());
    let free = [texts(&file), unguarded_pages(&file), wide_bounds(&file)].concat();
    let mut score = Score::new("changed bits of a file");
    for at in 0..file.len() {
        if free.iter().any(|range| range.contains(&at)) {
            continue;
        }
        for bit in 0..8 {
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

/// The pages without a checksum, without their headers.
fn unguarded_pages(file: &[u8]) -> Vec<Range<usize>> {
    with_chunks(file, |chunks| {
        let pages = chunks.iter().flat_map(|chunk| chunk.stored().unwrap());
        let unguarded = pages.filter(|page| !page.has_checksum());
        let body = |page: StoredPage| page.range.start + page.header_bytes..page.range.end;
        unguarded.map(body).collect()
    })
}

/// Where the page bounds of floats are, as long as they may be wide.
fn wide_bounds(file: &[u8]) -> Vec<Range<usize>> {
    if PAGES_OF_FLOATS_HAVE_EXACT_BOUNDS {
        return Vec::new();
    }
    let floats = |chunks: &[Chunk<'_>]| {
        let indexes = chunks[CPUS..]
            .iter()
            .map(|chunk| chunk.ranges.column_index.clone());
        indexes.flatten().collect()
    };
    with_chunks(file, floats)
}
