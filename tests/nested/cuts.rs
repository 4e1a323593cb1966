//! Files that end too early, or are something else.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use tracelake_core::error::ErrorKind;

use tracelake_testkit::nested::{HEADER, JSON, QUOTED, convert_text, header, row};

#[test]
fn every_cut_of_a_text_is_told() {
    for table in [&JSON, &QUOTED] {
        let mut text = header(table).to_owned();
        let mut ends = vec![text.len()];
        for number in 0..3 {
            text += &row(table, number);
            ends.push(text.len());
        }
        for end in 0..=text.len() {
            let cut = &text.as_bytes()[..end];
            // Without its last newline a record is whole.
            let whole = ends.iter().position(|at| *at == end || *at == end + 1);
            let part = match convert_text(cut, table) {
                Ok(part) => part,
                Err(error) => {
                    assert!(end + 1 < header(table).len(), "{end}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Misfit);
                    continue;
                }
            };
            let before = ends.iter().filter(|at| **at <= end + 1).count() - 1;
            assert_eq!(part.converted.rows_out, before as u64, "{end}");
            assert_eq!(part.rejects.len(), usize::from(whole.is_none()), "{end}");
        }
    }
}

#[test]
fn a_part_of_no_rows_has_a_schema() {
    for table in [&JSON, &QUOTED] {
        let part = convert_text(header(table).as_bytes(), table).unwrap();
        assert_eq!(part.converted.rows_in, 0);
        assert_eq!(part.converted.time, None);
        assert_eq!(part.rows().num_columns(), 4);
    }
}

#[test]
fn another_header_ends_the_run() {
    for (text, says) in [
        ("", "there is no header"),
        (
            "usage,time,after,user\n",
            "field 3 of the header is 'after', not 'user'",
        ),
        ("\u{feff}usage,time,user,after\n", "byte order mark"),
        (
            "time,user\n",
            ":1:1: steps: field 1 of the header is 'time', not 'usage'",
        ),
    ] {
        let error = convert_text(text.as_bytes(), &QUOTED).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Misfit);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_reject_says_where_and_keeps_the_row() {
    let bad = "\"{'cpus': nan}\",5,\"two\nlines\",[]\n";
    let text = [HEADER, &row(&QUOTED, 1), bad, &row(&QUOTED, 2), "x\n"].concat();
    let part = convert_text(text.as_bytes(), &QUOTED).unwrap();
    assert_eq!(part.converted.time, Some((1, 2)));
    let [nested, shape] = &part.rejects[..] else {
        panic!("{:?}", part.rejects);
    };
    assert_eq!(nested["line"], 4);
    assert_eq!(nested["byte"], text.find(bad).unwrap());
    assert_eq!(nested["column"], "usage.cpus");
    assert_eq!(nested["reason"], "not a decimal number: 'nan'");
    assert_eq!(nested["raw"], bad.strip_suffix('\n').unwrap());
    // The rows before it have seven lines, with the header.
    assert_eq!(shape["line"], 8);
    assert_eq!(shape["column"], serde_json::Value::Null);

    let text = [
        &row(&JSON, 1),
        "{\"time\":1,\"usage\":{\"cpus\":[]}}\n",
        "\n",
        &row(&JSON, 2),
    ]
    .concat();
    let part = convert_text(text.as_bytes(), &JSON).unwrap();
    assert_eq!(part.rejects[0]["line"], 2);
    assert_eq!(part.rejects[0]["column"], "usage.cpus");
    assert_eq!(part.rejects[1]["reason"], "a blank line");
    let text = ["\u{feff}", &row(&JSON, 1), &row(&JSON, 2)].concat();
    let part = convert_text(text.as_bytes(), &JSON).unwrap();
    assert_eq!(part.rejects.len(), 1);
    assert!(
        part.rejects[0]["reason"]
            .as_str()
            .unwrap()
            .contains("byte order mark")
    );
}

#[test]
fn values_are_those_of_the_text() {
    for table in [&JSON, &QUOTED] {
        let text: String = (0..20).map(|number| row(table, number)).collect();
        let text = [header(table), &text].concat();
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let part = convert_text(text.as_bytes(), table).unwrap();
            assert_eq!(part.converted.time, Some((0, 19)));
            let rows = part.rows();
            for number in 0..20_usize {
                let usage = rows.column(0).as_struct();
                let cpus = usage.column(0).as_primitive::<Float64Type>();
                assert_eq!(cpus.value(number), number as f64 / 8.0);
                assert!(usage.column(1).is_null(number) && !usage.is_null(number));
                let user = rows.column(2).as_string::<i32>().value(number);
                assert_eq!(user, format!("x{}", "u".repeat(number % 7)));
                let after = rows.column(3).as_list::<i32>().value(number);
                let number = i64::try_from(number).unwrap();
                assert_eq!(after.as_primitive::<Int64Type>().values(), &[number, 2]);
            }
        }
    }
}
