//! A strict checker of our Parquet files, which shares no code with what writes them: every byte of a
//! file has a purpose, every page is decoded, and everything that the file says about its pages is
//! compared with them.
//!
//! Only compression, CRC-32 and XXH64 are libraries. The rules are those of the format's documents; where
//! the format leaves a choice, they are ours (pages V1, few encodings, order by type).

mod bloom;
mod bounds;
mod changed_bits;
mod chunk;
mod edit;
mod encoding;
mod format;
mod lakes;
mod page;
mod page_index;
mod refused;
mod schema;
mod seen;
mod sorting;
mod thrift;

use std::ops::Range;

use self::chunk::Chunk;
use self::format::FILE_META_DATA;
use self::schema::Leaf;
use self::seen::Seen;
use self::thrift::Struct;

type Result<T> = std::result::Result<T, String>;

const MAGIC: &[u8; 4] = b"PAR1";

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

/// The footer of a file, and where it begins.
fn footer(file: &[u8]) -> Result<(Struct, usize)> {
    let body = file.strip_prefix(MAGIC).ok_or("no magic at the start")?;
    let body = body.strip_suffix(MAGIC).ok_or("no magic at the end")?;
    let (body, length) = body.split_last_chunk::<4>().ok_or("no footer")?;
    let length = u32::from_le_bytes(*length) as usize;
    let start = body
        .len()
        .checked_sub(length)
        .ok_or("the footer is too long")?;
    let (footer, read) = thrift::read(&body[start..], &FILE_META_DATA)?;
    if read != length {
        return Err(format!("the footer has {read} of {length} bytes"));
    }
    Ok((footer, MAGIC.len() + start))
}

fn check_file(file: &[u8], seen: &mut Seen) -> Result<()> {
    let (footer, footer_start) = footer(file)?;
    let leaves = schema::leaves(&footer)?;
    seen.expect("footer", "version", footer.integer("version"), Some(1));
    let is_named = !footer.text("created_by").is_empty();
    seen.ensure("footer", is_named, "created_by is empty");
    let keys: Vec<String> = footer
        .structs("key_value_metadata")
        .iter()
        .map(|pair| pair.text("key"))
        .collect();
    for (at, key) in keys.iter().enumerate() {
        let is_first = !keys[..at].contains(key);
        seen.ensure("footer", is_first, &format!("a second key {key}"));
    }
    let orders = footer.structs("column_orders");
    seen.expect("footer", "column_orders", orders.len(), leaves.len());
    for (order, leaf) in orders.into_iter().zip(&leaves) {
        let is_right = order.variant() == "TYPE_ORDER";
        seen.ensure(&leaf.path.join("."), is_right, order.variant());
        *seen.orders.entry(order.variant()).or_default() += 1;
    }
    let mut rows = 0;
    let magic = 0..MAGIC.len();
    let mut ranges = vec![magic];
    let (mut column_indexes, mut offset_indexes) = (Vec::new(), Vec::new());
    for (ordinal, group) in footer.structs("row_groups").into_iter().enumerate() {
        let place = format!("row group {ordinal}");
        seen.expect(
            &place,
            "ordinal",
            group.integer("ordinal"),
            Some(signed(ordinal)),
        );
        let chunks = check_row_group(file, group, &leaves, &place, seen)?;
        rows += group.integer("num_rows").unwrap_or(0);
        seen.row_groups += 1;
        ranges.extend(chunks.iter().map(|chunk| chunk.ranges.pages.clone()));
        ranges.extend(
            chunks
                .iter()
                .filter_map(|chunk| chunk.ranges.bloom_filter.clone()),
        );
        column_indexes.extend(
            chunks
                .iter()
                .filter_map(|chunk| chunk.ranges.column_index.clone()),
        );
        offset_indexes.extend(chunks.iter().map(|chunk| chunk.ranges.offset_index.clone()));
    }
    seen.expect("footer", "num_rows", footer.integer("num_rows"), Some(rows));
    seen.empty_files += usize::from(rows == 0);
    ranges.extend(column_indexes);
    ranges.extend(offset_indexes);
    ranges.push(footer_start..file.len());
    check_cover(&ranges)
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
    group: &'f Struct,
    leaves: &'f [Leaf],
    place: &str,
    seen: &mut Seen,
) -> Result<Vec<Chunk<'f>>> {
    let columns = group.structs("columns");
    if columns.len() != leaves.len() {
        return Err(format!(
            "{place}: {} columns of {}",
            columns.len(),
            leaves.len()
        ));
    }
    let rows = group.integer("num_rows");
    let in_range = rows.is_some_and(|rows| (1..=ROW_GROUP_ROWS).contains(&rows));
    seen.ensure(place, in_range, &format!("{rows:?} rows"));
    let mut chunks = Vec::new();
    for (said, leaf) in columns.iter().zip(leaves) {
        let place = format!("{place}, {}", leaf.path.join("."));
        let wrong = |error| format!("{place}: {error}");
        let chunk = Chunk::new(file, said, leaf).map_err(wrong)?;
        let real = chunk.check(seen, &place).map_err(wrong)?;
        seen.expect(&place, "num_rows", rows, Some(real));
        chunks.push(chunk);
    }
    let sum = |name: &str| {
        let sizes = columns
            .iter()
            .filter_map(|said| said.structure("meta_data")?.integer(name));
        Some(sizes.sum())
    };
    let uncompressed = sum("total_uncompressed_size");
    seen.expect(
        place,
        "total_byte_size",
        group.integer("total_byte_size"),
        uncompressed,
    );
    let is_small = uncompressed <= Some(ROW_GROUP_BYTES);
    seen.ensure(place, is_small, &format!("{uncompressed:?} bytes"));
    let said = group.integer("total_compressed_size");
    seen.expect(
        place,
        "total_compressed_size",
        said,
        sum("total_compressed_size"),
    );
    let start = chunks.first().map(|chunk| signed(chunk.ranges.pages.start));
    seen.expect(place, "file_offset", group.integer("file_offset"), start);
    sorting::check(group, &chunks, leaves).map_err(|error| format!("{place}: {error}"))?;
    Ok(chunks)
}

/// A count of bytes, rows or values as footers have it.
fn signed(number: usize) -> i64 {
    i64::try_from(number).expect("it is in memory")
}
