"""Functions that query a lake with DuckDB. The modules they need are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from . import _files, _options
from ._errors import writing, wrong_type
from ._options import path as path_of
from ._options import switch, thread_count
from ._paths import StrPath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _queries
    from ._checks import CheckReport, CheckResult
    from ._derive import DerivedLake
    from ._report import Report


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
    missing = switch("allow_missing", allow_missing)
    queried = _queries.Lake(path_of("lake", lake), _options.optional_text("cell", cell))
    return _checks.check(queried, only=only, allow_missing=missing, limits=limits, watch=watch)


def report(
    lake: StrPath,
    out: StrPath = "report.html",
    *,
    overwrite: bool = False,
    cell: str | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> Report:
    """Draws what is in a lake as one HTML page, which needs no network.

    Wants ``pip install 'tracelake[report]'``. The page says what the lake is, shows events, usage,
    jobs and machines, and has the results of :func:`check`. Figures whose tables or parts are
    missing are left out, with the reason. A file that exists is refused unless ``overwrite`` is true. In a lake of
    several cells, ``cell`` says which one it shows.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> tracelake.report("lake", "report.html").figures[0]
    'job_events_over_time'
    """
    from . import _queries, _report

    page, limits = _files.on_disk("out", path_of("out", out)), _limits(memory, threads, time_limit)
    replaces = switch("overwrite", overwrite)
    queried = _queries.Lake(path_of("lake", lake), _options.optional_text("cell", cell))
    with writing(page):
        return _report.report(queried, page, overwrite=replaces, limits=limits)


def derive(
    lake: StrPath,
    out: StrPath,
    *,
    cell: str | None = None,
    tables: str | Iterable[str] | None = None,
    with_lake: StrPath | None = None,
    allow_missing: bool = False,
    memory: str | int | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
) -> DerivedLake:
    """Makes tables that everyone computes again, such as the lifetimes of tasks, with DuckDB.

    Wants ``pip install 'tracelake[check]'``. The new directory ``out`` gets a Parquet file for each
    table, and the facts in ``_tracelake/derived.json``: the engine, its version, and the digest of
    the lake. Its bytes may depend on these and on the machine. In a lake of several cells, ``cell``
    says which one they are made from. ``with_lake`` is a lake of another trace that tables are joined with; it is only
    read.

    >>> made = tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    >>> lake = tracelake.convert("trace", "lake")
    >>> derived = tracelake.derive("lake", "derived")
    >>> [table.name for table in derived.tables]
    ['task_lifetimes', 'machine_usage_5min']
    """
    from . import _derive, _queries

    directory = _files.on_disk("out", path_of("out", out))
    limits = _limits(memory, threads, time_limit)
    missing = switch("allow_missing", allow_missing)
    queried = _queries.Lake(path_of("lake", lake), _options.optional_text("cell", cell))
    other = None if with_lake is None else _queries.OtherLake(path_of("with_lake", with_lake))
    with writing(directory):
        return _derive.derive(
            queried, directory, tables=tables, allow_missing=missing, limits=limits, other=other
        )


def _limits(memory: str | int | None, threads: int | None, time_limit: float | None) -> _queries.Limits:
    from . import _queries

    seconds = _options.seconds("time_limit", time_limit)
    return _queries.Limits(_options.size("memory", memory), thread_count(threads), seconds)
