//! Column chunks: what the footer says about one, compared with its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::bounds::{Bounds, check_statistics};
use super::format::{COLUMN_INDEX, DATA_PAGE, OFFSET_INDEX};
use super::page::{self, DataPage, StoredPage};
use super::schema::Leaf;
use super::seen::Seen;
use super::thrift::{self, Layout, Struct, Value};
use super::{Result, bloom, page_index, signed};

/// The most indices in a bit-packed run: readers are slow when runs are longer.
const LONGEST_PACKED: usize = 504;

/// A column chunk in a file.
pub(super) struct Chunk<'f> {
    file: &'f [u8],
    /// The footer's entries, for the chunk and for its pages.
    said: &'f Struct,
    meta: &'f Struct,
    leaf: &'f Leaf,
    pub(super) ranges: Ranges,
}

/// The ranges of a file that belong to a column chunk.
pub(super) struct Ranges {
    pub(super) pages: Range<usize>,
    pub(super) bloom_filter: Option<Range<usize>>,
    pub(super) column_index: Option<Range<usize>>,
    pub(super) offset_index: Range<usize>,
}

impl<'f> Chunk<'f> {
    /// Takes the column chunk of a leaf, as the footer has it.
    pub(super) fn new(file: &'f [u8], said: &'f Struct, leaf: &'f Leaf) -> Result<Self> {
        let meta = said.structure("meta_data").ok_or("no metadata")?;
        let data = meta.integer("data_page_offset");
        let first = meta.integer("dictionary_page_offset").or(data);
        let ranges = Ranges {
            pages: range(file, first, meta.integer("total_compressed_size"))?,
            bloom_filter: range_of(file, meta, "bloom_filter")?,
            column_index: range_of(file, said, "column_index")?,
            offset_index: range_of(file, said, "offset_index")?.ok_or("no offset index")?,
        };
        Ok(Self {
            file,
            said,
            meta,
            leaf,
            ranges,
        })
    }

    /// Reads its pages.
    pub(super) fn stored(&self) -> Result<Vec<StoredPage>> {
        let codec = self.meta.integer("codec").unwrap_or(-1);
        page::stored(self.file, self.ranges.pages.clone(), codec)
    }

