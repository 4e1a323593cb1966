"""What breaks the sentence of a check is found, whichever of the columns it is in: the faults come from the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import promises
import tracelake

for extra in ("duckdb", "pyarrow"):
    pytest.importorskip(extra)

from lakes import Row, edit, file_of
from plain_figures import PLAIN
from test_extremes import leaves, small
from tracelake import _queries

#: What is wrong, and a change of a row that makes it so; the row is one in which the columns have values.
Fault = tuple[str, Callable[[Row], None]]
Column = dict[str, Any]

NEVER = 2**63 - 1
#: The ends of names of columns whose values are amounts of something used or requested.
USED = ("usage", "rate", "time", "cache", "memory", "_mem", "_util", "cpus", "read", "write", "count", "samples")
REQUESTED = ("request", "limit", "plan_cpu", "plan_mem", "plan_gpu", "instance_num", "inst_num")


def put(column: str, value: Any, field: str | None = None) -> Fault:
    """Another value in a column or a field of it."""

    def change(row: Row) -> None:
        row[column] = value if field is None else dict(row[column] or {}, **{field: value})

    return f"{column}{'' if field is None else f'.{field}'} is {value}", change


def numbers(columns: list[Column], is_one: Callable[[str, Column], bool]) -> Iterator[tuple[str, str | None, str]]:
    """The numbers of a table: columns, and fields of structs, by their names."""
    for column in columns:
        shape = tracelake.Column(column["name"], column["type"], True, None, "", {}, {})
        for field, kind in leaves(shape):
            if kind in ("Float64", "Int64", "Int32") and is_one(field or column["name"], column):
                yield column["name"], field, kind


def broken(sentence: str, columns: list[Column]) -> Iterator[Fault]:
    """Faults that break a sentence, in each column that it is about."""
    by_name = {one["name"]: one for one in columns}
    times = [one["name"] for one in columns if " since " in (one["unit"] or "")]
    if "Every code" in sentence:
        for one in columns:
            if one["codes"]:
                yield put(one["name"], max(code["value"] for code in one["codes"]) + 1)
                yield put(one["name"], -1)
            if one["name"] == "constraint":
                yield put("constraint", [{"name": "a", "value": "b", "relation": 8}])
            if one["name"] in ("vertical_scaling", "scheduler") and not one["codes"]:
                yield put(one["name"], 4.0)
    if "No time is below 0" in sentence:
        yield from (put(name, -1) for name in times)
    if "44 characters" in sentence:
        for one in columns:
            if one["obfuscation"].startswith("hashed") and one["type"] == "Utf8":
                yield put(one["name"], "x" * 43)
                yield put(one["name"], "")
    if "usage is negative" in sentence:
        skipped = {*times, "sample_rate"}
        for name, field, _ in numbers(columns, lambda leaf, _: leaf.endswith(USED)):
            if name not in skipped and name not in ("resource_request", "row_index"):
                yield put(name, -1.0, field)
    if "exceed 1" in sentence:
        yield from (put(name, 1.5) for name in ("cpu_rate", "maximum_cpu_rate", "canonical_memory_usage"))
    if "request is negative" in sentence:
        for name, field, kind in numbers(columns, lambda leaf, _: leaf.endswith(REQUESTED)):
            # What is rescaled is for another check.
            if by_name[name]["obfuscation"] != "rescaled":
                yield put(name, -1.0 if kind == "Float64" else -1, field)
    if "are from 0 to 1," in sentence and "largest machine" in sentence:
        for name, field, _ in numbers(columns, lambda leaf, one: "relative to the largest" in (one["unit"] or "") or leaf in ("cpus", "memory")):
            yield put(name, -0.5, field)
            yield put(name, 1.5, field)
    if "Percentages and rescaled" in sentence:
        for one in columns:
            if one["invalid"] or one["obfuscation"] == "rescaled" or one["unit"] == "percent":
                for value in (-2, 102):
                    yield put(one["name"], float(value) if one["type"] == "Float64" else value)
    if "Utilisation is from 0 to 100" in sentence:
        for one in columns:
            if one["name"].endswith("_cpu"):
                yield put(one["name"], -0.5)
                yield put(one["name"], 100.5)
    if any(one in sentence for one in ("Every status", "A machine is USING", "A VM is delay", "Every phase")):
        for one in columns:
            if one["name"] in ("status", "vm_category", "pod_phase", "qos"):
                yield put(one["name"], "Nosuch")
                if one["nullable"]:
                    yield put(one["name"], None)
    if "Priorities are from" in sentence:
        yield from (put("priority", value) for value in (-1, 451))
    if "within the eight days" in sentence:
        yield from (put(name, value) for name in times for value in (-1, 800_000))
    if "30 days" in sentence:
        yield from (put(name, value) for name in times for value in (-300, 2_592_300, 301))
    if "at most 300 s" in sentence:
        for what, start, end in (
            ("longer", 1_000_000_000, 1_300_000_001),
            ("ends when it begins", 1_000_000_000, 1_000_000_000),
            ("ends before it begins", 1_000_000_000, 999_999_999),
        ):
            yield what, lambda row, start=start, end=end: row.update(start_time=start, end_time=end)
    if "no special times" in sentence:
        for start, end in ((0, 1), (NEVER, NEVER), (NEVER - 1, NEVER), (-5, 1)):
            yield f"from {start} to {end}", lambda row, start=start, end=end: row.update(start_time=start, end_time=end)
    if "ends before it starts" in sentence:
        yield "ends before it starts", lambda row: row.update(start_time=100, end_time=99)
        yield "ends below 0", lambda row: row.update(start_time=100, end_time=-1)
    if "deleted before it is created" in sentence:
        yield "deleted first", lambda row: row.update(vm_created=600, vm_deleted=300)
    if "scheduled and deleted in this order" in sentence:
        for first, later in (("creation_time", "scheduled_time"), ("creation_time", "deletion_time"), ("scheduled_time", "deletion_time")):
            kind = float if by_name[first]["type"] == "Float64" else int
            yield f"{later} first", lambda row, a=first, b=later, kind=kind: row.update({a: kind(100), b: kind(99)})
    if "submitted, started and ended in this order" in sentence:
        for first, later in (("submit_time", "start_time"), ("start_time", "end_time")):
            yield f"{later} first", lambda row, a=first, b=later: row.update({b: row[a] - timedelta(seconds=1)})
    for one in columns:
        # A mean and its maximum, whatever they are called.
        for mean in means(one["name"], by_name):
            if any(word in sentence for word in ("below its mean", "above its maximum", "above the maximum")):
                yield from larger(mean, one, by_name)


def means(maximum: str, known: dict[str, Column]) -> list[str]:
    """The columns that are never above a maximum."""
    pairs = {
        "maximum_cpu_rate": ["cpu_rate"],
        "maximum_memory_usage": ["canonical_memory_usage"],
        "maximum_disk_io_time": ["disk_io_time"],
        "maximum_usage": ["average_usage"],
        "cpu_max": ["cpu_avg"],
        "mem_max": ["mem_avg"],
        "max_mem": ["avg_mem"],
        "max_gpu_wrk_mem": ["avg_gpu_wrk_mem"],
        "max_cpu": ["avg_cpu", "p95_max_cpu"],
    }
    return [name for name in pairs.get(maximum, []) if name in known]


def larger(mean: str, maximum: Column, known: dict[str, Column]) -> Iterator[Fault]:
    """A mean above its maximum, in a row that isn't a sum."""
    name, row_is = maximum["name"], {"aggregation_type": False} if "aggregation_type" in known else {}
    if maximum["type"].startswith("Struct"):
        for field in ("cpus", "memory"):
            yield (
                f"{mean}.{field} is above {name}",
                lambda row, field=field: row.update({mean: {"cpus": 0.1, "memory": 0.1, field: 0.5}, name: {"cpus": 0.2, "memory": 0.2}}),
            )
    else:
        yield f"{mean} is above {name}", lambda row: row.update({mean: 0.5, name: 0.25, **row_is})


