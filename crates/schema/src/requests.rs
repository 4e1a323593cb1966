//! The table that has the requests to language models of any trace in one form, as a query.

use crate::{Kind, Need, NeededParts, QueryColumn, QueryTable, Requests, Table};

/// The name of the table that has the requests of any trace in one form.
pub(crate) const REQUESTS: &str = "requests";

/// Its columns: name, unit and meaning.
const COLUMNS: [(&str, Option<&str>, &str); 8] = [
    (
        "service",
        None,
        "The service or workload; NULL if the trace has none.",
    ),
    (
        "arrival",
        Some("microseconds"),
        "When the request arrived, from the first request in the lake; of its service, if services have their own clocks.",
    ),
    ("input_length", Some("tokens"), "The tokens of the input."),
    ("output_length", Some("tokens"), "The tokens of the output."),
    (
        "hash_ids",
        None,
        "The blocks of the input: requests of a service share those that begin their lists with the same numbers; NULL if \
         the trace has none.",
    ),
    (
        "session_id",
        None,
        "The conversation; NULL if the trace has none.",
    ),
    ("file_number", None, "The part that the row is from."),
    ("row", None, "The row in the part, from 0."),
];

/// The query for the requests of a table in the form of every such trace.
pub(crate) fn query_table(table: &Table) -> Option<QueryTable> {
    let requests = table.requests.as_ref()?;
    let time = &table.columns[table.time?];
    let text = |name: &Option<String>| match name {
        Some(name) => format!("as_text(\"{name}\")"),
        None => "as_text(NULL)".to_owned(),
    };
    let blocks = requests.hash_ids.as_ref();
    let blocks = blocks.map_or_else(|| "integers_in(NULL)".to_owned(), |it| format!("\"{it}\""));
    let micros = 1_000_000 / time.units_per_second();
    let arrival = match time.kind {
        Kind::DateTime(_) => format!("microseconds_of(\"{}\")", time.name),
        Kind::Float => format!("as_bigint(rounded(\"{}\" * {micros}, 0))", time.name),
        Kind::Integer | Kind::Boolean | Kind::Text | Kind::Code | Kind::Struct | Kind::List => {
            format!("as_bigint(wide(\"{}\") * {micros})", time.name)
        }
    };
    let clock = match table.has_clocks() {
        true => "PARTITION BY service",
        false => "",
    };
    let Requests {
        input_length,
        output_length,
        ..
    } = requests;
    let sql = format!(
        "SELECT service, arrival - min(arrival) OVER ({clock}) AS arrival, input_length, output_length, \
         hash_ids, session_id, file_number, row\n\
         FROM (\n    SELECT {service} AS service, {arrival} AS arrival, \"{input_length}\" AS input_length,\n        \
         \"{output_length}\" AS output_length, {blocks} AS hash_ids, {session_id} AS session_id,\n        \
         file_number, file_row_number AS row\n    FROM {name}\n)\n\
         ORDER BY service, arrival, file_number, row",
        service = text(&requests.service),
        session_id = text(&requests.session_id),
        name = table.name,
    );
    let columns = COLUMNS.iter().map(|(name, unit, doc)| QueryColumn {
        name: (*name).to_owned(),
        unit: unit.map(str::to_owned),
        doc: (*doc).to_owned(),
    });
    Some(QueryTable {
        name: REQUESTS.to_owned(),
        summary: "The requests to language models, in one form for every trace that has them."
            .to_owned(),
        needs: vec![Need {
            table: table.name.clone(),
            parts: NeededParts::Any,
        }],
        with: None,
        columns: columns.collect(),
        sql,
    })
}