    /// Decodes its data pages.
    pub(super) fn decode<'p>(&self, stored: &'p [StoredPage]) -> Result<Vec<DataPage<'p>>> {
        let first = stored.first().ok_or("a column chunk without pages")?;
        let dictionary = match first.dictionary_header() {
            Some(_) => Some(page::dictionary(first, self.leaf)?),
            None => None,
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
        let (meta, leaf) = (self.meta, self.leaf);
        let stored = self.stored()?;
        let pages = self.decode(&stored)?;
        let path: Vec<Value> = leaf
            .path
            .iter()
            .map(|name| Value::Bytes(name.clone().into()))
            .collect();
        seen.expect(
            place,
            "path_in_schema",
            meta.list("path_in_schema"),
            Some(&path),
        );
        seen.expect(
            place,
            "type",
            meta.integer("type"),
            Some(leaf.physical.number()),
        );
        // Deprecated: the format asks for 0 where the metadata is only in the footer.
        seen.expect(
            place,
            "file_offset",
            self.said.integer("file_offset"),
            Some(0),
        );
        let (dictionary, data) = stored.split_at(stored.len() - pages.len());
        seen.ensure(place, !data.is_empty(), "no data page");
        let offset = |pages: &[StoredPage]| Some(signed(pages.first()?.range.start));
        for (name, real) in [
            ("data_page_offset", offset(data)),
            ("dictionary_page_offset", offset(dictionary)),
        ] {
            seen.expect(place, name, meta.integer(name), real);
        }
        let uncompressed = stored.iter().map(StoredPage::uncompressed).sum();
        let said = meta.integer("total_uncompressed_size");
        seen.expect(
            place,
            "total_uncompressed_size",
            said,
            Some(signed(uncompressed)),
        );
        let count: usize = pages.iter().map(|page| page.count).sum();
        seen.expect(
            place,
            "num_values",
            meta.integer("num_values"),
            Some(signed(count)),
        );
        self.check_encodings(seen, place, &stored);
        self.check_statistics(seen, place, &pages);
        self.check_indexes(seen, place, data, &pages)?;
        if let Some(range) = &self.ranges.bloom_filter {
            let values = pages.iter().flat_map(|page| page.values.iter().copied());
            bloom::check(&self.file[range.clone()], values)
                .map_err(|error| format!("bloom filter: {error}"))?;
            seen.bloom_filters += 1;
        }
        seen.pages += stored.len();
        seen.values += count;
        let checksums = stored.iter().filter(|page| page.has_checksum()).count();
        // Tables that the Parquet crate writes have none.
        let is_guarded = [0, stored.len()].contains(&checksums);
        seen.ensure(place, is_guarded, "a page without a checksum");
        seen.checksums += checksums;
        let longest = pages.iter().map(|page| page.longest_packed).max();
        let longest = longest.unwrap_or(0);
        seen.ensure(
            place,
            longest <= LONGEST_PACKED,
            &format!("{longest} indices are packed in a run"),
        );
        seen.longest_packed = seen.longest_packed.max(longest);
        seen.null_pages += pages.iter().filter(|page| page.values.is_empty()).count();
        Ok(signed(pages.iter().map(DataPage::rows).sum()))
    }

    /// Compares the lists of encodings with those in the headers of the pages.
    fn check_encodings(&self, seen: &mut Seen, place: &str, stored: &[StoredPage]) {
        let mut encodings = BTreeSet::new();
        let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        for page in stored {
            encodings.extend(page.encodings());
            let kind = page.header.integer("type").unwrap_or(-1);
            let encoding = page.encodings()[0];
            *counts.entry((kind, encoding)).or_default() += 1;
            *seen.encodings.entry(encoding).or_default() += 1;
        }
        let kinds = counts.keys().filter(|(kind, _)| *kind == DATA_PAGE);
        seen.mixed_chunks += usize::from(kinds.count() > 1);
        let mut said = self.meta.integers("encodings").unwrap_or_default();
        said.sort_unstable();
        seen.expect(place, "encodings", said, encodings.into_iter().collect());
        let statistics = self.meta.structs("encoding_stats");
        let mut said: Vec<_> = statistics
            .iter()
            .map(|of| ["page_type", "encoding", "count"].map(|name| of.integer(name).unwrap_or(-1)))
            .collect();
        said.sort_unstable();
        let real = counts.into_iter();
        let real = real.map(|((kind, encoding), count)| [kind, encoding, count]);
        seen.expect(place, "encoding_stats", said, real.collect());
    }

    /// Compares the statistics of the column chunk and of its pages with the values.
    fn check_statistics(&self, seen: &mut Seen, place: &str, pages: &[DataPage<'_>]) {
        let physical = self.leaf.physical;
        let values = || pages.iter().flat_map(|page| page.values.iter().copied());
        let real = Bounds::of(physical, values());
        let nulls = pages.iter().map(DataPage::nulls).sum();
        let said = self.meta.structure("statistics").expect("it is required");
        check_statistics(seen, place, said, physical, &real, nulls);
        if let Some(said) = said.integer("distinct_count") {
            let distinct: BTreeSet<&[u8]> = values().collect();
            seen.expect(place, "distinct_count", said, signed(distinct.len()));
        }
        for (at, page) in pages.iter().enumerate() {
            if let Some(said) = page.header.structure("statistics") {
                let real = Bounds::of(physical, page.values.iter().copied());
                let place = format!("{place}, header of data page {at}");
                check_statistics(seen, &place, said, physical, &real, page.nulls());
            }
        }
        let Some(said) = self.meta.structure("size_statistics") else {
            return;
        };
        if let Some(said) = said.integer("unencoded_byte_array_data_bytes") {
            let real = pages.iter().map(DataPage::value_bytes).sum();
            seen.expect(place, "unencoded bytes", said, signed(real));
        }
        for (side, name) in ["repetition_level_histogram", "definition_level_histogram"]
            .into_iter()
            .enumerate()
        {
            if let Some(said) = said.integers(name) {
                let pages = pages
                    .iter()
                    .map(|page| page.histograms(self.leaf)[side].clone());
                let sum = |a: Vec<i64>, b| a.iter().zip(&b).map(|(a, b)| a + b).collect();
                seen.expect(place, name, Some(said), pages.reduce(sum));
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
    ) -> Result<()> {
        let ranges: Vec<_> = stored.iter().map(|page| page.range.clone()).collect();
        let index = self.whole(&self.ranges.offset_index, &OFFSET_INDEX)?;
        page_index::check_offsets(seen, place, &index, &ranges, pages);
        let Some(range) = &self.ranges.column_index else {
            let is_list = self.leaf.max_repetition > 0;
            seen.ensure(place, is_list, "a missing column index");
            seen.without_column_index += 1;
            return Ok(());
        };
        let index = self.whole(range, &COLUMN_INDEX)?;
        page_index::check_bounds(seen, place, &index, self.leaf, pages);
        Ok(())
    }

    /// Reads a struct that takes a whole range of the file.
    fn whole(&self, range: &Range<usize>, layout: &'static Layout) -> Result<Struct> {
        let (found, length) = thrift::read(&self.file[range.clone()], layout)?;
        if length != range.len() {
            return Err(format!(
                "{length} of {} bytes are a {}",
                range.len(),
                layout.name
            ));
        }
        Ok(found)
    }
}

/// A range of a file.
fn range(file: &[u8], start: Option<i64>, length: Option<i64>) -> Result<Range<usize>> {
    let found = (|| {
        let start = usize::try_from(start?).ok()?;
        let end = start.checked_add(usize::try_from(length?).ok()?)?;
        file.get(start..end)?;
        Some(start..end)
    })();
    found.ok_or_else(|| format!("{length:?} bytes at {start:?} are not in the file"))
}

/// The range that two fields of a struct give, unless both are absent.
fn range_of(file: &[u8], of: &Struct, name: &str) -> Result<Option<Range<usize>>> {
    let start = of.integer(&format!("{name}_offset"));
    let length = of.integer(&format!("{name}_length"));
    if start.is_none() && length.is_none() {
        return Ok(None);
    }
    range(file, start, length).map(Some)
}
