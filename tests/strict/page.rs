//! Pages: header, checksum, compression, levels and values.

use std::collections::BTreeMap;
use std::ops::Range;

use parquet::basic::{Compression, Encoding, PageType, Type as Physical};

use super::encoding::{self, boolean, hybrid, hybrid_with_length, plain, take, varint};
use super::schema::{Leaf, check_value};
use super::{Result, signed};

/// The largest page, without compression.
const MOST_BYTES: usize = 128 << 20;

const PLAIN: i64 = Encoding::PLAIN as i64;
const PLAIN_DICTIONARY: i64 = Encoding::PLAIN_DICTIONARY as i64;
const RLE: i64 = Encoding::RLE as i64;
const RLE_DICTIONARY: i64 = Encoding::RLE_DICTIONARY as i64;

/// A field of a page header, with the number that parquet.thrift gives it. Both parts that a header may have, for a
/// data page and for a dictionary, begin with the same two fields.
pub(super) type Field = (u8, u8);

pub(super) const TYPE: Field = (0, 1);
pub(super) const UNCOMPRESSED: Field = (0, 2);
pub(super) const COMPRESSED: Field = (0, 3);
pub(super) const CRC: Field = (0, 4);
/// Whether the header is one of a data page (5) or of a dictionary (7).
const PART: Field = (0, 5);
pub(super) const VALUES: Field = (1, 1);
pub(super) const ENCODING: Field = (1, 2);
/// Of a data page, the encoding of definition levels; of a dictionary, whether it is sorted.
pub(super) const THIRD: Field = (1, 3);
const REPETITION_LEVELS: Field = (1, 4);

/// The numbers of a page header by their fields. Other fields, such as statistics or those of pages V2, are refused.
#[derive(Debug, Clone)]
pub(super) struct Header(pub(super) BTreeMap<Field, i64>);

impl Header {
    /// Reads the header at the beginning of `bytes`; returns it and its length.
    fn read(bytes: &[u8]) -> Result<(Self, usize)> {
        let mut rest = bytes;
        let (mut header, mut depth, mut id) = (Self(BTreeMap::new()), 0, 0);
        loop {
            let head = take(&mut rest, 1)?[0];
            if head == 0 && depth == 0 {
                break;
            }
            if head == 0 {
                (depth, id) = (0, 7);
                continue;
            }
            id += head >> 4;
            let is_dictionary = header.get(PART) == Some(7);
            let field = (depth, id);
            let (key, number) = match (field, head & 15) {
                ((0, 5 | 7), 12) => {
                    (depth, id) = (1, 0);
                    (PART, field.1.into())
                }
                ((0, 1..=4) | VALUES | ENCODING, 5) => (field, integer(&mut rest)?),
                (THIRD | REPETITION_LEVELS, 5) if !is_dictionary => (field, integer(&mut rest)?),
                (THIRD, kind @ 1..=2) if is_dictionary => (field, i64::from(kind == 1)),
                (_, kind) => return Err(format!("a page header has {field:?} of type {kind}")),
            };
            header.0.insert(key, number);
        }
        let length = bytes.len() - rest.len();
        if header.write() != bytes[..length] {
            return Err("a page header is not spelled as usual".to_owned());
        }
        Ok((header, length))
    }

    /// The bytes of a header.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut before = 0;
        let is_dictionary = self.get(PART) == Some(7);
        for (&(depth, id), &number) in &self.0 {
            if (depth, id) == PART {
                let id = u8::try_from(number).expect("it is a number of a field");
                out.push((id - before) << 4 | 12);
                before = 0;
            } else if (depth, id) == THIRD && is_dictionary {
                out.push((id - before) << 4 | if number == 1 { 1 } else { 2 });
                before = id;
            } else {
                out.push((id - before) << 4 | 5);
                write_integer(number, &mut out);
                before = id;
            }
        }
        out.extend([0, 0]);
        out
    }

    pub(super) fn get(&self, field: Field) -> Option<i64> {
        self.0.get(&field).copied()
    }

    /// The number of a field; -1 if it is absent.
    pub(super) fn number(&self, field: Field) -> i64 {
        self.get(field).unwrap_or(-1)
    }
}

