//! The pages of a column chunk, decoded up to the values of a leaf.

use bytes::{Buf, Bytes};
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

use super::cast::Stored;
use super::deltas::{Deltas, Texts, together};
use super::runs::Runs;

/// The most items of lists in a page: their levels are kept as long as the page is.
const LIST_ENTRIES: usize = 1 << 24;

/// A data page.
pub(super) struct DataPage {
    /// Entries that are still to be read.
    pub(super) left: usize,
    /// The rest of the definition levels; `None` if every entry is a value.
    pub(super) definition: Option<Runs>,
    /// In a list, the levels of all entries.
    pub(super) lists: Option<ListLevels>,
    pub(super) values: PageValues,
}

/// The levels of the entries of a page of lists.
pub(super) struct ListLevels {
    pub(super) definition: Vec<u8>,
    pub(super) repetition: Vec<u8>,
}

/// The values of a page that are still to be read.
pub(super) enum PageValues {
    Plain(PlainValues),
    /// Indices of the dictionary.
    Indices(Runs),
    /// Booleans in runs.
    Truths(Runs),
    Deltas(Deltas),
    Texts(Texts),
}

/// Values in PLAIN encoding.
pub(super) struct PlainValues {
    bytes: Bytes,
    physical: Physical,
    /// Of booleans, the bit of the first byte to read next.
    bit: u32,
}

pub(super) fn broken(reason: impl Into<String>) -> ParquetError {
    ParquetError::General(reason.into())
}

impl DataPage {
    /// Takes a page apart.
    ///
    /// # Errors
    /// If it is shorter than it says, or encoded in a way that isn't read.
    pub(super) fn of(page: Page, descriptor: &ColumnDescPtr) -> Result<Self> {
        let (most_rep, most_def) = (descriptor.max_rep_level(), descriptor.max_def_level());
        let (rep_bytes, def_bytes, entries, encoding, mut bytes) = match page {
            Page::DataPage {
                mut buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut with_length = |most, encoding| match encoding {
                    _ if most == 0 => Ok(Bytes::new()),
                    Encoding::RLE => take_with_length(&mut buf),
                    other => Err(broken(format!("has levels in the encoding {other}"))),
                };
                let rep_bytes = with_length(most_rep, rep_level_encoding)?;
                let def_bytes = with_length(most_def, def_level_encoding)?;
                (rep_bytes, def_bytes, num_values, encoding, buf)
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                rep_levels_byte_len,
                def_levels_byte_len,
                ..
            } => {
                let rep_bytes = take(&mut buf, rep_levels_byte_len)?;
                let def_bytes = take(&mut buf, def_levels_byte_len)?;
                (rep_bytes, def_bytes, num_values, encoding, buf)
            }
            Page::DictionaryPage { .. } => return Err(broken("has a second dictionary")),
        };
        let levels = |bytes: Bytes, most: i16| {
            let width = (i16::BITS - most.leading_zeros()) as usize;
            (most > 0).then(|| Runs::new(bytes, width))
        };
        let mut repetition = levels(rep_bytes, most_rep);
        let mut definition = levels(def_bytes, most_def);
        let left = entries as usize;
        if repetition.is_some() && left > LIST_ENTRIES {
            return Err(broken(format!(
                "has a page of {left} items of lists; at most {LIST_ENTRIES} are read"
            )));
        }
        let lists = match (&mut definition, &mut repetition) {
            (Some(definition), Some(repetition)) => Some(
                ListLevels::read(left, definition, repetition)
                    .ok_or_else(|| broken("has too few levels"))?,
            ),
            _ => None,
        };
        let physical = descriptor.physical_type();
        let damaged = || broken(format!("has a page of {encoding} that can't be read"));
        let values = match encoding {
            Encoding::PLAIN => PageValues::Plain(PlainValues::new(bytes, physical)),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                // A page without values may lack the width, too.
                let width = if bytes.is_empty() { 0 } else { bytes.get_u8() };
                if width > 32 {
                    return Err(broken(format!("has indices of {width} bits")));
                }
                PageValues::Indices(Runs::new(bytes, width.into()))
            }
            Encoding::RLE if physical == Physical::BOOLEAN => {
                PageValues::Truths(Runs::new(take_with_length(&mut bytes)?, 1))
            }
            Encoding::DELTA_BINARY_PACKED
                if matches!(physical, Physical::INT32 | Physical::INT64) =>
            {
                Deltas::new(bytes, left, physical)
                    .map(PageValues::Deltas)
                    .ok_or_else(damaged)?
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY
                if physical == Physical::BYTE_ARRAY =>
            {
                let are_shared = encoding == Encoding::DELTA_BYTE_ARRAY;
                let texts = Texts::new(bytes, left, are_shared);
                texts.map(PageValues::Texts).ok_or_else(damaged)?
            }
            Encoding::BYTE_STREAM_SPLIT => {
                let plain = together(&bytes, physical).ok_or_else(damaged)?;
                PageValues::Plain(PlainValues::new(plain, physical))
            }
            encoding => return Err(broken(format!("has values in the encoding {encoding}"))),
        };
        Ok(Self {
            left,
            definition,
            lists,
            values,
        })
    }
}

