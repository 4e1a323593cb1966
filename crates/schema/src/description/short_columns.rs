//! Columns in the short form: a table of names and kinds.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::column_spec::ColumnSpec;
use super::fault::Name;

/// Columns by their published names, in the order of the text. TOML gives the keys of a table no order.
#[derive(Default)]
pub(super) struct ShortColumns(pub(super) Vec<ColumnSpec>);

/// The kind of a column, or all of it but its published name.
enum ShortColumn {
    Kind(String),
    Whole(Box<ColumnSpec>),
}

impl<'de> Deserialize<'de> for ShortColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Columns;
        impl<'de> Visitor<'de> for Columns {
            type Value = ShortColumns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names and kinds, such as { time = \"integer\" }")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<ShortColumns, A::Error> {
                let mut columns = Vec::new();
                while let Some(key) = map.next_key::<Name>()? {
                    let column: ColumnSpec = match map.next_value()? {
                        ShortColumn::Kind(kind) => ColumnSpec::of_kind(kind),
                        ShortColumn::Whole(column) => *column,
                    };
                    if column.content.is_some() {
                        return Err(A::Error::custom("the key is the content of the column"));
                    }
                    columns.push((
                        key.offset(),
                        ColumnSpec {
                            content: Some(key),
                            ..column
                        },
                    ));
                }
                columns.sort_by_key(|(offset, _)| *offset);
                Ok(ShortColumns(
                    columns.into_iter().map(|(_, it)| it).collect(),
                ))
            }
        }
        deserializer.deserialize_map(Columns)
    }
}

impl<'de> Deserialize<'de> for ShortColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Column;
        impl<'de> Visitor<'de> for Column {
            type Value = ShortColumn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a kind such as \"integer\", or a table with a kind")
            }

            fn visit_str<E: Error>(self, kind: &str) -> std::result::Result<ShortColumn, E> {
                Ok(ShortColumn::Kind(kind.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                map: A,
            ) -> std::result::Result<ShortColumn, A::Error> {
                let column = ColumnSpec::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ShortColumn::Whole(Box::new(column)))
            }
        }
        deserializer.deserialize_any(Column)
    }
}
