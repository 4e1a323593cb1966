//! How the values of a column chunk are encoded: what is smaller on the first page that is large enough, and
//! again on a later page whose values are mostly new.
//!
//! A page depends on the rows alone, so the choice is the same on every machine.

use std::io;
use std::ops::Range;

use tracelake_core::options::Codec;

use super::compress::{Redundancy, compress};
use super::dictionary::{Dictionary, ValueList};
use super::encode;
use super::kind::PhysicalKind;

/// PLAIN isn't tried for a page whose values take more bytes than this, because it would need them in memory.
const TRY_PLAIN_BYTES: usize = 2 << 20;

/// Indices of at most this many bits are never padded: on no column of the traces did it help.
const NEVER_PAD_BITS: u8 = 4;

/// A column chunk whose first page and dictionary compress to more than this percentage of their
/// size is stored uncompressed, and is faster to read.
pub(super) const STORE_UNCOMPRESSED_ABOVE_PERCENT: usize = 99;

/// A page with fewer bytes than this, its dictionary included, says nothing about the next ones: it may
/// be one value that opens the file, such as the time 0. It is compressed, and if it has indices, the
/// next page decides on the encoding.
pub(super) const TELLING_BYTES: usize = 4 << 10;

/// Texts that are longer on average are hashes, such as the names of users and jobs with their 44 bytes.
/// Shorter ones have parts in common, which a codec finds.
pub(super) const LONG_TEXT: usize = 32;

/// PLAIN isn't tried for ids that repeat more often than this on average: it would save little, and readers group and
/// filter faster by the indices of a dictionary.
pub(super) const TRY_PLAIN_IDS_BELOW_REPEATS: usize = 3;

/// A page with fewer than [`TELLING_BYTES`] is PLAIN if its values repeat fewer times than this on average.
const SMALL_PLAIN_BELOW_REPEATS: usize = 2;

/// PLAIN is tried for a page whose values repeat fewer times than this on average.
pub(super) fn try_plain_below_repeats<K: PhysicalKind>(is_id: bool) -> usize {
    if is_id {
        TRY_PLAIN_IDS_BELOW_REPEATS
    } else {
        K::TRY_PLAIN_BELOW_REPEATS
    }
}

/// The width of the indices of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexWidth {
    /// The bits of the largest index.
    Bits,
    /// Whole bytes, in which the codec finds repetitions: at any other width a repetition looks the
    /// same only every few values.
    Bytes,
}

impl IndexWidth {
    /// Appends indices into a dictionary of `values` values, with their width in bits before them;
    /// returns what makes them smaller.
    pub(super) fn encode(self, indices: &[u32], values: usize, out: &mut Vec<u8>) -> Redundancy {
        let mut width = encode::width(values);
        if self == Self::Bytes {
            width = width.next_multiple_of(8);
        }
        out.push(width);
        encode::hybrid(indices, width, out);
        if width.is_multiple_of(8) {
            Redundancy::Matches
        } else {
            Redundancy::Frequencies
        }
    }
}

/// Whether the bytes of a column chunk are compressed, which its footer says of all its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// By the codec of the file.
    Compressed,
    /// Uncompressed, because the codec hardly makes them smaller.
    Uncompressed,
}

impl Storage {
    /// Whether compressing `raw` bytes to `compressed` is worth it.
    fn of(raw: usize, compressed: usize) -> Self {
        if raw >= TELLING_BYTES && compressed * 100 > raw * STORE_UNCOMPRESSED_ABOVE_PERCENT {
            Self::Uncompressed
        } else {
            Self::Compressed
        }
    }
}

/// The bytes of a page without its header.
pub(super) struct Body {
    pub(super) raw: Vec<u8>,
    pub(super) compressed: Vec<u8>,
}

impl Body {
    /// Compresses the body of a page, unless its column chunk is stored uncompressed.
    ///
    /// # Errors
    /// When the codec has no memory left.
    pub(super) fn new(
        raw: Vec<u8>,
        redundancy: Redundancy,
        storage: Option<Storage>,
        codec: Codec,
    ) -> io::Result<Self> {
        let compressed = match storage {
            Some(Storage::Uncompressed) => Vec::new(),
            Some(Storage::Compressed) | None => compress(codec, &raw, redundancy)?,
        };
        Ok(Self { raw, compressed })
    }

    /// Decides how to store a column chunk that starts with this page.
    pub(super) fn storage(&self) -> Storage {
        Storage::of(self.raw.len(), self.compressed.len())
    }

    /// The bytes that go into the file.
    pub(super) fn stored(self, storage: Storage) -> Vec<u8> {
        match storage {
            Storage::Compressed => self.compressed,
            Storage::Uncompressed => self.raw,
        }
    }
}

/// A page in one of the encodings.
pub(super) struct Candidate {
    pub(super) page: Body,
    /// The width of its indices, and what its values add to the dictionary; `None` if it is PLAIN.
    pub(super) dictionary: Option<(IndexWidth, Body)>,
}

