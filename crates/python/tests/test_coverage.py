"""Which time a lake covers: a rate is drawn where it has everything, and a plain count, marked, anywhere else."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib"):
    pytest.importorskip(extra)

from test_report import Page
from tracelake import _bins

MINUTE = 60_000_000


@dataclass
class Lake:
    """What coverage is computed from: parts, each with the rows that a selection left out, and missing ones."""

    numbers: list[int]
    missing: tuple[int, ...] = ()
    whole: bool = True
    left_out: dict[int, int] = field(default_factory=dict)
    synthetic: bool = False

    @property
    def manifest(self) -> Any:
        return SimpleNamespace(synthetic=self.synthetic)

    def parts(self, table: str) -> list[Any]:
        return [SimpleNamespace(file_number=one, rows_not_selected=self.left_out.get(one)) for one in self.numbers]

    def runs(self, table: str) -> list[list[Any]]:
        runs: list[list[Any]] = []
        for part in self.parts(table):
            if runs and not any(runs[-1][-1].file_number < one < part.file_number for one in self.missing):
                runs[-1].append(part)
            else:
                runs.append([part])
        return runs

    def missing_parts(self, table: str) -> tuple[int, ...]:
        return self.missing

    def incomplete(self, table: str) -> str | None:
        return None if self.whole else "parts are missing"


SPAN = {"begin": 0, "end": 1000}


@pytest.mark.parametrize(
    ("lake", "ranges", "selected", "expected"),
    [
        # All parts: the published span, or what was selected of it.
        (Lake([0, 1]), {0: (10, 400), 1: (450, 900)}, None, [(0, 1000)]),
        (Lake([0, 1]), {0: (10, 400), 1: (450, 900)}, (-5, 700), [(0, 700)]),
        # Synthetic rows have no published span.
        (Lake([0, 1], synthetic=True), {0: (10, 400), 1: (450, 900)}, None, [(10, 900)]),
        # The first parts, the last ones, and some between.
        (Lake([0, 1], (2, 3), whole=False), {0: (10, 400), 1: (450, 900)}, None, [(0, 900)]),
        (Lake([2, 3], (0, 1), whole=False), {2: (10, 400), 3: (450, 900)}, None, [(10, 1000)]),
        (Lake([1, 3], (0, 2, 4), whole=False), {1: (10, 400), 3: (450, 900)}, None, [(10, 400), (450, 900)]),
        # Rows are missing, and the lake doesn't say where.
        (Lake([0], whole=False), {0: (10, 400)}, None, [(10, 400)]),
        # A part of which rows were left out reaches to the ends of the selection, also if another part is empty.
        (Lake([1], (0, 2), whole=False, left_out={1: 5}), {1: (210, 390)}, (200, 400), [(200, 400)]),
        (Lake([1, 2], (0, 3), whole=False, left_out={1: 5, 2: 9}), {1: (210, 390)}, (200, 400), [(200, 400)]),
        (Lake([1], (0, 2), whole=False, left_out={1: 0}), {1: (210, 390)}, (200, 400), [(210, 390)]),
        # Parts that don't follow each other in time.
        (Lake([0, 2], (1,), whole=False), {-1: (10, 900)}, None, [(10, 900)]),
        (Lake([0, 1, 2]), {-1: (10, 900)}, None, [(0, 1000)]),
    ],
)
def test_what_a_lake_covers(lake: Any, ranges: dict[int, tuple[int, int]], selected: Any, expected: list[tuple[int, int]]) -> None:
    rows = [{"number": number, "first": first, "last": last} for number, (first, last) in ranges.items()]
    assert [(run.first, run.last) for run in _bins.covered(lake, "t", rows, selected or (None, None), SPAN)] == expected


def events(times: list[int]) -> bytes:
    """Submissions at these times."""
    name = "x" * 43 + "="
    return "".join(f"{time},,{number + 1},0,{name},0,{name},{name}\n" for number, time in enumerate(times)).encode()


def source(parts: dict[int, list[int]]) -> Path:
    for number, times in parts.items():
        path = Path(f"source/job_events/part-{number:05}-of-00500.csv.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(events(sorted(times))))
    return Path("source")


def rates(lake: Path) -> list[tuple[float, float, bool]]:
    """x and y of the figure, and whether y is partial."""
    tracelake.report(lake, "page.html")
    head, *rows = Page(Path("page.html").read_text()).tables["job_events_over_time"]
    assert head[1:] == ["SUBMIT"]
    return [(row[0].value or 0.0, row[1].value or 0.0, row[1].endswith("partial")) for row in rows]


def test_a_selected_range_of_time_is_covered() -> None:
    # 125 events in ten minutes, from the first second to the last but four.
    inside = [3_600_000_000 + number * 4_800_000 for number in range(125)]
    around = [700_000_000, 3_599_999_999, 4_200_000_000, 9_000_000_000]
    made = source({0: inside + around})
    tracelake.convert(made, "lake", trace="google-2011-v2.1", time="1h..1h10m", allow_missing=True)
    found = rates(Path("lake"))
    assert [x for x, _, _ in found] == [50 / 60, 55 / 60] and not any(partial for _, _, partial in found)
    assert sum(y for _, y, _ in found) / 2 == 750


def test_an_inner_part_reaches_to_the_next_one_and_outer_intervals_are_counts() -> None:
    start = 600 * 1_000_000
    parts = {
        number: [start + number * 10 * MINUTE + step * MINUTE for step in (0, 3, 6)] for number in (7, 8, 9)
    }
    tracelake.convert(source(parts), "lake", trace="google-2011-v2.1", allow_missing=True)
    found = rates(Path("lake"))
    # From minute 70 to minute 96: the last five minutes begin at 95, and are covered for one.
    assert found[0] == (70 / 60, 24, False)
    assert [y for _, y, _ in found] == [24, 12, 24, 12, 24, 1]
    assert [partial for _, _, partial in found] == [False] * 5 + [True]
    assert "A hollow point is the plain count" in Path("page.html").read_text()


def test_a_report_says_of_how_much_it_speaks() -> None:
    made = source({0: [700_000_000 + number * MINUTE for number in range(90)]})
    tracelake.convert(made, "lake", trace="google-2011-v2.1", allow_missing=True)
    report = tracelake.report("lake", "page.html")
    text = Path("page.html").read_text()
    part = "1 of 500 parts of job_events"
    assert text.count(f"<dd class=extent>of {part}</dd>") == text.count("<dt>hours</dt>") + text.count("<dt>jobs</dt>") + 1
    assert f"From {part}." in text and "<h1>Synthetic" not in text
    assert report.checks["job_events_sorted"].extent == part
    assert f"({part})" in repr(report.checks) and f'"extent": "{part}"' in report.checks.to_json()

    tracelake.convert(made, "sample", trace="google-2011-v2.1", sample="0/2", allow_missing=True)
    tracelake.report("sample", "page.html", overwrite=True)
    assert "the rows of --sample 0/2" in Path("page.html").read_text()

    tracelake.generate("google-2011-v2.1", "generated", rows=700)
    tracelake.convert("generated", "synthetic")
    tracelake.report("synthetic", "page.html", overwrite=True)
    text = Path("page.html").read_text()
    assert "<h1>Synthetic rows in the form of: " in text and "<title>Synthetic rows" in text
    assert text.count("Synthetic rows.</strong>") == text.count("<figcaption>")
    assert "<dd class=extent>of synthetic rows</dd>" in text
