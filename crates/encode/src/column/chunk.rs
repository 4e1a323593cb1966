//! The finished pages of a column chunk, and what the footer says about it.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::io::Read;

use bytes::Bytes;
use parquet::basic::{Encoding, PageType};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescPtr;
use tracelake_core::options::Codec;

use super::choice::{Body, Storage};
use super::compress::compression;
use super::header::{HEADER_BYTES, PageContent, write_header};
use super::kind::PhysicalKind;
use super::min_max::{self, MinMax};

pub(super) type Result<T> = std::result::Result<T, ParquetError>;

/// The finished pages of a column chunk.
pub(super) struct ChunkBuilder<K: PhysicalKind> {
    /// Data pages, each with its header, in separate buffers: copying them into one growing buffer took 1 to
    /// 2 % of a conversion.
    pages: Vec<Bytes>,
    facts: Vec<PageFacts<K>>,
    /// The dictionary page with its header; empty if there is none.
    dictionary: Bytes,
    /// Decided by the first page that has values.
    storage: Option<Storage>,
    /// Uncompressed bytes of all pages, headers included.
    uncompressed: usize,
}

/// The entry of the page index for a page.
pub(super) struct PageFacts<K: PhysicalKind> {
    pub(super) rows: usize,
    /// Values and NULLs.
    pub(super) entries: usize,
    pub(super) nulls: usize,
    pub(super) encoding: Encoding,
    /// Whether it has no NULLs, and its values are ascending; checked only where they may be times.
    pub(super) is_ascending: bool,
    /// Of its values, if it has any.
    pub(super) min_max: Option<MinMax<K::Value>>,
}

/// A column chunk that is complete: the bytes, and what the footer says about them.
pub(crate) struct EncodedChunk {
    /// The dictionary page, if there is one, and the data pages.
    pages: Vec<Bytes>,
    /// Its metadata in the footer.
    pub(crate) close: ColumnCloseResult,
    /// Whether it has no NULLs, and its values are ascending; checked only where they may be times.
    pub(crate) is_ascending: bool,
}

impl<K: PhysicalKind> ChunkBuilder<K> {
    pub(super) fn new() -> Self {
        Self {
            pages: Vec::new(),
            facts: Vec::new(),
            dictionary: Bytes::new(),
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

    /// Sets whether pages are compressed, before the first one is added.
    pub(super) fn set_storage(&mut self, storage: Storage) {
        self.storage = Some(storage);
    }

    /// Adds a data page.
    pub(super) fn add_page(&mut self, body: Body, facts: PageFacts<K>) -> Result<()> {
        let page = self.write_page(body, PageContent::Data(facts.encoding), facts.entries)?;
        self.pages.push(page);
        self.facts.push(facts);
        Ok(())
    }

    /// Adds the dictionary page of a dictionary of `values` values.
    pub(super) fn add_dictionary(&mut self, body: Body, values: usize) -> Result<()> {
        self.dictionary = self.write_page(body, PageContent::Dictionary, values)?;
        Ok(())
    }

    /// Writes a page of this many values, NULLs included, after its header.
    fn write_page(&mut self, body: Body, content: PageContent, values: usize) -> Result<Bytes> {
        let uncompressed = body.raw.len();
        let stored = body.stored(self.storage.expect("the first page decides"));
        let mut bytes = Vec::with_capacity(stored.len() + HEADER_BYTES);
        write_header(content, values, uncompressed, &stored, &mut bytes).map_err(too_large)?;
        self.uncompressed += bytes.len() + uncompressed;
        bytes.extend_from_slice(&stored);
        Ok(bytes.into())
    }

    /// Completes the column chunk; its bloom filter is still missing.
    pub(super) fn finish(self, descriptor: &ColumnDescPtr, codec: Codec) -> Result<EncodedChunk> {
        let dictionary = self.dictionary.len();
        let mut index = ColumnIndexBuilder::new(descriptor.physical_type());
        if descriptor.max_rep_level() > 0 {
            // Readers disagree on whether it counts rows or items.
            index.to_invalid();
        }
        let mut offsets = OffsetIndexBuilder::new();
        let mut end = dictionary;
        for (facts, page) in self.facts.iter().zip(&self.pages) {
            let bounds = facts.min_max.as_ref().map(K::page_bounds);
            if bounds == Some(None) {
                index.to_invalid();
            }
            let (min, max) = bounds.flatten().unwrap_or_default();
            index.append(facts.min_max.is_none(), min, max, signed(facts.nulls), None);
            offsets.append_row_count(signed(facts.rows));
            let bytes = i32::try_from(page.len()).map_err(too_large)?;
            offsets.append_offset_and_size(signed(end), bytes);
            end += page.len();
        }
        let bounds = self.facts.iter().filter_map(|page| page.min_max.as_ref());
        index.set_boundary_order(min_max::boundary_order(bounds));
        let rows: usize = self.facts.iter().map(|page| page.rows).sum();
        let entries: usize = self.facts.iter().map(|page| page.entries).sum();
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
            .set_total_compressed_size(signed(end))
            .set_total_uncompressed_size(signed(self.uncompressed))
            .set_num_values(signed(entries))
            .set_data_page_offset(signed(dictionary))
            .set_dictionary_page_offset((dictionary > 0).then_some(0))
            .set_statistics(K::statistics(self.min_max().as_ref(), nulls as u64))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: end as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: index.valid().then(|| index.build()).transpose()?,
            offset_index: Some(offsets.build()),
        };
        let is_ascending = self.is_ascending();
        let mut pages = self.pages;
        if dictionary > 0 {
            pages.insert(0, self.dictionary);
        }
        Ok(EncodedChunk {
            pages,
            close,
            is_ascending,
        })
    }

    /// Whether it has no NULLs, and its values are ascending; checked only where they may be times.
    fn is_ascending(&self) -> bool {
        let bounds = || self.facts.iter().filter_map(|page| page.min_max.as_ref());
        let mut pairs = bounds().zip(bounds().skip(1));
        self.facts.iter().all(|page| page.is_ascending)
            && pairs.all(|(page, next)| page.max.borrow() <= next.min.borrow())
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

/// A number of bytes or rows as the format has it.
fn signed(number: usize) -> i64 {
    i64::try_from(number).expect("no column chunk has 2^63 bytes or rows")
}

fn too_large(_: std::num::TryFromIntError) -> ParquetError {
    ParquetError::General("a page of more than 2 GiB".into())
}

impl Length for EncodedChunk {
    fn len(&self) -> u64 {
        self.pages.iter().map(|page| page.len() as u64).sum()
    }
}

impl ChunkReader for EncodedChunk {
    type T = PageReader;

    fn get_read(&self, start: u64) -> Result<PageReader> {
        let mut pages = PageReader(self.pages.clone().into());
        std::io::copy(&mut pages.by_ref().take(start), &mut std::io::sink())?;
        Ok(pages)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads the bytes of several pages as one stream.
pub(crate) struct PageReader(VecDeque<Bytes>);

impl Read for PageReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.0.front().is_some_and(Bytes::is_empty) {
            self.0.pop_front();
        }
        let Some(page) = self.0.front_mut() else {
            return Ok(0);
        };
        let bytes = page.split_to(page.len().min(into.len()));
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}
