//! Values as a file stores them to values of a column.

use bytes::Bytes;
use std::ops::RangeInclusive;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::printer::print_schema;
use parquet::schema::types::ColumnDescriptor;
use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::arrow::data_type;
use tracelake_schema::calendar::day_since_1970;
use tracelake_schema::{Column, Kind, Zone};

use crate::typed_rows::TypedValues;

/// How a value of a file becomes one of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cast {
    /// The value unchanged; floats have to be finite, and bytes UTF-8.
    Exact,
    /// An integer that has to fit into 32 bits.
    Code,
    /// A float that has to be a whole number; `is_code` if it has to fit into 32 bits.
    Integral { is_code: bool },
    /// A time in units of this many microseconds, of a year from 0 to 9999.
    Multiplied(i64),
    /// A time in units of which this many are a microsecond. 64 bits of nanoseconds end in 2262.
    Divided(i64),
}

/// The microseconds since 1970 of the years from 0 to 9999.
const YEARS: RangeInclusive<i64> = -62_167_219_200_000_000..=253_402_300_799_999_999;

/// A value as a file stores it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stored {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Bytes(Bytes),
}

impl Cast {
    /// How the values of a column of a file become those of a column of a table.
    ///
    /// # Errors
    /// The types, if they can't.
    pub(super) fn of(
        column: &Column,
        descriptor: &ColumnDescriptor,
        accept: &Accept,
    ) -> std::result::Result<Self, String> {
        let physical = descriptor.physical_type();
        let logical = descriptor.logical_type_ref();
        let is_plain = logical.is_none() && descriptor.converted_type() == ConvertedType::NONE;
        let is_integer = matches!(physical, Physical::INT32 | Physical::INT64)
            && (is_plain || is_signed(descriptor));
        let is_float = matches!(physical, Physical::FLOAT | Physical::DOUBLE) && is_plain;
        let is_integral = is_float && (accept.integral_floats || column.spelling.integral_floats);
        let cast = match column.kind {
            Kind::Integer if is_integer => Some(Self::Exact),
            Kind::Code if is_integer => Some(Self::Code),
            Kind::Integer | Kind::Code if is_integral => Some(Self::Integral {
                is_code: column.kind == Kind::Code,
            }),
            Kind::Float if is_float => Some(Self::Exact),
            Kind::Boolean if physical == Physical::BOOLEAN => Some(Self::Exact),
            Kind::Text if physical == Physical::BYTE_ARRAY && (is_plain || is_text(descriptor)) => {
                Some(Self::Exact)
            }
            Kind::DateTime(zone) if physical == Physical::INT64 => time(zone, descriptor),
            _ => None,
        };
        cast.ok_or_else(|| {
            let hint = match is_float && matches!(column.kind, Kind::Integer | Kind::Code) {
                true => "; --accept integral-floats takes whole numbers",
                false => "",
            };
            let (stored, expected) = (type_of(descriptor), data_type(column));
            format!("is {stored}, where the table has {expected}{hint}")
        })
    }

    /// Adds a value to those of its column.
    ///
    /// # Errors
    /// If the column can't have it; then nothing is added.
    pub(super) fn push(
        self,
        stored: &Stored,
        into: &mut TypedValues,
    ) -> std::result::Result<(), Fault> {
        match (stored, into) {
            (&Stored::Integer(value), TypedValues::Integers(values)) => values.push(match self {
                Self::Exact | Self::Integral { .. } => value,
                Self::Code => i32::try_from(value)
                    .map_err(|_| Fault::OutOfRange { bits: 32 })?
                    .into(),
                Self::Multiplied(by) => value
                    .checked_mul(by)
                    .filter(|time| YEARS.contains(time))
                    .ok_or(Fault::NotDateTime)?,
                Self::Divided(by) if value % by == 0 => value / by,
                Self::Divided(_) => return Err(Fault::BeyondMicroseconds),
            }),
            (&Stored::Float(value), TypedValues::Integers(values)) => {
                values.push(whole(value, self == Self::Integral { is_code: true })?);
            }
            (&Stored::Float(value), TypedValues::Floats(values)) => match value.is_finite() {
                true => values.push(value),
                false => return Err(Fault::NotNumber),
            },
            (&Stored::Boolean(value), TypedValues::Booleans(values)) => values.push(value),
            (Stored::Bytes(value), TypedValues::Texts(values)) => match str::from_utf8(value) {
                Ok(_) => values.push(value.clone()),
                Err(error) => {
                    return Err(Fault::NotUtf8 {
                        byte: value[error.valid_up_to()],
                    });
                }
            },
            _ => unreachable!("a cast has values of the type it was made for"),
        }
        Ok(())
    }

