//! The lists of the format's specification, also as older writers made them.

use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::*;

/// A file of two columns and three rows: a time, and what `write` writes of a column `after` or `rules`.
fn file(list: &str, write: impl FnOnce(&mut SerializedRowGroupWriter<'_, &mut Vec<u8>>)) -> Bytes {
    let schema = format!(
        "message m {{ required int64 time; optional int64 event; optional double share;
         optional boolean done; optional binary user (UTF8);
         optional group usage {{ optional double cpus; optional double memory; }}
         {list}
         optional int64 since (TIMESTAMP(MICROS,true)); }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut out = Vec::new();
    let properties = WriterProperties::builder().build();
    let mut writer = SerializedFileWriter::new(&mut out, schema, properties.into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let times = column.typed::<Int64Type>();
    times.write_batch(&[1, 2, 3], None, None).unwrap();
    column.close().unwrap();
    for _ in 0..6 {
        nulls(&mut group);
    }
    write(&mut group);
    nulls(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
    out.into()
}

/// Writes three NULLs.
fn nulls(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>) {
    use parquet::column::writer::ColumnWriter;
    let mut column = group.next_column().unwrap().unwrap();
    let (definition, repetition) = ([0; 3], [0; 3]);
    match column.untyped() {
        ColumnWriter::Int64ColumnWriter(writer) => writer
            .write_batch(&[], Some(&definition), Some(&repetition))
            .unwrap(),
        ColumnWriter::DoubleColumnWriter(writer) => writer
            .write_batch(&[], Some(&definition), Some(&repetition))
            .unwrap(),
        ColumnWriter::BoolColumnWriter(writer) => writer
            .write_batch(&[], Some(&definition), Some(&repetition))
            .unwrap(),
        ColumnWriter::ByteArrayColumnWriter(writer) => writer
            .write_batch(&[], Some(&definition), Some(&repetition))
            .unwrap(),
        _ => panic!("another column"),
    };
    column.close().unwrap();
}

/// Writes integers with these levels.
fn integers(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[i64],
    definition: &[i16],
    repetition: &[i16],
) {
    let mut column = group.next_column().unwrap().unwrap();
    let writer = column.typed::<Int64Type>();
    writer
        .write_batch(values, Some(definition), Some(repetition))
        .unwrap();
    column.close().unwrap();
}

fn texts(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[&str],
    definition: &[i16],
    repetition: &[i16],
) {
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
    let writer = column.typed::<ByteArrayType>();
    writer
        .write_batch(&values, Some(definition), Some(repetition))
        .unwrap();
    column.close().unwrap();
}

const RULES: &str = "optional group rules (LIST) { repeated group list { optional group element {
    required binary name (UTF8); optional int64 relation; } } }";

const AFTER: &str =
    "optional group after (LIST) { repeated group list { optional int64 element; } }";

fn of_json(rows: [&str; 3]) -> RecordBatch {
    let lines = rows
        .iter()
        .zip(1..)
        .map(|(row, time)| format!("{{\"time\":{time}{row}}}\n"));
    read_json(&lines.collect::<String>(), &order())
}

#[test]
fn a_list_of_numbers_may_have_any_form() {
    // Three levels, two, and a repeated group of any name with one field.
    for (list, value, empty) in [
        (AFTER, 3, 1),
        (
            "optional group after (LIST) { repeated group bag { optional int64 array_element; } }",
            3,
            1,
        ),
        (
            "optional group after (LIST) { repeated group list { required int64 element; } }",
            2,
            1,
        ),
        (
            "optional group after (LIST) { repeated int64 array; }",
            2,
            1,
        ),
        ("optional group after { repeated int64 item; }", 2, 1),
        (
            "required group after (LIST) { repeated int64 element; }",
            1,
            0,
        ),
    ] {
        let found = file(&format!("{RULES} {list}"), |group| {
            nulls(group);
            nulls(group);
            integers(
                group,
                &[5, 6, 7],
                &[value, value, empty, value],
                &[0, 1, 0, 0],
            );
        });
        let expected = of_json([",\"after\":[5,6]", ",\"after\":[]", ",\"after\":[7]"]);
        let (found, rejects, _) = read(&found, &order());
        assert!(rejects.is_empty(), "{list}");
        assert_eq!(found, expected, "{list}");
    }
    // A repeated field can't tell an empty list from an absent one.
    let found = file(&format!("{RULES} repeated int64 after;"), |group| {
        nulls(group);
        nulls(group);
        integers(group, &[5, 6, 7], &[1, 1, 0, 1], &[0, 1, 0, 0]);
    });
    let expected = of_json([",\"after\":[5,6]", "", ",\"after\":[7]"]);
    assert_eq!(read(&found, &order()).0, expected);
}

