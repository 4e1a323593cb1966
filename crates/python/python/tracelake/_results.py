"""What the functions return: plain, immutable objects with a readable form for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any

from . import _files, _tracelake
from ._errors import MissingExtraError, TracelakeError, UsageError

if TYPE_CHECKING:
    import duckdb
    import polars



@dataclass(frozen=True)
class FileFacts:
    """One file."""

    #: A relative path with forward slashes.
    path: str
    #: Its size.
    bytes: int
    #: The SHA-256 of its bytes, in lower-case hexadecimal.
    sha256: str


@dataclass(frozen=True)
class PartFacts:
    """One part of a table; see the manifest in the documentation for each field."""

    file_number: int
    source: FileFacts
    rows_in: int
    rows_out: int
    rows_rejected: int
    sentinels_mapped: int
    time_min: int | None
    time_max: int | None
    output: FileFacts
    rejects: FileFacts | None = None
    of: int | None = None
    left_out: int | None = None
    #: The cell, in a lake that is partitioned by cell.
    cell: str | None = None


@dataclass(frozen=True)
class TableFacts:
    """One table of a lake."""

    name: str
    schema_fingerprint: str
    rows: int
    parts: tuple[PartFacts, ...] = field(repr=False)

    @property
    def rejected(self) -> int:
        """Rows that were rejected."""
        return sum(part.rows_rejected for part in self.parts)

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(part.output.bytes for part in self.parts)

    @property
    def time_min(self) -> int | None:
        """The smallest value of its time column."""
        return min((part.time_min for part in self.parts if part.time_min is not None), default=None)

    @property
    def time_max(self) -> int | None:
        """The largest value of its time column."""
        return max((part.time_max for part in self.parts if part.time_max is not None), default=None)


@dataclass(frozen=True, repr=False)
class Manifest:
    """A finished lake: what its manifest says, and ways to query it.

    ``convert`` returns one, and ``tracelake.open`` reads that of an existing lake. The fields have
    the names of ``_tracelake/manifest.json``.
    """

    #: The directory of the lake.
    path: str
    tool: str
    #: The version of tracelake that made it.
    version: str
    #: The trace, such as ``google-2011-v2.1``.
    trace: str
    #: The options that decide its bytes.
    options: dict[str, Any]
    tables: tuple[TableFacts, ...]
    #: What ``convert`` wanted to be known.
    warnings: tuple[str, ...] = ()
    #: Whether ``generate`` made the source.
    synthetic: bool = False
    #: Where its files are read from: ``path``, but absolute.
    root: str = ""

    def __getitem__(self, table: str) -> TableFacts:
        """The table of a name."""
        for facts in self.tables:
            if facts.name == table:
                return facts
        raise KeyError(table)

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

    def scan(self, table: str) -> polars.LazyFrame:
        """A table as a Polars LazyFrame, with ``cell`` where the lake has cells, and with ``file_number``
        where the layout is ``hive``."""
        try:
            import polars
        except ImportError as missing:
            raise missing_extra("polars", "polars") from missing
        facts = self._facts(table)
        files = _files.of_table(self, facts)
        reads = polars.scan_ipc if self.options.get("format") == "arrow" else polars.scan_parquet
        partitions: dict[str, polars.DataType] = {}
        if self.cells:
            partitions["cell"] = polars.String()
        if self.options["layout"] == "hive":
            partitions["file_number"] = polars.Int64()
        if not partitions:
            return reads(files, glob=False, hive_partitioning=False)
        if "=" not in self.root:
            return reads(files, glob=False, hive_partitioning=True, hive_schema=partitions)
        # Polars would read columns from the names of the directories that the lake is in, too.
        frames = [
            reads(file, glob=False, hive_partitioning=False).with_columns(
                polars.lit(getattr(part, name), dtype=kind).alias(name) for name, kind in partitions.items()
            )
            for file, part in zip(files, facts.parts, strict=True)
        ]
        return polars.concat(frames)

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with a view of each table, and ``<table>_named``.

        The named views show codes as their names, times as seconds and timestamps, and special
        values as NULL. Nothing is copied: the views read the files of the lake.
        """
        try:
            import duckdb
        except ImportError as missing:
            raise missing_extra("duckdb", "duckdb") from missing
        if self.options.get("format") == "arrow":
            raise UsageError("DuckDB reads no Arrow files; convert with format='parquet', or use scan")
        connection = duckdb.connect()
        for facts in self.tables:
            files = _files.sql_list(_files.of_table(self, facts))
            connection.execute(_tracelake.duckdb_views(self.trace, facts.name, files))
        return connection

    def _facts(self, table: str) -> TableFacts:
        """The table of a name; an unknown one is a :class:`UsageError`."""
        try:
            return self[table]
        except KeyError:
            names = ", ".join(facts.name for facts in self.tables)
            raise UsageError(f"{self.path} has no table '{table}'; it has {names}") from None

    def _rows(self) -> list[list[str]]:
        return [
            [
                facts.name,
                count(len(facts.parts)),
                count(facts.rows),
                count(facts.rejected),
                size(facts.bytes),
                _text(facts.time_min),
                _text(facts.time_max),
            ]
            for facts in self.tables
        ]

    def _title(self) -> str:
        return f"Lake of {self.trace}{_of_cells(self.cells)} in {self.path}"

    def __repr__(self) -> str:
        title = f"{self._title()}: {count(self.rows)} rows"
        return _text_table(title, _LAKE, self._rows(), self.warnings)

    def _repr_html_(self) -> str:
        title = self._title()
        return _html_table(title, _LAKE, self._rows(), self.warnings)


