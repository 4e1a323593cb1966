//! Date-times in every syntax: the same values, and the same mistakes.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_schema::{DataType, TimeUnit};

use std::fs;

use tracelake_testkit::{Scratch, convert, manifest, read_arrow, read_output, shared, verify_well};

use super::describe;
use super::language::{converted, first_output, misfit, one_table};

/// A syntax, the name of its file, and the text of a local time and one with a zone as a row of it.
struct Form {
    syntax: &'static str,
    file: &'static str,
    header: &'static str,
    row: fn(&str, &str) -> String,
}

const FORMS: [Form; 3] = [
    Form {
        syntax: "csv",
        file: "readings.csv",
        header: "",
        row: |local, utc| format!("{local},{utc}\n"),
    },
    Form {
        syntax: "quoted-csv",
        file: "readings.csv",
        header: "local,utc\n",
        row: |local, utc| format!("\"{local}\",{utc}\n"),
    },
    Form {
        syntax: "json",
        file: "readings.json",
        header: "",
        row: |local, utc| {
            let value = |text: &str| match text {
                "" => "null".to_owned(),
                text => format!("{text:?}"),
            };
            format!("{{\"utc\":{},\"local\":{}}}\n", value(utc), value(local))
        },
    },
];

impl Form {
    fn description(&self) -> String {
        let table = format!(
            "files = \"whole\"\ntime = \"local\"\nsyntax = \"{}\"",
            self.syntax
        );
        let columns = [
            ("local", "kind = \"date-time\"\nzone = \"none\""),
            ("utc", "kind = \"date-time\"\nzone = \"published\""),
        ];
        one_table(&table, &columns)
    }

    fn source(&self, rows: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch::new();
        let rows = rows.iter().map(|(local, utc)| (self.row)(local, utc));
        let text = self.header.to_owned() + &rows.collect::<String>();
        scratch.file(self.file, text.as_bytes());
        scratch
    }
}

const ROWS: [(&str, &str); 2] = [
    (
        "2023-11-16 18:17:03.9799600",
        "2024-05-10 00:00:00.009930+00:00",
    ),
    ("2023-11-16T18:17:04", ""),
];

#[test]
fn date_times_are_timestamps() {
    for form in &FORMS {
        let scratch = form.source(&ROWS);
        converted(&scratch, &form.description());
        let read = read_output(&first_output(&scratch));
        let local = DataType::Timestamp(TimeUnit::Microsecond, None);
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let fields = read.schema();
        let types = fields.fields().iter().map(|field| field.data_type());
        assert_eq!(types.collect::<Vec<_>>(), [&local, &utc], "{}", form.syntax);
        let values = read.column(0).as_primitive::<TimestampMicrosecondType>();
        assert_eq!(
            values.values(),
            &[1_700_158_623_979_960, 1_700_158_624_000_000]
        );
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        assert_eq!(part["time_min"], 1_700_158_623_979_960_i64);
        let arrow = manifest(&scratch.path().join("arrow"));
        let path = arrow["tables"][0]["parts"][0]["output"]["path"]
            .as_str()
            .unwrap();
        let batches = read_arrow(&scratch.path().join("arrow").join(path));
        let values = batches[0]
            .column(1)
            .as_primitive::<TimestampMicrosecondType>();
        assert_eq!(values.value(0), 1_715_299_200_009_930);
        assert_eq!(batches[0].column(1).null_count(), 1);
    }
}

#[test]
fn what_is_no_date_time_is_a_bad_row_with_its_place() {
    for form in &FORMS {
        for (local, utc, column, says) in [
            (
                "2023-11-16 18:17:03Z",
                "",
                "local",
                "a date and time with a zone",
            ),
            (
                "2023-11-16 18:17:03.1234567",
                "",
                "local",
                "more exact than a microsecond",
            ),
            ("2023-11-31 18:17:03", "", "local", "not a date and time"),
            ("20231116", "", "local", "not a date and time"),
            (
                "2023-11-16 18:17:03",
                "2023-11-16 18:17:03",
                "utc",
                "a date and time without a zone",
            ),
        ] {
            let scratch = form.source(&[ROWS[0], (local, utc)]);
            let run = misfit(&scratch, &form.description());
            assert_eq!(run.code, 4, "{}", run.stderr);
            let line = 2 + form.header.lines().count();
            let value = if column == "utc" { utc } else { local };
            for part in [says, &format!("{}:{line}:", form.file), column, value] {
                assert!(run.message().contains(part), "{part}: {}", run.message());
            }
        }
    }
}

