//! Rows with a value that its column can't have.

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray, StructArray};
use arrow_array::{BinaryArray, BooleanArray, ListArray, TimestampNanosecondArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use tracelake_core::fault::Fault;

use super::*;

fn list(item: ArrayRef, lengths: [usize; 4]) -> ArrayRef {
    let field = Arc::new(Field::new("item", item.data_type().clone(), true));
    Arc::new(ListArray::new(
        field,
        OffsetBuffer::from_lengths(lengths),
        item,
        None,
    ))
}

/// A file of four rows with some columns in place of good ones.
fn file(others: Vec<(&str, ArrayRef)>) -> Bytes {
    let usage = StructArray::from(vec![
        (
            Arc::new(Field::new("cpus", DataType::Float64, true)),
            Arc::new(Float64Array::from(vec![0.5; 4])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("memory", DataType::Float64, true)),
            Arc::new(Float64Array::from(vec![None; 4])) as ArrayRef,
        ),
    ]);
    let rules = StructArray::from(vec![
        (
            Arc::new(Field::new("name", DataType::Utf8, true)),
            Arc::new(StringArray::from(Vec::<&str>::new())) as ArrayRef,
        ),
        (
            Arc::new(Field::new("relation", DataType::Int64, true)),
            Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef,
        ),
    ]);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))),
        ("event", Arc::new(Int64Array::from(vec![0; 4]))),
        ("share", Arc::new(Float64Array::from(vec![0.25; 4]))),
        ("done", Arc::new(BooleanArray::from(vec![true; 4]))),
        ("user", Arc::new(BinaryArray::from(vec![&b"u"[..]; 4]))),
        ("usage", Arc::new(usage)),
        ("rules", list(Arc::new(rules), [0; 4])),
        (
            "after",
            list(Arc::new(Int64Array::from(Vec::<i64>::new())), [0; 4]),
        ),
        (
            "since",
            Arc::new(TimestampNanosecondArray::from(vec![7_000; 4]).with_timezone("UTC")),
        ),
    ];
    for (name, array) in others {
        let column = columns.iter_mut().find(|(known, _)| *known == name);
        column.unwrap().1 = array;
    }
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), None).unwrap();
    writer.write(&batch.slice(0, 2)).unwrap();
    writer.flush().unwrap();
    writer.write(&batch.slice(2, 2)).unwrap();
    writer.close().unwrap();
    out.into()
}

/// The rejects of a file: each as its row group and row, the column, the value and the fault, and its JSON.
fn rejects(others: Vec<(&str, ArrayRef)>) -> Vec<(u64, u64, String, Fault, String)> {
    let (rows, rejects, _) = read(&file(others), &order());
    assert_eq!(rows.num_rows() + rejects.len(), 4);
    let each = rejects.into_iter().map(|reject| {
        let place = format!("{}{}", reject.column.name, reject.inner);
        let value = String::from_utf8_lossy(&reject.value);
        let raw = String::from_utf8_lossy(&reject.raw).into_owned();
        (
            reject.row_group,
            reject.row,
            format!("{place}={value}"),
            reject.fault,
            raw,
        )
    });
    each.collect()
}

const REST: &str = "\"usage\":{\"cpus\":0.5},\"rules\":[],\"after\":[],\"since\":\"1970-01-01 00:00:00.000007000Z\"}";

#[test]
fn values_that_do_not_fit_are_rejected() {
    let events = Int64Array::from(vec![Some(0), Some(1 << 31), None, Some(-(1 << 31) - 1)]);
    let found = rejects(vec![("event", Arc::new(events))]);
    let large = Fault::OutOfRange { bits: 32 };
    let raw = |time: i64, event: &str| {
        format!(
            "{{\"time\":{time},\"event\":{event},\"share\":0.25,\"done\":true,\"user\":\"u\",{REST}"
        )
    };
    assert_eq!(
        found,
        [
            (
                1,
                2,
                "event=2147483648".to_owned(),
                large,
                raw(2, "2147483648")
            ),
            (
                2,
                4,
                "event=-2147483649".to_owned(),
                large,
                raw(4, "-2147483649")
            ),
        ]
    );
    for share in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let shares = Float64Array::from(vec![0.5, share, 0.5, 0.5]);
        let found = rejects(vec![("share", Arc::new(shares))]);
        assert_eq!(
            (found.len(), found[0].1, found[0].3),
            (1, 2, Fault::NotNumber)
        );
    }
    let times = Int64Array::from(vec![Some(1), None, Some(3), Some(4)]);
    let found = rejects(vec![("time", Arc::new(times))]);
    assert_eq!(
        (found.len(), &found[0].2[..], found[0].3),
        (1, "time=", Fault::Absent)
    );
    assert!(found[0].4.starts_with("{\"event\":0,"), "{}", found[0].4);
    let users = BinaryArray::from(vec![&b"u"[..], b"u", b"a\xffb", b"u"]);
    let found = rejects(vec![("user", Arc::new(users))]);
    assert_eq!(
        (found.len(), found[0].1, found[0].3),
        (1, 3, Fault::NotUtf8 { byte: 0xff })
    );
    let since = TimestampNanosecondArray::from(vec![1000, 1001, 2000, 0]).with_timezone("UTC");
    let found = rejects(vec![("since", Arc::new(since))]);
    assert_eq!(
        (found.len(), found[0].1, found[0].3),
        (1, 2, Fault::BeyondMicroseconds)
    );
}

#[test]
fn a_fault_within_a_list_says_where() {
    let items = Int64Array::from(vec![Some(7), None, Some(9), Some(1)]);
    let found = rejects(vec![("after", list(Arc::new(items), [1, 2, 0, 1]))]);
    assert_eq!(
        (found.len(), found[0].1, &found[0].2[..], found[0].3),
        (1, 2, "after[0]=", Fault::Absent)
    );
    assert!(found[0].4.contains("\"after\":[null,9]"), "{}", found[0].4);
    let rules = StructArray::from(vec![
        (
            Arc::new(Field::new("name", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("a"), Some("b"), None])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("relation", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![Some(1), Some(1 << 40), Some(2)])) as ArrayRef,
        ),
    ]);
    let found = rejects(vec![("rules", list(Arc::new(rules), [0, 2, 1, 0]))]);
    let places: Vec<&str> = found.iter().map(|reject| &reject.2[..]).collect();
    assert_eq!(
        places,
        ["rules[1].relation=1099511627776", "rules[0].name="]
    );
}

#[test]
fn whole_floats_are_integers_on_request_alone() {
    let times: ArrayRef = Arc::new(Float64Array::from(vec![
        1.0,
        2.5,
        9_223_372_036_854_775_808.0,
        -0.0,
    ]));
    let file = file(vec![("time", times)]);
    let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
    let refused = ParquetRows::new(file.clone(), Arc::clone(footer.metadata()), &order());
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("--accept integral-floats"), "{error}");
    let mut order = order();
    order.accept.integral_floats = true;
    let (found, rejects, _) = read(&file, &order);
    assert_eq!(found.num_rows(), 2);
    let faults: Vec<Fault> = rejects.iter().map(|reject| reject.fault).collect();
    assert_eq!(faults, [Fault::NotInteger, Fault::OutOfRange { bits: 64 }]);
}
