//! The structs of the format that our files have, with the numbers of parquet.thrift. A field that
//! isn't here is refused.

use super::thrift::Type::{Bool, Bytes, I16, I32, I64, List, Struct, Text};
use super::thrift::{Field, Layout, Type};

const fn field(id: i16, name: &'static str, holds: Type, is_required: bool) -> Field {
    Field {
        id,
        name,
        holds,
        is_required,
    }
}

/// A field that is always there.
const fn must(id: i16, name: &'static str, holds: Type) -> Field {
    field(id, name, holds, true)
}

/// A field that may be absent.
const fn may(id: i16, name: &'static str, holds: Type) -> Field {
    field(id, name, holds, false)
}

/// A kind of a union that has nothing more to say.
const fn kind(id: i16, name: &'static str) -> Field {
    may(id, name, Struct(&EMPTY))
}

const fn layout(name: &'static str, fields: &'static [Field]) -> Layout {
    let is_union = false;
    Layout {
        name,
        fields,
        is_union,
    }
}

const fn union(name: &'static str, fields: &'static [Field]) -> Layout {
    let is_union = true;
    Layout {
        name,
        fields,
        is_union,
    }
}

static EMPTY: Layout = layout("empty", &[]);

pub(super) static FILE_META_DATA: Layout = layout(
    "FileMetaData",
    &[
        must(1, "version", I32),
        must(2, "schema", List(&Struct(&SCHEMA_ELEMENT))),
        must(3, "num_rows", I64),
        must(4, "row_groups", List(&Struct(&ROW_GROUP))),
        may(5, "key_value_metadata", List(&Struct(&KEY_VALUE))),
        must(6, "created_by", Text),
        must(7, "column_orders", List(&Struct(&COLUMN_ORDER))),
    ],
);

static SCHEMA_ELEMENT: Layout = layout(
    "SchemaElement",
    &[
        may(1, "type", I32),
        may(3, "repetition_type", I32),
        must(4, "name", Text),
        may(5, "num_children", I32),
        may(6, "converted_type", I32),
        may(10, "logicalType", Struct(&LOGICAL_TYPE)),
    ],
);

static LOGICAL_TYPE: Layout = union(
    "LogicalType",
    &[
        kind(1, "STRING"),
        kind(3, "LIST"),
        may(8, "TIMESTAMP", Struct(&TIMESTAMP)),
    ],
);

static TIMESTAMP: Layout = layout(
    "TimestampType",
    &[
        must(1, "isAdjustedToUTC", Bool),
        must(2, "unit", Struct(&TIME_UNIT)),
    ],
);

static TIME_UNIT: Layout = union("TimeUnit", &[kind(2, "MICROS")]);

static COLUMN_ORDER: Layout = union(
    "ColumnOrder",
    &[kind(1, "TYPE_ORDER"), kind(2, "IEEE_754_TOTAL_ORDER")],
);

static KEY_VALUE: Layout = layout("KeyValue", &[must(1, "key", Text), must(2, "value", Text)]);

static ROW_GROUP: Layout = layout(
    "RowGroup",
    &[
        must(1, "columns", List(&Struct(&COLUMN_CHUNK))),
        must(2, "total_byte_size", I64),
        must(3, "num_rows", I64),
        may(4, "sorting_columns", List(&Struct(&SORTING_COLUMN))),
        must(5, "file_offset", I64),
        must(6, "total_compressed_size", I64),
        must(7, "ordinal", I16),
    ],
);

pub(super) static SORTING_COLUMN: Layout = layout(
    "SortingColumn",
    &[
        must(1, "column_idx", I32),
        must(2, "descending", Bool),
        must(3, "nulls_first", Bool),
    ],
);

static COLUMN_CHUNK: Layout = layout(
    "ColumnChunk",
    &[
        must(2, "file_offset", I64),
        must(3, "meta_data", Struct(&COLUMN_META_DATA)),
        must(4, "offset_index_offset", I64),
        must(5, "offset_index_length", I32),
        may(6, "column_index_offset", I64),
        may(7, "column_index_length", I32),
    ],
);

static COLUMN_META_DATA: Layout = layout(
    "ColumnMetaData",
    &[
        must(1, "type", I32),
        must(2, "encodings", List(&I32)),
        must(3, "path_in_schema", List(&Text)),
        must(4, "codec", I32),
        must(5, "num_values", I64),
        must(6, "total_uncompressed_size", I64),
        must(7, "total_compressed_size", I64),
        must(9, "data_page_offset", I64),
        may(11, "dictionary_page_offset", I64),
        must(12, "statistics", Struct(&STATISTICS)),
        must(13, "encoding_stats", List(&Struct(&PAGE_ENCODING_STATS))),
        may(14, "bloom_filter_offset", I64),
        may(15, "bloom_filter_length", I32),
        may(16, "size_statistics", Struct(&SIZE_STATISTICS)),
    ],
);

