//! A good file, and ways to make one thing in it wrong.

use std::fmt::Write;

use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, FileMetaData, PageIndexPolicy,
    ParquetMetaDataBuilder, RowGroupMetaData,
};

use super::chunk::Chunk;
use super::page::{Field, write_integer};
use super::schema::{Leaf, leaves};
use super::seen::Seen;
use super::{TRAILER, check, metadata, with_metadata};
use tracelake_testkit::{Scratch, ensure, output_path};

/// Columns of the file that is made wrong; [`file`] says what they have. The last ones are floats.
pub(super) const TIME: usize = 0;
pub(super) const MACHINE: usize = 1;
pub(super) const PLATFORM: usize = 3;
pub(super) const CPUS: usize = 4;

/// A good file: a PLAIN column of two pages that ascend, an id with a dictionary and a bloom filter, texts
/// and NULLs, floats.
pub(super) fn file() -> Vec<u8> {
    let mut rows = String::new();
    for at in 0..70_000 {
        let platform = ["", "a", "b"][at % 3];
        let cpus = at % 7;
        writeln!(rows, "{},{},0,{platform},0.{cpus},0.5", at * 37, at % 100).unwrap();
    }
    let scratch = Scratch::new();
    scratch.only("machine_events", rows.as_bytes());
    scratch.convert_well(&["--allow-missing"]);
    std::fs::read(scratch.out().join(output_path("machine_events", 0, 1))).unwrap()
}

/// The findings of a file.
pub(super) fn findings(file: &[u8]) -> Vec<String> {
    let mut seen = Seen::default();
    check(file, &mut seen);
    seen.findings
}

/// Expects a finding that contains a text.
pub(super) fn finds(file: &[u8], expected: &str) -> Result<(), String> {
    let found = findings(file);
    let is_there = found.iter().any(|finding| finding.contains(expected));
    ensure(is_there, || format!("{expected:?} is not in {found:?}"))
}

/// A head of a field, and an integer.
pub(super) fn integer(head: u8, number: i64) -> Vec<u8> {
    let mut out = vec![head];
    write_integer(number, &mut out);
    out
}

/// Where the footer begins.
pub(super) fn footer_start(file: &[u8]) -> usize {
    let end = file.len() - TRAILER;
    let length = file[end..].first_chunk().unwrap();
    end - u32::from_le_bytes(*length) as usize
}

/// The file with other bytes in place of the first such ones from `start`, and the length of the footer that it has
/// then.
pub(super) fn with_bytes(file: &[u8], start: usize, old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut windows = file[start..].windows(old.len());
    let at = start + windows.position(|window| window == old).unwrap();
    let mut out = [&file[..at], new, &file[at + old.len()..]].concat();
    let end = out.len() - TRAILER;
    let length = u32::try_from(end - footer_start(file)).unwrap();
    out[end..end + 4].copy_from_slice(&length.to_le_bytes());
    out
}

/// The file with another footer; the page index stays.
pub(super) fn with_footer(
    file: &[u8],
    edit: impl FnOnce(&FileMetaData) -> FileMetaData,
    edit_group: impl FnOnce(RowGroupMetaData) -> RowGroupMetaData,
) -> Vec<u8> {
    let found = metadata(file, PageIndexPolicy::Skip).unwrap();
    let group = edit_group(found.row_group(0).clone());
    let changed = ParquetMetaDataBuilder::new(edit(found.file_metadata())).add_row_group(group);
    with_metadata(&file[..footer_start(file)], &changed.build()).unwrap()
}

/// A change of the metadata of a column chunk.
pub(super) type Edit =
    fn(&ColumnChunkMetaData, ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder;

/// The file with other metadata of a column chunk.
pub(super) fn with_chunk(file: &[u8], column: usize, edit: Edit) -> Vec<u8> {
    with_footer(file, FileMetaData::clone, |mut group| {
        let chunk = &mut group.columns_mut()[column];
        *chunk = edit(chunk, chunk.clone().into_builder()).build().unwrap();
        group
    })
}

/// The file with another number in the header of a page of a column.
pub(super) fn with_header(
    file: &[u8],
    (column, page): (usize, usize),
    field: Field,
    more: i64,
) -> Vec<u8> {
    let page = with_chunks(file, |chunks| chunks[column].stored().unwrap().remove(page));
    let mut header = page.header.clone();
    *header.0.get_mut(&field).unwrap() += more;
    with_bytes(
        file,
        page.range.start,
        &page.header.write(),
        &header.write(),
    )
}

/// Calls `use_chunks` with the column chunks of the first row group.
pub(super) fn with_chunks<T>(file: &[u8], use_chunks: impl FnOnce(&[Chunk<'_>]) -> T) -> T {
    let said = metadata(file, PageIndexPolicy::Optional).unwrap();
    let leaves: Vec<Leaf> = leaves(said.file_metadata().schema()).unwrap();
    let chunk = |(column, leaf)| Chunk::new(file, &said, (0, column), leaf).unwrap();
    let chunks: Vec<Chunk<'_>> = leaves.iter().enumerate().map(chunk).collect();
    use_chunks(&chunks)
}
