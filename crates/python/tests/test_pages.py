"""The commands and the code of the pages run as they are, and print what the pages show."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "pages.py"
_SPEC = importlib.util.spec_from_file_location("pages", PROGRAM)
assert _SPEC is not None and _SPEC.loader is not None
pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pages)

#: The commands and functions that make a directory: the argument before it, and its name.
MAKES = re.compile(r"tracelake(?:\.| )(?:generate|convert)[( ]\"?(?P<of>[^\s\",]+)\"?,? \"?(?P<made>[\w-]+)\b")


@pytest.mark.parametrize("name", pages.pages())
def test_a_page_runs_in_order(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("duckdb", "matplotlib", "pandas", "polars", "pyarrow"):
        pytest.importorskip(extra)
    if shutil.which("jq") is None:
        pytest.skip("needs jq")
    monkeypatch.chdir(tmp_path)
    assert pages.run(name) == (pages.ROOT / name).read_text()


def test_the_comparison_is_what_its_script_prints() -> None:
    for extra in ("duckdb", "polars", "pyarrow"):
        pytest.importorskip(extra)
    assert pages.compared() == pages.COMPARISON.read_text()


@pytest.mark.parametrize("maker", ["tour.py", "pictures.py"])
def test_pages_show_what_is_made(maker: str) -> None:
    for extra in ("duckdb", "matplotlib", "nbclient", "pandas", "polars"):
        pytest.importorskip(extra)
    done = subprocess.run([sys.executable, PROGRAM.with_name(maker)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pages_are_found() -> None:
    assert len(pages.pages()) > 8


def test_each_page_has_names_of_its_own() -> None:
    """You can follow two pages in one directory: neither uses the other's names."""
    makers: dict[str, set[str]] = {}
    for name in pages.pages():
        for block in pages.blocks((pages.ROOT / name).read_text()):
            for match in MAKES.finditer(block.code):
                makers.setdefault(match["made"], set()).add(name)
    assert len(makers) > 20, makers
    assert {made: names for made, names in makers.items() if len(names) > 1} == {}
