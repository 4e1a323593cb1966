//! Tables as statements for databases; identifiers are always quoted, since `time` and `user` are
//! words of SQL.

use super::{PARTITION, PARTITION_DOC, asked, remark};
use crate::{Column, Kind, Table, Trace};

/// `CREATE TABLE` and `COMMENT ON` statements for DuckDB.
///
/// Every table has the partition column `file_number`, since every table of a partitioned lake is
/// split by it, those of one part too; loaded from a flat lake it is NULL. A comment says how to
/// load a table.
#[must_use]
pub fn duckdb(trace: &Trace, table: Option<&Table>) -> String {
    let statements = asked(trace, table).iter().map(duckdb_table);
    format!(
        "-- {}\n\n{}",
        trace.title,
        statements.collect::<Vec<_>>().join("\n")
    )
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
/// the clause with it and the last statement.
#[must_use]
pub fn spark(trace: &Trace, table: Option<&Table>) -> String {
    let statements = asked(trace, table).iter().map(spark_table);
    format!(
        "-- {}\n\n{}",
        trace.title,
        statements.collect::<Vec<_>>().join("\n")
    )
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
                trace.tables.len()
            );
            assert_eq!(
                spark(trace, None).matches("CREATE TABLE").count(),
                trace.tables.len()
            );
        }
    }
}
