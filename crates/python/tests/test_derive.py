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


POWER = "time,cell,pdu,measured_power_util,production_power_util,bad_measurement_data,bad_production_power_data\n"


@pytest.fixture(scope="module")
def power(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of power, and two of Borg whose machines it has: cell a is whole, b is a selection."""
    directory = tmp_path_factory.mktemp("power")
    mapping = "machine_id,cell,pdu\n"
    for number, cell in enumerate("ab"):
        tracelake.generate("borg-2019", directory / f"cell{cell}", rows=2_000, seed=number)
        options: Any = {"cell": cell, "tables": "machine_events"}
        tracelake.convert(directory / f"cell{cell}", directory / "borg", **options)
        tracelake.convert(directory / f"cell{cell}", directory / "some", time="0..1h", **options)
    machines = duckdb.sql(
        f"SELECT DISTINCT cell, machine_id FROM read_parquet('{directory}/borg/machine_events/*/*/*.parquet')"
    ).fetchall()
    source = directory / "source"
    source.mkdir()
    for at, (cell, machine) in enumerate(sorted(machines)[::2]):
        mapping += f"{machine},{cell},pdu{1 + at % 2 + 2 * (cell == 'b')}\n"
    # A machine that Borg doesn't have, and one in two domains.
    mapping += f"1,a,pdu1\n{min(machines)[1]},a,pdu2\n"
    (source / "machine_to_pdu_mapping.csv").write_text(mapping)
    for cell in "ab":
        for pdu in (1, 2) if cell == "a" else (3, 4):
            rows = [
                f"{600_000_000 + at * 300_000_000},{cell},pdu{pdu},0.{60 + at + pdu},0.{40 + at},{str(at % 5 == 0).lower()},false\n"
                for at in reversed(range(20))
            ]
            (source / f"cell{cell}_pdu{pdu}.csv").write_text(POWER + "".join(rows))
    tracelake.convert(source, directory / "power", allow_missing=True)
    return directory


def test_power_is_joined_with_machines(power: Path) -> None:
    derived = tracelake.derive(
        power / "power", power / "derived", tables="machine_power", with_lake=power / "borg", allow_missing=True
    )
    lake = tracelake.open(power / "power")
    borg = duckdb.sql(f"SELECT * FROM read_parquet('{power}/borg/machine_events/*/*/*.parquet')").to_arrow_table().to_pylist()
    capacities: dict[tuple[str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for row in borg:
        capacity = row["capacity"] or {}
        for name, values in zip(("cpus", "memory"), capacities[row["cell"], row["machine_id"]]):
            if capacity.get(name) is not None:
                values.append(capacity[name])
    readings: dict[tuple[str, str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for row in lake["pdu_power"].to_arrow().to_pylist():
        measured, production = readings[row["cell_name"], row["pdu"], (row["time"] - 600_000_000) // 3_600_000_000]
        if not row["bad_measurement_data"]:
            measured.append(row["measured_power_util"])
        production.append(row["production_power_util"])
    expected = []
    for row in lake["machine_to_pdu_mapping"].to_arrow().to_pylist():
        machine = row["cell_name"], row["machine_id"]
        if machine not in capacities:
            continue
        for (cell, pdu, hour), (measured, production) in readings.items():
            if (cell, pdu) == (row["cell_name"], row["pdu"]):
                cpus, memory = (max(values, default=None) for values in capacities[machine])
                means = (sum(measured) / len(measured), sum(production) / len(production))
                expected.append((*machine, pdu, hour, *means, cpus, memory))
    expected.sort()
    found = [tuple(row.values()) for row in derived_rows(derived, "machine_power")]
    assert len(found) > 10 and [row[:4] for row in found] == [row[:4] for row in expected]
    assert [row[6:] for row in found] == [row[6:] for row in expected]
    for at in (4, 5):
        assert [row[at] for row in found] == pytest.approx([row[at] for row in expected])  # pyright: ignore[reportUnknownMemberType]
    facts = json.loads((power / "derived" / "_tracelake" / "derived.json").read_text())
    for key, name in (("source_sha256", "power"), ("with_sha256", "borg")):
        assert facts[key] == hashlib.sha256((power / name / "_tracelake" / "manifest.json").read_bytes()).hexdigest()
    assert facts["with_trace"] == "borg-2019"


def test_a_table_says_which_other_lake_it_needs(power: Path, tmp_path: Path) -> None:
    def program(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, "derive", power / "power", tmp_path / "out", "--allow-missing", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for arguments, code, says in (
        ((), 6, "machine_power: pass a lake of borg-2019 with --with"),
        (("--with", power / "power"), 2, "a lake of google-power-2019; pass one of borg-2019 with --with"),
        (("--with", power / "nothing"), 6, "not a finished lake"),
    ):
        done = program(*arguments)
        assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert program("--with", power / "borg").returncode == 0
    with pytest.raises(tracelake.UsageError, match="no table of borg-2019 is joined with another lake"):
        tracelake.derive(power / "borg", tmp_path / "other", cell="a", with_lake=power / "power")
    with pytest.raises(tracelake.RefusedError, match="it needs all rows of machine_events, and the other lake has a selection"):
        tracelake.derive(power / "power", tmp_path / "other", with_lake=power / "some")


def test_requests_have_one_form(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    requests = {
        "conversation": [(5, 600, 3, [0, 1]), (0, 10, 0, [])],
        "synthetic": [(1_000, 7, 8, [0]), (1_007, 9, 9, [1])],
    }
    for workload, rows in requests.items():
        lines = [
            json.dumps(dict(zip(("timestamp", "input_length", "output_length", "hash_ids"), row))) + "\n" for row in rows
        ]
        (source / f"{workload}_trace.jsonl").write_text("".join(lines))
    tracelake.convert(source, tmp_path / "lake", allow_missing=True)
    derived = tracelake.derive(tmp_path / "lake", tmp_path / "derived", tables="requests")
    rows = [tuple(row.values()) for row in derived_rows(derived, "requests")]
    assert rows == [
        ("conversation", 0, 10, 0, [], None, 0, 1),
        ("conversation", 5_000, 600, 3, [0, 1], None, 0, 0),
        ("synthetic", 0, 7, 8, [0], None, 2, 0),
        ("synthetic", 7_000, 9, 9, [1], None, 2, 1),
    ]


def test_services_of_one_clock_count_from_one_request(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = "5,GPT-4,1,2,3,API log\n7,ChatGPT,4,5,9,API log\n"
    (source / "BurstGPT_1.csv").write_text(header + rows)
    tracelake.convert(source, tmp_path / "lake", allow_missing=True)
    derived = tracelake.derive(tmp_path / "lake", tmp_path / "derived", tables="requests", allow_missing=True)
    found = [(row["service"], row["arrival"]) for row in derived_rows(derived, "requests")]
    assert found == [("ChatGPT", 2_000_000), ("GPT-4", 0)]
