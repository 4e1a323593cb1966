//! Files that the Parquet crate writes from the rows of JSON lines.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Float32Array, Int64Array, ListArray, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tracelake_core::field_order::{SampleRule, TimeRule};
use tracelake_core::selection::Sample;

use super::*;
use crate::output::{OutputFile, OutputSettings, RowOrder, RowSource};
use crate::parquet_file::ParquetFile;

/// An array whose values, and all within them, may be NULL; codes have 64 bits, as Google's do.
fn loosened(array: &ArrayRef, wide: bool) -> ArrayRef {
    match array.data_type() {
        DataType::Int32 if wide => {
            let codes = array.as_primitive::<Int32Type>();
            let codes = codes.iter().map(|code| code.map(i64::from));
            Arc::new(codes.collect::<Int64Array>())
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter();
            let columns: Vec<ArrayRef> = columns.map(|column| loosened(column, wide)).collect();
            let fields = fields
                .iter()
                .zip(&columns)
                .map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true));
            let nulls = array.nulls().cloned();
            Arc::new(StructArray::new(fields.collect(), columns, nulls))
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = loosened(list.values(), wide);
            let item = Field::new(item.name(), values.data_type().clone(), true);
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::new(Arc::new(item), offsets, values, nulls))
        }
        _ => Arc::clone(array),
    }
}

