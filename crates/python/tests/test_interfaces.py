"""What engines take of a lake without its methods: the same rows in the lowest version that is allowed and in the newest."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tracelake

PACKAGE = Path(__file__).parents[1]
PART = "job_events/part-00000-of-00002.csv.gz"


def test_duckdb_reads_a_table_by_its_name_in_python(lake: tracelake.Lake) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    events = lake["job_events"]
    assert duckdb.sql("SELECT count(*) FROM events").fetchall() == [(events.rows,)]
    by_part = duckdb.sql("SELECT file_number, count(*) FROM events GROUP BY ALL ORDER BY ALL").fetchall()
    assert by_part == [(part.file_number, part.rows_out) for part in events.parts]
    assert duckdb.sql("SELECT count(time) FROM events WHERE file_number = 1").fetchall()[0][0] > 0


def test_the_views_outlive_the_lake_in_one_expression(lake: tracelake.Lake) -> None:
    pytest.importorskip("duckdb")
    rows = tracelake.open(lake.path).duckdb().sql("SELECT count(*) FROM job_events").fetchall()
    assert rows == [(lake["job_events"].rows,)]


def test_polars_takes_all_rows_of_a_reader_and_of_a_table(source: Path, lake: tracelake.Lake) -> None:
    pl: Any = pytest.importorskip("polars")
    first = lake["job_events"].parts[0]
    frame = pl.DataFrame(tracelake.read_part(source / PART))
    assert frame.height == first.rows_out and list(frame.columns) == list(tracelake.schema(lake.trace, "job_events"))
    pytest.importorskip("pyarrow")
    assert pl.DataFrame(lake["job_events"]).height == lake["job_events"].rows


def test_pandas_and_pyarrow_take_all_rows(source: Path, lake: tracelake.Lake) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    table = lake["job_events"]
    assert pa.table(tracelake.read_part(source / PART)).num_rows == table.parts[0].rows_out
    assert pa.table(table).num_rows == table.rows
    pytest.importorskip("pandas")
    assert len(table.to_pandas()) == table.rows


def test_the_schema_of_a_table_is_that_of_its_stream(lake: tracelake.Lake) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    for table in lake.values():
        streamed = pa.RecordBatchReader.from_stream(table).schema
        assert [(one.name, one.type) for one in pa.schema(table.schema)] == [(one.name, one.type) for one in streamed]
        assert list(table.schema) == streamed.names and table.schema["file_number"].type == "Int32"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_the_lowest_versions_are_tested() -> None:
    import tomllib

    said = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lowest: dict[str, set[str]] = {}
    for requirement in (one for extra in said.values() for one in extra):
        name, _, version = requirement.partition(">=")
        lowest.setdefault(name, set()).add(version)
    pinned = dict(re.findall(r"^([a-z]+)==([0-9.]+)$", (PACKAGE / "requirements-lowest.txt").read_text(), re.M))
    for name, versions in lowest.items():
        (version,) = versions
        assert pinned[name] == version or pinned[name].startswith(f"{version}."), name
