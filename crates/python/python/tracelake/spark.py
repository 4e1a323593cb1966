"""Spark: a lake's tables as DataFrames; conversion with one task for each file, and one commit by the driver; and
lakes clustered by an entity that are too large for one machine.

Every machine has to see SRC and OUT under the same paths, and to import ``tracelake``. Spark only starts
the tasks: what they do is ``convert --shard`` of the program, so a task that Spark repeats, or starts a
second time on another machine, does no harm.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from . import _files, _lake, _tracelake
from ._errors import FailedError, RefusedError, TracelakeError, UsageError, WrongTypeError, from_code, unknown
from ._options import convert_arguments, number, number_within, path, switch, takes_convert_options, text
from ._paths import StrPath
from ._progress import Progress, Watcher
from ._schema import trace_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._convert_options import ConvertOptions

__all__ = ["cluster", "convert", "read"]

#: How often the driver looks for parts that are finished, in seconds.
_POLL = 1.0

#: How long the driver waits for jobs that it has interrupted, in seconds.
_PATIENCE = 120

#: How often Spark tries a task by default; an error that may go away is raised until then.
_ATTEMPTS = 4

#: The result of a task.
_SCHEMA = "shard int, facts string, error string"


def read(spark: Any, lake: StrPath, table: str, named: bool = False) -> Any:
    """A table of a lake as a ``DataFrame`` of a ``SparkSession``, from the files that the manifest names.

    It has ``cell`` where the lake has cells, and ``file_number``; in the layout ``hive``, only the files of
    those that you ask for are read. With ``named``, codes are shown as their names, times as seconds and
    timestamps, and special values as NULL.
    """
    place, name, is_named = path("lake", lake), text("table", table), switch("named", named)
    found = _lake.lake(place, _tracelake.manifest(place))[name]
    if found.format == "arrow":
        raise UsageError("Spark reads no Arrow files; convert with format='parquet'")
    files = [_tracelake.spark_pattern(file) for file in found.files]
    # Spark guesses the types of partition columns unless the schema has them.
    schema = spark.read.parquet(files[0]).schema
    in_directories = [name for name in found.partitions if name == "cell" or found.layout == "hive"]
    for one in in_directories:
        schema = schema.add(one, "string" if one == "cell" else "integer")
    base = _files.hadoop_path(_files.below(found.root, found.name))
    frame = spark.read.schema(schema).option("basePath", base).parquet(*files)
    if found.layout == "flat":
        number_of = "CAST(regexp_extract(_metadata.file_name, '^part-([0-9]+)', 1) AS INT) AS file_number"
        frame = frame.selectExpr("*", number_of)
    return frame.selectExpr(*_tracelake.spark_named(found.trace_key, found.name), *found.partitions) if is_named else frame


@takes_convert_options("overwrite", threads=1)
def convert(
    spark: Any,
    src: StrPath,
    out: StrPath,
    *,
    shards: int | None = None,
    progress: Progress = None,
    **options: Unpack[ConvertOptions],
) -> _lake.Lake:
    """Converts a downloaded trace into a lake on the machines of a ``SparkSession``, or resumes.

    The lake has the same bytes as one made by ``tracelake.convert``. Parts that are finished stay, whatever
    fails; the same call resumes.

    ``shards`` is the number of tasks, by default one for each file. ``threads`` is the number of threads of
    a task; give as many as ``spark.task.cpus``. The other keyword arguments are those of
    ``tracelake.convert``, but for ``overwrite``.
    """
    if "overwrite" in options:
        raise WrongTypeError("convert() on Spark can't overwrite a lake")
    source, lake = _everywhere("src", src), _everywhere("out", out)
    checksums = options.get("checksums")
    if checksums not in (None, "none"):
        options["checksums"] = _everywhere("checksums", checksums)
    trace = options.get("trace")
    # A description's path may name one of its traces after a mark.
    file, mark, version = (trace or "").partition("#")
    is_file = file.endswith(".toml") or "/" in file
    if is_file:
        options["trace"] = _everywhere("trace", file) + mark + version
    if shards is not None:
        number("shards", shards)
    options.setdefault("threads", 1)
    arguments = convert_arguments(options)
    places = ["--", source, lake]
    with Watcher(progress) as watch:
        prepared = json.loads(_tracelake.prepare([*arguments, *places], shards, watch))
        if prepared is not None:
            watch("begun", bytes=prepared["bytes"])
            if is_file:
                # The driver has put the description into the lake, which every machine sees.
                kept = _files.below(lake, "_tracelake/trace.toml") + mark + version
                arguments = convert_arguments({**options, "trace": kept})
            task = _task(arguments, places, prepared["shards"], _tracelake.__version__)
            _run(spark, task, prepared["shards"], _Poll(lake, watch))
        made = _tracelake.commit(lake, options.get("max_rejects"), None)
    return _lake.lake(lake, made, watch.warnings)


def cluster(spark: Any, lake: StrPath, out: StrPath, *, by: str, files: int) -> None:
    """Writes the tables of a lake into ``out``, with the rows of each entity together: what ``tracelake.cluster`` makes,
    for a lake that is too large for one machine.

    ``by`` is a sample key of the trace. ``file_number=I`` of each table that has the key has the rows of
    ``--sample I/files``, in the order that ``tracelake.cluster`` gives them. Tables without the key are written as they
    are. The files are Spark's own: ``out`` has no manifest, so that engines read it, and ``tracelake.open`` and
    ``verify`` don't. It must not exist.
    """
    place, target, key = path("lake", lake), _everywhere("out", out), text("by", by)
    count = number_within("files", files, 1, 2**31 - 1)
    found = _lake.lake(place, _tracelake.manifest(place))
    catalog = trace_key(found.trace, found.description, found.options.get("columns"))
    said = json.loads(_tracelake.describe(catalog, None, "json"))
    keys = said["sample_keys"]
    if key not in keys:
        raise unknown(f"{found.trace} has no sample key", key, list(keys))
    described = {table["name"]: table for table in said["tables"]}
    keyed = {name: column for name, column in keys[key].items() if name in found and column in found[name].schema}
    if not keyed:
        raise UsageError(f"no table of the lake has the key '{key}'; cluster by another key")
    for table in found.tables:
        frame = read(spark, place, table.name)
        if table.name in keyed:
            about = described[table.name]
            order = [keyed[table.name], *about["entity"], *filter(None, [about["time"]])]
            frame = _clustered(frame, table.partitions, order, count)
        written = _files.below(target, table.name)
        try:
            rows = frame.write.partitionBy(*table.partitions).option("compression", "zstd")
            rows.parquet(_files.hadoop_path(written))
            there = spark.read.schema(frame.schema).parquet(_tracelake.spark_pattern(written)).count()
        except Exception as error:
            raise _of_spark(error) from error
        if there != table.rows:
            raise RefusedError(f"{table.name}: Spark wrote {there} of {table.rows} rows")


def _clustered(frame: Any, partitions: list[str], order: list[str], files: int) -> Any:
    """The rows of a table by the class of their key, which is the first column of the order, and sorted in it."""
    columns = [name for name in frame.columns if name != "file_number"]
    order = [name for name in dict.fromkeys(order) if name in columns]
    digest = f"md5(CAST(coalesce(CAST(`{order[0]}` AS STRING), '') AS BINARY))"
    number = f"CAST(conv(substring({digest}, 1, 8), 16, 10) AS BIGINT) % {files}"
    # Columns of tables begin with a letter.
    places = ["file_number AS _part", "_metadata.row_index AS _row", f"CAST({number} AS INT) AS file_number"]
    placed = frame.selectExpr(*(f"`{name}`" for name in columns), *places)
    placed = placed.repartition(*partitions).sortWithinPartitions(*partitions, *order, "_part", "_row")
    return placed.drop("_part", "_row")


def _everywhere(name: str, place: StrPath) -> str:
    """A path that doesn't depend on the directory of a process."""
    given = path(name, place)
    return given if "://" in given else os.path.abspath(given)


