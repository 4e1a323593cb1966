"""The promises of the publishers' documents in `promises/*.toml`, and the faults that break them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakes import Row, edit
from tracelake import _queries

LISTS = Path(__file__).parent / "promises"

#: What begins a statement that is written out.
_WHOLE = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@dataclass(frozen=True)
class Fault:
    """What breaks a promise, as statements for DuckDB on tables with the rows of a lake."""

    promise: str
    #: The check that finds it; ``None`` if there is none.
    check: str | None
    statements: tuple[str, ...]

    @property
    def tables(self) -> list[str]:
        """The tables that it changes."""
        return sorted({match[2] for one in self.statements if (match := _WHOLE.match(one))})


def family(trace: str) -> str:
    """The name of the list of a trace."""
    said = _queries.described(trace)
    return str(said["family"])


def faults(trace: str) -> Iterator[Fault]:
    """The faults of all promises, in each table and column that a promise is about."""
    tables = {one["name"]: one for one in _queries.described(trace)["tables"]}
    for promise in tomllib.loads((LISTS / f"{family(trace)}.toml").read_text())["promise"]:
        for table in promise["tables"]:
            for column in promise.get("columns", [""]):
                names = {"{entity}": (tables[table]["entity"] or [""])[0], "{table}": table, "{column}": column}

                def filled(text: str, names: dict[str, str] = names) -> str:
                    for name, value in names.items():
                        text = text.replace(name, value)
                    return text

                check = filled(promise["check"]) if "check" in promise else None
                for fault in promise.get("faults", []):
                    yield Fault(promise["says"], check, tuple(_statements(filled(fault), table)))


def _statements(fault: str, table: str) -> Iterator[str]:
    """The statements of a fault. `name = value WHERE …` changes the first row of its table with these values, and
    `ADD name = value WHERE …` adds such a row once more, or the last one if it doesn't say which.
    """
    for one in map(str.strip, fault.split(";")):
        if _WHOLE.match(one):
            yield one
            continue
        values, is_some, where = one.partition("WHERE ")
        first = f"SELECT min(rowid) FROM {table} WHERE {where or 'true'}"
        if not values.startswith("ADD"):
            yield f"UPDATE {table} SET {values} WHERE rowid = ({first})"
            continue
        changed = [part.split(" = ", 1) for part in re.split(r", (?=[a-z_]+ = )", values[3:].strip()) if part]
        replaced = f" REPLACE ({', '.join(f'{value} AS {name}' for name, value in changed)})" if changed else ""
        which = first if is_some else f"SELECT max(rowid) FROM {table}"
        yield f"INSERT INTO {table} SELECT *{replaced} FROM {table} WHERE rowid = ({which})"


def rows_of(path: Path) -> Any:
    """Copies the rows of a lake into tables of a DuckDB connection, for the checks to query."""
    import duckdb

    lake = _queries.Lake(str(path))
    connection = duckdb.connect()
    connection.execute(lake.said["helpers"])
    with _queries.engine(lake, _queries.Limits()) as engine:
        for name in [facts.name for facts in lake.manifest.tables]:
            engine._show(name, None)
            rows = engine.connection.sql(f'SELECT * FROM "{name}"').to_arrow_table()
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows')
    return connection


def plant(path: Path, fault: Fault) -> None:
    """Plants a fault in the files of a lake."""
    import tracelake

    with rows_of(path) as connection:
        for statement in fault.statements:
            connection.execute(statement)
        for table in fault.tables:
            for part in tracelake.open(path)[table].parts:
                changed = f"FROM {table} WHERE file_number = {part.file_number} ORDER BY rowid"
                columns = "* EXCLUDE (file_number, file_row_number)"
                new: list[Row] = connection.sql(f"SELECT {columns} {changed}").to_arrow_table().to_pylist()

                def change(rows: list[Row], new: list[Row] = new) -> None:
                    rows[:] = new

                edit(path, table, part.file_number, change)
