"""A selection in Python, and its rule in the engines that repeat it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tracelake

TRACE = "google-2011-v2.1"
ROOT = Path(__file__).parents[3]
ROWS = ROOT.parent / "shared" / "data"

#: The condition of class 3 of 16, as the data dictionary writes it for class 0.
DUCKDB = "('0x' || left(md5(coalesce({key}::VARCHAR, '')), 8))::BIGINT % 16 = 3"
SPARK = "CAST(conv(left(md5(coalesce(CAST({key} AS STRING), '')), 8), 16, 10) AS BIGINT) % 16 = 3"


def in_class(key: object) -> bool:
    """The condition in Python."""
    text = "" if key is None else str(key)
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) % 16 == 3


def test_the_data_dictionary_has_these_expressions() -> None:
    page = tracelake.schema(TRACE).to("markdown")
    assert DUCKDB.format(key="job_id").replace("= 3", "= 0") in page
    assert SPARK.format(key="job_id").replace("= 3", "= 0") in page


def test_duckdb_and_hashlib_draw_the_same_sample(source: Path, lake: tracelake.Manifest, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pl = pytest.importorskip("polars")
    sample = tracelake.convert(source, tmp_path / "sample", sample="3/16")
    for name, key in (("job_events", "job_id"), ("task_events", "job_id"), ("task_usage", "job_id")):
        found = sample[name].to_polars()
        connection = lake.duckdb()
        expected = connection.sql(f"SELECT * FROM {name} WHERE {DUCKDB.format(key=key)}").pl()
        order = list(found.columns)
        assert found.sort(order).equals(expected.select(order).sort(order)), name
        whole = lake[name].to_polars()
        keys = [one for one in whole[key].unique() if in_class(one)]
        assert found.height == whole.filter(pl.col(key).is_in(keys)).height > 0, name
    assert sample["machine_events"].rows == lake["machine_events"].rows
    assert tracelake.verify(sample, source=source).findings == ()


@pytest.mark.parametrize("table", ["job_events", "task_events"])
def test_published_jobs_are_those_of_duckdb(table: str, tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    folder = ROWS / ("google-2011" if table == "job_events" else "google-2011-task-events")
    if not folder.exists():
        pytest.skip("needs the published rows in ../shared/data")
    options: dict[str, Any] = {"tables": table, "allow_missing": True}
    whole = tracelake.convert(folder, tmp_path / "whole", **options)
    sample = tracelake.convert(folder, tmp_path / "sample", sample="3/16", **options)
    files = f"'{whole.path}/{table}/*/*.parquet'"
    drawn = f"'{sample.path}/{table}/*/*.parquet'"
    condition = DUCKDB.format(key="job_id")
    difference = f"""(SELECT * FROM {files} WHERE {condition} EXCEPT ALL SELECT * FROM {drawn})
        UNION ALL (SELECT * FROM {drawn} EXCEPT ALL SELECT * FROM {files} WHERE {condition})"""
    assert duckdb.sql(difference).fetchall() == []
    assert duckdb.sql(f"SELECT count(*) FROM {drawn}").fetchall()[0][0] == sample[table].rows > 0
    pl = pytest.importorskip("polars")
    frame, found = whole[table].to_polars(), sample[table].to_polars()
    page = tracelake.schema(TRACE).to("markdown")
    [expression] = re.findall(r"^- Polars, for a DataFrame `frame`: `(.*)`$", page, re.MULTILINE)
    # Names inside a comprehension that eval() runs are global.
    names = {"pl": pl, "hashlib": hashlib, "frame": frame}
    assert frame.filter(eval(expression.replace("== 0", "== 3"), names)).equals(found)


def test_a_part_is_read_as_it_is_converted(source: Path, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    lake = tracelake.convert(source, tmp_path / "lake", sample="0/4", columns=["job_events.job_id", "job_events.event_type"], time="0..2d")
    assert lake["job_events"].schema.columns[0].name == "job_id"
    rows = []
    for path in sorted((source / "job_events").iterdir()):
        reader = tracelake.read_part(path, sample="0/4", columns=["job_id", "event_type"], time="0..2d")
        assert [column.name for column in reader.schema.columns] == reader.columns == ["job_id", "event_type"]
        rows.append(pl.DataFrame(reader))
    found = lake["job_events"].to_polars().drop("file_number")
    assert pl.concat(rows).equals(found)
    facts = lake["job_events"].parts[0]
    assert facts.rows_in == facts.rows_out + facts.rows_rejected + (facts.rows_not_selected or 0)
    assert facts.time_min is None
    connection = lake.duckdb()
    assert connection.sql("SELECT count(*) FROM job_events_named").fetchall()[0][0] == found.height


@pytest.mark.parametrize(
    "options",
    [{"sample": "4/4"}, {"sample": "0/4", "sample_by": "jobs"}, {"columns": "usr"}, {"time": "5..5"}, {"sample_by": "job"}],
)
def test_what_is_no_selection_is_a_usage_error(source: Path, options: dict[str, Any]) -> None:
    path = next((source / "job_events").iterdir())
    with pytest.raises(tracelake.UsageError):
        tracelake.read_part(path, **options)
    with pytest.raises(tracelake.UsageError):
        tracelake.convert(source, "lake", tables="job_events", **options)


def test_checks_say_what_a_subset_cannot_answer(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    sample = tracelake.convert(source, tmp_path / "sample", sample="0/2", columns="task_events.time,task_events.job_id")
    result = tracelake.check(sample)
    skipped = [one for one in result if one.status == "skipped"]
    reasons = {one.reason for one in skipped}
    assert any("and the lake has a selection" in str(reason) for reason in reasons), reasons
    assert any("all columns of task_events" in str(reason) for reason in reasons), reasons
    assert len(skipped) < len(list(result))
    page = tmp_path / "report.html"
    pytest.importorskip("matplotlib")
    tracelake.report(sample, page)
    assert "sample" in page.read_text(encoding="utf-8")


def test_a_release_says_how_its_rows_were_selected(source: Path, tmp_path: Path) -> None:
    sample = tracelake.convert(source, tmp_path / "sample", sample="3/16")
    tracelake.release(sample)
    card = Path(sample.path, "README.md").read_text(encoding="utf-8")
    assert "This is not the whole trace" in card
    assert DUCKDB.format(key="job_id") in card
    assert SPARK.format(key="job_id") in card
    croissant = json.loads(Path(sample.path, "croissant.json").read_text(encoding="utf-8"))
    assert "subset of the trace, selected by `--sample 3/16`" in croissant["description"]
    assert tracelake.verify(sample).findings == ()
