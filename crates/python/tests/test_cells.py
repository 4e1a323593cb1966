"""Cells: one lake of several, queried one at a time."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

import tracelake

TRACE = next(name for name in tracelake.traces() if tracelake.schema(name).cells)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directories of two cells."""
    root = tmp_path_factory.mktemp("cells")
    for seed, cell in enumerate("ab", start=1):
        tracelake.generate(TRACE, root / f"clusterdata_2019_{cell}", rows=300, seed=seed)
    return root


@pytest.fixture(scope="module")
def lake(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tracelake.Manifest:
    return tracelake.convert(source, tmp_path_factory.mktemp("lakes") / "lake")


def rows(lake: tracelake.Manifest, table: str) -> dict[str | None, int]:
    """The rows of each cell, by the manifest."""
    counted: Counter[str | None] = Counter()
    for part in lake[table].parts:
        counted[part.cell] += part.rows_out
    return dict(counted)


def test_a_lake_has_cells(lake: tracelake.Manifest) -> None:
    assert lake.cells == ("a", "b")
    assert "cells a, b" in repr(lake)
    found = tracelake.inspect(lake.path)
    assert {one.cell for one in found.tables} == {"a", "b"}
    assert "instance_usage of cell b" in repr(found)


def test_a_cell_can_be_given(source: Path, tmp_path: Path) -> None:
    files = tmp_path / "downloads"
    shutil.copytree(source / "clusterdata_2019_a", files)
    events: list[tracelake.Event] = []
    made = tracelake.convert(files, tmp_path / "lake", cell="a", progress=events.append)
    assert made.cells == ("a",)
    assert {event.cell for event in events if event.kind == "finished"} == {"a"}
    assert tracelake.verify(tmp_path / "lake", source=files).values > 0
    with pytest.raises(tracelake.UsageError, match="has no cell 'z'"):
        tracelake.convert(files, tmp_path / "lake", cell="z")
    none = tracelake.convert(files, tmp_path / "none")
    assert none.cells == () and none.tables[0].parts[0].cell is None


def test_a_source_of_one_cell_says_nothing_of_the_other(source: Path, lake: tracelake.Manifest) -> None:
    assert tracelake.verify(lake.path, source=source).not_compared == 0
    found = tracelake.verify(lake.path, source=source / "clusterdata_2019_b")
    assert found and found.not_compared == 10
    assert "10 parts of other cells" in repr(found)


@pytest.mark.parametrize("layout", ["hive", "flat"])
def test_scan_and_views_have_the_cell(source: Path, tmp_path: Path, layout: Literal["hive", "flat"]) -> None:
    lake = tracelake.convert(source, tmp_path / "lake", layout=layout)
    expected = rows(lake, "instance_usage")
    frame = lake.scan("instance_usage").group_by("cell").len().collect()
    assert dict(frame.iter_rows()) == expected
    names = lake.scan("instance_usage").collect_schema().names()
    assert names[-2:] == ["cell", "file_number"]
    connection = lake.duckdb()
    for view in ("instance_usage", "instance_usage_named"):
        counted = connection.sql(f"SELECT cell, count(*) FROM {view} GROUP BY ALL").fetchall()
        assert dict(counted) == expected


def test_arrow_lakes_have_the_cell(source: Path, tmp_path: Path) -> None:
    lake = tracelake.convert(source, tmp_path / "lake", format="arrow", tables="machine_events")
    frame = lake.scan("machine_events").group_by("cell").len().collect()
    assert dict(frame.iter_rows()) == rows(lake, "machine_events")


def test_queries_see_one_cell(source: Path, lake: tracelake.Manifest, tmp_path: Path) -> None:
    path = lake.path
    with pytest.raises(tracelake.UsageError, match="cells a, b.*--cell a"):
        tracelake.check(path)
    with pytest.raises(tracelake.UsageError, match="cells a, b.*--cell a"):
        tracelake.report(path, tmp_path / "report.html")
    with pytest.raises(tracelake.UsageError, match="cells a, b.*--cell a"):
        tracelake.derive(path, tmp_path / "derived")
    with pytest.raises(tracelake.UsageError, match="no cell 'c'; it has a, b"):
        tracelake.check(path, cell="c")
    for cell in "ab":
        alone = tracelake.convert(source / f"clusterdata_2019_{cell}", tmp_path / cell)
        none = tmp_path / f"none-{cell}"
        shutil.copytree(source / f"clusterdata_2019_{cell}", tmp_path / f"src-{cell}")
        tracelake.convert(tmp_path / f"src-{cell}", none, tables=[table.name for table in alone.tables])
        # A cell of several, a lake of one cell, and a lake that knows nothing of cells say the same.
        found = [tracelake.check(path, cell=cell), tracelake.check(alone.path), tracelake.check(none)]
        said = [[(one.name, one.status, one.findings) for one in report] for report in found]
        assert said[0] == said[1] == said[2]
        assert [report.cell for report in found] == [cell, cell, None]
        derived = tracelake.derive(path, tmp_path / f"derived-{cell}", cell=cell)
        expected = tracelake.derive(none, tmp_path / f"expected-{cell}")
        assert derived.cell == cell
        for table in expected.tables:
            query = f"SELECT * FROM {table.name} ORDER BY ALL"
            assert derived.duckdb().sql(query).fetchall() == expected.duckdb().sql(query).fetchall()
    page = tracelake.report(path, tmp_path / "report.html", cell="b")
    text = (tmp_path / "report.html").read_text()
    assert page.checks.cell == "b" and "<dt>Cell</dt><dd>b</dd>" in text
    with pytest.raises(tracelake.UsageError, match="leave the cell out"):
        tracelake.check(none, cell="a")
