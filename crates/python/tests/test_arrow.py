"""Other libraries take what the package gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelake

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet  # noqa: E402


def test_a_schema_is_that_of_the_lake(lake: tracelake.Manifest) -> None:
    for table in lake.tables:
        schema = pa.schema(tracelake.schema(lake.trace, table.name))
        file = pyarrow.parquet.ParquetFile(Path(lake.path, table.parts[0].output.path))
        assert schema.equals(file.schema_arrow, check_metadata=False)
        for field in schema:
            assert field.metadata[b"comment"] == file.schema_arrow.field(field.name).metadata[b"comment"]


def test_scan_is_lazy_and_has_the_partition(lake: tracelake.Manifest) -> None:
    pl = pytest.importorskip("polars")
    for table in lake.tables:
        frame = tracelake.scan(lake.path, table.name)
        assert isinstance(frame, pl.LazyFrame)
        counted = frame.group_by("file_number").agg(pl.len()).sort("file_number").collect()
        assert counted.rows() == [(part.file_number, part.rows_out) for part in table.parts]
    with pytest.raises(tracelake.UsageError, match="it has job_events"):
        lake.scan("nosuch")


def test_scan_of_a_flat_lake(source: Path) -> None:
    pytest.importorskip("polars")
    lake = tracelake.convert(source, "flat", tables="job_events", layout="flat")
    assert lake.scan("job_events").collect().height == lake.rows


@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_duckdb_has_the_tables_and_the_named_views(source: Path, layout: str) -> None:
    pytest.importorskip("duckdb")
    lake = tracelake.convert(source, "it's", layout=layout)  # type: ignore[arg-type]
    connection = lake.duckdb()
    for table in lake.tables:
        for name in (table.name, f"{table.name}_named"):
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (table.rows,)
    names = connection.execute("SELECT DISTINCT event_type FROM machine_events_named").fetchall()
    assert ("ADD",) in names


def test_duckdb_of_every_trace() -> None:
    pytest.importorskip("duckdb")
    for trace in tracelake.traces():
        tracelake.generate(trace, f"{trace}-source", parts=1, rows=300)
        lake = tracelake.convert(f"{trace}-source", trace)
        connection = lake.duckdb()
        for table in lake.tables:
            assert connection.execute(f"SELECT count(*) FROM {table.name}_named").fetchone() == (table.rows,)
