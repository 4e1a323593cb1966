//! `--accept`: files of built-in traces as users have them, read on request and counted.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};

use super::describe;
use super::language::{CODES, one_table};
use crate::streams::{tar, two_tables};
use tracelake_schema::{Column, Table};
use tracelake_testkit::{
    Scratch, convert, good_row, gzip, manifest, read_arrow, read_output, rows, run, table,
    write_manifest,
};

/// The good row of a table with integers as pandas writes a column with a gap.
fn as_floats(row: &str, name: &str) -> (String, u64) {
    let table = table(name);
    let mut floats = 0;
    let fields = row.split(',').zip(&table.fields).map(|(field, &index)| {
        let kind = table.columns[index].kind;
        let is_integer = kind == tracelake_schema::Kind::Integer && !field.is_empty();
        floats += u64::from(is_integer);
        if is_integer {
            format!("{field}.0")
        } else {
            field.to_owned()
        }
    });
    let row = fields.collect::<Vec<_>>().join(",");
    (row, floats)
}

#[test]
fn what_pandas_saved_again_is_read_on_request() {
    let name = "job_events";
    let table = table(name);
    let header: Vec<&str> = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content)
        .collect();
    let (floats, count) = as_floats(good_row(name), name);
    assert!(count > 1);
    let text = format!("{}\n{floats}\n{}\n", header.join(","), good_row(name));
    let scratch = Scratch::new();
    scratch.file(
        "job_events/part-00000-of-00002.csv.gz",
        &gzip(text.as_bytes()),
    );
    scratch.file(
        "job_events/part-00001-of-00002.csv.gz",
        &gzip(format!("{floats}\n").as_bytes()),
    );
    scratch
        .convert(&["--threads", "1"])
        .refuses(4, "pass --accept header");
    scratch
        .convert(&["--accept", "header"])
        .refuses(4, "pass --accept integral-floats");
    let accepted = ["--accept", "header,integral-floats"];
    for format in ["parquet", "arrow"] {
        let scratch_out = scratch.path().join(format);
        convert(
            &scratch.src(),
            &scratch_out,
            &[&accepted[..], &["--format", format]].concat(),
        )
        .well();
        let parts = &manifest(&scratch_out)["tables"][0]["parts"];
        assert_eq!(parts[0]["headers_accepted"], 1);
        assert_eq!(parts[0]["integral_floats_accepted"], count);
        assert_eq!(parts[1].get("headers_accepted"), None);
        assert_eq!(parts[1]["integral_floats_accepted"], count);
        assert_eq!(
            (&parts[0]["rows_in"], &parts[1]["rows_in"]),
            (&2.into(), &1.into())
        );
    }
    scratch.convert_well(&accepted);
    scratch.verify().well();
    assert_eq!(
        manifest(&scratch.out())["options"]["accept"],
        "header,integral-floats"
    );
    let out = scratch.out();
    run(["release", out.to_str().unwrap(), "--allow-missing"]).well();
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains("1 source file began with a header"), "{card}");
    assert!(card.contains("integers were spelled as a float"), "{card}");
    // Another run on the lake has to say the same.
    scratch.convert(&[]).exits(6);
    let wrong = scratch.convert(&["--accept", "headers"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    wrong.prints("expected header, index, bom, integral-floats, null=TEXT");
}

/// A text of a table as pandas saves it again: with a byte order mark, a header, an index and words for NULL. Returns
/// also how many words these are.
fn saved_again(text: &str, table: &Table, ending: &str) -> (String, u64) {
    let columns: Vec<&Column> = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index])
        .collect();
    let names: Vec<&str> = columns.iter().map(|column| &*column.content).collect();
    let mut nulls = 0;
    let rows = text.lines().enumerate().map(|(number, line)| {
        let fields = line.split(',').zip(&columns).map(|(field, column)| {
            let is_null = field.is_empty() && !column.mandatory;
            nulls += u64::from(is_null);
            if is_null {
                ["NaN", "\\N"][number % 2]
            } else {
                field
            }
        });
        format!("{number},{}{ending}", fields.collect::<Vec<_>>().join(","))
    });
    let rows: String = rows.collect();
    (format!("\u{feff},{}{ending}{rows}", names.join(",")), nulls)
}

