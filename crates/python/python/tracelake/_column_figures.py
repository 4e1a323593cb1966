"""Figures for tables of which no figure of a description speaks: rows over time, and the values of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import Any

from . import _bins, _files, _queries, _show

#: A figure as the catalog describes it. ``shows`` is ``time``, ``numbers`` or ``values``, of the column ``column``.
Said = dict[str, Any]

#: A bar: its label, and how many rows it stands for.
Bar = tuple[str, int]

#: The most figures of columns on a page. Each takes some 40 KB, and up to 60 with long texts.
MOST_FIGURES = 30

#: The most bars for the values of a column; special values and the rest have bars of their own.
MOST_BARS = 20

#: Longer texts are cut.
_LONGEST_TEXT = 200

#: DuckDB's estimate of a number of values is never this many times too high or too low.
_ESTIMATE = 10

#: Units of a time in a second, by the word that its unit begins with.
PER_SECOND = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}

#: The units of an axis: how many seconds they have, from how many seconds on they are used, and the least width of an
#: interval in seconds.
_AXES = (
    ("day", 86_400, 4 * 86_400, 3_600),
    ("hour", 3_600, 4 * 3_600, 60),
    ("minute", 60, 4 * 60, 1),
    ("second", 1, 0, 1),
)


def asked(lake: _queries.Lake) -> list[tuple[Said, str | None]]:
    """The figures of such tables of a trace that isn't built in, and why one isn't drawn if that is known already."""
    if not lake.is_foreign:
        return []
    spoken_of = {need.table for said in lake.said["figures"] for need in _queries.needs(said)}
    tables = [_of_table(lake, one) for one in lake.said["tables"] if one["name"] not in spoken_of]
    # Each table has its first figures before another one has more.
    drawn = sorted(
        (turn, place)
        for place, figures in enumerate(tables)
        for turn in range(sum(reason is None for _, reason in figures))
    )[:MOST_FIGURES]
    found: list[tuple[Said, str | None]] = []
    for place, figures in enumerate(tables):
        left = sum(other == place for _, other in drawn)
        for said, reason in figures:
            if reason is None:
                left -= 1
            too_many = f"a page has at most {MOST_FIGURES} figures of columns" if left < 0 else None
            found.append((said, reason or too_many))
    return found


def numbers(engine: _queries.Engine, lake: _queries.Lake, said: Said) -> tuple[Said, list[dict[str, Any]]]:
    """The numbers of such a figure, and its description with what its rows decide."""
    if said["shows"] == "time":
        return _over_time(engine, lake, said)
    special = _special(said["column"])
    where = _is_special(said["column"], special)
    counted = _profile(engine, said, where)
    bars: list[Bar] | None
    if said["shows"] == "numbers":
        bars, note = _distribution(engine, said, where, counted)
    else:
        bars, note = _commonest(engine, said, where, counted)
    if bars is None:
        return said | {"reason": note}, []
    if special:
        found = {one["value"]: one["rows"] for one in _counts(engine, said, where)}
        bars += [(name, found[value]) for value, name in special.items() if value in found]
    rows = [{"x": label, "series": said["y"], "y": rows} for label, rows in _distinct(bars)]
    sentences = [said["caption"], note, _without("value", counted["total"] - counted["known"], counted["total"])]
    return said | {"caption": " ".join(filter(None, sentences))}, rows


def _of_table(lake: _queries.Lake, table: Mapping[str, Any]) -> list[tuple[Said, str | None]]:
    name, time = table["name"], table["time"]
    if not lake.parts(name) or not lake.rows(name):
        reason = f"{name} has no rows" if lake.parts(name) else f"the lake has no {name}"
        return [({"name": f"{name}.columns", "title": f"Figures of {name}"}, reason)]
    figures: list[tuple[Said, str | None]] = []
    for column in table["columns"]:
        if column["name"] == time:
            is_known = column["type"] != "Int64" or column["unit"]
            figures.insert(0, (_figure_of_time(table, column), None if is_known else f"the integer {time} has no unit"))
        else:
            figures.append((_figure_of(table, column), _reason(table, column)))
    return figures


def _reason(table: Mapping[str, Any], column: Mapping[str, Any]) -> str | None:
    """Why a column has no figure."""
    if column["name"] in [*table["entity"], *table["primary_key"]]:
        return "such a column identifies what a row is about"
    if column["type"].startswith("Timestamp"):
        return "a date-time has a figure only if it is the time of its table"
    is_nested = column["type"].startswith(("Struct", "List"))
    return "nested values have no figure" if is_nested else None


def _figure_of_time(table: Mapping[str, Any], column: Mapping[str, Any]) -> Said:
    return {
        # A column's name has no hyphen, and that of a figure of a description no dot.
        "name": f"{table['name']}.over-time",
        "title": f"{table['name']}: rows over time",
        "caption": f"Rows by {column['name']}.",
        "needs": [{"table": table["name"], "parts": "any"}],
        "plot": "lines",
        "sql": _select(table, column),
        "shows": "time",
        "column": column,
    }


def _figure_of(table: Mapping[str, Any], column: Mapping[str, Any]) -> Said:
    # Hashes are numbers without an order.
    is_number = column["type"] in ("Int64", "Float64") and column["obfuscation"] != "hashed"
    return {
        "name": f"{table['name']}.{column['name']}",
        "title": f"{table['name']}: {column['name']}",
        "caption": column["doc"],
        "needs": [{"table": table["name"], "parts": "any"}],
        "plot": "bars",
        "x": f"{column['name']} ({column['unit']})" if column["unit"] else column["name"],
        "y": "rows",
        "sql": _select(table, column),
        "bins": None,
        "shows": "numbers" if is_number else "values",
        "column": column,
    }


def _select(table: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    value = f'"{column["name"]}"'
    if column["type"].startswith("Timestamp"):
        value = f"microseconds_of({value})"
    return f'SELECT {value} AS value, file_number FROM "{table["name"]}"'


def _special(column: Mapping[str, Any]) -> dict[Any, str]:
    """The names of values that don't mean what they say."""
    invalid = {value: f"invalid ({_label(value)})" for value in column["invalid"]}
    return invalid | {one["value"]: f"{one['name']} ({_label(one['value'])})" for one in column["sentinels"]}


