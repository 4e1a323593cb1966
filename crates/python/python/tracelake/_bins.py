"""Figures over time: which time a lake covers, and what happens in each interval of it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from . import _guard, _queries

#: A time or a length of time, in the unit of the trace.
Time = Union[int, float]

#: The number of a cell of a figure, if it is known, and whether it is that of an interval that isn't covered as a whole.
Cell = tuple[Union[float, None], bool]

#: Differences of times below this fit into 64 bits.
_NEAR = 1 << 61

#: The number of the part of rows whose parts don't follow each other in time.
_NO_PART = -1


@dataclass(frozen=True)
class Range:
    """A range of time of which the lake has everything."""

    first: Time
    last: Time


@dataclass(frozen=True)
class Intervals:
    """Intervals of one width that follow each other."""

    #: Where the first one begins.
    first: int
    width: int
    count: int

    def start(self, step: int) -> int:
        return self.first + step * self.width


def cells(engine: _queries.Engine, lake: _queries.Lake, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The numbers of a figure over time: rows with x, series, y and partial.

    What is counted or summed is a rate where the lake has the whole interval. Elsewhere it is the plain count or sum, and
    marked as partial, because the lake may lack rows of that interval.
    """
    name, sql, needs, bins = said["name"], said["sql"], _queries.needs(said), said["bins"]
    columns = engine.columns(name, sql, needs)
    if not {"time", "series"} <= set(columns):
        raise _guard.QueryError(f"{name}: its columns are {', '.join(columns)}; a figure over time has time and series")
    ranges = engine.rows(name, sql, needs, around=lambda select: _ranges_sql(select, columns))
    if not ranges:
        return []
    selected = lake.selected_time(is_date_time=_is_date_time(lake, needs[0].table))
    runs = covered(lake, needs[0].table, ranges, selected, bins)
    intervals = _intervals(ranges, runs, selected[0], bins)
    sums = engine.rows(name, sql, needs, around=lambda select: _sums_sql(select, columns, intervals))
    series = _series(sums, columns, intervals, runs, bins["unit"])
    if bins["percent_of"] is not None:
        series = _percentages(series, bins["percent_of"])
    origin = math.floor(min(one["first"] for one in ranges)) if bins["origin"] is None else bins["origin"]
    return [
        {"x": (intervals.start(step) - origin) / bins["unit"], "series": one, "y": y, "partial": partial}
        for one, values in series.items()
        for step, (y, partial) in enumerate(values)
    ]


def covered(
    lake: _queries.Lake,
    table: str,
    ranges: Sequence[Mapping[str, Any]],
    selected: tuple[int | None, int | None],
    bins: Mapping[str, Any],
) -> list[Range]:
    """The ranges of time that the lake covers, from the first and the last time of each of its parts.

    A part reaches to the first time of the next one. The first part of the trace reaches back to its beginning and the
    last one to its end, if these are published. A part of which rows were left out reaches to the ends of the range of
    time that was selected.
    """
    begin, end = (None, None) if lake.manifest.synthetic else (bins["begin"], bins["end"])
    since, until = selected
    missing = lake.missing_parts(table)
    incomplete = bool(missing) or lake.incomplete(table) is not None
    by_part = all(one["number"] != _NO_PART for one in ranges)
    runs: list[Range] = []
    for parts in lake.runs(table) if by_part else [lake.parts(table)]:
        numbers = {part.file_number for part in parts}
        own = [one for one in ranges if one["number"] in numbers or not by_part]
        if not own:
            continue
        is_first = not incomplete or (by_part and bool(missing) and min(numbers) < min(missing))
        is_last = not incomplete or (by_part and bool(missing) and max(numbers) > max(missing))
        is_cut = any(part.rows_not_selected for part in parts)
        first, last = min(one["first"] for one in own), max(one["last"] for one in own)
        if is_first and begin is not None:
            first = begin if since is None else max(begin, since)
        elif is_cut and since is not None:
            first = since
        if is_last and end is not None:
            last = end if until is None else min(end, until)
        elif is_cut and until is not None:
            last = until
        runs.append(Range(first, last))
    return runs


def _is_date_time(lake: _queries.Lake, table: str) -> bool:
    """Whether the times of a table are date-times, which count from 1970."""
    (said,) = (one for one in lake.said["tables"] if one["name"] == table)
    return any(one["type"].startswith("Timestamp") for one in said["columns"] if one["name"] == said["time"])


