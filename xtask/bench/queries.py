"""Asks one engine about the same rows in files of several writers: queries.py ENGINE, JSON on stdin and stdout.

In: {"table": name, "sets": {writer: {table: [files]}}, "picked": values of `picked`, "expected": directory,
"seconds": instead of SECONDS, if given}
Out: {query: {writer: least CPU seconds}}

The first result of each query is kept in the directory; every other must have the same rows, whichever the
engine and the writer. A difference ends the process.
"""

import functools
import json
import math
import operator
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

# A query is repeated until it has taken this much CPU time, because a run of a few ms says little. That is one
# measurement, and each writer's files get this many; the least counts.
SECONDS = 0.05
MEASUREMENTS = 4

# By how much a mean may differ, relatively: engines add in different orders.
TOLERANCE = 1e-9

OPERATORS = {"=": operator.eq, ">=": operator.ge, "<": operator.lt}


class Columns(NamedTuple):
    """The columns that a table's queries use."""

    time: str
    value: str
    task: list
    machine: str | None
    text: str | None
    # A table with the same tasks and a column of it, whose greatest value at submission is joined.
    level: tuple


class Query(NamedTuple):
    """Either the columns `rows`, or the number of rows and the `figures` of each group."""

    where: list = []
    rows: list = []
    by: list = []
    figures: list = []
    # A table that is grouped by the columns first and then joined on them; its one figure is named level.
    joined: tuple | None = None


TASK = ["job_id", "task_index"]
TABLES = {
    "task_usage": Columns("start_time", "cpu_rate", TASK, "machine_id", None, ("task_events", "priority")),
    "task_events": Columns("time", "cpu_request", TASK, "machine_id", "user", ("task_events", "priority")),
    "job_events": Columns(
        "time", "scheduling_class", ["job_id"], None, "logical_job_name", ("job_events", "scheduling_class")
    ),
}


