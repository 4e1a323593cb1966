//! The header of a page, with the checksum that the Parquet crate leaves out.

use std::num::TryFromIntError;

use parquet::basic::Encoding;

use super::encode;
use crate::thrift::STRUCT;

/// Room for a page header, in bytes; most take 25 to 35.
pub(super) const HEADER_BYTES: usize = 64;

/// Field types of Thrift's compact protocol.
const FALSE: u8 = 2;
const I32: u8 = 5;

/// The end of a struct.
const STOP: u8 = 0;

/// The content of a page.
#[derive(Debug, Clone, Copy)]
pub(super) enum PageContent {
    /// Rows: definition levels, and values in this encoding.
    Data(Encoding),
    /// The values of the dictionary, PLAIN.
    Dictionary,
}

/// Appends the header of a page that takes `uncompressed` bytes and is `stored` as these. `values` counts NULLs, too.
/// The field numbers are those of `PageHeader` in the format's `parquet.thrift`.
///
/// # Errors
/// If a number doesn't fit 32 bits.
pub(super) fn write_header(
    content: PageContent,
    values: usize,
    uncompressed: usize,
    stored: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), TryFromIntError> {
    let (page_type, encoding) = match content {
        PageContent::Data(encoding) => (0, encoding),
        PageContent::Dictionary => (2, Encoding::PLAIN),
    };
    let checksum = crc32fast::hash(stored).cast_signed();
    for number in [
        page_type,
        i32::try_from(uncompressed)?,
        i32::try_from(stored.len())?,
        checksum,
    ] {
        integer(number, out);
    }
    let values = i32::try_from(values)?;
    match content {
        PageContent::Data(_) => {
            field(1, STRUCT, out);
            let levels = Encoding::RLE as i32;
            for number in [values, encoding as i32, levels, levels] {
                integer(number, out);
            }
        }
        PageContent::Dictionary => {
            field(3, STRUCT, out);
            integer(values, out);
            integer(encoding as i32, out);
            // The values aren't sorted.
            field(1, FALSE, out);
        }
    }
    out.extend([STOP, STOP]);
    Ok(())
}

/// Appends the head of a field whose number is `step` more than that of the one before.
fn field(step: u8, kind: u8, out: &mut Vec<u8>) {
    out.push(step << 4 | kind);
}

/// Appends the next field, an integer.
fn integer(number: i32, out: &mut Vec<u8>) {
    field(1, I32, out);
    let zigzag = (number << 1) ^ (number >> 31);
    encode::varint(zigzag.cast_unsigned() as usize, out);
}

#[cfg(test)]
mod tests {
    use parquet::column::page::{CompressedPage, Page, PageWriter};
    use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
    use proptest::prelude::*;

    use super::*;

    /// The page as the Parquet crate writes it: its header has no checksum.
    fn by_the_crate(content: PageContent, values: u32, size: usize, stored: &[u8]) -> Vec<u8> {
        let buf = stored.to_vec().into();
        let page = match content {
            PageContent::Data(encoding) => Page::DataPage {
                buf,
                num_values: values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
            PageContent::Dictionary => Page::DictionaryPage {
                buf,
                num_values: values,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            },
        };
        let mut bytes = Vec::new();
        let mut sink = TrackedWrite::new(&mut bytes);
        let page = CompressedPage::new(page, size);
        SerializedPageWriter::new(&mut sink)
            .write_page(page)
            .unwrap();
        sink.into_inner().unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn the_header_is_that_of_the_crate_and_a_checksum(
            values in 0_u32..1 << 21,
            size in 0_usize..1 << 30,
            stored in prop::collection::vec(any::<u8>(), 0..200),
            content in prop_oneof![
                Just(PageContent::Data(Encoding::PLAIN)),
                Just(PageContent::Data(Encoding::RLE_DICTIONARY)),
                Just(PageContent::Dictionary),
            ],
        ) {
            let mut ours = Vec::new();
            write_header(content, values as usize, size, &stored, &mut ours).unwrap();
            prop_assert!(ours.len() <= HEADER_BYTES);
            let (mut before, mut checksum) = (Vec::new(), Vec::new());
            for number in [0, i32::try_from(size).unwrap(), i32::try_from(stored.len()).unwrap()] {
                integer(number, &mut before);
            }
            integer(crc32fast::hash(&stored).cast_signed(), &mut checksum);
            // The next field counts from the one before the checksum then.
            let mut without = ours.clone();
            let removed: Vec<u8> = without.drain(before.len()..).take(checksum.len()).collect();
            prop_assert_eq!(&removed, &checksum);
            without.extend(&ours[before.len() + checksum.len()..]);
            without[before.len()] += 1 << 4;
            without.extend(&stored);
            prop_assert_eq!(without, by_the_crate(content, values, size, &stored));
        }
    }
}
