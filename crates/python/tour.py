"""Runs docs/start.md, which ends with a tour, and the notebook of twenty questions, each in its own directory.

    tour.py            compares the plots and what each block and each cell shows with what is written
    tour.py --write    writes the plots and the notebooks; pages.py writes what the blocks of the page show
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pages

NAME = "docs/start.md"
FOLDER = pages.ROOT / "docs" / "tour"
QUESTIONS = Path(__file__).with_name("questions.py")
QUESTIONS_NOTEBOOK = FOLDER / "questions.ipynb"

BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n.*?```)?", re.DOTALL)


def notebook(page: str) -> str:
    """The tour as a notebook, which shows its plots when it runs."""
    tour = page[page.index("## A tour\n") : page.index("## Go on\n")]
    cells: list[tuple[str, str]] = []
    end = 0
    for match in BLOCK.finditer(tour):
        cells.append(("markdown", re.sub(r"!\[[^]]*\]\([^)]*\)\n", "", tour[end : match.start()])))
        cells.append(("code", match["code"]))
        end = match.end()
    return as_notebook(cells)


def questions() -> str:
    """The program of questions as a notebook without what its cells show."""
    cells: list[tuple[str, str]] = []
    for block in re.split(r"^# %%", QUESTIONS.read_text(), flags=re.MULTILINE)[1:]:
        kind, _, text = block.partition("\n")
        is_text = kind.strip() == "[markdown]"
        cells.append(("markdown", re.sub("^# ?", "", text, flags=re.MULTILINE)) if is_text else ("code", text))
    return as_notebook(cells)


def as_notebook(cells: list[tuple[str, str]]) -> str:
    """Cells as a notebook; empty ones are left out."""
    made: list[dict[str, object]] = []
    for kind, text in cells:
        lines = text.strip("\n").splitlines(keepends=True)
        if lines:
            code = {"execution_count": None, "outputs": []} if kind == "code" else {}
            made.append({"cell_type": kind, "id": f"cell-{len(made)}", "metadata": {}, **code, "source": lines})
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def answered(text: str) -> str:
    """A notebook with what its cells show when they run, as text and as HTML."""
    import nbclient
    import nbformat

    made = nbformat.reads(text, as_version=4)
    with tempfile.TemporaryDirectory() as directory:
        resources = {"metadata": {"path": directory}}
        nbclient.NotebookClient(made, timeout=300, resources=resources).execute()
    for cell in made.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                sys.exit(f"a cell prints to {output.name}: {output.text}")
    made.metadata.pop("language_info", None)
    return nbformat.writes(made, indent=1) + "\n"


def shown(text: str) -> list[tuple[str, list[str]]]:
    """The code of the cells of a notebook, with the text that each shows."""
    found = []
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            texts = ["".join(output["data"]["text/plain"]) for output in cell["outputs"]]
            found.append(("".join(cell["source"]), texts))
    return found


def main() -> int:
    import matplotlib

    matplotlib.use("agg")
    page = (pages.ROOT / NAME).read_text()
    images = {Path(path).name for path in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        found = pages.run(NAME)
        plots = {path.name for path in Path().glob("*.png")}
        if "--write" in sys.argv[1:]:
            FOLDER.mkdir(exist_ok=True)
            for plot in plots:
                shutil.copy(plot, FOLDER)
            (FOLDER / "tour.ipynb").write_text(notebook(found))
            QUESTIONS_NOTEBOOK.write_text(answered(questions()))
        changed = [plot for plot in sorted(plots & images) if Path(plot).read_bytes() != (FOLDER / plot).read_bytes()]
        os.chdir(here)
    if plots != images:
        sys.exit(f"the page shows {sorted(images)}, but its blocks write {sorted(plots)}")
    if found != page:
        sys.exit(f"what the blocks print is another text; run cargo xtask docs --write:\n{found}")
    if changed:
        sys.exit(f"other plots than those of the page: {', '.join(changed)}; run cargo xtask docs --write")
    if notebook(found) != (FOLDER / "tour.ipynb").read_text():
        sys.exit("the notebook is stale; run cargo xtask docs --write")
    wanted, written = shown(answered(questions())), shown(QUESTIONS_NOTEBOOK.read_text())
    for question, answer in zip(wanted, written, strict=True):
        if question != answer:
            sys.exit(f"a cell shows another text; run cargo xtask docs --write:\n{question}\n{answer}")
    if len(written) != 20 or not all(len(texts) == 1 for _, texts in written):
        sys.exit("there must be twenty cells that each show one answer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
