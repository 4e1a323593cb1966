"""The examples of the package run as they are, and the pages about it are true."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import tracelake

ROOT = Path(__file__).parents[3]

#: The modules whose docstrings have examples.
MODULES = [
    "tracelake",
    *(f"tracelake._{name}" for name in "asking errors figures files lake making queries reader reading report schema show".split()),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = {"tracelake": tracelake}
    examples = [found for found in finder.find(importlib.import_module(name), extraglobs=names) if found.examples]
    assert examples
    for number, example in enumerate(examples):
        directory = tmp_path / str(number)
        directory.mkdir()
        monkeypatch.chdir(directory)
        runner.run(example)
    assert runner.summarize().failed == 0


def test_the_version_is_that_of_the_workspace() -> None:
    assert f'\nversion = "{tracelake.__version__}"\n' in (ROOT / "Cargo.toml").read_text()


def test_the_licences_are_those_of_the_workspace() -> None:
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert (ROOT / "crates/python" / name).read_bytes() == (ROOT / name).read_bytes()


def rows_of(found: Any) -> list[tuple[object, ...]]:
    """The rows of anything that a package returns, without the order that it chose."""
    pa = pytest.importorskip("pyarrow")
    if isinstance(found, Iterator):
        found = pa.Table.from_batches(list(found))
    if hasattr(found, "collect"):
        found = found.collect()
    if type(found).__module__.startswith("pandas"):
        # Integers that are NULL in places are floats in some packages.
        found = pa.Table.from_pandas(found.astype({"missing_info": "float64", "machine_id": "float64"}), preserve_index=False)
    if hasattr(found, "to_arrow_table"):
        found = found.to_arrow_table()
    table = pa.table(found)
    names = sorted(table.column_names)
    columns = [[None if value != value else value for value in table[name].to_pylist()] for name in names]
    return sorted(zip(*columns, strict=True), key=repr)


def test_the_comparison_with_other_packages_is_true(tmp_path: Path) -> None:
    names: dict[str, Any] = {"tracelake": tracelake}
    for name, module in [("deltalake",) * 2, ("lance",) * 2, ("duckdb",) * 2, ("pl", "polars"), ("pa", "pyarrow"), ("ds", "pyarrow.dataset")]:
        names[name] = pytest.importorskip(module)
    pytest.importorskip("pandas")
    pa, ds = names["pa"], names["ds"]
    tracelake.generate("google-2011-v2.1", "trace", rows=2000)
    lake = tracelake.convert("trace", "lake", tables="task_events")
    rows = lake["task_events"].to_arrow()
    names["deltalake"].write_deltalake("delta", rows)
    names["lance"].write_dataset(rows, "lance")
    partitions = ds.partitioning(pa.schema([("file_number", pa.int32())]), flavor="hive")
    ds.write_dataset(rows, "parquet", format="parquet", partitioning=partitions)

    section = (ROOT / "docs/internals/comparison.md").read_text().split("## Packages that open tables")[1].split("\n## ")[0]
    head, *lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| ")
    ]
    versions = [f"{module} {version(package)}" for module, package in
                [("deltalake", "deltalake"), ("Lance", "pylance"), ("pyarrow.dataset", "pyarrow")]]  # fmt: skip
    assert all(found.startswith(wanted) for found, wanted in zip(versions, head[2:], strict=True)), versions
    tables: list[Any] = []
    compared = 0
    for what, *cells in lines:
        codes = [cell.strip("`") if cell.startswith("`") else None for cell in cells]
        if what == "open":
            tables = [eval(code, dict(names)) for code in codes if code]
            continue
        answers = [
            eval(code, dict(names, events=table, lake=lake)) for code, table in zip(codes, tables, strict=True) if code
        ]
        if what == "count":
            assert answers == [lake.rows] * 4
        elif what == "first rows":
            assert [len(answer) for answer in answers] == [5] * 4
        elif what.startswith("codes"):
            assert cells[1:] == ["by hand"] * 3 and "KILL" in answers[0]["event_type"].to_pylist()
        elif what.startswith("integers"):
            kinds = [str(frame.to_pandas()["missing_info"].dtype) for frame in (lake["task_events"], tables[1])]
            kinds += [str(table.to_table().to_pandas()["missing_info"].dtype) for table in tables[2:]]
            assert cells == ["integers" if kind.startswith("int") else "floats" for kind in kinds], kinds
        else:
            found = [rows_of(answer) for answer in answers]
            assert found == [found[0]] * 4 and len(found[0]) > 0, what
            compared += 1
    assert compared == 6


def test_the_tour_runs_as_a_notebook(tmp_path: Path) -> None:
    for extra in ("duckdb", "ipykernel", "matplotlib"):
        pytest.importorskip(extra)
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "docs/tour/tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    # The library prints nothing to stderr, not even here.
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