/// The rows are those of the published file, and each form is counted, named on the card and checked by verify.
#[test]
fn a_file_of_another_program_has_the_rows_of_the_published_one() {
    for name in ["job_events", "task_usage"] {
        for (ending, format) in [("\n", "parquet"), ("\r\n", "arrow"), ("\r\n", "parquet")] {
            let text = rows::sample(table(name), 0, 3000);
            let (saved, nulls) = saved_again(&text, table(name), ending);
            assert!(nulls > 100);
            let (scratch, published) = (Scratch::new(), Scratch::new());
            scratch.only(name, saved.as_bytes());
            published.only(name, text.as_bytes());
            let selected = ["--sample", "1/3"];
            for more in [&[][..], &selected] {
                let format = ["--format", format];
                let accept = ["--accept", "null=NaN,header,index,bom,null=\\N"];
                let out = scratch.out();
                let _ = std::fs::remove_dir_all(&out);
                let _ = std::fs::remove_dir_all(published.out());
                scratch.convert_well(&[&format[..], &accept, more].concat());
                published.convert_well(&[&format[..], more].concat());
                let part =
                    |scratch: &Scratch| manifest(&scratch.out())["tables"][0]["parts"][0].clone();
                let (ours, theirs) = (part(&scratch), part(&published));
                for count in [
                    "rows_in",
                    "rows_out",
                    "rows_not_selected",
                    "time_min",
                    "time_max",
                ] {
                    assert_eq!(ours[count], theirs[count], "{count}");
                }
                assert_eq!(ours["output"]["sha256"], theirs["output"]["sha256"]);
                let counts = ["headers_accepted", "indexes_accepted", "boms_accepted"];
                assert!(counts.iter().all(|count| ours[count] == 1), "{ours}");
                if more.is_empty() {
                    assert_eq!(ours["nulls_accepted"], nulls);
                }
                scratch.verify().well();
            }
            let out = scratch.out();
            run(["release", out.to_str().unwrap(), "--allow-missing"]).well();
            let card = std::fs::read_to_string(out.join("README.md")).unwrap();
            for says in [
                "1 source file had an unnamed first column",
                "1 source file began with a byte order mark",
                "that are NULL weren't empty in the source files",
            ] {
                assert!(card.contains(says), "{card}");
            }
        }
    }
}

/// The index and the mark of a file that is cut into parts count once, and later runs find them again.
#[test]
fn a_cut_file_of_another_program_has_the_rows_of_the_published_one() {
    let [table, _] = two_tables();
    let text = rows::sample(table, 0, 50);
    let (saved, nulls) = saved_again(&text, table, "\n");
    let path = format!("{}.csv", table.name);
    let of = |text: &str| {
        let scratch = Scratch::new();
        let archive = tar(&[("notes", b"x"), (&path, text.as_bytes())]);
        scratch.file(&format!("{}.tar.gz", table.name), &gzip(&archive));
        scratch
    };
    let (copied, published) = (of(&saved), of(&text));
    let cut = ["--part-rows", "7"];
    let accept = ["--accept", "null=NaN,header,index,bom,null=\\N"];
    published.convert_well(&cut);
    for some in ["2-3", "0-1", "0-7"] {
        copied.convert_well(&[&cut[..], &accept, &["--parts", some]].concat());
    }
    let parts = |scratch: &Scratch| {
        let parts = manifest(&scratch.out())["tables"][0]["parts"].clone();
        parts.as_array().unwrap().clone()
    };
    let (ours, theirs) = (parts(&copied), parts(&published));
    assert_eq!((ours.len(), theirs.len()), (8, 8));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours["output"]["sha256"], theirs["output"]["sha256"]);
        for count in ["headers_accepted", "indexes_accepted", "boms_accepted"] {
            let expected = (number == 0).then_some(1);
            assert_eq!(
                ours.get(count).and_then(serde_json::Value::as_u64),
                expected,
                "{count}"
            );
        }
    }
    let by_part = ours
        .iter()
        .filter_map(|part| part["nulls_accepted"].as_u64());
    assert_eq!(by_part.sum::<u64>(), nulls);
    copied.verify().well();
}