@dataclass(frozen=True)
class TableInventory:
    """One table of a lake or of a source; where there are cells, of one cell."""

    name: str
    parts: int
    missing: tuple[int, ...]
    rows: int | None
    rejected: int | None
    published_rows: int | None
    more_than_published: int | None
    bytes: int
    time_min: int | None
    time_max: int | None
    #: The cell, where there are cells.
    cell: str | None = None


@dataclass(frozen=True, repr=False)
class Inventory:
    """What is in a lake or in a source."""

    #: ``lake`` or ``source``.
    what: str
    trace: str
    #: Whether the lake is finished; ``None`` for a source.
    finished: bool | None
    tables: tuple[TableInventory, ...]
    #: Tables of the trace that aren't there.
    absent: tuple[str, ...]

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name if one.cell is None else f"{one.name} of cell {one.cell}",
                count(one.parts),
                count(len(one.missing)),
                _text(one.rows, count),
                size(one.bytes),
                _text(one.time_min),
                _text(one.time_max),
            ]
            for one in self.tables
        ]

    def _notes(self) -> list[str]:
        absent = [f"absent: {', '.join(self.absent)}"] if self.absent else []
        return absent + (["not finished: run convert again"] if self.finished is False else [])

    def __repr__(self) -> str:
        return _text_table(f"{self.what} of {self.trace}", _INVENTORY, self._rows(), self._notes())

    def _repr_html_(self) -> str:
        return _html_table(f"{self.what} of {self.trace}", _INVENTORY, self._rows(), self._notes())


@dataclass(frozen=True)
class GeneratedTable:
    """What was generated of one table."""

    name: str
    parts: int
    rows: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Generated:
    """A synthetic trace."""

    path: str
    trace: str
    tables: tuple[GeneratedTable, ...]

    def _rows(self) -> list[list[str]]:
        return [[one.name, count(one.parts), count(one.rows), size(one.bytes)] for one in self.tables]

    def __repr__(self) -> str:
        return _text_table(f"Synthetic {self.trace} in {self.path}", _GENERATED, self._rows())

    def _repr_html_(self) -> str:
        return _html_table(f"Synthetic {self.trace} in {self.path}", _GENERATED, self._rows())


