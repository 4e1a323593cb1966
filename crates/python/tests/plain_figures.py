"""The numbers of every figure in plain Python, from rows alone and without the queries of the catalog."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import tracelake
from lakes import Row

NEVER = 2**63 - 1
HOUR = 3_600_000_000
#: The data of a figure; ``None`` where nothing is known.
Numbers = dict[tuple[Any, str], Any]

EVENTS_2011 = "SUBMIT SCHEDULE EVICT FAIL FINISH KILL LOST UPDATE_PENDING UPDATE_RUNNING".split()
EVENTS_2019 = "SUBMIT QUEUE ENABLE SCHEDULE EVICT FAIL FINISH KILL LOST UPDATE_PENDING UPDATE_RUNNING".split()


class Partial(float):
    """The count of an interval that is covered only in part."""


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

    def of(self, table: str) -> list[Row]:
        """The rows of a table, or none if the lake lacks it: then no figure of it is made."""
        try:
            return self[table]
        except KeyError:
            return []


class Thing(NamedTuple):
    """Something that happens."""

    time: Any
    series: str
    amount: Any = 1
    number: int = 0
    #: When it is over; a moment if there is none.
    until: Any = None


class Axis(NamedTuple):
    """The intervals of a figure: their unit and least width, how many there are at most, and what x counts from."""

    unit: int
    width: int
    most: int
    origin: int | None


def runs_of_time(things: Iterable[Thing]) -> list[tuple[Any, Any]]:
    """The ranges of time of runs of parts."""
    ranges: dict[int, tuple[Any, Any]] = {}
    for one in things:
        first, last = ranges.get(one.number, (one.time, one.time))
        ranges[one.number] = (min(first, one.time), max(last, one.time if one.until is None else one.until))
    runs: list[tuple[Any, Any]] = []
    for number in sorted(ranges):
        first, last = ranges[number]
        if number - 1 in ranges:
            before = runs.pop()
            first, last = min(before[0], first), max(before[1], last)
        runs.append((first, last))
    return runs


class Intervals:
    """The intervals in which things happen."""

    def __init__(self, things: Sequence[Thing], axis: Axis) -> None:
        self.runs = runs_of_time(things)
        self._axis = axis
        low, high = min(first for first, _ in self.runs), max(last for _, last in self.runs)
        self.width = max(1, math.ceil(Fraction(math.ceil(high) - math.floor(low), axis.most * axis.width))) * axis.width
        self._origin = math.floor(low) if axis.origin is None else axis.origin
        # The end of a period is in the interval before.
        ends = [Fraction(one.time if one.until is None or one.until <= one.time else one.until) for one in things]
        latest = max(self._number(one.time) for one in things)
        if any(one.until is not None for one in things):
            latest = max(latest, math.ceil((max(ends) - self._origin) / self.width) - 1)
        self.numbers = range(self._number(low), latest + 1)

    def _number(self, time: Any) -> int:
        return math.floor((Fraction(time) - self._origin) / self.width)

    def of(self, time: Any) -> int:
        """The number of the interval of a time; what was before is in the first one."""
        return max(self.numbers[0], self._number(time))

    def x(self, number: int) -> float:
        return (self.start(number) - self._origin) / self._axis.unit

    def start(self, number: int) -> int:
        return self._origin + number * self.width

    def end(self, number: int) -> int:
        return self.start(number + 1)

    def is_whole(self, number: int) -> bool:
        return any(first <= self.start(number) and self.end(number) <= last for first, last in self.runs)

    def is_covered(self, number: int) -> bool:
        return any(first < self.end(number) and self.start(number) < last for first, last in self.runs)


def rates(things: Sequence[Thing], axis: Axis) -> Numbers:
    """The sums of the intervals per unit, or the sums alone where an interval is covered in part."""
    intervals, sums = Intervals(things, axis), defaultdict[tuple[int, str], Any](int)
    for one in things:
        sums[intervals.of(one.time), one.series] += one.amount or 0
    there = {number for number, _ in sums}
    numbers = Numbers()
    for number in intervals.numbers:
        for series in {one.series for one in things}:
            total = sums[number, series]
            if intervals.is_whole(number):
                numbers[intervals.x(number), series] = total * axis.unit / intervals.width
            elif number in there or intervals.is_covered(number):
                numbers[intervals.x(number), series] = Partial(total)
            else:
                numbers[intervals.x(number), series] = None
    return numbers


def means(things: Sequence[Thing], axis: Axis) -> Numbers:
    """The means of the intervals."""
    intervals, values = Intervals(things, axis), defaultdict[tuple[int, str], list[float]](list)
    for one in things:
        values[intervals.of(one.time), one.series].append(one.amount)
    return {
        (intervals.x(number), series): sum(own) / len(own) if (own := values[number, series]) else None
        for number in intervals.numbers
        for series in {one.series for one in things}
    }


def levels(things: Sequence[Thing], changes: Sequence[Thing], axis: Axis) -> Numbers:
    """What the changes add up to at the ends of the intervals in which things happen."""
    intervals, numbers = Intervals(things, axis), Numbers()
    for series in {one.series for one in changes}:
        own = [one for one in changes if one.series == series]
        for number in intervals.numbers:
            there = (one.amount or 0 for one in own if one.time < intervals.end(number))
            numbers[intervals.x(number), series] = math.fsum(there)
    return numbers


HOURS_2011 = Axis(HOUR, 300_000_000, 120, 600_000_000)


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
    things = [
        Thing(
            row["start_time"],
            "used",
            (used(row) or 0) * (row["end_time"] - row["start_time"]),
            row["file_number"] if by_part else 0,
            row["end_time"],
        )
        for row in usage
        if row["end_time"] < NEVER
    ]
    intervals, numbers = Intervals(things, HOURS_2011), Numbers()
    spent: defaultdict[int, float] = defaultdict(float)
    for one in things:
        spent[intervals.of(one.time)] += one.amount
    for number in intervals.numbers:
        end = intervals.end(number)

        def there(rows: list[Row], amount: Callable[[Row], float], thing: Callable[[Row], Any]) -> float:
            return sum({thing(row): amount(row) for row in rows if row["time"] < end}.values())

        whole = there(machines, capacity, lambda row: row["machine_id"])
        use = spent[number] / intervals.width if intervals.is_whole(number) else None
        for name, level in (("used", use), ("requested by running tasks", there(events, requested, task))):
            numbers[intervals.x(number), name] = None if level is None or not whole else 100 * level / whole
    return numbers


def overlap(runs: list[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(last, end) - max(first, start)) for first, last in runs)


def utilisation(
    usage: list[Row],
    machines: list[Row],
    used: Callable[[Row, str], float | None],
    capacity: Callable[[Row, str], float],
    by_part: bool,
) -> Numbers:
    usage = [row for row in usage if row["end_time"] < NEVER]
    things = [
        Thing(row["start_time"], "", 0, row["file_number"] if by_part else 0, row["end_time"]) for row in usage
    ]
    runs, numbers = runs_of_time(things), Numbers()
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


def within(value: Any, limits: Sequence[tuple[Any, str]], above: str) -> str:
    """The name of the first limit that a value is below, or of what is above all of them."""
    return next((name for limit, name in limits if value < limit), above)


def duration(seconds: float) -> str:
    limits = [(60, "under 1 min"), (600, "1-10 min"), (3600, "10-60 min"), (36_000, "1-10 h"), (86_400, "10-24 h")]
    return within(seconds, limits, "over 1 day")


def runs_of(events: list[Row], kind: str, task: Callable[[Row], Any], schedule: int, ends: range, names: list[str]) -> Numbers:
    """The lengths of runs: a task that is on a machine until the next event but updates."""
    numbers, begun = Numbers(), dict[Any, "int | None"]()
    for row in events:
        if row[kind] == schedule:
            begun[task(row)] = row["time"]
        elif row[kind] in ends:
            start = begun.pop(task(row), None)
            if start and start > 0 and row["time"] < NEVER:
                key = (duration((row["time"] - start) / 1_000_000), names[row[kind]])
                numbers[key] = (numbers.get(key) or 0) + 1
        elif row[kind] == 0 and names is EVENTS_2011:
            begun.pop(task(row), None)
    return numbers


def counted(pairs: Iterable[tuple[Any, Any]]) -> Numbers:
    return dict(Counter((x, str(series)) for x, series in pairs))


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


SECONDS = Axis(3600, 300, 120, 0)


def requests(rows: Rows) -> Numbers:
    cores = sum({row["machine_id"]: row["cpu_num"] for row in rows["machine_meta"]}.values())
    batch: list[Thing] = []
    for row in rows["batch_task"]:
        if row["start_time"] > 0:
            amount = (row["plan_cpu"] or 0) * (row["instance_num"] or 0) / cores
            batch.append(Thing(row["start_time"], "batch tasks", amount))
            if row["end_time"] >= row["start_time"]:
                batch.append(Thing(row["end_time"], "batch tasks", -amount))
    first: dict[str, Row] = {}
    for row in rows["container_meta"]:
        if row["container_id"] not in first or row["time_stamp"] < first[row["container_id"]]["time_stamp"]:
            first[row["container_id"]] = row
    containers = [Thing(row["time_stamp"], "containers", row["cpu_request"] / cores) for row in first.values()]
    return levels(batch, [*batch, *containers], SECONDS)


def samples(rows: list[Row], what: dict[str, str], time: str, is_valid: Callable[[Any], bool]) -> list[Thing]:
    """The valid values of columns, each under its name."""
    return [
        Thing(row[time], name, row[column], row["file_number"])
        for row in rows
        for column, name in what.items()
        if row[column] is not None and is_valid(row[column])
    ]


def is_percentage(value: Any) -> bool:
    return 0 <= value <= 100


USES = {"cpu_util_percent": "CPU", "mem_util_percent": "memory"}


def mean_of(rows: list[Row]) -> Numbers:
    numbers = Numbers()
    for column, name in USES.items():
        valid = [row[column] for row in rows if row[column] is not None and is_percentage(row[column])]
        numbers[f"mean {name} utilisation", "%"] = sum(valid) / len(valid)
    return numbers


def last_states(rows: list[Row]) -> Iterable[Row]:
    return {row["machine_id"]: row for row in rows}.values()


def google(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    def task(row: Row) -> Any:
        return row["job_id"], row["task_index"]

    def over(table: str) -> Numbers:
        things = [
            Thing(row["time"], EVENTS_2011[row["event_type"]], 1, row["file_number"])
            for row in rows[table]
            if 0 < row["time"] < NEVER
        ]
        return rates(things, HOURS_2011)

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
        things = [Thing(row["time"], EVENTS_2019[row["type"]]) for row in rows[table] if 0 < row["time"] < NEVER]
        return rates(things, HOURS_2011)

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
        "batch_tasks_over_time": lambda: rates(
            [Thing(row["start_time"], row["status"] or "none") for row in rows["batch_task"] if row["start_time"] > 0],
            SECONDS,
        ),
        "machine_utilisation": lambda: means(samples(rows["machine_usage"], USES, "time_stamp", is_percentage), SECONDS),
        "requests": lambda: requests(rows),
        "job_sizes": lambda: sizes(((row["job_name"], row["task_name"]) for row in rows["batch_task"]), "jobs"),
        "task_durations": lambda: counted(
            (duration(row["end_time"] - row["start_time"]), row["status"])
            for row in rows["batch_task"]
            if row["end_time"] >= row["start_time"] > 0
        ),
        "task_types": lambda: counted((row["task_type"] or "none", row["status"] or "none") for row in rows["batch_task"]),
        "machine_capacities": lambda: counted(
            (f"{row['cpu_num']} cores, memory {row['mem_size']}", row["status"])
            for row in last_states(rows["machine_meta"])
        ),
        "dag_shapes": lambda: shapes(rows["batch_task"]),
    }


def gpu_2020(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    jobs, tasks, instances = rows["pai_job_table"], rows["pai_task_table"], rows["pai_instance_table"]
    machines, sensors = rows["pai_machine_spec"], rows["pai_sensor_table"]

    def span() -> Numbers:
        times = [max(row["start_time"] or 0, row["end_time"] or 0) for row in jobs]
        begins = min(row["start_time"] for row in jobs if (row["start_time"] or 0) > 0)
        return {("days", ""): round((max(times) - begins) / 86_400, 1)}

    def waits() -> Iterator[tuple[str, str]]:
        by_name = defaultdict(list)
        for row in jobs:
            by_name[row["job_name"]].append(row["start_time"])
        for row in tasks:
            for begun in by_name[row["job_name"]]:
                if begun and row["start_time"] and row["start_time"] >= begun > 0:
                    limits = [(1, "none"), (60, "under 1 min"), (600, "1-10 min"), (3600, "10-60 min")]
                    yield within(row["start_time"] - begun, limits, "over 1 h"), "tasks"

    def share(plan: float | None) -> str:
        if plan is None:
            return "none"
        if plan == 100:
            return "100"
        return within(plan, [(25, "under 25"), (50, "25-49"), (100, "50-99")], "over 100")

    def use(value: float) -> str:
        if value == 0:
            return "0"
        return "50-100" if 50 <= value <= 100 else within(value, [(10, "under 10"), (50, "10-49")], "over 100")

    return {
        "span": span,
        "jobs": lambda: {("jobs", ""): len(jobs), ("users", ""): len({row["user"] for row in jobs} - {None})},
        "gpus": lambda: {
            ("machines", ""): len(machines),
            ("GPUs", ""): sum(row["cap_gpu"] or 0 for row in machines),
        },
        "jobs_over_time": lambda: rates(
            [Thing(row["start_time"], row["status"] or "none") for row in jobs if (row["start_time"] or 0) > 0],
            Axis(3600, 3600, 2000, None),
        ),
        "waiting": lambda: counted(waits()),
        "durations": lambda: counted(
            (duration(row["end_time"] - row["start_time"]), row["status"] or "none")
            for row in instances
            if row["start_time"] and row["end_time"] and row["end_time"] >= row["start_time"] > 0
        ),
        "gpu_requests": lambda: counted((share(row["plan_gpu"]), row["gpu_type"] or "none") for row in tasks),
        "machines": lambda: counted(
            (row["gpu_type"] or "none", "unknown" if row["cap_gpu"] is None else f"{row['cap_gpu']} GPUs") for row in machines
        ),
        "gpu_usage": lambda: counted(
            (use(row["gpu_wrk_util"]), "instances") for row in sensors if row["gpu_wrk_util"] is not None
        ),
    }


def gpu_2023(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    every, nodes = rows["openb_pods"], [row for row in rows["openb_nodes"] if row["list"] == "all"]
    pods = [row for row in every if row["variant"] == "default"]

    def size(row: Row) -> str:
        if row["num_gpu"] == 0:
            return "none"
        if row["num_gpu"] > 1:
            return str(row["num_gpu"])
        return "1" if row["gpu_milli"] == 1000 else "under 1/2" if row["gpu_milli"] < 500 else "part, from 1/2"

    def kind(row: Row) -> str:
        if row["num_gpu"] == 0:
            return "no GPU"
        return "several GPUs" if row["num_gpu"] > 1 else "part of a GPU" if row["gpu_milli"] < 1000 else "one GPU"

    def gpus() -> Numbers:
        numbers: Counter[tuple[str, str]] = Counter()
        for row in nodes:
            if row["gpu"] > 0:
                numbers[row["model"] or "unknown", f"{row['gpu']} in a node"] += row["gpu"]
        return dict(numbers)

    lives = [(60, "under 1 min"), (3600, "1-60 min"), (86_400, "1-24 h"), (604_800, "1-7 days")]
    return {
        "pods": lambda: {("pods", ""): len(pods)},
        "nodes": lambda: {("nodes", ""): len(nodes), ("GPUs", ""): sum(row["gpu"] for row in nodes)},
        "pods_over_time": lambda: rates(
            [Thing(row["creation_time"], row["qos"]) for row in pods], Axis(86_400, 86_400, 2000, 0)
        ),
        "gpu_requests": lambda: counted((size(row), row["pod_phase"]) for row in pods),
        "variants": lambda: counted((row["variant"], kind(row)) for row in every),
        "lifetimes": lambda: counted(
            (within(row["deletion_time"] - row["creation_time"], lives, "over 7 days"), row["qos"])
            for row in pods
            if row["deletion_time"] is not None and row["deletion_time"] >= row["creation_time"]
        ),
        "models": gpus,
    }


def gpu_2025(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    all_of = rows["dlrm_instances"]
    axis = Axis(3600, 3600, 2000, 0)
    alive = [
        *(Thing(row["creation_time"] or 0, row["role"], 1) for row in all_of),
        *(Thing(row["deletion_time"], row["role"], -1) for row in all_of if row["deletion_time"] is not None),
    ]
    changes = [
        Thing(row[column], name)
        for column, name in (("creation_time", "created"), ("deletion_time", "deleted"))
        for row in all_of
        if row[column] is not None
    ]

    def services() -> Numbers:
        found = Counter((row["app_name"], row["role"]) for row in all_of)
        limits = [(10, "under 10"), (50, "10-49"), (100, "50-99"), (500, "100-499")]
        return counted((within(number, limits, "500 and more"), role) for (_, role), number in found.items())

    return {
        "instances": lambda: {
            **{(f"instances on {role}", ""): number for role, number in Counter(row["role"] for row in all_of).items()},
            ("services", ""): len({row["app_name"] for row in all_of}),
        },
        "alive_over_time": lambda: levels(alive, alive, axis),
        "changes_over_time": lambda: rates(changes, axis),
        "cpu_requests": lambda: counted((str(row["cpu_request"]), row["role"]) for row in all_of),
        "services": services,
    }


def gpu_2026(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    pods, servers, traffic, runs = (
        rows[name] for name in ("pod_hourly", "server_hourly", "network_hourly", "job_execution_summary")
    )
    axis = Axis(1, 1, 2000, 0)
    sizes = [(1, "a share of one"), (2, "1"), (4, "2-3"), (8, "4-7")]
    hours = [(1, "under 1 h"), (10, "1-10 h"), (24, "10-24 h"), (168, "1-7 days")]

    def hour(row: Row) -> int:
        return 24 * int(row["day"]) + int(row["hour"])

    return {
        "fleet": lambda: {
            ("servers", ""): len({row["server_id"] for row in servers}),
            ("clusters", ""): len({row["cluster_id"] for row in servers}),
            ("runs", ""): len(runs),
        },
        "gpus_over_time": lambda: rates(
            [
                Thing(hour(row), row["priority_class"] or "none", row["used_gpu_hours"], row["file_number"], hour(row) + 1)
                for row in pods
                if (row["gpu_request"] or 0) > 0 and row["used_gpu_hours"] is not None and row["used_gpu_hours"] >= 0
            ],
            axis,
        ),
        "traffic_over_time": lambda: means(
            [
                Thing(hour(row), name, row[column], row["file_number"])
                for column, name in (("rx_gibps_avg", "received"), ("tx_gibps_avg", "sent"))
                for row in traffic
                if row[column] is not None and row[column] >= 0
            ],
            axis,
        ),
        "gpu_models": lambda: counted(
            (model, "") for model, _ in {(row["gpu_spec_public"] or "unknown", row["server_id"]) for row in servers}
        ),
        "gpu_requests": lambda: counted(
            (within(row["gpu_request"], sizes, "8 and more"), row["priority_class"] or "none")
            for row in runs
            if row["gpu_request"] is not None
        ),
        "durations": lambda: counted(
            (within(row["duration_hours"], hours, "over 7 days"), row["job_type_public"] or "none")
            for row in runs
            if row["duration_hours"] is not None
        ),
    }


def maas_2026(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    daily, week, metrics = (rows[name] for name in ("instance_daily", "instance_week_5min", "app_metrics"))
    sizes = [(1, "under 1"), (10, "1-10"), (100, "10-100")]
    return {
        "platform": lambda: {
            (name, ""): len({row[column] for row in daily} - {None})
            for name, column in (("instances", "instance_id"), ("applications", "app_id"), ("models", "model_id"))
        },
        "utilisation_over_time": lambda: means(
            [
                Thing(row["time_s"], name, row[column])
                for column, name in (("sm_util", "multiprocessors"), ("gpu_mem_util", "memory"))
                for row in week
                if row[column] is not None and row[column] >= 0
            ],
            Axis(3600, 3600, 2000, 0),
        ),
        "gpu_hours_over_time": lambda: rates(
            [
                Thing(row["day"], row["workload"] or "none", row["gpu_hours"], until=row["day"] + 1)
                for row in daily
                if row["gpu_hours"] is not None and row["gpu_hours"] >= 0
            ],
            Axis(1, 1, 2000, 0),
        ),
        "roles": lambda: counted((row["pd_role"] or "none", row["model_arch"] or "none") for row in daily),
        "model_sizes": lambda: counted(
            (within(row["params_b"], sizes, "100 and more"), row["workload"] or "none")
            for row in daily
            if row["params_b"] is not None
        ),
        "metrics": lambda: counted((row["metric"], row["pd_role"] or "none") for row in metrics if row["metric"] is not None),
    }


def microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def azure_llm(unit: int) -> Callable[[Rows], dict[str, Callable[[], Numbers]]]:
    def figures(rows: Rows) -> dict[str, Callable[[], Numbers]]:
        asked = rows["inference_requests"]
        axis = Axis(unit, unit, 2000, None)
        limits = [(10, "under 10"), (100, "10-99"), (1000, "100-999"), (4000, "1,000-3,999")]

        def over(amount: Callable[[Row], int]) -> Numbers:
            return rates([Thing(microseconds(row["timestamp"]), row["service"], amount(row)) for row in asked], axis)

        def by(column: str) -> Numbers:
            return counted((within(row[column], limits, "4,000 and more"), row["service"]) for row in asked)

        return {
            "requests": lambda: {
                (f"requests of {name}", ""): number for name, number in Counter(row["service"] for row in asked).items()
            },
            "tokens": lambda: {
                ("input tokens", ""): sum(row["context_tokens"] for row in asked),
                ("output tokens", ""): sum(row["generated_tokens"] for row in asked),
            },
            "requests_over_time": lambda: over(lambda row: 1),
            "tokens_over_time": lambda: over(lambda row: row["context_tokens"] + row["generated_tokens"]),
            "input_sizes": lambda: by("context_tokens"),
            "output_sizes": lambda: by("generated_tokens"),
        }

    return figures


def azure_vm(cores: str) -> Callable[[Rows], dict[str, Callable[[], Numbers]]]:
    def figures(rows: Rows) -> dict[str, Callable[[], Numbers]]:
        vms, readings = rows["vmtable"], rows["vm_cpu_readings"]
        axis = Axis(3600, 3600, 2000, 0)
        lives = [(900, "under 15 min"), (3600, "15-60 min"), (21_600, "1-6 h"), (86_400, "6-24 h"), (604_800, "1-7 days")]
        tens = [(10, "under 10"), *((10 * ten + 10, f"{10 * ten}-{10 * ten + 10}") for ten in range(1, 9))]

        def category(row: Row) -> str:
            return row["vm_category"] or "none"

        means_of = {"min_cpu": "lowest", "avg_cpu": "mean", "max_cpu": "highest"}
        return {
            "span": lambda: {
                ("hours", ""): round(
                    (max(row["timestamp"] for row in readings) - min(row["timestamp"] for row in readings)) / 3600, 1
                )
            },
            "vms": lambda: {
                ("VMs", ""): len(vms),
                ("subscriptions", ""): len({row["subscription_id"] for row in vms} - {None}),
                ("deployments", ""): len({row["deployment_id"] for row in vms} - {None}),
            },
            "utilisation": lambda: {
                ("mean CPU utilisation", "%"): math.fsum(row["avg_cpu"] for row in readings) / len(readings)
            },
            "vms_over_time": lambda: rates(
                [Thing(row["vm_created"], category(row)) for row in vms if (row["vm_created"] or 0) > 0], axis
            ),
            "cpu_over_time": lambda: means(samples(readings, means_of, "timestamp", lambda value: True), axis),
            "lifetimes": lambda: counted(
                (within(row["vm_deleted"] - row["vm_created"], lives, "over 7 days"), category(row))
                for row in vms
                if None not in (row["vm_created"], row["vm_deleted"]) and row["vm_deleted"] >= row["vm_created"]
            ),
            "sizes": lambda: counted(("unknown" if row[cores] is None else str(row[cores]), category(row)) for row in vms),
            "vm_utilisation": lambda: counted(
                (within(row[column], tens, "90-100"), name)
                for column, name in (("avg_cpu", "mean"), ("p95_max_cpu", "95th percentile"))
                for row in vms
                if row[column] is not None
            ),
        }

    return figures


def prompts(names: list[str], sizes_in: list[tuple[int, str]], above: str, unit: int) -> Callable[[Rows], dict[str, Callable[[], Numbers]]]:
    """Requests to language models, whose workload is the number of their file."""

    def figures(rows: Rows) -> dict[str, Callable[[], Numbers]]:
        asked = rows["inference_requests"]
        sizes_out = [(10, "under 10"), (100, "10-99"), (1000, "100-999")]

        def name(row: Row) -> str:
            return names[min(row["file_number"], len(names) - 1)]

        return {
            "requests": lambda: {
                (f"requests of {one}", ""): number for one, number in Counter(map(name, asked)).items()
            },
            "tokens": lambda: {
                ("input tokens", ""): sum(row["input_length"] for row in asked),
                ("output tokens", ""): sum(row["output_length"] for row in asked),
            },
            "requests_over_time": lambda: rates([Thing(row["timestamp"], name(row)) for row in asked], Axis(unit, unit, 2000, 0)),
            "input_sizes": lambda: counted((within(row["input_length"], sizes_in, above), name(row)) for row in asked),
            "output_sizes": lambda: counted(
                (within(row["output_length"], sizes_out, "1,000 and more"), name(row)) for row in asked
            ),
        }

    return figures


def azure_lmm(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    asked = rows["inference_requests"]
    limits = [(10, "under 10"), (100, "10-99"), (1000, "100-999"), (4000, "1,000-3,999")]

    def kind(row: Row) -> str:
        return "images" if (row["num_images"] or 0) > 0 else "text alone"

    def by(column: str) -> Numbers:
        return counted((within(row[column], limits, "4,000 and more"), kind(row)) for row in asked)

    return {
        "requests": lambda: {(f"requests with {one}", ""): number for one, number in Counter(map(kind, asked)).items()},
        "tokens": lambda: {
            ("input tokens", ""): sum(row["context_tokens"] for row in asked),
            ("output tokens", ""): sum(row["generated_tokens"] for row in asked),
        },
        "requests_over_time": lambda: rates(
            [Thing(microseconds(row["timestamp"]), kind(row)) for row in asked], Axis(HOUR, HOUR, 2000, None)
        ),
        "input_sizes": lambda: by("context_tokens"),
        "output_sizes": lambda: by("generated_tokens"),
    }


def genai(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    asked, duty = rows["lora_request_trace"], rows["pod_gpu_duty_cycle"]
    takes = [(10, "under 10 s"), (30, "10-30 s"), (60, "30-60 s"), (120, "1-2 min")]
    loads = [(1000, "under 1 s"), (3000, "1-3 s"), (10_000, "3-10 s"), (30_000, "10-30 s")]
    tables = {"base_model_update_latency": "base model", "lora_update_latency": "LoRA", "controlnet_latency": "ControlNet"}
    return {
        "requests": lambda: {("requests", ""): len(asked), ("groups", ""): len({row["group_id"] for row in asked})},
        "gpu_over_time": lambda: means(
            samples(duty, {"value": "GPU"}, "timestamp_anon", is_percentage), Axis(3600, 3600, 2000, None)
        ),
        "requests_over_time": lambda: rates(
            [Thing(microseconds(row["gmt_create"]), row["predict_type"]) for row in asked], Axis(HOUR, HOUR, 2000, None)
        ),
        "execution_times": lambda: counted(
            (within(row["exec_time_seconds"], takes, "over 2 min"), row["predict_status"]) for row in asked
        ),
        "loading_times": lambda: counted(
            (within(row["value"], loads, "over 30 s"), name) for table, name in tables.items() for row in rows[table]
        ),
    }


def spot_gpu(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    jobs, nodes = rows["gpu_jobs"], rows["gpu_nodes"]

    def gpus() -> Numbers:
        numbers: Counter[tuple[str, str]] = Counter()
        for row in nodes:
            numbers[row["gpu_model"], f"{row['gpu_capacity_num']} in a node"] += row["gpu_capacity_num"]
        return dict(numbers)

    return {
        "jobs": lambda: {
            (f"jobs of type {kind}", ""): number for kind, number in Counter(row["job_type"] for row in jobs).items()
        },
        "nodes": lambda: {("nodes", ""): len(nodes), ("GPUs", ""): sum(row["gpu_capacity_num"] for row in nodes)},
        "jobs_over_time": lambda: rates(
            [Thing(row["submit_time"], row["job_type"]) for row in jobs], Axis(86_400, 86_400, 2000, 0)
        ),
        "durations": lambda: counted((duration(row["duration"]), row["job_type"]) for row in jobs),
        "gpus": gpus,
    }


def power(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    readings, machines = rows["pdu_power"], rows["machine_to_pdu_mapping"]
    columns = {"measured_power_util": ("measured", "bad_measurement_data"), "production_power_util": ("production", "bad_production_power_data")}
    good = [
        (row["time"], name, row[column])
        for row in readings
        for column, (name, is_bad) in columns.items()
        if not row[is_bad]
    ]
    start, day = 600_000_000, 86_400_000_000
    tens = [(0.4, "under 40"), *((high / 100, f"{high - 10}-{high}") for high in range(50, 100, 10))]

    def of_a_day() -> Numbers:
        hours: defaultdict[int, list[float]] = defaultdict(list)
        for time, name, value in good:
            if name == "measured" and time >= start:
                hours[(time - start) % day // HOUR].append(value)
        return {(str(hour), "measured"): 100 * math.fsum(values) / len(values) for hour, values in hours.items()}

    return {
        "domains": lambda: {
            ("power domains", ""): len({row["pdu"] for row in readings}),
            ("machines", ""): len({(row["cell_name"], row["machine_id"]) for row in machines}),
        },
        "power_over_time": lambda: means(
            [Thing(time, name, 100 * value) for time, name, value in good], Axis(HOUR, HOUR, 2000, start)
        ),
        "power_of_a_day": of_a_day,
        "levels": lambda: counted((within(value, tens, "90 and more"), name) for _, name, value in good),
    }


def functions_2019(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    days, durations, memory = (rows.of(name) for name in ("function_invocations_by_day", "function_durations", "app_memory"))
    times = [(10, "under 10"), (100, "10-99"), (1440, "100-1,439"), (86_400, "1,440-86,399")]
    takes = [(10, "under 10 ms"), (100, "10-100 ms"), (1000, "0.1-1 s"), (10_000, "1-10 s"), (60_000, "10-60 s")]
    sizes_of = [(50, "under 50 MB"), (100, "50-100 MB"), (200, "100-200 MB"), (400, "200-400 MB")]

    def invoked(row: Row, minutes: slice) -> int:
        return sum(number or 0 for number in (row["invocations"] or [])[minutes])

    def of(rows_of: list[Row], what: dict[str, str], limits: list[tuple[int, str]], above: str) -> Numbers:
        values = ((row[column], name) for row in rows_of for column, name in what.items())
        return counted((within(value, limits, above), name) for value, name in values if value is not None)

    return {
        "invocations": lambda: {
            ("invocations", ""): sum(invoked(row, slice(None)) for row in days),
            ("functions", ""): len({(row["hash_app"], row["hash_function"]) for row in days}),
            ("applications", ""): len({row["hash_app"] for row in days}),
        },
        "invocations_over_time": lambda: rates(
            [
                Thing((row["file_number"] - 1) * 24 + hour, row["trigger"], invoked(row, slice(hour * 60, hour * 60 + 60)))
                for row in days
                for hour in range(24)
            ],
            Axis(1, 1, 2000, 0),
        ),
        "triggers": lambda: counted(
            (within(invoked(row, slice(None)), times, "86,400 and more"), row["trigger"]) for row in days
        ),
        "durations": lambda: of(durations, {"average": "mean", "maximum": "longest"}, takes, "over 1 min"),
        "memory": lambda: of(
            memory, {"average_allocated_mb": "mean", "average_allocated_mb_pct100": "highest"}, sizes_of, "over 400 MB"
        ),
    }


def alibaba_2017(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    what = {"cpu_util": "CPU", "mem_util": "memory", "disk_util": "disk space"}
    takes = [(60, "under 1 min"), (600, "1-10 min"), (3600, "10-60 min"), (36_000, "1-10 h")]
    ended = [row for row in rows["batch_instance"] if row["status"] == "Terminated" and row["start_timestamp"] > 0]
    seconds = [row["end_timestamp"] - row["start_timestamp"] for row in ended]
    return {
        "machines": lambda: {
            ("machines", ""): len({row["machine_id"] for row in rows["server_event"]}),
            ("containers", ""): len({row["instance_id"] for row in rows["container_event"]}),
            ("tasks", ""): len(rows["batch_task"]),
            ("runs of instances", ""): len(rows["batch_instance"]),
        },
        "usage_over_time": lambda: means(
            samples(rows["server_usage"], what, "timestamp", is_percentage), Axis(3600, 900, 2000, 0)
        ),
        "tasks_over_time": lambda: rates(
            [Thing(row["create_timestamp"], row["status"]) for row in rows["batch_task"] if row["create_timestamp"] > 0],
            Axis(3600, 3600, 2000, 0),
        ),
        "durations": lambda: counted((within(took, takes, "over 10 h"), "runs") for took in seconds if took >= 0),
    }


def vm_noise(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    runs = rows["benchmark_runs"]
    differ = [(1, "under 1"), (5, "1-5"), (10, "5-10"), (25, "10-25"), (50, "25-50")]
    takes = [(30, "under 30 s"), (60, "30-60 s"), (120, "1-2 min"), (300, "2-5 min")]

    def noise() -> Numbers:
        results: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
        for row in runs:
            results[row["vm_lifespan"], row["vm_sku"], row["file_number"]].append(row["value"])
        found: list[tuple[str, str]] = []
        for (lifespan, sku, _), values in results.items():
            mean = math.fsum(values) / len(values)
            deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
            found.append((within(100 * deviation / mean, differ, "50 and more"), f"{lifespan}, {sku}"))
        return counted(found)

    return {
        "runs": lambda: {
            (f"results on {lifespan}-lived machines", ""): number
            for lifespan, number in Counter(row["vm_lifespan"] for row in runs).items()
        },
        "runs_over_time": lambda: rates(
            [Thing(microseconds(row["starttime"]), row["vm_lifespan"]) for row in runs], Axis(DAY, DAY, 2000, None)
        ),
        "noise": noise,
        "runtimes": lambda: counted((within(row["runtime"], takes, "over 5 min"), row["vm_lifespan"]) for row in runs),
    }


def philly(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    jobs = rows["cluster_job_log"]
    uses = [(1, "under 1"), (25, "1-25"), (50, "25-50"), (75, "50-75")]

    def gpus(job: Row) -> int:
        return sum(len(machine["gpus"]) for machine in job["attempts"][0]["detail"])

    def times() -> Iterator[tuple[Row, float | None, float | None]]:
        for job in jobs:
            if job["attempts"]:
                start, end = job["attempts"][0]["start_time"], job["attempts"][-1]["end_time"]
                yield (
                    job,
                    (end - start).total_seconds() if start and end else None,
                    (start - job["submitted_time"]).total_seconds() if start else None,
                )

    def of_gpus(number: int) -> str:
        return within(number, [(2, "1 GPU"), (5, "2-4 GPUs"), (9, "5-8 GPUs")], "over 8 GPUs")

    used = samples(
        [dict(row, time=microseconds(row["time"])) for row in rows["cluster_cpu_util"]], {"cpu_util": "CPU"}, "time", is_percentage
    )
    memory = [
        Thing(microseconds(row["time"]), "memory", 100 * (row["mem_total"] - row["mem_free"]) / row["mem_total"])
        for row in rows.of("cluster_mem_util")
        if row["mem_total"] and 0 <= row["mem_free"] <= row["mem_total"]
    ]
    return {
        "jobs": lambda: {
            **{
                (f"jobs that ended with {status}", ""): number
                for status, number in Counter(row["status"] for row in jobs).items()
            },
            ("jobs without an attempt", ""): sum(not row["attempts"] for row in jobs),
        },
        "jobs_over_time": lambda: rates(
            [Thing(microseconds(row["submitted_time"]), row["status"]) for row in jobs], Axis(DAY, DAY, 2000, None)
        ),
        "run_times": lambda: counted(
            (duration(ran), of_gpus(gpus(job))) for job, ran, _ in times() if ran is not None and ran >= 0
        ),
        "queueing": lambda: counted((duration(waited), "jobs") for _, _, waited in times() if waited is not None and waited >= 0),
        "gpu_utilisation": lambda: counted(
            (within(one, uses, "75-100"), "GPUs")
            for row in rows["cluster_gpu_util"]
            for one in row["gpu_util"]
            if one is not None and is_percentage(one)
        ),
        "cpu_over_time": lambda: means([*used, *memory], Axis(DAY, DAY, 2000, None)),
    }


def burstgpt(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    asked = rows["inference_requests"]
    sizes_in = [(1, "none"), (100, "1-99"), (1000, "100-999"), (4000, "1,000-3,999")]
    sizes_out = [(1, "none"), (100, "1-99"), (1000, "100-999")]
    models = Counter(row["model"] for row in asked)
    return {
        "requests": lambda: {
            **{(f"requests to {model}", ""): number for model, number in models.items()},
            ("failed requests", ""): sum(row["response_tokens"] == 0 for row in asked),
        },
        "tokens": lambda: {
            ("input tokens", ""): sum(row["request_tokens"] for row in asked),
            ("output tokens", ""): sum(row["response_tokens"] for row in asked),
        },
        "requests_over_time": lambda: rates(
            [Thing(row["timestamp"], row["model"]) for row in asked], Axis(86_400, 86_400, 2000, 0)
        ),
        "requests_of_a_day": lambda: counted(
            (str(row["timestamp"] // 3600 % 24), row["log_type"]) for row in asked if row["timestamp"] >= 0
        ),
        "input_sizes": lambda: counted(
            (within(row["request_tokens"], sizes_in, "4,000 and more"), row["model"]) for row in asked
        ),
        "output_sizes": lambda: counted(
            (within(row["response_tokens"], sizes_out, "1,000 and more"), row["model"]) for row in asked
        ),
    }


def functions_2021(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    calls = rows["function_invocations"]
    takes = [(0.01, "under 10 ms"), (0.1, "10-100 ms"), (1, "0.1-1 s"), (10, "1-10 s"), (60, "10-60 s")]
    times = [(10, "under 10"), (100, "10-99"), (1000, "100-999"), (10_000, "1,000-9,999")]
    functions = Counter((row["app"], row["func"]) for row in calls)
    return {
        "invocations": lambda: {
            ("invocations", ""): len(calls),
            ("functions", ""): len(functions),
            ("applications", ""): len({app for app, _ in functions}),
        },
        "invocations_over_time": lambda: rates(
            [Thing(row["end_timestamp"], "invocations") for row in calls], Axis(3600, 3600, 2000, 0)
        ),
        "durations": lambda: counted((within(row["duration"], takes, "over 1 min"), "invocations") for row in calls),
        "popularity": lambda: counted(
            (within(number, times, "10,000 and more"), "functions") for number in functions.values()
        ),
    }


def microservices(
    graph: str, used: dict[str, str], metrics: str | None = None
) -> Callable[[Rows], dict[str, Callable[[], Numbers]]]:
    """Calls and use of nodes and containers, in tables of these names; and rates, in a table with a row for each metric."""

    def figures(rows: Rows) -> dict[str, Callable[[], Numbers]]:
        named = calls_of_microservices(rows, rows[graph], used)
        if metrics is not None:
            axis = Axis(60_000, 60_000, 2000, 0)
            rates_of = [
                Thing(row["timestamp"], row["metrics"].removesuffix("_MCR"), row["value"])
                for row in rows[metrics]
                if row["metrics"].endswith("_MCR") and row["value"] >= 0
            ]
            named["rates_over_time"] = lambda: means(rates_of, axis)
        return named

    return figures


def calls_of_microservices(rows: Rows, calls: list[Row], used: dict[str, str]) -> dict[str, Callable[[], Numbers]]:
    axis = Axis(60_000, 60_000, 2000, 0)
    takes = [(1, "under 1 ms"), (10, "1-10 ms"), (100, "10-100 ms"), (1000, "0.1-1 s")]
    return {
        "calls": lambda: {("records of calls", ""): len(calls), ("graphs", ""): len({row["traceid"] for row in calls})},
        "calls_over_time": lambda: rates([Thing(row["timestamp"], row["rpctype"]) for row in calls], axis),
        "response_times": lambda: counted((within(abs(row["rt"]), takes, "over 1 s"), row["rpctype"]) for row in calls),
        "cpu_over_time": lambda: means(
            [
                one
                for table, name in used.items()
                for one in samples(rows[table], {"cpu_utilization": name}, "timestamp", lambda value: 0 <= value <= 1)
            ],
            axis,
        ),
    }


DAY = 86_400_000_000


def required_gpus(number: int) -> str:
    return within(number, [(1, "none"), (2, "1"), (9, "2-8"), (65, "9-64")], "over 64")


def helios(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    jobs = rows["cluster_log"]
    return {
        "jobs": lambda: {("jobs", ""): len(jobs), ("GPU jobs", ""): sum(row["gpu_num"] > 0 for row in jobs)},
        "jobs_over_time": lambda: rates(
            [Thing(microseconds(row["submit_time"]), row["cluster"]) for row in jobs], Axis(DAY, DAY, 2000, None)
        ),
        "durations": lambda: counted((duration(row["duration"]), row["state"]) for row in jobs if row["gpu_num"] > 0),
        "gpu_requests": lambda: counted((required_gpus(row["gpu_num"]), row["cluster"]) for row in jobs),
    }


def acme(rows: Rows) -> dict[str, Callable[[], Numbers]]:
    jobs = [(name, row) for name in ("Seren", "Kalos") for row in rows[f"{name.lower()}_jobs"]]

    def hours() -> Numbers:
        times: defaultdict[tuple[str, str], float] = defaultdict(float)
        for name, row in jobs:
            times[row["state"], name] += row["gpu_time"]
        return {key: time / 3600 for key, time in times.items()}

    return {
        "jobs": lambda: {(f"jobs of {name}", ""): len(rows[f"{name.lower()}_jobs"]) for name in ("Seren", "Kalos")},
        "jobs_over_time": lambda: rates(
            [Thing(microseconds(row["submit_time"]), name) for name, row in jobs], Axis(DAY, DAY, 2000, None)
        ),
        "durations": lambda: counted((duration(row["duration"]), name) for name, row in jobs if row["gpu_num"] > 0),
        "gpu_requests": lambda: counted((required_gpus(row["gpu_num"]), name) for name, row in jobs),
        "gpu_time": hours,
    }


PLAIN: dict[str, Callable[[Rows], dict[str, Callable[[], Numbers]]]] = {
    "google-2011-v2.1": google,
    "borg-2019": borg,
    "alibaba-2018": alibaba,
    "alibaba-gpu-2020": gpu_2020,
    "alibaba-gpu-2023": gpu_2023,
    "alibaba-gpu-2025": gpu_2025,
    "alibaba-gpu-2026": gpu_2026,
    "alibaba-maas-2026": maas_2026,
    "azure-llm-2023": azure_llm(60_000_000),
    "azure-llm-2024": azure_llm(HOUR),
    "azure-vm-2017": azure_vm("vm_core_count"),
    "azure-vm-2019": azure_vm("vm_core_count_bucket"),
    "acme-2023": acme,
    "alibaba-genai-2026": genai,
    "alibaba-2017": alibaba_2017,
    "azure-vm-noise-2024": vm_noise,
    "philly-2017": philly,
    "alibaba-microservices-2021": microservices(
        "ms_call_graph", {"ms_nodes": "nodes", "ms_resources": "containers"}, "ms_rt_qps"
    ),
    "alibaba-microservices-2022": microservices("call_graph", {"node_metrics": "nodes", "ms_metrics": "containers"}),
    "alibaba-spot-gpu-2026": spot_gpu,
    "azure-functions-2019": functions_2019,
    "azure-functions-2021": functions_2021,
    "burstgpt-2024": burstgpt,
    "azure-lmm-2025": azure_lmm,
    "google-power-2019": power,
    "helios-2020": helios,
    "mooncake-2025": prompts(
        ["conversation", "toolagent", "synthetic"],
        [(1000, "under 1,000"), (4000, "1,000-3,999"), (16_000, "4,000-15,999"), (64_000, "16,000-63,999")],
        "64,000 and more",
        60_000,
    ),
    "qwen-bailian-2025": prompts(
        ["traceA", "traceB", "thinking", "coder"],
        [(100, "under 100"), (1000, "100-999"), (4000, "1,000-3,999"), (16_000, "4,000-15,999")],
        "16,000 and more",
        60,
    ),
}
