//! Thrift's compact protocol: bytes to structs whose fields are known, and back.
//!
//! Only one spelling of each value is accepted: what was read is written again and must give the same
//! bytes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Result;

/// The type of a field.
#[derive(Debug)]
pub(super) enum Type {
    Bool,
    I16,
    I32,
    I64,
    Bytes,
    Text,
    List(&'static Type),
    Struct(&'static Layout),
}

/// The fields that a struct may have, in the order of their ids.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    /// Whether exactly one field is present.
    pub(super) is_union: bool,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) id: i16,
    pub(super) name: &'static str,
    pub(super) holds: Type,
    pub(super) is_required: bool,
}

/// A value of one of the types.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Struct(Struct),
}

/// A struct: its fields by id.
#[derive(Debug, Clone)]
pub(super) struct Struct {
    layout: &'static Layout,
    pub(super) fields: BTreeMap<i16, Value>,
}

impl PartialEq for Struct {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl Struct {
    /// A struct without fields.
    pub(super) fn new(layout: &'static Layout) -> Self {
        let fields = BTreeMap::new();
        Self { layout, fields }
    }

    fn field(&self, name: &str) -> &'static Field {
        let found = self.layout.fields.iter().find(|field| field.name == name);
        found.unwrap_or_else(|| panic!("{} has no field {name}", self.layout.name))
    }

    /// The value of a field, if it is present.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(&self.field(name).id)
    }

    /// The value of a field, to change or to add it.
    pub(super) fn entry(&mut self, name: &str) -> Entry<'_, i16, Value> {
        self.fields.entry(self.field(name).id)
    }

    /// An integer, if it is present.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::Integer(number) => Some(*number),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A boolean, if it is present.
    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(yes) => Some(*yes),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Bytes, if they are present.
    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        match self.get(name)? {
            Value::Bytes(bytes) => Some(bytes),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A text; empty if it is absent.
    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(self.bytes(name).unwrap_or_default()).into_owned()
    }

    /// A list, if it is present.
    pub(super) fn list(&self, name: &str) -> Option<&[Value]> {
        match self.get(name)? {
            Value::List(values) => Some(values),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A list of integers, if it is present.
    pub(super) fn integers(&self, name: &str) -> Option<Vec<i64>> {
        let integer = |value: &Value| match value {
            Value::Integer(number) => *number,
            other => panic!("{name}: {other:?}"),
        };
        Some(self.list(name)?.iter().map(integer).collect())
    }

    /// The structs of a list; none if it is absent.
    pub(super) fn structs(&self, name: &str) -> Vec<&Struct> {
        let list = self.list(name).unwrap_or_default().iter();
        let structs = list.map(|value| match value {
            Value::Struct(found) => found,
            other => panic!("{name}: {other:?}"),
        });
        structs.collect()
    }

    /// A struct, if it is present.
    pub(super) fn structure(&self, name: &str) -> Option<&Struct> {
        match self.get(name)? {
            Value::Struct(found) => Some(found),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The name of the only field of a union.
    pub(super) fn variant(&self) -> &'static str {
        let id = self.fields.keys().next();
        let field = self
            .layout
            .fields
            .iter()
            .find(|field| Some(&field.id) == id);
        field.map_or("none", |field| field.name)
    }
}

/// Reads a struct from the beginning of `bytes`; returns it and its length.
pub(super) fn read(bytes: &[u8], layout: &'static Layout) -> Result<(Struct, usize)> {
    let mut reader = Reader { bytes, at: 0 };
    let wrong = |error| format!("{}: {error}", layout.name);
    let found = reader.structure(layout).map_err(wrong)?;
    let mut written = Vec::new();
    write(&found, &mut written);
    if written != bytes[..reader.at] {
        return Err(format!("{} is not spelled as usual", layout.name));
    }
    Ok((found, reader.at))
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, length: u64) -> Result<&'b [u8]> {
        let length = usize::try_from(length).map_err(|_| "a length is too large")?;
        let end = self.at.checked_add(length).ok_or("a length is too large")?;
        let taken = self.bytes.get(self.at..end).ok_or("the bytes end early")?;
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }

    fn integer(&mut self, from: i64, to: i64) -> Result<i64> {
        let number = self.varint()?;
        let number = (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        if !(from..=to).contains(&number) {
            return Err(format!("{number} is too large for its type"));
        }
        Ok(number)
    }

    fn structure(&mut self, layout: &'static Layout) -> Result<Struct> {
        let mut found = Struct::new(layout);
        let mut last = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            let id = last + i16::from(head >> 4);
            let field = layout.fields.iter().find(|field| field.id == id);
            let field = field.filter(|_| id > last);
            let field = field.ok_or_else(|| format!("{} has no field {id}", layout.name))?;
            let value = self.value(&field.holds, head & 0xf);
            let value = value.map_err(|error| format!("{}.{error}", field.name))?;
            found.fields.insert(id, value);
            last = id;
        }
        let mut required = layout.fields.iter().filter(|field| field.is_required);
        if let Some(absent) = required.find(|field| !found.fields.contains_key(&field.id)) {
            return Err(format!("{} lacks {}", layout.name, absent.name));
        }
        if layout.is_union && found.fields.len() != 1 {
            return Err(format!("{} is not one of its kinds", layout.name));
        }
        Ok(found)
    }

    /// The value of a field or of an element; `code` is the type as the bytes have it.
    fn value(&mut self, holds: &'static Type, code: u8) -> Result<Value> {
        let is_bool = matches!(holds, Type::Bool) && code == 1;
        if code != code_of(holds) && !is_bool {
            return Err(format!(" has type {code} instead of {holds:?}"));
        }
        Ok(match holds {
            Type::Bool => Value::Bool(is_bool),
            Type::I16 => Value::Integer(self.integer(i16::MIN.into(), i16::MAX.into())?),
            Type::I32 => Value::Integer(self.integer(i32::MIN.into(), i32::MAX.into())?),
            Type::I64 => Value::Integer(self.integer(i64::MIN, i64::MAX)?),
            Type::Bytes | Type::Text => {
                let length = self.varint()?;
                let bytes = self.take(length)?.to_vec();
                if matches!(holds, Type::Text) && str::from_utf8(&bytes).is_err() {
                    return Err(" is not UTF-8".to_owned());
                }
                Value::Bytes(bytes)
            }
            Type::List(elements) => Value::List(self.list(elements)?),
            Type::Struct(layout) => Value::Struct(self.structure(layout)?),
        })
    }

    fn list(&mut self, holds: &'static Type) -> Result<Vec<Value>> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            short => short.into(),
        };
        let mut values = Vec::new();
        for _ in 0..length {
            // In a list, a boolean is a byte and not a part of its type.
            let code = match holds {
                Type::Bool if head & 0xf == code_of(holds) => self.byte()?,
                _ => head & 0xf,
            };
            values.push(self.value(holds, code)?);
        }
        Ok(values)
    }
}

