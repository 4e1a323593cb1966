"""The queries of a trace on a lake: what they need, and DuckDB to run them within a memory limit."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from . import _errors, _facts, _files, _guard, _lake, _options, _results, _schema, _show, _table, _tracelake
from ._errors import FailedError, UsageError

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

#: Checks, reports and derived tables stay below this, and below 2 GB with what DuckDB doesn't count.
MEMORY = "1200MB"

#: A check that may run on a few parts at a time gets about this many rows of its table.
ROWS_AT_A_TIME = 4 << 20

#: A table is complete if it has at least this share of the published rows, which may be miscounted.
COMPLETE = 0.99

#: DuckDB's name of the type.
_ZONED = "TIMESTAMP WITH TIME ZONE"

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?I?B?)", re.IGNORECASE)


@dataclass(frozen=True)
class Need:
    """A table that a query reads."""

    table: str
    #: ``any``, ``unbroken`` (without gaps), ``same`` (as of the first table) or ``all``.
    parts: str


def described(trace: str) -> dict[str, Any]:
    """Everything that the catalog knows of a trace."""
    said: dict[str, Any] = json.loads(_tracelake.describe(trace, None, "json"))
    return said


def needs(said: Mapping[str, Any]) -> tuple[Need, ...]:
    """The tables that a query needs, from its JSON."""
    return tuple(Need(one["table"], one["parts"]) for one in said["needs"])


#: What a query that depends on the order of rows in their files says: windows without a partition, windows with one, and
#: the first or last row of a group.
_WHOLE = re.compile(r"OVER\s*\(\s*\)", re.IGNORECASE)
_NEIGHBOURS = re.compile(r"(?:PARTITION\s+BY\s+([^()]*?)\s+)?ORDER\s+BY\s+file_number", re.IGNORECASE)
_ENDS = re.compile(r"'file': file_number(?:(?!'file').)*?(?:GROUP\s+BY\s+([^()]*)|\Z)", re.IGNORECASE | re.DOTALL)
#: What a query that compares files by their numbers says.
_FILES = re.compile(r"\.file_number\s*=|USING\s*\([^)]*\bfile_number\b", re.IGNORECASE)


class Lake:
    """A finished lake of Parquet files, or one cell of it, and what is missing of it."""

    def __init__(self, path: str, cell: str | None = None) -> None:
        if _files.is_url(path):
            raise UsageError(f"{_files.place(path)}: checks, reports and derived tables need a lake on a disk; copy it there first")
        text = _tracelake.manifest(path)
        said: dict[str, Any] = json.loads(text)
        self.manifest = _lake.lake(path, text)
        #: The cell that queries are about; ``None`` in a lake without cells.
        self.cell = _cell(self.manifest, cell)
        self.manifest = _of_cell(self.manifest, self.cell)
        if self.manifest.options.get("format") == "arrow":
            raise UsageError(f"{path}: checks, reports and derived tables read no Arrow files; convert with format='parquet'")
        # First, because it refuses paths that contradict their facts.
        self._files = {
            facts.name: dict(zip((part.file_number for part in facts.parts), facts.files))
            for facts in self.manifest.tables
        }
        self.inventory = _results.inventory(_tracelake.inspect_path(path, None))
        options = self.manifest.options
        self.said = described(
            _schema.trace_key(self.manifest.trace, self.manifest.description, options.get("columns"))
        )
        #: The tables of which the lake has some columns, and those of which it has some rows.
        self._some_columns = {name.partition(".")[0] for name in (options.get("columns") or "").split(",")}
        self._some_rows = {
            facts.name
            for facts in self.manifest.tables
            if any(part.rows_not_selected is not None for part in facts.parts)
        }
        clustered: dict[str, Any] | None = said.get("clustered")
        #: Whether the files aren't those that were published.
        self.is_clustered = clustered is not None
        #: The key whose rows are together; ``None`` if the rows are in the published order.
        self.clustered_by: str | None = (clustered or {}).get("by")
        #: Whether the queries are untrusted: the trace isn't built in.
        self.is_foreign = said.get("description") is not None
        #: The options by which the lake has some rows or columns, as they are typed; empty if it has all.
        selected = ("sample", "sample_by", "columns", "time")
        self.selection = " ".join(f"--{name.replace('_', '-')} {options[name]}" for name in selected if name in options)
        self._tables = {facts.name: facts for facts in self.manifest.tables}
        self.inventory = replace(
            self.inventory, tables=tuple(one for one in self.inventory.tables if one.cell == self.cell)
        )
        self._inventories = {one.name: one for one in self.inventory.tables}

    def parts(self, table: str) -> tuple[_facts.PartFacts, ...]:
        """The parts of a table, by file number; none if the lake doesn't have it."""
        facts = self._tables.get(table)
        return () if facts is None else tuple(sorted(facts.parts, key=lambda part: part.file_number))

    def rows(self, table: str) -> int:
        """The rows of a table."""
        return sum(part.rows_out for part in self.parts(table))

    def extent(self, needs: Sequence[Need]) -> str | None:
        """What these tables have, unless it is the whole trace: ``3 of 500 parts of task_events``."""
        return ", ".join([*self.shares(needs), *(["synthetic rows"] if self.manifest.synthetic else [])]) or None

    def shares(self, needs: Sequence[Need]) -> list[str]:
        """The shares of these tables that the lake has, without those of which it has all."""
        shares = [text for need in needs if (text := self._share_of(need.table))]
        if self.selection and any(need.table in self._some_rows for need in needs):
            shares.append(f"the rows of {self.selection}")
        return shares

    def _share_of(self, table: str) -> str | None:
        inventory = self._inventories.get(table)
        if inventory is None:
            return None
        if missing := len(inventory.missing):
            total = inventory.parts + missing
            return f"{_show.count(inventory.parts)} of {_show.several(total, 'part')} of {table}"
        published, more = inventory.published_rows, inventory.more_than_published
        if self.manifest.synthetic or published is None or more is None or more >= 0:
            return None
        return f"{_show.count(published + more)} of {_show.several(published, 'row')} of {table}"

    def empty(self, needs: Sequence[Need]) -> str | None:
        """Why there is nothing to query: a table that isn't there, or has no rows."""
        for need in needs:
            if not self.parts(need.table):
                return f"the lake has no {need.table}"
        if reason := self.not_in(needs):
            return reason
        return f"{needs[0].table} has no rows" if self.rows(needs[0].table) == 0 else None

    def missing(self, needs: Sequence[Need]) -> str | None:
        """Why the answer would mislead: parts that aren't there."""
        numbers = [part.file_number for part in self.parts(needs[0].table)]
        if reason := self._selected(needs):
            return reason
        for need in needs:
            table = need.table
            own = [part.file_number for part in self.parts(table)]
            if need.parts == "unbroken" and self._inventories[table].lacked_parts:
                return f"it needs the parts of {table} without gaps, and {self.incomplete(table)}"
            if need.parts == "all":
                if incomplete := self.incomplete(table):
                    return f"it needs all of {table}, and {incomplete}"
            elif need.parts == "unbroken" and own != list(range(own[0], own[0] + len(own))):
                return f"it needs the parts of {table} without gaps"
            elif need.parts == "same" and own != numbers:
                return f"it needs the same parts of {table} as of {needs[0].table}"
        return None

    def out_of_order(self, said: Mapping[str, Any]) -> str | None:
        """Why a query that compares files, or a row with the one before it, would mislead: they are others."""
        if self.is_clustered and _FILES.search(said["sql"]):
            return "it needs the files that were published, and the lake is clustered"
        keys: Mapping[str, str] = self.said["sample_keys"].get(self.clustered_by, {})
        tables = [table for need in needs(said) if (table := need.table) in keys]
        if self.clustered_by is None or not tables:
            return None
        entities: dict[str, list[str]] = {one["name"]: one["entity"] for one in self.said["tables"]}
        needed = {keys[table] for table in tables}.union(*(entities[table] for table in tables))
        sql: str = said["sql"]
        # Within one entity, rows are in the order of their time.
        groups = [*_NEIGHBOURS.findall(sql), *_ENDS.findall(sql)]
        by_entity = (needed <= set(re.split(r"\W+", group)) for group in groups)
        if not _WHOLE.search(sql) and all(by_entity):
            return None
        return f"it needs the published order of the rows, and the lake is clustered by {self.clustered_by}"

    def not_in(self, needs: Sequence[Need]) -> str | None:
        """Why a query can't run: it may read columns that the lake doesn't have."""
        for need in needs:
            if need.table in self._some_columns:
                return f"it needs all columns of {need.table}, and the lake has some"
        return None

    def _selected(self, needs: Sequence[Need]) -> str | None:
        """Why the answer would be that of a subset: only rows judged by themselves are as in the whole."""
        for need in needs:
            if need.table in self._some_rows and (len(needs) > 1 or need.parts != "any"):
                return f"it needs all rows of {need.table}, and the lake has a selection"
        return None

    def missing_parts(self, table: str) -> tuple[int, ...]:
        """Numbers of parts that a table lacks, as far as its files or the catalog say; of any other gap, the first and last."""
        numbers = [part.file_number for part in self.parts(table)]
        gaps = {number for one, next in zip(numbers, numbers[1:]) if next > one + 1 for number in (one + 1, next - 1)}
        return tuple(sorted(gaps.union(self._inventories[table].missing)))

    def runs(self, table: str) -> Iterator[list[_facts.PartFacts]]:
        """The parts of a table, cut where parts are missing."""
        missing = self.missing_parts(table)
        run: list[_facts.PartFacts] = []
        for part in self.parts(table):
            if run and any(run[-1].file_number < number < part.file_number for number in missing):
                yield run
                run = []
            run.append(part)
        if run:
            yield run

    def selected_time(self, is_date_time: bool) -> tuple[int | None, int | None]:
        """The range of time that the lake was made of, in the unit of its times; None where it has no end."""
        match = re.fullmatch(r"(-?[0-9]+)?\.\.(-?[0-9]+)?", self.manifest.options.get("time") or "")
        if match is None:
            return None, None
        # Date-times count from 1970, and the range from time 0 of the trace.
        start = (self.said["epoch"] or 0) * 1_000_000 if is_date_time else 0
        since, until = (None if end is None else int(end) + start for end in match.groups())
        return since, until

    def incomplete(self, table: str) -> str | None:
        """Why a table isn't the whole published one, as far as is known."""
        inventory = self._inventories[table]
        if missing := len(inventory.missing):
            return f"{_show.several(missing, 'part')} {'is' if missing == 1 else 'are'} missing"
        if inventory.lacked_parts:
            return "parts were missing in the lake that it was clustered from"
        if self.manifest.synthetic:
            return None
        published, more = inventory.published_rows, inventory.more_than_published
        if published is not None and more is not None and published + more < COMPLETE * published:
            return f"the lake has {_show.count(published + more)} of {_show.several(published, 'row')}"
        return None

    def groups_of_parts(self, table: str) -> Iterator[set[int]]:
        """File numbers in groups of not too many rows."""
        group: set[int] = set()
        rows = 0
        for part in self.parts(table):
            if group and rows + part.rows_out > ROWS_AT_A_TIME:
                yield group
                group = set()
                rows = 0
            group.add(part.file_number)
            rows += part.rows_out
        if group:
            yield group

    def every_file(self) -> Iterator[str]:
        """All files that the manifest names, of the cell if it has cells."""
        for files in self._files.values():
            yield from files.values()

    def files(self, table: str, numbers: set[int] | None = None) -> str:
        """The files of a table, or those with these numbers, as a list in SQL."""
        files = sorted(self._files[table].items())
        return _files.sql_list(file for number, file in files if numbers is None or number in numbers)


