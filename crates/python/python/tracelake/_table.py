"""A table of a lake, in the engines that people use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from . import _files, _options
from ._errors import UsageError
from ._table_files import TableFiles

if TYPE_CHECKING:
    import pandas
    import polars

    from ._arrow_types import ArrowDataset, ArrowExpression, ArrowTable
    from ._filter import FilterTuple, FilterTuples


class Table(TableFiles):
    """One table of a lake: ``lake["job_events"]``.

    ``columns`` names the columns to read, in this order. ``filter`` has conditions as pyarrow, pandas and deltalake
    take them, such as ``("priority", ">=", 9)``: ``[a, b]`` is a AND b, and ``[[a, b], [c]]`` is (a AND b) OR c.
    With ``named=True``, codes are shown as their names, times as seconds and timestamps, and special values as NULL,
    and ``columns`` and ``filter`` are about these columns. ``cell``, if the lake has cells, and ``file_number``, an
    integer of 32 bits, are columns in every engine.

    Tables are equal if they have the same name and are in the same place.
    """

    def scan(
        self,
        *,
        columns: str | Sequence[str] | None = None,
        filter: FilterTuples | FilterTuple | polars.Expr | None = None,
        named: bool = False,
    ) -> polars.LazyFrame:
        """The table as a Polars LazyFrame, which reads only what it needs. ``filter`` may be a Polars expression."""
        from ._polars import scan

        chosen, is_named = _columns(columns), _options.switch("named", named)
        with self._reading():
            return scan(self, chosen, filter, is_named)

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

        Its columns have Arrow types, as with ``dtype_backend="pyarrow"``: NumPy integers have no NULL, and as floats
        they would lose digits.
        """
        from ._pandas import frame

        return frame(self.to_arrow(columns=columns, filter=filter, named=named))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule interface, by pyarrow, in batches."""
        from ._arrow import scanner

        with self._reading():
            return scanner(self, None, None, False).to_reader().__arrow_c_stream__(requested_schema)

    def _reading(self) -> AbstractContextManager[None]:
        return _files.reading(self.root, self.name)


def _columns(given: object) -> list[str] | None:
    """Names of columns, each once."""
    if given is None:
        return None
    names = _options.names("columns", given)
    if not names or len(set(names)) < len(names):
        raise UsageError("columns: name one or several, each once")
    return names
