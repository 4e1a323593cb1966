"""The examples of the package, of the README and of the pages run as they are."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracelake

ROOT = Path(__file__).parents[3]

#: The modules whose docstrings have examples.
MODULES = [
    "tracelake",
    *(f"tracelake._{name}" for name in "errors figures files lake queries reader report schema show".split()),
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


def blocks(text: str) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_blocks_run_in_order_in_one_directory() -> None:
    for extra in ("duckdb", "matplotlib", "polars", "pyarrow"):
        pytest.importorskip(extra)
    for page in ["README.md", "docs/python.md", "docs/checks.md", "docs/report.md"]:
        text = (ROOT / page).read_text()
        if page == "README.md":
            text = text.split("\n## Python\n")[1].split("\n## ")[0]
        found = blocks(text)
        assert found
        names: dict[str, object] = {}
        for block in found:
            exec(compile(block, page, "exec"), names)


def test_the_version_is_that_of_the_workspace() -> None:
    assert f'\nversion = "{tracelake.__version__}"\n' in (ROOT / "Cargo.toml").read_text()


def test_the_tour_prints_and_plots_what_it_says() -> None:
    for extra in ("duckdb", "matplotlib"):
        pytest.importorskip(extra)
    tour = subprocess.run(
        [sys.executable, str(ROOT / "crates/python/tour.py")], capture_output=True, text=True, check=False
    )
    assert tour.returncode == 0, tour.stderr


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
