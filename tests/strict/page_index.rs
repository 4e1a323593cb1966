//! The two parts of the page index, compared with the pages themselves.

use std::cmp::Ordering;
use std::ops::Range;

use super::bounds::{Bounds, Fit, lower, upper};
use super::page::DataPage;
use super::schema::{Leaf, Physical};
use super::seen::Seen;
use super::signed;
use super::thrift::{Struct, Value};

/// Compares the offset index with the data pages and the ranges of the file that they take.
pub(super) fn check_offsets(
    seen: &mut Seen,
    place: &str,
    index: &Struct,
    ranges: &[Range<usize>],
    pages: &[DataPage<'_>],
) {
    let locations = index.structs("page_locations");
    seen.expect(
        place,
        "pages in the offset index",
        locations.len(),
        ranges.len(),
    );
    let mut row = 0;
    for (at, ((location, range), page)) in locations.iter().zip(ranges).zip(pages).enumerate() {
        let said = ["offset", "compressed_page_size", "first_row_index"]
            .map(|name| location.integer(name).unwrap_or(-1));
        let real = [range.start, range.len(), row].map(signed);
        seen.expect(place, &format!("location of page {at}"), said, real);
        row += page.rows();
    }
    if let Some(said) = index.integers("unencoded_byte_array_data_bytes") {
        let real: Vec<i64> = pages
            .iter()
            .map(|page| signed(page.value_bytes()))
            .collect();
        seen.expect(place, "unencoded bytes of pages", said, real);
    }
}

/// Compares the column index with the data pages.
pub(super) fn check_bounds(
    seen: &mut Seen,
    place: &str,
    index: &Struct,
    leaf: &Leaf,
    pages: &[DataPage<'_>],
) {
    let real: Vec<Bounds<'_>> = pages
        .iter()
        .map(|page| Bounds::of(leaf.physical, page.values.iter().copied()))
        .collect();
    let nulls: Vec<i64> = pages.iter().map(|page| signed(page.nulls())).collect();
    seen.expect(
        place,
        "null_counts",
        index.integers("null_counts"),
        Some(nulls),
    );
    match index.integers("nan_counts") {
        None => {}
        Some(said) if leaf.physical == Physical::Double => {
            let nans = real.iter().map(|page| page.nans).collect();
            seen.expect(place, "nan_counts", said, nans);
        }
        Some(_) => seen.find(place, "nan_counts of values that are no floats"),
    }
    let null_pages = index.list("null_pages").unwrap_or_default();
    let real_null_pages: Vec<Value> = pages
        .iter()
        .map(|page| Value::Bool(page.values.is_empty()))
        .collect();
    seen.expect(place, "null_pages", null_pages, &real_null_pages);
    let (min, max) = (bytes(index, "min_values"), bytes(index, "max_values"));
    seen.expect(
        place,
        "bounds",
        (min.len(), max.len()),
        (pages.len(), pages.len()),
    );
    let mut bounds = Vec::new();
    for (at, (said, real)) in min.into_iter().zip(max).zip(&real).enumerate() {
        let place = format!("{place}, page {at}");
        match real.min_max {
            None => seen.expect(&place, "bounds without a value", said, (&[], &[])),
            Some((min, max)) => {
                for fit in [
                    lower(leaf.physical, said.0, min),
                    upper(leaf.physical, said.1, max),
                ] {
                    check_fit(seen, &place, fit);
                }
                bounds.push(said);
            }
        }
    }
    check_order(seen, place, index, leaf.physical, &bounds);
    for (side, name) in ["repetition_level_histograms", "definition_level_histograms"]
        .into_iter()
        .enumerate()
    {
        if let Some(said) = index.integers(name) {
            let histograms = pages
                .iter()
                .flat_map(|page| page.histograms(leaf)[side].clone());
            seen.expect(place, name, said, histograms.collect());
        }
    }
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
    index: &Struct,
    physical: Physical,
    bounds: &[(&[u8], &[u8])],
) {
    let checked = |value: &[u8]| physical.check(value).is_ok();
    if !bounds.iter().all(|(min, max)| checked(min) && checked(max)) {
        return;
    }
    let never = |order: Ordering| {
        let fits = |a, b| physical.compare(a, b) != order;
        let mut pairs = bounds.windows(2);
        pairs.all(|pair| fits(pair[0].0, pair[1].0) && fits(pair[0].1, pair[1].1))
    };
    // Of several orders that hold, the first one is ours: ascending, descending, none.
    let real = match (never(Ordering::Greater), never(Ordering::Less)) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => 0,
    };
    seen.expect(
        place,
        "boundary_order",
        index.integer("boundary_order"),
        Some(real),
    );
}

fn bytes<'i>(index: &'i Struct, name: &str) -> Vec<&'i [u8]> {
    let list = index.list(name).unwrap_or_default();
    let bytes = list.iter().filter_map(|value| match value {
        Value::Bytes(bytes) => Some(&bytes[..]),
        _ => None,
    });
    bytes.collect()
}
