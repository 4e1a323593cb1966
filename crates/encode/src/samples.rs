//! Rows for unit tests: a table of plain fields and its records, and rows of tables with structs and lists.

use std::sync::Arc;

use parquet::arrow::ArrowSchemaConverter;
use parquet::schema::types::SchemaDescriptor;
use proptest::prelude::*;
use serde_json::Value;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Kind, TRACES, Table};

use crate::cell::Cell;
use crate::reject::Reject;
use crate::split::Records;
use crate::syntax::{ArrayPlace, Splitting};

/// The fields of [`machines`]: time, machine, event, platform, CPUs, memory.
pub(crate) const FIELDS: usize = 6;

/// A table of plain fields.
pub(crate) fn machines() -> &'static Arc<Table> {
    let mut traces = TRACES.iter().filter(|trace| trace.in_parts());
    let table = traces.find_map(|trace| trace.table("machine_events"));
    table.expect("a table of machines")
}

pub(crate) fn order() -> FieldOrder {
    FieldOrder::built_in(machines(), "the catalog")
}

pub(crate) fn parquet_schema() -> Arc<SchemaDescriptor> {
    let converted = ArrowSchemaConverter::new().convert(&arrow_schema(machines()));
    Arc::new(converted.expect("a schema of the catalog"))
}

pub(crate) fn split(text: &str) -> Records {
    let mut records = Records::default();
    records.split(text.as_bytes(), FIELDS, LineEnding::Lf);
    records
}

/// A whole text at once.
pub(crate) const WHOLE: Splitting = Splitting {
    ending: LineEnding::Lf,
    skipped_bytes: 0,
    skipped_lines: 0,
    is_first: true,
    is_last: true,
    most: u64::MAX,
    array: ArrayPlace::Start,
};

/// The path of the column at fault, the faulty text, and the fault.
pub(crate) fn described(reject: Reject, raw: &[u8]) -> (String, String, Fault) {
    let column = reject.column.as_ref();
    let column = column.map_or("", |column| &*column.name);
    let field = String::from_utf8_lossy(&raw[reject.field()]).into_owned();
    (format!("{column}{}", reject.inner), field, reject.fault)
}

/// Spellings of date-times with a zone.
const DATE_TIMES: &str = "(19|20)[0-9]{2}-0[1-9]-[012][1-8][T ][01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6}(000)?)?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])";

/// A cell of a column with its value of JSON; a text is one of `texts`, if given.
fn cell(column: &'static Column, texts: Option<&'static str>) -> BoxedStrategy<(Cell, Value)> {
    let filled = match column.kind {
        Kind::DateTime(_) => DATE_TIMES
            .prop_map(|text| (Cell::Text(text.clone()), text.into()))
            .boxed(),
        Kind::Integer => (any::<i64>(), any::<bool>())
            .prop_map(|(value, text)| {
                let json = if text {
                    value.to_string().into()
                } else {
                    value.into()
                };
                (Cell::Integer(value), json)
            })
            .boxed(),
        Kind::Code => any::<i32>()
            .prop_map(|value| (Cell::Code(value), value.to_string().into()))
            .boxed(),
        Kind::Float => any::<f64>()
            .prop_filter("no number of JSON", |value| value.is_finite())
            .prop_map(|value| (Cell::Float(value), value.into()))
            .boxed(),
        Kind::Boolean => any::<bool>()
            .prop_map(|value| (Cell::Boolean(value), value.into()))
            .boxed(),
        Kind::Text => texts
            .map_or_else(|| any::<String>().boxed(), Strategy::boxed)
            .prop_map(|value| (Cell::Text(value.clone()), value.into()))
            .boxed(),
        Kind::Struct => object(&column.fields, None)
            .prop_map(|(cells, json)| (Cell::Struct(cells), json))
            .boxed(),
        Kind::List => prop::collection::vec(cell(&column.fields[0], None), 0..4)
            .prop_map(|items| {
                let (cells, json): (Vec<Cell>, Vec<_>) = items.into_iter().unzip();
                (Cell::List(cells), json.into())
            })
            .boxed(),
    };
    if column.mandatory {
        filled
    } else {
        prop_oneof![4 => filled, 1 => Just((Cell::Null, Value::Null))].boxed()
    }
}

/// The cells of some columns, and an object of them in which some nulls are left out; texts are of `texts`, if given.
pub(crate) fn object(
    columns: &'static [Arc<Column>],
    texts: Option<&'static str>,
) -> BoxedStrategy<(Vec<Cell>, Value)> {
    let cells: Vec<_> = columns.iter().map(|column| cell(column, texts)).collect();
    (cells, any::<bool>(), any::<bool>())
        .prop_map(|(cells, leave_out, reverse)| {
            let (cells, values): (Vec<Cell>, Vec<_>) = cells.into_iter().unzip();
            let names = columns.iter().map(|column| column.content.to_owned());
            let mut named: Vec<(String, Value)> = names.zip(values).collect();
            named.retain(|(_, value)| !(leave_out && value.is_null()));
            if reverse {
                named.reverse();
            }
            (cells, named.into_iter().collect())
        })
        .boxed()
}
