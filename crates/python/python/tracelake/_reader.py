"""A published file, read once as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _schema, _tracelake
from ._errors import TracelakeError, UsageError, missing_extra

if TYPE_CHECKING:
    from types import TracebackType

    from ._arrow_types import ArrowBatch


class Reader:
    """One published file, to be read once: by any library that takes Arrow data, or batch by batch.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> with tracelake.read_part("trace/machine_events/part-00000-of-00001.csv.gz") as reader:
    ...     rows = sum(batch.num_rows for batch in reader)
    >>> rows == made.tables[2].rows
    True
    """

    def __init__(self, native: _tracelake.Reader, trace: str | None, selected: str | None = None) -> None:
        self._native = native
        self._selected = selected
        # Where the trace is described by a file, its name isn't enough.
        self._described = trace or native.trace
        self._is_closed = False

    @property
    def trace(self) -> str:
        """The trace, such as ``google-2011-v2.1``: the one that was given, or that was recognised."""
        return self._native.trace

    @property
    def table(self) -> str:
        """The name of the table: the one that was given, or that was recognised."""
        return self._native.table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def schema(self) -> _schema.TableSchema:
        """The columns with types, units and meanings; any Arrow library takes it."""
        trace = self._described
        if self._selected is not None:
            columns = ",".join(f"{self.table}.{column}" for column in self.columns)
            trace = _schema.trace_key(trace, None, columns)
        return _schema.trace_schema(trace, self.table).tables[0]

    @property
    def error(self) -> TracelakeError | None:
        """Why the rows ended early; ``None`` while nothing is wrong."""
        return self._native.error

    @property
    def rejected(self) -> int:
        """Rows that were left out so far."""
        return self._native.rejected

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._is_closed:
            raise UsageError("the reader is closed; call read_part again")
        return self._native.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[ArrowBatch]:
        """Record batches of pyarrow. A broken file raises :attr:`error`."""
        try:
            pyarrow: Any = import_module("pyarrow")
        except ImportError as missing:
            raise missing_extra("pyarrow", "arrow") from missing
        with pyarrow.RecordBatchReader.from_stream(self) as batches:
            while True:
                try:
                    batch = batches.read_next_batch()
                except StopIteration:
                    return
                except Exception:
                    if self.error is None:
                        raise
                    raise self.error from None
                yield batch

    def close(self) -> None:
        """Refuses to be read from now on. What was handed to a library stays open there."""
        self._is_closed = True

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tracelake.Reader of {self.trace} {self.table}: {', '.join(self.columns)}>"
