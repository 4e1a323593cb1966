//! Column chunks: what the footer says about one, compared with its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::PageType;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{ColumnChunkMetaData, LevelHistogram, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::bounds::{Bounds, check_statistics};
use super::page::{self, DataPage, ENCODING, StoredPage, TYPE};
use super::schema::Leaf;
use super::seen::Seen;
use super::{Result, bloom, page_index, signed};

/// The most indices in a bit-packed run: readers are slow when runs are longer.
const LONGEST_PACKED: usize = 504;

/// A column chunk in a file.
pub(super) struct Chunk<'f> {
    file: &'f [u8],
    meta: &'f ColumnChunkMetaData,
    leaf: &'f Leaf,
    offset_index: &'f OffsetIndexMetaData,
    column_index: Option<&'f ColumnIndexMetaData>,
    /// The ranges of the file that its pages and its bloom filter take.
    pub(super) pages: Range<usize>,
    pub(super) bloom_filter: Option<Range<usize>>,
}

impl<'f> Chunk<'f> {
    /// Takes the column chunk of a leaf, as the metadata has it for a row group and a column.
    pub(super) fn new(
        file: &'f [u8],
        said: &'f ParquetMetaData,
        (group, column): (usize, usize),
        leaf: &'f Leaf,
    ) -> Result<Self> {
        let meta = said.row_group(group).column(column);
        let index = said.page_index();
        let offset_index = index.and_then(|index| index.offset_index(group, column));
        let first = meta.dictionary_page_offset();
        let first = first.unwrap_or_else(|| meta.data_page_offset());
        let bloom_filter = match (meta.bloom_filter_offset(), meta.bloom_filter_length()) {
            (None, None) => None,
            (start, length) => {
                let length = length.map_or(-1, i64::from);
                Some(range(file, start.unwrap_or(-1), length)?)
            }
        };
        Ok(Self {
            file,
            meta,
            leaf,
            offset_index: offset_index.ok_or("no offset index")?,
            column_index: index.and_then(|index| index.column_index(group, column)),
            pages: range(file, first, meta.compressed_size())?,
            bloom_filter,
        })
    }

    /// Reads its pages.
    pub(super) fn stored(&self) -> Result<Vec<StoredPage>> {
        page::stored(self.file, self.pages.clone(), self.meta.compression())
    }

