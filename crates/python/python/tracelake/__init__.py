"""Published cluster traces as a typed, reproducible Parquet lake.

>>> import tracelake
>>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
>>> lake = tracelake.convert("trace", "lake")
>>> lake["machine_events"].rows > 0
True
>>> bool(tracelake.verify("lake", source="trace"))
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Literal, overload

from . import _files, _lake, _options, _results, _schema, _tracelake
from ._errors import (
    AccessDeniedError,
    BadRowError,
    CorruptInputError,
    FailedError,
    MissingExtraError,
    MissingFileError,
    MissingLakeError,
    RefusedError,
    StoppedError,
    StorageError,
    TracelakeError,
    UnknownNameError,
    UsageError,
    WrongTypeError,
    renamed,
    writing,
    wrong_type,
)
from ._lake import Lake
from ._options import path as _path
from ._options import switch as _bool
from ._options import takes_convert_options as _takes_convert_options
from ._options import text as _str
from ._options import thread_count as _threads
from ._paths import StrPath
from ._progress import Callback, Event, Progress, Watcher
from ._reader import Reader
from ._results import (
    Generated,
    GeneratedTable,
    Inventory,
    Release,
    TableInventory,
    Verification,
)
from ._schema import Column, TableSchema, TraceSchema, ValueRange
from ._table import FileFacts, PartFacts, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import polars
    from typing_extensions import Unpack

    from . import _queries, spark
    from ._checks import CheckReport, CheckResult, Finding
    from ._convert_options import ConvertOptions
    from ._derive import DerivedLake, DerivedTable
    from ._filter import FilterTuple, FilterTuples
    from ._report import Report

#: Names whose modules are imported when they are first used, so that an import of the package is quick.
_LAZY = {
    "CheckReport": "_checks",
    "CheckResult": "_checks",
    "DerivedLake": "_derive",
    "DerivedTable": "_derive",
    "Finding": "_checks",
    "Report": "_report",
    "spark": "spark",
}

#: The names of :class:`Lake` and :class:`Table` before they were mappings and had rows.
Manifest = Lake
TableFacts = Table

__version__ = _tracelake.__version__

#: What ``import *`` brings: everything public but ``open`` and ``__version__``, which would replace the caller's.
__all__ = [
    "AccessDeniedError",
    "BadRowError",
    "Callback",
    "CheckReport",
    "CheckResult",
    "Column",
    "CorruptInputError",
    "DerivedLake",
    "DerivedTable",
    "Event",
    "FailedError",
    "FileFacts",
    "Finding",
    "Generated",
    "GeneratedTable",
    "Inventory",
    "Lake",
    "Manifest",
    "MissingExtraError",
    "MissingFileError",
    "MissingLakeError",
    "PartFacts",
    "Progress",
    "Reader",
    "RefusedError",
    "Release",
    "Report",
    "StoppedError",
    "StorageError",
    "Table",
    "TableFacts",
    "TableInventory",
    "TableSchema",
    "TraceSchema",
    "TracelakeError",
    "UnknownNameError",
    "UsageError",
    "ValueRange",
    "Verification",
    "WrongTypeError",
    "check",
    "convert",
    "derive",
    "generate",
    "inspect",
    "read_part",
    "release",
    "report",
    "scan",
    "schema",
    "spark",
    "traces",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tracelake' has no attribute '{name}'")
    module = import_module(f".{_LAZY[name]}", __name__)
    return module if _LAZY[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "open", "__version__", "__all__", "__doc__", "__file__", "__name__", "__path__"])


@_takes_convert_options()
def convert(
    src: StrPath, out: StrPath, *, progress: Progress = None, **options: Unpack[ConvertOptions]
) -> Lake:
    """Converts a downloaded trace into a lake, or resumes where an earlier run stopped.

    The keyword arguments are the options of ``tracelake convert``, which ``tracelake convert --help`` explains.
    ``tables`` and ``derive`` take a name or several, ``parts`` a text such as ``"0-9,17"``, a number or several,
    ``memory`` a size such as ``"2GiB"`` or a number of bytes.

    ``progress`` is ``"auto"``, ``"bar"``, ``"text"`` or a function of an :class:`Event`. Ctrl-C
    stops within a second; run the same call again to resume.

    >>> events = []
    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake", tables="job_events", progress=events.append)
    >>> [table.name for table in lake.tables]
    ['job_events']
    >>> sorted({event.kind for event in events})
    ['begun', 'finished', 'read', 'started']
    """
    source, place = _path("src", src), _path("out", out)
    arguments = _options.convert_arguments(options)
    with Watcher(progress) as watch:
        made = _tracelake.convert([*arguments, "--", source, place], watch)
    return _lake.lake(place, made, watch.warnings)


def open(lake: StrPath) -> Lake:
    """A finished lake on a disk, in a bucket or on a web server: a mapping of its tables, see :class:`Lake`.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.open("lake") == lake
    True
    >>> tracelake.open("lake")["job_events"].to_polars(columns=["event_type"], named=True)["event_type"][0]
    'SUBMIT'
    """
    path = _path("lake", lake)
    return _lake.lake(path, _tracelake.manifest(path))


def verify(
    lake: StrPath,
    source: StrPath | None = None,
    *,
    threads: int | None = None,
    progress: Progress = None,
) -> Verification:
    """Checks a lake: files, footers, counts, digests, and every value against ``source`` if given.

    What is wrong is in :attr:`Verification.findings`; nothing is raised for it.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.verify("lake", source="trace").findings
    ()
    """
    path, number = _path("lake", lake), _threads(threads)
    other = None if source is None else _path("source", source)
    with Watcher(progress) as watch:
        found = _tracelake.verify_lake(path, other, number, watch)
    return _results.verification(found)


def inspect(path: StrPath, trace: str | None = None) -> Inventory:
    """What is in a lake or in a source: tables, parts, rows, bytes, time range.

    ``trace`` is the name of the source's trace, or the path of its description; by default it is recognised.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> tracelake.inspect("trace").what
    'source'
    """
    return _results.inventory(_tracelake.inspect_path(_path("path", path), _options.optional_text("trace", trace)))


def release(
    lake: StrPath,
    *,
    allow_missing: bool = False,
    allow_rejects: bool = False,
    threads: int | None = None,
) -> Release:
    """Verifies a lake and writes what it needs to be published.

    Raises the first finding where something is wrong, and writes nothing then.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.release("lake", allow_missing=True).files
    ('README.md', 'croissant.json', 'datapackage.json', 'SHA256SUMS')
    """
    path = _path("lake", lake)
    allowed = _bool("allow_missing", allow_missing), _bool("allow_rejects", allow_rejects)
    found = _tracelake.release_lake(path, *allowed, _threads(threads))
    return _results.release(path, found)


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

    Where the file is broken, the library that reads raises an error of its own with our message;
    :attr:`Reader.error` has the exception with the position.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> reader = tracelake.read_part("trace/machine_events/part-00000-of-00001.csv.gz")
    >>> reader.columns
    ['time', 'machine_id', 'event_type', 'platform_id', 'cpus', 'memory']
    """
    if _str("on_bad_row", on_bad_row) not in ("fail", "reject"):
        raise UsageError(f"on_bad_row: expected 'fail' or 'reject', not {on_bad_row!r}")
    place, rejects = _path("path", path), on_bad_row == "reject"
    names = _options.optional_text("trace", trace), _options.optional_text("table", table)
    selection = _options.selection(sample=sample, sample_by=sample_by, columns=columns, time=time)
    try:
        native = _tracelake.read_part(place, *names, selection, rejects, _threads(threads))
    except TracelakeError as error:
        raise renamed(error, "tables", "table")
    return Reader(native, place, *names, selection.get("columns"))