def _task(
    arguments: list[str], places: list[str], shards: int, version: str
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Runs one task. Spark sends this function by value, so that a machine without the package can
    say so."""

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        import importlib

        arrow: Any = importlib.import_module("pyarrow")
        schema = arrow.schema(
            [("shard", arrow.int32()), ("facts", arrow.string()), ("error", arrow.string())]
        )
        for batch in batches:
            for shard in batch.column(0).to_pylist():
                try:
                    from tracelake.spark import convert_shard
                except ImportError as error:
                    import socket

                    reason = f"{socket.gethostname()} can't import tracelake: {error}"
                    hint = "install the wheel on the executors, or send it as an archive"
                    row = {"error": {"code": 1, "message": f"{reason}; {hint}", "hint": hint}}
                else:
                    row = convert_shard(arguments, places, shard, shards, version)
                texts = {name: json.dumps(value) for name, value in row.items()}
                rows = [{"shard": shard, "facts": None, "error": None, **texts}]
                yield arrow.RecordBatch.from_pylist(rows, schema=schema)

    return task


def convert_shard(
    arguments: list[str], places: list[str], shard: int, shards: int, version: str
) -> dict[str, Any]:
    """Converts one shard on an executor, and returns its facts or its error.

    An error that another attempt may avoid is raised instead, unless it is the last attempt.
    """
    if version != _tracelake.__version__:
        message = f"an executor has tracelake {_tracelake.__version__}, and the driver {version}"
        hint = "install the same version everywhere"
        return {"error": {"code": 6, "message": f"{message}; {hint}", "hint": hint}}
    try:
        made = _tracelake.convert([*arguments, f"--shard={shard}/{shards}", *places], None)
    except TracelakeError as error:
        if isinstance(error, FailedError) and _attempt() + 1 < _ATTEMPTS:
            raise
        return {"error": _described(error)}
    return {"facts": json.loads(made)}


def _attempt() -> int:
    """The number of failed attempts before this one."""
    pyspark: Any = importlib.import_module("pyspark")
    context: Any = pyspark.TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())


def _described(error: TracelakeError) -> dict[str, Any]:
    fields = ("path", "line", "column", "field", "value", "hint")
    described = {name: getattr(error, name) for name in fields}
    return {"code": error.exit_code, "message": str(error), **described}


class _Poll:
    """Reports the parts that tasks have noted since the last look."""

    def __init__(self, lake: str, watch: Watcher) -> None:
        self._lake, self._watch = lake, watch
        self._known: set[tuple[str, str | None, int]] = set()
        self._read: dict[tuple[str | None, str], int] = {}
        self.look("kept")

    def look(self, kind: Literal["finished", "kept"]) -> None:
        """Looks once."""
        for part in json.loads(_tracelake.facts(self._lake)):
            key = (part["table"], part["cell"], part["file_number"])
            if key in self._known:
                continue
            self._known.add(key)
            # Several parts may be cut from one file, of which each says how much was read.
            read, source = part["source_bytes"], (part["cell"], part["source"])
            new = max(read - self._read.get(source, 0), 0)
            self._read[source] = max(read, self._read.get(source, 0))
            place = {name: part[name] for name in ("table", "cell", "file_number")}
            if kind == "kept":
                self._watch(kind, **place, rows=part["rows"], bytes=new)
                continue
            self._watch("read", bytes=new)
            counts = {name: part[name] for name in ("rows", "rejected", "bytes")}
            self._watch(kind, **place, **counts)


def _run(spark: Any, task: Callable[..., Any], shards: int, poll: _Poll) -> None:
    """Runs a task for each shard, and raises the error of the first shard that failed.

    Spark works in a thread of its own, so that events are reported in this one.
    """
    rows: list[Any] = []
    failed: list[BaseException] = []
    tag = f"tracelake-{uuid.uuid4()}"

    def work() -> None:
        try:
            _tagged(spark, tag)
            frame = spark.range(0, shards, 1, shards)
            rows.extend(frame.mapInArrow(task, _SCHEMA).collect())
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work, name="tracelake-spark", daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_POLL)
            poll.look("finished")
    except BaseException:
        _interrupt(spark, tag)
        worker.join(_PATIENCE)
        raise
    errors = [json.loads(row["error"]) for row in sorted(rows, key=_shard) if row["error"]]
    if errors:
        error = errors[0]
        raise from_code(error.pop("code"), error.pop("message"), **error)
    if failed:
        raise _of_spark(failed[0]) from failed[0]
    if len(rows) < shards:
        raise RefusedError(f"Spark returned {len(rows)} of {shards} results")


def _tagged(spark: Any, tag: str) -> None:
    """Marks the jobs of this thread, so that they can be interrupted."""
    try:
        spark.addTag(tag)
    except Exception:
        # Sessions of Spark 3.5 can't, unless they are remote, but their context can.
        spark.sparkContext.addJobTag(tag)


def _interrupt(spark: Any, tag: str) -> None:
    try:
        spark.interruptTag(tag)
    except Exception:
        spark.sparkContext.cancelJobsWithTag(tag)


def _shard(row: Any) -> int:
    return int(row["shard"])


#: The line of a traceback that says what was raised.
_RAISED = re.compile(r"^[\w.]*(?:Error|Exception): .+", re.MULTILINE)


def _of_spark(error: BaseException) -> TracelakeError:
    """An error of Spark or of Python on an executor, by the line that says what was raised."""
    text = str(error).strip()
    raised: list[str] = _RAISED.findall(text)
    first = text.splitlines()[0] if text else type(error).__name__
    reason = raised[-1] if raised else first
    reason = reason.removeprefix("tracelake._errors.FailedError: ")
    return FailedError(f"Spark failed: {_files.place(reason)}")
