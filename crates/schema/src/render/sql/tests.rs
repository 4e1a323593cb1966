use super::*;
use crate::{Files, TRACES};

fn user() -> Column {
    Column {
        format: "STRING".to_owned(),
        mandatory: true,
        doc: r"The user's \name.".to_owned(),
        ..Column::plain("user", Kind::Text)
    }
}

fn table() -> Table {
    Table {
        summary: "what's odd".to_owned(),
        files: Files::Parts,
        parts: 1,
        ..Table::plain("odd", [user()])
    }
}

#[test]
fn views_read_the_files_that_they_are_given() {
    for trace in TRACES {
        for table in trace.all_tables() {
            let views = duckdb_views(trace, table, "['/a[[]1]/b.parquet']");
            assert!(views.contains("FROM read_parquet(['/a[[]1]/b.parquet'], "));
            assert!(!views.contains("**"), "{}", table.name);
            let below = duckdb_views(trace, table, &files_below(table));
            assert!(duckdb(trace, Some(table)).ends_with(&format!("\n{below}")));
        }
    }
}

#[test]
fn names_for_spark_are_those_of_the_view() {
    for trace in TRACES {
        for table in trace.all_tables() {
            let columns = spark_named(trace, table).join(",\n    ");
            let view = format!(" AS SELECT\n    {columns},\n    `");
            assert!(spark(trace, Some(table)).contains(&view), "{}", table.name);
        }
    }
}

#[test]
fn duckdb_doubles_quotes() {
    let ddl = duckdb(&TRACES[0], Some(&table()));
    assert!(
        ddl.contains("FROM read_parquet('odd/**/*.parquet', "),
        "{ddl}"
    );
    assert!(
        ddl.contains("COMMENT ON VIEW \"odd\" IS 'what''s odd';"),
        "{ddl}"
    );
    assert!(
        ddl.contains(r#"COLUMN "odd"."user" IS 'The user''s \name.';"#),
        "{ddl}"
    );
    assert!(!ddl.contains("CREATE TABLE"), "{ddl}");
}

#[test]
fn spark_escapes_with_a_backslash() {
    let ddl = spark(&TRACES[0], Some(&table()));
    assert!(
        ddl.contains(r"`user` STRING COMMENT 'The user\'s \\name.'"),
        "{ddl}"
    );
    assert!(ddl.contains(r"COMMENT 'what\'s odd'"), "{ddl}");
    assert!(ddl.contains("PARTITIONED BY (`file_number`)"), "{ddl}");
}

#[test]
fn a_table_that_is_published_by_cell_has_a_cell_above_the_file_number() {
    let trace = &crate::Trace {
        cells: Some(crate::Cells {
            names: vec!["a".to_owned()],
            directory: "moon_{cell}".to_owned(),
            doc: "The crater.".to_owned(),
        }),
        ..(*TRACES[0]).clone()
    };
    let ddl = spark(trace, Some(&table()));
    assert!(
        ddl.contains("PARTITIONED BY (`cell`, `file_number`)"),
        "{ddl}"
    );
    assert!(
        ddl.contains("`cell` STRING COMMENT 'The crater. It is in"),
        "{ddl}"
    );
    let ddl = duckdb(trace, Some(&table()));
    assert!(
        ddl.contains("COMMENT ON COLUMN \"odd\".\"cell\" IS 'The crater."),
        "{ddl}"
    );
    let whole = Table {
        files: Files::Whole,
        naming: crate::Naming::NONE,
        csv: crate::Csv::PLAIN,
        ..table()
    };
    assert!(!duckdb(trace, Some(&whole)).contains("cell"));
    assert!(!duckdb(&TRACES[0], Some(&table())).contains("cell"));
}

#[test]
fn every_table_has_its_files_and_a_view_in_which_no_column_is_there_twice() {
    for trace in TRACES {
        let views = |ddl: &str| ddl.matches("VIEW \"").count() - ddl.matches("ON VIEW").count();
        assert_eq!(views(&duckdb(trace, None)), 2 * trace.tables.len());
        for derived in &trace.derived {
            assert_eq!(views(&duckdb(trace, Some(&derived.table))), 2);
        }
        let spark = spark(trace, None);
        let tables = trace.all_tables().count();
        assert_eq!(spark.matches("CREATE TABLE").count(), tables);
        assert_eq!(spark.matches("CREATE VIEW").count(), tables);
        for table in trace.all_tables() {
            let select = select(trace, table, &DUCKDB);
            let names = select.lines().map(|line| line.rsplit(' ').next().unwrap());
            let mut names: Vec<&str> = names.map(|name| name.trim_end_matches(',')).collect();
            assert!(names.len() > table.columns.len(), "{select}");
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }
}

#[test]
fn the_expressions_of_a_view_follow_the_description() {
    let column = |kind, unit: Option<&str>, format: &str| Column {
        name: "c".to_owned(),
        kind,
        unit: unit.map(str::to_owned),
        format: format.to_owned(),
        ..user()
    };
    let special = [crate::Sentinel {
        value: -1,
        name: "NONE".to_owned(),
        also: None,
        doc: String::new(),
    }];
    let trace = &crate::Trace {
        epoch: None,
        ..(*TRACES[0]).clone()
    };
    let duckdb = |column: &Column| selected(trace, column, &DUCKDB).join("; ");
    let plain = column(Kind::Integer, None, "INTEGER");
    assert_eq!(duckdb(&plain), "\"c\"");
    let invalid = Column {
        sentinels: special.into(),
        ..plain.clone()
    };
    assert_eq!(
        duckdb(&invalid),
        "CASE WHEN \"c\" NOT IN (-1) THEN \"c\" END AS \"c\""
    );
    let time = column(Kind::Float, Some("seconds since the start"), "FLOAT");
    assert_eq!(
        duckdb(&time),
        "CAST(\"c\" AS DOUBLE) / 1 AS \"c_seconds\"; \
             make_timestamp(TRY_CAST(round(\"c\" * 1000000) + 0 AS BIGINT)) AS \"c_timestamp\"; \"c\""
    );
    let code = Column {
        codes: [crate::Code {
            value: 3,
            name: "it's".to_owned(),
            doc: String::new(),
        }]
        .into(),
        ..column(Kind::Code, None, "INTEGER")
    };
    assert_eq!(
        selected(trace, &code, &SPARK),
        [r"CASE `c` WHEN 3 THEN 'it\'s' ELSE CAST(`c` AS STRING) END AS `c`"]
    );
    let ranges = [
        crate::Range {
            from: 0,
            to: Some(4),
            name: "LOW".to_owned(),
            doc: String::new(),
        },
        crate::Range {
            from: 10,
            to: None,
            name: "HIGH".to_owned(),
            doc: String::new(),
        },
    ];
    assert_eq!(
        duckdb(&Column {
            ranges: ranges.into(),
            ..plain
        }),
        "CASE WHEN \"c\" BETWEEN 0 AND 4 THEN 'LOW' WHEN \"c\" >= 10 THEN 'HIGH' END AS \"c_range\"; \"c\""
    );
    let mixed = column(Kind::Text, None, "STRING_HASH_OR_INTEGER");
    assert_eq!(
        selected(trace, &mixed, &SPARK),
        [
            "CASE WHEN `c` RLIKE '^-?[0-9]+$' THEN TRY_CAST(`c` AS BIGINT) END AS `c_integer`",
            "`c`"
        ]
    );
}
