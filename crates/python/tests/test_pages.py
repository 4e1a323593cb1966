"""The commands and the code of the pages run as they are, in the order of each page, in a clean directory.

A block runs unless it follows a comment `<!-- not run here: … -->` that says why. Programs that aren't part of the
project, such as schedulers and package managers, have stand-ins in `pages/`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

import tracelake

ROOT = Path(__file__).parents[3]
STAND_INS = Path(__file__).parent / "pages"

#: A fenced block, perhaps indented below a list item, and the comment before it.
BLOCK = re.compile(
    r"(?P<comment><!-- not run here: [^>]+ -->\n\n)?^(?P<indent> *)```(?P<language>\w+)\n(?P<code>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)

#: Preparations of pages: the directory, and how it is made.
SOURCES = {
    "clusterdata-2011-2": "google-2011-v2.1",
    "alibaba-2018": "alibaba-2018",
    "clusterdata_2019_a": "borg-2019",
    "clusterdata_2019_b": "borg-2019",
    "shards": "borg-2019",
}

#: 3 says that rows were rejected, as a page asks for.
PRELUDE = 'set -euo pipefail\ntracelake() { command tracelake "$@" || [ $? -eq 3 ]; }\n'


#: Blocks in these languages are files, which the paragraph before names last.
FILES = ("csv", "toml")


class Block(NamedTuple):
    """A block of a page that is to be run, or written to a file."""

    language: str
    code: str
    line: int
    file: str | None


def blocks(page: str) -> list[Block]:
    """The blocks of a page that run, in order."""
    found: list[Block] = []
    for match in BLOCK.finditer(page):
        language = match["language"]
        named = re.findall(r"`([\w/.-]+)`[^`]*:\s*$", page[: match.start()])
        file = named[0] if named and language in FILES else None
        if match["comment"] is None and (language in ("sh", "python", "sql") or file):
            line = page[: match.start("code")].count("\n") + 1
            found.append(Block(language, textwrap.dedent(match["code"]), line, file))
    return found


def pages() -> list[str]:
    """Every page with a block that runs. Pages about the project's own tests are for people who work on it."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    # crates/python/tour.py runs the tour, and compares what its blocks print.
    return [str(path.relative_to(ROOT)) for path in paths if path.name != "tour.md" and blocks(path.read_text())]


def prepare(page: str) -> None:
    """Makes the directories that a page takes for granted."""
    for name, trace in SOURCES.items():
        if name in page:
            tracelake.generate(trace, name, rows=2000)
    if "downloads" in page:
        for cell in "ab":
            shutil.copytree(f"clusterdata_2019_{cell}", f"downloads/clusterdata_2019_{cell}")
    if "broken" in page:
        source = Path("broken/job_events")
        source.mkdir(parents=True)
        rows = "+0,,3418309,0,user,3,name,logical\n1,,3418314,0,user,3,name,logical\n"
        for number in range(2):
            (source / f"part-0000{number}-of-00002.csv").write_text(rows[number:])
        (source / "part-00001-of-00002.csv").write_text(rows)
    for folder in ("tests", "docs"):
        os.symlink(ROOT / folder, folder)


@pytest.mark.parametrize("name", pages())
def test_a_page_runs_in_order(name: str, tmp_path: Path) -> None:
    for extra in ("duckdb", "matplotlib", "pandas", "polars", "pyarrow"):
        pytest.importorskip(extra)
    if shutil.which("jq") is None:
        pytest.skip("needs jq")
    page = (ROOT / name).read_text()
    prepare(page)
    path = os.pathsep.join([str(STAND_INS), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        where = f"{name}:{block.line}"
        if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.code)
        elif block.language == "sh":
            script = subprocess.run(
                ["bash", "-c", PRELUDE + block.code], env=environment, capture_output=True, text=True, check=False
            )
            assert script.returncode == 0, f"{where}: {block.code}{script.stdout}{script.stderr}"
        elif block.language == "sql":
            duckdb = pytest.importorskip("duckdb")
            assert duckdb.sql(block.code).fetchall(), where
        elif "spark.read" not in block.code:
            # Blank lines before the code, so that an error has the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), names)


def test_pages_are_found() -> None:
    assert len(pages()) > 8
