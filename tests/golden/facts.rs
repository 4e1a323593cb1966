//! Facts about a lake, read back from its files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::nullif::nullif;
use tracelake_schema::arrow::fingerprint;

use tracelake_testkit::{read_output, sha256, tree};

/// The facts about a lake, in the order of its page.
pub(crate) type Facts = Vec<Fact>;

/// One fact about one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// A table, a part of it, or a column of that part; what is not meant is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) table: String,
    pub(crate) part: String,
    pub(crate) column: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        for name in [&self.part, &self.column] {
            if !name.is_empty() {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}

/// Reads a lake; only what its files say, not what its manifest says of them.
pub(crate) fn of_lake(lake: &Path) -> Facts {
    let mut facts = Facts::new();
    let mut schemas: BTreeMap<String, String> = BTreeMap::new();
    let files = tree(lake).unwrap().into_iter();
    for (path, bytes) in files.filter_map(|(path, bytes)| Some((path, bytes?))) {
        let (table, rest) = path.split_once('/').unwrap_or(("", &path));
        let mut place = Place {
            table: table.to_owned(),
            ..Place::default()
        };
        let mut put = |place: &Place, name: &str, value: String| {
            let (place, name) = (place.clone(), name.to_owned());
            facts.push(Fact { place, name, value });
        };
        let sha256 = sha256(&bytes);
        let stem = rest.strip_suffix(".parquet");
        let Some(stem) = stem.or(rest.strip_suffix(".arrow")) else {
            if !["lock", "work"].contains(&rest) {
                rest.clone_into(&mut place.part);
                put(&place, "sha256", sha256);
            }
            continue;
        };
        let batch = read_output(&lake.join(&path));
        let schema = fingerprint(&batch.schema());
        match schemas.get(table) {
            None => put(&place, "schema_fingerprint", schema.clone()),
            Some(first) => assert_eq!(*first, schema, "{path} has another schema"),
        }
        schemas.insert(table.to_owned(), schema);
        // The key in the name of a directory says nothing that the name of the file does not.
        let name = stem.rsplit('/').next().unwrap_or_default();
        name.clone_into(&mut place.part);
        put(&place, "rows", batch.num_rows().to_string());
        put(&place, "sha256", sha256);
        for (column, name, value) in of_columns(&batch) {
            put(
                &Place {
                    column,
                    ..place.clone()
                },
                name,
                value,
            );
        }
    }
    facts
}

/// The column, the name of the fact, and the value.
type Told = (String, &'static str, String);

/// The facts about each column of a file; those of a struct or a list are about what is in it.
fn of_columns(batch: &RecordBatch) -> Vec<Told> {
    let mut told = Vec::new();
    let schema = batch.schema();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        of_column(field.name(), array, &mut told);
    }
    told
}

fn of_column(name: &str, array: &ArrayRef, told: &mut Vec<Told>) {
    let mut put = |what, value: String| told.push((name.to_owned(), what, value));
    put("nulls", array.logical_null_count().to_string());
    match array.data_type() {
        DataType::Struct(fields) => {
            let nulls: BooleanArray = (0..array.len())
                .map(|row| Some(array.is_null(row)))
                .collect();
            for (field, inner) in fields.iter().zip(array.as_struct().columns()) {
                // Where the struct is NULL, so is what is in it, whatever its array holds.
                let inner = nullif(inner, &nulls).unwrap();
                of_column(&format!("{name}.{}", field.name()), &inner, told);
            }
        }
        DataType::List(item) => {
            let lists: Vec<Option<ArrayRef>> = array.as_list::<i32>().iter().collect();
            let lengths = || lists.iter().map(|list| Some(list.as_ref()?.len()));
            put("items", lengths().flatten().sum::<usize>().to_string());
            put(
                "crc32",
                crc32(lengths().map(|length| Some(length?.to_le_bytes()))),
            );
            let lists: Vec<&dyn Array> = lists.iter().flatten().map(AsRef::as_ref).collect();
            if !lists.is_empty() {
                let items = concat(&lists).unwrap();
                of_column(&format!("{name}.{}", item.name()), &items, told);
            }
        }
        kind if kind.is_signed_integer() => {
            let values: Vec<Option<i64>> = match array.as_primitive_opt::<Int32Type>() {
                Some(codes) => codes.iter().map(|code| code.map(i64::from)).collect(),
                None => array.as_primitive::<Int64Type>().iter().collect(),
            };
            let values = || values.iter().copied();
            if let Some((min, max)) = values().flatten().min().zip(values().flatten().max()) {
                put("min", min.to_string());
                put("max", max.to_string());
                put(
                    "sum",
                    values().flatten().map(i128::from).sum::<i128>().to_string(),
                );
            }
            put(
                "crc32",
                crc32(values().map(|value| value.map(i64::to_le_bytes))),
            );
        }
        kind if kind.is_floating() => {
            let values = || array.as_primitive::<Float64Type>().iter();
            let min = values().flatten().min_by(f64::total_cmp);
            let max = values().flatten().max_by(f64::total_cmp);
            if let Some((min, max)) = min.zip(max) {
                put("min", shortest(min));
                put("max", shortest(max));
                // A sum of floats depends on their order; this is that of the rows.
                put(
                    "sum",
                    shortest(values().flatten().fold(0.0, |sum, value| sum + value)),
                );
            }
            put(
                "crc32",
                crc32(values().map(|value| value.map(f64::to_le_bytes))),
            );
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            put("true", values.true_count().to_string());
            put(
                "crc32",
                crc32(
                    values
                        .iter()
                        .map(|value| value.map(|value| [u8::from(value)])),
                ),
            );
        }
        _ => {
            let values = || array.as_string::<i32>().iter();
            if let Some((min, max)) = values().flatten().min().zip(values().flatten().max()) {
                put("min", min.to_owned());
                put("max", max.to_owned());
                put(
                    "bytes",
                    values().flatten().map(str::len).sum::<usize>().to_string(),
                );
            }
            put("crc32", crc32(values()));
        }
    }
}

/// The shortest text that means the same float.
fn shortest(value: f64) -> String {
    format!("{value:?}")
}

/// A checksum of values in the order of their rows: it changes where no sum and no range does.
fn crc32<B: AsRef<[u8]>>(values: impl Iterator<Item = Option<B>>) -> String {
    let mut crc = crc32fast::Hasher::new();
    for value in values {
        let value = value.as_ref().map(AsRef::as_ref);
        // No value has the length of a NULL.
        let length = value.map_or(u64::MAX, |value| value.len() as u64);
        crc.update(&length.to_le_bytes());
        crc.update(value.unwrap_or_default());
    }
    format!("{:08x}", crc.finalize())
}

/// The facts that changed, one line each.
pub(crate) fn differences(before: &Facts, now: &Facts) -> Vec<String> {
    let mut old: BTreeMap<(&Place, &str), &str> = BTreeMap::new();
    old.extend(
        before
            .iter()
            .map(|fact| ((&fact.place, &fact.name[..]), &fact.value[..])),
    );
    let mut lines = Vec::new();
    for Fact { place, name, value } in now {
        match old.remove(&(place, name)) {
            Some(before) if before == value => {}
            Some(before) => lines.push(format!("  {place}: {name} was {before:?}, is {value:?}\n")),
            None => lines.push(format!("  {place}: {name} is new: {value:?}\n")),
        }
    }
    for ((place, name), before) in old {
        lines.push(format!("  {place}: {name} was {before:?}, is gone\n"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, ListArray, StringArray, StructArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field;

    use super::*;

    fn told(array: ArrayRef) -> Vec<String> {
        let mut told = Vec::new();
        of_column("c", &array, &mut told);
        told.iter()
            .filter(|(_, what, _)| *what != "crc32")
            .map(|(column, what, value)| format!("{column} {what} {value}"))
            .collect()
    }

    #[test]
    fn leaves_are_told_by_their_kind() {
        let integers = Int32Array::from(vec![Some(3), None, Some(-4)]);
        assert_eq!(
            told(Arc::new(integers)),
            ["c nulls 1", "c min -4", "c max 3", "c sum -1"]
        );
        let floats = Float64Array::from(vec![1e16, 1.0, -1e16, -0.0]);
        // In the order of the rows: 1e16 + 1 is 1e16.
        let expected = ["c nulls 0", "c min -1e16", "c max 1e16", "c sum 0.0"];
        assert_eq!(told(Arc::new(floats)), expected);
        let texts = StringArray::from(vec![Some("b"), Some("ä"), None]);
        assert_eq!(
            told(Arc::new(texts)),
            ["c nulls 1", "c min b", "c max ä", "c bytes 3"]
        );
        let nothing = Float64Array::from(vec![None]);
        assert_eq!(told(Arc::new(nothing)), ["c nulls 1"]);
    }

    #[test]
    fn a_checksum_tells_of_order_and_nulls() {
        let of = |values: &[Option<&str>]| crc32(values.iter().copied());
        let one = of(&[Some("a"), None, Some("b")]);
        assert_eq!(one, of(&[Some("a"), None, Some("b")]));
        for other in [
            &[Some("b"), None, Some("a")][..],
            &[Some("a"), Some(""), Some("b")],
            &[Some("a"), Some("b"), None],
            &[Some("ab"), None, Some("")],
        ] {
            assert_ne!(of(other), one, "{other:?}");
        }
    }

    #[test]
    fn nested_columns_are_told_by_their_leaves() {
        let items = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(9)]));
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        // Two lists, none, and one that is NULL although its array holds an item.
        let list = ListArray::new(
            item,
            OffsetBuffer::new(vec![0, 1, 3, 3, 4].into()),
            items,
            Some(NullBuffer::from(vec![true, true, true, false])),
        );
        let list: ArrayRef = Arc::new(list);
        let inner = [
            "nulls 1",
            "items 3",
            "item nulls 1",
            "item min 1",
            "item max 2",
            "item sum 3",
        ];
        let expected = inner.map(|line| match line.strip_prefix("item ") {
            Some(rest) => format!("c.item {rest}"),
            None => format!("c {line}"),
        });
        assert_eq!(told(list.clone()), expected);
        let field = Field::new("list", list.data_type().clone(), true);
        let nulls = NullBuffer::from(vec![false, true, true, true]);
        let record = StructArray::new(vec![field].into(), vec![list], Some(nulls));
        let expected = [
            "c nulls 1",
            "c.list nulls 2",
            "c.list items 2",
            "c.list.item nulls 1",
            "c.list.item min 2",
            "c.list.item max 2",
            "c.list.item sum 2",
        ];
        assert_eq!(told(Arc::new(record)), expected);
    }
}
