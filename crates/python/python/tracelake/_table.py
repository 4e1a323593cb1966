"""A table of a lake, in the engines that people use."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _files, _named, _options, _schema, _show
from ._errors import FailedError, TracelakeError, UsageError, missing_file, unknown
from ._facts import PartFacts
from ._named import Shown

if TYPE_CHECKING:
    import pandas
    import polars

    from ._arrow_types import ArrowDataset, ArrowExpression, ArrowTable
    from ._filter import FilterTuple, FilterTuples


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One table of a lake: ``lake["job_events"]``.

    ``columns`` names the columns to read, in this order. ``filter`` has conditions as pyarrow, pandas and deltalake
    take them: ``[("priority", ">=", 9), ("file_number", "<", 10)]`` must all hold, and of a list of such lists, one.
    With ``named=True``, codes are shown as their names, times as seconds and timestamps, and special values as NULL,
    and ``columns`` and ``filter`` are about these columns. ``cell``, if the lake has cells, and ``file_number``, an
    integer of 32 bits, are columns in every engine.

    Tables are equal if they have the same name and are in the same place.
    """

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
        """What the native functions find the trace by."""
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
        """Its columns with types, units and meanings, but for those that paths say; any Arrow library takes it."""
        return _schema.trace_schema(self.trace_key, self.name).tables[0]

    @property
    def partitions(self) -> list[str]:
        """The columns that the paths of its files say."""
        return ["cell", "file_number"] if any(part.cell is not None for part in self.parts) else ["file_number"]

    def scan(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | polars.Expr | None = None,
        named: bool = False,
    ) -> polars.LazyFrame:
        """The table as a Polars LazyFrame, which reads only what it needs. ``filter`` may be a Polars expression."""
        from ._polars import scan

        return scan(self, _columns(columns), filter, _options.switch("named", named))

    def to_polars(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | polars.Expr | None = None,
        named: bool = False,
    ) -> polars.DataFrame:
        """The table as a Polars DataFrame, all in memory. ``filter`` may be a Polars expression."""
        frame = self.scan(columns=columns, filter=filter, named=named)
        with self._reading():
            return frame.collect()

    def head(
        self,
        n: int = 5,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | polars.Expr | None = None,
        named: bool = False,
    ) -> polars.DataFrame:
        """The first ``n`` rows, as a Polars DataFrame."""
        count = _options.number_within("n", n, 0, 2**32)
        frame = self.scan(columns=columns, filter=filter, named=named)
        with self._reading():
            return frame.head(count).collect()

    def dataset(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | ArrowExpression | None = None,
        named: bool = False,
    ) -> ArrowDataset:
        """The table as a pyarrow Dataset, which reads nothing yet. ``filter`` may be an expression of pyarrow.

        With ``columns`` or ``named=True``, it is a Scanner, because a Dataset always has the columns of its files.
        """
        from ._arrow import filtered, scanner

        chosen, is_named = _columns(columns), _options.switch("named", named)
        with self._reading():
            if chosen is None and not is_named:
                return filtered(self, filter)
            return scanner(self, chosen, filter, is_named)

    def to_arrow(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | ArrowExpression | None = None,
        named: bool = False,
    ) -> ArrowTable:
        """The table as a pyarrow Table, all in memory. ``filter`` may be an expression of pyarrow."""
        rows = self.dataset(columns=columns, filter=filter, named=named)
        with self._reading():
            return rows.to_table()

    def to_pandas(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | ArrowExpression | None = None,
        named: bool = False,
    ) -> pandas.DataFrame:
        """The table as a pandas DataFrame, all in memory. ``filter`` may be an expression of pyarrow.

        Its columns have Arrow types, as with ``dtype_backend="pyarrow"``: NumPy's integers can't be NULL, and as
        floats they would lose digits.
        """
        from ._pandas import frame

        return frame(self.to_arrow(columns=columns, filter=filter, named=named))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface, by pyarrow, in batches."""
        from ._arrow import scanner

        with self._reading():
            return scanner(self, None, None, False).to_reader().__arrow_c_stream__(requested_schema)

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

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Raises what an engine raises while it reads as an error of this package."""
        try:
            yield
        except TracelakeError:
            raise
        except FileNotFoundError as error:
            raise missing_file(f"{self.root}", f"cannot read {self.name}: {error}", "verify the lake") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("pyarrow", "polars") and not isinstance(error, OSError):
                raise
            failed = FailedError(f"{self.root}: cannot read {self.name}: {error}; verify the lake")
            failed.path, failed.hint = self.root, "verify the lake"
            raise failed from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.root, self.name) == (other.root, other.name)

    def __hash__(self) -> int:
        return hash((self.root, self.name))

    def _title(self) -> str:
        files = "1 file" if len(self.parts) == 1 else f"{_show.count(len(self.parts))} files"
        place = _files.shown(self.root)
        return f"{self.name} of {place}: {_show.count(self.rows)} rows in {files}, {_show.size(self.bytes)}"

    def _rows(self) -> list[list[str]]:
        return [*self.schema.rows_to_show(), *(_OF_PATHS[name] for name in self.partitions)]

    def __repr__(self) -> str:
        return _show.text_table(self._title(), _schema.COLUMNS[:3], [row[:3] for row in self._rows()])

    def _repr_html_(self) -> str:
        return _show.html_table(self._title(), _schema.COLUMNS, self._rows())


#: The columns that the paths of files say, as a row to show.
_OF_PATHS = {
    "cell": ["cell", "Utf8", "", "The cell. IDs are unique only within a cell."],
    "file_number": ["file_number", "Int32", "", "Number of the part that the row was published in."],
}


def _columns(given: object) -> list[str] | None:
    """Names of columns, each once."""
    if given is None:
        return None
    names = _options.names("columns", given)
    if not names or len(set(names)) < len(names):
        raise UsageError("columns: name one or several, each once")
    return names
