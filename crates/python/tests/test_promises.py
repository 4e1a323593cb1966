"""A fault for each promise of the publishers' documents: the check that is for it finds it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import tracelake
from tracelake import _queries

for extra in ("duckdb", "pyarrow"):
    pytest.importorskip(extra)

from promises import LISTS, Fault, family, faults, plant, rows_of
from test_next_traces import TRACES, made

#: The traces of one data set have the same promises.
FAMILIES = list({family(trace): trace for trace in reversed(tracelake.traces())}.values())

#: The least share of the faults of a trace that checks find.
FOUND = 0.95


def lake_of(trace: str) -> Path:
    """A lake of a trace with rows in every table."""
    if trace in TRACES:
        tracelake.convert(made(trace), "lake", trace=trace, allow_missing=True)
    else:
        tracelake.generate(trace, "trace", parts=2, rows=20_000, seed=5)
        tracelake.convert("trace", "lake")
    return Path("lake")


@pytest.mark.parametrize("trace", FAMILIES)
def test_faults_are_found(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    checks = {one["name"]: one["sql"] for one in _queries.described(trace)["checks"]}
    planted, missed, needless, without_effect = 0, [], [], []
    with rows_of(lake_of(trace)) as rows:

        def findings(check: str) -> int:
            return int(rows.execute(f"SELECT coalesce(sum(violations), 0) FROM (\n{checks[check]}\n)").fetchone()[0])

        clean = {check: findings(check) for check in checks}
        for fault in faults(trace):
            planted += 1
            rows.begin()
            # A statement says how many rows it changed.
            if not all(rows.execute(statement).fetchone()[0] for statement in fault.statements):
                without_effect.append(fault)
            asked = checks if fault.check is None else [fault.check]
            is_found = any(findings(check) > clean[check] for check in asked)
            rows.rollback()
            if fault.check is None:
                missed.append(fault)
                needless += [fault] * is_found
            elif not is_found:
                missed.append(fault)
    with capsys.disabled():
        print(f"\n{trace}: {planted - len(missed)} of {planted} faults are found")
    assert not without_effect
    # What breaks a promise without a check is listed with the reason, unless a check finds it after all.
    assert not [fault for fault in missed if fault.check is not None]
    assert not needless
    assert planted - len(missed) >= FOUND * planted, missed


@pytest.mark.parametrize("trace", FAMILIES)
def test_every_check_is_for_a_promise(trace: str) -> None:
    checks = {one["name"] for one in _queries.described(trace)["checks"]}
    assert {fault.check for fault in faults(trace)} - {None} == checks


def test_every_trace_has_a_list() -> None:
    assert {path.stem for path in LISTS.glob("*.toml")} == {family(trace) for trace in tracelake.traces()}
    for path in LISTS.glob("*.toml"):
        for promise in tomllib.loads(path.read_text())["promise"]:
            assert ("check" in promise) != ("reason" in promise), promise


@pytest.mark.parametrize("trace", [trace for trace in FAMILIES if trace in TRACES])
def test_faults_are_found_in_the_files_of_a_lake(trace: str) -> None:
    lake = lake_of(trace)
    fault: Fault = next(fault for fault in faults(trace) if fault.check is not None and len(fault.tables) == 1)
    assert fault.check is not None
    before = tracelake.check(lake, only=fault.check, allow_missing=True)[fault.check]
    plant(lake, fault)
    after = tracelake.check(lake, only=fault.check, allow_missing=True)[fault.check]
    assert (before.status, after.status in ("failed", "untried")) == ("passed", True), after