class OtherLake:
    """A finished lake of Parquet files that a table is joined with, of all its cells; it is only read."""

    def __init__(self, path: str) -> None:
        if _files.is_url(path):
            raise UsageError(f"{_files.place(path)}: a table is joined with a lake on a disk; copy it there first")
        text = _tracelake.manifest(path)
        said: dict[str, Any] = json.loads(text)
        self.manifest = _lake.lake(path, text)
        if self.manifest.options.get("format") == "arrow":
            raise UsageError(f"{path}: a table is joined with Parquet files; convert with format='parquet'")
        if said.get("description") is not None:
            raise UsageError(f"{path}: a table is joined with a trace that comes with the program")
        self.family: str = described(self.manifest.trace)["family"]
        inventory = _results.inventory(_tracelake.inspect_path(path, None))
        self._missing = {one.name for one in inventory.tables if one.missing}
        self._tables = {facts.name: facts for facts in self.manifest.tables}

    def lacks(self, tables: Sequence[str], allow_missing: bool) -> str | None:
        """What the lake lacks of these tables."""
        cut = {name.partition(".")[0] for name in (self.manifest.options.get("columns") or "").split(",")}
        for table in tables:
            facts = self._tables.get(table)
            if facts is None:
                return f"the other lake has no {table}"
            if table in cut:
                return f"it needs all columns of {table}, and the other lake has some"
            if allow_missing:
                continue
            if table in self._missing:
                return f"parts of {table} are missing in the other lake"
            if any(part.rows_not_selected is not None for part in facts.parts):
                return f"it needs all rows of {table}, and the other lake has a selection"
        return None

    def every_file(self) -> Iterator[str]:
        """All files that the manifest names."""
        for facts in self.manifest.tables:
            yield from facts.files

    def rows(self, table: str) -> str:
        """A query for the rows of a table, with a column ``cell`` if the lake has cells."""
        facts = self._tables[table]
        files: dict[str | None, list[str]] = {}
        for part, file in zip(facts.parts, facts.files):
            files.setdefault(part.cell, []).append(file)
        of_cells = [
            f"SELECT *{'' if cell is None else f', {_files.sql_text(cell)} AS cell'} "
            f"FROM read_parquet({_files.sql_list(those)}, hive_partitioning = false)"
            for cell, those in files.items()
        ]
        return " UNION ALL ".join(of_cells)


