"""Code that is written for any data frame, with narwhals, takes tables and readers as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracelake

PART = "job_events/part-00000-of-00002.csv.gz"


def by_event(frame: Any) -> list[tuple[int, int]]:
    """The rows of each event type, in narwhals alone."""
    nw: Any = pytest.importorskip("narwhals")
    counted = frame.group_by("event_type").agg(rows=nw.len()).sort("event_type").select("event_type", "rows")
    eager = counted.collect() if isinstance(counted, nw.LazyFrame) else counted
    return list(eager.rows())


def test_narwhals_takes_a_table_in_each_form(lake: tracelake.Lake) -> None:
    nw: Any = pytest.importorskip("narwhals")
    pl: Any = pytest.importorskip("polars")
    for package in ("pandas", "pyarrow", "duckdb"):
        pytest.importorskip(package)
    events = lake["job_events"]
    counted = events.scan().group_by("event_type").len().sort("event_type").collect()
    expected = list(counted.rows())
    assert sum(rows for _, rows in expected) == events.rows and len(expected) > 1
    forms = [
        events.scan(),
        events.to_polars(),
        events.to_pandas(),
        events.to_arrow(),
        lake.duckdb().sql("SELECT * FROM job_events"),
    ]
    for form in forms:
        assert by_event(nw.from_native(form)) == expected, type(form)
    # The Arrow stream itself, without a method of ours.
    assert by_event(nw.from_arrow(events, backend=pl)) == expected


def test_narwhals_takes_a_reader(source: Path, lake: tracelake.Lake) -> None:
    nw: Any = pytest.importorskip("narwhals")
    pl: Any = pytest.importorskip("polars")
    frame = nw.from_arrow(tracelake.read_part(source / PART), backend=pl)
    assert len(frame) == lake["job_events"].parts[0].rows_out
    assert frame.schema["time"] == nw.Int64
