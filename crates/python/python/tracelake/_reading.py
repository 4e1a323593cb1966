"""Functions that read lakes, published files and descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, overload

from . import _lake, _options, _schema, _tracelake
from ._errors import TracelakeError, UsageError, renamed
from ._lake import Lake
from ._options import path as path_of
from ._options import switch, text, thread_count
from ._paths import StrPath
from ._reader import Reader
from ._schema import TableSchema, TraceSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    import polars

    from ._filter import FilterTuple, FilterTuples


def open(lake: StrPath) -> Lake:
    """A finished lake on a disk, in a bucket or on a web server: a mapping of its tables, see :class:`Lake`.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.open("lake") == lake
    True
    >>> tracelake.open("lake")["job_events"].to_polars(columns=["event_type"], named=True)["event_type"][0]
    'SUBMIT'
    """
    path = path_of("lake", lake)
    return _lake.lake(path, _tracelake.manifest(path))


def scan(
    lake: StrPath,
    table: str,
    *,
    columns: str | Sequence[str] | None = None,
    filter: FilterTuples | FilterTuple | polars.Expr | None = None,
    named: bool = False,
) -> polars.LazyFrame:
    """A table of a lake as a Polars LazyFrame: ``open(lake)[table].scan(...)``.

    Wants ``pip install 'tracelake[polars]'``. See :class:`Table` for the keyword arguments.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.scan("lake", "machine_events").collect_schema().names()[-1]
    'file_number'
    """
    name, is_named = text("table", table), switch("named", named)
    return open(lake).scan(name, columns=columns, filter=filter, named=is_named)


def read_part(
    path: StrPath,
    *,
    trace: str | None = None,
    table: str | None = None,
    on_bad_row: Literal["fail", "reject"] = "fail",
    sample: str | None = None,
    sample_by: str | None = None,
    columns: str | Iterable[str] | None = None,
    time: str | None = None,
    threads: int | None = None,
) -> Reader:
    """Reads one published file without a lake, for any library that takes Arrow data.

    The result goes to ``polars.DataFrame``, ``pyarrow.table``, ``pandas.DataFrame.from_arrow`` or
    ``duckdb.from_arrow``, once, and nothing is copied. It is also a context manager and yields record batches of
    pyarrow. With ``on_bad_row="reject"``, bad rows are
    left out and counted in :attr:`Reader.rejected`. ``sample``, ``sample_by``, ``columns`` and ``time`` select rows and
    columns, as in :func:`convert`.

    If the file is broken, the library that reads raises its own exception with our message;
    :attr:`Reader.error` has ours, with the position.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> reader = tracelake.read_part("trace/machine_events/part-00000-of-00001.csv.gz")
    >>> reader.table
    'machine_events'
    >>> reader.columns
    ['time', 'machine_id', 'event_type', 'platform_id', 'cpus', 'memory']
    """
    if text("on_bad_row", on_bad_row) not in ("fail", "reject"):
        raise UsageError(f"on_bad_row: expected 'fail' or 'reject', not {on_bad_row!r}")
    place, rejects = path_of("path", path), on_bad_row == "reject"
    described, name = _options.optional_text("trace", trace), _options.optional_text("table", table)
    selection = _options.selection(sample=sample, sample_by=sample_by, columns=columns, time=time)
    try:
        native = _tracelake.read_part(place, described, name, selection, rejects, thread_count(threads))
    except TracelakeError as error:
        raise renamed(error, "tables", "table")
    return Reader(native, described, selection.get("columns"))


def traces() -> list[str]:
    """The names of all known traces.

    >>> "google-2011-v2.1" in tracelake.traces()
    True
    """
    return _tracelake.traces()


@overload
def schema(trace: str, table: None = None) -> TraceSchema: ...
@overload
def schema(trace: str, table: str) -> TableSchema: ...
def schema(trace: str, table: str | None = None) -> TraceSchema | TableSchema:
    """The tables of a trace, or the columns of a table; any Arrow library takes the latter.

    >>> columns = tracelake.schema("google-2011-v2.1", "machine_events")
    >>> columns["cpus"].type
    'Float64'
    >>> columns["event_type"].codes
    {0: 'ADD', 1: 'REMOVE', 2: 'UPDATE'}
    """
    described = _schema.trace_schema(text("trace", trace), _options.optional_text("table", table))
    return described if table is None else described.tables[0]