/// The number of a type; of a boolean field, that of "false".
fn code_of(holds: &Type) -> u8 {
    match holds {
        Type::Bool => 2,
        Type::I16 => 4,
        Type::I32 => 5,
        Type::I64 => 6,
        Type::Bytes | Type::Text => 8,
        Type::List(_) => 9,
        Type::Struct(_) => 12,
    }
}

/// Appends the bytes of a struct.
pub(super) fn write(found: &Struct, out: &mut Vec<u8>) {
    let mut last = 0;
    for (&id, value) in &found.fields {
        let field = found.layout.fields.iter().find(|field| field.id == id);
        let holds = &field.expect("a struct has fields of its layout").holds;
        let code = match value {
            Value::Bool(true) => 1,
            _ => code_of(holds),
        };
        let delta = u8::try_from(id - last).expect("ids are close to each other");
        out.push(delta << 4 | code);
        if !matches!(value, Value::Bool(_)) {
            write_value(value, holds, out);
        }
        last = id;
    }
    out.push(0);
}

fn write_value(value: &Value, holds: &Type, out: &mut Vec<u8>) {
    match (value, holds) {
        (Value::Bool(yes), _) => out.push(if *yes { 1 } else { 2 }),
        (Value::Integer(number), _) => varint((number << 1 ^ number >> 63).cast_unsigned(), out),
        (Value::Bytes(bytes), _) => {
            varint(bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        }
        (Value::List(values), Type::List(elements)) => {
            let code = code_of(elements);
            match u8::try_from(values.len()) {
                Ok(length @ 0..15) => out.push(length << 4 | code),
                _ => {
                    out.push(15 << 4 | code);
                    varint(values.len() as u64, out);
                }
            }
            for value in values {
                write_value(value, elements, out);
            }
        }
        (Value::Struct(found), _) => write(found, out),
        (Value::List(_), other) => panic!("a list where {other:?} is"),
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}
