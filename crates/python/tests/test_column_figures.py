"""Default figures of described traces: plain Python counts every number again from the rows."""

from __future__ import annotations

import html
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib", "pyarrow"):
    pytest.importorskip(extra)

from lakes import Row
from plain_figures import Axis, Partial, Rows, Thing, microseconds, rates
from test_report import Page
from tracelake import _figures

MOST = 2**63 - 1
LARGEST = 1.7976931348623157e308

DATA_SET = """
family = "boxes"
licence = "CC0-1.0"
citation = "Us"
[[trace]]
name = "boxes-1"
title = "Boxes"
document = "A letter"
"""
LISTS = """
[[codes.state]]
value = 0
name = "NEW"
doc = "New."
[[codes.state]]
value = 1
name = "OLD"
doc = "Old."
[[sentinels.odd]]
value = -1
name = "UNKNOWN"
doc = "Unknown."
[[sentinels.odd]]
value = 9223372036854775807
name = "NEVER"
doc = "Never."
"""

#: A column by its name: its kind, and the lines of the description that it has beside the usual ones.
Columns = dict[str, tuple[str, str]]


def described(tables: dict[str, Columns], lists: str = "", more: dict[str, str] | None = None) -> str:
    """The description of tables of JSON lines."""
    text = DATA_SET + lists
    for name, columns in tables.items():
        text += f'[[table]]\nname = "{name}"\nsummary = "Rows."\nfiles = "named"\nnames = ["{name}_{{n}}.json"]\n'
        text += f'syntax = "json"\n{(more or {}).get(name, "")}\n'
        for column, (kind, lines) in columns.items():
            text += f'[[table.column]]\nname = "{column}"\ncontent = "{column}"\nkind = "{kind}"\nformat = "X"\n'
            if "hashed" not in lines:
                text += 'obfuscation = "unchanged"\n'
            text += f'doc = "What {column} is."\n{lines}\n'
    return text


def made(text: str, parts: dict[str, Sequence[Sequence[Row] | None]]) -> tracelake.Lake:
    """The lake of a description, and of the rows of each part of each table; ``None`` is a missing part."""
    Path("boxes.toml").write_text(text)
    Path("source").mkdir()
    for table, files in parts.items():
        for number, rows in enumerate(files):
            if rows is None:
                continue
            lines = (json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows)
            (Path("source") / f"{table}_{number}.json").write_text("".join(f"{line}\n" for line in lines))
    return tracelake.convert("source", "lake", trace="./boxes.toml", allow_missing=True)


class Drawn:
    """The page of a lake."""

    def __init__(self, lake: tracelake.Lake) -> None:
        self.report = tracelake.report(lake, "page.html", overwrite=True)
        text = Path("page.html").read_text()
        self.page, self.text = Page(text), text
        assert self.report.bytes == Path("page.html").stat().st_size < 2_000_000

    def bars(self, name: str) -> list[tuple[str, float]]:
        """The labels of a figure, and the numbers of rows."""
        (_, y), *rows = self.page.tables[name]
        assert y == "rows"
        assert all(count.value is not None for _, count in rows)
        return [(str(label), count.value or 0) for label, count in rows]

    def caption(self, name: str) -> str:
        found = re.search(rf'<section id="{re.escape(name)}">.*?<figcaption>(.*?)</figcaption>', self.text, re.DOTALL)
        assert found is not None
        return html.unescape(found[1])


def values(rows: Iterable[Row], column: str) -> list[Any]:
    return [row[column] for row in rows]


# ------------------------------------------------------------------------------------------------ in plain Python


