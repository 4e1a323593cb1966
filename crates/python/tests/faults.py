"""Faults for each check, the second ones after a slash: the parts that are edited, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lakes import Edit, Row, find

AFTER = 2**63 - 1
#: An id that no table has.
UNKNOWN_ID = 999_999_999_999
#: A user that no table has.
OTHER = "o" * 43 + "="

#: A table, a file number and the change.
Fault = list[tuple[str, int, Edit]]


def put(name: str, value: Any, **where: Any) -> Edit:
    """Sets a value of the first row with these values that has one there; a dot leads into a struct."""

    def change(rows: list[Row]) -> None:
        outer, _, last = name.rpartition(".")
        for row in rows:
            inner = row[outer] if outer else row
            if inner is not None and all(row[one] == it for one, it in where.items()):
                inner[last] = value
                return
        raise AssertionError(f"no row with {where}")

    return change


def swap(time: str, entity: str, *, within: bool = False) -> Edit:
    """Swaps two neighbours with different times, of different things or within one."""

    def change(rows: list[Row]) -> None:
        for index in range(len(rows) - 1):
            one, other = rows[index], rows[index + 1]
            if (one[entity] == other[entity]) == within and 0 < one[time] < other[time] < AFTER:
                rows[index], rows[index + 1] = other, one
                return
        raise AssertionError("no two such rows")

    return change


def again(rows: list[Row]) -> None:
    """The first row twice."""
    rows.insert(0, dict(rows[0]))


def retried_again(rows: list[Row]) -> None:
    """The first row of a second attempt twice."""
    rows.append(dict(rows[find(rows, seq_no=2)]))


def updated_twice(start: int, update: int) -> Edit:
    """Two equal updates right after an event that allows them."""

    def change(rows: list[Row]) -> None:
        index = next(index for index, row in enumerate(rows) if row["event_type"] == start and row["time"] > 0)
        extra = dict(rows[index], event_type=update)
        rows[index + 1 : index + 1] = [extra, dict(extra)]

    return change


def follow(name: str, before: int, after: int) -> Edit:
    """An event right after the first one of a type during the trace."""

    def change(rows: list[Row]) -> None:
        index = next(i for i, row in enumerate(rows) if row[name] == before and 0 < row["time"] < AFTER)
        values = {name: after, "time": rows[index]["time"] + 1}
        # Where rows are sorted they stay so: another row may follow within the microsecond.
        later = next((i for i, row in enumerate(rows) if i > index and row["time"] > values["time"]), len(rows))
        rows.insert(later, dict(rows[index], **values))

    return change


def add(**values: Any) -> Edit:
    """The last row once more, with other values, which may follow from it."""

    def change(rows: list[Row]) -> None:
        last = rows[-1]
        given = {name: value(last) if callable(value) else value for name, value in values.items()}
        rows.append(dict(last, **given))

    return change


def begins_with_schedule(name: str, task: tuple[str, ...], schedule: int, update: int) -> Edit:
    """A life whose SUBMIT became its SCHEDULE, and its SCHEDULE an update."""

    def change(rows: list[Row]) -> None:
        lives: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            lives.setdefault(tuple(row[one] for one in task), []).append(row)
        for life in lives.values():
            if [row[name] for row in life[:2]] == [0, schedule] and life[0]["time"] > 0:
                life[0].update({name: schedule, **({"machine_id": life[1]["machine_id"]} if "machine_id" in life[1] else {})})
                life[1][name] = update
                return
        raise AssertionError("no such life")

    return change


def first(**values: Any) -> Edit:
    """Other values in the first row, which may follow from it."""

    def change(rows: list[Row]) -> None:
        row = rows[0]
        row.update({name: value(row) if callable(value) else value for name, value in values.items()})

    return change


def change_last(name: str, event_type: int) -> Edit:
    """Another value in the row of an end that follows an event of its life."""

    def change(rows: list[Row]) -> None:
        seen: set[tuple[int, int]] = set()
        for row in rows:
            task = (row["job_id"], row["task_index"])
            if row["event_type"] == event_type and task in seen:
                row[name] = (row[name] + 1) % 4
                return
            if row["event_type"] == 1:
                seen.add(task)
        raise AssertionError("no such row")

    return change


def last(**values: Any) -> Edit:
    """Other values in the last row."""

    def change(rows: list[Row]) -> None:
        rows[-1].update(values)

    return change


def ends_early(rows: list[Row]) -> None:
    """An end before the start."""
    row = next(row for row in rows if (row["start_time"] or 0) > 10)
    row["end_time"] = row["start_time"] - 1


def lone_task_ends_late(rows: list[Row]) -> None:
    """An end after the trace, of an instance on which no other task waits."""
    next(row for row in rows if row["task_name"].startswith("task_") and row["end_time"])["end_time"] = 800_000


def mostly_synthesised(rows: list[Row]) -> None:
    """Events that were not observed."""
    for row in rows:
        row["missing_info"] = 0


def moved(rows: list[Row]) -> None:
    """A task that ends on another machine than it was scheduled on, which both were there at the start."""
    ending = rows[find(rows, event_type=4)]
    ending["machine_id"] = next(
        row["machine_id"] for row in rows if row["event_type"] == 1 and row["machine_id"] != ending["machine_id"]
    )


def overlapping(rows: list[Row]) -> None:
    """A record that begins 100 s into another one of its task and machine."""
    row = next(row for row in rows if row["end_time"] - row["start_time"] == 300_000_000)
    start = row["start_time"] + 100_000_000
    later = next((index for index, other in enumerate(rows) if other["start_time"] > start), len(rows))
    rows.insert(later, dict(row, start_time=start))


def removed_at_once(rows: list[Row]) -> None:
    """A new machine that is there only in the first microsecond of the trace."""
    rows.insert(0, dict(rows[0], machine_id=UNKNOWN_ID, event_type=0))
    later = next((index for index, row in enumerate(rows) if row["time"] > 600_000_001), len(rows))
    rows.insert(later, dict(rows[0], time=600_000_001, event_type=1))


def instances(*tasks: tuple[str, int, int]) -> Edit:
    """An instance of each of these tasks of a new job, from one time to another."""

    def change(rows: list[Row]) -> None:
        model = dict(rows[-1], job_name="j_new", status="Terminated")
        rows.extend(dict(model, task_name=name, start_time=start, end_time=end) for name, start, end in tasks)

    return change


def nested(rows: list[Row]) -> None:
    """An alloc set that runs in itself."""
    row = rows[find(rows, collection_type=1)]
    row["alloc_collection_id"] = row["collection_id"]


def unknown_alloc_set(rows: list[Row]) -> None:
    """Another alloc set of a task that runs in one."""
    next(row for row in rows if row["alloc_collection_id"])["alloc_collection_id"] = UNKNOWN_ID


def tasks(*names: str) -> Edit:
    """A new job with these tasks."""

    def change(rows: list[Row]) -> None:
        model = dict(rows[-1], job_name="j_new")
        rows.extend(dict(model, task_name=name) for name in names)

    return change


def next_machine_event(name: str, added: int, removed: int) -> Edit:
    """The event that the last machine of the table can't have next: to come again, or to go again."""
    return add(
        **{name: lambda row: removed if row[name] == removed else added},
        time=lambda row: row["time"] + 1,
    )