/// Appends an integer.
pub(super) fn write_integer(number: i64, out: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// Reads an integer of 32 bits.
fn integer(bytes: &mut &[u8]) -> Result<i64> {
    let number = varint(bytes)?;
    let number = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
    let in_range = i32::try_from(number).is_ok();
    if in_range {
        Ok(number)
    } else {
        Err(format!("{number} is too large for its type"))
    }
}

/// A page as the file has it, without its compression.
pub(super) struct StoredPage {
    pub(super) header: Header,
    /// The bytes of the file that it takes, with its header.
    pub(super) range: Range<usize>,
    header_bytes: usize,
    body: Vec<u8>,
}

/// The pages in a range of a file, one after the other.
pub(super) fn stored(
    file: &[u8],
    range: Range<usize>,
    codec: Compression,
) -> Result<Vec<StoredPage>> {
    let mut pages = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let page = StoredPage::read(file, at..range.end, codec);
        let page = page.map_err(|error| format!("page {}: {error}", pages.len()))?;
        at = page.range.end;
        pages.push(page);
    }
    Ok(pages)
}

impl StoredPage {
    /// Reads the page at the start of a range of a file.
    fn read(file: &[u8], within: Range<usize>, codec: Compression) -> Result<Self> {
        let bytes = file.get(within.clone()).ok_or("outside of the file")?;
        let (header, header_bytes) = Header::read(bytes)?;
        check_type(&header)?;
        let size = |field| {
            let size = usize::try_from(header.number(field)).ok();
            let size = size.filter(|&size| size <= MOST_BYTES);
            size.ok_or_else(|| format!("the size {field:?} is {:?}", header.get(field)))
        };
        let stored = bytes[header_bytes..].get(..size(COMPRESSED)?);
        let stored = stored.ok_or("longer than its column chunk")?;
        check_checksum(&header, stored)?;
        let uncompressed = size(UNCOMPRESSED)?;
        let body = decompress(stored, uncompressed, codec)?;
        if body.len() != uncompressed {
            return Err(format!("{} bytes instead of {uncompressed}", body.len()));
        }
        let end = within.start + header_bytes + stored.len();
        Ok(Self {
            range: within.start..end,
            header,
            header_bytes,
            body,
        })
    }

    /// Its size without compression, with its header.
    pub(super) fn uncompressed(&self) -> usize {
        self.header_bytes + self.body.len()
    }

    /// Whether its header has a checksum.
    pub(super) fn has_checksum(&self) -> bool {
        self.header.get(CRC).is_some()
    }

    /// The encodings that its header names.
    pub(super) fn encodings(&self) -> Vec<i64> {
        let all = [ENCODING, THIRD, REPETITION_LEVELS].map(|field| self.header.number(field));
        all[..if self.is_dictionary() { 1 } else { 3 }].to_vec()
    }

    /// Whether it has a dictionary and no rows.
    pub(super) fn is_dictionary(&self) -> bool {
        self.header.get(TYPE) == Some(PageType::DICTIONARY_PAGE as i64)
    }
}

/// Checks that the header of a page has the part that its type asks for, and all of its fields.
fn check_type(header: &Header) -> Result<()> {
    let (kind, part) = (header.number(TYPE), header.number(PART));
    let is_data = (kind, part) == (PageType::DATA_PAGE as i64, 5);
    if !is_data && (kind, part) != (PageType::DICTIONARY_PAGE as i64, 7) {
        return Err(format!("a page of type {kind} with another's header"));
    }
    let levels = [THIRD, REPETITION_LEVELS];
    let needed = [VALUES, ENCODING]
        .into_iter()
        .chain(levels.into_iter().filter(|_| is_data));
    for field in needed {
        header.get(field).ok_or("a page header lacks a field")?;
    }
    Ok(())
}

