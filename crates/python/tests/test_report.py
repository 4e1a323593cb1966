"""The page of a report: its numbers, what it needs, and how it looks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib"):
    pytest.importorskip(extra)

PROGRAM = Path(sys.executable).with_name("tracelake")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TRACES = ["google-2011-v2.1", "alibaba-2018", "borg-2019"]

#: Elements that have no end.
VOID = {"meta", "link", "img", "br", "hr", "input", "path", "use", "rect"}


class Cell(str):
    """The text of a cell; its number, if it has one, has all of its digits."""

    value: float | None = None


class Page(HTMLParser):
    """The elements of a page, the tables of its sections, and whether tags match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[Cell]]] = {}
        self._open: list[str] = []
        self._section = ""
        self._cell: list[str] | None = None
        self._value: float | None = None
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self._open.append(tag)
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
        elif tag == "tr":
            self.tables.setdefault(self._section, []).append([])
        elif tag in ("td", "th"):
            self._cell, self._value = [], None
        elif tag == "data":
            self._value = float(dict(attrs)["value"] or "nan")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag in ("td", "th") and self._cell is not None:
            cell = Cell("".join(self._cell))
            cell.value = self._value
            self.tables[self._section][-1].append(cell)
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[tracelake.Manifest, Path, tracelake.Report]]:
    """A lake of each trace, and its page."""
    made: dict[str, tuple[tracelake.Manifest, Path, tracelake.Report]] = {}
    for trace in TRACES:
        directory = tmp_path_factory.mktemp("report")
        tracelake.generate(trace, directory / "trace", parts=2, rows=20_000, seed=5)
        lake = tracelake.convert(directory / "trace", directory / "lake")
        page = directory / "report.html"
        made[trace] = (lake, page, tracelake.report(directory / "lake", page))
    return made


Pages = dict[str, tuple[tracelake.Manifest, Path, tracelake.Report]]


@pytest.mark.parametrize("trace", TRACES)
def test_empty_values_are_those_of_the_rows(trace: str, pages: Pages) -> None:
    lake, path, _ = pages[trace]
    page = Page(path.read_text())
    connection = lake.duckdb()
    rows = iter(page.tables["empty-values"])
    for facts in lake.tables:
        assert next(rows) == ["column", "rows", "empty", "share"]
        schema = tracelake.schema(trace, facts.name)
        for column in schema:
            if schema[column].type.startswith("List"):
                continue
            leaves = [column]
            if schema[column].type.startswith("Struct"):
                fields = connection.sql(f'SELECT unnest(struct_keys("{column}")) FROM "{facts.name}" LIMIT 2').fetchall()
                leaves = [f"{column}.{name}" for (name,) in dict.fromkeys(fields)]
            for leaf in leaves:
                quoted = ".".join(f'"{part}"' for part in leaf.split("."))
                (count,) = connection.sql(f'SELECT count(*) - count({quoted}) FROM "{facts.name}"').fetchall()[0:1]
                name, total, empty, _ = next(rows)
                assert (name, total, empty) == (leaf, f"{facts.rows:,}", f"{count[0]:,}"), facts.name


@pytest.mark.parametrize("trace", TRACES)
def test_the_page_is_complete_in_itself_and_small(trace: str, pages: Pages) -> None:
    _, path, report = pages[trace]
    text = path.read_text()
    assert report.bytes == path.stat().st_size < 2_000_000
    page = Page(text)
    assert not page.having("script") and not page.having("link") and not page.having("img")
    sources = [value for _, attrs in page.elements for name, value in attrs.items() if name in ("src", "href", "xlink:href")]
    assert sources and all(source and source.startswith("#") for source in sources)
    assert "@import" not in text and re.findall(r"url\((?!#)", text) == []