def bounds(numbers: Sequence[float]) -> list[Fraction]:
    """The starts of at most 20 ranges of the least width of 1, 2 or 5 times a power of 10, and the end of the last one."""
    exact = [Fraction(repr(one)) for one in numbers]
    low, high, is_whole = min(exact), max(exact), isinstance(numbers[0], int)
    for exponent in range(0 if is_whole else -340, 340):
        for digit in (1, 2, 5):
            width = digit * Fraction(10) ** exponent
            starts = [low // width * width]
            while starts[-1] <= high and len(starts) < 22:
                starts.append(starts[-1] + width)
            if starts[-1] > high and len(starts) <= 21:
                return starts
    raise AssertionError("there is a width")


def as_float(bound: Fraction) -> float:
    """The float that is nearest to a bound; Python reads its decimal digits."""
    with localcontext() as context:
        context.prec = 800
        return float(str(Decimal(bound.numerator) / Decimal(bound.denominator)))


def shown(label: str) -> Fraction:
    """The number that a label spells."""
    return Fraction(label.replace(",", ""))


def assert_distribution(bars: list[tuple[str, float]], numbers: list[Any], special: dict[Any, str]) -> str:
    """The bars of a column of numbers are right; what they are of."""
    known = [one for one in numbers if one is not None]
    ordinary = [one for one in known if one not in special]
    apart = [(f"{special[one]} ({one:,})", known.count(one)) for one in special if one in known]
    assert [bar for bar in bars if bar in apart] == apart
    bars = [bar for bar in bars if bar not in apart]
    assert sum(count for _, count in bars) == len(ordinary)
    counts = Counter(ordinary)
    if len(counts) <= 20:
        assert [(shown(label), count) for label, count in bars] == [(Fraction(repr(one)), counts[one]) for one in sorted(counts)]
        return "values"
    edges = bounds(ordinary)
    assert len(bars) == len(edges) - 1 <= 20
    for (label, count), start, end in zip(bars, edges, edges[1:]):
        first, last = map(shown, label.split(" to "))
        if isinstance(ordinary[0], int):
            assert (first, last) == (start, end - 1)
            assert count == sum(start <= one < end for one in ordinary), label
        else:
            assert (first, last) == (start, end)
            assert count == sum(as_float(start) <= one < as_float(end) for one in ordinary), label
    return "ranges"


def assert_commonest(bars: list[tuple[str, float]], texts: list[Any], name: Callable[[Any], str]) -> bool:
    """The bars of the commonest values are right; whether there are others."""
    counts = Counter(one for one in texts if one is not None)
    ranked = sorted(counts, key=lambda one: (-counts[one], one.encode() if isinstance(one, str) else one))
    expected = [(name(one), counts[one]) for one in ranked[:20]]
    if len(ranked) > 20:
        expected.append(("other values", sum(counts[one] for one in ranked[20:])))
    seen = Counter[str]()
    for place, (label, count) in enumerate(expected):
        seen[label] += 1
        if seen[label] > 1:
            expected[place] = f"{label} ({seen[label]})", count
    assert bars == expected
    return len(ranked) > 20


def assert_nulls(drawn: Drawn, name: str, numbers: list[Any], what: str = "value") -> None:
    """The caption says how many rows have no value."""
    nulls, caption = sum(one is None for one in numbers), drawn.caption(name)
    found = re.search(rf"([\d,]+) of ([\d,]+) rows? ha(?:s|ve) no {what}", caption)
    if not nulls:
        assert found is None, caption
    else:
        assert found is not None, caption
        assert [int(one.replace(",", "")) for one in found.groups()] == [nulls, len(numbers)]


# ------------------------------------------------------------------------------------------------ tests


COLUMNS: Columns = {
    "id": ("integer", ""),
    "at": ("integer", 'unit = "seconds since the start"\nsentinels = "odd"'),
    "size": ("integer", 'unit = "bytes"\nsentinels = "odd"'),
    "few": ("integer", "invalid = [101]"),
    "ends": ("integer", ""),
    "share": ("float", "invalid = [-1]"),
    "huge": ("float", ""),
    "steps": ("float", ""),
    "flag": ("boolean", ""),
    "state": ("code", 'codes = "state"'),
    "place": ("text", ""),
    "own": ("text", ""),
    "hash": ("integer", 'obfuscation = "hashed"'),
    "seen": ("date-time", 'zone = "none"'),
    "pair": ("struct", '[[table.column.field]]\nname = "a"\ncontent = "a"\nkind = "float"\nformat = "X"\nobfuscation = "unchanged"\ndoc = "A."'),
    "several": ("list", '[[table.column.field]]\nname = "item"\ncontent = "item"\nkind = "integer"\nformat = "X"\nobfuscation = "unchanged"\ndoc = "I."'),
}  # fmt: skip

#: Texts that a bar could be mistaken by.
TEXTS = ["other values", "", "(empty text)", "$x$", "<b>", "a b", "NULL", "it's", "\u4e2d", "x" * 300]


def many(count: int, seed: int) -> list[Row]:
    """Rows with all that a column can have."""
    dice = random.Random(seed)
    ends = [-(2**63), 2**63 - 1, 0, *(dice.randrange(-(2**63), 2**63) for _ in range(60))]
    huge = [LARGEST, -LARGEST, 5e-324, -5e-324, 0.0, -0.0, *(dice.uniform(-1, 1) * 1.7e308 for _ in range(60))]
    places = [*TEXTS, *(f"place {one}" for one in range(40))]
    rows: list[Row] = []
    for number in range(count):
        rows.append(
            {
                "id": number,
                "at": dice.choice([None, -1, MOST, *[1_000_000 + dice.randrange(500_000)] * 20]),
                "size": dice.choice([None, -1, MOST, *[int(dice.expovariate(1 / 3000))] * 20]),
                "few": dice.choice([None, 101, 1, 1, 1, 2, 40, 5_000_000]),
                "ends": dice.choice(ends),
                # Decimal numbers are on the bounds of ranges.
                "share": dice.choice([None, -1.0, *[round(dice.random(), 2)] * 20]),
                "huge": dice.choice(huge),
                "steps": dice.choice([0.5, 0.25, 1e-7]),
                "flag": dice.choice([None, True, True, False]),
                "state": dice.choice([None, 0, 0, 0, 1, 7]),
                "place": dice.choice([None, *places, *places[:30], *places[:20], *places[:5] * 3]),
                "own": f"own {seed} {number}",
                "hash": dice.choice([None, *(one * 7919 for one in range(30)), *range(5)]),
                "seen": f"2024-05-01T00:00:{number % 60:02}",
                "pair": {"a": 1.5},
                "several": [1, 2],
            }
        )
    return rows


def test_figures_of_every_kind_of_column_are_those_of_plain_python() -> None:
    text = described({"boxes": COLUMNS}, LISTS, {"boxes": 'entity = ["id"]\nprimary_key = ["id"]\ntime = "at"'})
    lake = made(text, {"boxes": [many(1500, 1), many(800, 2)]})
    drawn, rows = Drawn(lake), Rows(lake)["boxes"]
    odd = {-1: "UNKNOWN", MOST: "NEVER"}
    special: dict[str, dict[Any, str]] = {"size": odd, "few": {101: "invalid"}, "share": {-1: "invalid"}}
    kinds = {}
    for column in ("size", "few", "ends", "share", "huge", "steps"):
        name = f"boxes.{column}"
        kinds[column] = assert_distribution(drawn.bars(name), values(rows, column), special.get(column, {}))
        assert_nulls(drawn, name, values(rows, column))
    assert kinds == {"size": "ranges", "few": "values", "ends": "ranges", "share": "ranges", "huge": "ranges", "steps": "values"}

    def text_of(value: str) -> str:
        return _figures.shown(value[:200] + "\u2026" if len(value) > 200 else value or "(empty text)")

    labels = [label for label, _ in drawn.bars("boxes.place")]
    assert {"other values", "other values (2)", "(empty text)", "(empty text) (2)"} < {*labels}
    assert assert_commonest(drawn.bars("boxes.place"), values(rows, "place"), text_of)
    assert "The list is cut after the 20 commonest values" in drawn.caption("boxes.place")
    assert "Values are cut after 200 characters" in drawn.caption("boxes.place")
    assert_nulls(drawn, "boxes.place", values(rows, "place"))

    assert assert_commonest(drawn.bars("boxes.hash"), values(rows, "hash"), lambda one: f"{one:,}")
    codes = {0: "NEW", 1: "OLD"}
    counts = Counter(one for one in values(rows, "state") if one is not None)
    assert drawn.bars("boxes.state") == [(codes.get(one, f"code {one}"), counts[one]) for one in sorted(counts)]
    counts = Counter(one for one in values(rows, "flag") if one is not None)
    assert drawn.bars("boxes.flag") == [("false", counts[False]), ("true", counts[True])]
    for column in ("state", "flag", "hash"):
        assert_nulls(drawn, f"boxes.{column}", values(rows, column))

    assert drawn.report.skipped == {
        "boxes.id": "such a column identifies what a row is about",
        "boxes.own": "no value of it occurs twice",
        "boxes.seen": "a date-time has a figure only if it is the time of its table",
        "boxes.pair": "nested values have no figure",
        "boxes.several": "nested values have no figure",
    }
    assert "boxes: pair; boxes: several: nested values have no figure." in drawn.text

    # Five days are shown by the day, and counted by the hour.
    assert_over_time(drawn, "boxes", rows, lambda row: row["at"], {*odd}, Axis(86_400, 3_600, 120, None), "days")
    caption = drawn.caption("boxes.over-time")
    assert f"{sum(row['at'] in odd for row in rows):,} rows have a special time" in caption and "UNKNOWN (-1)" in caption


def assert_over_time(
    drawn: Drawn, table: str, rows: list[Row], time: Callable[[Row], Any], special: set[Any], axis: Axis, unit: str
) -> None:
    """The numbers of rows over time are right, and how many rows have no time is said."""
    name, y = f"{table}.over-time", f"rows per {unit.removesuffix('s')}"
    things = [
        Thing(time(row), y, number=row["file_number"]) for row in rows if time(row) is not None and time(row) not in special
    ]
    expected = {x: value for (x, _), value in rates(things, axis).items() if value is not None}
    (x_head, y_head), *cells = drawn.page.tables[name]
    assert (x_head, y_head) == (f"{unit} since the first row", y)
    found = {x.value: cell for x, cell in cells if cell}
    assert set(found) == set(expected)
    for x, cell in found.items():
        assert cell.value == pytest.approx(float(expected[x]), rel=1e-9)
        assert cell.endswith("partial") == isinstance(expected[x], Partial)
    assert_nulls(drawn, name, [time(row) for row in rows], "time")


@pytest.mark.parametrize(
    ("kind", "lines", "span", "axis", "unit"),
    [
        ("integer", 'unit = "microseconds since the start"', 200_000_000, Axis(1_000_000, 1_000_000, 120, None), "seconds"),
        ("integer", 'unit = "milliseconds since 1970"', 7_000_000, Axis(60_000, 1_000, 120, None), "minutes"),
        ("integer", 'unit = "ticks"', 10_000, Axis(1, 1, 120, None), "ticks"),
        ("float", "", 1000.5, Axis(1, 1, 120, None), "units"),
        ("float", 'unit = "seconds since the start"', 100_000.25, Axis(3600, 60, 120, None), "hours"),
        ("date-time", 'zone = "published"', 30 * 86_400, Axis(86_400_000_000, 3_600_000_000, 120, None), "days"),
        ("date-time", 'zone = "none"', 30, Axis(1_000_000, 1_000_000, 120, None), "seconds"),
    ],
)
def test_rows_over_time_have_an_axis_that_fits(kind: str, lines: str, span: float, axis: Axis, unit: str) -> None:
    dice = random.Random(span)

    def time() -> Any:
        if kind == "integer":
            return dice.randrange(int(span)) - 5
        if kind == "float":
            return dice.choice([None, round(dice.uniform(-3, span), 3)])
        moment = "2024-05-%02dT%02d:%02d:%02d.%06d" if span > 60 else "2024-05-01T00:00:%02d.%06d"
        parts = (dice.randrange(1, 31), dice.randrange(24), dice.randrange(60)) if span > 60 else ()
        return moment % (*parts, dice.randrange(30), dice.randrange(10**6)) + ("+02:00" if "published" in lines else "")

    text = described({"boxes": {"at": (kind, lines)}}, more={"boxes": 'time = "at"'})
    # The second part is missing: nothing is known of its time.
    parts = sorted((time() for _ in range(900)), key=lambda one: (one is None, one))
    files = [[{"at": one} for one in parts[:300]], None, [{"at": one} for one in parts[600:]]]
    lake = made(text, {"boxes": files})
    drawn, rows = Drawn(lake), Rows(lake)["boxes"]
    assert len(rows) == 600

    def value(row: Row) -> Any:
        return microseconds(row["at"]) if kind == "date-time" else row["at"]

    assert_over_time(drawn, "boxes", rows, value, set(), axis, unit)
    if kind == "date-time":
        assert "Time counts from the first row, 2024-0" in drawn.caption("boxes.over-time")


def test_an_integer_time_without_a_unit_has_no_figure() -> None:
    text = described({"boxes": {"at": ("integer", "")}}, more={"boxes": 'time = "at"'})
    drawn = Drawn(made(text, {"boxes": [[{"at": 5}]]}))
    assert drawn.report.skipped == {"boxes.over-time": "the integer at has no unit"} and not drawn.report.figures


@pytest.mark.parametrize("value", [0, -(2**63), MOST, -7])
@pytest.mark.parametrize("count", [1, 5])
def test_one_value(value: int, count: int) -> None:
    columns: Columns = {
        "whole": ("integer", ""),
        "part": ("float", ""),
        "text": ("text", ""),
        "none": ("float", ""),
        "at": ("integer", 'unit = "seconds since the start"'),
    }
    text = described({"boxes": columns}, more={"boxes": 'time = "at"'})
    row = {"whole": value, "part": float(value), "text": "one", "at": value}
    drawn = Drawn(made(text, {"boxes": [[row] * count]}))
    assert drawn.bars("boxes.whole") == [(f"{value:,}", count)]
    ((label, rows),) = drawn.bars("boxes.part")
    assert (float(label.replace(",", "")), rows) == (float(value), count)
    assert drawn.bars("boxes.text") == [("one", count)]
    _, (x, y) = drawn.page.tables["boxes.over-time"]
    assert (x.value, y.value, str(y)) == (0, count, f"{count} partial")
    assert drawn.report.skipped == {"boxes.none": "no row has what it shows"}


@pytest.mark.parametrize("kind", ["integer", "float"])
def test_times_at_the_ends_of_their_type(kind: str) -> None:
    ends: list[float] = [-(2**63), 0, MOST] if kind == "integer" else [-LARGEST, 0.0, LARGEST]
    text = described({"boxes": {"at": (kind, 'unit = "seconds since the start"')}}, more={"boxes": 'time = "at"'})
    lake = made(text, {"boxes": [[{"at": one} for one in ends]]})
    drawn, rows = Drawn(lake), Rows(lake)["boxes"]
    assert_over_time(drawn, "boxes", rows, lambda row: row["at"], set(), Axis(86_400, 3_600, 120, None), "days")


def test_numbers_that_are_close_have_ranges_that_differ() -> None:
    base = 2**52
    numbers = {"large": [float(base + one) for one in range(50)], "small": [5e-324 * one for one in range(50)]}
    numbers["between"] = [1 + one * 2**-52 for one in range(50)]
    text = described({"boxes": {name: ("float", "") for name in numbers}})
    drawn = Drawn(made(text, {"boxes": [[dict(zip(numbers, row)) for row in zip(*numbers.values())]]}))
    for name, those in numbers.items():
        bars = drawn.bars(f"boxes.{name}")
        assert assert_distribution(bars, those, {}) == "ranges"
        assert len({label for label, _ in bars}) == len(bars) > 5


def test_twenty_values_have_a_bar_each_and_one_more_makes_ranges() -> None:
    columns: Columns = {"twenty": ("integer", ""), "more": ("integer", ""), "text": ("text", ""), "texts": ("text", "")}
    rows = [
        {"twenty": one % 20 * 1000, "more": one % 21 * 1000, "text": f"t{one % 20}", "texts": f"t{one % 21}"} for one in range(420)
    ]
    drawn = Drawn(made(described({"boxes": columns}), {"boxes": [rows]}))
    assert assert_distribution(drawn.bars("boxes.twenty"), values(rows, "twenty"), {}) == "values"
    assert assert_distribution(drawn.bars("boxes.more"), values(rows, "more"), {}) == "ranges"
    assert not assert_commonest(drawn.bars("boxes.text"), values(rows, "text"), str)
    assert assert_commonest(drawn.bars("boxes.texts"), values(rows, "texts"), str)
    assert "cut" not in drawn.caption("boxes.text") and "cut" in drawn.caption("boxes.texts")


def test_a_page_of_a_hundred_columns_is_readable() -> None:
    wide: Columns = {f"c{number}": ("integer", "") for number in range(100)}
    small: Columns = {"at": ("float", ""), "a": ("text", ""), "b": ("integer", "")}
    text = described({"wide": wide, "small": small}, more={"small": 'time = "at"'})
    rows = [{f"c{number}": row * number for number in range(100)} for row in range(30)]
    drawn = Drawn(made(text, {"wide": [rows], "small": [[{"at": 1.5, "a": "x", "b": 1}]]}))
    # The smaller table has all of its figures.
    assert drawn.report.figures == (*(f"wide.c{number}" for number in range(27)), "small.over-time", "small.a", "small.b")
    left_out = [f"wide.c{number}" for number in range(27, 100)]
    assert drawn.report.skipped == dict.fromkeys(left_out, "a page has at most 30 figures of columns")
    titles = "; ".join(f"wide: c{number}" for number in range(27, 100))
    assert f"<li>{titles}: a page has at most 30 figures of columns.</li>" in drawn.text


FIGURE = """
[[figure]]
name = "{name}"
title = "Own"
caption = "Own."
needs = ["boxes"]
plot = "bars"
x = "x"
y = "boxes"
sql = "SELECT 'all' AS x, 'boxes' AS series, count(*) AS y FROM boxes"
"""


def test_a_table_with_a_figure_of_its_own_has_no_other() -> None:
    columns: Columns = {"size": ("integer", "")}
    text = described({"boxes": columns, "others": columns}) + FIGURE.format(name="own")
    drawn = Drawn(made(text, {"boxes": [[{"size": 1}]], "others": [[{"size": 2}]]}))
    assert drawn.report.figures == ("own", "others.size") and not drawn.report.skipped
    assert drawn.page.tables["own"][1] == ["all", "1"]


def test_an_empty_table_and_one_that_the_lake_lacks_are_named() -> None:
    columns: Columns = {"size": ("integer", "")}
    text = described({"boxes": columns, "empty": columns, "lacking": columns})
    drawn = Drawn(made(text, {"boxes": [[{"size": 1}]], "empty": [[]]}))
    assert drawn.report.figures == ("boxes.size",)
    assert drawn.report.skipped == {
        "empty.columns": "empty has no rows",
        "lacking.columns": "the lake has no lacking",
    }


def test_a_lake_of_some_columns_has_their_figures() -> None:
    columns: Columns = {"size": ("integer", ""), "place": ("text", "")}
    Path("boxes.toml").write_text(described({"boxes": columns}))
    Path("boxes").mkdir()
    (Path("boxes") / "boxes_0.json").write_text('{"size": 5, "place": "a"}\n')
    lake = tracelake.convert("boxes", "lake", trace="./boxes.toml", columns="boxes.size")
    drawn = Drawn(lake)
    assert drawn.bars("boxes.size") == [("5", 1)] and not drawn.report.skipped


def test_a_built_in_trace_has_only_the_figures_of_its_description(lake: tracelake.Lake) -> None:
    report = tracelake.report(lake, "page.html")
    assert not [name for name in (*report.figures, *report.skipped) if "." in name]


def test_the_range_of_time_is_one_of_dates_for_date_times() -> None:
    kinds = {
        "moment": ("date-time", 'zone = "none"', ["2024-05-01T08:00:00", "2024-05-02T09:30:00"]),
        "milli": ("integer", 'unit = "milliseconds since 1970"', [1_714_550_400_000, 1_714_642_200_000]),
        "ticks": ("integer", 'unit = "ticks"', [5, 7]),
    }
    tables: dict[str, Columns] = {
        name: {"end": ("date-time", 'zone = "none"'), "at": (kind, lines)} for name, (kind, lines, _) in kinds.items()
    }
    text = described(tables, more=dict.fromkeys(tables, 'time = "at"')).replace("family", "epoch = 0\nfamily", 1)
    drawn = Drawn(made(text, {name: [[{"at": time} for time in times]] for name, (*_, times) in kinds.items()}))
    _, *rows = drawn.page.tables["the-lake"]
    days = ["2024-05-01 08:00:00", "2024-05-02 09:30:00"]
    milli = ["1,714,550,400,000 ms = 19844 d 8 h", "1,714,642,200,000 ms = 19845 d 9 h 30 min"]
    assert {str(row[0]): row[-2:] for row in rows} == {"moment": days, "milli": milli, "ticks": ["5", "7"]}