def _is_special(column: Mapping[str, Any], special: Iterable[Any]) -> str:
    """A condition that holds for special values and no others."""
    kind = "DOUBLE" if column["type"] == "Float64" else "BIGINT"
    values = ", ".join(f"CAST('{value}' AS {kind})" for value in special)
    return f"value IS NOT NULL AND value IN ({values})" if values else "false"


def _profile(engine: _queries.Engine, said: Said, special: str) -> Mapping[str, Any]:
    """Counts of all rows, of known and of special values, and the range and about the number of the other ones."""

    def around(select: str) -> str:
        others = f"FILTER (WHERE NOT ({special}))"
        return (
            f"SELECT count(*) AS total, count(value) AS known, count(*) FILTER (WHERE {special}) AS special, "
            f"min(value) {others} AS least, max(value) {others} AS most, approx_count_distinct(value) {others} AS different "
            f"FROM (\n{select}\n)"
        )

    (row,) = _rows(engine, said, around)
    return row


def _counts(engine: _queries.Engine, said: Said, where: str, value: str = "value") -> list[dict[str, Any]]:
    """How many rows have each value, in ascending order."""

    def around(select: str) -> str:
        return (
            f"SELECT {value} AS value, count(*) AS rows FROM (\n{select}\n) "
            f"WHERE value IS NOT NULL AND ({where}) GROUP BY ALL ORDER BY value"
        )

    return _rows(engine, said, around)


def _rows(engine: _queries.Engine, said: Said, around: Any) -> list[dict[str, Any]]:
    return engine.rows(said["name"], said["sql"], _queries.needs(said), around=around)


# ------------------------------------------------------------------------------------------------ rows over time


