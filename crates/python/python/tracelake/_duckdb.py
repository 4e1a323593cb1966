"""The tables of a lake as views in DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _files, _tracelake
from ._errors import UsageError, missing_extra, wrong_type

if TYPE_CHECKING:
    from ._table_files import TableFiles

try:
    import duckdb
except ImportError as missing:
    raise missing_extra("duckdb", "duckdb") from missing


def connect(tables: Sequence[TableFiles], given: Any, schema: str | None) -> duckdb.DuckDBPyConnection:
    """A connection, new or given, with the views of the tables of a lake."""
    if given is not None and not isinstance(given, duckdb.DuckDBPyConnection):
        raise wrong_type("connection", "a duckdb.DuckDBPyConnection", given)
    connection = duckdb.connect() if given is None else given
    here = _value(connection, "SELECT current_schema()")
    if schema is not None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_name(schema)}")
        connection.execute(f"SET schema = {_files.sql_text(schema)}")
    try:
        _refuse_others(connection, tables, schema or here)
        for table in tables:
            _views(connection, table)
    finally:
        if schema is not None:
            connection.execute(f"SET schema = {_files.sql_text(here)}")
    return connection


def _views(connection: duckdb.DuckDBPyConnection, table: TableFiles) -> None:
    if table.format == "parquet":
        files = _files.sql_list(table.files)
        connection.execute(_tracelake.duckdb_views(table.trace_key, table.name, files))
        return
    # DuckDB has no reader of Arrow files, so pyarrow reads them for it; the views are the same otherwise.
    from ._arrow import dataset

    source = _source(table)
    connection.register(source, dataset(table))
    statements = connection.extract_statements(_tracelake.duckdb_views(table.trace_key, table.name, "''"))
    connection.execute(f"CREATE OR REPLACE VIEW {_name(table.name)} AS FROM {_name(source)}")
    for statement in statements[1:]:
        connection.execute(statement)


def _refuse_others(connection: duckdb.DuckDBPyConnection, tables: Sequence[TableFiles], schema: str) -> None:
    """Refuses names that are taken, unless by views of this lake."""
    in_schema = "WHERE database_name = current_database() AND schema_name = ?"
    rows = connection.execute(
        f"SELECT view_name, sql FROM duckdb_views() {in_schema} "
        f"UNION ALL SELECT table_name, '' FROM duckdb_tables() {in_schema}",
        [schema, schema],
    ).fetchall()
    taken: dict[str, str] = dict(rows)
    for table in tables:
        plain, named = table.name, f"{table.name}_named"
        for name, reads in ((plain, _source(table)), (named, f" FROM {plain}")):
            if name in taken and reads not in taken[name]:
                hint = "make the views in a schema of their own: lake.duckdb(connection, schema=...)"
                error = UsageError(f"connection: it has another '{name}'; {hint}")
                error.hint = hint
                raise error


def _source(table: TableFiles) -> str:
    """Where the view of a table reads: what its definition has, and no other."""
    if table.format == "arrow":
        return f"tracelake:{table.root}/{table.name}"
    first = _files.below(table.root, table.parts[0].output.path)
    return _files.sql_list([first])[1:-1]


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    row = connection.execute(sql).fetchone()
    return "" if row is None else str(row[0])