/// Compares the stored bytes of a page with the checksum in its header, if there is one.
pub(super) fn check_checksum(header: &Header, stored: &[u8]) -> Result<()> {
    let real = i64::from(crc32fast::hash(stored).cast_signed());
    match header.get(CRC) {
        Some(said) if said != real => Err(format!("its CRC is {real}, its header says {said}")),
        _ => Ok(()),
    }
}

fn decompress(stored: &[u8], uncompressed: usize, codec: Compression) -> Result<Vec<u8>> {
    match codec {
        Compression::UNCOMPRESSED => Ok(stored.to_vec()),
        Compression::SNAPPY => {
            let said = snap::raw::decompress_len(stored).map_err(|error| error.to_string())?;
            if said != uncompressed {
                return Err(format!("snappy has {said} bytes instead of {uncompressed}"));
            }
            let mut decoder = snap::raw::Decoder::new();
            decoder
                .decompress_vec(stored)
                .map_err(|error| error.to_string())
        }
        Compression::ZSTD(_) => {
            zstd::bulk::decompress(stored, uncompressed).map_err(|error| error.to_string())
        }
        other => Err(format!("codec {other:?}")),
    }
}

/// The values of a dictionary page, each of them once.
pub(super) fn dictionary<'p>(page: &'p StoredPage, leaf: &Leaf) -> Result<Vec<&'p [u8]>> {
    let encoding = page.header.number(ENCODING);
    if ![PLAIN, PLAIN_DICTIONARY].contains(&encoding) {
        return Err(format!("a dictionary in the encoding {encoding}"));
    }
    let values = plain(&page.body, leaf.physical, count(&page.header)?)?;
    for value in &values {
        check_value(leaf.physical, value)?;
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a value is in the dictionary twice".to_owned());
    }
    if page.header.get(THIRD) == Some(1) {
        return Err("the dictionary claims to be sorted".to_owned());
    }
    Ok(values)
}

fn count(header: &Header) -> Result<usize> {
    let count = usize::try_from(header.number(VALUES)).ok();
    // More values than this would not fit in a row group.
    let count = count.filter(|&count| count <= MOST_BYTES);
    count.ok_or_else(|| "a page with an impossible number of values".to_owned())
}

/// A data page, decoded.
pub(super) struct DataPage<'p> {
    /// Values, NULLs and empty lists.
    pub(super) count: usize,
    /// Empty if the column is in no list.
    pub(super) repetition_levels: Vec<u32>,
    /// Empty if the column is required.
    pub(super) definition_levels: Vec<u32>,
    /// Without NULLs.
    pub(super) values: Vec<&'p [u8]>,
    /// The most indices in a bit-packed run; 0 if there are none.
    pub(super) longest_packed: usize,
}

