//! Tables as statements for databases. Identifiers are always quoted, because `time` and `user` are
//! SQL keywords.

mod of_lake;

pub use of_lake::{LakeFile, duckdb_of_lake, duckdb_pattern, spark_of_lake, spark_pattern};

use std::sync::Arc;

use super::{Partition, chosen_tables, partitions, remark};
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
    let mut tables = chosen_tables(trace, table);
    if table.is_none() {
        tables.truncate(trace.tables.len());
        for derived in &trace.derived {
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
        double_quoted(&table.name),
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
    let column = |column: &Arc<Column>| format!("    {}", double_quoted(&column.name));
    let partition = |one: Partition| {
        let name = double_quoted(one.name);
        format!("    {} AS {name}", one.in_duckdb)
    };
    let partitions = partitions(trace, table).into_iter().map(partition);
    table.columns.iter().map(column).chain(partitions).collect()
}

/// The view of a table's files as they are.
fn duckdb_files(trace: &Trace, table: &Table, files: &str) -> String {
    let name = double_quoted(&table.name);
    let columns = columns_of_path(trace, table);
    let remarks = table
        .columns
        .iter()
        .map(|column| (double_quoted(&column.name), remark(column)));
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
        sql_string(&table.summary),
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
    let tables = chosen_tables(trace, table);
    let created = tables.iter().map(|table| spark_table(trace, table));
    let views = tables.iter().map(|table| {
        format!(
            "CREATE VIEW {} COMMENT {} AS SELECT\n{}\nFROM {};\n",
            backquoted(&view_name(table)),
            spark_string(&view_doc(trace, table)),
            select(trace, table, &SPARK),
            backquoted(&table.name),
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
    let name = identifier(&column.name);
    let beside = |suffix: &str| identifier(&format!("{}_{suffix}", column.name));
    let value = without_sentinels(column, &name);
    if let Some(units) = column.time_units() {
        let micros = 1_000_000 / units;
        let micros = match column.kind {
            Kind::Float => format!("round({value} * {micros})"),
            Kind::Integer
            | Kind::Boolean
            | Kind::Text
            | Kind::Code
            | Kind::DateTime(_)
            | Kind::Struct
            | Kind::List => format!("CAST({value} AS {}) * {micros}", dialect.wide),
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
            let name = (dialect.string)(&code.name);
            format!("WHEN {} THEN {name} ", code.value)
        };
        let cases: String = column.codes.iter().map(case).collect();
        return vec![format!(
            "CASE {name} {cases}ELSE CAST({name} AS {text}) END AS {name}"
        )];
    }
    if !column.ranges.is_empty() {
        let case = |range: &Range| {
            let text = (dialect.string)(&range.name);
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
        .map(|column| line(&column.name, &spark_type(column), &remark(column)))
        .collect();
    let partitions = partitions(trace, table);
    let added = partitions.iter();
    columns.extend(added.map(|one| line(one.name, one.spark_type, &one.doc)));
    let keys = partitions.iter().map(|one| backquoted(one.name));
    let without_cells = match trace.cells_of(table) {
        None => "",
        Some(_) => "-- For a lake without cells, remove `cell` here and from the view.\n",
    };
    let name = backquoted(&table.name);
    format!(
        "-- Put the directory of the lake in place of OUT.\n{without_cells}\
         CREATE TABLE {name} (\n{}\n)\nUSING parquet\nPARTITIONED BY ({})\nCOMMENT {}\n\
         LOCATION 'OUT/{}';\nMSCK REPAIR TABLE {name};\n",
        columns.join(",\n"),
        keys.collect::<Vec<_>>().join(", "),
        spark_string(&table.summary),
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
                |field: &Column| format!("{}: {}", backquoted(&field.name), spark_type(field));
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
        .map(|field| name(field))
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
mod tests;
