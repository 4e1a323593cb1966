"""A lake that is clustered, in Python and in the engines that read it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import tracelake

TRACE = "google-2011-v2.1"


def class_of(key: object, files: int) -> int:
    text = "" if key is None else str(key)
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) % files


def test_engines_find_the_rows_of_a_job(lake: tracelake.Manifest, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    pq: Any = pytest.importorskip("pyarrow.parquet")
    pl: Any = pytest.importorskip("polars")
    made = tracelake.cluster(lake.path, tmp_path / "by-job", by="job", files=4, threads=2)
    assert (made.rows, len(made["task_usage"].files)) == (lake.rows, 4)
    for name in ("job_events", "task_events", "task_usage", "task_constraints"):
        before, after = lake[name].to_polars(), made[name].to_polars()
        columns = [column for column in before.columns if column != "file_number"]
        assert after.select(columns).sort(columns).equals(before.select(columns).sort(columns)), name
        for number, file in enumerate(made[name].files):
            rows = pq.read_table(file)
            assert {class_of(key, 4) for key in rows["job_id"].unique().to_pylist()} <= {number}
            keys = rows["job_id"].to_pylist()
            assert keys == sorted(keys)
            for group in range(pq.ParquetFile(file).metadata.num_row_groups):
                first = pq.ParquetFile(file).metadata.row_group(group).sorting_columns[0]
                assert (first.descending, first.nulls_first) == (False, True)
    job = lake["task_events"].to_polars()["job_id"][0]
    pattern = f"{made.path}/task_events/*/*.parquet"
    query = f"SELECT count(*), count(DISTINCT file_number) FROM read_parquet('{pattern}') WHERE job_id = {job}"
    found = duckdb.sql(query).fetchall()[0]
    expected = lake["task_events"].to_polars().filter(pl.col("job_id") == job).height
    assert found == (expected, 1)
    assert pl.scan_parquet(pattern).filter(pl.col("job_id") == job).collect().height == expected
    assert tracelake.verify(made, source=lake.path).findings == ()


def test_checks_that_need_the_published_order_are_skipped(lake: tracelake.Manifest, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    made = tracelake.cluster(lake.path, tmp_path / "by-machine", by="machine", files=2)
    before = {one.name: one for one in tracelake.check(lake.path)}
    after = {one.name: one for one in tracelake.check(made)}
    assert before.keys() == after.keys()
    reason = "it needs the published order of the rows, and the lake is clustered by machine"
    skipped = {name for name, one in after.items() if one.reason == reason or name == "file_numbers_share_times"}
    assert skipped and all(after[name].status == "skipped" for name in skipped)
    # No other check finds anything else than before.
    for name in before.keys() - skipped:
        assert after[name].status == before[name].status, (name, after[name])
    # By job, the events of a job and of a task stay in their order.
    by_job = tracelake.cluster(lake.path, tmp_path / "by-job", by="job", files=2)
    found = {one.name: one for one in tracelake.check(by_job)}
    assert found["task_begins_with_submit"].status == before["task_begins_with_submit"].status == "passed"
    for name, one in found.items():
        assert one.status == before[name].status or "is clustered" in (one.reason or ""), one
    compact = tracelake.cluster(lake.path, tmp_path / "compact", compact=True, files=3)
    for one in tracelake.check(compact):
        of_files = one.reason == "it needs the files that were published, and the lake is clustered"
        assert one.status == before[one.name].status or of_files, one
        assert of_files == (one.name == "file_numbers_share_times")


def test_options_are_those_of_the_program(lake: tracelake.Manifest, tmp_path: Path) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "required"),
        ({"by": "job", "compact": True}, "cannot be used with"),
        ({"by": "jobs"}, "did you mean"),
        ({"by": "job", "memory": "1MB"}, "64MB"),
        ({"by": "job", "files": 0}, "files"),
    )
    for options, says in cases:
        with pytest.raises(tracelake.UsageError, match=says):
            tracelake.cluster(lake.path, tmp_path / "out", **options)
    with pytest.raises(tracelake.WrongTypeError):
        tracelake.cluster(lake.path, tmp_path / "out", by=7)  # type: ignore[arg-type]
    events: list[tracelake.Event] = []
    made = tracelake.cluster(
        lake.path,
        tmp_path / "out",
        by="job",
        tables=["job_events"],
        file_size="1GB",
        memory="64MB",
        spill=tmp_path,
        progress=events.append,
    )
    assert [table.name for table in made.tables] == ["job_events"]
    assert {event.kind for event in events} >= {"begun", "read", "started", "finished"}
    again = tracelake.cluster(lake.path, tmp_path / "out", by="job", tables="job_events", file_size=10**9)
    assert again.rows == made.rows
    with pytest.raises(tracelake.RefusedError):
        tracelake.cluster(lake.path, tmp_path / "out", by="machine")
