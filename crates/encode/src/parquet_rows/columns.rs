//! The columns of a file as a description would have them.

use parquet::basic::Repetition;
use parquet::schema::types::{SchemaDescriptor, Type};
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind, Zone};

use super::cast::{Cast, type_of};
use super::fields::{element, leaf_count, repetition};

/// The kinds of single values.
const KINDS: [Kind; 6] = [
    Kind::Integer,
    Kind::Float,
    Kind::Boolean,
    Kind::Text,
    Kind::DateTime(Zone::Published),
    Kind::DateTime(Zone::None),
];

/// A column of a file, or what is in one.
#[derive(Debug, Clone, PartialEq)]
pub struct FileColumn {
    /// Its name in the file.
    pub name: String,
    /// The kind that keeps all its values; an error says what it is instead.
    pub kind: Result<Kind, String>,
    /// The fields of a struct, or the item of a list.
    pub fields: Vec<FileColumn>,
}

/// The columns of a file.
#[must_use]
pub fn columns_of(schema: &SchemaDescriptor) -> Vec<FileColumn> {
    fields_of(schema.root_schema(), schema, 0)
}

/// The fields of a group whose first column has this number.
fn fields_of(group: &Type, schema: &SchemaDescriptor, first: usize) -> Vec<FileColumn> {
    let mut index = first;
    let fields = group.get_fields().iter().map(|field| {
        let column = column_of(field, schema, index);
        index += leaf_count(field);
        column
    });
    fields.collect()
}

fn column_of(field: &Type, schema: &SchemaDescriptor, index: usize) -> FileColumn {
    match repetition(field) {
        Repetition::REPEATED => FileColumn {
            name: field.name().to_owned(),
            kind: Ok(Kind::List),
            fields: vec![content_of(field, schema, index)],
        },
        Repetition::OPTIONAL | Repetition::REQUIRED => content_of(field, schema, index),
    }
}

/// The column of a field, apart from whether it is optional or repeated.
fn content_of(field: &Type, schema: &SchemaDescriptor, index: usize) -> FileColumn {
    let name = field.name().to_owned();
    if !field.is_group() {
        let descriptor = schema.column(index);
        let cast = |kind| Cast::of(&Column::plain("", kind), &descriptor, &Accept::default());
        let found = KINDS.into_iter().find(|kind| cast(*kind).is_ok());
        return FileColumn {
            name,
            kind: found.ok_or_else(|| type_of(&descriptor)),
            fields: Vec::new(),
        };
    }
    let (kind, fields) = match field.get_fields() {
        [repeated] if repetition(repeated) == Repetition::REPEATED => {
            let item = match element(field, repeated) {
                Some(element) => column_of(element, schema, index),
                None => content_of(repeated, schema, index),
            };
            (Kind::List, vec![item])
        }
        _ => (Kind::Struct, fields_of(field, schema, index)),
    };
    FileColumn {
        name,
        kind: Ok(kind),
        fields,
    }
}