impl<'p> DataPage<'p> {
    /// Decodes a page of a column chunk that has this dictionary.
    pub(super) fn decode(
        page: &'p StoredPage,
        leaf: &Leaf,
        dictionary: Option<&[&'p [u8]]>,
    ) -> Result<Self> {
        let count = count(&page.header)?;
        let mut body = &page.body[..];
        for (name, field) in [("definition", THIRD), ("repetition", REPETITION_LEVELS)] {
            let encoding = page.header.number(field);
            if encoding != RLE {
                return Err(format!("{name}_level_encoding is {encoding}"));
            }
        }
        let mut levels = |most: u32| match most {
            0 => Ok(Vec::new()),
            most => hybrid_with_length(&mut body, encoding::width(most as usize + 1), count),
        };
        let repetition_levels = levels(leaf.max_repetition)?;
        let definition_levels = levels(leaf.max_definition)?;
        check_levels(&repetition_levels, &definition_levels, leaf)?;
        let values = match leaf.max_definition {
            0 => count,
            most => definition_levels
                .iter()
                .filter(|&&level| level == most)
                .count(),
        };
        let mut longest_packed = 0;
        let values = match (page.header.number(ENCODING), leaf.physical) {
            (PLAIN, physical) => {
                let values = plain(body, physical, values)?;
                values
                    .iter()
                    .try_for_each(|value| check_value(physical, value))?;
                values
            }
            (RLE, Physical::BOOLEAN) => {
                let bits = hybrid_with_length(&mut body, 1, values)?;
                if !body.is_empty() {
                    return Err("bytes after the last boolean".to_owned());
                }
                bits.into_iter().map(|bit| boolean(bit != 0)).collect()
            }
            (PLAIN_DICTIONARY | RLE_DICTIONARY, _) => {
                let dictionary = dictionary.ok_or("indices without a dictionary")?;
                let (&width, body) = body.split_first().ok_or("indices without a width")?;
                let most = encoding::width(dictionary.len()).next_multiple_of(8);
                if width > most {
                    return Err(format!("{width} bits for {} values", dictionary.len()));
                }
                let indices = hybrid(body, width, values)?;
                longest_packed = indices.longest_packed;
                let value = |index: u32| dictionary.get(index as usize).copied();
                let values: Option<_> = indices.values.into_iter().map(value).collect();
                values.ok_or_else(|| format!("an index beyond {} values", dictionary.len()))?
            }
            other => return Err(format!("the encoding {other:?}")),
        };
        Ok(Self {
            count,
            repetition_levels,
            definition_levels,
            values,
            longest_packed,
        })
    }

    /// NULLs and empty lists.
    pub(super) fn nulls(&self) -> usize {
        self.count - self.values.len()
    }

    /// The bytes of its values, without the lengths of texts.
    pub(super) fn value_bytes(&self) -> usize {
        self.values.iter().map(|value| value.len()).sum()
    }

    /// How often each repetition level and each definition level occurs.
    pub(super) fn histograms(&self, leaf: &Leaf) -> Vec<Vec<i64>> {
        let histogram = |levels: &[u32], most: u32| match most {
            0 => vec![signed(self.count)],
            most => (0..=most).map(|level| times(levels, level)).collect(),
        };
        vec![
            histogram(&self.repetition_levels, leaf.max_repetition),
            histogram(&self.definition_levels, leaf.max_definition),
        ]
    }

    /// Rows that begin in this page.
    pub(super) fn rows(&self) -> usize {
        match self.repetition_levels.len() {
            0 => self.count,
            _ => self
                .repetition_levels
                .iter()
                .filter(|&&level| level == 0)
                .count(),
        }
    }
}

fn times(levels: &[u32], level: u32) -> i64 {
    signed(levels.iter().filter(|&&found| found == level).count())
}

/// A page begins with a row, no level is too high, and an element of a list is in a list that isn't
/// empty.
fn check_levels(repetition: &[u32], definition: &[u32], leaf: &Leaf) -> Result<()> {
    if definition.iter().any(|&level| level > leaf.max_definition) {
        return Err("a definition level is too high".to_owned());
    }
    if repetition.first().is_some_and(|&level| level != 0) {
        return Err("a page begins within a row".to_owned());
    }
    for (&repetition, &definition) in repetition.iter().zip(definition) {
        let Some(list) = (repetition as usize).checked_sub(1) else {
            continue;
        };
        let least = leaf.element_levels.get(list);
        let least = least.ok_or("a repetition level is too high")?;
        if definition < *least {
            return Err("an element of a list that is empty".to_owned());
        }
    }
    Ok(())
}

#[test]
fn wrong_levels_are_refused() {
    // A list in a list, both optional.
    let leaf = Leaf {
        path: Vec::new(),
        physical: Physical::INT32,
        max_repetition: 2,
        max_definition: 4,
        element_levels: vec![2, 4],
    };
    assert_eq!(check_levels(&[0, 2, 1, 0], &[4, 4, 3, 0], &leaf), Ok(()));
    for (repetition, definition) in [
        (&[1, 0], &[4, 4]),
        (&[0, 0], &[4, 5]),
        (&[0, 3], &[4, 4]),
        (&[0, 2], &[4, 3]),
        (&[0, 1], &[4, 1]),
    ] {
        assert!(check_levels(repetition, definition, &leaf).is_err());
    }
}
