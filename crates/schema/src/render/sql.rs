//! Tables as statements for databases. Identifiers are always quoted, because `time` and `user` are
//! SQL keywords.

use super::{Partition, asked, partitions, remark};
use crate::{Code, Column, Kind, Range, Table, Trace, Zone};

/// Views over the Parquet files of a lake, for DuckDB.
///
/// Run the statements with the lake as the current directory: a view reads
/// `<table>/**/*.parquet`, which finds the files of both layouts. The number of a part,
/// `file_number`, and its `cell` come from the file's path; in a lake without cells, `cell` is NULL.
/// Tables and columns have comments.
///
/// Each table `t` also has a view `t_named`:
///
/// - a code is shown as its name; a value without a name as its number;
/// - a special value is NULL;
/// - a point in time `c` is preceded by `c_seconds`, in seconds, and `c_timestamp`, in UTC; both are
///   NULL for a special value, and `c` itself is unchanged;
/// - a column `c` with named ranges is preceded by `c_range`, the name of the range;
/// - a text `c` that may hold an integer is preceded by `c_integer`, NULL where it doesn't.
///
/// If the trace's time 0 is unknown, timestamps count from 1970-01-01, and the view's comment says
/// so. Derived tables are left out unless `table` is one, because few lakes have them.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let trace = &TRACES[0];
/// let sql = render::duckdb(trace, Some(&trace.tables[0]));
/// assert!(sql.contains("CREATE OR REPLACE VIEW"));
/// ```
#[must_use]
pub fn duckdb(trace: &Trace, table: Option<&Table>) -> String {
    let mut head = format!(
        "-- {}\n-- Run this in the directory of the lake. It needs every table of the trace; for \
         a lake that lacks\n-- some, print the views of one table: tracelake schema {} TABLE --as \
         duckdb\n",
        trace.title, trace.name
    );
    let mut tables = asked(trace, table);
    if table.is_none() {
        tables.truncate(trace.tables.len());
        for derived in trace.derived {
            head.push_str(&format!(
                "-- Not here, because it is derived: {}\n",
                derived.table.name
            ));
        }
    }
    let views = tables
        .iter()
        .map(|table| duckdb_views(trace, table, &files_below(table)));
    format!("{head}\n{}", views.collect::<Vec<_>>().join("\n"))
}

/// The views of one table that [`duckdb`] makes, over the Parquet files that `files` names: the first
/// argument of `read_parquet`, as SQL.
#[must_use]
pub fn duckdb_views(trace: &Trace, table: &Table, files: &str) -> String {
    let view = double_quoted(&view_name(table));
    format!(
        "{}\nCREATE OR REPLACE VIEW {view} AS SELECT\n{}\nFROM {};\nCOMMENT ON VIEW {view} IS {};\n",
        duckdb_files(trace, table, files),
        select(trace, table, &DUCKDB),
        double_quoted(table.name),
        sql_string(&view_doc(trace, table)),
    )
}

/// Where the files of a table are in a lake, as SQL.
fn files_below(table: &Table) -> String {
    sql_string(&format!("{}/**/*.parquet", table.name))
}

/// The rows of a table's files as they are, with the part that they are in and their place in it.
pub(super) fn duckdb_rows(trace: &Trace, table: &Table) -> String {
    let mut columns = columns_of_path(trace, table);
    columns.push("    file_row_number".to_owned());
    format!(
        "SELECT\n{}\nFROM read_parquet({}, hive_partitioning = false, filename = true, \
         file_row_number = true)",
        columns.join(",\n"),
        files_below(table),
    )
}

/// The columns of a table's files, and those that both layouts have in the path of a file.
fn columns_of_path(trace: &Trace, table: &Table) -> Vec<String> {
    let column = |column: &Column| format!("    {}", double_quoted(column.name));
    let partition = |one: Partition| {
        let name = double_quoted(one.name);
        format!("    {} AS {name}", one.duckdb)
    };
    let partitions = partitions(trace, table).into_iter().map(partition);
    table.columns.iter().map(column).chain(partitions).collect()
}

/// The view of a table's files as they are.
fn duckdb_files(trace: &Trace, table: &Table, files: &str) -> String {
    let name = double_quoted(table.name);
    let columns = columns_of_path(trace, table);
    let remarks = table
        .columns
        .iter()
        .map(|column| (double_quoted(column.name), remark(column)));
    let partitions = partitions(trace, table).into_iter();
    let comments: String = remarks
        .chain(partitions.map(|one| (double_quoted(one.name), one.doc)))
        .map(|(column, text)| {
            let text = sql_string(&text);
            format!("COMMENT ON COLUMN {name}.{column} IS {text};\n")
        })
        .collect();
    format!(
        "CREATE OR REPLACE VIEW {name} AS SELECT\n{}\n\
         FROM read_parquet({files}, hive_partitioning = false, filename = true);\n\
         COMMENT ON VIEW {name} IS {};\n{comments}",
        columns.join(",\n"),
        sql_string(table.summary),
    )
}

