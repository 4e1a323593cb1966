//! Pages: header, checksum, compression, levels and values.

use std::ops::Range;

use super::encoding::{self, boolean, hybrid, hybrid_with_length, plain};
use super::format::{
    DATA_PAGE, DICTIONARY_PAGE, PAGE_HEADER, PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY,
};
use super::schema::{Leaf, Physical};
use super::thrift::{self, Struct};
use super::{Result, signed};

/// The largest page, without compression.
const MOST_BYTES: usize = 128 << 20;

/// A page as the file has it, without its compression.
pub(super) struct StoredPage {
    pub(super) header: Struct,
    /// The bytes of the file that it takes, with its header.
    pub(super) range: Range<usize>,
    /// Of the header.
    pub(super) header_bytes: usize,
    body: Vec<u8>,
}

/// The pages in a range of a file, one after the other.
pub(super) fn stored(file: &[u8], range: Range<usize>, codec: i64) -> Result<Vec<StoredPage>> {
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
    fn read(file: &[u8], within: Range<usize>, codec: i64) -> Result<Self> {
        let bytes = file.get(within.clone()).ok_or("outside of the file")?;
        let (header, header_bytes) = thrift::read(bytes, &PAGE_HEADER)?;
        check_type(&header)?;
        let size = |name| {
            let size = usize::try_from(header.integer(name).unwrap_or(-1)).ok();
            let size = size.filter(|&size| size <= MOST_BYTES);
            size.ok_or_else(|| format!("{name} is {:?}", header.integer(name)))
        };
        let stored = bytes[header_bytes..].get(..size("compressed_page_size")?);
        let stored = stored.ok_or("longer than its column chunk")?;
        check_checksum(&header, stored)?;
        let uncompressed = size("uncompressed_page_size")?;
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
        self.header.integer("crc").is_some()
    }

    /// The encodings that its header names; that of the values is the first one.
    pub(super) fn encodings(&self) -> Vec<i64> {
        if let Some(header) = self.dictionary_header() {
            return header.integer("encoding").into_iter().collect();
        }
        let header = self.header.structure("data_page_header").into_iter();
        let names = [
            "encoding",
            "definition_level_encoding",
            "repetition_level_encoding",
        ];
        let encodings = header.flat_map(|header| names.map(|name| header.integer(name)));
        encodings.flatten().collect()
    }

    /// The header of a dictionary page, if it is one.
    pub(super) fn dictionary_header(&self) -> Option<&Struct> {
        self.header.structure("dictionary_page_header")
    }
}

/// Checks that the header of a page has the part that its type asks for, and no other.
fn check_type(header: &Struct) -> Result<()> {
    let data = header.structure("data_page_header");
    let dictionary = header.structure("dictionary_page_header");
    match (header.integer("type"), data, dictionary) {
        (Some(DATA_PAGE), Some(_), None) | (Some(DICTIONARY_PAGE), None, Some(_)) => Ok(()),
        (other, ..) => Err(format!("a page of type {other:?} with another's header")),
    }
}

/// Compares the stored bytes of a page with the checksum in its header, if there is one.
pub(super) fn check_checksum(header: &Struct, stored: &[u8]) -> Result<()> {
    let real = i64::from(crc32fast::hash(stored).cast_signed());
    match header.integer("crc") {
        Some(said) if said != real => Err(format!("its CRC is {real}, its header says {said}")),
        _ => Ok(()),
    }
}

fn decompress(stored: &[u8], uncompressed: usize, codec: i64) -> Result<Vec<u8>> {
    match codec {
        0 => Ok(stored.to_vec()),
        1 => {
            let said = snap::raw::decompress_len(stored).map_err(|error| error.to_string())?;
            if said != uncompressed {
                return Err(format!("snappy has {said} bytes instead of {uncompressed}"));
            }
            let mut decoder = snap::raw::Decoder::new();
            decoder
                .decompress_vec(stored)
                .map_err(|error| error.to_string())
        }
        6 => zstd::bulk::decompress(stored, uncompressed).map_err(|error| error.to_string()),
        other => Err(format!("codec {other}")),
    }
}

/// The values of a dictionary page, each of them once.
pub(super) fn dictionary<'p>(page: &'p StoredPage, leaf: &Leaf) -> Result<Vec<&'p [u8]>> {
    let header = page.dictionary_header().ok_or("not a dictionary page")?;
    let encoding = header.integer("encoding");
    if ![Some(PLAIN), Some(PLAIN_DICTIONARY)].contains(&encoding) {
        return Err(format!("a dictionary in the encoding {encoding:?}"));
    }
    let values = plain(&page.body, leaf.physical, count(header)?)?;
    for value in &values {
        leaf.physical.check(value)?;
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a value is in the dictionary twice".to_owned());
    }
    if header.boolean("is_sorted") == Some(true) {
        return Err("the dictionary claims to be sorted".to_owned());
    }
    Ok(values)
}

fn count(header: &Struct) -> Result<usize> {
    let count = header.integer("num_values").unwrap_or(-1);
    let count = usize::try_from(count).ok();
    // More values than this would not fit in a row group.
    let count = count.filter(|&count| count <= MOST_BYTES);
    count.ok_or_else(|| "a page with an impossible number of values".to_owned())
}

/// A data page, decoded.
pub(super) struct DataPage<'p> {
    pub(super) header: &'p Struct,
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
        let header = page.header.structure("data_page_header");
        let header = header.ok_or("not a data page")?;
        let count = count(header)?;
        let mut body = &page.body[..];
        for name in ["definition_level_encoding", "repetition_level_encoding"] {
            if header.integer(name) != Some(RLE) {
                return Err(format!("{name} is {:?}", header.integer(name)));
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
        let values = match (header.integer("encoding"), leaf.physical) {
            (Some(PLAIN), physical) => {
                let values = plain(body, physical, values)?;
                values.iter().try_for_each(|value| physical.check(value))?;
                values
            }
            (Some(RLE), Physical::Boolean) => {
                let bits = hybrid_with_length(&mut body, 1, values)?;
                if !body.is_empty() {
                    return Err("bytes after the last boolean".to_owned());
                }
                bits.into_iter().map(|bit| boolean(bit != 0)).collect()
            }
            (Some(PLAIN_DICTIONARY | RLE_DICTIONARY), _) => {
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
            header,
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
    pub(super) fn histograms(&self, leaf: &Leaf) -> [Vec<i64>; 2] {
        let histogram = |levels: &[u32], most: u32| match most {
            0 => vec![signed(self.count)],
            most => (0..=most).map(|level| times(levels, level)).collect(),
        };
        [
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
        physical: Physical::Int32,
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
