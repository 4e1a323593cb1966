//! The schema of a table in a Delta log.

use serde_json::{Value, json};

use super::partitions;
use crate::arrow::spark_schema;
use crate::{Table, Trace};

/// The schema of a table as a Delta log has it, as a JSON text: that of Spark, and after its columns those of
/// `partitioned`, the columns that the directories of the lake add.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let trace = &TRACES[0];
/// let schema = render::delta_schema_json(trace, &trace.tables[0], &["file_number"]);
/// assert!(schema.contains(r#"{"name":"file_number","type":"integer","nullable":false,"#));
/// ```
#[must_use]
pub fn delta_schema_json(trace: &Trace, table: &Table, partitioned: &[&str]) -> String {
    let mut schema = spark_schema(table);
    let added = partitions(trace, table).into_iter();
    let added = added.filter(|column| partitioned.contains(&column.name));
    if let Some(fields) = schema["fields"].as_array_mut() {
        fields.extend(added.map(|column| -> Value {
            json!({
                "name": column.name,
                "type": if column.spark_type == "INT" { "integer" } else { "string" },
                "nullable": false,
                "metadata": {"comment": column.doc},
            })
        }));
    }
    schema.to_string()
}