@pytest.mark.parametrize("trace", TRACES)
def test_the_page_can_be_read_without_seeing_it(trace: str, pages: Pages) -> None:
    _, path, report = pages[trace]
    page = Page(path.read_text())
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in [attrs for _, attrs in page.elements]:
        for reference in (attrs.get("aria-labelledby") or "").split():
            assert reference in ids
        for name in ("href", "xlink:href"):
            assert attrs.get(name) is None or (attrs[name] or "")[1:] in ids
    (html,) = page.having("html")
    assert html["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert len(page.having(landmark)) == 1
    assert len(page.having("h1")) == 1 and len(page.having("h2")) >= len(report.figures) + 3
    figures = [attrs for attrs in page.having("svg") if attrs.get("role") == "img"]
    assert len(figures) == 2 * len(report.figures) and all(attrs["aria-labelledby"] for attrs in figures)
    for name in report.figures:
        assert len(page.tables[name]) > 1
    assert all(attrs.get("scope") for attrs in page.having("th"))
    assert all(attrs.get("tabindex") == "0" for attrs in page.having("div") if attrs.get("class") == "scroll")


def test_checks_are_on_the_page(pages: Pages) -> None:
    _, path, report = pages["google-2011-v2.1"]
    text = path.read_text()
    assert all(f"<code>{result.name}</code>" in text for result in report.checks)


def test_missing_tables_and_parts_are_named(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["task_events"], parts="1", allow_missing=True)
    report = tracelake.report("lake", "report.html")
    assert report.skipped["cpu"] == "the lake has no task_usage"
    assert "task_events_over_time" in report.figures
    text = Path("report.html").read_text()
    assert "1: 0" in text and "machine_events" in text and "Figures that weren't drawn" in text
    Page(text)


def test_a_lake_without_times(tmp_path: Path) -> None:
    tracelake.generate("alibaba-2018", "trace", rows=2000)
    tracelake.convert("trace", "lake", tables=["batch_task"], derive="dag")
    report = tracelake.report("lake")
    assert Path("report.html").is_file() and "dag_shapes" in report.figures


def test_names_are_escaped(source: Path) -> None:
    tracelake.convert(source, "<b>", tables=["machine_events"])
    tracelake.report("<b>", "page.html")
    assert "<b>" not in Path("page.html").read_text()


def test_the_command(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["machine_events"])
    made = subprocess.run([PROGRAM, "report", "lake", "-o", "page.html"], capture_output=True, text=True)
    assert (made.returncode, made.stdout) == (0, ""), made.stderr
    assert "page.html: " in made.stderr and Path("page.html").is_file()
    missing = subprocess.run([PROGRAM, "report", "lake", "-o", "no/page.html"], capture_output=True, text=True)
    assert missing.returncode == 1 and "Traceback" not in missing.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium isn't installed")
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1200])
def test_screenshots(width: int, colours: str, pages: Pages, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    from PIL import Image

    _, path, _ = pages["google-2011-v2.1"]
    picture = screenshot(path, tmp_path / f"{width}-{colours}.png", width, colours)
    with Image.open(picture) as image:
        shown: Any = image.convert("L")
        assert image.size == (width, 3000)
        histogram = shown.histogram()
        dark = sum(histogram[:64])
        total = sum(histogram)
        # The paper, and something on it.
        assert (dark > 0.6 * total) == (colours == "dark")
        assert 0.005 < min(dark, total - dark) / total < 0.4
        # Nothing runs over the right edge.
        edge = set(shown.crop((width - 3, 0, width, 3000)).tobytes())
        assert len(edge) <= 2


def screenshot(page: Path, picture: Path, width: int, colours: str) -> Path:
    """A picture of the first 3,000 pixels of a page."""
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={picture.parent / 'profile'}",
        f"--window-size={width},3000",
        f"--blink-settings=preferredColorScheme={0 if colours == 'dark' else 1}",
        f"--screenshot={picture}",
    ]
    subprocess.run([str(CHROMIUM), *options, page.as_uri()], capture_output=True, timeout=120, check=True)
    return picture