def generate(
    trace: str,
    out: StrPath,
    *,
    parts: int = 2,
    rows: int = 100_000,
    seed: int = 1,
    progress: Progress = None,
) -> Generated:
    """Makes a synthetic trace in the published format; the same seed gives the same bytes.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", parts=1, rows=2000)
    >>> max(table.rows for table in made.tables)
    2000
    """
    name, path = _str("trace", trace), _path("out", out)
    numbers = (
        _options.number_within("parts", parts, 1, 99_999),
        _options.number_within("rows", rows, 1, 2**63 - 1),
        _options.number_within("seed", seed, 0, 2**64 - 1),
    )
    with Watcher(progress) as watch:
        made = _tracelake.generate(name, path, *numbers, watch)
    return _results.generated(path, made)


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
    described = _schema.trace_schema(_str("trace", trace), _options.optional_text("table", table))
    return described if table is None else described.tables[0]


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
    name, is_named = _str("table", table), _bool("named", named)
    return open(lake).scan(name, columns=columns, filter=filter, named=is_named)


def check(
    lake: StrPath,
    *,
    cell: str | None = None,
    only: str | Iterable[str] | None = None,
    allow_missing: bool = False,
    memory: str | int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    watch: Callable[[CheckResult], object] | None = None,
) -> CheckReport:
    """Compares the rows of a lake with what its documents promise, by DuckDB.

    Wants ``pip install 'tracelake[check]'``. The result is true where nothing is wrong that isn't
    known already. A check is skipped, with the reason, where the lake lacks what it needs; with
    ``allow_missing``, it is made even if parts are missing. ``only`` takes names of checks,
    ``memory`` the limit of DuckDB, ``time_limit`` the most seconds for a query, ``watch`` a function of each
    :class:`CheckResult`. The queries can read the lake's tables and nothing else. In a lake of several cells, ``cell`` says which one is checked, because ids are unique only within a cell.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> report = tracelake.check("lake")
    >>> bool(report), report["task_usage_sorted"].status
    (True, 'passed')
    """
    from . import _checks, _queries

    if watch is not None and not callable(watch):
        raise wrong_type("watch", "a function", watch)
    limits = _limits(memory, threads, time_limit)
    missing = _bool("allow_missing", allow_missing)
    queried = _queries.Lake(_path("lake", lake), _options.optional_text("cell", cell))
    return _checks.check(queried, only=only, allow_missing=missing, limits=limits, watch=watch)


