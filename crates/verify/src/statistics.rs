//! Checks the claims of a Parquet file about its values: statistics of column chunks, page index and
//! bloom filters. A reader that trusts a forged maximum skips rows without a word.

use std::cmp::Ordering;
use std::sync::Arc;

use parquet::basic::BoundaryOrder;
use parquet::bloom_filter::Sbbf;
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::page_index::RowGroupPageIndex;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::RowGroupReader;
use parquet::file::serialized_reader::{SerializedPageReader, SerializedRowGroupReader};
use parquet::file::statistics::Statistics;
use tracelake_convert::lake_file::{CheckedFile, UncheckedFile, Writer, not_parquet};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Location, RandomAccess};
use tracelake_source::LINE_LIMIT;

use super::finding::corrupt;

/// Values read at a time.
const BATCH: usize = 1 << 16;

/// The most bytes of texts in lists of a row group, each text counted as often as it occurs: as Arrow arrays they
/// have 64 MiB when `convert` ends a row group. Texts of rows are not limited, because they are read a few rows at a
/// time.
const MOST_LIST_BYTES: usize = 128 << 20;

/// A fault of a file.
enum Wrong {
    Unreadable(ParquetError),
    /// A false claim of the file.
    Claim(String),
}

impl From<ParquetError> for Wrong {
    fn from(error: ParquetError) -> Self {
        Self::Unreadable(error)
    }
}

type Checked = std::result::Result<(), Wrong>;

fn claim(reason: impl Into<String>) -> Wrong {
    Wrong::Claim(reason.into())
}

/// The order of rows that a file may declare.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sorting<'a> {
    /// None, or of some row groups that they ascend by an integer, which is checked.
    ByTime,
    /// Of each row group that its rows ascend by these columns, NULL first. The rows are checked elsewhere.
    By(&'a [&'a str]),
}

/// Reads every value of a file and compares what the file says about them.
///
/// # Memory
/// The footer with the page index, and a batch of one column's values.
pub(super) fn check_statistics(
    context: &Context,
    path: &Location,
    sorting: Sorting<'_>,
) -> Result<()> {
    let file = RandomAccess::open(path)?;
    let metadata = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(&UncheckedFile(&file))
        .map_err(|error| not_parquet(path, error))?;
    let file = CheckedFile::new(file, &metadata, Writer::Convert)
        .map_err(|error| not_parquet(path, error))?;
    let file = Arc::new(file);
    let properties = ReaderProperties::builder().set_read_bloom_filter(true);
    let properties = Arc::new(properties.build());
    let mut rows = 0_i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let index = metadata.page_index_for_row_group(number);
        // Without a page index, pages are found by their headers and not where the index says.
        let no_index = RowGroupPageIndex::new(number, None);
        let checked = SerializedRowGroupReader::new(
            Arc::clone(&file),
            group,
            no_index,
            Arc::clone(&properties),
        );
        let reader = checked.map_err(|error| not_parquet(path, error))?;
        let wrong = |wrong, what: String| {
            match wrong {
            Wrong::Unreadable(error) => not_parquet(path, error),
            Wrong::Claim(reason) => corrupt(format!("{what}row group {number}: {reason}"))
                .at(path)
                .hint("readers that trust it miss rows: convert into another directory, or again with --overwrite"),
        }
        };
        let sorted = match sorting {
            Sorting::ByTime => check_sorting(&reader, group),
            Sorting::By(names) => check_declared(group, names),
        };
        sorted.map_err(|order| wrong(order, String::new()))?;
        for (at, chunk) in group.columns().iter().enumerate() {
            context.check()?;
            check_chunk(&file, &reader, group, chunk, (at, &index))
                .map_err(|chunks| wrong(chunks, format!("column {} of ", chunk.column_path())))?;
        }
        rows = rows.saturating_add(group.num_rows());
    }
    if rows != metadata.file_metadata().num_rows() {
        return Err(
            corrupt("the rows of its row groups don't add up to those of its footer").at(path),
        );
    }
    Ok(())
}