/// A text for NULL that is also a number is NULL, and another spelling of the number isn't, whether the values of a column
/// repeat or not.
#[test]
fn a_number_may_be_a_word_for_null() {
    // More distinct values than a dictionary holds.
    let rows = 200_000;
    let repeated = |row: usize| ["77", "077", "5"][row % 3].to_owned();
    let distinct = |row: usize| match row % 1_000 {
        7 => "77".to_owned(),
        3 => "077".to_owned(),
        _ => (row + 1_000).to_string(),
    };
    for (class, nulls) in [
        (&repeated as &dyn Fn(usize) -> String, 133_334),
        (&distinct, 400),
    ] {
        let row = |row| {
            let (number, class) = (row + 100, class(row));
            // A number and a text.
            format!("{number},,{number},0,{class},{class},n,l\n")
        };
        let scratch = Scratch::new();
        scratch.only(
            "job_events",
            (0..rows).map(row).collect::<String>().as_bytes(),
        );
        for format in ["parquet", "arrow"] {
            let _ = std::fs::remove_dir_all(scratch.out());
            scratch.convert_well(&["--accept", "null=77", "--format", format]);
            let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
            assert_eq!(part["nulls_accepted"], nulls);
            scratch.verify().well();
        }
    }
}

/// Each count of the manifest is compared with the source.
#[test]
fn a_wrong_count_of_what_was_accepted_is_found() {
    let name = "job_events";
    let (saved, _) = saved_again(&rows::sample(table(name), 0, 30), table(name), "\n");
    let scratch = Scratch::new();
    scratch.only(name, saved.as_bytes());
    scratch.convert_well(&["--accept", "null=NaN,header,index,bom,null=\\N"]);
    let healthy = manifest(&scratch.out());
    for count in ["headers", "indexes", "boms", "integral_floats", "nulls"] {
        let mut json = healthy.clone();
        let count = &mut json["tables"][0]["parts"][0][format!("{count}_accepted")];
        *count = (count.as_u64().unwrap_or(0) + 1).into();
        write_manifest(&scratch.out(), &json);
        let found = scratch.verify();
        assert_eq!(found.code, 5, "{}", found.stderr);
        found.prints("accepted: ");
    }
    write_manifest(&scratch.out(), &healthy);
    let out = scratch.out();
    run(["release", out.to_str().unwrap(), "--allow-missing"]).well();
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    // The command is one that people can type.
    let typed = r"--accept 'header,index,bom,null=NaN,null=\N'";
    assert!(card.contains(typed), "{card}");
}

