//! A value of an Arrow array that is no struct and no list.

use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, cast::AsArray};
use arrow_schema::DataType;

/// A value of a lake.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Scalar<'a> {
    /// Of 32 or 64 bits, or the microseconds of a date-time since 1970.
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Text(&'a str),
}

/// The value of an array in a row; `None` if it is NULL, a struct or a list.
pub(super) fn scalar(array: &dyn Array, row: usize) -> Option<Scalar<'_>> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Int32 => Scalar::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Scalar::Integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(..) => {
            Scalar::Integer(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Float64 => Scalar::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Scalar::Boolean(array.as_boolean().value(row)),
        DataType::Utf8 => Scalar::Text(array.as_string::<i32>().value(row)),
        _ => return None,
    })
}