#[test]
fn a_list_of_structs_may_have_any_form() {
    let fields = "required binary name (UTF8); optional int64 relation;";
    for (list, value, null, empty) in [
        (
            format!(
                "optional group rules (LIST) {{ repeated group list {{ optional group element {{ {fields} }} }} }}"
            ),
            4,
            3,
            1,
        ),
        (
            format!(
                "optional group rules (LIST) {{ repeated group list {{ required group element {{ {fields} }} }} }}"
            ),
            3,
            2,
            1,
        ),
        (
            format!("optional group rules (LIST) {{ repeated group array {{ {fields} }} }}"),
            3,
            2,
            1,
        ),
        (
            format!("optional group rules (LIST) {{ repeated group rules_tuple {{ {fields} }} }}"),
            3,
            2,
            1,
        ),
    ] {
        let found = file(&format!("{list} {AFTER}"), |group| {
            let name = value - 1;
            texts(
                group,
                &["a", "b", "c"],
                &[name, name, empty, name],
                &[0, 1, 0, 0],
            );
            integers(group, &[8], &[value, null, empty, null], &[0, 1, 0, 0]);
            nulls(group);
        });
        let expected = of_json([
            ",\"rules\":[{\"name\":\"a\",\"relation\":8},{\"name\":\"b\"}]",
            ",\"rules\":[]",
            ",\"rules\":[{\"name\":\"c\"}]",
        ]);
        let (found, rejects, _) = read(&found, &order());
        assert!(rejects.is_empty(), "{list}");
        assert_eq!(found, expected, "{list}");
    }
    let found = file(
        &format!("repeated group rules {{ {fields} }} {AFTER}"),
        |group| {
            texts(group, &["a", "b", "c"], &[1, 1, 0, 1], &[0, 1, 0, 0]);
            integers(group, &[8], &[2, 1, 0, 1], &[0, 1, 0, 0]);
            nulls(group);
        },
    );
    let expected = of_json([
        ",\"rules\":[{\"name\":\"a\",\"relation\":8},{\"name\":\"b\"}]",
        "",
        ",\"rules\":[{\"name\":\"c\"}]",
    ]);
    assert_eq!(read(&found, &order()).0, expected);
}

#[test]
fn columns_of_other_types_are_refused() {
    for (other, reason) in [
        (
            "optional int64 after;",
            "has one value, where the table has several",
        ),
        (
            "optional group after { optional int64 a; optional int64 b; }",
            "is a group, where the table has a list",
        ),
        (
            "optional group after (LIST) { repeated group list { optional double element; } }",
            "is DOUBLE, where the table has Int64",
        ),
        (
            "optional group after (LIST) { repeated group list { optional int64 element (INTEGER(64,false)); } }",
            "where the table has Int64",
        ),
        ("optional int64 others;", "lacks the column 'after'"),
    ] {
        let schema = format!(
            "message m {{ required int64 time; optional int64 event; optional double share;
            optional boolean done; optional binary user (UTF8);
            optional group usage {{ optional double cpus; optional double memory; }}
            {RULES} {other} optional int64 since (TIMESTAMP(MICROS,true)); }}"
        );
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut out = Vec::new();
        let properties = WriterProperties::builder().build();
        SerializedFileWriter::new(&mut out, schema, properties.into())
            .unwrap()
            .close()
            .unwrap();
        let file = Bytes::from(out);
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        let opened = ParquetRows::new(file, Arc::clone(footer.metadata()), &order());
        let error = opened.err().unwrap().to_string();
        assert!(
            error.contains("jobs.after") && error.contains(reason),
            "{error}"
        );
    }
}