def _intervals(
    ranges: Sequence[Mapping[str, Any]],
    runs: Sequence[Range],
    since: int | None,
    bins: Mapping[str, Any],
) -> Intervals:
    """The intervals in which something happens, not more than the figure may have, and aligned to what is covered."""
    low = math.floor(min(one["first"] for one in ranges))
    high = max(one["last"] for one in ranges)
    width = max(1, -(-(math.ceil(high) - low) // (bins["most"] * bins["width"]))) * bins["width"]
    origin = low if bins["origin"] is None else bins["origin"]
    if since is not None and bins["origin"] is not None and any(run.first == since for run in runs):
        origin = since
    first = origin + (low - origin) // width * width
    # The end of a period isn't in it, and the time of an event is.
    steps = [(math.floor(one["top"]) - first) // width for one in ranges]
    steps.append(-(-(math.ceil(high) - first) // width) - 1)
    return Intervals(first, width, max(steps) + 1)


def _ranges_sql(select: str, columns: Mapping[str, str]) -> str:
    """The first and the last time of each part, and the latest at which something begins."""
    number = "file_number" if "file_number" in columns else str(_NO_PART)
    last = "greatest(time, until)" if "until" in columns else "time"
    return (
        f"SELECT {number} AS number, min(time) AS first, max({last}) AS last, max(time) AS top FROM (\n{select}\n) "
        f"WHERE time IS NOT NULL AND {number} IS NOT NULL GROUP BY ALL HAVING count(*) > 0 ORDER BY ALL"
    )


def _sums_sql(select: str, columns: Mapping[str, str], intervals: Intervals) -> str:
    """What happens in each interval, and before the first one (-1)."""
    if columns["time"] in ("DOUBLE", "FLOAT"):
        # A difference of two floats may be too large for one.
        scale = 4 if intervals.width * intervals.count > sys.float_info.max else 1
        first, width = (f"{_as_float(one // scale)!r} :: DOUBLE" for one in (intervals.first, intervals.width))
        step = f"bin_of_float(time / {scale}, {first}, {width}, {intervals.count})"
    else:
        step = number_of("time", intervals)
    sums = ", ".join(f"sum({one}) AS {one}" for one in ("amount", "samples", "change") if one in columns)
    return (
        f"SELECT {step} AS step, series, count(*) AS happened{', ' if sums else ''}{sums} FROM (\n{select}\n) "
        f"WHERE time IS NOT NULL GROUP BY ALL"
    )


def number_of(value: str, intervals: Intervals) -> str:
    """The number of the interval that an integer is in, in SQL."""
    if max(abs(intervals.first), abs(intervals.start(intervals.count))) < _NEAR:
        return f"bin_of({value}, {intervals.first}, {intervals.width}, {intervals.count})"
    return f"bin_of(wide({value}), wide({intervals.first}), wide({intervals.width}), {intervals.count})"


def _as_float(value: int) -> float:
    limit = sys.float_info.max
    return float(max(-int(limit), min(int(limit), value)))


def _series(
    sums: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    intervals: Intervals,
    runs: Sequence[Range],
    unit: int,
) -> dict[str, list[Cell]]:
    """The cells of each series, one for each interval."""
    by_series: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in sums:
        by_series.setdefault(str(row["series"]), {})[int(row["step"])] = row
    steps = range(intervals.count)
    happens = {step for rows in by_series.values() for step in rows}
    starts = [(intervals.start(step), intervals.start(step + 1)) for step in steps]
    is_whole = [any(run.first <= start and end <= run.last for run in runs) for start, end in starts]
    is_known = [
        step in happens or any(run.first < end and start < run.last for run in runs)
        for step, (start, end) in enumerate(starts)
    ]
    found: dict[str, list[Cell]] = {}
    for name, rows in by_series.items():
        if any(row.get("change") is not None for row in rows.values()):
            level = 0.0
            levels: list[Cell] = []
            for step in range(-1, intervals.count):
                level += float(rows[step]["change"] or 0) if step in rows else 0.0
                levels.append((level, False))
            found[name] = levels[1:]
        elif "samples" in columns:
            found[name] = [(_mean(rows.get(step)), False) for step in steps]
        else:
            what = "amount" if "amount" in columns else "happened"
            totals = [float(rows[step][what] or 0) if step in rows else 0.0 for step in steps]
            found[name] = [
                (total * unit / intervals.width, False)
                if is_whole[step]
                else (total if is_known[step] else None, is_known[step])
                for step, total in enumerate(totals)
            ]
    return found


def _mean(row: Mapping[str, Any] | None) -> float | None:
    return None if row is None or not row["samples"] else float(row["amount"]) / float(row["samples"])


def _percentages(series: Mapping[str, Sequence[Cell]], of: str) -> dict[str, list[Cell]]:
    """Each series in percent of one of them. A sum of an interval that isn't covered is no share of anything."""
    wholes = [y for y, _ in series.get(of, ())]
    return {
        name: [
            (None if partial or y is None or not whole else 100 * y / whole, False)
            for (y, partial), whole in zip(values, wholes)
        ]
        for name, values in series.items()
        if name != of
    }
