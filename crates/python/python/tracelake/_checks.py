"""Checks of meaning: the promises of a trace's documents, compared with the rows of a lake."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Union, cast

from . import _errors, _files, _guard, _queries, _show, _steps

if TYPE_CHECKING:
    import polars

#: ``passed``: nothing was found. ``known``: what was found has been published. ``failed``: something
#: new was found, or the query failed. ``untried``: something new was found by a check that wasn't tried
#: on published rows. ``skipped``: the check wasn't made.
Status = Literal["passed", "known", "failed", "untried", "skipped"]

#: All of them, in the order in which they are counted.
STATUSES: tuple[Status, ...] = ("passed", "known", "failed", "untried", "skipped")

#: Outcomes that a pipeline may fail on.
FAIL_ON = ("new", "known", "untried", "skipped")

#: Why a check has found something that its trace may not have.
_UNTRIED = "the check was not tried on published rows"


@dataclass(frozen=True)
class Finding:
    """Violations of one kind that a check found."""

    check: str
    #: A sentence on what is wrong.
    finding: str
    #: How many rows, or things that rows are about, are concerned.
    violations: int
    #: Published remarks about it; ``None`` if it is new.
    known: str | None
    #: The smallest violation.
    example: Mapping[str, Any]

    def __str__(self) -> str:
        place = ", ".join(f"{name}={value}" for name, value in self.example.items())
        return f"{_show.count(self.violations)} x {self.finding}, such as {place}"


@dataclass(frozen=True)
class CheckResult:
    """One check, and what came of it."""

    name: str
    #: The promise that is checked.
    sentence: str
    #: Where it is promised.
    document: str
    #: The table that was checked.
    table: str
    status: Status
    findings: tuple[Finding, ...] = ()
    #: Why it was skipped, why its query failed, or what may explain what it found: missing parts, or a check
    #: that was not tried on published rows.
    reason: str | None = None
    #: How much of the trace it is about, such as ``3 of 500 parts of task_events``; ``None`` if it is all.
    extent: str | None = None


@dataclass(frozen=True, repr=False)
class CheckReport:
    """The results of the checks of a lake; true if no check failed."""

    path: str
    trace: str
    results: tuple[CheckResult, ...]
    #: The cell that was checked; ``None`` in a lake without cells.
    cell: str | None = None

    def __bool__(self) -> bool:
        return not self.having("failed")

    def __iter__(self) -> Iterator[CheckResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, name: str) -> CheckResult:
        for result in self.results:
            if result.name == name:
                return result
        raise _errors.unknown("there is no check", str(name), [result.name for result in self.results])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def new(self) -> tuple[Finding, ...]:
        """The findings that haven't been published, of checks that were tried on published rows."""
        return self._unpublished("failed")

    @property
    def untried(self) -> tuple[Finding, ...]:
        """The findings that haven't been published, of checks that weren't tried on published rows."""
        return self._unpublished("untried")

    def _unpublished(self, status: Status) -> tuple[Finding, ...]:
        findings = (finding for result in self.having(status) for finding in result.findings)
        return tuple(finding for finding in findings if finding.known is None)

    @property
    def known(self) -> tuple[Finding, ...]:
        """The findings that have been published."""
        return tuple(finding for finding in self.findings if finding.known is not None)

    @property
    def skipped(self) -> tuple[CheckResult, ...]:
        """The checks that weren't made."""
        return self.having("skipped")

    def having(self, status: Status) -> tuple[CheckResult, ...]:
        """The checks with a status."""
        return tuple(result for result in self.results if result.status == status)

    def fails(self, fail_on: str | Iterable[str] = "new") -> bool:
        """Whether there is something to fail on: of ``new``, ``known``, ``untried`` and ``skipped``, or ``none``."""
        kinds = [] if fail_on == "none" else _queries.chosen(fail_on, FAIL_ON, "kind of result")
        found = {"new": self.having("failed"), "known": self.known, "untried": self.untried, "skipped": self.skipped}
        return any(found[kind] for kind in kinds)

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        results = [
            {
                "check": result.name,
                "table": result.table,
                "status": result.status,
                "sentence": result.sentence,
                "document": result.document,
                "extent": result.extent,
                "reason": result.reason,
                "findings": [
                    {
                        "finding": one.finding,
                        "violations": one.violations,
                        "known": one.known,
                        "example": _plain(one.example),
                    }
                    for one in result.findings
                ],
            }
            for result in self.results
        ]
        cell = {} if self.cell is None else {"cell": self.cell}
        return {"trace": self.trace, **cell, "counts": self._counts(), "checks": results}

    def rows(self) -> list[dict[str, Any]]:
        """One row for each finding, and one for each check without any, for a DataFrame."""
        rows: list[dict[str, Any]] = []
        for result in self.results:
            base: dict[str, Any] = {"check": result.name, "table": result.table, "status": result.status}
            if not result.findings:
                none = {"finding": None, "violations": 0, "known": None, "example": None}
                rows.append({**base, **none, "reason": result.reason})
            for one in result.findings:
                found = {"finding": one.finding, "violations": one.violations, "known": one.known}
                example = json.dumps(_plain(one.example))
                rows.append({**base, **found, "example": example, "reason": result.reason})
        return rows

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars DataFrame."""
        try:
            import polars
        except ImportError as missing:
            raise _errors.missing_extra("polars", "polars") from missing
        text = polars.String()
        names = ("check", "table", "status", "finding", "violations", "known", "example", "reason")
        schema = {name: polars.Int64() if name == "violations" else text for name in names}
        return polars.DataFrame(self.rows(), schema=schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        # pandas has no type annotations of its own.
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError as missing:
            raise _errors.missing_extra("pandas") from missing
        return pandas.DataFrame(self.rows())

    def _counts(self) -> dict[str, int]:
        return {kind: len(self.having(kind)) for kind in STATUSES}

    def _title(self) -> str:
        counts = ", ".join(f"{number} {kind}" for kind, number in self._counts().items())
        cell = "" if self.cell is None else f", cell {self.cell}"
        return f"{_show.several(len(self), 'check')} of {self.trace}{cell} in {_files.shown(self.path)}: {counts}"

    def __repr__(self) -> str:
        lines = [self._title()]
        for result in self.results:
            extent = f" ({result.extent})" if result.extent else ""
            lines.append(f"  {result.status:<7}  {result.name}: {result.sentence}{extent}")
            lines += [f"           {line}" for line in _notes(result)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{result.status}</td><td>{escape(result.name)}</td><td>{escape(result.sentence)}"
            f"{escape(f' ({result.extent})') if result.extent else ''}"
            + "".join(f"<br>{escape(line)}" for line in _notes(result))
            + "</td></tr>"
            for result in self.results
        )
        return (
            f"<table><caption>{escape(self._title())}</caption><thead><tr><th>status</th><th>check</th>"
            f"<th>what is promised, and what was found</th></tr></thead><tbody>{rows}</tbody></table>"
        )


def check(
    lake: _queries.Lake,
    *,
    only: str | Iterable[str] | None,
    allow_missing: bool,
    limits: _queries.Limits,
    watch: Callable[[CheckResult], object] | None,
    steps: _steps.Steps | None = None,
) -> CheckReport:
    """Makes the checks of a lake, one after the other."""
    checks: dict[str, Any] = {one["name"]: one for one in lake.said["checks"]}
    names = chosen(lake, only)
    steps = steps or _steps.Steps()
    results: list[CheckResult] = []
    with _queries.engine(lake, limits) as engine:
        for name in names:
            steps.start(name)
            result = _run(checks[name], lake, engine, allow_missing)
            steps.finish(name, result.status)
            results.append(result)
            if watch is not None:
                watch(result)
    return CheckReport(lake.manifest.path, lake.manifest.trace, tuple(results), lake.cell)


def chosen(lake: _queries.Lake, only: str | Iterable[str] | None) -> list[str]:
    """The names of the checks to make; of all of them for ``None``."""
    return _queries.chosen(only, [one["name"] for one in lake.said["checks"]], "check")


def _run(said: Mapping[str, Any], lake: _queries.Lake, engine: _queries.Engine, allow_missing: bool) -> CheckResult:
    needs = _queries.needs(said)

    def result(status: Status, findings: tuple[Finding, ...] = (), reason: str | None = None) -> CheckResult:
        sentence, document = said["sentence"], said["document"]
        return CheckResult(said["name"], sentence, document, needs[0].table, status, findings, reason, lake.extent(needs))

    if empty := lake.empty(needs):
        return result("skipped", reason=empty)
    if out_of_order := lake.out_of_order(said):
        return result("skipped", reason=out_of_order)
    missing = lake.missing(needs)
    if missing and not allow_missing:
        return result("skipped", reason=missing)
    groups: Iterable[set[int] | None] = [None]
    if said["by_part"]:
        groups = lake.groups_of_parts(needs[0].table)
    found: dict[tuple[str, str | None], Finding] = {}
    try:
        for numbers in groups:
            for row in engine.rows(said["name"], said["sql"], needs, numbers):
                _add(found, row)
    except _guard.QueryError as error:
        return result("failed", reason=f"the query failed: {error}")
    # Known findings are about the published rows, and explain nothing in others.
    known: Iterable[Mapping[str, Any]] = () if lake.manifest.synthetic else said["known"]
    findings = _limited(found, known, lake.rows(needs[0].table))
    if not findings:
        return result("passed", reason=missing)
    if all(finding.known is not None for finding in findings):
        return result("known", findings, missing)
    if said["untried"]:
        return result("untried", findings, f"{missing}; {_UNTRIED}" if missing else _UNTRIED)
    return result("failed", findings, missing)


def _add(found: dict[tuple[str, str | None], Finding], row: Mapping[str, Any]) -> None:
    """Adds what was found in some parts to what was found before."""
    finding, known, violations = row["finding"], row["known"], row["violations"]
    before = found.get((finding, known))
    if before is None:
        example = {name: value for name, value in row["example"].items() if name != "finding"}
        found[finding, known] = Finding(row["check"], finding, violations, known, example)
    else:
        total = before.violations + violations
        found[finding, known] = Finding(before.check, finding, total, known, before.example)


def _limited(
    found: Mapping[tuple[str, str | None], Finding], known: Iterable[Mapping[str, Any]], rows: int
) -> tuple[Finding, ...]:
    """Findings in order; where there are more violations than are known, all of these are new."""
    limits: dict[str, float] = {}
    for one in known:
        most, percent = one["at_most"], one["at_most_percent"]
        scaled = math.inf if percent is None else percent / 100 * rows
        limits[one["doc"]] = scaled if most is None else min(most, scaled)
    totals: dict[str, int] = {}
    for finding in found.values():
        if finding.known is not None:
            totals[finding.known] = totals.get(finding.known, 0) + finding.violations
    findings = [
        Finding(one.check, one.finding, one.violations, None, one.example)
        if one.known is not None and totals[one.known] > limits.get(one.known, 0)
        else one
        for one in found.values()
    ]
    return tuple(sorted(findings, key=lambda one: (one.known is not None, one.finding)))


def _notes(result: CheckResult) -> list[str]:
    """The lines that describe a result."""
    lines: list[str] = []
    for finding in result.findings:
        lines.append(f"{'known' if finding.known else 'untried' if result.status == 'untried' else 'new'}: {finding}")
        if finding.known:
            lines.append(f"  {finding.known}")
    if result.reason:
        prefix = "perhaps because " if result.findings else ""
        lines.append(f"{prefix}{result.reason}")
    return lines


#: A value in JSON.
_Json = Union[None, bool, int, float, str, "list[_Json]", "dict[str, _Json]"]


def _plain(value: Any) -> _Json:
    """A value of DuckDB as JSON has it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def fail_on(text: str) -> str:
    """Checks the argument of ``--fail-on``."""
    if text != "none":
        _queries.chosen(text, FAIL_ON, "kind of result")
    return text


__all__ = ["CheckReport", "CheckResult", "Finding", "check", "chosen", "fail_on"]
