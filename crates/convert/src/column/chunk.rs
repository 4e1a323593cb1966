//! The finished pages of a column chunk, and what the footer says about it.

use bytes::{Buf, Bytes, buf::Reader};
use parquet::basic::{Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::Result;
use super::choice::{Body, Storage};
use super::compress::compression;
use super::kind::{PhysicalKind, nan_count};
use super::min_max::{self, MinMax};
use crate::options::Codec;

/// The finished pages of a column chunk.
pub(super) struct ChunkBuilder<K: PhysicalKind> {
    /// Data pages with their headers.
    pages: Vec<u8>,
    facts: Vec<PageFacts<K>>,
    /// Where each of these pages ends in `pages`.
    ends: Vec<usize>,
    /// The dictionary page with its header; empty if there is none.
    dictionary: Vec<u8>,
    /// Decided by the first page that has values.
    storage: Option<Storage>,
    /// What all pages take uncompressed, headers included.
    uncompressed: usize,
}

/// What the page index says about a page.
pub(super) struct PageFacts<K: PhysicalKind> {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    pub(super) encoding: Encoding,
    /// Of its values, if it has any.
    pub(super) min_max: Option<MinMax<K::Value>>,
}

/// A column chunk that is complete: the bytes, and what the footer says about them.
pub(crate) struct EncodedChunk {
    /// The dictionary page, and the data pages.
    bytes: [Bytes; 2],
    /// What the footer says.
    pub(crate) close: ColumnCloseResult,
}

impl<K: PhysicalKind> ChunkBuilder<K> {
    pub(super) fn new() -> Self {
        Self {
            pages: Vec::new(),
            facts: Vec::new(),
            ends: Vec::new(),
            dictionary: Vec::new(),
            storage: None,
            uncompressed: 0,
        }
    }

    /// Whether no page was added yet.
    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Whether pages are compressed, if that is decided.
    pub(super) fn storage(&self) -> Option<Storage> {
        self.storage
    }

    /// Bytes of all pages, uncompressed.
    pub(super) fn uncompressed(&self) -> usize {
        self.uncompressed
    }

    /// The smallest and the largest value of all pages.
    pub(super) fn min_max(&self) -> Option<MinMax<K::Value>> {
        let mut min_max = None;
        for page in self.facts.iter().filter_map(|page| page.min_max.as_ref()) {
            MinMax::merge(&mut min_max, page);
        }
        min_max
    }

    /// Decides whether pages are compressed, before the first one is added.
    pub(super) fn decide(&mut self, storage: Storage) {
        self.storage = Some(storage);
    }

    /// Adds a data page.
    pub(super) fn add_page(&mut self, body: Body, facts: PageFacts<K>) -> Result<()> {
        let uncompressed = body.raw.len();
        let bytes = body.stored(self.storage.expect("the first page decides"));
        let page = Page::DataPage {
            buf: bytes.into(),
            num_values: u32::try_from(facts.rows).map_err(too_large)?,
            encoding: facts.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = write_page(page, uncompressed, &mut self.pages)?;
        self.uncompressed += written;
        self.facts.push(facts);
        self.ends.push(self.pages.len());
        Ok(())
    }

    /// Adds the dictionary page of a dictionary of `values` values.
    pub(super) fn add_dictionary(&mut self, body: Body, values: usize) -> Result<()> {
        let uncompressed = body.raw.len();
        let bytes = body.stored(self.storage.expect("the first page decides"));
        let page = Page::DictionaryPage {
            buf: bytes.into(),
            num_values: u32::try_from(values).map_err(too_large)?,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.uncompressed += write_page(page, uncompressed, &mut self.dictionary)?;
        Ok(())
    }

    /// Completes the column chunk; its bloom filter is still missing.
    pub(super) fn finish(self, descriptor: &ColumnDescPtr, codec: Codec) -> Result<EncodedChunk> {
        let (dictionary, data) = (self.dictionary.len(), self.pages.len());
        let nan_count = nan_count(descriptor.physical_type());
        let mut index = ColumnIndexBuilder::new(descriptor.physical_type());
        let mut offsets = OffsetIndexBuilder::new();
        let mut start = 0;
        for (page, &end) in self.facts.iter().zip(&self.ends) {
            let bounds = page.min_max.as_ref().map(K::page_bounds);
            if bounds == Some(None) {
                index.to_invalid();
            }
            let (min, max) = bounds.flatten().unwrap_or_default();
            index.append(
                page.min_max.is_none(),
                min,
                max,
                signed(page.nulls),
                nan_count,
            );
            offsets.append_row_count(signed(page.rows));
            let bytes = i32::try_from(end - start).map_err(too_large)?;
            offsets.append_offset_and_size(signed(dictionary + start), bytes);
            start = end;
        }
        let bounds = self.facts.iter().filter_map(|page| page.min_max.as_ref());
        index.set_boundary_order(min_max::boundary_order(bounds));
        let rows: usize = self.facts.iter().map(|page| page.rows).sum();
        let nulls: usize = self.facts.iter().map(|page| page.nulls).sum();
        let codec = match self.storage {
            Some(Storage::Uncompressed) => Codec::None,
            Some(Storage::Compressed) | None => codec,
        };
        let (encodings, encoding_stats) = self.encodings()?;
        let metadata = ColumnChunkMetaData::builder(descriptor.clone())
            .set_compression(compression(codec))
            .set_encodings(encodings)
            .set_page_encoding_stats(encoding_stats)
            .set_total_compressed_size(signed(dictionary + data))
            .set_total_uncompressed_size(signed(self.uncompressed))
            .set_num_values(signed(rows))
            .set_data_page_offset(signed(dictionary))
            .set_dictionary_page_offset((dictionary > 0).then_some(0))
            .set_statistics(K::statistics(self.min_max().as_ref(), nulls as u64))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: (dictionary + data) as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: index.valid().then(|| index.build()).transpose()?,
            offset_index: Some(offsets.build()),
        };
        Ok(EncodedChunk {
            bytes: [self.dictionary.into(), self.pages.into()],
            close,
        })
    }

    /// The encodings of its pages, and how many pages have which.
    fn encodings(&self) -> Result<(Vec<Encoding>, Vec<PageEncodingStats>)> {
        // Definition levels are RLE, and a dictionary page is PLAIN.
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        let mut stats = Vec::new();
        let mut add = |page_type, encoding, count: usize| {
            let count = i32::try_from(count).map_err(too_large)?;
            if count > 0 {
                stats.push(PageEncodingStats {
                    page_type,
                    encoding,
                    count,
                });
            }
            Ok::<(), ParquetError>(())
        };
        if !self.dictionary.is_empty() {
            encodings.push(Encoding::RLE_DICTIONARY);
            add(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1)?;
        }
        for encoding in [Encoding::PLAIN, Encoding::RLE_DICTIONARY] {
            let pages = self.facts.iter().filter(|page| page.encoding == encoding);
            add(PageType::DATA_PAGE, encoding, pages.count())?;
        }
        Ok((encodings, stats))
    }
}

/// Appends a page with its header; returns what both take uncompressed.
fn write_page(page: Page, uncompressed: usize, out: &mut Vec<u8>) -> Result<usize> {
    let mut sink = TrackedWrite::new(out);
    let page = CompressedPage::new(page, uncompressed);
    let spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
    sink.into_inner()?;
    Ok(spec.uncompressed_size)
}

/// A number of bytes or rows as the format has it.
fn signed(number: usize) -> i64 {
    i64::try_from(number).expect("no column chunk has 2^63 bytes or rows")
}

fn too_large(_: std::num::TryFromIntError) -> ParquetError {
    ParquetError::General("a page of more than 2 GiB".into())
}

impl Length for EncodedChunk {
    fn len(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.len() as u64).sum()
    }
}

impl ChunkReader for EncodedChunk {
    type T = std::io::Chain<Reader<Bytes>, Reader<Bytes>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let [mut dictionary, mut pages] = self.bytes.clone();
        let start = usize::try_from(start)?;
        let skipped = start.min(dictionary.len());
        dictionary.advance(skipped);
        pages.advance((start - skipped).min(pages.len()));
        Ok(std::io::Read::chain(dictionary.reader(), pages.reader()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        std::io::Read::read_exact(&mut self.get_read(start)?, &mut bytes)?;
        Ok(bytes.into())
    }
}
