"""The numbers of every figure in plain Python, from rows alone and without the queries of the catalog."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import tracelake
from lakes import Row

NEVER = 2**63 - 1
HOUR = 3_600_000_000
#: The data of a figure; ``None`` where nothing is known.
Numbers = dict[tuple[Any, str], "float | None"]

EVENTS_2011 = "SUBMIT SCHEDULE EVICT FAIL FINISH KILL LOST UPDATE_PENDING UPDATE_RUNNING".split()
EVENTS_2019 = "SUBMIT QUEUE ENABLE SCHEDULE EVICT FAIL FINISH KILL LOST UPDATE_PENDING UPDATE_RUNNING".split()


class Rows:
    """The rows of a lake in their order, with their file numbers."""

    def __init__(self, lake: tracelake.Manifest) -> None:
        import pyarrow.parquet as pq

        self._tables: dict[str, list[Row]] = {}
        for facts in lake.tables:
            rows = self._tables.setdefault(facts.name, [])
            for part in sorted(facts.parts, key=lambda one: one.file_number):
                file = pq.ParquetFile(Path(lake.path) / part.output.path)
                rows += [dict(row, file_number=part.file_number) for row in file.read().to_pylist()]

    def __getitem__(self, table: str) -> list[Row]:
        return self._tables[table]


def covered(rows: Iterable[Row], start: str, end: str, by_part: bool) -> list[tuple[int, int]]:
    """The ranges of time of runs of parts."""
    ranges: dict[int, tuple[int, int]] = {}
    for row in rows:
        number = row["file_number"] if by_part else 0
        first, last = ranges.get(number, (NEVER, -NEVER))
        ranges[number] = (min(first, row[start]), max(last, row[end]))
    runs: list[tuple[int, int]] = []
    for number in sorted(ranges):
        first, last = ranges[number]
        if number - 1 in ranges:
            before = runs.pop()
            first, last = min(before[0], first), max(before[1], last)
        runs.append((first, last))
    return runs


def width_of(runs: list[tuple[int, int]], least: int) -> int:
    """The length of an interval: about 120 of them, of whole multiples of five minutes."""
    length = max(last for _, last in runs) - min(first for first, _ in runs)
    return max(1, math.ceil(length / 120 / least)) * least


def overlap(runs: list[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(last, end) - max(first, start)) for first, last in runs)


def over_time(
    rows: list[Row], series: Callable[[Row], str], *, time: str, origin: int, hour: int, by_part: bool
) -> Numbers:
    """How many rows there are per hour."""
    rows = [row for row in rows if 0 < row[time] < NEVER]
    runs, numbers = covered(rows, time, time, by_part), Numbers()
    width = width_of(runs, hour // 12)
    counts = Counter(((row[time] - origin) // width, series(row)) for row in rows)
    steps = [step for step, _ in counts]
    for step in range(min(steps), max(steps) + 1):
        length = overlap(runs, origin + step * width, origin + (step + 1) * width)
        for name in {name for _, name in counts}:
            rate = counts[step, name] * hour / length if 100 * length > width else None
            numbers[step * width / hour, name] = rate
    return numbers


def resources(
    usage: list[Row],
    events: list[Row],
    machines: list[Row],
    used: Callable[[Row], float | None],
    requested: Callable[[Row], float],
    capacity: Callable[[Row], float],
    task: Callable[[Row], Any],
    by_part: bool,
) -> Numbers:
    """Used and requested amounts by interval, in percent of the capacity."""
    usage = [row for row in usage if row["end_time"] < NEVER]
    runs, numbers = covered(usage, "start_time", "end_time", by_part), Numbers()
    width = width_of(runs, 300_000_000)
    origin = min(first for first, _ in runs) // 300_000_000 * 300_000_000
    stop = max(last for _, last in runs)
    spent: defaultdict[int, float] = defaultdict(float)
    for row in usage:
        spent[(row["start_time"] - origin) // width] += (used(row) or 0) * (row["end_time"] - row["start_time"])
    states: list[tuple[str, list[Row], Callable[[Row], float], Callable[[Row], Any]]] = [
        ("requested by running tasks", events, requested, task),
        ("capacity of the machines", machines, capacity, lambda row: row["machine_id"]),
    ]
    for step in range((stop - origin - 1) // width + 1):
        start, end = origin + step * width, origin + (step + 1) * width
        length = overlap(runs, start, end)
        x = (start - 600_000_000) / HOUR
        numbers[x, "used"] = spent[step] / length if 100 * length > width else None
        for name, rows, amount, thing in states:
            last = {thing(row): amount(row) for row in rows if row["time"] < min(end, stop)}
            numbers[x, name] = sum(last.values())
        there = numbers.pop((x, "capacity of the machines"))
        for name in ("used", "requested by running tasks"):
            level = numbers[x, name]
            numbers[x, name] = None if level is None or not there else 100 * level / there
    return numbers


def utilisation(
    usage: list[Row],
    machines: list[Row],
    used: Callable[[Row, str], float | None],
    capacity: Callable[[Row, str], float],
    by_part: bool,
) -> Numbers:
    usage = [row for row in usage if row["end_time"] < NEVER]
    runs, numbers = covered(usage, "start_time", "end_time", by_part), Numbers()
    for name, what in (("mean CPU utilisation", "cpu"), ("mean memory utilisation", "memory")):
        spent = sum((used(row, what) or 0) * (row["end_time"] - row["start_time"]) for row in usage)
        there, since = 0.0, dict[int, Row]()
        for row in [*machines, *[dict(row, time=NEVER) for row in reversed(machines)]]:
            before = since.get(row["machine_id"])
            if before is not None and before["time"] != NEVER:
                there += capacity(before, what) * overlap(runs, before["time"], row["time"])
            since[row["machine_id"]] = row
        numbers[name, "%"] = 100 * spent / there
    return numbers


def duration(seconds: float) -> str:
    limits = [(60, "under 1 min"), (600, "1-10 min"), (3600, "10-60 min"), (36_000, "1-10 h"), (86_400, "10-24 h")]
    return next((name for limit, name in limits if seconds < limit), "over 1 day")


def runs_of(events: list[Row], kind: str, task: Callable[[Row], Any], schedule: int, ends: range, names: list[str]) -> Numbers:
    """The lengths of runs: a task that is on a machine until the next event but updates."""
    numbers, begun = Numbers(), dict[Any, "int | None"]()
    for row in events:
        if row[kind] == schedule:
            begun[task(row)] = row["time"]
        elif row[kind] in ends:
            start = begun.pop(task(row), None)
            if start and row["time"] < NEVER:
                key = (duration((row["time"] - start) / 1_000_000), names[row[kind]])
                numbers[key] = (numbers.get(key) or 0) + 1
        elif row[kind] == 0 and names is EVENTS_2011:
            begun.pop(task(row), None)
    return numbers


def counted(pairs: Iterable[tuple[Any, str]]) -> Numbers:
    return dict(Counter(pairs))


def sizes(pairs: Iterable[tuple[Any, Any]], name: str) -> Numbers:
    limits = [(1, "1"), (10, "2-10"), (100, "11-100"), (1000, "101-1,000")]
    things: defaultdict[Any, set[Any]] = defaultdict(set)
    for thing, part in pairs:
        things[thing].add(part)
    groups = (next((text for limit, text in limits if len(parts) <= limit), "over 1,000") for parts in things.values())
    return counted((group, name) for group in groups)


def capacities(machines: Iterable[Row], cpus: Callable[[Row], Any], memory: Callable[[Row], Any]) -> Numbers:
    last = {row["machine_id"]: row for row in machines}
    return counted(
        (
            "unknown" if cpus(row) is None or memory(row) is None else f"{cpus(row):.2f}, {memory(row):.2f}",
            row["platform_id"][:8],
        )
        for row in last.values()
    )


def hours(times: Iterable[int], hour: int) -> Numbers:
    inside = [time for time in times if 0 < time < NEVER]
    return {("hours", ""): round((max(inside) - min(inside)) / hour, 1)}


def parsed(name: str) -> tuple[int, list[int]] | None:
    """The number of a task and those it waits for."""
    digits = name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz").split("_")
    if name[:1].isdigit():
        return None
    # A name that may be cut.
    if len(name) >= 50 and len(digits) > 1:
        digits.pop()
    if digits[-1][:3] == "Stg" and digits[-1][3:].isdigit():
        digits.pop()
    if not digits or not all(one.isdigit() for one in digits):
        return None
    return int(digits[0]), [int(one) for one in digits[1:]]


def shapes(tasks: list[Row]) -> Numbers:
    """Jobs by the depth and the width of their graphs."""
    jobs: defaultdict[str, dict[int, set[int]]] = defaultdict(dict)
    for row in tasks:
        if found := parsed(row["task_name"]):
            jobs[row["job_name"]].setdefault(found[0], set()).update(found[1])
    numbers: Counter[tuple[str, str]] = Counter()
    for graph in jobs.values():
        levels = dict.fromkeys(graph, 1)
        for _ in graph:
            for number, waits in graph.items():
                levels[number] = max([1, *(levels[one] + 1 for one in waits if one in levels and one != number)])
        for name, size in (("depth", max(levels.values())), ("width", max(Counter(levels.values()).values()))):
            numbers[str(size) if size <= 10 else "11-20" if size <= 20 else "over 20", name] += 1
    return dict(numbers)


def requests(rows: Rows) -> Numbers:
    tasks, numbers = rows["batch_task"], Numbers()
    cores = sum({row["machine_id"]: row["cpu_num"] for row in rows["machine_meta"]}.values())
    stop = max(max(row["start_time"], row["end_time"]) for row in tasks)
    width = max(1, math.ceil(stop / 120 / 300)) * 300
    first: dict[str, Row] = {}
    for row in rows["container_meta"]:
        if row["container_id"] not in first or row["time_stamp"] < first[row["container_id"]]["time_stamp"]:
            first[row["container_id"]] = row
    for step in range(stop // width + 1):
        there = [row for row in first.values() if row["time_stamp"] <= stop and row["time_stamp"] // width <= step]
        numbers[step * width / 3600, "containers"] = 100 * sum(row["cpu_request"] for row in there) / 100 / cores
        running = sum(
            (row["plan_cpu"] or 0) * (row["instance_num"] or 0)
            for row in tasks
            if row["start_time"] > 0
            and row["start_time"] // width <= step
            and not (row["end_time"] >= row["start_time"] and row["end_time"] // width <= step)
        )
        numbers[step * width / 3600, "batch tasks"] = running / cores
    return numbers


def samples(rows: list[Row]) -> Iterator[tuple[str, str]]:
    yield "cpu_util_percent", "CPU"
    yield "mem_util_percent", "memory"


def utilisation_over_time(rows: list[Row]) -> Numbers:
    times = [row["time_stamp"] for row in rows]
    width = width_of([(min(times), max(times))], 300)
    numbers = Numbers()
    for column, name in samples(rows):
        values: defaultdict[int, list[int]] = defaultdict(list)
        for row in rows:
            if row[column] is not None and 0 <= row[column] <= 100:
                values[row["time_stamp"] // width].append(row[column])
        for step in range(min(times) // width, max(times) // width + 1):
            numbers[step * width / 3600, name] = sum(values[step]) / len(values[step]) if values[step] else None
    return numbers


def mean_of(rows: list[Row]) -> Numbers:
    numbers = Numbers()
    for column, name in samples(rows):
        valid = [row[column] for row in rows if row[column] is not None and 0 <= row[column] <= 100]
        numbers[f"mean {name} utilisation", "%"] = sum(valid) / len(valid)
    return numbers


def last_states(rows: list[Row]) -> Iterable[Row]:
    return {row["machine_id"]: row for row in rows}.values()


def google(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    def task(row: Row) -> Any:
        return row["job_id"], row["task_index"]

    def over(table: str) -> Numbers:
        return over_time(
            rows[table], lambda row: EVENTS_2011[row["event_type"]], time="time", origin=600_000_000, hour=HOUR, by_part=True
        )

    def both(used: str, request: str, there: str) -> Numbers:
        return resources(
            rows["task_usage"],
            rows["task_events"],
            rows["machine_events"],
            lambda row: row[used],
            lambda row: (row[request] or 0) if row["event_type"] in (1, 8) else 0,
            lambda row: 0 if row["event_type"] == 1 else row[there] or 0,
            task,
            True,
        )

    use = {"cpu": "cpu_rate", "memory": "canonical_memory_usage"}
    there = {"cpu": "cpus", "memory": "memory"}
    return {
        "span": lambda: hours((row["time"] for row in rows["job_events"]), HOUR),
        "machines": lambda: {("machines", ""): len({row["machine_id"] for row in rows["machine_events"]})},
        "jobs": lambda: {("jobs", ""): len({row["job_id"] for row in rows["job_events"]})},
        "utilisation": lambda: utilisation(
            rows["task_usage"],
            rows["machine_events"],
            lambda row, what: row[use[what]],
            lambda row, what: 0 if row["event_type"] == 1 else row[there[what]] or 0,
            True,
        ),
        "job_events_over_time": lambda: over("job_events"),
        "task_events_over_time": lambda: over("task_events"),
        "cpu": lambda: both("cpu_rate", "cpu_request", "cpus"),
        "memory": lambda: both("canonical_memory_usage", "memory_request", "memory"),
        "job_sizes": lambda: sizes(map(task, rows["task_events"]), "jobs"),
        "run_durations": lambda: runs_of(rows["task_events"], "event_type", task, 1, range(2, 7), EVENTS_2011),
        "priorities": lambda: counted(
            (str(row["priority"]), f"class {row['scheduling_class']}")
            for row in rows["task_events"]
            if row["event_type"] == 0 and row["scheduling_class"] is not None
        ),
        "machine_capacities": lambda: capacities(
            [row for row in rows["machine_events"] if row["event_type"] != 1], lambda row: row["cpus"], lambda row: row["memory"]
        ),
    }


def borg(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    def instance(row: Row) -> Any:
        return row["collection_id"], row["instance_index"]

    def ordered(table: str) -> list[Row]:
        return sorted(rows[table], key=lambda row: (row["time"], row["type"]))

    def of(row: Row, struct: str, field: str) -> float:
        return (row[struct] or {}).get(field) or 0

    def over(table: str) -> Numbers:
        return over_time(
            rows[table], lambda row: EVENTS_2019[row["type"]], time="time", origin=600_000_000, hour=HOUR, by_part=False
        )

    def both(field: str) -> Numbers:
        return resources(
            rows["instance_usage"],
            ordered("instance_events"),
            ordered("machine_events"),
            lambda row: of(row, "average_usage", field),
            lambda row: of(row, "resource_request", field) if row["type"] in (3, 10) else 0,
            lambda row: 0 if row["type"] == 2 else of(row, "capacity", field),
            instance,
            False,
        )

    fields = {"cpu": "cpus", "memory": "memory"}
    return {
        "span": lambda: hours((row["time"] for row in rows["collection_events"]), HOUR),
        "machines": lambda: {("machines", ""): len({row["machine_id"] for row in rows["machine_events"]})},
        "collections": lambda: {("collections", ""): len({row["collection_id"] for row in rows["collection_events"]})},
        "utilisation": lambda: utilisation(
            rows["instance_usage"],
            ordered("machine_events"),
            lambda row, what: of(row, "average_usage", fields[what]),
            lambda row, what: 0 if row["type"] == 2 else of(row, "capacity", fields[what]),
            False,
        ),
        "collection_events_over_time": lambda: over("collection_events"),
        "instance_events_over_time": lambda: over("instance_events"),
        "cpu": lambda: both("cpus"),
        "memory": lambda: both("memory"),
        "job_sizes": lambda: sizes(map(instance, rows["instance_events"]), "collections"),
        "run_durations": lambda: runs_of(ordered("instance_events"), "type", instance, 3, range(4, 9), EVENTS_2019),
        "priorities": lambda: counted(
            (str(row["priority"]), f"class {row['scheduling_class']}")
            for row in rows["instance_events"]
            if row["type"] == 0 and row["scheduling_class"] is not None
        ),
        "machine_capacities": lambda: capacities(
            [row for row in sorted(rows["machine_events"], key=lambda row: row["time"]) if row["type"] in (1, 3)],
            lambda row: (row["capacity"] or {}).get("cpus"),
            lambda row: (row["capacity"] or {}).get("memory"),
        ),
    }


def alibaba(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    return {
        "span": lambda: hours((row["time_stamp"] for row in rows["machine_usage"]), 3600),
        "machines": lambda: {("machines", ""): len({row["machine_id"] for row in rows["machine_meta"]})},
        "jobs": lambda: {("batch jobs", ""): len({row["job_name"] for row in rows["batch_task"]})},
        "utilisation": lambda: mean_of(rows["machine_usage"]),
        "batch_tasks_over_time": lambda: over_time(
            rows["batch_task"], lambda row: row["status"], time="start_time", origin=0, hour=3600, by_part=False
        ),
        "machine_utilisation": lambda: utilisation_over_time(rows["machine_usage"]),
        "requests": lambda: requests(rows),
        "job_sizes": lambda: sizes(((row["job_name"], row["task_name"]) for row in rows["batch_task"]), "jobs"),
        "task_durations": lambda: counted(
            (duration(row["end_time"] - row["start_time"]), row["status"])
            for row in rows["batch_task"]
            if row["end_time"] >= row["start_time"] > 0
        ),
        "task_types": lambda: counted((row["task_type"], row["status"]) for row in rows["batch_task"]),
        "machine_capacities": lambda: counted(
            (f"{row['cpu_num']} cores, memory {row['mem_size']}", row["status"])
            for row in last_states(rows["machine_meta"])
        ),
        "dag_shapes": lambda: shapes(rows["batch_task"]),
    }


PLAIN: dict[str, Callable[[Rows], dict[str, Callable[[], Numbers]]]] = {
    "google-2011-v2.1": google,
    "borg-2019": borg,
    "alibaba-2018": alibaba,
}
