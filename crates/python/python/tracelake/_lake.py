"""A finished lake, as a mapping of its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _files, _options, _show
from ._errors import unknown
from ._facts import part_facts
from ._table import Table

if TYPE_CHECKING:
    import duckdb
    import polars

    from ._filter import FilterTuple, FilterTuples


@dataclass(frozen=True, eq=False, repr=False)
class Lake(Mapping[str, Table]):
    """A finished lake: a mapping from the names of its tables to the tables.

    ``convert`` returns one, and ``tracelake.open`` opens an existing lake. The fields have the names of
    ``_tracelake/manifest.json``. Lakes are equal if they are in the same place. Functions that take a path take a
    lake, too.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> "job_events" in lake, len(lake), list(lake)[:2]
    (True, 6, ['job_events', 'task_events'])
    """

    #: The directory of the lake, absolute, or its URL.
    path: str
    tool: str
    #: The version of tracelake that made it.
    version: str
    #: The trace, such as ``google-2011-v2.1``.
    trace: str
    #: The options that decide its bytes.
    options: dict[str, Any]
    tables: tuple[Table, ...]
    #: Warnings of ``convert``.
    warnings: tuple[str, ...] = ()
    #: Whether ``generate`` made the source.
    synthetic: bool = False
    #: The SHA-256 of the description of the trace, which the lake has; ``None`` if the trace is built in.
    description: str | None = None

    def __getitem__(self, table: str) -> Table:
        for one in self.tables:
            if one.name == table:
                return one
        raise unknown(f"{_files.place(self.path)} has no table", str(table), list(self))

    def __iter__(self) -> Iterator[str]:
        return (table.name for table in self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if isinstance(other, Lake) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)

    def __fspath__(self) -> str:
        return self.path

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    @property
    def root(self) -> str:
        """``path`` under the name that a table has for it."""
        return self.path

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the lake; none if it isn't partitioned by cell."""
        cells = {part.cell for table in self.tables for part in table.parts}
        return tuple(sorted(cell for cell in cells if cell is not None))

    @property
    def rows(self) -> int:
        """Rows in all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def rejected(self) -> int:
        """Rows that were rejected; they are in ``_tracelake/rejects``."""
        return sum(table.rejected for table in self.tables)

    def scan(
        self,
        table: str,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | polars.Expr | None = None,
        named: bool = False,
    ) -> polars.LazyFrame:
        """A table as a Polars LazyFrame: ``lake[table].scan(...)``."""
        return self[_options.text("table", table)].scan(columns=columns, filter=filter, named=named)

    def duckdb(
        self, connection: duckdb.DuckDBPyConnection | None = None, *, schema: str | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with a view of each table, and ``<table>_named``; a new one by default.

        The named views show codes as their names, times as seconds and timestamps, and special values as NULL.
        Nothing is copied: the views read the files of the lake. ``schema`` names a schema to make them in, which is
        created if it doesn't exist; by default, they are in the current one. A table or view of another origin is
        never replaced. A lake of Arrow files is read by pyarrow, for this connection only.
        """
        from ._duckdb import connect

        name = _options.optional_text("schema", schema)
        with _files.reading(self.path, "the tables"):
            return connect(self.tables, connection, name)

    def _rows(self) -> list[list[str]]:
        return [
            [
                table.name,
                _show.count(len(table.parts)),
                _show.count(table.rows),
                _show.count(table.rejected),
                _show.size(table.bytes),
                *(table.times or ("", "")),
            ]
            for table in self.tables
        ]

    def _title(self) -> str:
        cells = f", cell{'s' if len(self.cells) > 1 else ''} {', '.join(self.cells)}" if self.cells else ""
        return f"Lake of {self.trace}{cells} in {_files.shown(self.path)}"

    def __repr__(self) -> str:
        title = f"{self._title()}: {_show.several(self.rows, 'row')}"
        return _show.text_table(title, _LAKE, self._rows(), self.warnings)

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), _LAKE, self._rows(), self.warnings)


# Headings; those that begin with a blank are of numbers.
_LAKE = ["table", " parts", " rows", " rejected", " size", " time from", " to"]


def lake(path: str, text: str, warnings: Sequence[str] = ()) -> Lake:
    """A lake from its manifest in JSON. Keys that a later version adds are left out."""
    said = json.loads(text)
    root = _files.absolute(path)
    options: dict[str, Any] = said["options"]
    return Lake(
        path=root,
        tool=said["tool"],
        version=said["version"],
        trace=said["trace"],
        options=options,
        tables=tuple(
            Table(
                name=table["name"],
                schema_fingerprint=table["schema_fingerprint"],
                rows=table["rows"],
                parts=tuple(part_facts(part) for part in table["parts"]),
                trace=said["trace"],
                root=root,
                layout=options["layout"],
                format=options.get("format", "parquet"),
                description=said.get("description"),
                selected=said["options"].get("columns"),
            )
            for table in said["tables"]
        ),
        warnings=tuple(warnings),
        synthetic=said.get("synthetic", False),
        description=said.get("description"),
    )
