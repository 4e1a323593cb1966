"""Each check finds the fault that is planted for it, and no other check does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import promises
import tracelake
from faults import FAULTS, tasks
from lakes import copy_of, edit, file_of
from tracelake import _queries

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

PROGRAM = Path(sys.executable).with_name("tracelake")
CASES = [(trace, name) for trace, faults in FAULTS.items() for name in faults]


@pytest.fixture(scope="session")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A lake of each trace, which no test changes."""
    made: dict[str, Path] = {}
    for trace in FAULTS:
        source = tmp_path_factory.mktemp("source") / trace
        made[trace] = tmp_path_factory.mktemp("lake") / trace
        tracelake.generate(trace, source, parts=2, rows=20_000, seed=5)
        tracelake.convert(source, made[trace])
    return made


@pytest.fixture(scope="session")
def clean(lakes: dict[str, Path]) -> dict[str, tracelake.CheckReport]:
    """The findings of the checks in them."""
    return {trace: tracelake.check(lake) for trace, lake in lakes.items()}


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that is treated as one of published rows, which no test changes."""
    source, lake = tmp_path_factory.mktemp("published") / "source", tmp_path_factory.mktemp("published") / "lake"
    tracelake.generate("google-2011-v2.1", source, parts=2, rows=20_000, seed=5)
    (source / "SYNTHETIC.txt").unlink()
    tracelake.convert(source, lake)
    return lake


@pytest.mark.parametrize("trace", FAULTS)
def test_a_clean_lake_passes(trace: str, clean: dict[str, tracelake.CheckReport]) -> None:
    assert {result.status for result in clean[trace]} == {"passed"}, clean[trace]


# Alibaba's twelve are 6 seeds in 2 sizes.
@pytest.mark.parametrize("rows", [700, 30_000])
@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("trace", FAULTS)
def test_generated_traces_pass_at_every_seed_and_size(trace: str, seed: int, rows: int) -> None:
    tracelake.generate(trace, "trace", parts=1 + seed % 3, rows=rows, seed=seed)
    tracelake.convert("trace", "lake")
    report = tracelake.check("lake")
    assert {result.status for result in report} <= {"passed", "skipped"}, report
    assert all(result.reason and result.reason.endswith(("has no rows", "1 part is missing")) for result in report.skipped), report


@pytest.mark.parametrize("trace", FAULTS)
def test_every_check_has_a_fault(trace: str, clean: dict[str, tracelake.CheckReport]) -> None:
    planted = {name.split("/")[0] for name in FAULTS[trace]} | {fault.check for fault in promises.faults(trace)} - {None}
    assert [result.name for result in clean[trace]] == [result.name for result in clean[trace] if result.name in planted]
    assert planted == {result.name for result in clean[trace]}


@pytest.mark.parametrize(("trace", "name"), CASES)
def test_a_fault_is_found_by_its_check_alone(
    trace: str, name: str, lakes: dict[str, Path], clean: dict[str, tracelake.CheckReport], tmp_path: Path
) -> None:
    lake = copy_of(lakes[trace], tmp_path)
    for table, number, change in FAULTS[trace][name]:
        edit(lake, table, number, change)
    edited = {table for table, _, _ in FAULTS[trace][name]}
    # The others read the rows that they read before.
    reading = [one["name"] for one in _queries.described(trace)["checks"] if edited & {need["table"] for need in one["needs"]}]
    report = tracelake.check(lake, only=reading)

    def counts(report: tracelake.CheckReport) -> dict[str, dict[str, int]]:
        return {result.name: {one.finding: one.violations for one in result.findings} for result in report}

    before, after = counts(clean[trace]), counts(report)
    changed = {check for check in after if before[check] != after[check]}
    check = name.split("/")[0]
    assert changed == {check}, report
    assert report[check].status == "failed"
    assert sum(after[check].values()) == 1 or check in ("batch_task_dependencies_end",), report[check]


def test_the_stage_of_a_task_is_no_dependency(lakes: dict[str, Path], tmp_path: Path) -> None:
    lake = copy_of(lakes["alibaba-2018"], tmp_path)
    edit(lake, "batch_task", 0, tasks("M1_Stg9", "M2", "J10_1_2_Stg4", "R11_10_Stg8"))
    assert tracelake.check(lake, only="batch_task_dependencies_exist,batch_task_dependencies_end")


def test_every_version_has_the_same_checks() -> None:
    def names(trace: str) -> list[str]:
        return [one["name"] for one in json.loads(tracelake.schema(trace).to("json"))["checks"]]

    assert names("google-2011-v2") == names("google-2011-v2.1")


def test_known_findings_are_separate_from_new_ones(published: Path, tmp_path: Path) -> None:
    lake = copy_of(published, tmp_path)

    def reuse(job: int) -> None:
        def change(rows: list[dict[str, object]]) -> None:
            row = dict(rows[-1], event_type=0, missing_info=None, job_id=job)
            rows += [row, dict(row, event_type=1), dict(row, event_type=5), row]

        edit(lake, "job_events", 1, change)
        edit(lake, "task_events", 1, lambda rows: rows.append(dict(rows[-1], job_id=job, event_type=0, missing_info=None)))

    reuse(6253771429)
    assert tracelake.check(lake, only="job_ids_unique")["job_ids_unique"].status == "known"
    reuse(12345)
    result = tracelake.check(lake, only="job_ids_unique")["job_ids_unique"]
    assert result.status == "failed"
    assert [(one.known is None, one.violations, one.example["job_id"]) for one in result.findings] == [
        (True, 1, 12345),
        (False, 1, 6253771429),
    ]


@pytest.mark.parametrize(("jobs", "status"), [(80, "known"), (81, "failed")])
def test_more_than_is_known_is_new(jobs: int, status: str, published: Path, tmp_path: Path) -> None:
    lake = copy_of(published, tmp_path)
    edit(
        lake,
        "job_events",
        1,
        lambda rows: rows.extend([dict(rows[-1], job_id=10**12 + job, event_type=0) for job in range(jobs)]),
    )
    result = tracelake.check(lake, only="jobs_have_tasks", allow_missing=True)["jobs_have_tasks"]
    assert (result.status, result.findings[0].violations) == (status, jobs)


@pytest.mark.parametrize(
    ("rows", "value", "status"), [(130, 1.5, "known"), (131, 1.5, "failed"), (1, 100.5, "failed")]
)
def test_what_is_known_is_bounded_by_the_rows_of_the_lake_and_by_value(
    rows: int, value: float, status: str, published: Path, tmp_path: Path
) -> None:
    lake = copy_of(published, tmp_path)

    def change(part: list[dict[str, object]]) -> None:
        for row in part[:rows]:
            row["maximum_cpu_rate"] = value

    edit(lake, "task_usage", 0, change)
    # 0.65 % of 20,000 rows are 130.
    result = tracelake.check(lake, only="task_usage_values")["task_usage_values"]
    assert (result.status, result.findings[0].violations) == (status, rows)


def test_nothing_is_known_of_a_synthetic_lake(lakes: dict[str, Path], tmp_path: Path) -> None:
    lake = copy_of(lakes["google-2011-v2.1"], tmp_path)
    edit(lake, "task_usage", 0, lambda rows: rows[0].update(maximum_cpu_rate=1.5))
    result = tracelake.check(lake, only="task_usage_values")["task_usage_values"]
    assert (result.status, [one.known for one in result.findings]) == ("failed", [None])


def test_checks_by_part_add_up(lakes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracelake import _queries

    lake = copy_of(lakes["google-2011-v2.1"], tmp_path)
    for number in (0, 1):
        edit(lake, "task_usage", number, lambda rows: rows[0].update(cpu_rate=-1.0, start_time=1, end_time=2))
    at_once = tracelake.check(lake, only=["task_usage_values", "task_usage_sorted"])
    monkeypatch.setattr(_queries, "ROWS_AT_A_TIME", 1)
    assert tracelake.check(lake, only=["task_usage_values", "task_usage_sorted"]) == at_once
    assert {one.finding: one.violations for one in at_once.new} == {"cpu_rate is negative": 2}


def planted(lake: Path, check: str) -> None:
    """Plants the first fault of a promise that a check is for."""
    promises.plant(lake, next(fault for fault in promises.faults(tracelake.open(lake).trace) if fault.check == check))


def test_what_an_untried_check_finds_is_no_failure(lakes: dict[str, Path], tmp_path: Path) -> None:
    lake = copy_of(lakes["google-2011-v2.1"], tmp_path)
    planted(lake, "task_constraints_task_index")
    report = tracelake.check(lake, only="task_constraints_task_index,task_events_sorted")
    result = report["task_constraints_task_index"]
    assert (result.status, result.reason) == ("untried", "the check was not tried on published rows")
    assert report and not report.new and not report.fails() and not report.fails("new,known,skipped")
    assert report.untried == result.findings and report.fails("untried") and report.fails(["new", "untried"])
    assert "untried: 1 x task_index is below 0" in repr(report) and "not tried on published rows" in repr(report)
    assert json.loads(report.to_json())["counts"] == {"passed": 1, "known": 0, "failed": 0, "untried": 1, "skipped": 0}
    only = ["check", lake, "--only", "task_constraints_task_index"]
    assert run(*only).returncode == run(*only, "--fail-on", "new,known,skipped").returncode == 0
    found = run(*only, "--fail-on", "untried", "--json")
    assert found.returncode == 4 and json.loads(found.stdout)["checks"][0]["status"] == "untried"
    assert "untried" in run("check", "--help").stdout
    page = tracelake.report(lake, "page.html")
    assert page and "not tried on published rows" in Path("page.html").read_text()


def test_a_tried_check_fails_and_an_untried_one_says_what_is_missing_too(lakes: dict[str, Path], source: Path, tmp_path: Path) -> None:
    lake = copy_of(lakes["google-2011-v2.1"], tmp_path)
    planted(lake, "task_events_task_index")
    assert tracelake.check(lake, only="task_events_task_index")["task_events_task_index"].status == "failed"
    tracelake.convert(source, "some", tables=["job_events", "task_events"], parts="0", allow_missing=True)
    edit(Path("some"), "task_events", 0, lambda rows: rows.__setitem__(slice(None), [row for row in rows if row["event_type"] != 1]))
    result = tracelake.check("some", only="jobs_scheduled_with_tasks", allow_missing=True)["jobs_scheduled_with_tasks"]
    assert result.status == "untried" and result.reason is not None
    assert "1 part is missing; the check was not tried on published rows" in result.reason


def test_what_is_missing_is_skipped_with_the_reason(source: Path) -> None:
    tracelake.convert(source, "some", tables=["job_events", "task_events"], parts=[1], allow_missing=True)
    report = tracelake.check("some")
    assert report["task_usage_sorted"].reason == "the lake has no task_usage"
    assert report["job_begins_with_submit"].reason == "it needs all of job_events, and 1 part is missing"
    assert report["task_life_cycle"].status == "passed"
    assert report["job_events_sorted"].status == "passed"
    assert {result.name for result in report.skipped}.isdisjoint(result.name for result in report.having("passed"))
    assert not report.fails() and report.fails("skipped") and report.fails("new,skipped")
    anyway = tracelake.check("some", only="job_begins_with_submit", allow_missing=True)["job_begins_with_submit"]
    assert anyway.status == "failed" and anyway.reason is not None


def test_gaps_and_other_parts_are_noticed() -> None:
    tracelake.generate("google-2011-v2.1", "trace", parts=3, rows=6000)
    tracelake.convert("trace", "gap", tables=["job_events", "task_events"], parts="0,2", allow_missing=True)
    assert "without gaps" in (tracelake.check("gap")["task_life_cycle"].reason or "")
    tracelake.convert("trace", "other", tables=["task_constraints"], parts="0", allow_missing=True)
    tracelake.convert("trace", "other", tables=["task_events"], parts="1", allow_missing=True)
    assert "the same parts" in (tracelake.check("other")["task_constraints_have_events"].reason or "")


def test_an_empty_table_is_skipped(source: Path) -> None:
    tracelake.convert(source, "lake", tables=["machine_events"])
    part = Path("empty", "machine_events", "part-00000-of-00001.csv")
    part.parent.mkdir(parents=True)
    part.write_text("")
    tracelake.convert("empty", "none", trace="google-2011-v2.1", tables=["machine_events"])
    result = tracelake.check("none")["machine_events_sorted"]
    assert (result.status, result.reason) == ("skipped", "machine_events has no rows")


def test_a_flat_lake_is_checked(source: Path) -> None:
    tracelake.convert(source, "flat", layout="flat")
    assert len(tracelake.check("flat").having("passed")) > 30


def test_what_is_no_finished_parquet_lake_is_refused(source: Path) -> None:
    with pytest.raises(tracelake.RefusedError):
        tracelake.check(source)
    tracelake.convert(source, "lake", tables=["machine_events"])
    Path("lake/_tracelake/manifest.json").unlink()
    with pytest.raises(tracelake.TracelakeError):
        tracelake.check("lake")
    tracelake.convert(source, "arrow", tables=["machine_events"], format="arrow")
    with pytest.raises(tracelake.UsageError, match="Arrow"):
        tracelake.check("arrow")


def test_a_damaged_file_is_an_error_that_names_the_check(lakes: dict[str, Path], tmp_path: Path) -> None:
    lake = copy_of(lakes["google-2011-v2.1"], tmp_path)
    file_of(lake, "machine_events", 0).write_bytes(b"PAR1")
    with pytest.raises(tracelake.FailedError, match="machine_events_sorted"):
        tracelake.check(lake, only="machine_events_sorted")


def test_results_as_text_json_and_frames(published: Path, tmp_path: Path) -> None:
    lake = copy_of(published, tmp_path)
    edit(lake, "task_usage", 0, lambda rows: rows[0].update(maximum_cpu_rate=1.5))
    report = tracelake.check(lake, only=["task_usage_sorted", "task_usage_values"])
    assert [result.status for result in report] == ["passed", "known"]
    said = json.loads(report.to_json())
    assert said["counts"]["passed"] == len(report.having("passed"))
    assert [one["check"] for one in said["checks"]] == [result.name for result in report]
    assert "task_usage_sorted" in repr(report) and "task_usage_sorted" in report._repr_html_()
    pl = pytest.importorskip("polars")
    frame = report.to_polars()
    assert frame.height == len(report.rows())
    assert frame.filter(pl.col("status") == "known")["violations"].min() > 0
    pytest.importorskip("pandas")
    assert len(report.to_pandas()) == frame.height


def test_unknown_names_and_limits_are_refused(lakes: dict[str, Path]) -> None:
    lake = lakes["alibaba-2018"]
    with pytest.raises(tracelake.UsageError, match="there is no check 'nosuch'"):
        tracelake.check(lake, only="nosuch")
    for memory in ("much", "1MB", 5):
        with pytest.raises(tracelake.UsageError, match="memory"):
            tracelake.check(lake, memory=memory)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_command_and_its_exit_codes(lakes: dict[str, Path], published: Path, tmp_path: Path) -> None:
    clean = run("check", lakes["google-2011-v2.1"])
    assert (clean.returncode, clean.stderr) == (0, "")
    assert "passed   task_usage_sorted: " in clean.stdout
    lake = copy_of(published, tmp_path)
    edit(lake, "task_usage", 0, lambda rows: rows[0].update(maximum_cpu_rate=1.5))
    assert run("check", lake, "--only", "task_usage_values", "--fail-on", "known").returncode == 4
    assert run("check", lake, "--only", "task_usage_values").returncode == 0
    edit(lake, "machine_events", 0, lambda rows: rows[0].update(cpus=1.5))
    found = run("check", lake, "--json")
    assert found.returncode == 4
    assert json.loads(found.stdout)["counts"]["failed"] == 1
    assert run("check", lake, "--fail-on", "none").returncode == 0
    assert run("check", lake, "--only", "job_events_sorted").returncode == 0
    assert run("check", lake, "--fail-on", "nosuch").returncode == 2
    assert run("check", tmp_path).returncode == 6
    assert run("check").returncode == 2
    assert "--fail-on" in run("check", "--help").stdout
    assert "check" in run("--help").stdout


@pytest.mark.parametrize("trace", FAULTS)
def test_the_printed_checks_run_in_the_directory_of_a_lake(
    trace: str, lakes: dict[str, Path], clean: dict[str, tracelake.CheckReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    monkeypatch.chdir(lakes[trace])
    connection = duckdb.connect()
    found: set[tuple[str, str, int]] = set()
    for statement in duckdb.extract_statements(tracelake.schema(trace).to("checks")):
        rows = connection.execute(statement)
        if rows.description and rows.description[0][0] == "check":
            found |= {(row[0], row[1], row[3]) for row in rows.fetchall()}
    assert found == {(one.check, one.finding, one.violations) for one in clean[trace].findings}


@pytest.mark.parametrize(
    ("package", "call", "hint"),
    [
        ("duckdb", "tracelake.check(lake)", "pip install 'tracelake[check]'"),
        ("duckdb", "tracelake.derive(lake, 'out')", "pip install 'tracelake[check]'"),
        ("matplotlib", "tracelake.report(lake, 'page.html')", "pip install 'tracelake[report]'"),
        ("pandas", "tracelake.check(lake, only='machine_events_sorted').to_pandas()", "pip install pandas"),
    ],
)
def test_a_missing_package_is_named(package: str, call: str, hint: str, lakes: dict[str, Path]) -> None:
    lake = str(lakes["google-2011-v2.1"])
    code = (
        f"import sys; sys.modules[{package!r}] = None\nimport tracelake\nlake = {lake!r}\n"
        f"try:\n    {call}\nexcept tracelake.MissingExtraError as error:\n    print(error.hint)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout == f"{hint}\n", said.stderr
    assert not Path("out").exists() and not Path("page.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.5])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_query_without_a_traceback(
    number: signal.Signals, delay: float, lakes: dict[str, Path]
) -> None:
    code = f"""
import signal, sys
from tracelake import _commands, _queries
signal.signal(signal.SIGINT, signal.default_int_handler)
rows = _queries.Engine.rows
def slow(self, what, sql, needs, numbers=None):
    print("running", flush=True)
    return rows(self, what, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", needs, numbers)
_queries.Engine.rows = slow
sys.exit(_commands.run(["check", {str(lakes["alibaba-2018"])!r}]))
"""
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None and program.stdout.readline() == "running\n"
        # Before the query is planned, while it is, or while it runs.
        time.sleep(delay)
        program.send_signal(number)
        _, said = program.communicate(timeout=60)
    finally:
        program.kill()
    # DuckDB's bindings report objects of theirs that are alive when the interpreter ends, which depends on when the
    # signal comes. Objects of tracelake's module aren't made with nanobind, so no line of these is about them.
    lines = [line for line in said.splitlines() if not re.match(r"nanobind: | - (leaked|\.\.\. skipped) ", line)]
    assert "tracelake._tracelake" not in said
    assert (program.returncode, lines) == (128 + number, ["tracelake: error: stopped"])