/// Checks that a row group claims to be in this order.
fn check_declared(group: &RowGroupMetaData, names: &[&str]) -> Checked {
    let claimed = group.sorting_columns().map_or(&[][..], |columns| columns);
    let is_as_declared = claimed.len() == names.len()
        && claimed.iter().zip(names).all(|(claimed, name)| {
            let at = usize::try_from(claimed.column_idx).ok();
            let chunk = at.and_then(|at| group.columns().get(at));
            let path = chunk.map(|chunk| chunk.column_path().parts());
            !claimed.descending
                && claimed.nulls_first
                && path.is_some_and(|path| path.len() == 1 && path[0] == *name)
        });
    match is_as_declared {
        true => Ok(()),
        false => Err(claim("it claims another order of its rows than theirs")),
    }
}

/// Checks that the rows of a row group are in the order that it claims: ascending by one integer without NULLs.
fn check_sorting(reader: &dyn RowGroupReader, group: &RowGroupMetaData) -> Checked {
    let Some(columns) = group.sorting_columns() else {
        return Ok(());
    };
    let other = || claim("it claims an order of its rows that convert never does");
    let [column] = &columns[..] else {
        return Err(other());
    };
    let stated = usize::try_from(column.column_idx).ok();
    let at = stated.filter(|at| *at < group.num_columns() && !column.descending);
    let sorted = reader.get_column_reader(at.ok_or_else(other)?)?;
    let ColumnReader::Int64ColumnReader(mut reader) = sorted else {
        return Err(other());
    };
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut last = i64::MIN;
    loop {
        values.clear();
        levels.clear();
        let (rows, found, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        let is_after = values.first().is_none_or(|first| *first >= last);
        if found < rows || !is_after || !values.is_sorted() {
            return Err(claim("its rows aren't in the order that it claims"));
        }
        last = values.last().copied().unwrap_or(last);
    }
}

fn check_chunk(
    file: &Arc<CheckedFile>,
    reader: &dyn RowGroupReader,
    group: &RowGroupMetaData,
    chunk: &ColumnChunkMetaData,
    (at, index): (usize, &RowGroupPageIndex),
) -> Checked {
    let rows = u64::try_from(group.num_rows()).map_err(|_| claim("a negative number of rows"))?;
    let locations = index.page_locations(at).map(Vec::as_slice);
    let pages = match locations {
        Some(locations) => {
            check_locations(file, chunk, locations, rows)?;
            page_rows(locations, rows)?
        }
        None => vec![rows],
    };
    let statistics = chunk.statistics();
    let distinct = statistics.and_then(Statistics::distinct_count_opt);
    if distinct.is_some() {
        return Err(claim(
            "it claims a number of distinct values, which convert never does",
        ));
    }
    let column_index = locations.and(index.column_index(at));
    let bloom = reader.get_column_bloom_filter(at);
    let nulls = statistics.and_then(Statistics::null_count_opt);
    macro_rules! check {
        ($reader:expr, $kind:ident, $index:ident, $order:expr, $own:expr, $length:expr) => {{
            let bounds = match statistics {
                Some(Statistics::$kind(stated)) => Bounds {
                    min: stated.min_opt().cloned(),
                    max: stated.max_opt().cloned(),
                    min_is_exact: stated.min_is_exact(),
                    max_is_exact: stated.max_is_exact(),
                },
                None => Bounds::none(),
                Some(_) => return Err(claim("its statistics are of another type")),
            };
            let of_pages = match column_index {
                Some(ColumnIndexMetaData::$index(stated)) => {
                    let bounds = |page| Bounds {
                        min: stated.min_value(page).map($own),
                        max: stated.max_value(page).map($own),
                        min_is_exact: false,
                        max_is_exact: false,
                    };
                    Some((0..pages.len()).map(bounds).collect())
                }
                None => None,
                Some(_) => return Err(claim("its page index is of another type")),
            };
            let stated = Stated {
                chunk: bounds,
                nulls,
                pages,
                of_pages,
                index: column_index,
                bloom,
            };
            let descriptor = chunk.column_descr();
            let levels = (
                descriptor.max_def_level() > 0,
                descriptor.max_rep_level() > 0,
            );
            check_values($reader, &stated, levels, $order, $length)
        }};
    }
    match reader.get_column_reader(at)? {
        ColumnReader::BoolColumnReader(reader) => {
            check!(reader, Boolean, BOOLEAN, |a, b| a.cmp(b), |v| *v, |_| 0)
        }
        ColumnReader::Int32ColumnReader(reader) => {
            check!(reader, Int32, INT32, |a, b| a.cmp(b), |v| *v, |_| 0)
        }
        ColumnReader::Int64ColumnReader(reader) => {
            check!(reader, Int64, INT64, |a, b| a.cmp(b), |v| *v, |_| 0)
        }
        ColumnReader::DoubleColumnReader(reader) => {
            // NaN isn't in a lake, and the two zeros are equal, as the format has it.
            let order = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or(Ordering::Greater);
            check!(reader, Double, DOUBLE, order, |v| *v, |_| 0)
        }
        ColumnReader::ByteArrayColumnReader(reader) => check!(
            reader,
            ByteArray,
            BYTE_ARRAY,
            |a, b| a.data().cmp(b.data()),
            |v: &[u8]| v.to_vec().into(),
            |text| text.len()
        ),
        _ => Err(claim("a type that no column of a lake has")),
    }
}

/// Checks that pages are where the offset index says, and have as many values.
fn check_locations(
    file: &Arc<CheckedFile>,
    chunk: &ColumnChunkMetaData,
    locations: &[PageLocation],
    rows: u64,
) -> Checked {
    let (start, bytes) = chunk.byte_range();
    let end = start
        .checked_add(bytes)
        .and_then(|end| i64::try_from(end).ok());
    let mut next = Some(chunk.data_page_offset());
    for page in locations {
        if Some(page.offset) != next {
            return Err(claim("a page is not where its page index says"));
        }
        next = page
            .offset
            .checked_add(i64::from(page.compressed_page_size));
    }
    if next != end {
        return Err(claim("its page index doesn't end where its pages do"));
    }
    // Of a column of lists, the headers say how many values a page has, and not how many rows.
    if chunk.column_descr().max_rep_level() > 0 {
        return Ok(());
    }
    let total = usize::try_from(rows).map_err(|_| claim("a number of rows that no file has"))?;
    let mut reader = SerializedPageReader::new(Arc::clone(file), chunk, total, None)?;
    let mut found = Vec::new();
    while let Some(page) = reader.peek_next_page()? {
        if !page.is_dict {
            found.push(page.num_levels.unwrap_or_default() as u64);
        }
        reader.skip_next_page()?;
    }
    if found != page_rows(locations, rows)? {
        return Err(claim(
            "its page index gives its pages other numbers of rows",
        ));
    }
    Ok(())
}

/// The rows of each page by the offset index.
fn page_rows(locations: &[PageLocation], rows: u64) -> std::result::Result<Vec<u64>, Wrong> {
    let starts = locations
        .iter()
        .map(|page| u64::try_from(page.first_row_index).ok());
    let with_end: Option<Vec<u64>> = starts.chain([Some(rows)]).collect();
    let possible = with_end.filter(|starts| starts.first() == Some(&0) && starts.is_sorted());
    let starts = possible.ok_or_else(|| claim("its page index gives its pages impossible rows"))?;
    Ok(starts.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// The smallest and the largest value, as a file states them.
struct Bounds<T> {
    min: Option<T>,
    max: Option<T>,
    min_is_exact: bool,
    max_is_exact: bool,
}

impl<T> Bounds<T> {
    fn none() -> Self {
        Self {
            min: None,
            max: None,
            min_is_exact: false,
            max_is_exact: false,
        }
    }

    /// Compares the bounds with the smallest and the largest value there is.
    fn check(
        &self,
        found: &Option<(T, T)>,
        order: impl Fn(&T, &T) -> Ordering,
        of: &str,
    ) -> Checked {
        let Some((min, max)) = found else {
            return Ok(());
        };
        let too_high = self.min.as_ref().map(|stated| order(stated, min));
        let too_low = self.max.as_ref().map(|stated| order(max, stated));
        for (what, order, is_exact) in [
            ("minimum", too_high, self.min_is_exact),
            ("maximum", too_low, self.max_is_exact),
        ] {
            match order {
                Some(Ordering::Greater) => {
                    return Err(claim(format!("there is a value beyond the {what} of {of}")));
                }
                Some(Ordering::Less) if is_exact => {
                    return Err(claim(format!("no value is the {what} of {of}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The claims of a file about a column chunk.
struct Stated<'a, T> {
    chunk: Bounds<T>,
    nulls: Option<u64>,
    /// The rows of each page; one page of all rows if there is no page index.
    pages: Vec<u64>,
    of_pages: Option<Vec<Bounds<T>>>,
    index: Option<&'a ColumnIndexMetaData>,
    bloom: Option<&'a Sbbf>,
}

fn check_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    stated: &Stated<'_, T::T>,
    (has_nulls, has_lists): (bool, bool),
    order: impl Fn(&T::T, &T::T) -> Ordering,
    length: impl Fn(&T::T) -> usize,
) -> Checked
where
    T::T: Clone,
{
    let mut of_chunk = None;
    let mut nulls_of_chunk = 0;
    let mut list_bytes = 0_usize;
    let (mut definition, mut repetition, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (page, &rows) in stated.pages.iter().enumerate() {
        let (mut of_page, mut nulls, mut count) = (None, 0, 0);
        let mut left = rows;
        while left > 0 {
            definition.clear();
            repetition.clear();
            values.clear();
            let most = usize::try_from(left).map_or(BATCH, |left| left.min(BATCH));
            let (records, _, levels) = reader.read_records(
                most,
                has_nulls.then_some(&mut definition),
                has_lists.then_some(&mut repetition),
                &mut values,
            )?;
            if records == 0 {
                return Err(claim("it has fewer rows than its row group"));
            }
            left -= records as u64;
            count += values.len();
            nulls += (levels - values.len()) as u64;
            for value in &values {
                if length(value) > LINE_LIMIT {
                    return Err(claim(
                        "it has a text that is longer than any line of a source",
                    ));
                }
                list_bytes = list_bytes.saturating_add(length(value));
                extend(&mut of_page, value, &order);
                if stated.bloom.is_some_and(|bloom| !bloom.check(value)) {
                    return Err(claim("its bloom filter lacks a value"));
                }
            }
        }
        if has_lists && list_bytes > MOST_LIST_BYTES {
            return Err(claim(format!(
                "the texts of its lists have {list_bytes} bytes; at most {MOST_LIST_BYTES} are read"
            )));
        }
        if let Some(bounds) = &stated.of_pages {
            bounds[page].check(&of_page, &order, &format!("page {page}"))?;
        }
        if let Some(index) = stated.index {
            let stated = index.null_count(page);
            if stated.is_some_and(|stated| u64::try_from(stated) != Ok(nulls)) {
                return Err(claim(format!("page {page} has another number of NULLs")));
            }
            // In a column of lists, the Parquet crate marks a page with as many NULLs as rows.
            if !has_lists && index.is_null_page(page) != (count == 0) {
                return Err(claim(format!(
                    "page {page} has {count} values, and its page index says otherwise"
                )));
            }
        }
        nulls_of_chunk += nulls;
        if let Some((min, max)) = of_page {
            extend(&mut of_chunk, &min, &order);
            extend(&mut of_chunk, &max, &order);
        }
    }
    if stated.nulls.is_some_and(|stated| stated != nulls_of_chunk) {
        return Err(claim(
            "it has another number of NULLs than its statistics say",
        ));
    }
    stated.chunk.check(&of_chunk, &order, "the column chunk")?;
    check_order(stated, order)
}

fn extend<T: Clone>(range: &mut Option<(T, T)>, value: &T, order: &impl Fn(&T, &T) -> Ordering) {
    match range {
        None => *range = Some((value.clone(), value.clone())),
        Some((min, max)) => {
            if order(value, min).is_lt() {
                *min = value.clone();
            } else if order(value, max).is_gt() {
                *max = value.clone();
            }
        }
    }
}

/// Checks that the bounds of pages are in the order that the page index claims: readers search in it.
fn check_order<T>(stated: &Stated<'_, T>, order: impl Fn(&T, &T) -> Ordering) -> Checked {
    let Some((index, pages)) = stated.index.zip(stated.of_pages.as_ref()) else {
        return Ok(());
    };
    let wrong = match index.get_boundary_order() {
        Some(BoundaryOrder::ASCENDING) => Ordering::Greater,
        Some(BoundaryOrder::DESCENDING) => Ordering::Less,
        _ => return Ok(()),
    };
    let mins: Vec<&T> = pages.iter().filter_map(|page| page.min.as_ref()).collect();
    let maxes: Vec<&T> = pages.iter().filter_map(|page| page.max.as_ref()).collect();
    let is_wrong = |pair: &[&T]| order(pair[0], pair[1]) == wrong;
    if mins.windows(2).any(is_wrong) || maxes.windows(2).any(is_wrong) {
        return Err(claim(
            "the bounds of its pages are not in the order it claims",
        ));
    }
    Ok(())
}
