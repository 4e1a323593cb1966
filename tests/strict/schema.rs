//! The schema of a file: its leaves, and the order of their values.

use std::cmp::Ordering;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::Type;

use super::Result;

/// The size of a value in PLAIN encoding, if all values of a type have the same; a boolean in statistics.
pub(super) fn value_bytes(physical: Physical) -> Option<usize> {
    match physical {
        Physical::BOOLEAN => Some(1),
        Physical::INT32 => Some(4),
        Physical::INT64 | Physical::DOUBLE => Some(8),
        _ => None,
    }
}

/// Checks that these are the bytes of a value.
pub(super) fn check_value(physical: Physical, value: &[u8]) -> Result<()> {
    let holds = match physical {
        Physical::BOOLEAN => matches!(value, [0 | 1]),
        Physical::BYTE_ARRAY => str::from_utf8(value).is_ok(),
        _ => Some(value.len()) == value_bytes(physical),
    };
    if holds {
        return Ok(());
    }
    Err(format!("{value:?} is no {physical}"))
}

/// The order of two values that were checked; the two zeros are equal, and so is NaN to all.
pub(super) fn compare(physical: Physical, a: &[u8], b: &[u8]) -> Ordering {
    match physical {
        Physical::INT32 => i32::from_le_bytes(fixed(a)).cmp(&i32::from_le_bytes(fixed(b))),
        Physical::INT64 => i64::from_le_bytes(fixed(a)).cmp(&i64::from_le_bytes(fixed(b))),
        Physical::DOUBLE => {
            let order = float(a).partial_cmp(&float(b));
            order.unwrap_or(Ordering::Equal)
        }
        _ => a.cmp(b),
    }
}

fn fixed<const N: usize>(value: &[u8]) -> [u8; N] {
    value.try_into().expect("the length was checked")
}

/// The float of these bytes, whose length was checked.
pub(super) fn float(value: &[u8]) -> f64 {
    f64::from_le_bytes(fixed(value))
}

/// A column.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) path: Vec<String>,
    pub(super) physical: Physical,
    pub(super) max_repetition: u32,
    pub(super) max_definition: u32,
    /// The definition level of each list that it is in, from the outermost: an element has at least
    /// this one.
    pub(super) element_levels: Vec<u32>,
}

/// The leaves of a schema, in order.
pub(super) fn leaves(root: &Type) -> Result<Vec<Leaf>> {
    let top = Leaf {
        path: Vec::new(),
        physical: Physical::BOOLEAN,
        max_repetition: 0,
        max_definition: 0,
        element_levels: Vec::new(),
    };
    let mut leaves = Vec::new();
    add_children(root, &top, &mut leaves)?;
    Ok(leaves)
}

fn add_children(group: &Type, above: &Leaf, leaves: &mut Vec<Leaf>) -> Result<()> {
    let children = group.get_fields();
    let names: Vec<&str> = children.iter().map(|child| child.name()).collect();
    if names.is_empty() {
        return Err(format!("the group {:?} has no children", above.path));
    }
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(format!("{:?} has two children {name}", above.path));
        }
    }
    let info = group.get_basic_info();
    let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let named = match info.logical_type_ref() {
        Some(LogicalType::List) => names == ["list"],
        _ => !is_repeated || names == ["element"],
    };
    if !named {
        return Err(format!("the list {:?} has {names:?}", above.path));
    }
    children
        .iter()
        .try_for_each(|child| add_leaves(child, above, leaves))
}

fn add_leaves(child: &Type, above: &Leaf, leaves: &mut Vec<Leaf>) -> Result<()> {
    let mut leaf = Leaf {
        path: [&above.path[..], &[child.name().to_owned()]].concat(),
        element_levels: above.element_levels.clone(),
        ..*above
    };
    let info = child.get_basic_info();
    if !info.has_repetition() {
        return Err(format!("{:?} has no repetition", leaf.path));
    }
    leaf.max_definition += u32::from(info.repetition() != Repetition::REQUIRED);
    if info.repetition() == Repetition::REPEATED {
        leaf.max_repetition += 1;
        leaf.element_levels.push(leaf.max_definition);
    }
    let annotation = (info.logical_type_ref(), info.converted_type());
    if child.is_group() {
        return match annotation {
            (Some(LogicalType::List), ConvertedType::LIST) | (None, ConvertedType::NONE) => {
                add_children(child, &leaf, leaves)
            }
            other => Err(format!("{:?} is a group of {other:?}", leaf.path)),
        };
    }
    leaf.physical = child.get_physical_type();
    match (leaf.physical, annotation) {
        (Physical::BYTE_ARRAY, (Some(LogicalType::String), ConvertedType::UTF8))
        | (
            Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::DOUBLE,
            (None, ConvertedType::NONE),
        ) => {}
        (
            Physical::INT64,
            (
                Some(LogicalType::Timestamp(time)),
                ConvertedType::NONE | ConvertedType::TIMESTAMP_MICROS,
            ),
        ) if time.unit == TimeUnit::MICROS => {}
        other => return Err(format!("{:?} is a {other:?}", leaf.path)),
    }
    leaves.push(leaf);
    Ok(())
}
