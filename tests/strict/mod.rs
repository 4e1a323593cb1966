//! A strict checker of our Parquet files, which shares no code with what writes them: every byte of a
//! file has a purpose, every page is decoded, and everything that the file says about its pages is
//! compared with them.
//!
//! The Parquet crate reads what a file says, and writes it again: that must give the same bytes, so the file has no
//! field and no spelling that the crate's reader skips. Headers of pages, levels and values are read here. Otherwise,
//! only compression, CRC-32 and XXH64 are libraries. The rules are those of the format's documents; where the format
//! leaves a choice, they are ours (pages V1, few encodings, order by type).

mod bloom;
mod bounds;
mod changed_bits;
mod chunk;
mod edit;
mod encoding;
mod page;
mod page_index;
mod refused;
mod schema;
mod seen;
mod sorting;
mod written;

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::basic::ColumnOrder;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::writer::TrackedWrite;

use self::chunk::Chunk;
use self::schema::Leaf;
use self::seen::Seen;

type Result<T> = std::result::Result<T, String>;

const MAGIC: &[u8; 4] = b"PAR1";

/// The length of the footer, and the magic number.
const TRAILER: usize = 8;

/// The most rows of a row group, unless more are asked for.
const ROW_GROUP_ROWS: i64 = 1 << 19;

/// The most bytes of a row group, without compression.
const ROW_GROUP_BYTES: i64 = 128 << 20;

/// Checks a file; what is wrong is added to the findings of `seen`.
fn check(file: &[u8], seen: &mut Seen) {
    seen.files += 1;
    if let Err(error) = check_file(file, seen) {
        seen.findings.push(error);
    }
}

/// The metadata of a file as the Parquet crate reads it, with the page index or without.
fn metadata(file: &[u8], index: PageIndexPolicy) -> Result<ParquetMetaData> {
    let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let reader = ParquetMetaDataReader::new()
        .with_metadata_options(Some(options))
        .with_page_index_policy(index);
    let file = Bytes::copy_from_slice(file);
    // A wrong file may make the crate panic.
    let read = catch_unwind(AssertUnwindSafe(|| reader.parse_and_finish(&file)));
    let read = read.map_err(|_| "the metadata: the crate panics")?;
    read.map_err(|error| format!("the metadata: {error}"))
}

/// The beginning of a file, followed by this metadata as the Parquet crate writes it.
fn with_metadata(start: &[u8], metadata: &ParquetMetaData) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut out = TrackedWrite::new(&mut file);
    out.write_all(start).map_err(|error| error.to_string())?;
    let writer = ParquetMetaDataWriter::new_with_tracked(out, metadata);
    writer.finish().map_err(|error| error.to_string())?;
    // The crate says of floats that they are in the total order of IEEE 754, our files that they are in that of their
    // type. The orders are last: each a field that is an empty struct, whose end and that of its union follow.
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let orders = file.len() - TRAILER - 1 - 3 * columns;
    for column in 0..columns {
        file[orders + 3 * column] = 0x1c;
    }
    Ok(file)
}

fn check_file(file: &[u8], seen: &mut Seen) -> Result<()> {
    if !file.starts_with(MAGIC) {
        return Err("no magic at the start".to_owned());
    }
    let said = metadata(file, PageIndexPolicy::Optional)?;
    let footer = said.file_metadata();
    let leaves = schema::leaves(footer.schema())?;
    seen.expect("footer", "version", footer.version(), 1);
    let is_named = footer.created_by().is_some_and(|name| !name.is_empty());
    seen.ensure("footer", is_named, "created_by is empty");
    let mut keys = BTreeSet::new();
    for pair in footer.key_value_metadata().into_iter().flatten() {
        let is_first = keys.insert(&pair.key);
        seen.ensure("footer", is_first, &format!("a second key {}", pair.key));
        seen.ensure("footer", pair.value.is_some(), "a key without a value");
    }
    for (column, leaf) in leaves.iter().enumerate() {
        let order = footer.column_order(column);
        let is_right = matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_));
        seen.ensure(&leaf.path.join("."), is_right, &format!("{order:?}"));
    }
    let mut rows = 0;
    let magic = 0..MAGIC.len();
    let mut ranges = vec![magic];
    for ordinal in 0..said.num_row_groups() {
        let place = format!("row group {ordinal}");
        let chunks = check_row_group(file, &said, ordinal, &leaves, &place, seen)?;
        rows += said.row_group(ordinal).num_rows();
        seen.row_groups += 1;
        let filters = chunks.iter().filter_map(|chunk| chunk.bloom_filter.clone());
        ranges.extend(chunks.iter().map(|chunk| chunk.pages.clone()));
        ranges.extend(filters);
    }
    seen.expect("footer", "num_rows", footer.num_rows(), rows);
    seen.empty_files += usize::from(rows == 0);
    check_cover(&ranges)?;
    let end = ranges.last().map_or(0, |range| range.end);
    let written = with_metadata(&file[..end], &said)?;
    let mut pairs = written.iter().zip(file);
    let same = pairs.position(|(written, said)| written != said);
    let same = same.or((written.len() != file.len()).then_some(written.len().min(file.len())));
    if let Some(at) = same {
        let from_end = file.len() - at;
        return Err(format!(
            "the metadata is written otherwise {from_end} bytes from the end"
        ));
    }
    Ok(())
}

/// Checks that each range begins where the one before ends.
fn check_cover(ranges: &[Range<usize>]) -> Result<()> {
    let torn = ranges.windows(2).find(|pair| pair[0].end != pair[1].start);
    torn.map_or(Ok(()), |pair| {
        Err(format!("{:?} comes before {:?}", pair[0], pair[1]))
    })
}

fn check_row_group<'f>(
    file: &'f [u8],
    said: &'f ParquetMetaData,
    ordinal: usize,
    leaves: &'f [Leaf],
    place: &str,
    seen: &mut Seen,
) -> Result<Vec<Chunk<'f>>> {
    let group = said.row_group(ordinal);
    let own = i32::try_from(ordinal).ok();
    seen.expect(place, "ordinal", group.ordinal(), own);
    let rows = group.num_rows();
    let in_range = (1..=ROW_GROUP_ROWS).contains(&rows);
    seen.ensure(place, in_range, &format!("{rows} rows"));
    let mut chunks = Vec::new();
    for (column, leaf) in leaves.iter().enumerate() {
        let place = format!("{place}, {}", leaf.path.join("."));
        let wrong = |error| format!("{place}: {error}");
        let chunk = Chunk::new(file, said, (ordinal, column), leaf).map_err(wrong)?;
        let real = chunk.check(seen, &place).map_err(wrong)?;
        seen.expect(&place, "num_rows", rows, real);
        chunks.push(chunk);
    }
    let sizes = group.columns().iter();
    let uncompressed = sizes.map(ColumnChunkMetaData::uncompressed_size).sum();
    let bytes = group.total_byte_size();
    seen.expect(place, "total_byte_size", bytes, uncompressed);
    let is_small = uncompressed <= ROW_GROUP_BYTES;
    seen.ensure(place, is_small, &format!("{uncompressed} bytes"));
    let start = chunks.first().map(|chunk| signed(chunk.pages.start));
    seen.expect(place, "file_offset", group.file_offset(), start);
    let keys = group.sorting_columns().map_or(&[][..], Vec::as_slice);
    sorting::check(keys, &chunks, leaves).map_err(|error| format!("{place}: {error}"))?;
    Ok(chunks)
}

/// A count of bytes, rows or values as footers have it.
fn signed(number: usize) -> i64 {
    i64::try_from(number).expect("it is in memory")
}