@pytest.mark.parametrize("trace", PLAIN)
def test_what_breaks_a_sentence_is_found(trace: str) -> None:
    small(trace, Path("lake"))
    said = _queries.described(trace)
    tables = {one["name"]: one for one in said["tables"]}
    opened = tracelake.open("lake")
    # Sentences about the order of rows, or about several of them, are broken by the faults of promises.
    promised = {fault.check for fault in promises.faults(trace)}
    missed, tried, without = [], 0, []
    for check in said["checks"]:
        name = check["needs"][0]["table"]
        faults = list(broken(check["sentence"], tables[name]["columns"])) if name in opened else []
        if not faults and check["name"] not in promised:
            without.append(check["name"])
        if not faults:
            continue
        number = opened[name].parts[0].file_number
        file = file_of(Path("lake"), name, number)
        before = file.read_bytes()
        for what, change in faults:
            edit(Path("lake"), name, number, lambda rows, change=change: change(rows[-1]))
            result = tracelake.check("lake", only=check["name"], allow_missing=True)[check["name"]]
            file.write_bytes(before)
            tried += 1
            if not result.findings:
                missed.append(f"{check['name']}: {what}: {result.status} {result.reason or ''}")
    assert not missed, missed
    assert not without, without
    assert tried or trace.startswith(("azure-llm", "azure-lmm", "azure-functions-2019", "azure-vm-noise", "philly"))
