"""Other libraries take what the package gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracelake
from conftest import SIMULATED

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
    for trace in SIMULATED:
        tracelake.generate(trace, f"{trace}-source", parts=1, rows=300)
        lake = tracelake.convert(f"{trace}-source", trace)
        connection = lake.duckdb()
        for table in lake.tables:
            assert connection.execute(f"SELECT count(*) FROM {table.name}_named").fetchone() == (table.rows,)


PART = "task_events/part-00000-of-00002.csv.gz"


def lake_part(lake: tracelake.Manifest) -> object:
    return pyarrow.parquet.ParquetFile(Path(lake.path, lake["task_events"].parts[0].output.path)).read()


def test_a_part_is_read_by_every_library(source: Path, lake: tracelake.Manifest) -> None:
    expected = lake_part(lake)
    table = pa.table(tracelake.read_part(source / PART))
    assert table.equals(expected)
    pl = pytest.importorskip("polars")
    assert pl.DataFrame(tracelake.read_part(source / PART)).equals(pl.DataFrame(expected))
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.from_arrow(tracelake.read_part(source / PART))
    assert relation.aggregate("count(*), sum(job_id)").fetchall() == [
        (expected.num_rows, sum(expected["job_id"].to_pylist()))
    ]
    pandas = pytest.importorskip("pandas")
    # New in pandas 3.
    from_arrow = getattr(pandas.DataFrame, "from_arrow", None) or (lambda reader: pa.table(reader).to_pandas())
    frame = from_arrow(tracelake.read_part(source / PART))
    pandas.testing.assert_frame_equal(frame, expected.to_pandas(), check_dtype=False)


def test_a_part_is_read_once(source: Path) -> None:
    reader = tracelake.read_part(source / PART, trace="google-2011-v2.1", table="task_events", threads=1)
    assert pa.schema(reader).equals(pa.schema(tracelake.schema("google-2011-v2.1", "task_events")))
    assert pa.table(reader).num_rows > 0
    with pytest.raises(tracelake.UsageError, match="taken before"):
        pa.table(reader)


def test_a_bad_row_of_a_part(own_source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import gzip

    part = own_source / PART
    lines = gzip.decompress(part.read_bytes()).split(b"\n")
    lines[2] = b"12x" + lines[2]
    part.write_bytes(gzip.compress(b"\n".join(lines)))
    reader = tracelake.read_part(part)
    assert reader.error is None
    with pytest.raises(Exception, match="task_events.time: not an integer") as caught:
        pa.table(reader)
    assert not isinstance(caught.value, tracelake.TracelakeError)
    error = reader.error
    assert isinstance(error, tracelake.BadRowError)
    assert (error.path, error.line, error.column, error.field) == (str(part), 3, 1, "task_events.time")
    reader = tracelake.read_part(part, on_bad_row="reject")
    assert pa.table(reader).num_rows == len(lines) - 2
    assert reader.rejected == 1 and reader.error is None
    assert capfd.readouterr() == ("", "")


def test_a_part_that_cannot_be_opened(source: Path) -> None:
    with pytest.raises(tracelake.FailedError, match="nosuch"):
        tracelake.read_part("nosuch.csv.gz")
    with pytest.raises(tracelake.FailedError, match="directory"):
        tracelake.read_part(source)
    for names in ({"trace": "nosuch"}, {"table": "nosuch"}, {"on_bad_row": "nosuch"}):
        with pytest.raises(tracelake.UsageError):
            tracelake.read_part(source / PART, **names)  # type: ignore[arg-type]


def test_an_arrow_lake_is_scanned(source: Path, lake: tracelake.Manifest) -> None:
    pytest.importorskip("polars")
    made = tracelake.convert(source, "arrow", format="arrow")
    for table in lake.tables:
        frame = made.scan(table.name).sort("file_number", maintain_order=True).collect()
        assert frame.equals(lake.scan(table.name).sort("file_number", maintain_order=True).collect())
        views = f"FROM {table.name}_named ORDER BY ALL"
        assert made.duckdb().sql(views).fetchall() == lake.duckdb().sql(views).fetchall()
