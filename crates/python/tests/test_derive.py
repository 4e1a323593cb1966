"""Derived tables, compared with a plain implementation."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import tracelake

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

PROGRAM = Path(sys.executable).with_name("tracelake")
TRACES = ["google-2011-v2.1", "alibaba-2018", "borg-2019"]
WINDOW = 300_000_000

Row = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[tracelake.Manifest, tracelake.DerivedLake]]:
    """A lake of each trace, and what is derived from it."""
    lakes: dict[str, tuple[tracelake.Manifest, tracelake.DerivedLake]] = {}
    for trace in TRACES:
        directory = tmp_path_factory.mktemp("derive")
        tracelake.generate(trace, directory / "trace", parts=2, rows=20_000, seed=5)
        lake = tracelake.convert(directory / "trace", directory / "lake")
        lakes[trace] = (lake, tracelake.derive(directory / "lake", directory / "derived"))
    return lakes


Made = dict[str, tuple[tracelake.Manifest, tracelake.DerivedLake]]


def rows_of(lake: tracelake.Manifest, table: str) -> list[Row]:
    """All rows of a table, part by part."""
    parts = sorted(lake[table].parts, key=lambda part: part.file_number)
    return [row for part in parts for row in pq.ParquetFile(Path(lake.path, part.output.path)).read().to_pylist()]


def derived_rows(derived: tracelake.DerivedLake, table: str) -> list[Row]:
    return pq.ParquetFile(Path(derived.path, derived[table].path)).read().to_pylist()


@pytest.mark.parametrize(
    ("trace", "table", "events", "task", "kind", "ends", "waiting", "names"),
    [
        ("google-2011-v2.1", "task_lifetimes", "task_events", ("job_id", "task_index"), "event_type", range(2, 7), {0, 7}, None),
        ("borg-2019", "instance_lifetimes", "instance_events", ("collection_id", "instance_index"), "type", range(4, 9), {0, 1, 2, 9}, None),
    ],
)
def test_lifetimes(
    trace: str, table: str, events: str, task: tuple[str, str], kind: str, ends: range, waiting: set[int], names: None, made: Made
) -> None:
    lake, derived = made[trace]
    codes = tracelake.schema(trace, events)[kind].codes
    (submit,) = (code for code, name in codes.items() if name == "SUBMIT")
    (schedule,) = (code for code, name in codes.items() if name == "SCHEDULE")
    lives: dict[tuple[int, int], list[Row]] = defaultdict(list)
    rows = rows_of(lake, events)
    if trace == "borg-2019":
        rows.sort(key=lambda row: (row["time"], row[kind]))
    for row in rows:
        lives[row[task[0]], row[task[1]]].append(row)
    expected = []
    for (job, index), life in sorted(lives.items()):
        last = life[-1]
        ended = last[kind] in ends
        expected.append(
            {
                task[0]: job,
                task[1]: index,
                "submit_time": min((row["time"] for row in life if row[kind] == submit), default=None),
                "schedule_time": min((row["time"] for row in life if row[kind] == schedule), default=None),
                "end_time": last["time"] if ended else None,
                "outcome": codes[last[kind]] if ended else "PENDING" if last[kind] in waiting else "RUNNING",
                "attempts": sum(row[kind] == schedule for row in life),
                "machine_id": last["machine_id"],
                "priority": last["priority"],
                "scheduling_class": last["scheduling_class"],
            }
        )
    assert derived_rows(derived, table) == expected
    assert derived[table].rows == len(expected) > 100


@pytest.mark.parametrize(
    ("trace", "usage", "cpu", "memory", "assigned"),
    [
        ("google-2011-v2.1", "task_usage", "cpu_rate", "canonical_memory_usage", "assigned_memory_usage"),
        ("borg-2019", "instance_usage", "cpus", "memory", "assigned_memory"),
    ],
)
def test_machine_usage_with_overlap_weights(
    trace: str, usage: str, cpu: str, memory: str, assigned: str, made: Made, tmp_path: Path
) -> None:
    from lakes import copy_of, edit

    lake = copy_of(Path(made[trace][0].path), tmp_path)

    # Half of the records cross the border of a window, one is too long, and one has no length.
    def shift(rows: list[Row]) -> None:
        for number, row in enumerate(rows):
            if number % 2:
                row["start_time"] += 100_000_000 + number
                row["end_time"] += 100_000_000 + number
        rows[0]["end_time"] = rows[0]["start_time"] + 3 * WINDOW
        rows[2]["end_time"] = rows[2]["start_time"]

    edit(lake, usage, 0, shift)
    derived = tracelake.derive(lake, tmp_path / "derived", tables="machine_usage_5min")
    windows: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for row in rows_of(tracelake.open(lake), usage):
        values = row["average_usage"] if trace == "borg-2019" else row
        start, end = row["start_time"], min(row["end_time"], row["start_time"] + WINDOW)
        window = start - start % WINDOW
        while window < end and start < end:
            overlap = (min(end, window + WINDOW) - max(start, window)) / WINDOW
            total = windows[window, row["machine_id"]]
            for place, value in enumerate((values[cpu], values[memory], row[assigned])):
                total[place] += (value or 0) * overlap
            total[3] += 1
            window += WINDOW
    found = derived_rows(derived, "machine_usage_5min")
    assert [(row["window_start"], row["machine_id"]) for row in found] == sorted(windows)
    for row in found:
        expected = windows[row["window_start"], row["machine_id"]]
        assert [row["cpu"], row["memory"], row["assigned_memory"], row["records"]] == pytest.approx(expected)


def test_lifetimes_and_usage_of_a_fleet(made: Made) -> None:
    lake, derived = made["alibaba-2018"]
    lives: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows_of(lake, "batch_instance"):
        lives[row["job_name"], row["task_name"], row["instance_name"]].append(row)
    expected = []
    for (job, task, instance), life in sorted(lives.items()):
        last = max(life, key=lambda row: (row["seq_no"], row["start_time"]))
        expected.append(
            {
                "job_name": job,
                "task_name": task,
                "instance_name": instance,
                "start_time": min((row["start_time"] for row in life if row["start_time"]), default=None),
                "end_time": last["end_time"] or None,
                "outcome": last["status"],
                "attempts": len(life),
                "machine_id": last["machine_id"],
            }
        )
    assert derived_rows(derived, "instance_lifetimes") == expected
    windows: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows_of(lake, "machine_usage"):
        windows[row["time_stamp"] - row["time_stamp"] % 300, row["machine_id"]].append(row)
    found = derived_rows(derived, "machine_usage_5min")
    assert [(row["window_start"], row["machine_id"]) for row in found] == sorted(windows)
    for row in found:
        samples = windows[row["window_start"], row["machine_id"]]
        assert row["samples"] == len(samples)
        for name, column in (("cpu", "cpu_util_percent"), ("memory", "mem_util_percent")):
            valid = [sample[column] for sample in samples if 0 <= sample[column] <= 100]
            assert row[name] == pytest.approx(sum(valid) / len(valid))


@pytest.mark.parametrize("trace", TRACES)
def test_the_facts_name_engine_version_and_source(trace: str, made: Made) -> None:
    lake, derived = made[trace]
    digest = hashlib.sha256(Path(lake.path, "_tracelake", "manifest.json").read_bytes()).hexdigest()
    said = json.loads(Path(derived.path, "_tracelake", "derived.json").read_text())
    assert (said["engine"], said["engine_version"]) == ("DuckDB", f"v{duckdb.__version__}")
    assert said["source_sha256"] == derived.source_sha256 == digest
    assert said["version"] == tracelake.__version__ and said["trace"] == trace
    for table in derived.tables:
        file = Path(derived.path, table.path)
        assert table.sha256 == hashlib.sha256(file.read_bytes()).hexdigest() and table.bytes == file.stat().st_size
        parquet = pq.ParquetFile(file)
        assert parquet.metadata.metadata[b"tracelake.source_sha256"].decode() == digest
        (described,) = (one for one in said["tables"] if one["name"] == table.name)
        assert [column["name"] for column in described["columns"]] == parquet.schema_arrow.names
        (count,) = derived.duckdb().sql(f"SELECT count(*) FROM {table.name}").fetchall()[0]
        assert count == table.rows > 0
        assert table.name in repr(derived) and table.name in derived._repr_html_()


def test_what_is_missing_is_skipped_with_the_reason(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["task_events"])
    derived = tracelake.derive("lake", "derived")
    assert [table.name for table in derived.tables] == ["task_lifetimes"]
    assert derived.skipped == {"machine_usage_5min": "the lake has no task_usage"}


def test_nothing_is_made_where_every_table_is_skipped(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["task_events"], parts="1", allow_missing=True)
    with pytest.raises(tracelake.RefusedError) as caught:
        tracelake.derive("lake", "derived")
    said = str(caught.value)
    assert "task_lifetimes: it needs all of task_events, and 1 part is missing" in said
    assert "machine_usage_5min: the lake has no task_usage" in said and "allow_missing=True" in said
    done = subprocess.run([PROGRAM, "derive", "lake", "derived"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (6, 1) and "nothing to derive" in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["lake"]
    assert tracelake.derive("lake", "derived", allow_missing=True)["task_lifetimes"].rows > 0
    with pytest.raises(tracelake.RefusedError) as caught:
        tracelake.derive("lake", "other", tables="machine_usage_5min")
    assert "allow_missing" not in str(caught.value) and not Path("other").exists()


def test_out_is_new_and_outside_of_the_lake(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["task_events"])
    with pytest.raises(tracelake.UsageError, match="within the lake"):
        tracelake.derive("lake", "lake/derived")
    Path("full").mkdir()
    Path("full", "file").touch()
    with pytest.raises(tracelake.RefusedError, match="not empty"):
        tracelake.derive("lake", "full")
    assert [path.name for path in Path("full").iterdir()] == ["file"]
    Path("empty").mkdir()
    assert tracelake.derive("lake", "empty", tables=["task_lifetimes"]).tables
    with pytest.raises(tracelake.UsageError, match="there is no derived table"):
        tracelake.derive("lake", "new", tables="nosuch")
    assert not Path("new").exists()


def test_a_failure_leaves_nothing(source: Path) -> None:
    lake = tracelake.convert(source, "lake", tables=["task_events"])
    Path(lake.path, lake["task_events"].parts[0].output.path).write_bytes(b"PAR1")
    with pytest.raises(tracelake.FailedError, match="task_lifetimes"):
        tracelake.derive("lake", "derived")
    assert not list(Path().glob("derived*"))


def test_the_command(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["task_events"])
    done = subprocess.run([PROGRAM, "derive", "lake", "out", "--tables", "task_lifetimes"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "") and "task_lifetimes: " in done.stderr
    again = subprocess.run([PROGRAM, "derive", "lake", "out"], capture_output=True, text=True)
    assert again.returncode == 6 and again.stderr.count("\n") == 1