def _cell(manifest: _lake.Lake, asked: str | None) -> str | None:
    """The cell to query: IDs are unique only within one, so queries never see several."""
    cells = manifest.cells
    if asked is None and len(cells) > 1:
        raise UsageError(
            f"{manifest.path}: the lake has the cells {', '.join(cells)}, and IDs are unique only within a cell; "
            f"pass one, for example cell='{cells[0]}' or --cell {cells[0]}"
        )
    if asked is None:
        return cells[0] if cells else None
    if asked not in cells:
        has = f"it has {', '.join(cells)}" if cells else "leave the cell out"
        raise UsageError(f"{manifest.path}: the lake has no cell '{asked}'; {has}")
    return asked


def _of_cell(manifest: _lake.Lake, cell: str | None) -> _lake.Lake:
    """The manifest with the parts of one cell."""
    if cell is None:
        return manifest
    tables: list[_table.Table] = []
    for facts in manifest.tables:
        parts = tuple(part for part in facts.parts if part.cell == cell)
        if parts:
            tables.append(replace(facts, parts=parts, rows=sum(part.rows_out for part in parts)))
    return replace(manifest, tables=tuple(tables))


@dataclass(frozen=True)
class Limits:
    """The memory, threads and seconds that a query may use."""

    #: Memory of DuckDB, as a size such as ``2GiB``; ``None`` for 1200 MB.
    memory: str | int | None = None
    #: ``None`` for one per processor.
    threads: int | None = None
    #: Seconds for a query; ``None`` for no limit, or one hour for an untrusted query.
    time_limit: float | None = None

    def seconds(self, lake: Lake) -> float | None:
        """How long a query of this lake may take."""
        return _guard.TIME_LIMIT if self.time_limit is None and lake.is_foreign else self.time_limit


