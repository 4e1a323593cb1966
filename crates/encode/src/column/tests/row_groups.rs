//! Row groups after others of the same file: what is known of their values must not show.

use bytes::Bytes;
use parquet::file::reader::{ChunkReader, Length};
use proptest::prelude::*;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Codec;
use tracelake_core::settings::ROW_GROUP_ROWS;
use tracelake_schema::arrow::arrow_schema;

use super::{TABLE, chunk_text, split};
use crate::output::{BlockBuilder, OutputFile, OutputSettings, RowSource};
use crate::parquet_file::ParquetFile;
use crate::rows::RowGroupBuilder;

/// The column chunks of a row group, each with its metadata.
type Chunks = Vec<(Bytes, String)>;

/// Makes a row group of each text, by one builder or by a new one each time.
fn row_groups(texts: &[String], is_new_each_time: bool) -> Vec<Chunks> {
    let order = FieldOrder::built_in(&TABLE, "");
    let file = ParquetFile::create(
        Vec::new(),
        &TABLE,
        &arrow_schema(&TABLE),
        OutputSettings::DEFAULT,
    )
    .unwrap();
    let new = || {
        RowGroupBuilder::new(
            RowSource::of(&order),
            file.schema(),
            Codec::DEFAULT,
            ROW_GROUP_ROWS,
        )
    };
    let mut builder = new();
    let row_groups = texts.iter().map(|text| {
        if is_new_each_time {
            builder = new();
        }
        builder
            .push_fields(&order, text.as_bytes(), &split(text))
            .unwrap();
        let Some(row_group) = builder.finish().unwrap() else {
            return Vec::new();
        };
        let chunks = row_group.chunks.iter().map(|chunk| {
            let length = usize::try_from(chunk.len()).unwrap();
            let bytes = chunk.get_bytes(0, length).unwrap();
            (bytes, format!("{:?}", chunk.close))
        });
        chunks.collect()
    });
    row_groups.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_row_group_does_not_depend_on_those_before_it(
        texts in prop::collection::vec(chunk_text(), 2..6),
    ) {
        prop_assert_eq!(row_groups(&texts, false), row_groups(&texts, true));
    }
}

/// Enough values for each way of looking numbers up, and more of them than are kept.
#[test]
fn many_values_do_not_show_in_later_row_groups() {
    let text = |first: u32, rows: u32| -> String {
        let rows = (first..first + rows).map(|row| {
            let float = f64::from(row * 7 % 40_000) / 1e5;
            format!(
                "{row},{},{},{float},1,text{}\n",
                row % 20_000,
                row % 9,
                row % 3_000
            )
        });
        rows.collect()
    };
    let texts = [
        text(0, 50_000),
        text(25_000, 50_000),
        text(0, 140_000),
        text(3, 70_000),
    ];
    assert!(row_groups(&texts, false) == row_groups(&texts, true));
}
