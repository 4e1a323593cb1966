"""A table of a lake as its manifest has it: facts, files and columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from . import _files, _named, _schema, _show, _tracelake
from ._errors import missing_file, unknown
from ._facts import PartFacts
from ._named import Shown


@dataclass(frozen=True, eq=False, repr=False)
class TableFiles:
    """A table as the manifest describes it; the engines read its files."""

    name: str
    schema_fingerprint: str
    #: Rows in all parts.
    rows: int
    parts: tuple[PartFacts, ...]
    #: The trace of the lake.
    trace: str
    #: The directory or URL of the lake, absolute.
    root: str
    #: ``hive`` or ``flat``.
    layout: str
    #: ``parquet`` or ``arrow``.
    format: str
    #: The SHA-256 of the description of the trace, which the lake has; ``None`` if the trace is built in.
    description: str | None = None
    #: The columns of the lake's tables, if it has only some: ``job_events.job_id,job_events.time``.
    selected: str | None = None

    @property
    def trace_key(self) -> str:
        """The key by which the native functions find the trace."""
        return _schema.trace_key(self.trace, self.description, self.selected)

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

    @property
    def times(self) -> tuple[str, str] | None:
        """The smallest and the largest value of its time column as people read them."""
        if self.time_min is None or self.time_max is None:
            return None
        return self._shown_time(self.time_min), self._shown_time(self.time_max)

    def _shown_time(self, time: int) -> str:
        return _tracelake.shown_time(self.trace_key, self.name, time)

    @property
    def files(self) -> list[str]:
        """Its files, absolute, in the order of the manifest.

        The path of each says its part and cell, as the manifest does, so both may be read from it. Raises
        :class:`CorruptInputError` where it doesn't, and :class:`MissingFileError` if a file on disk is missing.
        """
        files = [part.file(self.root, self.name, self.layout) for part in self.parts]
        if not _files.is_url(self.root):
            for file in files:
                if not os.path.isfile(file):
                    raise missing_file(file, "the manifest names this file, but it is missing", "verify the lake")
        return files

    @property
    def schema(self) -> _schema.TableSchema:
        """Its columns with types, units and meanings, those that paths say last; any Arrow library takes it."""
        schema = _schema.trace_schema(self.trace_key, self.name).tables[0]
        of_paths = tuple(_OF_PATHS[name] for name in self.partitions)
        return replace(schema, columns=schema.columns + of_paths, of_paths=tuple(self.partitions))

    @property
    def partitions(self) -> list[str]:
        """The columns that the paths of its files say."""
        return ["cell", "file_number"] if any(part.cell is not None for part in self.parts) else ["file_number"]

    def shown(self, there: Sequence[str], named: bool) -> dict[str, Shown]:
        """The columns that it shows by their names, made of those that are there."""
        make = _named.named if named else _named.plain
        return {one.name: one for one in make(self.schema, there)}

    def chosen(self, columns: list[str], shown: Mapping[str, Shown]) -> list[str]:
        """The columns that were asked for; raises :class:`UnknownNameError` for one that isn't shown."""
        for name in columns:
            if name not in shown:
                raise unknown(f"columns: {self.name} has no column", name, list(shown))
        return columns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableFiles):
            return NotImplemented
        return (self.root, self.name) == (other.root, other.name)

    def __hash__(self) -> int:
        return hash((self.root, self.name))

    def _title(self) -> str:
        rows, files = _show.several(self.rows, "row"), _show.several(len(self.parts), "file")
        return f"{self.name} of {_files.shown(self.root)}: {rows} in {files}, {_show.size(self.bytes)}"

    def _rows(self) -> list[list[str]]:
        return self.schema.rows_to_show()

    def __repr__(self) -> str:
        return _show.text_table(self._title(), _schema.COLUMNS[:3], [row[:3] for row in self._rows()])

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), _schema.COLUMNS, self._rows())


#: The columns that the paths of files say.
_OF_PATHS = {
    "cell": _schema.Column("cell", "Utf8", False, None, "The cell. IDs are unique only within a cell.", {}, {}),
    "file_number": _schema.Column(
        "file_number", "Int32", False, None, "Number of the part that the row was published in.", {}, {}
    ),
}
