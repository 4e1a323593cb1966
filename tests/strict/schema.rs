//! The schema of a file: its leaves, and the order of their values.

use std::cmp::Ordering;

use super::Result;
use super::thrift::Struct;

/// How the values of a column are stored: the types of the format that our files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Double,
    ByteArray,
}

impl Physical {
    fn of(number: i64) -> Result<Self> {
        Ok(match number {
            0 => Self::Boolean,
            1 => Self::Int32,
            2 => Self::Int64,
            5 => Self::Double,
            6 => Self::ByteArray,
            other => return Err(format!("a column of type {other}")),
        })
    }

    /// The number of the type in a footer.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Boolean => 0,
            Self::Int32 => 1,
            Self::Int64 => 2,
            Self::Double => 5,
            Self::ByteArray => 6,
        }
    }

    /// The size of a value in PLAIN encoding, if all values have the same; a boolean in statistics.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Self::Boolean => Some(1),
            Self::Int32 => Some(4),
            Self::Int64 | Self::Double => Some(8),
            Self::ByteArray => None,
        }
    }

    /// Checks that these are the bytes of a value.
    pub(super) fn check(self, value: &[u8]) -> Result<()> {
        let holds = match self {
            Self::Boolean => matches!(value, [0 | 1]),
            Self::ByteArray => str::from_utf8(value).is_ok(),
            Self::Int32 | Self::Int64 | Self::Double => Some(value.len()) == self.bytes(),
        };
        if holds {
            return Ok(());
        }
        Err(format!("{value:?} is no {self:?}"))
    }

    /// The order of two values that were checked; the two zeros are equal, and so is NaN to all.
    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Boolean | Self::ByteArray => a.cmp(b),
            Self::Int32 => i32::from_le_bytes(fixed(a)).cmp(&i32::from_le_bytes(fixed(b))),
            Self::Int64 => i64::from_le_bytes(fixed(a)).cmp(&i64::from_le_bytes(fixed(b))),
            Self::Double => {
                let order = float(a).partial_cmp(&float(b));
                order.unwrap_or(Ordering::Equal)
            }
        }
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

/// The leaves of the schema in a footer, in order.
pub(super) fn leaves(footer: &Struct) -> Result<Vec<Leaf>> {
    let elements = footer.structs("schema");
    let root = *elements.first().ok_or("the schema is empty")?;
    for absent in ["type", "repetition_type", "converted_type", "logicalType"] {
        if root.get(absent).is_some() {
            return Err(format!("the root of the schema has a {absent}"));
        }
    }
    let mut walk = Walk {
        rest: &elements[1..],
        leaves: Vec::new(),
    };
    let top = Leaf {
        path: Vec::new(),
        physical: Physical::Boolean,
        max_repetition: 0,
        max_definition: 0,
        element_levels: Vec::new(),
    };
    walk.children(root, &top)?;
    match walk.rest.len() {
        0 => Ok(walk.leaves),
        left => Err(format!("{left} schema elements without a parent")),
    }
}

struct Walk<'s> {
    rest: &'s [&'s Struct],
    leaves: Vec<Leaf>,
}

impl Walk<'_> {
    fn children(&mut self, group: &Struct, above: &Leaf) -> Result<()> {
        let count = group.integer("num_children").unwrap_or(0);
        if count <= 0 {
            return Err(format!("the group {:?} has no children", above.path));
        }
        let mut names = Vec::new();
        for _ in 0..count {
            let (child, rest) = self.rest.split_first().ok_or("a child is missing")?;
            self.rest = rest;
            let name = child.text("name");
            if names.contains(&name) {
                return Err(format!("{:?} has two children {name}", above.path));
            }
            names.push(name);
            self.child(child, above)?;
        }
        let logical = group.structure("logicalType").map(Struct::variant);
        let named = match (logical, group.integer("repetition_type")) {
            (Some("LIST"), _) => names == ["list"],
            (_, Some(2)) => names == ["element"],
            _ => true,
        };
        if !named {
            return Err(format!("the list {:?} has {names:?}", above.path));
        }
        Ok(())
    }

    fn child(&mut self, child: &Struct, above: &Leaf) -> Result<()> {
        let mut leaf = Leaf {
            path: [&above.path[..], &[child.text("name")]].concat(),
            element_levels: above.element_levels.clone(),
            ..*above
        };
        let wrong = |what: &str| Err(format!("{:?} {what}", leaf.path));
        match child.integer("repetition_type") {
            Some(0) => {}
            Some(1) => leaf.max_definition += 1,
            Some(2) => {
                leaf.max_definition += 1;
                leaf.max_repetition += 1;
                leaf.element_levels.push(leaf.max_definition);
            }
            other => return wrong(&format!("has the repetition {other:?}")),
        }
        let logical = child.structure("logicalType").map(Struct::variant);
        let annotation = (logical, child.integer("converted_type"));
        let Some(number) = child.integer("type") else {
            match annotation {
                (Some("LIST"), Some(3)) | (None, None) => return self.children(child, &leaf),
                other => return wrong(&format!("is a group of {other:?}")),
            }
        };
        leaf.physical = Physical::of(number)?;
        let fits = match (leaf.physical, annotation) {
            (Physical::ByteArray, other) => other == (Some("STRING"), Some(0)),
            (Physical::Int64, (Some("TIMESTAMP"), converted)) => {
                matches!(converted, None | Some(10))
            }
            (_, other) => other == (None, None),
        };
        if !fits || child.get("num_children").is_some() {
            return wrong(&format!("is a {:?} of {annotation:?}", leaf.physical));
        }
        self.leaves.push(leaf);
        Ok(())
    }
}
