//! The short forms of a description, written out.

use super::column_spec::ColumnSpec;
use super::fault::{Name, Result, Within, bail, ensure};
use super::spec::{FamilySpec, TableSpec, TraceSpec};
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
