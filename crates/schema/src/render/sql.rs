//! Tables as statements for databases; identifiers are always quoted, since `time` and `user` are
//! words of SQL.

use super::{PARTITION, PARTITION_DOC, asked, remark};
use crate::{Column, Kind, Table, Trace};

/// `CREATE TABLE` and `COMMENT ON` statements for DuckDB.
///
/// Every table has the partition column `file_number`, since every table of a partitioned lake is
/// split by it, those of one part too; loaded from a flat lake it is NULL. A comment says how to
/// load a table. Each table `t` has a view `t_named`:
///
/// - a code is its name; a value without a name is its number as text;
/// - a special value is NULL;
/// - beside a point in time `c` stand `c_seconds`, in seconds, and `c_timestamp`, in UTC, both NULL
///   for a special value; `c` itself is as in the table;
/// - beside a text `c` that may hold an integer stands `c_integer`, NULL where it does not.
///
/// Where nobody knows when time 0 was, timestamps count from 1970-01-01, and a comment says so.
#[must_use]
pub fn duckdb(trace: &Trace, table: Option<&Table>) -> String {
    statements(trace, table, duckdb_table, |table| {
        let view = double_quoted(&view_name(table));
        format!(
            "CREATE VIEW {view} AS SELECT\n{}\nFROM {};\nCOMMENT ON VIEW {view} IS {};\n",
            select(trace, table, &DUCKDB),
            double_quoted(table.name),
            sql_string(&view_doc(trace, table)),
        )
    })
}

fn duckdb_table(table: &Table) -> String {
    let name = double_quoted(table.name);
    let mut columns = Vec::new();
    let mut comments = format!(
        "COMMENT ON TABLE {name} IS {};\n",
        sql_string(table.summary)
    );
    let mut comment = |column: &str, text: &str| {
        comments.push_str(&format!(
            "COMMENT ON COLUMN {name}.{column} IS {};\n",
            sql_string(text)
        ));
    };
    for column in table.columns {
        let quoted = double_quoted(column.name);
        let null = if column.mandatory { " NOT NULL" } else { "" };
        columns.push(format!("    {quoted} {}{null}", duckdb_type(column)));
        comment(&quoted, &remark(column));
    }
    let partition = double_quoted(PARTITION);
    columns.push(format!("    {partition} INTEGER"));
    comment(&partition, PARTITION_DOC);
    format!(
        "-- To load it from the lake OUT: INSERT INTO {name} BY NAME SELECT * FROM\n\
         -- read_parquet('OUT/{}/**/*.parquet', hive_partitioning = true);\n\
         CREATE TABLE {name} (\n{}\n);\n{comments}",
        table.name,
        columns.join(",\n"),
    )
}

/// `CREATE TABLE … USING parquet PARTITIONED BY (file_number)` statements for Spark.
///
/// They lay a table over the files of a partitioned lake, to be put in place of `OUT`. Columns are
/// nullable, as Spark takes all columns of files to be. For a flat lake leave out `file_number`,
/// the clause with it, the statement that repairs the table, and the last column of the view. The
/// views are those of [`duckdb`].
#[must_use]
pub fn spark(trace: &Trace, table: Option<&Table>) -> String {
    statements(trace, table, spark_table, |table| {
        format!(
            "CREATE VIEW {} COMMENT {} AS SELECT\n{}\nFROM {};\n",
            backquoted(&view_name(table)),
            spark_string(&view_doc(trace, table)),
            select(trace, table, &SPARK),
            backquoted(table.name),
        )
    })
}

/// The tables that are asked for, then their views.
fn statements(
    trace: &Trace,
    table: Option<&Table>,
    create: impl Fn(&Table) -> String,
    view: impl Fn(&Table) -> String,
) -> String {
    let tables = asked(trace, table);
    let created = tables.iter().map(|table| create(table));
    let statements = created.chain(tables.iter().map(|table| view(table)));
    let statements = statements.collect::<Vec<_>>().join("\n");
    format!("-- {}\n\n{statements}", trace.title)
}

/// Where the databases differ in what the views need.
struct Dialect {
    identifier: fn(&str) -> String,
    string: fn(&str) -> String,
    text: &'static str,
    /// An integer type in which the microseconds of any 64-bit integer of seconds fit.
    wide: &'static str,
    /// The test that a text is an integer in decimal digits, after the text.
    is_integer: &'static str,
    /// The function from microseconds since 1970 to a timestamp.
    timestamp: &'static str,
}

const DUCKDB: Dialect = Dialect {
    identifier: double_quoted,
    string: sql_string,
    text: "VARCHAR",
    wide: "HUGEINT",
    is_integer: "SIMILAR TO '-?[0-9]+'",
    timestamp: "make_timestamp",
};

const SPARK: Dialect = Dialect {
    identifier: backquoted,
    string: spark_string,
    text: "STRING",
    wide: "DECIMAL(38, 0)",
    is_integer: "RLIKE '^-?[0-9]+$'",
    timestamp: "timestamp_micros",
};

fn view_name(table: &Table) -> String {
    format!("{}_named", table.name)
}

