//! The two parts of the page index, compared with the pages themselves.

use std::cmp::Ordering;
use std::ops::Range;

use parquet::basic::BoundaryOrder;
use parquet::basic::Type as Physical;
use parquet::data_type::AsBytes;
use parquet::file::page_index::column_index::{ColumnIndexMetaData, PrimitiveColumnIndex};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::bounds::{Bounds, Fit, lower, upper};
use super::page::DataPage;
use super::schema::{Leaf, check_value, compare};
use super::seen::Seen;
use super::signed;

/// Compares the offset index with the data pages and the ranges of the file that they take.
pub(super) fn check_offsets<'r>(
    seen: &mut Seen,
    place: &str,
    index: &OffsetIndexMetaData,
    ranges: impl Iterator<Item = &'r Range<usize>>,
    pages: &[DataPage<'_>],
) {
    let locations = index.page_locations();
    let what = "pages in the offset index";
    seen.expect(place, what, locations.len(), pages.len());
    let mut row = 0;
    for (at, ((said, range), page)) in locations.iter().zip(ranges).zip(pages).enumerate() {
        let said = [
            said.offset,
            said.compressed_page_size.into(),
            said.first_row_index,
        ];
        let real = [range.start, range.len(), row].map(signed);
        seen.expect(place, &format!("location of page {at}"), said, real);
        row += page.rows();
    }
    if let Some(said) = index.unencoded_byte_array_data_bytes() {
        let real = pages.iter().map(|page| signed(page.value_bytes()));
        seen.expect(place, "unencoded bytes of pages", said, &real.collect());
    }
}

/// The bytes of the bounds of a page; `None` if the index says that it has no value.
fn bounds(index: &ColumnIndexMetaData, page: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    fn both<T: AsBytes>(
        index: &PrimitiveColumnIndex<T>,
        page: usize,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let (min, max) = (index.min_value(page)?, index.max_value(page)?);
        Some((min.as_bytes().to_vec(), max.as_bytes().to_vec()))
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => both(index, page),
        ColumnIndexMetaData::INT32(index) => both(index, page),
        ColumnIndexMetaData::INT64(index) => both(index, page),
        ColumnIndexMetaData::DOUBLE(index) => both(index, page),
        ColumnIndexMetaData::BYTE_ARRAY(index) => {
            let (min, max) = (index.min_value(page)?, index.max_value(page)?);
            Some((min.to_vec(), max.to_vec()))
        }
        other => panic!("no column of ours: {other:?}"),
    }
}

/// Compares the column index with the data pages.
pub(super) fn check_bounds(
    seen: &mut Seen,
    place: &str,
    index: &ColumnIndexMetaData,
    leaf: &Leaf,
    pages: &[DataPage<'_>],
) {
    let count = index.num_pages();
    seen.expect(
        place,
        "pages in the column index",
        count,
        pages.len() as u64,
    );
    if count != pages.len() as u64 {
        return;
    }
    let nulls = pages.iter().map(|page| signed(page.nulls())).collect();
    seen.expect(place, "null_counts", index.null_counts(), Some(&nulls));
    if index.nan_counts().is_some() && leaf.physical != Physical::DOUBLE {
        seen.find(place, "nan_counts of values that are no floats");
    }
    let mut all = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let place = format!("{place}, page {at}");
        let real = Bounds::of(leaf.physical, page.values.iter().copied());
        let is_null = index.is_null_page(at);
        seen.expect(&place, "null_pages", is_null, page.values.is_empty());
        if let Some(said) = index.nan_count(at) {
            seen.expect(&place, "nan_counts", said, real.nans);
        }
        let said = bounds(index, at);
        match (real.min_max, &said) {
            (Some((min, max)), Some((lowest, highest))) => {
                check_fit(seen, &place, lower(leaf.physical, lowest, min));
                check_fit(seen, &place, upper(leaf.physical, highest, max));
            }
            (None, None) => {}
            (real, said) => seen.expect(&place, "bounds", said.is_some(), real.is_some()),
        }
        all.extend(said);
        let said = [
            index.repetition_level_histogram(at),
            index.definition_level_histogram(at),
        ];
        for (said, real) in said.into_iter().zip(page.histograms(leaf)) {
            if let Some(said) = said {
                seen.expect(&place, "level_histograms", said, &real[..]);
            }
        }
    }
    check_order(seen, place, index, leaf.physical, &all);
}

fn check_fit(seen: &mut Seen, place: &str, fit: super::Result<Fit>) {
    match fit {
        Ok(Fit::Exact) => {}
        Ok(Fit::Cut) => seen.cut_bounds += 1,
        Ok(Fit::Wide) => seen.find(place, "a bound is wider than needed"),
        Err(error) => seen.find(place, &error),
    }
}

/// Compares the order that the index declares with the bounds that it has.
fn check_order(
    seen: &mut Seen,
    place: &str,
    index: &ColumnIndexMetaData,
    physical: Physical,
    bounds: &[(Vec<u8>, Vec<u8>)],
) {
    let checked = |value: &[u8]| check_value(physical, value).is_ok();
    if !bounds.iter().all(|(min, max)| checked(min) && checked(max)) {
        return;
    }
    let never = |order: Ordering| {
        let fits = |a, b| compare(physical, a, b) != order;
        let mut pairs = bounds.windows(2);
        pairs.all(|pair| fits(&pair[0].0, &pair[1].0) && fits(&pair[0].1, &pair[1].1))
    };
    // Of several orders that hold, the first one is ours: ascending, descending, none.
    let real = match (never(Ordering::Greater), never(Ordering::Less)) {
        (true, _) => BoundaryOrder::ASCENDING,
        (false, true) => BoundaryOrder::DESCENDING,
        (false, false) => BoundaryOrder::UNORDERED,
    };
    let said = index.get_boundary_order();
    seen.expect(place, "boundary_order", said, Some(real));
}