def report(
    lake: StrPath,
    out: StrPath = "report.html",
    *,
    cell: str | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> Report:
    """Draws what is in a lake as one HTML page, which needs no network.

    Wants ``pip install 'tracelake[report]'``. The page says what the lake is, shows events, usage,
    jobs and machines, and has the results of :func:`check`. Figures whose tables or parts are
    missing are left out, with the reason. In a lake of several cells, ``cell`` says which one it shows.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.report("lake", "report.html").figures[0]
    'job_events_over_time'
    """
    from . import _queries, _report

    page, limits = _files.on_disk("out", _path("out", out)), _limits(memory, threads, time_limit)
    queried = _queries.Lake(_path("lake", lake), _options.optional_text("cell", cell))
    with writing(page):
        return _report.report(queried, page, limits=limits)


def derive(
    lake: StrPath,
    out: StrPath,
    *,
    cell: str | None = None,
    tables: str | Iterable[str] | None = None,
    allow_missing: bool = False,
    memory: str | int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> DerivedLake:
    """Makes tables that everyone computes again, such as the lifetimes of tasks, with DuckDB.

    Wants ``pip install 'tracelake[check]'``. The new directory ``out`` gets a Parquet file for each
    table, and the facts in ``_tracelake/derived.json``: the engine, its version, and the digest of
    the lake. Its bytes may depend on these and on the machine. In a lake of several cells, ``cell``
    says which one they are made from.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> derived = tracelake.derive("lake", "derived")
    >>> [table.name for table in derived.tables]
    ['task_lifetimes', 'machine_usage_5min']
    """
    from . import _derive, _queries

    directory = _files.on_disk("out", _path("out", out))
    limits = _limits(memory, threads, time_limit)
    missing = _bool("allow_missing", allow_missing)
    queried = _queries.Lake(_path("lake", lake), _options.optional_text("cell", cell))
    with writing(directory):
        return _derive.derive(queried, directory, tables=tables, allow_missing=missing, limits=limits)


def _limits(memory: str | int | None, threads: int | None, time_limit: float | None) -> _queries.Limits:
    from . import _queries

    seconds = _options.seconds("time_limit", time_limit)
    return _queries.Limits(_options.size("memory", memory), _threads(threads), seconds)
