"""One odd row costs a page at most a figure: every numeric column at the ends of its type, at 0, at -1 and NULL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracelake

for extra in ("duckdb", "matplotlib", "pyarrow"):
    pytest.importorskip(extra)

from lakes import Row, edit
from plain_figures import PLAIN
from tracelake import _figures, _guard, _queries, _report

#: The values of a column of a type, by their names.
VALUES: dict[str, dict[str, Any]] = {
    "Int32": {"least": -(2**31), "most": 2**31 - 1, "zero": 0, "below": -1, "null": None},
    "Int64": {"least": -(2**63), "most": 2**63 - 1, "zero": 0, "below": -1, "null": None},
    "Float64": {"least": -1.7976931348623157e308, "most": 1.7976931348623157e308, "zero": 0.0, "below": -1.0, "null": None},
}
#: Times that are no ends of a type, and yet far from all others.
VALUES["Int64"] |= {"far": 2**62, "later": 1_600_000_000, "near": 2**63 - 2}
VALUES["Float64"] |= {"far": float(2**62), "later": 1_600_000_000.0, "near": 5e-324}


def small(trace: str, path: Path) -> None:
    """A small lake of a trace."""
    from test_next_traces import TRACES, made

    if trace in TRACES:
        source = made(trace)
        (source / "SYNTHETIC.txt").write_text("A few rows.\n")
        tracelake.convert(source, path, trace=trace, allow_missing=True)
    else:
        tracelake.generate(trace, "trace", parts=2, rows=700, seed=3)
        tracelake.convert("trace", path)


def plant(trace: str, path: Path, which: list[str]) -> int:
    """Puts values into each numeric column, one column a row, and returns how many."""
    planted = 0
    for name, table in tracelake.open(path).items():
        schema = tracelake.schema(trace, name)

        def change(rows: list[Row], schema: Any = schema) -> None:
            nonlocal planted
            model, place = dict(rows[0]), 0
            for column in schema.values():
                for field, kind in leaves(column):
                    for value in [VALUES[kind][one] for one in which if one in VALUES.get(kind, {})]:
                        if value is None and not column.nullable:
                            continue
                        # Where there aren't enough rows, there are more like the first one.
                        if place == len(rows):
                            rows.append(dict(model))
                        row = rows[place]
                        if field is None:
                            row[column.name] = value
                        elif row[column.name] is not None:
                            row[column.name] = dict(row[column.name], **{field: value})
                        place += 1
                        planted += 1

        edit(path, name, table.parts[0].file_number, change)
    return planted


def leaves(column: tracelake.Column) -> list[tuple[str | None, str]]:
    """The column, or the fields of a struct, with their types."""
    if not column.type.startswith("Struct<"):
        return [(None, column.type)]
    fields = column.type.removeprefix("Struct<").removesuffix(">").split(", ")
    return [(name, kind.rstrip("?")) for name, _, kind in (field.partition(": ") for field in fields)]


#: The forms to draw for each value, because drawing takes the longest. The other values aren't drawn: they are ordinary numbers.
FORMS = {"least": ["wide"], "most": ["narrow"], "far": ["wide", "narrow"]}


# The least and the most of a type may hide one another's overflow; the others don't.
@pytest.mark.parametrize("which", [*FORMS, "near zero below null later"])
@pytest.mark.parametrize("trace", PLAIN)
def test_no_value_stops_a_check_or_a_figure(trace: str, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = FORMS.get(which, [])
    monkeypatch.setattr(_figures, "_SIZES", {form: size for form, size in _figures._SIZES.items() if form in forms})
    small(trace, Path("lake"))
    assert plant(trace, Path("lake"), which.split())
    checks = tracelake.check("lake")
    assert not [result for result in checks if result.reason and "the query failed" in result.reason], checks
    lake = _queries.Lake("lake")
    colours = _figures.Colours(())
    with _queries.engine(lake, _queries.Limits()) as engine:
        for said in lake.said["figures"]:
            if lake.empty(_queries.needs(said)):
                continue
            rows = _report._rows(engine, lake, said)
            if said["plot"] == "numbers":
                assert all(_report._number(row, None).text for row in rows if row["y"] is not None)
            elif (data := _figures.Data.of(rows)).values and forms:
                assert _figures.figure(said, data, colours).count("<figcaption") == 1
    assert _report._lake(lake)


def test_a_page_is_made_around_a_figure_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    small("google-2011-v2.1", Path("lake"))
    rows = _report._rows

    def failing(engine: _queries.Engine, lake: _queries.Lake, said: Any) -> Any:
        if said["name"] == "priorities":
            said = said | {"sql": "SELECT 9223372036854775807 + time AS x, '' AS series, 1 AS y FROM task_events"}
        return rows(engine, lake, said)

    monkeypatch.setattr(_report, "_rows", failing)
    report = tracelake.report("lake", "page.html")
    assert "Overflow" in report.skipped["priorities"] and "job_sizes" in report.figures
    text = Path("page.html").read_text()
    assert "This figure isn&#x27;t drawn: it failed: priorities: " in text or "This figure isn't drawn: it failed: priorities: " in text


def test_a_check_whose_query_fails_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    small("google-2011-v2.1", Path("lake"))
    rows = _queries.Engine.rows

    def failing(self: _queries.Engine, what: str, sql: str, *others: Any, **more: Any) -> Any:
        return rows(self, what, "SELECT 9223372036854775807 + time FROM job_events" if what == "job_events_codes" else sql, *others, **more)

    monkeypatch.setattr(_queries.Engine, "rows", failing)
    report = tracelake.check("lake")
    result = report["job_events_codes"]
    assert (result.status, result.findings) == ("failed", ()) and "Overflow" in (result.reason or "")
    assert not report and report.fails() and report.having("passed") and _guard.QueryError
