"""The numbers of figures, compared with a plain implementation, and how they are drawn."""

from __future__ import annotations

import html
import math
import re
from pathlib import Path
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib", "pyarrow"):
    pytest.importorskip(extra)

from edges import on_edges
from lakes import Row
from plain_figures import PLAIN, Partial, Rows
from test_report import Page, Pages, TRACES, pages  # noqa: F401
from tracelake import _figures, _queries, _show

ROWS = Path(__file__).parents[4] / "shared" / "data"

#: Published rows by trace and folder.
PUBLISHED = [
    ("google-2011-v2.1", "google-2011"),
    ("google-2011-v2.1", "google-2011-task-events"),
    ("google-2011-v2.1", "google-2011-heads"),
    ("alibaba-2018", "alibaba-2018"),
    ("alibaba-gpu-2023", "next/alibaba-gpu-2023"),
    ("alibaba-gpu-2025", "next/alibaba-gpu-2025"),
    ("azure-llm-2023", "next/azure-llm-2023"),
    ("alibaba-genai-2026", "next/alibaba-genai-2026"),
    ("azure-functions-2019", "next/azure-functions-2019"),
    ("azure-functions-2021", "next/azure-functions-2021"),
    ("azure-vm-noise-2024", "next/azure-vm-noise-2024"),
    ("burstgpt-2024", "next/burstgpt"),
    ("philly-2017", "next/philly"),
    ("mooncake-2025", "next/mooncake"),
]

#: Texts that some layer between a row and the page might read as more than text.
HOSTILE = [
    "$x$",
    "$\\frac{",
    "100 $",
    "<script>alert(1)</script>",
    "--><b>",
    "]]>",
    'id="x" href="#y"',
    "&amp;",
    "#010203 #070800",
    "\x00\x1b[31m",
    "a\nb",
    "\u202eabc",
    "\u4e2d\u6587",
    "x" * 500,
    "%s {0} \\n",
    "",
]


def assert_same(trace: str, lake: tracelake.Manifest, path: Path, report: tracelake.Report) -> int:
    """Every number of the page is the one of the plain implementation; how many there are."""
    page, plain, compared = Page(path.read_text()), PLAIN[trace](Rows(lake)), 0
    for name in report.figures:
        numbers = plain[name]()
        head, *rows = page.tables[name]
        shown = {
            (row[0] if row[0].value is None else row[0].value, series): cell
            for row in rows
            for series, cell in zip(head[1:], row[1:], strict=True)
        }
        # A series of which nothing is known isn't shown.
        assert {key for key, cell in shown.items() if cell} == {key for key, y in numbers.items() if y is not None}, name
        for key, cell in shown.items():
            if cell:
                assert cell.value == pytest.approx(float(numbers[key]), rel=1e-9, abs=1e-9), (name, key)
                assert cell.endswith("partial") == isinstance(numbers[key], Partial), (name, key)
                read = float(cell.removesuffix(" partial").replace(",", ""))
                assert read == pytest.approx(cell.value, rel=2e-5), (name, key)
                compared += 1
    return compared


def headline(path: Path) -> dict[str, str]:
    """The numbers at the top of a page."""
    found = re.search(r'<dl class="headline">(.*?)</dl>', path.read_text())
    assert found is not None
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", found[1]))


def assert_same_headline(trace: str, lake: tracelake.Manifest, path: Path, figures: list[str]) -> None:
    plain, shown = PLAIN[trace](Rows(lake)), headline(path)
    expected = {"rows": f"{lake.rows:,}"}
    for name in figures:
        for (label, unit), y in plain[name]().items():
            assert y is not None
            expected[label] = _show.percent(y) if unit else _figures.number(y)
    assert shown == expected


@pytest.mark.parametrize("trace", TRACES)
def test_figures_of_generated_rows_are_those_of_plain_python(trace: str, pages: Pages) -> None:  # noqa: F811
    lake, path, report = pages[trace]
    assert not report.skipped
    assert_same(trace, lake, path, report)
    assert_same_headline(trace, lake, path, headlines(trace))


