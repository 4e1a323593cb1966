//! The short forms of a description, written out.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::fault::{Name, Result, Within, bail, ensure};
use super::spec::{ColumnSpec, FamilySpec, TableSpec, TraceSpec};
use super::words::snake_case;
use crate::Files;

/// The item of a list has this name by default.
const ITEM: &str = "item";

impl FamilySpec {
    /// The description with names in place of what is left out.
    pub(super) fn in_full(mut self) -> Result<Self> {
        if self.trace.is_empty() {
            self.trace.push(TraceSpec::named(self.family.clone()));
        }
        let derived = self.derived.iter_mut().map(|derived| &mut derived.table);
        for table in self.table.iter_mut().chain(derived) {
            let name = table.name.clone();
            table.write_out().within_named(&name)?;
        }
        Ok(self)
    }
}

impl TableSpec {
    fn write_out(&mut self) -> Result<()> {
        if let Some(file) = self.file.take() {
            let is_alone =
                matches!(self.files, Files::Parts | Files::Whole) && self.names.is_empty();
            ensure!(
                is_alone,
                "file: the name of its one file, without `names` and with no other `files` than \"whole\""
            );
            self.files = Files::Whole;
            self.names = vec![file];
        }
        ensure!(
            self.column.is_empty() || self.columns.0.is_empty(),
            "columns: the columns are either here or in [[table.column]]"
        );
        self.column.append(&mut self.columns.0);
        self.column.iter_mut().try_for_each(ColumnSpec::write_out)
    }
}

impl ColumnSpec {
    /// Gives it and its fields a name.
    fn write_out(&mut self) -> Result<()> {
        if self.name.is_empty() {
            let Some(content) = &self.content else {
                bail!("a column has neither a name nor a content");
            };
            self.name = name_of(content).within_named(content)?;
        }
        let name = self.name.clone();
        if let ("list", [item]) = (&*self.kind, &mut self.field[..])
            && item.name.is_empty()
            && item.content.is_none()
        {
            item.name = name.with(ITEM.to_owned());
        }
        let mut fields = self.field.iter_mut();
        fields.try_for_each(Self::write_out).within_named(&name)
    }
}

/// The name in the lake of a column with this published name.
fn name_of(content: &Name) -> Result<Name> {
    let name = snake_case(content);
    ensure!(
        !name.is_empty(),
        "it has no letter for a name in the lake: give the column a `name`"
    );
    Ok(content.with(name))
}

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