    /// A value of a file as a text.
    pub(super) fn text(self, stored: &Stored, column: &Column) -> Bytes {
        match (self, stored) {
            (Self::Multiplied(by), Stored::Integer(value)) => {
                date_time(column, i128::from(*value) * i128::from(by) * 1000).into()
            }
            (Self::Divided(by), Stored::Integer(value)) => {
                date_time(column, i128::from(*value) * 1000 / i128::from(by)).into()
            }
            (_, Stored::Integer(value)) => value.to_string().into(),
            (_, Stored::Float(value)) => format!("{value:?}").into(),
            (_, Stored::Boolean(value)) => value.to_string().into(),
            (_, Stored::Bytes(value)) => value.clone(),
        }
    }
}

/// A date-time as a text, of nanoseconds since 1970.
pub(super) fn date_time(column: &Column, nanoseconds: i128) -> String {
    const SECOND: i128 = 1_000_000_000;
    let seconds = i64::try_from(nanoseconds.div_euclid(SECOND))
        .expect("64 bits of milliseconds or less are fewer seconds");
    let (year, month, day) = day_since_1970(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let fraction = nanoseconds.rem_euclid(SECOND);
    let zone = match column.kind {
        Kind::DateTime(Zone::Published) => "Z",
        _ => "",
    };
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:09}{zone}")
}

/// The type of a column of a file, as the specification writes it, such as `INT64 (INTEGER(64,false))`.
pub(super) fn type_of(descriptor: &ColumnDescriptor) -> String {
    let mut printed = Vec::new();
    print_schema(&mut printed, descriptor.self_type());
    let printed = String::from_utf8_lossy(&printed);
    let annotation = printed.trim_end().trim_end_matches(';').rsplit_once(" (");
    match annotation.filter(|_| {
        descriptor.logical_type_ref().is_some()
            || descriptor.converted_type() != ConvertedType::NONE
    }) {
        Some((_, annotation)) => format!("{} ({annotation}", descriptor.physical_type()),
        None => descriptor.physical_type().to_string(),
    }
}

/// A whole number as an integer.
fn whole(value: f64, is_code: bool) -> std::result::Result<i64, Fault> {
    if !value.is_finite() || value.fract() != 0.0 {
        return Err(Fault::NotInteger);
    }
    let (low, high, bits) = match is_code {
        true => (f64::from(i32::MIN), 2_147_483_648.0, 32),
        false => (
            -9_223_372_036_854_775_808.0,
            9_223_372_036_854_775_808.0,
            64,
        ),
    };
    if value < low || value >= high {
        return Err(Fault::OutOfRange { bits });
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and in the range")]
    let whole = value as i64;
    Ok(whole)
}

fn is_signed(descriptor: &ColumnDescriptor) -> bool {
    match descriptor.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => integer.is_signed,
        Some(_) => false,
        None => matches!(
            descriptor.converted_type(),
            ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64
        ),
    }
}

fn is_text(descriptor: &ColumnDescriptor) -> bool {
    match descriptor.logical_type_ref() {
        Some(logical) => matches!(
            logical,
            LogicalType::String | LogicalType::Enum | LogicalType::Json
        ),
        None => matches!(
            descriptor.converted_type(),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
        ),
    }
}

/// How a time becomes microseconds, if it has a zone exactly where its column has one.
fn time(zone: Zone, descriptor: &ColumnDescriptor) -> Option<Cast> {
    let (is_utc, unit) = match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Timestamp(time)), _) => (time.is_adjusted_to_u_t_c, time.unit),
        (None, ConvertedType::TIMESTAMP_MILLIS) => (true, TimeUnit::MILLIS),
        (None, ConvertedType::TIMESTAMP_MICROS) => (true, TimeUnit::MICROS),
        _ => return None,
    };
    (is_utc == (zone == Zone::Published)).then_some(match unit {
        TimeUnit::MILLIS => Cast::Multiplied(1000),
        TimeUnit::MICROS => Cast::Multiplied(1),
        TimeUnit::NANOS => Cast::Divided(1000),
    })
}