fn loose(batch: &RecordBatch, wide: bool) -> RecordBatch {
    let columns = batch.columns().iter();
    let columns: Vec<ArrayRef> = columns.map(|column| loosened(column, wide)).collect();
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(&columns);
    let fields: Vec<FieldRef> = fields
        .map(|(field, column)| Arc::new(Field::new(field.name(), column.data_type().clone(), true)))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn written(batch: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file.into()
}

/// Choices of a writer, which vary from one file to another.
#[derive(Debug, Clone)]
struct Form {
    is_loose: bool,
    is_wide: bool,
    has_dictionary: bool,
    version: WriterVersion,
    codec: Compression,
    page_rows: usize,
    group_rows: usize,
    encoding: Option<(&'static str, Encoding)>,
}

fn forms() -> impl Strategy<Value = Form> {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ];
    let encodings = [
        None,
        Some(("time", Encoding::DELTA_BINARY_PACKED)),
        Some(("event", Encoding::DELTA_BINARY_PACKED)),
        Some(("share", Encoding::BYTE_STREAM_SPLIT)),
        Some(("user", Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        Some(("user", Encoding::DELTA_BYTE_ARRAY)),
        Some(("done", Encoding::RLE)),
        Some(("after.list.element", Encoding::DELTA_BINARY_PACKED)),
    ];
    let select = prop::sample::select::<Compression>;
    (
        any::<[bool; 3]>(),
        prop::sample::select(versions.to_vec()),
        select(codecs.to_vec()),
        1..400_usize,
        1..3000_usize,
        prop::sample::select(encodings.to_vec()),
    )
        .prop_map(
            |(flags, version, codec, page_rows, group_rows, encoding)| Form {
                is_loose: flags[0],
                is_wide: flags[0] && flags[1],
                has_dictionary: flags[2],
                version,
                codec,
                page_rows,
                group_rows,
                encoding,
            },
        )
}

impl Form {
    fn properties(&self) -> WriterProperties {
        let mut properties = WriterProperties::builder()
            .set_writer_version(self.version)
            .set_compression(self.codec)
            .set_dictionary_enabled(self.has_dictionary)
            .set_data_page_row_count_limit(self.page_rows)
            .set_write_batch_size(16)
            .set_dictionary_page_size_limit(256)
            .set_max_row_group_row_count(Some(self.group_rows));
        if let Some((column, encoding)) = self.encoding {
            let path = column.split('.').map(str::to_owned).collect::<Vec<_>>();
            let path = ColumnPath::new(path);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding);
        }
        properties.build()
    }
}

/// A row that is likely to have NULLs, empty lists and values that repeat.
fn row() -> impl Strategy<Value = Value> {
    let number = prop_oneof![3 => -3..4_i64, 1 => any::<i64>()];
    let code = prop_oneof![-2..3_i32, any::<i32>()];
    let float = prop_oneof![
        (-4..5_i32).prop_map(|n| f64::from(n) / 4.0),
        -1e300..1e300_f64
    ];
    let text = "[ab\u{e9}\"\\\\]{0,3}|[a-z]{40}";
    let rule = (text, prop::option::of(-2..3_i32)).prop_map(|(name, relation)| match relation {
        Some(relation) => json!({ "name": name, "relation": relation }),
        None => json!({ "name": name }),
    });
    let usage = (
        prop::option::of(float.clone()),
        prop::option::of(float.clone()),
    );
    (
        number.clone(),
        prop::option::of(code),
        prop::option::of(float),
        prop::option::of(any::<bool>()),
        prop::option::of(text),
        prop::option::of(usage),
        prop::option::of(prop::collection::vec(rule, 0..4)),
        prop::option::of(prop::collection::vec(number, 0..5)),
        prop::option::of(0..4_000_000_000_i64),
    )
        .prop_map(
            |(time, event, share, done, user, usage, rules, after, since)| {
                let mut row = Map::new();
                let mut put = |name: &str, value: Option<Value>| {
                    row.extend(value.map(|value| (name.to_owned(), value)));
                };
                put("time", Some(json!(time)));
                put("event", event.map(Value::from));
                put("share", share.map(Value::from));
                put("done", done.map(Value::from));
                put("user", user.map(Value::from));
                put(
                    "usage",
                    usage.map(|(cpus, memory)| {
                        let named = [("cpus", cpus), ("memory", memory)].into_iter();
                        let named = named
                            .filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
                        Value::Object(named.collect())
                    }),
                );
                put("rules", rules.map(Value::from));
                put("after", after.map(Value::from));
                put(
                    "since",
                    since.map(|seconds| {
                        let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
                        json!(format!("2023-11-16 {hour:02}:{minute:02}:07.25Z"))
                    }),
                );
                Value::Object(row)
            },
        )
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

proptest! {
    #[test]
    fn a_file_has_the_rows_of_json(
        few in prop::collection::vec(row(), 1..60),
        times in 1..40_usize,
        form in forms(),
    ) {
        let rows: Vec<Value> = few.iter().cycle().take(few.len() * times).cloned().collect();
        let expected = read_json(&lines(&rows), &order());
        let batch = match form.is_loose {
            true => loose(&expected, form.is_wide),
            false => expected.clone(),
        };
        let file = written(&batch, form.properties());
        if let Some((column, encoding)) = form.encoding {
            let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
            let group = footer.metadata().row_group(0);
            let mut columns = group.columns().iter();
            let chunk = columns.find(|chunk| chunk.column_path().string() == column).unwrap();
            let bounds = chunk.statistics().and_then(|bounds| bounds.min_bytes_opt());
            let is_encoded = chunk.encodings().any(|found| found == encoding);
            prop_assert!(bounds.is_none() || is_encoded, "{}", column);
        }
        let (found, rejects, _) = read(&file, &order());
        prop_assert!(rejects.is_empty());
        prop_assert_eq!(&found, &expected);
        // Through the column encoders.
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        let footer = Arc::clone(footer.metadata());
        let (mut rows, _) = ParquetRows::new(file, footer, &order()).unwrap();
        let settings = OutputSettings::DEFAULT;
        let mut out = ParquetFile::create(Vec::new(), &TABLE, settings, RowOrder::Published).unwrap();
        let mut builder = out.builder(RowSource::Rows(&TABLE), settings);
        while let Some(chunk) = rows.next_chunk().unwrap() {
            if builder.is_full(chunk.rows.len()) {
                out.write(builder.finish().unwrap().unwrap()).unwrap();
            }
            builder.push_typed(&chunk.rows).unwrap();
        }
        if let Some(block) = builder.finish().unwrap() {
            out.write(block).unwrap();
        }
        let file = Bytes::from(out.finish().unwrap());
        let batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
        let written = concat_batches(&expected.schema(), &batches).unwrap();
        prop_assert_eq!(written.columns(), expected.columns());
    }

    #[test]
    fn rules_select_the_rows_of_a_file(
        rows in prop::collection::vec(row(), 1..200),
        of in prop::option::of(1_u32..4),
        from in prop::option::of(-2..3_i64),
        form in forms(),
    ) {
        let mut order = order();
        let whole = read_json(&lines(&rows), &order);
        order.rules.sample = of.map(|of| SampleRule {
            sample: Sample { class: of / 2, of },
            field: order.rule_field("user").unwrap(),
        });
        order.rules.time = from.map(|from| TimeRule {
            from,
            to: Some(3),
            field: order.rule_field("time").unwrap(),
        });
        let expected = read_json(&lines(&rows), &order);
        let file = written(&whole, form.properties());
        let (found, rejects, not_selected) = read(&file, &order);
        prop_assert!(rejects.is_empty());
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(not_selected, (rows.len() - expected.num_rows()) as u64);
    }
}

#[test]
fn floats_of_32_bits_are_exact() {
    let rows = read_json("{\"time\":1,\"share\":0.5}\n", &order());
    let share = rows.schema().index_of("share").unwrap();
    let mut columns = rows.columns().to_vec();
    columns[share] = Arc::new(Float32Array::from(vec![0.1_f32]));
    let schema = rows.schema();
    let fields = schema.fields().iter().zip(&columns).map(|(field, column)| {
        field
            .as_ref()
            .clone()
            .with_data_type(column.data_type().clone())
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    let (found, ..) = read(&written(&batch, WriterProperties::default()), &order());
    let shares = found
        .column(share)
        .as_primitive::<arrow_array::types::Float64Type>();
    assert_eq!(shares.value(0), f64::from(0.1_f32));
}