class Engine:
    """A DuckDB connection that reads a lake and nothing else, with a view of each table that a query asks for."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, lake: Lake, seconds: float | None, other: OtherLake | None = None
    ) -> None:
        self.connection = connection
        self._lake = lake
        self._other = other
        self._seconds = seconds
        #: The parts that each view shows.
        self._shown: dict[str, set[int] | None] = {}
        #: The tables with a time that has a zone, which only comes to Python with another package.
        self._zoned: set[str] = set()

    def rows(
        self,
        what: str,
        sql: str,
        needs: Sequence[Need],
        numbers: set[int] | None = None,
        around: Callable[[str], str] = str,
    ) -> list[dict[str, Any]]:
        """The rows of a description's query on all parts, or on those with these numbers, as dictionaries.

        `around` puts the query, once it was checked, into another one.
        """

        def query() -> list[dict[str, Any]]:
            select = around(self._checked(what, sql, needs, numbers))
            zoned = self._zoned.intersection(need.table for need in needs)
            return self._fetch(what, self._without_zones(select) if zoned else select)

        return self._run(what, query)

    def columns(self, what: str, sql: str, needs: Sequence[Need]) -> dict[str, str]:
        """The types of the columns of a description's query."""

        def query() -> dict[str, str]:
            described = self.connection.execute(f"DESCRIBE (\n{self._checked(what, sql, needs, None)}\n)")
            return {name: kind for name, kind, *_ in described.fetchall()}

        return self._run(what, query)

    def write(
        self, what: str, sql: str, needs: Sequence[Need], file: str, metadata: str, with_tables: Sequence[str] = ()
    ) -> int:
        """Writes the rows of a description's query to a Parquet file that the engine may write, and counts them."""

        def query() -> int:
            select = self._checked(what, sql, needs, None, with_tables)
            options = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA {metadata}"
            written = self._fetch(what, f"COPY (\n{select}\n) TO {_files.sql_text(file)} ({options})")
            return int(written[0]["Count"])

        return self._run(what, query)

    def footers(self, table: str) -> list[dict[str, Any]]:
        """The number of values and of NULLs of each column of a table, from the footers of its files."""
        sql = f"""SELECT replace(path_in_schema, ', ', '.') AS name, sum(num_values) AS "values",
            sum(stats_null_count) AS nulls
            FROM parquet_metadata({self._lake.files(table)}) WHERE path_in_schema NOT LIKE '%, list, %'
            GROUP BY path_in_schema ORDER BY min(column_id)"""
        return self._run(table, lambda: self._fetch(table, sql))

    def _without_zones(self, select: str) -> str:
        """A query whose times with a zone are times in UTC without one, also within structs."""
        columns: list[str] = []
        for name, kind, *_ in self.connection.execute(f"DESCRIBE (\n{select}\n)").fetchall():
            quoted = '"' + name.replace('"', '""') + '"'
            columns.append(f"CAST({quoted} AS {kind.replace(_ZONED, 'TIMESTAMP')}) AS {quoted}" if _ZONED in kind else quoted)
        return f"SELECT {', '.join(columns)} FROM (\n{select}\n)"

    def _fetch(self, what: str, sql: str) -> list[dict[str, Any]]:
        cursor = self.connection.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchmany(_guard.MAX_ROWS + 1)
        if len(rows) > _guard.MAX_ROWS:
            raise _guard.QueryError(f"{what}: the query has more than {_show.count(_guard.MAX_ROWS)} rows; let it count them")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _run(self, what: str, query: Callable[[], T]) -> T:
        import duckdb

        try:
            return self._stoppable(what, query)
        except duckdb.OutOfMemoryException as error:
            raise _failed(what, error, "allow more memory") from error
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            damaged = FailedError(f"{what}: {str(error).strip()}; verify the lake")
            damaged.hint = "verify the lake"
            raise damaged from error
        except duckdb.Error as error:
            raise _failed(what, error, "verify the lake") from error

    def _stoppable(self, what: str, query: Callable[[], T]) -> T:
        """Runs a query beside this thread, which a signal can then interrupt at any time.

        DuckDB looks for signals itself, but misses one that arrives while it plans a query.
        """
        outcome: Future[T] = Future()

        def run() -> None:
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(query())
                except BaseException as error:
                    outcome.set_exception(error)

        try:
            Thread(target=run).start()
            end = None if self._seconds is None else time.monotonic() + self._seconds
            # On Windows, only a wait with an end can be interrupted.
            while wait([outcome], timeout=0.2).not_done:
                if end is not None and time.monotonic() > end:
                    raise _failed(what, f"stopped after {self._seconds:g} s", "allow more time")
            return outcome.result()
        except BaseException:
            # An interrupt that comes before DuckDB has begun the query is forgotten, so one isn't enough.
            while not (outcome.done() or outcome.cancel()):
                with suppress(KeyboardInterrupt):
                    self.connection.interrupt()
                    wait([outcome], timeout=0.05)
            raise

    def _checked(
        self, what: str, sql: str, needs: Sequence[Need], numbers: set[int] | None, with_tables: Sequence[str] = ()
    ) -> str:
        """The text of a query that reads its tables and nothing else, whose views are there now."""
        for need in needs:
            self._show(need.table, numbers)
        for table in with_tables:
            assert self._other is not None, "a query of another lake is run with one"
            self.connection.execute(
                f'CREATE SCHEMA IF NOT EXISTS "with"; CREATE OR REPLACE VIEW "with"."{table}" AS {self._other.rows(table)}'
            )
        tables = [*(need.table for need in needs), *(f"with.{table}" for table in with_tables)]
        return _guard.checked(self.connection, what, sql, tables)

    def _show(self, table: str, numbers: set[int] | None) -> None:
        if table in self._shown and self._shown[table] == numbers:
            return
        self.connection.execute(
            f"""CREATE OR REPLACE TEMP VIEW "{table}" AS SELECT * EXCLUDE (filename),
            CAST(regexp_extract(filename, 'part-([0-9]+)[^/\\\\]*$', 1) AS INTEGER) AS file_number
            FROM read_parquet({self._lake.files(table, numbers)}, hive_partitioning = false, filename = true, file_row_number = true)"""
        )
        self._shown[table] = numbers
        if any(kind == _ZONED for _, kind, *_ in self.connection.execute(f'DESCRIBE "{table}"').fetchall()):
            self._zoned.add(table)