/// `CREATE TABLE … USING parquet PARTITIONED BY (file_number)` statements for Spark; a table that is
/// published by cell is partitioned by `cell` first.
///
/// They define tables over the files of a partitioned lake; put its directory in place of `OUT`.
/// Every column is nullable, as Spark treats all columns of files. For a flat lake, remove
/// `file_number`, the `PARTITIONED BY` clause, the `MSCK REPAIR` statement and the last column of the
/// view; for a lake without cells, remove `cell` in the same places. The `t_named` views are those of
/// [`duckdb`].
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let sql = render::spark(&TRACES[0], None);
/// assert!(sql.contains("USING parquet"));
/// ```
#[must_use]
pub fn spark(trace: &Trace, table: Option<&Table>) -> String {
    let tables = asked(trace, table);
    let created = tables.iter().map(|table| spark_table(trace, table));
    let views = tables.iter().map(|table| {
        format!(
            "CREATE VIEW {} COMMENT {} AS SELECT\n{}\nFROM {};\n",
            backquoted(&view_name(table)),
            spark_string(&view_doc(trace, table)),
            select(trace, table, &SPARK),
            backquoted(table.name),
        )
    });
    let statements = created.chain(views).collect::<Vec<_>>().join("\n");
    format!("-- {}\n\n{statements}", trace.title)
}

/// The differences between databases in the views.
struct Dialect {
    identifier: fn(&str) -> String,
    string: fn(&str) -> String,
    text: &'static str,
    /// An integer type wide enough for any 64-bit number of seconds in microseconds.
    wide: &'static str,
    /// The operator and operand that test whether the text before them is a decimal integer.
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
        "{} Codes are shown as their names, special values as NULL.",
        table.summary
    );
    if table.columns.iter().any(|one| one.time_units().is_some()) {
        doc.push_str(match trace.epoch {
            Some(_) => " Timestamps are in UTC.",
            None => " Timestamps count from 1970-01-01, because the time of 0 is unknown.",
        });
    }
    doc
}

/// The columns that a `t_named` view of [`spark`] shows, as expressions for Spark, without those that
/// directories add.
#[must_use]
pub fn spark_named(trace: &Trace, table: &Table) -> Vec<String> {
    named(trace, table, &SPARK)
}

/// The expressions of a `t_named` view, without the columns that directories add.
fn named(trace: &Trace, table: &Table, dialect: &Dialect) -> Vec<String> {
    let columns = table.columns.iter();
    columns
        .flat_map(|column| selected(trace, column, dialect))
        .collect()
}

/// The select list of a `t_named` view, one column per line.
fn select(trace: &Trace, table: &Table, dialect: &Dialect) -> String {
    let mut lines = named(trace, table, dialect);
    let partitions = partitions(trace, table).into_iter();
    lines.extend(partitions.map(|one| (dialect.identifier)(one.name)));
    let indented = lines.iter().map(|line| format!("    {line}"));
    indented.collect::<Vec<_>>().join(",\n")
}

/// The expressions that a `t_named` view shows for one column.
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
        let case = |code: &Code| {
            let name = (dialect.string)(code.name);
            format!("WHEN {} THEN {name} ", code.value)
        };
        let cases: String = column.codes.iter().map(case).collect();
        return vec![format!(
            "CASE {name} {cases}ELSE CAST({name} AS {text}) END AS {name}"
        )];
    }
    if !column.ranges.is_empty() {
        let case = |range: &Range| {
            let text = (dialect.string)(range.name);
            let from = range.from;
            match range.to {
                Some(to) => format!("WHEN {name} BETWEEN {from} AND {to} THEN {text} "),
                None => format!("WHEN {name} >= {from} THEN {text} "),
            }
        };
        let cases: String = column.ranges.iter().map(case).collect();
        return vec![format!("CASE {cases}END AS {}", beside("range")), name];
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

/// The column with special and invalid values replaced by NULL.
fn without_sentinels(column: &Column, name: &str) -> String {
    let sentinels = column.sentinels.iter().map(|one| one.value);
    let values = sentinels.chain(column.invalid.iter().copied());
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    if values.is_empty() {
        return name.to_owned();
    }
    let list = values.join(", ");
    format!("CASE WHEN {name} NOT IN ({list}) THEN {name} END")
}

fn spark_table(trace: &Trace, table: &Table) -> String {
    let line = |name: &str, kind: &str, comment: &str| {
        format!(
            "    {} {kind} COMMENT {}",
            backquoted(name),
            spark_string(comment)
        )
    };
    let mut columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| line(column.name, &spark_type(column), &remark(column)))
        .collect();
    let partitions = partitions(trace, table);
    let added = partitions.iter();
    columns.extend(added.map(|one| line(one.name, one.spark_type, &one.doc)));
    let keys = partitions.iter().map(|one| backquoted(one.name));
    let without_cells = match trace.cells_of(table) {
        None => "",
        Some(_) => "-- For a lake without cells, remove `cell` here and from the view.\n",
    };
    let name = backquoted(table.name);
    format!(
        "-- Put the directory of the lake in place of OUT.\n{without_cells}\
         CREATE TABLE {name} (\n{}\n)\nUSING parquet\nPARTITIONED BY ({})\nCOMMENT {}\n\
         LOCATION 'OUT/{}';\nMSCK REPAIR TABLE {name};\n",
        columns.join(",\n"),
        keys.collect::<Vec<_>>().join(", "),
        spark_string(table.summary),
        table.name,
    )
}