def _over_time(engine: _queries.Engine, lake: _queries.Lake, said: Said) -> tuple[Said, list[dict[str, Any]]]:
    column = said["column"]
    special = _special(column)
    where = _is_special(column, special)
    counted = _profile(engine, said, where)
    if counted["least"] is None:
        return said, []
    is_date_time = column["type"].startswith("Timestamp")
    word = "microseconds" if is_date_time else (column["unit"] or "units").split()[0]
    axis, unit, width = word, 1, 1
    if per_second := PER_SECOND.get(word):
        span = (counted["most"] - counted["least"]) / per_second
        axis, seconds, _, least = next(one for one in _AXES if span >= one[2])
        axis, unit, width = f"{axis}s", seconds * per_second, least * per_second
    y = f"rows per {axis.removesuffix('s')}"
    sentences = [
        said["caption"],
        f"Time counts from the first row{_date(counted['least']) if is_date_time else ''}.",
        _without("time", counted["total"] - counted["known"], counted["total"]) if counted["total"] > counted["known"] else "",
        f"{_several_have(counted['special'], 'row')} a special time and {_is(counted['special'])} left out: {', '.join(special.values())}."
        if counted["special"]
        else "",
    ]
    drawn = said | {
        "caption": " ".join(filter(None, sentences)),
        "x": f"{axis} since the first row",
        "y": y,
        "sql": f"SELECT value AS time, {_files.sql_text(y)} AS series, file_number FROM (\n{said['sql']}\n) WHERE NOT ({where})",
        "bins": {"unit": unit, "width": width, "most": 120, "origin": None, "begin": None, "end": None, "percent_of": None},
    }
    return drawn, _bins.cells(engine, lake, drawn)


def _date(microseconds: int) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=microseconds)
    except OverflowError:
        return ""
    return f", {moment:%Y-%m-%d %H:%M:%S}"


# ------------------------------------------------------------------------------------------------ numbers


@dataclass(frozen=True)
class _Ranges:
    """Ranges of equal width that follow each other, each without its end."""

    #: The start of the first one, in widths.
    first: int
    width: Decimal
    count: int

    def start(self, number: int) -> Decimal:
        return (self.first + number) * self.width


def _distribution(
    engine: _queries.Engine, said: Said, special: str, counted: Mapping[str, Any]
) -> tuple[list[Bar], str]:
    """A bar for each value if there are few, and otherwise for each of some ranges."""
    is_other = f"NOT ({special})"
    if counted["least"] is None:
        return [], ""
    if counted["different"] <= _ESTIMATE * MOST_BARS:
        rows = _counts(engine, said, is_other)
        if len(rows) <= MOST_BARS:
            return [(_label(one["value"]), one["rows"]) for one in rows], ""
    is_whole = said["column"]["type"] == "Int64"
    ranges = _ranges(counted["least"], counted["most"], is_whole)
    rows = _counts(engine, said, is_other, _number_of(ranges, is_whole))
    found = {int(one["value"]): one["rows"] for one in rows}
    bars = [(_range(ranges, number, is_whole), found.get(number, 0)) for number in range(ranges.count)]
    width = _decimal(ranges.width)
    return bars, f"In ranges of {width}." if is_whole else f"In ranges of {width}, each without its end."


def _ranges(least: float, most: float, is_whole: bool) -> _Ranges:
    """Ranges from the least to the highest value, of a width of 1, 2 or 5 times a power of 10.

    >>> [_decimal(_ranges(0, 1999, True).start(number)) for number in (0, 1, 19)]
    ['0', '100', '1,900']
    >>> [_decimal(_ranges(0.03, 0.5, False).start(number)) for number in (0, 1, 9)]
    ['0', '0.05', '0.45']
    """
    # The digits of a float are those that people read.
    low, high = Fraction(repr(least)), Fraction(repr(most))
    span = high - low
    power = (Decimal(span.numerator) / Decimal(span.denominator)).adjusted()
    for exponent in count(0 if is_whole else power - 2):
        for digit in (1, 2, 5):
            width = Decimal(digit).scaleb(exponent)
            first = low // Fraction(width)
            number = high // Fraction(width) - first + 1
            if number <= MOST_BARS:
                return _Ranges(first, width, number)
    raise AssertionError("a width is large enough sooner or later")


def _number_of(ranges: _Ranges, is_whole: bool) -> str:
    """The number of the range that a value is in, in SQL."""
    if is_whole:
        width = int(ranges.width)
        return _bins.number_of("value", _bins.Intervals(ranges.first * width, width, ranges.count))
    # A float is compared with the bounds as they are shown: a sum such as 0.1 + 2 * 0.1 is another number than 0.3.
    ends = (f"WHEN value < CAST('{ranges.start(number + 1)}' AS DOUBLE) THEN {number}" for number in range(ranges.count - 1))
    return f"CASE {' '.join(ends)} ELSE {ranges.count - 1} END"