fn view_doc(trace: &Trace, table: &Table) -> String {
    let mut doc = format!(
        "{} Codes are their names, special values are NULL.",
        table.summary
    );
    if table.columns.iter().any(|one| one.time_units().is_some()) {
        doc.push_str(match trace.epoch {
            Some(_) => " Timestamps are in UTC.",
            None => " Timestamps count from 1970-01-01: nobody knows when time 0 was.",
        });
    }
    doc
}

/// What a view selects, one column a line.
fn select(trace: &Trace, table: &Table, dialect: &Dialect) -> String {
    let columns = table.columns.iter();
    let mut lines: Vec<String> = columns
        .flat_map(|column| selected(trace, column, dialect))
        .collect();
    lines.push((dialect.identifier)(PARTITION));
    let lines = lines.iter().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join(",\n")
}

/// What a view has of one column.
fn selected(trace: &Trace, column: &Column, dialect: &Dialect) -> Vec<String> {
    let Dialect {
        identifier, text, ..
    } = dialect;
    let name = identifier(column.name);
    let beside = |suffix: &str| identifier(&format!("{}_{suffix}", column.name));
    let value = without_sentinels(column, &name);
    if let Some(units) = column.time_units() {
        let micros = 1_000_000 / units;
        let micros = match column.kind {
            Kind::Float => format!("round({value} * {micros})"),
            _ => format!("CAST({value} AS {}) * {micros}", dialect.wide),
        };
        let epoch = trace.epoch.unwrap_or(0).saturating_mul(1_000_000);
        return vec![
            format!("CAST({value} AS DOUBLE) / {units} AS {}", beside("seconds")),
            format!(
                "{}(TRY_CAST({micros} + {epoch} AS BIGINT)) AS {}",
                dialect.timestamp,
                beside("timestamp")
            ),
            name,
        ];
    }
    if !column.codes.is_empty() {
        let names = column.codes.iter().map(|code| {
            let name = (dialect.string)(code.name);
            format!("WHEN {} THEN {name} ", code.value)
        });
        let names: String = names.collect();
        return vec![format!(
            "CASE {name} {names}ELSE CAST({name} AS {text}) END AS {name}"
        )];
    }
    if !column.ranges.is_empty() {
        let names = column.ranges.iter().rev().map(|range| {
            let text = (dialect.string)(range.name);
            format!("WHEN {name} >= {} THEN {text} ", range.from)
        });
        let names: String = names.collect();
        return vec![format!("CASE {names}END AS {}", beside("range")), name];
    }
    if column.may_be_integer() {
        let is_integer = dialect.is_integer;
        let integer = beside("integer");
        return vec![
            format!(
                "CASE WHEN {name} {is_integer} THEN TRY_CAST({name} AS BIGINT) END AS {integer}"
            ),
            name,
        ];
    }
    if value == name {
        vec![name]
    } else {
        vec![format!("{value} AS {name}")]
    }
}

/// A column in which special values, and those that are not valid, are NULL.
fn without_sentinels(column: &Column, name: &str) -> String {
    let sentinels = column.sentinels.iter().map(|one| one.value);
    let values = sentinels.chain(column.invalid.iter().copied());
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() {
        return name.to_owned();
    }
    let values = values.join(", ");
    format!("CASE WHEN {name} NOT IN ({values}) THEN {name} END")
}

fn spark_table(table: &Table) -> String {
    let line = |name: &str, kind: &str, comment: &str| {
        format!(
            "    {} {kind} COMMENT {}",
            backquoted(name),
            spark_string(comment)
        )
    };
    let columns = table.columns.iter();
    let mut columns: Vec<String> = columns
        .map(|column| line(column.name, &spark_type(column), &remark(column)))
        .collect();
    columns.push(line(PARTITION, "INT", PARTITION_DOC));
    let name = backquoted(table.name);
    format!(
        "-- Put the directory of the lake in place of OUT.\n\
         CREATE TABLE {name} (\n{}\n)\nUSING parquet\nPARTITIONED BY ({})\nCOMMENT {}\n\
         LOCATION 'OUT/{}';\nMSCK REPAIR TABLE {name};\n",
        columns.join(",\n"),
        backquoted(PARTITION),
        spark_string(table.summary),
        table.name,
    )
}

fn duckdb_type(column: &Column) -> String {
    match column.kind {
        Kind::Integer => "BIGINT".to_owned(),
        Kind::Float => "DOUBLE".to_owned(),
        Kind::Boolean => "BOOLEAN".to_owned(),
        Kind::Text => "VARCHAR".to_owned(),
        Kind::Code => "INTEGER".to_owned(),
        Kind::Struct => {
            let field =
                |field: &Column| format!("{} {}", double_quoted(field.name), duckdb_type(field));
            format!("STRUCT({})", listed(column, field))
        }
        Kind::List => format!("{}[]", listed(column, duckdb_type)),
    }
}