@dataclass(frozen=True, repr=False)
class Verification:
    """What a verification found; it is true where nothing is wrong."""

    #: Parts that were checked.
    parts: int
    #: Rows of the lake.
    rows: int
    #: Values that were compared with the source.
    values: int
    #: Parts of the source that the lake doesn't have.
    not_converted: int
    #: Everything that is wrong.
    findings: tuple[TracelakeError, ...]
    #: Parts of the lake that weren't compared, because the source is of another cell.
    not_compared: int = 0

    def __bool__(self) -> bool:
        return not self.findings

    def raise_if_wrong(self) -> None:
        """Raises the first finding, if there is one."""
        for finding in self.findings:
            raise finding

    def __repr__(self) -> str:
        compared = f", {count(self.values)} values compared with the source" if self.values else ""
        lines = [f"{count(self.parts)} parts, {count(self.rows)} rows{compared}: {len(self.findings)} wrong"]
        if self.not_compared:
            lines.append(f"  not compared with a source: {count(self.not_compared)} parts of other cells")
        return "\n".join(lines + [f"  {finding}" for finding in self.findings])

    def _repr_html_(self) -> str:
        first, *findings = repr(self).splitlines()
        items = "".join(f"<li>{escape(finding.strip())}</li>" for finding in findings)
        return f"<p>{escape(first)}</p>" + (f"<ul>{items}</ul>" if items else "")


@dataclass(frozen=True)
class Release:
    """The files that make a lake publishable."""

    path: str
    #: Names in the directory of the lake.
    files: tuple[str, ...]
    verification: Verification


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    #: Its Arrow type, such as ``Int64``.
    type: str
    nullable: bool
    unit: str | None
    #: What it means.
    doc: str
    #: The name of each code.
    codes: dict[int, str]
    #: The name of each special value.
    sentinels: dict[int, str]


@dataclass(frozen=True, repr=False)
class TableSchema:
    """The columns of a table, which any Arrow library takes as a schema: ``pyarrow.schema(it)``."""

    trace: str
    name: str
    summary: str
    columns: tuple[Column, ...]

    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule interface."""
        return _tracelake.arrow_schema(self.trace, self.name)

    def to(self, form: str) -> str:
        """The description as ``text``, ``json``, ``markdown``, or ``duckdb`` or ``spark`` statements."""
        return _tracelake.describe(self.trace, self.name, form)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def _rows(self) -> list[list[str]]:
        return [
            [one.name, one.type + ("?" if one.nullable else ""), one.unit or "", one.doc] for one in self.columns
        ]

    def __repr__(self) -> str:
        rows = [row[:3] for row in self._rows()]
        return _text_table(f"{self.trace} {self.name}: {self.summary}", _COLUMNS[:3], rows)

    def _repr_html_(self) -> str:
        return _html_table(f"{self.trace} {self.name}: {self.summary}", _COLUMNS, self._rows())


@dataclass(frozen=True, repr=False)
class TraceSchema:
    """The tables of a trace."""

    name: str
    title: str
    licence: str
    citation: str
    url: str
    tables: tuple[TableSchema, ...]
    #: The cells that it is published by, if it has any.
    cells: tuple[str, ...] = ()

    def to(self, form: str) -> str:
        """The description as ``text``, ``json``, ``markdown``, or ``duckdb`` or ``spark`` statements."""
        return _tracelake.describe(self.name, None, form)

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[TableSchema]:
        return iter(self.tables)

    def __getitem__(self, name: str) -> TableSchema:
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)

    def _rows(self) -> list[list[str]]:
        return [[one.name, count(len(one)), one.summary] for one in self.tables]

    def __repr__(self) -> str:
        return _text_table(f"{self.name}: {self.title}", _TABLES, self._rows())

    def _repr_html_(self) -> str:
        return _html_table(f"{self.name}: {self.title}", _TABLES, self._rows())


# Headings; those that begin with a blank are of numbers.
_LAKE = ["table", " parts", " rows", " rejected", " size", " time from", " to"]
_INVENTORY = ["table", " parts", " missing", " rows", " size", " time from", " to"]
_GENERATED = ["table", " parts", " rows", " size"]
_COLUMNS = ["column", "type", "unit", "meaning"]
_TABLES = ["table", " columns", "what it holds"]


def manifest(path: str, text: str, warnings: Sequence[str] = ()) -> Manifest:
    """A manifest from its JSON. Keys that a later version adds are left out."""
    said = json.loads(text)
    return Manifest(
        path=path,
        tool=said["tool"],
        version=said["version"],
        trace=said["trace"],
        options=said["options"],
        tables=tuple(
            TableFacts(
                name=table["name"],
                schema_fingerprint=table["schema_fingerprint"],
                rows=table["rows"],
                parts=tuple(_part(part) for part in table["parts"]),
            )
            for table in said["tables"]
        ),
        warnings=tuple(warnings),
        synthetic=said.get("synthetic", False),
        root=_files.absolute(path),
    )


def _part(said: dict[str, Any]) -> PartFacts:
    files: dict[str, Any] = {
        name: FileFacts(**_known(FileFacts, said[name])) for name in ("source", "output", "rejects") if said.get(name)
    }
    return PartFacts(**(_known(PartFacts, said) | files))


def _known(kind: Any, said: dict[str, Any]) -> dict[str, Any]:
    """What the fields of a class have here."""
    return {one.name: said[one.name] for one in fields(kind) if one.name in said}


def inventory(text: str) -> Inventory:
    """An inventory from its JSON."""
    said = json.loads(text)
    tables = (
        TableInventory(**_known(TableInventory, dict(table, missing=tuple(table["missing"])))) for table in said["tables"]
    )
    return Inventory(
        said["what"], said["trace"], said["finished"], tuple(tables), tuple(said["absent"])
    )


def generated(path: str, text: str) -> Generated:
    """What was generated, from its JSON."""
    said = json.loads(text)
    tables = tuple(GeneratedTable(**_known(GeneratedTable, table)) for table in said["tables"])
    return Generated(path, said["trace"], tables)


def verification(found: tuple[str, list[TracelakeError]]) -> Verification:
    """A verification from its totals and findings."""
    said = json.loads(found[0])
    return Verification(
        said["parts"],
        said["rows"],
        said["values"],
        said["not_converted"],
        tuple(found[1]),
        said["not_compared"],
    )


def release(path: str, found: tuple[str, list[TracelakeError]]) -> Release:
    """A release; raises the first finding, since nothing was written then."""
    checked = verification(found)
    checked.raise_if_wrong()
    return Release(path, tuple(json.loads(found[0])["files"]), checked)


def trace_schema(text: str) -> TraceSchema:
    """The schema of a trace from its JSON."""
    said = json.loads(text)
    tables = (
        TableSchema(said["name"], table["name"], table["summary"], tuple(_column(one) for one in table["columns"]))
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
    )


def missing_extra(package: str, extra: str | None = None) -> MissingExtraError:
    """The error of a package that isn't installed, and the extra that brings it, if there is one."""
    hint = f"pip install {package}" if extra is None else f"pip install 'tracelake[{extra}]'"
    error = MissingExtraError(f"{package} is not installed; {hint}")
    error.hint = hint
    return error