impl ListLevels {
    fn read(entries: usize, definition: &mut Runs, repetition: &mut Runs) -> Option<Self> {
        let levels = |runs: &mut Runs| {
            let mut levels = Vec::with_capacity(entries);
            runs.read(entries, |level| {
                levels.push(u8::try_from(level).unwrap_or(u8::MAX))
            })?;
            Some(levels)
        };
        Some(Self {
            definition: levels(definition)?,
            repetition: levels(repetition)?,
        })
    }
}

impl PageValues {
    /// Reads values that aren't indices, in order.
    ///
    /// # Errors
    /// If there are fewer.
    pub(super) fn read(&mut self, count: usize, mut each: impl FnMut(Stored)) -> Result<()> {
        let too_few = || broken("has a page with too few values");
        if let Self::Truths(runs) = self {
            let read = runs.read(count, |value| each(Stored::Boolean(value != 0)));
            return read.ok_or_else(too_few);
        }
        if let Self::Texts(texts) = self {
            texts.begin();
        }
        for _ in 0..count {
            let value = match self {
                Self::Plain(plain) => plain.next(),
                Self::Deltas(deltas) => deltas.next().map(Stored::Integer),
                Self::Texts(texts) => texts.next().map(Stored::Bytes),
                Self::Truths(_) | Self::Indices(_) => unreachable!("these are read by runs"),
            };
            each(value.ok_or_else(too_few)?);
        }
        Ok(())
    }
}

impl PlainValues {
    fn new(bytes: Bytes, physical: Physical) -> Self {
        Self {
            bytes,
            physical,
            bit: 0,
        }
    }

    /// The values of a dictionary.
    ///
    /// # Errors
    /// If there are fewer.
    pub(super) fn of_dictionary(page: Page, physical: Physical) -> Result<(usize, Self)> {
        let Page::DictionaryPage {
            buf,
            num_values,
            encoding,
            ..
        } = page
        else {
            unreachable!("the page is a dictionary");
        };
        if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(broken(format!(
                "has a dictionary in the encoding {encoding}"
            )));
        }
        Ok((num_values as usize, Self::new(buf, physical)))
    }

    pub(super) fn next(&mut self) -> Option<Stored> {
        let bytes = &mut self.bytes;
        Some(match self.physical {
            Physical::INT64 => Stored::Integer(bytes.try_get_i64_le().ok()?),
            Physical::INT32 => Stored::Integer(bytes.try_get_i32_le().ok()?.into()),
            Physical::DOUBLE => Stored::Float(bytes.try_get_f64_le().ok()?),
            Physical::FLOAT => Stored::Float(bytes.try_get_f32_le().ok()?.into()),
            Physical::BOOLEAN => {
                let value = bytes.first()? >> self.bit & 1 == 1;
                self.bit = (self.bit + 1) % 8;
                if self.bit == 0 {
                    bytes.advance(1);
                }
                Stored::Boolean(value)
            }
            _ => {
                let length = bytes.try_get_u32_le().ok()?;
                Stored::Bytes(take(bytes, length).ok()?)
            }
        })
    }
}

fn take(bytes: &mut Bytes, length: u32) -> Result<Bytes> {
    match length as usize {
        length if length <= bytes.len() => Ok(bytes.split_to(length)),
        _ => Err(broken("has a page that is too short")),
    }
}

/// Takes bytes after their length.
fn take_with_length(bytes: &mut Bytes) -> Result<Bytes> {
    let length = bytes
        .try_get_u32_le()
        .map_err(|_| broken("has a page that is too short"))?;
    take(bytes, length)
}