def one(table: str, change: Edit, number: int = 0) -> Fault:
    """A fault in one part."""
    return [(table, number, change)]


NEW_MACHINE = ("machine_events", 0, add(event_type=0, machine_id=UNKNOWN_ID))

GOOGLE: dict[str, Fault] = {
    "job_events_sorted": one("job_events", swap("time", "job_id"), 1),
    "task_events_sorted": one("task_events", swap("time", "job_id"), 1),
    "machine_events_sorted": one("machine_events", swap("time", "machine_id")),
    "machine_attributes_sorted": one("machine_attributes", swap("time", "machine_id")),
    "task_constraints_sorted": one("task_constraints", swap("time", "job_id"), 1),
    "task_usage_sorted": one("task_usage", swap("start_time", "job_id"), 1),
    "file_numbers_share_times": one("job_events", first(time=601_000_000), 1),
    "job_events_duplicates": one("job_events", updated_twice(1, 8)),
    "task_events_duplicates": one("task_events", updated_twice(1, 8)),
    "machine_events_duplicates": one("machine_events", updated_twice(0, 2)),
    "machine_attributes_duplicates": one("machine_attributes", again),
    "task_constraints_duplicates": one("task_constraints", again),
    "task_usage_duplicates": one("task_usage", again),
    "job_events_hashes": one("job_events", put("job_name", "x" * 43)),
    "task_events_hashes": [
        ("job_events", 1, add(job_id=UNKNOWN_ID, event_type=0, missing_info=2, user=None)),
        ("task_events", 1, add(job_id=UNKNOWN_ID, task_index=0, event_type=0, missing_info=None, machine_id=None, user="x" * 43)),
    ],
    "machine_events_hashes": one("machine_events", put("platform_id", "x" * 43)),
    "machine_attributes_hashes": one("machine_attributes", put("attribute_value", "x" * 43)),
    "task_constraints_hashes": one("task_constraints", put("attribute_name", "x" * 43)),
    "job_events_codes": one("job_events", put("scheduling_class", 4)),
    "task_events_codes": one("task_events", put("missing_info", 3, missing_info=None)),
    "machine_events_codes": one("machine_events", add(event_type=3)),
    "task_constraints_codes": one("task_constraints", put("comparison_operator", 4)),
    "job_events_observed": one("job_events", mostly_synthesised, 1),
    "task_events_observed": one("task_events", mostly_synthesised, 1),
    "job_events_times": one("job_events", put("time", -1, time=0)),
    "task_events_times": one("task_events", put("time", -1, time=0)),
    "machine_events_times": one("machine_events", put("time", -1, time=0)),
    "machine_attributes_times": one("machine_attributes", put("time", -1, time=0)),
    "task_usage_overlaps": one("task_usage", overlapping),
    "task_events_priorities": one(
        "task_events", add(event_type=0, task_index=999_998, priority=13, missing_info=None, machine_id=None), 1
    ),
    "task_events_placed": one("task_events", put("machine_id", None, event_type=1), 1),
    "task_lives_constant": one("task_events", moved, 1),
    "task_lives_constant/priority": one("task_events", change_last("priority", 4), 1),
    "task_lives_constant/class": one("task_events", change_last("scheduling_class", 4), 1),
    "job_events_users": one("job_events", put("user", OTHER, event_type=4), 1),
    "task_events_users": one("task_events", put("user", OTHER, event_type=4), 1),
    "jobs_and_tasks_agree": [
        ("job_events", 1, add(job_id=UNKNOWN_ID, event_type=0, missing_info=None, user=OTHER)),
        ("task_events", 1, add(job_id=UNKNOWN_ID, task_index=0, event_type=0, missing_info=None, machine_id=None)),
    ],
    "task_usage_machines_up": [
        ("machine_events", 0, removed_at_once),
        ("task_usage", 1, last(machine_id=UNKNOWN_ID)),
    ],
    "task_usage_maxima": one("task_usage", put("maximum_cpu_rate", 0.0, aggregation_type=False)),
    "task_usage_maxima/memory": one("task_usage", put("maximum_memory_usage", 0.0, aggregation_type=False)),
    "task_usage_maxima/disk": one("task_usage", put("maximum_disk_io_time", 0.0, aggregation_type=False)),
    "machine_life_cycle": one("machine_events", next_machine_event("event_type", 0, 1)),
    "job_life_cycle": one("job_events", follow("event_type", 4, 5), 1),
    "job_begins_with_submit": one("job_events", begins_with_schedule("event_type", ("job_id",), 1, 8), 1),
    "task_life_cycle": one("task_events", follow("event_type", 4, 5), 1),
    "task_begins_with_submit": one(
        "task_events", begins_with_schedule("event_type", ("job_id", "task_index"), 1, 8), 1
    ),
    "job_ids_unique": one("job_events", follow("event_type", 4, 0), 1),
    "jobs_have_tasks": one("job_events", add(job_id=UNKNOWN_ID, event_type=0, missing_info=None), 1),
    "task_events_jobs_exist": one("task_events", add(job_id=UNKNOWN_ID, event_type=0, missing_info=None, machine_id=None), 1),
    "task_usage_tasks_exist": one("task_usage", put("task_index", 999_999)),
    "task_events_machines_exist": one("task_events", put("machine_id", UNKNOWN_ID, event_type=0)),
    "task_usage_machines_exist": one("task_usage", put("machine_id", UNKNOWN_ID)),
    "machine_attributes_machines_exist": one("machine_attributes", put("machine_id", UNKNOWN_ID)),
    "task_events_machines_added": [NEW_MACHINE, ("task_events", 0, put("machine_id", UNKNOWN_ID, event_type=0))],
    "task_usage_machines_added": [NEW_MACHINE, ("task_usage", 0, put("machine_id", UNKNOWN_ID))],
    "task_constraints_have_events": one("task_constraints", put("task_index", 999_999)),
    "task_usage_periods": one("task_usage", first(end_time=lambda row: row["start_time"] + 300_000_001)),
    "machine_events_capacities": one("machine_events", put("cpus", 1.5)),
    "task_events_requests": one("task_events", put("memory_request", -0.5)),
    "task_usage_values": one("task_usage", put("cpu_rate", 1.5)),
}