/// The range of time applies to the values, whatever the syntax.
#[test]
fn date_times_select_rows() {
    for form in &FORMS {
        let scratch = form.source(&ROWS);
        let file = describe(&scratch, "weather.toml", &form.description());
        let trace = ["--trace", file.to_str().unwrap()];
        let range = ["--time", "1700158624000000..1700158624000001"];
        let out = scratch.out();
        let made = convert(&scratch.src(), &out, &[trace, range].concat());
        assert_eq!(made.code, 0, "{}: {}", form.syntax, made.stderr);
        let part = &manifest(&out)["tables"][0]["parts"][0];
        assert_eq!(
            (&part["rows_in"], &part["rows_out"], &part["time_min"]),
            (&2.into(), &1.into(), &1_700_158_624_000_000_i64.into())
        );
        verify_well(&out, &scratch.src());
    }
}

/// A description with names of zones.
fn with_zones(description: &str) -> String {
    let zones = "[zones]\nPDT = \"-07:00\"\nPST = \"-08:00\"\n";
    description.replacen("[[trace]]", &format!("{zones}[[trace]]"), 1)
}

#[test]
fn zones_may_have_names() {
    for form in &FORMS {
        let rows = [
            ("2017-11-05 01:30:00", "2017-11-05 01:30:00 PDT"),
            ("2017-11-05 01:30:00", "2017-11-05 01:30:00.5 PST"),
            ("2017-11-05 01:30:00", "2017-11-05T09:30:00Z"),
        ];
        let scratch = form.source(&rows);
        let description =
            with_zones(&form.description()).replace("\"local\"\nsyntax", "\"utc\"\nsyntax");
        converted(&scratch, &description);
        let read = read_output(&first_output(&scratch));
        let values = read.column(1).as_primitive::<TimestampMicrosecondType>();
        let first = 1_509_870_600_000_000_i64;
        assert_eq!(
            values.values(),
            &[first, first + 3_600_500_000, first + 3_600_000_000]
        );
        let range = format!("{}..{}", first + 3_600_000_000, first + 3_600_000_001);
        let file = describe(&scratch, "weather.toml", &description);
        let out = scratch.path().join("some");
        convert(
            &scratch.src(),
            &out,
            &["--trace", file.to_str().unwrap(), "--time", &range],
        )
        .well();
        verify_well(&out, &scratch.src());
        assert_eq!(manifest(&out)["tables"][0]["rows"], 1);
        let scratch = form.source(&[rows[0], ("2017-11-05 01:30:00", "2017-11-05 01:30:00 EST")]);
        let line = 2 + form.header.lines().count();
        let run = misfit(&scratch, &description);
        run.refuses(4, "readings.utc: not a date and time such as");
        run.says(&format!("{}:{line}:", form.file));
        run.says("2017-11-05 01:30:00 EST");
        let file = describe(&scratch, "weather.toml", &description);
        let out = scratch.path().join("rejecting");
        let trace = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
        convert(&scratch.src(), &out, &trace).exits(3);
        verify_well(&out, &scratch.src());
    }
}

/// Real rows with the names of zones.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_rows_with_names_of_zones_are_read() {
    let text = fs::read_to_string(shared("next/philly/cluster_cpu_util")).unwrap();
    let scratch = Scratch::new();
    scratch.file("cluster_cpu_util", text.as_bytes());
    let description = "family = \"philly\"\nzones = { PST = \"-08:00\", PDT = \"-07:00\" }\n[[table]]\n\
        name = \"cpu_util\"\nfile = \"cluster_cpu_util\"\ncsv.header = true\ntime = \"time\"\n\
        columns = { time = { kind = \"date-time\", zone = \"published\" }, machine_id = \"text\", cpu_util = \"float\" }\n";
    converted(&scratch, description);
    let read = read_output(&first_output(&scratch));
    let times = read.column(0).as_primitive::<TimestampMicrosecondType>();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(read.num_rows(), rows.len());
    for (row, line) in rows.iter().enumerate() {
        let (time, zone) = line.split(',').next().unwrap().rsplit_once(' ').unwrap();
        let offset = if zone == "PDT" { 7 } else { 8 };
        let local = times.value(row) - offset * 3_600_000_000;
        assert_eq!(tracelake_core::date_time::written(local), time);
    }
}