fn spark_type(column: &Column) -> String {
    match column.kind {
        Kind::Integer => "BIGINT".to_owned(),
        Kind::Float => "DOUBLE".to_owned(),
        Kind::Boolean => "BOOLEAN".to_owned(),
        Kind::Text => "STRING".to_owned(),
        Kind::Code => "INT".to_owned(),
        Kind::DateTime(Zone::Published) => "TIMESTAMP".to_owned(),
        Kind::DateTime(Zone::None) => "TIMESTAMP_NTZ".to_owned(),
        Kind::Struct => {
            let field =
                |field: &Column| format!("{}: {}", backquoted(field.name), spark_type(field));
            format!("STRUCT<{}>", listed(column, field))
        }
        Kind::List => format!("ARRAY<{}>", listed(column, spark_type)),
    }
}

/// The fields of a nested column, separated by commas.
fn listed(column: &Column, name: impl Fn(&Column) -> String) -> String {
    column
        .fields
        .iter()
        .map(name)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn double_quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Standard SQL doubles a quote and gives a backslash no meaning.
pub(super) fn sql_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Spark reads `''` as two adjacent strings, and a backslash as the start of an escape.
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
            spelling: crate::Spelling::PLAIN,
            synthetic: "",
            empty: 0.0,
        }],
        fields: &[0],
        files: Files::Parts,
        naming: crate::Naming::NONE,
        csv: crate::Csv::PLAIN,
        syntax: Syntax::Csv,
        parts: 1,
        published: None,
        shards: &[],
        required: None,
        entity: &[],
        primary_key: &[],
        references: &[],
        time: None,
        synthetic: "",
    };

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
        let ddl = duckdb(&TRACES[0], Some(&TABLE));
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
        let ddl = spark(&TRACES[0], Some(&TABLE));
        assert!(
            ddl.contains(r"`user` STRING COMMENT 'The user\'s \\name.'"),
            "{ddl}"
        );
        assert!(ddl.contains(r"COMMENT 'what\'s odd'"), "{ddl}");
        assert!(ddl.contains("PARTITIONED BY (`file_number`)"), "{ddl}");
    }

    #[test]
    fn a_table_that_is_published_by_cell_has_a_cell_above_the_file_number() {
        let trace = crate::Trace {
            cells: Some(crate::Cells {
                names: &["a"],
                directory: "moon_{cell}",
                doc: "The crater.",
            }),
            ..TRACES[0]
        };
        let ddl = spark(&trace, Some(&TABLE));
        assert!(
            ddl.contains("PARTITIONED BY (`cell`, `file_number`)"),
            "{ddl}"
        );
        assert!(
            ddl.contains("`cell` STRING COMMENT 'The crater. It is in"),
            "{ddl}"
        );
        let ddl = duckdb(&trace, Some(&TABLE));
        assert!(
            ddl.contains("COMMENT ON COLUMN \"odd\".\"cell\" IS 'The crater."),
            "{ddl}"
        );
        let whole = Table {
            files: Files::Whole,
            naming: crate::Naming::NONE,
            csv: crate::Csv::PLAIN,
            ..TABLE
        };
        assert!(!duckdb(&trace, Some(&whole)).contains("cell"));
        assert!(!duckdb(&TRACES[0], Some(&TABLE)).contains("cell"));
    }

    #[test]
    fn every_table_has_its_files_and_a_view_in_which_no_column_is_there_twice() {
        for trace in TRACES {
            let views = |ddl: &str| ddl.matches("VIEW \"").count() - ddl.matches("ON VIEW").count();
            assert_eq!(views(&duckdb(trace, None)), 2 * trace.tables.len());
            for derived in trace.derived {
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
                to: Some(4),
                name: "LOW",
                doc: "",
            },
            crate::Range {
                from: 10,
                to: None,
                name: "HIGH",
                doc: "",
            },
        ];
        assert_eq!(
            duckdb(&Column { ranges, ..plain }),
            "CASE WHEN \"c\" BETWEEN 0 AND 4 THEN 'LOW' WHEN \"c\" >= 10 THEN 'HIGH' END AS \"c_range\"; \"c\""
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
