"""The commands and the code of the pages, run as they are, in the order of each page, in a clean directory.

    pages.py --write    writes what the blocks print where the pages show it; tests/test_pages.py compares it

A block runs unless it follows a comment `<!-- not run here: … -->` that says why. A block of text right after one that
runs is its output; a line `…` stands for lines that are left out. Programs that aren't part of the project, such as
schedulers and package managers, have stand-ins in `tests/pages/`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
STAND_INS = Path(__file__).with_name("tests") / "pages"

#: Published rows, which some machines lack; the pages about them aren't run there.
DATA = ROOT.parent / "shared" / "data"
PUBLISHED = "docs/your-files.md"
REQUESTS = "docs/requests.md"

#: The files of that page: their directories, and their names here and as published.
REQUEST_FILES = (
    ("mooncake", "conversation_trace.jsonl", "conversation_trace.jsonl"),
    ("azure-llm-2023", "AzureLLMInferenceTrace_code.csv", "AzureLLMInferenceTrace_code.csv"),
    ("burstgpt", "BurstGPT_3.csv", "BurstGPT_3.csv"),
    ("qwen-bailian", "README-record.txt", "qwen_traceA_blksz_16.jsonl"),
)

#: A page whose script prints its table.
COMPARISON = ROOT / "docs" / "internals" / "comparison.md"

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

#: What is left out of an output.
GAP = "…"


class Block(NamedTuple):
    """A block of a page that is to be run, written to a file, or compared with what the one before printed."""

    language: str
    code: str
    line: int
    file: str | None
    #: Where the code is in the page, and how far it is indented.
    start: int
    end: int
    indent: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page that run, in order, each with its output if the page shows it."""
    found: list[Block] = []
    ended = None
    for match in BLOCK.finditer(page):
        language = match["language"]
        named = re.findall(r"`([\w/.-]+)`[^`]*:\s*$", page[: match.start()])
        file = named[0] if named and language in FILES else None
        runs = language in ("sh", "python", "sql") or file
        is_output = language == "text" and ended is not None and not page[ended : match.start()].strip()
        if match["comment"] is None and (runs or is_output):
            line = page[: match.start("code")].count("\n") + 1
            code = textwrap.dedent(match["code"])
            found.append(Block(language, code, line, file, match.start("code"), match.end("code"), match["indent"]))
            ended = match.end() if language in ("sh", "python") else None
        else:
            ended = None
    return found


def pages() -> list[str]:
    """Every page with a block that runs. Pages about the project's own tests are for people who work on it."""
    paths = [ROOT / "README.md", ROOT / "crates/python/README.md", *sorted((ROOT / "docs").glob("*.md"))]
    left_out = [] if DATA.exists() else [PUBLISHED, REQUESTS]
    names = [str(path.relative_to(ROOT)) for path in paths if blocks(path.read_text())]
    return [name for name in names if name not in left_out]


def prepare(name: str, page: str) -> None:
    """Makes the directories that a page takes for granted."""
    import tracelake

    for directory, trace in SOURCES.items():
        if directory in page:
            tracelake.generate(trace, directory, rows=2000)
    if name == "docs/query.md":
        tracelake.generate("google-2011-v2.1", "trace")
        tracelake.convert("trace", "lake")
    if "convert downloads " in page:
        for cell in "ab":
            shutil.copytree(f"clusterdata_2019_{cell}", f"downloads/clusterdata_2019_{cell}")
    if name == PUBLISHED:
        shutil.copytree(DATA / "google-2011", "google-2011")
        shutil.copytree(DATA / "next" / "azure-llm-2023", "azure-llm-2023")
    if name == REQUESTS:
        for trace, file, named in REQUEST_FILES:
            Path(trace).mkdir()
            shutil.copy(DATA / "next" / trace / file, Path(trace, named))
    if "broken" in page:
        source = Path("broken/job_events")
        source.mkdir(parents=True)
        rows = "+0,,3418309,0,user,3,name,logical\n1,,3418314,0,user,3,name,logical\n"
        for number in range(2):
            (source / f"part-0000{number}-of-00002.csv").write_text(rows[number:])
        (source / "part-00001-of-00002.csv").write_text(rows)
    for folder in ("tests", "docs"):
        os.symlink(ROOT / folder, folder)


def environment() -> dict[str, str]:
    """The environment of commands: the stand-ins, the package's program, and its interpreter."""
    path = os.pathsep.join([str(STAND_INS), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHON": sys.executable}


def run(name: str) -> str:
    """Runs a page in the current directory; returns it with what its blocks print."""
    page = (ROOT / name).read_text()
    prepare(name, page)
    names: dict[str, object] = {"__name__": "page"}
    made, done, printed = "", 0, ""
    for block in blocks(page):
        where = f"{name}:{block.line}"
        if block.language == "text":
            text = textwrap.indent(as_shown(printed, block.code), block.indent)
            made, done = made + page[done : block.start] + text, block.end
        elif block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.code)
        elif block.language == "sh":
            script = subprocess.run(
                ["bash", "-c", PRELUDE + block.code], env=environment(), stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            printed = script.stdout
            assert script.returncode == 0, f"{where}: {block.code}{printed}"
        elif block.language == "sql":
            import duckdb

            assert duckdb.sql(block.code).fetchall(), where
        elif "spark.read" not in block.code:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                # Blank lines before the code, so that an error has the line of the page.
                exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), names)
            printed = output.getvalue()
    return made + page[done:]


def as_shown(printed: str, written: str) -> str:
    """An output as a page shows it: lines at its start and at its end, where the page leaves out the others.

    >>> as_shown("1\\n2\\n3\\n4\\n", "0\\n …\\n0\\n")
    '1\\n …\\n4\\n'
    """
    lines, shown = printed.rstrip().splitlines(), written.splitlines()
    gaps = [at for at, line in enumerate(shown) if line.strip() == GAP]
    if gaps:
        after = len(shown) - gaps[0] - 1
        lines = [*lines[: gaps[0]], shown[gaps[0]], *lines[len(lines) - after :]]
    return "".join(f"{line}\n" for line in lines)


def compared() -> str:
    """The page that compares tools, with the table that its script prints."""
    page = COMPARISON.read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[-1]
    program = shutil.which("tracelake", path=environment()["PATH"])
    script = [sys.executable, "-c", code, str(program)]
    made = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True)
    versions, table = made.stdout.split("\n\n", 1)
    page = re.sub(r"DuckDB [\d.]+, Polars [\d.]+ and pyarrow [\d.]+", versions, page)
    return re.sub(r"\| input \|.*?\n(?=\n)", lambda _: table, page, count=1, flags=re.DOTALL)


def main() -> int:
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    here = Path.cwd()
    COMPARISON.write_text(compared())
    shown = [name for name in pages() if any(block.language == "text" for block in blocks((ROOT / name).read_text()))]
    for name in shown:
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            made = run(name)
            os.chdir(here)
        (ROOT / name).write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
