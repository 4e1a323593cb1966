//! Rules of ours that the files don't keep yet. The change that makes the files keep one sets it.

/// The repeated group of a list is called `element`; else it may be called `item`, too.
pub(super) const LISTS_ARE_OF_ELEMENTS: bool = false;

/// Floats are ordered by their type, like all columns; else the order may be IEEE 754's total order.
pub(super) const FLOATS_ARE_ORDERED_BY_TYPE: bool = false;

/// The bounds of a page of floats are those of its own values; else they may be wider.
pub(super) const PAGES_OF_FLOATS_HAVE_EXACT_BOUNDS: bool = false;

/// Long texts have bounds, cut short; else column chunks and pages with long texts may have none.
pub(super) const LONG_TEXTS_HAVE_BOUNDS: bool = false;

/// A column chunk without a bound doesn't say whether the bound is exact.
pub(super) const FLAGS_COME_WITH_BOUNDS: bool = false;

/// Every page has a checksum.
pub(super) const PAGES_HAVE_CHECKSUMS: bool = false;

/// The most indices in a bit-packed run, if there is a limit: readers are slow when runs are longer.
pub(super) const LONGEST_PACKED: Option<usize> = None;

/// In lists, a page is marked as all NULL exactly if it is, and every column chunk has a column index. The
/// Parquet crate, which writes tables with lists, compares NULLs with rows instead of values.
pub(super) const NULL_PAGES_OF_LISTS_ARE_RIGHT: bool = false;