impl Candidate {
    /// Bytes in the file, headers excluded.
    fn bytes(&self) -> usize {
        self.sum(|body| body.compressed.len().min(body.raw.len()))
    }

    fn sum(&self, bytes: impl Fn(&Body) -> usize) -> usize {
        bytes(&self.page) + self.dictionary.as_ref().map_or(0, |(_, body)| bytes(body))
    }

    /// Whether its encoding is right for the whole column chunk.
    pub(super) fn is_telling(&self) -> bool {
        self.sum(|body| body.raw.len()) >= TELLING_BYTES
    }

    /// Decides how to store the column chunk.
    pub(super) fn storage(&self) -> Storage {
        Storage::of(
            self.sum(|body| body.raw.len()),
            self.sum(|body| body.compressed.len()),
        )
    }
}

/// Encodes a page in each way that may be the smallest, and returns the smallest. `levels` are its definition
/// levels, if it has any. Pages before it paid for the `known` first values of the dictionary. The indices of
/// ids are on whole bytes.
///
/// A page with fewer than [`TELLING_BYTES`] is encoded in one way only: PLAIN if its values repeat less than
/// [`SMALL_PLAIN_BELOW_REPEATS`] times on average, with indices on bits otherwise.
///
/// # Errors
/// When the codec has no memory left.
pub(super) fn smallest<K: PhysicalKind>(
    levels: &[u8],
    indices: &[u32],
    dictionary: &Dictionary<K::Values>,
    known: usize,
    is_id: bool,
    codec: Codec,
) -> io::Result<Candidate> {
    let values = dictionary.len();
    let bits = encode::width(values);
    let raw_bytes = dictionary.plain_bytes() + indices.len() * usize::from(bits) / 8;
    let is_small = raw_bytes < TELLING_BYTES;
    let below_repeats = match is_small {
        true => SMALL_PLAIN_BELOW_REPEATS,
        false => try_plain_below_repeats::<K>(is_id),
    };
    let tries_plain = (values - known) * below_repeats >= indices.len();
    let mut plain = None;
    if tries_plain {
        plain = plain_page::<K>(levels, indices, dictionary, codec)?;
    }
    if let Some(plain) = plain.take_if(|_| is_small) {
        return Ok(plain);
    }
    let pads = !bits.is_multiple_of(8) && bits > NEVER_PAD_BITS && codec != Codec::None;
    let widths: &[IndexWidth] = match pads && !is_small {
        false => &[IndexWidth::Bits],
        true if is_id && bits > 8 => &[IndexWidth::Bytes],
        true => &[IndexWidth::Bits, IndexWidth::Bytes],
    };
    let mut page: Option<(IndexWidth, Body)> = None;
    for &width in widths {
        let mut raw = levels.to_vec();
        let redundancy = width.encode(indices, values, &mut raw);
        let body = Body::new(raw, redundancy, None, codec)?;
        if page
            .as_ref()
            .is_none_or(|(_, best)| body.compressed.len() < best.compressed.len())
        {
            page = Some((width, body));
        }
    }
    let (width, page) = page.expect("there is at least one width");
    let new_values = encode_dictionary::<K>(dictionary, known..values, None, codec)?;
    let indexed = Candidate {
        page,
        dictionary: Some((width, new_values)),
    };
    let is_smaller = |plain: &Candidate| plain.bytes() < indexed.bytes();
    Ok(match plain.filter(is_smaller) {
        Some(plain) => plain,
        None => indexed,
    })
}

/// The page in PLAIN encoding; `None` if its values take more than [`TRY_PLAIN_BYTES`].
fn plain_page<K: PhysicalKind>(
    levels: &[u8],
    indices: &[u32],
    dictionary: &Dictionary<K::Values>,
    codec: Codec,
) -> io::Result<Option<Candidate>> {
    let mut plain = Vec::new();
    for &index in indices {
        K::encode_plain(dictionary.values().get(index as usize), &mut plain);
        // One long text may come again in many rows.
        if plain.len() > TRY_PLAIN_BYTES {
            return Ok(None);
        }
    }
    let mut raw = levels.to_vec();
    K::finish_plain(&plain, &mut raw);
    Ok(Some(Candidate {
        page: Body::new(raw, Redundancy::Matches, None, codec)?,
        dictionary: None,
    }))
}

/// Encodes some values of a dictionary as the body of its page.
///
/// # Errors
/// When the codec has no memory left.
pub(super) fn encode_dictionary<K: PhysicalKind>(
    dictionary: &Dictionary<K::Values>,
    values: Range<usize>,
    storage: Option<Storage>,
    codec: Codec,
) -> io::Result<Body> {
    let mut raw = Vec::with_capacity(dictionary.plain_bytes());
    for index in values {
        K::encode_plain(dictionary.values().get(index), &mut raw);
    }
    let is_long = dictionary.plain_bytes() > dictionary.len() * LONG_TEXT;
    let redundancy = if is_long {
        Redundancy::Frequencies
    } else {
        Redundancy::Matches
    };
    Body::new(raw, redundancy, storage, codec)
}