def picked(name, path):
    """Values to look for: the middle tenth of the times of a file, and a job and a text in its middle row."""
    columns = TABLES[name]
    rows = pyarrow.parquet.read_table(path, columns=list(filter(None, [columns.time, "job_id", columns.text])))
    times = numpy.unique(rows[columns.time])
    # Not the least and the greatest, which mean before and after the trace.
    begin, end = (int(times[len(times) * share // 100]) for share in (45, 55))
    middle = {column: rows[column][rows.num_rows // 2].as_py() for column in ("job_id", columns.text) if column}
    return {"begin": begin, "end": end, "job": middle["job_id"], "text": middle.get(columns.text)}


def queries(name, picked):
    """The queries of a table by their names."""
    columns = TABLES[name]
    mean = [("mean", columns.value)]
    rows = [columns.time, *columns.task, columns.value]
    table, level = columns.level
    submissions = Query(where=[("event_type", "=", 0)], by=columns.task, figures=[("max", level)])
    asked = {
        "count": Query(),
        "time range": Query(where=[(columns.time, ">=", picked["begin"]), (columns.time, "<", picked["end"])], figures=mean),
        "one job": Query(where=[("job_id", "=", picked["job"])], rows=rows),
        "mean": Query(figures=mean),
        "by machine": Query(by=[columns.machine], figures=mean),
        "by job and task": Query(by=columns.task, figures=[("max", columns.value)]),
        "join": Query(by=["level"], figures=mean, joined=(table, submissions)),
        "text filter": Query(where=[(columns.text, "=", picked["text"])], rows=rows),
    }
    absent = {"by machine": columns.machine is None, "text filter": columns.text is None}
    return {what: query for what, query in asked.items() if not absent.get(what)}


def sql(query, source, name, joined=False):
    """The query in SQL; `source` makes a table expression of a table's name."""
    names = {"mean": "avg", "max": "max"}
    figures = [f"{names[kind]}({column})" for kind, column in query.figures]
    selected = query.rows or [*query.by, *([] if joined else ["count(*)"]), *figures]
    text = f"SELECT {', '.join(selected)}{' AS level' if joined else ''} FROM {source(name)} AS file"
    if query.joined:
        other, first = query.joined
        text += f" JOIN ({sql(first, source, other, joined=True)}) AS joined USING ({', '.join(first.by)})"
    if query.where:
        text += " WHERE " + " AND ".join(f"{column} {sign} {value!r}" for column, sign, value in query.where)
    return text + (f" GROUP BY {', '.join(query.by)}" if query.by else "")


def duckdb():
    import duckdb

    connection = duckdb.connect()

    def ask(query, files, name):
        def source(table):
            return f"read_parquet({files[table]}, hive_partitioning = false)"

        return connection.sql(sql(query, source, name)).to_arrow_table()

    return ask


def chdb():
    import chdb

    # `chdb.query` starts the engine for each query.
    connection = chdb.connect(":memory:")

    def ask(query, files, name):
        def source(table):
            paths = [Path(path) for path in files[table]]
            return f"file('{paths[0].parent}/{{{','.join(path.name for path in paths)}}}', 'Parquet')"

        return connection.query(sql(query, source, name), "ArrowTable")

    return ask


def polars():
    import polars

    def scan(query, files):
        rows = polars.scan_parquet(files, hive_partitioning=False)
        where = (OPERATORS[sign](polars.col(column), value) for column, sign, value in query.where)
        return rows.filter(*where)

    def figure(of):
        return getattr(polars.col(of[1]), of[0])()

    def ask(query, files, name):
        rows = scan(query, files[name])
        if query.rows:
            return rows.select(query.rows).collect()
        if query.joined:
            other, first = query.joined
            level = figure(first.figures[0]).alias("level")
            rows = rows.join(scan(first, files[other]).group_by(first.by).agg(level), on=first.by)
        figures = [polars.len(), *map(figure, query.figures)]
        return (rows.group_by(query.by).agg(figures) if query.by else rows.select(figures)).collect()

    return ask


def arrow():
    def read(query, files, columns):
        where = [OPERATORS[sign](pyarrow.dataset.field(column), value) for column, sign, value in query.where]
        where = functools.reduce(operator.and_, where) if where else None
        return pyarrow.dataset.dataset(files, format="parquet").to_table(columns=columns, filter=where)

    def ask(query, files, name):
        columns = [column for _, column in query.figures]
        if query.rows:
            return read(query, files[name], query.rows)
        if not query.joined:
            rows = read(query, files[name], [*query.by, *columns])
        else:
            other, first = query.joined
            [[kind, column]] = first.figures
            level = read(first, files[other], [*first.by, column]).group_by(first.by).aggregate([(column, kind)])
            level = level.rename_columns({f"{column}_{kind}": "level"})
            rows = read(query, files[name], [*first.by, *columns]).join(level, first.by, join_type="inner")
        figures = [([], "count_all"), *((column, kind) for kind, column in query.figures)]
        return rows.group_by(query.by).aggregate(figures)

    return ask


ENGINES = {"DuckDB": duckdb, "Polars": polars, "pyarrow": arrow, "chDB": chdb}


def check(rows, path, what):
    """Compares the rows with those of the file; makes the file if there is none."""
    if not path.exists():
        pyarrow.feather.write_feather(in_order(rows), path)
        return
    expected = pyarrow.feather.read_table(path)
    found = in_order(rows.rename_columns(expected.column_names).cast(expected.schema))
    if found.num_rows != expected.num_rows:
        sys.exit(f"{what}: {found.num_rows} rows, but {expected.num_rows} were expected")
    for name, column in zip(expected.column_names, found.columns):
        equal = column.equals(expected[name])
        if not equal and pyarrow.types.is_floating(column.type) and column.is_null().equals(expected[name].is_null()):
            both = (values.drop_null().to_numpy() for values in (column, expected[name]))
            equal = numpy.allclose(*both, rtol=TOLERANCE, atol=0)
        if not equal:
            sys.exit(f"{what}: other values in {name}")


def in_order(rows):
    """The rows in an order that doesn't depend on the engine."""
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


def cpu(ask, query, files, name, repeats=1):
    """CPU seconds of a query, the mean of several runs."""
    begun = time.process_time()
    for _ in range(repeats):
        ask(query, files, name)
    return (time.process_time() - begun) / repeats


def measure(task, engine):
    name, sets = task["table"], list(task["sets"].items())
    ask = ENGINES[engine]()
    least = {}
    for what, query in queries(name, task["picked"]).items():
        # The first results warm everything up.
        for writer, files in sets:
            path = Path(task["expected"]) / f"{what}.arrow"
            check(pyarrow.table(ask(query, files, name)), path, f"{name}, {what}: {engine} on the files of {writer}")
        seconds = task.get("seconds", SECONDS)
        repeats = max(1, math.ceil(seconds / min(cpu(ask, query, files, name) for _, files in sets)))
        taken = {writer: [] for writer, _ in sets}
        for run in range(MEASUREMENTS):
            # Each writer is the first as often as any.
            start = run % len(sets)
            for writer, files in sets[start:] + sets[:start]:
                taken[writer].append(cpu(ask, query, files, name, repeats))
        least[what] = {writer: min(times) for writer, times in taken.items()}
    return least


if __name__ == "__main__":
    json.dump(measure(json.load(sys.stdin), sys.argv[1]), sys.stdout)