@pytest.mark.skipif(not ROWS.is_dir(), reason="there are no published rows next to the project")
@pytest.mark.parametrize(("trace", "folder"), PUBLISHED)
def test_figures_of_published_rows_are_those_of_plain_python(trace: str, folder: str) -> None:
    lake = tracelake.convert(ROWS / folder, "lake", trace=trace, allow_missing=True)
    report = tracelake.report("lake", "page.html")
    assert report.figures
    assert assert_same(trace, lake, Path("page.html"), report)
    assert_same_headline(trace, lake, Path("page.html"), list(set(headlines(trace)) - set(report.skipped)))


class _Nothing(Rows):
    """No rows, of tables of any name."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, table: str) -> list[Row]:
        return []


def headlines(trace: str) -> list[str]:
    """The figures of a trace whose numbers are at the top of the page."""
    return [one["name"] for one in _queries.described(trace)["figures"] if one["plot"] == "numbers"]


def test_every_trace_has_a_plain_implementation() -> None:
    families = {_queries.described(trace)["family"] for trace in PLAIN}
    assert families == {_queries.described(trace)["family"] for trace in tracelake.traces()}


@pytest.mark.parametrize("trace", PLAIN)
def test_every_figure_has_a_plain_implementation(trace: str) -> None:
    assert {one["name"] for one in _queries.described(trace)["figures"]} == set(PLAIN[trace](_Nothing()))


@pytest.mark.parametrize("trace", PLAIN)
def test_figures_of_rows_on_the_edges_of_bins_are_those_of_plain_python(trace: str) -> None:
    lake = on_edges(trace, Path("lake"))
    report = tracelake.report("lake", "page.html")
    assert not report.skipped
    assert assert_same(trace, lake, Path("page.html"), report)
    assert_same_headline(trace, lake, Path("page.html"), headlines(trace))


def test_missing_parts_are_gaps_and_named() -> None:
    tracelake.generate("google-2011-v2.1", "trace", parts=5, rows=20_000)
    lake = tracelake.convert("trace", "lake", parts="0,1,3", allow_missing=True)
    report = tracelake.report("lake", "page.html")
    assert_same("google-2011-v2.1", lake, Path("page.html"), report)
    page = Page(Path("page.html").read_text())
    _, *rows = page.tables["task_events_over_time"]
    unknown = [index for index, row in enumerate(rows) if not any(row[1:])]
    assert unknown and unknown == list(range(unknown[0], unknown[-1] + 1)) and rows[-1][1]
    assert "From 3 of 5 parts of task_events." in Path("page.html").read_text()


@pytest.mark.parametrize(("trace", "table"), [("google-2011-v2.1", "task_usage"), ("borg-2019", "instance_usage")])
def test_usage_in_an_interval_that_ends_early_counts_with_the_length_of_that(trace: str, table: str) -> None:
    from lakes import edit

    tracelake.generate(trace, "trace", parts=1, rows=4000)
    lake = tracelake.convert("trace", "lake")

    def change(rows: list[dict[str, Any]]) -> None:
        begins = max(row["start_time"] for row in rows) // 300_000_000 * 300_000_000
        ends = begins + 100_000_000
        for row in rows:
            if row["end_time"] > ends:
                row["start_time"] = min(row["start_time"], begins)
                row["end_time"] = ends

    edit(Path("lake"), table, 0, change)
    report = tracelake.report("lake", "page.html")
    assert_same(trace, lake, Path("page.html"), report)


def test_a_line_has_a_gap_where_nothing_is_known() -> None:
    rows = [{"x": x, "series": "a", "y": None if x == 1 else 5.0} for x in range(4)]
    data = _figures.Data.of(rows)
    assert [math.isnan(y) for y in data.of_series("a")] == [False, True, False, False]
    text = _figures.figure(said("lines"), data, _figures.Colours(()))
    paths = re.findall(r'<path d="([^"]*)"[^>]*style="[^"]*var\(--s0\)', text)
    # The number before the gap is alone, and the line has the two after it.
    assert any(path.count("M") == 2 and path.count("L") == 1 for path in paths), paths
    # In each form, a line doesn't show it, so it has a mark.
    assert len(re.findall(r'<use [^>]*fill: var\(--s0\)', text)) == 2


def said(plot: str, text: str = "text") -> dict[str, Any]:
    """A figure as the catalog describes it."""
    return {"name": "figure", "title": text, "caption": text, "plot": plot, "x": text, "y": text}


@pytest.mark.parametrize("plot", ["lines", "areas", "bars", "stacks"])
def test_hostile_texts_are_shown_as_they_are(plot: str) -> None:
    for text in HOSTILE:
        xs: list[Any] = [text, "other"] if plot in ("bars", "stacks") else [1.0, 2.0]
        rows = [{"x": x, "series": series, "y": 3} for x in xs for series in (text, "b")]
        section = _figures.figure(said(plot, text), _figures.Data.of(rows), _figures.Colours(()), text)
        page = Page(section)
        assert not page.having("script") and not page.having("b")
        seen = _figures.shown(text)
        head, *body = page.tables["figure"]
        assert set(head[1:]) == {seen, "b"}
        if plot in ("bars", "stacks"):
            assert [row[0] for row in body] == [seen, "other"]
            label = seen if len(seen) <= 40 else seen[:39] + "\u2026"
            ticks = [html.unescape(one) for one in re.findall(r"<text[^>]*>([^<]*)</text>", section)]
            assert label.strip() == "" or label in ticks, (label, ticks)


def test_a_hostile_lake_has_a_page() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tracelake.generate("alibaba-2018", "trace", rows=700)
    lake = tracelake.convert("trace", "lake")
    for table, column in (("batch_task", "status"), ("batch_task", "task_type"), ("machine_meta", "status")):
        (part,) = lake[table].parts
        file = Path("lake") / part.output.path
        old = pq.ParquetFile(file).read()
        rows = old.to_pylist()
        for index, row in enumerate(rows):
            row[column] = HOSTILE[index % len(HOSTILE)]
        pq.write_table(pa.Table.from_pylist(rows, schema=old.schema), file)
    report = tracelake.report("lake", "page.html")
    assert {"task_types", "task_durations", "batch_tasks_over_time", "machine_capacities"} <= set(report.figures)
    assert not Page(Path("page.html").read_text()).having("script")


@pytest.mark.parametrize("trace", TRACES)
def test_a_series_has_one_colour_on_the_page(trace: str, pages: Pages) -> None:  # noqa: F811
    _, path, _ = pages[trace]
    colours: dict[str, set[str]] = {}
    for legend in re.findall(r'<ul class="legend".*?</ul>', path.read_text()):
        items = re.findall(r"var\(--(s\d+)\).*?</svg>(.*?)</li>", legend)
        assert len({colour for colour, _ in items}) == len(items)
        for colour, name in items:
            colours.setdefault(name, set()).add(colour)
    assert colours and all(len(seen) == 1 for seen in colours.values()), colours


def test_events_are_in_the_order_of_their_codes(pages: Pages) -> None:  # noqa: F811
    _, path, _ = pages["google-2011-v2.1"]
    page = Page(path.read_text())
    order = ["SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING"]
    for name in ("job_events_over_time", "task_events_over_time", "run_durations"):
        names = page.tables[name][0][1:]
        assert names == [one for one in order if one in names] and len(names) > 3


def test_a_task_that_is_killed_while_it_waits_is_no_run(tmp_path: Path) -> None:
    from lakes import edit

    tracelake.generate("google-2011-v2.1", "trace", parts=1, rows=4000)
    tracelake.convert("trace", "lake")
    tracelake.report("lake", "before.html")

    def change(rows: list[dict[str, Any]]) -> None:
        task = dict(rows[-1], job_id=12, task_index=0, missing_info=None, time=900_000_000)
        rows += [dict(task, event_type=kind) for kind in (0, 1, 2, 0, 5)]

    edit(Path("lake"), "task_events", 0, change)
    tracelake.report("lake", "after.html")

    def runs(path: str) -> int:
        _, *rows = Page(Path(path).read_text()).tables["run_durations"]
        return sum(int(cell.replace(",", "")) for row in rows for cell in row[1:] if cell)

    assert runs("after.html") == runs("before.html") + 1
