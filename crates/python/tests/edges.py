"""Lakes whose times are on the edges of intervals, or the smallest step beside them, and whose numbers are on those of bins."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tracelake
from lakes import Row, edit
from tracelake import _queries

#: Numbers on the edges of bins of figures, and beside them.
WHOLE = [0, 1, 2, 9, 10, 49, 50, 60, 99, 100, 101, 460, 500, 1000, 3999, 4000]
FRACTIONS = [0.0, 9.999999999999998, 10.0, 10.5, 19.999999999999996, 20.0, 25.0, 50.0, 60.0, 89.99999999999999, 90.0, 100.0]


def on_edges(trace: str, path: Path) -> tracelake.Manifest:
    """A lake of a trace with such rows."""
    from test_next_traces import TRACES, made

    if trace in TRACES:
        source = made(trace)
        # Otherwise figures that need a whole table would be left out.
        (source / "SYNTHETIC.txt").write_text("A few rows.\n")
        lake = tracelake.convert(source, path, trace=trace, allow_missing=True)
    else:
        tracelake.generate(trace, "trace", parts=2, rows=3000, seed=3)
        lake = tracelake.convert("trace", path)
    for table in lake.tables:
        edges = _Edges(trace, table.name)
        for part in table.parts:
            edit(path, table.name, part.file_number, edges.grown if trace in TRACES else edges.moved)
    return lake


class _Edges:
    def __init__(self, trace: str, table: str) -> None:
        self._random = random.Random(f"{trace} {table}")
        self._columns = tracelake.schema(trace, table)
        figures = [one["bins"] for one in _queries.described(trace)["figures"] if one["bins"]]
        self._width = figures[0]["width"]
        self._origin: int | None = figures[0]["origin"]

    def _is_time(self, name: str) -> bool:
        column = self._columns[name]
        return " since " in (column.unit or "") or column.type.startswith("Timestamp")

    def moved(self, rows: list[Row]) -> None:
        """The same rows in the same order, with their times moved to the edges."""
        for row in rows:
            for name in row:
                if self._is_time(name) and row[name] is not None and row[name] not in self._columns[name].sentinels:
                    row[name] = self._edge(row[name] // (self._width // 3))

    def grown(self, rows: list[Row]) -> None:
        """Rows of the same part with other times and numbers."""
        models = list(rows)
        first = min((row[name] for row in models for name in row if self._is_time(name) and row[name]), default=0)
        if not isinstance(first, datetime):
            first = int(first)
        for _ in range(200):
            rows.append({name: self._value(name, models, first) for name in models[0]})

    def _value(self, name: str, models: list[Row], first: Any) -> Any:
        kind = self._columns[name].type
        if self._is_time(name):
            third = self._random.randrange(0, 3 * 70)
            if isinstance(first, datetime):
                edge = max(0, self._edge(third, 0))
                return first + timedelta(microseconds=edge)
            start = first if self._origin is None else first - first % self._width
            value = self._edge(third, start, is_float=kind.startswith("Float"))
            return max(first, value) if self._origin is None else value
        if kind.startswith("Float"):
            return self._random.choice(FRACTIONS)
        if kind.startswith("Int"):
            return self._random.choice(WHOLE)
        return self._random.choice(models)[name]

    def _edge(self, third: int, start: int | None = None, is_float: bool = False) -> Any:
        """The time of a third of an interval: just before its edge, on it, or just after it."""
        interval, place = divmod(third, 3)
        edge = interval * self._width + (start or 0)
        if is_float:
            return math.nextafter(float(edge), [-math.inf, float(edge), math.inf][place])
        return edge + place - 1
