//! Which column of a file is which leaf of a table, and what its levels mean.

use std::sync::Arc;

use parquet::basic::Repetition;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind};

use super::cast::Cast;
use crate::nodes::{Leaf, Node};

/// Why a file isn't one of its table: the name of the column, and the reason.
pub(super) type WrongField = (String, String);

/// The meaning of a definition level of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A value.
    Value,
    /// NULL or an empty list, which has this level in the table.
    Null(u8),
    /// NULL in a mandatory column: the one after so many steps of the path.
    Absent(usize),
}

/// A step from a column to what it contains.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Field(String),
    Item,
}

/// A leaf of a table in a file.
#[derive(Debug, Clone)]
pub(super) struct LeafField {
    pub(super) leaf: Leaf,
    /// The column of the table that it is in.
    pub(super) column: Arc<Column>,
    /// The steps from that column to the leaf.
    pub(super) path: Vec<Step>,
    /// Its number among the columns of the file.
    pub(super) index: usize,
    pub(super) descriptor: ColumnDescPtr,
    pub(super) cast: Cast,
    /// By the definition level in the file.
    pub(super) meanings: Vec<Meaning>,
}

/// Finds the leaves of a column of a table, which is of this name in the file.
///
/// # Errors
/// If the file lacks it or has it with another type.
pub(super) fn leaves_of(
    node: &Node,
    schema: &SchemaDescriptor,
    accept: &Accept,
) -> Result<Vec<LeafField>, WrongField> {
    let mut search = Search {
        schema,
        accept,
        column: &node.column,
        found: Vec::new(),
    };
    let (at, index) = field_of(schema.root_schema(), &node.column.content, 0)
        .map_err(|reason| (node.column.content.to_owned(), reason))?;
    search
        .take(node, at, index, &Around::default())
        .map_err(|reason| (node.column.content.to_owned(), reason))?;
    Ok(search.found)
}

/// The names of columns of a file that a table doesn't have.
pub(super) fn unknown<'a>(
    columns: &'a [Arc<Column>],
    schema: &'a SchemaDescriptor,
) -> impl Iterator<Item = &'a str> {
    let names = schema
        .root_schema()
        .get_fields()
        .iter()
        .map(|field| field.name());
    names.filter(|name| !columns.iter().any(|column| column.content == *name))
}

/// The field of a group with a name, and the number of its first column.
fn field_of<'a>(group: &'a Type, name: &str, first: usize) -> Result<(&'a Type, usize), String> {
    let mut index = first;
    let mut found = None;
    for field in group.get_fields() {
        if field.name() == name && found.replace((&**field, index)).is_some() {
            return Err(format!("has the column '{name}' twice"));
        }
        index += leaf_count(field);
    }
    found.ok_or_else(|| format!("lacks the column '{name}'"))
}

pub(super) fn leaf_count(field: &Type) -> usize {
    match field.is_group() {
        true => field
            .get_fields()
            .iter()
            .map(|field| leaf_count(field))
            .sum(),
        false => 1,
    }
}

pub(super) fn repetition(field: &Type) -> Repetition {
    let info = field.get_basic_info();
    match info.has_repetition() {
        true => info.repetition(),
        false => Repetition::REQUIRED,
    }
}

/// The definition levels above a field of a file, and the path to it.
#[derive(Debug, Clone, Default)]
struct Around {
    meanings: Vec<Meaning>,
    path: Vec<Step>,
}

impl Around {
    /// With another definition level in the file.
    fn and(&self, meaning: Meaning) -> Self {
        let mut next = self.clone();
        next.meanings.push(meaning);
        next
    }

    fn below(&self, step: Step) -> Self {
        let mut next = self.clone();
        next.path.push(step);
        next
    }

    /// NULL in the place of a node.
    fn null(&self, node: &Node) -> Meaning {
        match node.column.mandatory {
            true => Meaning::Absent(self.path.len()),
            false => Meaning::Null(node.null_level()),
        }
    }
}

struct Search<'a> {
    schema: &'a SchemaDescriptor,
    accept: &'a Accept,
    column: &'a Arc<Column>,
    found: Vec<LeafField>,
}

impl Search<'_> {
    /// Takes a field of a file, the first column of which has this number, as a column of a table.
    fn take(
        &mut self,
        node: &Node,
        field: &Type,
        index: usize,
        around: &Around,
    ) -> Result<(), String> {
        match (repetition(field), node.column.kind) {
            // A list without a group around it can't be NULL. An empty one is what an absent field of JSON is.
            (Repetition::REPEATED, Kind::List) => {
                let around = around.and(around.null(node));
                self.take_content(&node.fields[0], field, index, &around.below(Step::Item))
            }
            (Repetition::REPEATED, _) => Err("is a list, where the table has one value".to_owned()),
            (Repetition::OPTIONAL, _) => {
                self.take_content(node, field, index, &around.and(around.null(node)))
            }
            (Repetition::REQUIRED, _) => self.take_content(node, field, index, around),
        }
    }

    /// Takes what a field that isn't NULL contains.
    fn take_content(
        &mut self,
        node: &Node,
        field: &Type,
        index: usize,
        around: &Around,
    ) -> Result<(), String> {
        match node.column.kind {
            Kind::Struct if field.is_group() => {
                for inner in &node.fields {
                    let (at, index) = field_of(field, &inner.column.content, index)?;
                    let step = Step::Field(inner.column.name.clone());
                    self.take(inner, at, index, &around.below(step))?;
                }
                Ok(())
            }
            Kind::List if field.is_group() => {
                let [repeated] = field.get_fields() else {
                    return Err("is a group, where the table has a list".to_owned());
                };
                if repetition(repeated) != Repetition::REPEATED {
                    return Err("is a group, where the table has a list".to_owned());
                }
                let around = around
                    .and(Meaning::Null(node.levels.definition))
                    .below(Step::Item);
                let item = &node.fields[0];
                match element(field, repeated) {
                    Some(element) => self.take(item, element, index, &around),
                    None => self.take_content(item, repeated, index, &around),
                }
            }
            Kind::Struct | Kind::List => {
                Err("has one value, where the table has several".to_owned())
            }
            _ if field.is_group() => Err("is a group, where the table has one value".to_owned()),
            _ => self.take_leaf(node, index, around),
        }
    }

    fn take_leaf(&mut self, node: &Node, index: usize, around: &Around) -> Result<(), String> {
        let descriptor = self.schema.column(index);
        let cast = Cast::of(&node.column, &descriptor, self.accept)?;
        let mut meanings = around.meanings.clone();
        meanings.push(Meaning::Value);
        let levels = usize::try_from(descriptor.max_def_level()).unwrap_or_default();
        assert_eq!(
            levels + 1,
            meanings.len(),
            "each optional or repeated field has a level"
        );
        self.found.push(LeafField {
            leaf: Leaf {
                column: Arc::clone(&node.column),
                most: node.levels,
            },
            column: Arc::clone(self.column),
            path: around.path.clone(),
            index,
            descriptor,
            cast,
            meanings,
        });
        Ok(())
    }
}

/// The element within the repeated field of a list; `None` if that is the element itself. The rules are those of the
/// format for lists that older writers made.
pub(super) fn element<'a>(list: &Type, repeated: &'a Type) -> Option<&'a Type> {
    let [element] = repeated.is_group().then(|| repeated.get_fields())? else {
        return None;
    };
    let is_old = repeated.name() == "array"
        || repeated.name() == format!("{}_tuple", list.name())
        || repetition(element) == Repetition::REPEATED;
    (!is_old).then_some(&**element)
}