/// Rows with a fault are set aside with the place that they have in the file, and verify finds them right.
#[test]
fn bad_rows_of_a_file_of_another_program_are_set_aside() {
    let name = "job_events";
    let (mut saved, _) = saved_again(&rows::sample(table(name), 0, 30), table(name), "\n");
    saved += "30,x,NaN,1,0,u,2,n,l\n31,600,NaN,NaN,0,u,2,n,l\n32,600,NaN,1,0,u,2,n\n";
    let scratch = Scratch::new();
    scratch.only(name, saved.as_bytes());
    let accept = ["--accept", "null=NaN,header,index,bom,null=\\N"];
    scratch
        .convert(&[&accept[..], &["--on-bad-row", "reject"]].concat())
        .exits(3);
    let path = "_tracelake/rejects/job_events/part-00000-of-00001.ndjson";
    let rejects = std::fs::read_to_string(scratch.out().join(path)).unwrap();
    let rejects: Vec<serde_json::Value> = rejects
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: Vec<_> = rejects
        .iter()
        .map(|reject| {
            (
                reject["line"].as_u64().unwrap(),
                reject["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(said[0], (32, "not an integer in decimal digits: 'x'"));
    assert_eq!(said[1].0, 33);
    assert!(said[2].1.starts_with("8 fields"), "{said:?}");
    for reject in &rejects {
        let raw = reject["raw"].as_str().unwrap();
        let byte = usize::try_from(reject["byte"].as_u64().unwrap()).unwrap();
        assert!(saved[byte..].starts_with(raw), "{reject}");
    }
    scratch.verify().well();
}

/// In quoted CSV and JSON lines, a byte order mark; in quoted CSV, an index and a word for NULL too.
#[test]
fn other_syntaxes_accept_what_makes_sense() {
    for (form, text, accept) in [
        (
            SYNTAXES[0],
            "\u{feff},time,mood,after\n0,5,1,\"[1, 2]\"\n1,\"7\",NaN,\n2,8,2,[3]\n",
            "bom,index,null=NaN",
        ),
        (
            SYNTAXES[1],
            "\u{feff}{\"time\":5,\"mood\":1,\"after\":[1,2]}\n{\"time\":\"7\"}\n{\"time\":8,\"mood\":2,\"after\":[3]}\n",
            "bom,index,null=NaN",
        ),
    ] {
        let (scratch, description) = of_syntax(form);
        scratch.file(form.1, text.as_bytes());
        let trace = ["--trace", &description];
        scratch.convert(&trace).refuses(4, "pass --accept bom");
        for format in ["arrow", "parquet"] {
            let out = scratch.out();
            let _ = std::fs::remove_dir_all(&out);
            scratch.convert_well(&[&trace[..], &["--accept", accept, "--format", format]].concat());
            let part = &manifest(&out)["tables"][0]["parts"][0];
            assert_eq!(part["boms_accepted"], 1);
            let is_csv = form.0 == "quoted-csv";
            let count = |name: &str| part.get(name).and_then(serde_json::Value::as_u64);
            assert_eq!(count("indexes_accepted"), is_csv.then_some(1));
            assert_eq!(count("nulls_accepted"), is_csv.then_some(1));
            let rows = read_output(&out.join(part["output"]["path"].as_str().unwrap()));
            let times = rows.column(0).as_primitive::<Int64Type>();
            assert_eq!(times.values(), &[5, 7, 8]);
            let moods = rows.column(1).as_primitive::<Int32Type>().iter();
            assert_eq!(moods.collect::<Vec<_>>(), [Some(1), None, Some(2)]);
            scratch.verify().well();
        }
    }
}

/// A sample and a range of time are of the values, however they are spelled.
#[test]
fn accepted_integers_are_selected_by_their_value() {
    let (scratch, published) = (Scratch::new(), Scratch::new());
    let row = |number: u32, point: &str| {
        let time = number * 1_000_000;
        format!("{time}{point},,{}{point},0,u,3,j,l\n", 3_418_309 + number)
    };
    let text = |point: &str| (0..40).map(|number| row(number, point)).collect::<String>();
    let path = "job_events/part-00000-of-00001.csv.gz";
    scratch.file(path, &gzip(text(".0").as_bytes()));
    published.file(path, &gzip(text("").as_bytes()));
    let selected = ["--sample", "1/3", "--time", "5s..30s"];
    scratch.convert_well(&[&selected[..], &["--accept", "integral-floats"]].concat());
    published.convert_well(&selected);
    scratch.verify().well();
    let part = |scratch: &Scratch| manifest(&scratch.out())["tables"][0]["parts"][0].clone();
    let (ours, theirs) = (part(&scratch), part(&published));
    for count in ["rows_out", "rows_not_selected", "time_min", "time_max"] {
        assert_eq!(ours[count], theirs[count], "{count}");
    }
    assert_eq!(
        ours["integral_floats_accepted"],
        2 * ours["rows_out"].as_u64().unwrap()
    );
}

#[test]
fn a_float_with_a_fraction_stays_a_bad_row() {
    let scratch = Scratch::new();
    let (floats, _) = as_floats(good_row("job_events"), "job_events");
    let row = floats.replacen(".0", ".5", 1);
    scratch.file(
        "job_events/part-00000-of-00001.csv.gz",
        &gzip(format!("{row}\n").as_bytes()),
    );
    scratch
        .convert(&["--accept", "integral-floats"])
        .refuses(4, "not an integer");
}

/// Rows of quoted CSV and of JSON lines with 4 integers spelled as floats, a row without any, and a bad row. The last
/// column is a list.
const SYNTAXES: [(&str, &str, &str); 2] = [
    (
        "quoted-csv",
        "readings.csv",
        "time,mood,after\n5.0,1.0,\"[1.0, 2]\"\n\"7.00\",,\n8,2,[3]\n9.0,1.5,\n",
    ),
    (
        "json",
        "readings.json",
        "{\"time\":5.0,\"mood\":1.0,\"after\":[1.0,2]}\n{\"time\":\"7.00\"}\n{\"time\":8,\"mood\":2,\"after\":[3]}\n\
         {\"time\":9.0,\"mood\":1.5}\n",
    ),
];

/// The source of one of them, and its description.
fn of_syntax((syntax, file, text): (&str, &str, &str)) -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.file(file, text.as_bytes());
    let table = format!("files = \"whole\"\nsyntax = \"{syntax}\"\ntime = \"time\"");
    let item = "[[table.column.field]]\nname = \"item\"\ncontent = \"item\"\nformat = \"ANY\"\n\
                obfuscation = \"unchanged\"\ndoc = \"A value.\"\nkind = \"integer\"";
    let columns = [
        ("time", "kind = \"integer\"\nunit = \"seconds since 1970\""),
        ("mood", "kind = \"code\"\ncodes = \"mood\""),
        ("after", &format!("kind = \"list\"\n{item}")),
    ];
    let description = describe(
        &scratch,
        "weather.toml",
        &(one_table(&table, &columns) + CODES),
    );
    (scratch, description.to_str().unwrap().to_owned())
}

#[test]
fn integers_in_quoted_csv_and_json_may_be_floats_on_request() {
    for form in SYNTAXES {
        let (scratch, description) = of_syntax(form);
        let trace = ["--trace", &description];
        let refused = scratch.convert(&trace);
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        let says = "pass --accept integral-floats";
        refused.says(says);
        let accept = ["--accept", "integral-floats"];
        let strict = scratch.convert(&[trace, accept].concat());
        assert_eq!(strict.code, 4, "{}", strict.stderr);
        let says = "readings.mood: not an integer in decimal digits: '1.5'";
        strict.says(says);
        let options = [&trace[..], &accept, &["--on-bad-row", "reject"]].concat();
        for format in ["arrow", "parquet"] {
            let out = scratch.out();
            let _ = std::fs::remove_dir_all(&out);
            scratch
                .convert(&[&options[..], &["--format", format]].concat())
                .exits(3);
            let part = &manifest(&out)["tables"][0]["parts"][0];
            assert_eq!(part["integral_floats_accepted"], 4, "{form:?}");
            assert_eq!(
                (&part["rows_out"], &part["rows_rejected"]),
                (&3.into(), &1.into())
            );
            assert_eq!(
                (&part["time_min"], &part["time_max"]),
                (&5.into(), &8.into())
            );
            let path = out.join(part["output"]["path"].as_str().unwrap());
            let rows = match format {
                "arrow" => read_arrow(&path).remove(0),
                _ => read_output(&path),
            };
            let times = rows.column(0).as_primitive::<Int64Type>();
            assert_eq!(times.values(), &[5, 7, 8]);
            let moods = rows.column(1).as_primitive::<Int32Type>().iter();
            assert_eq!(moods.collect::<Vec<_>>(), [Some(1), None, Some(2)]);
            let items = rows.column(2).as_list::<i32>().values();
            assert_eq!(items.as_primitive::<Int64Type>().values(), &[1, 2, 3]);
            scratch.verify().well();
        }
        // A range of time is of the values.
        std::fs::remove_dir_all(scratch.out()).unwrap();
        scratch.convert_well(&[&trace[..], &accept, &["--time", "6s..9s"]].concat());
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        assert_eq!(
            (&part["rows_out"], &part["rows_not_selected"]),
            (&2.into(), &2.into())
        );
        assert_eq!(part["integral_floats_accepted"], 1);
        scratch.verify().well();
    }
}
