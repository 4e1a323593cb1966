"""Tables of a lake as DataFrames of Spark, in one process."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracelake

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def readable(tmp_path_factory: pytest.TempPathFactory) -> tracelake.Manifest:
    """A small lake, to be read."""
    directory = tmp_path_factory.mktemp("readable")
    tracelake.generate("google-2011-v2.1", directory / "trace", parts=2, rows=2000)
    return tracelake.convert(directory / "trace", directory / "lake")


def rows_of(lake: tracelake.Manifest, table: str) -> list[dict[str, Any]]:
    """The rows of a table with the numbers of their parts, in an order."""
    import pyarrow.parquet as pq

    files = [(part.file_number, pq.ParquetFile(Path(lake.path, part.output.path))) for part in lake[table].parts]
    rows = [dict(row, file_number=number) for number, file in files for row in file.read().to_pylist()]
    return sorted(rows, key=repr)


@pytest.mark.parametrize(
    ("name", "decoy"),
    [
        ("g[1]", "g1"),
        ("a*b", "axb"),
        ("q?", "qx"),
        ("{a,b}", "a"),
        ("back\\[1]", None),
        ("year=2011", None),
        ("file_number=9", None),
        ("100%20x", "100 x"),
        ("sp ace", None),
        ("h#x", None),
        ("it's $x^", None),
        ("é", None),
    ],
)
def test_read_takes_the_files_of_the_manifest(
    spark: Any, readable: tracelake.Manifest, name: str, decoy: str | None
) -> None:
    for directory in (name, decoy):
        if directory is not None:
            shutil.copytree(readable.path, Path(directory, "lake"))
    if decoy is not None:
        shutil.rmtree(Path(decoy, "lake", "job_events/file_number=1"))
    part = Path(name, "lake", readable["job_events"].parts[0].output.path)
    shutil.copy(part, part.with_name("copy.parquet"))
    for table in ("job_events", "machine_events"):
        frame = tracelake.spark.read(spark, f"{name}/lake", table)
        assert frame.columns == [*tracelake.schema(readable.trace, table), "file_number"]
        assert dict(frame.dtypes)["file_number"] == "int"
        expected = rows_of(readable, table)
        assert sorted((row.asDict() for row in frame.collect()), key=repr) == expected
        first = frame.where("file_number = 0")
        assert first.count() == sum(row["file_number"] == 0 for row in expected)
        assert len(first.inputFiles()) == len(frame.inputFiles()) == len(readable[table].parts)


def test_read_shows_names_and_times(spark: Any, readable: tracelake.Manifest) -> None:
    frame = tracelake.spark.read(spark, readable.path, "machine_events", named=True)
    codes = tracelake.schema(readable.trace, "machine_events")["event_type"].codes
    plain = tracelake.spark.read(spark, readable.path, "machine_events")
    expected = {codes[row["event_type"]]: row["count"] for row in plain.groupBy("event_type").count().collect()}
    assert {row["event_type"]: row["count"] for row in frame.groupBy("event_type").count().collect()} == expected
    assert dict(frame.dtypes)["time_timestamp"] == "timestamp" and frame.columns[-1] == "file_number"
    # 0 means before the trace, which is no time.
    before = plain.where("time = 0").count()
    assert frame.where("time_seconds IS NULL").count() == before > 0


@pytest.mark.parametrize("trace", ["google-2011-v2.1", "alibaba-2018"])
def test_named_rows_are_those_of_other_engines(spark: Any, trace: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    tracelake.generate(trace, "trace", rows=300)
    for layout in ("hive", "flat"):
        lake = tracelake.convert("trace", layout, layout=layout)  # type: ignore[arg-type]
        for name, table in lake.items():
            frame = tracelake.spark.read(spark, lake, name, named=True)
            wanted = table.to_arrow(named=True)
            assert frame.columns == wanted.column_names
            # Spark's timestamps have a time zone, and Python gets them without one.
            moments = [column for column, kind in frame.dtypes if kind == "timestamp"]
            frame = frame.selectExpr(*(f"unix_micros({one}) AS {one}" if one in moments else one for one in frame.columns))
            for one in moments:
                place = wanted.column_names.index(one)
                wanted = wanted.set_column(place, one, wanted[one].cast("int64"))
            assert sorted(repr(row.asDict()) for row in frame.collect()) == sorted(map(repr, wanted.to_pylist()))


def test_read_has_the_cell(spark: Any) -> None:
    for cell in "ab":
        tracelake.generate("borg-2019", f"trace/clusterdata_2019_{cell}", rows=300, seed=ord(cell))
    for layout in ("hive", "flat"):
        lake = tracelake.convert("trace", f"cell=z/{layout}", layout=layout)  # type: ignore[arg-type]
        for named in (False, True):
            frame = tracelake.spark.read(spark, lake.path, "machine_events", named=named)
            assert frame.columns[-2:] == ["cell", "file_number"] and dict(frame.dtypes)["file_number"] == "int"
            found = {row["cell"]: row["count"] for row in frame.groupBy("cell").count().collect()}
            parts = lake["machine_events"].parts
            assert found == {cell: sum(part.rows_out for part in parts if part.cell == cell) for cell in "ab"}


def test_read_refuses_what_it_can_not_read(spark: Any, readable: tracelake.Manifest) -> None:
    with pytest.raises(KeyError, match="it has job_events"):
        tracelake.spark.read(spark, readable.path, "nosuch")
    lake = tracelake.convert(Path(readable.path).parent / "trace", "arrow", tables="job_events", format="arrow")
    with pytest.raises(tracelake.UsageError, match="Arrow"):
        tracelake.spark.read(spark, lake.path, "job_events")
    lake = tracelake.convert(Path(readable.path).parent / "trace", "lake", tables="job_events")
    gone = Path("lake", lake["job_events"].parts[1].output.path).absolute()
    gone.unlink()
    with pytest.raises(tracelake.FailedError, match="is missing") as caught:
        tracelake.spark.read(spark, "lake", "job_events")
    assert caught.value.path == str(gone)


def test_the_snippets_of_the_page_on_queries_run(spark: Any, readable: tracelake.Manifest) -> None:
    import re

    page = (Path(__file__).parents[3] / "docs" / "query.md").read_text()
    found = [code for code in re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL) if "spark.read" in code]
    assert len(found) >= 4
    shutil.copytree(readable.path, "lake")
    for code in found:
        names: dict[str, Any] = {"spark": spark, "tracelake": tracelake}
        # Spark reads relative paths from where Java was started.
        exec("import tracelake.spark\n" + code.replace('"lake', f'"{Path.cwd()}/lake'), names)
        assert "answer" not in names or names["answer"].collect(), code


def test_spark_draws_the_sample_of_convert(spark: Any, readable: tracelake.Manifest, tmp_path: Path) -> None:
    source = Path(readable.path).parent / "trace"
    sample = tracelake.convert(source, tmp_path / "sample", sample="1/3", tables="job_events")
    condition = "CAST(conv(left(md5(coalesce(CAST(job_id AS STRING), '')), 8), 16, 10) AS BIGINT) % 3 = 1"
    expected = tracelake.spark.read(spark, readable, "job_events").where(condition)
    found = tracelake.spark.read(spark, sample, "job_events")
    assert expected.exceptAll(found).count() == found.exceptAll(expected).count() == 0
    assert found.count() == sample["job_events"].rows > 0


def test_the_program_prints_the_views_of_a_lake(spark: Any, readable: tracelake.Manifest) -> None:
    directory = "it's a{b} [1]"
    shutil.copytree(readable.path, directory)
    # The wheel is only on the path here, so its script isn't beside the interpreter.
    program = [sys.executable, "-m", "tracelake"]
    printed = subprocess.run([*program, "schema", directory, "--as", "spark"], check=True, capture_output=True, text=True)
    for statement in printed.stdout.split(";\n"):
        if statement.strip():
            spark.sql(statement)
    for name in ("job_events", "machine_events"):
        frame = spark.table(name)
        assert frame.columns == [*tracelake.schema(readable.trace, name), "file_number"]
        assert sorted((row.asDict() for row in frame.collect()), key=repr) == rows_of(readable, name)
        assert spark.table(f"{name}_named").count() == frame.count()


@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_cluster_writes_the_rows_of_the_programs_files(
    spark: Any, readable: tracelake.Manifest, tmp_path: Path, layout: str
) -> None:
    import pyarrow.parquet as pq

    lake = readable
    if layout == "flat":
        lake = tracelake.convert(Path(readable.path).parent / "trace", tmp_path / "lake", layout="flat")
    expected = tracelake.cluster(lake, tmp_path / "expected", by="job", files=3)
    out = tmp_path / "by [job]"
    tracelake.spark.cluster(spark, lake, out, by="job", files=3)
    compared = 0
    for table in expected.tables:
        for part in table.parts:
            files = list((out / table.name / f"file_number={part.file_number}").glob("*.parquet"))
            assert len(files) <= 1, (table.name, part.file_number)
            rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
            assert rows == pq.ParquetFile(Path(expected.path, part.output.path)).read().to_pylist()
            compared += len(rows)
    assert compared == lake.rows > 2000
    with pytest.raises(tracelake.FailedError, match="already exists"):
        tracelake.spark.cluster(spark, lake, out, by="job", files=3)
    with pytest.raises(tracelake.UnknownNameError, match="no sample key 'jobs'; it has job, machine"):
        tracelake.spark.cluster(spark, lake, out, by="jobs", files=3)
    with pytest.raises(tracelake.UsageError, match="files: 0"):
        tracelake.spark.cluster(spark, lake, out, by="job", files=0)


def test_cluster_keeps_cells_apart(spark: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    tracelake.generate("borg-2019", tmp_path / "trace", parts=2, rows=1000)
    lake = tracelake.convert(tmp_path / "trace", tmp_path / "lake", cell="a")
    key = "collection"
    expected = tracelake.cluster(lake, tmp_path / "expected", by=key, files=2)
    tracelake.spark.cluster(spark, lake, tmp_path / "out", by=key, files=2)
    for table in expected.tables:
        for part in table.parts:
            there = tmp_path / "out" / table.name / f"cell={part.cell}" / f"file_number={part.file_number}"
            rows = [row for file in there.glob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
            assert rows == pq.ParquetFile(Path(expected.path, part.output.path)).read().to_pylist()


def test_cluster_refuses_what_it_cannot_make(
    spark: Any, readable: tracelake.Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, out = Path(readable.path).parent / "trace", tmp_path / "out"
    bare = tracelake.convert(trace, tmp_path / "bare", tables="job_events", columns="time,event_type")
    with pytest.raises(tracelake.UsageError, match="no table of the lake has the key 'job'"):
        tracelake.spark.cluster(spark, bare, out, by="job", files=3)
    assert not out.exists()
    nothing = tracelake.convert(trace, tmp_path / "nothing", tables="task_usage", time="0..1us")
    assert nothing.rows == 0
    tracelake.spark.cluster(spark, nothing, tmp_path / "no-rows", by="job", files=3)
    assert not list((tmp_path / "no-rows").rglob("*.parquet"))
    monkeypatch.setattr(tracelake.spark, "_clustered", lambda frame, *_: frame.limit(1))
    with pytest.raises(tracelake.RefusedError, match="Spark wrote 1 of [0-9]+ rows"):
        tracelake.spark.cluster(spark, readable, out, by="job", files=3)