@contextmanager
def engine(
    lake: Lake, limits: Limits, outputs: Iterable[str] = (), other: OtherLake | None = None
) -> Generator[Engine]:
    """A DuckDB connection with limits, which reads the lake's files, writes the outputs, and has a temporary directory.

    Built-in traces take the same path as others, so that there is one to test.
    """
    try:
        import duckdb
    except ImportError as missing:
        raise _errors.missing_extra("duckdb", "check") from missing
    seconds = limits.seconds(lake)
    with tempfile.TemporaryDirectory(prefix="tracelake-") as directory:
        config = _guard.settings()
        config |= {"memory_limit": size(limits.memory), "temp_directory": directory}
        if limits.threads is not None:
            config["threads"] = limits.threads
        with duckdb.connect(config=config) as connection:
            # In a notebook without ipywidgets, there is no bar, and DuckDB refuses to be told so.
            with suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar = false")
            # Hours and days are those of UTC, whatever the machine's zone.
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(lake.said["helpers"])
            others = () if other is None else other.every_file()
            _guard.lock(connection, [*lake.every_file(), *others, *outputs])
            yield Engine(connection, lake, seconds, other)


def size(memory: str | int | None) -> str:
    """A memory limit as DuckDB takes it.

    >>> size(None), size("2GiB"), size("512m"), size(1_000_000_000)
    ('1200MB', '2147483648B', '512000000B', '1000000000B')
    """
    if memory is None:
        return MEMORY
    if isinstance(memory, str):
        match = _SIZE.fullmatch(memory.strip())
        if match is None:
            raise UsageError(f"memory: {memory!r} is not a size such as 512MB or 2GiB")
        unit = match[2].upper()
        power = "KMGT".find(unit[0]) + 1 if unit and unit != "B" else 0
        memory = int(float(match[1]) * (1024 if "I" in unit else 1000) ** power)
    if memory < 100_000_000:
        raise UsageError("memory: at least 100 MB are needed")
    return f"{memory}B"


def chosen(names: object, known: Sequence[str], what: str) -> list[str]:
    """Names that were asked for, in the order in which they are known; all of them for ``None``."""
    if names is None:
        return list(known)
    asked = {name.strip() for name in (names.split(",") if isinstance(names, str) else _options.names(what, names))}
    for name in sorted(asked):
        if name not in known:
            near = _errors.near(name, known)
            raise UsageError(f"there is no {what} '{name}'; known are {', '.join(known)}{near}")
    return [name for name in known if name in asked]


def _failed(what: str, error: object, hint: str) -> _guard.QueryError:
    failed = _guard.QueryError(f"{what}: {str(error).strip()}; {hint}")
    failed.hint = hint
    return failed