ALIBABA: dict[str, Fault] = {
    "machine_meta_sorted": one("machine_meta", swap("time_stamp", "machine_id", within=True)),
    "machine_usage_sorted": one("machine_usage", swap("time_stamp", "machine_id", within=True)),
    "container_meta_sorted": one("container_meta", swap("time_stamp", "container_id", within=True)),
    "container_usage_sorted": one("container_usage", swap("time_stamp", "container_id", within=True)),
    "machine_meta_duplicates": one("machine_meta", again),
    "batch_task_duplicates": one("batch_task", again),
    "machine_usage_duplicates": one("machine_usage", again),
    "container_meta_duplicates": one("container_meta", again),
    "container_usage_duplicates": one("container_usage", again),
    "batch_instance_duplicates": one("batch_instance", retried_again),
    "machine_meta_statuses": one("machine_meta", put("status", "BROKEN")),
    "batch_task_statuses": one("batch_task", put("status", "Lost")),
    "batch_instance_statuses": one("batch_instance", put("status", "Lost")),
    "container_meta_requests": one("container_meta", put("cpu_request", -400)),
    "container_meta_requests/limit": one("container_meta", put("cpu_limit", -400)),
    "batch_task_requests": one("batch_task", put("plan_cpu", -100.0)),
    "batch_task_requests/instances": one("batch_task", put("instance_num", -1)),
    "batch_instance_attempts": one("batch_instance", put("seq_no", 3)),
    "batch_instance_attempts/zero": one("batch_instance", put("seq_no", 0)),
    "batch_instance_maxima": one("batch_instance", put("cpu_avg", 1e6)),
    "batch_instance_maxima/memory": one("batch_instance", put("mem_avg", 99.5)),
    "batch_instance_order": [
        ("batch_task", 0, tasks("M1", "R2_1_Stg8")),
        ("batch_instance", 0, instances(("M1", 100, 200), ("R2_1_Stg8", 150, 300))),
    ],
    "machine_meta_values": one("machine_meta", put("mem_size", 102)),
    "machine_usage_values": one("machine_usage", put("cpu_util_percent", 102)),
    "container_meta_values": one("container_meta", put("mem_size", -2.0)),
    "container_usage_values": one("container_usage", put("net_in", 101.5)),
    "batch_task_values": one("batch_task", put("plan_mem", 102.0)),
    "batch_instance_values": one("batch_instance", put("mem_max", 200.0)),
    "machine_meta_times": one("machine_meta", last(time_stamp=800_000)),
    "machine_usage_times": one("machine_usage", last(time_stamp=800_000)),
    "container_meta_times": one("container_meta", last(time_stamp=800_000)),
    "container_usage_times": one("container_usage", last(time_stamp=800_000)),
    "batch_task_times": one("batch_task", put("end_time", 800_000)),
    "batch_instance_times": one("batch_instance", lone_task_ends_late),
    "batch_task_ends": one("batch_task", ends_early),
    "batch_instance_ends": one("batch_instance", ends_early),
    "batch_task_dependencies_exist": one("batch_task", tasks("M1", "R2_99")),
    "batch_task_dependencies_end": one("batch_task", tasks("M1_3", "R2_1", "R3_2")),
    "machine_usage_machines_exist": one("machine_usage", put("machine_id", "m_none")),
    "container_meta_machines_exist": one("container_meta", put("machine_id", "m_none")),
    "container_usage_machines_exist": one("container_usage", put("machine_id", "m_none")),
    "batch_instance_machines_exist": one("batch_instance", put("machine_id", "m_none")),
    "container_usage_named": one("container_usage", put("container_id", None)),
    "container_usage_containers_exist": one("container_usage", put("container_id", "c_none")),
    "batch_instance_tasks_exist": one("batch_instance", put("task_name", "M999")),
}

