"""Confines an untrusted query of a trace's description to the lake's tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from . import _files, _tracelake
from ._errors import FailedError

if TYPE_CHECKING:
    import duckdb

#: The most rows that a query may give to Python.
MAX_ROWS = 100_000

#: Seconds that a query of a trace that isn't built in may take unless the caller says otherwise.
TIME_LIMIT = 3600.0

#: How much a query may write to the disk when its memory isn't enough.
SPILL = "100GB"

#: Functions that make rows and read nothing.
_TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})

#: Functions that say something about the machine, or only wait.
_REFUSED_FUNCTIONS = frozenset({"current_setting", "getenv", "getvariable", "pg_sleep", "sleep_ms", "write_log"})

Settings = dict[str, "str | bool | int | float | list[str]"]


class QueryError(FailedError):
    """A query that failed by its text, on the rows, or at a limit, although the files can be read."""


def settings() -> Settings:
    """Settings that a connection begins with: no extensions, no secrets, no variables of Python."""
    return {
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "max_temp_directory_size": SPILL,
        "python_enable_replacements": False,
    }


def lock(connection: duckdb.DuckDBPyConnection, files: Iterable[str]) -> None:
    """Allows a connection these files and nothing else, for as long as it lives.

    The temporary directory stays open to DuckDB itself. DuckDB 1.2 is the first that can be locked like this.
    """
    import duckdb

    allowed: dict[str, None] = {}
    for file in files:
        # A file is opened by its name after its pattern was looked up, and both are checked.
        allowed[file] = None
        allowed[_tracelake.duckdb_pattern(file)] = None
    paths = ", ".join(_files.sql_text(path) for path in allowed)
    try:
        connection.execute(f"SET allowed_paths = [{paths}]")
    except duckdb.CatalogException as error:
        raise FailedError(f"DuckDB {duckdb.__version__} can't be kept from other files: pip install 'duckdb>=1.5'") from error
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def checked(connection: duckdb.DuckDBPyConnection, what: str, sql: str, tables: Collection[str]) -> str:
    """The text of a query, if it is a single SELECT that reads these tables alone, by the judgement of DuckDB's parser.

    Such a text means the same within parentheses on lines of their own.
    """
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _refused(what, f"it isn't SQL: {error}") from error
    if len(statements) != 1:
        raise _refused(what, f"it has {len(statements)} statements; write one SELECT")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise _refused(what, f"it is {statements[0].type.name}; write one SELECT")
    # A semicolon at the end is no part of the statement.
    text = statements[0].query.strip().rstrip(";")
    row = connection.execute("SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", [text]).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        raise _refused(what, f"it isn't a SELECT that DuckDB can take apart: {tree.get('error_message', 'no reason given')}")
    nodes = list(_nodes(tree))
    known = {*tables, *_named_subqueries(nodes)}
    for node in nodes:
        if reason := _objection(node, known):
            raise _refused(what, reason)
    return text


def _nodes(tree: object) -> Iterator[Mapping[str, Any]]:
    """Every object of a syntax tree in JSON."""
    left = [tree]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            node = cast("dict[str, Any]", one)
            yield node
            left += node.values()
        elif isinstance(one, list):
            left += cast("list[object]", one)


def _named_subqueries(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for node in nodes:
        for entry in node.get("cte_map", {}).get("map", ()):
            yield entry["key"]


def _objection(node: Mapping[str, Any], known: Collection[str]) -> str | None:
    """Why a part of a query is refused."""
    kind = node.get("type")
    if kind == "BASE_TABLE":
        name = ".".join(one for one in (node["catalog_name"], node["schema_name"], node["table_name"]) if one)
        if name.lower() not in (one.lower() for one in known):
            return f"it reads {name}, which isn't among the tables that it needs: {', '.join(sorted(known))}"
    elif kind == "TABLE_FUNCTION":
        name = node["function"]["function_name"]
        if name.lower() not in _TABLE_FUNCTIONS or node["function"].get("schema"):
            return f"it calls {name}; the functions that make rows here are {', '.join(sorted(_TABLE_FUNCTIONS))}"
    elif kind == "SHOW_REF":
        return "it describes a table; write a SELECT of rows"
    elif kind == "FUNCTION" and str(node.get("function_name")).lower() in _REFUSED_FUNCTIONS:
        return f"it calls {node['function_name']}, which isn't about rows"
    return None


def _refused(what: str, reason: str) -> QueryError:
    hint = "a query of a description reads the lake's tables and nothing else"
    failed = QueryError(f"{what}: {' '.join(reason.split())}; {hint}")
    failed.hint = hint
    return failed