def _range(ranges: _Ranges, number: int, is_whole: bool) -> str:
    start, end = ranges.start(number), ranges.start(number + 1)
    return f"{int(start):,} to {int(end) - 1:,}" if is_whole else f"{_decimal(start)} to {_decimal(end)}"


def _decimal(value: Decimal) -> str:
    """A number with all of its digits.

    >>> _decimal(Decimal("1E+3")), _decimal(Decimal("0.30")), _decimal(Decimal("-12E+300")), _decimal(Decimal("0E-9"))
    ('1,000', '0.30', '-1.2e+301', '0')
    """
    if not value:
        return "0"
    is_readable = Decimal("1e-5") <= abs(value) < Decimal("1e15")
    return f"{value:,f}" if is_readable else f"{value.normalize():e}"


# ------------------------------------------------------------------------------------------------ values


def _commonest(
    engine: _queries.Engine, said: Said, special: str, counted: Mapping[str, Any]
) -> tuple[list[Bar] | None, str]:
    """A bar for each of the commonest values, and one for the rest."""
    is_text = said["column"]["type"] == "Utf8"

    def around(select: str) -> str:
        shown = f"left(whole, {_LONGEST_TEXT + 1})" if is_text else "whole"
        return (
            f"SELECT {shown} AS value, rows FROM (SELECT value AS whole, count(*) AS rows FROM (\n{select}\n) "
            f"WHERE value IS NOT NULL AND NOT ({special}) GROUP BY ALL ORDER BY rows DESC, whole LIMIT {MOST_BARS + 1}) "
            f"ORDER BY rows DESC, whole"
        )

    rows = _rows(engine, said, around)
    is_cut = len(rows) > MOST_BARS
    if is_cut and rows[0]["rows"] == 1:
        return None, "no value of it occurs twice"
    rows = rows[:MOST_BARS]
    if not is_text and said["column"]["obfuscation"] != "hashed":
        rows.sort(key=lambda one: one["value"])
    codes = {one["value"]: one["name"] for one in said["column"]["codes"]}
    bars = [(_name(one["value"], codes), one["rows"]) for one in rows]
    sentences: list[str] = []
    if is_cut:
        rest = counted["known"] - counted["special"] - sum(one["rows"] for one in rows)
        bars.append(("other values", rest))
        sentences.append(f"The list is cut after the {MOST_BARS} commonest values; other values have one bar together.")
    if is_text and any(len(one["value"]) > _LONGEST_TEXT for one in rows):
        sentences.append(f"Values are cut after {_LONGEST_TEXT} characters.")
    return bars, " ".join(sentences)


def _name(value: Any, codes: Mapping[Any, str]) -> str:
    if isinstance(value, str):
        return (value[:_LONGEST_TEXT] + "\u2026" if len(value) > _LONGEST_TEXT else value) or "(empty text)"
    if codes:
        return codes.get(value, f"code {value}")
    return _label(value)


def _label(value: bool | float) -> str:
    """A value at an axis, with all of its digits.

    >>> _label(1234567), _label(0.1), _label(-0.0), _label(True), _label(1e300)
    ('1,234,567', '0.1', '0', 'true', '1e+300')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and abs(value) < 1e15 and value.is_integer():
        value = int(value)
    return f"{value:,}"


def _distinct(bars: Sequence[Bar]) -> list[Bar]:
    """Bars whose labels differ: of two that are equal, the second one has a number.

    >>> _distinct([("other values", 3), ("other values", 9)])
    [('other values', 3), ('other values (2)', 9)]
    """
    found: dict[str, int] = {}
    for label, rows in bars:
        labels = (label if number == 1 else f"{label} ({number})" for number in count(1))
        found[next(one for one in labels if one not in found)] = rows
    return list(found.items())


def _without(what: str, rows: int, total: int) -> str:
    """How many rows have no value, in a sentence.

    >>> _without("value", 1, 4), _without("value", 0, 4)
    ('1 of 4 rows has no value (25 %).', 'Every row has a value.')
    """
    if not rows:
        return f"Every row has a {what}."
    has = "has" if rows == 1 else "have"
    return f"{_show.count(rows)} of {_show.several(total, 'row')} {has} no {what} ({_show.percent(100 * rows / total)})."


def _several_have(number: int, what: str) -> str:
    return f"{_show.several(number, what)} {'has' if number == 1 else 'have'}"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
