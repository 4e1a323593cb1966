"""The tables and columns of a trace, as mappings from names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _show, _tracelake
from ._errors import unknown
from ._options import text as _str

# Headings; those that begin with a blank are of numbers.
COLUMNS = ["column", "type", "unit", "meaning"]
_TABLES = ["table", " columns", "what it holds"]


@dataclass(frozen=True)
class ValueRange:
    """A range of values that has a name."""

    name: str
    #: The first value.
    first: int
    #: The last value; ``None`` if the range has no end.
    last: int | None


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    #: Its Arrow type, such as ``Int64``.
    type: str
    nullable: bool
    unit: str | None
    #: Its meaning.
    doc: str
    #: The name of each code.
    codes: dict[int, str] = field(hash=False)
    #: The name of each special value.
    sentinels: dict[int, str] = field(hash=False)
    #: The ranges that have names.
    ranges: tuple[ValueRange, ...] = ()
    #: Values outside of what the column can mean.
    invalid: tuple[int, ...] = ()
    #: The publisher's word for the type.
    format: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class TableSchema(Mapping[str, Column]):
    """The columns of a table by their names, which any Arrow library takes as a schema: ``pyarrow.schema(it)``.

    >>> columns = tracelake.schema("google-2011-v2.1", "machine_events")
    >>> "cpus" in columns, len(columns), list(columns)[:2]
    (True, 6, ['time', 'machine_id'])
    """

    trace: str
    name: str
    summary: str
    columns: tuple[Column, ...]
    #: Seconds from 1970 to the time 0; ``None`` if that isn't known.
    epoch: int | None = None
    #: The SHA-256 of the description; ``None`` if the trace is built in.
    description: str | None = None
    #: The columns of a lake that has some of its trace; ``None`` if it has all.
    selected: str | None = None
    #: The names of those columns that the paths of a lake's files say, which come last.
    of_paths: tuple[str, ...] = ()

    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule interface."""
        key = trace_key(self.trace, self.description, self.selected)
        return _tracelake.arrow_schema(key, self.name, list(self.of_paths))

    def to(self, form: str) -> str:
        """The description as ``text``, ``json``, ``markdown``, or ``duckdb`` or ``spark`` statements."""
        key = trace_key(self.trace, self.description, self.selected)
        return _tracelake.describe(key, self.name, _str("form", form))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown(f"{self.trace} {self.name} has no column", str(name), list(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableSchema):
            return NotImplemented
        return _facts(self) == _facts(other)

    def __hash__(self) -> int:
        return hash((self.trace, self.name))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def rows_to_show(self) -> list[list[str]]:
        """A row for each column: name, type, unit and meaning."""
        return [
            [one.name, one.type + ("?" if one.nullable else ""), one.unit or "", one.doc] for one in self.columns
        ]

    def __repr__(self) -> str:
        rows = [row[:3] for row in self.rows_to_show()]
        return _show.text_table(f"{self.trace} {self.name}: {self.summary}", COLUMNS[:3], rows)

    def _repr_html_(self) -> str:
        return _show.html_table(f"{self.trace} {self.name}: {self.summary}", COLUMNS, self.rows_to_show())


@dataclass(frozen=True, eq=False, repr=False)
class TraceSchema(Mapping[str, TableSchema]):
    """The tables of a trace by their names."""

    name: str
    title: str
    licence: str
    citation: str
    url: str
    tables: tuple[TableSchema, ...]
    #: The cells that it is published by, if it has any.
    cells: tuple[str, ...] = ()
    #: The SHA-256 of the description; ``None`` if the trace is built in.
    description: str | None = None

    def to(self, form: str) -> str:
        """The description as ``text``, ``json``, ``markdown``, or ``duckdb`` or ``spark`` statements."""
        return _tracelake.describe(trace_key(self.name, self.description), None, _str("form", form))

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[str]:
        return (table.name for table in self.tables)

    def __getitem__(self, name: str) -> TableSchema:
        for table in self.tables:
            if table.name == name:
                return table
        raise unknown(f"{self.name} has no table", str(name), list(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceSchema):
            return NotImplemented
        return (self.name, self.title, self.tables) == (other.name, other.title, other.tables)

    def __hash__(self) -> int:
        return hash(self.name)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _rows(self) -> list[list[str]]:
        return [[one.name, _show.count(len(one)), one.summary] for one in self.tables]

    def __repr__(self) -> str:
        return _show.text_table(f"{self.name}: {self.title}", _TABLES, self._rows())

    def _repr_html_(self) -> str:
        return _show.html_table(f"{self.name}: {self.title}", _TABLES, self._rows())


def _facts(schema: TableSchema) -> tuple[object, ...]:
    return (schema.trace, schema.name, schema.summary, schema.columns, schema.epoch)


def trace_key(trace: str, description: str | None, columns: str | None = None) -> str:
    """The key by which the native functions find a trace: its name, the digest of its description if it isn't built in, and the
    columns if a lake has some of them."""
    key = trace if description is None else f"{trace}@{description}"
    return key if columns is None else f"{key}?columns={columns}"


def trace_schema(trace: str, table: str | None = None) -> TraceSchema:
    """The catalog's description of a trace, or of one of its tables."""
    said: dict[str, Any] = json.loads(_tracelake.describe(trace, table, "json"))
    tables = (
        TableSchema(
            said["name"],
            table["name"],
            table["summary"],
            tuple(map(_column, table["columns"])),
            said["epoch"],
            said.get("description"),
            trace.partition("?columns=")[2] or None,
        )
        for table in said["tables"]
    )
    cells = said["cells"]
    return TraceSchema(
        said["name"],
        said["title"],
        said["licence"],
        said["citation"],
        said["url"],
        tuple(tables),
        () if cells is None else tuple(cells["names"]),
        said.get("description"),
    )


def _column(said: dict[str, Any]) -> Column:
    return Column(
        name=said["name"],
        type=said["type"],
        nullable=said["nullable"],
        unit=said["unit"],
        doc=said["doc"],
        codes={code["value"]: code["name"] for code in said["codes"]},
        sentinels={one["value"]: one["name"] for one in said["sentinels"]},
        ranges=tuple(ValueRange(one["name"], one["from"], one["to"]) for one in said["ranges"]),
        invalid=tuple(said["invalid"]),
        format=said["format"],
    )
