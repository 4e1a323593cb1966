"""Runs docs/tour.md: every Python block in order, in a directory of its own.

    tour.py             compares what each block prints with the text block after it
    tour.py --update    writes that text, the plots and the notebook
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, FOLDER = DOCS / "tour.md", DOCS / "tour"

BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)


def run(page: str) -> str:
    """The page with what its blocks print; plots are written to the current directory."""
    import matplotlib

    matplotlib.use("agg")
    names: dict[str, object] = {}

    def one(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match["code"], str(PAGE), "exec"), names)
        output = printed.getvalue()
        block = f"```python\n{match['code']}```"
        return f"{block}\n\n```text\n{output}```" if output else block

    return BLOCK.sub(one, page)


def notebook(page: str) -> str:
    """The page as a notebook, which shows its plots when it runs."""
    cells: list[dict[str, object]] = []

    def cell(kind: str, text: str) -> None:
        lines = text.strip("\n").splitlines(keepends=True)
        if lines:
            code = {"execution_count": None, "outputs": []} if kind == "code" else {}
            cells.append({"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, **code, "source": lines})

    end = 0
    for match in BLOCK.finditer(page):
        cell("markdown", re.sub(r"!\[[^]]*\]\([^)]*\)\n", "", page[end : match.start()]))
        cell("code", match["code"])
        end = match.end()
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def main() -> int:
    page = PAGE.read_text()
    images = {Path(path).name for path in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        found = run(page)
        plots = {path.name for path in Path().glob("*.png")}
        if "--update" in sys.argv[1:]:
            PAGE.write_text(found)
            FOLDER.mkdir(exist_ok=True)
            for plot in plots:
                shutil.copy(plot, FOLDER)
            (FOLDER / "tour.ipynb").write_text(notebook(found))
        os.chdir(here)
    if plots != images:
        sys.exit(f"the page shows {sorted(images)}, but its blocks write {sorted(plots)}")
    if "--update" not in sys.argv[1:] and found != page:
        sys.exit(f"what the blocks print is another text; run {Path(__file__).name} --update:\n{found}")
    if notebook(found) != (FOLDER / "tour.ipynb").read_text():
        sys.exit(f"the notebook is stale; run {Path(__file__).name} --update")
    return 0


if __name__ == "__main__":
    sys.exit(main())