fn spark_type(column: &Column) -> String {
    match column.kind {
        Kind::Integer => "BIGINT".to_owned(),
        Kind::Float => "DOUBLE".to_owned(),
        Kind::Boolean => "BOOLEAN".to_owned(),
        Kind::Text => "STRING".to_owned(),
        Kind::Code => "INT".to_owned(),
        Kind::Struct => {
            let field =
                |field: &Column| format!("{}: {}", backquoted(field.name), spark_type(field));
            format!("STRUCT<{}>", listed(column, field))
        }
        Kind::List => format!("ARRAY<{}>", listed(column, spark_type)),
    }
}

/// What is in a nested column, with commas between.
fn listed(column: &Column, name: impl Fn(&Column) -> String) -> String {
    column
        .fields
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(", ")
}

fn double_quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Standard SQL doubles a quote; a backslash is a letter like any other.
fn sql_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Spark reads `''` as two strings side by side, and a backslash as the start of an escape.
fn spark_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Files, Obfuscation, Syntax, TRACES};

    const TABLE: Table = Table {
        name: "odd",
        summary: "what's odd",
        columns: &[Column {
            name: "user",
            content: "user",
            kind: Kind::Text,
            format: "STRING",
            mandatory: true,
            unit: None,
            fields: &[],
            obfuscation: Obfuscation::Unchanged,
            codes: &[],
            sentinels: &[],
            ranges: &[],
            invalid: &[],
            doc: r"The user's \name.",
            synthetic: "",
            empty: 0.0,
        }],
        fields: &[0],
        files: Files::Parts,
        syntax: Syntax::Csv,
        parts: 1,
        published: None,
        time: None,
        synthetic: "",
    };

    #[test]
    fn duckdb_doubles_quotes() {
        let ddl = duckdb(&TRACES[0], Some(&TABLE));
        assert!(
            ddl.contains("\"user\" VARCHAR NOT NULL,\n    \"file_number\" INTEGER\n"),
            "{ddl}"
        );
        assert!(
            ddl.contains("COMMENT ON TABLE \"odd\" IS 'what''s odd';"),
            "{ddl}"
        );
        assert!(
            ddl.contains(r#"COLUMN "odd"."user" IS 'The user''s \name.';"#),
            "{ddl}"
        );
    }

    #[test]
    fn spark_escapes_with_a_backslash() {
        let ddl = spark(&TRACES[0], Some(&TABLE));
        assert!(
            ddl.contains(r"`user` STRING COMMENT 'The user\'s \\name.'"),
            "{ddl}"
        );
        assert!(ddl.contains(r"COMMENT 'what\'s odd'"), "{ddl}");
        assert!(ddl.contains("PARTITIONED BY (`file_number`)"), "{ddl}");
    }

    #[test]
    fn every_table_of_every_trace_is_created() {
        for trace in TRACES {
            assert_eq!(
                duckdb(trace, None).matches("CREATE TABLE").count(),
                trace.all_tables().count()
            );
            assert_eq!(
                spark(trace, None).matches("CREATE TABLE").count(),
                trace.all_tables().count()
            );
        }
    }

    #[test]
    fn every_table_has_a_view_in_which_no_column_is_there_twice() {
        for trace in TRACES {
            for ddl in [duckdb(trace, None), spark(trace, None)] {
                assert_eq!(
                    ddl.matches("CREATE VIEW").count(),
                    trace.all_tables().count()
                );
            }
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
    fn what_a_view_has_of_a_column_follows_its_description() {
        let column = |kind, unit, format| Column {
            name: "c",
            kind,
            unit,
            format,
            ..TABLE.columns[0]
        };
        let special: &[crate::Sentinel] = &[crate::Sentinel {
            value: -1,
            name: "NONE",
            also: None,
            doc: "",
        }];
        let trace = crate::Trace {
            epoch: None,
            ..TRACES[0]
        };
        let duckdb = |column: &Column| selected(&trace, column, &DUCKDB).join("; ");
        let plain = column(Kind::Integer, None, "INTEGER");
        assert_eq!(duckdb(&plain), "\"c\"");
        let invalid = Column {
            sentinels: special,
            ..plain
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
            codes: &[crate::Code {
                value: 3,
                name: "it's",
                doc: "",
            }],
            ..column(Kind::Code, None, "INTEGER")
        };
        assert_eq!(
            selected(&trace, &code, &SPARK),
            [r"CASE `c` WHEN 3 THEN 'it\'s' ELSE CAST(`c` AS STRING) END AS `c`"]
        );
        let ranges: &[crate::Range] = &[
            crate::Range {
                from: 0,
                name: "LOW",
                doc: "",
            },
            crate::Range {
                from: 10,
                name: "HIGH",
                doc: "",
            },
        ];
        assert_eq!(
            duckdb(&Column { ranges, ..plain }),
            "CASE WHEN \"c\" >= 10 THEN 'HIGH' WHEN \"c\" >= 0 THEN 'LOW' END AS \"c_range\"; \"c\""
        );
        let mixed = column(Kind::Text, None, "STRING_HASH_OR_INTEGER");
        assert_eq!(
            selected(&trace, &mixed, &SPARK),
            [
                "CASE WHEN `c` RLIKE '^-?[0-9]+$' THEN TRY_CAST(`c` AS BIGINT) END AS `c_integer`",
                "`c`"
            ]
        );
    }
}
