//! Writes one leaf of a Parquet file: its values and their levels, a row group at a time.

use parquet::basic::{Encoding, PageType, Type as Physical};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::PageEncodingStats;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use serde_json::Value;

/// Where a value is: its levels, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Levels {
    definition: i16,
    repetition: i16,
    /// Lists around it.
    lists: i16,
}

impl Levels {
    /// The levels in a field that may be NULL or repeated.
    pub(crate) fn below(self, is_defined: bool) -> Self {
        let definition = self.definition + i16::from(is_defined);
        Self { definition, ..self }
    }

    /// The levels of the first item of a list.
    pub(crate) fn in_list(self) -> Self {
        let lists = self.lists + 1;
        Self { lists, ..self }
    }

    /// The levels of the other items of the list.
    pub(crate) fn again(self) -> Self {
        let repetition = self.lists;
        Self { repetition, ..self }
    }
}

/// A leaf, with its values that aren't written yet and their levels.
pub(crate) struct Leaf {
    descriptor: ColumnDescPtr,
    values: Values,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Booleans(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Leaf {
    pub(crate) fn new(descriptor: &ColumnDescPtr) -> Self {
        Self {
            descriptor: descriptor.clone(),
            values: match descriptor.physical_type() {
                Physical::INT64 => Values::Integers(Vec::new()),
                Physical::DOUBLE => Values::Floats(Vec::new()),
                Physical::BOOLEAN => Values::Booleans(Vec::new()),
                _ => Values::Texts(Vec::new()),
            },
            definition: Vec::new(),
            repetition: Vec::new(),
        }
    }

    /// Appends a value or NULL.
    pub(crate) fn append(&mut self, value: Option<&Value>, at: Levels) {
        self.definition.push(at.below(value.is_some()).definition);
        self.repetition.push(at.repetition);
        if let Some(value) = value {
            let is_pushed = self.values.push(value);
            assert!(is_pushed.is_some(), "{value} is of another kind");
        }
    }

    /// Takes the values out; returns them as a column chunk, and what the footer says of it.
    pub(crate) fn take_chunk(
        &mut self,
        properties: &WriterPropertiesPtr,
    ) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let written = match &self.values {
            Values::Integers(values) => self.chunk::<Int64Type>(values, properties),
            Values::Floats(values) => self.chunk::<DoubleType>(values, properties),
            Values::Booleans(values) => self.chunk::<BoolType>(values, properties),
            Values::Texts(values) => self.chunk::<ByteArrayType>(values, properties),
        };
        *self = Self::new(&self.descriptor);
        written
    }

    fn chunk<T: DataType>(
        &self,
        values: &[T::T],
        properties: &WriterPropertiesPtr,
    ) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let mut bytes = TrackedWrite::new(Vec::new());
        let pages = Box::new(OldNames(SerializedPageWriter::new(&mut bytes)));
        let column = get_column_writer(self.descriptor.clone(), properties.clone(), pages);
        let mut column = get_typed_column_writer::<T>(column);
        column.write_batch(values, Some(&self.definition), Some(&self.repetition))?;
        let mut closed = column.close()?;
        let metadata = closed.metadata;
        let encodings = metadata.encodings().map(old_name);
        let pages = metadata.page_encoding_stats().into_iter().flatten();
        let pages = pages.map(|pages| PageEncodingStats {
            encoding: match pages.page_type {
                PageType::DICTIONARY_PAGE => Encoding::PLAIN_DICTIONARY,
                _ => old_name(pages.encoding),
            },
            ..pages.clone()
        });
        let (encodings, pages) = (encodings.collect(), pages.collect());
        let builder = metadata.into_builder().set_encodings(encodings);
        closed.metadata = builder.set_page_encoding_stats(pages).build()?;
        // A published file has no indices of pages.
        (closed.column_index, closed.offset_index) = (None, None);
        Ok((bytes.into_inner()?, closed))
    }
}

impl Values {
    /// Appends a value; returns `None` if it is of another kind. JSON has integers as strings.
    fn push(&mut self, value: &Value) -> Option<()> {
        match self {
            Self::Integers(values) => values.push(value.as_str()?.parse().ok()?),
            Self::Floats(values) => values.push(value.as_f64()?),
            Self::Booleans(values) => values.push(value.as_bool()?),
            Self::Texts(values) => values.push(value.as_str()?.into()),
        }
        Some(())
    }
}

/// Writes pages that name the encoding of a dictionary and its indices as Parquet 1.0 did. The bytes of both are the same,
/// but readers look at the name, and the crate only knows the name of Parquet 2.0.
struct OldNames<W>(W);

impl<W: PageWriter> PageWriter for OldNames<W> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let size = page.uncompressed_size();
        let mut renamed = page.compressed_page().clone();
        match &mut renamed {
            Page::DictionaryPage { encoding, .. } => *encoding = Encoding::PLAIN_DICTIONARY,
            Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } => {
                *encoding = old_name(*encoding);
            }
        }
        self.0.write_page(CompressedPage::new(renamed, size))
    }

    fn close(&mut self) -> Result<()> {
        self.0.close()
    }
}

/// The name of an encoding in Parquet 1.0.
fn old_name(encoding: Encoding) -> Encoding {
    match encoding {
        Encoding::RLE_DICTIONARY => Encoding::PLAIN_DICTIONARY,
        encoding => encoding,
    }
}