    /// Decodes its data pages.
    pub(super) fn decode<'p>(&self, stored: &'p [StoredPage]) -> Result<Vec<DataPage<'p>>> {
        let first = stored.first().ok_or("a column chunk without pages")?;
        let dictionary = match first.is_dictionary() {
            true => Some(page::dictionary(first, self.leaf)?),
            false => None,
        };
        let data = &stored[usize::from(dictionary.is_some())..];
        let decode = |(at, page)| {
            let page = DataPage::decode(page, self.leaf, dictionary.as_deref());
            page.map_err(|error| format!("data page {at}: {error}"))
        };
        data.iter().enumerate().map(decode).collect()
    }

    /// Checks everything that the file says about the column chunk; returns its number of rows.
    pub(super) fn check(&self, seen: &mut Seen, place: &str) -> Result<i64> {
        let meta = self.meta;
        let stored = self.stored()?;
        let pages = self.decode(&stored)?;
        // Deprecated: the format asks for 0 where the metadata is only in the footer.
        seen.expect(place, "file_offset", meta.file_offset(), 0);
        let (dictionary, data) = stored.split_at(stored.len() - pages.len());
        seen.ensure(place, !data.is_empty(), "no data page");
        let offset = |pages: &[StoredPage]| Some(signed(pages.first()?.range.start));
        let said = Some(meta.data_page_offset());
        seen.expect(place, "data_page_offset", said, offset(data));
        let said = meta.dictionary_page_offset();
        seen.expect(place, "dictionary_page_offset", said, offset(dictionary));
        let real = signed(stored.iter().map(StoredPage::uncompressed).sum());
        let said = meta.uncompressed_size();
        seen.expect(place, "total_uncompressed_size", said, real);
        let count: usize = pages.iter().map(|page| page.count).sum();
        seen.expect(place, "num_values", meta.num_values(), signed(count));
        self.check_encodings(seen, place, &stored);
        self.check_statistics(seen, place, &pages);
        self.check_indexes(seen, place, data, &pages);
        if let Some(range) = &self.bloom_filter {
            let values = pages.iter().flat_map(|page| page.values.iter().copied());
            self.check_bloom_filter(&self.file[range.clone()], values)
                .map_err(|error| format!("bloom filter: {error}"))?;
            seen.bloom_filters += 1;
        }
        seen.values += count;
        let checksums = stored.iter().filter(|page| page.has_checksum()).count();
        // Tables that the Parquet crate writes have none.
        let is_guarded = [0, stored.len()].contains(&checksums);
        seen.ensure(place, is_guarded, "a page without a checksum");
        let longest = pages.iter().map(|page| page.longest_packed).max();
        let longest = longest.unwrap_or(0);
        let wrong = format!("{longest} indices are packed in a run");
        seen.ensure(place, longest <= LONGEST_PACKED, &wrong);
        seen.null_pages += pages.iter().filter(|page| page.values.is_empty()).count();
        Ok(signed(pages.iter().map(DataPage::rows).sum()))
    }

    /// Compares the lists of encodings with those in the headers of the pages.
    fn check_encodings(&self, seen: &mut Seen, place: &str, stored: &[StoredPage]) {
        let mut encodings = BTreeSet::new();
        let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        for page in stored {
            encodings.extend(page.encodings());
            *counts
                .entry((page.header.number(TYPE), page.header.number(ENCODING)))
                .or_default() += 1;
        }
        let data = PageType::DATA_PAGE as i64;
        let kinds = counts.keys().filter(|(kind, _)| *kind == data);
        seen.mixed_chunks += usize::from(kinds.count() > 1);
        let said = self.meta.encodings().map(|encoding| encoding as i64);
        seen.expect(place, "encodings", said.collect(), encodings);
        let said = self.meta.page_encoding_stats().into_iter().flatten();
        let said = said.map(|of| ((of.page_type as i64, of.encoding as i64), of.count.into()));
        let mut said: Vec<((i64, i64), i64)> = said.collect();
        said.sort_unstable();
        seen.expect(place, "encoding_stats", said, counts.into_iter().collect());
    }

    /// Compares the statistics of the column chunk with the values.
    fn check_statistics(&self, seen: &mut Seen, place: &str, pages: &[DataPage<'_>]) {
        let meta = self.meta;
        let values = || pages.iter().flat_map(|page| page.values.iter().copied());
        let real = Bounds::of(self.leaf.physical, values());
        let nulls = pages.iter().map(DataPage::nulls).sum();
        let Some(said) = meta.statistics() else {
            seen.find(place, "no statistics");
            return;
        };
        check_statistics(seen, place, said, &real, nulls);
        if let Some(said) = said.distinct_count_opt() {
            let distinct: BTreeSet<&[u8]> = values().collect();
            seen.expect(place, "distinct_count", said, distinct.len() as u64);
        }
        if let Some(said) = meta.unencoded_byte_array_data_bytes() {
            let real = pages.iter().map(DataPage::value_bytes).sum();
            seen.expect(place, "unencoded bytes", said, signed(real));
        }
        let said = [
            meta.repetition_level_histogram(),
            meta.definition_level_histogram(),
        ];
        for (side, said) in said.into_iter().enumerate() {
            if let Some(said) = said.map(LevelHistogram::values) {
                let pages = pages.iter().map(|page| page.histograms(self.leaf));
                let sum = |a: Vec<i64>, b| a.iter().zip(&b).map(|(a, b)| a + b).collect();
                let real = pages.map(|mut page| page.swap_remove(side)).reduce(sum);
                let name = ["repetition_level_histogram", "definition_level_histogram"][side];
                seen.expect(place, name, Some(said), real.as_deref());
            }
        }
    }

    /// Compares the page index with the data pages.
    fn check_indexes(
        &self,
        seen: &mut Seen,
        place: &str,
        stored: &[StoredPage],
        pages: &[DataPage<'_>],
    ) {
        let ranges = stored.iter().map(|page| &page.range);
        page_index::check_offsets(seen, place, self.offset_index, ranges, pages);
        match self.column_index {
            Some(index) => page_index::check_bounds(seen, place, index, self.leaf, pages),
            None => {
                let is_list = self.leaf.max_repetition > 0;
                seen.ensure(place, is_list, "a missing column index");
            }
        }
    }

    /// Checks the bloom filter in these bytes.
    fn check_bloom_filter<'v>(
        &self,
        stored: &[u8],
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<()> {
        let file = Bytes::copy_from_slice(self.file);
        let read = Sbbf::read_from_column_chunk(self.meta, &file);
        let read = read.map_err(|error| error.to_string())?.ok_or("none")?;
        let (mut filter, mut written) = (Vec::new(), Vec::new());
        let all = read.write(&mut written);
        all.and(read.write_bitset(&mut filter))
            .map_err(|error| error.to_string())?;
        if written != stored {
            return Err("its header or its length is wrong".to_owned());
        }
        bloom::check(&filter, values)
    }
}

/// A range of a file.
fn range(file: &[u8], start: i64, length: i64) -> Result<Range<usize>> {
    let found = (|| {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        file.get(start..end)?;
        Some(start..end)
    })();
    found.ok_or_else(|| format!("{length} bytes at {start} are not in the file"))
}