static STATISTICS: Layout = layout(
    "Statistics",
    &[
        may(1, "max", Bytes),
        may(2, "min", Bytes),
        may(3, "null_count", I64),
        may(4, "distinct_count", I64),
        may(5, "max_value", Bytes),
        may(6, "min_value", Bytes),
        may(7, "is_max_value_exact", Bool),
        may(8, "is_min_value_exact", Bool),
        may(9, "nan_count", I64),
    ],
);

static PAGE_ENCODING_STATS: Layout = layout(
    "PageEncodingStats",
    &[
        must(1, "page_type", I32),
        must(2, "encoding", I32),
        must(3, "count", I32),
    ],
);

static SIZE_STATISTICS: Layout = layout(
    "SizeStatistics",
    &[
        may(1, "unencoded_byte_array_data_bytes", I64),
        may(2, "repetition_level_histogram", List(&I64)),
        may(3, "definition_level_histogram", List(&I64)),
    ],
);

/// Pages V2 and index pages have other fields, which our files don't have.
pub(super) static PAGE_HEADER: Layout = layout(
    "PageHeader",
    &[
        must(1, "type", I32),
        must(2, "uncompressed_page_size", I32),
        must(3, "compressed_page_size", I32),
        may(4, "crc", I32),
        may(5, "data_page_header", Struct(&DATA_PAGE_HEADER)),
        may(7, "dictionary_page_header", Struct(&DICTIONARY_PAGE_HEADER)),
    ],
);

static DATA_PAGE_HEADER: Layout = layout(
    "DataPageHeader",
    &[
        must(1, "num_values", I32),
        must(2, "encoding", I32),
        must(3, "definition_level_encoding", I32),
        must(4, "repetition_level_encoding", I32),
        may(5, "statistics", Struct(&STATISTICS)),
    ],
);

static DICTIONARY_PAGE_HEADER: Layout = layout(
    "DictionaryPageHeader",
    &[
        must(1, "num_values", I32),
        must(2, "encoding", I32),
        may(3, "is_sorted", Bool),
    ],
);

pub(super) static OFFSET_INDEX: Layout = layout(
    "OffsetIndex",
    &[
        must(1, "page_locations", List(&Struct(&PAGE_LOCATION))),
        may(2, "unencoded_byte_array_data_bytes", List(&I64)),
    ],
);

static PAGE_LOCATION: Layout = layout(
    "PageLocation",
    &[
        must(1, "offset", I64),
        must(2, "compressed_page_size", I32),
        must(3, "first_row_index", I64),
    ],
);

pub(super) static COLUMN_INDEX: Layout = layout(
    "ColumnIndex",
    &[
        must(1, "null_pages", List(&Bool)),
        must(2, "min_values", List(&Bytes)),
        must(3, "max_values", List(&Bytes)),
        must(4, "boundary_order", I32),
        must(5, "null_counts", List(&I64)),
        may(6, "repetition_level_histograms", List(&I64)),
        may(7, "definition_level_histograms", List(&I64)),
        may(8, "nan_counts", List(&I64)),
    ],
);

pub(super) static BLOOM_FILTER_HEADER: Layout = layout(
    "BloomFilterHeader",
    &[
        must(1, "numBytes", I32),
        must(2, "algorithm", Struct(&BLOCK)),
        must(3, "hash", Struct(&XXHASH)),
        must(4, "compression", Struct(&UNCOMPRESSED)),
    ],
);

static BLOCK: Layout = union("BloomFilterAlgorithm", &[kind(1, "BLOCK")]);
static XXHASH: Layout = union("BloomFilterHash", &[kind(1, "XXHASH")]);
static UNCOMPRESSED: Layout = union("BloomFilterCompression", &[kind(1, "UNCOMPRESSED")]);

/// The number of an encoding in a footer or a page header.
pub(super) const PLAIN: i64 = 0;
pub(super) const PLAIN_DICTIONARY: i64 = 2;
pub(super) const RLE: i64 = 3;
pub(super) const RLE_DICTIONARY: i64 = 8;

/// The number of a kind of page.
pub(super) const DATA_PAGE: i64 = 0;
pub(super) const DICTIONARY_PAGE: i64 = 2;