def count(number: int) -> str:
    """A number with commas."""
    return f"{number:,}"


def _of_cells(cells: Sequence[str]) -> str:
    """The cells of a lake, after the name of its trace."""
    return f", cell{'s' if len(cells) > 1 else ''} {', '.join(cells)}" if cells else ""


def _text(value: int | None, shown: Any = str) -> str:
    return "" if value is None else str(shown(value))


def size(number: int) -> str:
    """A size in bytes for people.

    >>> size(999), size(1536), size(5 << 30)
    ('999 B', '1.5 KiB', '5.0 GiB')
    """
    if number < 1024:
        return f"{number} B"
    size = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


def _text_table(title: str, heads: Sequence[str], rows: list[list[str]], notes: Sequence[str] = ()) -> str:
    names = [head.strip() for head in heads]
    widths = [max(len(line[place]) for line in [names, *rows]) for place in range(len(heads))]
    lines = [title]
    for row in [names, *rows]:
        cells = (
            cell.rjust(width) if head.startswith(" ") else cell.ljust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        )
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join([*lines, *notes])


def _html_table(title: str, heads: Sequence[str], rows: list[list[str]], notes: Sequence[str] = ()) -> str:
    def cell(kind: str, head: str, text: str) -> str:
        side = "right" if head.startswith(" ") else "left"
        return f'<{kind} style="text-align: {side}">{escape(text.strip())}</{kind}>'

    def line(kind: str, texts: Sequence[str]) -> str:
        cells = "".join(cell(kind, head, text) for head, text in zip(heads, texts, strict=True))
        return f"<tr>{cells}</tr>"

    body = "".join(line("td", row) for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<table><caption>{escape(title)}</caption><thead>{line('th', heads)}</thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )
