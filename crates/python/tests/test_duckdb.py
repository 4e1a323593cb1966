"""The views of a lake in a connection of the user's own, next to the user's own tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracelake

duckdb = pytest.importorskip("duckdb")

PROGRAM = Path(sys.executable).with_name("tracelake")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_it_joins_with_the_users_own_tables(source: Path, kind: str) -> None:
    lake = tracelake.convert(source, "lake", format=kind)  # type: ignore[arg-type]
    own = duckdb.connect()
    own.execute("CREATE TABLE wanted AS SELECT * FROM (VALUES ('KILL', 1), ('FAIL', 2)) AS t(event_type, weight)")
    assert lake.duckdb(own) is own
    sql = "SELECT sum(weight) FROM task_events_named JOIN wanted USING (event_type)"
    events = lake.scan("task_events").collect()["event_type"].to_list()
    assert own.sql(sql).fetchall() == [(events.count(5) + 2 * events.count(3),)]
    # A cell of a notebook is run again.
    assert lake.duckdb(own).sql(sql).fetchall() == own.sql(sql).fetchall()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_two_lakes_in_one_connection(source: Path, kind: str) -> None:
    one = tracelake.convert(source, "one", tables="job_events", format=kind)  # type: ignore[arg-type]
    two = tracelake.convert(source, "two", tables="job_events", parts=0, allow_missing=True, format=kind)  # type: ignore[arg-type]
    own = one.duckdb()
    with pytest.raises(tracelake.UsageError, match="connection: it has another 'job_events'; .*schema=") as caught:
        two.duckdb(own)
    assert isinstance(caught.value, ValueError)
    for _ in range(2):
        two.duckdb(own, schema="it's two")
    assert own.sql("SELECT current_schema()").fetchall() == [("main",)]
    for view in ("job_events", "job_events_named"):
        counted = [own.sql(f"SELECT count(*) FROM {place}.{view}").fetchall()[0][0] for place in ("main", '"it\'s two"')]
        assert counted == [one.rows, two.rows] and one.rows != two.rows


@pytest.mark.parametrize("made", ["TABLE job_events AS SELECT 1 AS x", "VIEW job_events_named AS SELECT 1 AS x"])
def test_what_is_not_ours_is_never_replaced(lake: tracelake.Lake, made: str) -> None:
    own = duckdb.connect()
    own.execute(f"CREATE {made}")
    with pytest.raises(tracelake.UsageError, match="another 'job_events"):
        lake.duckdb(own)
    name = made.split()[1]
    assert own.sql(f"FROM {name}").fetchall() == [(1,)]
    assert own.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(int(made.startswith("VIEW")),)]


def test_a_connection_to_a_file_keeps_the_views(lake: tracelake.Lake) -> None:
    with duckdb.connect("own.duckdb") as own:
        lake.duckdb(own)
    with duckdb.connect("own.duckdb") as own:
        assert own.sql("SELECT count(*) FROM job_events").fetchall() == [(lake["job_events"].rows,)]
        lake.duckdb(own)


@pytest.mark.parametrize("wrong", ["own.duckdb", 5, True])
def test_what_is_no_connection(lake: tracelake.Lake, wrong: Any) -> None:
    with pytest.raises(TypeError, match="connection: expected a duckdb.DuckDBPyConnection, not"):
        lake.duckdb(wrong)
    with pytest.raises(TypeError, match="schema: expected a str, not int"):
        lake.duckdb(schema=5)  # type: ignore[arg-type]


def test_the_number_of_the_file_has_one_type(lake: tracelake.Lake) -> None:
    pa = pytest.importorskip("pyarrow")
    for table in lake:
        for view in (table, f"{table}_named"):
            relation = lake.duckdb().sql(f"SELECT file_number FROM {view}")
            assert relation.types == ["INTEGER"]
        assert lake[table].to_arrow().schema.field("file_number").type == pa.int32()
        assert str(lake[table].scan().collect_schema()["file_number"]) == "Int32"
        assert str(lake[table].to_pandas().dtypes["file_number"]) == "int32[pyarrow]"


@pytest.mark.parametrize("directory", ["lake", "it's [1]", "a*b", "year=2011 x"])
def test_the_program_prints_the_views_of_a_lake(source: Path, directory: str) -> None:
    lake = tracelake.convert(source, directory)
    # What the manifest doesn't name isn't there.
    part = Path(directory, lake["job_events"].parts[0].output.path)
    shutil.copy(part, part.with_name("copy.parquet"))
    printed = subprocess.run([PROGRAM, "schema", directory, "--as", "duckdb"], check=True, capture_output=True, text=True)
    own = duckdb.connect()
    own.execute(printed.stdout)
    for name, table in lake.items():
        counted = own.sql(f"SELECT file_number, count(*) FROM {name} GROUP BY ALL ORDER BY ALL").fetchall()
        assert counted == [(part.file_number, part.rows_out) for part in table.parts]
        assert own.sql(f"SELECT count(*) FROM {name}_named").fetchall() == [(table.rows,)]