COLLECTION, INSTANCE = ("collection_id",), ("collection_id", "instance_index")
TOO_LONG: Callable[[Row], int] = lambda row: row["start_time"] + 300_000_001  # noqa: E731

BORG: dict[str, Fault] = {
    "collection_events_codes": one("collection_events", put("scheduling_class", 4)),
    "instance_events_codes": one("instance_events", put("scheduling_class", 4)),
    "instance_usage_codes": one("instance_usage", put("collection_type", 2)),
    "machine_events_codes": one("machine_events", add(type=4)),
    "borg_traces_data_codes": one("borg_traces_data", put("scheduling_class", 4)),
    "collection_events_priorities": one("collection_events", put("priority", 451)),
    "instance_events_priorities": one("instance_events", put("priority", -1)),
    "borg_traces_data_priorities": one("borg_traces_data", put("priority", 451)),
    "collection_events_times": one("collection_events", put("time", -1, time=0)),
    "instance_events_times": one("instance_events", put("time", -1, time=0)),
    "machine_events_times": one("machine_events", put("time", -1, time=0)),
    "machine_attributes_times": one("machine_attributes", put("time", -1, time=0)),
    "collection_events_duplicates": one("collection_events", again),
    "instance_events_duplicates": one("instance_events", again),
    "machine_events_duplicates": one("machine_events", again),
    "instance_usage_duplicates": one("instance_usage", again),
    "borg_traces_data_duplicates": one("borg_traces_data", again),
    "collection_events_hashes": one("collection_events", put("user", "alice")),
    "borg_traces_data_hashes": one("borg_traces_data", put("collection_logical_name", "alice")),
    "instance_usage_maxima": one("instance_usage", put("maximum_usage.cpus", 0.0)),
    "borg_traces_data_maxima": one("borg_traces_data", put("maximum_usage.memory", 0.0)),
    "collection_life_cycle": one("collection_events", follow("type", 6, 7)),
    "collection_begins_with_submit": one("collection_events", begins_with_schedule("type", COLLECTION, 3, 10), 1),
    "instance_life_cycle": one("instance_events", follow("type", 6, 7)),
    "instance_begins_with_submit": one("instance_events", begins_with_schedule("type", INSTANCE, 3, 10), 1),
    "machine_life_cycle": one("machine_events", next_machine_event("type", 1, 2)),
    "collection_events_alloc_sets_exist": one("collection_events", put("alloc_collection_id", UNKNOWN_ID, collection_type=0)),
    "instance_events_alloc_sets_exist": one("instance_events", unknown_alloc_set),
    "instance_usage_alloc_sets_exist": one("instance_usage", put("alloc_collection_id", UNKNOWN_ID)),
    "alloc_sets_not_nested": one("collection_events", nested),
    "collection_parents_exist": one("collection_events", put("parent_collection_id", UNKNOWN_ID)),
    "instance_events_collections_exist": one("instance_events", add(collection_id=UNKNOWN_ID, type=0, missing_type=None, machine_id=0), 1),
    "instance_usage_instances_exist": one("instance_usage", put("instance_index", 999_999)),
    "instance_events_machines_exist": one("instance_events", put("machine_id", UNKNOWN_ID)),
    "instance_usage_machines_exist": one("instance_usage", put("machine_id", UNKNOWN_ID)),
    "machine_attributes_machines_exist": one("machine_attributes", put("machine_id", UNKNOWN_ID)),
    "machine_events_capacities": one("machine_events", put("capacity.cpus", 1.5)),
    "instance_events_requests": one("instance_events", put("resource_request.memory", -0.5)),
    "instance_usage_periods": one("instance_usage", first(end_time=TOO_LONG)),
    "borg_traces_data_periods": one("borg_traces_data", first(end_time=TOO_LONG)),
    "instance_usage_values": one("instance_usage", put("average_usage.cpus", -1.0)),
    "borg_traces_data_values": one("borg_traces_data", put("average_usage.memory", -1.0)),
    "instance_usage_distributions": one("instance_usage", put("cpu_usage_distribution", [0.0] * 10)),
    "borg_traces_data_distributions": one("borg_traces_data", put("tail_cpu_usage_distribution", [0.5] * 8 + [0.25])),
    "borg_traces_data_types": one("borg_traces_data", put("collections_events_type", 9)),
    "borg_traces_data_failed": one("borg_traces_data", first(failed=lambda row: not row["failed"])),
}

FAULTS: dict[str, dict[str, Fault]] = {
    "google-2011-v2.1": GOOGLE,
    "alibaba-2018": ALIBABA,
    "borg-2019": BORG,
}
